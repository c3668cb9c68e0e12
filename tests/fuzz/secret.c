/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: the input is a command line; its first byte says how its arguments are parted. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/secret.h"
#include "base/text.h"
#include "tests/fuzz/accepted.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* It does not grow and stays well-formed. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const bool has_arguments = size > 0 && data[0] & 1;
    char *text;
    size_t length;
    bool is_utf8;

    if (size == 0)
        return 0;
    size--;
    text = malloc(size + !size);
    if (!text)
        abort();
    memcpy(text, data + 1, size);
    is_utf8 = text_is_utf8(text, size);
    length = ot_secret_mask(text, size, has_arguments);
    if (length > size || (is_utf8 && !text_is_utf8(text, length)))
        abort();
    fuzz_accepted(length != size || memcmp(text, data + 1, size) != 0); /* it masked something */
    free(text);
    return 0;
}
