/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of an import in the order in which a store wants them: by their end, inner spans before the
 * spans around them. Rows are collected in memory; what is more than `rows_in_memory` goes, sorted,
 * to a temporary file without a name, from which it is merged. One thread.
 *
 *     row_sorter_add() any number of times, row_sorter_sort(), row_sorter_next() until 0.
 *
 * Then row_sorter_sort() begins with the first row again.
 */
#ifndef OPTRACE_ANALYZE_CONTAINERS_ROW_SORTER_H
#define OPTRACE_ANALYZE_CONTAINERS_ROW_SORTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/array.h"
#include "base/diag.h"

enum import_row_kind { ROW_MEMORY, ROW_COUNTER, ROW_FLOW, ROW_SPAN };

struct import_row {
    int64_t end_ns; /* the order; INT64_MAX for a span that never ended; the time of points */
    int64_t start_ns;
    int64_t kern_ns;     /* spans: after the start, or STORE_NULL; memory: the address;
                            with is_external the number that ties it to others instead */
    int64_t correlation; /* memory: the place of the lane that it is of */
    union {
        int64_t bytes;
        double value; /* counters */
    };
    uint32_t lane, op; /* places; op IMPORT_NONE: none */
    uint64_t kind : 2; /* enum import_row_kind */
    uint64_t is_external : 1;
    uint64_t depth : 16;  /* spans: of those of equal times on a lane the deeper is the inner one */
    uint64_t number : 45; /* set by row_sorter_add(): the order in which they came */
};

/* Rows that are sorted among themselves, in the file. */
struct row_sorter_part {
    uint64_t first, count; /* not loaded yet */
    uint64_t row_count;    /* all of them */
    struct import_row *loaded;
    size_t at, end; /* of `loaded`: the rows that are left */
};

struct row_sorter {
    size_t rows_in_memory; /* input; 0: half a million, 28 MB */
    ARRAY_OF(struct import_row) rows;
    size_t place; /* the next of `rows` */
    uint64_t count;
    bool is_sorted;
    FILE *file; /* sorted parts, one behind the other */
    ARRAY_OF(struct row_sorter_part) parts;
};

/** Returns 0, -ENOMEM, or the errno of writing the temporary file, with a sentence. */
int row_sorter_add(struct row_sorter *sorter, struct import_row row, struct diag *diag);
int row_sorter_sort(struct row_sorter *sorter, struct diag *diag);

/** Returns 1, 0 behind the last, or a negative errno of reading with a sentence. */
int row_sorter_next(struct row_sorter *sorter, struct import_row *out_row, struct diag *diag);

/** {0} and half-used ones are allowed. */
void row_sorter_deinit(struct row_sorter *sorter);

#endif
