/* SPDX-License-Identifier: Apache-2.0 */
/* A disk that is full, and has room again: the daemon stays up, says so once, loses nothing that
 * rings hold, counts what it drops. */
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/exit_status.h"
#include "tests/support/at_once.h"
#include "tests/support/check.h"
#include "tests/support/optraced.h"
#include "tests/support/raw_client.h"
#include "tests/support/temp.h"
#include "tests/support/wait.h"

enum { RING_RECORDS = 1 << 14, ROUNDS = 3 };

/* What a client has recorded, and had to drop because its ring was full. */
struct recorder {
    struct raw_client client;
    struct raw_ring ring;
    uint64_t turns, put, dropped, sent;
};

static void recorder_start(struct recorder *recorder, const struct optraced *daemon)
{
    memset(recorder, 0, sizeof(*recorder));
    raw_init(&recorder->client);
    raw_join(&recorder->client, daemon->socket);
    raw_lane(&recorder->client, 1, "ring");
    raw_lane(&recorder->client, 2, "inline");
    raw_op(&recorder->client, 1, "conv1", "Conv");
    raw_ring_create(&recorder->ring, &recorder->client, 1, 1, RING_RECORDS);
    assert_true(raw_ring_send(&recorder->client, &recorder->ring));
}

static void record_one(struct recorder *recorder)
{
    struct ot_ring_gap *gap = &recorder->ring.memory->gaps[0];
    uint64_t now_ns = ot_clock_ns(CLOCK_MONOTONIC);
    struct ot_wire_record span = raw_span(1, 1, now_ns, 5, recorder->put + 1);

    if (raw_ring_put(&recorder->ring, &span)) {
        recorder->put++;
    } else {
        recorder->dropped++;
        if (recorder->dropped == 1)
            gap->first_ticks = now_ns;
        gap->lane_id = 1;
        gap->reason = OT_LOSS_RING_FULL;
        gap->last_ticks = now_ns;
        __atomic_store_n(&gap->lost_count, recorder->dropped, __ATOMIC_RELEASE);
    }
    if (++recorder->turns % 2 == 0) {
        span.lane_id = 2;
        span.correlation = ++recorder->sent;
        assert_true(raw_events(&recorder->client, &span, 1));
    }
}

/* Records until the daemon has logged `text`, `times` times. */
static void record_until_logged(struct recorder *recorder, struct optraced *daemon,
                                const char *text, unsigned times)
{
    uint64_t deadline_ns = ot_clock_ns(CLOCK_MONOTONIC) + WAIT_MS * UINT64_C(1000000);

    while (optraced_count_log(daemon, text) < times) {
        if (ot_clock_ns(CLOCK_MONOTONIC) > deadline_ns)
            fail_msg("\"%s\" was not logged: %s", text, daemon->child.err);
        for (int i = 0; i < 2000; i++)
            record_one(recorder);
    }
}

/* Each record is stored, or counted as lost, for the right reason. */
static void check_rows(const struct recorder *recorder, const struct optraced *daemon)
{
    char *integrity = optraced_query_text(daemon, "PRAGMA integrity_check");

    assert_string_equal(integrity, "ok");
    free(integrity);
    CHECK_U64(optraced_query(daemon, "SELECT count(*) FROM event JOIN lane USING (lane_id)"
                                     " WHERE name = 'ring'"),
              recorder->put);
    CHECK_U64(optraced_query(daemon, "SELECT count(DISTINCT correlation) FROM event JOIN lane"
                                     " USING (lane_id) WHERE name = 'ring'"),
              recorder->put);
    CHECK_U64(optraced_query(daemon, "SELECT ifnull(sum(lost_count), 0) FROM gap WHERE reason ="
                                     " 'ring full'"),
              recorder->dropped);
    CHECK_U64(optraced_query(daemon, "SELECT ifnull(sum(lost_count), 0) + (SELECT count(*)"
                                     " FROM event JOIN lane USING (lane_id) WHERE name ="
                                     " 'inline') FROM gap JOIN lane USING (lane_id) WHERE reason ="
                                     " 'store' AND name = 'inline' AND gap.start_ns <= gap.end_ns"),
              recorder->sent);
    CHECK_U64(optraced_query(daemon, "SELECT count(*) FROM gap WHERE reason NOT IN ('store',"
                                     " 'ring full')"),
              0);
}

/* Fill it, free it, several times; `change` makes it full or gives room. */
static void go_through(struct optraced *daemon, void (*change)(struct optraced *daemon, bool full))
{
    struct recorder recorder;

    recorder_start(&recorder, daemon);
    for (unsigned round = 1; round <= ROUNDS; round++) {
        change(daemon, true);
        record_until_logged(&recorder, daemon, "cannot be written", round);
        assert_true(raw_flush(&recorder.client) < 0); /* an answer, not a wait */
        for (int i = 0; i < 12 * RING_RECORDS; i++)
            record_one(&recorder); /* more than any queue takes */
        change(daemon, false);
        record_until_logged(&recorder, daemon, "can be written again", round);
        assert_int_equal(raw_flush(&recorder.client), 0);
        check_rows(&recorder, daemon);
    }
    assert_true(recorder.dropped > 0);
    assert_true(optraced_query(daemon, "SELECT sum(lost_count) FROM gap WHERE reason = 'store'") >
                0);
    optraced_expect_log(daemon, "cannot be written", ROUNDS);
    optraced_expect_log(daemon, "can be written again", ROUNDS);
    raw_bye(&recorder.client);
    optraced_wait_for(daemon, "SELECT count(*) FROM session WHERE end_reason = 'done'", 1);
    raw_close(&recorder.client);
    raw_ring_destroy(&recorder.ring);
}

/* --- A small file system of our own --- */

static void change_ballast(struct optraced *daemon, bool full)
{
    static const char zeros[1 << 16];
    char *path = temp_path(daemon->dir, "disk/ballast");
    FILE *file;

    if (full) {
        file = fopen(path, "w");
        assert_non_null(file);
        while (fwrite(zeros, 1, sizeof(zeros), file) == sizeof(zeros) && fflush(file) == 0)
            ;
        fclose(file);
    } else {
        assert_int_equal(truncate(path, 0), 0);
    }
    free(path);
}

/* Each record is stored, or was and was dropped, or is counted as lost; the newest is stored. */
static void check_sum(const struct recorder *recorder, const struct optraced *daemon)
{
    char *integrity = optraced_query_text(daemon, "PRAGMA integrity_check");

    assert_string_equal(integrity, "ok");
    free(integrity);
    CHECK_U64(optraced_query(daemon, "SELECT (SELECT count(*) FROM event) + (SELECT"
                                     " ifnull(sum(event_count), 0) FROM dropped) + (SELECT"
                                     " ifnull(sum(lost_count), 0) FROM gap)"),
              recorder->put + recorder->dropped + recorder->sent);
    CHECK_U64(optraced_query(daemon, "SELECT max(correlation) FROM event JOIN lane USING (lane_id)"
                                     " WHERE name = 'ring'"),
              recorder->put);
}

/* The store itself fills the disk, which is much smaller than its budget; then others do, to the
 * last byte. The oldest events go, recording goes on, and nobody has to do anything. */
static void record_on_a_small_disk(struct optraced *daemon)
{
    struct recorder recorder;

    recorder_start(&recorder, daemon);
    record_until_logged(&recorder, daemon, "disk of the store is full: the oldest events", 1);
    for (unsigned round = 1; round <= ROUNDS; round++) {
        change_ballast(daemon, true);
        for (int i = 0; i < 12 * RING_RECORDS; i++)
            record_one(&recorder);
        assert_int_equal(raw_flush(&recorder.client), 0);
        check_sum(&recorder, daemon);
        change_ballast(daemon, false);
        for (int i = 0; i < 12 * RING_RECORDS; i++)
            record_one(&recorder);
        assert_int_equal(raw_flush(&recorder.client), 0);
        check_sum(&recorder, daemon);
    }
    optraced_expect_log(daemon, "cannot be written", 0);
    assert_true(optraced_query(daemon, "SELECT event_count FROM dropped WHERE reason = 'disk'") >
                0);
    raw_bye(&recorder.client);
    optraced_wait_for(daemon, "SELECT count(*) FROM session WHERE end_reason = 'done'", 1);
    raw_close(&recorder.client);
    raw_ring_destroy(&recorder.ring);
}

static void a_full_disk_is_survived(void **state)
{
    struct optraced daemon;
    char *disk;

    if (geteuid() != 0 || unshare(CLONE_NEWNS) < 0 ||
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        CHECK_SKIP("only root can mount a file system of its own");
    optraced_init(&daemon);
    disk = temp_path(daemon.dir, "disk");
    assert_int_equal(mkdir(disk, 0700), 0);
    assert_int_equal(mount("optrace-test", disk, "tmpfs", 0, "size=24m"), 0);
    free(daemon.store);
    daemon.store = temp_path(disk, "o.db");
    optraced_start(&daemon, NULL);
    record_on_a_small_disk(&daemon);
    assert_int_equal(optraced_stop(&daemon), 0);
    assert_int_equal(umount(disk), 0);
    free(disk);
    optraced_deinit(&daemon);
}

/* --- A limit on the size of files: no root needed --- */

static void change_limit(struct optraced *daemon, bool full)
{
    struct rlimit limit = {.rlim_cur = RLIM_INFINITY, .rlim_max = RLIM_INFINITY};
    struct stat status = {0};
    char wal[4096];

    snprintf(wal, sizeof(wal), "%s-wal", daemon->store);
    assert_int_equal(stat(wal, &status), 0);
    if (full)
        limit.rlim_cur = 1 << 15; /* whatever it is now, it may not grow beyond this */
    assert_int_equal(prlimit(daemon->child.pid, RLIMIT_FSIZE, &limit, NULL), 0);
}

static void a_file_size_limit_is_survived(void **state)
{
    struct optraced daemon;

    optraced_init(&daemon);
    optraced_start(&daemon, NULL);
    go_through(&daemon, change_limit);
    assert_int_equal(optraced_stop(&daemon), 0);
    optraced_deinit(&daemon);
}

/* SIGTERM while the disk is full: it ends, and says what it could not store. */
static void sigterm_on_a_full_disk_ends_it(void **state)
{
    struct recorder recorder;
    struct optraced daemon;

    optraced_init(&daemon);
    optraced_start(&daemon, NULL);
    recorder_start(&recorder, &daemon);
    assert_int_equal(raw_flush(&recorder.client), 0);
    change_limit(&daemon, true);
    record_until_logged(&recorder, &daemon, "cannot be written", 1);
    assert_int_equal(optraced_stop(&daemon), EXIT_SYSTEM);
    CHECK_CONTAINS(daemon.child.err, "events were not stored");
    CHECK_CONTAINS(daemon.child.err, "more wait in the rings of programs that run");
    raw_close(&recorder.client);
    optraced_start(&daemon, NULL); /* without the limit: what the ring holds is still there */
    raw_join(&recorder.client, daemon.socket);
    raw_lane(&recorder.client, 1, "ring");
    raw_string(&recorder.client, "inline");
    raw_op(&recorder.client, 1, "conv1", "Conv");
    raw_ring_send(&recorder.client, &recorder.ring);
    assert_int_equal(raw_flush(&recorder.client), 0);
    CHECK_U64(optraced_query(&daemon, "SELECT count(DISTINCT correlation) FROM event JOIN lane"
                                      " USING (lane_id) WHERE name = 'ring'"),
              recorder.put);
    raw_close(&recorder.client);
    raw_ring_destroy(&recorder.ring);
    assert_int_equal(optraced_stop(&daemon), 0);
    optraced_deinit(&daemon);
}

/* The number that stands before these words in the log. */
static uint64_t number_before(const struct optraced *daemon, const char *words)
{
    const char *at = strstr(daemon->child.err, words);

    assert_non_null(at);
    at--; /* the space */
    while (at > daemon->child.err && at[-1] >= '0' && at[-1] <= '9')
        at--;
    return strtoull(at, NULL, 10);
}

/* The count that is said at the end is that of all events that stand nowhere: those in batches, in
 * the rings of a program that is gone, sent inline, and those that the program had to drop. */
static void what_is_not_stored_at_the_end_is_counted(void **state)
{
    struct recorder recorder;
    struct optraced daemon;
    int64_t known;

    optraced_init(&daemon);
    optraced_start(&daemon, NULL);
    recorder_start(&recorder, &daemon);
    for (int i = 0; i < 100; i++)
        record_one(&recorder);
    assert_int_equal(raw_flush(&recorder.client), 0);
    change_limit(&daemon, true);
    record_until_logged(&recorder, &daemon, "cannot be written", 1);
    for (int i = 0; i < 4 * RING_RECORDS; i++)
        record_one(&recorder);
    raw_bye(&recorder.client);
    raw_close(&recorder.client);
    assert_int_equal(optraced_stop(&daemon), EXIT_SYSTEM);
    known = optraced_query(&daemon, "SELECT (SELECT count(*) FROM event) +"
                                    " (SELECT ifnull(sum(lost_count), 0) FROM gap)");
    CHECK_U64(number_before(&daemon, "events were not stored"),
              recorder.put + recorder.dropped + recorder.sent - (uint64_t)known);
    raw_ring_destroy(&recorder.ring);
    optraced_deinit(&daemon);
}

/* --- Programs that die while the disk is full --- */

enum { PROGRAMS = 6, PROGRAM_RECORDS = 100 }; /* of 2^22 records each: more than may be left */

/* Joins, waits for the file "go", records, waits to be killed. */
static int record_when_told(void *context)
{
    const struct optraced *daemon = context;
    char *go = temp_path(daemon->dir, "go");
    struct raw_client client;
    struct raw_ring ring;

    raw_init(&client);
    raw_join(&client, daemon->socket);
    raw_lane(&client, 1, "doomed");
    raw_op(&client, 1, "conv1", "Conv");
    raw_ring_create(&ring, &client, 1, 1, OT_WIRE_RING_RECORDS_MAX);
    raw_ring_send(&client, &ring);
    assert_int_equal(raw_flush(&client), 0);
    printf("joined\n");
    fflush(stdout);
    assert_true(wait_for_path(go, WAIT_MS));
    for (uint64_t i = 1; i <= PROGRAM_RECORDS; i++) {
        struct ot_wire_record span = raw_span(1, 1, ot_clock_ns(CLOCK_MONOTONIC), 5, i);

        raw_ring_put(&ring, &span);
    }
    printf("recorded\n");
    fflush(stdout);
    for (;;)
        pause();
    return 0;
}

/* Their rings are kept as far as the limit goes; the others are counted: nothing is forgotten. */
static void what_dead_programs_leave_is_bounded(void **state)
{
    struct child programs[PROGRAMS];
    struct recorder recorder;
    struct optraced daemon;
    int64_t stored, lost;

    optraced_init(&daemon);
    optraced_start(&daemon, NULL);
    recorder_start(&recorder, &daemon);
    for (size_t i = 0; i < PROGRAMS; i++) {
        child_start_function(&programs[i], record_when_told, &daemon);
        assert_true(child_wait_text(&programs[i], "joined", WAIT_MS));
    }
    change_limit(&daemon, true);
    record_until_logged(&recorder, &daemon, "cannot be written", 1);
    for (int i = 0; i < 12 * RING_RECORDS; i++)
        record_one(&recorder);
    free(temp_write(daemon.dir, "go", "", 0));
    for (size_t i = 0; i < PROGRAMS; i++) {
        assert_true(child_wait_text(&programs[i], "recorded", WAIT_MS));
        child_kill(&programs[i], SIGKILL);
        child_deinit(&programs[i]);
    }
    record_until_logged(&recorder, &daemon, " ends: died", 1);
    change_limit(&daemon, false);
    optraced_wait_for(&daemon, "SELECT count(*) FROM session WHERE end_reason = 'died'", PROGRAMS);
    assert_int_equal(raw_flush(&recorder.client), 0);
    stored = optraced_query(&daemon, "SELECT count(*) FROM event JOIN lane USING (lane_id)"
                                     " WHERE name = 'doomed'");
    lost = optraced_query(&daemon, "SELECT ifnull(sum(lost_count), 0) FROM gap JOIN lane USING"
                                   " (lane_id) WHERE name = 'doomed' AND reason = 'store'");
    /* How many depends on how full the daemon's queue was when they died. */
    printf("of %d events of dead programs, %lld were stored\n", PROGRAMS * PROGRAM_RECORDS,
           (long long)stored);
    CHECK_U64(stored + lost, PROGRAMS * PROGRAM_RECORDS);
    assert_true(stored >= PROGRAM_RECORDS);
    raw_close(&recorder.client);
    raw_ring_destroy(&recorder.ring);
    assert_int_equal(optraced_stop(&daemon), 0);
    optraced_deinit(&daemon);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_full_disk_is_survived),
        cmocka_unit_test(a_file_size_limit_is_survived),
        cmocka_unit_test(sigterm_on_a_full_disk_ends_it),
        cmocka_unit_test(what_is_not_stored_at_the_end_is_counted),
        cmocka_unit_test(what_dead_programs_leave_is_bounded),
    };

    return AT_ONCE_RUN(tests, 3);
}
