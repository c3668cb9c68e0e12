/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What it costs the daemon to collect events: CPU time of the whole process, from two rings of the
 * usual size that a program keeps full to committed rows; against a loop of prepared INSERTs of the
 * same rows into a file of the same settings in transactions of the same size, through a connection
 * as sqlite3_open() gives it, and through one without its mutex. Then the daemon's share of a core
 * while a program records 100,000 events a second, and the bytes that an event takes on disk.
 */
#include <math.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "schema/store/store.h"
#include "tests/support/bench.h"
#include "tests/support/check.h"
#include "tests/support/draw.h"
#include "tests/support/optraced.h"
#include "tests/support/raw_client.h"

static const uint64_t HOUR_NS = UINT64_C(3600000000000);

enum {
    OPS = 75,         /* of a ResNet-50, about */
    EVENTS = 1 << 21, /* half of them on each of two rings */
    RING = 65536,     /* records, as liboptrace makes them */
    BATCH = 100000,   /* rows in a transaction of the daemon */
    RATE = 100000,    /* events a second, of the realistic program */
    RATE_SECONDS = 4,
    RATE_BURST_US = 10000,
};

static uint64_t seed = DRAW_SEED;

static double random_unit(void)
{
    return draw_unit(&seed);
}

/* A program with two lanes: the host's thread and a queue that it feeds. */
struct program {
    struct raw_client client;
    struct raw_ring rings[2];
    uint64_t pair; /* spans so far, of each lane */
    uint64_t now_ns;
};

static void program_start(struct program *program, const struct optraced *daemon,
                          uint64_t record_count)
{
    raw_init(&program->client);
    raw_join(&program->client, daemon->socket);
    raw_lane(&program->client, 1, "main");
    raw_lane(&program->client, 2, "worker");
    for (uint32_t op = 1; op <= OPS; op++)
        raw_op(&program->client, op, "op", "Conv");
    for (uint32_t i = 0; i < 2; i++)
        raw_ring_create(&program->rings[i], &program->client, i + 1, i + 1, record_count);
    assert_int_equal(raw_flush(&program->client), 0);
    program->pair = 0;
    program->now_ns = ot_clock_ns(CLOCK_MONOTONIC);
    /* An hour of records, as far as the machine has been up. */
    program->now_ns -= program->now_ns > HOUR_NS ? HOUR_NS : program->now_ns - 1;
}

static void program_hand_over(struct program *program)
{
    for (size_t i = 0; i < 2; i++)
        assert_true(raw_ring_send(&program->client, &program->rings[i]));
}

static void put(struct raw_ring *ring, const struct ot_wire_record *record)
{
    while (!raw_ring_put(ring, record))
        usleep(100); /* full: the daemon is at it */
}

/* One op: a span on the host's thread and one on the queue, tied by a correlation. */
static void program_record(struct program *program)
{
    uint32_t op = (uint32_t)(program->pair % OPS) + 1;
    uint64_t wait_ns = 400 + (uint64_t)(random_unit() * 2000);
    uint64_t dur_ns = (uint64_t)(200 + random_unit() * 3000);
    struct ot_wire_record host = raw_span(op, 1, program->now_ns, wait_ns + dur_ns, op);
    struct ot_wire_record device = raw_span(op, 2, program->now_ns + wait_ns, dur_ns, op);

    host.run = device.run = (uint32_t)(program->pair / OPS) + 1;
    host.kern_ticks = host.start_ticks + wait_ns;
    device.kern_ticks = device.start_ticks;
    program->now_ns += wait_ns + dur_ns + 300;
    program->pair++;
    put(&program->rings[0], &host);
    put(&program->rings[1], &device);
}

static void program_stop(struct program *program)
{
    raw_bye(&program->client);
    for (size_t i = 0; i < 2; i++)
        raw_ring_destroy(&program->rings[i]);
    raw_close(&program->client);
}

static uint64_t cpu_ns(pid_t pid)
{
    clockid_t clock;

    assert_int_equal(clock_getcpuclockid(pid, &clock), 0);
    return ot_clock_ns(clock);
}

static double store_bytes(const struct optraced *daemon)
{
    struct stat status;

    assert_int_equal(stat(daemon->store, &status), 0);
    return (double)status.st_size;
}

/* From rings to rows. Returns CPU ns per event of the daemon's process. The store stays. */
static double collect(struct optraced *daemon, double *out_bytes)
{
    struct program program;
    double empty_bytes;
    uint64_t start_ns;

    optraced_start(daemon, NULL);
    assert_int_equal(optraced_stop(daemon), 0); /* an empty store, all in one file */
    empty_bytes = store_bytes(daemon);
    optraced_start(daemon, NULL);
    program_start(&program, daemon, RING);
    while (program.pair < RING)
        program_record(&program);
    start_ns = cpu_ns(daemon->child.pid);
    program_hand_over(&program);
    while (program.pair < EVENTS / 2)
        program_record(&program);
    assert_int_equal(raw_flush(&program.client), 0);
    start_ns = cpu_ns(daemon->child.pid) - start_ns;
    program_stop(&program);
    assert_int_equal(optraced_stop(daemon), 0);
    CHECK_U64(optraced_query(daemon, "SELECT count(*) FROM event"), EVENTS);
    *out_bytes = (store_bytes(daemon) - empty_bytes) / EVENTS;
    return (double)start_ns / EVENTS;
}

static void insert_one(sqlite3_stmt *statement, const int64_t values[8])
{
    for (int column = 0; column < 8; column++) {
        if (values[column] == STORE_NULL)
            sqlite3_bind_null(statement, column + 1);
        else
            sqlite3_bind_int64(statement, column + 1, values[column]);
    }
    assert_int_equal(sqlite3_step(statement), SQLITE_DONE);
    sqlite3_reset(statement);
}

/* The rows that the daemon has stored, as it stored them. */
static int64_t (*load_rows(const struct optraced *daemon))[8]
{
    int64_t(*rows)[8] = malloc(EVENTS * sizeof(*rows));
    sqlite3_stmt *row;
    sqlite3 *db;

    assert_non_null(rows);
    assert_int_equal(sqlite3_open(daemon->store, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT * FROM event", -1, &row, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_column_count(row), 8);
    for (size_t i = 0; i < EVENTS; i++) {
        assert_int_equal(sqlite3_step(row), SQLITE_ROW);
        for (int column = 0; column < 8; column++)
            rows[i][column] = sqlite3_column_type(row, column) == SQLITE_NULL
                                  ? STORE_NULL
                                  : sqlite3_column_int64(row, column);
    }
    sqlite3_finalize(row);
    sqlite3_close(db);
    return rows;
}

static void must_exec(sqlite3 *db, const char *sql)
{
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
}

/* The same rows by a prepared INSERT each, with what store_open() sets: page size, WAL,
 * synchronous, cache, and a checkpoint each 1,000 pages. Returns CPU ns per event. */
static double insert(const struct optraced *daemon, int64_t (*rows)[8], int open_flags)
{
    sqlite3_stmt *statement;
    struct store *store = NULL;
    struct diag diag = {0};
    uint64_t start_ns;
    sqlite3 *db;

    unlink(daemon->store);
    CHECK_OK(store_open(daemon->store, STORE_WRITE, &store, &diag));
    store_close(&store);
    assert_int_equal(sqlite3_open_v2(daemon->store, &db, SQLITE_OPEN_READWRITE | open_flags, NULL),
                     SQLITE_OK);
    must_exec(db, "PRAGMA synchronous = NORMAL; PRAGMA cache_size = -4096");
    assert_int_equal(
        sqlite3_prepare_v2(db, "INSERT INTO event VALUES(?,?,?,?,?,?,?,?)", -1, &statement, NULL),
        SQLITE_OK);
    start_ns = ot_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    for (size_t i = 0; i < EVENTS; i++) {
        if (i % BATCH == 0)
            must_exec(db, "BEGIN");
        insert_one(statement, rows[i]);
        if (i % BATCH == BATCH - 1 || i == EVENTS - 1)
            must_exec(db, "COMMIT");
    }
    start_ns = ot_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - start_ns;
    sqlite3_finalize(statement);
    sqlite3_close(db);
    unlink(daemon->store);
    return (double)start_ns / EVENTS;
}

static void compare(void)
{
    static struct bench_figure by_daemon = {.name = "ingest_cpu_ns", .unit = "ns"};
    static struct bench_figure by_insert = {.name = "ingest_prepared_insert_cpu_ns", .unit = "ns"};
    static struct bench_figure by_bare_insert = {.name = "ingest_prepared_insert_nomutex_cpu_ns",
                                                 .unit = "ns"};
    static struct bench_figure bytes = {.name = "ingest_bytes_per_event", .unit = "bytes"};
    int64_t(*rows)[8] = NULL;

    for (int i = 0; i < BENCH_REPEATS; i++) {
        struct optraced daemon;
        double event_bytes;

        optraced_init(&daemon);
        bench_add(&by_daemon, collect(&daemon, &event_bytes));
        bench_add(&bytes, event_bytes);
        if (!rows)
            rows = load_rows(&daemon);
        bench_add(&by_insert, insert(&daemon, rows, 0));
        bench_add(&by_bare_insert, insert(&daemon, rows, SQLITE_OPEN_NOMUTEX));
        optraced_deinit(&daemon);
    }
    bench_print(&by_daemon);
    bench_print(&by_insert);
    bench_print(&by_bare_insert);
    bench_print_ratio("ingest_speedup", &by_insert, &by_daemon, 3);
    bench_print_ratio("ingest_speedup_to_nomutex", &by_bare_insert, &by_daemon, 0);
    bench_print(&bytes);
    free(rows);
}

/* A program that records RATE events a second in small bursts, as inference does. Returns the
 * daemon's CPU time, in percent of one core. */
static double share_of_core(void)
{
    struct optraced daemon;
    struct program program;
    uint64_t start_ns, start_cpu_ns, wall_ns;

    optraced_init(&daemon);
    optraced_start(&daemon, NULL);
    program_start(&program, &daemon, RING);
    program_hand_over(&program);
    start_ns = ot_clock_ns(CLOCK_MONOTONIC);
    start_cpu_ns = cpu_ns(daemon.child.pid);
    for (uint64_t i = 0; i < (uint64_t)RATE * RATE_SECONDS / 2; i++) {
        if (i % (RATE / 2 / (1000000 / RATE_BURST_US)) == 0)
            usleep(RATE_BURST_US); /* a little slow, by the time that recording takes */
        program_record(&program);
    }
    wall_ns = ot_clock_ns(CLOCK_MONOTONIC) - start_ns;
    assert_int_equal(raw_flush(&program.client), 0);
    start_cpu_ns = cpu_ns(daemon.child.pid) - start_cpu_ns;
    program_stop(&program);
    assert_int_equal(optraced_stop(&daemon), 0);
    optraced_deinit(&daemon);
    /* Per event, times the rate: what the sleeps take too long drops out. */
    return wall_ns > 0 ? (double)start_cpu_ns / (RATE * RATE_SECONDS) * RATE / 1e9 * 100 : 0;
}

int main(void)
{
    static struct bench_figure share = {.name = "collect_100k_per_s_cpu", .unit = "percent"};

    bench_print_machine();
    compare();
    for (int i = 0; i < BENCH_REPEATS; i++)
        bench_add(&share, share_of_core());
    bench_print(&share);
    return 0;
}
