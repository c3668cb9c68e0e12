/* SPDX-License-Identifier: Apache-2.0 */
/* Why the slowest run was slow: its parts against those of runs near the median. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analyze/containers/text_order.h"
#include "analyze/metrics/run_parts.h"
#include "analyze/reports/brief/brief.h"

struct near_run {
    struct run_key key;
    double distance_ns;
};

static int compare_near(const void *a, const void *b)
{
    const struct near_run *left = a, *right = b;

    if (left->distance_ns != right->distance_ns)
        return left->distance_ns < right->distance_ns ? -1 : 1;
    return left->key.run < right->key.run ? -1 : left->key.run > right->key.run;
}

static int compare_runs(const void *a, const void *b)
{
    const struct run_key *left = a, *right = b;

    if (left->session_id != right->session_id)
        return left->session_id < right->session_id ? -1 : 1;
    return (left->run > right->run) - (left->run < right->run);
}

static double length_of(const struct counted_run *run)
{
    return run->end_ns == STORE_NULL || run->end_ns < run->start_ns
               ? NAN
               : (double)(run->end_ns - run->start_ns);
}

/* The slowest run and those nearest to the median, in the order of queries. Returns how many, or
 * -ENOMEM. */
static int choose_runs(const struct brief *brief, struct run_key *keys)
{
    const struct counted_runs *counted = &brief->counted;
    struct near_run *near = malloc(counted->count * sizeof(*near));
    size_t count = 0, chosen = 0;

    if (!near)
        return -ENOMEM;
    for (size_t i = 0; i < counted->count; i++) {
        const struct counted_run *run = &counted->items[i];
        double ns = length_of(run);

        if (!isnan(ns) && !run->lacks_events && ns < brief->slowest.ns)
            near[count++] =
                (struct near_run){{run->session_id, run->run}, fabs(ns - brief->runs.p50_ns)};
    }
    if (count)
        qsort(near, count, sizeof(*near), compare_near);
    for (; chosen < count && chosen < BRIEF_USUAL_RUNS; chosen++)
        keys[chosen] = near[chosen].key;
    free(near);
    keys[chosen++] = (struct run_key){brief->slowest.run.session_id, brief->slowest.run.run};
    qsort(keys, chosen, sizeof(*keys), compare_runs);
    return (int)chosen;
}

static int compare_causes(const void *a, const void *b)
{
    const struct brief_cause *left = a, *right = b;
    int order = compare_texts(left->name, right->name);

    return order ? order : compare_texts(left->where, right->where);
}

/* Causes that read alike, such as one op with several shapes, are one. Returns how many are left. */
static size_t merge_causes(struct brief_cause *causes, size_t count)
{
    size_t kept = 0;

    if (count)
        qsort(causes, count, sizeof(*causes), compare_causes);
    for (size_t i = 0; i < count; i++) {
        if (kept && compare_causes(&causes[kept - 1], &causes[i]) == 0)
            causes[kept - 1].more_ns += causes[i].more_ns;
        else
            causes[kept++] = causes[i];
    }
    return kept;
}

/* Those parts that took most more. Returns 0 or -ENOMEM. */
static int name_causes(struct brief_slowest *slowest, const double *more_ns)
{
    static const char *const where[RUN_PARTS] = {"on the device", "waiting on the device", NULL};
    const struct spans_answer *spans = &slowest->spans;
    size_t ops = spans->ops.count, count = 0;
    struct brief_cause *causes = malloc(run_part_count(ops) * sizeof(*causes));

    if (!causes)
        return -ENOMEM;
    for (size_t part = 0; part < run_part_count(ops); part++) {
        struct brief_cause cause = {NULL, NULL, more_ns[part]};

        if (part == run_part_unshown(ops))
            continue;
        if (part < run_part_unshown(ops)) {
            cause.name = spans->ops.items[part / RUN_PARTS].name;
            cause.where = part % RUN_PARTS == RUN_PART_WAIT ? where[RUN_PART_WAIT] : NULL;
        }
        causes[count++] = cause;
    }
    count = merge_causes(causes, count);
    for (size_t i = 0; i < count; i++) {
        size_t at = slowest->cause_count;

        if (!(causes[i].more_ns > 0) ||
            (at == BRIEF_CAUSES && causes[i].more_ns <= slowest->causes[at - 1].more_ns))
            continue;
        at = at < BRIEF_CAUSES ? slowest->cause_count++ : at - 1;
        for (; at > 0 && slowest->causes[at - 1].more_ns < causes[i].more_ns; at--)
            slowest->causes[at] = slowest->causes[at - 1];
        slowest->causes[at] = causes[i];
    }
    free(causes);
    return 0;
}

static bool is_slowest(const struct brief_slowest *slowest, const struct run_row *run)
{
    return run->session_id == slowest->run.session_id && run->run == slowest->run.run;
}

/* What each part of the slowest run took more than on average over the others. */
static int compare_parts(struct brief_slowest *slowest, size_t usual_count)
{
    const struct spans_answer *spans = &slowest->spans;
    size_t count = run_part_count(spans->ops.count);
    double *usual = calloc(count, sizeof(*usual)), *slow = calloc(count, sizeof(*slow));
    struct run_index index = {0};
    double busy[OP_SIDES];
    int rc = usual && slow ? run_index_init(&index, spans) : -ENOMEM;

    for (size_t i = 0; i < spans->runs.count && rc == 0; i++) {
        const struct run_row *run = &spans->runs.items[i];

        if (run->selected && run->end_ns != STORE_NULL)
            rc = run_parts_add(spans, &index, (uint32_t)i, is_slowest(slowest, run) ? slow : usual,
                               busy);
    }
    for (size_t i = 0; i < count && rc == 0; i++)
        slow[i] -= usual[i] / (double)usual_count;
    if (rc == 0)
        rc = name_causes(slowest, slow);
    run_index_deinit(&index);
    free(usual);
    free(slow);
    return rc;
}

int brief_find_slowest(struct brief *brief, struct diag *diag)
{
    struct brief_slowest *slowest = &brief->slowest;
    struct ops_question question = brief->selection.question;
    struct run_key keys[BRIEF_USUAL_RUNS + 1];
    int count, rc;

    for (size_t i = 0; i < brief->counted.count; i++) {
        double ns = length_of(&brief->counted.items[i]);

        if (!isnan(ns) && (!slowest->is_known || ns > slowest->ns)) {
            slowest->is_known = true;
            slowest->run = brief->counted.items[i];
            slowest->ns = ns;
        }
    }
    if (brief->runs.count < 3 || !(slowest->ns > brief->runs.p50_ns * BRIEF_SLOW) ||
        slowest->run.lacks_events || !brief->has_events)
        return 0;
    count = choose_runs(brief, keys);
    if (count < 2)
        return count < 0 ? diag_set(diag, count, "no memory for the runs") : 0;
    question.chosen_runs = keys;
    question.chosen_run_count = (size_t)count;
    question.window = NULL;
    rc = query_spans(brief->report->source->store, &question, &slowest->spans, diag);
    if (rc == 0 && compare_parts(slowest, (size_t)count - 1) < 0)
        rc = diag_set(diag, -ENOMEM, "no memory for the events");
    return rc;
}
