/* SPDX-License-Identifier: Apache-2.0 */
/* Sorting rows of an import, on disk where they are many. */
#include "analyze/containers/row_sorter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROWS_IN_MEMORY = 500000,
    ROWS_PER_LOAD = 4096, /* of each part while merging */
};

/* Points come before the spans that end with them, inner spans before outer ones; of equal spans
 * the deeper one is the inner one, then the later one, as writers put the outer one first. */
static int compare(const struct import_row *a, const struct import_row *b)
{
    bool a_is_span = a->kind == ROW_SPAN, b_is_span = b->kind == ROW_SPAN;

    if (a->end_ns != b->end_ns)
        return a->end_ns < b->end_ns ? -1 : 1;
    if (a_is_span != b_is_span)
        return a_is_span ? 1 : -1;
    if (!a_is_span)
        return (a->number > b->number) - (a->number < b->number);
    if (a->start_ns != b->start_ns)
        return a->start_ns > b->start_ns ? -1 : 1;
    if (a->depth != b->depth)
        return a->depth > b->depth ? -1 : 1;
    return (a->number < b->number) - (a->number > b->number);
}

static int compare_rows(const void *a, const void *b)
{
    return compare(a, b);
}

static int file_failed(const char *doing, struct diag *diag)
{
    int error = errno ? errno : EIO;

    return diag_set(diag, -error, "cannot %s a temporary file: %s", doing, strerror(error));
}

static void sort_rows(struct row_sorter *sorter)
{
    if (sorter->rows.count)
        qsort(sorter->rows.items, sorter->rows.count, sizeof(*sorter->rows.items), compare_rows);
}

static int spill(struct row_sorter *sorter, struct diag *diag)
{
    struct row_sorter_part part = {.count = sorter->rows.count, .row_count = sorter->rows.count};

    if (!sorter->file)
        sorter->file = tmpfile();
    if (!sorter->file)
        return file_failed("make", diag);
    for (size_t i = 0; i < sorter->parts.count; i++)
        part.first += sorter->parts.items[i].row_count;
    sort_rows(sorter);
    errno = 0;
    if (fwrite(sorter->rows.items, sizeof(*sorter->rows.items), sorter->rows.count, sorter->file) !=
        sorter->rows.count)
        return file_failed("write", diag);
    sorter->rows.count = 0;
    if (array_push(&sorter->parts, part) < 0)
        return diag_set(diag, -ENOMEM, "no memory to sort the rows");
    return 0;
}

int row_sorter_add(struct row_sorter *sorter, struct import_row row, struct diag *diag)
{
    int rc = 0;

    if (!sorter->rows_in_memory)
        sorter->rows_in_memory = ROWS_IN_MEMORY;
    if (sorter->rows.count == sorter->rows_in_memory)
        rc = spill(sorter, diag);
    row.number = sorter->count++;
    if (rc == 0 && array_push(&sorter->rows, row) < 0)
        rc = diag_set(diag, -ENOMEM, "no memory for the rows");
    return rc;
}

static void rewind_rows(struct row_sorter *sorter)
{
    uint64_t first = 0;

    sorter->place = 0;
    for (size_t i = 0; i < sorter->parts.count; i++) {
        struct row_sorter_part *part = &sorter->parts.items[i];

        part->first = first;
        part->count = part->row_count;
        part->at = part->end = 0;
        first += part->row_count;
    }
}

int row_sorter_sort(struct row_sorter *sorter, struct diag *diag)
{
    int rc;

    if (sorter->is_sorted) {
        rewind_rows(sorter);
        return 0;
    }
    sorter->is_sorted = true;
    if (!sorter->file) {
        sort_rows(sorter);
        return 0;
    }
    rc = spill(sorter, diag);
    array_deinit(&sorter->rows);
    errno = 0;
    if (rc == 0 && fflush(sorter->file) == EOF)
        rc = file_failed("write", diag);
    for (size_t i = 0; i < sorter->parts.count && rc == 0; i++) {
        sorter->parts.items[i].loaded = malloc(ROWS_PER_LOAD * sizeof(struct import_row));
        if (!sorter->parts.items[i].loaded)
            rc = diag_set(diag, -ENOMEM, "no memory to merge the rows");
    }
    return rc;
}

static int load(struct row_sorter *sorter, struct row_sorter_part *part, struct diag *diag)
{
    size_t count = part->count < ROWS_PER_LOAD ? (size_t)part->count : ROWS_PER_LOAD;

    errno = 0;
    if (fseeko(sorter->file, (off_t)(part->first * sizeof(*part->loaded)), SEEK_SET) < 0 ||
        fread(part->loaded, sizeof(*part->loaded), count, sorter->file) != count)
        return file_failed("read", diag);
    part->first += count;
    part->count -= count;
    part->at = 0;
    part->end = count;
    return 0;
}

/* There are a few parts for each gigabyte: looking at all of them is cheap enough. */
static int next_of_parts(struct row_sorter *sorter, struct import_row *out_row, struct diag *diag)
{
    struct row_sorter_part *least = NULL;

    for (size_t i = 0; i < sorter->parts.count; i++) {
        struct row_sorter_part *part = &sorter->parts.items[i];

        if (part->at == part->end && part->count) {
            int rc = load(sorter, part, diag);

            if (rc < 0)
                return rc;
        }
        if (part->at < part->end &&
            (!least || compare(&part->loaded[part->at], &least->loaded[least->at]) < 0))
            least = part;
    }
    if (!least)
        return 0;
    *out_row = least->loaded[least->at++];
    return 1;
}

int row_sorter_next(struct row_sorter *sorter, struct import_row *out_row, struct diag *diag)
{
    if (sorter->file)
        return next_of_parts(sorter, out_row, diag);
    if (sorter->place == sorter->rows.count)
        return 0;
    *out_row = sorter->rows.items[sorter->place++];
    return 1;
}

void row_sorter_deinit(struct row_sorter *sorter)
{
    for (size_t i = 0; i < sorter->parts.count; i++)
        free(sorter->parts.items[i].loaded);
    array_deinit(&sorter->parts);
    array_deinit(&sorter->rows);
    if (sorter->file)
        fclose(sorter->file);
    *sorter = (struct row_sorter){0};
}
