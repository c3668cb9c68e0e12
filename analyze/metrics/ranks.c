/* SPDX-License-Identifier: Apache-2.0 */
/* From the runs of ranks to steps, and how late each rank is in them. */
#include "analyze/metrics/ranks.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analyze/stats/describe.h"

/* A run and the step that it may belong to. */
struct candidate {
    int64_t number;
    double overlap_ns;
    uint32_t rank, run;
};

struct making {
    const struct ranks_question *question;
    struct ranks *out;
    ARRAY_OF(struct candidate) candidates;
    double *between_ns; /* of each run */
    double *more_ns;    /* more_ns[rank * parts + part]: sum over steps */
    double *values;     /* room for the values of a step, twice */
};

/* --- Which runs belong together. --- */

static int compare_start(const void *a, const void *b)
{
    const struct rank_run *left = *(const struct rank_run *const *)a;
    const struct rank_run *right = *(const struct rank_run *const *)b;

    if (left->start_ns != right->start_ns)
        return left->start_ns < right->start_ns ? -1 : 1;
    return (left > right) - (left < right);
}

static double overlap_of(const struct rank_run *a, const struct rank_run *b)
{
    int64_t from_ns = a->start_ns > b->start_ns ? a->start_ns : b->start_ns;
    double a_left = a->dur_ns - (double)(from_ns - a->start_ns);
    double b_left = b->dur_ns - (double)(from_ns - b->start_ns);

    return fmin(a_left, b_left);
}

/* Marks stand by start. *low moves to the first mark that a run from `run->start_ns` on can still
 * overlap: all before it have ended. */
static struct candidate find_mark(const struct rank_run *const *marks, size_t mark_count,
                                  const double *ended_ns, const struct rank_run *run, size_t *low)
{
    struct candidate found = {0};

    while (*low < mark_count && ended_ns[*low] <= (double)(run->start_ns - marks[0]->start_ns))
        ++*low;
    for (size_t i = *low; i < mark_count; i++) {
        double overlap_ns = overlap_of(marks[i], run);

        if ((double)(marks[i]->start_ns - run->start_ns) >= run->dur_ns)
            break;
        if (overlap_ns > found.overlap_ns) {
            found.overlap_ns = overlap_ns;
            found.number = marks[i]->run;
        }
    }
    return found;
}

/* `by_start` are all runs; ended_ns[i] is when the first i + 1 marks have all ended, after the
 * start of the first. */
static int gather_by_time(struct making *making, const struct rank_run **by_start,
                          const struct rank_run **marks, double *ended_ns)
{
    const struct ranks_question *question = making->question;
    uint32_t first_rank = UINT32_MAX;
    size_t mark_count = 0, low = 0;
    int rc = 0;

    for (size_t i = 0; i < question->run_count; i++) {
        by_start[i] = &question->runs[i];
        first_rank = question->runs[i].rank < first_rank ? question->runs[i].rank : first_rank;
    }
    qsort(by_start, question->run_count, sizeof(const struct rank_run *), compare_start);
    for (size_t i = 0; i < question->run_count; i++) {
        double since_ns;

        if (by_start[i]->rank != first_rank)
            continue;
        marks[mark_count] = by_start[i];
        since_ns = (double)(by_start[i]->start_ns - marks[0]->start_ns) + by_start[i]->dur_ns;
        ended_ns[mark_count] = mark_count ? fmax(ended_ns[mark_count - 1], since_ns) : since_ns;
        mark_count++;
    }
    for (size_t i = 0; i < question->run_count && rc == 0; i++) {
        const struct rank_run *run = by_start[i];
        struct candidate candidate = {.number = run->run, .overlap_ns = INFINITY};

        if (run->rank != first_rank)
            candidate = find_mark(marks, mark_count, ended_ns, run, &low);
        candidate.rank = run->rank;
        candidate.run = (uint32_t)(run - question->runs);
        if (candidate.overlap_ns > 0)
            rc = array_push(&making->candidates, candidate);
    }
    return rc;
}

static int gather_candidates(struct making *making)
{
    const struct ranks_question *question = making->question;
    size_t count = question->run_count ? question->run_count : 1;
    const struct rank_run **runs;
    double *ended_ns;
    int rc = 0;

    for (size_t i = 0; i < question->run_count && rc == 0 && !question->by_time; i++)
        rc = array_push(
            &making->candidates,
            ((struct candidate){question->runs[i].run, 0, question->runs[i].rank, (uint32_t)i}));
    if (!question->by_time)
        return rc;
    runs = malloc(2 * count * sizeof(*runs));
    ended_ns = malloc(count * sizeof(*ended_ns));
    rc = runs && ended_ns ? gather_by_time(making, runs, runs + count, ended_ns) : -ENOMEM;
    free(runs);
    free(ended_ns);
    return rc;
}

static int compare_candidates(const void *a, const void *b)
{
    const struct candidate *left = a, *right = b;

    if (left->number != right->number)
        return left->number < right->number ? -1 : 1;
    if (left->rank != right->rank)
        return left->rank < right->rank ? -1 : 1;
    if (left->overlap_ns != right->overlap_ns)
        return left->overlap_ns > right->overlap_ns ? -1 : 1;
    return (left->run > right->run) - (left->run < right->run);
}

static int make_steps(struct making *making)
{
    struct ranks *out = making->out;
    size_t count = making->candidates.count;
    int rc = 0;

    if (count)
        qsort(making->candidates.items, count, sizeof(struct candidate), compare_candidates);
    for (size_t i = 0, next; i < count && rc == 0; i = next) {
        const struct candidate *all = making->candidates.items;
        struct rank_step step = {.number = all[i].number, .first = out->members.count};

        for (next = i; next < count && all[next].number == step.number && rc == 0; next++) {
            if (next == i || all[next].rank != all[next - 1].rank)
                rc = array_push(&out->members, all[next].run);
        }
        step.count = out->members.count - step.first;
        if (step.count >= 2 && rc == 0)
            rc = array_push(&out->steps, step);
        else
            out->members.count = step.first;
    }
    out->skipped = making->question->run_count - out->members.count;
    return rc;
}

/* --- What took longer. --- */

static double part_of(const struct making *making, size_t part, uint32_t run)
{
    const struct ranks_question *question = making->question;

    if (part == rank_part_unshown(question->op_count))
        return question->runs[run].unshown_ns;
    if (part == rank_part_between(question->op_count))
        return making->between_ns[run];
    return question->op_ns[part * question->op_stride + run];
}

static void sum_between(struct making *making)
{
    const struct ranks_question *question = making->question;

    for (size_t run = 0; run < question->run_count; run++)
        making->between_ns[run] = question->runs[run].dur_ns - question->runs[run].unshown_ns;
    for (size_t op = 0; op < question->op_count; op++) {
        for (size_t run = 0; run < question->run_count; run++)
            making->between_ns[run] -= question->op_ns[op * question->op_stride + run];
    }
}

/* The median of ascending values, two at least, when one equal to `value` is not there. */
static double median_without(const double *sorted, size_t count, double value)
{
    size_t low = (count - 2) / 2, high = (count - 1) / 2, at = 0;

    while (sorted[at] < value)
        at++;
    return (sorted[low + (low >= at)] + sorted[high + (high >= at)]) / 2;
}

/* Adds to the sums of ranks; finds what made the slowest slow. */
static void add_part(struct making *making, struct rank_step *step, size_t part)
{
    const struct ranks_question *question = making->question;
    const uint32_t *members = &making->out->members.items[step->first];
    size_t parts = rank_part_count(question->op_count);
    double *values = making->values, *sorted = values + question->rank_count;

    for (size_t i = 0; i < step->count; i++)
        sorted[i] = values[i] = part_of(making, part, members[i]);
    stats_sort(sorted, step->count);
    for (size_t i = 0; i < step->count; i++) {
        double more_ns = values[i] - median_without(sorted, step->count, values[i]);

        making->more_ns[question->runs[members[i]].rank * parts + part] += more_ns;
        if (members[i] == step->slowest && step->slowest_ns > step->fastest_ns && more_ns > 0 &&
            !(more_ns <= step->part_ns)) {
            step->part = part;
            step->part_ns = more_ns;
        }
    }
}

static void rate_step(struct making *making, struct rank_step *step)
{
    const struct ranks_question *question = making->question;
    const uint32_t *members = &making->out->members.items[step->first];
    double *sorted = making->values;

    step->slowest = step->fastest = members[0];
    step->has_parts = true;
    for (size_t i = 0; i < step->count; i++) {
        double dur_ns = question->runs[members[i]].dur_ns;

        sorted[i] = dur_ns;
        step->has_parts &= making->between_ns[members[i]] != dur_ns;
        if (dur_ns > question->runs[step->slowest].dur_ns)
            step->slowest = members[i];
        if (dur_ns < question->runs[step->fastest].dur_ns)
            step->fastest = members[i];
    }
    stats_sort(sorted, step->count);
    step->fastest_ns = sorted[0];
    step->slowest_ns = sorted[step->count - 1];
    step->median_ns = stats_median(sorted, step->count);
    step->part = SIZE_MAX;
    step->part_ns = NAN;
    for (size_t part = 0; part < rank_part_count(question->op_count) && step->has_parts; part++)
        add_part(making, step, part);
}

/* --- Ranks. --- */

/* The sums are in `rank` until all steps are there; `sorted` is room for its durations. */
static void rate_rank(const struct making *making, uint32_t place, double *sorted)
{
    const struct ranks_question *question = making->question;
    const struct ranks *out = making->out;
    struct rank *rank = &out->ranks[place];
    size_t parts = rank_part_count(question->op_count), count = 0, known = 0;
    double fastest_ns = 0, median_ns = 0, dur_ns = 0;

    *rank = (struct rank){.p50_ns = NAN, .p90_ns = NAN, .part = SIZE_MAX, .part_ns = NAN};
    for (size_t i = 0; i < out->steps.count; i++) {
        const struct rank_step *step = &out->steps.items[i];

        for (size_t k = step->first; k < step->first + step->count; k++) {
            const struct rank_run *run = &question->runs[out->members.items[k]];

            if (run->rank != place)
                continue;
            fastest_ns += step->fastest_ns;
            median_ns += step->median_ns;
            known += step->has_parts;
            dur_ns += sorted[count++] = run->dur_ns;
            rank->slowest_count +=
                out->members.items[k] == step->slowest && step->slowest_ns > step->fastest_ns;
        }
    }
    rank->step_count = count;
    rank->behind_fastest_ns = (dur_ns - fastest_ns) / (double)count; /* 0 / 0 is NaN */
    rank->behind_median_ns = (dur_ns - median_ns) / (double)count;
    rank->behind_fastest_share = fastest_ns > 0 ? (dur_ns - fastest_ns) / fastest_ns : NAN;
    rank->behind_median_share = median_ns > 0 ? (dur_ns - median_ns) / median_ns : NAN;
    if (!count)
        return;
    stats_sort(sorted, count);
    rank->p50_ns = stats_percentile(sorted, count, 50);
    rank->p90_ns = stats_percentile(sorted, count, 90);
    for (size_t part = 0; part < parts && rank->behind_median_ns > 0; part++) {
        double more_ns = making->more_ns[place * parts + part] / (double)known;

        if (more_ns > 0 && !(more_ns <= rank->part_ns)) {
            rank->part = part;
            rank->part_ns = more_ns;
        }
    }
}

int ranks_make(const struct ranks_question *question, struct ranks *out_ranks)
{
    struct making making = {.question = question, .out = out_ranks};
    size_t runs = question->run_count, ranks = question->rank_count;
    size_t parts = rank_part_count(question->op_count);
    int rc = 0;

    *out_ranks = (struct ranks){0};
    making.between_ns = malloc((runs + 1) * sizeof(double));
    making.more_ns = calloc(ranks * parts + 1, sizeof(double));
    making.values = malloc((2 * ranks + runs + 1) * sizeof(double));
    out_ranks->ranks = calloc(ranks + 1, sizeof(*out_ranks->ranks));
    if (!making.between_ns || !making.more_ns || !making.values || !out_ranks->ranks)
        rc = -ENOMEM;
    if (rc == 0)
        rc = gather_candidates(&making);
    if (rc == 0)
        rc = make_steps(&making);
    if (rc == 0)
        sum_between(&making);
    for (size_t i = 0; i < out_ranks->steps.count && rc == 0; i++)
        rate_step(&making, &out_ranks->steps.items[i]);
    for (uint32_t i = 0; i < ranks && rc == 0; i++)
        rate_rank(&making, i, making.values);
    array_deinit(&making.candidates);
    free(making.between_ns);
    free(making.more_ns);
    free(making.values);
    return rc;
}

void ranks_deinit(struct ranks *ranks)
{
    array_deinit(&ranks->steps);
    array_deinit(&ranks->members);
    free(ranks->ranks);
    ranks->ranks = NULL;
}
