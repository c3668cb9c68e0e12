/* SPDX-License-Identifier: Apache-2.0 */
/* Allocation that cannot fail. */
#include "daemon/memory.h"

#include <errno.h>
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
