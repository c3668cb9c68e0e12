/* SPDX-License-Identifier: Apache-2.0 */
/* Binary segmentation with a rank statistic and its permutation p. */
#include "analyze/stats/change_points.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/stats/describe.h"
#include "analyze/stats/random.h"
#include "analyze/stats/rank_test.h"

/* The largest standardised rank sum, and the first value behind its place. */
static double largest_z(const size_t *ranks, size_t count, double ties, size_t *out_place)
{
    double n = (double)count, spread = (n + 1 - ties / (n * (n - 1))) / 12, sum = 0, largest = 0;

    for (size_t k = 1; k + CHANGE_SEGMENT_MIN <= count; k++) {
        double z;

        sum += (double)ranks[k - 1] / 2;
        if (k < CHANGE_SEGMENT_MIN || !(spread > 0))
            continue;
        z = fabs(sum - (double)k * (n + 1) / 2) / sqrt((double)k * (n - (double)k) * spread);
        if (z > largest) {
            largest = z;
            *out_place = k;
        }
    }
    return largest;
}

static void shuffle(size_t *ranks, size_t count, uint64_t *state)
{
    for (size_t i = count; i > 1; i--) {
        size_t other = random_below(state, i), kept = ranks[i - 1];

        ranks[i - 1] = ranks[other];
        ranks[other] = kept;
    }
}

/* The best place to part the values, and its p; place 0: there is none. */
static int test_segment(const double *values, size_t count, uint64_t *state, double *out_p,
                        size_t *out_place)
{
    size_t *ranks, reached = 0, orders = 0, ignored;
    double ties, observed;

    *out_p = 1;
    if (count < CHANGE_SERIES_MIN)
        return 0;
    ranks = malloc(count * sizeof(*ranks));
    ties = ranks ? rank_doubled(values, count, ranks) : -1;
    if (ties < 0) {
        free(ranks);
        return -ENOMEM;
    }
    observed = largest_z(ranks, count, ties, out_place);
    while (observed > 0 && orders < CHANGE_ORDERS_MAX && reached < CHANGE_REACHED_MAX) {
        shuffle(ranks, count, state);
        orders++;
        reached += largest_z(ranks, count, ties, &ignored) >= observed - 1e-9;
    }
    if (observed > 0)
        *out_p = (double)(1 + reached) / (double)(1 + orders);
    free(ranks);
    return 0;
}

static double median_of(const double *values, size_t count, double *scratch)
{
    memcpy(scratch, values, count * sizeof(*scratch));
    stats_sort(scratch, count);
    return stats_percentile(scratch, count, 50);
}

/* The first value from which on all lie nearer, in sum, to `after` than to `before`. */
static size_t nearest_cut(const double *values, size_t count, double before, double after)
{
    double cost = 0, least = INFINITY;
    size_t place = 0;

    for (size_t k = 1; k < count; k++) {
        cost += fabs(values[k - 1] - before) - fabs(values[k - 1] - after);
        if (cost < least - 1e-9 * fabs(cost)) {
            least = cost;
            place = k;
        }
    }
    return place;
}

/* The rank sum says that the level changed, but its largest place may be one beside it: moves the
 * place to where the values part into the two levels. */
static int settle_place(const double *values, size_t count, size_t *place)
{
    enum { ROUNDS_MAX = 10 };
    double *scratch = malloc(count * sizeof(*scratch));

    if (!scratch)
        return -ENOMEM;
    for (unsigned round = 0; round < ROUNDS_MAX; round++) {
        double before = median_of(values, *place, scratch);
        double after = median_of(values + *place, count - *place, scratch);
        size_t cut = nearest_cut(values, count, before, after);

        if (cut == *place)
            break;
        *place = cut;
    }
    free(scratch);
    return 0;
}

/* Searches values[first .. end) and adds what it finds in order. */
static int search(const double *values, size_t first, size_t end, double alpha, uint64_t *state,
                  struct change_point_array *out_points, double *out_p)
{
    double ignored;
    struct change_point point = {0};
    size_t place = 0;
    int rc = test_segment(values + first, end - first, state, &point.p, &place);

    *out_p = point.p;
    if (rc < 0 || !place || point.p > alpha)
        return rc;
    rc = settle_place(values + first, end - first, &place);
    if (rc < 0)
        return rc;
    /* Too short for a level, and no part of the other. */
    if (place < CHANGE_SEGMENT_MIN)
        return search(values, first + place, end, alpha, state, out_points, &ignored);
    if (end - first - place < CHANGE_SEGMENT_MIN)
        return search(values, first, first + place, alpha, state, out_points, &ignored);
    point.place = first + place;
    rc = search(values, first, point.place, alpha, state, out_points, &ignored);
    if (rc == 0)
        rc = array_push(out_points, point);
    return rc ? rc : search(values, point.place, end, alpha, state, out_points, &ignored);
}

static int set_levels(const double *values, size_t count, struct change_point_array *points)
{
    double *copy = malloc((count ? count : 1) * sizeof(*copy));
    size_t first = 0;

    if (!copy)
        return -ENOMEM;
    for (size_t i = 0; i <= points->count; i++) {
        size_t end = i < points->count ? points->items[i].place : count;
        double level = NAN;

        if (end > first)
            level = median_of(values + first, end - first, copy);
        if (i > 0)
            points->items[i - 1].after = level;
        if (i < points->count)
            points->items[i].before = level;
        first = end;
    }
    free(copy);
    return 0;
}

int change_points_find(const double *values, size_t count, double alpha, uint64_t seed,
                       struct change_point_array *out_points, double *out_p)
{
    int rc;

    *out_points = (struct change_point_array){0};
    rc = search(values, 0, count, alpha, &seed, out_points, out_p);
    return rc ? rc : set_levels(values, count, out_points);
}
