/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that record nothing but spans, and were started before the daemon. */
#include <pthread.h>

#include "base/clock.h"
#include "client/optrace.h"
#include "tests/support/check.h"
#include "tests/support/client_place.h"
#include "tests/support/wait.h"

static uint32_t op;
static bool uses_scopes;

/* Spans, and nothing else, until one is recorded. */
static void *record_until_on(void *context)
{
    const uint64_t deadline_ns = ot_clock_ns(CLOCK_MONOTONIC) + WAIT_MS * UINT64_C(1000000);
    struct optrace_span span = {0, 0};

    while (uses_scopes && optrace_level() == OPTRACE_OFF &&
           ot_clock_ns(CLOCK_MONOTONIC) < deadline_ns) {
        OPTRACE_SCOPE("scope"); /* the one that finds it is not recorded */
    }
    while (span.id == 0 && ot_clock_ns(CLOCK_MONOTONIC) < deadline_ns) {
        span = optrace_begin(op);
        optrace_end(span);
    }
    return context;
}

static void start_without_daemon(struct client_place *place)
{
    const struct optrace_config config = {.socket_path = place->socket, .ring_records = 256};

    CHECK_OK(optrace_start(&config));
    op = optrace_label("work");
    assert_int_equal(optrace_begin(op).id, 0);
}

static void spans_look_for_a_daemon(void **state)
{
    struct client_place *place = *state;

    start_without_daemon(place);
    place->daemon = fake_daemon_create(place->socket, NULL);
    record_until_on(NULL);
    client_place_drain(place, 1);
    optrace_stop();
}

static void scopes_look_for_a_daemon(void **state)
{
    uses_scopes = true;
    spans_look_for_a_daemon(state);
    uses_scopes = false;
}

static void one_of_many_threads_connects(void **state)
{
    struct client_place *place = *state;
    pthread_t threads[8];

    start_without_daemon(place);
    place->daemon = fake_daemon_create(place->socket, NULL);
    for (int i = 0; i < 8; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, record_until_on, NULL), 0);
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
    client_place_drain(place, 8);
    CHECK_U64(fake_daemon_count(place->daemon, FAKE_HELLOS), 1);
    optrace_stop();
}

/* It has paused this program, and says then that it is to go on. */
static void spans_hear_what_the_daemon_says(void **state)
{
    const struct fake_daemon_options options = {.level_off = 1};
    const struct ot_wire_control control = {
        .header = {.length = sizeof(control), .type = OT_FRAME_CONTROL}, .level = OT_LEVEL_ON};
    struct client_place *place = *state;

    place->daemon = fake_daemon_create(place->socket, &options);
    start_without_daemon(place);
    fake_daemon_send(place->daemon, &control, sizeof(control));
    record_until_on(NULL);
    client_place_drain(place, 1);
    optrace_stop();
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, client_place_make, client_place_clear)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(spans_look_for_a_daemon),
        CASE(scopes_look_for_a_daemon),
        CASE(one_of_many_threads_connects),
        CASE(spans_hear_what_the_daemon_says),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
