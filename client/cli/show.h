/* SPDX-License-Identifier: Apache-2.0 */
/* How times, sizes, plans and tables look to a person. */
#ifndef OPTRACE_CLIENT_CLI_SHOW_H
#define OPTRACE_CLIENT_CLI_SHOW_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "schema/wire.h"

enum {
    SHOW_CELL_BYTES = 128, /* room that all show_...() need */
    SHOW_COLUMNS_MAX = 12,
};

/** Local date and time, "2026-11-20 19:51:07". */
const char *show_time(uint64_t realtime_ns, char out[SHOW_CELL_BYTES]);

/** "12.5 MiB" */
const char *show_bytes(uint64_t bytes, char out[SHOW_CELL_BYTES]);

/** "250 ms", "3 s", "2.5 min" */
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
};

/** Add the next cell, copied. Returns 0 or -ENOMEM. */
int show_add(struct show_table *table, const char *text);

/** Print and forget all rows. The last column is cut where the terminal ends, when `out` is one. */
void show_print(struct show_table *table, FILE *out);
void show_deinit(struct show_table *table);

#endif
