/* SPDX-License-Identifier: Apache-2.0 */
/* Cells and tables. */
#include "client/cli/show.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/amount.h"
#include "base/text.h"

#define NS_PER_S UINT64_C(1000000000)

const char *show_time(uint64_t realtime_ns, char out[SHOW_CELL_BYTES])
{
    const time_t seconds = (time_t)(realtime_ns / NS_PER_S);
    struct tm local;

    if (realtime_ns == 0 || !localtime_r(&seconds, &local) ||
        strftime(out, SHOW_CELL_BYTES, "%Y-%m-%d %H:%M:%S", &local) == 0)
        snprintf(out, SHOW_CELL_BYTES, "-");
    return out;
}

const char *show_since(uint64_t realtime_ns, uint64_t now_ns, char out[SHOW_CELL_BYTES])
{
    const time_t seconds = (time_t)(realtime_ns / NS_PER_S), now = (time_t)(now_ns / NS_PER_S);
    struct tm then, today;
    const char *format = "%Y-%m-%d";

    if (realtime_ns == 0 || !localtime_r(&seconds, &then) || !localtime_r(&now, &today)) {
        snprintf(out, SHOW_CELL_BYTES, "-");
        return out;
    }
    if (then.tm_year == today.tm_year)
        format = then.tm_yday == today.tm_yday ? "%H:%M" : "%-d %b";
    if (strftime(out, SHOW_CELL_BYTES, format, &then) == 0)
        snprintf(out, SHOW_CELL_BYTES, "-");
    return out;
}

const char *show_age(uint64_t ns, char out[SHOW_CELL_BYTES])
{
    const uint64_t seconds = ns / NS_PER_S, minutes = seconds / 60, hours = minutes / 60;

    if (seconds < 60)
        snprintf(out, SHOW_CELL_BYTES, "%" PRIu64 " s", seconds);
    else if (minutes < 60)
        snprintf(out, SHOW_CELL_BYTES, "%" PRIu64 " min", minutes);
    else if (hours < 24)
        snprintf(out, SHOW_CELL_BYTES, "%" PRIu64 " h %" PRIu64 " min", hours, minutes % 60);
    else
        snprintf(out, SHOW_CELL_BYTES, "%" PRIu64 " d %" PRIu64 " h", hours / 24, hours % 24);
    return out;
}

const char *show_count(uint64_t count, char out[SHOW_CELL_BYTES])
{
    char digits[24];
    const int length = snprintf(digits, sizeof(digits), "%" PRIu64, count);
    size_t used = 0;

    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            out[used++] = ',';
        out[used++] = digits[i];
    }
    out[used] = 0;
    return out;
}

const char *show_figures(double number, char out[SHOW_CELL_BYTES])
{
    uint64_t unit = 1;

    if (number < 99.95) {
        snprintf(out, SHOW_CELL_BYTES, "%.*f", number == 0 ? 0 : number < 9.995 ? 2 : 1, number);
        return out;
    }
    while (number / (double)unit >= 999.5)
        unit *= 10;
    return show_count((uint64_t)(number / (double)unit + 0.5) * unit, out);
}

const char *show_bytes(uint64_t bytes, char out[SHOW_CELL_BYTES])
{
    return amount_format_bytes(out, SHOW_CELL_BYTES, (double)bytes);
}

const char *show_duration(uint64_t ns, char out[SHOW_CELL_BYTES])
{
    return amount_format_duration(out, SHOW_CELL_BYTES, (double)ns);
}

/* "3 of 10 runs", "1.5 s of 4 s" */
static void print_progress(const struct ot_wire_plan *plan, uint64_t done, uint64_t length,
                           char *out, size_t bytes)
{
    char first[SHOW_CELL_BYTES], second[SHOW_CELL_BYTES];

    if (plan->unit == OT_UNIT_NS)
        snprintf(out, bytes, "%s of %s", show_duration(done, first), show_duration(length, second));
    else
        snprintf(out, bytes, "%" PRIu64 " of %" PRIu64, done, length);
}

static uint64_t part_length(const struct ot_wire_plan *plan, uint32_t state)
{
    switch (state) {
    case OT_PLAN_SKIP:
        return plan->skip_first;
    case OT_PLAN_WAIT:
        return plan->wait;
    case OT_PLAN_WARMUP:
        return plan->warmup;
    default:
        return plan->active;
    }
}

const char *show_plan(const struct ot_wire_plan *plan, char out[SHOW_CELL_BYTES])
{
    /* Runs begun: the one under way is number position - 1. */
    const uint64_t at =
        plan->unit == OT_UNIT_RUNS && plan->position > 0 ? plan->position - 1 : plan->position;
    const struct ot_plan_place place = ot_plan_at(plan, at);
    const uint64_t length = part_length(plan, place.state);
    char time[SHOW_CELL_BYTES], progress[64], cycle[64] = "";

    if (plan->state == OT_PLAN_EARLY)
        snprintf(out, SHOW_CELL_BYTES, "starts %.100s", show_time(plan->start_ns, time));
    else if (plan->state == OT_PLAN_FREE && plan->end_ns)
        snprintf(out, SHOW_CELL_BYTES, "until %.100s", show_time(plan->end_ns, time));
    else if (plan->state == OT_PLAN_FREE)
        snprintf(out, SHOW_CELL_BYTES, "-");
    else if (plan->state == OT_PLAN_DONE || place.state != plan->state)
        snprintf(out, SHOW_CELL_BYTES, "%s", ot_plan_state_name(plan->state));
    else {
        print_progress(plan, length - place.left + (plan->unit == OT_UNIT_RUNS), length, progress,
                       sizeof(progress));
        if (place.state != OT_PLAN_SKIP && plan->repeat > 0)
            snprintf(cycle, sizeof(cycle), ", cycle %" PRIu64 " of %" PRIu64, place.cycle + 1,
                     plan->repeat);
        else if (place.state != OT_PLAN_SKIP)
            snprintf(cycle, sizeof(cycle), ", cycle %" PRIu64, place.cycle + 1);
        snprintf(out, SHOW_CELL_BYTES, "%s %s%s", ot_plan_state_name(plan->state), progress, cycle);
    }
    return out;
}

int show_add(struct show_table *table, const char *text)
{
    const size_t length = strlen(text), room = length * 4 + 1; /* "\\xff" at most for a byte */
    char *shown = malloc(room);

    if (table->cell_count == table->cell_capacity) {
        size_t wanted = table->cell_capacity ? 2 * table->cell_capacity : 64;
        char **cells = realloc(table->cells, wanted * sizeof(*cells));

        if (!cells) {
            free(shown);
            return -ENOMEM;
        }
        table->cells = cells;
        table->cell_capacity = wanted;
    }
    if (shown)
        text_show(text, length, shown, room);
    table->cells[table->cell_count++] = shown;
    return shown ? 0 : -ENOMEM;
}

static size_t columns_of(const char *text)
{
    return text_columns(text, strlen(text));
}

static void print_cell(const struct show_table *table, size_t column, const char *text,
                       size_t width, FILE *out)
{
    const size_t own = columns_of(text);
    const int padding = own < width ? (int)(width - own) : 0;

    if (table->right[column] == 'r')
        text_print(out, "%*s%s", padding, "", text);
    else if (column + 1 < table->column_count)
        text_print(out, "%s%*s", text, padding, "");
    else
        text_put(text, out);
    fputs(column + 1 < table->column_count ? "  " : "\n", out);
}

void show_cut(char *text, size_t columns)
{
    size_t length = strlen(text);

    while (length > 0 && text_columns(text, length) > columns) {
        length--;
        while (length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80)
            length--;
    }
    text[length] = 0;
}

/* As wide as its texts, as far as `most` allows; but as its head. */
static size_t cut_first(struct show_table *table, size_t most)
{
    const size_t head = columns_of(table->heads[0]);
    size_t width = head;

    for (size_t i = 0; i < table->cell_count; i += table->column_count) {
        if (!table->cells[i])
            continue;
        if (columns_of(table->cells[i]) > (most > head ? most : head)) {
            show_cut(table->cells[i], (most > head ? most : head) - 1);
            strcat(table->cells[i], "…"); /* show_add() has left room */
        }
        if (columns_of(table->cells[i]) > width)
            width = columns_of(table->cells[i]);
    }
    return width;
}

void show_print(struct show_table *table, FILE *out)
{
    const size_t count = table->column_count;
    const size_t terminal = text_terminal_columns(out);
    size_t widths[SHOW_COLUMNS_MAX] = {0}, before = 0;

    for (size_t c = 0; c < count; c++)
        widths[c] = columns_of(table->heads[c]);
    for (size_t i = 0; i < table->cell_count; i++) {
        const size_t own = table->cells[i] ? columns_of(table->cells[i]) : 0;

        if (own > widths[i % count])
            widths[i % count] = own;
    }
    for (size_t c = 0; c + 1 < count; c++)
        before += widths[c] + 2;
    if (table->first_gives && terminal > 0 && before + widths[count - 1] > terminal) {
        const size_t rest = before - widths[0] + widths[count - 1];

        before -= widths[0];
        widths[0] = cut_first(table, terminal > rest ? terminal - rest : 0);
        before += widths[0];
    }
    for (size_t c = 0; c < count; c++)
        print_cell(table, c, table->heads[c], widths[c], out);
    for (size_t i = 0; i + count <= table->cell_count; i += count) {
        char *last = table->cells[i + count - 1];

        if (terminal > before + widths[count - 1] / 8 && last)
            show_cut(last, terminal - before);
        for (size_t c = 0; c < count; c++)
            print_cell(table, c, table->cells[i + c] ? table->cells[i + c] : "", widths[c], out);
    }
}

void show_deinit(struct show_table *table)
{
    for (size_t i = 0; i < table->cell_count; i++)
        free(table->cells[i]);
    free(table->cells);
    table->cells = NULL;
    table->cell_count = table->cell_capacity = 0;
}
