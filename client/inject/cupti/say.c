/* SPDX-License-Identifier: Apache-2.0 */
/* What a person is to know of the recording of CUDA programs, as marks. */
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "client/inject/cupti/private.h"
#include "client/inject/names.h"
#include "client/inject/recorder.h"

enum { KEY_SAID = 121 };

static uint64_t say(const void *context)
{
    const uint32_t op = recorder.name(OPTRACE_MARK, context);

    if (op)
        recorder.mark(op);
    return op;
}

void cupti_say(const char *format, ...)
{
    struct {
        uint64_t kind;
        char text[200];
    } key = {KEY_SAID, "CUDA: "};
    const size_t used = strlen(key.text);
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(key.text + used, sizeof(key.text) - used, format, arguments);
    va_end(arguments);
    if (recorder_is_on())
        names_find_always(&key, offsetof(__typeof__(key), text) + strlen(key.text) + 1, say,
                          key.text);
}
