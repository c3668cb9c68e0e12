/* SPDX-License-Identifier: Apache-2.0 */
/* profile_analyze --import of stores: those of several hosts become one, and reports on it say what
 * they say on the sources. */
#include <sqlite3.h>
#include <string.h>

#include "tests/support/analyze_scene.h"
#include "tests/support/check.h"
#include "tests/support/memory_store.h"
#include "tests/support/rank_store.h"
#include "tests/support/temp.h"

static void add_store(const struct analyze_scene *scene, const char *name,
                      void (*make)(const char *path))
{
    char *path = temp_path(scene->dir, name);

    make(path);
    free(path);
}

/* Made-up stores number their sessions alike. */
static void rename_sessions(const struct analyze_scene *scene, const char *name)
{
    char *path = temp_path(scene->dir, name);
    sqlite3 *db = NULL;

    if (sqlite3_open(path, &db) != SQLITE_OK ||
        sqlite3_exec(db, "UPDATE session SET uuid = randomblob(16)", NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s: %s", path, sqlite3_errmsg(db));
    sqlite3_close(db);
    free(path);
}

static int start(void **state)
{
    struct analyze_scene *scene = analyze_scene_create();

    add_store(scene, "ranks.db", rank_store_make);
    add_store(scene, "memory.db", memory_store_make);
    rename_sessions(scene, "memory.db");
    *state = scene;
    return 0;
}

static int stop(void **state)
{
    analyze_scene_destroy((struct analyze_scene **)state);
    return 0;
}

#define RUN(state, ...) analyze_scene_output(*(state), (const char *const[]){__VA_ARGS__, NULL})

static void check_same(char *got, char *want)
{
    assert_string_equal(got, want);
    free(got);
    free(want);
}

/* The ranks of a job, each host's in a store of its own. */
static void stores_of_hosts_become_one(void **state)
{
    char *said;

    free(RUN(state, "ranks.db", "--session", "1", "--export", "sqlite", "-o", "h1.db"));
    free(RUN(state, "ranks.db", "--session", "2,3", "--export", "sqlite", "-o", "h2.db"));
    said = RUN(state, "--import", "h1.db", "h2.db", "--into", "all.db");
    CHECK_CONTAINS(said, "h1.db: session 1: ");
    CHECK_CONTAINS(said, "h2.db: session 2: ");
    CHECK_CONTAINS(said, "h2.db: session 3: ");
    free(said);
    check_same(RUN(state, "all.db", "--session", "1..3", "--report", "ranks"),
               RUN(state, "ranks.db", "--session", "1..3", "--report", "ranks"));
    check_same(RUN(state, "all.db", "--session", "3", "--report", "ops", "--ascii"),
               RUN(state, "ranks.db", "--session", "3", "--report", "ops", "--ascii"));
}

static int64_t query(void **state, const char *store, const char *sql)
{
    struct analyze_scene *scene = *state;
    char *path = temp_path(scene->dir, store);
    sqlite3_stmt *row = NULL;
    sqlite3 *db = NULL;
    int64_t value;

    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK ||
        sqlite3_prepare_v2(db, sql, -1, &row, NULL) != SQLITE_OK || sqlite3_step(row) != SQLITE_ROW)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    value = sqlite3_column_int64(row, 0);
    sqlite3_finalize(row);
    sqlite3_close(db);
    free(path);
    return value;
}

/* Sums over whole tables, in which no id occurs. */
static void every_table_is_copied(void **state)
{
    static const char *const sums[] = {
        "SELECT count(*) FROM session",
        "SELECT count(*) FROM model",
        "SELECT count(*) + total(computation_flop) FROM op",
        "SELECT count(*) FROM lane",
        "SELECT count(*) + sum(end_ns % 1000003) FROM run",
        "SELECT sum(start_ns % 1000003 + ifnull(dur_ns, 7) + ifnull(run, 3)) FROM event",
        "SELECT count(*) + sum(time_ns % 1000003) + sum(ifnull(bytes, 1)) FROM memory_event",
        "SELECT count(*) + sum(value) FROM counter",
        "SELECT count(*) + total(lost_count) FROM gap",
        "SELECT sum(event_count) + sum(sum_ns) FROM op_stat",
        "SELECT count(*) + sum(last_rowid - first_rowid) FROM event_batch",
        "SELECT count(*) + total(size_bytes) FROM mem_chunk",
        "SELECT count(*) FROM variable",
    };

    free(RUN(state, "--import", "ranks.db", "memory.db", "--into", "both.db"));
    for (size_t i = 0; i < sizeof(sums) / sizeof(sums[0]); i++) {
        const int64_t want = query(state, "ranks.db", sums[i]) + query(state, "memory.db", sums[i]);

        if (query(state, "both.db", sums[i]) != want)
            fail_msg("%s: %lld, not %lld", sums[i], (long long)query(state, "both.db", sums[i]),
                     (long long)want);
    }
    /* Each row belongs to what it belonged to. */
    CHECK_U64((uint64_t)query(state, "both.db", "SELECT count(*) FROM pragma_foreign_key_check"),
              0);
    CHECK_U64((uint64_t)query(state, "both.db",
                              "SELECT count(*) FROM event e LEFT JOIN lane l USING (lane_id) LEFT"
                              " JOIN op o USING (op_id) WHERE o.session_id IS NOT l.session_id"),
              0);
    CHECK_U64((uint64_t)query(state, "both.db",
                              "SELECT count(*) FROM event e WHERE NOT EXISTS (SELECT 1 FROM"
                              " event_batch b, lane l WHERE e.rowid BETWEEN first_rowid AND"
                              " last_rowid AND e.start_ns BETWEEN b.start_ns AND b.end_ns AND"
                              " l.lane_id = e.lane_id AND l.session_id BETWEEN session_min AND"
                              " session_max AND (lanes IS NULL OR e.lane_id IN (SELECT value FROM"
                              " json_each(lanes))))"),
              0);
}

static void what_is_there_is_skipped(void **state)
{
    char *said;

    free(RUN(state, "ranks.db", "--session", "2", "--export", "sqlite", "-o", "two.db"));
    free(RUN(state, "--import", "two.db", "--into", "grown.db"));
    said = RUN(state, "--import", "two.db", "--into", "grown.db");
    assert_string_equal(said, "two.db: nothing new: its sessions are there already\n");
    free(said);
    free(RUN(state, "--import", "ranks.db", "--into", "grown.db"));
    CHECK_U64((uint64_t)query(state, "grown.db", "SELECT count(*) FROM session"), 6);
    CHECK_U64((uint64_t)query(state, "grown.db", "SELECT count(*) FROM event"),
              (uint64_t)query(state, "ranks.db", "SELECT count(*) FROM event"));
    /* The third of the others, as the second was left out. */
    CHECK_U64((uint64_t)query(state, "grown.db",
                              "SELECT count(*) FROM run WHERE session_id = (SELECT session_id FROM"
                              " session ORDER BY session_id LIMIT 1 OFFSET 2)"),
              (uint64_t)query(state, "ranks.db", "SELECT count(*) FROM run WHERE session_id = 3"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stores_of_hosts_become_one),
        cmocka_unit_test(every_table_is_copied),
        cmocka_unit_test(what_is_there_is_skipped),
    };

    return cmocka_run_group_tests(tests, start, stop);
}
