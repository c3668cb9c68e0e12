/* SPDX-License-Identifier: Apache-2.0 */
/* Four sessions, step by step, and what is left of them. */
#include "tests/support/dropped_store.h"

#include "schema/store/store.h"
#include "schema/store/retain.h"
#include "tests/support/check.h"

enum { SESSIONS = 4, MS = 1000000, OPS = 6 };

/* Lanes are 2 * session - 1, a thread, and 2 * session, a queue. */
static const struct {
    int64_t session_id;
    const char *name, *type;
    int64_t flop;
} ops[OPS] = {
    {1, "conv", "Conv", 1000000},       {1, "relu", "Relu", STORE_NULL},
    {2, "outer", "Module", STORE_NULL}, {2, "inner", "MatMul", 5000},
    {3, "lone", "Conv", STORE_NULL},    {4, "step", "Conv", STORE_NULL},
};

static void put_sessions(struct store *store)
{
    struct diag diag = {0};

    for (int64_t id = 1; id <= SESSIONS; id++) {
        struct store_session session = {.session_id = id,
                                        .uuid = {(uint8_t)id},
                                        .start_ns = DROPPED_STORE_START_NS,
                                        .end_ns = DROPPED_STORE_START_NS +
                                                  DROPPED_STORE_STEPS * DROPPED_STORE_STEP_NS,
                                        .end_reason = "done",
                                        .program = "net",
                                        .host = "box",
                                        .pid = 100 + id,
                                        .uid = 1,
                                        .clock = "tsc",
                                        .source = "live"};
        struct store_lane thread = {2 * id - 1, id, 1, "thread", "main", NULL, 1};
        struct store_lane queue = {2 * id, id, 2, "queue", "worker", "cpu:0", 2};

        CHECK_OK(store_put_session(store, &session, &diag));
        CHECK_OK(store_put_lane(store, &thread, &diag));
        CHECK_OK(store_put_lane(store, &queue, &diag));
    }
    for (int64_t i = 0; i < OPS; i++) {
        struct store_op op = {.op_id = i + 1,
                              .session_id = ops[i].session_id,
                              .client_op = i + 1,
                              .model_id = STORE_NULL,
                              .name = ops[i].name,
                              .type = ops[i].type,
                              .computation_flop = ops[i].flop,
                              .memory_bytes = STORE_NULL,
                              .workspace_bytes = STORE_NULL};

        CHECK_OK(store_put_op(store, &op, &diag));
    }
}

static void put_run(struct store *store, int64_t session_id, int64_t run, int64_t start_ns,
                    int64_t dur_ns, int warmup)
{
    struct store_run row = {session_id,        run,   STORE_NULL, 2 * session_id - 1, start_ns,
                            start_ns + dur_ns, warmup};
    struct diag diag = {0};

    CHECK_OK(store_put_run(store, &row, &diag));
}

static void put_step(struct store *store, int step)
{
    int64_t t = DROPPED_STORE_START_NS + step * DROPPED_STORE_STEP_NS, grown = step * MS / 4;
    int64_t none = STORE_NULL, run = step + 1;
    const struct store_event events[] = {
        {1, 1, run, t + MS, MS, none, 1, none},
        {1, 2, run, t + 3 * MS, MS / 2, none, 2, none},
        {2, 1, run, t + 2 * MS, 3 * MS + grown, MS, 1, none},
        {2, 2, run, t + 6 * MS + grown, 2 * MS, MS / 2, 2, none},
        {3, 4, run, t + 2 * MS, 4 * MS, none, none, none},
        {3, 3, run, t + MS, 7 * MS + grown, none, none, none},
        {5, 5, none, t + MS, 5 * MS + grown, MS, none, none},
        {7, 6, 1, t + MS, 5 * MS + grown, none, none, none},
    };
    const struct store_memory_event memory[] = {
        {1, 1, run, t + MS, 4096, 1000},
        {1, 1, run, t + 4 * MS, 4096, -1000},
    };
    struct diag diag = {0};

    CHECK_OK(store_begin(store, &diag));
    put_run(store, 1, run, t, 10 * MS + grown, step == 0);
    put_run(store, 2, run, t, 10 * MS + grown, 0);
    CHECK_OK(store_add_events(store, events, sizeof(events) / sizeof(events[0]), &diag));
    CHECK_OK(store_add_memory_events(store, memory, 2, &diag));
    CHECK_OK(store_commit(store, &diag));
}

void dropped_store_make(const char *path, int dropped_steps)
{
    struct store_bounds bounds = {.keep_events_ns = 1};
    struct store_retained done = {0};
    struct store *store = NULL;
    struct diag diag = {0};

    CHECK_OK(store_open(path, STORE_WRITE, &store, &diag));
    CHECK_OK(store_begin(store, &diag));
    put_sessions(store);
    put_run(store, 4, 1, DROPPED_STORE_START_NS, DROPPED_STORE_STEPS * DROPPED_STORE_STEP_NS, 0);
    CHECK_OK(store_commit(store, &diag));
    for (int step = 0; step < DROPPED_STORE_STEPS; step++)
        put_step(store, step);
    if (dropped_steps)
        CHECK_OK(store_retain(store, &bounds,
                              DROPPED_STORE_START_NS + dropped_steps * DROPPED_STORE_STEP_NS, 1000,
                              &done, &diag));
    CHECK_U64(done.row_count, dropped_steps * 10);
    store_close(&store);
}
