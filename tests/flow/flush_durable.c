/* SPDX-License-Identifier: Apache-2.0 */
/* A flush to the disk: the log of the store is synced, and who asked hears when it cannot be. */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "client/optrace.h"
#include "tests/support/check.h"
#include "tests/support/optraced.h"
#include "tests/support/place.h"
#include "tests/support/raw_client.h"
#include "tests/support/temp.h"
#include "tests/support/wait.h"

struct scene {
    struct optraced daemon;
    struct raw_client client;
    char *log, *fault;
    uint64_t event_count;
};

/* A daemon whose syncs are counted, and a client that has said what it records. */
static int set_up(void **state)
{
    struct scene *scene = calloc(1, sizeof(*scene));
    char *preload = place_program("tests/flow/sync_fault.so");

    optraced_init(&scene->daemon);
    scene->log = temp_path(scene->daemon.dir, "syncs");
    scene->fault = temp_path(scene->daemon.dir, "fault");
    setenv("LD_PRELOAD", preload, 1);
    setenv("SYNC_FAULT_LOG", scene->log, 1);
    setenv("SYNC_FAULT_FILE", scene->fault, 1);
    optraced_start(&scene->daemon, NULL);
    unsetenv("LD_PRELOAD");
    raw_init(&scene->client);
    raw_join(&scene->client, scene->daemon.socket);
    raw_define(&scene->client);
    assert_int_equal(raw_flush(&scene->client), 0);
    free(preload);
    *state = scene;
    return 0;
}

static int tear_down(void **state)
{
    struct scene *scene = *state;

    raw_close(&scene->client);
    optraced_deinit(&scene->daemon);
    free(scene->log);
    free(scene->fault);
    free(scene);
    return 0;
}

static int64_t count_syncs(const struct scene *scene)
{
    struct stat info;

    return stat(scene->log, &info) == 0 ? info.st_size : 0;
}

static void put_event(struct scene *scene)
{
    struct ot_wire_record span =
        raw_span(1, 1, ot_clock_ns(CLOCK_MONOTONIC), 10, ++scene->event_count);

    assert_true(raw_events(&scene->client, &span, 1));
}

static void check_events(struct scene *scene)
{
    CHECK_U64(optraced_query(&scene->daemon, "SELECT count(*) FROM event"), scene->event_count);
}

static void make_fault(const struct scene *scene)
{
    FILE *file = fopen(scene->fault, "w");

    assert_non_null(file);
    fclose(file);
}

/* FLUSH to the disk. Returns the status of the answer, which must say that this was understood. */
static int flush_to_disk(struct raw_client *client)
{
    struct ot_wire_flush flush = {.header = ot_wire_header(OT_FRAME_FLUSH, sizeof(flush)),
                                  .token = ++client->token};
    struct ot_wire_flushed flushed;

    flush.header.flags = OT_FLUSH_DURABLE;
    assert_true(raw_send(client, &flush, sizeof(flush)));
    CHECK_U64(raw_receive(client, &flushed, sizeof(flushed)), sizeof(flushed));
    assert_int_equal(flushed.header.type, OT_FRAME_FLUSHED);
    assert_int_equal(flushed.header.flags, OT_FLUSH_DURABLE);
    CHECK_U64(flushed.token, client->token);
    return flushed.status;
}

static void only_who_asks_waits_for_the_disk(void **state)
{
    struct scene *scene = *state;
    int64_t before = count_syncs(scene);

    put_event(scene);
    assert_int_equal(raw_flush(&scene->client), 0);
    CHECK_U64(count_syncs(scene), before);
    put_event(scene);
    assert_int_equal(flush_to_disk(&scene->client), 0);
    CHECK_U64(count_syncs(scene), before + 1);
    /* Also when all of it was committed before. */
    put_event(scene);
    assert_int_equal(raw_flush(&scene->client), 0);
    assert_int_equal(flush_to_disk(&scene->client), 0);
    CHECK_U64(count_syncs(scene), before + 2);
    check_events(scene);
}

static void a_disk_that_fails_is_said(void **state)
{
    struct scene *scene = *state;

    put_event(scene);
    make_fault(scene);
    assert_int_equal(flush_to_disk(&scene->client), -EIO);
    check_events(scene); /* committed all the same */
    optraced_expect_log(&scene->daemon, "a flush to the disk failed", 1);
    put_event(scene);
    assert_int_equal(raw_flush(&scene->client), 0);
    CHECK_OK(unlink(scene->fault));
    assert_int_equal(flush_to_disk(&scene->client), 0);
    check_events(scene);
}

static void programs_can_wait_for_the_disk(void **state)
{
    struct scene *scene = *state;
    const struct optrace_config config = {
        .socket_path = scene->daemon.socket, .connect_timeout_ms = WAIT_MS, .required = 1};
    int64_t before = count_syncs(scene);
    uint32_t op;

    CHECK_OK(optrace_start(&config));
    op = optrace_label("once");
    optrace_end(optrace_begin(op));
    CHECK_OK(optrace_flush_with(WAIT_MS, OPTRACE_DURABLE));
    assert_true(count_syncs(scene) > before);
    CHECK_U64(optraced_query(&scene->daemon, "SELECT count(*) FROM event"), 1);
    make_fault(scene);
    assert_int_equal(optrace_flush_with(WAIT_MS, OPTRACE_DURABLE), -EIO);
    CHECK_OK(optrace_flush(WAIT_MS));
    assert_int_equal(optrace_flush_with(WAIT_MS, 2), -EINVAL);
    optrace_stop();
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(only_who_asks_waits_for_the_disk),
        CASE(a_disk_that_fails_is_said),
        CASE(programs_can_wait_for_the_disk),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
