/* SPDX-License-Identifier: Apache-2.0 */
/* A few passes over what is there. What it takes to be there and is not, is found out when it comes. */
#include "analyze/query/stair_cut.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "schema/store/store.h"

enum { CUT_TRIES = 12, OPEN_TRIES = 40 };

int stair_cut_init(struct stair_cut *cut, const struct spans_answer *answer)
{
    *cut = (struct stair_cut){
        .lanes_ns = malloc((answer->lanes.count + 1) * sizeof(*cut->lanes_ns)),
        .is_wait = calloc(answer->ops.count + 1, sizeof(*cut->is_wait)),
        .is_record = calloc(answer->ops.count + 1, sizeof(*cut->is_record)),
        .in_op_until_ns = malloc((answer->lanes.count + 1) * sizeof(*cut->in_op_until_ns)),
        .launches = calloc(answer->ops.count + 1, sizeof(*cut->launches)),
        .lane_count = answer->lanes.count,
    };
    if (!cut->in_op_until_ns || !cut->lanes_ns || !cut->is_wait || !cut->is_record ||
        !cut->launches)
        return -ENOMEM;
    for (size_t i = 0; i < answer->ops.count; i++) {
        const struct op_row *op = &answer->ops.items[i];

        if (answer->op_kinds[i] != SPAN_PHASE)
            continue;
        cut->is_wait[i] = spans_op_waits(answer, i);
        cut->is_record[i] = strstr(op->name, "EventRecord") != NULL;
        cut->has_records |= cut->is_record[i];
    }
    stair_cut_restart(cut);
    return 0;
}

void stair_cut_deinit(struct stair_cut *cut)
{
    free(cut->lanes_ns);
    free(cut->is_wait);
    free(cut->is_record);
    free(cut->launches);
    free(cut->in_op_until_ns);
    *cut = (struct stair_cut){0};
}

void stair_cut_straight(struct stair_cut *cut, int64_t cut_ns)
{
    for (size_t i = 0; i < cut->lane_count; i++)
        cut->lanes_ns[i] = cut->lanes_ns[i] > cut_ns ? cut->lanes_ns[i] : cut_ns;
    cut->host_ns = cut_ns;
    cut->opens = false;
}

void stair_cut_restart(struct stair_cut *cut)
{
    for (size_t i = 0; i < cut->lane_count; i++)
        cut->lanes_ns[i] = cut->in_op_until_ns[i] = INT64_MIN;
    cut->host_ns = INT64_MIN;
    cut->opens = false;
    for (int i = 0; i < KEY_KINDS; i++)
        cut->last_key[i] = (struct launch_key){INT64_MIN, INT64_MIN};
}

static int64_t end_of(const struct span *span)
{
    return span->start_ns + span->dur_ns;
}

static bool is_host(const struct spans_answer *answer, size_t lane)
{
    return answer->lanes.items[lane].side == OP_HOST;
}

/* --- Threads. --- */

/* It has no number and no bytes. */
static bool may_be_open(const struct stair_cut *cut, const struct span *span)
{
    return cut->may_be_open[span->op] && span->correlation == STORE_NULL &&
           span->bytes == STORE_NULL;
}

/* What a thread is in at a time. */
struct open_view {
    int64_t start_ns;        /* of the innermost op that is open; INT64_MIN: none is */
    int64_t outer_ns;        /* of the one around that; the same */
    int64_t ended_ns;        /* the last op that took time and has ended until then */
    const struct span *last; /* the last that came and is open, or NULL */
};

/* What threads have at a time. */
struct host_view {
    int64_t first_ns, last_ns; /* starts */
    int64_t lowest_ns;         /* the first start of those that lie on both sides, or the time */
    bool ends_at, has_point;   /* something ends there, or takes no time */
    struct launch_key last[KEY_KINDS],
        next[KEY_KINDS]; /* the greatest before it, the least behind */
    size_t before_count;
    struct open_view open; /* of the thread at hand */
};

static void not_behind(int64_t start_ns, struct host_view *view)
{
    view->lowest_ns = start_ns < view->lowest_ns ? start_ns : view->lowest_ns;
}

/* Of two at the very same time it is not known here which holds the other. */
static void look_at_open(const struct stair_cut *cut, const struct span *span, bool is_op,
                         struct host_view *view)
{
    struct open_view *open = &view->open;
    const bool is_twin =
        open->last && span->start_ns == open->last->start_ns && span->dur_ns == open->last->dur_ns;

    if (!cut->opens || is_twin || !may_be_open(cut, span)) {
        not_behind(span->start_ns, view);
    } else if (is_op && span->start_ns > open->start_ns) {
        open->outer_ns = open->start_ns;
        open->start_ns = span->start_ns;
    } else if (is_op && span->start_ns > open->outer_ns) {
        open->outer_ns = span->start_ns;
    }
    open->last = span;
}

/* Where nothing has ended in the innermost, what it waited for would be asked of later parts, but where another
 * op was left for it. */
static void end_lane(const struct stair_cut *cut, size_t lane, int64_t cut_ns,
                     struct host_view *view)
{
    const struct open_view *open = &view->open;
    const bool is_in_op = cut->in_op_until_ns[lane] > cut_ns ||
                          (open->outer_ns != INT64_MIN && open->outer_ns < open->start_ns);

    if (open->start_ns != INT64_MIN && !cut->opens_leaves && !is_in_op &&
        open->ended_ns <= open->start_ns)
        not_behind(open->start_ns, view);
}

static void look_at_host_span(const struct stair_cut *cut, const struct spans_answer *answer,
                              const struct span *span, int64_t cut_ns, struct host_view *view)
{
    const bool is_before = span->start_ns < cut_ns;
    const bool is_op = answer->op_kinds[span->op] == SPAN_OP;
    struct launch_key key;
    int kind;

    view->first_ns = span->start_ns < view->first_ns ? span->start_ns : view->first_ns;
    view->last_ns = span->start_ns > view->last_ns ? span->start_ns : view->last_ns;
    view->before_count += is_before;
    view->has_point |= span->start_ns == cut_ns && span->dur_ns == 0;
    view->ends_at |= is_before && end_of(span) == cut_ns;
    if (is_before && end_of(span) > cut_ns)
        look_at_open(cut, span, is_op, view);
    else if (is_before && is_op && span->dur_ns > 0 && end_of(span) > view->open.ended_ns)
        view->open.ended_ns = end_of(span);
    if (span->correlation == STORE_NULL)
        return;
    kind = launch_key_of(answer, span, &key);
    if (is_before && launch_key_compare(&key, &view->last[kind]) > 0)
        view->last[kind] = key;
    if (!is_before && launch_key_compare(&key, &view->next[kind]) < 0)
        view->next[kind] = key;
}

static void look_at_hosts(const struct stair_cut *cut, const struct span_bins *bins,
                          const struct spans_answer *answer, int64_t cut_ns,
                          struct host_view *out_view)
{
    *out_view =
        (struct host_view){.first_ns = INT64_MAX, .last_ns = INT64_MIN, .lowest_ns = cut_ns};
    for (int i = 0; i < KEY_KINDS; i++) {
        out_view->last[i] = (struct launch_key){INT64_MIN, INT64_MIN};
        out_view->next[i] = (struct launch_key){INT64_MAX, INT64_MAX};
    }
    for (size_t lane = 0; lane < bins->lane_count; lane++) {
        struct span_cursor cursor = span_bins_cursor(bins, lane);
        const struct span *span;

        out_view->open = (struct open_view){INT64_MIN, INT64_MIN, INT64_MIN, NULL};
        while (is_host(answer, lane) && (span = span_cursor_next(&cursor)))
            look_at_host_span(cut, answer, span, cut_ns, out_view);
        end_lane(cut, lane, cut_ns, out_view);
    }
}

/* The latest time until *cut_ns at which threads can be cut. */
static bool find_host_cut(const struct stair_cut *cut, const struct span_bins *bins,
                          const struct spans_answer *answer, int64_t *cut_ns,
                          struct host_view *view)
{
    for (int i = 0; i < (cut->opens ? OPEN_TRIES : CUT_TRIES); i++) {
        bool grows = true;

        look_at_hosts(cut, bins, answer, *cut_ns, view);
        if (!view->before_count)
            return false;
        for (int kind = 0; kind < KEY_KINDS; kind++)
            grows &= launch_key_compare(&view->last[kind], &view->next[kind]) < 0;
        if (view->lowest_ns < *cut_ns)
            *cut_ns = view->lowest_ns;
        else if (view->has_point && view->ends_at)
            *cut_ns -= 1;
        else if (!grows)
            *cut_ns = view->first_ns + (*cut_ns - view->first_ns) / 4 * 3;
        else
            return true;
    }
    return false;
}

/* --- Devices. --- */

/* Whether a span with a number is of a launch before the cut. */
static bool is_launched_before(const struct stair_cut *cut, const struct spans_answer *answer,
                               const struct span *span)
{
    struct launch_key key;
    int kind = launch_key_of(answer, span, &key);

    return launch_key_compare(&key, &cut->last_key[kind]) <= 0;
}

bool stair_cut_is_before(const struct stair_cut *cut, const struct spans_answer *answer,
                         const struct span *span)
{
    if (is_host(answer, span->lane) || !(cut->is_wait[span->op] || cut->is_record[span->op]))
        return span->start_ns < cut->lanes_ns[span->lane];
    if (stair_cut_has_key(cut, span))
        return is_launched_before(cut, answer, span);
    return span->start_ns < (cut->parts_waits ? cut->host_ns : cut->lanes_ns[span->lane]);
}

bool stair_cut_is_late(const struct stair_cut *cut, const struct span *span)
{
    const bool is_asked = cut->is_wait[span->op] && !cut->has_records;

    return span->start_ns < (is_asked ? cut->host_ns : cut->lanes_ns[span->lane]);
}

/* What a lane of a device has on both sides. */
struct lane_view {
    bool has_before, has_behind;
    int64_t ended_ns, behind_ns; /* the last end before, the first start behind */
    int64_t crossing_ns;         /* of spans without a launch the first that goes on at the cut */
};

static struct lane_view look_at_lane(const struct stair_cut *cut, const struct span_bins *bins,
                                     const struct spans_answer *answer, size_t lane)
{
    struct lane_view view = {
        .ended_ns = INT64_MIN, .behind_ns = INT64_MAX, .crossing_ns = cut->host_ns};
    struct span_cursor cursor = span_bins_cursor(bins, lane);
    const struct span *span;

    while ((span = span_cursor_next(&cursor))) {
        if (cut->is_wait[span->op] || cut->is_record[span->op])
            continue;
        if (span->correlation == STORE_NULL) {
            if (end_of(span) > cut->host_ns && span->start_ns < view.crossing_ns)
                view.crossing_ns = span->start_ns;
        } else if (is_launched_before(cut, answer, span)) {
            view.has_before = true;
            view.ended_ns = end_of(span) > view.ended_ns ? end_of(span) : view.ended_ns;
        } else {
            view.has_behind = true;
            view.behind_ns = span->start_ns < view.behind_ns ? span->start_ns : view.behind_ns;
        }
    }
    return view;
}

/* Whether a record within a graph is on the side of the op that it ends, and a wait on that of the op that
 * it begins with: the last before the cut begins at `last_ns`, the first behind it at `first_ns`. */
static bool is_with_op(const struct stair_cut *cut, const struct span *span, bool is_before,
                       int64_t last_ns, int64_t first_ns)
{
    if (cut->is_record[span->op])
        return is_before == (span->start_ns <= first_ns);
    return is_before == (span->start_ns <= last_ns);
}

/* When the last op of a lane begins that is before a cut, and the first behind it. */
static void find_neighbours(const struct stair_cut *cut, const struct span_bins *bins,
                            const struct spans_answer *answer, size_t lane, int64_t *out_last_ns,
                            int64_t *out_first_ns)
{
    struct span_cursor cursor = span_bins_cursor(bins, lane);
    const struct span *span;

    *out_last_ns = INT64_MIN;
    *out_first_ns = INT64_MAX;
    while (cut->has_records && (span = span_cursor_next(&cursor))) {
        if (answer->op_kinds[span->op] != SPAN_OP)
            continue;
        if (!stair_cut_is_before(cut, answer, span))
            *out_first_ns = span->start_ns < *out_first_ns ? span->start_ns : *out_first_ns;
        else if (span->start_ns > *out_last_ns)
            *out_last_ns = span->start_ns;
    }
}

/* Whether all of a lane is on either side. */
static bool is_clean(const struct stair_cut *cut, const struct span_bins *bins,
                     const struct spans_answer *answer, size_t lane)
{
    struct span_cursor cursor = span_bins_cursor(bins, lane);
    const int64_t cut_ns = cut->lanes_ns[lane];
    bool ends_at = false, has_point = false;
    int64_t last_ns, first_ns;
    const struct span *span;

    find_neighbours(cut, bins, answer, lane, &last_ns, &first_ns);
    while ((span = span_cursor_next(&cursor))) {
        const bool is_before = stair_cut_is_before(cut, answer, span);

        if (cut->has_records && (cut->is_wait[span->op] || cut->is_record[span->op])) {
            /* One that takes no time comes behind what begins then. */
            if (!is_with_op(cut, span, is_before, last_ns, first_ns) ||
                (is_before && span->start_ns >= cut_ns))
                return false;
            continue;
        }
        if (cut->is_wait[span->op]) {
            if (is_before != (span->start_ns < cut->host_ns))
                return false;
            continue;
        }
        if (is_before && end_of(span) > cut_ns)
            return false;
        if (span->correlation != STORE_NULL && is_before != is_launched_before(cut, answer, span))
            return false;
        ends_at |= is_before && end_of(span) == cut_ns;
        has_point |= span->start_ns == cut_ns && span->dur_ns == 0;
    }
    return !(ends_at && has_point);
}

/* --- What is not there yet. --- */

/* Which numbers devices have, by what is left of them: two in one place do little harm. */
enum { ARRIVALS = 1 << 14 };

struct arrivals {
    bool is_there[ARRIVALS];
};

static bool *arrival_of(struct arrivals *arrivals, const struct spans_answer *answer,
                        const struct span *span)
{
    struct launch_key key;

    launch_key_of(answer, span, &key);
    return &arrivals->is_there[((uint64_t)key.group * 7919 + (uint64_t)key.correlation) % ARRIVALS];
}

/* Calls `look` with what has a number on one side, but for phases, until that returns false. */
static bool look_at_side(struct stair_cut *cut, const struct span_bins *bins,
                         const struct spans_answer *answer, enum op_side side,
                         struct arrivals *arrivals,
                         bool (*look)(struct stair_cut *cut, const struct span *span,
                                      int64_t cut_ns, bool *arrival),
                         int64_t cut_ns)
{
    bool goes_on = true;

    for (size_t lane = 0; lane < bins->lane_count && goes_on; lane++) {
        struct span_cursor cursor = span_bins_cursor(bins, lane);
        const struct span *span;

        while (answer->lanes.items[lane].side == side && goes_on &&
               (span = span_cursor_next(&cursor))) {
            if (span->correlation != STORE_NULL && answer->op_kinds[span->op] == SPAN_OP)
                goes_on = look(cut, span, cut_ns, arrival_of(arrivals, answer, span));
        }
    }
    return goes_on;
}

static bool note_arrival(struct stair_cut *cut, const struct span *span, int64_t cut_ns,
                         bool *arrival)
{
    (void)cut;
    (void)span;
    (void)cut_ns;
    *arrival = true;
    return true;
}

static bool is_before(struct stair_cut *cut, const struct span *span, int64_t cut_ns, bool *arrival)
{
    (void)cut;
    (void)arrival;
    return span->start_ns < cut_ns;
}

static bool note_launch(struct stair_cut *cut, const struct span *span, int64_t cut_ns,
                        bool *arrival)
{
    (void)cut_ns;
    cut->launches[span->op] |= *arrival;
    return true;
}

static bool has_arrived(struct stair_cut *cut, const struct span *span, int64_t cut_ns,
                        bool *arrival)
{
    return *arrival || !cut->launches[span->op] || span->start_ns >= cut_ns;
}

bool stair_cut_has_arrived(struct stair_cut *cut, const struct span_bins *bins,
                           const struct spans_answer *answer, int64_t cut_ns)
{
    struct arrivals arrivals = {0};

    /* Of what was launched as one some may be there. */
    if (cut->has_records &&
        look_at_side(cut, bins, answer, OP_DEVICE, &arrivals, is_before, cut_ns))
        return false;
    look_at_side(cut, bins, answer, OP_DEVICE, &arrivals, note_arrival, cut_ns);
    look_at_side(cut, bins, answer, OP_HOST, &arrivals, note_launch, cut_ns);
    return look_at_side(cut, bins, answer, OP_HOST, &arrivals, has_arrived, cut_ns);
}

/* --- All lanes. --- */

/* Where lanes of devices are cut, given where threads are, and whether these have launched something. */
static bool cut_devices(struct stair_cut *cut, const struct span_bins *bins,
                        const struct spans_answer *answer, int64_t later_ns, bool is_patient,
                        bool has_launches)
{
    bool has_behind = !has_launches, is_found = true, has_empty = false;

    for (size_t lane = 0; lane < bins->lane_count && is_found; lane++) {
        const struct lane_view view =
            is_host(answer, lane) ? (struct lane_view){0} : look_at_lane(cut, bins, answer, lane);
        int64_t cut_ns = cut->host_ns;

        if (view.has_behind)
            cut_ns = view.behind_ns;
        else if (view.has_before && view.ended_ns >= cut_ns)
            cut_ns = view.ended_ns + 1;
        else if (!is_host(answer, lane) && !view.has_before)
            cut_ns = view.crossing_ns;
        is_found = cut_ns >= cut->lanes_ns[lane] && cut_ns < later_ns;
        is_found &= !is_patient || view.has_behind || !view.has_before;
        has_behind |= view.has_behind;
        has_empty |= !is_host(answer, lane) && !view.has_behind && !view.has_before;
        cut->lanes_ns[lane] = cut_ns;
    }
    if (!is_found || !has_behind ||
        (has_empty && is_patient && !stair_cut_has_arrived(cut, bins, answer, cut->host_ns)))
        return false;
    for (size_t lane = 0; lane < bins->lane_count && is_found; lane++)
        is_found = is_host(answer, lane) || is_clean(cut, bins, answer, lane);
    return is_found;
}

static bool has_launches(const struct host_view *view)
{
    return view->last[KEYS_OF_RUNS].group != INT64_MIN ||
           view->last[KEYS_OF_SESSIONS].group != INT64_MIN;
}

static bool find(struct stair_cut *cut, const struct span_bins *bins,
                 const struct spans_answer *answer, int64_t later_ns, bool is_patient,
                 const struct stair_cut *was)
{
    struct host_view view;
    int64_t cut_ns;

    look_at_hosts(cut, bins, answer, later_ns, &view);
    if (view.last_ns <= view.first_ns)
        return false;
    cut_ns = view.last_ns < later_ns ? view.last_ns : later_ns;
    cut_ns = view.first_ns + (cut_ns - view.first_ns) / 4 * 3;
    for (int i = 0; i < CUT_TRIES; i++) {
        const int64_t first_ns = view.first_ns;

        memcpy(cut->lanes_ns, was->lanes_ns, cut->lane_count * sizeof(*was->lanes_ns));
        memcpy(cut->last_key, was->last_key, sizeof(was->last_key));
        if (!find_host_cut(cut, bins, answer, &cut_ns, &view))
            return false;
        for (int kind = 0; kind < KEY_KINDS; kind++) {
            if (launch_key_compare(&view.last[kind], &cut->last_key[kind]) > 0)
                cut->last_key[kind] = view.last[kind];
        }
        cut->host_ns = cut_ns;
        if (cut_devices(cut, bins, answer, later_ns, is_patient, has_launches(&view)))
            return true;
        cut_ns = first_ns + (cut_ns - first_ns) / 3 * 2;
    }
    return false;
}

bool stair_cut_find(struct stair_cut *cut, const struct span_bins *bins,
                    const struct spans_answer *answer, int64_t later_ns, bool is_patient)
{
    struct stair_cut was = *cut;
    bool is_found = false;

    was.lanes_ns = malloc((cut->lane_count + 1) * sizeof(*was.lanes_ns));
    if (was.lanes_ns) {
        memcpy(was.lanes_ns, cut->lanes_ns, cut->lane_count * sizeof(*was.lanes_ns));
        is_found = find(cut, bins, answer, later_ns, is_patient, &was);
        if (!is_found && !cut->opens && cut->may_be_open) {
            cut->opens = true;
            is_found = find(cut, bins, answer, later_ns, is_patient, &was);
        }
        if (!is_found) {
            cut->opens = was.opens;
            memcpy(cut->lanes_ns, was.lanes_ns, cut->lane_count * sizeof(*was.lanes_ns));
            memcpy(cut->last_key, was.last_key, sizeof(was.last_key));
            cut->host_ns = was.host_ns;
        }
    }
    free(was.lanes_ns);
    return is_found;
}

int64_t stair_cut_settled_ns(const struct stair_cut *cut)
{
    int64_t settled_ns = cut->host_ns;

    for (size_t i = 0; i < cut->lane_count; i++)
        settled_ns = cut->lanes_ns[i] < settled_ns ? cut->lanes_ns[i] : settled_ns;
    return settled_ns;
}

bool stair_cut_parts_launches(const struct stair_cut *cut, const struct span_bins *bins,
                              const struct spans_answer *answer, int64_t cut_ns)
{
    struct launch_key last[KEY_KINDS], next[KEY_KINDS], key;

    for (int i = 0; i < KEY_KINDS; i++) {
        last[i] = (struct launch_key){INT64_MIN, INT64_MIN};
        next[i] = (struct launch_key){INT64_MAX, INT64_MAX};
    }
    for (size_t lane = 0; lane < bins->lane_count; lane++) {
        struct span_cursor cursor = span_bins_cursor(bins, lane);
        const struct span *span;

        while ((span = span_cursor_next(&cursor))) {
            int kind;

            if (!stair_cut_has_key(cut, span))
                continue;
            kind = launch_key_of(answer, span, &key);
            if (span->start_ns < cut_ns && launch_key_compare(&key, &last[kind]) > 0)
                last[kind] = key;
            if (span->start_ns >= cut_ns && launch_key_compare(&key, &next[kind]) < 0)
                next[kind] = key;
        }
    }
    return launch_key_compare(&last[0], &next[0]) < 0 && launch_key_compare(&last[1], &next[1]) < 0;
}
