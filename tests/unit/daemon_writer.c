/* SPDX-License-Identifier: Apache-2.0 */
/* The writer's thread: order, the bounded queue, trouble that begins and ends. */
#include "daemon/writer.h"

#include <errno.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/support/check.h"
#include "tests/support/temp.h"

struct fixture {
    char *dir, *path;
    uv_loop_t loop;
    struct store *store;
    struct writer *writer;
    int64_t done[64]; /* ids of the batches that came back, in order */
    int status[64];
    size_t done_count;
    int trouble;            /* the latest that was told */
    unsigned trouble_count; /* how often */
};

static void on_done(void *context, struct batch *batch)
{
    struct fixture *fixture = context;

    assert_true(fixture->done_count < 64);
    fixture->done[fixture->done_count] =
        batch->sessions.count > 0 ? batch->sessions.items[0].session_id : 0;
    fixture->status[fixture->done_count++] = batch->status;
    batch_destroy(&batch);
}

static void on_trouble(void *context, int error, const char *text)
{
    struct fixture *fixture = context;

    assert_int_equal(error < 0, text[0] != 0);
    fixture->trouble = error;
    fixture->trouble_count++;
}

static int set_up(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    const struct writer_events events = {fixture, on_done, on_trouble};
    struct diag diag = {0};

    assert_non_null(fixture);
    signal(SIGXFSZ, SIG_IGN);
    fixture->dir = temp_create();
    fixture->path = temp_path(fixture->dir, "o.db");
    assert_int_equal(uv_loop_init(&fixture->loop), 0);
    CHECK_OK(store_open(fixture->path, STORE_WRITE, &fixture->store, &diag));
    CHECK_OK(writer_start(&fixture->loop, fixture->store, NULL, &events, &fixture->writer, &diag));
    *state = fixture;
    return 0;
}

static void stop(struct fixture *fixture)
{
    writer_stop(&fixture->writer);
    assert_null(fixture->writer);
    uv_run(&fixture->loop, UV_RUN_DEFAULT);
    store_close(&fixture->store);
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;

    stop(fixture); /* may be called twice */
    assert_int_equal(uv_loop_close(&fixture->loop), 0);
    temp_destroy(&fixture->dir);
    free(fixture->path);
    free(fixture);
    return 0;
}

/* A batch with one session of this id. */
static struct batch *batch_of(int64_t id)
{
    struct batch *batch = batch_create();
    struct store_session session = {.session_id = id,
                                    .start_ns = 1,
                                    .end_ns = STORE_NULL,
                                    .pid = 1,
                                    .uid = 1,
                                    .clock = "tsc",
                                    .source = "live"};

    memcpy(session.uuid, &id, sizeof(id));
    batch_push(&batch->sessions, session);
    return batch;
}

static void run_until_idle(struct fixture *fixture)
{
    while (writer_is_busy(fixture->writer))
        uv_run(&fixture->loop, UV_RUN_ONCE);
}

static int64_t count_rows(const struct fixture *fixture, const char *sql)
{
    sqlite3_stmt *row;
    sqlite3 *db;
    int64_t count;

    assert_int_equal(sqlite3_open(fixture->path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &row, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(row), SQLITE_ROW);
    count = sqlite3_column_int64(row, 0);
    sqlite3_finalize(row);
    sqlite3_close(db);
    return count;
}

static int64_t count_sessions(const struct fixture *fixture)
{
    return count_rows(fixture, "SELECT count(*) FROM session");
}

static void batches_come_back_in_order(void **state)
{
    struct fixture *fixture = *state;

    for (int64_t id = 1; id <= 20; id++) {
        while (!writer_has_room(fixture->writer))
            uv_run(&fixture->loop, UV_RUN_ONCE);
        writer_submit(fixture->writer, batch_of(id));
    }
    run_until_idle(fixture);
    CHECK_U64(fixture->done_count, 20);
    for (size_t i = 0; i < 20; i++) {
        assert_int_equal(fixture->done[i], i + 1);
        assert_int_equal(fixture->status[i], 0);
    }
    assert_int_equal(count_sessions(fixture), 20);
    assert_int_equal(fixture->trouble_count, 0);
}

static void the_queue_is_bounded(void **state)
{
    struct fixture *fixture = *state;

    for (int64_t id = 1; id <= WRITER_QUEUE_MAX; id++) {
        assert_true(writer_has_room(fixture->writer));
        writer_submit(fixture->writer, batch_of(id));
    }
    assert_false(writer_has_room(fixture->writer)); /* until the loop has taken one back */
    assert_true(writer_is_busy(fixture->writer));
    run_until_idle(fixture);
    assert_true(writer_has_room(fixture->writer));
}

static void a_batch_without_rows_comes_back_too(void **state)
{
    struct fixture *fixture = *state;
    struct batch *batch = batch_create();

    batch_push(&batch->waiters, (struct batch_waiter){.token = 1});
    writer_submit(fixture->writer, batch);
    run_until_idle(fixture);
    CHECK_U64(fixture->done_count, 1);
    assert_int_equal(fixture->status[0], 0);
}

/* All rows of a batch, or none: the session is not there without its op. */
static void a_batch_is_one_transaction(void **state)
{
    struct fixture *fixture = *state;
    struct batch *batch = batch_of(1);

    batch_push(&batch->ops, (struct store_op){.op_id = 1, .session_id = 1}); /* no name: refused */
    writer_give_up(fixture->writer);
    writer_submit(fixture->writer, batch);
    run_until_idle(fixture);
    assert_true(fixture->status[0] < 0);
    assert_int_equal(count_sessions(fixture), 0);
    writer_submit(fixture->writer, batch_of(2)); /* its cursors would pass over the first */
    run_until_idle(fixture);
    assert_int_equal(fixture->status[1], -ECANCELED);
    assert_int_equal(count_sessions(fixture), 0);
}

static void limit_files(rlim_t bytes)
{
    struct rlimit limit;

    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void trouble_is_told_and_outlived(void **state)
{
    struct fixture *fixture = *state;

    writer_submit(fixture->writer, batch_of(1));
    run_until_idle(fixture);
    limit_files(4096); /* the file cannot grow */
    writer_submit(fixture->writer, batch_of(2));
    writer_submit(fixture->writer, batch_of(3));
    while (fixture->trouble_count == 0)
        uv_run(&fixture->loop, UV_RUN_ONCE);
    assert_true(fixture->trouble < 0);
    assert_int_equal(writer_trouble(fixture->writer), fixture->trouble);
    CHECK_U64(fixture->done_count, 1); /* they are kept */
    limit_files(RLIM_INFINITY);
    run_until_idle(fixture);
    assert_int_equal(fixture->trouble, 0);
    assert_int_equal(writer_trouble(fixture->writer), 0);
    assert_int_equal(fixture->trouble_count, 2);
    CHECK_U64(fixture->done_count, 3);
    assert_int_equal(fixture->status[1] | fixture->status[2], 0);
    assert_int_equal(count_sessions(fixture), 3);
}

static void what_cannot_be_written_is_given_up_at_the_end(void **state)
{
    struct fixture *fixture = *state;

    limit_files(4096);
    writer_submit(fixture->writer, batch_of(1));
    while (fixture->trouble_count == 0)
        uv_run(&fixture->loop, UV_RUN_ONCE);
    writer_give_up(fixture->writer);
    run_until_idle(fixture);
    assert_true(fixture->status[0] < 0);
    limit_files(RLIM_INFINITY);
    stop(fixture);
    assert_int_equal(count_sessions(fixture), 0);
}

/* Room for a batch is made in its transaction: where that fails, it is stored without. */
static void rows_come_in_where_old_ones_cannot_go(void **state)
{
    const struct store_bounds all_too_old = {.keep_events_ns = 1};
    const struct store_lane lane = {1, 1, 1, "thread", "main", NULL, 1};
    const struct store_event event = {.lane_id = 1, .op_id = STORE_NULL, .start_ns = 2};
    struct fixture *fixture = *state;
    const struct writer_events events = {fixture, on_done, on_trouble};
    struct batch *batch;
    struct diag diag = {0};

    stop(fixture);
    CHECK_OK(store_open(fixture->path, STORE_WRITE, &fixture->store, &diag));
    assert_int_equal(sqlite3_exec(store_handle(fixture->store),
                                  "CREATE TRIGGER no BEFORE DELETE ON event_batch"
                                  " BEGIN SELECT RAISE(ABORT, 'no'); END",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    CHECK_OK(writer_start(&fixture->loop, fixture->store, &all_too_old, &events, &fixture->writer,
                          &diag));
    for (int64_t id = 1; id <= 3; id++) {
        batch = batch_of(id);
        if (id == 1)
            batch_push(&batch->lanes, lane);
        batch_push(&batch->events, event);
        writer_submit(fixture->writer, batch);
        run_until_idle(fixture);
        CHECK_U64(fixture->done_count, id);
        assert_int_equal(fixture->status[id - 1], 0);
    }
    assert_int_equal(fixture->trouble_count, 0);
    stop(fixture);
    CHECK_U64(count_rows(fixture, "SELECT count(*) FROM event"), 3);
}

#define WITH_FIXTURE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FIXTURE(batches_come_back_in_order),
        WITH_FIXTURE(the_queue_is_bounded),
        WITH_FIXTURE(a_batch_without_rows_comes_back_too),
        WITH_FIXTURE(a_batch_is_one_transaction),
        WITH_FIXTURE(trouble_is_told_and_outlived),
        WITH_FIXTURE(what_cannot_be_written_is_given_up_at_the_end),
        WITH_FIXTURE(rows_come_in_where_old_ones_cannot_go),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
