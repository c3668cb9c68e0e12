/* SPDX-License-Identifier: Apache-2.0 */
/* Seconds since 1970, seconds from now, dates. */
#include "client/cli/when.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "client/schedule.h"

#define NS_PER_S UINT64_C(1000000000)

/* Digits and a fraction of at most 9, with nothing rounded. Returns what is behind, NULL when there
 * are no digits or too many. */
static const char *take_seconds(const char *text, uint64_t *out_ns)
{
    uint64_t seconds = 0, ns = 0, scale = NS_PER_S;
    size_t digits = 0;

    for (; *text >= '0' && *text <= '9'; text++, digits++)
        seconds = seconds * 10 + (uint64_t)(*text - '0');
    if (digits == 0 || digits > 10 || seconds > INT64_MAX / NS_PER_S)
        return NULL;
    if (*text == '.') {
        for (text++; *text >= '0' && *text <= '9'; text++) {
            scale /= 10;
            ns += (uint64_t)(*text - '0') * scale;
        }
    }
    *out_ns = seconds * NS_PER_S + ns;
    return text;
}

/* "Z", "+01:00", "-0530"; local time when nothing is there. */
static bool take_zone(const char *text, struct tm *date, time_t *out_seconds)
{
    const char *at = text + 1;
    int sign = *text == '-' ? -1 : 1, hours, minutes;

    if (*text == 0) {
        date->tm_isdst = -1;
        *out_seconds = mktime(date);
        return *out_seconds >= 0;
    }
    *out_seconds = timegm(date);
    if (strcmp(text, "Z") == 0)
        return *out_seconds >= 0;
    if ((*text != '+' && *text != '-') || strspn(at, "0123456789:") != strlen(at) ||
        strspn(at, "0123456789") < 2)
        return false;
    hours = (at[0] - '0') * 10 + at[1] - '0';
    at += at[2] == ':' ? 3 : 2;
    if (strspn(at, "0123456789") != 2 || at[2] != 0 || hours > 14)
        return false;
    minutes = (at[0] - '0') * 10 + at[1] - '0';
    *out_seconds -= sign * (hours * 60 + minutes) * 60;
    return *out_seconds >= 0;
}

static int parse_date(const char *text, uint64_t *out_ns)
{
    struct tm date = {0};
    const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &date);
    uint64_t fraction_ns = 0;
    time_t seconds;

    if (!rest)
        rest = strptime(text, "%Y-%m-%d %H:%M:%S", &date);
    if (!rest)
        return -EINVAL;
    if (*rest == '.') {
        uint64_t scale = NS_PER_S;

        for (rest++; *rest >= '0' && *rest <= '9'; rest++) {
            scale /= 10;
            fraction_ns += (uint64_t)(*rest - '0') * scale;
        }
    }
    if (!take_zone(rest, &date, &seconds) || (uint64_t)seconds > INT64_MAX / NS_PER_S - 1)
        return -EINVAL;
    *out_ns = (uint64_t)seconds * NS_PER_S + fraction_ns;
    return 0;
}

int when_parse(const char *text, uint64_t now_ns, uint64_t *out_ns)
{
    uint64_t length;
    uint32_t unit;
    const char *rest;

    if (text[0] == '@') {
        rest = take_seconds(text + 1, out_ns);
        return rest && *rest == 0 ? 0 : -EINVAL;
    }
    if (text[0] == '+') {
        if (ot_schedule_parse_length(text + 1, &length, &unit) < 0 || unit != OT_UNIT_NS)
            return -EINVAL;
        *out_ns = now_ns + length;
        return 0;
    }
    return parse_date(text, out_ns);
}
