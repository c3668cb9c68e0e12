/* SPDX-License-Identifier: Apache-2.0 */
/* CPU counters of spans: which records a span brings with it, on which threads, in which files. */
#include <dirent.h>
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include "client/optrace.h"
#include "tests/support/check.h"
#include "tests/support/child.h"
#include "tests/support/client_place.h"
#include "tests/support/pages.h"
#include "tests/support/wait.h"

enum { PAGES = 64, COUNTERS = 2, OF_A_SPAN = 2 * COUNTERS + 1 };

static int start(struct client_place *place, const char *list)
{
    const struct optrace_config config = {
        .socket_path = place->socket,
        .ring_records = CLIENT_PLACE_RECORDS,
        .connect_timeout_ms = WAIT_MS,
        .required = 1,
        .counters = list,
    };

    return optrace_start(&config);
}

static int setup(void **state)
{
    struct client_place *place;

    client_place_make(state);
    place = *state;
    place->daemon = fake_daemon_create(place->socket, NULL);
    CHECK_OK(start(place, "page-faults,task-clock"));
    return 0;
}

static void touch_pages(void)
{
    static volatile char *memory;

    if (!memory)
        memory = pages_map(PAGES);
    pages_touch(memory, PAGES);
}

static double value_of(const struct ot_wire_record *record)
{
    double value;

    memcpy(&value, &record->bytes, sizeof(value));
    return value;
}

/* The records of a span, from `index` on: of each counter one at its start and one at its end, then
 * the span. Returns what the counters come to. */
static void read_span(struct client_place *place, size_t index, double out[COUNTERS])
{
    static const char *const names[COUNTERS] = {"perf.page-faults", "perf.task-clock_ns"};
    struct ot_wire_record span = client_place_record(place, index + OF_A_SPAN - 1);

    assert_int_equal(span.kind, OT_RECORD_SPAN);
    for (size_t i = 0; i < COUNTERS; i++) {
        struct ot_wire_record first = client_place_record(place, index + 2 * i);
        struct ot_wire_record last = client_place_record(place, index + 2 * i + 1);

        assert_int_equal(first.kind, OT_RECORD_COUNTER);
        assert_int_equal(last.kind, OT_RECORD_COUNTER);
        assert_int_equal(first.lane_id, span.lane_id);
        assert_int_equal(last.lane_id, span.lane_id);
        assert_int_equal(first.run, span.run);
        CHECK_U64(first.start_ticks, span.start_ticks);
        CHECK_U64(last.start_ticks, span.end_ticks);
        assert_string_equal(client_place_op_name(place, index + 2 * i), names[i]);
        assert_string_equal(client_place_op_name(place, index + 2 * i + 1), names[i]);
        out[i] = value_of(&last) - value_of(&first);
    }
}

static void spans_bring_their_counters(void **state)
{
    struct client_place *place = *state;
    uint32_t outer = optrace_label("outer"), inner = optrace_label("inner");
    double of_inner[COUNTERS], of_outer[COUNTERS];
    struct optrace_span first, second;

    touch_pages(); /* what is touched for the first time is */
    optrace_end(optrace_begin(inner));
    first = optrace_begin(outer);
    second = optrace_begin(inner);
    touch_pages();
    optrace_end(second);
    optrace_end(first);
    client_place_drain(place, 3 * OF_A_SPAN);
    read_span(place, OF_A_SPAN, of_inner);
    read_span(place, 2 * OF_A_SPAN, of_outer);
    assert_true(of_inner[0] >= PAGES && of_inner[0] < PAGES + 16);
    assert_true(of_outer[0] >= of_inner[0] && of_outer[0] < of_inner[0] + 8);
    assert_true(of_inner[1] > 0 && of_outer[1] > of_inner[1]);
}

static void runs_and_phases_bring_none(void **state)
{
    struct client_place *place = *state;
    uint32_t phase = optrace_name(OPTRACE_PHASE, "compute");
    struct optrace_run run = optrace_run_begin(0, 0);

    optrace_end(optrace_begin(phase));
    optrace_mark(optrace_name(OPTRACE_MARK, "here"));
    optrace_run_end(run);
    client_place_drain(place, 3);
    assert_int_equal(client_place_record(place, 0).kind, OT_RECORD_SPAN);
    assert_int_equal(client_place_record(place, 2).kind, OT_RECORD_RUN);
}

static void spans_that_end_with_an_outer_one_have_theirs(void **state)
{
    struct client_place *place = *state;
    uint32_t op = optrace_label("work");
    struct optrace_span outer = optrace_begin(op);
    double counts[COUNTERS];

    optrace_begin(op);
    optrace_end(outer);
    client_place_drain(place, 2 * OF_A_SPAN);
    read_span(place, 0, counts);
    read_span(place, OF_A_SPAN, counts);
    CHECK_U64(client_place_record(place, OF_A_SPAN - 1).end_ticks,
              client_place_record(place, 2 * OF_A_SPAN - 1).end_ticks);
}

static void given_spans_have_what_was_read(void **state)
{
    struct client_place *place = *state;
    struct optrace_counter_values at_start, at_end, none = {0};
    struct optrace_event event = {.op = optrace_label("given")};
    double counts[COUNTERS];

    touch_pages();
    CHECK_OK(optrace_counters_read(&at_start));
    event.start = optrace_ticks();
    touch_pages();
    event.end = optrace_ticks();
    CHECK_OK(optrace_counters_read(&at_end));
    CHECK_OK(optrace_counters_record(&event, &at_start, &at_end));
    CHECK_OK(optrace_counters_record(&event, &none, &at_end));
    CHECK_OK(optrace_counters_record(&event, &at_start, &none));
    CHECK_OK(optrace_record(&event));
    client_place_drain(place, OF_A_SPAN);
    read_span(place, 0, counts);
    assert_true(counts[0] >= PAGES && counts[0] < PAGES + 16);
}

static unsigned count_files(void)
{
    DIR *dir = opendir("/proc/self/fd");
    unsigned count = 0;

    assert_non_null(dir);
    while (readdir(dir))
        count++;
    closedir(dir);
    return count;
}

static void *record_one(void *context)
{
    optrace_end(optrace_begin(*(const uint32_t *)context));
    return NULL;
}

static void run_thread(uint32_t *op)
{
    pthread_t thread;

    CHECK_OK(pthread_create(&thread, NULL, record_one, op));
    CHECK_OK(pthread_join(thread, NULL));
}

/* Rings of ended threads go once they are drained, with what begins a session anew. */
static void ended_threads_leave_no_files(void **state)
{
    struct client_place *place = *state;
    uint32_t op = optrace_label("work");
    unsigned files;

    optrace_stop(); /* a machine where a counter needs a file has it in this list */
    fake_daemon_wait(place->daemon, FAKE_BYES, 1);
    files = count_files();
    CHECK_OK(start(place, "instructions,cpu-migrations,page-faults"));
    for (int i = 0; i < 4; i++)
        run_thread(&op);
    optrace_stop();
    fake_daemon_wait(place->daemon, FAKE_BYES, 2);
    fake_daemon_hang_up(place->daemon);
    for (int i = 0; i < 1000 && count_files() > files; i++)
        poll(NULL, 0, 10); /* the daemon's end of the connection */
    assert_true(count_files() <= files);
    CHECK_OK(start(place, "page-faults,task-clock"));
}

static int record_in_child(void *context)
{
    const uint32_t *op = context;
    unsigned files = count_files();

    optrace_end(optrace_begin(*op));
    if (count_files() < files) /* nothing of the parent's but what the child has too */
        return 1;
    exit(0);
}

static void a_child_counts_for_itself(void **state)
{
    struct client_place *place = *state;
    uint32_t op = optrace_label("work");
    struct child child;
    double counts[COUNTERS];

    optrace_end(optrace_begin(op));
    client_place_drain(place, OF_A_SPAN);
    fake_daemon_lock(place->daemon);
    child_start_function(&child, record_in_child, &op);
    fake_daemon_unlock(place->daemon);
    assert_int_equal(child_wait(&child, WAIT_MS), 0);
    child_deinit(&child);
    fake_daemon_wait(place->daemon, FAKE_RECORDS, 2 * OF_A_SPAN);
    read_span(place, OF_A_SPAN, counts);
}

static void a_wrong_name_is_refused(void **state)
{
    struct client_place *place = *state;
    char text[256];

    optrace_stop();
    fake_daemon_wait(place->daemon, FAKE_BYES, 1);
    assert_int_equal(start(place, "page-fault"), -EINVAL);
    optrace_status(text, sizeof(text));
    assert_string_equal(text, "not recording: there is no counter \"page-fault\": did you mean "
                              "page-faults?");
    assert_int_equal(optrace_counters_check("page-fault", text, sizeof(text)), -EINVAL);
    CHECK_CONTAINS(text, "did you mean page-faults?");
    CHECK_OK(optrace_counters_check("page-faults", text, sizeof(text)));
    setenv("OPTRACE_COUNTERS", "task-cluck", 1);
    assert_int_equal(start(place, NULL), -EINVAL);
    optrace_status(text, sizeof(text));
    CHECK_CONTAINS(text, "OPTRACE_COUNTERS: there is no counter \"task-cluck\"");
    unsetenv("OPTRACE_COUNTERS");
    CHECK_OK(start(place, ""));
    assert_int_equal(optrace_counters_status(NULL, text, sizeof(text)), 0);
    assert_string_equal(text, "");
}

static void the_status_says_what_is_read(void **state)
{
    char text[512];

    assert_int_equal(optrace_counters_status(NULL, text, sizeof(text)), COUNTERS);
    assert_string_equal(text, "page-faults, task-clock");
    optrace_status(text, sizeof(text));
    CHECK_CONTAINS(text, "recording to ");
    CHECK_CONTAINS(text, "; CPU counters: page-faults, task-clock");
    assert_true(optrace_status(text, 8) > 40);
}

/* Once for each session: of a span, and of one with counters; of both what is within its time. */
static void what_recording_costs_is_told(void **state)
{
    struct client_place *place = *state;
    uint32_t op = optrace_label("work");
    const double *values = place->daemon->own_values;

    for (int i = 0; i < 3; i++)
        optrace_end(optrace_begin(op));
    run_thread(&op);
    client_place_drain(place, 4 * OF_A_SPAN);
    fake_daemon_lock(place->daemon);
    CHECK_U64(place->daemon->own_count, 4);
    assert_true(values[0] > 0 && values[1] >= 0 && values[1] <= values[0]);
    assert_true(values[2] > values[0] && values[2] < 1e6);
    assert_true(values[3] >= 0 && values[3] <= values[2]);
    fake_daemon_unlock(place->daemon);
    optrace_stop();
    fake_daemon_wait(place->daemon, FAKE_BYES, 1);
    CHECK_OK(start(place, ""));
    optrace_end(optrace_begin(op));
    client_place_drain(place, 4 * OF_A_SPAN + 1);
    CHECK_U64(place->daemon->own_count, 4 + CLIENT_PLACE_OWN);
}

/* Without room the span may be there and a reading not; what is missing is counted. */
static void a_full_ring_counts_what_it_drops(void **state)
{
    struct client_place *place = *state;
    uint32_t op = optrace_label("work");
    struct optrace_loss loss;
    const int spans = CLIENT_PLACE_RECORDS / OF_A_SPAN + 10;

    optrace_end(optrace_begin(op));
    client_place_drain(place, OF_A_SPAN);
    client_place_set_idle(place, true);
    for (int i = 0; i < spans; i++)
        optrace_end(optrace_begin(op));
    optrace_lost(&loss);
    CHECK_U64(loss.ring_full, (uint64_t)(spans * OF_A_SPAN - CLIENT_PLACE_RECORDS));
    client_place_set_idle(place, false);
}

int main(void)
{
#define CASE(function) cmocka_unit_test_setup_teardown(function, setup, client_place_teardown)
    const struct CMUnitTest tests[] = {
        CASE(spans_bring_their_counters),
        CASE(runs_and_phases_bring_none),
        CASE(spans_that_end_with_an_outer_one_have_theirs),
        CASE(given_spans_have_what_was_read),
        CASE(ended_threads_leave_no_files),
        CASE(a_child_counts_for_itself),
        CASE(a_wrong_name_is_refused),
        CASE(the_status_says_what_is_read),
        CASE(what_recording_costs_is_told),
        CASE(a_full_ring_counts_what_it_drops),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
