/* SPDX-License-Identifier: Apache-2.0 */
/* The watchdog's environment, its pings, and pauses of a loop. */
#include "daemon/health.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/support/check.h"
#include "tests/support/temp.h"

enum { WATCHDOG_MS = 60 };
#define NS_PER_MS UINT64_C(1000000)

struct fixture {
    char *dir, *path;
    int notify_fd;
    uv_loop_t loop;
    uv_timer_t timer;
    struct health health;
    uint64_t writer_ns;
    unsigned pings; /* heard */
};

static uint64_t writer_ns(void *context)
{
    const struct fixture *fixture = context;

    return fixture->writer_ns;
}

static int set_up(void **state)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char number[32];

    assert_non_null(fixture);
    fixture->dir = temp_create();
    fixture->path = temp_path(fixture->dir, "notify");
    strncpy(address.sun_path, fixture->path, sizeof(address.sun_path) - 1);
    fixture->notify_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_int_equal(bind(fixture->notify_fd, (struct sockaddr *)&address, sizeof(address)), 0);
    snprintf(number, sizeof(number), "%d", WATCHDOG_MS * 1000);
    setenv("NOTIFY_SOCKET", fixture->path, 1);
    setenv("WATCHDOG_USEC", number, 1);
    unsetenv("WATCHDOG_PID");
    assert_int_equal(uv_loop_init(&fixture->loop), 0);
    uv_timer_init(&fixture->loop, &fixture->timer);
    fixture->timer.data = fixture;
    *state = fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;

    uv_run(&fixture->loop, UV_RUN_NOWAIT);
    assert_int_equal(uv_loop_close(&fixture->loop), 0);
    close(fixture->notify_fd);
    temp_destroy(&fixture->dir);
    free(fixture->path);
    free(fixture);
    return 0;
}

static void hear(struct fixture *fixture)
{
    char text[64];
    ssize_t length;

    while ((length = recv(fixture->notify_fd, text, sizeof(text) - 1, 0)) > 0) {
        text[length] = 0;
        assert_string_equal(text, "WATCHDOG=1");
        fixture->pings++;
    }
}

static void the_environment_is_obeyed(void **state)
{
    const struct {
        const char *timeout, *pid;
        uint64_t want_ns;
    } cases[] = {
        {"30000000", NULL, UINT64_C(30000000000)},
        {"1", NULL, 1000},
        {NULL, NULL, 0},
        {"0", NULL, 0},
        {"-5", NULL, 0},
        {"12x", NULL, 0},
        {"99999999999999999999", NULL, 0},
        {"30000000", "1", 0},
        {"30000000", "me", 0},
    };
    char own[32];

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        unsetenv("WATCHDOG_USEC");
        unsetenv("WATCHDOG_PID");
        if (cases[i].timeout)
            setenv("WATCHDOG_USEC", cases[i].timeout, 1);
        if (cases[i].pid)
            setenv("WATCHDOG_PID", cases[i].pid, 1);
        CHECK_U64(health_watchdog_ns(), cases[i].want_ns);
    }
    snprintf(own, sizeof(own), "%d", (int)getpid());
    setenv("WATCHDOG_PID", own, 1);
    CHECK_U64(health_watchdog_ns(), UINT64_C(30000000000));
    unsetenv("NOTIFY_SOCKET");
    CHECK_U64(health_watchdog_ns(), 0);
    uv_close((uv_handle_t *)&((struct fixture *)*state)->timer, NULL);
}

/* Until three pings were heard. */
static void count_pings(uv_timer_t *timer)
{
    struct fixture *fixture = timer->data;

    hear(fixture);
    if (fixture->pings < 3)
        return;
    health_stop(&fixture->health);
    uv_close((uv_handle_t *)timer, NULL);
}

static void a_loop_that_comes_round_pings(void **state)
{
    struct fixture *fixture = *state;

    health_start(&fixture->health, &fixture->loop, writer_ns, fixture);
    CHECK_U64(fixture->health.watchdog_ns, WATCHDOG_MS * NS_PER_MS);
    uv_timer_start(&fixture->timer, count_pings, 5, 5);
    uv_run(&fixture->loop, UV_RUN_DEFAULT);
    assert_true(fixture->pings >= 3);
}

/* Stands still for longer than the watchdog waits. */
static void stand_still(uv_timer_t *timer)
{
    struct fixture *fixture = timer->data;
    const uint64_t start_ns = ot_clock_ns(CLOCK_MONOTONIC);

    hear(fixture);
    fixture->pings = 0;
    while (ot_clock_ns(CLOCK_MONOTONIC) - start_ns < 3 * WATCHDOG_MS * NS_PER_MS)
        ;
    hear(fixture);
    assert_int_equal(fixture->pings, 0);
    uv_timer_start(timer, count_pings, 5, 5);
}

static void a_stuck_loop_does_not_and_is_measured(void **state)
{
    struct fixture *fixture = *state;
    const uint64_t before_ns = ot_clock_ns(CLOCK_REALTIME);

    health_start(&fixture->health, &fixture->loop, writer_ns, fixture);
    /* It is measured from when the loop last came round, which it has not before. */
    uv_run(&fixture->loop, UV_RUN_NOWAIT);
    uv_timer_start(&fixture->timer, stand_still, 1, 0);
    uv_run(&fixture->loop, UV_RUN_DEFAULT);
    assert_true(fixture->health.longest_pause_ns >= 3 * WATCHDOG_MS * NS_PER_MS);
    assert_true(fixture->health.longest_pause_at_ns >= before_ns);
}

/* Ten times the ping's period passes on the loop. */
static void let_time_pass(uv_timer_t *timer)
{
    struct fixture *fixture = timer->data;

    hear(fixture);
    assert_int_equal(fixture->pings, 0);
    fixture->writer_ns = 0;
    uv_timer_start(timer, count_pings, 5, 5);
}

static void a_stuck_writer_ends_the_pings(void **state)
{
    struct fixture *fixture = *state;

    fixture->writer_ns = (WATCHDOG_MS + 1) * NS_PER_MS;
    health_start(&fixture->health, &fixture->loop, writer_ns, fixture);
    uv_timer_start(&fixture->timer, let_time_pass, 5 * WATCHDOG_MS, 0);
    uv_run(&fixture->loop, UV_RUN_DEFAULT);
    assert_true(fixture->pings >= 3); /* it has come to an end, and all is well again */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_environment_is_obeyed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_loop_that_comes_round_pings, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_stuck_loop_does_not_and_is_measured, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_stuck_writer_ends_the_pings, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
