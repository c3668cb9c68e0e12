/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of the first answer: types and ops, host and device side by side. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/reports/brief/private.h"

/* Types that we give are shorter: "python_function". */
enum { TYPE_COLUMNS = 16 };

static void describe_shapes(const struct brief_row *row, char *cell, size_t bytes)
{
    char input[28], output[28];
    bool has_input = brief_shape(row->op->input_shapes, input, sizeof(input));
    bool has_output = brief_shape(row->op->output_shapes, output, sizeof(output));

    cell[0] = '\0';
    if (row->has_other_shapes)
        snprintf(cell, bytes, "%zu shapes", row->op_count);
    else if (has_input && has_output && strcmp(input, output) != 0)
        snprintf(cell, bytes, "%s > %s", input, output);
    else if (has_input || has_output)
        snprintf(cell, bytes, "%s", has_input ? input : output);
}

/* What a table is of, and in which units. */
struct rows_shown {
    const struct brief_rows *rows;
    size_t count;
    struct brief_unit time, rate;
    const char *per;         /* "/run" */
    bool has_side[OP_SIDES]; /* a row shown has time there */
};

static void add_times(const struct brief_text *text, struct brief_table *table,
                      const struct rows_shown *shown)
{
    const struct brief *brief = text->brief;
    static const char *const names[OP_SIDES] = {"host ", "device "};
    bool is_mixed = brief->has_side[OP_HOST] && brief->has_side[OP_DEVICE];

    for (int side = OP_SIDES - 1; side >= 0; side--) {
        struct brief_column *column;
        double rest = 0;
        char head[64];

        if (!shown->has_side[side])
            continue;
        snprintf(head, sizeof(head), "%s%s%s", is_mixed ? names[side] : "", shown->time.name,
                 shown->per);
        column = brief_add_column(table, head, side == (int)brief->side ? 0 : 2);
        for (size_t i = 0; i < shown->rows->count; i++) {
            double ns = shown->rows->items[i].own_ns[side];

            rest += i < shown->count ? 0 : ns;
            if (i < shown->count && ns > 0)
                brief_number(column->cells[i], BRIEF_CELL_BYTES, ns / shown->time.factor);
        }
        if (shown->count < shown->rows->count && rest > 0)
            brief_number(column->cells[shown->count], BRIEF_CELL_BYTES, rest / shown->time.factor);
    }
}

static void add_shares(const struct brief_text *text, struct brief_table *table,
                       const struct rows_shown *shown, bool with_bars)
{
    const struct brief *brief = text->brief;
    struct brief_column *share = brief_add_column(table, "share", 0);
    struct brief_column *bar = with_bars ? brief_add_column(table, "", 9) : NULL;
    double whole = brief->own_ns[brief->side], rest = 1, others = 0;

    for (size_t i = 0; i < shown->count && whole > 0; i++) {
        double part = shown->rows->items[i].own_ns[brief->side] / whole;
        int length = (int)(part * 20 + 0.5);

        rest -= part;
        if (part > 0)
            snprintf(share->cells[i], BRIEF_CELL_BYTES, "%.1f", part * 100);
        if (bar) {
            bar->is_left = true;
            memset(bar->cells[i], '#', (size_t)length);
        }
    }
    for (size_t i = shown->count; i < shown->rows->count; i++)
        others += shown->rows->items[i].own_ns[brief->side];
    if (others > 0 && whole > 0)
        snprintf(share->cells[shown->count], BRIEF_CELL_BYTES, "%.1f", fmax(0, rest) * 100);
}

static void add_calls(const struct brief_text *text, struct brief_table *table,
                      const struct rows_shown *shown)
{
    struct brief_column *calls = brief_add_column(table, "calls", 5);
    double rest = 0;

    (void)text;
    for (size_t i = 0; i < shown->rows->count; i++) {
        const struct brief_row *row = &shown->rows->items[i];
        double count = fmax(row->calls[OP_HOST], row->calls[OP_DEVICE]);

        rest += i < shown->count ? 0 : count;
        if (i < shown->count)
            brief_count(calls->cells[i], BRIEF_CELL_BYTES, count);
    }
    if (shown->count < shown->rows->count)
        brief_count(calls->cells[shown->count], BRIEF_CELL_BYTES, rest);
}

static void add_rates(struct brief_table *table, const struct rows_shown *shown)
{
    struct brief_column *column = brief_add_column(table, shown->rate.name, 4);

    for (size_t i = 0; i < shown->count; i++) {
        const struct brief_row *row = &shown->rows->items[i];

        if (row->flop > 0 && row->flop_ns > 0)
            brief_number(column->cells[i], BRIEF_CELL_BYTES,
                         row->flop / row->flop_ns * 1e9 / shown->rate.factor);
    }
}

static void add_row_texts(struct brief_table *table, const struct rows_shown *shown)
{
    struct brief_column *type = brief_add_column(table, "type", 8);
    struct brief_column *shape = brief_add_column(table, "shape", 7);
    const char *first = shown->rows->items[0].type;
    bool is_alike = shown->count > 1;

    for (size_t i = 1; i < shown->count; i++)
        is_alike &=
            first && shown->rows->items[i].type && strcmp(first, shown->rows->items[i].type) == 0;
    type->is_gone = is_alike; /* it tells nothing apart */
    for (size_t i = 0; i < shown->count; i++) {
        type->is_left = shape->is_left = true;
        if (shown->rows->items[i].type) {
            char *whole = brief_shown(shown->rows->items[i].type);
            char *cut = whole ? brief_cut(whole, TYPE_COLUMNS, 0) : NULL;

            snprintf(type->cells[i], BRIEF_CELL_BYTES, "%s", cut ? cut : "");
            free(cut);
            free(whole);
        }
        describe_shapes(&shown->rows->items[i], shape->cells[i], BRIEF_CELL_BYTES);
    }
}

int brief_print_rows(struct brief_text *text, const char *title, const struct brief_rows *rows,
                     size_t most, bool of_types)
{
    const struct brief *brief = text->brief;
    struct brief_table *table = calloc(1, sizeof(*table));
    struct rows_shown shown = {.per = brief->ops.basis.is_per_run ? "/run" : ""};
    struct brief_rows on_side = *rows;
    double top_rate = 0;
    char others[64];
    int rc;

    if (!table)
        return -ENOMEM;
    if (!of_types) /* kernels and calls of the host are no common list */
        rows = &on_side;
    while (!of_types && on_side.count &&
           !(on_side.items[on_side.count - 1].own_ns[brief->side] > 0))
        on_side.count--;
    if (!rows->count) {
        free(table);
        return 0;
    }
    shown.rows = rows;
    shown.count = rows->count <= most + 1 ? rows->count : most; /* "1 other" is no shorter */
    for (size_t i = 0; i < shown.count; i++) {
        for (int side = 0; side < OP_SIDES; side++)
            shown.has_side[side] |= brief->has_side[side] && rows->items[i].own_ns[side] > 0;
    }
    shown.time = brief_time_unit(rows->items[0].own_ns[brief->side], text->page.ascii);
    for (size_t i = 0; i < shown.count; i++) {
        const struct brief_row *row = &rows->items[i];

        if (row->flop > 0 && row->flop_ns > 0)
            top_rate = fmax(top_rate, row->flop / row->flop_ns * 1e9);
        table->names[i] = of_types ? (row->type ? row->type : "(no type)") : row->name;
    }
    shown.rate = brief_rate_unit(top_rate);
    table->title = title;
    table->row_count = shown.count;
    if (shown.count < rows->count) {
        snprintf(others, sizeof(others), of_types ? "%zu others" : "%zu more",
                 rows->count - shown.count);
        table->names[table->row_count++] = others;
        table->fixed_count = 1;
    }
    add_times(text, table, &shown);
    add_shares(text, table, &shown, of_types);
    if (!of_types)
        add_row_texts(table, &shown);
    add_calls(text, table, &shown);
    add_rates(table, &shown);
    brief_end(&text->page);
    rc = brief_print_table(&text->page, table);
    free(table);
    return rc;
}
