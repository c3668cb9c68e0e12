/* SPDX-License-Identifier: Apache-2.0 */
/* File and log together stay within a budget, whatever readers do; and a disk that others fill to
 * the last byte ends neither deleting nor writing. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "schema/store/private.h"
#include "schema/store/retain.h"
#include "schema/store/room.h"
#include "tests/support/check.h"
#include "tests/support/small_disk.h"
#include "tests/support/store_support.h"
#include "tests/support/temp.h"

enum { OPS = 10, EVENTS = 3000, MIB = 1 << 20, TRANSACTIONS = 400 };

static struct store_event events[EVENTS];
static int64_t event_number;

static int make_place(void **state)
{
    *state = temp_create();
    event_number = 0;
    return 0;
}

static int remove_place(void **state)
{
    temp_destroy((char **)state);
    return 0;
}

static struct store *make_store(const char *path, int64_t budget_bytes,
                                struct store_shares *out_shares)
{
    struct store *store = store_support_open(path, STORE_WRITE);
    struct diag diag = {0};

    CHECK_OK(store_set_budget(store, budget_bytes, out_shares, &diag));
    store_support_begin(store);
    store_support_define(store, OPS);
    store_support_commit(store);
    return store;
}

static int try_transaction(struct store *store, struct diag *diag)
{
    int rc = store_begin(store, diag);

    if (rc < 0)
        return rc;
    store_support_make_events(events, EVENTS, event_number, OPS);
    rc = store_add_events(store, events, EVENTS, diag);
    if (rc == 0)
        rc = store_commit(store, diag);
    if (rc < 0)
        store_rollback(store);
    else
        event_number += EVENTS;
    return rc;
}

static int64_t size_of(const char *path, const char *suffix)
{
    char name[4096];
    struct stat status;

    snprintf(name, sizeof(name), "%s%s", path, suffix);
    return stat(name, &status) < 0 ? 0 : (int64_t)status.st_size;
}

/* Drops what is above; now is when the events are. */
static void keep(struct store *store, const struct store_bounds *bounds)
{
    struct store_retained done;
    struct diag diag = {0};
    int rc;

    while ((rc = store_retain(store, bounds, STORE_SUPPORT_START_NS, 4 * EVENTS, &done, &diag)) ==
           1)
        ;
    CHECK_OK(rc);
}

static void shares_are_within_the_budget(void **state)
{
    for (int64_t budget = STORE_BUDGET_MIN; budget < INT64_C(1) << 50; budget += budget / 3) {
        struct store_shares shares = store_share_out(budget, INT64_MAX);

        assert_true(shares.pages_bytes + shares.batch_bytes + 2 * shares.log_bytes <= budget);
        assert_true(shares.pages_bytes >= budget / 2);
        assert_true(shares.held_bytes >= 2 * shares.log_bytes);
        assert_true(shares.log_bytes <= 16 * MIB);
    }
    CHECK_U64(store_share_out(0, INT64_MAX).pages_bytes, 0);
    CHECK_U64(store_share_out(0, INT64_MAX).log_bytes, 16 * MIB);
    assert_true(store_share_out(INT64_C(1) << 31, 20 * MIB).log_bytes < 20 * MIB / 4);
    (void)state;
}

static void file_and_log_stay_within_the_budget(void **state)
{
    char *path = temp_path(*state, "store.db");
    struct store_shares shares;
    struct store *store = make_store(path, 8 * MIB, &shares);
    struct store_bounds bounds = {.budget_bytes = shares.pages_bytes};
    struct diag diag = {0};

    for (int i = 0; i < TRANSACTIONS; i++) {
        CHECK_OK(try_transaction(store, &diag));
        assert_in_range(size_of(path, "") + size_of(path, "-wal"), 1, 8 * MIB);
        keep(store, &bounds);
        assert_in_range(size_of(path, "") + size_of(path, "-wal"), 1, 8 * MIB);
    }
    assert_true(store_support_int(store, "SELECT event_count FROM dropped") > EVENTS);
    store_support_check_integrity(store);
    store_close(&store);
    free(path);
}

/* Roll-ups and totals of many ops wait in memory; they are written at once where the oldest event
 * that they count goes, and the log is near its share then as often as not. */
static void what_waits_has_its_room(void **state)
{
    enum { BUDGET = 16 * MIB, MANY_OPS = 10000, ROUND = 1000 };
    char *path = temp_path(*state, "store.db");
    struct store_shares shares;
    struct store *store = store_support_open(path, STORE_WRITE);
    struct store_bounds bounds;
    struct diag diag = {0};

    CHECK_OK(store_set_budget(store, BUDGET, &shares, &diag));
    store_delay_rollups(store, 150000);
    bounds = (struct store_bounds){.budget_bytes = shares.pages_bytes};
    store_support_begin(store);
    store_support_define(store, MANY_OPS);
    store_support_commit(store);
    for (int64_t i = 0; i < TRANSACTIONS; i++) {
        store_support_begin(store);
        store_support_make_events(events, ROUND, event_number, MANY_OPS);
        for (size_t k = 0; k < ROUND; k++)
            events[k].run = STORE_NULL; /* an open run has totals of its own */
        CHECK_OK(store_add_events(store, events, ROUND, &diag));
        CHECK_OK(store_commit(store, &diag));
        event_number += ROUND;
        assert_in_range(size_of(path, "") + size_of(path, "-wal"), 1, BUDGET);
        assert_true(store_waiting_bytes(store) <= store->room.waiting_max);
        keep(store, &bounds);
        assert_in_range(size_of(path, "") + size_of(path, "-wal"), 1, BUDGET);
    }
    store_support_check_integrity(store);
    store_close(&store);
    free(path);
}

/* A reader that stays makes the log long, not endless; once it is gone, all goes on. */
static void a_reader_that_stays_does_not_fill_the_disk(void **state)
{
    char *path = temp_path(*state, "store.db");
    struct store_shares shares;
    struct store *store = make_store(path, 8 * MIB, &shares);
    struct store *reader = store_support_open(path, STORE_READ);
    struct diag diag = {0};
    int rc = 0;

    CHECK_OK(store_exec(reader, "BEGIN; SELECT count(*) FROM event", "read", &diag));
    for (int i = 0; i < TRANSACTIONS && rc == 0; i++)
        rc = try_transaction(store, &diag);
    assert_int_equal(rc, -EBUSY);
    CHECK_CONTAINS(diag.text, "kept a transaction open");
    assert_in_range(size_of(path, "-wal"), shares.log_bytes, shares.held_bytes + MIB);
    assert_int_equal(try_transaction(store, &diag), -EBUSY);
    CHECK_OK(store_exec(reader, "COMMIT", "read", &diag));
    CHECK_OK(try_transaction(store, &diag));
    CHECK_OK(try_transaction(store, &diag));
    assert_true(size_of(path, "-wal") <= 2 * shares.log_bytes);
    store_close(&reader);
    CHECK_U64(store_support_int(store, "SELECT count(*) FROM event"), event_number);
    store_support_check_integrity(store);
    store_close(&store);
    free(path);
}

static void fill_disk(const char *path)
{
    static const char zeros[4096];
    int fd = open(path, O_CREAT | O_WRONLY, 0600);

    assert_true(fd >= 0);
    while (write(fd, zeros, sizeof(zeros)) == sizeof(zeros))
        ;
    close(fd);
}

static int write_on_a_full_disk(void *context)
{
    char *path = temp_path(context, "store.db"), *ballast = temp_path(context, "ballast");
    struct store_shares shares;
    struct store_bounds bounds = {0};
    struct diag diag = {0};
    struct store *store;
    int refusals = 0;

    store = make_store(path, INT64_C(1) << 31, &shares); /* much more than the disk has */
    for (int i = 0; i < 20; i++)
        CHECK_OK(try_transaction(store, &diag));
    fill_disk(ballast);
    for (int i = 0; i < TRANSACTIONS; i++) {
        int64_t used_bytes;
        int rc = try_transaction(store, &diag);

        if (rc == 0)
            continue;
        assert_int_equal(rc, -ENOSPC);
        CHECK_CONTAINS(diag.text, "No space left on device");
        refusals++;
        CHECK_OK(store_used_bytes(store, &used_bytes, &diag));
        bounds.disk_bytes = used_bytes - 2 * shares.batch_bytes;
        keep(store, &bounds);
        diag.text[0] = '\0';
        CHECK_OK(try_transaction(store, &diag));
    }
    assert_true(refusals > 0);
    assert_true(store_support_int(store, "SELECT event_count FROM dropped WHERE reason='disk'") >
                0);
    unlink(ballast);
    for (int i = 0; i < 20; i++)
        CHECK_OK(try_transaction(store, &diag));
    store_support_check_integrity(store);
    CHECK_U64(store_support_int(store, "SELECT (SELECT count(*) FROM event) + sum(event_count)"
                                       " FROM dropped"),
              event_number);
    store_close(&store);
    return 0;
}

static void a_full_disk_ends_neither_deleting_nor_writing(void **state)
{
    small_disk_run(write_on_a_full_disk, *state, "20m");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_are_within_the_budget),
        cmocka_unit_test_setup_teardown(file_and_log_stay_within_the_budget, make_place,
                                        remove_place),
        cmocka_unit_test_setup_teardown(what_waits_has_its_room, make_place, remove_place),
        cmocka_unit_test_setup_teardown(a_reader_that_stays_does_not_fill_the_disk, make_place,
                                        remove_place),
        cmocka_unit_test_setup_teardown(a_full_disk_ends_neither_deleting_nor_writing, make_place,
                                        remove_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
