/* SPDX-License-Identifier: Apache-2.0 */
/* The histogram of durations: bins, counting, merging, percentiles, its text form. */
#include "schema/store/stat.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

void store_bin_range(uint32_t bin, int64_t *out_low_ns, int64_t *out_high_ns)
{
    uint32_t shift = bin < 32 ? 0 : bin / 16 - 1;
    int64_t low = bin < 32 ? bin : (int64_t)(16 + bin % 16) << shift;

    *out_low_ns = low;
    *out_high_ns = low + (((int64_t)1 << shift) - 1);
}

int64_t store_bin_middle(uint32_t bin)
{
    int64_t low, high;

    store_bin_range(bin, &low, &high);
    return low + (high - low) / 2;
}

/* Make [first, first + length) hold the bin; it keeps some room around, because the next durations
 * will be near, and the more the wider they are spread. */
static int make_room(struct store_histogram *histogram, uint32_t bin)
{
    uint32_t first = histogram->first;
    uint32_t end = first + histogram->length;
    uint32_t room = 4 + histogram->length / 2;
    uint64_t *counts;

    if (histogram->length == 0) {
        first = bin;
        end = bin + 1;
    }
    if (bin < first + 1)
        first = bin < room ? 0 : bin - room;
    if (bin + 1 >= end)
        end = bin + room + 1 > STORE_BIN_COUNT ? STORE_BIN_COUNT : bin + room + 1;
    counts = calloc(end - first, sizeof(*counts));
    if (!counts)
        return -ENOMEM;
    if (histogram->length)
        memcpy(counts + (histogram->first - first), histogram->counts,
               histogram->length * sizeof(*counts));
    free(histogram->counts);
    histogram->counts = counts;
    histogram->first = first;
    histogram->length = end - first;
    return 0;
}

int store_histogram_count(struct store_histogram *histogram, uint32_t bin, uint64_t count)
{
    uint64_t *slot;

    if (bin - histogram->first >= histogram->length && make_room(histogram, bin) < 0)
        return -ENOMEM;
    slot = &histogram->counts[bin - histogram->first];
    if (__builtin_add_overflow(*slot, count, slot))
        *slot = UINT64_MAX;
    return 0;
}

static bool holds(const struct store_histogram *histogram, uint32_t bin)
{
    return bin - histogram->first < histogram->length;
}

int store_histogram_merge(struct store_histogram *into, const struct store_histogram *from)
{
    uint32_t last = from->first + from->length - 1;
    uint64_t *slots;

    if (from->length == 0)
        return 0;
    /* Reserve both ends first: after that nothing can fail. */
    if ((!holds(into, from->first) && make_room(into, from->first) < 0) ||
        (!holds(into, last) && make_room(into, last) < 0))
        return -ENOMEM;
    /* Most bins are empty, and with many ops each line that is touched is in no cache. */
    slots = into->counts + (from->first - into->first);
    for (uint32_t i = 0; i < from->length; i++) {
        if (from->counts[i] && __builtin_add_overflow(slots[i], from->counts[i], &slots[i]))
            slots[i] = UINT64_MAX;
    }
    return 0;
}

uint64_t store_histogram_total(const struct store_histogram *histogram)
{
    uint64_t total = 0;

    for (uint32_t i = 0; i < histogram->length; i++) {
        if (__builtin_add_overflow(total, histogram->counts[i], &total))
            return UINT64_MAX;
    }
    return total;
}

int64_t store_histogram_percentile(const struct store_histogram *histogram, double percent)
{
    uint64_t total = store_histogram_total(histogram);
    /* What is not exact in binary, such as 0.07 of 100, must not go up to the next rank. */
    double rank = percent / 100 * (double)total * (1 - 1e-12);
    uint64_t seen = 0;

    for (uint32_t i = 0; i < histogram->length; i++) {
        if (__builtin_add_overflow(seen, histogram->counts[i], &seen))
            seen = UINT64_MAX;
        if (seen > 0 && ((double)seen >= rank || seen == total))
            return store_bin_middle(histogram->first + i);
    }
    return -1;
}

size_t store_histogram_format(const struct store_histogram *histogram, char *out_text)
{
    char *at = out_text;

    *at++ = '{';
    for (uint32_t i = 0; i < histogram->length; i++) {
        if (histogram->counts[i] == 0)
            continue;
        if (at[-1] != '{')
            *at++ = ',';
        *at++ = '"';
        at += text_format_uint(at, histogram->first + i);
        *at++ = '"';
        *at++ = ':';
        at += text_format_uint(at, histogram->counts[i]);
    }
    *at++ = '}';
    *at = '\0';
    return (size_t)(at - out_text);
}

struct cursor {
    const char *at, *end;
};

static bool take(struct cursor *cursor, char wanted)
{
    if (cursor->at == cursor->end || *cursor->at != wanted)
        return false;
    cursor->at++;
    return true;
}

static bool take_number(struct cursor *cursor, uint64_t *out_value)
{
    const char *start = cursor->at;
    uint64_t value = 0;

    for (; cursor->at < cursor->end && *cursor->at >= '0' && *cursor->at <= '9'; cursor->at++) {
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*cursor->at - '0'), &value))
            return false;
    }
    *out_value = value;
    return cursor->at > start && (*start != '0' || cursor->at == start + 1);
}

/* One `"bin":count`; bins ascend and counts are not 0. */
static int parse_pair(struct cursor *cursor, struct store_histogram *histogram, int64_t *last_bin)
{
    uint64_t bin, count;

    if (!take(cursor, '"') || !take_number(cursor, &bin) || !take(cursor, '"') ||
        !take(cursor, ':') || !take_number(cursor, &count))
        return -EUCLEAN;
    if (bin >= STORE_BIN_COUNT || (int64_t)bin <= *last_bin || count == 0)
        return -EUCLEAN;
    *last_bin = (int64_t)bin;
    return store_histogram_count(histogram, (uint32_t)bin, count);
}

int store_histogram_parse(const char *text, size_t length, struct store_histogram *out_histogram,
                          struct diag *diag)
{
    struct cursor cursor = {text, text + length};
    struct store_histogram histogram = {0};
    int64_t last_bin = -1;
    int rc = take(&cursor, '{') ? 0 : -EUCLEAN;

    if (rc == 0 && !take(&cursor, '}')) {
        do {
            rc = parse_pair(&cursor, &histogram, &last_bin);
        } while (rc == 0 && take(&cursor, ','));
        if (rc == 0 && !take(&cursor, '}'))
            rc = -EUCLEAN;
    }
    if (rc == 0 && cursor.at != cursor.end)
        rc = -EUCLEAN;
    if (rc == 0) {
        *out_histogram = histogram;
        return 0;
    }
    store_histogram_deinit(&histogram);
    return diag_set_at(diag, rc, cursor.at - text,
                       rc == -ENOMEM ? "no memory for a histogram" : "not a histogram of op_stat");
}

void store_histogram_deinit(struct store_histogram *histogram)
{
    free(histogram->counts);
    memset(histogram, 0, sizeof(*histogram));
}
