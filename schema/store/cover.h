/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the time of a session was filled with, as one writer counts it: how long anything ran,
 * computed, copied, on each lane, each side (the threads, a device) and in all, where what overlaps
 * counts once, within the time of the counted runs, or all of it where there are none.
 *
 * A lane's spans are joined as they come, inner before outer, to pieces that lie one behind the other;
 * these wait until the runs that they are in are known. Now and then what lies before some time is
 * measured, over all lanes, and forgotten: the sums hold up to that time, `sealed_ns`. Whoever comes
 * later with something from before it, or with what is not understood here, ends it: the session is
 * given up, has no row, and reports read its events. So the sums are right or not there.
 *
 * What waits is not in the file: it is made again of the last events (total_write.c).
 */
#ifndef OPTRACE_SCHEMA_STORE_COVER_H
#define OPTRACE_SCHEMA_STORE_COVER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/op_sort.h"
#include "schema/store/store.h"

enum {
    COVER_SEAL_EVENTS = 1 << 15, /* after so many more pieces are measured */
    COVER_WAITING_MAX = 1 << 17, /* pieces of a session; with twice as many it is given up */
};

enum cover_part { COVER_RECORDED, COVER_COMPUTING, COVER_COPYING, COVER_LABELS, COVER_PARTS };

struct cover_piece {
    int64_t start_ns, end_ns;
};
struct cover_pieces ARRAY_FIELDS(struct cover_piece);

/* Pieces by what went on in them. */
struct cover_lists {
    struct cover_pieces of[COVER_PARTS];
};

/* What came of one run, without another one's between. */
struct cover_segment {
    int64_t run;
    int64_t floor_ns;            /* the end of what came before */
    uint32_t first[COVER_PARTS]; /* of its pieces */
    uint32_t run_class;          /* as far as it was asked for */
};

/* Of the recorded pieces those that lie in a label. */
struct cover_range {
    uint32_t from, until;
};

struct cover_lane {
    int64_t free_ns; /* a span of the last run that begins then or later lies behind all */
    int64_t run;     /* of the last one */
    bool is_off;     /* of a session that was given up */
    bool is_device;
    bool is_heard;  /* since pieces were measured; */
    bool was_heard; /* before that */
    bool is_unsorted;
    bool is_cut;    /* a piece begins at sealed_ns that began before */
    bool has_event; /* that counts */
    bool is_dirty;
    uint32_t session, side; /* places */
    uint32_t next;          /* 1 + the next one of the session */
    int64_t lane_id;
    int64_t first_ns, end_ns; /* of all that came */
    int64_t floor_ns;         /* what came by then may be forgotten */
    int64_t busy_ns;          /* in any span, also outside of runs' time; up to sealed_ns */
    ARRAY_OF(struct cover_segment) segments;
    struct cover_pieces parts[COVER_PARTS];
    ARRAY_OF(struct cover_range) ranges; /* beside labels; of threads */
};

/* Copying while nothing computed, labels while nothing was recorded. */
struct cover_times {
    int64_t of[COVER_PARTS];
};

struct cover_side {
    char *device; /* NULL: the threads */
    int64_t busy_ns, computing_ns, copying_ns;
    bool is_dirty;
};

struct cover_session {
    int64_t session_id;
    bool is_off;
    bool has_runs;        /* what is outside of them does not count */
    bool has_device_work; /* threads that only ask for it do not compute */
    bool host_computed;   /* what they did was counted as such */
    bool is_ended;
    bool is_dirty;
    int64_t sealed_ns, next_ns;    /* measured up to then; the next time up to here */
    int64_t first_ns, last_ns;     /* of what there was before this writer */
    int64_t wall_ns;               /* of counted runs */
    struct cover_times all, lanes; /* in all; of each lane for itself, added up */
    struct cover_pieces wall;      /* runs that end behind sealed_ns */
    ARRAY_OF(struct cover_side) sides;
    uint32_t first_lane; /* 1 + place */
    bool ignores_open;   /* runs that are not the last of their lane are not waited for */
};

struct covers {
    bool replays;                            /* what was counted already */
    bool has_ended;                          /* a session, of which that is not written */
    int64_t last_rowid;                      /* when pieces were last measured */
    ARRAY_OF(struct cover_session) sessions; /* beside those of totals */
    ARRAY_OF(struct cover_lane) lanes;       /* beside the stacks of totals */
    struct cover_lists lane, side, all;      /* while pieces are measured: their memory stays */
};

/** store_cover_add() of what is not as nearly all are. */
void store_cover_add_other(struct covers *covers, struct cover_lane *lane, unsigned bits,
                           const struct store_event *event);

/** A finished event with sane times; `bits` are those of op_sort_bits(). */
static inline void store_cover_add(struct covers *covers, uint32_t place, unsigned bits,
                                   const struct store_event *event)
{
    struct cover_lane *lane = &covers->lanes.items[place];
    struct cover_pieces *recorded = &lane->parts[COVER_RECORDED];
    struct cover_pieces *computing = &lane->parts[COVER_COMPUTING];
    const int64_t start_ns = event->start_ns, end_ns = start_ns + event->dur_ns;
    const int64_t kern_ns = event->kern_ns == STORE_NULL ? 0 : event->kern_ns;

    if (start_ns < lane->free_ns || event->run != lane->run || bits > OP_SORT_COMPUTES ||
        recorded->count >= recorded->capacity || computing->count >= computing->capacity ||
        end_ns == start_ns) {
        store_cover_add_other(covers, lane, bits, event);
        return;
    }
    lane->free_ns = lane->end_ns = end_ns;
    lane->is_heard = true;
    recorded->items[recorded->count++] = (struct cover_piece){start_ns, end_ns};
    computing->items[computing->count] = (struct cover_piece){start_ns + kern_ns, end_ns};
    computing->count += bits && kern_ns < event->dur_ns;
}

/** An event is found again that was counted already. */
void store_cover_replay(struct covers *covers, uint32_t place, unsigned bits,
                        const struct store_event *event);

/** A run is in the file; `is_known`: that it has ended was told before. */
void store_cover_note_run(struct covers *covers, uint32_t session, const struct store_run *run,
                          bool is_known);

/** After sealed_ns of the session has changed. */
void store_cover_set_free(const struct cover_session *session, struct cover_lane *lane);

/** No more is said of the session. */
void store_cover_give_up(struct covers *covers, uint32_t session);

/** The session has ended. */
void store_cover_end(struct covers *covers, uint32_t session);

void store_cover_clear(struct covers *covers);
void store_cover_deinit(struct covers *covers);

/* cover_seal.c */

/** Measure what can be. */
int store_cover_seal(struct store *store, struct diag *diag);

/** Before a commit: the same if there is much. */
int store_cover_commit(struct store *store, struct diag *diag);

/* cover_rows.c */

/** A lane that was not met yet, of a session that was: `place` is that of its stack. What came by
 *  floor_ns may be forgotten. */
int store_cover_read_lane(struct store *store, uint32_t place, uint32_t session, int64_t lane_id,
                          int64_t floor_ns, struct diag *diag);

/** A session that was not met yet. is_new: it is counted from its first event on, and nothing of it is
 *  in the file. */
int store_cover_read_session(struct store *store, int64_t session_id, bool is_new,
                             struct diag *diag);

/** Write what changed. */
int store_cover_write(struct store *store, struct diag *diag);

/* cover_measure.c: of sorted pieces that lie one behind the other. */

/** Sorts them, unless they are, and joins those that overlap or touch. */
void store_cover_join(struct cover_pieces *pieces, bool is_sorted);
int64_t store_cover_length(const struct cover_pieces *pieces);
int64_t store_cover_common(const struct cover_pieces *a, const struct cover_pieces *b);
/** Returns 0 or -ENOMEM. */
int store_cover_unite(struct cover_pieces *into, const struct cover_pieces *from);
/** The same where what is in `from` is of no use any more: it has any pieces then. */
int store_cover_move(struct cover_pieces *into, struct cover_pieces *from);
/** Forgets them; memory for more than `kept_max` pieces of a kind goes. */
void store_cover_empty(struct cover_lists *lists, size_t kept_max);

#endif
