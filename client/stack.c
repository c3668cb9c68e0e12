/* SPDX-License-Identifier: Apache-2.0 */
/* Frames by name where the dynamic symbol tables know one, else by module and offset, for
 * addr2line. */
#include "client/stack.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    INNER_FRAMES = 8, /* of ours and of backtrace() itself */
    FRAME_BYTES = 256,
};

int ot_stack_parse(const char *text, uint32_t *out_frames)
{
    char *end;
    unsigned long frames;

    if (*text < '0' || *text > '9')
        return -EINVAL;
    errno = 0;
    frames = strtoul(text, &end, 10);
    if (*end || errno || frames > OT_STACK_FRAMES_MAX)
        return -EINVAL;
    *out_frames = (uint32_t)frames;
    return 0;
}

uint32_t ot_stack_frames(void)
{
    static uint32_t known; /* and 1 more; 0: not read yet */
    uint32_t frames = __atomic_load_n(&known, __ATOMIC_RELAXED);
    const char *text;

    if (frames)
        return frames - 1;
    text = secure_getenv("OPTRACE_STACKS");
    if (!text || ot_stack_parse(text, &frames) < 0)
        frames = 0;
    __atomic_store_n(&known, frames + 1, __ATOMIC_RELAXED);
    return frames;
}

/* What would end a text or a frame becomes '?'. */
static void clean(char *text)
{
    for (; *text; text++) {
        if ((unsigned char)*text < 0x20 || *text == '"' || *text == '\\' || *text == ';')
            *text = '?';
    }
}

static void name_frame(const void *address, char text[FRAME_BYTES])
{
    const char *module, *slash;
    Dl_info info;

    /* The address is where the call returns to, which may be behind the function's end. */
    if (!dladdr((const char *)address - 1, &info) || !info.dli_fname) {
        snprintf(text, FRAME_BYTES, "%p", address);
        return;
    }
    slash = strrchr(info.dli_fname, '/');
    module = slash ? slash + 1 : info.dli_fname;
    if (info.dli_sname)
        snprintf(text, FRAME_BYTES, "%s (%s)", info.dli_sname, module);
    else
        snprintf(text, FRAME_BYTES, "%s+0x%zx", module,
                 (size_t)((const char *)address - (const char *)info.dli_fbase));
    clean(text);
}

/* Where a member can be put in: before the brace that ends the object; NULL: nowhere. */
static const char *find_end(const char *params)
{
    const char *end = params + strlen(params);

    while (end > params && strchr(" \t\r\n", end[-1]))
        end--;
    return end > params + 1 && end[-1] == '}' && strchr(params, '{') ? end - 1 : NULL;
}

static bool is_empty(const char *params, const char *end)
{
    return strspn(params, " \t\r\n{") >= (size_t)(end - params);
}

char *ot_stack_params(const char *params, const void *caller, uint32_t frames)
{
    void *addresses[OT_STACK_FRAMES_MAX + INNER_FRAMES];
    const char *end = params ? find_end(params) : NULL;
    int count, first = 0;
    char *text;
    size_t used;

    if (frames == 0 || (params && (!end || strstr(params, "\"stack\""))))
        return NULL;
    count =
        backtrace(addresses, (int)(frames < OT_STACK_FRAMES_MAX ? frames : OT_STACK_FRAMES_MAX) +
                                 INNER_FRAMES);
    while (first < count && addresses[first] != caller)
        first++;
    if (first >= count)
        return NULL;
    text = malloc((params ? strlen(params) : 0) + 32 + (size_t)(count - first) * FRAME_BYTES);
    if (!text)
        return NULL;
    used = (size_t)sprintf(text, "%.*s%s\"stack\": \"", params ? (int)(end - params) : 1,
                           params ? params : "{", params && !is_empty(params, end) ? ", " : "");
    for (int i = first; i < count && (uint32_t)(i - first) < frames; i++) {
        char frame[FRAME_BYTES];

        name_frame(addresses[i], frame);
        used += (size_t)sprintf(text + used, "%s%s", i > first ? ";" : "", frame);
    }
    sprintf(text + used, "\"}");
    return text;
}
