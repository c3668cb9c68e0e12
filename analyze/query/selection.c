/* SPDX-License-Identifier: Apache-2.0 */
/* Reading windows of time and ranges of runs. */
#include "analyze/query/selection.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SIDE_BYTES_MAX = 64 };

static const struct {
    const char *name;
    double ns;
} units[] = {
    {"", 1e9},   {"s", 1e9}, {"ms", 1e6}, {"us", 1e3},
    {"µs", 1e3}, {"ns", 1},  {"m", 60e9}, {"h", 3600e9},
};

/* A plain decimal number: no sign, no exponent, no hexadecimal. */
static bool read_number(const char *text, double *out_value, const char **out_end)
{
    size_t digits = strspn(text, "0123456789");
    size_t fraction = text[digits] == '.' ? strspn(text + digits + 1, "0123456789") : 0;
    char copy[SIDE_BYTES_MAX];
    size_t length = digits + (fraction ? fraction + 1 : 0);

    if (!digits || length >= sizeof(copy))
        return false;
    memcpy(copy, text, length);
    copy[length] = '\0';
    *out_value = strtod(copy, NULL);
    *out_end = text + length;
    return true;
}

/* Whole seconds and their fraction apart: a double has no room for both. */
static bool read_seconds(const char *text, int64_t *out_ns)
{
    const char *point = strchr(text, '.');
    size_t digits = point ? (size_t)(point - text) : strlen(text);
    int64_t ns = 0, scale = 100000000;

    if (!digits || digits > 10 || strspn(text, "0123456789") != digits)
        return false;
    for (size_t i = 0; i < digits; i++)
        ns = ns * 10 + (text[i] - '0');
    ns = ns < INT64_MAX / 1000000000 - 1 ? ns * 1000000000 : INT64_MAX / 2;
    for (const char *at = point ? point + 1 : ""; *at; at++, scale /= 10) {
        if (!isdigit((unsigned char)*at))
            return false;
        ns += (*at - '0') * scale;
    }
    *out_ns = ns;
    return true;
}

/* The moment that a calendar names; of an hour that comes twice, as clocks are set back, the first. False
 * where it has no such day; before 1970 is 0, and after 2116 as good as never. */
static bool find_moment(const struct tm *calendar, bool is_utc, int64_t *out_ns)
{
    struct tm plain = *calendar, summer = *calendar, checked = *calendar;
    time_t seconds = timegm(&checked), other;

    if (checked.tm_mday != calendar->tm_mday)
        return false;
    if (!is_utc) {
        seconds = mktime(&plain);
        summer.tm_isdst = 1;
        other = mktime(&summer);
        if (other < seconds && summer.tm_hour == calendar->tm_hour &&
            summer.tm_min == calendar->tm_min)
            seconds = other;
    }
    *out_ns = seconds < 0                            ? 0
              : seconds < INT64_MAX / 2 / 1000000000 ? (int64_t)seconds * 1000000000
                                                     : INT64_MAX / 2;
    return true;
}

static bool read_calendar(const char *text, int64_t *out_ns)
{
    struct tm calendar = {.tm_isdst = -1};
    const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &calendar);
    double fraction = 0;

    if (!rest)
        rest = strptime(text, "%Y-%m-%d %H:%M:%S", &calendar);
    if (!rest)
        return false;
    if (*rest == '.' && strspn(rest + 1, "0123456789Z") == strlen(rest + 1)) {
        char *end;

        fraction = strtod(rest, &end);
        rest = end;
    }
    if (strcmp(rest, "") != 0 && strcmp(rest, "Z") != 0)
        return false;
    if (!find_moment(&calendar, *rest == 'Z', out_ns))
        return false;
    *out_ns += (int64_t)(fraction * 1e9);
    return true;
}

static bool read_offset(const char *text, int64_t *out_ns)
{
    const char *unit;
    double value;

    if (!read_number(text, &value, &unit))
        return false;
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (strcmp(unit, units[i].name) == 0) {
            value = round(value * units[i].ns);
            *out_ns = value < (double)(INT64_MAX / 4) ? (int64_t)value : INT64_MAX / 4;
            return true;
        }
    }
    return false;
}

static bool read_side(const char *text, struct selection_time *side)
{
    if (!*text) {
        side->origin = SELECTION_OPEN;
        side->ns = 0;
        return true;
    }
    if (*text == '@') {
        side->origin = SELECTION_ABSOLUTE;
        return read_seconds(text + 1, &side->ns);
    }
    if (*text == '-') {
        side->origin = SELECTION_END;
        return read_offset(text + 1, &side->ns);
    }
    side->origin = SELECTION_START;
    if (read_offset(text, &side->ns))
        return true;
    side->origin = SELECTION_ABSOLUTE;
    return read_calendar(text, &side->ns);
}

/* The first moment of the day that is so many days before now. */
static bool find_day(int64_t now_ns, int days_before, int64_t *out_ns)
{
    time_t seconds = (time_t)(now_ns / 1000000000);
    struct tm calendar;

    if (!localtime_r(&seconds, &calendar))
        return false;
    calendar.tm_sec = calendar.tm_min = calendar.tm_hour = 0;
    calendar.tm_mday -= days_before;
    calendar.tm_isdst = -1;
    seconds = mktime(&calendar);
    *out_ns = (int64_t)seconds * 1000000000;
    return seconds >= 0;
}

/* A day, or a minute of it, in local time. */
static bool read_short_calendar(const char *text, int64_t *out_ns)
{
    static const char *const formats[] = {"%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M"};

    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        struct tm calendar = {.tm_isdst = -1};
        const char *rest = strptime(text, formats[i], &calendar);

        if (rest && !*rest)
            return find_moment(&calendar, false, out_ns);
    }
    return false;
}

/* "2h", "3d", "1w". */
static bool read_ago(const char *text, int64_t now_ns, int64_t *out_ns)
{
    static const struct {
        char letter;
        double ns;
    } days[] = {{'d', 86400e9}, {'w', 604800e9}};
    size_t length = strlen(text);
    const char *rest;
    double value;

    for (size_t i = 0; i < 2 && length; i++) {
        if (text[length - 1] == days[i].letter && read_number(text, &value, &rest) && !rest[1]) {
            *out_ns =
                value * days[i].ns < (double)now_ns ? now_ns - (int64_t)(value * days[i].ns) : 0;
            return true;
        }
    }
    if (!length || !isalpha((unsigned char)text[length - 1]) || !read_offset(text, out_ns))
        return false;
    *out_ns = *out_ns < now_ns ? now_ns - *out_ns : 0;
    return true;
}

int selection_parse_since(const char *text, int64_t now_ns, int64_t *out_ns, struct diag *diag)
{
    if ((strcmp(text, "today") == 0 && find_day(now_ns, 0, out_ns)) ||
        (strcmp(text, "yesterday") == 0 && find_day(now_ns, 1, out_ns)) ||
        (*text == '@' && read_seconds(text + 1, out_ns)) || read_ago(text, now_ns, out_ns) ||
        read_short_calendar(text, out_ns) || read_calendar(text, out_ns))
        return 0;
    return diag_set(diag, -EINVAL,
                    "--since takes today, yesterday, 2h, 3d, 2026-01-31 or 2026-01-31T08:00, not "
                    "\"%s\"",
                    text);
}

/* Whether nothing can lie in it, wherever the session begins and ends. */
static bool is_empty(const struct selection_window *window)
{
    if (window->from.origin != window->until.origin)
        return false;
    return window->from.origin == SELECTION_END ? window->from.ns <= window->until.ns
           : window->from.origin == SELECTION_START || window->from.origin == SELECTION_ABSOLUTE
               ? window->from.ns >= window->until.ns
               : false;
}

int selection_parse_window(const char *text, struct selection_window *out_window, struct diag *diag)
{
    const char *dots = strstr(text, "..");
    struct selection_window window;
    char from[SIDE_BYTES_MAX];

    if (!dots || (size_t)(dots - text) >= sizeof(from) || strlen(dots + 2) >= SIDE_BYTES_MAX)
        return diag_set(diag, -EINVAL,
                        "\"%s\" is no window of time: write FROM..UNTIL, such as "
                        "1s..2.5s, or -10s.. for the last ten seconds",
                        text);
    memcpy(from, text, (size_t)(dots - text));
    from[dots - text] = '\0';
    if (!read_side(from, &window.from))
        return diag_set(diag, -EINVAL,
                        "\"%s\" is no time: write 1.5s, 20ms, -10s, @1700000000 or "
                        "2026-01-31T08:00:00",
                        from);
    if (!read_side(dots + 2, &window.until))
        return diag_set(diag, -EINVAL,
                        "\"%s\" is no time: write 1.5s, 20ms, -10s, @1700000000 or "
                        "2026-01-31T08:00:00",
                        dots + 2);
    if (is_empty(&window))
        return diag_set(diag, -EINVAL, "\"%s\" is no window of time: it ends before it begins",
                        text);
    *out_window = window;
    return 0;
}

static int64_t resolve(const struct selection_time *side, int64_t start_ns, int64_t end_ns,
                       int64_t open_ns)
{
    int64_t time_ns = open_ns;

    if (side->origin == SELECTION_ABSOLUTE)
        return side->ns;
    if (side->origin == SELECTION_START && __builtin_add_overflow(start_ns, side->ns, &time_ns))
        return INT64_MAX;
    if (side->origin == SELECTION_END && __builtin_sub_overflow(end_ns, side->ns, &time_ns))
        return INT64_MIN;
    return time_ns;
}

void selection_resolve_window(const struct selection_window *window, int64_t start_ns,
                              int64_t end_ns, int64_t *out_from_ns, int64_t *out_until_ns)
{
    *out_from_ns = resolve(&window->from, start_ns, end_ns, INT64_MIN);
    *out_until_ns = resolve(&window->until, start_ns, end_ns, INT64_MAX);
}

static bool read_run(const char *text, size_t length, int64_t *out_run)
{
    int64_t run = 0;

    if (!length || length > 15 || strspn(text, "0123456789") < length)
        return false;
    for (size_t i = 0; i < length; i++)
        run = run * 10 + (text[i] - '0');
    *out_run = run;
    return run > 0;
}

int selection_parse_runs(const char *text, int64_t *out_first, int64_t *out_last, struct diag *diag)
{
    const char *dots = strstr(text, "..");
    size_t first_length = dots ? (size_t)(dots - text) : strlen(text);
    const char *last = dots ? dots + 2 : text;
    int64_t first_run = 1, last_run = INT64_MAX;

    if ((first_length && !read_run(text, first_length, &first_run)) ||
        (*last && !read_run(last, strlen(last), &last_run)) || !*text || first_run > last_run)
        return diag_set(diag, -EINVAL,
                        "\"%s\" is no range of runs: write A..B, A.., ..B or A, counting from 1",
                        text);
    *out_first = first_run;
    *out_last = last_run;
    return 0;
}
