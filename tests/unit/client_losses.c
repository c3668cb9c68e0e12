/* SPDX-License-Identifier: Apache-2.0 */
/* What is lost is said, also when the place where it was counted goes: rings that are closed before
 * anybody read them, sessions that end, daemons that die with what they were told. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include "client/loss_ring.h"
#include "client/optrace.h"
#include "client/session.h"
#include "tests/support/check.h"
#include "tests/support/client_place.h"
#include "tests/support/wait.h"

enum { TOO_MANY = CLIENT_PLACE_RECORDS + 100 };

/* Threads add to the common ring by atomic operations while another takes its place in memory,
 * which no system call does half. The thread sanitizer, which calls this, holds the mapping for a
 * plain write. */
const char *__tsan_default_suppressions(void);
const char *__tsan_default_suppressions(void)
{
    return "race:^ot_loss_ring_make$\n";
}

static void record(unsigned count)
{
    const uint32_t op = optrace_label("work");

    for (unsigned i = 0; i < count; i++)
        optrace_end(optrace_begin(op));
}

/* As a program does that closes what it does not know. */
static void close_rings(void)
{
    DIR *dir = opendir("/proc/self/fd");
    const struct dirent *entry;

    assert_non_null(dir);
    while ((entry = readdir(dir))) {
        char path[64], target[PATH_MAX] = "";

        snprintf(path, sizeof(path), "/proc/self/fd/%.20s", entry->d_name);
        if (readlink(path, target, sizeof(target) - 1) > 0 && strstr(target, "optrace-ring"))
            close(atoi(entry->d_name));
    }
    closedir(dir);
}

/* Losses that a daemon was told of, in frames. */
static uint64_t count_told(struct fake_daemon *daemon)
{
    uint64_t sum = 0;

    fake_daemon_lock(daemon);
    for (uint64_t i = 0; i < daemon->counts[FAKE_GAPS] && i < FAKE_GAPS_MAX; i++)
        sum += daemon->gaps[i].lost_count;
    fake_daemon_unlock(daemon);
    return sum;
}

/* The same, and in rings. */
static uint64_t count_lost(struct fake_daemon *daemon)
{
    uint64_t sum = count_told(daemon);

    fake_daemon_lock(daemon);
    for (uint32_t i = 0; i < daemon->ring_count; i++)
        for (int slot = 0; slot < OT_RING_GAPS; slot++)
            sum +=
                __atomic_load_n(&daemon->rings[i].memory->gaps[slot].lost_count, __ATOMIC_ACQUIRE);
    fake_daemon_unlock(daemon);
    return sum;
}

/* Each of so many events is there, or is said to be lost. */
static void expect_all(struct client_place *place, uint64_t count)
{
    CHECK_OK(optrace_flush(WAIT_MS));
    CHECK_U64(fake_daemon_count(place->daemon, FAKE_RECORDS) + count_lost(place->daemon), count);
}

static void stop(struct client_place *place)
{
    optrace_stop();
    fake_daemon_wait(place->daemon, FAKE_BYES, 1);
}

/* A daemon that goes before the first record: no ring is handed over to it. */
static void start_without_rings(struct client_place *place)
{
    place->daemon = fake_daemon_create(place->socket, NULL);
    CHECK_OK(client_place_start(place));
    fake_daemon_destroy(&place->daemon);
}

static void a_ring_closed_before_it_was_handed_over_keeps_its_losses(void **state)
{
    struct client_place *place = *state;

    start_without_rings(place);
    record(TOO_MANY);
    close_rings();
    place->daemon = fake_daemon_create(place->socket, NULL);
    expect_all(place, TOO_MANY);
    stop(place);
}

/* Threads count the same losses together, and each has read the clock before. The daemon cuts a
 * program off whose GAP ends before it begins. */
static void losses_counted_out_of_order_make_sense(void **state)
{
    struct client_place *place = *state;

    place->daemon = fake_daemon_create(place->socket, NULL);
    CHECK_OK(client_place_start(place));
    ot_loss_ring_count(2000, 100);
    ot_loss_ring_count(1990, 100);
    CHECK_OK(optrace_flush(WAIT_MS));
    fake_daemon_wait(place->daemon, FAKE_GAPS, 1);
    CHECK_U64(place->daemon->gaps[0].lost_count, 2);
    CHECK_U64(place->daemon->gaps[0].first_ticks, 1990);
    CHECK_U64(place->daemon->gaps[0].last_ticks, 2000);
    stop(place);
}

/* --- Sessions that end while their program goes on. --- */

/* The next daemon says that the session has ended; the one after that takes the new one. */
static void begin_another_session(struct client_place *place)
{
    const struct fake_daemon_options ended = {.status = OT_WELCOME_ENDED};

    fake_daemon_destroy(&place->daemon);
    place->daemon = fake_daemon_create(place->socket, &ended);
    while (fake_daemon_count(place->daemon, FAKE_HELLOS) < 2) /* it has heard the first answer */
        assert_int_equal(optrace_flush(10), -ENOTCONN);
    fake_daemon_destroy(&place->daemon);
    place->daemon = fake_daemon_create(place->socket, NULL);
}

/* A daemon that reads nothing, and has the ring. */
static void record_in_vain(struct client_place *place, unsigned count)
{
    client_place_set_idle(place, true);
    record(count);
    fake_daemon_wait(place->daemon, FAKE_RINGS, 1);
}

static void start_idle(struct client_place *place)
{
    place->daemon = fake_daemon_create(place->socket, NULL);
    CHECK_OK(client_place_start(place));
    client_place_set_idle(place, true);
}

static void losses_go_to_the_next_session(void **state)
{
    struct client_place *place = *state;

    start_idle(place);
    record_in_vain(place, TOO_MANY);
    begin_another_session(place);
    expect_all(place, TOO_MANY);
    stop(place);
}

/* On threads of their own: one that found no ring looks again a second later only. */
static void *do_alone(void *function)
{
    ((void (*)(void))function)();
    return NULL;
}

static void run_alone(void (*function)(void))
{
    pthread_t thread;

    CHECK_OK(pthread_create(&thread, NULL, do_alone, (void *)function));
    CHECK_OK(pthread_join(thread, NULL));
}

static rlim_t limit_files(rlim_t bytes)
{
    struct rlimit limit;
    rlim_t before;

    CHECK_OK(getrlimit(RLIMIT_FSIZE, &limit));
    before = limit.rlim_cur;
    limit.rlim_cur = bytes;
    CHECK_OK(setrlimit(RLIMIT_FSIZE, &limit));
    return before;
}

static struct client_place *the_place;

static void find_no_room(void)
{
    rlim_t before;

    record_in_vain(the_place, TOO_MANY);
    before = limit_files(4096);
    begin_another_session(the_place);
    CHECK_OK(optrace_flush(WAIT_MS));
    limit_files(before);
}

/* What recording costs, which the first ring of a session begins with, is lost with the rest. */
static void a_session_without_room_counts_what_it_cannot_take(void **state)
{
    the_place = *state;
    start_idle(the_place);
    run_alone(find_no_room);
    expect_all(the_place, TOO_MANY + CLIENT_PLACE_OWN);
    stop(the_place);
}

static void record_ten(void)
{
    record(10);
}

static void what_ended_threads_left_is_counted(void **state)
{
    struct client_place *place = *state;

    start_idle(place);
    run_alone(record_ten);
    fake_daemon_wait(place->daemon, FAKE_RINGS, 1);
    begin_another_session(place);
    expect_all(place, 10 + CLIENT_PLACE_OWN);
    stop(place);
}

/* A thread that recorded, and does nothing from then on but wait for its end. */
struct quiet {
    pthread_t thread;
    pthread_barrier_t steps;
};

static void *record_and_wait(void *context)
{
    struct quiet *quiet = context;

    record(10);
    pthread_barrier_wait(&quiet->steps);
    pthread_barrier_wait(&quiet->steps);
    return NULL;
}

static void begin_quiet(struct quiet *quiet, struct client_place *place)
{
    CHECK_OK(pthread_barrier_init(&quiet->steps, NULL, 2));
    CHECK_OK(pthread_create(&quiet->thread, NULL, record_and_wait, quiet));
    pthread_barrier_wait(&quiet->steps);
    fake_daemon_wait(place->daemon, FAKE_RINGS, 1);
}

static void end_quiet(struct quiet *quiet)
{
    pthread_barrier_wait(&quiet->steps);
    CHECK_OK(pthread_join(quiet->thread, NULL));
    pthread_barrier_destroy(&quiet->steps);
}

static void a_thread_takes_its_records_along_when_it_ends(void **state)
{
    struct client_place *place = *state;
    struct quiet quiet;

    start_idle(place);
    begin_quiet(&quiet, place);
    begin_another_session(place);
    assert_int_equal(optrace_flush(WAIT_MS), -ESTALE);
    end_quiet(&quiet);
    client_place_drain(place, 10);
    CHECK_U64(count_lost(place->daemon), 0);
    stop(place);
}

static void what_a_thread_still_has_at_the_end_is_counted(void **state)
{
    struct client_place *place = *state;
    struct quiet quiet;

    start_idle(place);
    begin_quiet(&quiet, place);
    begin_another_session(place);
    assert_int_equal(optrace_flush(WAIT_MS), -ESTALE);
    stop(place);
    CHECK_U64(count_lost(place->daemon), 10 + CLIENT_PLACE_OWN);
    /* And not taken along, too. */
    CHECK_OK(client_place_start(place));
    end_quiet(&quiet);
    CHECK_OK(optrace_flush(WAIT_MS));
    CHECK_U64(fake_daemon_count(place->daemon, FAKE_RECORDS), 0);
    optrace_stop();
    fake_daemon_wait(place->daemon, FAKE_BYES, 2);
}

/* A session that no daemon could end: the next one says so. */
static void what_a_stop_could_not_hand_over_is_counted(void **state)
{
    struct client_place *place = *state;
    const struct optrace_config config = {
        .socket_path = place->socket, .exit_timeout_ms = 50, .required = 1};

    place->daemon = fake_daemon_create(place->socket, NULL);
    CHECK_OK(optrace_start(&config));
    client_place_set_idle(place, true);
    run_alone(record_ten);
    fake_daemon_destroy(&place->daemon);
    optrace_stop();
    place->daemon = fake_daemon_create(place->socket, NULL);
    CHECK_OK(client_place_start(place));
    expect_all(place, 10 + CLIENT_PLACE_OWN);
    stop(place);
}

/* --- Losses of threads without a ring. --- */

/* Room for the ring in which they are counted, and for no other. */
static void count_in_the_common_ring(void)
{
    const rlim_t before = limit_files(16384);

    record(7);
    limit_files(before);
}

static void common_losses_go_to_the_next_session(void **state)
{
    struct client_place *place = *state;

    start_idle(place);
    run_alone(count_in_the_common_ring);
    fake_daemon_wait(place->daemon, FAKE_RINGS, 1);
    CHECK_U64(count_lost(place->daemon), 7);
    begin_another_session(place);
    expect_all(place, 7);
    stop(place);
}

static void common_losses_do_not_go_beyond_a_goodbye(void **state)
{
    struct client_place *place = *state;

    start_idle(place);
    run_alone(count_in_the_common_ring);
    stop(place);
    fake_daemon_destroy(&place->daemon);
    place->daemon = fake_daemon_create(place->socket, NULL);
    CHECK_OK(client_place_start(place));
    expect_all(place, 0);
    stop(place);
}

enum { LOSERS = 2, MOVES = 20 };

static bool is_enough;

static void *lose_many(void *context)
{
    uint64_t *count = context;

    for (; !__atomic_load_n(&is_enough, __ATOMIC_RELAXED); ++*count)
        ot_loss_ring_count(1000 + *count, 100);
    return NULL;
}

/* The program closes its descriptor again and again, while threads count. */
static void no_loss_falls_between_two_rings(void **state)
{
    struct client_place *place = *state;
    uint64_t in_ring = 0, counts[LOSERS] = {0}, sum = 7;
    pthread_t threads[LOSERS];

    place->daemon = fake_daemon_create(place->socket, NULL);
    CHECK_OK(client_place_start(place));
    run_alone(count_in_the_common_ring);
    for (int i = 0; i < LOSERS; i++)
        CHECK_OK(pthread_create(&threads[i], NULL, lose_many, &counts[i]));
    for (int i = 0; i < MOVES; i++) {
        CHECK_OK(optrace_flush(WAIT_MS));
        close_rings();
        fake_daemon_hang_up(place->daemon);
    }
    __atomic_store_n(&is_enough, true, __ATOMIC_RELAXED);
    for (int i = 0; i < LOSERS; i++) {
        CHECK_OK(pthread_join(threads[i], NULL));
        sum += counts[i];
    }
    CHECK_OK(optrace_flush(WAIT_MS));
    fake_daemon_lock(place->daemon);
    assert_true(place->daemon->ring_count > MOVES);
    for (uint32_t i = 0; i < place->daemon->ring_count; i++)
        if (place->daemon->rings[i].memory->gaps[1].lost_count > in_ring) /* the latest */
            in_ring = place->daemon->rings[i].memory->gaps[1].lost_count;
    fake_daemon_unlock(place->daemon);
    assert_true(in_ring <= sum);
    assert_true(in_ring + count_told(place->daemon) >= sum);
    stop(place);
}

static void count_without_a_ring(void)
{
    const rlim_t before = limit_files(4096);

    record(7);
    limit_files(before);
}

/* Its daemon died before it had stored them. */
static void losses_told_in_vain_are_told_again(void **state)
{
    struct client_place *place = *state;

    start_idle(place);
    run_alone(count_without_a_ring);
    assert_int_equal(optrace_flush(20), -ETIMEDOUT);
    fake_daemon_wait(place->daemon, FAKE_GAPS, 1);
    fake_daemon_destroy(&place->daemon);
    place->daemon = fake_daemon_create(place->socket, NULL);
    expect_all(place, 7);
    expect_all(place, 7); /* and once */
    fake_daemon_destroy(&place->daemon);
    place->daemon = fake_daemon_create(place->socket, NULL);
    expect_all(place, 0);
    stop(place);
}

/* The daemon that heard them may not have answered yet. */
static void told_losses_do_not_go_beyond_a_goodbye(void **state)
{
    struct client_place *place = *state;

    start_idle(place);
    run_alone(count_without_a_ring);
    stop(place);
    CHECK_U64(count_told(place->daemon), 7);
    fake_daemon_destroy(&place->daemon);
    place->daemon = fake_daemon_create(place->socket, NULL);
    CHECK_OK(client_place_start(place));
    expect_all(place, 0);
    stop(place);
}

static void lose_some(void)
{
    record(TOO_MANY);
}

/* Housekeeping, until no ended thread has a ring. */
static bool has_no_ended_threads(void *context)
{
    optrace_flush(WAIT_MS);
    for (const struct ot_thread *thread = ot_session.threads; thread; thread = thread->next)
        if (!thread->hot)
            return false;
    return true;
}

/* The thread that lost them has ended. Its daemon stored its records, and died before it had looked
 * at what was dropped after them. */
static void losses_of_ended_threads_wait_until_they_are_stored(void **state)
{
    struct client_place *place = *state;
    const struct ot_ring *ring;

    start_idle(place);
    run_alone(lose_some);
    ring = client_place_ring(place, 0);
    __atomic_store_n((uint64_t *)(uintptr_t)&ring->tail, ot_ring_head(ring->state),
                     __ATOMIC_RELEASE);
    ot_session.spares->ended_ns = 0; /* long ago */
    for (int i = 0; i < 3; i++)
        assert_int_equal(optrace_flush(20), -ETIMEDOUT);
    assert_int_equal(ring->closed, 1);
    fake_daemon_destroy(&place->daemon);
    place->daemon = fake_daemon_create(place->socket, NULL);
    expect_all(place, TOO_MANY + CLIENT_PLACE_OWN - CLIENT_PLACE_RECORDS);
    assert_true(wait_until(has_no_ended_threads, NULL, WAIT_MS));
    stop(place);
}

#define BARE(name) cmocka_unit_test_setup_teardown(name, client_place_make, client_place_clear)

int main(void)
{
    const struct CMUnitTest tests[] = {
        BARE(a_ring_closed_before_it_was_handed_over_keeps_its_losses),
        BARE(losses_counted_out_of_order_make_sense),
        BARE(losses_go_to_the_next_session),
        BARE(a_session_without_room_counts_what_it_cannot_take),
        BARE(what_ended_threads_left_is_counted),
        BARE(a_thread_takes_its_records_along_when_it_ends),
        BARE(what_a_thread_still_has_at_the_end_is_counted),
        BARE(what_a_stop_could_not_hand_over_is_counted),
        BARE(common_losses_go_to_the_next_session),
        BARE(common_losses_do_not_go_beyond_a_goodbye),
        BARE(no_loss_falls_between_two_rings),
        BARE(losses_told_in_vain_are_told_again),
        BARE(told_losses_do_not_go_beyond_a_goodbye),
        BARE(losses_of_ended_threads_wait_until_they_are_stored),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
