/* SPDX-License-Identifier: Apache-2.0 */
/* The store is deleted, renamed or replaced under the daemon: it notices, says so, and goes on in a
 * new file or ends; what programs record goes on without a gap. */
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/exit_status.h"
#include "tests/support/at_once.h"
#include "tests/support/check.h"
#include "tests/support/optraced.h"
#include "tests/support/raw_client.h"
#include "tests/support/temp.h"
#include "tests/support/wait.h"

enum { RING_RECORDS = 1024, BEFORE = 10, AFTER = 7 };

struct scene {
    struct optraced collector;
    struct raw_client client;
    struct raw_ring ring;
};

static void join(struct scene *scene)
{
    raw_join(&scene->client, scene->collector.socket);
    raw_define(&scene->client);
}

static void put_spans(struct scene *scene, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        struct ot_wire_record record = raw_span(1, 1, ot_clock_ns(CLOCK_MONOTONIC), 100, 0);

        assert_true(raw_ring_put(&scene->ring, &record));
    }
}

/* The daemon takes connections. */
static void begin_recording(struct scene *scene)
{
    raw_init(&scene->client);
    join(scene);
    raw_ring_create(&scene->ring, &scene->client, 1, 1, RING_RECORDS);
    assert_true(raw_ring_send(&scene->client, &scene->ring));
    put_spans(scene, BEFORE);
    assert_int_equal(raw_flush(&scene->client), 0);
}

static void begin(struct scene *scene, const char *word)
{
    optraced_init(&scene->collector);
    optraced_start(&scene->collector, (const char *const[]){"--on-lost-store", word, NULL});
    begin_recording(scene);
}

static void end(struct scene *scene)
{
    raw_close(&scene->client);
    raw_ring_destroy(&scene->ring);
    optraced_deinit(&scene->collector);
}

/* Records on; the daemon lets go of its clients before it opens a store anew. */
static void wait_until_cut(struct scene *scene)
{
    char text[256];

    put_spans(scene, AFTER);
    raw_receive_bye(&scene->client, text, sizeof(text));
    raw_close(&scene->client);
}

/* What came after is in the file that is at the path now. */
static void check_new_file(struct scene *scene, uint64_t wanted)
{
    wait_until_cut(scene);
    optraced_expect_log(&scene->collector, "going on in a new one", 1);
    optraced_expect_log(&scene->collector, "ready: ", 2);
    join(scene);
    assert_true(raw_ring_send(&scene->client, &scene->ring));
    assert_int_equal(raw_flush(&scene->client), 0);
    CHECK_U64(optraced_query(&scene->collector, "SELECT count(*) FROM event"), wanted);
    raw_bye(&scene->client);
    assert_int_equal(optraced_stop(&scene->collector), 0);
}

static void a_deleted_store_is_begun_anew(void **state)
{
    struct scene scene;

    begin(&scene, "new");
    assert_int_equal(unlink(scene.collector.store), 0);
    check_new_file(&scene, AFTER);
    CHECK_U64(optraced_query(&scene.collector,
                             "SELECT note LIKE '%beginning is in another store' FROM session"),
              1);
    end(&scene);
}

static void a_renamed_store_keeps_what_it_had(void **state)
{
    struct scene scene;
    char *moved, *path;

    begin(&scene, "new");
    moved = temp_path(scene.collector.dir, "moved.db");
    assert_int_equal(rename(scene.collector.store, moved), 0);
    check_new_file(&scene, AFTER);
    path = scene.collector.store;
    scene.collector.store = moved;
    CHECK_U64(optraced_query(&scene.collector, "SELECT count(*) FROM event"), BEFORE);
    scene.collector.store = path;
    free(moved);
    end(&scene);
}

/* The log alone: the file has all that was committed, and goes on. */
static void a_deleted_log_costs_nothing(void **state)
{
    struct scene scene;
    char *log;

    begin(&scene, "new");
    log = temp_path(scene.collector.dir, "o.db-wal");
    assert_int_equal(unlink(log), 0);
    check_new_file(&scene, BEFORE + AFTER);
    free(log);
    end(&scene);
}

static void a_daemon_may_stop_instead(void **state)
{
    struct scene scene;

    begin(&scene, "stop");
    assert_int_equal(unlink(scene.collector.store), 0);
    wait_until_cut(&scene);
    assert_int_equal(child_wait(&scene.collector.child, WAIT_MS), EXIT_SYSTEM);
    CHECK_CONTAINS(scene.collector.child.err, "ending, as --on-lost-store says");
    end(&scene);
}

/* Nobody's file is written over, and the log says why it ends: a daemon in the background has no
 * standard error. What it could not store still lies in the ring. */
static void another_file_in_its_place_ends_it(void **state)
{
    struct scene scene;
    char *text, *log, *pid;

    optraced_init(&scene.collector);
    log = temp_path(scene.collector.dir, "log");
    pid = temp_path(scene.collector.dir, "pid");
    optraced_spawn(&scene.collector, (const char *const[]){"--log", log, "--pid-file", pid, NULL});
    assert_true(wait_for_path(pid, WAIT_MS));
    begin_recording(&scene);
    assert_int_equal(unlink(scene.collector.store), 0);
    free(temp_write(scene.collector.dir, "o.db", "hello", 5));
    wait_until_cut(&scene);
    assert_int_equal(child_wait(&scene.collector.child, WAIT_MS), EXIT_INPUT);
    text = temp_read(scene.collector.store, NULL);
    assert_string_equal(text, "hello");
    free(text);
    text = temp_read(log, NULL);
    CHECK_CONTAINS(text, "o.db is not an SQLite file");
    CHECK_CONTAINS(text, "no event is lost, 7 wait in the rings of programs that run");
    free(text);
    free(log);
    free(pid);
    end(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_deleted_store_is_begun_anew),
        cmocka_unit_test(a_renamed_store_keeps_what_it_had),
        cmocka_unit_test(a_deleted_log_costs_nothing),
        cmocka_unit_test(a_daemon_may_stop_instead),
        cmocka_unit_test(another_file_in_its_place_ends_it),
    };

    return AT_ONCE_RUN(tests, 5);
}
