/* SPDX-License-Identifier: Apache-2.0 */
/* Rows as table pages. The layout is that of SQLite's published file format, sections 1.3 to 2.1:
 * a header in page 1, which also is the schema's leaf; the table's root in page 2; its leaves from
 * page 3 on. A table that fits one leaf has that as its root, since an interior page needs a cell.
 */
#include "schema/store/rows.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schema/store/private.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum {
    PAGE_BYTES = 32768,
    LEAF_HEADER_BYTES = 8,
    INTERIOR_HEADER_BYTES = 12,
    PAGES_BEFORE_LEAVES = 2,
    /* length, rowid, header length, a type per column, 8 bytes per column */
    CELL_BYTES_MAX = 1 + 3 + 1 + ROWS_COLUMNS_MAX + 8 * ROWS_COLUMNS_MAX,
};

static_assert(ROWS_LEAVES_MAX * ((PAGE_BYTES - LEAF_HEADER_BYTES) / (CELL_BYTES_MAX + 2)) >=
                  ROWS_IMAGE_MAX,
              "an image of the longest rows has room for all its leaves");
static_assert(ROWS_LEAVES_MAX * (2 + 4 + 3) + INTERIOR_HEADER_BYTES <= PAGE_BYTES,
              "the root has room for a cell per leaf");
static_assert(ROWS_COLUMNS_MAX == 8, "the types of a row fit 64 bits");
static_assert(ROWS_IMAGE_MAX < 1 << 21, "a rowid is a varint of three bytes at most");

/* SQLite's serial types of integers, by the number of bits that they need with their sign. */
static const uint8_t type_of_bits[65] = {
    1, 1, 1, 1, 1, 1, 1, 1, 1,                      /* 1 byte */
    2, 2, 2, 2, 2, 2, 2, 2,                         /* 2 bytes */
    3, 3, 3, 3, 3, 3, 3, 3,                         /* 3 bytes */
    4, 4, 4, 4, 4, 4, 4, 4,                         /* 4 bytes */
    5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5, /* 6 bytes */
    6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, 6, /* 8 bytes */
};
static const uint8_t bytes_of_type[10] = {0, 1, 2, 3, 4, 6, 8, 8, 0, 0};
enum { TYPE_NULL = 0, TYPE_REAL = 7, TYPE_ZERO = 8 /* and 9 is one */ };

static void put_u16(uint8_t *at, uint32_t value)
{
    at[0] = (uint8_t)(value >> 8);
    at[1] = (uint8_t)value;
}

static void put_u32(uint8_t *at, uint32_t value)
{
    put_u16(at, value >> 16);
    put_u16(at + 2, value);
}

/* Store 8 bytes that end before `end`. */
static inline void put_u64_before(uint8_t *end, uint64_t bits)
{
    memcpy(end - sizeof(bits), &bits, sizeof(bits));
}

/* A varint that ends before `end`. Returns its first byte. */
static inline uint8_t *put_varint_before(uint8_t *end, uint32_t value)
{
    *--end = (uint8_t)(value & 0x7f);
    while (value >>= 7)
        *--end = (uint8_t)(0x80 | (value & 0x7f));
    return end;
}

static bool is_nan(int64_t bits)
{
    return (bits & INT64_MAX) > INT64_C(0x7ff0000000000000);
}

static inline uint8_t type_of(int64_t value)
{
    if (value == STORE_NULL)
        return TYPE_NULL;
    if ((uint64_t)value <= 1)
        return (uint8_t)(TYPE_ZERO + value);
    return type_of_bits[64 - __builtin_clrsbll(value)];
}

/* A value that ends before `end`, with its type before those of the columns behind it. Returns its
 * first byte. */
static inline __attribute__((always_inline)) uint8_t *layout_value(const char *at, bool is_real,
                                                                   uint64_t *types, uint8_t *end)
{
    int64_t value;
    uint8_t type;

    memcpy(&value, at, sizeof(value));
    type = type_of(value);
    if (is_real)
        type = is_nan(value) ? TYPE_NULL : TYPE_REAL;
    put_u64_before(end, __builtin_bswap64((uint64_t)value));
    *types = *types << 8 | type;
    return end - bytes_of_type[type];
}

/* What stands before the values of a cell, which lie from `at` to `end`. Returns its first byte. */
static inline __attribute__((always_inline)) uint8_t *
put_header(int column_count, uint64_t types, uint32_t rowid, uint8_t *at, const uint8_t *end)
{
    put_u64_before(at, htole64(types << (64 - 8 * column_count)));
    at -= column_count;
    *--at = (uint8_t)(1 + column_count);
    return put_varint_before(put_varint_before(at, rowid), (uint32_t)(end - at));
}

/* Written out, as compilers do not unroll a loop of so few turns unless they are told to. */
#define LAYOUT_COLUMN(i)                                                                           \
    if (column_count > (i))                                                                        \
    at = layout_value(values + (size_t)(i) * sizeof(int64_t),                                      \
                      last_is_real && (i) == column_count - 1, &types, at)

/* One table leaf cell that ends before `end`: length of the record, rowid, record. Returns its
 * first byte. From the last value to the first byte, because then each value can be stored as 8
 * bytes, of which those that are too many lie below it, where what comes next overwrites them. */
static inline __attribute__((always_inline)) uint8_t *
layout_cell(int column_count, bool last_is_real, uint32_t rowid, const char *values, uint8_t *end)
{
    uint8_t *at = end;
    uint64_t types = 0;

    LAYOUT_COLUMN(7);
    LAYOUT_COLUMN(6);
    LAYOUT_COLUMN(5);
    LAYOUT_COLUMN(4);
    LAYOUT_COLUMN(3);
    LAYOUT_COLUMN(2);
    LAYOUT_COLUMN(1);
    LAYOUT_COLUMN(0);
    return put_header(column_count, types, rowid, at, end);
}

/* An event: what it mostly lacks stands last, and takes nothing where a record ends before it. */
static inline __attribute__((always_inline)) uint8_t *layout_event(uint32_t rowid,
                                                                   const char *values, uint8_t *end)
{
    int64_t last[2];

    memcpy(last, values + (ROWS_COLUMNS_MAX - 2) * sizeof(last[0]), sizeof(last));
    if (last[1] != STORE_NULL)
        return layout_cell(ROWS_COLUMNS_MAX, false, rowid, values, end);
    if (last[0] != STORE_NULL)
        return layout_cell(ROWS_COLUMNS_MAX - 1, false, rowid, values, end);
    return layout_cell(ROWS_COLUMNS_MAX - 2, false, rowid, values, end);
}

static uint8_t *page_of(struct rows *rows, uint32_t number)
{
    return rows->image + (size_t)(number - 1) * PAGE_BYTES;
}

static uint8_t *last_leaf(struct rows *rows)
{
    return page_of(rows, PAGES_BEFORE_LEAVES + rows->leaf_count);
}

static void finish_leaf(struct rows *rows)
{
    uint8_t *leaf = last_leaf(rows);

    leaf[0] = 13;         /* a leaf of a table */
    put_u16(leaf + 1, 0); /* no free blocks */
    put_u16(leaf + 3, rows->leaf_rows);
    put_u16(leaf + 5, rows->leaf_free);
    leaf[7] = 0; /* no fragments */
    rows->leaf_last[rows->leaf_count - 1] = rows->row_count;
}

static int begin_leaf(struct rows *rows)
{
    uint32_t page_count = PAGES_BEFORE_LEAVES + rows->leaf_count + 1;

    if (page_count > rows->page_capacity) {
        uint32_t capacity = rows->page_capacity ? rows->page_capacity * 2 : 16;
        uint8_t *image = realloc(rows->image, (size_t)capacity * PAGE_BYTES);

        if (!image)
            return -ENOMEM;
        rows->image = image;
        rows->page_capacity = capacity;
    }
    rows->leaf_count++;
    rows->leaf_rows = 0;
    rows->leaf_free = PAGE_BYTES;
    return 0;
}

/* For one more row in the last leaf. */
static inline int make_room(struct rows *rows)
{
    if (rows->leaf_free >= LEAF_HEADER_BYTES + 2 * (rows->leaf_rows + 1) + CELL_BYTES_MAX)
        return 0;
    if (rows->leaf_count)
        finish_leaf(rows);
    return begin_leaf(rows);
}

/* The leaf that the next row goes to, or NULL without memory. */
static inline uint8_t *next_cell(struct rows *rows)
{
    if (make_room(rows) < 0)
        return NULL;
    rows->row_count++;
    rows->leaf_rows++;
    return last_leaf(rows);
}

static inline void point_to_cell(struct rows *rows, uint8_t *leaf, const uint8_t *cell)
{
    rows->leaf_free = (uint32_t)(cell - leaf);
    put_u16(leaf + LEAF_HEADER_BYTES + 2 * (rows->leaf_rows - 1), rows->leaf_free);
}

static inline __attribute__((always_inline)) int append_rows(struct rows *rows, int column_count,
                                                             bool last_is_real, const char *values,
                                                             size_t count)
{
    for (; count > 0; count--, values += (size_t)column_count * sizeof(int64_t)) {
        uint8_t *leaf = next_cell(rows), *end, *cell;

        if (!leaf)
            return -ENOMEM;
        end = leaf + rows->leaf_free;
        if (column_count == ROWS_COLUMNS_MAX && !last_is_real)
            cell = layout_event(rows->row_count, values, end);
        else
            cell = layout_cell(column_count, last_is_real, rows->row_count, values, end);
        point_to_cell(rows, leaf, cell);
    }
    return 0;
}

/* Page 1, as SQLite itself makes it for this table. */
static int copy_schema_page(struct rows *rows)
{
    char sql[512];
    sqlite3 *db = NULL;
    uint8_t *made = NULL;
    sqlite3_int64 size = 0;
    int code = sqlite3_open_v2(":memory:", &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
    size_t used = (size_t)snprintf(sql, sizeof(sql), "PRAGMA page_size=%d;CREATE TABLE %s(",
                                   PAGE_BYTES, rows->table->name);
    const char *column = rows->table->columns;

    for (int i = 0; i < rows->table->column_count; i++) {
        bool is_last = i == rows->table->column_count - 1;
        size_t length = strcspn(column, ",");

        used += (size_t)snprintf(sql + used, sizeof(sql) - used, "%.*s %s%s", (int)length, column,
                                 is_last && rows->table->last_is_real ? "REAL" : "INTEGER",
                                 is_last ? ")" : ",");
        column += length + 1;
    }
    if (code == SQLITE_OK)
        code = sqlite3_exec(db, sql, NULL, NULL, NULL);
    if (code == SQLITE_OK)
        made = sqlite3_serialize(db, "main", &size, 0);
    if (made && size == 2 * PAGE_BYTES)
        memcpy(rows->image, made, PAGE_BYTES);
    else
        code = SQLITE_ERROR;
    sqlite3_free(made);
    sqlite3_close(db);
    return code;
}

/* The root: a cell per leaf but the last, with its page and its last rowid. */
static void layout_root(struct rows *rows)
{
    uint8_t *root = page_of(rows, 2);
    uint32_t cell_count = rows->leaf_count - 1;
    uint32_t free_offset = PAGE_BYTES;

    if (cell_count == 0) {
        memcpy(root, last_leaf(rows), PAGE_BYTES);
        return;
    }
    for (uint32_t i = 0; i < cell_count; i++) {
        uint8_t *cell = put_varint_before(root + free_offset, rows->leaf_last[i]) - 4;

        put_u32(cell, PAGES_BEFORE_LEAVES + 1 + i);
        free_offset = (uint32_t)(cell - root);
        put_u16(root + INTERIOR_HEADER_BYTES + 2 * i, free_offset);
    }
    root[0] = 5; /* an interior page of a table */
    put_u16(root + 1, 0);
    put_u16(root + 3, cell_count);
    put_u16(root + 5, free_offset);
    root[7] = 0;
    put_u32(root + 8, PAGES_BEFORE_LEAVES + rows->leaf_count); /* the rightmost child */
}

/* Make page 1 fit the others. Returns the size of the image in bytes. */
static size_t finish_header(struct rows *rows)
{
    uint32_t page_count = rows->leaf_count == 1 ? 2 : PAGES_BEFORE_LEAVES + rows->leaf_count;
    put_u32(rows->image + 24, 1); /* change counter, */
    put_u32(rows->image + 28, page_count);
    put_u32(rows->image + 92, 1); /* and for which of its values the page count is right */
    return (size_t)page_count * PAGE_BYTES;
}

static int attach(struct store *store, struct rows *rows)
{
    char sql[128];
    int code;

    if (rows->is_attached)
        return SQLITE_OK;
    code = copy_schema_page(rows);
    if (code != SQLITE_OK)
        return code;
    snprintf(sql, sizeof(sql), "ATTACH ':memory:' AS seg_%s", rows->table->name);
    code = sqlite3_exec(store->db, sql, NULL, NULL, NULL);
    rows->is_attached = code == SQLITE_OK;
    return code;
}

/* Make the image a database and its copy statement ready. Whatever fails here is no error of the
 * store: the rows can still go one by one. */
static int open_image(struct store *store, struct rows *rows)
{
    char sql[128];
    size_t image_bytes;
    int code = attach(store, rows);

    if (code != SQLITE_OK)
        return code;
    image_bytes = finish_header(rows);
    snprintf(sql, sizeof(sql), "seg_%s", rows->table->name);
    code = sqlite3_deserialize(store->db, sql, rows->image, (sqlite3_int64)image_bytes,
                               (sqlite3_int64)image_bytes, SQLITE_DESERIALIZE_READONLY);
    if (code == SQLITE_OK) {
        /* Pages are read where they lie, and not copied into a cache of its own. (That its size be
         * small as well would need a statement that reads the schema once more.) */
        snprintf(sql, sizeof(sql), "PRAGMA seg_%s.mmap_size = %zu", rows->table->name, image_bytes);
        code = sqlite3_exec(store->db, sql, NULL, NULL, NULL);
    }
    if (code != SQLITE_OK || rows->copy)
        return code;
    snprintf(sql, sizeof(sql), "INSERT INTO main.%s SELECT * FROM seg_%s.%s", rows->table->name,
             rows->table->name, rows->table->name);
    return sqlite3_prepare_v3(store->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &rows->copy, NULL);
}

static int prepare_insert(struct store *store, struct rows *rows, struct diag *diag)
{
    char sql[256];
    int code;

    if (rows->insert)
        return 0;
    snprintf(sql, sizeof(sql), "INSERT INTO main.%s(%s) VALUES(%.*s)", rows->table->name,
             rows->table->columns, 2 * rows->table->column_count - 1, "?,?,?,?,?,?,?,?");
    code = sqlite3_prepare_v3(store->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &rows->insert, NULL);
    return code == SQLITE_OK ? 0 : store_fail(store, code, "write", diag);
}

static int insert_row(struct store *store, struct rows *rows, const int64_t *values,
                      struct diag *diag)
{
    const struct rows_table *table = rows->table;

    for (int i = 0; i < table->column_count; i++) {
        double real;

        memcpy(&real, &values[i], sizeof(real));
        if (table->last_is_real && i == table->column_count - 1)
            sqlite3_bind_double(rows->insert, i + 1, real);
        else
            store_bind_int(rows->insert, i + 1, values[i]);
    }
    return store_step(store, rows->insert, "write", diag);
}

static int insert_rows(struct store *store, struct rows *rows, const char *values, size_t count,
                       struct diag *diag)
{
    size_t row_bytes = (size_t)rows->table->column_count * sizeof(int64_t);
    int64_t row[ROWS_COLUMNS_MAX];
    int rc = prepare_insert(store, rows, diag);

    for (; count > 0 && rc == 0; count--, values += row_bytes) {
        memcpy(row, values, row_bytes);
        rc = insert_row(store, rows, row, diag);
    }
    return rc;
}

static bool are_events(const struct rows_table *table)
{
    return table->column_count == ROWS_COLUMNS_MAX && !table->last_is_real;
}

/* Events, of which there are the most, have a loop without a loop inside. */
static inline __attribute__((always_inline)) int append_all(struct rows *rows, const char *values,
                                                            size_t count)
{
    const struct rows_table *table = rows->table;

    if (are_events(table))
        return append_rows(rows, ROWS_COLUMNS_MAX, false, values, count);
    return append_rows(rows, table->column_count, table->last_is_real, values, count);
}

#if defined(__x86_64__)
/* To count leading zeros is one instruction where there is AVX2, and many without. */
__attribute__((target("avx2,lzcnt"))) static int append_avx2(struct rows *rows, const char *values,
                                                             size_t count)
{
    return append_all(rows, values, count);
}

/* What processors have that have VBMI2: Intel's since Ice Lake, AMD's since Zen 4. */
#define AVX512                                                                                     \
    __attribute__((target("avx512bw,avx512cd,avx512vl,avx512vbmi,avx512vbmi2,popcnt,lzcnt")))

/* The first bytes of a vector, so that they end before `end`. What then lies below is garbage, which
 * what comes next overwrites. Returns the first byte. */
AVX512 static inline uint8_t *put_bytes_before(uint8_t *end, __m512i bytes, int count)
{
    static const uint8_t places[64] = {
        0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
        22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43,
        44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63};
    const __m512i from = _mm512_add_epi8(_mm512_loadu_si512(places), _mm512_set1_epi8((char)count));

    _mm512_storeu_si512(end - sizeof(bytes), _mm512_permutexvar_epi8(from, bytes));
    return end - count;
}

/* What layout_event() does, for all columns at once. */
AVX512 static inline uint8_t *layout_event_avx512(uint32_t rowid, const char *at, uint8_t *end)
{
    /* By leading zeros of a value, or of its complement where it is negative; 64 stands at 0. */
    static const uint8_t type_of_zeros[64] = {
        [0] = 1,         [1 ... 16] = 6,  [17 ... 32] = 5, [33 ... 40] = 4,
        [41 ... 48] = 3, [49 ... 56] = 2, [57 ... 63] = 1,
    };
    /* Of its eight bytes, the most significant first. */
    static const uint8_t kept_of_type[16] = {0, 0x80, 0xc0, 0xe0, 0xf0, 0xfc, 0xff};
    static const uint8_t place_of_byte[16] = {7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8};
    const __m512i values = _mm512_loadu_si512(at);
    const __m512i signs = _mm512_srai_epi64(values, 63);
    const __mmask8 nulls = _mm512_cmpeq_epi64_mask(values, _mm512_set1_epi64(STORE_NULL));
    const __mmask8 bits = _mm512_cmple_epu64_mask(values, _mm512_set1_epi64(1));
    const int column_count = nulls < 0x80   ? ROWS_COLUMNS_MAX
                             : nulls < 0xc0 ? ROWS_COLUMNS_MAX - 1
                                            : ROWS_COLUMNS_MAX - 2;
    __m512i types = _mm512_lzcnt_epi64(_mm512_xor_si512(values, signs)), bytes;
    __m128i all_types;
    uint64_t kept;

    types = _mm512_permutexvar_epi8(types, _mm512_loadu_si512(type_of_zeros));
    types = _mm512_mask_add_epi64(types, bits, values, _mm512_set1_epi64(TYPE_ZERO));
    all_types = _mm512_maskz_cvtepi64_epi8((__mmask8)~nulls, types);
    kept = (uint64_t)_mm_cvtsi128_si64(
        _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)kept_of_type), all_types));
    bytes = _mm512_shuffle_epi8(
        values, _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)place_of_byte)));
    bytes = _mm512_maskz_compress_epi8(kept, bytes);
    return put_header(column_count, (uint64_t)_mm_cvtsi128_si64(all_types), rowid,
                      put_bytes_before(end, bytes, __builtin_popcountll(kept)), end);
}

/* As many as the leaf has room for: at least one. Returns how many. */
AVX512 static size_t fill_leaf_avx512(struct rows *rows, const char *values, size_t count)
{
    uint8_t *leaf = last_leaf(rows), *cell = leaf + rows->leaf_free;
    uint8_t *pointer = leaf + LEAF_HEADER_BYTES + 2 * rows->leaf_rows;
    uint32_t rowid = rows->row_count;
    size_t i;

    for (i = 0; i < count && cell >= pointer + 2 + CELL_BYTES_MAX; i++, pointer += 2) {
        cell = layout_event_avx512(++rowid, values + i * ROWS_COLUMNS_MAX * sizeof(int64_t), cell);
        put_u16(pointer, (uint32_t)(cell - leaf));
    }
    rows->row_count = rowid;
    rows->leaf_rows += (uint32_t)i;
    rows->leaf_free = (uint32_t)(cell - leaf);
    return i;
}

AVX512 static int append_events_avx512(struct rows *rows, const char *values, size_t count)
{
    while (count > 0) {
        size_t done;

        if (make_room(rows) < 0)
            return -ENOMEM;
        done = fill_leaf_avx512(rows, values, count);
        values += done * ROWS_COLUMNS_MAX * sizeof(int64_t);
        count -= done;
    }
    return 0;
}

static int append_best(struct rows *rows, const char *values, size_t count)
{
    if (are_events(rows->table) && __builtin_cpu_supports("avx512vbmi2"))
        return append_events_avx512(rows, values, count);
    return __builtin_cpu_supports("avx2") ? append_avx2(rows, values, count)
                                          : append_all(rows, values, count);
}
#else
static int append_best(struct rows *rows, const char *values, size_t count)
{
    return append_all(rows, values, count);
}
#endif

static int layout_rows(struct rows *rows, const char *values, size_t count)
{
    int rc;

    rows->row_count = 0;
    rows->leaf_count = 0;
    rows->leaf_rows = 0;
    rows->leaf_free = 0;
    rc = append_best(rows, values, count);
    if (rc < 0)
        return rc;
    finish_leaf(rows);
    layout_root(rows);
    return 0;
}

int store_rows_copy(struct store *store, struct rows *rows, const void *values, size_t count,
                    struct diag *diag)
{
    int rc = layout_rows(rows, values, count);
    int code;

    if (rc < 0)
        return diag_set(diag, rc, "no memory for %zu rows of %s", count, store->path);
    code = open_image(store, rows);
    if (code != SQLITE_OK) {
        if (code == SQLITE_BUSY)
            rows->is_large = true;
        else
            rows->is_refused = true;
        return insert_rows(store, rows, values, count, diag);
    }
    code = sqlite3_step(rows->copy);
    rc = code == SQLITE_DONE ? 0 : store_fail(store, code, "write", diag);
    sqlite3_reset(rows->copy);
    return rc;
}

int store_rows_add(struct store *store, struct rows *rows, const void *values, size_t count,
                   struct diag *diag)
{
    size_t row_bytes = (size_t)rows->table->column_count * sizeof(int64_t);
    const char *at = values;
    int rc = 0;

    while (count > 0 && rc == 0) {
        size_t part = store_rows_part(rows);

        part = part < count ? part : count;
        if (part < ROWS_COPY_MIN || rows->is_refused)
            rc = insert_rows(store, rows, at, part, diag);
        else
            rc = store_rows_copy(store, rows, at, part, diag);
        at += part * row_bytes;
        count -= part;
    }
    return rc;
}

void store_rows_finalize(struct rows *rows)
{
    sqlite3_finalize(rows->copy);
    sqlite3_finalize(rows->insert);
    rows->copy = NULL;
    rows->insert = NULL;
}

void store_rows_deinit(struct rows *rows)
{
    free(rows->image);
    rows->image = NULL;
    rows->page_capacity = 0;
}
