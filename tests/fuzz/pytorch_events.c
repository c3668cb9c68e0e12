/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: the input is a dump of PyTorch's function events. */
#include "analyze/import/pytorch_events.h"
#include "tests/fuzz/json_import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_json_import(import_pytorch_events, data, size);
    return 0;
}
