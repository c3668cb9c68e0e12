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

/* Counts that begin at `first`, with what is counted already. Returns 0 or -ENOMEM. */
static int resize(struct store_histogram *histogram, uint32_t first, uint32_t length, bool is_wide)
{
    const uint32_t at = histogram->first - first;
    struct store_histogram resized = {.first = (uint16_t)first,
                                      .length = (uint16_t)length,
                                      .narrow_length = is_wide ? 0 : (uint16_t)length,
                                      .wide_length = is_wide ? (uint16_t)length : 0};

    resized.narrow = calloc(1, store_histogram_bytes(&resized));
    if (!resized.narrow)
        return -ENOMEM;
    if (histogram->length && store_histogram_is_wide(histogram) == is_wide)
        memcpy(is_wide ? (void *)(resized.wide + at) : (void *)(resized.narrow + at),
               histogram->narrow, store_histogram_bytes(histogram));
    else
        for (uint32_t i = 0; i < histogram->length; i++)
            resized.wide[at + i] = histogram->narrow[i];
    free(histogram->narrow);
    *histogram = resized;
    return 0;
}

static int widen(struct store_histogram *histogram)
{
    return store_histogram_is_wide(histogram)
               ? 0
               : resize(histogram, histogram->first, histogram->length, true);
}

/* Make [first, first + length) hold the bin; it keeps some room around, because the next durations
 * will be near, and the more the wider they are spread. */
static int make_room(struct store_histogram *histogram, uint32_t bin)
{
    uint32_t first = histogram->first;
    uint32_t end = first + histogram->length;
    uint32_t room = 4 + histogram->length / 2;

    if (histogram->length == 0) {
        first = bin;
        end = bin + 1;
    }
    if (bin < first + 1)
        first = bin < room ? 0 : bin - room;
    if (bin + 1 >= end)
        end = bin + room + 1 > STORE_BIN_COUNT ? STORE_BIN_COUNT : bin + room + 1;
    return resize(histogram, first, end - first, store_histogram_is_wide(histogram));
}

static void add_saturated(uint64_t *count, uint64_t more)
{
    if (__builtin_add_overflow(*count, more, count))
        *count = UINT64_MAX;
}

static bool holds(const struct store_histogram *histogram, uint32_t bin)
{
    return bin - histogram->first < histogram->length;
}

int store_histogram_count(struct store_histogram *histogram, uint32_t bin, uint64_t count)
{
    uint32_t place;

    if (!holds(histogram, bin) && make_room(histogram, bin) < 0)
        return -ENOMEM;
    place = bin - histogram->first;
    if (!store_histogram_is_wide(histogram) && count <= UINT16_MAX &&
        histogram->narrow[place] + count <= UINT16_MAX) {
        histogram->narrow[place] = (uint16_t)(histogram->narrow[place] + count);
        return 0;
    }
    if (widen(histogram) < 0)
        return -ENOMEM;
    add_saturated(&histogram->wide[place], count);
    return 0;
}

int store_histogram_count_wide(struct store_histogram *histogram, uint32_t bin)
{
    if ((!holds(histogram, bin) && make_room(histogram, bin) < 0) || widen(histogram) < 0)
        return -ENOMEM;
    add_saturated(&histogram->wide[bin - histogram->first], 1);
    return 0;
}

enum { AT_ONCE = 4 };                         /* narrow counts, */
#define TOP_BITS UINT64_C(0x8000800080008000) /* and their highest bits */

/* Whether narrow counts can be added as they are, some at once: none becomes too large. */
static bool are_small(const uint16_t *into, const uint16_t *from, uint32_t length)
{
    uint64_t all = 0, some;
    uint32_t i = 0;

    for (; i + AT_ONCE <= length; i += AT_ONCE) {
        memcpy(&some, into + i, sizeof(some));
        all |= some;
        memcpy(&some, from + i, sizeof(some));
        all |= some;
    }
    for (; i < length; i++)
        all |= into[i] | from[i];
    return (all & TOP_BITS) == 0;
}

static void add_small(uint16_t *into, const uint16_t *from, uint32_t length)
{
    uint32_t i = 0;

    for (; i + AT_ONCE <= length; i += AT_ONCE) {
        uint64_t sum, more;

        memcpy(&sum, into + i, sizeof(sum));
        memcpy(&more, from + i, sizeof(more));
        sum += more;
        memcpy(into + i, &sum, sizeof(sum));
    }
    for (; i < length; i++)
        into[i] = (uint16_t)(into[i] + from[i]);
}

static bool is_too_much(const uint16_t *into, const uint16_t *from, uint32_t length)
{
    for (uint32_t i = 0; i < length; i++)
        if (into[i] + from[i] > UINT16_MAX)
            return true;
    return false;
}

int store_histogram_merge(struct store_histogram *into, const struct store_histogram *from)
{
    uint32_t last = from->first + from->length - 1, at;

    if (from->length == 0)
        return 0;
    /* Reserve both ends and the width first: after that nothing can fail. */
    if ((!holds(into, from->first) && make_room(into, from->first) < 0) ||
        (!holds(into, last) && make_room(into, last) < 0))
        return -ENOMEM;
    at = from->first - into->first;
    if (!store_histogram_is_wide(into) && !store_histogram_is_wide(from) &&
        are_small(into->narrow + at, from->narrow, from->length)) {
        add_small(into->narrow + at, from->narrow, from->length);
        return 0;
    }
    if ((store_histogram_is_wide(from) || store_histogram_is_wide(into) ||
         is_too_much(into->narrow + at, from->narrow, from->length)) &&
        widen(into) < 0)
        return -ENOMEM;
    for (uint32_t bin = from->first; bin <= last; bin++) {
        const uint64_t count = store_histogram_count_of(from, bin);

        if (count)
            store_histogram_count(into, bin, count); /* has room */
    }
    return 0;
}

uint64_t store_histogram_total(const struct store_histogram *histogram)
{
    uint64_t total = 0;

    for (uint32_t i = 0; i < histogram->length; i++)
        add_saturated(&total, store_histogram_count_of(histogram, histogram->first + i));
    return total;
}

int64_t store_histogram_percentile(const struct store_histogram *histogram, double percent)
{
    uint64_t total = store_histogram_total(histogram);
    /* What is not exact in binary, such as 0.07 of 100, must not go up to the next rank. */
    double rank = percent / 100 * (double)total * (1 - 1e-12);
    uint64_t seen = 0;

    for (uint32_t i = 0; i < histogram->length; i++) {
        add_saturated(&seen, store_histogram_count_of(histogram, histogram->first + i));
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
        const uint64_t count = store_histogram_count_of(histogram, histogram->first + i);

        if (count == 0)
            continue;
        if (at[-1] != '{')
            *at++ = ',';
        *at++ = '"';
        at += text_format_uint(at, histogram->first + i);
        *at++ = '"';
        *at++ = ':';
        at += text_format_uint(at, count);
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

void store_histogram_empty(struct store_histogram *histogram)
{
    if (histogram->length)
        memset(histogram->narrow, 0, store_histogram_bytes(histogram));
}

void store_histogram_deinit(struct store_histogram *histogram)
{
    free(histogram->narrow);
    memset(histogram, 0, sizeof(*histogram));
}
