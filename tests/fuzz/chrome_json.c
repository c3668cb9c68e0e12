/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: the input is a Chrome trace. */
#include "analyze/import/chrome/chrome.h"
#include "tests/fuzz/json_import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_json_import(import_chrome, data, size);
    return 0;
}
