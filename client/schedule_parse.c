/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules as people write them. */
#include "client/schedule.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORD_BYTES = 64 };

static const struct {
    const char *name;
    double ns;
} units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"min", 60e9}, {"h", 3600e9}};

int ot_schedule_parse_length(const char *text, uint64_t *out_length, uint32_t *out_unit)
{
    const size_t digits = strspn(text, "0123456789");
    unsigned long long whole;
    double ns = 0;
    char *end;

    if (digits == 0)
        return -EINVAL;
    errno = 0;
    whole = strtoull(text, &end, 10);
    if (*end == 0) {
        if (errno || whole > OT_WIRE_PLAN_LENGTH_MAX)
            return -EINVAL;
        *out_length = whole;
        *out_unit = OT_UNIT_RUNS;
        return 0;
    }
    /* Digits, and a fraction: no exponent, no "inf", whatever the locale. */
    ns = (double)whole;
    if (*end == '.') {
        double scale = 0.1;

        for (end++; *end >= '0' && *end <= '9'; end++, scale /= 10)
            ns += (*end - '0') * scale;
    }
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (strcmp(end, units[i].name) != 0)
            continue;
        ns *= units[i].ns;
        if (errno || ns > (double)OT_WIRE_PLAN_LENGTH_MAX)
            return -EINVAL;
        *out_length = (uint64_t)(ns + 0.5);
        *out_unit = OT_UNIT_NS;
        return 0;
    }
    return -EINVAL;
}

/* Where the value of a key goes; NULL: there is no such key. */
static uint64_t *find_part(struct ot_wire_plan *plan, const char *key)
{
    const struct {
        const char *name;
        uint64_t *part;
    } parts[] = {{"wait", &plan->wait},
                 {"warmup", &plan->warmup},
                 {"active", &plan->active},
                 {"repeat", &plan->repeat},
                 {"skip-first", &plan->skip_first},
                 {"skip_first", &plan->skip_first}};

    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        if (strcmp(key, parts[i].name) == 0)
            return parts[i].part;
    }
    return NULL;
}

/* What the words of one text have had so far. */
struct parsing {
    struct ot_wire_plan plan;
    bool has_unit;
    char *error;
    size_t error_bytes;
};

static int parse_word(struct parsing *parsing, char *word)
{
    char *value = strchr(word, '=');
    uint64_t length, *part;
    uint32_t unit;

    if (value)
        *value++ = 0;
    part = find_part(&parsing->plan, word);
    if (!part || !value) {
        snprintf(parsing->error, parsing->error_bytes,
                 "'%s' is not one of wait=N, warmup=N, active=N, repeat=N, skip-first=N", word);
        return -EINVAL;
    }
    if (ot_schedule_parse_length(value, &length, &unit) < 0) {
        snprintf(parsing->error, parsing->error_bytes,
                 "'%s' of %s is neither a count of runs nor a time such as 500ms or 2s", value,
                 word);
        return -EINVAL;
    }
    if (part == &parsing->plan.repeat && unit != OT_UNIT_RUNS) {
        snprintf(parsing->error, parsing->error_bytes, "repeat counts cycles: '%s' is a time",
                 value);
        return -EINVAL;
    }
    /* Nothing is as long in runs as it is in time. */
    if (part != &parsing->plan.repeat && (length > 0 || unit == OT_UNIT_NS)) {
        if (parsing->has_unit && unit != parsing->plan.unit) {
            snprintf(parsing->error, parsing->error_bytes,
                     "runs and times are mixed: give all of wait, warmup, active and skip-first "
                     "as one of them");
            return -EINVAL;
        }
        parsing->plan.unit = unit;
        parsing->has_unit = true;
    }
    *part = length;
    return 0;
}

int ot_schedule_parse(const char *text, struct ot_wire_plan *out_plan, char *out_error,
                      size_t error_bytes)
{
    struct parsing parsing = {.error = out_error, .error_bytes = error_bytes};

    for (const char *at = text; *at;) {
        const size_t length = strcspn(at, ",");
        char word[WORD_BYTES];
        int rc;

        if (length >= sizeof(word)) {
            snprintf(out_error, error_bytes, "'%.32s...' is too long", at);
            return -EINVAL;
        }
        memcpy(word, at, length);
        word[length] = 0;
        rc = parse_word(&parsing, word);
        if (rc < 0)
            return rc;
        at += length + (at[length] == ',');
    }
    if (text[0] && !ot_plan_has_schedule(&parsing.plan)) {
        snprintf(out_error, error_bytes, "active=N is missing: how much is to be recorded");
        return -EINVAL;
    }
    *out_plan = parsing.plan;
    return 0;
}
