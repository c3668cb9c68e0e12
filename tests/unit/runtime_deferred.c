/* SPDX-License-Identifier: Apache-2.0 */
/* Weights that stay in their file until they are stored in half precision: which, and that they become the
 * same numbers as those that were copied. */
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/onnx/model.h"
#include "runtime/passes/pass.h"
#include "tests/support/check.h"
#include "tests/support/graph_build.h"
#include "tests/support/onnx_sample_check.h"
#include "tests/support/temp.h"

enum { ROWS = 3, COLUMNS = 100000, COUNT = ROWS * COLUMNS }; /* more than is copied at once */

static float number(size_t i)
{
    return (float)(i * 2654435761u % 100003) / 50000.0f - 1.0f;
}

static float *numbers(size_t count)
{
    float *made = graph_alloc_data(count * sizeof(*made));

    assert_non_null(made);
    for (size_t i = 0; i < count; i++)
        made[i] = number(i);
    return made;
}

/* --- From the file. --- */

struct variant {
    const char *what;
    void (*spoil)(struct onnx_sample *s);
    bool is_deferred;
};

static void leave(struct onnx_sample *s)
{
}

static void add(struct onnx_sample *s)
{
    s->nodes[0].op_type = "Add";
}

static void left(struct onnx_sample *s)
{
    s->names[0][0] = "w";
    s->names[0][1] = "x";
}

static void two_readers(struct onnx_sample *s)
{
    s->nodes[1].op_type = "Sub";
    s->names[1][1] = "w";
    s->nodes[1].n_input = 2;
}

static void other_domain(struct onnx_sample *s)
{
    s->nodes[0].domain = "com.example";
}

static void an_output(struct onnx_sample *s)
{
    static Onnx__ValueInfoProto output;

    output = s->output;
    output.name = "w";
    s->outputs[1] = &output;
    s->graph.n_output = 2;
}

static void one_dimension(struct onnx_sample *s)
{
    s->weight.n_dims = 1;
    s->weight_dims[0] = COUNT;
}

static void a_little(struct onnx_sample *s)
{
    s->weight_dims[1] = 5;
    s->weight.raw_data.len = ROWS * 5 * sizeof(float);
}

static void nothing(struct onnx_sample *s)
{
    s->weight_dims[1] = 0;
    s->weight.raw_data.len = 0;
}

static void listed(struct onnx_sample *s)
{
    static float list[COUNT];

    memcpy(list, s->weight.raw_data.data, sizeof(list));
    s->weight.has_raw_data = 0;
    s->weight.raw_data = (ProtobufCBinaryData){0};
    s->weight.float_data = list;
    s->weight.n_float_data = COUNT;
}

static void integers(struct onnx_sample *s)
{
    s->weight.data_type = DTYPE_I32;
}

static void a_function(struct onnx_sample *s)
{
    static ProtobufCBinaryData function;

    s->model.functions = &function;
    s->model.n_functions = 1;
}

static const struct variant variants[] = {
    {"weights", leave, true},
    {"a sum", add, false},
    {"the left matrix", left, false},
    {"another reader", two_readers, false},
    {"another domain", other_domain, false},
    {"an output", an_output, false},
    {"one dimension", one_dimension, false},
    {"a little", a_little, false},
    {"nothing", nothing, false},
    {"a list", listed, false},
    {"integers", integers, false},
    {"a function", a_function, false},
};

static void init_sample(struct onnx_sample *s, const float *weights)
{
    onnx_sample_init(s);
    s->nodes[0].op_type = "MatMul";
    s->weight_dims[0] = ROWS;
    s->weight_dims[1] = COLUMNS;
    s->weight.n_float_data = 0;
    s->weight.has_raw_data = 1;
    s->weight.raw_data.data = (uint8_t *)(uintptr_t)weights;
    s->weight.raw_data.len = COUNT * sizeof(float);
    s->dims[1].dim_value = ROWS;
}

static int load(const struct onnx_sample *s, const char *folder,
                const struct model_loading *loading, struct graph **out_graph)
{
    struct diag diag = {0};
    size_t size;
    uint8_t *bytes = onnx_sample_pack(s, &size);
    char *path = temp_write(folder, "model.onnx", bytes, size);
    int rc = model_onnx_load_with(path, loading, out_graph, &diag);

    free(path);
    free(bytes);
    return rc;
}

static void check_weights(struct value *w, bool is_deferred, const float *wanted)
{
    float room[7];

    assert_int_equal(w->is_deferred, is_deferred);
    if (is_deferred) {
        assert_memory_equal(value_read(w, 1234, 7, room), wanted + 1234, sizeof(room));
        assert_int_equal(value_release_data(w) == 0, 1); /* nothing of it was allocated */
        return;
    }
    if (shape_bytes(&w->shape, w->dtype) > 0)
        assert_memory_equal(w->data, wanted, (size_t)shape_bytes(&w->shape, w->dtype));
}

/* At every place in the file, with and without leave to share what lies aligned there. */
static void large_weights_stay_in_the_file(void **state)
{
    static const char *const producers[] = {"", "1", "12", "123"};
    float *weights = numbers(COUNT);
    char *folder = temp_create();

    for (size_t i = 0; i < sizeof(variants) / sizeof(variants[0]); i++)
        for (int k = 0; k < 8; k++) {
            struct model_loading loading = {.shares = k >= 4, .defers = true};
            struct onnx_sample s;
            struct graph *graph;
            struct value *w;

            init_sample(&s, weights);
            s.model.producer_name = (char *)(uintptr_t)producers[k % 4];
            variants[i].spoil(&s);
            if (load(&s, folder, &loading, &graph) < 0) {
                assert_false(variants[i].is_deferred); /* an operator that is none, for one */
                continue;
            }
            w = graph_find_value(graph, "w");
            if (w->is_shared && !w->is_deferred)
                assert_int_equal((uintptr_t)w->data % sizeof(float), 0);
            check_weights(w, variants[i].is_deferred && (!w->is_shared || w->is_deferred), weights);
            graph_destroy(&graph);
        }
    temp_destroy(&folder);
    free(weights);
}

static void who_does_not_ask_gets_copies(void **state)
{
    float *weights = numbers(COUNT);
    char *folder = temp_create();
    struct onnx_sample s;
    struct graph *graph;

    init_sample(&s, weights);
    CHECK_OK(load(&s, folder, &(struct model_loading){0}, &graph));
    assert_false(graph_find_value(graph, "w")->is_shared);
    check_weights(graph_find_value(graph, "w"), false, weights);
    graph_destroy(&graph);
    temp_destroy(&folder);
    free(weights);
}

/* A data file, at an offset that is no multiple of anything. */
static void weights_stay_in_a_data_file(void **state)
{
    static const char *const offsets[] = {"0", "1", "4099"};
    float *weights = numbers(COUNT);
    char *folder = temp_create(), *data = calloc(1, 5000 + COUNT * sizeof(float));

    for (size_t i = 0; i < 3; i++) {
        struct onnx_sample s;
        struct graph *graph;
        char *path;

        memcpy(data + atoi(offsets[i]), weights, COUNT * sizeof(float));
        path = temp_write(folder, "data", data, 5000 + COUNT * sizeof(float));
        init_sample(&s, weights);
        s.weight.has_raw_data = 0;
        s.weight.raw_data = (ProtobufCBinaryData){0};
        s.weight.has_data_location = s.weight.data_location = 1;
        s.weight.n_external_data = 2;
        s.external[0].key = "location";
        s.external[0].value = "data";
        s.external[1].key = "offset";
        s.external[1].value = (char *)(uintptr_t)offsets[i];
        CHECK_OK(load(&s, folder, &(struct model_loading){.defers = true}, &graph));
        check_weights(graph_find_value(graph, "w"), true, weights);
        graph_destroy(&graph);
        free(path);
    }
    temp_destroy(&folder);
    free(data);
    free(weights);
}

/* --- Through the passes. --- */

/* Moves a constant of float32 to a file, one byte from where it would be aligned. */
static void defer(struct graph *graph, const char *name)
{
    struct value *value = graph_find_value(graph, name);
    size_t bytes = (size_t)shape_bytes(&value->shape, DTYPE_F32);
    int fd = memfd_create("weights", MFD_CLOEXEC);
    char *map;

    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, value->data, bytes, 1), bytes);
    map = mmap(NULL, bytes + 1, PROT_READ, MAP_PRIVATE, fd, 0);
    assert_true(map != MAP_FAILED);
    close(fd);
    CHECK_OK(graph_add_map(graph, map, bytes + 1));
    value_defer_data(value, map + 1);
}

static void add_weights(struct graph *graph, const char *name, struct shape shape, float last)
{
    struct value *value = graph_add_value(graph, name, DTYPE_F32, &shape, NULL);
    size_t count = (size_t)shape_elements(&shape);
    float *data = numbers(count);

    data[count - 1] = last;
    value_set_data(value, data);
}

static const char *const names[] = {"w", "v", "u", "m", "big", "table", "fixed", "tied"};

static struct graph *build(void)
{
    struct graph *graph = build_graph(14);
    const char *norm = "scale:f32 8=1.5,2,0.3,4,5,6,7,0.8; shift:f32 8=8,7,6,5,4,3,2,1; "
                       "mean:f32 8=0.5,0.4,0.3,0.2,0.1,0,1,2; variance:f32 8=1,2,3,4,5,6,7,8";
    char inputs[400];

    add_weights(graph, "w", (struct shape){4, {8, 3, 3, 3}}, 0.5f);
    add_weights(graph, "v", (struct shape){4, {8, 8, 1, 1}}, 0.5f);
    add_weights(graph, "u", (struct shape){4, {8, 8, 3, 3}}, 0.5f);
    add_weights(graph, "m", (struct shape){2, {8, 40000}}, 0.5f); /* several parts, and a rest */
    add_weights(graph, "big", (struct shape){2, {8, 8}}, 1e30f);  /* no float16 */
    add_weights(graph, "table", (struct shape){2, {8, 8}}, 0.5f);
    add_weights(graph, "fixed", (struct shape){2, {8, 8}}, 0.5f);
    add_weights(graph, "tied", (struct shape){4, {8, 8, 1, 1}}, 0.5f);
    build_node(graph, "Conv", "x:f32 1,3,8,8; w", "pads=[1,1,1,1]", "c1");
    snprintf(inputs, sizeof(inputs), "c1; %s", norm);
    build_node(graph, "BatchNormalization", inputs, "", "b1");
    build_node(graph, "Conv", "b1; v", "", "c2");
    build_node(graph, "BatchNormalization", "c2; scale; shift; mean; variance", "", "b2");
    build_node(graph, "BatchNormalization", "b2; scale; shift; mean; variance", "", "b3");
    build_node(graph, "Conv", "b3; u", "", "c3");
    build_node(graph, "Conv", "c3; tied", "", "t1");
    build_node(graph, "BatchNormalization", "t1; scale; shift; mean; variance", "", "t2");
    build_node(graph, "Conv", "t2; tied", "", "t3");
    build_node(graph, "GlobalAveragePool", "t3", "", "p");
    build_node(graph, "Flatten", "p", "", "f");
    build_node(graph, "MatMul", "f; big", "", "d1");
    build_node(graph, "Gather", "table; i:i64 1,1", "axis=0", "row");
    build_node(graph, "Gather", "fixed; j:i64 1=3", "axis=0", "known"); /* is computed at once */
    build_node(graph, "Add", "row; known", "", "rows");
    build_node(graph, "Flatten", "rows", "", "flat");
    build_node(graph, "Add", "d1; flat", "", "d2");
    build_node(graph, "MatMul", "d2; m", "", "y");
    build_output(graph, "y");
    return graph;
}

static void expect_same(const struct graph *got, const struct graph *wanted)
{
    assert_int_equal(got->value_count, wanted->value_count);
    for (uint32_t i = 0; i < got->value_count; i++) {
        const struct value *a = got->values[i], *b = wanted->values[i];

        assert_string_equal(a->name, b->name);
        if (a->dtype != b->dtype)
            fail_msg("%s is %s", a->name, dtype_name(a->dtype));
        assert_false(a->is_deferred);
        assert_null(a->factors);
        assert_int_equal(a->data != NULL, b->data != NULL);
        if (a->data && memcmp(a->data, b->data, (size_t)shape_bytes(&a->shape, a->dtype)) != 0)
            fail_msg("%s holds other numbers", a->name);
    }
}

static void they_become_the_same_numbers(void **state)
{
    static const enum dtype halves[] = {DTYPE_F16, DTYPE_BF16};

    for (size_t h = 0; h < 2; h++)
        for (int no_inference = 0; no_inference < 2; no_inference++) {
            struct pass_options options = {.half = halves[h], .no_inference = no_inference};
            struct graph *plain = build(), *deferred = build();
            struct diag diag = {0};

            for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
                defer(deferred, names[i]);
            build_infer(plain);
            build_infer(deferred);
            CHECK_OK(graph_optimise(plain, &options, eval_node, &diag));
            CHECK_OK(graph_optimise(deferred, &options, eval_node, &diag));
            assert_int_equal(graph_find_value(deferred, "m")->dtype, halves[h]);
            assert_int_equal(graph_find_value(deferred, "big")->dtype,
                             halves[h] == DTYPE_F16 ? DTYPE_F32 : DTYPE_BF16);
            expect_same(deferred, plain);
            graph_destroy(&plain);
            graph_destroy(&deferred);
        }
}

/* Nothing is copied for a batch normalisation: factors wait for the one who reads. */
static void a_batch_norm_leaves_them_in_the_file(void **state)
{
    struct graph *graph = build(), *plain = build();
    struct diag diag = {0};
    struct value *w;
    float room[27];

    defer(graph, "w");
    defer(graph, "v");
    defer(graph, "tied");
    build_infer(graph);
    build_infer(plain);
    assert_int_equal(pass_fold_batch_norm(graph, &diag), 4);
    assert_int_equal(pass_fold_batch_norm(plain, &diag), 4);
    w = graph_find_value(graph, "w");
    assert_true(w->is_deferred);
    assert_non_null(w->factors);
    for (size_t begin = 0; begin < 8 * 27; begin += 27)
        assert_memory_equal(value_read(w, begin, 27, room),
                            (const float *)graph_find_value(plain, "w")->data + begin,
                            sizeof(room));
    assert_false(graph_find_value(graph, "v")->is_deferred); /* two of them, each rounded */
    assert_false(graph_find_value(graph, "tied")->is_deferred);
    CHECK_OK(value_settle(w));
    assert_memory_equal(w->data, graph_find_value(plain, "w")->data, 8 * 27 * sizeof(float));
    graph_destroy(&graph);
    graph_destroy(&plain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(large_weights_stay_in_the_file),
        cmocka_unit_test(who_does_not_ask_gets_copies),
        cmocka_unit_test(weights_stay_in_a_data_file),
        cmocka_unit_test(they_become_the_same_numbers),
        cmocka_unit_test(a_batch_norm_leaves_them_in_the_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
