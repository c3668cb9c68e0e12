/* SPDX-License-Identifier: Apache-2.0 */
/* Rows laid out as table pages: the same as by INSERT, for every size and shape, and whole pages
 * that SQLite itself finds in order. */
#include <sqlite3.h>

#include "schema/store/private.h"
#include "tests/support/check.h"
#include "tests/support/draw.h"
#include "tests/support/store_support.h"
#include "tests/support/temp.h"

static struct store *open_memory(void)
{
    return store_support_open(NULL, STORE_MEMORY);
}

static void check_integrity(struct store *store, const char *schema)
{
    char sql[64];
    sqlite3_stmt *statement;

    snprintf(sql, sizeof(sql), "PRAGMA %s.integrity_check", schema);
    assert_int_equal(sqlite3_prepare_v2(store->db, sql, -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    assert_string_equal((const char *)sqlite3_column_text(statement, 0), "ok");
    sqlite3_finalize(statement);
}

static uint64_t seed = DRAW_SEED;

static uint64_t random_u64(void)
{
    return draw_u64(&seed);
}

/* The ends of each length, of both signs, and NULL. */
static const int64_t number_ends[] = {0,
                                      1,
                                      -1,
                                      2,
                                      127,
                                      128,
                                      -128,
                                      -129,
                                      32767,
                                      32768,
                                      -32768,
                                      -32769,
                                      8388607,
                                      8388608,
                                      -8388608,
                                      -8388609,
                                      INT32_MAX,
                                      (int64_t)INT32_MAX + 1,
                                      INT32_MIN,
                                      (int64_t)INT32_MIN - 1,
                                      ((int64_t)1 << 47) - 1,
                                      (int64_t)1 << 47,
                                      -((int64_t)1 << 47),
                                      -((int64_t)1 << 47) - 1,
                                      INT64_MAX,
                                      INT64_MIN + 1,
                                      STORE_NULL};

/* Numbers of every length, both signs, the ends of each length, and NULL. */
static int64_t random_value(void)
{
    uint64_t random = random_u64();

    if (random % 4 == 0)
        return number_ends[random_u64() % (sizeof(number_ends) / sizeof(number_ends[0]))];
    return (int64_t)random_u64() >> (random >> 8) % 64;
}

/* Two tables with the same rows, one filled through pages, one by INSERT, hold the same. */
static void check_same(struct store *pages, struct store *inserts, const char *table,
                       int column_count, bool last_is_real)
{
    char sql[64];
    sqlite3_stmt *a, *b;
    int code;

    snprintf(sql, sizeof(sql), "SELECT rowid,* FROM %s ORDER BY rowid", table);
    assert_int_equal(sqlite3_prepare_v2(pages->db, sql, -1, &a, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(inserts->db, sql, -1, &b, NULL), SQLITE_OK);
    while ((code = sqlite3_step(a)) == SQLITE_ROW) {
        assert_int_equal(sqlite3_step(b), SQLITE_ROW);
        for (int i = 0; i <= column_count; i++) {
            assert_int_equal(sqlite3_column_type(a, i), sqlite3_column_type(b, i));
            if (last_is_real && i == column_count)
                assert_true(sqlite3_column_double(a, i) == sqlite3_column_double(b, i));
            else
                assert_true(sqlite3_column_int64(a, i) == sqlite3_column_int64(b, i));
        }
    }
    assert_int_equal(code, SQLITE_DONE);
    assert_int_equal(sqlite3_step(b), SQLITE_DONE);
    sqlite3_finalize(a);
    sqlite3_finalize(b);
}

/* Add rows to the same table of both stores: through pages whatever their number, and by INSERT. */
static void add_both(struct store *pages, struct store *inserts, int which, const void *values,
                     size_t count)
{
    struct diag diag = {0};

    inserts->rows[which].is_refused = true;
    CHECK_OK(store_begin(pages, &diag));
    CHECK_OK(store_begin(inserts, &diag));
    CHECK_OK(store_rows_copy(pages, &pages->rows[which], values, count, &diag));
    CHECK_OK(store_rows_add(inserts, &inserts->rows[which], values, count, &diag));
    assert_false(pages->rows[which].is_refused);
    CHECK_OK(store_commit(pages, &diag));
    CHECK_OK(store_commit(inserts, &diag));
}

static void random_rows_are_the_same(void **state)
{
    enum { ROUNDS = 60, ROWS = 3000 };
    static int64_t values[ROWS * 8];
    struct store *pages = open_memory();
    struct store *inserts = open_memory();

    for (int round = 0; round < ROUNDS; round++) {
        size_t count = 1 + random_u64() % (round % 3 == 0 ? 5 : ROWS);
        int which = round % STORE_ROWS_COUNT;
        const struct rows_table *table = &store_rows_tables[which];
        char schema[32];

        for (size_t i = 0; i < count * (size_t)table->column_count; i++)
            values[i] = random_value();
        add_both(pages, inserts, which, values, count);
        snprintf(schema, sizeof(schema), "seg_%s", table->name);
        check_integrity(pages, schema);
    }
    check_integrity(pages, "main");
    for (int which = 0; which < STORE_ROWS_COUNT; which++)
        check_same(pages, inserts, store_rows_tables[which].name,
                   store_rows_tables[which].column_count, store_rows_tables[which].last_is_real);
    store_close(&pages);
    store_close(&inserts);
}

/* Whatever is missing of a row. */
static void rows_that_lack_any_columns_are_the_same(void **state)
{
    static int64_t values[256 * 8];
    struct store *pages = open_memory();
    struct store *inserts = open_memory();

    (void)state;
    for (size_t i = 0; i < 256 * 8; i++)
        values[i] = i / 8 >> i % 8 & 1 ? STORE_NULL : (int64_t)i + 1;
    add_both(pages, inserts, STORE_ROWS_EVENT, values, 256);
    check_same(pages, inserts, "event", 8, false);
    store_close(&pages);
    store_close(&inserts);
}

/* A number takes as many bytes as SQLite itself would give it: 2 pages of the 8,192 rows of each are
 * a byte per column. */
static void numbers_are_as_short_as_they_can_be(void **state)
{
    static int64_t values[ROWS_IMAGE_SMALL * 8];

    (void)state;
    /* all but the last, NULL */
    for (size_t end = 0; end < sizeof(number_ends) / sizeof(number_ends[0]) - 1; end++) {
        struct store *pages = open_memory();
        struct store *inserts = open_memory();

        for (size_t i = 0; i < ROWS_IMAGE_SMALL * 8; i++)
            values[i] = number_ends[end];
        add_both(pages, inserts, STORE_ROWS_EVENT, values, ROWS_IMAGE_SMALL);
        CHECK_U64(store_support_int(pages, "PRAGMA page_count"),
                  store_support_int(inserts, "PRAGMA page_count"));
        store_close(&pages);
        store_close(&inserts);
    }
}

static void check_count(struct store *store, const int64_t *values, size_t count,
                        uint32_t leaf_count)
{
    struct rows *rows = &store->rows[STORE_ROWS_EVENT];
    struct diag diag = {0};

    CHECK_OK(store_begin(store, &diag));
    CHECK_OK(store_rows_copy(store, rows, values, count, &diag));
    CHECK_U64(rows->leaf_count, leaf_count);
    check_integrity(store, "seg_event");
    CHECK_U64(store_support_int(store, "SELECT count(*) FROM seg_event.event"), count);
    CHECK_OK(store_commit(store, &diag));
}

/* Every count around one full leaf and around two, with rows of the least and the greatest size. */
static void counts_around_a_full_leaf_are_whole(void **state)
{
    enum { ROWS = 3000 };
    static int64_t values[ROWS * 8];
    static const int64_t fills[] = {0, INT64_MAX, STORE_NULL};
    struct store *store = open_memory();
    struct rows *rows = &store->rows[STORE_ROWS_EVENT];
    struct diag diag = {0};

    for (size_t fill = 0; fill < 3; fill++) {
        size_t ends[2]; /* rows that fill one leaf, and two: a later rowid is longer */

        for (size_t i = 0; i < ROWS * 8; i++)
            values[i] = fills[fill];
        CHECK_OK(store_begin(store, &diag));
        CHECK_OK(store_rows_copy(store, rows, values, ROWS, &diag));
        CHECK_OK(store_commit(store, &diag));
        ends[0] = rows->leaf_last[0];
        ends[1] = rows->leaf_count > 2 ? rows->leaf_last[1] : ROWS;
        check_count(store, values, 1, 1);
        check_count(store, values, 2, 1);
        check_count(store, values, ends[0] - 1, 1);
        check_count(store, values, ends[0], 1);
        check_count(store, values, ends[0] + 1, 2);
        check_count(store, values, ends[1] - 1, 2);
        check_count(store, values, ends[1], 2);
        if (ends[1] < ROWS)
            check_count(store, values, ends[1] + 1, 3);
    }
    check_integrity(store, "main");
    assert_false(rows->is_refused);
    store_close(&store);
}

static void the_largest_image_is_whole(void **state)
{
    size_t count = ROWS_IMAGE_MAX + 1000;
    int64_t *values = malloc(count * 8 * sizeof(*values));
    struct store *store = open_memory();
    struct rows *rows = &store->rows[STORE_ROWS_EVENT];
    struct diag diag = {0};

    for (size_t i = 0; i < count * 8; i++)
        values[i] = INT64_MIN + 1 + (int64_t)i;
    CHECK_OK(store_begin(store, &diag));
    CHECK_OK(store_rows_copy(store, rows, values, ROWS_IMAGE_MAX, &diag));
    check_integrity(store, "seg_event");
    CHECK_OK(store_commit(store, &diag));
    CHECK_OK(store_begin(store, &diag));
    CHECK_OK(store_rows_add(store, rows, values, count, &diag)); /* in two parts */
    CHECK_OK(store_commit(store, &diag));
    assert_false(rows->is_refused);
    CHECK_U64(store_support_int(store, "SELECT count(*) FROM event"), count + ROWS_IMAGE_MAX);
    CHECK_U64(store_support_int(store,
                                "SELECT count(*) FROM event WHERE bytes IS NULL OR lane_id + 7 <> "
                                "bytes"),
              0);
    check_integrity(store, "main");
    store_close(&store);
    free(values);
}

/* SQLite that opens one image per transaction: what does not fit goes one by one, and nothing is
 * lost or doubled. */
static void large_images_hold_the_same(void **state)
{
    size_t count = ROWS_IMAGE_MAX + 3 * ROWS_IMAGE_SMALL / 2;
    int64_t *values = malloc(count * 8 * sizeof(*values));
    struct store *store = open_memory();
    struct rows *rows = &store->rows[STORE_ROWS_EVENT];
    struct diag diag = {0};

    rows->is_large = true;
    for (size_t i = 0; i < count * 8; i++)
        values[i] = (int64_t)(i / 8);
    for (int i = 0; i < 3; i++) {
        CHECK_OK(store_begin(store, &diag));
        CHECK_OK(store_rows_add(store, rows, values, count, &diag));
        CHECK_OK(store_commit(store, &diag));
    }
    CHECK_U64(store_support_int(store, "SELECT count(*) FROM event"), 3 * count);
    CHECK_U64(store_support_int(store, "SELECT count(DISTINCT start_ns) FROM event"), count);
    check_integrity(store, "main");
    store_close(&store);
    free(values);
}

/* Not by the time that it takes: by the program that SQLite made of the statement. */
static void the_copy_decodes_no_columns(void **state)
{
    int64_t values[ROWS_COPY_MIN * 8] = {0};
    struct store *store = open_memory();
    struct diag diag = {0};

    for (int which = 0; which < STORE_ROWS_COUNT; which++) {
        struct rows *rows = &store->rows[which];
        sqlite3_stmt *statement;
        char sql[200];
        int copies = 0;

        CHECK_OK(store_begin(store, &diag));
        CHECK_OK(store_rows_add(store, rows, values, ROWS_COPY_MIN, &diag));
        assert_non_null(rows->copy);
        snprintf(sql, sizeof(sql), "EXPLAIN %s", sqlite3_sql(rows->copy));
        assert_int_equal(sqlite3_prepare_v2(store->db, sql, -1, &statement, NULL), SQLITE_OK);
        while (sqlite3_step(statement) == SQLITE_ROW) {
            const char *opcode = (const char *)sqlite3_column_text(statement, 1);

            assert_string_not_equal(opcode, "Column");
            assert_string_not_equal(opcode, "MakeRecord");
            copies += strcmp(opcode, "RowData") == 0 || strcmp(opcode, "RowCell") == 0;
        }
        assert_int_equal(copies, 1);
        sqlite3_finalize(statement);
        CHECK_OK(store_commit(store, &diag));
    }
    store_close(&store);
}

/* A table that lost a column, as a store of another version might: the copy is impossible, and the
 * row that does not fit is an error, not a crash. */
static void a_table_of_another_shape_is_refused(void **state)
{
    int64_t values[ROWS_COPY_MIN * 8] = {0};
    struct store *store = open_memory();
    struct diag diag = {0};

    assert_int_equal(sqlite3_exec(store->db,
                                  "DROP VIEW v_event; ALTER TABLE event ADD COLUMN extra INTEGER",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    CHECK_OK(store_begin(store, &diag));
    CHECK_OK(store_rows_add(store, &store->rows[STORE_ROWS_EVENT], values, ROWS_COPY_MIN, &diag));
    assert_true(store->rows[STORE_ROWS_EVENT].is_refused);
    CHECK_OK(store_commit(store, &diag));
    CHECK_U64(store_support_int(store, "SELECT count(*) FROM event WHERE extra IS NULL"),
              ROWS_COPY_MIN);
    store_close(&store);
}

static void special_reals_are_the_same(void **state)
{
    static const double specials[] = {0.0, -0.0, 1.0, -1.5, 1e300, -1e-300};
    struct store_counter counters[100];
    struct store *pages = open_memory();
    struct store *inserts = open_memory();

    for (size_t i = 0; i < 100; i++) {
        counters[i] = (struct store_counter){1, 2, STORE_NULL, (int64_t)i, specials[i % 6]};
        if (i % 10 == 7)
            counters[i].value = __builtin_nan("");
        if (i % 10 == 8)
            counters[i].value = -__builtin_inf();
    }
    add_both(pages, inserts, STORE_ROWS_COUNTER, counters, 100);
    check_same(pages, inserts, "counter", 5, true);
    CHECK_U64(store_support_int(pages, "SELECT count(*) FROM counter WHERE value IS NULL"), 10);
    store_close(&pages);
    store_close(&inserts);
}

/* Pages of a store with many events whose last columns have these values. */
static int64_t pages_of_events(int64_t correlation, int64_t bytes)
{
    enum { ROWS = 100000 };
    struct store_event *events = calloc(ROWS, sizeof(*events));
    struct store *store = open_memory();
    struct diag diag = {0};
    int64_t pages;

    assert_non_null(events);
    for (size_t i = 0; i < ROWS; i++)
        events[i] = (struct store_event){.lane_id = 1, .correlation = correlation, .bytes = bytes};
    CHECK_OK(store_begin(store, &diag));
    CHECK_OK(store_rows_add(store, &store->rows[STORE_ROWS_EVENT], events, ROWS, &diag));
    CHECK_OK(store_commit(store, &diag));
    pages = store_support_int(store, "PRAGMA page_count");
    store_close(&store);
    free(events);
    return pages;
}

/* An event has a byte less for each of its last columns that it lacks: 3 pages in 100,000. */
static void what_an_event_lacks_at_its_end_takes_no_room(void **state)
{
    int64_t whole = pages_of_events(0, 0), without_bytes = pages_of_events(0, STORE_NULL);
    int64_t without_both = pages_of_events(STORE_NULL, STORE_NULL);

    (void)state;
    assert_in_range(whole - without_bytes, 3, 4);
    assert_in_range(without_bytes - without_both, 3, 4);
    CHECK_U64(pages_of_events(STORE_NULL, 0), whole);
}

/* Once its cache is full, SQLite takes no more memory, however many batches follow. */
static void memory_stays_bounded(void **state)
{
    enum { ROWS = 20000 };
    int64_t *values = calloc(ROWS * 8, sizeof(*values));
    char *dir = temp_create();
    char *path = temp_path(dir, "store.db");
    struct store *store = NULL;
    struct diag diag = {0};
    sqlite3_int64 early = 0;

    CHECK_OK(store_open(path, STORE_WRITE, &store, &diag));
    for (int i = 0; i < 250; i++) {
        CHECK_OK(store_begin(store, &diag));
        CHECK_OK(store_rows_add(store, &store->rows[STORE_ROWS_EVENT], values, ROWS, &diag));
        CHECK_OK(store_commit(store, &diag));
        if (i == 100)
            early = sqlite3_memory_used();
    }
    assert_in_range(sqlite3_memory_used(), 1, early + 100000);
    store_close(&store);
    assert_int_equal(sqlite3_memory_used(), 0);
    temp_destroy(&dir);
    free(path);
    free(values);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_rows_are_the_same),
        cmocka_unit_test(rows_that_lack_any_columns_are_the_same),
        cmocka_unit_test(numbers_are_as_short_as_they_can_be),
        cmocka_unit_test(counts_around_a_full_leaf_are_whole),
        cmocka_unit_test(the_largest_image_is_whole),
        cmocka_unit_test(large_images_hold_the_same),
        cmocka_unit_test(the_copy_decodes_no_columns),
        cmocka_unit_test(a_table_of_another_shape_is_refused),
        cmocka_unit_test(special_reals_are_the_same),
        cmocka_unit_test(what_an_event_lacks_at_its_end_takes_no_room),
        cmocka_unit_test(memory_stays_bounded),
    };

    /* Before the store is opened, which would switch SQLite's count of its memory off. */
    assert_int_equal(sqlite3_initialize(), SQLITE_OK);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
