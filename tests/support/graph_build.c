/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs from short texts, for tests of the runtime. */
#include "tests/support/graph_build.h"

#include "runtime/graph/element.h"
#include "runtime/ops/eval.h"
#include "runtime/ops/shape/shape.h"
#include "tests/support/check.h"

static const struct {
    const char *word;
    enum dtype dtype;
} dtypes[] = {
    {"f32", DTYPE_F32},
    {"f64", DTYPE_F64},
    {"f16", DTYPE_F16},
    {"i64", DTYPE_I64},
    {"i32", DTYPE_I32},
    {"i8", DTYPE_I8},
    {"u8", DTYPE_U8},
    {"bool", DTYPE_BOOL},
    {"i16", DTYPE_I16},
    {"u16", DTYPE_U16},
    {"u32", DTYPE_U32},
    {"bf16", DTYPE_BF16},
    {"u64", DTYPE_U64},
    {"u4", DTYPE_U4},
    {"i4", DTYPE_I4},
    {"u2", DTYPE_U2},
    {"i2", DTYPE_I2},
    {"f8e4m3fn", DTYPE_F8E4M3FN},
    {"f8e4m3fnuz", DTYPE_F8E4M3FNUZ},
    {"f8e5m2", DTYPE_F8E5M2},
    {"f8e5m2fnuz", DTYPE_F8E5M2FNUZ},
    {"f4e2m1", DTYPE_F4E2M1},
    {"f8e8m0", DTYPE_F8E8M0},
    {"string", DTYPE_STRING},
};

struct graph *build_graph(int64_t opset)
{
    struct graph *graph = graph_create();

    assert_non_null(graph);
    CHECK_OK(graph_add_opset(graph, "", opset));
    return graph;
}

/* Reads "1,2,3" (perhaps empty) and leaves *text behind it. */
static int read_ints(const char **text, int64_t *out_ints, int max)
{
    int count = 0;
    char *end;

    for (;;) {
        int64_t number = strtoll(*text, &end, 10);

        if (end == *text)
            return count;
        assert_true(count < max);
        out_ints[count++] = number;
        *text = end;
        if (**text != ',')
            return count;
        (*text)++;
    }
}

/* "=1,2,3" behind the type: the elements; without dims their number is the shape. */
static void read_constant(struct value *value, const char *text, bool has_dims)
{
    long double numbers[256];
    int count = 0;
    void *data;

    for (char *end; *text != '\0'; text = *end == ',' ? end + 1 : end) {
        assert_true(count < 256);
        numbers[count++] = strtold(text, &end);
        if (end == text)
            fail_msg("no number: %s", text);
    }
    if (!has_dims)
        value->shape = (struct shape){.rank = 1, .dims = {count}};
    assert_int_equal(shape_elements(&value->shape), count);
    data = graph_alloc_data((size_t)shape_bytes(&value->shape, value->dtype));
    assert_non_null(data);
    for (int i = 0; i < count; i++)
        assert_true(element_set(data, value->dtype, i, numbers[i]));
    value_set_data(value, data);
}

struct value *build_value(struct graph *graph, const char *text)
{
    struct shape shape = {.rank = 0};
    enum dtype dtype = DTYPE_NONE;
    char name[64], word[16];
    const char *colon = strchr(text, ':');
    const char *rest;
    struct value *value;
    bool has_dims;

    if (strcmp(text, "-") == 0)
        return NULL;
    if (!colon) {
        value = graph_find_value(graph, text);
        if (!value)
            fail_msg("no value %s", text);
        return value;
    }
    snprintf(name, sizeof(name), "%.*s", (int)(colon - text), text);
    rest = colon + 1 + strcspn(colon + 1, " =");
    snprintf(word, sizeof(word), "%.*s", (int)(rest - colon - 1), colon + 1);
    for (size_t i = 0; i < sizeof(dtypes) / sizeof(dtypes[0]); i++) {
        if (strcmp(dtypes[i].word, word) == 0)
            dtype = dtypes[i].dtype;
    }
    if (dtype == DTYPE_NONE)
        fail_msg("no type %s", word);
    has_dims = *rest == ' ';
    rest += has_dims;
    shape.rank = read_ints(&rest, shape.dims, SHAPE_MAX_RANK);
    value = graph_add_value(graph, name, dtype, &shape, NULL);
    assert_non_null(value);
    if (*rest == '=')
        read_constant(value, rest + 1, has_dims);
    else
        CHECK_OK(graph_add_input(graph, value));
    return value;
}

/* "['a','b']", "[0.5,1.0]" or "[1,2]", from behind the bracket on. */
static void read_list(struct node *node, const char *name, char *text)
{
    const char *strings[16];
    const char *rest = text;
    float floats[16];
    int64_t ints[64];
    size_t count = 0;

    if (*text == '\'') {
        for (char *part = strtok(text, "',]"); part; part = strtok(NULL, "',]"))
            strings[count++] = part;
        CHECK_OK(node_set_strings(node, name, strings, count));
    } else if (strchr(text, '.')) {
        for (char *part = strtok(text, ",]"); part; part = strtok(NULL, ",]"))
            floats[count++] = strtof(part, NULL);
        CHECK_OK(node_set_floats(node, name, floats, count));
    } else {
        CHECK_OK(node_set_ints(node, name, ints, (size_t)read_ints(&rest, ints, 64)));
    }
}

/* One "name=value" word. */
static void read_attribute(struct node *node, char *word)
{
    char *equals = strchr(word, '=');
    const char *value;

    assert_non_null(equals);
    *equals = '\0';
    value = equals + 1;
    if (*value == '\'') {
        CHECK_OK(node_set_string(node, word, value + 1, strlen(value) - 2));
    } else if (*value == '[') {
        read_list(node, word, equals + 2);
    } else if (strpbrk(value, ".e")) {
        CHECK_OK(node_set_float(node, word, strtof(value, NULL)));
    } else {
        CHECK_OK(node_set_int(node, word, strtoll(value, NULL, 10)));
    }
}

/* Calls `each` with the parts of text between `separators`, without spaces at their front. */
static uint32_t split(char *text, const char *separators, char *parts[16])
{
    uint32_t count = 0;

    for (char *part = strtok(text, separators); part; part = strtok(NULL, separators)) {
        assert_true(count < 16);
        parts[count++] = part + strspn(part, " ");
    }
    return count;
}

struct node *build_node(struct graph *graph, const char *op_type, const char *inputs,
                        const char *attributes, const char *outputs)
{
    static const struct shape unknown = {.rank = -1};
    char *texts[] = {strdup(inputs), strdup(attributes), strdup(outputs)};
    struct value *in[16], *out[16];
    char *parts[16];
    uint32_t in_count, out_count, attribute_count;
    struct node *node;

    in_count = split(texts[0], ";", parts);
    for (uint32_t i = 0; i < in_count; i++)
        in[i] = build_value(graph, parts[i]);
    out_count = split(texts[2], ";", parts);
    for (uint32_t i = 0; i < out_count; i++) {
        bool skipped = strcmp(parts[i], "-") == 0;

        out[i] = skipped ? NULL : graph_add_value(graph, parts[i], DTYPE_NONE, &unknown, NULL);
        if (!out[i] && !skipped)
            fail_msg("%s is there already", parts[i]);
    }
    node = graph_add_node(graph, op_type, "", NULL, in, in_count, out, out_count);
    assert_non_null(node);
    attribute_count = split(texts[1], " ", parts);
    for (uint32_t i = 0; i < attribute_count; i++)
        read_attribute(node, parts[i]);
    for (int i = 0; i < 3; i++)
        free(texts[i]);
    return node;
}

void build_output(struct graph *graph, const char *name)
{
    struct value *value = graph_find_value(graph, name);

    assert_non_null(value);
    CHECK_OK(graph_add_output(graph, value));
}

const char *build_type_text(const struct value *value, char *out)
{
    size_t used = 0;

    for (size_t i = 0; i < sizeof(dtypes) / sizeof(dtypes[0]); i++) {
        if (dtypes[i].dtype == value->dtype)
            used = (size_t)sprintf(out, "%s", dtypes[i].word);
    }
    for (int i = 0; i < value->shape.rank; i++)
        used += (size_t)sprintf(out + used, "%s%lld", i == 0 ? " " : ",",
                                (long long)value->shape.dims[i]);
    if (used == 0)
        sprintf(out, "nothing");
    return out;
}

/* Numbers in [-1, 1), the same for the same seed and name. */
static void fill(struct tensor_view *view, const char *name, uint32_t seed)
{
    uint32_t state = seed * 2654435761u + 1;

    for (; *name != '\0'; name++)
        state = (state ^ (uint8_t)*name) * 16777619u;
    for (int64_t i = 0; i < shape_elements(&view->shape); i++) {
        state = state * 1664525u + 1013904223u;
        ((float *)view->data)[i] = (float)(state >> 8) / 8388608.0f - 1.0f;
    }
}

static void evaluate_node(const struct graph *graph, const struct node *node,
                          struct tensor_view *views)
{
    struct tensor_view in[16] = {0}, out[16] = {0};
    struct diag diag = {0};

    for (uint32_t i = 0; i < node->input_count; i++) {
        if (node->inputs[i])
            in[i] = views[node->inputs[i]->index];
    }
    for (uint32_t i = 0; i < node->output_count; i++) {
        if (node->outputs[i])
            out[i] = views[node->outputs[i]->index];
    }
    if (shape_evaluate(node, &out[0]) == 0)
        return;
    if (eval_node(graph, node, in, out, &diag) != 0)
        fail_msg("%s", diag.text);
}

float *build_evaluate(const struct graph *graph, uint32_t index, uint32_t seed)
{
    struct tensor_view *views = calloc(graph->value_count, sizeof(*views));
    const struct value *wanted = graph->outputs[index];
    float *result;

    assert_non_null(views);
    for (uint32_t i = 0; i < graph->value_count; i++) {
        const struct value *value = graph->values[i];
        int64_t bytes = shape_bytes(&value->shape, value->dtype);

        assert_true(bytes >= 0);
        views[i] =
            (struct tensor_view){value->dtype, value->shape, graph_alloc_data((size_t)bytes)};
        assert_non_null(views[i].data);
        if (value->data)
            memcpy(views[i].data, value->data, (size_t)bytes);
        else if (value->is_input)
            fill(&views[i], value->name, seed);
    }
    for (uint32_t i = 0; i < graph->node_count; i++)
        evaluate_node(graph, graph->nodes[i], views);
    assert_int_equal(wanted->dtype, DTYPE_F32);
    result = malloc((size_t)shape_bytes(&wanted->shape, DTYPE_F32) + 1);
    assert_non_null(result);
    memcpy(result, views[wanted->index].data, (size_t)shape_bytes(&wanted->shape, DTYPE_F32));
    for (uint32_t i = 0; i < graph->value_count; i++)
        free(views[i].data);
    free(views);
    return result;
}

void build_infer(struct graph *graph)
{
    struct diag diag = {0};

    if (shape_infer(graph, eval_node, &diag) < 0)
        fail_msg("%s", diag.text);
}

int build_apply(struct graph *graph, int (*pass)(struct graph *graph, struct diag *diag),
                double tolerance)
{
    struct diag diag = {0};
    struct shape shape;
    float *before, *after;
    int rc;

    build_infer(graph);
    shape = graph->outputs[0]->shape;
    before = build_evaluate(graph, 0, 7);
    rc = pass(graph, &diag);
    if (rc < 0 || graph_check(graph, &diag) < 0)
        fail_msg("%s", diag.text);
    build_infer(graph);
    assert_true(shape_equal(&shape, &graph->outputs[0]->shape));
    after = build_evaluate(graph, 0, 7);
    for (int64_t i = 0; i < shape_elements(&shape); i++)
        CHECK_NEAR(after[i], before[i], tolerance);
    free(before);
    free(after);
    return rc;
}
