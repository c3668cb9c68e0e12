/* SPDX-License-Identifier: Apache-2.0 */
/* Rows against notes. */
#include "tests/flow/crash_check.h"

#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/support/check.h"
#include "tests/support/place.h"
#include "tests/support/temp.h"
#include "tests/support/turns.h"
#include "tests/support/wait.h"

unsigned crash_rounds(unsigned standard)
{
    const char *text = getenv("OPTRACE_CRASH_ROUNDS");

    if (text && atoi(text) > 0)
        return (unsigned)atoi(text);
    return turns_rounds(standard);
}

void crash_choose_scenario(void)
{
    cmocka_set_test_filter(getenv("OPTRACE_TEST_FILTER")); /* NULL: all */
}

unsigned crash_random(unsigned limit)
{
    static bool is_seeded;

    if (!is_seeded) {
        const char *text = getenv("OPTRACE_CRASH_SEED");
        unsigned seed =
            text ? (unsigned)strtoul(text, NULL, 10) : (unsigned)ot_clock_ns(CLOCK_REALTIME);

        printf("OPTRACE_CRASH_SEED=%u\n", seed);
        srand(seed);
        is_seeded = true;
    }
    return (unsigned)rand() % limit;
}

void crash_random_pause(unsigned limit_us)
{
    usleep(crash_random(limit_us + 1));
}

/* Steps by the golden ratio: wherever they end, they have left no large part out. */
void crash_spread_pause(unsigned limit_us)
{
    static double part = -1;

    part = part < 0 ? crash_random(1u << 20) / (double)(1u << 20) : part + 0.6180339887498949;
    part -= (unsigned)part;
    usleep((useconds_t)(part * limit_us));
}

/* --- The program --- */

static bool is_ready(void *context)
{
    struct crash_program *program = context;

    return __atomic_load_n(&program->notes->ready, __ATOMIC_ACQUIRE) == 1;
}

static void map_notes(struct crash_program *program)
{
    int fd = open(program->notes_path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    void *memory;

    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, sizeof(struct crash_notes)), 0);
    memory = mmap(NULL, sizeof(struct crash_notes), PROT_READ, MAP_SHARED, fd, 0);
    assert_true(memory != MAP_FAILED);
    program->notes = memory;
    close(fd);
}

void crash_program_start(struct crash_program *program, const struct optraced *daemon,
                         uint32_t thread_count, uint64_t event_count, unsigned pause_us)
{
    static unsigned programs; /* several of them may be there at once */
    char *path = place_program("tests/flow/crash_producer");
    char threads[16], events[32], pause[16], socket[300], notes[32];
    const char *argv[] = {path, NULL, threads, events, pause, NULL};
    /* Rings with room for the whole test: on a busy machine, a daemon that is killed every few
     * milliseconds hardly gets to commit. */
    const char *environment[] = {socket, "OPTRACE_RING_RECORDS=2097152", NULL};
    struct child_options options = {.environment = environment};

    snprintf(notes, sizeof(notes), "notes%u", programs++);
    *program = (struct crash_program){.notes_path = temp_path(daemon->dir, notes)};
    map_notes(program);
    argv[1] = program->notes_path;
    snprintf(threads, sizeof(threads), "%u", thread_count);
    snprintf(events, sizeof(events), "%llu", (unsigned long long)event_count);
    snprintf(pause, sizeof(pause), "%u", pause_us);
    snprintf(socket, sizeof(socket), "OPTRACE_SOCKET=%s", daemon->socket);
    child_start(&program->child, argv, &options);
    if (!wait_until(is_ready, program, WAIT_MS))
        fail_msg("crash_producer did not start: %s", program->child.err);
    free(path);
}

void crash_program_deinit(struct crash_program *program)
{
    child_deinit(&program->child);
    if (program->notes)
        munmap((void *)program->notes, sizeof(struct crash_notes));
    if (program->notes_path)
        unlink(program->notes_path);
    free(program->notes_path);
    *program = (struct crash_program){0};
}

/* --- The check --- */

/* What is known of one event of a thread. */
struct seen {
    bool is_there;
    int64_t start_ns, end_ns;
};

struct check {
    const struct crash_notes *notes;
    sqlite3 *db;
    int64_t session_id;
    bool was_killed;
    bool may_miss;  /* the last ones of a thread */
    bool may_doubt; /* the store may say that it does not know whether something is missing */
    uint64_t missing;
    struct seen *seen[CRASH_THREADS_MAX]; /* by number */
    uint64_t seen_max[CRASH_THREADS_MAX];
    unsigned unfinished[CRASH_THREADS_MAX];
    uint64_t count;
};

/* One more than the last number that may be there. */
static uint64_t number_limit(const struct check *check, uint32_t thread)
{
    return check->notes->threads[thread].noted + (check->was_killed ? 2 : 1);
}

/* Notes that the event is there; fails the test if it is there twice, or was never recorded. */
static struct seen *see(struct check *check, uint64_t id, const char *what)
{
    uint32_t thread = (uint32_t)(id >> 40) - 1;
    uint64_t number = id & ((UINT64_C(1) << 40) - 1);
    struct seen *seen;

    if (thread >= check->notes->thread_count || number == 0 ||
        number >= number_limit(check, thread))
        fail_msg("invented: %s %llu of thread %u, which noted %llu", what,
                 (unsigned long long)number, thread,
                 (unsigned long long)check->notes->threads[thread].noted);
    seen = &check->seen[thread][number];
    if (seen->is_there)
        fail_msg("twice: %s %llu of thread %u", what, (unsigned long long)number, thread);
    seen->is_there = true;
    if (number > check->seen_max[thread])
        check->seen_max[thread] = number;
    check->count++;
    return seen;
}

static struct crash_event event_of(uint64_t id)
{
    return crash_event((uint32_t)(id >> 40) - 1, id & ((UINT64_C(1) << 40) - 1));
}

static void check_run(const struct check *check, uint64_t id, int64_t run)
{
    struct crash_event event = event_of(id);
    uint32_t wanted = check->notes->threads[(id >> 40) - 1].runs[event.run_index];

    if (run != (int64_t)wanted)
        fail_msg("event %llx is in run %lld, not %u", (unsigned long long)id, (long long)run,
                 wanted);
}

static uint32_t thread_of_lane(const struct check *check, int64_t lane)
{
    for (uint32_t i = 0; i < check->notes->thread_count; i++)
        if (check->notes->threads[i].lane == lane)
            return i;
    fail_msg("lane %lld belongs to no thread", (long long)lane);
    return 0;
}

/* client_lane, op, run, dur_ns, kern_ns, correlation, bytes, start_ns */
static void take_event(struct check *check, sqlite3_stmt *row)
{
    static const char *const names[] = {"inner", "copy", "outer", "mark"};
    const char *name = (const char *)sqlite3_column_text(row, 1);
    uint64_t id = (uint64_t)sqlite3_column_int64(row, 5);
    uint32_t thread = thread_of_lane(check, sqlite3_column_int64(row, 0));
    struct crash_event event;
    struct seen *seen;
    int64_t dur_ns;

    if (sqlite3_column_type(row, 3) == SQLITE_NULL) {
        check->unfinished[thread]++;
        return;
    }
    seen = see(check, id, name);
    event = event_of(id);
    assert_int_equal(thread, (id >> 40) - 1);
    assert_true(event.what <= CRASH_MARK);
    assert_string_equal(name, names[event.what]);
    check_run(check, id, sqlite3_column_int64(row, 2));
    dur_ns = sqlite3_column_int64(row, 3);
    assert_true(dur_ns >= 0 && (event.what != CRASH_MARK || dur_ns == 0));
    assert_int_equal(sqlite3_column_type(row, 4) == SQLITE_NULL, event.what != CRASH_INNER);
    assert_in_range(sqlite3_column_int64(row, 4), 0, dur_ns);
    assert_int_equal(sqlite3_column_int64(row, 6), event.bytes);
    seen->start_ns = sqlite3_column_int64(row, 7);
    seen->end_ns = seen->start_ns + dur_ns;
}

/* run, value, time_ns */
static void take_counter(struct check *check, sqlite3_stmt *row)
{
    uint64_t id = (uint64_t)sqlite3_column_double(row, 1);
    struct seen *seen = see(check, id, "counter");

    assert_int_equal(event_of(id).what, CRASH_COUNTER);
    check_run(check, id, sqlite3_column_int64(row, 0));
    seen->start_ns = seen->end_ns = sqlite3_column_int64(row, 2);
}

/* run, address, bytes, time_ns */
static void take_memory_event(struct check *check, sqlite3_stmt *row)
{
    int64_t bytes = sqlite3_column_int64(row, 2);
    uint64_t address = (uint64_t)sqlite3_column_int64(row, 1);
    uint64_t id = bytes > 0 ? address : address + 3;
    struct seen *seen = see(check, id, "memory event");
    struct crash_event event = event_of(id);

    assert_int_equal(event.what, bytes > 0 ? CRASH_ALLOC : CRASH_FREE);
    assert_int_equal(event.bytes, bytes);
    check_run(check, id, sqlite3_column_int64(row, 0));
    seen->start_ns = seen->end_ns = sqlite3_column_int64(row, 3);
}

/* client_lane, run, start_ns, end_ns */
static void take_run(struct check *check, sqlite3_stmt *row)
{
    uint32_t thread = thread_of_lane(check, sqlite3_column_int64(row, 0));
    const struct crash_thread *notes = &check->notes->threads[thread];
    uint32_t run = (uint32_t)sqlite3_column_int64(row, 1), index = 0;
    struct seen *seen;

    while (index < notes->run_count && notes->runs[index] != run)
        index++;
    if (sqlite3_column_type(row, 3) == SQLITE_NULL) {
        check->unfinished[thread]++;
        return;
    }
    assert_true(index < notes->run_count);
    seen = see(check, crash_id(thread, (uint64_t)(index + 1) * CRASH_RUN_EVENTS), "run");
    seen->start_ns = sqlite3_column_int64(row, 2);
    seen->end_ns = sqlite3_column_int64(row, 3);
}

static void for_each(struct check *check, const char *sql, int64_t after,
                     void (*take)(struct check *check, sqlite3_stmt *row))
{
    sqlite3_stmt *row;
    int rc;

    if (sqlite3_prepare_v2(check->db, sql, -1, &row, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(check->db));
    sqlite3_bind_int64(row, 1, check->session_id);
    sqlite3_bind_int64(row, 2, after);
    while ((rc = sqlite3_step(row)) == SQLITE_ROW)
        take(check, row);
    if (rc != SQLITE_DONE)
        fail_msg("%s: %s", sql, sqlite3_errmsg(check->db));
    sqlite3_finalize(row);
}

static int64_t ask_int(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *row;
    int64_t number;

    if (sqlite3_prepare_v2(db, sql, -1, &row, NULL) != SQLITE_OK || sqlite3_step(row) != SQLITE_ROW)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    number = sqlite3_column_int64(row, 0);
    sqlite3_finalize(row);
    return number;
}

static bool contains(const struct seen *outer, const struct seen *inner)
{
    return outer->start_ns <= inner->start_ns && inner->end_ns <= outer->end_ns;
}

/* All of 1 to the last one is there, and what was recorded inside another span lies inside it. */
static void check_thread(struct check *check, uint32_t thread)
{
    const struct seen *seen = check->seen[thread];
    uint64_t noted = check->notes->threads[thread].noted, last = check->seen_max[thread];

    if (last < noted && !check->may_miss)
        fail_msg("lost: thread %u noted %llu, and %llu is the last one stored", thread,
                 (unsigned long long)noted, (unsigned long long)last);
    check->missing += last < noted ? noted - last : 0;
    for (uint64_t number = 1; number <= last; number++) {
        if (!seen[number].is_there)
            fail_msg("lost: event %llu of thread %u, of %llu", (unsigned long long)number, thread,
                     (unsigned long long)last);
        if (crash_event(thread, number).what == CRASH_OUTER &&
            (!contains(&seen[number], &seen[number - 2]) ||
             !contains(&seen[number], &seen[number - 1])))
            fail_msg("event %llu of thread %u does not contain what was inside it",
                     (unsigned long long)number, thread);
    }
    /* A run, an outer and an inner span at most. */
    assert_in_range(check->unfinished[thread], 0, check->was_killed ? 3 : 0);
}

static void check_rows(struct check *check, struct crash_position *position)
{
    for_each(check,
             "SELECT client_lane, op.name, run, dur_ns, kern_ns, correlation, bytes,"
             " event.start_ns FROM event JOIN lane USING (lane_id) JOIN op USING (op_id)"
             " WHERE lane.session_id = ? AND event.rowid > ?",
             position->event, take_event);
    for_each(check,
             "SELECT run, value, time_ns FROM counter JOIN lane USING (lane_id)"
             " WHERE lane.session_id = ? AND counter.rowid > ? AND op_id NOT IN"
             " (SELECT op_id FROM op WHERE name LIKE 'recording.%')", /* the library's own */
             position->counter, take_counter);
    for_each(check,
             "SELECT run, address, bytes, time_ns FROM memory_event JOIN lane USING (lane_id)"
             " WHERE lane.session_id = ? AND memory_event.rowid > ?",
             position->memory_event, take_memory_event);
    for_each(check,
             "SELECT client_lane, run, start_ns, end_ns FROM run JOIN lane USING (lane_id)"
             " WHERE run.session_id = ? AND ?",
             1, take_run);
    position->event = ask_int(check->db, "SELECT ifnull(max(rowid), 0) FROM event");
    position->counter = ask_int(check->db, "SELECT ifnull(max(rowid), 0) FROM counter");
    position->memory_event = ask_int(check->db, "SELECT ifnull(max(rowid), 0) FROM memory_event");
}

static void run_check(struct check *check, const struct optraced *daemon,
                      struct crash_position *position)
{
    const uint32_t thread_count = check->notes->thread_count;
    const char *gaps = check->may_doubt ? "SELECT count(*) FROM gap WHERE lost_count > 0"
                                        : "SELECT count(*) FROM gap";

    assert_int_equal(check->notes->lost, 0);
    assert_int_equal(sqlite3_open_v2(daemon->store, &check->db, SQLITE_OPEN_READWRITE, NULL),
                     SQLITE_OK);
    sqlite3_busy_timeout(check->db, (int)WAIT_MS);
    for (uint32_t i = 0; i < thread_count; i++) {
        check->seen[i] = calloc(number_limit(check, i), sizeof(struct seen));
        assert_non_null(check->seen[i]);
    }
    check_rows(check, position);
    if (!check->may_miss)
        assert_int_equal(ask_int(check->db, gaps), 0);
    for (uint32_t i = 0; i < thread_count; i++) {
        check_thread(check, i);
        free(check->seen[i]);
    }
    sqlite3_close(check->db);
}

uint64_t crash_check(const struct optraced *daemon, const struct crash_program *program,
                     struct crash_position *position, bool was_killed)
{
    struct check check = {
        .notes = program->notes, .session_id = program->session_id, .was_killed = was_killed};

    run_check(&check, daemon, position);
    return check.count;
}

uint64_t crash_check_kept(const struct optraced *daemon, const struct crash_program *program,
                          struct crash_position *position)
{
    struct check check = {.notes = program->notes,
                          .session_id = program->session_id,
                          .was_killed = true,
                          .may_doubt = true};

    run_check(&check, daemon, position);
    return check.count;
}

uint64_t crash_check_start(const struct optraced *daemon, const struct crash_program *program,
                           struct crash_position *position, uint64_t *out_missing)
{
    struct check check = {.notes = program->notes,
                          .session_id = program->session_id,
                          .was_killed = true,
                          .may_miss = true};

    run_check(&check, daemon, position);
    *out_missing = check.missing;
    return check.count;
}

void crash_check_integrity(const struct optraced *daemon)
{
    char *text = optraced_query_text(daemon, "PRAGMA integrity_check");

    assert_string_equal(text, "ok");
    free(text);
}
