/* SPDX-License-Identifier: Apache-2.0 */
/* A module that brings an ONNX Runtime of its own, as Node's addons do. */
#include "tests/support/ort_program.h"

double module_work(uint32_t version);

__attribute__((visibility("default"))) double module_work(uint32_t version)
{
    double sum = 0;
    void *session;

    ort_api = OrtGetApiBase()->get_api(version);
    if (!ort_api || ort_create("/models/of_a_module.onnx", &session))
        return -1;
    for (int i = 0; i < 10; i++)
        sum += ort_run(session, i);
    ort_release(session);
    return sum;
}
