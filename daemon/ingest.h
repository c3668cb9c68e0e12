/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records to rows: each is checked, its ids become those of the store, its ticks nanoseconds. What
 * makes no sense is counted as lost on its lane; one bad record never costs a good one. Loop thread
 * only. No I/O.
 */
#ifndef OPTRACE_DAEMON_INGEST_H
#define OPTRACE_DAEMON_INGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/batch.h"
#include "daemon/session.h"
#include "schema/wire/wire.h"

struct ingest {
    struct session *session;
    struct batch *batch;
    int64_t realtime_max_ns; /* records with times of their own may not be later */
    bool waits;              /* stop before a record whose op, model or lane is not defined yet */
    size_t undefined_count;  /* records that used an id that is not defined */
};

/** Prepare for records that are read at this moment. */
void ingest_init(struct ingest *ingest, struct session *session, struct batch *batch, bool waits);

/** Turn records into rows. Returns how many were taken: all of them, unless `waits` is set and the
 *  next one uses an id that is not defined. */
size_t ingest_records(struct ingest *ingest, const struct ot_wire_record *records, size_t count);

/** Put the spans and runs that were open when the program ended, as unfinished. */
void ingest_open(struct ingest *ingest, const struct ot_wire_record *open, size_t count);

/** Put what the client says it has dropped: `lost` of the records that the gap describes. */
void ingest_gap(struct ingest *ingest, const struct ot_ring_gap *gap, uint64_t lost);

/** Count records that the daemon drops, unseen but for lane and time, because the store fails. */
void ingest_drop(struct ingest *ingest, const struct ot_wire_record *record);

#endif
