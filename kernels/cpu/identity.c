/* SPDX-License-Identifier: Apache-2.0 */
/* On what kernels run: the processor, what of it may be used, the libraries. */
#include <stdio.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <oneapi/dnnl/dnnl.h>

#include "kernels/kernels.h"

/* The name of the processor, without the blanks that fill it up. */
static void processor_name(char out[52])
{
    strcpy(out, "unknown processor");
#if defined(__x86_64__)
    unsigned words[12] = {0};
    char text[sizeof(words) + 1] = "";
    size_t length;

    for (unsigned i = 0; i < 3; i++)
        if (!__get_cpuid(0x80000002 + i, &words[4 * i], &words[4 * i + 1], &words[4 * i + 2],
                         &words[4 * i + 3]))
            return;
    memcpy(text, words, sizeof(words));
    length = strlen(text);
    while (length > 0 && text[length - 1] == ' ')
        text[--length] = '\0';
    if (length > 0)
        snprintf(out, 52, "%s", text + strspn(text, " "));
    for (char *at = out; *at != '\0'; at++)
        if (*at < ' ' || *at > '~')
            *at = '?';
#endif
}

void kernel_identity(char out[KERNEL_IDENTITY_BYTES])
{
    static const char *const levels[KERNEL_LEVELS] = {"ref", "portable", "avx2", "avx512"};
    const dnnl_version_t *version = dnnl_version();
    char name[52];

    processor_name(name);
    snprintf(out, KERNEL_IDENTITY_BYTES, "%s, %s, oneDNN isa 0x%x, oneDNN %d.%d.%d %.12s", name,
             levels[kernel_best_level()], (unsigned)dnnl_get_effective_cpu_isa(), version->major,
             version->minor, version->patch, version->hash);
}
