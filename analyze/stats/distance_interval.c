/* SPDX-License-Identifier: Apache-2.0 */
/* Distances of all pairs, and how many of them stand outside. */
#include "analyze/stats/distance_interval.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "analyze/stats/describe.h"
#include "analyze/stats/rank_test.h"

/* So many sessions are never compared: of more pairs there is no interval. */
#define PAIRS_MAX 4000000

/* Ways to choose from `a_count` + `b_count` ranks such that U is u, for u <= last: ways[u]. */
static void count_ways(size_t a_count, size_t b_count, size_t last, double *ways)
{
    /* Each value of `a` has at most b_count of `b` below it, and no less than the one before:
     * adding the values one by one is multiplying by (1 - x^(b + i)) / (1 - x^i). */
    for (size_t u = 0; u <= last; u++)
        ways[u] = u == 0;
    for (size_t i = 1; i <= a_count; i++) {
        for (size_t u = last; u + 1 > b_count + i; u--)
            ways[u] -= ways[u - (b_count + i)];
        for (size_t u = i; u <= last; u++)
            ways[u] += ways[u - i];
    }
}

/* Counting is exact in doubles, and quick; of a few against many the normal distribution is far off.
 */
static bool is_countable(size_t a_count, size_t b_count)
{
    enum { FEW = 5, MANY = 1000 };
    size_t fewer = a_count < b_count ? a_count : b_count;

    return a_count + b_count <= RANK_EXACT_MAX || (fewer <= FEW && a_count + b_count <= MANY);
}

/* How many distances stand outside on each side, plus one; 0: none may. */
static int find_outside(size_t a_count, size_t b_count, double confidence, size_t *out_count)
{
    size_t last = a_count * b_count / 2;
    double tail = 0, all = 1, *ways;
    size_t k = 0;

    if (!is_countable(a_count, b_count)) {
        double pairs = (double)a_count * (double)b_count;
        double z = confidence >= 0.99 ? 2.5758 : 1.96;
        double middle = pairs / 2 - z * sqrt(pairs * (double)(a_count + b_count + 1) / 12);

        *out_count = middle >= 1 ? (size_t)middle : 0;
        return 0;
    }
    ways = malloc((last + 1) * sizeof(*ways));
    if (!ways)
        return -ENOMEM;
    count_ways(a_count, b_count, last, ways);
    for (size_t i = 1; i <= a_count; i++)
        all *= (double)(b_count + i) / (double)i;
    while (k <= last && (tail += ways[k]) / all <= (1 - confidence) / 2 + 1e-12)
        k++;
    free(ways);
    *out_count = k;
    return 0;
}

/* The distances of all pairs in order, for free(); NULL without memory. */
static double *sort_distances(const double *a, size_t a_count, const double *b, size_t b_count)
{
    double *distances = malloc(a_count * b_count * sizeof(*distances));
    size_t at = 0;

    for (size_t i = 0; i < a_count && distances; i++) {
        for (size_t j = 0; j < b_count; j++)
            distances[at++] = b[j] - a[i];
    }
    if (distances)
        stats_sort(distances, at);
    return distances;
}

int distance_middle(const double *a, size_t a_count, const double *b, size_t b_count,
                    double *out_distance)
{
    double *distances;

    *out_distance = NAN;
    if (!a_count || !b_count || a_count > PAIRS_MAX / b_count)
        return 0;
    distances = sort_distances(a, a_count, b, b_count);
    if (!distances)
        return -ENOMEM;
    *out_distance = stats_median(distances, a_count * b_count);
    free(distances);
    return 0;
}

int distance_interval(const double *a, size_t a_count, const double *b, size_t b_count,
                      double confidence, struct distance_interval *out_interval)
{
    const struct bootstrap_interval unknown = {NAN, NAN};
    size_t pairs, outside = 0;
    bool has_ratio = true;
    double *distances;

    *out_interval = (struct distance_interval){unknown, unknown};
    if (!a_count || !b_count || a_count > PAIRS_MAX / b_count)
        return 0;
    if (find_outside(a_count, b_count, confidence, &outside) < 0)
        return -ENOMEM;
    if (!outside)
        return 0;
    pairs = a_count * b_count;
    distances = sort_distances(a, a_count, b, b_count);
    if (!distances)
        return -ENOMEM;
    for (size_t i = 0; i < a_count; i++)
        has_ratio &= a[i] > 0;
    out_interval->difference =
        (struct bootstrap_interval){distances[outside - 1], distances[pairs - outside]};
    for (size_t i = 0, k = 0; i < a_count && has_ratio; i++) {
        for (size_t j = 0; j < b_count; j++)
            distances[k++] = b[j] / a[i];
    }
    if (has_ratio) {
        stats_sort(distances, pairs);
        out_interval->ratio =
            (struct bootstrap_interval){distances[outside - 1], distances[pairs - outside]};
    }
    free(distances);
    return 0;
}
