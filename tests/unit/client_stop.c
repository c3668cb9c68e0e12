/* SPDX-License-Identifier: Apache-2.0 */
/* The end while others record: what was recorded before is there, nothing begins anew, and the next
 * session has what comes then. */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "client/optrace.h"
#include "client/thread_end.h"
#include "client/session.h"
#include "tests/support/check.h"
#include "tests/support/child.h"
#include "tests/support/client_place.h"
#include "tests/support/temp.h"
#include "tests/support/wait.h"

enum { THREADS = 3, ROUNDS = 20, RECORDS = 8192, MANY = 4000 };

/* Shared with a child. Each thread numbers what it records, from 1. */
struct scene {
    char socket[256];
    atomic_bool has_stopped;               /* set before the end is asked for */
    atomic_ulong returned_before[THREADS]; /* number of the latest record until then */
    atomic_uint begun;                     /* threads that have recorded something */
};

struct worker {
    pthread_t thread;
    struct scene *scene;
    unsigned index;
};

static int start_session(const char *socket)
{
    const struct optrace_config config = {
        .socket_path = socket,
        .ring_records = RECORDS,
        .connect_timeout_ms = WAIT_MS,
        .exit_timeout_ms = WAIT_MS,
        .required = 1,
    };

    return optrace_start(&config);
}

/* Spans and points, until some time after the end. */
static void *record_on(void *context)
{
    struct worker *worker = context;
    struct scene *scene = worker->scene;
    const uint32_t op = optrace_label("until the end");
    uint64_t number = 0, after = 0;

    while (number < MANY && after < 100) {
        const uint64_t who = (uint64_t)worker->index << 32 | ++number;
        struct optrace_event event = {.op = op, .start = 1, .end = 2, .correlation = who};

        if (number % 2) {
            struct optrace_span span = optrace_begin(op);

            optrace_span_correlate(span, who);
            optrace_end(span);
        } else {
            event.start = event.end = optrace_ticks();
            optrace_record(&event);
        }
        if (atomic_load(&scene->has_stopped))
            after++;
        else
            atomic_store(&scene->returned_before[worker->index], number);
        if (number == 1)
            atomic_fetch_add(&scene->begun, 1);
    }
    return NULL;
}

static void begin_workers(struct worker *workers, struct scene *scene)
{
    for (unsigned i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.scene = scene, .index = i};
        CHECK_OK(pthread_create(&workers[i].thread, NULL, record_on, &workers[i]));
    }
    while (atomic_load(&scene->begun) < THREADS)
        sched_yield();
}

/* All that had been recorded before is there, once each and in order, and what came while it
 * stopped without holes. */
static void check_what_came(struct client_place *place, const struct scene *scene)
{
    uint64_t latest[THREADS] = {0};

    fake_daemon_lock(place->daemon);
    for (size_t i = 0; i < place->daemon->record_count; i++) {
        const struct ot_wire_record *record = &place->daemon->records[i].record;
        const uint64_t who = record->correlation >> 32;

        assert_in_range(who, 0, THREADS - 1);
        CHECK_U64((uint32_t)record->correlation, latest[who] + 1);
        latest[who]++;
    }
    fake_daemon_unlock(place->daemon);
    for (unsigned i = 0; i < THREADS; i++)
        assert_true(latest[i] >= atomic_load(&scene->returned_before[i]));
}

static void what_was_recorded_before_a_stop_is_there(void **state)
{
    struct client_place *place = *state;

    for (int round = 0; round < ROUNDS; round++) {
        struct worker workers[THREADS];
        struct scene scene = {.begun = 0};

        place->daemon = fake_daemon_create(place->socket, NULL);
        CHECK_OK(start_session(place->socket));
        begin_workers(workers, &scene);
        atomic_store(&scene.has_stopped, true);
        optrace_stop();
        fake_daemon_wait(place->daemon, FAKE_BYES, 1);
        for (unsigned i = 0; i < THREADS; i++)
            pthread_join(workers[i].thread, NULL);
        check_what_came(place, &scene);
        fake_daemon_destroy(&place->daemon);
    }
}

static struct scene *map_scene(const char *path)
{
    const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    struct scene *scene;

    if (fd < 0 || ftruncate(fd, sizeof(*scene)) < 0)
        abort();
    scene = mmap(NULL, sizeof(*scene), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (scene == MAP_FAILED)
        abort();
    close(fd);
    return scene;
}

/* This program, started again. */
static int end_while_threads_record(const char *path)
{
    static struct worker workers[THREADS];
    struct scene *scene = map_scene(path);

    if (start_session(scene->socket) < 0)
        return 1;
    begin_workers(workers, scene);
    for (unsigned i = 0; i < THREADS; i++)
        pthread_detach(workers[i].thread);
    atomic_store(&scene->has_stopped, true);
    return 0;
}

static void what_was_recorded_before_an_exit_is_there(void **state)
{
    struct client_place *place = *state;
    char *path = temp_path(place->dir, "scene");
    const char *argv[] = {"/proc/self/exe", path, NULL};
    struct scene *scene = map_scene(path);

    snprintf(scene->socket, sizeof(scene->socket), "%s", place->socket);
    for (int round = 0; round < ROUNDS; round++) {
        struct child_result result;

        memset(&scene->has_stopped, 0, sizeof(*scene) - offsetof(struct scene, has_stopped));
        place->daemon = fake_daemon_create(place->socket, NULL);
        result = child_run(argv, NULL);
        if (result.status != 0)
            fail_msg("%s", result.err);
        child_result_deinit(&result);
        fake_daemon_wait(place->daemon, FAKE_BYES, 1);
        check_what_came(place, scene);
        fake_daemon_destroy(&place->daemon);
    }
    munmap(scene, sizeof(*scene));
    free(path);
}

static bool is_asked(void *context)
{
    return fake_daemon_count(context, FAKE_FLUSHES) > 0;
}

static void *stop_now(void *context)
{
    (void)context;
    optrace_stop();
    return NULL;
}

/* A daemon that is restarted while the program says goodbye welcomes it at its own level. */
static void nothing_begins_during_a_goodbye(void **state)
{
    struct client_place *place = *state;
    const struct fake_daemon_options idle = {.is_idle = true};
    const uint32_t op = optrace_label("too late");
    struct optrace_span span;
    pthread_t stopper;

    place->daemon = fake_daemon_create(place->socket, NULL);
    CHECK_OK(start_session(place->socket));
    client_place_set_idle(place, true);
    optrace_end(optrace_begin(op));
    client_place_ring(place, 0);
    /* The goodbye waits for what becomes of this ring. */
    ot_enter();
    ot_thread_cut_off(ot_hot.thread);
    ot_leave();
    fake_daemon_destroy(&place->daemon);
    CHECK_OK(pthread_create(&stopper, NULL, stop_now, NULL));
    while (optrace_level() != OPTRACE_OFF)
        sched_yield();
    place->daemon = fake_daemon_create(place->socket, &idle);
    assert_true(wait_until(is_asked, place->daemon, WAIT_MS));
    assert_int_equal(optrace_level(), OPTRACE_OFF);
    /* Whoever had seen the old level goes the slow way now, and looks again. */
    span = optrace_span_begin(op);
    CHECK_U64(span.id, 0);
    client_place_set_idle(place, false);
    fake_daemon_hang_up(place->daemon); /* it asks again */
    fake_daemon_wait(place->daemon, FAKE_BYES, 1);
    pthread_join(stopper, NULL);
    assert_int_equal(optrace_level(), OPTRACE_OFF);
}

/* --- Two sessions --- */

/* Spans of a thread that has a ring of the first. */
static void *record_in_both(void *context)
{
    atomic_uint *step = context;
    const uint32_t op = optrace_label("in both");

    optrace_end(optrace_begin(op));
    atomic_store(step, 1);
    while (atomic_load(step) < 2)
        sched_yield();
    atomic_store(step, 3);
    optrace_end(optrace_begin(op));
    atomic_store(step, 4);
    return NULL;
}

/* The thread cannot have the lock as it finds out that its ring is of the session before. */
static void a_new_session_has_what_begins_in_it(void **state)
{
    struct client_place *place = *state;
    atomic_uint step = 0;
    pthread_t thread;

    place->daemon = fake_daemon_create(place->socket, NULL);
    CHECK_OK(start_session(place->socket));
    CHECK_OK(pthread_create(&thread, NULL, record_in_both, &step));
    while (atomic_load(&step) < 1)
        sched_yield();
    optrace_stop();
    CHECK_OK(start_session(place->socket));
    ot_enter();
    atomic_store(&step, 2);
    for (int i = 0; i < MANY && atomic_load(&step) < 4; i++)
        sched_yield();
    ot_leave();
    pthread_join(thread, NULL);
    optrace_stop();
    fake_daemon_wait(place->daemon, FAKE_BYES, 2);
    CHECK_U64(fake_daemon_count(place->daemon, FAKE_RECORDS), 2);
}

#define BARE(name) cmocka_unit_test_setup_teardown(name, client_place_make, client_place_clear)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        BARE(what_was_recorded_before_an_exit_is_there),
        BARE(what_was_recorded_before_a_stop_is_there),
        BARE(nothing_begins_during_a_goodbye),
        BARE(a_new_session_has_what_begins_in_it),
    };

    if (argc > 1)
        return end_while_threads_record(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
