/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The numbers that two articles show of Paddle's and MIGraphX's profilers come out of the reports
 * of the same kind when the rows that they are made of are fed in: each is compared to the digits
 * that are printed there. Rows whose size an article does not tell are made up so that the sums are
 * its.
 */
#include <cjson/cJSON.h>
#include <math.h>

#include "schema/store/store.h"
#include "tests/support/analyze_scene.h"
#include "tests/support/check.h"
#include "tests/support/temp.h"

enum { ARGUMENTS_MAX = 12 }; /* of one report */

/* One for each example. */
enum { XLNET = 1, SLICE_GRAD, CONTROL_FLOW, DEVICE_GUARD, TWO_THREADS, GEMM };

#define START_NS  INT64_C(1700000000000000000)
#define MS(value) ((int64_t)((value)*1e6 + 0.5))

/* Six digits, as the articles print. */
#define CHECK_DIGITS(value, expected) CHECK_NEAR(value, expected, fabs(expected) * 5e-6)

/* --- Writing rows. --- */

struct writing {
    struct store *store;
    int64_t session_id, lanes, ops;
    int64_t at_ns;
};

static void put_session(struct writing *writing, int64_t session_id)
{
    struct diag diag = {0};
    const struct store_session row = {
        .session_id = session_id,
        .uuid = {(uint8_t)session_id},
        .start_ns = START_NS,
        .end_ns = START_NS + MS(100000),
        .end_reason = "done",
        .program = "article",
        .clock = "tsc",
        .source = "live",
        .pid = 1,
        .uid = 1,
    };

    CHECK_OK(store_put_session(writing->store, &row, &diag));
    writing->session_id = session_id;
    writing->at_ns = START_NS;
}

static int64_t put_lane(struct writing *writing, const char *kind, const char *name,
                        const char *device)
{
    const int64_t id = ++writing->lanes;
    const struct store_lane row = {id, writing->session_id, id, kind, name, device, id};
    struct diag diag = {0};

    CHECK_OK(store_put_lane(writing->store, &row, &diag));
    return id;
}

static int64_t put_op(struct writing *writing, const char *type, const char *name)
{
    struct diag diag = {0};
    const struct store_op row = {
        .op_id = ++writing->ops,
        .session_id = writing->session_id,
        .client_op = writing->ops,
        .model_id = STORE_NULL,
        .name = name,
        .type = type,
        .computation_flop = STORE_NULL,
        .memory_bytes = STORE_NULL,
        .workspace_bytes = STORE_NULL,
    };

    CHECK_OK(store_put_op(writing->store, &row, &diag));
    return row.op_id;
}

static void add(struct writing *writing, struct store_event row)
{
    struct diag diag = {0};

    row.kern_ns = STORE_NULL;
    row.bytes = STORE_NULL;
    if (!row.run)
        row.run = STORE_NULL;
    if (!row.correlation)
        row.correlation = STORE_NULL;
    if (store_add_events(writing->store, &row, 1, &diag) < 0)
        fail_msg("%s", diag.text);
}

/* A part of an op: a phase, or copies, `count` of them. */
struct part {
    const char *type, *name;
    double ms;
    int64_t count; /* 0: one */
};

/* An op on a thread, its parts one after the other inside of it; the next begins at its end. */
static void add_op(struct writing *writing, int64_t lane, const char *type, double ms,
                   const struct part *parts, size_t part_count)
{
    int64_t start_ns = writing->at_ns, at_ns = start_ns;

    for (size_t i = 0; i < part_count; i++) {
        int64_t op = put_op(writing, parts[i].type, parts[i].name);
        int64_t count = parts[i].count ? parts[i].count : 1, left_ns = MS(parts[i].ms);

        for (int64_t k = count; k > 0; k--) {
            int64_t dur_ns = left_ns / k;

            add(writing, (struct store_event){
                             .lane_id = lane, .op_id = op, .start_ns = at_ns, .dur_ns = dur_ns});
            at_ns += dur_ns;
            left_ns -= dur_ns;
        }
    }
    assert_true(at_ns - start_ns <= MS(ms));
    add(writing, (struct store_event){.lane_id = lane,
                                      .op_id = put_op(writing, type, type),
                                      .start_ns = start_ns,
                                      .dur_ns = MS(ms)});
    writing->at_ns = start_ns + MS(ms);
}

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static void fill_xlnet(struct writing *writing)
{
    static const struct part slice_grad[] = {
        {"phase", "compute", 17085.3, 0},
        {"phase", "prepare_data", 7.84785, 0},
        {"phase", "infer_shape", 3.35192, 0},
    };
    static const struct part others[] = {
        {"phase", "compute", 32290.3 - 17085.3, 0},
        {"copy", "GpuMemcpyAsync:CPU->GPU", 621.182, 4},
        {"copy", "GpuMemcpySync:GPU->CPU", 6.06099, 3},
    };
    int64_t lane;

    put_session(writing, XLNET);
    lane = put_lane(writing, "thread", "thread0", NULL);
    add_op(writing, lane, "slice_grad", 17120.6, slice_grad, COUNT_OF(slice_grad));
    add_op(writing, lane, "matmul", 35377.5 - 17120.6, others, COUNT_OF(others));
}

static void fill_slice_grad(struct writing *writing)
{
    int64_t thread, stream, op, kernel;

    put_session(writing, SLICE_GRAD);
    thread = put_lane(writing, "thread", "thread0", NULL);
    stream = put_lane(writing, "stream", "stream 7", "cuda:0");
    op = put_op(writing, "slice_grad", "slice_grad");
    kernel = put_op(writing, "kernel", "SliceGradKernel");
    add(writing, (struct store_event){.lane_id = thread,
                                      .op_id = op,
                                      .start_ns = START_NS,
                                      .dur_ns = MS(16651.581),
                                      .correlation = 1});
    add(writing, (struct store_event){.lane_id = stream,
                                      .op_id = kernel,
                                      .start_ns = START_NS + MS(1),
                                      .dur_ns = MS(469.040),
                                      .correlation = 1});
}

/* Eight rows that sum up to `ms`; copies lie in the first three. */
static void fill_program(struct writing *writing, int64_t session_id, double ms,
                         const struct part *copies, size_t copy_count)
{
    static const char *const types[] = {
        "while",     "conditional_block", "fetch",           "increment",
        "less_than", "fill_constant",     "elementwise_add", "sum"};
    static const double shares[] = {0.4, 0.2, 0.15, 0.1, 0.06, 0.04, 0.03};
    int64_t lane;
    double left_ms = ms;

    put_session(writing, session_id);
    lane = put_lane(writing, "thread", "thread0", NULL);
    for (size_t i = 0; i < 8; i++) {
        /* whole us, so that the last one is the exact rest */
        double row_ms = i < 7 ? floor(ms * shares[i] * 1000) / 1000 : left_ms;
        size_t first = i < 3 ? i * 2 : copy_count, last = i < 3 ? first + 2 : copy_count;

        if (last > copy_count)
            last = copy_count;
        if (first > last)
            first = last;
        add_op(writing, lane, types[i], row_ms, copies + first, last - first);
        left_ms -= row_ms;
    }
}

static void fill_control_flow(struct writing *writing)
{
    static const struct part before[] = {
        {"copy", "GpuMemcpyAsync:CPU->GPU", 11.8308, 400},
        {"copy", "GpuMemcpySync:GPU->CPU", 6.69242, 200},
        {"copy", "GpuMemcpyAsync:GPU->CPU", 4.55945, 200},
        {"copy", "GpuMemcpySync:GPU->CPU", 5.71881, 200},
        {"copy", "GpuMemcpyAsync:CPU->GPU", 3.73361, 200},
    };
    static const struct part after[] = {{"copy", "GpuMemcpyAsync:CPU->GPU", 15.281, 600}};

    fill_program(writing, CONTROL_FLOW, 104.442, before, COUNT_OF(before));
    fill_program(writing, DEVICE_GUARD, 58.7053, after, COUNT_OF(after));
}

static void fill_two_threads(struct writing *writing)
{
    int64_t first, second;

    put_session(writing, TWO_THREADS);
    first = put_lane(writing, "thread", "thread0", NULL);
    second = put_lane(writing, "thread", "thread1", NULL);
    add_op(writing, second, "mul", 0.219497, NULL, 0);
    add_op(writing, second, "mean", 0.501039 - 0.219497, NULL, 0);
    writing->at_ns = START_NS;
    add_op(writing, first, "fetch", 6.5, NULL, 0);
    add_op(writing, first, "scale", 6.808366 - 6.5, NULL, 0);
}

/* One run of MIGraphX's example: 49 gemms, and the rest on another stream beside them. */
static void add_run(struct writing *writing, int64_t run, int64_t thread, const int64_t *streams,
                    const int64_t *gemms, int64_t rest)
{
    const int64_t start_ns = START_NS + (run - 1) * MS(100);
    const struct store_run row = {
        .session_id = GEMM,
        .run = run,
        .model_id = STORE_NULL,
        .lane_id = thread,
        .start_ns = start_ns,
        .end_ns = start_ns + MS(32.7937),
    };
    struct diag diag = {0};

    CHECK_OK(store_put_run(writing->store, &row, &diag));
    for (int64_t i = 0; i < 50; i++) {
        bool is_gemm = i < 49;
        int64_t dur_ns = is_gemm ? MS(22.6576 / 49) : MS(37.1238 - 22.6576);
        int64_t launch_ns = is_gemm ? 3000 : 189906 - 49 * 3000;
        struct store_event launch = {.lane_id = thread,
                                     .op_id = is_gemm ? gemms[i] : rest,
                                     .run = run,
                                     .start_ns = start_ns + i * 3000,
                                     .dur_ns = launch_ns,
                                     .correlation = i + 1};
        struct store_event work = launch;

        add(writing, launch);
        work.lane_id = streams[!is_gemm];
        work.start_ns = start_ns + 200000 + (is_gemm ? i * dur_ns : 0);
        work.dur_ns = dur_ns;
        add(writing, work);
    }
}

static void fill_gemm(struct writing *writing)
{
    int64_t thread, streams[2], gemms[49], rest;

    put_session(writing, GEMM);
    thread = put_lane(writing, "thread", "main", NULL);
    streams[0] = put_lane(writing, "stream", "stream 1", "hip:0");
    streams[1] = put_lane(writing, "stream", "stream 2", "hip:0");
    for (int i = 0; i < 49; i++)
        gemms[i] = put_op(writing, "gpu::gemm", "gemm");
    rest = put_op(writing, "gpu::code_object", "mlir");
    for (int64_t run = 1; run <= 3; run++)
        add_run(writing, run, thread, streams, gemms, rest);
}

/* --- Reading reports. --- */

static int start(void **state)
{
    struct analyze_scene *scene = analyze_scene_create();
    char *path = temp_path(scene->dir, "store.db");
    struct writing writing = {0};
    struct diag diag = {0};

    CHECK_OK(store_open(path, STORE_WRITE, &writing.store, &diag));
    CHECK_OK(store_begin(writing.store, &diag));
    fill_xlnet(&writing);
    fill_slice_grad(&writing);
    fill_control_flow(&writing);
    fill_two_threads(&writing);
    fill_gemm(&writing);
    CHECK_OK(store_commit(writing.store, &diag));
    store_close(&writing.store);
    free(path);
    *state = scene;
    return 0;
}

static int stop(void **state)
{
    analyze_scene_destroy((struct analyze_scene **)state);
    return 0;
}

static cJSON *report(void **state, int session, const char *const *arguments)
{
    const char *all[ANALYZE_ARGUMENTS_MAX] = {"store.db",  "--format", "json",
                                              "--session", NULL,       "--report"};
    char number[16], *text;
    cJSON *json;

    snprintf(number, sizeof(number), "%d", session);
    all[4] = number;
    for (size_t i = 0; i < ARGUMENTS_MAX && arguments[i]; i++)
        all[i + 6] = arguments[i];
    text = analyze_scene_output(*state, all);
    json = cJSON_Parse(text);
    assert_non_null(json);
    free(text);
    return json;
}

#define REPORT(session, ...) report(state, session, (const char *const[ARGUMENTS_MAX]){__VA_ARGS__})

/* The number in the row of `table` that has `text` in column `key`. */
static double number(const cJSON *json, const char *table, const char *key, const char *text,
                     const char *column)
{
    const cJSON *rows = cJSON_GetObjectItem(cJSON_GetObjectItem(json, table), "rows"), *row;

    cJSON_ArrayForEach(row, rows)
    {
        const cJSON *name = key ? cJSON_GetObjectItem(row, key) : NULL;

        if (!key || (cJSON_IsString(name) && strcmp(name->valuestring, text) == 0)) {
            const cJSON *value = cJSON_GetObjectItem(row, column);

            assert_true(cJSON_IsNumber(value));
            return value->valuedouble;
        }
    }
    fail_msg("no row %s in %s", key ? text : "", table);
    return NAN;
}

static double sum_of(const cJSON *json, int64_t depth)
{
    const cJSON *rows = cJSON_GetObjectItem(cJSON_GetObjectItem(json, "events"), "rows"), *row;
    double sum = 0;

    cJSON_ArrayForEach(row, rows)
    {
        if (cJSON_GetObjectItem(row, "depth")->valuedouble == (double)depth)
            sum += cJSON_GetObjectItem(row, "total_ns")->valuedouble;
    }
    return sum;
}

/* One of the notes holds `text`. */
static void check_note(const cJSON *json, const char *text)
{
    const cJSON *note;

    cJSON_ArrayForEach(note, cJSON_GetObjectItem(json, "notes"))
    {
        if (strstr(cJSON_GetStringValue(cJSON_GetObjectItem(note, "text")), text))
            return;
    }
    fail_msg("no note says \"%s\"", text);
}

/* --- Paddle. --- */

static void xlnet_has_its_overhead_and_copies(void **state)
{
    cJSON *json = REPORT(XLNET, "overview");

    CHECK_DIGITS(number(json, "overhead", "part", "recorded", "lanes_ns") / 1e6, 35377.5);
    CHECK_DIGITS(number(json, "overhead", "part", "computation", "time_ns") / 1e6, 32290.3);
    CHECK_DIGITS(number(json, "overhead", "part", "computation", "recorded_share") * 100, 91.2735);
    CHECK_DIGITS(number(json, "overhead", "part", "framework_overhead", "time_ns") / 1e6, 3087.2);
    CHECK_DIGITS(number(json, "copies", "copies", "all", "total_ns") / 1e6, 627.243);
    CHECK_NEAR(number(json, "copies", "copies", "all", "share") * 100, 1.773, 5e-5);
    CHECK_DIGITS(number(json, "copies", "copies", "async", "total_ns") / 1e6, 621.182);
    CHECK_DIGITS(number(json, "copies", "copies", "async", "share") * 100, 1.75587);
    CHECK_DIGITS(number(json, "copies", "copies", "sync", "total_ns") / 1e6, 6.06099);
    CHECK_DIGITS(number(json, "copies", "copies", "sync", "share") * 100, 0.0171323);
    cJSON_Delete(json);
}

static void xlnet_has_its_outlier(void **state)
{
    cJSON *json =
        REPORT(XLNET, "events", "--detail", "op", "--type", "slice_grad", "--type", "phase");

    /* 17085.3 + 7.84785 + 3.35192; what is missing is in the op, but in no phase */
    CHECK_DIGITS(sum_of(json, 1) / 1e6, 17096.5);
    CHECK_NEAR(number(json, "events", "event", "slice_grad", "total_ns") / 1e6 -
                   sum_of(json, 1) / 1e6,
               24.1, 0.05);
    cJSON_Delete(json);
    json = REPORT(XLNET, "events", "--sorted-by", "total");
    CHECK_DIGITS(sum_of(json, 0) / 1e6, 35377.5);
    CHECK_DIGITS(number(json, "events", "event", "slice_grad", "share"), 0.48394);
    cJSON_Delete(json);
}

static void slice_grad_is_host_time(void **state)
{
    cJSON *json = REPORT(SLICE_GRAD, "events", "--state", "all");

    CHECK_DIGITS(number(json, "events", "event", "slice_grad", "total_ns") / 1e6, 17120.6);
    CHECK_DIGITS(number(json, "events", "event", "slice_grad", "host_ns") / 1e6, 16651.581);
    CHECK_DIGITS(number(json, "events", "event", "slice_grad", "device_ns") / 1e6, 469.040);
    CHECK_NEAR(number(json, "events", "event", "slice_grad", "host_share"), 0.97, 0.005);
    CHECK_NEAR(number(json, "events", "event", "slice_grad", "host_share") +
                   number(json, "events", "event", "slice_grad", "device_share"),
               1, 1e-12);
    cJSON_Delete(json);
    /* And without adding what may overlap: */
    json = REPORT(SLICE_GRAD, "events", "--state", "cpu");
    CHECK_DIGITS(number(json, "events", "event", "slice_grad", "total_ns") / 1e6, 16651.581);
    check_note(json, "Host-bound: slice_grad has 100.0% of the host time of all main rows, and a "
                     "device worked for it in 2.8% of that time.");
    cJSON_Delete(json);
}

static void control_flow_is_bound_by_copies(void **state)
{
    cJSON *json = REPORT(CONTROL_FLOW, "overview");

    CHECK_DIGITS(number(json, "overhead", "part", "recorded", "lanes_ns") / 1e6, 104.442);
    CHECK_DIGITS(number(json, "copies", "copies", "async", "total_ns") / 1e6, 20.1238);
    CHECK_DIGITS(number(json, "copies", "copies", "sync", "total_ns") / 1e6, 12.4112);
    CHECK_NEAR(number(json, "copies", "copies", "all", "calls"), 1200, 0);
    CHECK_NEAR(number(json, "copies", "copies", "host_to_device", "calls"), 600, 0);
    check_note(json, "Copy-bound: 1200 copies take 31.2% of what the lanes recorded");
    cJSON_Delete(json);
    json = REPORT(CONTROL_FLOW, "events", "-t", "0");
    CHECK_DIGITS(sum_of(json, 0) / 1e6, 104.442);
    /* Copies stand below the ops that they are in. */
    CHECK_DIGITS(sum_of(json, 1) / 1e6, 20.1238 + 12.4112);
    cJSON_Delete(json);
    json = REPORT(DEVICE_GUARD, "overview");
    CHECK_DIGITS(number(json, "overhead", "part", "recorded", "lanes_ns") / 1e6, 58.7053);
    CHECK_NEAR(number(json, "copies", "copies", "all", "calls"), 600, 0);
    CHECK_DIGITS(number(json, "copies", "copies", "all", "total_ns") / 1e6, 15.281);
    cJSON_Delete(json);
}

static void threads_have_totals_of_their_own(void **state)
{
    cJSON *json = REPORT(TWO_THREADS, "events");

    CHECK_DIGITS(sum_of(json, 0) / 1e6, 7.30941);
    CHECK_DIGITS(number(json, "events", "event", "mul", "total_ns") / 1e6, 0.219497);
    CHECK_DIGITS(number(json, "events", "event", "mul", "share"), 0.0300294);
    cJSON_Delete(json);
    json = REPORT(TWO_THREADS, "events", "--per-thread");
    CHECK_DIGITS(number(json, "events", "event", "mul", "share"), 0.438084);
    cJSON_Delete(json);
    json = REPORT(TWO_THREADS, "overview");
    CHECK_DIGITS(number(json, "overhead", "part", "recorded", "lanes_ns") / 1e6, 7.30941);
    /* They ran at the same time: the union is the longer one. */
    CHECK_DIGITS(number(json, "overhead", "part", "recorded", "time_ns") / 1e6, 6.808366);
    cJSON_Delete(json);
}

/* --- MIGraphX. --- */

static void gemms_have_their_mean_rate_and_overheads(void **state)
{
    cJSON *json = REPORT(GEMM, "summary", "--batch", "32");

    CHECK_DIGITS(number(json, "types", "type", "gpu::gemm", "total_ns") / 1e6, 22.6576);
    CHECK_NEAR(number(json, "types", "type", "gpu::gemm", "op_count"), 49, 0);
    CHECK_DIGITS(number(json, "types", "type", "gpu::gemm", "mean_ns") / 1e6, 0.4624);
    CHECK_DIGITS(number(json, "types", "type", "gpu::gemm", "share"), 22.6576 / 37.1238);
    CHECK_DIGITS(number(json, "total", NULL, NULL, "instructions_ns") / 1e6, 37.1238);
    CHECK_DIGITS(number(json, "total", NULL, NULL, "total_ns") / 1e6, 32.7937);
    CHECK_NEAR(number(json, "total", NULL, NULL, "rate_per_s"), 975.80, 0.005);
    CHECK_DIGITS(number(json, "total", NULL, NULL, "overhead_ns") / 1e6, -4.3301);
    CHECK_DIGITS(number(json, "total", NULL, NULL, "launch_overhead_ns") / 1e6, 0.189906);
    cJSON_Delete(json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(xlnet_has_its_overhead_and_copies),
        cmocka_unit_test(xlnet_has_its_outlier),
        cmocka_unit_test(slice_grad_is_host_time),
        cmocka_unit_test(control_flow_is_bound_by_copies),
        cmocka_unit_test(threads_have_totals_of_their_own),
        cmocka_unit_test(gemms_have_their_mean_rate_and_overheads),
    };

    return cmocka_run_group_tests(tests, start, stop);
}
