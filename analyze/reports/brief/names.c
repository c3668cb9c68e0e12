/* SPDX-License-Identifier: Apache-2.0 */
/* Names on a first screen: as much as there is room for, and different ones stay different. */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/out/kernel_name.h"
#include "analyze/reports/brief/page_part.h"
#include "base/text.h"

char *brief_shown(const char *text)
{
    size_t length = strlen(text);
    char *shown = malloc(length * TEXT_SHOWN_BYTES + 1);

    if (shown)
        text_show(text, length, shown, length * TEXT_SHOWN_BYTES + 1);
    return shown;
}

/* Bytes of the characters that fit into so many columns. */
static size_t head_bytes(const char *text, size_t length, size_t columns)
{
    size_t at = 0;

    while (at < length) {
        uint32_t code;
        size_t bytes = text_decode(text + at, length - at, &code);

        bytes = bytes ? bytes : 1;
        if (text_columns(text, at + bytes) > columns)
            break;
        at += bytes;
    }
    return at;
}

/* Where the last characters that fit into so many columns begin. */
static size_t tail_start(const char *text, size_t length, size_t columns)
{
    size_t at = length;

    while (at > 0) {
        size_t before = at - 1;

        while (before > 0 && ((unsigned char)text[before] & 0xc0) == 0x80)
            before--;
        if (text_columns(text + before, length - before) > columns)
            break;
        at = before;
    }
    /* A mark that combines with what was cut off would stand on the dots. */
    while (at < length) {
        uint32_t code;
        size_t bytes = text_decode(text + at, length - at, &code);

        if (!bytes || text_columns(text + at, bytes) > 0)
            break;
        at += bytes;
    }
    return at;
}

char *brief_cut(const char *text, size_t columns, size_t tail_columns)
{
    static const char dots[] = "...";
    size_t length = strlen(text), head, tail;
    char *cut = malloc(length + sizeof(dots));

    if (!cut)
        return NULL;
    if (text_columns(text, length) <= columns) {
        memcpy(cut, text, length + 1);
        return cut;
    }
    if (columns < sizeof(dots)) {
        head = head_bytes(text, length, columns);
        memcpy(cut, text, head);
        cut[head] = '\0';
        return cut;
    }
    columns -= sizeof(dots) - 1;
    tail_columns = tail_columns < columns ? tail_columns : columns;
    head = head_bytes(text, length, columns - tail_columns);
    tail = tail_start(text, length, tail_columns);
    memcpy(cut, text, head);
    memcpy(cut + head, dots, sizeof(dots) - 1);
    memcpy(cut + head + sizeof(dots) - 1, text + tail, length - tail + 1);
    return cut;
}

static void free_names(char **names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(names[i]);
        names[i] = NULL;
    }
}

static bool are_different(char *const *whole, char *const *cut, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < i; k++) {
            if (strcmp(cut[i], cut[k]) == 0 && strcmp(whole[i], whole[k]) != 0)
                return false;
        }
    }
    return true;
}

/* How much of a name's end is kept, in each way to cut it. */
static size_t tail_columns(const char *name, size_t columns, size_t way)
{
    const size_t tails[] = {columns / 2, columns * 3 / 4, columns / 4, 0, columns};

    return way == 0 && kernel_name_is_head_first(name) ? 0 : tails[way];
}
enum { WAYS = 5 };

/* Whether another name looks like this one. */
static bool is_alike(char *const *whole, char *const *shown, size_t count, size_t place)
{
    for (size_t i = 0; i < count; i++) {
        if (i != place && strcmp(shown[i], shown[place]) == 0 &&
            strcmp(whole[i], whole[place]) != 0)
            return true;
    }
    return false;
}

/* Numbers behind those that still look alike. */
static int number_names(char *const *whole, char **cut, size_t count, size_t columns)
{
    for (size_t i = 0; i < count; i++) {
        char mark[16], *numbered, *shorter;

        if (!is_alike(whole, cut, count, i))
            continue;
        snprintf(mark, sizeof(mark), "#%zu", i + 1);
        shorter = brief_cut(cut[i], columns > strlen(mark) ? columns - strlen(mark) : 0, 0);
        if (!shorter || asprintf(&numbered, "%s%s", shorter, mark) < 0) {
            free(shorter);
            return -ENOMEM;
        }
        free(shorter);
        free(cut[i]);
        cut[i] = numbered;
    }
    return 0;
}

/* Those that look alike are cut in the next way, until they differ. */
static int cut_names(char *const *whole, size_t count, size_t columns, char **out_shown)
{
    size_t ways[BRIEF_ROWS_MAX] = {0};
    bool has_moved = true;

    for (size_t i = 0; i < count; i++) {
        out_shown[i] = brief_cut(whole[i], columns, tail_columns(whole[i], columns, 0));
        if (!out_shown[i])
            return -ENOMEM;
    }
    while (has_moved) {
        bool moves[BRIEF_ROWS_MAX] = {false};

        has_moved = false;
        for (size_t i = 0; i < count; i++)
            moves[i] = ways[i] + 1 < WAYS && is_alike(whole, out_shown, count, i);
        for (size_t i = 0; i < count; i++) {
            if (!moves[i])
                continue;
            free(out_shown[i]);
            out_shown[i] = brief_cut(whole[i], columns, tail_columns(whole[i], columns, ++ways[i]));
            if (!out_shown[i])
                return -ENOMEM;
            has_moved = true;
        }
    }
    return number_names(whole, out_shown, count, columns);
}

/* Those that are too wide lose what functions have in common; none does where some would then be
 * alike. */
static int strip(char **whole, size_t count, size_t columns, bool (*take_off)(char *name))
{
    char *stripped[BRIEF_ROWS_MAX] = {NULL};
    bool failed = false;

    for (size_t i = 0; i < count; i++) {
        stripped[i] = strdup(whole[i]);
        if (stripped[i] && text_columns(stripped[i], strlen(stripped[i])) > columns)
            take_off(stripped[i]);
        failed |= !stripped[i];
    }
    if (!failed && are_different(whole, stripped, count)) {
        for (size_t i = 0; i < count; i++)
            strcpy(whole[i], stripped[i]); /* which is no longer */
    }
    free_names(stripped, count);
    return failed ? -ENOMEM : 0;
}

/* Bytes that all names begin with, up to behind a separator; their own tails stay. */
static size_t common_head(char *const *names, size_t count)
{
    size_t common = 0, kept = 0;

    if (count < 2)
        return 0;
    for (;; common++) {
        for (size_t i = 0; i < count; i++) {
            if (!names[i][common] || names[i][common] != names[0][common])
                return kept;
        }
        if (strchr("/.:", names[0][common]))
            kept = common + 1;
    }
}

static size_t widest_of(char *const *names, size_t count)
{
    size_t widest = 0;

    for (size_t i = 0; i < count; i++) {
        if (text_columns(names[i], strlen(names[i])) > widest)
            widest = text_columns(names[i], strlen(names[i]));
    }
    return widest;
}

int brief_fit_names(const char *const *names, size_t count, size_t columns, char **out_shown)
{
    char *whole[BRIEF_ROWS_MAX] = {NULL};
    size_t head = 0;
    bool failed = false;
    int rc;

    for (size_t i = 0; i < count; i++) {
        out_shown[i] = NULL;
        whole[i] = brief_shown(names[i] ? names[i] : "(no name)");
        failed |= !whole[i];
    }
    failed = failed || strip(whole, count, columns, kernel_name_strip_signature) < 0 ||
             strip(whole, count, columns, kernel_name_strip_scopes) < 0;
    if (!failed && widest_of(whole, count) > columns)
        head = common_head(whole, count);
    for (size_t i = 0; i < count && head > 3; i++) {
        memmove(whole[i] + 3, whole[i] + head, strlen(whole[i] + head) + 1);
        memcpy(whole[i], "...", 3);
    }
    rc = failed ? -ENOMEM : cut_names(whole, count, columns, out_shown);
    free_names(whole, count);
    if (rc < 0)
        free_names(out_shown, count);
    return rc;
}
