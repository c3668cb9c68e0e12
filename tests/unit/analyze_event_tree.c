/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the event table: nesting, levels of detail, which time counts where, order. */
#include <math.h>

#include "analyze/metrics/event_tree.h"
#include "tests/support/check.h"
#include "tests/support/hand_spans.h"

enum { MAIN, WORKER, STREAM, OTHER_STREAM, LANES };
enum {
    CONV,
    CONV_2,
    WHILE,
    SLASH,
    COMPUTE,
    OWN_COMPUTE,
    SCOPE,
    COPY,
    LAUNCH,
    KERNEL,
    FUNCTION,
    OPS
};

static struct lane_row lanes[LANES] = {
    [MAIN] = {.side = OP_HOST, .name = "main"},
    [WORKER] = {.side = OP_HOST, .name = "worker"},
    [STREAM] = {.side = OP_DEVICE, .name = "stream 7", .device = "cuda:0"},
    [OTHER_STREAM] = {.side = OP_DEVICE, .name = "stream 8", .device = "cuda:0"},
};
static struct op_row ops[OPS] = {
    [CONV] = {.name = "conv1", .type = "Conv"},
    [CONV_2] = {.name = "conv2", .type = "Conv"},
    [WHILE] = {.name = "loop", .type = "While"},
    [SLASH] = {.name = "a", .type = "While/Conv"}, /* a name is no path */
    [COMPUTE] = {.name = "compute", .type = "phase"},
    [OWN_COMPUTE] = {.name = "conv1/compute", .type = "phase"},
    [SCOPE] = {.name = "scope", .type = "label"},
    [COPY] = {.name = "GpuMemcpySync:GPU->CPU", .type = "copy"},
    [LAUNCH] = {.name = "cudaLaunchKernel", .type = "cuda_runtime"},
    [KERNEL] = {.name = "sgemm", .type = "kernel"},
    [FUNCTION] = {.name = "net.py(7): forward", .type = "python_function"},
};
static uint8_t kinds[OPS] = {
    [COMPUTE] = SPAN_PHASE, [OWN_COMPUTE] = SPAN_PHASE, [SCOPE] = SPAN_LABEL};

struct scene {
    struct spans_answer spans;
    struct event_tree tree;
};

static void build(struct scene *scene, const struct span *spans, size_t count,
                  const struct event_options *options)
{
    *scene = (struct scene){.spans = {.ops = {.items = ops, .count = OPS},
                                      .op_kinds = kinds,
                                      .lanes = {.items = lanes, .count = LANES}}};
    hand_spans_build(&scene->spans, spans, count);
    CHECK_OK(event_tree_build(&scene->spans, options, &scene->tree));
}

static void drop(struct scene *scene)
{
    event_tree_deinit(&scene->tree);
    hand_spans_drop(&scene->spans);
}

/* The row of this path, "While/Conv"; NULL when there is none. */
static const struct event_row *find(const struct scene *scene, const char *const *path)
{
    const struct event_row *rows = scene->tree.rows.items;
    uint32_t at = EVENT_NONE;

    for (; *path; path++) {
        uint32_t next = EVENT_NONE;

        for (uint32_t i = 0; i < scene->tree.rows.count; i++) {
            if (rows[i].parent == at && strcmp(rows[i].name, *path) == 0)
                next = i;
        }
        if (next == EVENT_NONE)
            return NULL;
        at = next;
    }
    return &rows[at];
}

#define FIND(...) find(&scene, (const char *const[]){__VA_ARGS__, NULL})

/* An op in a loop twice and once outside, with phases and copies, on the main thread. */
static const struct span nested[] = {
    {.start_ns = 0, .dur_ns = 100, .op = WHILE},    {.start_ns = 10, .dur_ns = 20, .op = CONV},
    {.start_ns = 12, .dur_ns = 15, .op = COMPUTE},  {.start_ns = 14, .dur_ns = 5, .op = COPY},
    {.start_ns = 40, .dur_ns = 30, .op = CONV_2},   {.start_ns = 200, .dur_ns = 50, .op = CONV},
    {.start_ns = 210, .dur_ns = 30, .op = COMPUTE}, {.start_ns = 300, .dur_ns = 7, .op = SLASH},
};
enum { NESTED = sizeof(nested) / sizeof(nested[0]) };

static void inner_rows_stand_below_outer_ones(void **state)
{
    struct scene scene;
    const struct event_row *row;

    build(&scene, nested, NESTED, &(struct event_options){.state = EVENTS_AUTO});
    assert_int_equal(scene.tree.state, EVENTS_CPU);
    assert_false(scene.tree.has_device);
    row = FIND("While", "Conv");
    CHECK_U64(row->calls, 2);
    CHECK_NEAR(row->total_ns, 50, 0);
    CHECK_NEAR(row->min_ns, 20, 0);
    CHECK_NEAR(row->max_ns, 30, 0);
    CHECK_NEAR(row->self_ns, 50, 0); /* phases and what is in them are the op's own */
    CHECK_U64(row->depth, 1);
    assert_true(isnan(row->device_ns));
    assert_non_null(FIND("While", "Conv", "GpuMemcpySync:GPU->CPU"));
    CHECK_U64(FIND("Conv")->calls, 1);
    CHECK_NEAR(FIND("While")->self_ns, 50, 0);
    assert_non_null(FIND("While/Conv"));
    assert_null(FIND("Conv", "compute"));
    CHECK_NEAR(scene.tree.sums[0].total_ns, 157, 0); /* main rows only */
    drop(&scene);
}

static void details_add_phases_and_single_ops(void **state)
{
    struct scene scene;

    build(&scene, nested, NESTED, &(struct event_options){.detail = EVENTS_OP});
    CHECK_NEAR(FIND("Conv", "compute")->total_ns, 30, 0);
    assert_non_null(FIND("While", "Conv", "compute", "GpuMemcpySync:GPU->CPU"));
    drop(&scene);
    build(&scene, nested, NESTED, &(struct event_options){.detail = EVENTS_ALL});
    CHECK_U64(FIND("While", "loop", "Conv")->calls, 2);
    CHECK_U64(FIND("While", "loop", "Conv", "conv2")->calls, 1);
    CHECK_NEAR(FIND("Conv", "conv1", "compute")->total_ns, 30, 0);
    drop(&scene);
}

/* A function of Python passes on what is in it, but for all details, and has its own name there. */
static void functions_of_python_are_no_ops(void **state)
{
    static const struct span spans[] = {
        {.start_ns = 0, .dur_ns = 100, .op = SCOPE},
        {.start_ns = 10, .dur_ns = 80, .op = FUNCTION},
        {.start_ns = 20, .dur_ns = 30, .op = CONV},
    };
    struct scene scene;

    (void)state;
    build(&scene, spans, 3, &(struct event_options){.detail = EVENTS_OP});
    CHECK_NEAR(FIND("scope", "Conv")->total_ns, 30, 0);
    CHECK_NEAR(FIND("scope")->self_ns, 20, 0);
    CHECK_U64(scene.tree.rows.count, 2);
    drop(&scene);
    build(&scene, spans, 3, &(struct event_options){.detail = EVENTS_ALL});
    CHECK_NEAR(FIND("scope", "net.py(7): forward")->self_ns, 50, 0);
    CHECK_NEAR(FIND("scope", "net.py(7): forward", "Conv", "conv1")->total_ns, 30, 0);
    drop(&scene);
}

/* A launch of two kernels that overlap on two streams, in an op, in a label; a kernel of nobody. */
static const struct span launched[] = {
    {.start_ns = 0, .dur_ns = 50, .op = SCOPE},
    {.start_ns = 5, .dur_ns = 40, .op = CONV},
    {.start_ns = 10, .dur_ns = 10, .op = LAUNCH, .correlation = 1},
    {.start_ns = 25, .dur_ns = 10, .op = LAUNCH, .correlation = 2},
    {.start_ns = 20, .dur_ns = 60, .op = KERNEL, .lane = STREAM, .correlation = 1},
    {.start_ns = 50, .dur_ns = 50, .op = KERNEL, .lane = OTHER_STREAM, .correlation = 2},
    {.start_ns = 200, .dur_ns = 8, .op = KERNEL, .lane = STREAM},
};
enum { LAUNCHED = sizeof(launched) / sizeof(launched[0]) };

static void device_time_counts_for_all_around_the_launch(void **state)
{
    struct scene scene;
    const struct event_row *row;

    build(&scene, launched, LAUNCHED,
          &(struct event_options){.detail = EVENTS_OP, .state = EVENTS_CPU});
    CHECK_NEAR(FIND("scope")->device_ns, 80, 0); /* 20 to 100: what overlaps counts once */
    CHECK_NEAR(FIND("scope", "Conv")->device_ns, 80, 0);
    row = FIND("scope", "Conv", "sgemm");
    assert_true(row->is_on_device);
    CHECK_U64(row->calls, 2);
    CHECK_NEAR(row->total_ns, 110, 0);
    CHECK_NEAR(row->min_ns, 50, 0);
    assert_true(isnan(row->host_ns));
    CHECK_NEAR(FIND("sgemm")->total_ns, 8, 0);
    CHECK_NEAR(scene.tree.sums[0].total_ns, 50, 0); /* without what is only on the device */
    CHECK_NEAR(scene.tree.sums[0].device_ns, 88, 0);
    drop(&scene);
}

static void details_hide_kernels_and_show_calls(void **state)
{
    struct scene scene;

    build(&scene, launched, LAUNCHED, &(struct event_options){.detail = EVENTS_DEFAULT});
    assert_null(FIND("scope", "Conv", "sgemm"));
    CHECK_NEAR(FIND("scope", "Conv")->device_ns, 80, 0);
    drop(&scene);
    build(&scene, launched, LAUNCHED, &(struct event_options){.detail = EVENTS_ALL});
    CHECK_U64(FIND("scope", "Conv", "conv1", "cudaLaunchKernel", "sgemm")->calls, 2);
    CHECK_NEAR(FIND("scope", "Conv", "conv1")->device_ns, 80, 0);
    drop(&scene);
}

static void state_says_which_time_totals_are_of(void **state)
{
    struct scene scene;

    build(&scene, launched, LAUNCHED, &(struct event_options){.state = EVENTS_SUM});
    CHECK_NEAR(FIND("scope", "Conv")->total_ns, 150, 0); /* 40 and 110 */
    CHECK_NEAR(FIND("scope", "Conv")->max_ns, 150, 0);
    drop(&scene);
    build(&scene, launched, LAUNCHED, &(struct event_options){.state = EVENTS_AUTO});
    assert_int_equal(scene.tree.state, EVENTS_GPU);
    CHECK_NEAR(FIND("scope")->total_ns, 110, 0);
    drop(&scene);
}

/* A kernel launched in an op in a label: time of the device is all rows', but counts once. */
static struct scene choose(int64_t host_ns, int64_t device_ns)
{
    const struct span spans[] = {
        {.start_ns = 0, .dur_ns = host_ns, .op = SCOPE},
        {.start_ns = 0, .dur_ns = host_ns - 1, .op = CONV},
        {.start_ns = 1, .dur_ns = 1, .op = LAUNCH, .correlation = 1},
        {.start_ns = 3, .dur_ns = device_ns, .op = KERNEL, .lane = STREAM, .correlation = 1},
    };
    struct scene scene;

    build(&scene, spans, 4, &(struct event_options){.state = EVENTS_AUTO});
    return scene;
}

static void the_state_is_that_of_which_main_rows_have_more(void **state)
{
    static const struct {
        int64_t device_ns;
        enum event_state state;
    } cases[] = {{99, EVENTS_CPU}, {100, EVENTS_CPU}, {101, EVENTS_GPU}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct scene scene = choose(100, cases[i].device_ns);

        assert_int_equal(scene.tree.state, cases[i].state);
        CHECK_NEAR(FIND("scope")->total_ns, cases[i].state == EVENTS_GPU ? 101 : 100, 0);
        CHECK_NEAR(FIND("scope", "Conv")->total_ns, cases[i].state == EVENTS_GPU ? 101 : 99, 0);
        drop(&scene);
    }
}

/* A label of 100 ns around both parts, with kernels of 75 ns in each: the device has more. */
static void a_label_of_several_parts_counts_once_for_the_state(void **state)
{
    const struct event_options options = {.state = EVENTS_AUTO};
    struct event_builder *builder = NULL;
    struct scene scene = {0};

    (void)state;
    for (int64_t part = 0; part < 2; part++) {
        const struct span spans[] = {
            {.start_ns = 0, .dur_ns = 100, .op = SCOPE},
            {.start_ns = 1 + part * 50, .dur_ns = 1, .op = LAUNCH, .correlation = 1 + part},
            {.start_ns = 3 + part * 80,
             .dur_ns = 75,
             .op = KERNEL,
             .lane = STREAM,
             .correlation = 1 + part},
        };

        scene.spans = (struct spans_answer){.ops = {.items = ops, .count = OPS},
                                            .op_kinds = kinds,
                                            .lanes = {.items = lanes, .count = LANES}};
        hand_spans_build(&scene.spans, spans, 3);
        scene.spans.spans.items[0].frame = part ? SPAN_FRAME_AGAIN : SPAN_FRAME_FIRST;
        scene.spans.from_ns = part ? 50 : INT64_MIN;
        scene.spans.until_ns = part ? INT64_MAX : 50;
        if (!part)
            CHECK_OK(event_tree_begin(&scene.spans, &options, &builder));
        CHECK_OK(event_tree_add(builder, &scene.spans));
        hand_spans_drop(&scene.spans);
    }
    CHECK_OK(event_tree_finish(builder, &scene.spans, &scene.tree));
    assert_int_equal(scene.tree.state, EVENTS_GPU);
    CHECK_U64(FIND("scope")->calls, 1);
    CHECK_NEAR(FIND("scope")->host_ns, 100, 0);
    CHECK_NEAR(FIND("scope")->total_ns, 150, 0);
    event_tree_deinit(&scene.tree);
    event_builder_destroy(&builder);
}

/* As load_and_run and MegEngine's profiles tell it: one op, on both sides. */
static void an_op_on_both_sides_is_one_row(void **state)
{
    const struct span tied[] = {
        {.start_ns = 0, .dur_ns = 1, .op = CONV, .correlation = 1},
        {.start_ns = 2, .dur_ns = 90, .op = CONV, .lane = STREAM, .correlation = 1},
    };
    const struct span untied[] = {
        {.start_ns = 0, .dur_ns = 1, .op = CONV},
        {.start_ns = 2, .dur_ns = 90, .op = CONV, .lane = STREAM},
    };
    struct scene scene;

    for (int i = 0; i < 2; i++) {
        build(&scene, i ? untied : tied, 2,
              &(struct event_options){.detail = EVENTS_OP, .state = EVENTS_GPU});
        CHECK_U64(scene.tree.rows.count, 1);
        CHECK_U64(FIND("Conv")->calls, 1);
        CHECK_NEAR(FIND("Conv")->total_ns, 90, 0);
        CHECK_NEAR(FIND("Conv")->min_ns, 90, 0);
        CHECK_NEAR(FIND("Conv")->host_ns, 1, 0);
        CHECK_NEAR(FIND("Conv")->device_ns, 90, 0);
        drop(&scene);
    }
}

/* Phases of a queue's ops are parts of them; a wait between ops is none. */
static void phases_on_a_queue_stand_below_their_op(void **state)
{
    const struct span spans[] = {
        {.start_ns = 0, .dur_ns = 1, .op = CONV, .correlation = 1},
        {.start_ns = 12, .dur_ns = 80, .op = COMPUTE, .lane = STREAM},
        {.start_ns = 10, .dur_ns = 90, .op = CONV, .lane = STREAM, .correlation = 1},
        {.start_ns = 100, .dur_ns = 30, .op = COMPUTE, .lane = STREAM},
        {.start_ns = 200, .dur_ns = 1, .op = CONV, .correlation = 2},
        {.start_ns = 210, .dur_ns = 40, .op = OWN_COMPUTE, .lane = STREAM},
        {.start_ns = 210, .dur_ns = 40, .op = CONV, .lane = STREAM, .correlation = 2},
    };
    struct event_options options = {.detail = EVENTS_ALL, .state = EVENTS_GPU};
    struct scene scene;

    build(&scene, spans, 7, &options);
    CHECK_U64(scene.tree.rows.count, 3);
    CHECK_NEAR(FIND("Conv")->total_ns, 130, 0);
    CHECK_NEAR(FIND("Conv")->device_ns, 130, 0);
    CHECK_U64(FIND("Conv", "conv1", "compute")->calls, 2);
    assert_int_equal(FIND("Conv", "conv1", "compute")->kind, EVENT_PHASE);
    CHECK_NEAR(FIND("Conv", "conv1", "compute")->total_ns, 120, 0);
    CHECK_NEAR(FIND("Conv", "conv1", "compute")->device_ns, 120, 0);
    CHECK_NEAR(scene.tree.sums[0].device_ns, 130, 0);
    drop(&scene);
    options.detail = EVENTS_DEFAULT;
    build(&scene, spans, 7, &options);
    CHECK_U64(scene.tree.rows.count, 1);
    CHECK_NEAR(FIND("Conv")->total_ns, 130, 0);
    drop(&scene);
}

static void what_is_not_shown_leaves_its_insides(void **state)
{
    struct span spans[NESTED];
    struct scene scene;

    memcpy(spans, nested, sizeof(spans));
    scene = (struct scene){.spans = {.ops = {.items = ops, .count = OPS},
                                     .op_kinds = kinds,
                                     .lanes = {.items = lanes, .count = LANES}}};
    hand_spans_build(&scene.spans, spans, NESTED);
    for (size_t i = 0; i < NESTED; i++)
        scene.spans.spans.items[i].is_shown = scene.spans.spans.items[i].op != WHILE;
    CHECK_OK(event_tree_build(&scene.spans, &(struct event_options){0}, &scene.tree));
    assert_null(FIND("While"));
    CHECK_U64(FIND("Conv")->calls, 3);
    drop(&scene);
}

static void threads_have_rows_and_sums_of_their_own(void **state)
{
    const struct span spans[] = {
        {.start_ns = 0, .dur_ns = 10, .op = CONV},
        {.start_ns = 5, .dur_ns = 30, .op = CONV, .lane = WORKER},
    };
    struct scene scene;

    build(&scene, spans, 2, &(struct event_options){.per_thread = true});
    CHECK_U64(scene.tree.rows.count, 2);
    CHECK_U64(scene.tree.rows.items[1].lane, WORKER);
    CHECK_NEAR(event_tree_sums(&scene.tree, &scene.tree.rows.items[1])->total_ns, 30, 0);
    drop(&scene);
}

static void rows_come_by_rank_below_their_parents(void **state)
{
    struct scene scene;
    uint32_t *order;
    size_t rank[8], count, main_count, main_shown;
    struct event_choice choice = {.min_ns = NAN, .max_ns = NAN};
    const char *names[] = {"While/Conv", "Conv", "While", "Conv", "GpuMemcpySync:GPU->CPU"};

    build(&scene, nested, NESTED, &(struct event_options){0});
    CHECK_U64(scene.tree.rows.count, 5);
    for (size_t i = 0; i < 5; i++)
        rank[i] = 5 - i; /* the last first */
    CHECK_OK(
        event_tree_order(&scene.tree, rank, &choice, &order, &count, &main_count, &main_shown));
    CHECK_U64(count, 5);
    for (size_t i = 0; i < 5; i++)
        assert_string_equal(scene.tree.rows.items[order[i]].name, names[i]);
    free(order);
    choice.top = -1;
    CHECK_OK(
        event_tree_order(&scene.tree, rank, &choice, &order, &count, &main_count, &main_shown));
    CHECK_U64(main_count, 3);
    CHECK_U64(main_shown, 2);
    CHECK_U64(count, 2);
    free(order);
    choice = (struct event_choice){.top = 1, .min_ns = 60, .max_ns = NAN};
    CHECK_OK(
        event_tree_order(&scene.tree, rank, &choice, &order, &count, &main_count, &main_shown));
    CHECK_U64(count, 3); /* While and what is in it */
    assert_string_equal(scene.tree.rows.items[order[0]].name, "While");
    free(order);
    choice = (struct event_choice){.min_ns = 1000, .max_ns = NAN};
    CHECK_OK(
        event_tree_order(&scene.tree, rank, &choice, &order, &count, &main_count, &main_shown));
    CHECK_U64(count, 0);
    free(order);
    drop(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inner_rows_stand_below_outer_ones),
        cmocka_unit_test(details_add_phases_and_single_ops),
        cmocka_unit_test(functions_of_python_are_no_ops),
        cmocka_unit_test(device_time_counts_for_all_around_the_launch),
        cmocka_unit_test(details_hide_kernels_and_show_calls),
        cmocka_unit_test(state_says_which_time_totals_are_of),
        cmocka_unit_test(the_state_is_that_of_which_main_rows_have_more),
        cmocka_unit_test(a_label_of_several_parts_counts_once_for_the_state),
        cmocka_unit_test(an_op_on_both_sides_is_one_row),
        cmocka_unit_test(phases_on_a_queue_stand_below_their_op),
        cmocka_unit_test(what_is_not_shown_leaves_its_insides),
        cmocka_unit_test(threads_have_rows_and_sums_of_their_own),
        cmocka_unit_test(rows_come_by_rank_below_their_parents),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
