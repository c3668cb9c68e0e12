/* SPDX-License-Identifier: Apache-2.0 */
/* Two small sessions, written row by row. */
#include "tests/support/small_store.h"

#include "tests/support/check.h"

#define MS INT64_C(1000000)

static void put_session(struct store *store, int64_t id, int64_t start_ns, int64_t end_ns,
                        const char *program, const char *reason)
{
    struct diag diag = {0};
    struct store_session row = {
        .session_id = id,
        .uuid = {(uint8_t)id},
        .start_ns = start_ns,
        .end_ns = end_ns,
        .end_reason = reason,
        .program = program,
        .command = program,
        .host = "box",
        .pid = 100 + id,
        .uid = 1000,
        .clock = "tsc",
        .source = "live",
    };

    CHECK_OK(store_put_session(store, &row, &diag));
}

static void put_lane(struct store *store, int64_t id, int64_t session_id, const char *kind,
                     const char *name, const char *device)
{
    struct store_lane row = {id, session_id, id, kind, name, device, id};
    struct diag diag = {0};

    CHECK_OK(store_put_lane(store, &row, &diag));
}

static void put_op(struct store *store, int64_t id, int64_t session_id, const char *name,
                   const char *type)
{
    struct diag diag = {0};
    struct store_op row = {
        .op_id = id,
        .session_id = session_id,
        .client_op = id,
        .model_id = STORE_NULL,
        .name = name,
        .type = type,
        .computation_flop = STORE_NULL,
        .memory_bytes = STORE_NULL,
        .workspace_bytes = STORE_NULL,
    };

    if (strcmp(type, "Conv") == 0) {
        row.node_id = "0";
        row.device = "cpu:0";
        row.input_shapes = "[[1,3,224,224],[64,3,7,7]]";
        row.input_dtypes = "[\"f32\",\"f32\"]";
        row.output_shapes = "[[1,64,112,112]]";
        row.output_dtypes = "[\"f32\"]";
        row.computation_flop = 236027904;
        row.memory_bytes = 3851008;
        row.origin = "[\"conv1\",\"bn1\"]";
    } else if (strcmp(type, "Relu") == 0) {
        row.node_id = "1";
        row.device = "cpu:0";
        row.input_shapes = "[[null,64,112,112]]";
        row.input_dtypes = "[\"f32\"]";
        row.output_shapes = "[[null,64,112,112]]";
        row.output_dtypes = "[\"f32\"]";
    }
    CHECK_OK(store_put_op(store, &row, &diag));
}

static void put_run(struct store *store, int64_t run, int64_t start_ns, int64_t end_ns)
{
    struct store_run row = {
        .session_id = 2,
        .run = run,
        .model_id = 1,
        .lane_id = 2,
        .start_ns = start_ns,
        .end_ns = end_ns,
        .warmup = run == 1,
    };
    struct diag diag = {0};

    CHECK_OK(store_put_run(store, &row, &diag));
}

static void add(struct store *store, const struct store_event *rows, size_t count)
{
    struct diag diag = {0};

    if (store_add_events(store, rows, count, &diag) < 0)
        fail_msg("%s", diag.text);
}

enum { OUTER = 1, INNER, STAGE, CONV, RELU, LOAD, PREPARE };

static void fill_hello(struct store *store)
{
    const int64_t t = SMALL_STORE_START_NS;

    put_session(store, 1, t, t + 40 * MS, "hello", "done");
    put_lane(store, 1, 1, "thread", "main", NULL);
    put_op(store, OUTER, 1, "outer", "demo");
    put_op(store, INNER, 1, "inner", "demo");
    put_op(store, STAGE, 1, "phase one", "label");
    for (int64_t i = 0; i < 3; i++) {
        const int64_t at = t + i * 12 * MS;
        const struct store_event rows[] = {
            {1, INNER, STORE_NULL, at + 2 * MS, 4 * MS, STORE_NULL, STORE_NULL, STORE_NULL},
            {1, OUTER, STORE_NULL, at, 10 * MS, STORE_NULL, STORE_NULL, STORE_NULL},
        };

        add(store, rows, 2);
    }
    add(store,
        &(struct store_event){1, STAGE, STORE_NULL, t, 36 * MS, STORE_NULL, STORE_NULL, STORE_NULL},
        1);
}

/* One run from `at` on; `scale` stretches all of it, `more` only conv on the queue. */
static void add_run(struct store *store, int64_t run, int64_t at, int64_t scale, int64_t more)
{
    const int64_t conv_ns = 6 * MS * scale + more;
    const struct store_event rows[] = {
        {2, PREPARE, run, at, MS / 10, STORE_NULL, STORE_NULL, STORE_NULL},
        {2, CONV, run, at, MS / 2 * scale, MS / 10, run * 10, STORE_NULL},
        {2, RELU, run, at + MS * scale, MS / 4 * scale, STORE_NULL, run * 10 + 1, STORE_NULL},
        {3, CONV, run, at + MS * scale, conv_ns, MS, run * 10, STORE_NULL},
        {3, RELU, run, at + MS * scale + conv_ns, 2 * MS * scale, STORE_NULL, run * 10 + 1,
         STORE_NULL},
    };

    add(store, rows, 5);
}

static void fill_resnet(struct store *store)
{
    const int64_t t = SMALL_STORE_SECOND_NS;
    const struct store_model model = {.model_id = 1,
                                      .session_id = 2,
                                      .client_model = 1,
                                      .name = "resnet",
                                      .format = "onnx",
                                      .parameter_bytes = 1000};
    const struct store_gap gap = {2, 3, "ring full", 42, t + 45 * MS, t + 46 * MS};
    struct diag diag = {0};

    put_session(store, 2, t, t + 100 * MS, "load_and_run", "died");
    CHECK_OK(store_put_model(store, &model, &diag));
    put_lane(store, 2, 2, "thread", "main", NULL);
    put_lane(store, 3, 2, "queue", "worker", "cpu:0");
    put_op(store, CONV, 2, "conv1", "Conv");
    put_op(store, RELU, 2, "relu1", "Relu");
    put_op(store, LOAD, 2, "load", "setup");
    put_op(store, PREPARE, 2, "prepare_data", "phase");
    add(store,
        &(struct store_event){2, LOAD, STORE_NULL, t, 5 * MS, STORE_NULL, STORE_NULL, STORE_NULL},
        1);
    put_run(store, 1, t + 10 * MS, t + 30 * MS);
    add_run(store, 1, t + 10 * MS, 2, 0);
    put_run(store, 2, t + 40 * MS, t + 50 * MS);
    add_run(store, 2, t + 40 * MS, 1, 0);
    put_run(store, 3, t + 60 * MS, t + 72 * MS);
    add_run(store, 3, t + 60 * MS, 1, 2 * MS);
    put_run(store, 4, t + 80 * MS, STORE_NULL);
    add(store,
        &(struct store_event){3, RELU, 4, t + 85 * MS, STORE_NULL, STORE_NULL, STORE_NULL,
                              STORE_NULL},
        1);
    CHECK_OK(store_add_gap(store, &gap, &diag));
}

void small_store_fill(struct store *store)
{
    struct diag diag = {0};

    CHECK_OK(store_begin(store, &diag));
    fill_hello(store);
    fill_resnet(store);
    CHECK_OK(store_commit(store, &diag));
}

void small_store_make(const char *path)
{
    struct store *store = NULL;
    struct diag diag = {0};

    if (store_open(path, STORE_WRITE, &store, &diag) < 0)
        fail_msg("%s", diag.text);
    small_store_fill(store);
    store_close(&store);
}
