/* SPDX-License-Identifier: Apache-2.0 */
/* Allocation that cannot fail. */
#include "daemon/memory.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

#include "base/exit_status.h"
#include "daemon/log.h"

void memory_must(int rc)
{
    if (rc == 0)
        return;
    log_say("no memory left");
    _Exit(EXIT_SYSTEM);
}

static void *checked(void *memory)
{
    memory_must(memory ? 0 : -ENOMEM);
    return memory;
}

void *memory_zeroed(size_t count, size_t item_bytes)
{
    return checked(calloc(count, item_bytes));
}

void *memory_resized(void *memory, size_t count, size_t item_bytes)
{
    return checked(reallocarray(memory, count, item_bytes));
}

/* By itself glibc raises the size from which blocks are mappings of their own to that of the
 * largest that was freed, so that what a backlog took would lie in the heap for good. */
void memory_return_large(void)
{
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, 256 << 10);
    mallopt(M_TRIM_THRESHOLD, 1 << 20);
#endif
}
