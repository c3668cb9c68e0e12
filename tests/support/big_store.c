/* SPDX-License-Identifier: Apache-2.0 */
/* A store of many events, made once. */
#include "tests/support/big_store.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "schema/store/store.h"
#include "tests/support/place.h"

enum { RUNS_PER_BATCH = 50, WARMUPS = 10, EVENTS_PER_RUN = 2 * BIG_STORE_OPS };
enum { STEP = BIG_STORE_OPS + 1, ALL }; /* labels */

static void check(int rc, const struct diag *diag)
{
    if (rc < 0) {
        fprintf(stderr, "big_store: %s\n", diag->text);
        exit(EXIT_FAILURE);
    }
}

static void put_label(struct store *store, int64_t op_id, const char *name)
{
    const struct store_op op = {.op_id = op_id,
                                .session_id = 1,
                                .client_op = op_id,
                                .model_id = STORE_NULL,
                                .name = name,
                                .type = "label",
                                .computation_flop = STORE_NULL,
                                .memory_bytes = STORE_NULL,
                                .workspace_bytes = STORE_NULL};
    struct diag diag = {0};

    check(store_put_op(store, &op, &diag), &diag);
}

static void put_definitions(struct store *store, enum big_store_labels labels)
{
    const struct store_session session = {.session_id = 1,
                                          .start_ns = BIG_STORE_START_NS,
                                          .end_ns = STORE_NULL,
                                          .program = "load_and_run",
                                          .pid = 1,
                                          .uid = 1,
                                          .clock = "tsc",
                                          .source = "live"};
    const struct store_lane lanes[] = {{1, 1, 1, "thread", "main", NULL, 1},
                                       {2, 1, 2, "queue", "worker", "cpu:0", 2}};
    static const char *const types[] = {"Conv", "Relu", "Add", "MatMul", "Softmax"};
    struct diag diag = {0};

    check(store_put_session(store, &session, &diag), &diag);
    for (int i = 0; i < 2; i++)
        check(store_put_lane(store, &lanes[i], &diag), &diag);
    for (int i = 0; i < BIG_STORE_OPS; i++) {
        char name[32], params[128];
        struct store_op op = {
            .op_id = i + 1,
            .session_id = 1,
            .client_op = i + 1,
            .model_id = STORE_NULL,
            .name = name,
            .type = types[i % 5],
            .input_shapes = "[[1,64,56,56]]",
            .output_shapes = "[[1,64,56,56]]",
            .computation_flop = 1000000 * (i + 1),
            .memory_bytes = 4096 * (i + 1),
            .workspace_bytes = STORE_NULL,
        };

        snprintf(name, sizeof(name), "node_%d", i);
        snprintf(params, sizeof(params),
                 "{\"stack\":\"model.py(%d): forward;train.py(%d): step;train.py(9): main\"}", i,
                 i % 7);
        if (labels != BIG_STORE_NO_LABELS)
            op.params = params;
        check(store_put_op(store, &op, &diag), &diag);
    }
    if (labels != BIG_STORE_NO_LABELS)
        put_label(store, STEP, "step");
    if (labels == BIG_STORE_LABEL_AROUND_ALL)
        put_label(store, ALL, "all");
}

static uint32_t random_number(void)
{
    static uint32_t seed = 12345;

    seed = seed * 1664525 + 1013904223;
    return seed >> 8;
}

/* One run: rows for each op; returns when it ended. */
static int64_t make_run(struct store_event *rows, int64_t run, int64_t now_ns)
{
    static int64_t correlation;

    for (int op = 0; op < BIG_STORE_OPS; op++) {
        int64_t wait_ns = 400 + random_number() % 2000;
        int64_t dur_ns = 2000 * (1 + op * op % 17) + random_number() % 3000;

        correlation++;
        *rows++ = (struct store_event){1,       op + 1,      run,       now_ns, wait_ns + dur_ns,
                                       wait_ns, correlation, STORE_NULL};
        *rows++ = (struct store_event){2,      op + 1, run,         now_ns + wait_ns,
                                       dur_ns, 0,      correlation, STORE_NULL};
        now_ns += wait_ns + dur_ns + 300;
    }
    return now_ns;
}

/* What a thread was in, told as it ends. */
static struct store_event label_from(int64_t op, int64_t run, int64_t start_ns, int64_t end_ns)
{
    return (struct store_event){1,          op,         run,       start_ns, end_ns - start_ns,
                                STORE_NULL, STORE_NULL, STORE_NULL};
}

static void make(const char *path, enum big_store_labels labels)
{
    struct store_event *rows = malloc(sizeof(*rows) * (EVENTS_PER_RUN + 1) * RUNS_PER_BATCH);
    int64_t now_ns = BIG_STORE_START_NS;
    struct store *store = NULL;
    struct diag diag = {0};

    if (!rows)
        exit(EXIT_FAILURE);
    check(store_open(path, STORE_WRITE, &store, &diag), &diag);
    for (int64_t run = 1; run <= BIG_STORE_RUNS; run += RUNS_PER_BATCH) {
        size_t count = 0;

        check(store_begin(store, &diag), &diag);
        if (run == 1)
            put_definitions(store, labels);
        for (int64_t i = 0; i < RUNS_PER_BATCH; i++) {
            struct store_run row = {.session_id = 1,
                                    .run = run + i,
                                    .model_id = STORE_NULL,
                                    .lane_id = 1,
                                    .start_ns = now_ns,
                                    .warmup = run + i <= WARMUPS};

            now_ns = make_run(rows + count, run + i, now_ns) + 5000;
            row.end_ns = now_ns - 5000;
            count += EVENTS_PER_RUN;
            if (labels != BIG_STORE_NO_LABELS)
                rows[count++] = label_from(STEP, run + i, row.start_ns, row.end_ns);
            check(store_put_run(store, &row, &diag), &diag);
        }
        check(store_add_events(store, rows, count, &diag), &diag);
        check(store_commit(store, &diag), &diag);
    }
    check(store_begin(store, &diag), &diag);
    *rows = label_from(ALL, STORE_NULL, BIG_STORE_START_NS, now_ns);
    if (labels == BIG_STORE_LABEL_AROUND_ALL)
        check(store_add_events(store, rows, 1, &diag), &diag);
    check(store_end_session(store, 1, now_ns, "done", NULL, &diag), &diag);
    check(store_commit(store, &diag), &diag);
    store_close(&store);
    free(rows);
}

static int64_t find_end(const char *path)
{
    sqlite3_stmt *statement = NULL;
    struct store *store = NULL;
    struct diag diag = {0};
    int64_t end_ns = 0;

    check(store_open(path, STORE_READ, &store, &diag), &diag);
    sqlite3_prepare_v2(store_handle(store), "SELECT end_ns FROM session", -1, &statement, NULL);
    if (sqlite3_step(statement) == SQLITE_ROW)
        end_ns = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    store_close(&store);
    return end_ns;
}

/* Another build may have other tables. */
static bool is_up_to_date(const char *path)
{
    struct stat store, program;

    return stat(path, &store) == 0 && stat("/proc/self/exe", &program) == 0 &&
           store.st_mtime > program.st_mtime;
}

char *big_store_with(enum big_store_labels labels)
{
    static const char *const names[] = {"bench_report.db", "bench_report_labels.db",
                                        "bench_report_all.db"};
    char *path = place_program(names[labels]);
    char unfinished[4096];

    if (!is_up_to_date(path)) {
        snprintf(unfinished, sizeof(unfinished), "%s.unfinished", path);
        unlink(unfinished);
        make(unfinished, labels);
        if (rename(unfinished, path) != 0) {
            perror(path);
            exit(EXIT_FAILURE);
        }
    }
    return path;
}

char *big_store(int64_t *out_end_ns)
{
    char *path = big_store_with(BIG_STORE_NO_LABELS);

    *out_end_ns = find_end(path);
    return path;
}
