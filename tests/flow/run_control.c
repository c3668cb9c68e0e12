/* SPDX-License-Identifier: Apache-2.0 */
/* `optrace start` reaches programs that never begin a run. */
#include <time.h>

#include "client/optrace.h"
#include "tests/support/at_once.h"
#include "tests/support/check.h"
#include "tests/support/optraced.h"
#include "tests/support/place.h"
#include "tests/support/wait.h"

/* What a program does again and again, one of it. */
struct habit {
    const char *socket;
    void (*once)(uint32_t op);
    enum optrace_name_type type;
};

static void mark(uint32_t op)
{
    optrace_mark(op);
}

static void count(uint32_t op)
{
    optrace_counter(op, 7);
}

static void allocate(uint32_t op)
{
    optrace_alloc(op, &op, 64);
}

static void span(uint32_t op)
{
    optrace_end(optrace_begin(op));
}

/* A span of which both times are known afterwards. */
static void tell(uint32_t op)
{
    const uint64_t now = optrace_ticks();
    const struct optrace_event event = {.op = op, .start = now, .end = now};

    optrace_record(&event);
}

static void ask_first(uint32_t op)
{
    if (optrace_level() == OPTRACE_OFF)
        optrace_look();
    else
        optrace_end(optrace_begin(op));
}

/* The program: does it every 2 ms until recording has begun and has ended. It defines nothing after
 * it has said that it runs. */
static int live(void *context)
{
    const struct habit *habit = context;
    const struct optrace_config config = {.socket_path = habit->socket, .program = "habit"};
    bool was_on = false;
    uint32_t op;

    if (optrace_start(&config) < 0 || optrace_level() != OPTRACE_OFF)
        return 1;
    op = optrace_name(habit->type, "it");
    puts("running");
    fflush(stdout);
    while (!was_on || optrace_level() != OPTRACE_OFF) {
        habit->once(op);
        was_on |= optrace_level() != OPTRACE_OFF;
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    }
    optrace_stop();
    return 0;
}

/* Recorded for two seconds, from outside; `sql` counts what is in the store. */
static void start_reaches(void (*once)(uint32_t op), enum optrace_name_type type, const char *sql)
{
    char *program = place_program("client/cli/optrace");
    struct child_result result;
    struct optraced daemon;
    struct habit habit = {.once = once, .type = type};
    struct child child;

    optraced_init(&daemon);
    optraced_start(&daemon, (const char *const[]){"--level", "off", NULL});
    habit.socket = daemon.socket;
    child_start_function(&child, live, &habit);
    assert_true(child_wait_text(&child, "running", WAIT_MS));
    result = child_run(
        (const char *const[]){program, "start", "--for", "2s", "--socket", daemon.socket, NULL},
        NULL);
    assert_int_equal(result.status, 0);
    CHECK_CONTAINS(result.out, "habit (pid ");
    assert_int_equal(child_wait(&child, WAIT_MS), 0);
    assert_int_equal(optraced_stop(&daemon), 0);
    assert_true(optraced_query(&daemon, sql) > 0);
    CHECK_U64((uint64_t)optraced_query(&daemon, "SELECT count(*) FROM run"), 0);
    child_result_deinit(&result);
    child_deinit(&child);
    optraced_deinit(&daemon);
    free(program);
}

static void a_program_of_spans_is_reached(void **state)
{
    start_reaches(span, OPTRACE_LABEL, "SELECT count(*) FROM event WHERE dur_ns IS NOT NULL");
}

static void a_program_of_marks_is_reached(void **state)
{
    start_reaches(mark, OPTRACE_MARK, "SELECT count(*) FROM event");
}

static void a_program_of_counters_is_reached(void **state)
{
    start_reaches(count, OPTRACE_COUNTER, "SELECT count(*) FROM counter");
}

static void a_program_of_memory_is_reached(void **state)
{
    start_reaches(allocate, OPTRACE_MEMORY, "SELECT count(*) FROM memory_event");
}

static void a_program_of_complete_records_is_reached(void **state)
{
    start_reaches(tell, OPTRACE_LABEL, "SELECT count(*) FROM event WHERE dur_ns IS NOT NULL");
}

static void a_program_that_looks_is_reached(void **state)
{
    start_reaches(ask_first, OPTRACE_LABEL, "SELECT count(*) FROM event WHERE dur_ns IS NOT NULL");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program_of_spans_is_reached),
        cmocka_unit_test(a_program_of_marks_is_reached),
        cmocka_unit_test(a_program_of_counters_is_reached),
        cmocka_unit_test(a_program_of_memory_is_reached),
        cmocka_unit_test(a_program_of_complete_records_is_reached),
        cmocka_unit_test(a_program_that_looks_is_reached),
    };

    return AT_ONCE_RUN(tests, 6);
}
