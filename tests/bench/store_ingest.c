/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What it costs to store events: store_add_events() with its batches and roll-ups, against a loop
 * of prepared INSERTs of the same rows into a file of the same settings in transactions of the same
 * size. CPU time of the process, from the first transaction to the closed file.
 */
#include <math.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "schema/store.h"
#include "tests/support/bench.h"
#include "tests/support/check.h"
#include "tests/support/temp.h"

enum {
    OPS = 75, /* of a ResNet-50, about */
    EVENTS = 2000000,
};

static uint64_t seed = 88172645463325252u;

static double random_unit(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (double)(seed >> 11) / 9007199254740992.0;
}

/* Log-normal around the op's own typical time. */
static int64_t random_duration(int op)
{
    double normal = sqrt(-2 * log(1 - random_unit())) * cos(6.283185307179586 * random_unit());

    return (int64_t)(30000 * (1 + op * op % 17) * exp(0.15 * normal));
}

/* What load_and_run sends: for each op a span on the host's thread and one on the queue, tied by a
 * correlation, run after run. */
static void make_events(struct store_event *events)
{
    int64_t now_ns = INT64_C(1790000000000000000);
    int64_t correlation = 0;

    for (size_t i = 0; i < EVENTS; i += 2) {
        int op = (int)(i / 2 % OPS);
        int64_t run = (int64_t)(i / 2 / OPS) + 1;
        int64_t dur_ns = random_duration(op);
        int64_t wait_ns = 400 + (int64_t)(random_unit() * 2000);

        correlation++;
        events[i] = (struct store_event){1,       op + 1,      run,       now_ns, wait_ns + dur_ns,
                                         wait_ns, correlation, STORE_NULL};
        events[i + 1] = (struct store_event){2,      op + 1, run,         now_ns + wait_ns,
                                             dur_ns, 0,      correlation, STORE_NULL};
        now_ns += wait_ns + dur_ns + 300;
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

static void insert_one_by_one(struct store *store, sqlite3_stmt *statement,
                              const struct store_event *events, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int64_t values[8];

        memcpy(values, &events[i], sizeof(values));
        for (int column = 0; column < 8; column++) {
            if (values[column] == STORE_NULL)
                sqlite3_bind_null(statement, column + 1);
            else
                sqlite3_bind_int64(statement, column + 1, values[column]);
        }
        if (sqlite3_step(statement) != SQLITE_DONE) {
            fprintf(stderr, "store_ingest: %s\n", sqlite3_errmsg(store_handle(store)));
            exit(EXIT_FAILURE);
        }
        sqlite3_reset(statement);
    }
}

/* Store all events. Returns CPU ns per event; *out_bytes is the size of the closed file. */
static double ingest(const char *path, const struct store_event *events, size_t batch, bool is_fast,
                     double *out_bytes)
{
    sqlite3_stmt *statement = NULL;
    struct store *store = NULL;
    struct diag diag = {0};
    struct stat status;
    uint64_t start_ns;
    double empty_bytes;

    unlink(path);
    check(store_open(path, STORE_WRITE, &store, &diag), &diag);
    put_definitions(store);
    sqlite3_exec(store_handle(store), "PRAGMA wal_checkpoint(TRUNCATE)", NULL, NULL, NULL);
    stat(path, &status);
    empty_bytes = (double)status.st_size;
    sqlite3_prepare_v2(store_handle(store), "INSERT INTO event VALUES(?,?,?,?,?,?,?,?)", -1,
                       &statement, NULL);
    start_ns = ot_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    for (size_t i = 0; i < EVENTS; i += batch) {
        size_t count = EVENTS - i < batch ? EVENTS - i : batch;

        check(store_begin(store, &diag), &diag);
        if (is_fast)
            check(store_add_events(store, &events[i], count, &diag), &diag);
        else
            insert_one_by_one(store, statement, &events[i], count);
        check(store_commit(store, &diag), &diag);
    }
    sqlite3_finalize(statement);
    store_close(&store);
    start_ns = ot_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - start_ns;
    stat(path, &status);
    *out_bytes = ((double)status.st_size - empty_bytes) / EVENTS;
    return (double)start_ns / EVENTS;
}

static void compare(const char *path, const struct store_event *events, size_t batch,
                    const char *names[3], double goal)
{
    static struct bench_figure insert, store, bytes;

    insert = (struct bench_figure){.name = names[0], .unit = "ns"};
    store = (struct bench_figure){.name = names[1], .unit = "ns"};
    bytes = (struct bench_figure){.name = "store_bytes_per_event", .unit = "bytes"};
    for (int i = 0; i < BENCH_REPEATS; i++) {
        double event_bytes;

        bench_add(&insert, ingest(path, events, batch, false, &event_bytes));
        bench_add(&store, ingest(path, events, batch, true, &event_bytes));
        bench_add(&bytes, event_bytes);
    }
    bench_print(&insert);
    bench_print(&store);
    bench_print_ratio(names[2], &insert, &store, goal);
    bench_print(&bytes);
}

int main(void)
{
    struct store_event *events = malloc(EVENTS * sizeof(*events));
    char *dir = temp_create();
    char *path = temp_path(dir, "store.db");

    if (!events)
        return EXIT_FAILURE;
    make_events(events);
    bench_print_machine();
    compare(path, events, 100000,
            (const char *[]){"prepared_insert_100k_cpu_ns", "store_add_100k_cpu_ns",
                             "store_add_100k_speedup"},
            3.5);
    compare(path, events, 20000,
            (const char *[]){"prepared_insert_20k_cpu_ns", "store_add_20k_cpu_ns",
                             "store_add_20k_speedup"},
            3.5);
    temp_destroy(&dir);
    free(path);
    free(events);
    return EXIT_SUCCESS;
}
