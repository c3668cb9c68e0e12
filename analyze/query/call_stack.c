/* SPDX-License-Identifier: Apache-2.0 */
/* Call stacks, frame by frame. */
#include "analyze/query/call_stack.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

char *call_stack_of(const char *params)
{
    cJSON *parsed = params && strstr(params, "\"stack\"") ? cJSON_Parse(params) : NULL;
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(parsed, "stack"));
    char *copy = text && *text ? strdup(text) : NULL;

    cJSON_Delete(parsed);
    return copy;
}

static bool has(const char *frame, size_t length, const char *part)
{
    return memmem(frame, length, part, strlen(part)) != NULL;
}

/* As PyTorch's _filter_stack_entry() decides. */
static bool is_autograd(const char *frame, size_t length)
{
    return has(frame, length, "autograd/__init__") &&
           (has(frame, length, "_make_grads") || has(frame, length, "backward"));
}

bool call_stack_next(const char **at, const char **out_frame, size_t *out_length)
{
    while (**at) {
        const char *frame = *at;
        size_t length = strcspn(frame, ";");

        *at = frame + length + (frame[length] == ';');
        if (length && !is_autograd(frame, length)) {
            *out_frame = frame;
            *out_length = length;
            return true;
        }
    }
    return false;
}
