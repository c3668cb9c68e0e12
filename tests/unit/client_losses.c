/* SPDX-License-Identifier: Apache-2.0 */
/* What is lost is said, also when the place where it was counted goes: rings that are closed before
 * anybody read them, sessions that end, daemons that die with what they were told. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <unistd.h>

#include "client/loss_ring.h"
#include "client/optrace.h"
#include "tests/support/check.h"
#include "tests/support/client_place.h"
#include "tests/support/wait.h"

enum { TOO_MANY = CLIENT_PLACE_RECORDS + 100 };

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

/* Losses that a daemon was told of, in rings and in frames. */
static uint64_t count_lost(struct fake_daemon *daemon)
{
    uint64_t sum = 0;

    fake_daemon_lock(daemon);
    for (uint32_t i = 0; i < daemon->ring_count; i++)
        for (int slot = 0; slot < OT_RING_GAPS; slot++)
            sum +=
                __atomic_load_n(&daemon->rings[i].memory->gaps[slot].lost_count, __ATOMIC_ACQUIRE);
    for (uint64_t i = 0; i < daemon->counts[FAKE_GAPS] && i < FAKE_GAPS_MAX; i++)
        sum += daemon->gaps[i].lost_count;
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

#define BARE(name) cmocka_unit_test_setup_teardown(name, client_place_make, client_place_clear)

int main(void)
{
    const struct CMUnitTest tests[] = {
        BARE(a_ring_closed_before_it_was_handed_over_keeps_its_losses),
        BARE(losses_counted_out_of_order_make_sense),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
