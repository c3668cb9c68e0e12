/* SPDX-License-Identifier: Apache-2.0 */
/* A ring's memory: made, counted in, given back. schema/wire/wire.h says what lies where. */
#ifndef OPTRACE_CLIENT_RING_H
#define OPTRACE_CLIENT_RING_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/fetch.h"
#include "client/fd.h"
#include "schema/wire/wire.h"

/**
 * Make a ring in a sealed memfd. There is memory for its header and its open spans only; that of
 * records is had by ot_ring_populate().
 *
 * header    what it starts with; record_count is a power of two
 * out_ring  give it to ot_ring_destroy(), with *out_fd
 *
 * Returns 0 or a negative errno; then nothing is left behind. -EFBIG: the process may have no file
 * of this size (RLIMIT_FSIZE).
 */
int ot_ring_create(const struct ot_ring_header *header, struct ot_ring **out_ring,
                   struct ot_fd *out_fd);

/**
 * Have memory for the records from `first` to `end` - 1, so that writing there cannot fail: where
 * there is none left, writing would end the program by SIGBUS.
 *
 * fd  used on kernels before 5.14, if it is still ours
 *
 * Returns 0, also on a kernel that knows neither way; -ENOMEM; or -EBADF. A system call.
 */
int ot_ring_populate(struct ot_ring *ring, const struct ot_fd *fd, uint64_t first, uint64_t end);

/** Why a ring of `record_count` records could not be made, for a person, after "a thread has no
 * ring: ". Errors are those of ot_ring_create() and -ENOSPC: there are too many. */
void ot_ring_explain(int error, uint64_t record_count, char *out_text, size_t bytes);

/** Unmap, and close what is still ours. A NULL ring is allowed. */
void ot_ring_destroy(struct ot_ring **ring, struct ot_fd *fd);

/**
 * Count a dropped record in the ring's slot for its lane. Only the ring's writer.
 *
 * pause_ticks  drops that are further apart than this are told apart: the time range of the loss
 *              starts anew
 */
void ot_ring_count_loss(struct ot_ring *ring, uint32_t lane_id, enum ot_wire_loss reason,
                        uint64_t now, uint64_t pause_ticks);

/** Count in `to`, a ring that nobody reads yet, what `from` counts: nobody will read that. */
void ot_ring_move_losses(const struct ot_ring *from, struct ot_ring *to);

static inline uint64_t ot_ring_tail(const struct ot_ring *ring)
{
    return __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE);
}

static inline uint64_t ot_ring_load_state(const struct ot_ring *ring)
{
    return __atomic_load_n(&ring->state, __ATOMIC_ACQUIRE);
}

/** Store one of the eight words of a record. The daemon may be reading: it looks at `state` first,
 *  so any order will do. */
static inline void ot_record_store(struct ot_wire_record *record, unsigned word, uint64_t value)
{
    __atomic_store_n((uint64_t *)(void *)record + word, value, __ATOMIC_RELAXED);
}

static inline uint64_t ot_record_load(const struct ot_wire_record *record, unsigned word)
{
    return __atomic_load_n((const uint64_t *)(const void *)record + word, __ATOMIC_RELAXED);
}

/** Make the words from OT_WORD_KERN on 0, in two stores where the processor has them: nobody looks
 * at a record before `state` says that it is there, so halves of it need no order. */
static inline void ot_record_clear_rest(struct ot_wire_record *record)
{
    memset((uint64_t *)(void *)record + 4, 0, 4 * sizeof(uint64_t));
}

/** The words of a record. */
enum ot_record_word {
    OT_WORD_KIND = 0, /* kind | flags << 16 | op_id << 32 */
    OT_WORD_LANE = 1, /* lane_id | run << 32 */
    OT_WORD_START = 2,
    OT_WORD_END = 3,
    OT_WORD_KERN = 4,
    OT_WORD_CORRELATION = 5,
    OT_WORD_BYTES = 6,
    OT_WORD_ADDRESS = 7,
};

/** Records ahead of the head whose line is asked for. A tight loop writes one in some 25 ns; a line
 *  that the daemon has read since, or that fell out of the cache, takes 100 ns or more to come. */
enum { OT_AHEAD = 16 };

/** Ask for the line of a record to come, to be written. */
static inline void ot_fetch_ahead(const struct ot_wire_record *record)
{
    ot_fetch_to_write(record + OT_AHEAD);
}

static inline uint64_t ot_record_kind_word(uint16_t kind, uint16_t flags, uint32_t op)
{
    return kind | (uint64_t)flags << 16 | (uint64_t)op << 32;
}

#endif
