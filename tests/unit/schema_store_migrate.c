/* SPDX-License-Identifier: Apache-2.0 */
/* Migration from 0.9: all of it or nothing, whenever the process dies. */
#include <signal.h>
#include <stdbool.h>
#include <unistd.h>

#include "schema/store/private.h"
#include "tests/support/check.h"
#include "tests/support/child.h"
#include "tests/support/draw.h"
#include "tests/support/place.h"
#include "tests/support/store_crash.h"
#include "tests/support/store_support.h"
#include "tests/support/temp.h"
#include "tests/support/turns.h"
#include "tests/support/wait.h"

enum { EVENTS = 20000, KILL_ROUNDS = 26 };

/* A store of 0.9 with events of two ops on two lanes, and many ops that share a long text. */
static const char fill_sql[] =
    "INSERT INTO session(session_id,uuid,start_ns,clock,source) VALUES(1,x'01',1,'tsc','live'),"
    "(2,x'02',1,'tsc','live');"
    "INSERT INTO lane(lane_id,session_id,client_lane,kind) VALUES(1,1,1,'thread'),(2,1,2,'queue');"
    "INSERT INTO op(op_id,session_id,client_op,name,type,memory_bytes,source) VALUES"
    "(1,1,1,'conv','Conv',7,'a.c:1'),(2,1,2,'relu','Relu',NULL,NULL);"
    "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i+1 FROM n WHERE i<199)"
    "INSERT INTO op(op_id,session_id,client_op,name,type,node_id,source) SELECT i+10,1+i%2,i+10,"
    "iif(i%4,printf('%.*c',400,'m'),'short'),iif(i%3,printf('%.*c',400,'m'),'T'),"
    "iif(i%5,i,NULL),printf('of its own, %100d',i) FROM n;"
    "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i+1 FROM n WHERE i<19999)"
    "INSERT INTO event(rowid,lane_id,op_id,run,start_ns,dur_ns,kern_ns,bytes) SELECT i+100,1+i%2,"
    "1+i/2%2,1,1767225600000000000+i*1000000,1000+i%100,i%10,NULL FROM n;"
    "INSERT INTO event VALUES(1,1,NULL,1767225600000000000,NULL,NULL,NULL);"
    "INSERT INTO event_batch VALUES(100,20100,1767225600000000000,1767225700000000000,1099,1,1);"
    "INSERT INTO memory_event VALUES(1,NULL,5,-4096,16);"
    "CREATE VIEW mine AS SELECT op_id, start_ns FROM event;"
    "PRAGMA journal_mode = WAL;";

static char *old_store; /* the bytes of that store */
static size_t old_bytes;
static char *dir;
static char *path;

static int make_old_store(void **state)
{
    char *sql_path = place_source("tests/golden/store_0_9.sql");
    char *sql = temp_read(sql_path, NULL);

    dir = temp_create();
    path = temp_path(dir, "store.db");
    store_support_run(path, "PRAGMA page_size = 32768");
    store_support_run(path, sql);
    store_support_run(path, fill_sql);
    old_store = temp_read(path, &old_bytes);
    free(sql);
    free(sql_path);
    return 0;
}

static int remove_place(void **state)
{
    temp_destroy(&dir);
    free(path);
    free(old_store);
    return 0;
}

static void put_old_store(void)
{
    char *wal = temp_path(dir, "store.db-wal");
    char *shm = temp_path(dir, "store.db-shm");

    unlink(wal);
    unlink(shm);
    free(temp_write(dir, "store.db", old_store, old_bytes));
    free(shm);
    free(wal);
}

/* Everything in the schema, without the quotes that renaming puts around names. */
#define SCHEMA_SQL                                                                                 \
    "SELECT type, name, replace(sql, '\"', '') FROM sqlite_master WHERE name <> 'mine' ORDER BY "  \
    "1, 2"

static void check_new(void)
{
    struct store *fresh = store_support_open(NULL, STORE_MEMORY);
    struct store *store = store_support_open(path, STORE_READ);
    char *fresh_schema = store_support_text(fresh, SCHEMA_SQL);
    char *schema = store_support_text(store, SCHEMA_SQL);

    assert_string_equal(schema, fresh_schema);
    store_support_check_integrity(store);
    CHECK_U64(store_support_int(store, "SELECT count(*) FROM event"), EVENTS + 1);
    CHECK_U64(store_support_int(store, "SELECT count(*) FROM mine"), EVENTS + 1);
    free(schema);
    free(fresh_schema);
    store_close(&store);
    store_close(&fresh);
}

static void everything_is_kept(void **state)
{
    struct store *store;
    char *text;

    put_old_store();
    store = store_support_open(path, STORE_WRITE);
    text = store_support_text(store,
                              "SELECT from_version, to_version, applied_ns > 1767225600000000000"
                              " FROM migration");
    assert_string_equal(text, "0.9|1.0|1\n1.0|1.1|1\n1.1|1.2|1\n1.2|1.3|1\n1.3|1.4|1");
    free(text);
    text = store_support_text(store, "SELECT * FROM op WHERE op_id = 1");
    assert_string_equal(
        text, "1|1|1|NULL|conv|Conv|NULL|NULL|NULL|NULL|NULL|NULL|NULL|NULL|7|NULL|a.c:1|NULL");
    free(text);
    text = store_support_text(store, "SELECT rowid, * FROM event WHERE rowid IN (101, 20100)");
    assert_string_equal(text, "101|2|1|1|1767225600001000000|1001|1|NULL|NULL\n"
                              "20100|1|1|NULL|1767225600000000000|NULL|NULL|NULL|NULL");
    free(text);
    text = store_support_text(store, "SELECT * FROM memory_event");
    assert_string_equal(text, "1|NULL|NULL|5|-4096|16");
    free(text);
    text = store_support_text(store, "SELECT key, value FROM meta");
    assert_string_equal(text, "created_by|optrace 0.0.9\ncreated_ns|1700000000000000000\n"
                              "schema_version|1.4\ntotalled|20100");
    free(text);
    store_support_check_accounts(store);
    CHECK_U64(store_support_int(store, "SELECT host_ns FROM v_op WHERE name = 'conv'"),
              store_support_int(store, "SELECT sum(dur_ns) FROM event WHERE op_id = 1 AND"
                                       " lane_id = 1"));
    store_close(&store);
    check_new();
}

/* What many ops say is there once for each of the sessions. */
static void long_texts_are_kept_once(void **state)
{
    struct store *store;

    put_old_store();
    store = store_support_open(path, STORE_WRITE);
    CHECK_U64(store_support_int(store, "SELECT count(*) FROM op"), 202);
    CHECK_U64(store_support_int(store,
                                "SELECT count(*) FROM op WHERE op_id >= 10 AND name = iif((op_id -"
                                " 10) % 4, printf('%.*c', 400, 'm'), 'short') AND type ="
                                " iif((op_id - 10) % 3, printf('%.*c', 400, 'm'), 'T') AND"
                                " node_id IS iif((op_id - 10) % 5, op_id - 10, NULL) AND source ="
                                " printf('of its own, %100d', op_id - 10)"),
              200);
    CHECK_U64(store_support_int(store, "SELECT count(*) FROM text"), 2);
    CHECK_U64(store_support_int(store, "SELECT sum(length(value)) FROM text"), 800);
    CHECK_U64(store_support_int(store, "SELECT count(*) FROM op_row WHERE typeof(name) ="
                                       " 'integer' OR typeof(type) = 'integer'"),
              183);
    store_close(&store);
}

static void reading_migrates_too(void **state)
{
    struct store *store;

    put_old_store();
    store = store_support_open(path, STORE_READ);
    CHECK_U64(store_support_int(store, "SELECT count(*) FROM op_stat"), 8);
    store_close(&store);
    check_new();
}

/* A program of an older version still runs and writes. */
static void readers_of_an_old_store_are_told_who_writes_it(void **state)
{
    struct store *store = NULL;
    struct diag diag = {0};
    int lock;

    put_old_store();
    lock = store_lock_take(path, &diag);
    assert_true(lock >= 0);
    assert_int_equal(store_open(path, STORE_READ, &store, &diag), -EBUSY);
    CHECK_CONTAINS(diag.text, "has an older schema version and cannot be brought to 1.4: process ");
    CHECK_CONTAINS(diag.text, "; end that program, or start a newer one in its place");
    close(lock);
    store = store_support_open(path, STORE_READ);
    store_close(&store);
    (void)state;
}

static void a_store_too_old_is_refused(void **state)
{
    struct store *store = NULL;
    struct diag diag = {0};

    put_old_store();
    store_support_run(path, "UPDATE meta SET value = '0.5' WHERE key = 'schema_version'");
    assert_int_equal(store_open(path, STORE_WRITE, &store, &diag), -EPROTO);
    CHECK_CONTAINS(diag.text, "schema version 0.5, which is too old to be migrated to 1.4");
}

#define SUMS_SQL                                                                                   \
    "SELECT count(*), sum(rowid), sum(start_ns - 1767225600000000000), sum(dur_ns) FROM event"

struct death {
    uint64_t write_number; /* 0: none */
    uint64_t seed;
};

static int migrate(void *context)
{
    const struct death *death = context;
    struct store *store = NULL;
    struct diag diag = {0};
    int rc;

    store_crash_at_write(death->write_number, death->seed);
    printf("ready\n");
    fflush(stdout);
    rc = store_open(path, STORE_WRITE, &store, &diag);
    store_close(&store);
    printf("writes %llu\n%s", (unsigned long long)store_crash_write_count(), diag.text);
    return rc < 0;
}

/* After a death: the old store, whole, or the new one, and the migration can be had then. Returns
 * whether it was the new one. */
static bool check_old_or_new(const char *old_schema, const char *old_sums)
{
    char *integrity = store_support_file_text(path, "PRAGMA integrity_check");
    char *version = store_support_file_text(path, "SELECT value FROM meta WHERE"
                                                  " key = 'schema_version'");
    char *schema = store_support_file_text(path, SCHEMA_SQL);
    char *sums = store_support_file_text(path, SUMS_SQL);
    bool is_new = strcmp(version, "1.4") == 0;
    struct store *store;

    assert_string_equal(integrity, "ok");
    assert_string_equal(sums, old_sums);
    if (!is_new) {
        assert_string_equal(version, "0.9");
        assert_string_equal(schema, old_schema);
        store = store_support_open(path, STORE_WRITE);
        store_close(&store);
    }
    check_new();
    free(sums);
    free(schema);
    free(version);
    free(integrity);
    return is_new;
}

static uint64_t seed;

static uint64_t random_u64(void)
{
    return draw_u64(&seed);
}

/* Half of the deaths in the middle of a write, half at any time. */
static void a_death_leaves_the_old_or_the_new(void **state)
{
    struct death death = {0};
    struct child child;
    char *old_schema, *old_sums;
    unsigned long long write_count = 0;
    const int rounds = 2 * (int)turns_rounds(KILL_ROUNDS);
    int deaths = 0, new_count = 0;

    seed = turns_seed();
    put_old_store();
    old_schema = store_support_file_text(path, SCHEMA_SQL);
    old_sums = store_support_file_text(path, SUMS_SQL);
    child_start_function(&child, migrate, &death);
    assert_int_equal(child_wait(&child, WAIT_MS), 0);
    assert_int_equal(sscanf(strstr(child.out, "writes"), "writes %llu", &write_count), 1);
    assert_in_range(write_count, 20, 100000);
    child_deinit(&child);

    for (int round = 0; round < rounds; round++) {
        int status;

        put_old_store();
        death.write_number = round % 2 ? 1 + random_u64() % write_count : 0;
        death.seed = random_u64();
        child_start_function(&child, migrate, &death);
        assert_true(child_wait_text(&child, "ready", WAIT_MS));
        if (!death.write_number)
            usleep((useconds_t)(random_u64() % 30000));
        status = death.write_number ? child_wait(&child, WAIT_MS) : child_kill(&child, SIGKILL);
        deaths += status == 128 + SIGKILL;
        new_count += check_old_or_new(old_schema, old_sums);
        child_deinit(&child);
    }
    print_message("%d deaths, %d after the commit\n", deaths, new_count);
    assert_in_range(deaths, rounds / 2, rounds);
    free(old_sums);
    free(old_schema);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_is_kept),
        cmocka_unit_test(long_texts_are_kept_once),
        cmocka_unit_test(reading_migrates_too),
        cmocka_unit_test(readers_of_an_old_store_are_told_who_writes_it),
        cmocka_unit_test(a_store_too_old_is_refused),
        cmocka_unit_test(a_death_leaves_the_old_or_the_new),
    };

    return cmocka_run_group_tests(tests, make_old_store, remove_place);
}
