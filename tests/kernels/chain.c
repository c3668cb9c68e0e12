/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of chains of element-wise operations. Each step is held against the reference's, of the
 * operands that the version itself computed: what a chain up to there gives. */
#include <math.h>
#include <string.h>

#include "tests/kernels/harness.h"

enum { STEPS = 8, INPUTS = 5 };

/* A case: the chain, and every operand for each element of the result. */
struct scene {
    struct test *test;
    struct kernel_chain chain;
    size_t count;
    float *inputs[INPUTS]; /* the first one as floats */
    void *first;           /* as it is */
    float *operands[KERNEL_CHAIN_INPUTS + STEPS];
};

static void random_step(struct test *test, const struct kernel_chain *chain,
                        struct kernel_chain_step *step)
{
    *step = (struct kernel_chain_step){
        .has_two = test_chance(test, 2),
        .zip = (enum kernel_zip)test_range(test, 0, test_chance(test, 4) ? ZIP_PRELU : ZIP_MIN),
        .a = 0.75,
        .b = 0.25,
    };
    do
        step->map = (enum kernel_map)test_range(test, 0, MAP_COUNT - 1);
    while (!kernel_chain_has_map(step->map));
    if (test_chance(test, 6))
        step->zip = ZIP_POW;
    for (int k = 0; k < 2; k++) {
        int operand = (int)test_range(test, 0, chain->inputs + chain->steps - 1);

        step->operands[k] =
            operand < chain->inputs ? operand : KERNEL_CHAIN_RESULT + operand - chain->inputs;
    }
    /* Mostly a chain: the step before is read. */
    if (chain->steps > 0 && !test_chance(test, 4))
        step->operands[0] = KERNEL_CHAIN_RESULT + chain->steps - 1;
}

/* Dense, one number, or some axes broadcast. */
static size_t random_strides(struct test *test, const struct kernel_chain *chain, int64_t *strides,
                             bool is_dense)
{
    int kind = is_dense ? 0 : (int)test_range(test, 0, 3);
    bool reversed = kind == 3 && test_chance(test, 4);
    int64_t stride = 1;

    for (int i = 0; i < chain->rank; i++) {
        int axis = reversed ? i : chain->rank - 1 - i;
        bool is_broadcast = kind == 1 || (kind >= 2 && test_chance(test, 2));

        strides[axis] = is_broadcast || chain->dims[axis] == 1 ? 0 : stride;
        stride *= is_broadcast ? 1 : chain->dims[axis];
    }
    return (size_t)stride;
}

static int64_t place(size_t index, const struct kernel_chain *chain, int input)
{
    int64_t rest = (int64_t)index, at = 0;

    for (int axis = chain->rank - 1; axis >= 0; axis--) {
        at += rest % chain->dims[axis] * chain->strides[input][axis];
        rest /= chain->dims[axis];
    }
    return at;
}

/* Another type for the first input, and a frame around it; its elements are in inputs[0] until
 * now. */
static void frame_first(struct test *test, struct scene *scene)
{
    struct kernel_chain *chain = &scene->chain;
    int64_t stride = 1;

    if (test_chance(test, 2))
        chain->type = (enum kernel_dtype)test_range(test, 0, KERNEL_DTYPES - 1);
    chain->is_padded = test_chance(test, 2);
    chain->pad.value = 0.5f;
    for (int i = 0; i < chain->rank; i++) {
        int axis = test->seed % 2 ? i : chain->rank - 1 - i; /* also the other way round */
        bool has_frame = chain->is_padded && chain->dims[axis] > 0 && test_chance(test, 2);

        chain->pad.dims[axis] =
            has_frame ? test_range(test, 0, chain->dims[axis]) : chain->dims[axis];
        chain->pad.begin[axis] = test_range(test, 0, chain->dims[axis] - chain->pad.dims[axis]);
        chain->strides[0][axis] = stride;
        stride *= chain->pad.dims[axis];
    }
    scene->inputs[0] = test_input(test, (size_t)stride);
    for (int64_t k = 0; k < stride; k++)
        scene->inputs[0][k] = (float)(int)(scene->inputs[0][k] * 100.0f);
    scene->first = test_input_bytes(test, (size_t)stride * kernel_dtype_bytes(chain->type));
    cast_ref(scene->first, chain->type, scene->inputs[0], KERNEL_F32, (size_t)stride);
}

/* The first input for one element, by another way than the kernels go. */
static float first_operand(const struct scene *scene, size_t index)
{
    const struct kernel_chain *chain = &scene->chain;
    size_t bytes = kernel_dtype_bytes(chain->type);
    int64_t rest = (int64_t)index, at = 0;
    float number;

    for (int axis = chain->rank - 1; axis >= 0; axis--) {
        int64_t c = rest % chain->dims[axis];

        rest /= chain->dims[axis];
        if (chain->is_padded &&
            (c < chain->pad.begin[axis] || c >= chain->pad.begin[axis] + chain->pad.dims[axis]))
            return chain->pad.value;
        at += (c - chain->pad.begin[axis]) * chain->strides[0][axis];
    }
    cast_ref(&number, KERNEL_F32, (char *)scene->first + (size_t)at * bytes, chain->type, 1);
    return number;
}

static void make_scene(struct test *test, struct scene *scene, bool in_place)
{
    struct kernel_chain *chain = &scene->chain;
    int steps = (int)test_range(test, 1, STEPS);
    bool is_framed = !in_place && test_chance(test, 3);

    *scene = (struct scene){.test = test, .count = 1};
    chain->rank = (int)test_range(test, 0, 4);
    chain->inputs = (int)test_range(test, 1, INPUTS);
    for (int i = 0; i < chain->rank; i++) {
        chain->dims[i] = test_chance(test, 40) ? 0 : test_range(test, 1, i == 0 ? 40 : 13);
        scene->count *= (size_t)chain->dims[i];
    }
    for (int i = 0; i < chain->inputs; i++) {
        size_t own = random_strides(test, chain, chain->strides[i], in_place && i == 0);

        scene->inputs[i] = test_input(test, own);
        for (size_t k = 0; k < own; k++)
            scene->inputs[i][k] *= test_chance(test, 3) ? 20.0f : 2.0f;
        if (i > 0 && own == 1 && test_chance(test, 2)) /* exponents that have a way of their own */
            *scene->inputs[i] = (const float[]){0.5f, 2.0f, 3.0f}[test_range(test, 0, 2)];
        if (i == 0)
            scene->first = scene->inputs[0];
        if (i == 0 && is_framed)
            frame_first(test, scene);
        scene->operands[i] = test_input(test, scene->count);
        for (size_t k = 0; k < scene->count; k++)
            scene->operands[i][k] = i == 0 && is_framed ? first_operand(scene, k)
                                                        : scene->inputs[i][place(k, chain, i)];
    }
    for (int s = 0; s < steps; s++) {
        random_step(test, chain, &chain->step[s]);
        chain->steps++;
    }
    test_describe(test, "rank %d, %zu elements, %d inputs, %d steps, type %d%s%s", chain->rank,
                  scene->count, chain->inputs, chain->steps, (int)chain->type,
                  chain->is_padded ? ", padded" : "", in_place ? ", in place" : "");
}

static float step_alone(const struct kernel_chain_step *step, float a, float b)
{
    struct kernel_map_args map = {step->map, KERNEL_F32, step->a, step->b};
    struct kernel_zip_args zip = {step->zip, KERNEL_F32, KERNEL_F32, KERNEL_F32};
    float y;

    if (step->has_two)
        zip_ref(&y, &a, &b, &zip);
    else
        map_ref(&y, &a, 1, &map);
    return y;
}

static void check_step(struct scene *scene, int s, const float *got)
{
    const struct kernel_chain_step *step = &scene->chain.step[s];

    for (size_t i = 0; i < scene->count; i++) {
        float a = scene->operands[step->operands[0]][i];
        float b = step->has_two ? scene->operands[step->operands[1]][i] : 0.0f;
        float want = step_alone(step, a, b), size = fmaxf(fabsf(want), fabsf(a));
        float allowed = step->has_two ? 0.0f : 2e-6f * fmaxf(size, 1.0f);

        if (isnan(want) ? isnan(got[i]) : got[i] == want)
            continue;
        if (!(fabsf(got[i] - want) <= allowed) && fabsf(want) < 3e38f)
            test_fail(scene->test, "step %d, %s %d, of %.9g and %.9g is %.9g, not %.9g", s,
                      step->has_two ? "zip" : "map",
                      step->has_two ? (int)step->zip : (int)step->map, (double)a, (double)b,
                      (double)got[i], (double)want);
    }
}

static void check_chain(struct test *test, const struct kernel_table *table)
{
    bool in_place = test_chance(test, 3) && !test->bench;
    struct scene scene;
    const void *inputs[INPUTS];
    float *want, *got;

    make_scene(test, &scene, in_place);
    want = test_output(test, scene.count * sizeof(*want));
    got = test_output(test, scene.count * sizeof(*got));
    for (int i = 0; i < INPUTS; i++)
        inputs[i] = i == 0 ? scene.first : scene.inputs[i];
    if (!in_place) { /* no steps: the first input as it is */
        struct kernel_chain none = scene.chain;

        none.steps = 0;
        none.inputs = 1;
        table->chain.fn(got, inputs, &none);
        test_compare(test, got, scene.operands[0], scene.count, &(struct test_tolerance){0});
    }
    for (int s = 0; s < scene.chain.steps; s++) {
        struct kernel_chain part = scene.chain;

        part.steps = s + 1;
        if (in_place) {
            memcpy(got, scene.inputs[0], scene.count * sizeof(*got));
            inputs[0] = got;
        }
        table->chain.fn(got, inputs, &part);
        check_step(&scene, s, got);
        scene.operands[KERNEL_CHAIN_RESULT + s] = test_input(test, scene.count);
        memcpy(scene.operands[KERNEL_CHAIN_RESULT + s], got, scene.count * sizeof(*got));
    }
    inputs[0] = scene.first;
    TEST_RUN(test, TEST_REF, chain_ref(want, inputs, &scene.chain));
    if (test->bench)
        TEST_RUN(test, TEST_NEW, table->chain.fn(got, inputs, &scene.chain));
}

const struct test_op test_ops_chain[] = {
    {"chain", check_chain, offsetof(struct kernel_table, chain)},
};
const size_t test_ops_chain_count = sizeof(test_ops_chain) / sizeof(test_ops_chain[0]);
