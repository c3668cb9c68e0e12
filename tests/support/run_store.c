/* SPDX-License-Identifier: Apache-2.0 */
/* A session of equal runs with noise. */
#include "tests/support/run_store.h"

#include <string.h>

#include "analyze/stats/random.h"
#include "tests/support/check.h"

static void put_session(struct store *store, const struct run_store_session *session,
                        const struct store_ids *ids, int64_t end_ns)
{
    struct store_session row = {
        .session_id = ids->session_id + 1,
        .start_ns = session->start_ns,
        .end_ns = end_ns,
        .end_reason = "done",
        .program = session->program,
        .command = session->command,
        .library = session->library,
        .host = session->host,
        .pid = 100 + ids->session_id,
        .uid = 1000,
        .clock = "tsc",
        .source = "live",
        .environment = session->environment,
    };
    const struct store_model model = {
        .model_id = ids->model_id + 1,
        .session_id = ids->session_id + 1,
        .client_model = 1,
        .name = session->model,
        .format = "onnx",
        .digest = session->digest,
        .parameter_bytes = 1000,
    };
    const struct store_lane lane = {
        ids->lane_id + 1, ids->session_id + 1, 1, "queue", "cpu queue", "cpu:0", 0};
    struct diag diag = {0};

    memcpy(row.uuid, &row.session_id, sizeof(row.session_id));
    CHECK_OK(store_put_session(store, &row, &diag));
    CHECK_OK(store_put_model(store, &model, &diag));
    CHECK_OK(store_put_lane(store, &lane, &diag));
}

static void put_ops(struct store *store, const struct run_store_session *session,
                    const struct store_ids *ids)
{
    struct diag diag = {0};

    for (int i = 0; i < RUN_STORE_OPS_MAX && session->ops[i].name; i++) {
        const struct store_op row = {
            .op_id = ids->op_id + 1 + i,
            .session_id = ids->session_id + 1,
            .client_op = 1 + i,
            .model_id = ids->model_id + 1,
            .name = session->ops[i].name,
            .type = session->ops[i].type,
            .device = "cpu:0",
            .input_shapes = session->ops[i].shapes,
            .origin = session->ops[i].origin,
            .params = session->ops[i].params,
            .computation_flop = STORE_NULL,
            .memory_bytes = STORE_NULL,
            .workspace_bytes = STORE_NULL,
        };

        CHECK_OK(store_put_op(store, &row, &diag));
    }
    if (session->has_cpu_time) {
        const struct store_op clock = {.op_id = ids->op_id + 1 + RUN_STORE_OPS_MAX,
                                       .session_id = ids->session_id + 1,
                                       .client_op = 1 + RUN_STORE_OPS_MAX,
                                       .model_id = STORE_NULL,
                                       .name = "perf.task-clock_ns",
                                       .type = "counter",
                                       .computation_flop = STORE_NULL,
                                       .memory_bytes = STORE_NULL,
                                       .workspace_bytes = STORE_NULL};

        CHECK_OK(store_put_op(store, &clock, &diag));
    }
}

/* A reading of the thread's clock. */
static void put_reading(struct store *store, const struct run_store_session *session,
                        const struct store_ids *ids, unsigned run, int64_t at_ns, double cpu_ns)
{
    const struct store_counter row = {ids->lane_id + 1, ids->op_id + 1 + RUN_STORE_OPS_MAX, run + 1,
                                      at_ns, cpu_ns};
    struct diag diag = {0};

    if (session->has_cpu_time)
        CHECK_OK(store_add_counters(store, &row, 1, &diag));
}

/* Returns when it ended. */
static int64_t add_run(struct store *store, const struct run_store_session *session,
                       const struct store_ids *ids, unsigned run, uint64_t *seed, int64_t at_ns)
{
    struct store_run row = {
        .session_id = ids->session_id + 1,
        .run = run + 1,
        .model_id = ids->model_id + 1,
        .lane_id = ids->lane_id + 1,
        .start_ns = at_ns,
        .warmup = run < session->warmup_count,
    };
    double other_ns = 0; /* something else had the CPU */
    struct diag diag = {0};

    for (int i = 0; i < RUN_STORE_OPS_MAX && run % 8 < session->disturbed_of_8; i++)
        other_ns += session->ops[i].ns / 2;
    put_reading(store, session, ids, run, at_ns, 1e9 * run);
    for (int i = 0; i < RUN_STORE_OPS_MAX && session->ops[i].name; i++) {
        double noise = 1 + session->noise * random_unit(seed);
        double ns = session->ops[i].ns * noise * (row.warmup ? 2 : 1) + (i ? 0 : other_ns);
        const struct store_event event = {
            ids->lane_id + 1, ids->op_id + 1 + i, run + 1,    at_ns,
            (int64_t)ns,      STORE_NULL,         STORE_NULL, STORE_NULL};

        if (store_add_events(store, &event, 1, &diag) < 0)
            fail_msg("%s", diag.text);
        at_ns += (int64_t)ns + (int64_t)session->between_ns;
    }
    put_reading(store, session, ids, run, at_ns,
                1e9 * run + (double)(at_ns - row.start_ns) - other_ns);
    row.end_ns = at_ns;
    CHECK_OK(store_put_run(store, &row, &diag));
    return at_ns;
}

void run_store_add(struct store *store, const struct run_store_session *session)
{
    int64_t at_ns = session->start_ns;
    uint64_t seed = session->seed;
    struct store_ids ids;
    struct diag diag = {0};

    CHECK_OK(store_last_ids(store, &ids, &diag));
    CHECK_OK(store_begin(store, &diag));
    put_session(store, session, &ids, STORE_NULL);
    put_ops(store, session, &ids);
    for (unsigned run = 0; run < session->warmup_count + session->run_count; run++)
        at_ns = add_run(store, session, &ids, run, &seed, at_ns) + 1000;
    put_session(store, session, &ids, at_ns);
    CHECK_OK(store_commit(store, &diag));
}

void run_store_append(const char *path, const struct run_store_session *session)
{
    struct store *store = NULL;
    struct diag diag = {0};

    if (store_open(path, STORE_WRITE, &store, &diag) < 0)
        fail_msg("%s", diag.text);
    run_store_add(store, session);
    store_close(&store);
}
