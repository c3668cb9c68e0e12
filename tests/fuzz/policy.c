/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: the input is a file of --fast-run-algo-policy; behind a '!' as the first byte, one
 * whose checksum is made to fit, so that what stands before it is looked at. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/tune/policy.h"
#include "tests/fuzz/accepted.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *with_checksum(const uint8_t *data, size_t size, size_t *out_size)
{
    char *text = malloc(size + 40);
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    if (!text)
        return NULL;
    memcpy(text, data, size);
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ data[i]) * UINT64_C(0x100000001b3);
    *out_size =
        size + (size_t)snprintf(text + size, 40, "checksum %016llx\n", (unsigned long long)hash);
    return text;
}

/* What was read can be written and is read again as the same. */
static void check(const char *bytes, size_t size)
{
    struct policy policy = {0}, again = {0};
    struct diag diag = {0};
    char *text;
    size_t text_size;

    if (policy_decode(&policy, bytes, size, "file", &diag) < 0) {
        if (diag.text[0] == '\0')
            abort();
    } else if (policy_encode(&policy, &text, &text_size) == 0) {
        fuzz_accepted(1);
        if (policy_decode(&again, text, text_size, "file", &diag) < 0 ||
            again.entries.count != policy.entries.count)
            abort();
        free(text);
    }
    policy_deinit(&policy);
    policy_deinit(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t text_size;
    char *text;

    if (size == 0 || data[0] != '!') {
        check((const char *)data, size);
        return 0;
    }
    text = with_checksum(data + 1, size - 1, &text_size);
    if (text)
        check(text, text_size);
    free(text);
    return 0;
}
