/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers with a unit. */
#include "base/amount.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct unit {
    const char *name;
    double factor;
};

static const struct unit byte_units[] = {
    {"B", 1},        {"K", 1e3},        {"KB", 1e3},        {"M", 1e6},     {"MB", 1e6},
    {"G", 1e9},      {"GB", 1e9},       {"T", 1e12},        {"TB", 1e12},   {"Ki", 1024.0},
    {"KiB", 1024.0}, {"Mi", 1048576.0}, {"MiB", 1048576.0}, {"Gi", 0x1p30}, {"GiB", 0x1p30},
    {"Ti", 0x1p40},  {"TiB", 0x1p40},   {NULL, 0},
};

static const struct unit time_units[] = {
    {"ns", 1},   {"us", 1e3},   {"µs", 1e3},    {"ms", 1e6},        {"s", 1e9},
    {"m", 60e9}, {"h", 3600e9}, {"d", 86400e9}, {"w", 7 * 86400e9}, {NULL, 0},
};

/* "1.5", no sign, no exponent, and what follows it. */
static bool parse_number(const char *text, double *out_value, const char **out_rest)
{
    size_t digits = strspn(text, "0123456789"), length = digits;
    char copy[32];

    if (text[digits] == '.')
        length += 1 + strspn(text + digits + 1, "0123456789");
    if (digits == 0 || text[length - 1] == '.' || length >= sizeof(copy))
        return false;
    memcpy(copy, text, length);
    copy[length] = '\0';
    *out_value = strtod(copy, NULL);
    *out_rest = text + length;
    return true;
}

/* Above 0 and below 2^62, so that nobody's sums overflow. */
static bool parse(const char *text, const struct unit *units, int64_t *out_value)
{
    const char *rest;
    double number;

    if (strcmp(text, "none") == 0) {
        *out_value = 0;
        return true;
    }
    if (!parse_number(text, &number, &rest))
        return false;
    while (units->name && strcmp(units->name, rest) != 0)
        units++;
    number *= units->factor;
    if (!units->name || !(number >= 1) || number >= 0x1p62)
        return false;
    *out_value = (int64_t)number;
    return true;
}

int amount_parse_bytes(const char *name, const char *text, int64_t *out_bytes, struct diag *diag)
{
    if (parse(text, byte_units, out_bytes))
        return 0;
    return diag_set(diag, -EINVAL,
                    "%s takes a size with its unit, such as 512MiB, or none, not "
                    "'%.40s'",
                    name, text);
}

int amount_parse_duration(const char *name, const char *text, int64_t *out_ns, struct diag *diag)
{
    if (parse(text, time_units, out_ns))
        return 0;
    return diag_set(
        diag, -EINVAL,
        "%s takes a time with its unit (ns, us, ms, s, m, h, d, w), such as 12h or 7d, or none, "
        "not '%.40s'",
        name, text);
}

const char *amount_scale_bytes(double bytes, double *out_number)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    size_t unit = 0;

    /* 1023.995 would be written as 1024.00. */
    while (fabs(bytes) >= (unit ? 1023.995 : 1024) && unit < 5 && isfinite(bytes)) {
        bytes /= 1024;
        unit++;
    }
    *out_number = bytes;
    return units[unit];
}

const char *amount_format_bytes(char *text, size_t text_bytes, double bytes)
{
    double number;
    const char *unit = amount_scale_bytes(bytes, &number);

    snprintf(text, text_bytes, "%.*f %s", number == floor(number) ? 0 : 2, number, unit);
    return text;
}

const char *amount_format_duration(char *text, size_t text_bytes, double ns)
{
    static const struct unit units[] = {
        {"h", 3600e9}, {"min", 60e9}, {"s", 1e9}, {"ms", 1e6}, {"µs", 1e3}, {"ns", 1},
    };
    const struct unit *unit = units;

    while (unit->factor > 1 && !(fabs(ns) >= unit->factor * 0.99995)) /* 999.96 is 1000 */
        unit++;
    snprintf(text, text_bytes, "%.4g %s", ns / unit->factor, unit->name);
    return text;
}
