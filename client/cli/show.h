/* SPDX-License-Identifier: Apache-2.0 */
/* How times, sizes, plans and tables look to a person. */
#ifndef OPTRACE_CLIENT_CLI_SHOW_H
#define OPTRACE_CLIENT_CLI_SHOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "schema/wire/wire.h"

enum {
    SHOW_CELL_BYTES = 128, /* room that all show_...() need */
    SHOW_COLUMNS_MAX = 12,
};

/** Local date and time, "2026-11-20 19:51:07". */
const char *show_time(uint64_t realtime_ns, char out[SHOW_CELL_BYTES]);

/** The hour on the same day, else the day: "19:43", "22 Nov", "2025-11-22". */
const char *show_since(uint64_t realtime_ns, uint64_t now_ns, char out[SHOW_CELL_BYTES]);

/** "34 s", "14 min", "2 h 14 min", "3 d 4 h" */
const char *show_age(uint64_t ns, char out[SHOW_CELL_BYTES]);

/** Three figures at least, in groups of three: "0.15", "24.1", "98,400". */
const char *show_figures(double number, char out[SHOW_CELL_BYTES]);

/** "1,234,567" */
const char *show_count(uint64_t count, char out[SHOW_CELL_BYTES]);

/** Cut a text that may be shown where it takes more columns, between two characters. */
void show_cut(char *text, size_t columns);

/** "12.5 MiB" */
const char *show_bytes(uint64_t bytes, char out[SHOW_CELL_BYTES]);

/** "250 ms", "3 s", "2.5 min", "40 µs" */
const char *show_duration(uint64_t ns, char out[SHOW_CELL_BYTES]);

/** What a session's plan does: "-", "wait 2 of 5", "active, cycle 1 of 2", "starts at ...". */
const char *show_plan(const struct ot_wire_plan *plan, char out[SHOW_CELL_BYTES]);

/** A table whose columns are as wide as their cells; numbers at the right. */
struct show_table {
    size_t column_count;
    const char *const *heads;
    const char *right; /* a letter per column: 'r' for those at the right, else 'l' */
    char **cells;      /* row by row, owned */
    size_t cell_count, cell_capacity;
    bool first_gives; /* the first column is cut before the last one where there is no room */
};

/** Add the next cell, copied. Returns 0 or -ENOMEM. */
int show_add(struct show_table *table, const char *text);

/** Print all rows. The last column is cut where the terminal ends, when `out` is one. */
void show_print(struct show_table *table, FILE *out);
void show_deinit(struct show_table *table);

#endif
