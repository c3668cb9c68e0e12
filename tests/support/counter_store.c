/* SPDX-License-Identifier: Apache-2.0 */
/* Spans and readings, row by row. */
#include "tests/support/counter_store.h"

#include "tests/support/check.h"
#include "tests/support/memory_store.h"

#define MS       INT64_C(1000000)
#define START_NS (MEMORY_STORE_START_NS - 3600000 * MS)

enum { MAIN = 30, QUEUE, HELPER, LANES = 3 };
enum { STEP = 40, BLOCK, CONV, RELU, PHASE, FIRST_COUNTER, COUNTERS = 6, COSTS = 4 };
enum { FIRST_COST = FIRST_COUNTER + COUNTERS, OPS = 5 + COUNTERS + COSTS };

/* What an execution has of its own, by counter; the last: for how long nothing was counted. */
typedef double counts[COUNTERS];

static const counts of_step = {1, 0.1 * MS, 1000, 2000, 1, 0};
static const counts of_block = {10, 1 * MS, 10000, 20000, 10, 0};
static const counts of_conv = {100, 3 * MS, 4e6, 1e6, 2000, 1 * MS};
static const counts of_queued_conv = {100, 3 * MS, 4e6, 1e6, 2000, 0};
static const counts of_relu = {0, 0.5 * MS, 200000, 400000, 50, 0};

struct filling {
    struct store *store;
    int64_t run, run_ns;
    counts counted[LANES]; /* so far */
};

static void put_definitions(struct store *store)
{
    const struct store_session session = {
        .session_id = COUNTER_STORE_SESSION,
        .uuid = {4},
        .start_ns = START_NS,
        .end_ns = START_NS + 120 * MS,
        .end_reason = "done",
        .program = "counted",
        .pid = 104,
        .uid = 1000,
        .clock = "tsc",
        .source = "live",
    };
    const struct store_lane lanes[] = {
        {MAIN, COUNTER_STORE_SESSION, 1, "thread", "main", NULL, 1},
        {QUEUE, COUNTER_STORE_SESSION, 2, "queue", "cpu queue", "cpu:0", 0},
        {HELPER, COUNTER_STORE_SESSION, 3, "thread", "helper", NULL, 2},
    };
    static const char *const ops[OPS][2] = {
        {"step", "label"},
        {"block", "Block"},
        {"conv", "Conv"},
        {"relu", "Relu"},
        {"compute", "phase"},
        {"perf.page-faults", "counter"},
        {"perf.task-clock_ns", "counter"},
        {"perf.instructions:u", "counter"},
        {"perf.cycles:u", "counter"},
        {"perf.cache-misses:u", "counter"},
        {"perf.unscheduled_ns", "counter"},
        {"recording.span_ns", "counter"},
        {"recording.empty_span_ns", "counter"},
        {"recording.counted_span_ns", "counter"},
        {"recording.counted_empty_span_ns", "counter"},
    };
    struct diag diag = {0};

    CHECK_OK(store_put_session(store, &session, &diag));
    for (int i = 0; i < LANES; i++)
        CHECK_OK(store_put_lane(store, &lanes[i], &diag));
    for (int i = 0; i < OPS; i++) {
        struct store_op op = {
            .op_id = STEP + i,
            .session_id = COUNTER_STORE_SESSION,
            .client_op = i + 1,
            .model_id = STORE_NULL,
            .name = ops[i][0],
            .type = ops[i][1],
            .computation_flop = STEP + i == CONV ? 8000000 : STORE_NULL,
            .memory_bytes = STORE_NULL,
            .workspace_bytes = STORE_NULL,
        };

        CHECK_OK(store_put_op(store, &op, &diag));
    }
}

/* A reading of all counters of a lane, `at_ns` after the begin of the run. */
static void read_at(struct filling *filling, int64_t lane, int64_t at_ns)
{
    struct diag diag = {0};

    for (int i = 0; i < COUNTERS; i++) {
        const struct store_counter row = {lane, FIRST_COUNTER + i, filling->run,
                                          filling->run_ns + at_ns,
                                          filling->counted[lane - MAIN][i]};

        if (i == COUNTERS - 1 && row.value == 0)
            continue; /* it is told once there is some */
        CHECK_OK(store_add_counters(filling->store, &row, 1, &diag));
    }
}

static void count(struct filling *filling, int64_t lane, const counts more)
{
    for (int i = 0; i < COUNTERS; i++)
        filling->counted[lane - MAIN][i] += more[i];
}

static void put_span(struct filling *filling, int64_t lane, int64_t op, int64_t at_ns,
                     int64_t dur_ns)
{
    const struct store_event event = {lane,   op,         filling->run, filling->run_ns + at_ns,
                                      dur_ns, STORE_NULL, STORE_NULL,   STORE_NULL};
    struct diag diag = {0};

    CHECK_OK(store_add_events(filling->store, &event, 1, &diag));
}

/* A span without others inside. */
static void put_counted(struct filling *filling, int64_t lane, int64_t op, int64_t at_ns,
                        int64_t dur_ns, const counts own)
{
    read_at(filling, lane, at_ns);
    count(filling, lane, own);
    read_at(filling, lane, at_ns + dur_ns);
    put_span(filling, lane, op, at_ns, dur_ns);
}

static void fill_run(struct filling *filling)
{
    const struct store_run run = {
        .session_id = COUNTER_STORE_SESSION,
        .run = filling->run,
        .model_id = STORE_NULL,
        .lane_id = MAIN,
        .start_ns = filling->run_ns,
        .end_ns = filling->run_ns + 10 * MS,
        .warmup = filling->run == 1,
    };
    struct diag diag = {0};

    CHECK_OK(store_put_run(filling->store, &run, &diag));
    read_at(filling, MAIN, 0);
    count(filling, MAIN, of_step);
    read_at(filling, MAIN, MS);
    count(filling, MAIN, of_block);
    put_span(filling, MAIN, PHASE, 3 * MS, MS);
    put_counted(filling, MAIN, CONV, 2 * MS, 4 * MS, of_conv);
    put_counted(filling, MAIN, RELU, 6 * MS + 500, MS, of_relu);
    read_at(filling, MAIN, 8 * MS);
    put_span(filling, MAIN, BLOCK, MS, 7 * MS);
    read_at(filling, MAIN, 9 * MS);
    put_span(filling, MAIN, STEP, 0, 9 * MS);

    put_counted(filling, QUEUE, CONV, 2 * MS, 3 * MS, of_queued_conv);
    if (filling->run < COUNTER_STORE_RUNS)
        put_counted(filling, QUEUE, RELU, 6 * MS, MS, of_relu);
    else
        put_span(filling, QUEUE, RELU, 6 * MS, MS);
    put_span(filling, HELPER, CONV, 2 * MS, MS);
}

static void put_costs(struct store *store)
{
    static const double costs[COSTS] = {20, 8, 500, 10};
    struct diag diag = {0};

    for (int i = 0; i < COSTS; i++) {
        const struct store_counter row = {MAIN, FIRST_COST + i, STORE_NULL, START_NS, costs[i]};

        CHECK_OK(store_add_counters(store, &row, 1, &diag));
    }
}

void counter_store_append(const char *path)
{
    struct filling filling = {.store = NULL};
    struct diag diag = {0};

    CHECK_OK(store_open(path, STORE_WRITE, &filling.store, &diag));
    CHECK_OK(store_begin(filling.store, &diag));
    put_definitions(filling.store);
    put_costs(filling.store);
    for (filling.run = 1; filling.run <= COUNTER_STORE_RUNS; filling.run++) {
        filling.run_ns = START_NS + filling.run * 10 * MS;
        fill_run(&filling);
    }
    CHECK_OK(store_commit(filling.store, &diag));
    store_close(&filling.store);
}
