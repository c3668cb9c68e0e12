/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: the input is a profile of ONNX Runtime. */
#include "analyze/import/ort.h"
#include "tests/fuzz/json_import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_json_import(import_ort, data, size);
    return 0;
}
