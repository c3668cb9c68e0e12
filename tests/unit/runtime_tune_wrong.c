/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that are the fastest because they compute something else are turned down: the linker has
 * the runtime take its kernels from the table below. */
#include <unistd.h>

#include "runtime/exec/exec.h"
#include "runtime/ops/shape/shape.h"
#include "runtime/tune/layout_choose.h"
#include "runtime/tune/policy.h"
#include "runtime/tune/tune.h"
#include "tests/support/check.h"
#include "tests/support/exec_check.h"
#include "tests/support/graph_build.h"
#include "tests/support/temp.h"

/* The table */

void __real_kernel_table_init(struct kernel_table *table, enum kernel_level level);
void __wrap_kernel_table_init(struct kernel_table *table, enum kernel_level level);

enum wrong {
    NONE,
    NOTHING,      /* writes no output at all */
    ONE_ROW,      /* all others are right */
    CHANNELS_LAST /* nothing is written, but only where channels lie last */
};

static enum wrong wrong;
static enum kernel_level wrong_level; /* that has the wrong kernels; those above have the plain
                                         loops, so that the wrong one is the fastest */

static void wrong_gemm(float *y, const float *a, const float *b, const float *c,
                       const struct kernel_gemm *shape)
{
    if (wrong == NOTHING)
        return;
    gemm_f32_ref(y, a, b, c, shape);
    y[100 % shape->m * shape->n] += 0.5f;
}

static void wrong_pool(float *y, const float *x, const struct kernel_pool *shape)
{
    if (wrong == CHANNELS_LAST && !shape->channels_last)
        max_pool_f32_ref(y, x, shape);
}

void __wrap_kernel_table_init(struct kernel_table *table, enum kernel_level level)
{
    __real_kernel_table_init(table, level);
    if (wrong == NONE || level == KERNEL_LEVEL_REF)
        return;
    if (level != wrong_level) {
        table->gemm_f32.fn = gemm_f32_ref;
        table->gemm_f32.version = "plain";
        table->max_pool_f32.fn = max_pool_f32_ref;
        table->max_pool_f32.version = "plain";
        return;
    }
    table->gemm_f32.fn = wrong_gemm;
    table->gemm_f32.version = "wrong";
    table->max_pool_f32.fn = wrong_pool;
    table->max_pool_f32.version = "wrong";
}

/* The graphs */

static void infer(struct graph *graph)
{
    struct diag diag = {0};

    if (shape_infer(graph, NULL, &diag) < 0)
        fail_msg("%s", diag.text);
}

static struct graph *make_products(int rows)
{
    struct graph *graph = build_graph(13);
    char text[100];

    snprintf(text, sizeof(text), "x:f32 %d,64; w:f32 64,48", rows);
    build_node(graph, "MatMul", text, "", "y");
    snprintf(text, sizeof(text), "x; v:f32 64,48");
    build_node(graph, "MatMul", text, "", "z");
    build_output(graph, "y");
    build_output(graph, "z");
    infer(graph);
    return graph;
}

static struct graph *make_few_products(void)
{
    return make_products(40);
}

static struct graph *make_many_products(void)
{
    return make_products(3000);
}

static struct graph *make_pools(void)
{
    struct graph *graph = build_graph(13);

    build_node(graph, "MaxPool", "x:f32 2,16,24,24", "kernel_shape=[3,3]", "y");
    build_output(graph, "y");
    infer(graph);
    return graph;
}

/* Running */

struct outcome {
    char *said;
    uint32_t wrong_steps;   /* steps of the plan that call the wrong kernel */
    uint32_t changed_steps; /* that call another than without any option */
};

static char *folder, *path;

static struct tune_options options_of(enum tune_run run)
{
    return (struct tune_options){.run = run, .workspace_limit = UINT64_MAX};
}

static void count_steps(const struct graph *graph, const struct exec *exec,
                        struct outcome *out_counts)
{
    struct exec *other = exec_check_create(graph, 1);

    assert_int_equal(exec_step_count(exec), exec_step_count(other));
    for (uint32_t i = 0; i < exec_step_count(exec); i++) {
        const char *name = exec_step(exec, i)->implementation;

        out_counts->wrong_steps += strncmp(name, "wrong", 5) == 0;
        out_counts->changed_steps += strcmp(name, exec_step(other, i)->implementation) != 0;
    }
    exec_destroy(&other);
}

static struct outcome run(struct graph *graph, struct tune_options options)
{
    struct exec_options exec_options = {.threads = 1};
    struct outcome outcome = {0};
    char counted[40];
    struct exec *exec = NULL;
    struct diag diag = {0};
    size_t size;

    options.out = open_memstream(&outcome.said, &size);
    if (tuning_create(&options, &exec_options.kernels, &diag) < 0 ||
        exec_create(graph, &exec_options, &exec, &diag) < 0)
        fail_msg("%s", diag.text);
    fclose(options.out);
    count_steps(graph, exec, &outcome);
    snprintf(counted, sizeof(counted), ": %u of ", outcome.changed_steps);
    CHECK_CONTAINS(outcome.said, counted);
    exec_destroy(&exec);
    tuning_destroy(&exec_options.kernels);
    graph_destroy(&graph);
    return outcome;
}

static int begin(void **state)
{
    wrong = NONE;
    wrong_level = KERNEL_LEVEL_PORTABLE;
    folder = temp_create();
    path = temp_path(folder, "policy");
    return folder ? 0 : -1;
}

static int end(void **state)
{
    free(path);
    temp_destroy(&folder);
    return 0;
}

/* With one level above the references there is no other kernel. */
static bool has_levels(void)
{
    return kernel_best_level() > KERNEL_LEVEL_PORTABLE;
}

/* On a busy machine a kernel may be given up for its time before it is compared; it does not win
 * then, either. */
static void turn_down(enum wrong kind, struct graph *make(void))
{
    bool is_said = false;

    wrong = kind;
    for (int i = 0; i < 50 && !is_said; i++) {
        struct outcome outcome = run(make(), options_of(TUNE_FAST));

        is_said = strstr(outcome.said, " turned down whose output differs from the ref") != NULL;
        free(outcome.said);
        assert_int_equal(outcome.wrong_steps, 0);
    }
    assert_true(is_said);
}

static void the_fastest_does_not_win_when_it_is_wrong(void **state)
{
    if (!has_levels())
        skip();
    turn_down(NOTHING, make_few_products);
    turn_down(ONE_ROW, make_few_products);
    turn_down(NOTHING, make_pools);
}

/* So much work that the reference computes some rows only. */
static void what_is_wrong_in_a_row_of_many_is_seen(void **state)
{
    if (!has_levels())
        skip();
    turn_down(ONE_ROW, make_many_products);
}

static void a_wrong_default_is_given_up(void **state)
{
    struct outcome outcome;

    wrong = NOTHING;
    wrong_level = kernel_best_level();
    outcome = run(make_products(40), options_of(TUNE_FAST));
    assert_int_equal(outcome.wrong_steps, 0);
    assert_int_equal(outcome.changed_steps, 2);
    CHECK_CONTAINS(outcome.said, "2 of 2 operators with a choice");
    free(outcome.said);
}

/* Stored choices */

/* The file has the wrong kernel as the fastest, as an earlier program might have left it. */
static void store(bool keeps_verdicts, uint64_t change_mark)
{
    struct policy policy = {0}, fresh = {0};
    struct diag diag = {0};

    CHECK_OK(policy_load(&policy, path, &diag));
    for (size_t i = 0; i < policy.entries.count; i++) {
        struct policy_entry *entry = &policy.entries.items[i];

        for (int k = 0; k < entry->count; k++) {
            struct policy_time *time = &entry->times[k];

            time->time_ns = strcmp(time->name, "wrong") == 0 ? 10 : 1000000;
            time->verdict = !keeps_verdicts ? POLICY_NOT_COMPARED : POLICY_AGREES;
            time->mark ^= change_mark;
        }
        CHECK_OK(policy_put(&fresh, entry->machine, entry->key, entry->times, entry->count));
    }
    CHECK_OK(policy_save(&fresh, path, &diag));
    policy_deinit(&policy);
    policy_deinit(&fresh);
}

static void a_stored_choice_is_compared_at_load(void **state)
{
    struct tune_options options = options_of(TUNE_FAST), known = options_of(TUNE_NOTHING);
    struct outcome outcome;

    if (!has_levels())
        skip();
    wrong = NOTHING;
    options.policy_path = known.policy_path = path;
    free(run(make_products(40), options).said);
    for (int i = 0; i < 2; i++) {
        /* Nothing says that they were compared, or who edited the file says so. */
        store(i > 0, i > 0 ? 1 : 0);
        outcome = run(make_products(40), known);
        assert_int_equal(outcome.wrong_steps, 0);
        CHECK_CONTAINS(outcome.said, "wrong is not taken for ");
        CHECK_CONTAINS(outcome.said, "differs from the reference's");
        CHECK_CONTAINS(outcome.said, "; 0 shapes timed, 1 known, 1 kernel turned down");
        free(outcome.said);
    }
    /* Who times as well writes down what was found, and does not compare again. */
    free(run(make_products(40), options).said);
    outcome = run(make_products(40), known);
    assert_null(strstr(outcome.said, "is not taken for"));
    CHECK_CONTAINS(outcome.said, "1 kernel turned down");
    assert_int_equal(outcome.wrong_steps, 0);
    free(outcome.said);
}

/* Layouts */

static void a_layout_whose_kernel_is_wrong_is_not_chosen(void **state)
{
    struct graph *graph = build_graph(13);
    struct layout_choice layouts = {.lock = PTHREAD_MUTEX_INITIALIZER};
    struct exec_options options = {.threads = 1, .layouts = layout_chooser(&layouts)};
    struct exec *exec = NULL;
    struct diag diag = {0};
    size_t size;
    char *said = NULL;

    wrong = CHANNELS_LAST;
    wrong_level = kernel_best_level();
    build_node(graph, "MaxPool", "x:f32 1,16,64,64", "kernel_shape=[7,7]", "y");
    build_node(graph, "MaxPool", "y", "kernel_shape=[7,7]", "z");
    build_node(graph, "MaxPool", "z", "kernel_shape=[7,7]", "u");
    build_output(graph, "u");
    infer(graph);
    layouts.out = open_memstream(&said, &size);
    if (exec_create(graph, &options, &exec, &diag) < 0)
        fail_msg("%s", diag.text);
    fclose(layouts.out);
    CHECK_CONTAINS(said, ": 0 of 3 operators");
    CHECK_CONTAINS(said, "3 kernels turned down");
    free(said);
    free(layouts.text);
    exec_destroy(&exec);
    graph_destroy(&graph);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(the_fastest_does_not_win_when_it_is_wrong),
        TEST(what_is_wrong_in_a_row_of_many_is_seen),
        TEST(a_wrong_default_is_given_up),
        TEST(a_stored_choice_is_compared_at_load),
        TEST(a_layout_whose_kernel_is_wrong_is_not_chosen),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
