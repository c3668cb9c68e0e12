/* SPDX-License-Identifier: Apache-2.0 */
/* Folded stacks into spans, and lines that are none. */
#include <sqlite3.h>

#include "analyze/import/folded.h"
#include "tests/support/check.h"
#include "tests/support/temp.h"

static char *folder;

static int import_with(const char *text, struct import_options options, struct store **out_store,
                       struct diag *diag)
{
    char *path = temp_write(folder, "stacks.txt", text, strlen(text));
    int rc;

    CHECK_OK(store_open("", STORE_MEMORY, out_store, diag));
    rc = import_folded(path, "stacks.txt", *out_store, &options, diag);
    free(path);
    return rc;
}

static int import(const char *text, bool lenient, struct store **out_store, struct diag *diag)
{
    return import_with(text, (struct import_options){.lenient = lenient}, out_store, diag);
}

static bool is_detected(const char *text)
{
    char *path = temp_write(folder, "stacks.txt", text, strlen(text));
    bool is_folded = import_folded_detects(path);

    free(path);
    return is_folded;
}

static void check_text(struct store *store, const char *sql, const char *wanted)
{
    sqlite3_stmt *statement;

    assert_int_equal(sqlite3_prepare_v2(store_handle(store), sql, -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    assert_string_equal((const char *)sqlite3_column_text(statement, 0), wanted);
    sqlite3_finalize(statement);
}

static void stacks_become_nested_spans(void **state)
{
    struct store *store;
    struct diag diag = {0};

    CHECK_OK(import(
        "\xef\xbb\xbfm.py(3):_main;a 5\r\nm.py(3):_main;a 2\n\nm.py(3):_main 1\nm.py(3):_main;b;a "
        "4\nx 0.5",
        false, &store, &diag));
    check_text(store,
               "SELECT group_concat(a, ';') FROM (SELECT name || ' ' || start_ns || ' ' || dur_ns"
               " AS a FROM event JOIN op USING (op_id) ORDER BY start_ns, dur_ns DESC, name DESC)",
               "m.py(3):_main 0 12000;a 0 7000;b 8000 4000;a 8000 4000;x 12000 500");
    /* Inner spans come first, also where the outer one is not longer. */
    check_text(store,
               "SELECT group_concat(name, ';') FROM (SELECT name FROM event JOIN op USING (op_id)"
               " ORDER BY event.rowid)",
               "a;a;b;m.py(3):_main;x");
    check_text(store, "SELECT group_concat(source) FROM op", "m.py:3");
    check_text(store, "SELECT note FROM session",
               "stacks.txt: 5 folded stacks, one behind the other; times are counts of samples");
    check_text(store, "SELECT source FROM session", STORE_SOURCE_SAMPLES);
    store_close(&store);
}

static void counts_stand_for_a_time(void **state)
{
    const struct import_options options = {.sample_ns = 10000000};
    struct store *store;
    struct diag diag = {0};

    CHECK_OK(import_with("a;b 5\na 0.25\n", options, &store, &diag));
    check_text(store, "SELECT group_concat(dur_ns) FROM (SELECT dur_ns FROM event ORDER BY rowid)",
               "50000000,52500000");
    check_text(store, "SELECT source FROM session", "folded");
    check_text(store, "SELECT note FROM session",
               "stacks.txt: 2 folded stacks, one behind the other; a count stands for 10000000 ns");
    store_close(&store);
    assert_int_equal(import_with("a 9000000000000\n", options, &store, &diag), -EUCLEAN);
    store_close(&store);
}

static void other_lines_are_damage(void **state)
{
    struct store *store;
    struct diag diag = {0};

    assert_int_equal(import("a 1\nno count here\nb 2\n", false, &store, &diag), -EUCLEAN);
    assert_string_equal(diag.text, "stacks.txt: the line at byte 4 is no stack with a count");
    assert_int_equal(diag.offset, 4);
    check_text(store, "SELECT count(*) FROM session", "0");
    store_close(&store);
    CHECK_OK(import("a 1\nno count here\nb 2\n", true, &store, &diag));
    check_text(store, "SELECT count(*) FROM event", "2");
    check_text(store, "SELECT note LIKE '%; 1 lines without a count: left out' FROM session", "1");
    store_close(&store);
}

static void only_stacks_are_detected(void **state)
{
    assert_true(is_detected("\na;b 3\n"));
    assert_true(is_detected("a 3"));
    assert_false(is_detected("a 3x\nb 4\n"));
    assert_false(is_detected(" 3\n"));
    assert_false(is_detected("# comment\n"));
    assert_false(is_detected(""));
}

static int set_up(void **state)
{
    folder = temp_create();
    return 0;
}

static int tear_down(void **state)
{
    temp_destroy(&folder);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_stand_for_a_time),
        cmocka_unit_test(stacks_become_nested_spans),
        cmocka_unit_test(other_lines_are_damage),
        cmocka_unit_test(only_stacks_are_detected),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
