/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: the input is a Chrome trace. */
#include "tests/fuzz/json_import.h"

extern const struct import_format import_chrome_format;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_json_import(&import_chrome_format, data, size);
    return 0;
}
