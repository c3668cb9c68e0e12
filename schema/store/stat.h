/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The histogram of durations in op_stat: log-linear counts, 16 bins for each power of two, so that
 * a value is known to 1/32 (3.2 %) of itself whatever its size, and two histograms are merged by
 * adding their counts. schema/store/store.md describes the bins and the text form.
 *
 * Pure functions: no I/O, no state; a histogram belongs to its caller. {0} is an empty one.
 */
#ifndef OPTRACE_SCHEMA_STORE_STAT_H
#define OPTRACE_SCHEMA_STORE_STAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"

enum {
    STORE_BIN_COUNT = 960, /* enough for every duration that an int64_t holds */

    /* Bytes that store_histogram_format() needs at most: "959": and 20 digits, a comma each. */
    STORE_HISTOGRAM_TEXT_MAX = STORE_BIN_COUNT * 27 + 3,
};

/* Counts are narrow until one is too large for that: there are hundreds of thousands of histograms
 * in a process whose counts are small, and each is in no cache when it is needed. */
struct store_histogram {
    union { /* of the bins first, first + 1, ...; owned */
        uint16_t *narrow;
        uint64_t *wide;
    };
    uint16_t first, length;
    uint16_t narrow_length, wide_length; /* one is the length, the other 0 */
};

/** The bin of a duration in ns; a negative one counts as 0. */
static inline uint32_t store_bin_of(int64_t ns)
{
    uint64_t value = ns < 0 ? 0 : (uint64_t)ns;
    uint32_t shift;

    if (value < 32)
        return (uint32_t)value;
    shift = 59 - (uint32_t)__builtin_clzll(value);
    return shift * 16 + (uint32_t)(value >> shift);
}

/** The shortest and the longest duration of a bin, in ns. bin < STORE_BIN_COUNT. Outside of its
 *  file, for tests. */
void store_bin_range(uint32_t bin, int64_t *out_low_ns, int64_t *out_high_ns);

/** What a duration in the bin is taken to be: the middle of its range, in ns. Outside of its
 *  file, for tests. */
int64_t store_bin_middle(uint32_t bin);

/** Count `count` durations in a bin < STORE_BIN_COUNT. Returns 0, or -ENOMEM and nothing is
 *  counted. A count that would overflow stays at its maximum. */
int store_histogram_count(struct store_histogram *histogram, uint32_t bin, uint64_t count);

/** Count one duration, of millions: nearly always its bin is there. Returns as
 *  store_histogram_count(). */
static inline int store_histogram_count_one(struct store_histogram *histogram, uint32_t bin)
{
    const uint32_t place = bin - histogram->first;

    if (place >= histogram->narrow_length || histogram->narrow[place] == UINT16_MAX)
        return store_histogram_count(histogram, bin, 1);
    histogram->narrow[place]++;
    return 0;
}

/** The same where histograms are few: counts become wide at once, which takes less time. */
int store_histogram_count_wide(struct store_histogram *histogram, uint32_t bin);
static inline int store_histogram_count_many(struct store_histogram *histogram, uint32_t bin)
{
    const uint32_t place = bin - histogram->first;

    if (place >= histogram->wide_length)
        return store_histogram_count_wide(histogram, bin);
    histogram->wide[place]++;
    return 0;
}

static inline bool store_histogram_is_wide(const struct store_histogram *histogram)
{
    return histogram->wide_length > 0;
}

/** Bring the count of a bin into the cache, where there is one: it is to be changed. */
static inline void store_histogram_fetch(const struct store_histogram *histogram, uint32_t bin)
{
    const uint32_t place = bin - histogram->first;

    if (place < histogram->length)
        __builtin_prefetch(store_histogram_is_wide(histogram)
                               ? (const void *)&histogram->wide[place]
                               : (const void *)&histogram->narrow[place],
                           1);
}

/** The count of a bin. */
static inline uint64_t store_histogram_count_of(const struct store_histogram *histogram,
                                                uint32_t bin)
{
    const uint32_t place = bin - histogram->first;

    if (place >= histogram->length)
        return 0;
    return store_histogram_is_wide(histogram) ? histogram->wide[place] : histogram->narrow[place];
}

/** Bytes that the counts take. */
static inline size_t store_histogram_bytes(const struct store_histogram *histogram)
{
    return histogram->length * (store_histogram_is_wide(histogram) ? sizeof(*histogram->wide)
                                                                   : sizeof(*histogram->narrow));
}

/** Set all counts to 0; the room for them stays. */
void store_histogram_empty(struct store_histogram *histogram);

/** Add the counts of `from`. Returns 0, or -ENOMEM and `into` is as it was. */
int store_histogram_merge(struct store_histogram *into, const struct store_histogram *from);

/** The sum of all counts. Outside of its file, for tests. */
uint64_t store_histogram_total(const struct store_histogram *histogram);

/** The duration in ns below or at which `percent` (0 to 100) of the durations lie, nearest rank, as
 *  the middle of its bin: at most 1/32 away from the true one. -1 when the histogram is empty. The
 *  caller who knows the shortest and longest duration clamps it to them. */
int64_t store_histogram_percentile(const struct store_histogram *histogram, double percent);

/** Write the text form, NUL-terminated. Returns its length without the NUL. `out_text` holds
 *  STORE_HISTOGRAM_TEXT_MAX bytes. */
size_t store_histogram_format(const struct store_histogram *histogram, char *out_text);

/** Read the text form, exactly as store_histogram_format() writes it. out_histogram is written only
 *  on success and then belongs to the caller. Returns 0, -EUCLEAN with the offset in the diag, or
 *  -ENOMEM. */
int store_histogram_parse(const char *text, size_t length, struct store_histogram *out_histogram,
                          struct diag *diag);

/** Frees the counts; the histogram is empty then. */
void store_histogram_deinit(struct store_histogram *histogram);

#endif
