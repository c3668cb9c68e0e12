/* SPDX-License-Identifier: Apache-2.0 */
/* Memory taken and given back, row by row. */
#include "tests/support/memory_store.h"

#include "tests/support/check.h"
#include "tests/support/small_store.h"

#define MS INT64_C(1000000)

enum { HOST_LANE = 20, DEVICE_LANE };
enum { WEIGHTS = 20, CONV, CACHE, DECODE, TOTAL };

static void put_definitions(struct store *store)
{
    const struct store_session session = {
        .session_id = MEMORY_STORE_SESSION,
        .uuid = {3},
        .start_ns = MEMORY_STORE_START_NS,
        .end_ns = MEMORY_STORE_START_NS + 120 * MS,
        .end_reason = "done",
        .program = "leaky",
        .pid = 103,
        .uid = 1000,
        .clock = "tsc",
        .source = "live",
    };
    const struct store_lane lanes[] = {
        {HOST_LANE, MEMORY_STORE_SESSION, 1, "thread", "main", NULL, 1},
        {DEVICE_LANE, MEMORY_STORE_SESSION, 2, "stream", "stream 7", "cuda:0", 7},
    };
    static const char *const ops[][2] = {{"weights", "memory"},
                                         {"conv", "Conv"},
                                         {"cache", "memory"},
                                         {"decode", "label"},
                                         {"Total Allocated", "counter"}};
    struct diag diag = {0};

    CHECK_OK(store_put_session(store, &session, &diag));
    for (int i = 0; i < 2; i++)
        CHECK_OK(store_put_lane(store, &lanes[i], &diag));
    for (int i = 0; i < 5; i++) {
        struct store_op op = {
            .op_id = WEIGHTS + i,
            .session_id = MEMORY_STORE_SESSION,
            .client_op = i + 1,
            .model_id = STORE_NULL,
            .name = ops[i][0],
            .type = ops[i][1],
            .output_shapes = i == 1 ? "[[1,64,56,56]]" : NULL,
            .computation_flop = STORE_NULL,
            .memory_bytes = STORE_NULL,
            .workspace_bytes = STORE_NULL,
        };

        CHECK_OK(store_put_op(store, &op, &diag));
    }
}

static void add_memory(struct store *store, const struct store_memory_event *rows, size_t count)
{
    struct diag diag = {0};

    CHECK_OK(store_add_memory_events(store, rows, count, &diag));
}

static void fill_run(struct store *store, int64_t number)
{
    const int64_t t = MEMORY_STORE_START_NS + number * 10 * MS, cache = 5000 + number * 16;
    const struct store_run run = {
        .session_id = MEMORY_STORE_SESSION,
        .run = number,
        .model_id = STORE_NULL,
        .lane_id = HOST_LANE,
        .start_ns = t,
        .end_ns = t + 10 * MS,
    };
    const struct store_event events[] = {
        {HOST_LANE, CONV, number, t + MS, 4 * MS, STORE_NULL, STORE_NULL, STORE_NULL},
        {HOST_LANE, DECODE, number, t, 6 * MS, STORE_NULL, STORE_NULL, STORE_NULL},
    };
    const struct store_memory_event memory[] = {
        {HOST_LANE, CONV, number, t + MS, 2000, 500},
        {DEVICE_LANE, CONV, number, t + 2 * MS, STORE_NULL, 64},
        {DEVICE_LANE, CONV, number, t + 4 * MS, STORE_NULL, -64},
        {HOST_LANE, CONV, number, t + 5 * MS, 2000, STORE_NULL},
        {HOST_LANE, CACHE, number, t + 6 * MS, cache, 16},
    };
    struct diag diag = {0};

    CHECK_OK(store_put_run(store, &run, &diag));
    CHECK_OK(store_add_events(store, events, 2, &diag));
    add_memory(store, memory, 5);
}

static void put_plan(struct store *store)
{
    const struct store_mem_chunk chunk = {1, MEMORY_STORE_SESSION, "chunk", 1000, "x"};
    const struct store_variable variables[] = {
        {1, MEMORY_STORE_SESSION, "x", "x", "f32", "[100]", CONV, 1, 0},
        {2, MEMORY_STORE_SESSION, "y", "y", "f32", "[5,10]", CONV, 1, 600},
        {3, MEMORY_STORE_SESSION, "z", "z", "f32", "[null]", CONV, 1, 900}, /* size not known */
    };
    struct diag diag = {0};

    CHECK_OK(store_put_mem_chunk(store, &chunk, &diag));
    for (int i = 0; i < 3; i++)
        CHECK_OK(store_put_variable(store, &variables[i], &diag));
}

void memory_store_fill(struct store *store)
{
    const int64_t t = MEMORY_STORE_START_NS;
    const struct store_memory_event first[] = {
        {HOST_LANE, WEIGHTS, STORE_NULL, t + MS, 1, 1000},
        {HOST_LANE, STORE_NULL, STORE_NULL, t + 2 * MS, 99, -300},
    };
    const struct store_counter counters[] = {
        {DEVICE_LANE, TOTAL, STORE_NULL, t + 10 * MS, 100},
        {DEVICE_LANE, TOTAL, STORE_NULL, t + 20 * MS, 300},
        {DEVICE_LANE, TOTAL, STORE_NULL, t + 30 * MS, 200},
    };
    struct diag diag = {0};

    CHECK_OK(store_begin(store, &diag));
    put_definitions(store);
    add_memory(store, first, 2);
    for (int64_t run = 1; run <= MEMORY_STORE_RUNS; run++)
        fill_run(store, run);
    CHECK_OK(store_add_counters(store, counters, 3, &diag));
    put_plan(store);
    CHECK_OK(store_commit(store, &diag));
}

void memory_store_make(const char *path)
{
    struct store *store = NULL;
    struct diag diag = {0};

    CHECK_OK(store_open(path, STORE_WRITE, &store, &diag));
    small_store_fill(store);
    memory_store_fill(store);
    store_close(&store);
}
