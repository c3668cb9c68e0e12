/* SPDX-License-Identifier: Apache-2.0 */
/* The critical path through spans made by hand, and predictions of another schedule. */
#include "analyze/metrics/critical_path.h"

#include "tests/support/check.h"
#include "tests/support/hand_spans.h"

enum { MAIN, WORKER, STREAM, OTHER_STREAM, THIRD_STREAM, LANES };
enum {
    OP,
    INNER,
    LABEL,
    LAUNCH,
    WAIT,
    KERNEL,
    FILL,
    COPY,
    SYNC_COPY,
    RECORD,
    WAIT_FOR_7,
    WAIT_FOR_20,
    WAIT_FOR_NOBODY,
    GRAPH,
    GRAPH_RECORD,
    OPS
};

static struct lane_row lanes[LANES] = {
    [MAIN] = {.side = OP_HOST, .session_id = 1, .name = "main"},
    [WORKER] = {.side = OP_HOST, .session_id = 1, .name = "worker"},
    [STREAM] = {.side = OP_DEVICE, .session_id = 1, .device = "cuda:0", .native_id = 7},
    [OTHER_STREAM] = {.side = OP_DEVICE, .session_id = 1, .device = "cuda:0", .native_id = 20},
    [THIRD_STREAM] = {.side = OP_DEVICE, .session_id = 1, .device = "cuda:0", .native_id = 21},
};
static struct op_row ops[OPS] = {
    [OP] = {.name = "conv", .type = "cpu_op"},
    [INNER] = {.name = "empty", .type = "cpu_op"},
    [LABEL] = {.name = "step", .type = "label", .is_label = true},
    [LAUNCH] = {.name = "cudaLaunchKernel", .type = "cuda_runtime"},
    [WAIT] = {.name = "cudaDeviceSynchronize", .type = "cuda_runtime"},
    [KERNEL] = {.name = "gemm", .type = "kernel"},
    [FILL] = {.name = "fill", .type = "kernel"},
    [COPY] = {.name = "Memcpy HtoD", .type = "copy"},
    [SYNC_COPY] = {.name = "cudaMemcpy", .type = "cuda_runtime"},
    [RECORD] = {.name = "cudaEventRecord", .type = "cuda_runtime"},
    [WAIT_FOR_7] = {.name = "Stream Wait Event",
                    .type = "phase",
                    .params = "{\"wait_on_stream\":7}"},
    [WAIT_FOR_20] = {.name = "Stream Wait Event",
                     .type = "phase",
                     .params = "{\"wait_on_stream\":20}"},
    [WAIT_FOR_NOBODY] = {.name = "Stream Wait Event",
                         .type = "phase",
                         .params = "{\"wait_on_stream\":99}"},
    [GRAPH] = {.name = "cuGraphLaunch", .type = "cuda_driver"},
    [GRAPH_RECORD] = {.name = "cuEventRecord", .type = "phase"},
};
static uint8_t kinds[OPS] = {[LABEL] = SPAN_LABEL,
                             [WAIT_FOR_7] = SPAN_PHASE,
                             [WAIT_FOR_20] = SPAN_PHASE,
                             [GRAPH_RECORD] = SPAN_PHASE,
                             [WAIT_FOR_NOBODY] = SPAN_PHASE};

static struct spans_answer make(const struct span *spans, size_t count)
{
    struct spans_answer answer = {
        .ops = {.items = ops, .count = OPS},
        .op_kinds = kinds,
        .lanes = {.items = lanes, .count = LANES},
    };

    hand_spans_build(&answer, spans, count);
    return answer;
}

static void drop(struct spans_answer *answer, struct critical_path *path)
{
    critical_path_deinit(path);
    hand_spans_drop(answer);
}

struct expected_step {
    int64_t until_ns;
    enum path_step_kind kind;
    uint32_t op; /* OPS: none */
};

/* Also that the steps join from the start to the end. */
static void expect_steps(const struct critical_path *path, const struct expected_step *expected,
                         size_t count)
{
    int64_t now_ns = path->start_ns;

    for (size_t i = 0; i < path->steps.count && i < count; i++) {
        const struct path_step *step = &path->steps.items[i];

        CHECK_U64((uint64_t)step->start_ns, (uint64_t)now_ns);
        CHECK_U64((uint64_t)step->end_ns, (uint64_t)expected[i].until_ns);
        assert_string_equal(path_step_names[step->kind], path_step_names[expected[i].kind]);
        CHECK_U64(step->span == SPAN_NONE ? OPS : path->answer->spans.items[step->span].op,
                  expected[i].op);
        now_ns = step->end_ns;
    }
    CHECK_U64(path->steps.count, count);
    CHECK_U64((uint64_t)now_ns, (uint64_t)path->end_ns);
}

#define EXPECT_STEPS(path, ...)                                                                    \
    do {                                                                                           \
        const struct expected_step expected[] = {__VA_ARGS__};                                     \
        expect_steps(path, expected, sizeof(expected) / sizeof(expected[0]));                      \
    } while (0)

/* How long it would take with the time of one op multiplied. */
static double predict(struct critical_path *path, uint32_t op, double factor)
{
    const double scales[] = {1, factor};
    uint32_t of_ops[OPS], *classes;
    double ns;

    for (size_t i = 0; i < OPS; i++)
        of_ops[i] = i == op;
    path->classes = classes = critical_path_classes(path->answer, of_ops);
    assert_non_null(classes);
    CHECK_OK(critical_path_predict(path, scales, &ns));
    path->classes = NULL;
    free(classes);
    return ns;
}

static void a_thread_is_its_innermost_ops(void **state)
{
    const struct span spans[] = {
        {.start_ns = 10, .dur_ns = 90, .op = LABEL}, /* no operator */
        {.start_ns = 20, .dur_ns = 50, .op = OP},
        {.start_ns = 30, .dur_ns = 10, .op = INNER},
        {.start_ns = 80, .dur_ns = 10, .op = OP},
    };
    struct spans_answer answer = make(spans, 4);
    struct critical_path path;

    CHECK_OK(critical_path_make(&answer, 0, 120, &path));
    EXPECT_STEPS(&path, {20, PATH_NOTHING, OPS}, {30, PATH_HOST, OP}, {40, PATH_HOST, INNER},
                 {70, PATH_HOST, OP}, {80, PATH_NOTHING, OPS}, {90, PATH_HOST, OP},
                 {120, PATH_NOTHING, OPS});
    assert_true(predict(&path, OPS, 1) == 120);
    assert_true(predict(&path, OP, 0.5) == 120 - 30); /* with what is inside, gaps kept */
    assert_true(predict(&path, INNER, 0) == 110);
    assert_true(predict(&path, LABEL, 0) == 60);
    assert_true(predict(&path, OP, 2) == 180);
    critical_path_deinit(&path);
    CHECK_OK(critical_path_make(&answer, 0, 5, &path)); /* nothing is in it */
    EXPECT_STEPS(&path, {5, PATH_NOTHING, OPS});
    drop(&answer, &path);
}

/* A launch, a kernel that takes long, a second one behind it, a wait for both, more of the host. */
static void waits_lead_to_the_device(void **state)
{
    const struct span spans[] = {
        {.start_ns = 0, .dur_ns = 40, .op = OP},
        {.start_ns = 10, .dur_ns = 10, .op = LAUNCH, .correlation = 1},
        {.start_ns = 40, .dur_ns = 10, .op = LAUNCH, .correlation = 2},
        {.start_ns = 60, .dur_ns = 140, .op = WAIT},
        {.start_ns = 200, .dur_ns = 50, .op = INNER},
        {.start_ns = 25, .dur_ns = 75, .op = KERNEL, .lane = STREAM, .correlation = 1},
        {.start_ns = 105, .dur_ns = 85, .op = FILL, .lane = STREAM, .correlation = 2},
    };
    struct spans_answer answer = make(spans, 7);
    struct critical_path path;

    CHECK_OK(critical_path_make(&answer, 0, 250, &path));
    EXPECT_STEPS(&path, {10, PATH_HOST, OP}, {20, PATH_HOST, LAUNCH}, {25, PATH_LAUNCH, KERNEL},
                 {100, PATH_DEVICE, KERNEL}, {105, PATH_QUEUE, FILL}, {190, PATH_DEVICE, FILL},
                 {200, PATH_HOST, WAIT}, {250, PATH_HOST, INNER});
    assert_true(predict(&path, OPS, 1) == 250);
    assert_true(predict(&path, FILL, 0) == 165);
    /* Without the kernel the second waits for its own launch, from 50 on. */
    assert_true(predict(&path, KERNEL, 0.5) == 250 - 37.5);
    assert_true(predict(&path, KERNEL, 0) == 250 - 55);
    assert_true(predict(&path, INNER, 0) == 200);
    /* The op holds the first launch and, by that, the kernel. */
    assert_true(predict(&path, OP, 0) == 250 - 95);
    assert_true(predict(&path, KERNEL, 2) == 325);
    drop(&answer, &path);
}

static void another_path_takes_over(void **state)
{
    const struct span spans[] = {
        {.start_ns = 0, .dur_ns = 10, .op = LAUNCH, .correlation = 1},
        {.start_ns = 10, .dur_ns = 10, .op = LAUNCH, .correlation = 2},
        {.start_ns = 10, .dur_ns = 90, .op = KERNEL, .lane = STREAM, .correlation = 1},
        {.start_ns = 20, .dur_ns = 50, .op = FILL, .lane = OTHER_STREAM, .correlation = 2},
    };
    struct spans_answer answer = make(spans, 4);
    struct critical_path path;

    CHECK_OK(critical_path_make(&answer, 0, 100, &path)); /* the run ends with the device */
    EXPECT_STEPS(&path, {10, PATH_HOST, LAUNCH}, {100, PATH_DEVICE, KERNEL});
    assert_true(predict(&path, KERNEL, 0.9) == 91);
    assert_true(predict(&path, KERNEL, 0.1) == 70);
    assert_true(predict(&path, FILL, 0) == 100);
    assert_true(predict(&path, FILL, 2) == 120);
    drop(&answer, &path);
}

/* A kernel that starts within the call; a copy that blocks; one that is awaited but was launched
 * later does not count. */
static void calls_end_with_what_they_wait_for(void **state)
{
    const struct span spans[] = {
        {.start_ns = 0, .dur_ns = 30, .op = LAUNCH, .correlation = 1},
        {.start_ns = 30, .dur_ns = 70, .op = SYNC_COPY, .correlation = 2},
        {.start_ns = 20, .dur_ns = 5, .op = KERNEL, .lane = STREAM, .correlation = 1},
        {.start_ns = 40, .dur_ns = 50, .op = COPY, .lane = STREAM, .correlation = 2},
        {.start_ns = 45, .dur_ns = 5, .op = LAUNCH, .lane = WORKER, .correlation = 3},
        {.start_ns = 55, .dur_ns = 40, .op = FILL, .lane = OTHER_STREAM, .correlation = 3},
    };
    struct spans_answer answer = make(spans, 6);
    struct critical_path path;

    CHECK_OK(critical_path_make(&answer, 0, 100, &path));
    EXPECT_STEPS(&path, {30, PATH_HOST, LAUNCH}, {40, PATH_HOST, SYNC_COPY},
                 {90, PATH_DEVICE, COPY}, {100, PATH_HOST, SYNC_COPY});
    assert_true(predict(&path, COPY, 0) == 95); /* then the other stream ends last */
    assert_true(predict(&path, FILL, 0) == 100);
    drop(&answer, &path);
}

/* The main thread has a gap; the worker ended in the last tenth of it. */
static void a_thread_waits_for_another(void **state)
{
    struct span spans[] = {
        {.start_ns = 0, .dur_ns = 20, .op = OP},
        {.start_ns = 120, .dur_ns = 30, .op = OP},
        {.start_ns = 25, .dur_ns = 90, .op = INNER, .lane = WORKER},
    };
    struct spans_answer answer = make(spans, 3);
    struct critical_path path;

    CHECK_OK(critical_path_make(&answer, 0, 150, &path));
    EXPECT_STEPS(&path, {20, PATH_HOST, OP}, {25, PATH_NOTHING, OPS}, {115, PATH_HOST, INNER},
                 {120, PATH_NOTHING, OPS}, {150, PATH_HOST, OP});
    assert_true(predict(&path, INNER, 0.5) == 105);
    drop(&answer, &path);
    spans[2].dur_ns = 60; /* too early to be the reason */
    answer = make(spans, 3);
    CHECK_OK(critical_path_make(&answer, 0, 150, &path));
    EXPECT_STEPS(&path, {20, PATH_HOST, OP}, {120, PATH_NOTHING, OPS}, {150, PATH_HOST, OP});
    assert_true(predict(&path, INNER, 0.5) == 150);
    drop(&answer, &path);
}

/* Streams that overlap, spans without length, what sticks out of the run. */
static void odd_spans_are_cut(void **state)
{
    const struct span spans[] = {
        {.start_ns = -50, .dur_ns = 60, .op = OP},
        {.start_ns = 10, .dur_ns = 0, .op = LAUNCH, .correlation = 1},
        {.start_ns = 10, .dur_ns = 30, .op = KERNEL, .lane = STREAM, .correlation = 1},
        {.start_ns = 20, .dur_ns = 40, .op = FILL, .lane = STREAM},
        {.start_ns = 60, .dur_ns = 0, .op = KERNEL, .lane = STREAM},
        {.start_ns = 60, .dur_ns = 0, .op = FILL, .lane = OTHER_STREAM},
        {.start_ns = 65, .dur_ns = 100, .op = COPY, .lane = STREAM},
        {.start_ns = 300, .dur_ns = 100, .op = COPY, .lane = STREAM},
    };
    struct spans_answer answer = make(spans, 8);
    struct critical_path path;

    CHECK_OK(critical_path_make(&answer, 0, 100, &path));
    assert_true(path.steps.count > 0);
    CHECK_U64((uint64_t)path.steps.items[0].start_ns, 0);
    for (size_t i = 1; i < path.steps.count; i++)
        CHECK_U64((uint64_t)path.steps.items[i].start_ns, (uint64_t)path.steps.items[i - 1].end_ns);
    CHECK_U64((uint64_t)path.steps.items[path.steps.count - 1].end_ns, 100);
    assert_true(predict(&path, OPS, 1) == 100);
    drop(&answer, &path);
}

/* A kernel of 10,000 on one stream; another stream waits for it before it runs one of 1,000. */
static const struct span two_streams[] = {
    {.start_ns = 0, .dur_ns = 10, .op = OP},
    {.start_ns = 2, .dur_ns = 3, .op = LAUNCH, .correlation = 11},
    {.start_ns = 12, .dur_ns = 2, .op = RECORD, .correlation = 12},
    {.start_ns = 18, .dur_ns = 10, .op = INNER},
    {.start_ns = 20, .dur_ns = 3, .op = LAUNCH, .correlation = 14},
    {.start_ns = 30, .dur_ns = 10985, .op = WAIT},
    {.start_ns = 8, .dur_ns = 10000, .op = KERNEL, .lane = STREAM, .correlation = 11},
    {.start_ns = 15, .dur_ns = 2, .op = WAIT_FOR_7, .lane = OTHER_STREAM, .correlation = 12},
    {.start_ns = 10010, .dur_ns = 1000, .op = FILL, .lane = OTHER_STREAM, .correlation = 14},
};
enum { TWO_STREAMS = sizeof(two_streams) / sizeof(two_streams[0]), TWO_STREAMS_WAIT = 7 };

/* It is asked for before the launch, or at the same time by the clock. */
static void a_stream_waits_for_another(void **state)
{
    static const int64_t asked_ns[] = {15, 20};
    struct span spans[TWO_STREAMS];
    struct spans_answer answer;
    struct critical_path path;

    for (size_t i = 0; i < sizeof(asked_ns) / sizeof(asked_ns[0]); i++) {
        memcpy(spans, two_streams, sizeof(spans));
        spans[TWO_STREAMS_WAIT].start_ns = asked_ns[i];
        answer = make(spans, TWO_STREAMS);
        CHECK_OK(critical_path_make(&answer, 0, 11015, &path));
        EXPECT_STEPS(&path, {2, PATH_HOST, OP}, {5, PATH_HOST, LAUNCH}, {8, PATH_LAUNCH, KERNEL},
                     {10008, PATH_DEVICE, KERNEL}, {10010, PATH_QUEUE, FILL},
                     {11010, PATH_DEVICE, FILL}, {11015, PATH_HOST, WAIT});
        assert_true(predict(&path, OPS, 1) == 11015);
        /* From the launch of the second kernel on, at 23, or 2 after the wait that now ends at 8. */
        assert_true(predict(&path, KERNEL, 0) == 23 + 1000 + 5);
        assert_true(predict(&path, KERNEL, 2) == 21015);
        assert_true(predict(&path, FILL, 0) == 10015);
        drop(&answer, &path);
    }
}

/* It was asked for before the event was recorded, nobody knows the event or the stream, or what it
 * was recorded behind had ended: nothing waits. */
static void some_waits_hold_up_nothing(void **state)
{
    struct span spans[TWO_STREAMS];
    struct spans_answer answer;
    struct critical_path path;

    for (int i = 0; i < 4; i++) {
        struct span *wait = &spans[TWO_STREAMS_WAIT];

        memcpy(spans, two_streams, sizeof(spans));
        if (i == 0)
            wait->start_ns = 11;
        if (i == 1)
            wait->correlation = 13;
        if (i == 2)
            wait->op = WAIT_FOR_NOBODY;
        if (i == 3)
            wait->op = WAIT_FOR_20; /* its own stream, on which nothing was before */
        answer = make(spans, TWO_STREAMS);
        CHECK_OK(critical_path_make(&answer, 0, 11015, &path));
        EXPECT_STEPS(&path, {2, PATH_HOST, OP}, {5, PATH_HOST, LAUNCH}, {10, PATH_HOST, OP},
                     {12, PATH_NOTHING, OPS}, {14, PATH_HOST, RECORD}, {18, PATH_NOTHING, OPS},
                     {20, PATH_HOST, INNER}, {23, PATH_HOST, LAUNCH}, {10010, PATH_LAUNCH, FILL},
                     {11010, PATH_DEVICE, FILL}, {11015, PATH_HOST, WAIT});
        assert_true(predict(&path, KERNEL, 0) == 11015);
        drop(&answer, &path);
    }
}

/* An event that is recorded twice: the wait is for the record that it names. */
static void the_record_that_is_named_counts(void **state)
{
    struct span spans[] = {
        {.start_ns = 0, .dur_ns = 2, .op = LAUNCH, .correlation = 1},
        {.start_ns = 2, .dur_ns = 2, .op = RECORD, .correlation = 2},
        {.start_ns = 4, .dur_ns = 2, .op = LAUNCH, .correlation = 3},
        {.start_ns = 6, .dur_ns = 2, .op = RECORD, .correlation = 4},
        {.start_ns = 10, .dur_ns = 2, .op = LAUNCH, .correlation = 5},
        {.start_ns = 5, .dur_ns = 95, .op = KERNEL, .lane = STREAM, .correlation = 1},
        {.start_ns = 100, .dur_ns = 100, .op = COPY, .lane = STREAM, .correlation = 3},
        {.start_ns = 8, .dur_ns = 1, .op = WAIT_FOR_7, .lane = OTHER_STREAM, .correlation = 2},
        {.start_ns = 203, .dur_ns = 97, .op = FILL, .lane = OTHER_STREAM, .correlation = 5},
    };
    struct spans_answer answer = make(spans, 9);
    struct critical_path path;

    CHECK_OK(critical_path_make(&answer, 0, 300, &path));
    EXPECT_STEPS(&path, {2, PATH_HOST, LAUNCH}, {5, PATH_LAUNCH, KERNEL},
                 {100, PATH_DEVICE, KERNEL}, {203, PATH_QUEUE, FILL}, {300, PATH_DEVICE, FILL});
    drop(&answer, &path);
    spans[7].correlation = 4;
    answer = make(spans, 9);
    CHECK_OK(critical_path_make(&answer, 0, 300, &path));
    EXPECT_STEPS(&path, {2, PATH_HOST, LAUNCH}, {5, PATH_LAUNCH, KERNEL},
                 {100, PATH_DEVICE, KERNEL}, {200, PATH_DEVICE, COPY}, {203, PATH_QUEUE, FILL},
                 {300, PATH_DEVICE, FILL});
    assert_true(predict(&path, COPY, 0) == 200);
    drop(&answer, &path);
}

/* The second stream runs nothing between what it waits for and what waits for it. */
static void waits_make_a_chain(void **state)
{
    const struct span spans[] = {
        {.start_ns = 0, .dur_ns = 2, .op = LAUNCH, .correlation = 1},
        {.start_ns = 2, .dur_ns = 2, .op = RECORD, .correlation = 2},
        {.start_ns = 6, .dur_ns = 2, .op = RECORD, .correlation = 3},
        {.start_ns = 10, .dur_ns = 2, .op = LAUNCH, .correlation = 5},
        {.start_ns = 12, .dur_ns = 2, .op = LAUNCH, .correlation = 6},
        {.start_ns = 5, .dur_ns = 95, .op = KERNEL, .lane = STREAM, .correlation = 1},
        {.start_ns = 4, .dur_ns = 1, .op = WAIT_FOR_7, .lane = OTHER_STREAM, .correlation = 2},
        {.start_ns = 100, .dur_ns = 0, .op = COPY, .lane = OTHER_STREAM, .correlation = 6},
        {.start_ns = 8, .dur_ns = 1, .op = WAIT_FOR_20, .lane = THIRD_STREAM, .correlation = 3},
        {.start_ns = 101, .dur_ns = 99, .op = FILL, .lane = THIRD_STREAM, .correlation = 5},
    };
    struct spans_answer answer = make(spans, 10);
    struct critical_path path;

    CHECK_OK(critical_path_make(&answer, 0, 200, &path));
    EXPECT_STEPS(&path, {2, PATH_HOST, LAUNCH}, {5, PATH_LAUNCH, KERNEL},
                 {100, PATH_DEVICE, KERNEL}, {101, PATH_QUEUE, FILL}, {200, PATH_DEVICE, FILL});
    assert_true(predict(&path, KERNEL, 0) == 12 + 99);
    drop(&answer, &path);
}

/* A kernel seems to end after the call that waited for it: the device's clock is ahead. */
static void clocks_may_differ(void **state)
{
    const struct span spans[] = {
        {.start_ns = 0, .dur_ns = 10, .op = LAUNCH, .correlation = 1},
        {.start_ns = 20, .dur_ns = 180, .op = WAIT},
        {.start_ns = 15, .dur_ns = 180, .op = KERNEL, .lane = STREAM, .correlation = 1},
        {.start_ns = 196, .dur_ns = 9, .op = FILL, .lane = STREAM, .correlation = 1},
    };
    struct spans_answer answer = make(spans, 4);
    struct critical_path path;

    CHECK_OK(critical_path_make(&answer, 0, 200, &path));
    EXPECT_STEPS(&path, {10, PATH_HOST, LAUNCH}, {15, PATH_LAUNCH, KERNEL},
                 {195, PATH_DEVICE, KERNEL}, {196, PATH_QUEUE, FILL}, {200, PATH_DEVICE, FILL});
    assert_true(predict(&path, KERNEL, 0) == 20);
    drop(&answer, &path);
}

/* Of two streams that a call waits for the second holds it up once the first is faster. */
static void calls_wait_for_all_streams(void **state)
{
    const struct span spans[] = {
        {.start_ns = 0, .dur_ns = 5, .op = LAUNCH, .correlation = 1},
        {.start_ns = 5, .dur_ns = 5, .op = LAUNCH, .correlation = 2},
        {.start_ns = 10, .dur_ns = 102, .op = WAIT},
        {.start_ns = 5, .dur_ns = 105, .op = KERNEL, .lane = STREAM, .correlation = 1},
        {.start_ns = 10, .dur_ns = 80, .op = FILL, .lane = OTHER_STREAM, .correlation = 2},
    };
    struct spans_answer answer = make(spans, 5);
    struct critical_path path;

    CHECK_OK(critical_path_make(&answer, 0, 112, &path));
    EXPECT_STEPS(&path, {5, PATH_HOST, LAUNCH}, {110, PATH_DEVICE, KERNEL}, {112, PATH_HOST, WAIT});
    assert_true(predict(&path, KERNEL, 0) == 92);
    assert_true(predict(&path, FILL, 0) == 112);
    assert_true(predict(&path, FILL, 2) == 172);
    drop(&answer, &path);
}

/* A graph, launched twice, of two branches: FILL waits for KERNEL, and COPY for FILL. What ran beside
 * it, and between the launches, makes no difference; numbers are those of the graph's steps, each time. */
#define GRAPH_OF_BRANCHES(at, number)                                                              \
    {.start_ns = (at), .dur_ns = 5, .op = GRAPH, .correlation = (number)},                         \
        {.start_ns = (at) + 10,                                                                    \
         .dur_ns = 10,                                                                             \
         .op = KERNEL,                                                                             \
         .lane = STREAM,                                                                           \
         .correlation = (number)},                                                                 \
        {.start_ns = (at) + 20, .op = GRAPH_RECORD, .lane = STREAM, .correlation = 31},            \
        {.start_ns = (at) + 20,                                                                    \
         .dur_ns = 30,                                                                             \
         .op = KERNEL,                                                                             \
         .lane = STREAM,                                                                           \
         .correlation = (number)},                                                                 \
        {.start_ns = (at) + 20, .op = WAIT_FOR_7, .lane = OTHER_STREAM, .correlation = 31},        \
        {.start_ns = (at) + 20,                                                                    \
         .dur_ns = 60,                                                                             \
         .op = FILL,                                                                               \
         .lane = OTHER_STREAM,                                                                     \
         .correlation = (number)},                                                                 \
        {.start_ns = (at) + 80, .op = GRAPH_RECORD, .lane = OTHER_STREAM, .correlation = 32},      \
        {.start_ns = (at) + 80,                                                                    \
         .dur_ns = 15,                                                                             \
         .op = FILL,                                                                               \
         .lane = OTHER_STREAM,                                                                     \
         .correlation = (number)},                                                                 \
        {.start_ns = (at) + 80, .op = WAIT_FOR_20, .lane = STREAM, .correlation = 32},             \
    {                                                                                              \
        .start_ns = (at) + 80, .dur_ns = 20, .op = COPY, .lane = STREAM, .correlation = (number)   \
    }

static void streams_wait_within_a_graph(void **state)
{
    const struct span spans[] = {GRAPH_OF_BRANCHES(0, 41), GRAPH_OF_BRANCHES(1000, 42)};
    struct spans_answer answer = make(spans, sizeof(spans) / sizeof(spans[0]));
    struct critical_path path;

    CHECK_OK(critical_path_make(&answer, 0, 100, &path));
    EXPECT_STEPS(&path, {5, PATH_HOST, GRAPH}, {10, PATH_LAUNCH, KERNEL}, {20, PATH_DEVICE, KERNEL},
                 {80, PATH_DEVICE, FILL}, {100, PATH_DEVICE, COPY});
    assert_true(predict(&path, OPS, 1) == 100);
    assert_true(predict(&path, FILL, 0.5) == 70);
    assert_true(predict(&path, FILL, 0) == 70); /* the other branch, of KERNEL */
    assert_true(predict(&path, KERNEL, 0) == 90);
    assert_true(predict(&path, COPY, 0) == 95); /* the second FILL, which nobody waits for */
    critical_path_deinit(&path);
    CHECK_OK(critical_path_make(&answer, 1000, 1100, &path));
    EXPECT_STEPS(&path, {1005, PATH_HOST, GRAPH}, {1010, PATH_LAUNCH, KERNEL},
                 {1020, PATH_DEVICE, KERNEL}, {1080, PATH_DEVICE, FILL}, {1100, PATH_DEVICE, COPY});
    assert_true(predict(&path, FILL, 0) == 70);
    drop(&answer, &path);
}

/* Records and waits that are not of one launch of a graph, or have no number in common. */
static void some_waits_of_graphs_are_none(void **state)
{
    const struct span usual[] = {GRAPH_OF_BRANCHES(0, 41)};
    struct span spans[sizeof(usual) / sizeof(usual[0])];
    enum { RECORD_OF_FILL = 6, WAIT_OF_COPY = 8 };
    struct spans_answer answer;
    struct critical_path path;

    for (int i = 0; i < 5; i++) {
        memcpy(spans, usual, sizeof(usual));
        if (i == 0)
            spans[WAIT_OF_COPY].correlation = 33;
        if (i == 1)
            spans[RECORD_OF_FILL].start_ns = 81; /* behind the wait */
        if (i == 2)
            spans[WAIT_OF_COPY].op = WAIT_FOR_NOBODY;
        if (i == 3)
            spans[RECORD_OF_FILL].start_ns = 0; /* nothing was there before */
        if (i == 4)
            spans[WAIT_OF_COPY].start_ns = 101; /* nothing is behind it */
        answer = make(spans, sizeof(spans) / sizeof(spans[0]));
        CHECK_OK(critical_path_make(&answer, 0, 100, &path));
        EXPECT_STEPS(&path, {5, PATH_HOST, GRAPH}, {10, PATH_LAUNCH, KERNEL},
                     {20, PATH_DEVICE, KERNEL}, {50, PATH_DEVICE, KERNEL}, {80, PATH_QUEUE, COPY},
                     {100, PATH_DEVICE, COPY});
        drop(&answer, &path);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stream_waits_for_another),
        cmocka_unit_test(streams_wait_within_a_graph),
        cmocka_unit_test(some_waits_of_graphs_are_none),
        cmocka_unit_test(some_waits_hold_up_nothing),
        cmocka_unit_test(the_record_that_is_named_counts),
        cmocka_unit_test(waits_make_a_chain),
        cmocka_unit_test(clocks_may_differ),
        cmocka_unit_test(calls_wait_for_all_streams),
        cmocka_unit_test(a_thread_is_its_innermost_ops),
        cmocka_unit_test(waits_lead_to_the_device),
        cmocka_unit_test(another_path_takes_over),
        cmocka_unit_test(calls_end_with_what_they_wait_for),
        cmocka_unit_test(a_thread_waits_for_another),
        cmocka_unit_test(odd_spans_are_cut),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
