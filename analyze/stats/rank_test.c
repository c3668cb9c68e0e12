/* SPDX-License-Identifier: Apache-2.0 */
/* Mid-ranks, their exact permutation distribution, and its normal approximation. */
#include "analyze/stats/rank_test.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct placed {
    double value;
    size_t place;
};

static int compare_placed(const void *a, const void *b)
{
    const struct placed *left = a, *right = b;

    return (left->value > right->value) - (left->value < right->value);
}

double rank_doubled(const double *values, size_t count, size_t *out_ranks)
{
    struct placed *sorted = malloc((count ? count : 1) * sizeof(*sorted));
    double ties = 0;

    if (!sorted)
        return -1;
    for (size_t i = 0; i < count; i++)
        sorted[i] = (struct placed){values[i], i};
    if (count)
        qsort(sorted, count, sizeof(*sorted), compare_placed);
    for (size_t first = 0, end; first < count; first = end) {
        double equal;

        for (end = first + 1; end < count && sorted[end].value == sorted[first].value;)
            end++;
        for (size_t i = first; i < end; i++)
            out_ranks[sorted[i].place] = first + 1 + end;
        equal = (double)(end - first);
        ties += equal * equal * equal - equal;
    }
    free(sorted);
    return ties;
}

/* Of all choices of `chosen` of the ranks, the share whose sum is at least `distance` away from the
 * mean. ways[k * width + s]: choices of k ranks with sum s; exact in a double up to 2^53. */
static int exact_share(const size_t *ranks, size_t count, size_t chosen, double distance,
                       double *out_share)
{
    size_t width = 2 * count * chosen + 1; /* a doubled rank is at most 2 * count */
    double *ways = calloc((chosen + 1) * width, sizeof(*ways));
    double mean = (double)chosen * (double)(count + 1), far = 0, all = 0;

    if (!ways)
        return -ENOMEM;
    ways[0] = 1;
    for (size_t i = 0; i < count; i++) {
        for (size_t k = i + 1 < chosen ? i + 1 : chosen; k > 0; k--) {
            const double *from = ways + (k - 1) * width;
            double *to = ways + k * width;

            for (size_t sum = ranks[i]; sum < width; sum++)
                to[sum] += from[sum - ranks[i]];
        }
    }
    for (size_t sum = 0; sum < width; sum++) {
        double found = ways[chosen * width + sum];

        all += found;
        if (fabs((double)sum - mean) >= distance)
            far += found;
    }
    free(ways);
    *out_share = far / all;
    return 0;
}

static double normal_p(double u, double a_count, double b_count, double ties)
{
    double count = a_count + b_count;
    double variance =
        a_count * b_count / 12 * (count + 1 - ties / (count > 1 ? count * (count - 1) : 1));
    double distance = fabs(u - a_count * b_count / 2) - 0.5;

    if (!(variance > 0) || distance <= 0)
        return 1;
    return erfc(distance / sqrt(2 * variance));
}

int rank_test(const double *a, size_t a_count, const double *b, size_t b_count,
              struct rank_result *out_result)
{
    size_t count = a_count + b_count, sum = 0, *ranks = malloc(count * sizeof(*ranks));
    double *both = malloc(count * sizeof(*both)), ties = -1, pairs;
    struct rank_result result = {.is_exact = count <= RANK_EXACT_MAX};
    int rc = 0;

    if (ranks && both) {
        memcpy(both, a, a_count * sizeof(*a));
        memcpy(both + a_count, b, b_count * sizeof(*b));
        ties = rank_doubled(both, count, ranks);
    }
    if (ties < 0) {
        rc = -ENOMEM;
        goto out_result;
    }
    for (size_t i = a_count; i < count; i++)
        sum += ranks[i];
    pairs = (double)a_count * (double)b_count;
    result.u = (double)sum / 2 - (double)b_count * (double)(b_count + 1) / 2;
    result.superiority = result.u / pairs;
    result.p = normal_p(result.u, (double)a_count, (double)b_count, ties);
    /* The sums of both samples lie equally far from their means: take the smaller sample. */
    if (result.is_exact)
        rc = exact_share(ranks, count, a_count < b_count ? a_count : b_count,
                         fabs(2 * result.u - pairs), &result.p);
    if (rc == 0)
        *out_result = result;
out_result:
    free(ranks);
    free(both);
    return rc;
}
