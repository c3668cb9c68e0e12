/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pages of a table as SQLite reads them, for whoever decodes its rows: `SELECT count(*)` makes
 * SQLite fetch each page of the table once, in order, out of the file or its log as the snapshot
 * demands. The format of pages and records is documented by SQLite and will not change within
 * version 3.
 */
#ifndef OPTRACE_ANALYZE_QUERY_TABLE_PAGES_H
#define OPTRACE_ANALYZE_QUERY_TABLE_PAGES_H

#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "schema/store/store.h"

/** Takes a page; false: it has something that a page of that table does not have. */
typedef bool table_page_fn(void *user, const uint8_t *page, int page_bytes);

/**
 * Hands over the pages that a SELECT of count(*) reads, and what it returns. Inside a transaction of
 * the caller, which keeps the schema, so that nothing but the table is read. Returns false when that
 * cannot be done with this database (in memory, an unusual layout, damage); pages may have been
 * handed over then. Whether all were is for the caller to see: their rows are as many as the count.
 */
bool table_pages(struct store *store, const char *count_sql, table_page_fn *take, void *user,
                 uint64_t *out_count);

/* Up to nine bytes, the most significant first, seven bits each. Returns NULL at the end of the
 * page. */
static inline const uint8_t *page_varint(const uint8_t *at, const uint8_t *end, uint64_t *out_value)
{
    uint64_t value = 0;

    if (at < end && !(*at & 0x80)) {
        *out_value = *at;
        return at + 1;
    }
    for (int i = 0; i < 9 && at < end; i++) {
        if (i == 8) {
            *out_value = value << 8 | *at;
            return at + 1;
        }
        value = value << 7 | (*at & 0x7f);
        if (!(*at++ & 0x80)) {
            *out_value = value;
            return at;
        }
    }
    return NULL;
}

/* Bytes of a column by its serial type, for the types that numbers and NULL have. */
static const uint8_t page_value_bytes[10] = {0, 1, 2, 3, 4, 6, 8, 8, 0, 0};

/* `page_end` is the end of the page: mostly eight bytes can be loaded at once. */
static inline int64_t page_number(const uint8_t *at, unsigned type, const uint8_t *page_end)
{
    unsigned bytes = page_value_bytes[type];
    uint64_t word;
    int64_t value;

    if (type == 0)
        return STORE_NULL;
    if (type >= 8)
        return type == 9;
    if (page_end - at >= 8) {
        memcpy(&word, at, sizeof(word));
        return (int64_t)be64toh(word) >> (64 - 8 * bytes);
    }
    value = (int8_t)at[0];
    for (unsigned i = 1; i < bytes; i++)
        value = (int64_t)((uint64_t)value << 8 | at[i]);
    return value;
}

/* One record: its header holds a type for each column, the values follow. */
static inline bool page_record(const uint8_t *record, const uint8_t *end, const uint8_t *page_end,
                               unsigned columns, int64_t *values)
{
    unsigned header_bytes = record[0]; /* below 128: tables here have 8 columns */
    const uint8_t *at = record + header_bytes;

    if (header_bytes < 1 || header_bytes >= 0x80 || at > end)
        return false;
    for (unsigned i = 0; i < columns; i++) {
        unsigned type = i + 1 < header_bytes ? record[i + 1] : 0;

        if (type > 9 || type == 7 || end - at < page_value_bytes[type])
            return false;
        values[i] = page_number(at, type, page_end);
        at += page_value_bytes[type];
    }
    return true;
}

#endif
