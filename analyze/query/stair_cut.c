/* SPDX-License-Identifier: Apache-2.0 */
/* A few passes over what is there. What it takes to be there and is not, is found out when it comes. */
#include "analyze/query/stair_cut.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "schema/store/store.h"

enum { CUT_TRIES = 12 };

int stair_cut_init(struct stair_cut *cut, const struct spans_answer *answer)
{
    *cut = (struct stair_cut){
        .lanes_ns = malloc((answer->lanes.count + 1) * sizeof(*cut->lanes_ns)),
        .is_wait = calloc(answer->ops.count + 1, sizeof(*cut->is_wait)),
        .lane_count = answer->lanes.count,
    };
    if (!cut->lanes_ns || !cut->is_wait)
        return -ENOMEM;
    for (size_t i = 0; i < answer->ops.count; i++) {
        const struct op_row *op = &answer->ops.items[i];

        if (answer->op_kinds[i] != SPAN_PHASE)
            continue;
        cut->is_wait[i] = spans_op_waits(answer, i);
        cut->has_records |= strstr(op->name, "EventRecord") != NULL;
    }
    stair_cut_restart(cut);
    return 0;
}

void stair_cut_deinit(struct stair_cut *cut)
{
    free(cut->lanes_ns);
    free(cut->is_wait);
    *cut = (struct stair_cut){0};
}

void stair_cut_straight(struct stair_cut *cut, int64_t cut_ns)
{
    for (size_t i = 0; i < cut->lane_count; i++)
        cut->lanes_ns[i] = cut->lanes_ns[i] > cut_ns ? cut->lanes_ns[i] : cut_ns;
    cut->host_ns = cut_ns;
}

void stair_cut_restart(struct stair_cut *cut)
{
    for (size_t i = 0; i < cut->lane_count; i++)
        cut->lanes_ns[i] = INT64_MIN;
    cut->host_ns = INT64_MIN;
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

/* What threads have at a time. */
struct host_view {
    int64_t first_ns, last_ns; /* starts */
    int64_t lowest_ns;         /* the first start of those that lie on both sides, or the time */
    bool ends_at, has_point;   /* something ends there, or takes no time */
    struct launch_key last[KEY_KINDS],
        next[KEY_KINDS]; /* the greatest before it, the least behind */
    size_t before_count;
};

static void look_at_host_span(const struct spans_answer *answer, const struct span *span,
                              int64_t cut_ns, struct host_view *view)
{
    const bool is_before = span->start_ns < cut_ns;
    struct launch_key key;
    int kind;

    view->first_ns = span->start_ns < view->first_ns ? span->start_ns : view->first_ns;
    view->last_ns = span->start_ns > view->last_ns ? span->start_ns : view->last_ns;
    view->before_count += is_before;
    view->has_point |= span->start_ns == cut_ns && span->dur_ns == 0;
    view->ends_at |= is_before && end_of(span) == cut_ns;
    if (is_before && end_of(span) > cut_ns && span->start_ns < view->lowest_ns)
        view->lowest_ns = span->start_ns;
    if (span->correlation == STORE_NULL)
        return;
    kind = launch_key_of(answer, span, &key);
    if (is_before && launch_key_compare(&key, &view->last[kind]) > 0)
        view->last[kind] = key;
    if (!is_before && launch_key_compare(&key, &view->next[kind]) < 0)
        view->next[kind] = key;
}

static void look_at_hosts(const struct span_bins *bins, const struct spans_answer *answer,
                          int64_t cut_ns, struct host_view *out_view)
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

        while (is_host(answer, lane) && (span = span_cursor_next(&cursor)))
            look_at_host_span(answer, span, cut_ns, out_view);
    }
}

/* The latest time until *cut_ns at which threads can be cut. */
static bool find_host_cut(const struct span_bins *bins, const struct spans_answer *answer,
                          int64_t *cut_ns, struct host_view *view)
{
    for (int i = 0; i < CUT_TRIES; i++) {
        bool grows = true;

        look_at_hosts(bins, answer, *cut_ns, view);
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
    if (cut->is_wait[span->op] && span->correlation != STORE_NULL && !is_host(answer, span->lane))
        return is_launched_before(cut, answer, span);
    return span->start_ns < cut->lanes_ns[span->lane];
}

bool stair_cut_is_late(const struct stair_cut *cut, const struct span *span)
{
    return span->start_ns < (cut->is_wait[span->op] ? cut->host_ns : cut->lanes_ns[span->lane]);
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
        if (cut->is_wait[span->op])
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

/* Whether all of a lane is on either side. */
static bool is_clean(const struct stair_cut *cut, const struct span_bins *bins,
                     const struct spans_answer *answer, size_t lane)
{
    struct span_cursor cursor = span_bins_cursor(bins, lane);
    const int64_t cut_ns = cut->lanes_ns[lane];
    bool ends_at = false, has_point = false;
    const struct span *span;

    while ((span = span_cursor_next(&cursor))) {
        const bool is_before = stair_cut_is_before(cut, answer, span);

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

/* Where lanes of devices are cut, given where threads are. */
static bool cut_devices(struct stair_cut *cut, const struct span_bins *bins,
                        const struct spans_answer *answer, int64_t later_ns, bool is_patient)
{
    bool has_behind = false, is_found = true;

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
        cut->lanes_ns[lane] = cut_ns;
    }
    if (!is_found || !has_behind)
        return false;
    for (size_t lane = 0; lane < bins->lane_count && is_found; lane++)
        is_found = is_host(answer, lane) || is_clean(cut, bins, answer, lane);
    return is_found;
}

static bool find(struct stair_cut *cut, const struct span_bins *bins,
                 const struct spans_answer *answer, int64_t later_ns, bool is_patient,
                 const struct stair_cut *was)
{
    struct host_view view;
    int64_t cut_ns;

    look_at_hosts(bins, answer, later_ns, &view);
    if (view.last_ns <= view.first_ns)
        return false;
    cut_ns = view.last_ns < later_ns ? view.last_ns : later_ns;
    cut_ns = view.first_ns + (cut_ns - view.first_ns) / 4 * 3;
    for (int i = 0; i < CUT_TRIES; i++) {
        const int64_t first_ns = view.first_ns;

        memcpy(cut->lanes_ns, was->lanes_ns, cut->lane_count * sizeof(*was->lanes_ns));
        memcpy(cut->last_key, was->last_key, sizeof(was->last_key));
        if (!find_host_cut(bins, answer, &cut_ns, &view))
            return false;
        for (int kind = 0; kind < KEY_KINDS; kind++) {
            if (launch_key_compare(&view.last[kind], &cut->last_key[kind]) > 0)
                cut->last_key[kind] = view.last[kind];
        }
        cut->host_ns = cut_ns;
        if (cut_devices(cut, bins, answer, later_ns, is_patient))
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
    if (was.lanes_ns && !cut->has_records) {
        memcpy(was.lanes_ns, cut->lanes_ns, cut->lane_count * sizeof(*was.lanes_ns));
        is_found = find(cut, bins, answer, later_ns, is_patient, &was);
        if (!is_found) {
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

bool stair_cut_parts_launches(const struct span_bins *bins, const struct spans_answer *answer,
                              int64_t cut_ns)
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

            if (span->correlation == STORE_NULL)
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
