/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A writer that dies, at a write or at any moment, also while a checkpoint runs: the file is whole,
 * holds what was committed and nothing else, and roll-ups and batches agree with the events.
 */
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>

#include "schema/store/private.h"
#include "tests/support/check.h"
#include "tests/support/child.h"
#include "tests/support/draw.h"
#include "tests/support/store_crash.h"
#include "tests/support/store_support.h"
#include "tests/support/temp.h"
#include "tests/support/turns.h"
#include "tests/support/wait.h"

enum {
    OPS = 10,
    TRANSACTION_EVENTS_MAX = 3000,
    ROUNDS = 120, /* half of them dying at a write; turns_rounds() */
    ROUNDS_PER_FILE = 10,
};

static char *path;

/* In memory that the test and its children share: how much the child knows to be committed. */
static volatile uint64_t *committed;

static uint64_t seed;

static uint64_t random_u64(void)
{
    return draw_u64(&seed);
}

static int make_place(void **state)
{
    *state = temp_create();
    path = temp_path(*state, "store.db");
    committed =
        mmap(NULL, sizeof(*committed), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return committed == MAP_FAILED ? -1 : 0;
}

static int remove_place(void **state)
{
    munmap((void *)committed, sizeof(*committed));
    free(path);
    temp_destroy((char **)state);
    return 0;
}

/* One transaction: events, what comes with them, and how far this is. */
static void write_transaction(struct store *store, uint64_t count)
{
    static struct store_event events[TRANSACTION_EVENTS_MAX];
    struct store_cursor cursor = {.session_id = 1, .committed = (int64_t)(*committed + count)};
    struct store_memory_event memory[100];
    struct diag diag = {0};

    store_support_make_events(events, count, (int64_t)*committed, OPS);
    for (size_t i = 0; i < 100; i++)
        memory[i] = (struct store_memory_event){1, 1, 1, (int64_t)i, (int64_t)i, 1};
    store_support_begin(store);
    CHECK_OK(store_put_cursor(store, &cursor, &diag));
    CHECK_OK(store_add_events(store, events, count / 2, &diag));
    CHECK_OK(store_add_events(store, events + count / 2, count - count / 2, &diag));
    CHECK_OK(store_add_memory_events(store, memory, 100, &diag));
    store_support_commit(store);
    *committed += count;
}

struct death {
    uint64_t write_number;
    uint64_t seed;
};

/* Writes until it dies. Checkpoints are frequent, so that half of all writes are theirs; the disk
 * is not waited for, which matters when a machine dies and not when a process does. */
static int write_until_death(void *context)
{
    const struct death *death = context;
    struct store *store = store_support_open(path, STORE_WRITE);

    seed = death->seed;
    sqlite3_exec(store_handle(store), "PRAGMA wal_autocheckpoint = 8; PRAGMA synchronous = OFF",
                 NULL, NULL, NULL);
    store_crash_at_write(death->write_number, death->seed);
    for (;;)
        write_transaction(store, 1 + random_u64() % TRANSACTION_EVENTS_MAX);
    return 0;
}

static void check_file(void)
{
    struct store *store = store_support_open(path, STORE_WRITE);
    uint64_t count = (uint64_t)store_support_int(store, "SELECT count(*) FROM event");

    store_support_check_integrity(store);
    CHECK_U64(store_support_int(store, "SELECT committed FROM ingest_cursor"), count);
    /* The last commit may have been done before the child could say so. */
    assert_in_range(count, *committed, *committed + TRANSACTION_EVENTS_MAX);
    CHECK_U64(store_support_int(store, "SELECT count(*) FROM event WHERE start_ns <>"
                                       " 1767225600000000000 + (rowid - 1) * 1000"),
              0);
    CHECK_U64(store_support_int(store, "SELECT count(*) % 100 FROM memory_event"), 0);
    store_support_check_accounts(store);
    *committed = count;
    store_close(&store);
}

static void begin_file(void)
{
    struct store *store;
    char other[4096];

    for (size_t i = 0; i < 3; i++) {
        snprintf(other, sizeof(other), "%s%s", path, (const char *[]){"", "-wal", "-shm"}[i]);
        unlink(other);
    }
    *committed = 0;
    store = store_support_open(path, STORE_WRITE);
    store_support_begin(store);
    store_support_define(store, OPS);
    store_support_commit(store);
    write_transaction(store, 1);
    store_close(&store);
}

static bool has_moved_on(void *context)
{
    return *committed > *(const uint64_t *)context;
}

static void nothing_committed_is_lost_or_torn(void **state)
{
    const unsigned rounds = turns_rounds(ROUNDS);

    seed = turns_seed();
    for (unsigned round = 0; round < rounds; round++) {
        uint64_t before;
        struct death death = {.seed = random_u64() | 1};
        struct child child;
        int status;

        if (round % ROUNDS_PER_FILE == 0)
            begin_file();
        before = *committed;
        if (round % 2)
            death.write_number = 1 + random_u64() % 150;
        child_start_function(&child, write_until_death, &death);
        if (!death.write_number) {
            assert_true(wait_until(has_moved_on, &before, WAIT_MS));
            usleep((useconds_t)(random_u64() % 5000));
            kill(child.pid, SIGKILL);
        }
        status = child_wait(&child, WAIT_MS);
        if (status != 128 + SIGKILL)
            fail_msg("the child ended by itself: %d\n%s%s", status, child.out, child.err);
        child_deinit(&child);
        check_file();
    }
}

static int make_and_die(void *context)
{
    const struct death *death = context;
    struct store *store;

    store_crash_at_write(death->write_number, death->seed);
    store = store_support_open(path, STORE_WRITE);
    store_close(&store);
    return 0;
}

/* Every write of making a new store, one after the other. */
static void a_store_half_made_is_made_again(void **state)
{
    struct death death = {.seed = 12345678901};
    int status;

    do {
        struct store *store;
        struct child child;

        temp_destroy((char **)state);
        *state = temp_create();
        free(path);
        path = temp_path(*state, "store.db");
        death.write_number++;
        child_start_function(&child, make_and_die, &death);
        status = child_wait(&child, WAIT_MS);
        child_deinit(&child);
        store = store_support_open(path, STORE_WRITE);
        store_support_check_integrity(store);
        CHECK_U64(store_support_int(store, "SELECT count(*) FROM v_session"), 0);
        store_close(&store);
    } while (status == 128 + SIGKILL);
    assert_int_equal(status, 0);
    assert_in_range(death.write_number, 5, 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nothing_committed_is_lost_or_torn, make_place,
                                        remove_place),
        cmocka_unit_test_setup_teardown(a_store_half_made_is_made_again, make_place, remove_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
