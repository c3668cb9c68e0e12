/* SPDX-License-Identifier: Apache-2.0 */
/* Disks that are full or fail: the transaction fails with a clear error, the file stays whole, and
 * when there is room again, writing goes on as if nothing had been. */
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <unistd.h>

#include "schema/store/private.h"
#include "tests/support/check.h"
#include "tests/support/small_disk.h"
#include "tests/support/store_crash.h"
#include "tests/support/store_support.h"
#include "tests/support/temp.h"

enum { OPS = 10, EVENTS = 5000 };

static struct store_event events[EVENTS];

static int make_place(void **state)
{
    *state = temp_create();
    return 0;
}

static int remove_place(void **state)
{
    temp_destroy((char **)state);
    return 0;
}

static struct store *make_store(const char *path)
{
    struct store *store = store_support_open(path, STORE_WRITE);

    store_support_begin(store);
    store_support_define(store, OPS);
    store_support_commit(store);
    return store;
}

/* One transaction of EVENTS events. Returns what failed first, after the rollback. */
static int try_transaction(struct store *store, struct diag *diag)
{
    int64_t number = store_support_int(store, "SELECT count(*) FROM event");
    int rc = store_begin(store, diag);

    store_support_make_events(events, EVENTS, number, OPS);
    if (rc == 0)
        rc = store_add_events(store, events, EVENTS, diag);
    if (rc == 0)
        rc = store_commit(store, diag);
    if (rc < 0)
        store_rollback(store);
    return rc;
}

static void check_count(struct store *store, int64_t transaction_count)
{
    CHECK_U64(store_support_int(store, "SELECT count(*) FROM event"), transaction_count * EVENTS);
    store_support_check_integrity(store);
    store_support_check_accounts(store);
}

static void writes_fail_and_succeed_again(void **state)
{
    static const struct {
        int error, rc;
        const char *part;
    } cases[] = {
        {ENOSPC, -ENOSPC, "No space left"},
        {EDQUOT, -ENOSPC, "No space left"},
        {EIO, -EIO, "Input/output error"},
        {EFBIG, -EFBIG, "File too large"},
    };
    char *path = temp_path(*state, "store.db");
    struct store *store = make_store(path);
    int64_t count = 0;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct diag diag = {0};
        struct diag again = {0};

        CHECK_OK(try_transaction(store, &diag));
        check_count(store, ++count);
        store_crash_fail_writes(cases[i].error, "-wal");
        assert_int_equal(try_transaction(store, &diag), cases[i].rc);
        CHECK_CONTAINS(diag.text, cases[i].part);
        CHECK_CONTAINS(diag.text, path);
        assert_int_equal(try_transaction(store, &again), cases[i].rc);
        check_count(store, count);
        store_crash_fail_writes(0, "");
    }
    store_close(&store);
    store = store_support_open(path, STORE_READ);
    check_count(store, count);
    store_close(&store);
    free(path);
}

/* A commit that is done says so, even where the log cannot be brought into the file then. */
static void a_checkpoint_that_fails_is_no_failed_commit(void **state)
{
    char *path = temp_path(*state, "store.db");
    struct store *store = make_store(path);
    struct diag diag = {0};

    store->log_pages_max = 1;
    store_crash_fail_writes(ENOSPC, ".db");
    for (int i = 1; i <= 3; i++) {
        CHECK_OK(try_transaction(store, &diag));
        check_count(store, i);
    }
    store_close(&store); /* cannot checkpoint either: the log stays */
    store_crash_fail_writes(0, "");
    store = store_support_open(path, STORE_WRITE);
    check_count(store, 3);
    CHECK_OK(try_transaction(store, &diag));
    check_count(store, 4);
    store_close(&store);
    free(path);
}

static void a_file_size_limit_is_an_error(void **state)
{
    char *path = temp_path(*state, "store.db");
    struct store *store = make_store(path);
    struct rlimit old_limit, limit;
    struct diag diag = {0};
    int64_t count = 0;
    int rc;

    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &old_limit);
    limit = (struct rlimit){4 << 20, old_limit.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
    while ((rc = try_transaction(store, &diag)) == 0)
        count++;
    setrlimit(RLIMIT_FSIZE, &old_limit);
    assert_int_equal(rc, -EFBIG);
    assert_in_range(count, 1, 60);
    check_count(store, count);
    diag.text[0] = '\0';
    CHECK_OK(try_transaction(store, &diag));
    check_count(store, count + 1);
    store_close(&store);
    free(path);
}

static int fill_small_disk(void *context)
{
    char *path = temp_path(context, "store.db");
    char *ballast = temp_path(context, "ballast");
    struct diag diag = {0};
    struct store *store;
    int64_t count = 0;
    int fd, rc;

    store = make_store(path);
    fd = open(ballast, O_CREAT | O_WRONLY, 0600);
    assert_int_equal(posix_fallocate(fd, 0, 2 << 20), 0);
    close(fd);
    while ((rc = try_transaction(store, &diag)) == 0)
        count++;
    assert_int_equal(rc, -ENOSPC);
    assert_in_range(count, 3, 50);
    check_count(store, count);
    unlink(ballast);
    diag.text[0] = '\0';
    CHECK_OK(try_transaction(store, &diag));
    check_count(store, count + 1);
    store_close(&store);
    store = store_support_open(path, STORE_READ);
    check_count(store, count + 1);
    store_close(&store);
    return 0;
}

static void a_disk_that_is_full_may_get_room(void **state)
{
    small_disk_run(fill_small_disk, *state, "6m");
}

int main(void)
{
#define WITH_PLACE(test) cmocka_unit_test_setup_teardown(test, make_place, remove_place)
    const struct CMUnitTest tests[] = {
        WITH_PLACE(writes_fail_and_succeed_again),
        WITH_PLACE(a_checkpoint_that_fails_is_no_failed_commit),
        WITH_PLACE(a_file_size_limit_is_an_error),
        WITH_PLACE(a_disk_that_is_full_may_get_room),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
