/* SPDX-License-Identifier: Apache-2.0 */
/* A session with all that exports have to mind. */
#include "tests/support/odd_store.h"

#include "tests/support/check.h"

#define US   INT64_C(1000)
#define NONE STORE_NULL

enum { STEP = 21, GEMM, KERNEL, UPLOAD, NOTE, HEAT, HANG };
enum { MAIN = 11, STREAM };

static void put_session(struct store *store)
{
    struct diag diag = {0};
    struct store_session session = {
        .session_id = 3,
        .uuid = {3},
        .start_ns = ODD_STORE_NS,
        .end_ns = ODD_STORE_NS + 100 * US,
        .end_reason = "done",
        .program = "odd \"program\"",
        .pid = NONE,
        .uid = NONE,
        .clock = "tsc",
        .source = "live",
    };
    struct store_lane lanes[] = {{MAIN, 3, 1, "thread", "main \\ \"one\"", NULL, 4711},
                                 {STREAM, 3, 2, "stream", NULL, "cuda:0", 7}};

    CHECK_OK(store_put_session(store, &session, &diag));
    CHECK_OK(store_put_lane(store, &lanes[0], &diag));
    CHECK_OK(store_put_lane(store, &lanes[1], &diag));
}

static void put_ops(struct store *store)
{
    const struct store_op ops[] = {
        {.op_id = STEP, .name = "step; one", .type = "label"},
        {.op_id = GEMM,
         .name = "gemm \"A\\B\";\nline two \xff",
         .type = "cpu_op",
         .device = "cpu",
         .input_shapes = "[[2,3],null]",
         .input_dtypes = "[\"f32\",null]",
         .params = "{\"stack\":\"net.py(2): f;a b.py(1): <module>\",\"input_strides\":[[1,2],null],"
                   "\"alpha\":0.5}",
         .computation_flop = 1200,
         .memory_bytes = 96,
         .source = "net.py:2"},
        {.op_id = KERNEL, .name = "k<int>", .type = "kernel", .params = "{\"grid\":[1,2,3]}"},
        {.op_id = UPLOAD, .name = "upload", .type = "copy"},
        {.op_id = NOTE, .name = "here", .type = "mark"},
        {.op_id = HEAT, .name = "heat_c", .type = "counter"},
        {.op_id = HANG, .name = "hang", .type = "wait"},
    };
    struct diag diag = {0};

    for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
        struct store_op op = ops[i];

        op.session_id = 3;
        op.client_op = (int64_t)i + 1;
        op.model_id = op.workspace_bytes = NONE;
        if (!op.computation_flop)
            op.computation_flop = op.memory_bytes = NONE;
        CHECK_OK(store_put_op(store, &op, &diag));
    }
}

static void add_rows(struct store *store)
{
    const int64_t t = ODD_STORE_NS;
    const struct store_event events[] = {
        {MAIN, NOTE, NONE, t + 5 * US, 0, NONE, NONE, NONE},
        {STREAM, UPLOAD, NONE, t + 12 * US, 4 * US, NONE, 1, 4096},
        {MAIN, GEMM, NONE, t + 10 * US, 20 * US + 1, 2 * US, 1, NONE},
        {STREAM, KERNEL, NONE, t + 20 * US, 30 * US, NONE, 1, NONE},
        {STREAM, KERNEL, NONE, t + 40 * US, 30 * US, NONE, 1, NONE},
        {MAIN, STEP, NONE, t, 60 * US, NONE, NONE, NONE},
        {MAIN, HANG, NONE, t + 70 * US, NONE, NONE, NONE, NONE},
    };
    const struct store_memory_event memory[] = {
        {MAIN, GEMM, NONE, t + 11 * US, 64, 1000},
        {MAIN, GEMM, NONE, t + 29 * US, 64, NONE},
        {MAIN, STEP, NONE, t + 55 * US, 192, 8},
        {STREAM, NONE, NONE, t + 80 * US, 128, 500},
    };
    const struct store_counter counters[] = {{MAIN, HEAT, NONE, t + 1 * US, 41.5},
                                             {MAIN, HEAT, NONE, t + 2 * US, 43}};
    const struct store_gap gap = {3, NONE, "no memory", 7, t + 90 * US, t + 95 * US};
    struct diag diag = {0};

    CHECK_OK(store_add_events(store, events, sizeof(events) / sizeof(events[0]), &diag));
    CHECK_OK(store_add_memory_events(store, memory, sizeof(memory) / sizeof(memory[0]), &diag));
    CHECK_OK(store_add_counters(store, counters, 2, &diag));
    CHECK_OK(store_add_gap(store, &gap, &diag));
}

void odd_store_make(const char *path)
{
    struct store *store = NULL;
    struct diag diag = {0};

    if (store_open(path, STORE_WRITE, &store, &diag) < 0)
        fail_msg("%s", diag.text);
    small_store_fill(store);
    CHECK_OK(store_begin(store, &diag));
    put_session(store);
    put_ops(store);
    add_rows(store);
    CHECK_OK(store_commit(store, &diag));
    store_close(&store);
}
