/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers that CUPTI fills: one piece of memory that is there from the start, in slots. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "client/inject/cupti/private.h"

/* A buffer is of one thread from toolkit 13 on, so that many small ones serve more of them. It
 * holds 1,000 kernels; all of them together 270,000. */
enum { SLOTS = 256, SLOT_BYTES = 256 << 10, NULL_IS_ALLOWED = 27 };

static const struct cupti *library;
static uint8_t *memory;
static uint8_t is_out[SLOTS]; /* atomic */
static _Alignas(8) uint8_t discard[SLOT_BYTES];
static uint64_t completed;

bool cupti_buffers_open(const struct cupti *cupti)
{
    void *place = mmap(NULL, (size_t)SLOTS * SLOT_BYTES, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (place == MAP_FAILED)
        return false;
    library = cupti;
    memory = place;
    return true;
}

void cupti_buffers_request(uint8_t **out_buffer, size_t *out_bytes, size_t *out_record_limit)
{
    *out_record_limit = 0;
    *out_bytes = SLOT_BYTES;
    /* From the first on: what was used lately is in the caches, and the rest is never touched. */
    for (uint32_t slot = 0; slot < SLOTS; slot++) {
        if (!__atomic_load_n(&is_out[slot], __ATOMIC_RELAXED) &&
            !__atomic_exchange_n(&is_out[slot], 1, __ATOMIC_ACQUIRE)) {
            *out_buffer = memory + (size_t)slot * SLOT_BYTES;
            return;
        }
    }
    /* None is free: what comes is lost, and counted by CUPTI or by cupti_buffers_complete(). */
    *out_buffer = library->version >= NULL_IS_ALLOWED ? NULL : discard;
    if (!*out_buffer)
        *out_bytes = 0;
}

void cupti_buffers_complete(void *context, uint32_t stream, uint8_t *buffer, size_t bytes,
                            size_t valid)
{
    size_t dropped = 0;
    int rc;

    (void)bytes;
    __atomic_fetch_add(&completed, 1, __ATOMIC_RELAXED);
    rc = library->dropped(context, stream, &dropped);
    if (rc != 0) {
        cupti_say("CUPTI does not say what it dropped (error %d)", rc);
    } else if (dropped > 0) {
        cupti_say("CUPTI dropped records for want of room");
        cupti_watch_dropped(dropped);
    }
    if (buffer == discard) {
        cupti_say("records of the device were lost: all buffers are with CUPTI");
    } else if (buffer >= memory && buffer < memory + (size_t)SLOTS * SLOT_BYTES) {
        cupti_decode(library, buffer, valid < SLOT_BYTES ? valid : SLOT_BYTES);
        memset(buffer, 0, valid < SLOT_BYTES ? valid : SLOT_BYTES);
        __atomic_store_n(&is_out[(size_t)(buffer - memory) / SLOT_BYTES], 0, __ATOMIC_RELEASE);
    }
}

uint64_t cupti_buffers_completed(void)
{
    return __atomic_load_n(&completed, __ATOMIC_RELAXED);
}

unsigned cupti_buffers_out(void)
{
    unsigned count = 0;

    for (uint32_t i = 0; i < SLOTS; i++)
        count += __atomic_load_n(&is_out[i], __ATOMIC_RELAXED);
    return count;
}
