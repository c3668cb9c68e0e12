/* SPDX-License-Identifier: Apache-2.0 */
/* A store that is kept within bounds: what goes, what stays, and that every event counts once,
 * whenever the daemon dies. */
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/flow/crash_check.h"
#include "tests/support/at_once.h"
#include "tests/support/check.h"
#include "tests/support/raw_client.h"

enum {
    MIB = 1 << 20,
    EVENTS = 1500000,
    RING = 65536,
    ROUNDS = 40,
    LIFE_US_MAX = 60000,
};

#define USED_SQL                                                                                   \
    "(SELECT (a.page_count - b.freelist_count) * c.page_size FROM pragma_page_count a,"            \
    " pragma_freelist_count b, pragma_page_size c)"

/* A program with one ring. */
struct program {
    struct raw_client client;
    struct raw_ring ring;
    uint64_t count, dur_ns; /* put so far, and their durations */
};

static void program_start(struct program *program, const struct optraced *daemon)
{
    *program = (struct program){0};
    raw_init(&program->client);
    raw_join(&program->client, daemon->socket);
    raw_define(&program->client);
    raw_op(&program->client, 2, "relu1", "Relu");
    raw_ring_create(&program->ring, &program->client, 1, 1, RING);
    assert_true(raw_ring_send(&program->client, &program->ring));
}

static void program_record(struct program *program, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        uint64_t dur_ns = 1 + program->count % 1000;
        struct ot_wire_record span = raw_span((uint32_t)(1 + program->count % 2), 1,
                                              ot_clock_ns(CLOCK_MONOTONIC), dur_ns, 0);

        span.correlation = ++program->count;
        program->dur_ns += dur_ns;
        while (!raw_ring_put(&program->ring, &span))
            usleep(100); /* full: the daemon is at it */
    }
    assert_int_equal(raw_flush(&program->client), 0);
}

static void program_stop(struct program *program)
{
    raw_bye(&program->client);
    raw_ring_destroy(&program->ring);
    raw_close(&program->client);
}

/* Of the file, and of the log beside it. */
static int64_t file_bytes(const struct optraced *daemon)
{
    struct stat status;

    assert_int_equal(stat(daemon->store, &status), 0);
    return (int64_t)status.st_size;
}

static int64_t log_bytes(const struct optraced *daemon)
{
    char path[4096];
    struct stat status;

    snprintf(path, sizeof(path), "%s-wal", daemon->store);
    return stat(path, &status) < 0 ? 0 : (int64_t)status.st_size;
}

/* Roll-ups have all events, rows and `dropped` together too, the newest rows are there and stand in
 * batches. */
static void check_all_counted(const struct optraced *daemon, const struct program *program)
{
    CHECK_U64(optraced_query(daemon, "SELECT sum(event_count) FROM v_op_stat"), program->count);
    CHECK_U64(optraced_query(daemon, "SELECT sum(sum_ns) FROM v_op_stat"), program->dur_ns);
    CHECK_U64(optraced_query(daemon, "SELECT (SELECT count(*) FROM event) + (SELECT"
                                     " ifnull(sum(event_count), 0) FROM dropped)"),
              program->count);
    CHECK_U64(optraced_query(daemon, "SELECT max(correlation) FROM event"), program->count);
    CHECK_U64(optraced_query(daemon, "SELECT max(correlation) - min(correlation) + 1 - count(*)"
                                     " FROM event"),
              0);
    CHECK_U64(optraced_query(daemon, "SELECT sum(last_rowid - first_rowid + 1) - (SELECT count(*)"
                                     " FROM event) FROM event_batch"),
              0);
    crash_check_integrity(daemon);
}

static void a_store_stays_within_its_budget(void **state)
{
    static const char *const arguments[] = {"--store-budget", "8MiB", NULL};
    struct program program;
    struct optraced daemon;

    optraced_init(&daemon);
    optraced_start(&daemon, arguments);
    program_start(&program, &daemon);
    for (int i = 0; i < 10; i++) {
        program_record(&program, EVENTS / 10);
        assert_in_range(file_bytes(&daemon) + log_bytes(&daemon), 1, 8 * MIB);
    }
    program_stop(&program);
    optraced_wait_for(&daemon, "SELECT count(*) FROM session WHERE end_ns IS NULL", 0);
    check_all_counted(&daemon, &program);
    assert_true(optraced_query(&daemon, "SELECT " USED_SQL) > 4 * MIB);
    assert_true(optraced_query(&daemon, "SELECT min(correlation) FROM event") > EVENTS / 2);
    CHECK_U64(optraced_query(&daemon, "SELECT dropped_event_count - (SELECT min(correlation) - 1"
                                      " FROM event) FROM v_session"),
              0);
    optraced_expect_log(&daemon, "oldest events are dropped from now on", 1);
    optraced_expect_log(&daemon, "budget of 8 MiB", 1);
    assert_int_equal(optraced_stop(&daemon), 0);
    assert_in_range(file_bytes(&daemon), 1, 8 * MIB);
    optraced_deinit(&daemon);
}

/* A store that is already too large: what is in use shrinks while nobody records. */
static void a_large_store_shrinks_in_use(void **state)
{
    static const char *const large[] = {"--store-budget", "none", NULL};
    static const char *const small[] = {"--store-budget=4MiB", NULL};
    struct program program;
    struct optraced daemon;
    int64_t before;

    optraced_init(&daemon);
    optraced_start(&daemon, large);
    program_start(&program, &daemon);
    program_record(&program, 600000);
    program_stop(&program);
    optraced_wait_for(&daemon, "SELECT count(*) FROM session WHERE end_ns IS NULL", 0);
    assert_int_equal(optraced_stop(&daemon), 0);
    CHECK_U64(optraced_query(&daemon, "SELECT count(*) FROM event"), 600000);
    before = file_bytes(&daemon);
    assert_true(before > 12 * MIB);
    optraced_start(&daemon, small);
    optraced_wait_for(&daemon, "SELECT " USED_SQL " <= 4 << 20", 1);
    check_all_counted(&daemon, &program);
    assert_int_equal(optraced_stop(&daemon), 0);
    assert_int_equal(file_bytes(&daemon), before); /* the pages are for what comes */
    optraced_deinit(&daemon);
}

static void events_are_dropped_when_they_are_old(void **state)
{
    static const char *const arguments[] = {"--keep-events", "1s", NULL};
    struct program program;
    struct optraced daemon;

    optraced_init(&daemon);
    optraced_start(&daemon, arguments);
    program_start(&program, &daemon);
    program_record(&program, 1000);
    optraced_wait_for(&daemon, "SELECT count(*) FROM event", 0);
    CHECK_U64(optraced_query(&daemon, "SELECT event_count FROM dropped WHERE reason = 'age'"),
              1000);
    CHECK_U64(optraced_query(&daemon, "SELECT sum(sum_ns) FROM v_op_stat"), program.dur_ns);
    program_record(&program, 1000);
    CHECK_U64(optraced_query(&daemon, "SELECT sum(event_count) FROM v_op_stat"), 2000);
    program_stop(&program);
    optraced_wait_for(&daemon, "SELECT count(*) FROM event", 0);
    CHECK_U64(optraced_query(&daemon, "SELECT event_count FROM dropped"), 2000);
    crash_check_integrity(&daemon);
    assert_int_equal(optraced_stop(&daemon), 0);
    optraced_deinit(&daemon);
}

/* The first program's session goes; the second's, which has begun a batch of its own, stays. */
static void sessions_are_dropped_when_they_are_old(void **state)
{
    static const char *const arguments[] = {"--keep-sessions", "1s", NULL};
    struct program program;
    struct optraced daemon;

    optraced_init(&daemon);
    optraced_start(&daemon, arguments);
    program_start(&program, &daemon);
    program_record(&program, 1000);
    program_stop(&program);
    optraced_wait_for(&daemon, "SELECT count(*) FROM session WHERE end_ns IS NULL", 0);
    program_start(&program, &daemon);
    program_record(&program, 20000);
    optraced_wait_for(&daemon, "SELECT sum(session_id) FROM session", 2);
    CHECK_U64(optraced_query(&daemon, "SELECT count(*) FROM event"), 20000);
    CHECK_U64(optraced_query(&daemon, "SELECT sum(event_count) FROM v_op_stat"), 20000);
    CHECK_U64(optraced_query(&daemon, "SELECT count(*) FROM op WHERE session_id <> 2"), 0);
    program_record(&program, 1000);
    CHECK_U64(optraced_query(&daemon, "SELECT count(*) FROM event"), 21000);
    program_stop(&program);
    crash_check_integrity(&daemon);
    assert_int_equal(optraced_stop(&daemon), 0);
    optraced_deinit(&daemon);
}

/* What the program's threads have recorded, by the table that it goes into. */
static void count_recorded(const struct crash_program *program, int64_t *out_events,
                           int64_t *out_memory, int64_t *out_counters)
{
    *out_events = *out_memory = *out_counters = 0;
    for (uint32_t thread = 0; thread < program->notes->thread_count; thread++) {
        for (uint64_t number = 1; number <= program->notes->threads[thread].noted; number++) {
            enum crash_what what = crash_event(thread, number).what;

            *out_events += what <= CRASH_MARK;
            *out_counters += what == CRASH_COUNTER;
            *out_memory += what == CRASH_ALLOC || what == CRASH_FREE;
        }
    }
}

static void check_table(const struct optraced *daemon, const char *table, int64_t wanted)
{
    char sql[200];

    snprintf(sql, sizeof(sql), "SELECT (SELECT count(*) FROM %s) + sum(%s_count) FROM dropped",
             table, table);
    CHECK_U64(optraced_query(daemon, sql), wanted);
}

/* SIGKILL again and again while it drops: a sound store, and every event counts once. */
static void daemons_killed_while_they_drop_leave_a_sound_store(void **state)
{
    static const char *const arguments[] = {"--store-budget", "4MiB", NULL};
    unsigned rounds = crash_rounds(ROUNDS);
    int64_t events, memory, counters;
    struct crash_program program;
    struct optraced daemon;

    optraced_init(&daemon);
    optraced_start(&daemon, arguments);
    crash_program_start(&program, &daemon, 2, 0, 0);
    for (unsigned i = 0; i < rounds; i++) {
        optraced_wait_for(&daemon, "SELECT count(*) > 0 FROM dropped", 1);
        crash_spread_pause(LIFE_US_MAX);
        optraced_kill(&daemon);
        if (crash_random(2))
            crash_check_integrity(&daemon); /* else the daemon recovers it by itself */
        optraced_start(&daemon, arguments);
    }
    assert_int_equal(child_kill(&program.child, SIGTERM), 0);
    optraced_wait_for(&daemon, "SELECT count(*) FROM session WHERE end_ns IS NULL", 0);
    CHECK_U64(program.notes->lost, 0);
    count_recorded(&program, &events, &memory, &counters);
    check_table(&daemon, "event", events);
    check_table(&daemon, "memory_event", memory);
    check_table(&daemon, "counter", counters + 2); /* what recording costs, by the library itself */
    CHECK_U64(optraced_query(&daemon, "SELECT sum(event_count) FROM v_op_stat"), events);
    CHECK_U64(optraced_query(&daemon, "SELECT count(*) - count(DISTINCT correlation) FROM event"),
              0);
    crash_check_integrity(&daemon);
    printf("%u daemons killed, %lld of %lld events dropped\n", rounds,
           (long long)optraced_query(&daemon, "SELECT sum(event_count) FROM dropped"),
           (long long)events);
    crash_program_deinit(&program);
    assert_int_equal(optraced_stop(&daemon), 0);
    optraced_deinit(&daemon);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_are_dropped_when_they_are_old),
        cmocka_unit_test(sessions_are_dropped_when_they_are_old),
        cmocka_unit_test(a_store_stays_within_its_budget),
        cmocka_unit_test(a_large_store_shrinks_in_use),
        cmocka_unit_test(daemons_killed_while_they_drop_leave_a_sound_store),
    };

    return AT_ONCE_RUN(tests, 3);
}
