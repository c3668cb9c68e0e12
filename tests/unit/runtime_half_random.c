/* SPDX-License-Identifier: Apache-2.0 */
/* Random graphs stored in half precision against the same graphs in float32: what is finite stays
 * so, nothing is refused, and what no decision stands before is near. A failure names the seed. */
#include <math.h>

#include "runtime/ops/shape/shape.h"
#include "tests/support/check.h"
#include "tests/support/exec_check.h"
#include "tests/support/graph_build.h"
#include "tests/support/half_check.h"

/* Images are {1,8,4,4}, rows the same elements as {16,8}. */
enum { CHANNELS = 8, SIDE = 4, ROWS = 16, NODES = 12, VALUES_MAX = 2 * NODES + 4, GRAPHS = 150 };

/* What a value is worth as an operand of what follows. */
enum trust {
    LOOSE, /* something was decided by rounded numbers: only finite */
    NEAR,  /* rounded a few times */
    EXACT, /* of inputs, element by element: not rounded where something is decided by it */
};

struct item {
    char name[24];
    enum trust trust;
};

struct pool {
    struct item items[VALUES_MAX];
    int count;
};

struct random_graph {
    struct graph *graph;
    uint32_t seed;
    struct pool images, rows;
    int names;
};

static int draw(struct random_graph *r, int low, int high)
{
    exec_check_random(&r->seed);
    return low + (int)((r->seed >> 8) % (uint32_t)(high - low + 1));
}

static const struct item *pick(struct random_graph *r, const struct pool *pool)
{
    return &pool->items[draw(r, 0, 1) == 1 ? pool->count - 1 : draw(r, 0, pool->count - 1)];
}

static void put(struct pool *pool, const char *name, enum trust trust)
{
    struct item *item = &pool->items[pool->count++];

    assert_true(pool->count <= VALUES_MAX);
    snprintf(item->name, sizeof(item->name), "%s", name);
    item->trust = trust;
}

static enum trust least(enum trust a, enum trust b)
{
    return a < b ? a : b;
}

/* A node whose inputs are a text with %s for up to two names; returns the name of its output, which
 * is good until the 8th call behind this. */
static const char *add(struct random_graph *r, const char *op_type, const char *attributes,
                       const char *inputs, const char *a, const char *b)
{
    static char names[8][24];
    char text[400], *name = names[r->names % 8];
    int number = r->names++;

    /* Each text has its own names for the constants in it: # is a number. */
    snprintf(name, sizeof(names[0]), "t%d", number);
    for (int at = 0, i = 0;; i++) {
        const char *part = NULL;
        char digits[16];

        if (inputs[i] == '%') {
            part = inputs[++i] == 'a' ? a : b;
        } else if (inputs[i] == '#') {
            snprintf(digits, sizeof(digits), "c%d", number);
            part = digits;
        }
        at += part ? snprintf(text + at, sizeof(text) - (size_t)at, "%s", part)
                   : snprintf(text + at, sizeof(text) - (size_t)at, "%c", inputs[i]);
        if (inputs[i] == '\0')
            break;
    }
    build_node(r->graph, op_type, text, attributes, name);
    return name;
}

/* A constant of random numbers. */
static const char *constant(struct random_graph *r, struct shape shape, double scale)
{
    static char name[24];
    struct value *value;
    float *data = graph_alloc_data((size_t)shape_bytes(&shape, DTYPE_F32));

    snprintf(name, sizeof(name), "w%d", r->names++);
    value = graph_add_value(r->graph, name, DTYPE_F32, &shape, NULL);
    assert_true(value && data);
    for (int64_t i = 0; i < shape_elements(&shape); i++)
        data[i] = exec_check_random(&r->seed) * (float)scale;
    value_set_data(value, data);
    return name;
}

/* --- Images. --- */

static const char *add_conv(struct random_graph *r, const char *x)
{
    int kernel = draw(r, 0, 1) == 1 ? 1 : 3;
    struct shape shape = {4, {CHANNELS, CHANNELS, kernel, kernel}};
    const char *w = constant(r, shape, sqrt(3.0 / (CHANNELS * kernel * kernel)));

    return add(r, draw(r, 0, 3) == 0 ? "ConvTranspose" : "Conv",
               kernel == 1 ? "" : "pads=[1,1,1,1]", "%a; %b", x, w);
}

static void grow_image(struct random_graph *r)
{
    static const char *const maps[] = {"Relu",      "Sigmoid",  "Tanh", "HardSwish",
                                       "LeakyRelu", "Softsign", "Neg",  "Exp"};
    static const char *const zips[] = {"Add", "Sub", "Mul", "Max"};
    const struct item *x = pick(r, &r->images), *other = pick(r, &r->images);
    enum trust near = least(x->trust, NEAR);
    const char *y;

    switch (draw(r, 0, 7)) {
    case 0:
    case 1:
        y = add(r, "Add", "", "%a; %b", add_conv(r, x->name), other->name);
        near = least(near, other->trust);
        break;
    case 2:
        y = add_conv(r, x->name);
        break;
    case 3: {
        int kind = draw(r, 0, 7);

        /* What is exponentiated is at most 1. */
        y = kind < 7 ? x->name : add(r, "Clip", "", "%a; #:f32 =-20; #b:f32 =1", x->name, NULL);
        y = add(r, maps[kind], "", "%a", y, NULL);
        near = x->trust;
        break;
    }
    case 4:
        y = add(r, zips[draw(r, 0, 3)], "", "%a; %b", x->name,
                add(r, "Softsign", "", "%a", other->name, NULL));
        near = least(x->trust, other->trust);
        break;
    case 5:
        y = add(r, draw(r, 0, 1) == 1 ? "MaxPool" : "AveragePool",
                "kernel_shape=[3,3] pads=[1,1,1,1]", "%a", x->name, NULL);
        break;
    case 6:
        y = add(r, "Mul", "", "%a; %b", x->name,
                add(r, "Sigmoid", "", "%a", add(r, "GlobalAveragePool", "", "%a", x->name, NULL),
                    NULL));
        break;
    default:
        y = add(r, "Concat", "axis=1", "%a; %b", x->name, other->name);
        y = add(r, "Slice", "", "%a; #s:i64=4; #e:i64=12; #x:i64=1", y, NULL);
        near = least(x->trust, other->trust);
    }
    put(&r->images, y, near);
    if (draw(r, 0, 1) == 1)
        put(&r->rows, add(r, "Reshape", "", "%a; #:i64=16,8", y, NULL), near);
}

/* --- Rows. --- */

static const char *project(struct random_graph *r, const char *x)
{
    struct shape shape = {2, {CHANNELS, CHANNELS}};

    return add(r, "MatMul", "", "%a; %b", x, constant(r, shape, sqrt(3.0 / CHANNELS)));
}

/* With a mask that leaves nothing of some rows, as large as a model may have it. */
static const char *add_attention(struct random_graph *r, const char *x, const char *other)
{
    static const char *const masks[] = {"%a; #:f32 4,1=0,-100,0,-65504", "%a; #:f32 4,1=0,0,-1e9,0",
                                        "%a; #:f32 4,1=-3.4028234e38,0,0,0",
                                        "%a; #:f32 1,4=0,-3.4028234e38,-1e30,-10"};
    const char *scores =
        add(r, "MatMul", "", "%a; %b", x, add(r, "Transpose", "perm=[1,0]", "%a", other, NULL));

    scores = add(r, "Reshape", "", "%a; #:i64=64,4", scores, NULL);
    scores = add(r, "Reshape", "", "%a; #:i64=16,4,4", scores, NULL);
    scores = add(r, "Add", "", masks[draw(r, 0, 3)], scores, NULL);
    scores = add(r, "Reshape", "", "%a; #:i64=16,16", scores, NULL);
    scores = add(r, "Softmax", "axis=-1", "%a", scores, NULL);
    return add(r, "MatMul", "", "%a; %b", scores, x);
}

/* Rows of 0 among them. The length in one of three ways. */
static const char *add_direction(struct random_graph *r, const char *x)
{
    const char *masked =
        add(r, "Mul", "", "%a; #:f32 16,1=1,1,0,1,1,1,1,0,1,1,1,1,0,0,1,1", x, NULL);
    char kept[24];
    const char *length;

    snprintf(kept, sizeof(kept), "%s", masked);
    if (draw(r, 0, 2) == 0) {
        length = add(r, "ReduceL2", "axes=[-1] keepdims=1", "%a", kept, NULL);
        length = add(r, "Clip", "", "%a; #:f32 =1e-12", length, NULL);
    } else {
        length = add(r, "Mul", "", "%a; %b", kept, kept);
        length = add(r, "ReduceMean", "axes=[-1] keepdims=1", "%a", length, NULL);
        length = add(r, "Add", "", "%a; #:f32 =1e-12", length, NULL);
        length = add(r, "Sqrt", "", "%a", length, NULL);
    }
    if (draw(r, 0, 1) == 1)
        return add(r, "Mul", "", "%a; %b", kept, add(r, "Reciprocal", "", "%a", length, NULL));
    return add(r, "Div", "", "%a; %b", kept, add(r, "Expand", "", "%a; #:i64=16,8", length, NULL));
}

/* Rows at places that are computed in floating point. */
static const char *add_gather(struct random_graph *r, const char *x, const char *by)
{
    const char *at = add(r, "Slice", "", "%a; #s:i64=2; #e:i64=3; #x:i64=1", by, NULL);

    at = add(r, "Reshape", "", "%a; #:i64=16", at, NULL);
    at = add(r, "Abs", "", "%a", at, NULL);
    at = add(r, "Mul", "", "%a; #:f32 =3333", at, NULL);
    if (draw(r, 0, 1) == 1)
        at = add(r, "Floor", "", "%a", at, NULL);
    at = add(r, "Cast", "to=7", "%a", at, NULL);
    at = add(r, "Mod", "", "%a; #:i64 =16", at, NULL);
    return add(r, "Gather", "axis=0", "%a; %b", x, at);
}

/* The sum of the rows of x that `by` selects, beside each row. How many they are is found out
 * before the run. */
static const char *add_selected(struct random_graph *r, const char *x, const char *by)
{
    const char *is = add(r, "ReduceMax", "axes=[-1] keepdims=0", "%a", by, NULL), *rows;

    is = add(r, "Greater", "", "%a; #:f32 =0.51", is, NULL);
    rows = add(r, "NonZero", "", "%a", is, NULL);
    rows = add(r, "Reshape", "", "%a; #:i64=-1", rows, NULL);
    rows = add(r, "Gather", "axis=0", "%a; %b", x, rows);
    rows = add(r, "ReduceSum", "keepdims=1", "%a; #:i64=0", rows, NULL);
    return add(r, "Add", "", "%a; %b", x, add(r, "Softsign", "", "%a", rows, NULL));
}

/* In the order of a column. */
static const char *add_sorted(struct random_graph *r, const char *x, const char *by)
{
    const char *column = add(r, "Slice", "", "%a; #s:i64=0; #e:i64=1; #x:i64=1", by, NULL);
    char inputs[64], outputs[64], order[24];

    column = add(r, "Reshape", "", "%a; #:i64=16", column, NULL);
    snprintf(inputs, sizeof(inputs), "%s; k%d:i64=16", column, r->names);
    snprintf(order, sizeof(order), "o%d", r->names);
    snprintf(outputs, sizeof(outputs), "s%d; %s", r->names++, order);
    build_node(r->graph, "TopK", inputs, "axis=0", outputs);
    return add(r, "Gather", "axis=0", "%a; %b", x, order);
}

/* Something decided for each element or row. */
static const char *add_decision(struct random_graph *r, const char *x, const char *by)
{
    const char *what;

    switch (draw(r, 0, 2)) {
    case 0:
        what = add(r, "Greater", "", "%a; #:f32 =0.1", by, NULL);
        return add(r, "Where", "", "%b; %a; #:f32 =0.25", x, what);
    case 1:
        what = add(r, "ArgMax", "axis=0 keepdims=0", "%a", by, NULL); /* a row for each column */
        what = add(r, "Concat", "axis=0", "%a; %b", what, what);
        return add(r, "Gather", "axis=0", "%a; %b", x, what);
    default:
        return add_sorted(r, x, by);
    }
}

static void grow_rows(struct random_graph *r)
{
    const struct item *x = pick(r, &r->rows), *other = pick(r, &r->rows);
    enum trust trust = least(x->trust, NEAR);
    const char *y;

    switch (draw(r, 0, 8)) {
    case 0:
        y = add(r, "Add", "", "%a; %b", project(r, x->name), other->name);
        trust = least(trust, other->trust);
        break;
    case 1:
        y = add(r, "HardSwish", "", "%a", project(r, x->name), NULL);
        break;
    case 2:
        y = add(r, "LayerNormalization", "axis=-1 epsilon=0.01",
                "%a; #:f32 8=1,1,2,1,1,1,0.5,1; #b:f32 8=0,0,0,1,0,0,0,0", x->name, NULL);
        break;
    case 3:
        y = add(r, "Softmax", "axis=-1", "%a", x->name, NULL);
        break;
    case 4:
        y = add_attention(r, x->name, other->name);
        trust = least(trust, other->trust);
        break;
    case 5:
        y = add_direction(r, x->name);
        trust = LOOSE; /* short vectors are turned by a rounding */
        break;
    case 6:
        y = add_gather(r, x->name, other->name);
        trust = least(trust, other->trust == EXACT ? EXACT : LOOSE);
        break;
    case 7:
        /* Other kernels than those that run infer shapes: not by what their last bits decided. */
        y = add_selected(r, x->name, other->trust == LOOSE ? "u" : other->name);
        break;
    default:
        y = add_decision(r, x->name, other->name);
        trust = least(trust, other->trust == EXACT ? EXACT : LOOSE);
    }
    put(&r->rows, y, trust);
    if (draw(r, 0, 1) == 1)
        put(&r->images, add(r, "Reshape", "", "%a; #:i64=1,8,4,4", y, NULL), trust);
}

/* --- All of it. --- */

struct wanted {
    uint32_t seed;
    uint32_t loose;
};

static struct graph *build(void *user)
{
    struct wanted *wanted = user;
    struct random_graph r = {.graph = build_graph(17), .seed = wanted->seed};
    const struct pool *pools[] = {&r.images, &r.rows};

    build_value(r.graph, "x:f32 1,8,4,4");
    build_value(r.graph, "z:f32 1,8,4,4");
    build_value(r.graph, "u:f32 16,8");
    put(&r.images, "x", EXACT);
    put(&r.images, "z", EXACT);
    put(&r.rows, "u", EXACT);
    for (int i = 0; i < NODES; i++) {
        bool is_image = draw(&r, 0, 1) == 1;

        if (is_image)
            grow_image(&r);
        else
            grow_rows(&r);
    }
    wanted->loose = 0;
    for (uint32_t i = 0; i < 2; i++) {
        const struct item *last = &pools[i]->items[pools[i]->count - 1];

        if (!graph_find_value(r.graph, last->name)->is_input)
            build_output(r.graph, last->name);
        if (last->trust == LOOSE)
            wanted->loose |= 1u << (r.graph->output_count - 1);
    }
    return r.graph;
}

static void random_graphs(void **state)
{
    uint32_t in_half = 0;

    for (uint32_t seed = 1; seed <= GRAPHS; seed++) {
        struct wanted wanted = {.seed = seed * 7919};
        struct graph *graph = build(&wanted); /* tells which outputs are loose */
        uint32_t counts[HALF_CHECK_TYPES];
        char what[32];

        graph_destroy(&graph);
        snprintf(what, sizeof(what), "seed %u", seed);
        half_check(&(struct half_check){.build = build,
                                        .user = &wanted,
                                        .what = what,
                                        .seed = seed,
                                        .slack = 60,
                                        .loose = wanted.loose},
                   counts);
        in_half += counts[0];
    }
    assert_true(in_half > 5 * GRAPHS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_graphs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
