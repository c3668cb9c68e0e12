/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers that CUPTI fills: one piece of memory that is there from the start, in slots. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "client/inject/cupti/private.h"
#include "client/inject/recorder.h"

/* A buffer is of one thread from toolkit 13 on, so that many small ones serve more of them. It
 * holds 1,000 kernels; all of them together 270,000. */
enum { SLOTS = 256, SLOT_BYTES = 256 << 10, NULL_IS_ALLOWED = 27 };

enum { FREE, OUT, OUT_UNREAD };
enum { READ, UNREAD, NONE };

/* In one line or two of the cache. */
static struct {
    const struct cupti *library;
    uint8_t *memory;
    uint64_t completed;    /* atomic */
    uint8_t given;         /* atomic; READ, UNREAD, NONE: what is asked for now */
    uint8_t is_out[SLOTS]; /* atomic; FREE, OUT, OUT_UNREAD */
} slots;
static _Alignas(8) uint8_t discard[SLOT_BYTES];

bool cupti_buffers_open(const struct cupti *cupti)
{
    void *place = mmap(NULL, (size_t)SLOTS * SLOT_BYTES, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (place == MAP_FAILED)
        return false;
    slots.library = cupti;
    slots.memory = place;
    return true;
}

void cupti_buffers_request(uint8_t **out_buffer, size_t *out_bytes, size_t *out_record_limit)
{
    const uint8_t given = __atomic_load_n(&slots.given, __ATOMIC_RELAXED);

    *out_record_limit = 0;
    *out_bytes = SLOT_BYTES;
    /* From the first on: what was used lately is in the caches, and the rest is never touched. */
    for (uint32_t slot = 0; given != NONE && slot < SLOTS; slot++) {
        if (!__atomic_load_n(&slots.is_out[slot], __ATOMIC_RELAXED) &&
            !__atomic_exchange_n(&slots.is_out[slot], given == READ ? OUT : OUT_UNREAD,
                                 __ATOMIC_ACQUIRE)) {
            *out_buffer = slots.memory + (size_t)slot * SLOT_BYTES;
            return;
        }
    }
    /* None is free: what comes is lost, and counted by CUPTI or by cupti_buffers_complete(). */
    *out_buffer = slots.library->version >= NULL_IS_ALLOWED ? NULL : discard;
    if (!*out_buffer)
        *out_bytes = 0;
}

static uint8_t *state_of(const uint8_t *buffer)
{
    return &slots.is_out[(size_t)(buffer - slots.memory) / SLOT_BYTES];
}

HOT void cupti_buffers_complete(void *context, uint32_t stream, uint8_t *buffer, size_t bytes,
                                size_t valid)
{
    const size_t used = valid < SLOT_BYTES ? valid : SLOT_BYTES;
    const bool is_ours =
        buffer >= slots.memory && buffer < slots.memory + (size_t)SLOTS * SLOT_BYTES;
    const bool is_read = is_ours && __atomic_load_n(state_of(buffer), __ATOMIC_RELAXED) == OUT;
    size_t dropped = 0, cleared = 0;
    int rc;

    (void)bytes;
    __atomic_fetch_add(&slots.completed, 1, __ATOMIC_RELAXED);
    if (is_read)
        cupti_decode_soon(slots.library, buffer, used);
    rc = slots.library->dropped(context, stream, &dropped);
    if (rc != 0) {
        cupti_say("CUPTI does not say what it dropped (error %d)", rc);
    } else if (dropped > 0 && __atomic_load_n(&slots.given, __ATOMIC_RELAXED) != NONE) {
        cupti_say("CUPTI dropped records for want of room");
        cupti_watch_dropped(dropped);
    }
    if (buffer == discard && __atomic_load_n(&slots.given, __ATOMIC_RELAXED) == READ) {
        cupti_say("records of the device were lost: all buffers are with CUPTI");
    } else if (is_ours) {
        if (is_read)
            cleared = cupti_decode(slots.library, buffer, used);
        else
            cupti_decode_nothing(slots.library, buffer, used);
        memset(buffer + cleared, 0, used - cleared);
        __atomic_store_n(state_of(buffer), FREE, __ATOMIC_RELEASE);
    }
}

void cupti_buffers_read_no_more(void)
{
    __atomic_store_n(&slots.given, UNREAD, __ATOMIC_RELAXED);
}

void cupti_buffers_give_no_more(void)
{
    __atomic_store_n(&slots.given, NONE, __ATOMIC_RELAXED);
}

uint64_t cupti_buffers_completed(void)
{
    return __atomic_load_n(&slots.completed, __ATOMIC_RELAXED);
}

unsigned cupti_buffers_out(void)
{
    unsigned count = 0;

    for (uint32_t i = 0; i < SLOTS; i++)
        count += __atomic_load_n(&slots.is_out[i], __ATOMIC_RELAXED) == OUT;
    return count;
}
