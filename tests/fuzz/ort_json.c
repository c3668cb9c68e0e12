/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: the input is a profile of ONNX Runtime. */
#include "tests/fuzz/json_import.h"

extern const struct import_format import_ort_format;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_json_import(&import_ort_format, data, size);
    return 0;
}
