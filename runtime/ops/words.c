/* SPDX-License-Identifier: Apache-2.0 */
/* Letters, parts of texts, numbers as texts. */
#include "runtime/ops/words.h"

#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wctype.h>

#include "base/text.h"
#include "runtime/graph/element.h"
#include "runtime/graph/texts.h"

static locale_t letters; /* 0: there are none but those of ASCII */

static void find_letters(void)
{
    letters = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
}

static bool has_letters(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, find_letters);
    return letters != (locale_t)0;
}

uint32_t words_lower(uint32_t code)
{
    if (code < 0x80)
        return code >= 'A' && code <= 'Z' ? code + 32 : code;
    return has_letters() ? (uint32_t)towlower_l((wint_t)code, letters) : code;
}

uint32_t words_upper(uint32_t code)
{
    if (code < 0x80)
        return code >= 'a' && code <= 'z' ? code - 32 : code;
    return has_letters() ? (uint32_t)towupper_l((wint_t)code, letters) : code;
}

/* Of every character; bytes that are no UTF-8 stay. */
static int64_t change_case(int64_t text, uint32_t change(uint32_t code))
{
    size_t length, used = 0;
    const char *bytes = texts_get(text, &length);
    char *made;
    int64_t number;

    if (length > WORDS_BYTES_MAX)
        return -E2BIG;
    made = malloc(4 * length + 1);
    if (!made)
        return -ENOMEM;
    for (size_t at = 0; at < length;) {
        uint32_t code;
        size_t taken = text_decode(bytes + at, length - at, &code);

        if (taken == 0)
            made[used++] = bytes[at];
        else
            used += text_encode(made + used, change(code));
        at += taken == 0 ? 1 : taken;
    }
    number = texts_number(made, used);
    free(made);
    return number;
}

/* Words that are kept, and those that are not */

static int read_stops(const struct attribute *words, struct word_normaliser *n)
{
    n->stops = malloc((words->count + 1) * sizeof(*n->stops));
    if (!n->stops)
        return -ENOMEM;
    for (; n->stop_count < words->count; n->stop_count++) {
        const char *word = words->strings[n->stop_count];
        int64_t text = texts_number(word, strlen(word));

        if (text >= 0 && n->common)
            text = change_case(text, n->common);
        if (text < 0)
            return (int)text;
        n->stops[n->stop_count] = text;
    }
    return 0;
}

/* Whether its i, or dots on it, are others than those of English. */
static bool has_other_letters(const char *locale)
{
    return strncmp(locale, "tr", 2) == 0 || strncmp(locale, "az", 2) == 0 ||
           strncmp(locale, "lt", 2) == 0;
}

int words_normaliser_read(const struct node *node, struct word_normaliser *out_normaliser,
                          struct diag *diag)
{
    const struct attribute *words = node_attribute(node, "stopwords");
    const char *action = node_string(node, "case_change_action", "NONE");
    const char *locale = node_string(node, "locale", "");
    struct word_normaliser n = {0};
    int rc = 0;

    if (strcmp(action, "UPPER") == 0)
        n.change = words_upper;
    else if (strcmp(action, "LOWER") == 0)
        n.change = words_lower;
    else if (strcmp(action, "NONE") != 0)
        return diag_set(diag, -EINVAL, "attribute case_change_action is '%.40s'", action);
    if (node_int(node, "is_case_sensitive", 0) == 0)
        n.common = n.change ? n.change : words_lower;
    if ((n.change || n.common) && has_other_letters(locale))
        return diag_set(diag, -ENOTSUP, "upper and lower case of locale '%.40s' are not known",
                        locale);
    if (words && words->type == ATTRIBUTE_STRINGS)
        rc = read_stops(words, &n);
    if (rc < 0) {
        free(n.stops);
        return diag_set(diag, rc, "its stopwords are too many or too long");
    }
    *out_normaliser = n;
    return 0;
}

int64_t words_normalise(const struct word_normaliser *n, int64_t text)
{
    int64_t compared = text;

    if (n->common && n->stop_count > 0)
        compared = change_case(text, n->common);
    if (compared < 0)
        return compared;
    for (size_t i = 0; i < n->stop_count; i++)
        if (n->stops[i] == compared)
            return -ENOENT;
    return n->change ? change_case(text, n->change) : text;
}

/* Parts */

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool next_by_space(const struct word_splitter *splitter, int64_t parts, struct word *rest,
                          struct word *out_part)
{
    size_t length = 0;

    while (rest->length > 0 && is_space(rest->bytes[0])) {
        rest->bytes++;
        rest->length--;
    }
    if (rest->length == 0)
        return false;
    if (splitter->most >= 0 && parts >= splitter->most)
        length = rest->length;
    while (length < rest->length && !is_space(rest->bytes[length]))
        length++;
    *out_part = (struct word){rest->bytes, length};
    rest->bytes += length;
    rest->length -= length;
    return true;
}

bool words_next(const struct word_splitter *splitter, int64_t parts, struct word *rest,
                struct word *out_part)
{
    const char *found = NULL;

    if (!rest->bytes)
        return false;
    if (!splitter->delimiter || splitter->length == 0)
        return next_by_space(splitter, parts, rest, out_part);
    if ((splitter->most < 0 || parts < splitter->most) && rest->length > 0)
        found = memmem(rest->bytes, rest->length, splitter->delimiter, splitter->length);
    *out_part = *rest;
    if (!found) {
        rest->bytes = NULL;
        return true;
    }
    out_part->length = (size_t)(found - rest->bytes);
    rest->length -= out_part->length + splitter->length;
    rest->bytes = found + splitter->length;
    return true;
}

int64_t words_count(const struct word_splitter *splitter, int64_t text)
{
    struct word rest, part;
    int64_t count = 0;

    rest.bytes = texts_get(text, &rest.length);
    while (words_next(splitter, count, &rest, &part))
        count++;
    return count;
}

/* Numbers */

void words_write_number(const void *data, enum dtype dtype, int64_t i, char out[WORDS_NUMBER_BYTES])
{
    long double number = element_get(data, dtype, i);

    if (isnan(number))
        strcpy(out, "NaN");
    else if (isinf(number))
        strcpy(out, number > 0 ? "INF" : "-INF");
    else if (element_is_float(dtype) || dtype >= DTYPE_F8E4M3FN)
        snprintf(out, WORDS_NUMBER_BYTES, "%.8Lg", number);
    else
        snprintf(out, WORDS_NUMBER_BYTES, "%.0Lf", number);
}

static bool read_real(const char *text, void *data, enum dtype dtype, int64_t i)
{
    char *end;
    double number;

    errno = 0;
    number = strtod(text, &end);
    if (end == text || errno == ERANGE)
        return false;
    if (dtype == DTYPE_F32)
        ((float *)data)[i] = (float)number;
    else if (dtype == DTYPE_F64)
        ((double *)data)[i] = number;
    else if (!element_set(data, dtype, i, (float)number)) /* too large */
        return element_set(data, dtype, i, number < 0 ? -INFINITY : INFINITY);
    return true;
}

bool words_read_number(int64_t text, void *data, enum dtype dtype, int64_t i)
{
    size_t length, bytes = dtype_bytes(dtype);
    const char *begin = texts_get(text, &length);
    bool is_signed =
        dtype == DTYPE_I8 || dtype == DTYPE_I16 || dtype == DTYPE_I32 || dtype == DTYPE_I64;
    uint64_t number;
    char *end;

    if (element_is_float(dtype))
        return read_real(begin, data, dtype, i);
    errno = 0;
    number = is_signed ? (uint64_t)strtoll(begin, &end, 10) : strtoull(begin, &end, 10);
    if (end == begin || errno == ERANGE)
        return false;
    if (dtype == DTYPE_BOOL)
        number = number != 0;
    memcpy((char *)data + (size_t)i * bytes, &number, bytes);
    return true;
}
