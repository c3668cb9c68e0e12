/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The common tables of --explain, and the words in braces that stand in them and in the SELECTs of
 * reports.
 *
 *   counted_run   session_id, run, start_ns, end_ns, dur_ns of the runs that count
 *   every_span    the finished spans of these runs, of the window of time, with names
 *   labelled      those in the labels of --label, or launched there
 *   counted_span  of every_span what --type, --opr-name and the like choose
 *   launching     spans of hosts that launched something, one for each session, run, correlation
 *   own_piece     what lies between two starts or ends of ops on a thread, and the op that it is of
 *   sample_of_op  self times of ops on one side, the devices' where they have any, with is_shown:
 *                 of the types asked for
 *   sampled_op    their rows of `op`, with part_id: the op that it is in the first of the sessions
 *   issued_op     what ran on devices, with issued_ns: the start of its launch, and before_ns: that
 *                 of the one before it on the lane
 *   stream_wait   waits of a stream for an event (metrics/stream_waits.h): source_lane, recorded_ns
 *   waited_for    lanes that a wait waits for, by itself or by waits of the stream that it names,
 *                 and until which time of a launch there
 *   event_awaited of what has waits before it: awaited_id, awaited (its name), awaited_ns (its end):
 *                 of what they wait for, what ends last
 *   self_time     counted_span with own_ns: without the ops inside; labels, which have their whole
 *                 time, only where the type is asked for
 *
 * Words in braces in any of it: {sessions} a list of ids, {runs} what values per run are divided
 * by, {per_run} whether they are divided, {by_time} whether --time is given, {filtered} whether
 * types are; {op_key} what tells ops apart; {op_side} the side that a table of ops shows; {detail},
 * {per_thread}, {state}, {model}, {top_time} what the options of these names choose; {base} and
 * {new} the queries on the sides of a comparison. Whether is 1 or 0.
 */
#ifndef OPTRACE_ANALYZE_EXPLAIN_TABLES_H
#define OPTRACE_ANALYZE_EXPLAIN_TABLES_H

struct explain_table {
    const char *name, *sql;
};

/* A table names those before it only. */
enum { EXPLAIN_TABLES = 19 };
enum {
    EXPLAIN_COUNTED_RUN,
    EXPLAIN_EVERY_SPAN,
    EXPLAIN_LABELLED = 5,
    EXPLAIN_COUNTED_SPAN,
};
extern const struct explain_table explain_tables[EXPLAIN_TABLES];

#endif
