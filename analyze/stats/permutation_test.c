/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions dealt out to two sides again and again. */
#include "analyze/stats/permutation_test.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/stats/describe.h"
#include "analyze/stats/random.h"
#include "analyze/stats/rank_test.h"

/* How much the variance of all lines weighs, in sessions. */
#define PRIOR_WEIGHT 4.0
/* A median of fewer ops is no level of a session. */
#define LEVEL_OPS_MIN 4
/* What sums of the same values in another order may differ by. */
#define SAME 1e-9
/* Sessions that are added up, in all: bounds how long it takes. */
#define ADDITIONS_MAX 4e8
#define DRAWS_MIN     999

/* Values of one kind: shares less their mean, in rows of `sessions`. */
struct table {
    double *values;
    double *columns; /* the same, a row for each session: what is added up lies together */
    double *squares; /* of each line: their sum */
    double *sums;    /* of each line: of the new sessions */
};

struct test {
    struct permutation_line *lines;
    size_t count, base, new, sessions;
    struct table plain, levelled; /* levelled.values NULL: there are too few ops */
    struct table ranked;          /* mid-ranks of the levelled values, or of the plain ones */
    double *observed, *drawn;     /* how striking each line is */
    double *distances, *variances, *scratch; /* of the means; within sides */
    size_t *order;                           /* lines, the most striking first */
    size_t *as_large, *as_large_any;
    bool *is_new; /* beside sessions */
};

static double choices(size_t base, size_t new)
{
    double count = 1;

    for (size_t i = 1; i <= new; i++)
        count *= (double)(base + i) / (double)i;
    return round(count);
}

double permutation_p_floor(size_t base_count, size_t new_count)
{
    double ways = choices(base_count, new_count);
    double floor = ways > PERMUTATION_EXACT_MAX ? 1.0 / PERMUTATION_EXACT_MAX
                                                : (base_count == new_count ? 2 : 1) / ways;

    return base_count && new_count && floor < 1 ? floor : 1;
}

/* How long the row is from the first new session to the last, which begins at *out_first. */
static size_t span_of_new(size_t base, size_t new, const size_t *in_time, size_t *out_first)
{
    size_t first = 0, end = base + new;

    while (first < end && in_time[first] < base)
        first++;
    while (end > first && in_time[end - 1] < base)
        end--;
    *out_first = first;
    return end - first;
}

size_t permutation_places(size_t base_count, size_t new_count, const size_t *in_time)
{
    size_t first, span = span_of_new(base_count, new_count, in_time, &first);

    return base_count && span ? base_count + new_count - span + 1 : 0;
}

/* --- Tables. --- */

static int allocate_table(const struct test *test, struct table *table)
{
    size_t cells = test->count * test->sessions;

    table->values = malloc(cells * sizeof(double));
    table->columns = malloc(cells * sizeof(double));
    table->squares = malloc(test->count * sizeof(double));
    table->sums = malloc(test->count * sizeof(double));
    return table->values && table->columns && table->squares && table->sums ? 0 : -ENOMEM;
}

static void free_table(struct table *table)
{
    free(table->values);
    free(table->columns);
    free(table->squares);
    free(table->sums);
}

static void center(const struct test *test, const struct table *table)
{
    for (size_t line = 0; line < test->count; line++) {
        double *row = table->values + line * test->sessions, mean = 0, squares = 0;

        for (size_t i = 0; i < test->sessions; i++)
            mean += row[i] / (double)test->sessions;
        for (size_t i = 0; i < test->sessions; i++) {
            row[i] -= mean;
            if (fabs(row[i]) <= SAME * fabs(mean))
                row[i] = 0; /* or rounding of a mean would be all that there is */
            squares += row[i] * row[i];
            table->columns[i * test->count + line] = row[i];
        }
        table->squares[line] = squares;
    }
}

static int make_plain(struct test *test)
{
    struct table *table = &test->plain;

    if (allocate_table(test, table) < 0)
        return -ENOMEM;
    for (size_t line = 0; line < test->count; line++) {
        const struct permutation_line *from = &test->lines[line];
        double *row = table->values + line * test->sessions;

        for (size_t i = 0; i < test->base; i++)
            row[i] = from->base[i] / from->scale;
        for (size_t i = 0; i < test->new; i++)
            row[test->base + i] = from->new[i] / from->scale;
    }
    center(test, table);
    return 0;
}

/* The same without each session's level: who is new does not come into it. */
static int make_levelled(struct test *test)
{
    struct table *table = &test->levelled;
    size_t ops = 0, at;
    double *column;
    int rc;

    for (size_t line = 0; line < test->count; line++)
        ops += test->lines[line].is_op;
    if (ops < LEVEL_OPS_MIN)
        return 0;
    column = malloc(ops * sizeof(*column));
    rc = column ? allocate_table(test, table) : -ENOMEM;
    for (size_t i = 0; i < test->sessions && rc == 0; i++) {
        double level;

        at = 0;
        for (size_t line = 0; line < test->count; line++) {
            if (test->lines[line].is_op)
                column[at++] = test->plain.values[line * test->sessions + i];
        }
        stats_sort(column, ops);
        level = stats_median(column, ops);
        for (size_t line = 0; line < test->count; line++) {
            at = line * test->sessions + i;
            table->values[at] = test->plain.values[at] - level;
        }
    }
    free(column);
    if (rc == 0)
        center(test, table);
    return rc;
}

static int make_ranked(struct test *test)
{
    struct table *table = &test->ranked;
    size_t *ranks = malloc(test->sessions * sizeof(*ranks));
    int rc = ranks ? allocate_table(test, table) : -ENOMEM;

    for (size_t line = 0; line < test->count && rc == 0; line++) {
        bool is_level = test->levelled.values && test->lines[line].is_op;
        const struct table *of = is_level ? &test->levelled : &test->plain;
        size_t first = line * test->sessions;

        if (rank_doubled(of->values + first, test->sessions, ranks) < 0)
            rc = -ENOMEM;
        for (size_t i = 0; i < test->sessions && rc == 0; i++)
            table->values[first + i] = (double)ranks[i] / 2;
    }
    free(ranks);
    if (rc == 0)
        center(test, table);
    return rc;
}

/* --- How striking lines are. --- */

/* Four sessions at a time, so that sums are not written for each; they are added in their order. */
static void sum_new(const struct test *test, const struct table *table)
{
    const double *row[4];
    double *sums = table->sums;
    size_t count = 0;

    memset(sums, 0, test->count * sizeof(double));
    for (size_t i = 0; i < test->sessions; i++) {
        if (!test->is_new[i])
            continue;
        row[count++] = table->columns + i * test->count;
        for (size_t line = 0; line < test->count && count == 4; line++)
            sums[line] = sums[line] + row[0][line] + row[1][line] + row[2][line] + row[3][line];
        count %= 4;
    }
    for (size_t i = 0; i < count; i++) {
        for (size_t line = 0; line < test->count; line++)
            sums[line] += row[i][line];
    }
}

/* The middle one of values, which it puts out of order (Hoare's quickselect). */
static double middle_of(double *values, size_t count)
{
    size_t low = 0, high = count - 1, middle = count / 2;

    while (low < high) {
        double pivot = values[low + (high - low) / 2];
        size_t i = low, k = high;

        for (;;) {
            while (values[i] < pivot)
                i++;
            while (values[k] > pivot)
                k--;
            if (i >= k)
                break;
            double kept = values[i];

            values[i++] = values[k];
            values[k--] = kept;
        }
        if (middle <= k)
            high = k;
        else
            low = k + 1;
    }
    return values[middle];
}

/* Distances and variances of all lines; returns s0^2, of ops if there are any. */
static double deal(const struct test *test, const struct table *table)
{
    double base = (double)test->base, new = (double)test->new, each = 1 / base + 1 / new;
    double degrees = base + new > 2 ? base + new - 2 : 1;
    size_t ops = 0;

    sum_new(test, table);
    for (size_t line = 0; line < test->count; line++) {
        /* All values together have the mean 0: the other side's sum is -sum. */
        double sum = table->sums[line], squares = table->squares[line];
        double within = fmax(0, squares - sum * sum * each);

        test->distances[line] = fabs(sum) <= SAME * sqrt(squares) ? 0 : fabs(sum) * each;
        test->variances[line] = within <= SAME * squares ? 0 : within / degrees;
        if (test->lines[line].is_op)
            test->scratch[ops++] = test->variances[line];
    }
    if (!ops)
        memcpy(test->scratch, test->variances, (ops = test->count) * sizeof(double));
    return middle_of(test->scratch, ops);
}

static double striking(const struct test *test, size_t line, double prior)
{
    double degrees = (double)test->sessions - 2;
    double variance =
        (PRIOR_WEIGHT * prior + degrees * test->variances[line]) / (PRIOR_WEIGHT + degrees);

    if (test->distances[line] == 0)
        return 0;
    return variance > 0 ? test->distances[line] / sqrt(variance) : INFINITY;
}

/* The sum of ranks in standard deviations of all ways to deal them out. */
static double striking_ranks(const struct test *test, size_t line)
{
    double base = (double)test->base, new = (double)test->new, all = base + new;
    double variance = all > 1 ? base * new / all / (all - 1) * test->ranked.squares[line] : 0;

    return variance > 0 ? fabs(test->ranked.sums[line]) / sqrt(variance) : 0;
}

static void measure(const struct test *test, double *out_values)
{
    double prior = deal(test, &test->plain);

    sum_new(test, &test->ranked);
    for (size_t line = 0; line < test->count; line++)
        out_values[line] = fmax(striking(test, line, prior), striking_ranks(test, line));
    if (!test->levelled.values)
        return;
    prior = deal(test, &test->levelled);
    for (size_t line = 0; line < test->count; line++) {
        if (test->lines[line].is_op)
            out_values[line] = fmax(out_values[line], striking(test, line, prior));
    }
}

/* --- Ways to deal out. --- */

/* The next choice of `new` sessions, the first being the last ones; false behind the last. */
static bool next_choice(bool *is_new, size_t sessions)
{
    size_t at = 0, passed = 0;

    while (at < sessions && !is_new[at])
        at++;
    while (at < sessions && is_new[at]) {
        is_new[at++] = false;
        passed++;
    }
    if (at == sessions)
        return false;
    is_new[at] = true;
    for (size_t i = 0; i + 1 < passed; i++)
        is_new[i] = true;
    return true;
}

static void draw_choice(bool *is_new, size_t sessions, uint64_t *seed)
{
    for (size_t i = sessions; i > 1; i--) {
        size_t other = random_below(seed, i);
        bool kept = is_new[i - 1];

        is_new[i - 1] = is_new[other];
        is_new[other] = kept;
    }
}

/* Counts a way in which the sessions could have come. */
static void count_way(struct test *test)
{
    double most = 0;

    measure(test, test->drawn);
    for (size_t i = test->count; i-- > 0;) {
        size_t line = test->order[i];
        double least = test->observed[line] * (1 - SAME);

        most = fmax(most, test->drawn[line]);
        test->as_large[line] += test->drawn[line] >= least;
        test->as_large_any[line] += most >= least;
    }
}

static size_t go_through_all(struct test *test)
{
    size_t ways = 0;

    for (size_t i = 0; i < test->sessions; i++)
        test->is_new[i] = i < test->new;
    do {
        count_way(test);
        ways++;
    } while (next_choice(test->is_new, test->sessions));
    return ways;
}

/* The new sessions, at their distances, in each place along the order in time. */
static size_t go_along(struct test *test, const size_t *in_time)
{
    size_t first, span = span_of_new(test->base, test->new, in_time, &first);
    size_t ways = test->sessions - span + 1;

    for (size_t place = 0; place < ways; place++) {
        memset(test->is_new, 0, test->sessions * sizeof(*test->is_new));
        for (size_t i = 0; i < span; i++)
            test->is_new[in_time[place + i]] = in_time[first + i] >= test->base;
        count_way(test);
    }
    return ways;
}

static size_t draw_some(struct test *test)
{
    double cost = (double)test->count * (double)test->sessions * (test->levelled.values ? 3 : 2);
    size_t ways = PERMUTATION_EXACT_MAX;
    uint64_t seed = 1;

    if ((double)ways * cost > ADDITIONS_MAX)
        ways = ADDITIONS_MAX / cost > DRAWS_MIN ? (size_t)(ADDITIONS_MAX / cost) : DRAWS_MIN + 1;
    count_way(test); /* as they came */
    for (size_t i = 1; i < ways; i++) {
        draw_choice(test->is_new, test->sessions, &seed);
        count_way(test);
    }
    return ways;
}

static size_t go_through(struct test *test, const size_t *in_time)
{
    if (in_time)
        return go_along(test, in_time);
    return choices(test->base, test->new) > PERMUTATION_EXACT_MAX ? draw_some(test)
                                                                  : go_through_all(test);
}

/* --- The test. --- */

static void sort_lines(struct test *test)
{
    for (size_t i = 0; i < test->count; i++)
        test->order[i] = i;
    /* Shell sort: qsort() has no argument for what it sorts by. */
    for (size_t gap = test->count / 2; gap > 0; gap /= 2) {
        for (size_t i = gap; i < test->count; i++) {
            size_t line = test->order[i], at = i;

            while (at >= gap && test->observed[test->order[at - gap]] < test->observed[line]) {
                test->order[at] = test->order[at - gap];
                at -= gap;
            }
            test->order[at] = line;
        }
    }
}

static void find_p(struct test *test, size_t ways)
{
    double largest = 0;

    for (size_t i = 0; i < test->count; i++) {
        struct permutation_line *line = &test->lines[test->order[i]];

        line->p = (double)test->as_large[test->order[i]] / (double)ways;
        largest = fmax(largest, (double)test->as_large_any[test->order[i]] / (double)ways);
        line->p_corrected = largest;
    }
}

static int allocate(struct test *test)
{
    test->observed = calloc(test->count, sizeof(*test->observed));
    test->drawn = calloc(test->count, sizeof(*test->drawn));
    test->distances = calloc(test->count, sizeof(*test->distances));
    test->variances = calloc(test->count, sizeof(*test->variances));
    test->scratch = calloc(test->count, sizeof(*test->scratch));
    test->order = calloc(test->count, sizeof(*test->order));
    test->as_large = calloc(test->count, sizeof(*test->as_large));
    test->as_large_any = calloc(test->count, sizeof(*test->as_large_any));
    test->is_new = calloc(test->sessions, sizeof(*test->is_new));
    return test->observed && test->drawn && test->order && test->as_large && test->as_large_any &&
                   test->is_new && test->distances && test->variances && test->scratch
               ? 0
               : -ENOMEM;
}

int permutation_test(struct permutation_line *lines, size_t count, size_t base_count,
                     size_t new_count, const size_t *in_time)
{
    struct test test = {.lines = lines,
                        .count = count,
                        .base = base_count,
                        .new = new_count,
                        .sessions = base_count + new_count};
    int rc = count ? allocate(&test) : 0;

    if (rc == 0 && count)
        rc = make_plain(&test);
    if (rc == 0 && count)
        rc = make_levelled(&test);
    if (rc == 0 && count)
        rc = make_ranked(&test);
    if (rc == 0 && count) {
        for (size_t i = 0; i < test.new; i++)
            test.is_new[test.base + i] = true;
        measure(&test, test.observed);
        sort_lines(&test);
        find_p(&test, go_through(&test, in_time));
    }
    free_table(&test.plain);
    free_table(&test.levelled);
    free_table(&test.ranked);
    free(test.observed);
    free(test.drawn);
    free(test.distances);
    free(test.variances);
    free(test.scratch);
    free(test.order);
    free(test.as_large);
    free(test.as_large_any);
    free(test.is_new);
    return rc;
}
