/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many rows at once. The rows are laid out as the b-tree pages of a table in an image of an SQLite
 * database in memory; sqlite3_deserialize() makes it an attached database; then `INSERT INTO main.t
 * SELECT * FROM seg.t` copies the records whole, without decoding them (SQLite's transfer
 * optimisation). Only public interfaces and the published file format are used; where SQLite
 * refuses, and for a few rows, each row is a prepared INSERT.
 *
 * SQLite up to 3.40 at least opens a new image in the middle of a transaction that has read the
 * last one: then images are small and stay in the CPU's cache. Later versions, as their manual
 * says, do not (SQLITE_BUSY): then there is one large image per table and transaction, and rows
 * that are added to the same table in the same transaction once more go one by one.
 */
#ifndef OPTRACE_SCHEMA_STORE_ROWS_H
#define OPTRACE_SCHEMA_STORE_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"

struct store;
struct sqlite3_stmt;

enum {
    ROWS_COLUMNS_MAX = 8,
    ROWS_IMAGE_SMALL = 1 << 13, /* rows of one image: 280 KiB of them as they are on average */
    ROWS_IMAGE_MAX = 1 << 17,   /* rows of a large one, which has at most 10 MiB */
    ROWS_COPY_MIN = 48,         /* for fewer, attaching the image costs more than it saves */
    ROWS_LEAVES_MAX = 330,      /* what ROWS_IMAGE_MAX of the longest rows fill */
};

/* A table whose columns are all INTEGER, except the last where `last_is_real`. */
struct rows_table {
    const char *name;
    const char *columns; /* "a,b,c", in the order of the table */
    int column_count;    /* 5 to ROWS_COLUMNS_MAX */
    bool last_is_real;
};

/* A table being written; {.table = ...} is a valid start. */
struct rows {
    const struct rows_table *table;
    uint8_t *image; /* the database, kept for the next call; pages from 1: schema, root, leaves */
    uint32_t page_capacity;
    uint32_t leaf_count;
    uint32_t row_count;
    uint32_t leaf_rows;                  /* of the last leaf */
    uint32_t leaf_free;                  /* offset of the lowest cell of the last leaf */
    uint32_t leaf_last[ROWS_LEAVES_MAX]; /* last rowid of each leaf */
    bool is_attached;
    bool is_large;               /* images are large: SQLite opens one per transaction */
    bool is_refused;             /* SQLite will not: no further try */
    struct sqlite3_stmt *copy;   /* INSERT ... SELECT * */
    struct sqlite3_stmt *insert; /* INSERT ... VALUES */
};

/**
 * Append rows to the table of this name in main.
 *
 * values  `count` times `column_count` numbers, STORE_NULL being NULL; for a REAL column the bits
 * of a double
 *
 * Returns 0 or a negative errno; then some of the rows may be there and the transaction is to be
 * rolled back.
 */
int store_rows_add(struct store *store, struct rows *rows, const void *values, size_t count,
                   struct diag *diag);

/** How many rows go through one image, while they are in a cache. */
static inline size_t store_rows_part(const struct rows *rows)
{
    return rows->is_large ? ROWS_IMAGE_MAX : ROWS_IMAGE_SMALL;
}

/** The same through an image whatever their number, which is ROWS_IMAGE_MAX at most: what
 * store_rows_add() does with many. Outside of its file, for tests. */
int store_rows_copy(struct store *store, struct rows *rows, const void *values, size_t count,
                    struct diag *diag);

/** After the database is closed: frees the image. */
void store_rows_deinit(struct rows *rows);

/** Before the database is closed: finalizes the statements. */
void store_rows_finalize(struct rows *rows);

#endif
