/* SPDX-License-Identifier: Apache-2.0 */
/* Walking over JSON in place. */
#include "analyze/json/text.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/text.h"

/* --- Where a value ends. --- */

enum byte_class { OTHER, QUOTE, OPEN, CLOSE, SPACE, MARK };
static const uint8_t byte_classes[256] = {
    ['"'] = QUOTE,  ['{'] = OPEN,   ['['] = OPEN,   ['}'] = CLOSE, [']'] = CLOSE, [' '] = SPACE,
    ['\n'] = SPACE, ['\r'] = SPACE, ['\t'] = SPACE, [','] = MARK,  [':'] = MARK,
};

static inline enum byte_class class_of(char byte)
{
    return byte_classes[(uint8_t)byte];
}

/* The first quote or backslash, or the end. */
static const char *skip_plain(const char *at, const char *end)
{
#ifdef __SSE2__
    const __m128i quotes = _mm_set1_epi8('"'), slashes = _mm_set1_epi8('\\');

    for (; end - at >= 16; at += 16) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)at);
        int found = _mm_movemask_epi8(
            _mm_or_si128(_mm_cmpeq_epi8(bytes, quotes), _mm_cmpeq_epi8(bytes, slashes)));

        if (found)
            return at + __builtin_ctz((unsigned)found);
    }
#endif
    while (at < end && *at != '"' && *at != '\\')
        at++;
    return at;
}

/* The closing quote, or the end. */
static const char *skip_string(const char *at, const char *end, bool *is_escaped)
{
    if (*is_escaped && at < end) {
        at++;
        *is_escaped = false;
    }
    while ((at = skip_plain(at, end)) < end && *at == '\\') {
        if (at + 1 == end) {
            *is_escaped = true;
            return end;
        }
        at += 2;
    }
    return at;
}

static int scan_close(struct json_scan *scan, char byte)
{
    bool is_object = byte == '}';

    if (!scan->depth || (bool)(scan->objects & 1) != is_object)
        return JSON_SCAN_BRACKET;
    scan->objects >>= 1;
    scan->depth--;
    return 0;
}

static int scan_open(struct json_scan *scan, char byte)
{
    if (scan->depth == JSON_SCAN_DEPTH_MAX)
        return JSON_SCAN_DEPTH;
    scan->objects = scan->objects << 1 | (byte == '{');
    scan->depth++;
    return 0;
}

/* A number or a word that stands alone. */
static int scan_word(struct json_scan *scan, const char *text, size_t length, size_t *done)
{
    scan->in_word = true;
    while (*done < length && class_of(text[*done]) == OTHER)
        ++*done;
    return *done < length ? 1 : 0;
}

/* The bracket at `at`, outside of strings. Returns 1 when it ends the value. */
static int scan_bracket(struct json_scan *scan, char byte)
{
    int rc = class_of(byte) == OPEN ? scan_open(scan, byte) : scan_close(scan, byte);

    return rc < 0 ? rc : !scan->depth;
}

#ifdef __SSE2__
/* A bit for each of 64 bytes. */
struct block {
    uint64_t quotes, slashes, brackets;
};

static struct block read_block(const char *at)
{
    const __m128i quote = _mm_set1_epi8('"'), slash = _mm_set1_epi8('\\');
    const __m128i low = _mm_set1_epi8(0x20), open = _mm_set1_epi8('{'), close = _mm_set1_epi8('}');
    struct block block = {0};

    for (int i = 0; i < 4; i++) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(at + 16 * i));
        __m128i folded = _mm_or_si128(bytes, low); /* [ becomes {, ] becomes } */
        __m128i brackets =
            _mm_or_si128(_mm_cmpeq_epi8(folded, open), _mm_cmpeq_epi8(folded, close));

        block.quotes |= (uint64_t)(unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, quote))
                        << 16 * i;
        block.slashes |= (uint64_t)(unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, slash))
                         << 16 * i;
        block.brackets |= (uint64_t)(unsigned)_mm_movemask_epi8(brackets) << 16 * i;
    }
    return block;
}

/* From each quote on to the byte before the next one. */
static uint64_t inside_quotes(uint64_t quotes)
{
    for (int shift = 1; shift < 64; shift *= 2)
        quotes ^= quotes << shift;
    return quotes;
}

/* As far as whole blocks without a backslash go. Returns as scan_bytes() does. */
static int scan_blocks(struct json_scan *scan, const char **at_slot, const char *end)
{
    const char *at = *at_slot;
    int rc = 0;

    for (; end - at >= 64 && !scan->is_escaped; at += 64) {
        struct block block = read_block(at);
        uint64_t inside = inside_quotes(block.quotes) ^ (scan->in_string ? UINT64_MAX : 0);

        if (block.slashes)
            break;
        for (uint64_t left = block.brackets & ~inside; left; left &= left - 1) {
            int place = __builtin_ctzll(left);

            rc = scan_bracket(scan, at[place]);
            if (rc) {
                scan->in_string = false;
                *at_slot = at + place + (rc > 0);
                return rc;
            }
        }
        scan->in_string = inside >> 63;
    }
    *at_slot = at;
    return 0;
}
#else
static int scan_blocks(struct json_scan *scan, const char **at_slot, const char *end)
{
    (void)scan;
    (void)at_slot;
    (void)end;
    return 0;
}
#endif

/* Returns 1 when the value ends, before *at; 0 at the end; or an error at *at. */
static int scan_bytes(struct json_scan *scan, const char **at_slot, const char *end)
{
    const char *at = *at_slot;
    int rc = 0;

    for (; at < end && rc == 0; at++) {
        enum byte_class class;

        if (scan->in_string) {
            at = skip_string(at, end, &scan->is_escaped);
            if (at == end)
                break;
            scan->in_string = false;
            rc = !scan->depth;
            continue;
        }
        class = class_of(*at);
        if (class == QUOTE)
            scan->in_string = true;
        else if (class == OPEN || class == CLOSE)
            rc = scan_bracket(scan, *at);
    }
    *at_slot = rc < 0 ? at - 1 : at;
    return rc;
}

int json_scan(struct json_scan *scan, const char *text, size_t length, size_t *done)
{
    const char *at = text + *done, *end = text + length;
    int rc = 0;

    if (!scan->depth && !scan->in_string && at < end) {
        enum byte_class first = class_of(*at);

        if (first == OTHER)
            return scan_word(scan, text, length, done);
        if (scan->in_word)
            return 1;
        if (first != QUOTE && first != OPEN)
            return JSON_SCAN_VALUE;
        rc = scan_bytes(scan, &at, at + 1);
    }
    while (rc == 0 && at < end) {
        if (scan->depth)
            rc = scan_blocks(scan, &at, end);
        if (rc == 0)
            rc = scan_bytes(scan, &at, scan->depth && end - at > 64 ? at + 64 : end);
    }
    *done = (size_t)(at - text);
    return rc;
}

bool json_scan_may_end(const struct json_scan *scan)
{
    return scan->in_word;
}

const char *json_scan_problem(int error)
{
    switch (error) {
    case JSON_SCAN_BRACKET:
        return "the wrong bracket";
    case JSON_SCAN_DEPTH:
        return "brackets are nested too deep";
    default:
        return "a value is missing";
    }
}

/* --- Walking. --- */

static enum json_kind kind_of(const char *text, size_t length)
{
    switch (*text) {
    case '"':
        return JSON_STRING;
    case '{':
        return JSON_OBJECT;
    case '[':
        return JSON_ARRAY;
    default:
        break;
    }
    if ((*text >= '0' && *text <= '9') || *text == '-')
        return JSON_NUMBER;
    if (length == 4 && memcmp(text, "null", 4) == 0)
        return JSON_NULL;
    if ((length == 4 && memcmp(text, "true", 4) == 0) ||
        (length == 5 && memcmp(text, "false", 5) == 0))
        return JSON_BOOL;
    return JSON_NONE;
}

struct json_slice json_value(const char *text, size_t length)
{
    struct json_slice slice = {text, length, length ? kind_of(text, length) : JSON_NONE};

    if (slice.kind == JSON_STRING) {
        slice.text++;
        slice.length -= 2;
    }
    return slice;
}

struct json_walk json_walk_over(struct json_slice value)
{
    struct json_walk walk = {.is_first = true, .is_object = value.kind == JSON_OBJECT};

    if (value.kind == JSON_OBJECT || value.kind == JSON_ARRAY) {
        walk.at = value.text + 1;
        walk.end = value.text + value.length - 1;
    }
    return walk;
}

static const char *skip_space(const char *at, const char *end)
{
    while (at < end && class_of(*at) == SPACE)
        at++;
    return at;
}

static int walk_fail(struct json_walk *walk, const char *problem)
{
    walk->problem = problem;
    return -EUCLEAN;
}

/* A string without escapes. Returns whether it was one, and then used it up. */
static bool take_plain_string(struct json_walk *walk, struct json_slice *out_value)
{
    const char *at = walk->at + 1, *end;

    if (walk->at == walk->end || walk->at[0] != '"')
        return false;
    end = skip_plain(at, walk->end);
    if (end == walk->end || *end != '"')
        return false;
    *out_value = (struct json_slice){at, (size_t)(end - at), JSON_STRING};
    walk->at = end + 1;
    return true;
}

static int take_value(struct json_walk *walk, struct json_slice *out_value)
{
    struct json_scan scan = {0};
    size_t length = 0, left = (size_t)(walk->end - walk->at);
    int rc;

    if (take_plain_string(walk, out_value))
        return 1;
    if (!left)
        return walk_fail(walk, "a value is missing");
    while (length < left && class_of(walk->at[length]) == OTHER)
        length++;
    rc = length ? 1 : json_scan(&scan, walk->at, left, &length);
    if (rc < 0 || (rc == 0 && !json_scan_may_end(&scan))) {
        walk->at += length;
        return walk_fail(walk, rc < 0 ? json_scan_problem(rc) : "a value does not end");
    }
    *out_value = json_value(walk->at, length);
    if (out_value->kind == JSON_NONE && *walk->at != 'N' && *walk->at != 'I')
        return walk_fail(walk, "no JSON value"); /* but NaN and Infinity are written by many */
    walk->at += length;
    return 1;
}

int json_walk_next(struct json_walk *walk, struct json_slice *out_key, struct json_slice *out_value)
{
    *out_key = (struct json_slice){0};
    if (!walk->at)
        return 0;
    walk->at = skip_space(walk->at, walk->end);
    if (!walk->is_first && walk->at < walk->end) {
        if (*walk->at != ',')
            return walk_fail(walk, "a comma is missing");
        walk->at = skip_space(walk->at + 1, walk->end);
        if (walk->at == walk->end)
            return walk_fail(walk, "a value is missing behind a comma");
    }
    if (walk->at == walk->end)
        return 0;
    walk->is_first = false;
    if (walk->is_object) {
        if (*walk->at != '"')
            return walk_fail(walk, "a key is missing");
        if (take_value(walk, out_key) < 0)
            return -EUCLEAN;
        walk->at = skip_space(walk->at, walk->end);
        if (walk->at == walk->end || *walk->at != ':')
            return walk_fail(walk, "a colon is missing behind a key");
        walk->at = skip_space(walk->at + 1, walk->end);
    }
    return take_value(walk, out_value);
}

struct json_slice json_member(struct json_slice object, const char *name)
{
    struct json_walk walk = json_walk_over(object);
    struct json_slice key, value;

    if (object.kind == JSON_OBJECT) {
        while (json_walk_next(&walk, &key, &value) == 1) {
            if (json_is(key, name))
                return value;
        }
    }
    return (struct json_slice){0};
}

/* --- Numbers. --- */

enum { DIGITS_MAX = 18 }; /* of a number that cannot overflow 64 bits */

/* Digits without the point, and where it stands. */
struct digits {
    uint64_t value;
    int exponent; /* value times ten to this power */
    bool is_negative, is_exact;
    char next; /* the first digit left out */
};

static bool read_exponent(const char *at, const char *end, int *exponent)
{
    bool is_negative = at < end && *at == '-';
    int value = 0;

    if (at < end && (*at == '-' || *at == '+'))
        at++;
    if (at == end)
        return false;
    for (; at < end; at++) {
        if (*at < '0' || *at > '9')
            return false;
        if (value < 10000)
            value = value * 10 + (*at - '0');
    }
    *exponent += is_negative ? -value : value;
    return true;
}

static bool read_digits(struct json_slice slice, struct digits *out_digits)
{
    const char *at = slice.text, *end = slice.text + slice.length;
    bool has_point = false;
    int count = 0, kept = 0;

    *out_digits = (struct digits){.is_exact = true, .next = '0'};
    if (at < end && *at == '-') {
        out_digits->is_negative = true;
        at++;
    }
    for (; at < end && ((*at >= '0' && *at <= '9') || (*at == '.' && !has_point)); at++) {
        if (*at == '.') {
            has_point = true;
            continue;
        }
        count++;
        if (kept < DIGITS_MAX + 1) {
            out_digits->value = out_digits->value * 10 + (uint64_t)(*at - '0');
            kept += out_digits->value != 0;
            out_digits->exponent -= has_point;
        } else {
            out_digits->next = out_digits->is_exact ? *at : out_digits->next;
            out_digits->is_exact = false;
            out_digits->exponent += !has_point;
        }
    }
    if (!count)
        return false;
    if (at < end && (*at == 'e' || *at == 'E'))
        return read_exponent(at + 1, end, &out_digits->exponent);
    return at == end;
}

bool json_decimal(struct json_slice slice, int shift, int64_t *out_value)
{
    struct digits digits;
    int exponent;
    bool rounds_up;

    if ((slice.kind != JSON_NUMBER && slice.kind != JSON_STRING) || !read_digits(slice, &digits))
        return false;
    exponent = digits.exponent + shift;
    rounds_up = exponent == 0 && digits.next >= '5';
    for (; exponent > 0 && digits.value; exponent--) {
        if (digits.value > INT64_MAX / 10)
            return false;
        digits.value *= 10;
    }
    for (; exponent < 0 && (digits.value || rounds_up); exponent++) {
        rounds_up = digits.value % 10 >= 5;
        digits.value /= 10;
    }
    digits.value += rounds_up;
    if (digits.value > INT64_MAX)
        return false;
    *out_value = digits.is_negative ? -(int64_t)digits.value : (int64_t)digits.value;
    return true;
}

bool json_whole(struct json_slice slice, int64_t *out_value)
{
    int64_t value, tenths;

    if (!json_decimal(slice, 0, &value))
        return false;
    /* Numbers above a tenth of the range have no place for a digit behind the point to tell. */
    if (json_decimal(slice, 1, &tenths) && tenths != value * 10)
        return false;
    *out_value = value;
    return true;
}

bool json_real(struct json_slice slice, double *out_value)
{
    char text[64], *end;

    if ((slice.kind != JSON_NUMBER && slice.kind != JSON_STRING) || !slice.length ||
        slice.length >= sizeof(text))
        return false;
    memcpy(text, slice.text, slice.length);
    text[slice.length] = '\0';
    *out_value = strtod(text, &end);
    return !*end && isfinite(*out_value);
}

/* --- Texts. --- */

static bool read_hex4(const char *at, const char *end, uint32_t *out_code)
{
    *out_code = 0;
    if (end - at < 4)
        return false;
    for (int i = 0; i < 4; i++) {
        const char *digits = "0123456789abcdef", *digit = strchr(digits, at[i] | 0x20);

        if (!at[i] || !digit || !*digit)
            return false;
        *out_code = *out_code << 4 | (uint32_t)(digit - digits);
    }
    return true;
}

/* What follows a backslash. Returns how many bytes that is. */
static size_t read_escape(const char *at, const char *end, uint32_t *out_code)
{
    static const char names[] = "bfnrt", codes[] = "\b\f\n\r\t";
    uint32_t low;
    const char *name;

    *out_code = 0xfffd;
    if (at == end)
        return 0;
    name = strchr(names, *at);
    if (*at != 'u') {
        *out_code = *at && name ? (uint32_t)codes[name - names] : (uint8_t)*at;
        return 1;
    }
    if (!read_hex4(at + 1, end, out_code)) {
        *out_code = 0xfffd;
        return 1;
    }
    if (*out_code >= 0xd800 && *out_code < 0xdc00 && end - at >= 11 && at[5] == '\\' &&
        at[6] == 'u' && read_hex4(at + 7, end, &low) && low >= 0xdc00 && low < 0xe000) {
        *out_code = 0x10000 + ((*out_code - 0xd800) << 10) + (low - 0xdc00);
        return 11;
    }
    if (*out_code == 0 || (*out_code >= 0xd800 && *out_code < 0xe000))
        *out_code = 0xfffd;
    return 5;
}

bool json_is_plain(struct json_slice slice)
{
    for (size_t i = 0; i < slice.length; i++) {
        if ((uint8_t)(slice.text[i] - 1) >= 0x7f || slice.text[i] == '\\')
            return false;
    }
    return true;
}

char *json_take_text(struct json_slice slice)
{
    const char *at = slice.text ? slice.text : "", *end = at + slice.length;
    /* One byte that is not UTF-8 becomes three. */
    char *text, *out;

    if (json_is_plain(slice))
        return strndup(at, slice.length);
    text = malloc(slice.length * 3 + 4);
    out = text;
    while (text && at < end) {
        uint32_t code;
        size_t bytes;

        if (*at == '\\' && slice.kind == JSON_STRING) {
            bytes = 1 + read_escape(at + 1, end, &code);
            if (code >= 0x80 && bytes == 2)
                code = 0xfffd;
        } else {
            bytes = text_decode(at, (size_t)(end - at), &code);
            if (!bytes || !code) {
                bytes = 1;
                code = 0xfffd;
            }
        }
        out += text_encode(out, code);
        at += bytes;
    }
    if (text)
        *out = '\0';
    return text;
}
