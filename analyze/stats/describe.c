/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions and percentiles. */
#include "analyze/stats/describe.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void stats_add(struct stats_reducer *reducer, double value)
{
    if (isnan(value))
        return;
    if (!reducer->known_count || value < reducer->min)
        reducer->min = value;
    if (!reducer->known_count || value > reducer->max)
        reducer->max = value;
    reducer->sum += value;
    reducer->known_count++;
}

double stats_reduced(const struct stats_reducer *reducer, enum stats_reduction reduction)
{
    if (!reducer->known_count)
        return NAN;
    switch (reduction) {
    case STATS_MAX:
        return reducer->max;
    case STATS_MIN:
        return reducer->min;
    case STATS_SUM:
        return reducer->sum;
    case STATS_MEAN:
        break;
    }
    return reducer->sum / (double)reducer->known_count;
}

static int compare_values(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;

    return (left > right) - (left < right);
}

/* From here on sorting by digits is faster than comparing. */
enum { DIGITS_FROM = 512, DIGITS = 8, DIGIT_VALUES = 256 };

/* Bits that are in the order of the values: of those below 0 all are turned, of others the sign. */
static uint64_t to_key(double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof(bits));
    return bits ^ (bits >> 63 ? UINT64_MAX : UINT64_C(1) << 63);
}

static double to_value(uint64_t key)
{
    uint64_t bits = key ^ (key >> 63 ? UINT64_C(1) << 63 : UINT64_MAX);
    double value;

    memcpy(&value, &bits, sizeof(value));
    return value;
}

/* By one digit; false where it is the same of all. */
static bool sort_by_digit(const uint64_t *from, uint64_t *to, size_t count, size_t *counts,
                          unsigned shift)
{
    size_t place = 0;

    if (counts[from[0] >> shift & (DIGIT_VALUES - 1)] == count)
        return false;
    for (int i = 0; i < DIGIT_VALUES; i++) {
        size_t of_digit = counts[i];

        counts[i] = place;
        place += of_digit;
    }
    for (size_t i = 0; i < count; i++)
        to[counts[from[i] >> shift & (DIGIT_VALUES - 1)]++] = from[i];
    return true;
}

/* Digit by digit, the least first: durations differ in three or four of eight. `keys` has room for
 * twice as many. */
static void sort_by_digits(double *values, size_t count, uint64_t *keys)
{
    size_t counts[DIGITS][DIGIT_VALUES] = {0};
    uint64_t *from = keys, *to = keys + count;

    for (size_t i = 0; i < count; i++) {
        from[i] = to_key(values[i]);
        for (int digit = 0; digit < DIGITS; digit++)
            counts[digit][from[i] >> 8 * digit & (DIGIT_VALUES - 1)]++;
    }
    for (unsigned digit = 0; digit < DIGITS; digit++) {
        if (sort_by_digit(from, to, count, counts[digit], 8 * digit)) {
            uint64_t *sorted = to;

            to = from;
            from = sorted;
        }
    }
    for (size_t i = 0; i < count; i++)
        values[i] = to_value(from[i]);
}

void stats_sort(double *values, size_t count)
{
    uint64_t *keys = count < DIGITS_FROM ? NULL : malloc(2 * count * sizeof(*keys));

    if (keys)
        sort_by_digits(values, count, keys);
    else if (count > 1)
        qsort(values, count, sizeof(*values), compare_values);
    free(keys);
}

double stats_median_distance(const double *sorted, size_t count)
{
    double median = stats_percentile(sorted, count, 50);
    size_t low, high = 0, left = (count + 1) / 2;
    double distance = 0;

    while (high < count && sorted[high] < median)
        high++;
    low = high;
    /* Outwards from the median, the nearer side first, until half of the values are passed. */
    while (left--) {
        double below = low ? median - sorted[low - 1] : INFINITY;
        double above = high < count ? sorted[high] - median : INFINITY;

        distance = below < above ? below : above;
        if (below < above)
            low--;
        else
            high++;
    }
    return distance;
}

double stats_percentile(const double *sorted, size_t count, double percent)
{
    /* The small step back keeps 99.9 % of 1000 at 999: the product is not exact in binary. */
    double rank = ceil(percent / 100 * (double)count - 1e-9);
    size_t place = rank < 1 ? 1 : rank > (double)count ? count : (size_t)rank;

    return sorted[place - 1];
}

double stats_trimmed_mean(const double *sorted, size_t count)
{
    size_t dropped = count / 4;
    double sum = 0;

    for (size_t i = dropped; i < count - dropped; i++)
        sum += sorted[i];
    return count ? sum / (double)(count - 2 * dropped) : NAN;
}

enum { BUCKETS = 1 << 16, BUCKETS_FROM = 1 << 16 };

static void swap(double *a, double *b)
{
    double value = *a;

    *a = *b;
    *b = value;
}

/* The middle one of three. */
static double choose_pivot(double a, double b, double c)
{
    if (a > b)
        swap(&a, &b);
    return c < a ? a : c > b ? b : c;
}

/* Puts the value there that would be there if they were sorted, those below it before it. */
static void select_place(double *values, size_t count, size_t place)
{
    size_t first = 0, end = count;

    /* Halves get small fast, but for values that are made against it. */
    for (int tries = 0; end - first > DIGITS_FROM; tries++) {
        double pivot =
            choose_pivot(values[first], values[first + (end - first) / 2], values[end - 1]);
        size_t low = first, high = end - 1;

        if (tries == 64)
            break;
        for (;; low++, high--) {
            while (values[low] < pivot)
                low++;
            while (values[high] > pivot)
                high--;
            if (low >= high)
                break;
            swap(&values[low], &values[high]);
        }
        /* Before `low` none is above the pivot, from there on none below it. */
        if (place < low)
            end = low;
        else
            first = low;
    }
    stats_sort(values + first, end - first);
}

/* By sign, exponent and four bits of the fraction: those of a smaller number are smaller. */
static uint32_t bucket_of(double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof(bits));
    return (uint32_t)((bits >> 63 ? ~bits : bits | UINT64_C(1) << 63) >> 48);
}

/* Of many values: puts those of the bucket that has the place first. Returns how many these are, and the place
 * among them; all of them without memory. */
static size_t gather_bucket(double *values, size_t count, size_t *place)
{
    uint32_t *counts = calloc(BUCKETS, sizeof(*counts));
    uint32_t bucket = 0;
    size_t gathered = 0;

    if (!counts)
        return count;
    for (size_t i = 0; i < count; i++)
        counts[bucket_of(values[i])]++;
    for (; *place >= counts[bucket]; bucket++)
        *place -= counts[bucket];
    free(counts);
    for (size_t i = 0; i < count; i++) {
        if (bucket_of(values[i]) == bucket)
            swap(&values[i], &values[gathered++]);
    }
    return gathered;
}

/* The greatest of those that come before a place, which select_place() has found among the first ones, and of
 * those behind these that are not above it. */
static double find_below(const double *values, size_t count, size_t first_count, size_t place)
{
    double below = place ? values[0] : -INFINITY;

    for (size_t i = 1; i < place; i++)
        below = values[i] > below ? values[i] : below;
    for (size_t i = first_count; i < count && !place; i++)
        below = values[i] <= values[0] && values[i] > below ? values[i] : below;
    return below;
}

double stats_find_median(double *values, size_t count)
{
    size_t place = count / 2, first_count = count;

    if (!count)
        return NAN;
    if (count >= BUCKETS_FROM && count <= UINT32_MAX)
        first_count = gather_bucket(values, count, &place);
    select_place(values, first_count, place);
    if (count % 2)
        return values[place];
    return (find_below(values, count, first_count, place) + values[place]) / 2;
}

double stats_median(const double *sorted, size_t count)
{
    if (!count)
        return NAN;
    return count % 2 ? sorted[count / 2] : (sorted[count / 2 - 1] + sorted[count / 2]) / 2;
}
