/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The data of a picture, as JSON in the page: what each column means, and the values column by
 * column. A text stands once in "texts"; columns hold its place there.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/containers/place_map.h"
#include "analyze/out/html.h"
#include "base/json.h"

struct html_chart {
    struct json_writer *columns; /* an array each */
    struct json_writer texts;
    struct place_map text_places;
    size_t column_count, row_count;
    bool *is_used;        /* beside columns: the picture needs it */
    enum out_kind *kinds; /* beside columns: of the first row */
};

static const char *const timeline_columns[] = OUT_TIMELINE_COLUMNS;

static bool is_named(const char *name, const char *column)
{
    return name && strcmp(name, column) == 0;
}

/* Name and type of a span are its op's, of which there are fewer. */
static bool is_told_by_op(const struct out_chart *chart, const char *column)
{
    return chart->kind == OUT_CHART_TIMELINE &&
           (is_named("name", column) || is_named("type", column));
}

static bool uses(const struct out_chart *chart, const char *column)
{
    size_t count = sizeof(timeline_columns) / sizeof(timeline_columns[0]);
    bool found = chart->kind == OUT_CHART_DATA || is_named(chart->label, column) ||
                 is_named(chart->x, column) || is_named(chart->color, column);

    for (size_t i = 0; i < OUT_CHART_VALUES_MAX && chart->values[i]; i++)
        found |= is_named(chart->values[i], column);
    for (size_t i = 0; i < count && chart->kind == OUT_CHART_TIMELINE; i++)
        found |= is_named(timeline_columns[i], column);
    return found && !is_told_by_op(chart, column);
}

struct html_chart *html_chart_begin(struct out *out)
{
    struct html_chart *chart = calloc(1, sizeof(*chart));
    size_t count = out->column_count;

    if (chart) {
        chart->columns = calloc(count ? count : 1, sizeof(*chart->columns));
        chart->is_used = calloc(count ? count : 1, sizeof(*chart->is_used));
        chart->kinds = calloc(count ? count : 1, sizeof(*chart->kinds));
    }
    if (!chart || !chart->columns || !chart->is_used || !chart->kinds) {
        html_chart_destroy(&chart);
        out_fail(out, -ENOMEM);
        return NULL;
    }
    chart->column_count = count;
    json_init_memory(&chart->texts);
    json_begin_array(&chart->texts);
    for (size_t i = 0; i < count; i++) {
        chart->is_used[i] = uses(out->section->chart, out->columns[i].name);
        json_init_memory(&chart->columns[i]);
        json_begin_array(&chart->columns[i]);
    }
    return chart;
}

/* The place of a text among those of the picture. */
static int64_t place_text(struct out *out, struct html_chart *chart, const char *text)
{
    struct place_key key = {0};
    uint32_t place = (uint32_t)chart->text_places.count;
    uint32_t found;

    place_key_add(&key, text, strlen(text));
    found = place_map_find(&chart->text_places, key);
    if (found != PLACE_NONE)
        return found;
    if (place_map_set(&chart->text_places, key, place) < 0)
        out_fail(out, -ENOMEM);
    json_string(&chart->texts, text);
    return place;
}

void html_chart_add(struct out *out, struct html_chart *chart, const struct out_value *values)
{
    if (chart->row_count++ >= OUT_HTML_POINTS_MAX)
        return;
    for (size_t i = 0; i < chart->column_count; i++) {
        struct json_writer *column = &chart->columns[i];

        if (!chart->is_used[i])
            continue;
        chart->kinds[i] = values[i].kind;
        if (!values[i].known)
            json_null(column);
        else if (out_is_text(values[i].kind))
            json_int(column, place_text(out, chart, values[i].text));
        else if (out_is_integer(values[i].kind))
            json_int(column, values[i].integer);
        else
            json_double(column, values[i].real);
    }
}

/* --- Writing. --- */

/* JSON is no markup when no character of it is: '<' stands in strings only, where it may be
 * written otherwise. */
static void write_as_script(struct out *out, const char *json)
{
    while (*json && !out->error) {
        size_t length = strcspn(json, "<>&");

        if (length && fwrite(json, 1, length, out->options.stream) != length)
            out_fail(out, errno ? -errno : -EIO);
        json += length;
        if (*json)
            out_write(out, *json == '<' ? "\\u003c" : *json == '>' ? "\\u003e" : "\\u0026");
        json += *json != '\0';
    }
}

static void write_json(struct out *out, struct json_writer *json)
{
    int rc = json_finish(json);

    if (rc < 0) {
        out_fail(out, rc);
    } else {
        char *text = json_take(json, NULL);

        write_as_script(out, text);
        free(text);
    }
    json_deinit(json);
}

static void key_string(struct json_writer *json, const char *key, const char *text)
{
    json_key(json, key);
    json_string(json, text);
}

static const char *kind_name(enum out_chart_kind kind)
{
    static const char *const names[] = {
        [OUT_CHART_BARS] = "bars",   [OUT_CHART_LINE] = "line",
        [OUT_CHART_STEPS] = "steps", [OUT_CHART_POINTS] = "points",
        [OUT_CHART_AREAS] = "areas", [OUT_CHART_TIMELINE] = "timeline",
        [OUT_CHART_DATA] = "data",
    };

    return names[kind];
}

static void put_chart(struct json_writer *json, const struct out_chart *chart)
{
    json_begin_object(json);
    key_string(json, "kind", kind_name(chart->kind));
    key_string(json, "label", chart->label);
    key_string(json, "x", chart->x);
    key_string(json, "color", chart->color);
    json_key(json, "log");
    json_bool(json, chart->is_log);
    json_key(json, "values");
    json_begin_array(json);
    for (size_t i = 0; i < OUT_CHART_VALUES_MAX && chart->values[i]; i++)
        json_string(json, chart->values[i]);
    json_end_array(json);
    json_key(json, "guides");
    json_begin_array(json);
    for (size_t i = 0; i < chart->guide_count; i++) {
        json_begin_object(json);
        key_string(json, "kind", chart->guides[i].is_slope ? "slope" : "level");
        key_string(json, "title", chart->guides[i].title);
        json_key(json, "value");
        json_double(json, chart->guides[i].value);
        json_end_object(json);
    }
    json_end_array(json);
    json_end_object(json);
}

/* What the units of a column are, for the page's own numbers. */
static const char *unit_name(enum out_kind kind)
{
    static const char *const names[] = {
        [OUT_INT] = "int",
        [OUT_REAL] = "real",
        [OUT_RANK] = "int",
        [OUT_NS] = "ns",
        [OUT_SHARE] = "share",
        [OUT_FLOP] = "flop",
        [OUT_BYTES] = "bytes",
        [OUT_FLOP_RATE] = "flop_rate",
        [OUT_BYTE_RATE] = "byte_rate",
        [OUT_WHEN] = "when",
        [OUT_BOOL] = "int",
        [OUT_PART] = "int",
        [OUT_TEXT] = "text",
        [OUT_SHAPES] = "text",
        [OUT_JSON] = "text",
        [OUT_LIST] = "text",
    };

    return names[kind];
}

static void put_columns(struct out *out, struct json_writer *json, const struct html_chart *chart)
{
    json_begin_array(json);
    for (size_t i = 0; i < chart->column_count; i++) {
        struct text_buffer head = {0};

        if (!chart->is_used[i])
            continue;
        out_format_head(&head, out->columns, out->column_count, i);
        json_begin_object(json);
        key_string(json, "name", out->columns[i].name);
        key_string(json, "head", text_buffer_text(&head));
        key_string(json, "kind", unit_name(chart->kinds[i]));
        json_end_object(json);
        if (head.failed)
            out_fail(out, -ENOMEM);
        text_buffer_deinit(&head);
    }
    json_end_array(json);
}

static void write_data(struct out *out, struct html_chart *chart)
{
    struct json_writer json;
    struct text_buffer tag = {0};

    text_buffer_print(&tag, "<script type=\"application/json\" id=\"data-%s\">\n",
                      out->section->name);
    out_write_buffer(out, &tag);

    json_init_memory(&json);
    json_begin_object(&json);
    json_key(&json, "chart");
    put_chart(&json, out->section->chart);
    json_key(&json, "columns");
    put_columns(out, &json, chart);
    json_end_object(&json);
    out_write(out, "[");
    write_json(out, &json);
    json_end_array(&chart->texts);
    out_write(out, ",");
    write_json(out, &chart->texts);
    for (size_t i = 0; i < chart->column_count; i++) {
        json_end_array(&chart->columns[i]);
        if (!chart->is_used[i])
            continue;
        out_write(out, ",");
        write_json(out, &chart->columns[i]);
    }
    out_write(out, "]</script>\n");
}

static void write_canvas(struct out *out, enum out_chart_kind kind)
{
    if (kind != OUT_CHART_TIMELINE) {
        out_write(out, "<canvas role=\"img\"></canvas>\n");
        return;
    }
    out_write(out,
              "<div class=\"controls\">\n"
              "<select aria-label=\"Which run\"></select>\n"
              "<button type=\"button\" data-do=\"in\">Zoom in</button>\n"
              "<button type=\"button\" data-do=\"out\">Zoom out</button>\n"
              "<button type=\"button\" data-do=\"fit\">Show all</button>\n"
              "<button type=\"button\" data-do=\"range\" aria-pressed=\"false\">Select</button>\n"
              "<button type=\"button\" data-do=\"flame\" aria-pressed=\"false\">Flame view"
              "</button>\n"
              "<div class=\"find\">\n"
              "<input type=\"search\" placeholder=\"Find spans\" aria-label=\"Find spans\">\n"
              "<button type=\"button\" data-do=\"previous\" aria-label=\"Previous one found\">"
              "&#8249;</button>\n"
              "<button type=\"button\" data-do=\"next\" aria-label=\"Next one found\">&#8250;"
              "</button>\n"
              "<span aria-live=\"polite\"></span>\n"
              "</div>\n</div>\n"
              "<div class=\"stage\"><canvas role=\"application\" tabindex=\"0\"></canvas></div>\n"
              "<p class=\"details\"></p>\n"
              "<div class=\"flame\" hidden></div>\n"
              "<div class=\"card span-card\" aria-live=\"polite\" hidden></div>\n"
              "<div class=\"card range-card\" hidden></div>\n");
}

void html_chart_write(struct out *out, struct html_chart *chart)
{
    const struct out_chart *spec = out->section->chart;
    struct text_buffer text = {0}, headline = {0};

    if (spec->kind == OUT_CHART_DATA) {
        write_data(out, chart);
        return;
    }
    if (spec->about) {
        text_buffer_print(&text, "<p class=\"about-chart\">");
        html_add_escaped(&text, spec->about);
        text_buffer_print(&text, "</p>\n");
    }
    out_format_headline(&headline, out->section);
    text_buffer_print(&text, "<figure class=\"chart %s\" data-title=\"", kind_name(spec->kind));
    html_add_escaped(&text, text_buffer_text(&headline));
    text_buffer_print(&text, "\">\n");
    text.failed |= headline.failed;
    text_buffer_deinit(&headline);
    out_write_buffer(out, &text);
    write_canvas(out, spec->kind);
    write_data(out, chart);
    out_write(out, "</figure>\n");
    if (chart->row_count > OUT_HTML_POINTS_MAX)
        text_buffer_print(&text,
                          "<p class=\"cut\">The picture shows the first %d of %zu points.</p>\n",
                          OUT_HTML_POINTS_MAX, chart->row_count);
    out_write_buffer(out, &text);
}

void html_chart_destroy(struct html_chart **chart_pointer)
{
    struct html_chart *chart = *chart_pointer;

    if (!chart)
        return;
    for (size_t i = 0; i < chart->column_count; i++)
        json_deinit(&chart->columns[i]);
    json_deinit(&chart->texts);
    place_map_deinit(&chart->text_places);
    free(chart->columns);
    free(chart->is_used);
    free(chart->kinds);
    free(chart);
    *chart_pointer = NULL;
}
