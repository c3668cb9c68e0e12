/* SPDX-License-Identifier: Apache-2.0 */
/* How values look: scaled and wrapped for people, exact for programs. */
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analyze/out/private.h"
#include "base/amount.h"
#include "base/text.h"

static double sample_length_ns; /* 0: times are times */
static bool is_ascii;

void out_format_ascii(bool ascii)
{
    is_ascii = ascii;
}

void out_format_samples(double sample_ns)
{
    sample_length_ns = sample_ns;
}

double out_sample_ns(void)
{
    return sample_length_ns;
}

static const char *format_samples(char *text, size_t bytes, double ns)
{
    double count = ns / sample_length_ns;

    snprintf(text, bytes, "%.*f sample%s", count == floor(count) ? 0 : 2, count,
             count == 1 ? "" : "s");
    return text;
}

/* Three significant digits, always with a point or an exponent: 0.00514, 5.14e-06, 10.0. */
static void format_3(char *text, size_t bytes, double value)
{
    char scientific[40];
    char *exponent;
    int decimal_exponent;

    if (!isfinite(value)) {
        snprintf(text, bytes, isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
        return;
    }
    snprintf(scientific, sizeof(scientific), "%.2e", value);
    exponent = strchr(scientific, 'e');
    decimal_exponent = atoi(exponent + 1);
    if (value != 0 && (decimal_exponent < -4 || decimal_exponent >= 2)) {
        char *end = exponent;

        while (end[-1] == '0')
            end--;
        if (end[-1] == '.')
            end--;
        snprintf(text, bytes, "%.*s%s", (int)(end - scientific), scientific, exponent);
        return;
    }
    snprintf(text, bytes, "%.3g", value);
    if (!strchr(text, '.') && strlen(text) + 2 < bytes)
        strcat(text, ".0");
}

void out_format_seconds(char *text, size_t bytes, double ns)
{
    if (out_counts_samples())
        format_samples(text, bytes, ns);
    else
        format_3(text, bytes, ns * 1e-9);
}

/* Adds text for people, `wrap` columns to a line; lines after the first start with "-  ". */
static void add_wrapped(struct text_buffer *buffer, const char *text, unsigned wrap)
{
    size_t left = strlen(text), columns = 0;

    while (left) {
        char shown[TEXT_SHOWN_BYTES];
        const size_t length = text_show_next(text, left, shown);
        const size_t width = text_columns(shown, strlen(shown));

        if (wrap && columns && columns + width > wrap) {
            text_buffer_add(buffer, "\n-  ", 4);
            columns = 0;
        }
        text_buffer_add(buffer, shown, strlen(shown));
        columns += width;
        text += length;
        left -= length;
    }
}

struct scale {
    double step;
    const char *const prefixes[6];
    const char *unit, *bare_unit; /* with and without a prefix */
};

/* Cells of several lines are those of MegEngine's table, whose words these are. */
static const struct scale *scale_of(enum out_kind kind, char separator)
{
    static const struct scale flop = {1000, {"", "k", "M", "G", "T", "P"}, "FLOP", "FLOP"};
    static const struct scale flop_rate = {1000, {"", "k", "M", "G", "T", "P"}, "FLOP/s", "FLOP/s"};
    static const struct scale flo = {1000, {"", "K", "M", "G", "T", "P"}, "FLO", "FLO"};
    static const struct scale flops = {1000, {"", "K", "M", "G", "T", "P"}, "FLOPS", "FLOPS"};

    switch (kind) {
    case OUT_FLOP:
        return separator == '\n' ? &flo : &flop;
    case OUT_FLOP_RATE:
        return separator == '\n' ? &flops : &flop_rate;
    default:
        return NULL;
    }
}

static void add_scaled(struct text_buffer *buffer, const struct out_value *value,
                       const struct scale *scale, char separator)
{
    double number = value->real;
    int prefix = 0;

    if (!value->known) {
        text_buffer_print(buffer, "N/A%c%s", separator, scale->bare_unit);
        return;
    }
    while (fabs(number) >= scale->step && prefix < 5 && isfinite(number)) {
        number /= scale->step;
        prefix++;
    }
    text_buffer_print(buffer, "%.2f%c%s%s", number, separator, scale->prefixes[prefix],
                      prefix ? scale->unit : scale->bare_unit);
}

static bool is_bytes(enum out_kind kind)
{
    return kind == OUT_BYTES || kind == OUT_BYTE_RATE;
}

/* With two digits, as MegEngine's table has them. */
static void add_bytes(struct text_buffer *buffer, const struct out_value *value, char separator)
{
    const char *per = value->kind == OUT_BYTE_RATE ? "/s" : "", *unit;
    double number;

    if (value->known) {
        unit = amount_scale_bytes(value->real, &number);
        text_buffer_print(buffer, "%.2f%c%s%s", number, separator, unit, per);
    } else {
        text_buffer_print(buffer, "N/A%cB%s", separator, per);
    }
}

static void add_dimensions(struct text_buffer *buffer, const cJSON *list)
{
    const cJSON *dimension;
    const char *comma = "";

    cJSON_ArrayForEach(dimension, list)
    {
        if (cJSON_IsNumber(dimension))
            text_buffer_print(buffer, "%s%.0f", comma, dimension->valuedouble);
        else
            text_buffer_print(buffer, "%s?", comma);
        comma = ",";
    }
}

/* {1,3,224,224} for each shape, with -[strides] behind where there are any. */
static void add_shapes(struct text_buffer *buffer, const struct out_value *value, char separator)
{
    cJSON *shapes = cJSON_Parse(value->text);
    cJSON *strides = value->detail ? cJSON_Parse(value->detail) : NULL;
    const cJSON *stride = strides ? strides->child : NULL;

    if (!cJSON_IsArray(shapes)) { /* not ours: show what is there */
        add_wrapped(buffer, value->text, 0);
        goto out;
    }
    for (const cJSON *shape = shapes->child; shape; shape = shape->next) {
        if (shape != shapes->child)
            text_buffer_add(buffer, &separator, 1);
        if (cJSON_IsArray(shape)) {
            text_buffer_add(buffer, "{", 1);
            add_dimensions(buffer, shape);
            text_buffer_add(buffer, "}", 1);
        } else {
            text_buffer_add(buffer, "{?}", 3);
        }
        if (cJSON_IsArray(stride)) {
            text_buffer_add(buffer, " -[", 3);
            add_dimensions(buffer, stride);
            text_buffer_add(buffer, "]", 1);
        }
        stride = stride ? stride->next : NULL;
    }
out:
    cJSON_Delete(shapes);
    cJSON_Delete(strides);
}

static void add_list(struct text_buffer *buffer, const char *json, unsigned wrap, char separator)
{
    cJSON *list = cJSON_Parse(json);

    if (!cJSON_IsArray(list))
        add_wrapped(buffer, json, wrap); /* not ours: show what is there */
    for (const cJSON *item = list ? list->child : NULL; item; item = item->next) {
        if (item != list->child)
            text_buffer_add(buffer, &separator, 1);
        if (cJSON_IsString(item))
            add_wrapped(buffer, item->valuestring, wrap);
    }
    cJSON_Delete(list);
}

/* Local time with its offset from UTC. */
static void add_when(struct text_buffer *buffer, int64_t time_ns)
{
    time_t seconds = (time_t)(time_ns / 1000000000);
    struct tm local;
    char text[40];

    if (time_ns % 1000000000 < 0)
        seconds--;
    if (localtime_r(&seconds, &local) &&
        strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S %z", &local))
        text_buffer_add(buffer, text, strlen(text));
    else
        text_buffer_print(buffer, "%" PRId64 " ns", time_ns);
}

static void add_value(struct text_buffer *buffer, const struct out_value *value, unsigned wrap,
                      char separator)
{
    char text[40];

    if (is_bytes(value->kind)) {
        add_bytes(buffer, value, separator);
        return;
    }
    if (scale_of(value->kind, separator)) {
        add_scaled(buffer, value, scale_of(value->kind, separator), separator);
        return;
    }
    if (!value->known) {
        text_buffer_print(buffer, "%s", value->text ? value->text : "N/A");
        return;
    }
    switch (value->kind) {
    case OUT_RANK:
        text_buffer_print(buffer, "#%" PRId64, value->integer);
        break;
    case OUT_INT:
        text_buffer_print(buffer, "%" PRId64, value->integer);
        break;
    case OUT_REAL:
        text_buffer_print(buffer, "%.10g", value->real);
        break;
    case OUT_NS:
        out_format_seconds(text, sizeof(text), value->real);
        text_buffer_add(buffer, text, strlen(text));
        break;
    case OUT_SHARE:
        text_buffer_print(buffer, "%.1f%%", value->real * 100);
        break;
    case OUT_SHAPES:
        add_shapes(buffer, value, separator == '\n' ? '\n' : ',');
        break;
    case OUT_LIST:
        add_list(buffer, value->text, wrap, separator);
        break;
    case OUT_WHEN:
        add_when(buffer, value->integer);
        break;
    case OUT_BOOL:
        text_buffer_print(buffer, "%s", value->integer ? "yes" : "no");
        break;
    case OUT_PART:
        if (value->integer && value->integer != value->whole)
            text_buffer_print(buffer, "%" PRId64 " of %" PRId64, value->integer, value->whole);
        break;
    default: /* OUT_TEXT, OUT_JSON */
        add_wrapped(buffer, value->text, wrap);
        break;
    }
}

void out_format_value(struct text_buffer *buffer, const struct out_value *value, unsigned wrap)
{
    add_value(buffer, value, wrap, '\n');
}

void out_format_inline(struct text_buffer *buffer, const struct out_value *value)
{
    add_value(buffer, value, 0, ' ');
}

/* --- Compact columns. --- */

enum { DURATION_UNITS = 3 };

struct duration_unit {
    double ns;
    const char *name;
};

/* The i-th, the largest first; below the last one there are nanoseconds. */
static struct duration_unit duration_unit(int i)
{
    const struct duration_unit units[DURATION_UNITS] = {
        {1e9, "s"}, {1e6, "ms"}, {1e3, is_ascii ? "us" : "µs"}};

    return units[i];
}

const char *out_duration_text(char *text, size_t bytes, double ns)
{
    if (out_counts_samples())
        return format_samples(text, bytes, ns);
    for (int i = 0; i < DURATION_UNITS; i++) {
        const struct duration_unit unit = duration_unit(i);

        if (fabs(ns) >= unit.ns) {
            snprintf(text, bytes, "%.3f %s", ns / unit.ns, unit.name);
            return text;
        }
    }
    snprintf(text, bytes, "%.*f ns", ns == floor(ns) ? 0 : 1, ns);
    return text;
}

const char *out_duration_short(char *text, size_t bytes, double ns)
{
    if (out_counts_samples())
        return format_samples(text, bytes, ns);
    for (int i = 0; i < DURATION_UNITS; i++) {
        const struct duration_unit unit = duration_unit(i);
        const double value = fabs(ns) / unit.ns;

        /* What would be rounded to 1000 is 1.00 of the next unit. */
        if (value >= 0.9995) {
            snprintf(text, bytes, "%.*f %s",
                     value < 9.995   ? 2
                     : value < 99.95 ? 1
                                     : 0,
                     ns / unit.ns, unit.name);
            return text;
        }
    }
    snprintf(text, bytes, "%.0f ns", ns);
    return text;
}

void out_format_compact(struct text_buffer *buffer, const struct out_value *value)
{
    const struct scale *scale = scale_of(value->kind, ' ');
    char text[48];

    if (!value->known)
        text_buffer_print(buffer, "%s", value->text ? value->text : "-");
    else if (is_bytes(value->kind))
        text_buffer_print(buffer, "%s%s", amount_format_bytes(text, sizeof(text), value->real),
                          value->kind == OUT_BYTE_RATE ? "/s" : "");
    else if (scale && fabs(value->real) < scale->step && value->real == floor(value->real))
        text_buffer_print(buffer, "%.0f %s", value->real, scale->unit);
    else if (value->kind == OUT_NS)
        text_buffer_print(buffer, "%s", out_duration_text(text, sizeof(text), value->real));
    else if (value->kind == OUT_SHARE)
        text_buffer_print(buffer, "%.2f%%", value->real * 100);
    else if (value->kind == OUT_LIST)
        add_list(buffer, value->text, 0, '\n');
    else if (value->kind == OUT_REAL && fabs(value->real) < 1000)
        text_buffer_print(buffer, "%.4g", value->real);
    else
        add_value(buffer, value, 0, ' ');
}

void out_format_cell(struct text_buffer *buffer, const struct out_value *value)
{
    struct text_buffer text = {0};
    const char *rest;

    out_format_compact(&text, value);
    rest = text_buffer_text(&text);
    while (*rest == ' ') {
        text_buffer_print(buffer, "\u00a0");
        rest++;
    }
    text_buffer_print(buffer, "%s", rest);
    buffer->failed |= text.failed;
    text_buffer_deinit(&text);
}

bool out_is_integer(enum out_kind kind)
{
    return kind == OUT_INT || kind == OUT_RANK || kind == OUT_WHEN || kind == OUT_BOOL ||
           kind == OUT_PART;
}

bool out_is_text(enum out_kind kind)
{
    return kind == OUT_TEXT || kind == OUT_SHAPES || kind == OUT_JSON || kind == OUT_LIST;
}

void out_format_real(char *text, size_t bytes, double value)
{
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, bytes, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
}
