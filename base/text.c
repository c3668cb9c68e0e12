/* SPDX-License-Identifier: Apache-2.0 */
/* UTF-8, terminal columns, nearest words. */
#include "base/text.h"

#include <ctype.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/text_columns.h"

enum { DISTANCE_MAX = 63 };

size_t text_decode(const char *bytes, size_t length, uint32_t *out_code)
{
    const unsigned char *byte = (const unsigned char *)bytes;
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    uint32_t code;
    size_t size;

    if (byte[0] < 0x80) {
        *out_code = byte[0];
        return 1;
    }
    size = byte[0] >= 0xf0 ? 4 : byte[0] >= 0xe0 ? 3 : 2;
    if (byte[0] < 0xc2 || byte[0] > 0xf4 || length < size)
        return 0;
    code = byte[0] & (0x7fu >> size);
    for (size_t i = 1; i < size; i++) {
        if ((byte[i] & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (byte[i] & 0x3f);
    }
    if (code < smallest[size] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
        return 0;
    *out_code = code;
    return size;
}

bool text_is_utf8(const char *bytes, size_t length)
{
    uint32_t code;
    size_t size;

    for (size_t i = 0; i < length; i += size) {
        size = text_decode(bytes + i, length - i, &code);
        if (size == 0 || code == 0)
            return false;
    }
    return true;
}

static bool is_in(const struct text_range *ranges, size_t count, uint32_t code)
{
    size_t low = 0;

    while (low < count) {
        size_t middle = low + (count - low) / 2;

        if (code < ranges[middle].first)
            count = middle;
        else if (code > ranges[middle].last)
            low = middle + 1;
        else
            return true;
    }
    return false;
}

size_t text_columns(const char *text, size_t length)
{
    size_t columns = 0;
    uint32_t code;
    size_t size;

    for (size_t i = 0; i < length; i += size) {
        size = text_decode(text + i, length - i, &code);
        if (size <= 1) {
            size = 1;
            columns++;
        } else if (!is_in(text_zero_width, text_zero_width_count, code)) {
            columns += is_in(text_double_width, text_double_width_count, code) ? 2 : 1;
        }
    }
    return columns;
}

/* Marks, embeddings, overrides and isolates of the bidirectional algorithm. */
static bool turns_direction(uint32_t code)
{
    return code == 0x61c || code == 0x200e || code == 0x200f ||
           (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

bool text_is_steering(uint32_t code)
{
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x2028 || code == 0x2029 ||
           turns_direction(code);
}

size_t text_show_next(const char *text, size_t left, char out_shown[TEXT_SHOWN_BYTES])
{
    uint32_t code = 0;
    const size_t length = text_decode(text, left, &code);

    if (length == 0) {
        snprintf(out_shown, TEXT_SHOWN_BYTES, "\\x%02x", (unsigned char)*text);
        return 1;
    }
    if (code < 0x20 || code == 0x7f)
        snprintf(out_shown, TEXT_SHOWN_BYTES, "\\x%02x", (unsigned)code);
    else if (text_is_steering(code))
        snprintf(out_shown, TEXT_SHOWN_BYTES, "\\u%04x", (unsigned)code);
    else
        *(char *)mempcpy(out_shown, text, length) = '\0';
    return length;
}

size_t text_show(const char *text, size_t length, char *out_shown, size_t room)
{
    char shown[TEXT_SHOWN_BYTES];
    size_t used = 0;

    for (size_t at = 0; at < length;) {
        at += text_show_next(text + at, length - at, shown);
        if (used + strlen(shown) + 1 > room)
            break;
        strcpy(out_shown + used, shown);
        used += strlen(shown);
    }
    if (room > 0)
        out_shown[used] = '\0';
    return used;
}

/* How many of the first bytes are shown as they are. */
static size_t plain_length(const char *text, size_t length)
{
    size_t at = 0;
    uint32_t code;

    while (at < length) {
        const unsigned char byte = (unsigned char)text[at];
        size_t size = 1;

        if (byte >= 0x80) {
            size = text_decode(text + at, length - at, &code);
            if (size == 0 || text_is_steering(code))
                break;
        } else if (byte < 0x20 || byte == 0x7f) {
            break;
        }
        at += size;
    }
    return at;
}

int text_put_some(const char *text, size_t length, FILE *stream)
{
    char shown[TEXT_SHOWN_BYTES];

    while (length) {
        const size_t plain = plain_length(text, length);

        if (plain && fwrite(text, 1, plain, stream) != plain)
            return EOF;
        text += plain;
        length -= plain;
        if (length) {
            const size_t size = text_show_next(text, length, shown);

            if (fputs(shown, stream) == EOF)
                return EOF;
            text += size;
            length -= size;
        }
    }
    return 0;
}

int text_put(const char *text, FILE *stream)
{
    return text_put_some(text, strlen(text), stream);
}

int text_put_page(const char *page, FILE *stream)
{
    return fputs(page, stream) == EOF ? EOF : 0;
}

size_t text_distance(const char *a, const char *b)
{
    size_t a_length = strnlen(a, DISTANCE_MAX);
    size_t b_length = strnlen(b, DISTANCE_MAX);
    size_t row[DISTANCE_MAX + 1];

    for (size_t j = 0; j <= b_length; j++)
        row[j] = j;
    for (size_t i = 0; i < a_length; i++) {
        size_t diagonal = row[0];

        row[0] = i + 1;
        for (size_t j = 0; j < b_length; j++) {
            bool differ = tolower((unsigned char)a[i]) != tolower((unsigned char)b[j]);
            size_t best = diagonal + differ;

            diagonal = row[j + 1];
            if (diagonal + 1 < best)
                best = diagonal + 1;
            if (row[j] + 1 < best)
                best = row[j] + 1;
            row[j + 1] = best;
        }
    }
    return row[b_length];
}

const char *text_nearest(const char *word, const char *const *words, size_t count)
{
    size_t length = strlen(word);
    const char *nearest = NULL;
    size_t best = length / 3 + 1; /* one slip in three letters is still meant */

    for (size_t i = 0; i < count; i++) {
        size_t distance = text_distance(word, words[i]);

        if (distance < best || (distance == best && !nearest && length > 2)) {
            best = distance;
            nearest = words[i];
        }
    }
    for (size_t i = 0; i < count && !nearest && length > 1; i++) {
        if (strncasecmp(word, words[i], length) == 0)
            nearest = words[i];
    }
    return nearest;
}

size_t text_terminal_columns(FILE *stream)
{
    struct winsize size;

    return isatty(fileno(stream)) && ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 ? size.ws_col
                                                                                   : 0;
}

int text_compare_natural(const char *a, const char *b)
{
    while (*a && *b) {
        if (isdigit((unsigned char)*a) && isdigit((unsigned char)*b)) {
            size_t left, right;
            int order;

            a += strspn(a, "0");
            b += strspn(b, "0");
            left = strspn(a, "0123456789");
            right = strspn(b, "0123456789");
            order = left != right ? (left > right) - (left < right) : strncmp(a, b, left);
            if (order)
                return order;
            a += left;
            b += right;
        } else if (*a != *b) {
            break;
        } else {
            a++;
            b++;
        }
    }
    return (unsigned char)*a - (unsigned char)*b;
}

static const char digit_pairs[] =
    "0001020304050607080910111213141516171819202122232425262728293031323334353637383940414243444546"
    "4748495051525354555657585960616263646566676869707172737475767778798081828384858687888990919293"
    "949596979899";

size_t text_format_uint(char *out, uint64_t value)
{
    char digits[TEXT_INT_BYTES];
    size_t first = sizeof(digits);

    for (; value >= 100; value /= 100) {
        const char *pair = digit_pairs + value % 100 * 2;

        digits[--first] = pair[1];
        digits[--first] = pair[0];
    }
    do {
        digits[--first] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    memcpy(out, digits + first, sizeof(digits) - first);
    out[sizeof(digits) - first] = '\0';
    return sizeof(digits) - first;
}

size_t text_format_int(char *out, int64_t value)
{
    if (value >= 0)
        return text_format_uint(out, (uint64_t)value);
    out[0] = '-';
    return 1 + text_format_uint(out + 1, -(uint64_t)value);
}
