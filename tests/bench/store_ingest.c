/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What it costs to store events: store_add_events() with its batches and roll-ups, against a loop
 * of prepared INSERTs of the same rows into the same file with the same settings in transactions of
 * the same size, on a connection as sqlite3_open() makes it and on one without mutexes. CPU time of
 * the process, from the first transaction to the closed file.
 */
#include <math.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "schema/store/store.h"
#include "tests/support/bench.h"
#include "tests/support/check.h"
#include "tests/support/draw.h"
#include "tests/support/temp.h"

enum {
    OPS = 75,         /* of a ResNet-50, about */
    EVENTS = 2000000, /* a multiple of both batch sizes */
    BATCH_MAX = 100000,
};

static uint64_t seed;

struct producer {
    int64_t now_ns;
    int64_t execution_count;
};

static double random_unit(void)
{
    return draw_unit(&seed);
}

/* Log-normal around the op's own typical time. */
static int64_t random_duration(int op)
{
    double normal = sqrt(-2 * log(1 - random_unit())) * cos(6.283185307179586 * random_unit());

    return (int64_t)(30000 * (1 + op * op % 17) * exp(0.15 * normal));
}

/* What load_and_run sends: for each op a span on the host's thread and one on the queue, tied by a
 * correlation, run after run. The next `count` of them. */
static void make_events(struct producer *producer, struct store_event *events, size_t count)
{
    for (size_t i = 0; i < count; i += 2) {
        int64_t execution = producer->execution_count++;
        int op = (int)(execution % OPS);
        int64_t run = execution / OPS + 1;
        int64_t dur_ns = random_duration(op);
        int64_t wait_ns = 400 + (int64_t)(random_unit() * 2000);
        int64_t now_ns = producer->now_ns;

        events[i] = (struct store_event){
            1, op + 1, run, now_ns, wait_ns + dur_ns, wait_ns, execution + 1, STORE_NULL};
        events[i + 1] = (struct store_event){2,      op + 1, run,           now_ns + wait_ns,
                                             dur_ns, 0,      execution + 1, STORE_NULL};
        producer->now_ns += wait_ns + dur_ns + 300;
    }
}

static void check(int rc, const struct diag *diag)
{
    if (rc < 0) {
        fprintf(stderr, "store_ingest: %s\n", diag->text);
        exit(EXIT_FAILURE);
    }
}

static void put_definitions(struct store *store)
{
    static const struct store_session session = {.session_id = 1,
                                                 .start_ns = 1,
                                                 .end_ns = STORE_NULL,
                                                 .pid = 1,
                                                 .uid = 1,
                                                 .clock = "tsc",
                                                 .source = "live"};
    struct store_lane lanes[] = {{1, 1, 1, "thread", "main", NULL, 1},
                                 {2, 1, 2, "queue", "worker", "cpu:0", 2}};
    struct diag diag = {0};

    check(store_begin(store, &diag), &diag);
    check(store_put_session(store, &session, &diag), &diag);
    for (int i = 0; i < 2; i++)
        check(store_put_lane(store, &lanes[i], &diag), &diag);
    for (int i = 0; i < OPS; i++) {
        struct store_op op = {.op_id = i + 1,
                              .session_id = 1,
                              .client_op = i + 1,
                              .model_id = STORE_NULL,
                              .name = "op",
                              .type = "Conv",
                              .computation_flop = STORE_NULL,
                              .memory_bytes = STORE_NULL,
                              .workspace_bytes = STORE_NULL};

        check(store_put_op(store, &op, &diag), &diag);
    }
    check(store_commit(store, &diag), &diag);
}

/* A second way into the same file: what a program without the store's code would write. */
struct loop {
    sqlite3 *db;
    sqlite3_stmt *statement;
};

static void check_code(struct loop *loop, int code)
{
    if (code != SQLITE_OK && code != SQLITE_DONE) {
        fprintf(stderr, "store_ingest: %s\n", sqlite3_errmsg(loop->db));
        exit(EXIT_FAILURE);
    }
}

static void open_loop(struct loop *loop, const char *path, int flags)
{
    check_code(loop, sqlite3_open_v2(path, &loop->db, flags, NULL));
    check_code(loop, sqlite3_exec(loop->db,
                                  "PRAGMA synchronous = NORMAL; PRAGMA cache_size = -4096;"
                                  "PRAGMA wal_autocheckpoint = 512",
                                  NULL, NULL, NULL));
    check_code(loop, sqlite3_prepare_v2(loop->db, "INSERT INTO event VALUES(?,?,?,?,?,?,?,?)", -1,
                                        &loop->statement, NULL));
}

static void insert_one_by_one(struct loop *loop, const struct store_event *events, size_t count)
{
    check_code(loop, sqlite3_exec(loop->db, "BEGIN IMMEDIATE", NULL, NULL, NULL));
    for (size_t i = 0; i < count; i++) {
        int64_t values[8];

        memcpy(values, &events[i], sizeof(values));
        for (int column = 0; column < 8; column++) {
            if (values[column] == STORE_NULL)
                sqlite3_bind_null(loop->statement, column + 1);
            else
                sqlite3_bind_int64(loop->statement, column + 1, values[column]);
        }
        check_code(loop, sqlite3_step(loop->statement));
        sqlite3_reset(loop->statement);
    }
    check_code(loop, sqlite3_exec(loop->db, "COMMIT", NULL, NULL, NULL));
}

static void add_to_store(struct store *store, const struct store_event *events, size_t count)
{
    struct diag diag = {0};

    check(store_begin(store, &diag), &diag);
    check(store_add_events(store, events, count, &diag), &diag);
    check(store_commit(store, &diag), &diag);
}

/* A new store with what the events refer to; *out_bytes is the size of its file. */
static struct store *make_store(const char *path, double *out_bytes)
{
    struct store *store = NULL;
    struct diag diag = {0};
    struct stat status;

    unlink(path);
    check(store_open(path, STORE_WRITE, &store, &diag), &diag);
    put_definitions(store);
    sqlite3_exec(store_handle(store), "PRAGMA wal_checkpoint(TRUNCATE)", NULL, NULL, NULL);
    stat(path, &status);
    *out_bytes = (double)status.st_size;
    return store;
}

enum way { WAY_STORE, WAY_LOOP, WAY_LOOP_WITHOUT_MUTEX };

/* Store all events. Returns CPU ns per event; *out_bytes is what an event adds to the closed file.
 * The events of a batch are made in the same memory each time, as the daemon does it. */
static double ingest(const char *path, struct store_event *events, size_t batch, enum way way,
                     double *out_bytes)
{
    struct producer producer = {.now_ns = INT64_C(1790000000000000000)};
    struct loop loop = {0};
    struct stat status;
    uint64_t start_ns, total_ns = 0;
    double empty_bytes;
    struct store *store = make_store(path, &empty_bytes);

    seed = DRAW_SEED;
    if (way != WAY_STORE) {
        store_close(&store);
        open_loop(&loop, path, SQLITE_OPEN_READWRITE | (way == WAY_LOOP ? 0 : SQLITE_OPEN_NOMUTEX));
    }
    for (size_t i = 0; i < EVENTS; i += batch) {
        make_events(&producer, events, batch);
        start_ns = ot_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
        if (way == WAY_STORE)
            add_to_store(store, events, batch);
        else
            insert_one_by_one(&loop, events, batch);
        total_ns += ot_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - start_ns;
    }
    start_ns = ot_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    store_close(&store);
    sqlite3_finalize(loop.statement);
    sqlite3_close(loop.db);
    total_ns += ot_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - start_ns;
    stat(path, &status);
    *out_bytes = ((double)status.st_size - empty_bytes) / EVENTS;
    return (double)total_ns / EVENTS;
}

/* `names`: the figures of WAY_STORE, WAY_LOOP, WAY_LOOP_WITHOUT_MUTEX, of both ratios, of the size.
 */
static void compare(const char *path, struct store_event *events, size_t batch, double goal,
                    const char *const names[6])
{
    static struct bench_figure figures[3], bytes;

    for (int way = 0; way < 3; way++)
        figures[way] = (struct bench_figure){.name = names[way], .unit = "ns"};
    bytes = (struct bench_figure){.name = names[5], .unit = "bytes"};
    for (int i = 0; i < BENCH_REPEATS; i++) {
        for (int way = 0; way < 3; way++) {
            double event_bytes;

            bench_add(&figures[way], ingest(path, events, batch, (enum way)way, &event_bytes));
            if (way == WAY_STORE)
                bench_add(&bytes, event_bytes);
        }
    }
    for (int way = 0; way < 3; way++)
        bench_print(&figures[way]);
    bench_print_ratio(names[3], &figures[WAY_LOOP], &figures[WAY_STORE], goal);
    bench_print_ratio(names[4], &figures[WAY_LOOP_WITHOUT_MUTEX], &figures[WAY_STORE], 0);
    bench_print(&bytes);
}

int main(void)
{
    static const char *const large_names[] = {
        "store_add_100k_cpu_ns",           "insert_loop_100k_cpu_ns",
        "insert_loop_nomutex_100k_cpu_ns", "store_add_100k_speedup",
        "store_add_100k_speedup_nomutex",  "store_100k_bytes_per_event"};
    static const char *const small_names[] = {
        "store_add_20k_cpu_ns",  "insert_loop_20k_cpu_ns",        "insert_loop_nomutex_20k_cpu_ns",
        "store_add_20k_speedup", "store_add_20k_speedup_nomutex", "store_20k_bytes_per_event"};
    struct store_event *events = malloc(BATCH_MAX * sizeof(*events));
    char *dir = temp_create();
    char *path = temp_path(dir, "store.db");

    if (!events)
        return EXIT_FAILURE;
    bench_print_machine();
    compare(path, events, BATCH_MAX, 3.5, large_names);
    compare(path, events, 20000, 3.0, small_names);
    temp_destroy(&dir);
    free(path);
    free(events);
    return EXIT_SUCCESS;
}
