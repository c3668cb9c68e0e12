/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The daemon's end of a ring in shared memory (layout and protocol: schema/wire/wire.h).
 *
 * The client may write anything at any moment: each number is loaded once and then checked, records
 * are copied and then checked. `read` is how far records were turned into rows, `committed` how far
 * those rows are in the store; only the latter is told to the client.
 *
 * Loop thread only. References are counted: a batch on its way to the store holds one.
 */
#ifndef OPTRACE_DAEMON_RING_H
#define OPTRACE_DAEMON_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/diag.h"
#include "schema/wire/wire.h"

struct ring {
    unsigned reference_count;
    uint32_t ring_id, lane_id;
    uint64_t record_count;
    struct ot_ring *memory; /* mapped */
    size_t memory_bytes;
    ino_t inode; /* of the memfd; they all lie in one file system */
    uint64_t read;
    uint64_t saved; /* `read` when a cursor was last put into a batch */
    uint64_t committed;
    uint64_t gap_seen[OT_RING_GAPS]; /* lost_count that was turned into gap rows */
    uint64_t waiting_since_ns; /* since when a record waits for its op's definition; 0: none */
    uint64_t last_head;        /* while the daemon stops: it is read up to here */
    bool has_last_head;
    uint64_t mark;      /* a FLUSH waits until it is read up to here */
    bool gaps_wait;     /* and until its gaps are */
    bool gaps_changed;  /* gap_seen has, since a cursor was last put into a batch */
    unsigned gap_marks; /* batches on their way that have what it had changed by */
    bool is_drained;    /* its thread has ended, and all was read */
    bool is_broken;     /* its numbers were impossible: not read any more */
};

/**
 * Check and map a ring that a client handed over.
 *
 * fd         borrowed: the mapping stays when it is closed
 * announced  the RING frame, decoded
 * uuid       the session's
 * out_ring   written only on success, with one reference
 *
 * Returns 0; -EPROTO when it is not what the contract says (reason in diag); another negative errno
 * when the system refuses.
 */
int ring_open(int fd, const struct ot_wire_ring *announced, const uint8_t uuid[16],
              struct ring **out_ring, struct diag *diag);

/** Check that a ring which is handed over again is the one that is here. Returns 0 or -EPROTO. */
int ring_check_same(const struct ring *ring, int fd, const struct ot_wire_ring *announced,
                    struct diag *diag);

struct ring *ring_ref(struct ring *ring);

/** Drops a reference and nulls the pointer; the last one unmaps. NULL inside is allowed. */
void ring_unref(struct ring **ring);

/**
 * Where the client stands.
 *
 * out_head, out_depth  count of records ever written, count of spans open now
 *
 * Returns 0, or -EPROTO when the numbers are impossible.
 */
int ring_load(const struct ring *ring, uint64_t *out_head, uint32_t *out_depth, struct diag *diag);

/** What the client has seen committed, as it stands in the memory. Used once, when a ring comes
 *  that the store knows nothing of. */
uint64_t ring_load_tail(const struct ring *ring);

/** Copy `count` records from number `first` on. */
void ring_copy(const struct ring *ring, uint64_t first, size_t count,
               struct ot_wire_record *out_record);

/** Copy the innermost `depth` (at most OT_RING_DEPTH_MAX) open spans, outermost first. */
void ring_copy_open(const struct ring *ring, uint32_t depth, struct ot_wire_record *out_record);

/** Copy a gap slot. Returns how much its counter has grown since the last call, 0 for an impossible
 *  counter. */
uint64_t ring_take_gap(struct ring *ring, size_t slot, struct ot_ring_gap *out_gap);

/** True when the client says that the thread has ended. Load it before the head. */
bool ring_load_closed(const struct ring *ring);

/** The rows of all records below `position` are committed: give the room back. */
void ring_release(struct ring *ring, uint64_t position);

#endif
