/* SPDX-License-Identifier: Apache-2.0 */
/* The columns of every report, at any width, whatever names stand in them: tables fit, what matters
 * stays, and what differs looks different. */
#include <stdlib.h>
#include <string.h>

#include "analyze/reports/report.h"
#include "base/text.h"
#include "tests/support/check.h"
#include "tests/support/draw.h"

enum {
    ROUNDS = 100, /* of each report */
    ROWS_MAX = 24,
    COLUMNS_MAX = 64,
    WIDTH_MIN = 48, /* a table of one name and one number fits */
    WIDTH_MAX = 300,
};

static uint64_t seed = DRAW_SEED;

static uint32_t random_below(uint32_t limit)
{
    return (uint32_t)(draw_u64(&seed) >> 11) % limit;
}

/* --- Names. --- */

static char *make_path(void)
{
    static const char *const leaves[] = {"Conv", "Relu", "MatMul", "Add", "LayerNormalization"};
    char *text;

    assert_true(asprintf(&text, "/model/layers/layers.%u/%s/c%u/%s", random_below(30),
                         random_below(2) ? "self_attention" : "feed_forward", random_below(4),
                         leaves[random_below(5)]) > 0);
    return text;
}

static char *make_kernel(void)
{
    static const char *const functors[] = {"FillFunctor<float>", "AddFunctor<float>",
                                           "MulScalarFunctor<float, float>", "threshold<double>"};
    char *text;

    assert_true(asprintf(&text,
                         "void at::native::vectorized_elementwise_kernel<%u, at::native::%s, "
                         "at::detail::Array<char*, %u> >(int, at::native::%s)",
                         1u << random_below(4), functors[random_below(4)], 1 + random_below(3),
                         functors[random_below(4)]) > 0);
    return text;
}

static char *make_odd(void)
{
    static const char *const pieces[] = {"a",  "é",      "▁",   "层", "😀", "\u0301",
                                         "::", "\u202e", "...", "~2", "(", "9"};
    const uint32_t count = 1 + random_below(90), kinds = 1 + random_below(12);
    char *text = calloc(count + 1, 8);

    assert_non_null(text);
    for (uint32_t i = 0; i < count; i++)
        strcat(text, pieces[random_below(kinds)]);
    return text;
}

static char *make_name(void)
{
    switch (random_below(4)) {
    case 0:
        return make_path();
    case 1:
        return make_kernel();
    case 2:
        return make_odd();
    default:
        return strdup(random_below(2) ? "conv" : "aten::add");
    }
}

/* --- A table. --- */

struct table {
    const struct report_kind *kind;
    struct out_column columns[COLUMNS_MAX];
    size_t count, row_count;
    char *texts[ROWS_MAX][COLUMNS_MAX]; /* NULL: a number */
    char *keep[COLUMNS_MAX];            /* the most important first */
    size_t keep_count, width;
    const char *sorted;
};

/* Titles are names here, which are different ones. */
static void make_table(struct table *table, const struct report_kind *kind)
{
    *table = (struct table){.kind = kind, .row_count = random_below(ROWS_MAX + 1)};
    for (size_t i = 0; i < kind->lines.column_count; i++) {
        struct out_column column = kind->lines.columns[i].out;

        if (column.data_only)
            continue;
        assert_true(table->count < COLUMNS_MAX);
        column.title = column.name;
        table->columns[table->count++] = column;
    }
    for (size_t row = 0; row < table->row_count; row++) {
        for (size_t i = 0; i < table->count; i++)
            table->texts[row][i] = !table->columns[i].wrap ? NULL
                                   : row && random_below(6) == 0
                                       ? strdup(table->texts[random_below((uint32_t)row)][i])
                                       : make_name();
    }
    for (size_t i = 0; i < table->count && random_below(3); i++) {
        const size_t at = random_below((uint32_t)table->count);
        size_t k = 0;

        while (k < table->keep_count && strcmp(table->keep[k], table->columns[at].name) != 0)
            k++;
        if (k == table->keep_count)
            table->keep[table->keep_count++] = (char *)table->columns[at].name;
    }
    table->sorted =
        random_below(2) ? table->columns[random_below((uint32_t)table->count)].name : NULL;
    table->width = WIDTH_MIN + random_below(WIDTH_MAX - WIDTH_MIN);
}

static void drop_table(struct table *table)
{
    for (size_t row = 0; row < table->row_count; row++) {
        for (size_t i = 0; i < table->count; i++)
            free(table->texts[row][i]);
    }
}

static char *print(const struct table *table)
{
    char *text = NULL, keep[2048] = "";
    size_t size;
    struct out_options options = {.report = "x", .ascii = true, .width = table->width};
    struct out_section section = {.name = "x", .sorted = table->sorted};
    struct out *out;
    struct diag diag = {0};

    for (size_t i = 0; i < table->keep_count; i++) {
        strcat(keep, i ? " " : "");
        strcat(keep, table->keep[i]);
    }
    section.keep = table->keep_count ? keep : NULL;
    options.stream = open_memstream(&text, &size);
    CHECK_OK(out_open(&options, &out));
    out_table_begin(out, &section, table->columns, table->count);
    for (size_t row = 0; row < table->row_count; row++) {
        struct out_value values[COLUMNS_MAX];

        for (size_t i = 0; i < table->count; i++)
            values[i] = table->texts[row][i] ? out_text(table->texts[row][i])
                                             : out_number(OUT_NS, 1000.0 * random_below(10000000));
        out_row(out, values);
    }
    out_table_end(out);
    CHECK_OK(out_close(&out, &diag));
    fclose(options.stream);
    return text;
}

/* --- What is printed. --- */

struct printed {
    size_t place[COLUMNS_MAX]; /* of each printed column in the table */
    size_t count, row_count;
    char *cells[ROWS_MAX][COLUMNS_MAX];
};

/* "| a | b |": the cells without the blanks around them. */
static size_t split(const char *line, size_t length, char **cells)
{
    size_t count = 0;

    for (const char *at = line + 1; at < line + length && count < COLUMNS_MAX;) {
        const char *end = memchr(at, '|', length - (size_t)(at - line));
        size_t bytes = end ? (size_t)(end - at) : 0;

        if (!end)
            break;
        while (bytes && at[bytes - 1] == ' ')
            bytes--;
        cells[count] = strndup(at, bytes);
        memmove(cells[count], cells[count] + strspn(cells[count], " "),
                strlen(cells[count] + strspn(cells[count], " ")) + 1);
        count++;
        at = end + 1;
    }
    return count;
}

static void find_places(const struct table *table, struct printed *printed, char **titles)
{
    for (size_t i = 0; i < printed->count; i++) {
        size_t k = 0;

        while (k < table->count && strcmp(table->columns[k].name, titles[i]) != 0)
            k++;
        if (k == table->count)
            fail_msg("%s: \"%s\" is no column", table->kind->name, titles[i]);
        printed->place[i] = k;
        free(titles[i]);
    }
}

static void parse(const struct table *table, const char *text, struct printed *printed)
{
    bool has_head = false;

    *printed = (struct printed){0};
    for (const char *line = text; *line;) {
        const size_t length = strcspn(line, "\n");

        if (text_columns(line, length) > table->width && strchr("|+", *line))
            fail_msg("%s: wider than %zu:\n%s", table->kind->name, table->width, text);
        if (*line == '|' && !has_head) {
            char *titles[COLUMNS_MAX];

            has_head = true;
            printed->count = split(line, length, titles);
            find_places(table, printed, titles);
        } else if (*line == '|') {
            assert_true(printed->row_count < ROWS_MAX);
            assert_int_equal(split(line, length, printed->cells[printed->row_count++]),
                             printed->count);
        }
        line += length + (line[length] == '\n');
    }
}

static bool is_printed(const struct printed *printed, const struct table *table, const char *name)
{
    for (size_t i = 0; i < printed->count; i++) {
        if (strcmp(table->columns[printed->place[i]].name, name) == 0)
            return true;
    }
    return false;
}

/* A column goes only when all that matter less are gone. */
static void check_columns(const struct table *table, const struct printed *printed,
                          const char *text)
{
    size_t listed = 0;
    bool is_gone = false;

    for (size_t i = 0; i < table->keep_count; i++) {
        const bool is_there = is_printed(printed, table, table->keep[i]);
        const bool is_sorted = table->sorted && strcmp(table->sorted, table->keep[i]) == 0;

        if (is_gone && is_there && !is_sorted)
            fail_msg("%s: %s stays where what matters more is gone:\n%s", table->kind->name,
                     table->keep[i], text);
        is_gone |= !is_there;
        listed += is_there;
    }
    if (table->sorted && !is_printed(printed, table, table->sorted))
        fail_msg("%s: %s is gone, which lines are sorted by:\n%s", table->kind->name, table->sorted,
                 text);
    assert_true(!table->keep_count || is_printed(printed, table, table->keep[0]));
    if (is_gone)
        assert_true(printed->count <= listed + 1);
}

static void check_names(const struct table *table, const struct printed *printed, const char *text)
{
    assert_int_equal(printed->row_count, table->row_count);
    for (size_t i = 0; i < printed->count; i++) {
        const size_t place = printed->place[i];

        for (size_t a = 0; a < table->row_count && table->columns[place].wrap; a++) {
            for (size_t b = 0; b < a; b++) {
                const bool was_same = strcmp(table->texts[a][place], table->texts[b][place]) == 0;
                const bool is_same = strcmp(printed->cells[a][i], printed->cells[b][i]) == 0;

                if (was_same != is_same)
                    fail_msg("%s: %s and %s:\n%s", table->kind->name, table->texts[a][place],
                             table->texts[b][place], text);
            }
        }
    }
}

static bool is_compact(const struct report_kind *kind)
{
    for (size_t i = 0; i < kind->lines.column_count; i++) {
        if (!kind->lines.columns[i].out.compact && !kind->lines.columns[i].out.data_only)
            return false;
    }
    return kind->lines.column_count > 0;
}

static void check_once(const struct report_kind *kind)
{
    struct table table;
    struct printed printed;
    char *text;

    make_table(&table, kind);
    text = print(&table);
    parse(&table, text, &printed);
    check_columns(&table, &printed, text);
    check_names(&table, &printed, text);
    for (size_t row = 0; row < printed.row_count; row++) {
        for (size_t i = 0; i < printed.count; i++)
            free(printed.cells[row][i]);
    }
    free(text);
    drop_table(&table);
}

static void tables_fit_and_names_stay_apart(void **state)
{
    size_t checked = 0;

    for (size_t i = 0; report_kinds[i]; i++) {
        for (int round = 0; round < ROUNDS && is_compact(report_kinds[i]); round++, checked++)
            check_once(report_kinds[i]);
    }
    assert_true(checked >= 15 * ROUNDS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_fit_and_names_stay_apart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
