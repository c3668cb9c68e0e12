/* SPDX-License-Identifier: Apache-2.0 */
/* The small store. */
#include "tests/support/store_sample.h"

#include <stdbool.h>

#include "tests/support/check.h"
#include "tests/support/store_support.h"

enum { RUNS = 10, US = 1000, MS = 1000000 };
enum { CONV = 1, PRODUCT = 2, UPLOAD = 3, FORWARD = 4, HEAT = 5, OPS_PER_SESSION = 10 };
enum { MAIN = 1, WORKER = 2, LANES_PER_SESSION = 2 };

struct sample {
    struct store *store;
    int64_t session_id, start_ns;
    struct store_event events[RUNS * 6 + 1];
    size_t event_count;
};

static void put_ops(struct sample *sample)
{
    struct diag diag = {0};
    const struct store_op ops[] = {
        {.client_op = CONV,
         .name = "conv1",
         .type = "Conv",
         .device = "cpu:0",
         .output_shapes = "[[1,64,112,112]]",
         .computation_flop = 240000000,
         .memory_bytes = 4000000,
         .workspace_bytes = 50000,
         .source = "net.py:10",
         .origin = "[\"Conv_0\",\"Relu_1\"]"},
        {.client_op = PRODUCT,
         .name = "fc",
         .type = "MatMul",
         .device = "cpu:0",
         .computation_flop = 4000000,
         .memory_bytes = 8000000,
         .workspace_bytes = STORE_NULL,
         .origin = "[\"Gemm_2\"]"},
        {.client_op = UPLOAD, .name = "upload", .type = "copy"},
        {.client_op = FORWARD, .name = "forward", .type = "label"},
        {.client_op = HEAT, .name = "temperature_c", .type = "counter"},
    };

    for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
        struct store_op op = ops[i];

        op.op_id = (sample->session_id - 1) * OPS_PER_SESSION + op.client_op;
        op.session_id = sample->session_id;
        op.model_id = sample->session_id;
        if (op.computation_flop == 0) {
            op.computation_flop = STORE_NULL;
            op.memory_bytes = STORE_NULL;
            op.workspace_bytes = STORE_NULL;
        }
        CHECK_OK(store_put_op(sample->store, &op, &diag));
    }
}

static int64_t lane_id(const struct sample *sample, int lane)
{
    return (sample->session_id - 1) * LANES_PER_SESSION + lane;
}

static void put_definitions(struct sample *sample)
{
    struct diag diag = {0};
    struct store_session session = {.session_id = sample->session_id,
                                    .uuid = {(uint8_t)sample->session_id},
                                    .start_ns = sample->start_ns,
                                    .end_ns = STORE_NULL,
                                    .program = "model",
                                    .command = "model --iter 10",
                                    .library = "liboptrace 0.1.0",
                                    .host = "here",
                                    .pid = 100 + sample->session_id,
                                    .uid = 1000,
                                    .clock = "tsc",
                                    .source = "live"};
    struct store_model model = {.model_id = sample->session_id,
                                .session_id = sample->session_id,
                                .client_model = 1,
                                .name = "net",
                                .format = "onnx",
                                .parameter_bytes = 1000};
    struct store_lane main_lane = {
        lane_id(sample, MAIN), sample->session_id, MAIN, "thread", "main", NULL, 1000};
    struct store_lane worker = {
        lane_id(sample, WORKER), sample->session_id, WORKER, "queue", "worker", "cpu:0", 0};

    CHECK_OK(store_put_session(sample->store, &session, &diag));
    CHECK_OK(store_put_model(sample->store, &model, &diag));
    CHECK_OK(store_put_lane(sample->store, &main_lane, &diag));
    CHECK_OK(store_put_lane(sample->store, &worker, &diag));
    put_ops(sample);
}

static struct store_event *add_event(struct sample *sample, int lane, int op, int64_t run,
                                     int64_t start_ns, int64_t dur_ns)
{
    struct store_event *event = &sample->events[sample->event_count++];

    *event = (struct store_event){
        .lane_id = lane_id(sample, lane),
        .op_id = (sample->session_id - 1) * OPS_PER_SESSION + op,
        .run = run,
        .start_ns = start_ns,
        .dur_ns = dur_ns,
        .kern_ns = STORE_NULL,
        .correlation = STORE_NULL,
        .bytes = STORE_NULL,
    };
    return event;
}

static void add_run(struct sample *sample, int64_t number)
{
    int64_t start_ns = sample->start_ns + number * 10 * MS;
    bool is_slow = sample->session_id == 2 && number == 5;
    int64_t conv_ns = is_slow ? 3200 * US : sample->session_id == 2 ? 1200 * US : 800 * US;
    int64_t conv_start_ns = start_ns + (230 + 2 * (number % 3)) * US;
    int64_t product_start_ns = conv_start_ns + conv_ns + 5 * US;
    struct store_run run = {.session_id = sample->session_id,
                            .run = number,
                            .model_id = sample->session_id,
                            .lane_id = lane_id(sample, MAIN),
                            .start_ns = start_ns,
                            .end_ns = product_start_ns + 300 * US,
                            .warmup = sample->session_id == 2 && number == 1};
    struct diag diag = {0};
    struct store_event *event;

    CHECK_OK(store_put_run(sample->store, &run, &diag));
    add_event(sample, MAIN, FORWARD, number, start_ns, run.end_ns - start_ns);
    add_event(sample, WORKER, UPLOAD, number, start_ns + 10 * US, 100 * US)->bytes = 602112;
    event = add_event(sample, MAIN, CONV, number, start_ns + 200 * US, 50 * US);
    event->kern_ns = 10 * US;
    event->correlation = 2 * number;
    event = add_event(sample, WORKER, CONV, number, conv_start_ns, conv_ns);
    event->kern_ns = 0;
    event->correlation = 2 * number;
    add_event(sample, MAIN, PRODUCT, number, start_ns + 260 * US, 40 * US)->correlation =
        2 * number + 1;
    event = add_event(sample, WORKER, PRODUCT, number, product_start_ns, 200 * US);
    event->kern_ns = 0;
    event->correlation = 2 * number + 1;
}

/* The most is held from the third taking on: 2,500 bytes, all of them for fc. */
static void add_memory(struct sample *sample)
{
    int64_t lane = lane_id(sample, MAIN);
    int64_t conv = OPS_PER_SESSION + CONV, product = OPS_PER_SESSION + PRODUCT;
    int64_t t = sample->start_ns;
    const struct store_memory_event rows[] = {
        {lane, conv, 1, t + 1, 0x10, 1000},       {lane, product, 1, t + 2, 0x20, 500},
        {lane, conv, 1, t + 3, 0x10, STORE_NULL}, {lane, product, 1, t + 4, 0x10, 2000},
        {lane, product, 1, t + 5, 0x20, -500},    {lane, STORE_NULL, 1, t + 6, 0x30, 100},
    };
    struct store_counter counters[] = {{lane, OPS_PER_SESSION + HEAT, STORE_NULL, t, 41.5},
                                       {lane, OPS_PER_SESSION + HEAT, STORE_NULL, t + MS, 43}};
    struct diag diag = {0};

    CHECK_OK(store_add_memory_events(sample->store, rows, sizeof(rows) / sizeof(rows[0]), &diag));
    CHECK_OK(store_add_counters(sample->store, counters, 2, &diag));
}

static void add_death(struct sample *sample)
{
    int64_t end_ns = sample->start_ns + 120 * MS;
    struct store_gap gap = {2,  lane_id(sample, MAIN), "ring full",
                            42, end_ns - 2 * MS,       end_ns - MS};
    struct diag diag = {0};

    add_event(sample, MAIN, CONV, 11, end_ns - MS, STORE_NULL);
    CHECK_OK(store_add_gap(sample->store, &gap, &diag));
}

void store_sample_fill(struct store *store)
{
    for (int64_t session_id = 1; session_id <= 2; session_id++) {
        struct sample sample = {
            .store = store,
            .session_id = session_id,
            .start_ns = STORE_SUPPORT_START_NS + (session_id - 1) * INT64_C(3600000000000),
        };
        struct diag diag = {0};

        store_support_begin(store);
        put_definitions(&sample);
        for (int64_t run = 1; run <= RUNS; run++)
            add_run(&sample, run);
        if (session_id == 2) {
            add_memory(&sample);
            add_death(&sample);
        }
        CHECK_OK(store_add_events(store, sample.events, sample.event_count, &diag));
        CHECK_OK(store_end_session(store, session_id, sample.start_ns + 120 * MS,
                                   session_id == 2 ? "died" : "done", NULL, &diag));
        store_support_commit(store);
    }
}
