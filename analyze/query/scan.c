/* SPDX-License-Identifier: Apache-2.0 */
/* The pass over events that every report of op times stands on. */
#include "analyze/query/scan.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "schema/store/store.h"

/* Where ops are few, and lanes more than the first links of a chain, sums are found in a table that stays in a
 * cache. */
enum { TABLE_MAX = 1 << 16, CHAIN_LANES = 3 };

static size_t table_size(const struct scan *scan)
{
    return scan->op_count * scan->lane_count;
}

/* Of flat sessions it counts which sums of an op come first in its chain. */
static bool wants_table(const struct scan *scan)
{
    for (size_t i = 0; i < scan->session_count; i++) {
        if (scan->sessions[i].flat)
            return false;
    }
    return !scan->without_sums && scan->lane_count > CHAIN_LANES &&
           scan->op_count <= TABLE_MAX / scan->lane_count;
}

int scan_prepare(struct scan *scan)
{
    int64_t *lane_ids = malloc((scan->lane_count ? scan->lane_count : 1) * sizeof(*lane_ids));
    int rc;

    scan->first_sums = malloc((scan->op_count ? scan->op_count : 1) * sizeof(*scan->first_sums));
    if (!lane_ids || !scan->first_sums) {
        rc = -ENOMEM;
        goto out;
    }
    if (wants_table(scan)) {
        scan->sums_of = malloc((table_size(scan) + 1) * sizeof(*scan->sums_of));
        if (!scan->sums_of) {
            rc = -ENOMEM;
            goto out;
        }
    }
    scan_restart(scan);
    for (size_t i = 0; i < scan->lane_count; i++)
        lane_ids[i] = scan->lanes[i].lane_id;
    rc = id_map_init(&scan->op_map, scan->op_ids, scan->op_count);
    if (rc == 0)
        rc = id_map_init(&scan->lane_map, lane_ids, scan->lane_count);
out:
    free(lane_ids);
    return rc;
}

static void drop_durations(struct scan *scan)
{
    for (size_t i = 0; i < scan->sums.count; i++)
        store_histogram_deinit(&scan->sums.items[i].durations);
}

void scan_restart(struct scan *scan)
{
    for (int side = 0; side < SCAN_SIDES; side++) {
        scan->first_ns[side] = INT64_MAX;
        scan->last_ns[side] = INT64_MIN;
        scan->own_ns[side] = 0;
        scan->own_calls[side] = 0;
        interval_deinit(&scan->covered[side]);
    }
    for (size_t i = 0; i < scan->lane_count; i++)
        scan->lanes[i].open.count = 0;
    drop_durations(scan);
    scan->sums.count = 0;
    memset(scan->first_sums, 0xff, scan->op_count * sizeof(*scan->first_sums));
    if (scan->sums_of)
        memset(scan->sums_of, 0xff, table_size(scan) * sizeof(*scan->sums_of));
    scan->counted = scan->outside_count = scan->bad_count = scan->unfinished_count = 0;
    scan->summed_ns = 0;
    scan->needs_tree = false;
    scan->error = 0;
}

void scan_deinit(struct scan *scan)
{
    for (size_t i = 0; i < scan->lane_count; i++)
        array_deinit(&scan->lanes[i].open);
    for (size_t i = 0; i < scan->session_count; i++) {
        id_map_deinit(&scan->sessions[i].run_map);
        free(scan->sessions[i].runs);
    }
    for (int side = 0; side < SCAN_SIDES; side++)
        interval_deinit(&scan->covered[side]);
    drop_durations(scan);
    array_deinit(&scan->sums);
    free(scan->first_sums);
    free(scan->sums_of);
    id_map_deinit(&scan->op_map);
    id_map_deinit(&scan->lane_map);
}

/* Those that are not among the first two of the op's chain, or new ones. */
__attribute__((noinline)) static struct scan_sums *find_other_sums(struct scan *scan, uint32_t op,
                                                                   uint32_t lane)
{
    uint32_t first = scan->first_sums[op], place = first, before = ID_MAP_NONE;

    while (place != ID_MAP_NONE && scan->sums.items[place].lane != lane) {
        before = place;
        place = scan->sums.items[place].next;
    }
    if (before != ID_MAP_NONE && place != ID_MAP_NONE) {
        scan->sums.items[before].next = scan->sums.items[place].next;
        scan->sums.items[place].next = first;
        scan->first_sums[op] = place;
    }
    if (place != ID_MAP_NONE)
        return &scan->sums.items[place];
    if (array_push(&scan->sums, ((struct scan_sums){.op = op, .lane = lane, .next = first})) < 0) {
        scan->error = -ENOMEM;
        return NULL;
    }
    scan->first_sums[op] = (uint32_t)(scan->sums.count - 1);
    if (scan->sums_of)
        scan->sums_of[op * scan->lane_count + lane] = scan->first_sums[op];
    return &scan->sums.items[scan->sums.count - 1];
}

/* The sums of an op on a lane, made on their first use. Mostly an op has few lanes, and the events of one
 * come in a row, or in turn with those of the device: a chain will do whose first two links are
 * lanes that came lately. */
static inline struct scan_sums *find_sums(struct scan *scan, uint32_t op, uint32_t lane)
{
    struct scan_sums *const items = scan->sums.items;
    const uint32_t first =
        scan->sums_of ? scan->sums_of[op * scan->lane_count + lane] : scan->first_sums[op];

    if (first != ID_MAP_NONE && items[first].lane == lane)
        return &items[first];
    if (first != ID_MAP_NONE && items[first].next != ID_MAP_NONE &&
        items[items[first].next].lane == lane)
        return &items[items[first].next];
    return find_other_sums(scan, op, lane);
}

/* Durations are at most SUMMED_MAX_NS together, so that no sum overflows. */
static void join_open(struct scan_open *into, const struct scan_open *next)
{
    into->dur_ns += next->dur_ns;
    if (next->last_ns > into->last_ns)
        into->last_ns = next->last_ns;
}

/* Makes room: two and two of the older half become one. */
static void join_older(struct scan_lane *lane)
{
    struct scan_open *items = lane->open.items;
    const size_t older = lane->open.count / 2 & ~(size_t)1, kept = older / 2;

    for (size_t i = 0; i < kept; i++) {
        struct scan_open joined = items[2 * i];

        join_open(&joined, &items[2 * i + 1]);
        items[i] = joined;
    }
    memmove(items + kept, items + older, (lane->open.count - older) * sizeof(*items));
    lane->open.count -= older - kept;
}

/* Time of earlier spans of the lane that lie inside this one; they are then accounted for. */
static int64_t claim_nested(struct scan *scan, struct scan_lane *lane, int64_t start_ns,
                            int64_t dur_ns)
{
    const int64_t end_ns = start_ns + dur_ns;
    struct scan_open inside = {start_ns, 0, start_ns};

    if (lane->open.count && end_ns < lane->end_ns)
        scan->needs_tree = true;
    lane->end_ns = end_ns;
    while (lane->open.count && lane->open.items[lane->open.count - 1].start_ns >= start_ns)
        join_open(&inside, &lane->open.items[--lane->open.count]);
    /* What lies in the one before, or is one with it, lies in this one too. */
    if (lane->open.count && lane->open.items[lane->open.count - 1].last_ns >= start_ns)
        scan->needs_tree = true;
    if (lane->open.count == SCAN_OPEN_MAX)
        join_older(lane);
    if (array_push(&lane->open, ((struct scan_open){start_ns, dur_ns, inside.last_ns})) < 0)
        scan->error = -ENOMEM;
    return inside.dur_ns < dur_ns ? inside.dur_ns : dur_ns;
}

static void add_unfinished(struct scan *scan, const struct scan_event *event)
{
    if (scan->unfinished_count < SCAN_UNFINISHED_MAX)
        scan->unfinished[scan->unfinished_count] =
            (struct scan_unfinished){event->lane_id, event->op_id, event->start_ns};
    scan->unfinished_count++;
}

/* Whether the run of an event counts; *out_run is NULL for events outside of runs. */
static bool is_selected(struct scan *scan, const struct scan_session *session,
                        const struct scan_event *event, const struct scan_run **out_run)
{
    uint32_t place = ID_MAP_NONE;

    *out_run = NULL;
    if (event->run != STORE_NULL)
        place = id_map_find(&session->run_map, event->run);
    if (place == ID_MAP_NONE) {
        scan->outside_count += !session->all_events;
        return session->all_events;
    }
    *out_run = &session->runs[place];
    return session->runs[place].selected;
}

/* What roll-ups and totals say ends at the largest number. */
static void add_stored(int64_t *sum, int64_t ns)
{
    if (__builtin_add_overflow(*sum, ns, sum))
        *sum = INT64_MAX;
}

int scan_add_sums(struct scan *scan, struct scan_sums *sums)
{
    struct scan_sums *into = find_sums(scan, sums->op, sums->lane);
    int rc = into ? store_histogram_merge(&into->durations, &sums->durations) : -ENOMEM;

    store_histogram_deinit(&sums->durations);
    if (rc < 0)
        return rc;
    into->min_ns = into->calls && into->min_ns < sums->min_ns ? into->min_ns : sums->min_ns;
    into->max_ns = into->calls && into->max_ns > sums->max_ns ? into->max_ns : sums->max_ns;
    into->calls += sums->calls;
    into->kern_calls += sums->kern_calls;
    add_stored(&into->total_ns, sums->total_ns);
    add_stored(&into->nested_ns, sums->nested_ns);
    add_stored(&into->kern_ns, sums->kern_ns);
    add_stored(&into->exec_ns, sums->exec_ns);
    scan->counted += sums->calls;
    return 0;
}

static void add_to_sums(struct scan *scan, struct scan_sums *sums, const struct scan_event *event,
                        int64_t nested_ns)
{
    if (!sums->calls || event->dur_ns < sums->min_ns)
        sums->min_ns = event->dur_ns;
    if (!sums->calls || event->dur_ns > sums->max_ns)
        sums->max_ns = event->dur_ns;
    if (!scan->without_durations &&
        store_histogram_count_many(&sums->durations, store_bin_of(event->dur_ns)) < 0)
        scan->error = -ENOMEM;
    sums->calls++;
    sums->total_ns += event->dur_ns;
    sums->nested_ns += nested_ns;
    if (event->kern_ns != STORE_NULL) {
        sums->kern_calls++;
        sums->kern_ns += event->kern_ns;
        sums->exec_ns += event->dur_ns - event->kern_ns;
    }
}

static int cover_run(struct scan *scan, enum scan_side side, const struct scan_run *run,
                     int64_t start_ns, int64_t end_ns)
{
    if (!run->selected)
        return 0;
    if (start_ns < run->start_ns)
        start_ns = run->start_ns;
    if (run->end_ns != STORE_NULL && end_ns > run->end_ns)
        end_ns = run->end_ns;
    return interval_add(&scan->covered[side], start_ns, end_ns);
}

/* What sticks out of its run on either side may lie in the next ones: a device works on what was
 * launched in one run while the host is in another. Runs follow each other in time. */
static int cover_runs(struct scan *scan, enum scan_side side, const struct scan_session *session,
                      const struct scan_run *own, int64_t start_ns, int64_t end_ns)
{
    const struct scan_run *first = session->runs, *end = session->runs + session->run_count;
    int rc = cover_run(scan, side, own, start_ns, end_ns);

    for (const struct scan_run *run = own + 1; run < end && run->start_ns < end_ns && rc == 0;
         run++)
        rc = cover_run(scan, side, run, start_ns, end_ns);
    for (const struct scan_run *run = own; run > first && rc == 0; run--) {
        if (run[-1].end_ns != STORE_NULL && run[-1].end_ns <= start_ns)
            break;
        rc = cover_run(scan, side, run - 1, start_ns, end_ns);
    }
    return rc;
}

/* The time that an event covers, as far as it lies inside of counted runs where these are the time
 * to fill (own: the event's; NULL: it is in none, or counts whole). */
static int cover(struct scan *scan, enum scan_side side, const struct scan_session *session,
                 const struct scan_event *event, const struct scan_run *own)
{
    int64_t start_ns = event->start_ns, end_ns = event->start_ns + event->dur_ns;

    if (start_ns < scan->first_ns[side])
        scan->first_ns[side] = start_ns;
    if (end_ns > scan->last_ns[side])
        scan->last_ns[side] = end_ns;
    if (!own || session->all_events || session->flat ||
        (start_ns >= own->start_ns && own->end_ns != STORE_NULL && end_ns <= own->end_ns))
        return interval_add(&scan->covered[side], start_ns, end_ns);
    return cover_runs(scan, side, session, own, start_ns, end_ns);
}

/* Bounds that keep every sum and difference here within 64 bits. */
/* Together no program's spans last for 146 years: the rest is damage, and no sum of them overflows. */
static const int64_t SUMMED_MAX_NS = INT64_C(1) << 62;

static bool has_sane_times(const struct scan_event *event)
{
    return event->start_ns >= 0 && event->start_ns < INT64_MAX / 2 && event->dur_ns >= 0 &&
           event->dur_ns < INT64_MAX / 2 &&
           (event->kern_ns == STORE_NULL ||
            (event->kern_ns >= 0 && event->kern_ns <= event->dur_ns));
}

bool scan_takes(const struct scan *scan, const struct scan_event *event)
{
    uint32_t lane = id_map_find(&scan->lane_map, event->lane_id), op, run = ID_MAP_NONE;
    const struct scan_session *session;

    if (lane == ID_MAP_NONE)
        return false;
    session = &scan->sessions[scan->lanes[lane].session];
    op = id_map_find(&scan->op_map, event->op_id);
    if (event->start_ns < session->from_ns || event->start_ns >= session->until_ns ||
        op == ID_MAP_NONE || event->dur_ns == STORE_NULL || scan->op_kinds[op] == SCAN_OP_SKIPPED ||
        !has_sane_times(event))
        return false;
    if (event->run != STORE_NULL)
        run = id_map_find(&session->run_map, event->run);
    return run == ID_MAP_NONE ? session->all_events : session->runs[run].selected;
}

void scan_add(struct scan *scan, const struct scan_event *event)
{
    uint32_t lane_place = id_map_find(&scan->lane_map, event->lane_id), op;
    const struct scan_run *run;
    struct scan_session *session;
    struct scan_lane *lane;
    struct scan_sums *sums;
    int64_t nested_ns = 0;

    if (lane_place == ID_MAP_NONE || scan->error)
        return; /* of another session */
    lane = &scan->lanes[lane_place];
    session = &scan->sessions[lane->session];
    if (event->start_ns < session->from_ns || event->start_ns >= session->until_ns)
        return;
    op = id_map_find(&scan->op_map, event->op_id);
    if (op == ID_MAP_NONE) {
        scan->bad_count++;
        return;
    }
    if (event->dur_ns == STORE_NULL) {
        add_unfinished(scan, event);
        return;
    }
    if (scan->op_kinds[op] == SCAN_OP_SKIPPED)
        return;
    if (!has_sane_times(event)) {
        scan->bad_count++;
        return;
    }
    if (!is_selected(scan, session, event, &run))
        return;
    if (scan->summed_ns > SUMMED_MAX_NS - event->dur_ns) {
        scan->bad_count++;
        return;
    }
    scan->summed_ns += event->dur_ns;
    if (scan->op_kinds[op] == SCAN_OP_NESTING) {
        if (!session->flat && lane->side == SCAN_HOST)
            nested_ns = claim_nested(scan, lane, event->start_ns, event->dur_ns);
        if (cover(scan, lane->side, session, event, run) < 0)
            scan->error = -ENOMEM;
        if (scan->without_sums) {
            scan->own_ns[lane->side] += event->dur_ns - nested_ns;
            scan->own_calls[lane->side]++;
        }
    }
    scan->counted++;
    if (scan->without_sums)
        return;
    sums = find_sums(scan, op, lane_place);
    if (sums)
        add_to_sums(scan, sums, event, nested_ns);
}

static bool has_nested(const struct scan *scan, const struct scan_sums *sums)
{
    const struct scan_lane *lane = &scan->lanes[sums->lane];

    return scan->op_kinds[sums->op] == SCAN_OP_NESTING && lane->side == SCAN_HOST &&
           !scan->sessions[lane->session].flat;
}

void scan_forget_nested(struct scan *scan)
{
    for (size_t i = 0; i < scan->sums.count; i++) {
        struct scan_sums *sums = &scan->sums.items[i];

        sums->nested_ns = has_nested(scan, sums) ? sums->total_ns : 0;
    }
}

void scan_take_own(struct scan *scan, uint32_t op, uint32_t lane, int64_t own_ns)
{
    uint32_t place = scan->first_sums[op];

    while (place != ID_MAP_NONE && scan->sums.items[place].lane != lane)
        place = scan->sums.items[place].next;
    if (place != ID_MAP_NONE && has_nested(scan, &scan->sums.items[place]))
        scan->sums.items[place].nested_ns -= own_ns;
}

/* --- Costs. --- */

enum measure { MEASURE_END, MEASURE_KERN, MEASURE_EXEC };

/* All calls; NaN when no call says. Calls that do not say are taken to be like those that do. */
static double measure_sums(const struct scan_sums *sums, enum measure measure)
{
    double known;

    if (measure == MEASURE_END)
        return (double)(sums->total_ns - sums->nested_ns);
    if (!sums->kern_calls)
        return NAN;
    known = (double)(measure == MEASURE_KERN ? sums->kern_ns : sums->exec_ns);
    return known / (double)sums->kern_calls * (double)sums->calls;
}

/* In a flat session, whether another of the op's lanes did the longer part of its executions. Of
 * equal ones the one that comes first in the chain counts. */
static bool is_outdone(const struct scan *scan, const struct scan_sums *sums, enum measure measure)
{
    const struct scan_lane *lane = &scan->lanes[sums->lane];
    double own = measure_sums(sums, measure);
    bool before = true;

    if (!scan->sessions[lane->session].flat)
        return false;
    for (uint32_t i = scan->first_sums[sums->op]; i != ID_MAP_NONE; i = scan->sums.items[i].next) {
        const struct scan_sums *other = &scan->sums.items[i];
        double value = measure_sums(other, measure);

        if (other == sums)
            before = false;
        else if (scan->lanes[other->lane].side == lane->side && !isnan(value) &&
                 (isnan(own) || value > own || (value == own && before)))
            return true;
    }
    return false;
}

/* Of all lanes together, so that it is the same whichever lane a call was on. */
static double measure_op(const struct scan *scan, uint32_t op, enum scan_side side,
                         enum measure measure, uint64_t *out_calls)
{
    struct scan_sums all = {0};

    for (uint32_t i = scan->first_sums[op]; i != ID_MAP_NONE; i = scan->sums.items[i].next) {
        const struct scan_sums *sums = &scan->sums.items[i];

        if (scan->lanes[sums->lane].side != side || is_outdone(scan, sums, measure))
            continue;
        all.calls += sums->calls;
        all.kern_calls += sums->kern_calls;
        all.total_ns += sums->total_ns;
        all.nested_ns += sums->nested_ns;
        all.kern_ns += sums->kern_ns;
        all.exec_ns += sums->exec_ns;
    }
    *out_calls = all.calls;
    return all.calls ? measure_sums(&all, measure) : NAN;
}

void scan_percentiles(const struct store_histogram *durations, double min_ns, double max_ns,
                      double *out_ns)
{
    static const double percents[SCAN_PERCENTILES] = {50, 90, 99};

    for (size_t i = 0; i < SCAN_PERCENTILES; i++) {
        int64_t middle_ns = store_histogram_percentile(durations, percents[i]);

        out_ns[i] = middle_ns < 0 ? NAN : fmax(min_ns, fmin(max_ns, (double)middle_ns));
    }
}

int scan_add_durations(const struct scan *scan, uint32_t op, enum scan_side side,
                       struct store_histogram *into)
{
    int rc = 0;

    for (uint32_t i = scan->first_sums[op]; i != ID_MAP_NONE && rc == 0;
         i = scan->sums.items[i].next) {
        if (scan->lanes[scan->sums.items[i].lane].side == side)
            rc = store_histogram_merge(into, &scan->sums.items[i].durations);
    }
    return rc;
}

static void measure_spread(const struct scan *scan, uint32_t op, enum scan_side side,
                           struct scan_cost *cost)
{
    struct store_histogram merged = {0};
    const struct store_histogram *durations = NULL;
    size_t lanes = 0;
    int rc = 0;

    for (uint32_t i = scan->first_sums[op]; i != ID_MAP_NONE; i = scan->sums.items[i].next) {
        const struct scan_sums *sums = &scan->sums.items[i];

        if (scan->lanes[sums->lane].side != side)
            continue;
        durations = &sums->durations;
        lanes++;
    }
    if (lanes > 1)
        rc = scan_add_durations(scan, op, side, &merged);
    if (lanes && rc == 0)
        scan_percentiles(lanes > 1 ? &merged : durations, cost->min_ns, cost->max_ns,
                         cost->percentile_ns);
    store_histogram_deinit(&merged);
}

struct scan_cost scan_op_cost(const struct scan *scan, uint32_t op, enum scan_side side)
{
    struct scan_cost cost = {.min_ns = NAN, .max_ns = NAN, .percentile_ns = {NAN, NAN, NAN}};
    uint64_t calls;

    cost.end_ns = measure_op(scan, op, side, MEASURE_END, &cost.calls);
    cost.kern_ns = measure_op(scan, op, side, MEASURE_KERN, &calls);
    cost.exec_ns = measure_op(scan, op, side, MEASURE_EXEC, &calls);
    for (uint32_t i = scan->first_sums[op]; i != ID_MAP_NONE; i = scan->sums.items[i].next) {
        const struct scan_sums *sums = &scan->sums.items[i];

        if (scan->lanes[sums->lane].side != side)
            continue;
        cost.whole_ns += (double)sums->total_ns;
        if (isnan(cost.min_ns) || (double)sums->min_ns < cost.min_ns)
            cost.min_ns = (double)sums->min_ns;
        if (isnan(cost.max_ns) || (double)sums->max_ns > cost.max_ns)
            cost.max_ns = (double)sums->max_ns;
    }
    if (!scan->without_durations)
        measure_spread(scan, op, side, &cost);
    return cost;
}
