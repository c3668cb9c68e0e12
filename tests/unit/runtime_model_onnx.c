/* SPDX-License-Identifier: Apache-2.0 */
/* The ONNX reader: what it reads, and that each way of spoiling a model gives its own sentence. */
#include "runtime/graph/texts.h"
#include "runtime/onnx/model.h"
#include "runtime/onnx/tensor.h"
#include "tests/support/check.h"
#include "tests/support/onnx_sample_check.h"
#include "tests/support/place.h"
#include "tests/support/temp.h"

#include <sys/stat.h>
#include <unistd.h>

static void a_sound_model_is_read(void **state)
{
    struct onnx_sample s;
    struct graph *graph;
    struct diag diag = {0};
    const struct value *w;

    onnx_sample_init(&s);
    s.dims[1].has_dim_value = 0;
    s.dims[1].dim_param = "width";
    CHECK_OK(onnx_sample_parse(&s, &graph, &diag));
    assert_int_equal(graph->node_count, 2);
    assert_int_equal(graph->input_count, 1);
    assert_int_equal(graph->ir_version, 8);
    assert_int_equal(graph_opset(graph, ""), 13);
    assert_string_equal(graph->producer_name, "test");
    assert_int_equal(graph->inputs[0]->shape.dims[0], 2);
    assert_int_equal(graph->inputs[0]->shape.dims[1], -1);
    assert_string_equal(graph->inputs[0]->dim_names[1], "width");
    w = graph_find_value(graph, "w");
    CHECK_NEAR(((float *)w->data)[5], 5, 0);
    assert_string_equal(graph->nodes[1]->name, "act");
    assert_string_equal(graph->outputs[0]->name, "y");
    graph_destroy(&graph);
}

static void old_models_list_initialisers_as_inputs(void **state)
{
    struct onnx_sample s;
    struct graph *graph;
    Onnx__ValueInfoProto weight;

    onnx_sample_init(&s);
    s.model.ir_version = 3;
    weight = s.input;
    weight.name = "w";
    s.inputs[0] = &weight;
    s.inputs[1] = &s.input;
    s.graph.n_input = 2;
    CHECK_OK(onnx_sample_parse(&s, &graph, &(struct diag){0}));
    assert_int_equal(graph->input_count, 1);
    assert_string_equal(graph->inputs[0]->name, "x");
    graph_destroy(&graph);
}

static void versions_have_limits(void **state)
{
    Onnx__OperatorSetIdProto again;
    struct onnx_sample s;
    struct graph *graph;

    onnx_sample_init(&s);
    onnx__operator_set_id_proto__init(&again);
    again.domain = "ai.onnx"; /* as "" */
    again.has_version = 1;
    again.version = 14;
    s.model.ir_version = MODEL_IR_VERSION_MAX + 1;
    onnx_sample_expect_failure(&s, -ENOTSUP, "IR version 15, which is too new");
    s.model.ir_version = 2;
    onnx_sample_expect_failure(&s, -ENOTSUP, "IR version 2, which is too old");
    s.model.ir_version = 8;
    s.opset.version = MODEL_OPSET_MAX + 1;
    onnx_sample_expect_failure(&s, -ENOTSUP, "operator set 29, which is too new");
    s.opset.version = 0;
    onnx_sample_expect_failure(&s, -EINVAL, "version 0 of operator set");
    s.opset.version = 13;
    s.model.n_opset_import = 0;
    onnx_sample_expect_failure(&s, -EINVAL, "does not say which operator set");
    s.model.n_opset_import = 2;
    s.opsets[1] = &again;
    onnx_sample_expect_failure(&s, -EINVAL,
                               "the model imports operator set '' twice, as 13 and 14");
    again.version = 13; /* the same twice is the same */
    CHECK_OK(onnx_sample_parse(&s, &graph, &(struct diag){0}));
    assert_int_equal(graph->opset_count, 1);
    graph_destroy(&graph);
    s.model.n_opset_import = 1;
    s.model.graph = NULL;
    onnx_sample_expect_failure(&s, -EINVAL, "no graph");
}

static void edges_must_fit(void **state)
{
    struct onnx_sample s;
    Onnx__TensorProto *twice[2];

    onnx_sample_init(&s);
    s.names[0][1] = "missing";
    onnx_sample_expect_failure(&s, -EINVAL, "node 'sum' reads 'missing', but");
    s.names[0][1] = "y";
    onnx_sample_expect_failure(&s, -EINVAL, "cycle through node");
    s.names[0][1] = "w";
    s.names[1][4] = "s";
    onnx_sample_expect_failure(&s, -EINVAL, "two values with the name 's'");
    s.names[1][4] = "w";
    onnx_sample_expect_failure(&s, -EINVAL, "two values with the name 'w'");
    s.names[1][4] = "x";
    onnx_sample_expect_failure(&s, -EINVAL, "two values with the name 'x'");
    s.names[1][4] = "y";
    s.output.name = "z";
    onnx_sample_expect_failure(&s, -EINVAL, "output 'z'");
    s.output.name = "y";
    s.graph.n_output = 0;
    onnx_sample_expect_failure(&s, -EINVAL, "no output");
    s.graph.n_output = 1;
    twice[0] = twice[1] = &s.weight;
    s.graph.initializer = twice;
    s.graph.n_initializer = 2;
    onnx_sample_expect_failure(&s, -EINVAL, "two values with the name 'w'");
    s.graph.n_initializer = 1;
    s.nodes[1].n_output = 2;
    s.names[1][5] = "y";
    onnx_sample_expect_failure(&s, -EINVAL, "output 'y' twice");
    s.nodes[1].n_output = 0;
    onnx_sample_expect_failure(&s, -EINVAL, "node 'act' has no output");
}

static void names_must_be_there(void **state)
{
    struct onnx_sample s;

    onnx_sample_init(&s);
    s.weight.name = NULL;
    onnx_sample_expect_failure(&s, -EINVAL, "an initialiser of the graph has no name");
    s.weight.name = "\xff";
    onnx_sample_expect_failure(&s, -EINVAL, "not plain UTF-8");
    s.weight.name = "w";
    s.nodes[0].op_type = NULL;
    onnx_sample_expect_failure(&s, -EINVAL, "node 'sum' has no operator type");
    s.nodes[0].op_type = "Add";
    s.nodes[0].name = "two\nlines";
    onnx_sample_expect_failure(&s, -EINVAL, "not plain UTF-8");
    s.nodes[0].name = "\x1b[2J";
    onnx_sample_expect_failure(&s, -EINVAL, "not plain UTF-8");
    s.nodes[0].name = "sum";
    s.names[0][0] = "\xc3";
    onnx_sample_expect_failure(&s, -EINVAL, "not plain UTF-8");
}

static void initialisers_must_fit_their_shape(void **state)
{
    struct onnx_sample s;
    uint8_t raw[24] = {0};

    onnx_sample_init(&s);
    s.weight.n_float_data = 5;
    onnx_sample_expect_failure(&s, -EINVAL,
                               "initialiser 'w' holds 5 elements where its shape needs 6");
    s.weight.n_float_data = 0;
    s.weight.has_raw_data = 1;
    s.weight.raw_data = (ProtobufCBinaryData){23, raw};
    onnx_sample_expect_failure(&s, -EINVAL, "holds 23 bytes where its shape needs 24");
    s.weight_dims[0] = -2;
    onnx_sample_expect_failure(&s, -EINVAL, "negative dimension -2");
    s.weight_dims[0] = INT64_MAX;
    onnx_sample_expect_failure(&s, -EINVAL, "too large");
    s.weight_dims[0] = 0;
    onnx_sample_expect_failure(&s, -EINVAL, "holds 23 bytes where its shape needs 0");
    s.weight.n_dims = 9;
    onnx_sample_expect_failure(&s, -EINVAL, "9 dimensions; the limit is 8");
    s.weight.n_dims = 2;
    s.weight.data_type = 8;
    onnx_sample_expect_failure(&s, -EINVAL, "holds texts as raw bytes");
    s.weight.data_type = 27;
    onnx_sample_expect_failure(&s, -ENOTSUP, "element type 27 (unknown)");
    s.weight.data_type = 0;
    onnx_sample_expect_failure(&s, -EINVAL, "no element type");
    s.weight.data_type = 1;
    s.weight.has_segment = 1;
    onnx_sample_expect_failure(&s, -ENOTSUP, "segments");
    s.graph.n_sparse_initializer = 1;
    s.graph.sparse_initializer = &(ProtobufCBinaryData){1, raw};
    onnx_sample_expect_failure(&s, -ENOTSUP, "sparse");
}

static void texts_are_elements(void **state)
{
    ProtobufCBinaryData texts[] = {{1, (uint8_t *)"a"},    {0, NULL},
                                   {1, (uint8_t *)"a"},    {2, (uint8_t *)"\xc3\x96"},
                                   {3, (uint8_t *)"a\0b"}, {1, (uint8_t *)"b"}};
    struct onnx_sample s;
    struct graph *graph;
    struct diag diag = {0};
    const int64_t *numbers;
    size_t length;

    onnx_sample_init(&s);
    s.weight.data_type = 8;
    s.weight.n_float_data = 0;
    s.weight.string_data = texts;
    s.weight.n_string_data = 5;
    onnx_sample_expect_failure(&s, -EINVAL,
                               "initialiser 'w' holds 5 texts where its shape needs 6");
    s.weight.n_string_data = 6;
    CHECK_OK(onnx_sample_parse(&s, &graph, &diag));
    assert_int_equal(graph_find_value(graph, "w")->dtype, DTYPE_STRING);
    numbers = graph_find_value(graph, "w")->data;
    assert_int_equal(numbers[0], numbers[2]);
    assert_int_equal(numbers[1], 0);
    assert_string_equal(texts_get(numbers[3], &length), "\xc3\x96");
    assert_memory_equal(texts_get(numbers[4], &length), "a\0b", 4);
    graph_destroy(&graph);
    s.weight.has_data_location = 1;
    s.weight.data_location = 1;
    onnx_sample_expect_failure(&s, -EINVAL, "holds texts as raw bytes");
    s.weight.has_data_location = 0;
    s.weight_dims[0] = 0;
    s.weight.n_string_data = 0;
    s.weight.has_raw_data = 1;
    s.weight.raw_data = texts[0];
    onnx_sample_expect_failure(&s, -EINVAL, "holds texts as raw bytes");
}

/* value_string and value_strings of a Constant. */
static void constants_may_be_texts(void **state)
{
    ProtobufCBinaryData texts[] = {{1, (uint8_t *)"a"}, {1, (uint8_t *)"b"}};
    struct onnx_sample s;
    struct graph *graph;
    struct diag diag = {0};
    const struct attribute *value;

    onnx_sample_init(&s);
    s.nodes[0].op_type = (char *)"Constant";
    s.nodes[0].n_input = 0;
    s.nodes[0].n_attribute = 1;
    s.nodes[0].attribute = s.attribute_list;
    s.attribute_list[0] = &s.attribute;
    onnx__attribute_proto__init(&s.attribute);
    s.attribute.name = (char *)"value_strings";
    s.attribute.has_type = 1;
    s.attribute.type = 8;
    s.attribute.strings = texts;
    s.attribute.n_strings = 2;
    CHECK_OK(onnx_sample_parse(&s, &graph, &diag));
    value = node_attribute(graph->nodes[0], "value");
    assert_non_null(value);
    assert_int_equal(value->tensor.dtype, DTYPE_STRING);
    assert_int_equal(value->tensor.shape.dims[0], 2);
    assert_int_equal(((int64_t *)value->tensor.data)[1], texts_number("b", 1));
    graph_destroy(&graph);
    s.nodes[0].n_attribute = 2;
    s.attribute_list[1] = &(Onnx__AttributeProto){0};
    onnx__attribute_proto__init(s.attribute_list[1]);
    s.attribute_list[1]->name = (char *)"value_string";
    s.attribute_list[1]->has_type = 1;
    s.attribute_list[1]->type = 3;
    onnx_sample_expect_failure(&s, -EINVAL, "has two values");
}

static void inputs_must_be_tensors(void **state)
{
    struct onnx_sample s;

    onnx_sample_init(&s);
    s.dims[0].dim_value = -1;
    onnx_sample_expect_failure(&s, -EINVAL, "input 'x' has the negative dimension -1");
    s.dims[0].dim_value = INT64_MAX;
    onnx_sample_expect_failure(&s, -EINVAL, "input 'x' is too large");
    s.dims[0].dim_value = 2;
    s.shape.n_dim = 9;
    onnx_sample_expect_failure(&s, -EINVAL, "input 'x' has 9 dimensions");
    s.shape.n_dim = 2;
    s.tensor_type.elem_type = 27;
    onnx_sample_expect_failure(&s, -ENOTSUP, "input 'x' has element type 27");
    s.type.tensor_type = NULL;
    onnx_sample_expect_failure(&s, -EINVAL, "input 'x' has no type");
    s.type.has_map_type = 1;
    onnx_sample_expect_failure(&s, -ENOTSUP, "input 'x' is no tensor and no sequence of tensors");
}

static void attributes_are_read_or_refused(void **state)
{
    struct onnx_sample s;
    struct graph *graph;

    onnx_sample_init(&s);
    s.nodes[1].n_attribute = 1;
    s.attribute.has_type = 1;
    s.attribute.type = 2;
    s.attribute.has_i = 1;
    s.attribute.i = 42;
    CHECK_OK(onnx_sample_parse(&s, &graph, &(struct diag){0}));
    assert_int_equal(node_int(graph->nodes[1], "note", 0), 42);
    graph_destroy(&graph);
    s.attribute.type = 4;
    s.attribute.t = &s.weight;
    CHECK_OK(onnx_sample_parse(&s, &graph, &(struct diag){0}));
    assert_int_equal(node_attribute(graph->nodes[1], "note")->tensor.shape.dims[1], 3);
    graph_destroy(&graph);
    s.attribute.t = NULL;
    onnx_sample_expect_failure(&s, -EINVAL, "holds no tensor");
    s.attribute.type = 5;
    onnx_sample_expect_failure(&s, -ENOTSUP, "attribute 'note' of node 'act' (Relu) is a subgraph");
    s.attribute.type = 77;
    onnx_sample_expect_failure(&s, -ENOTSUP, "is of type 77");
    s.attribute.type = 2;
    s.attribute_list[1] = &s.attribute;
    s.nodes[1].n_attribute = 2;
    onnx_sample_expect_failure(&s, -EINVAL, "attribute 'note' twice");
    s.attribute.name = "";
    onnx_sample_expect_failure(&s, -EINVAL, "without a proper name");
}

/* The second node as an If both of whose branches are `body`. */
static void use_body(struct onnx_sample *s, const Onnx__GraphProto *body, uint8_t bytes[1000])
{
    s->attribute.type = 5;
    s->attribute.has_type = s->attribute.has_g = 1;
    s->attribute.name = "then_branch";
    s->attribute.g.data = bytes;
    s->attribute.g.len = onnx__graph_proto__get_packed_size(body);
    assert_true(s->attribute.g.len <= 1000);
    onnx__graph_proto__pack(body, bytes);
    s->nodes[1].op_type = "If";
    s->nodes[1].n_attribute = 1;
}

/* What a body reads from outside becomes an input of its node. */
static void bodies_are_read(void **state)
{
    struct onnx_sample s, inner;
    struct graph *graph;
    const struct graph *body;
    uint8_t bytes[1000];

    onnx_sample_init(&s);
    onnx_sample_init(&inner);
    inner.graph.n_input = 0; /* x and w are the model's */
    inner.graph.n_initializer = 0;
    use_body(&s, &inner.graph, bytes);
    CHECK_OK(onnx_sample_parse(&s, &graph, &(struct diag){0}));
    assert_int_equal(graph->nodes[1]->input_count, 3);
    assert_int_equal(graph->nodes[1]->captured_count, 2);
    body = node_graph(graph->nodes[1], "then_branch");
    assert_non_null(body);
    assert_int_equal(body->node_count, 2);
    assert_int_equal(body->capture_count, 2);
    for (uint32_t i = 0; i < 2; i++)
        assert_string_equal(graph->nodes[1]->inputs[body->captures[i]]->name,
                            body->inputs[i]->name);
    graph_destroy(&graph);

    inner.names[0][1] = "nowhere";
    use_body(&s, &inner.graph, bytes);
    onnx_sample_expect_failure(&s, -EINVAL, "node 'act' reads 'nowhere', but");
    inner.names[0][1] = "w";
    inner.graph.n_output = 0;
    use_body(&s, &inner.graph, bytes);
    onnx_sample_expect_failure(&s, -EINVAL,
                               "attribute 'then_branch' of node 'act': this is not an ONNX body");
    inner.graph.n_output = 1;
    use_body(&s, &inner.graph, bytes);
    s.attribute.g.len--;
    onnx_sample_expect_failure(&s, -EINVAL,
                               "attribute 'then_branch' of node 'act': this is not an ONNX body");
}

static void set_raw(struct onnx_sample *s, const float values[6])
{
    s->weight.n_float_data = 0;
    s->weight.has_raw_data = 1;
    s->weight.raw_data.data = (uint8_t *)(uintptr_t)values;
    s->weight.raw_data.len = 6 * sizeof(float);
}

/* Also where the model's own initialisers are left in the file that the message was cut from. */
static void bodies_have_initialisers_of_their_own(void **state)
{
    static const float outside[] = {1, 2, 3, 4, 5, 6}, inside[] = {60, 50, 40, 30, 20, 10};
    struct onnx_sample s, inner;
    struct graph *graph;
    uint8_t body[1000], *bytes;
    size_t size;

    onnx_sample_init(&s);
    onnx_sample_init(&inner);
    inner.graph.n_input = 0;
    inner.weight.name = inner.names[0][1] = "v";
    set_raw(&s, outside);
    set_raw(&inner, inside);
    use_body(&s, &inner.graph, body);
    bytes = onnx_sample_pack(&s, &size);
    assert_non_null(bytes);
    CHECK_OK(model_onnx_parse_shared(bytes, size, -1, &graph, &(struct diag){0}));
    assert_memory_equal(graph_find_value(graph, "w")->data, outside, sizeof(outside));
    assert_memory_equal(graph_find_value(node_graph(graph->nodes[1], "then_branch"), "v")->data,
                        inside, sizeof(inside));
    graph_destroy(&graph);
    free(bytes);
}

/* Bodies inside of bodies, as deep as is allowed and one deeper. */
static void deep_bodies_are_refused(void **state)
{
    uint8_t *packed[10] = {NULL};
    size_t sizes[10];
    struct onnx_sample s;
    struct graph *graph;

    for (int depth = 0; depth < 10; depth++) {
        onnx_sample_init(&s);
        if (depth > 0) {
            s.attribute.type = 5;
            s.attribute.has_type = s.attribute.has_g = 1;
            s.attribute.g.data = packed[depth - 1];
            s.attribute.g.len = sizes[depth - 1];
            s.nodes[1].op_type = "If";
            s.nodes[1].n_attribute = 1;
        }
        sizes[depth] = onnx__graph_proto__get_packed_size(&s.graph);
        packed[depth] = malloc(sizes[depth]);
        assert_non_null(packed[depth]);
        onnx__graph_proto__pack(&s.graph, packed[depth]);
        if (depth == 8) {
            CHECK_OK(onnx_sample_parse(&s, &graph, &(struct diag){0}));
            graph_destroy(&graph);
        }
    }
    onnx_sample_expect_failure(&s, -ENOTSUP, "more than 8 deep");
    for (int depth = 0; depth < 10; depth++)
        free(packed[depth]);
}

/* Every front part of a model is refused, and none of them crashes or passes for a whole one. */
static void truncated_models_are_refused(void **state)
{
    struct onnx_sample s;
    size_t size;
    uint8_t *bytes;
    size_t called_truncated = 0;

    onnx_sample_init(&s);
    bytes = onnx_sample_pack(&s, &size);
    for (size_t n = 0; n < size; n++) {
        struct graph *graph = NULL;
        struct diag diag = {0};
        uint8_t *part = malloc(n + 1);

        memcpy(part, bytes, n);
        if (model_onnx_parse(part, n, -1, &graph, &diag) >= 0)
            fail_msg("the first %zu bytes of %zu pass", n, size);
        assert_true(diag.text[0] != '\0');
        called_truncated += strstr(diag.text, "truncated") != NULL;
        free(part);
    }
    assert_true(called_truncated > size / 2);
    free(bytes);
}

static void other_files_are_called_foreign(void **state)
{
    static const char *const texts[] = {"hello, world\n", "{\"a\": 1}", "\x89PNG\r\n\x1a\n",
                                        "\x1f"};
    struct graph *graph = NULL;
    struct diag diag = {0};

    for (size_t i = 0; i < 4; i++) {
        diag = (struct diag){0};
        assert_int_equal(
            model_onnx_parse((const uint8_t *)texts[i], strlen(texts[i]), -1, &graph, &diag),
            -EINVAL);
        CHECK_CONTAINS(diag.text, "not an ONNX model");
    }
    diag = (struct diag){0};
    assert_int_equal(model_onnx_parse(NULL, 0, -1, &graph, &diag), -EINVAL);
    CHECK_CONTAINS(diag.text, "empty");
}

static void files_that_cannot_be_read_are_named(void **state)
{
    struct graph *graph = NULL;
    struct diag diag = {0};

    assert_int_equal(model_onnx_load("/nonexistent/model.onnx", &graph, &diag), -ENOENT);
    CHECK_CONTAINS(diag.text, "cannot open '/nonexistent/model.onnx'");
    diag = (struct diag){0};
    assert_int_equal(model_onnx_load("/", &graph, &diag), -EISDIR);
    diag = (struct diag){0};
    assert_int_equal(model_onnx_load("/dev/null", &graph, &diag), -EINVAL);
    CHECK_CONTAINS(diag.text, "not a regular file");
}

/* Writes the model with its weight at `location` and loads it. */
static int load_external(struct onnx_sample *s, const char *folder, char *location, char *offset,
                         char *length, struct graph **out_graph, struct diag *diag)
{
    size_t size;
    uint8_t *bytes;
    char *path;
    int rc;

    s->weight.n_float_data = 0;
    s->weight.has_data_location = 1;
    s->weight.data_location = 1;
    s->weight.n_external_data = 3;
    s->external[0].key = "location";
    s->external[0].value = location;
    s->external[1].key = "offset";
    s->external[1].value = offset;
    s->external[2].key = "length";
    s->external[2].value = length;
    bytes = onnx_sample_pack(s, &size);
    path = temp_write(folder, "model.onnx", bytes, size);
    free(bytes);
    *diag = (struct diag){0};
    rc = model_onnx_load(path, out_graph, diag);
    free(path);
    return rc;
}

static void data_files_stay_inside_the_folder(void **state)
{
    static const struct {
        const char *location, *offset, *length;
        int error;
        const char *text;
    } cases[] = {
        {"../secret", "0", "24", -EACCES, "outside the model's folder"},
        {"sub/../../secret", "0", "24", -EACCES, "outside the model's folder"},
        {"/etc/passwd", "0", "24", -EACCES, "outside the model's folder"},
        {"link", "0", "24", -EACCES, "symbolic link"},
        {"", "0", "24", -EACCES, "outside"},
        {"absent", "0", "24", -ENOENT, "cannot be opened"},
        {"sub", "0", "24", -EINVAL, "not a regular file"},
        {"data", "8", "24", -EINVAL, "needs 24 bytes from byte 8 of 'data', which has 28"},
        {"data", "4", "20", -EINVAL, "says that 'data' holds 20"},
        {"data", "-4", "24", -EINVAL, "'-4' as the offset"},
        {"data", "18446744073709551615", "24", -EINVAL, "as the offset"},
    };
    char *folder = temp_create();
    char *inner = temp_path(folder, "model");
    char *sub = temp_path(inner, "sub");
    char *link = temp_path(inner, "link");
    float data[7] = {-1, 10, 11, 12, 13, 14, 15};
    struct onnx_sample s;
    struct graph *graph = NULL;
    struct diag diag;

    onnx_sample_init(&s);
    CHECK_OK(mkdir(inner, 0700));
    CHECK_OK(mkdir(sub, 0700));
    CHECK_OK(symlink("../secret", link));
    free(temp_write(folder, "secret", data, sizeof(data)));
    free(temp_write(inner, "data", data, sizeof(data)));
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int rc = load_external(&s, inner, (char *)cases[i].location, (char *)cases[i].offset,
                               (char *)cases[i].length, &graph, &diag);

        if (rc != cases[i].error)
            fail_msg("'%s' gives %d: %s", cases[i].location, rc, diag.text);
        CHECK_CONTAINS(diag.text, cases[i].text);
    }
    CHECK_OK(load_external(&s, inner, "./data", "4", "24", &graph, &diag));
    CHECK_NEAR(((float *)graph_find_value(graph, "w")->data)[0], 10, 0);
    graph_destroy(&graph);
    onnx_sample_expect_failure(&s, -EACCES, "not allowed here");
    free(inner);
    free(sub);
    free(link);
    temp_destroy(&folder);
}

/* A file of empty submessages would unfold to many times its size. */
static void unfolding_is_bounded(void **state)
{
    enum { COUNT = 4 << 20 };
    uint8_t *bytes = malloc(2 * COUNT + 16);
    size_t size = 0;
    struct graph *graph = NULL;
    struct diag diag = {0};

    bytes[size++] = 1 << 3; /* ir_version = 8 */
    bytes[size++] = 8;
    bytes[size++] = 7 << 3 | 2; /* the graph, of 2 * COUNT bytes */
    for (uint32_t length = 2 * COUNT; length != 0; length >>= 7)
        bytes[size++] = (uint8_t)((length & 0x7f) | (length > 0x7f ? 0x80 : 0));
    for (int i = 0; i < COUNT; i++) {
        bytes[size++] = 1 << 3 | 2; /* an empty node */
        bytes[size++] = 0;
    }
    assert_int_equal(model_onnx_parse(bytes, size, -1, &graph, &diag), -E2BIG);
    CHECK_CONTAINS(diag.text, "unfolds to more than");
    free(bytes);
}

/* Two or four in a byte, from the lowest bits on, the last of them not full. */
static void packed_tensors_are_unpacked(void **state)
{
    static const struct {
        enum dtype dtype;
        int8_t want[3];
    } cases[] = {{DTYPE_I4, {-3, 7, -8}},
                 {DTYPE_U4, {13, 7, 8}},
                 {DTYPE_I2, {1, -1, -1}},
                 {DTYPE_U2, {1, 3, 3}}};
    struct tensor_view view;
    Onnx__TensorProto proto = ONNX__TENSOR_PROTO__INIT;
    int64_t dims[] = {3};
    int32_t entries[] = {0x7d, 0x38};
    struct diag diag = {0};

    proto.dims = dims;
    proto.n_dims = 1;
    proto.has_data_type = 1;
    proto.int32_data = entries;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        bool is_tiny = cases[i].dtype == DTYPE_I2 || cases[i].dtype == DTYPE_U2;

        proto.data_type = (int)cases[i].dtype;
        proto.n_int32_data = is_tiny ? 1 : 2;
        CHECK_OK(onnx_tensor_from_proto(&proto, -1, "t", &view, &diag));
        assert_memory_equal(view.data, cases[i].want, 3);
        free(view.data);
        proto.n_int32_data = 3;
        assert_int_equal(onnx_tensor_from_proto(&proto, -1, "t", &view, &diag), -EINVAL);
    }
}

/* So many that parts of them are unpacked at once, and what is left one by one. */
static void many_packed_elements_are_unpacked(void **state)
{
    enum { LAST = 515 };
    uint8_t bytes[LAST / 2 + 1];

    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t)(i * 37 + 11);
    for (int64_t count = 125; count <= LAST; count += 13) {
        bool has_sign = count % 2 == 0;
        Onnx__TensorProto proto = ONNX__TENSOR_PROTO__INIT;
        struct tensor_view view;
        struct diag diag = {0};

        proto.dims = &count;
        proto.n_dims = 1;
        proto.has_data_type = 1;
        proto.data_type = has_sign ? DTYPE_I4 : DTYPE_U4;
        proto.has_raw_data = 1;
        proto.raw_data.len = (size_t)(count + 1) / 2;
        proto.raw_data.data = malloc(sizeof(bytes)); /* which is freed as it is read */
        assert_non_null(proto.raw_data.data);
        memcpy(proto.raw_data.data, bytes, sizeof(bytes));
        CHECK_OK(onnx_tensor_from_proto(&proto, -1, "t", &view, &diag));
        for (int64_t i = 0; i < count; i++) {
            int want = bytes[i / 2] >> (i % 2 * 4) & 15;

            want -= has_sign && want > 7 ? 16 : 0;
            assert_int_equal(((const int8_t *)view.data)[i], want);
        }
        free(view.data);
    }
}

static void tensors_are_read_in_all_encodings(void **state)
{
    struct tensor_view view;
    Onnx__TensorProto proto = ONNX__TENSOR_PROTO__INIT;
    int64_t dims[] = {2};
    int32_t small[] = {-3, 200};
    uint64_t large[] = {5, 4000000000u};
    double doubles[] = {0.5, -2};
    uint8_t bools[] = {0, 7};
    struct diag diag = {0};

    proto.dims = dims;
    proto.n_dims = 1;
    proto.has_data_type = 1;
    proto.int32_data = small;
    proto.n_int32_data = 2;
    proto.data_type = DTYPE_I8;
    CHECK_OK(onnx_tensor_from_proto(&proto, -1, "t", &view, &diag));
    assert_int_equal(((int8_t *)view.data)[0], -3);
    free(view.data);
    proto.data_type = DTYPE_BOOL;
    CHECK_OK(onnx_tensor_from_proto(&proto, -1, "t", &view, &diag));
    assert_int_equal(((uint8_t *)view.data)[1], 1);
    free(view.data);
    proto.uint64_data = large;
    proto.n_uint64_data = 2;
    proto.data_type = DTYPE_U32;
    CHECK_OK(onnx_tensor_from_proto(&proto, -1, "t", &view, &diag));
    CHECK_U64(((uint32_t *)view.data)[1], 4000000000u);
    free(view.data);
    proto.double_data = doubles;
    proto.n_double_data = 2;
    proto.data_type = DTYPE_F64;
    CHECK_OK(onnx_tensor_from_proto(&proto, -1, "t", &view, &diag));
    CHECK_NEAR(((double *)view.data)[1], -2, 0);
    free(view.data);
    proto.has_raw_data = 1;
    proto.raw_data.len = 2;
    proto.raw_data.data = malloc(2);
    memcpy(proto.raw_data.data, bools, 2);
    proto.data_type = DTYPE_BOOL;
    CHECK_OK(onnx_tensor_from_proto(&proto, -1, "t", &view, &diag));
    assert_int_equal(((uint8_t *)view.data)[1], 1);
    free(view.data);
}

static void models_of_the_shared_set_are_read(void **state)
{
    static const char *const cases[] = {
        "onnx-cases/light/test_light_squeezenet/model.onnx",
        "onnx-cases/light-rand/test_rand_shufflenet/model.onnx",
        "onnx-cases/exported/test_resnet18_w20/model.onnx",
        "onnx-cases/exported/test_transformer_encoder_d128_l4_s64/model.onnx",
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *path = place_shared(cases[i]);
        struct graph *graph;
        struct diag diag = {0};

        if (!path)
            CHECK_SKIP("the shared models are not here");
        if (model_onnx_load(path, &graph, &diag) < 0)
            fail_msg("%s", diag.text);
        assert_string_equal(graph->path, path);
        assert_true(graph->input_count >= 1 && graph->input_count <= 2);
        graph_destroy(&graph);
        free(path);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sound_model_is_read),
        cmocka_unit_test(old_models_list_initialisers_as_inputs),
        cmocka_unit_test(versions_have_limits),
        cmocka_unit_test(edges_must_fit),
        cmocka_unit_test(names_must_be_there),
        cmocka_unit_test(initialisers_must_fit_their_shape),
        cmocka_unit_test(texts_are_elements),
        cmocka_unit_test(constants_may_be_texts),
        cmocka_unit_test(inputs_must_be_tensors),
        cmocka_unit_test(attributes_are_read_or_refused),
        cmocka_unit_test(bodies_are_read),
        cmocka_unit_test(bodies_have_initialisers_of_their_own),
        cmocka_unit_test(deep_bodies_are_refused),
        cmocka_unit_test(truncated_models_are_refused),
        cmocka_unit_test(other_files_are_called_foreign),
        cmocka_unit_test(files_that_cannot_be_read_are_named),
        cmocka_unit_test(data_files_stay_inside_the_folder),
        cmocka_unit_test(unfolding_is_bounded),
        cmocka_unit_test(packed_tensors_are_unpacked),
        cmocka_unit_test(many_packed_elements_are_unpacked),
        cmocka_unit_test(tensors_are_read_in_all_encodings),
        cmocka_unit_test(models_of_the_shared_set_are_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
