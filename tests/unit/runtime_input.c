/* SPDX-License-Identifier: Apache-2.0 */
/* --input: each format, each way of getting it wrong, and binding to a model. */
#include "runtime/graph/element.h"
#include "runtime/graph/texts.h"
#include "runtime/inputs/input.h"
#include "tests/support/check.h"
#include "tests/support/graph_build.h"
#include "tests/support/temp.h"

#include <math.h>

/* Text */

static void text_gives_shape_and_numbers(void **state)
{
    static const struct {
        const char *text;
        const char *shape;
        double last;
        bool has_fraction;
    } cases[] = {
        {"5", "{1}", 5, false},
        {"1,2,3", "{3}", 3, false},
        {"[1,2,3]", "{1,3}", 3, false},
        {"[1],[2],[3]", "{3,1}", 3, false},
        {"[1,2],[3,4]", "{2,2}", 4, false},
        {"[[1,2],[3,4]]", "{1,2,2}", 4, false},
        {" [ 1 , -2.5 ] ", "{1,2}", -2.5, true},
        {"1e3", "{1}", 1000, true},
        {"9223372036854775807", "{1}", 9223372036854775807.0, false},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct input input;
        struct diag diag = {0};
        char text[SHAPE_TEXT_BYTES];
        int64_t count;

        if (input_parse_text(cases[i].text, &input, &diag) < 0)
            fail_msg("%s: %s", cases[i].text, diag.text);
        assert_int_equal(input.kind, INPUT_NUMBERS);
        assert_string_equal(shape_text(&input.tensor.shape, text), cases[i].shape);
        assert_int_equal(input.has_fraction, cases[i].has_fraction);
        count = shape_elements(&input.tensor.shape);
        CHECK_NEAR((double)input.numbers[count - 1], cases[i].last, 0);
        free(input.numbers);
    }
}

static void ragged_and_broken_text_is_refused(void **state)
{
    static const char *const cases[][2] = {
        {"[[1,2],[3]]", "ragged"},
        {"[1],2", "ragged"},
        {"1,[2]", "ragged"},
        {"[[1]],[2]", "ragged"},
        {"[1,2", "not closed"},
        {"1,2]", "something else at character 4"},
        {"", "no number at character 1"},
        {"1,,2", "no number at character 3"},
        {"[]", "no number"},
        {"1 2", "something else"},
        {"abc", "no number"},
        {"[[[[[[[[[1]]]]]]]]]", "too many brackets"},
        {"{1,2", "not closed with '}'"},
        {"{1,x}", "dimension 1"},
        {"{-1}", "dimension 0"},
        {"{1}2", "more behind"},
        {"{1,2,3,4,5,6,7,8,9}", "more than 8"},
        {"{1000000000000,1000000000000}", "too large"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct input input;
        struct diag diag = {0};

        assert_int_equal(input_parse_text(cases[i][0], &input, &diag), -EINVAL);
        CHECK_CONTAINS(diag.text, cases[i][1]);
    }
}

static void a_shape_is_filled_with_the_value_one(void **state)
{
    static const char *const types[] = {"x:f32 2,3",  "x:i8 2,3",  "x:i32 2,3",
                                        "x:bool 2,3", "x:f16 2,3", "x:f64 2,3"};

    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        struct graph *graph = build_graph(13);
        struct input_list list = {0};
        struct tensor_view view;
        struct diag diag = {0};

        build_value(graph, types[i]);
        CHECK_OK(input_parse("x:{2, 3}", &list, &diag));
        CHECK_OK(input_bind_shapes(graph, &list, &diag));
        CHECK_OK(input_tensor(graph, &list, 0, 0, &view, &diag));
        for (int k = 0; k < 6; k++)
            CHECK_NEAR((double)element_get(view.data, view.dtype, k), 1, 0);
        free(view.data);
        input_list_deinit(&list);
        graph_destroy(&graph);
    }
}

static void names_may_end_in_a_number(void **state)
{
    static const struct {
        const char *text, *name, *shape;
    } cases[] = {
        {"input_1:0:{2,3}", "input_1:0", "{2,3}"},
        {"a/b:12:5", "a/b:12", "{1}"},
        {"x:5", "x", "{1}"},
        {"x:0:1,2", "x:0", "{2}"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct input_list list = {0};
        struct diag diag = {0};
        char text[SHAPE_TEXT_BYTES];

        CHECK_OK(input_parse(cases[i].text, &list, &diag));
        assert_string_equal(list.items[0].name, cases[i].name);
        assert_string_equal(shape_text(&list.items[0].tensor.shape, text), cases[i].shape);
        input_list_deinit(&list);
    }
}

/* JSON */

static int parse_json(const char *text, struct input_list *list, struct diag *diag)
{
    return input_parse_json(text, strlen(text), list, diag);
}

static void json_gives_named_tensors(void **state)
{
    struct input_list list = {0};
    struct diag diag = {0};

    CHECK_OK(
        parse_json("{\"a\\u0062\": {\"shape\": [2, 1], \"type\": \"int8\", \"raw\": [-1, 2]},\n"
                   " \"y\": {\"type\": \"float\", \"raw\": [0.5], \"shape\": []},\n"
                   " \"z\": {\"type\": \"bool\", \"raw\": [true, 0], \"shape\": [2]}}\n",
                   &list, &diag));
    assert_int_equal(list.count, 3);
    assert_string_equal(list.items[0].name, "ab");
    assert_int_equal(list.items[0].tensor.dtype, DTYPE_I8);
    assert_int_equal(((int8_t *)list.items[0].tensor.data)[0], -1);
    assert_int_equal(list.items[1].tensor.shape.rank, 0);
    CHECK_NEAR(*(float *)list.items[1].tensor.data, 0.5, 0);
    assert_int_equal(((uint8_t *)list.items[2].tensor.data)[0], 1);
    input_list_deinit(&list);
}

static void broken_json_is_refused(void **state)
{
    static const char *const cases[][2] = {
        {"", "malformed JSON at line 1"},
        {"{\"x\": {\"shape\": [1],\n \"raw\": [1,]}}", "malformed JSON at line 2"},
        {"{\"x\": {\"shape\": [1], \"type\": \"int\", \"raw\": [1]}} trailing", "malformed JSON"},
        {"[1]", "not an object"},
        {"{}", "no tensor"},
        {"{\"x\": 1}", "'x' is not an object"},
        {"{\"x\": {\"shape\": [1], \"raw\": [1]}}", "no \"type\""},
        {"{\"x\": {\"shape\": [1], \"raw\": [1], \"type\": \"complex\"}}", "'complex'"},
        {"{\"x\": {\"type\": \"int\", \"raw\": [1]}}", "no \"shape\""},
        {"{\"x\": {\"type\": \"int\", \"shape\": [1]}}", "no \"raw\""},
        {"{\"x\": {\"type\": \"int\", \"shape\": [2], \"raw\": [1]}}",
         "1 numbers in \"raw\" where"},
        {"{\"x\": {\"type\": \"int\", \"shape\": [1], \"raw\": [1, 2]}}", "2 numbers in \"raw\""},
        {"{\"x\": {\"type\": \"int\", \"shape\": [-1], \"raw\": []}}", "dimension 0"},
        {"{\"x\": {\"type\": \"int\", \"shape\": [1.5], \"raw\": []}}", "dimension 0"},
        {"{\"x\": {\"type\": \"int\", \"shape\": [1e15], \"raw\": []}}", "dimension 0"},
        {"{\"x\": {\"type\": \"int8\", \"shape\": [1], \"raw\": [128]}}", "does not fit int8"},
        {"{\"x\": {\"type\": \"int\", \"shape\": [1], \"raw\": [0.5]}}", "does not fit int32"},
        {"{\"x\": {\"type\": \"int\", \"shape\": [1], \"raw\": [\"1\"]}}", "not a number"},
        {"{\"x\": {\"type\": \"int\", \"shape\": [1], \"raw\": [null]}}", "not a number"},
        {"{\"x\": {\"type\": \"string\", \"shape\": [1], \"raw\": [1]}}", "is not a text"},
        {"{\"x\": {\"type\": \"string\", \"shape\": [2], \"raw\": [\"a\"]}}", "1 numbers in"},
        {"{\"x\": {\"type\": \"int64\", \"shape\": [1], \"raw\": [9007199254740994]}}", "does not"},
        {"{\"x\": {\"type\": \"int\", \"shape\": [1], \"raw\": [1]},"
         " \"x\": {\"type\": \"int\", \"shape\": [1], \"raw\": [1]}}",
         "twice"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct input_list list = {0};
        struct diag diag = {0};

        if (parse_json(cases[i][0], &list, &diag) >= 0)
            fail_msg("accepted: %s", cases[i][0]);
        CHECK_CONTAINS(diag.text, cases[i][1]);
        assert_int_equal(list.count, 0);
        input_list_deinit(&list);
    }
}

/* NumPy */

/* A file of version `version` with this header text and these bytes; *out_size is its size. */
static uint8_t *make_npy(int version, const char *header, const void *data, size_t data_bytes,
                         size_t *out_size)
{
    size_t length = strlen(header);
    size_t start = version == 1 ? 10 : 12;
    uint8_t *bytes = calloc(1, start + length + data_bytes + 1);

    memcpy(bytes, "\x93NUMPY", 6);
    bytes[6] = (uint8_t)version;
    bytes[8] = (uint8_t)length;
    bytes[9] = (uint8_t)(length >> 8);
    memcpy(bytes + start, header, length);
    if (data_bytes > 0)
        memcpy(bytes + start + length, data, data_bytes);
    *out_size = start + length + data_bytes;
    return bytes;
}

static int parse_npy(int version, const char *header, const void *data, size_t data_bytes,
                     struct tensor_view *view, struct diag *diag)
{
    size_t size;
    uint8_t *bytes = make_npy(version, header, data, data_bytes, &size);
    int rc = input_parse_npy(bytes, size, view, diag);

    free(bytes);
    return rc;
}

static void npy_versions_types_and_orders(void **state)
{
    static const float floats[] = {0, 1, 2, 3, 4, 5};
    static const uint8_t big_endian[] = {0x3f, 0x80, 0, 0, 0xc0, 0, 0, 0};
    static const uint8_t bools[] = {1, 0};
    struct tensor_view view;
    struct diag diag = {0};
    char long_header[700];

    for (int version = 1; version <= 3; version++) {
        CHECK_OK(parse_npy(version, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n",
                           floats, 24, &view, &diag));
        assert_int_equal(view.shape.dims[1], 3);
        CHECK_NEAR(((float *)view.data)[3], 3, 0);
        free(view.data);
    }
    /* Column-major: the file's 0 1 2 3 4 5 are the columns (0 1) (2 3) (4 5). */
    CHECK_OK(parse_npy(1, "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3)}", floats, 24,
                       &view, &diag));
    CHECK_NEAR(((float *)view.data)[1], 2, 0);
    CHECK_NEAR(((float *)view.data)[3], 1, 0);
    free(view.data);
    CHECK_OK(parse_npy(1, "{\"shape\": (2,), 'fortran_order': False, 'descr': '>f4'}", big_endian,
                       8, &view, &diag));
    CHECK_NEAR(((float *)view.data)[0], 1, 0);
    CHECK_NEAR(((float *)view.data)[1], -2, 0);
    free(view.data);
    CHECK_OK(parse_npy(1, "{'descr': '|b1', 'fortran_order': False, 'shape': (2L,)}", bools, 2,
                       &view, &diag));
    assert_int_equal(view.dtype, DTYPE_BOOL);
    free(view.data);
    CHECK_OK(parse_npy(1, "{'descr': '<i8', 'fortran_order': False, 'shape': ()}", &(int64_t){-7},
                       8, &view, &diag));
    assert_int_equal(view.shape.rank, 0);
    assert_int_equal(*(int64_t *)view.data, -7);
    free(view.data);
    CHECK_OK(parse_npy(1, "{'descr': '<f8', 'fortran_order': True, 'shape': (0, 4)}", NULL, 0,
                       &view, &diag));
    assert_int_equal(view.dtype, DTYPE_F64);
    free(view.data);
    /* A header whose length has its high bits set. */
    snprintf(long_header, sizeof(long_header), "%-600s\n",
             "{'descr': '<f2', 'fortran_order': False, 'shape': (1,)}");
    CHECK_OK(parse_npy(2, long_header, "\x00\x3c", 2, &view, &diag));
    CHECK_NEAR((double)element_get(view.data, view.dtype, 0), 1, 0);
    free(view.data);
}

static void texts_come_from_json_and_numpy(void **state)
{
    static const char *const header = "{'descr': '%s', 'fortran_order': False, 'shape': (2,), }\n";
    static const uint32_t codes[] = {'a', 0, 'b', 0x20ac, 0x1f600, 0};
    const char *json =
        "{\"x\": {\"shape\": [2], \"type\": \"string\", \"raw\": [\"\\u20ac\", \"\"]}}";
    struct input_list list = {0};
    struct tensor_view view;
    struct diag diag = {0};
    uint32_t swapped[6];
    char text[100];
    size_t length;

    CHECK_OK(parse_json(json, &list, &diag));
    assert_int_equal(list.items[0].tensor.dtype, DTYPE_STRING);
    assert_string_equal(texts_get(((int64_t *)list.items[0].tensor.data)[0], &length),
                        "\xe2\x82\xac");
    assert_int_equal(((int64_t *)list.items[0].tensor.data)[1], 0);
    input_list_deinit(&list);
    for (int i = 0; i < 6; i++)
        swapped[i] = __builtin_bswap32(codes[i]);
    for (int i = 0; i < 2; i++) {
        snprintf(text, sizeof(text), header, i ? ">U3" : "<U3");
        CHECK_OK(parse_npy(1, text, i ? swapped : codes, sizeof(codes), &view, &diag));
        assert_int_equal(view.dtype, DTYPE_STRING);
        assert_memory_equal(texts_get(((int64_t *)view.data)[0], &length), "a\0b", 4);
        assert_string_equal(texts_get(((int64_t *)view.data)[1], &length),
                            "\xe2\x82\xac\xf0\x9f\x98\x80");
        free(view.data);
    }
}

static void broken_npy_is_refused(void **state)
{
    static const struct {
        int version;
        const char *header;
        size_t data_bytes;
        const char *text;
    } cases[] = {
        {4, "{}", 0, "version 4"},
        {1, "", 0, "not a dict"},
        {1, "{'descr': '<f4', 'fortran_order': False}", 0, "lacks"},
        {1, "{'descr': '<c8', 'fortran_order': False, 'shape': (1,)}", 8, "'<c8'"},
        {1, "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", 4, "structured"},
        {1, "{'descr': '<f4', 'fortran_order': Maybe, 'shape': (1,)}", 4, "memory order"},
        {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (1", 4, "does not end"},
        {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (x,)}", 4, "no number"},
        {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}", 4,
         "too large"},
        {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (1099511627776,1099511627776)}", 4,
         "too large"},
        {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1)}", 4,
         "more than 8"},
        {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}", 8,
         "8 bytes of data where its shape needs 12"},
        {1, "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)}", 8, "8 bytes of data"},
        {1, "{'descr': '<f4', 'x': 1}", 0, "does not belong"},
        {1, "{'descr", 0, "ends within a text"},
        {1, "{'descr': '<U1', 'fortran_order': False, 'shape': (3,)}", 8, "8 bytes of texts"},
        {1, "{'descr': '<U0', 'fortran_order': False, 'shape': (9999999,)}", 0, "'<U0'"},
        {1, "{'descr': '<U-1', 'fortran_order': False, 'shape': (1,)}", 4, "'<U-1'"},
        {1, "{'descr': '<U99999999', 'fortran_order': False, 'shape': (1,)}", 4, "'<U99999999'"},
        {1, "{'descr': '<U1', 'fortran_order': True, 'shape': (1, 1)}", 4, "Fortran's order"},
        {1, "{'descr': '<U1', 'fortran_order': False, 'shape': (2,)}", 8, "element 1 of"},
    };
    static const uint8_t data[16] = {[4] = 0, 0xd8}; /* half of a character */
    struct tensor_view view;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct diag diag = {0};

        if (parse_npy(cases[i].version, cases[i].header, data, cases[i].data_bytes, &view, &diag) >=
            0)
            fail_msg("accepted: %s", cases[i].header);
        CHECK_CONTAINS(diag.text, cases[i].text);
    }
}

static void every_front_part_of_an_npy_is_refused(void **state)
{
    size_t size;
    uint8_t *bytes = make_npy(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}",
                              (float[]){1, 2}, 8, &size);

    for (size_t n = 0; n < size; n++) {
        struct tensor_view view;
        struct diag diag = {0};
        uint8_t *part = malloc(n + 1);

        memcpy(part, bytes, n);
        assert_true(input_parse_npy(part, n, &view, &diag) < 0);
        assert_true(diag.text[0] != '\0');
        free(part);
    }
    free(bytes);
}

/* Netpbm */

static int parse_pnm(const char *bytes, size_t size, struct tensor_view *view, struct diag *diag)
{
    return input_parse_pnm((const uint8_t *)bytes, size, view, diag);
}

#define BYTES(text) text, sizeof(text) - 1

static void pixels_begin_behind_the_largest_value(void **state)
{
    static const struct {
        const char *text;
        size_t size;
        int64_t channels;
    } cases[] = {
        {BYTES("P5\n2 1\n255\n\x0a\x20"), 1},
        {BYTES("P5 2 1 255 \x0a\x20"), 1},
        {BYTES("P5\n# a comment\n2\n# and one more\n1\n200\n\x0a\x20"), 1},
        {BYTES("P6\n2 1\n255\n\x0a\x20\x03\x04\x05\x06"), 3},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct tensor_view view;
        struct diag diag = {0};

        if (parse_pnm(cases[i].text, cases[i].size, &view, &diag) < 0)
            fail_msg("%zu: %s", i, diag.text);
        assert_int_equal(view.dtype, DTYPE_U8);
        assert_int_equal(view.shape.rank, 4);
        assert_int_equal(view.shape.dims[1], 1);
        assert_int_equal(view.shape.dims[2], 2);
        assert_int_equal(view.shape.dims[3], cases[i].channels);
        assert_int_equal(((uint8_t *)view.data)[0], 0x0a);
        assert_int_equal(((uint8_t *)view.data)[1], 0x20);
        free(view.data);
    }
}

static void wide_pixels_are_big_endian(void **state)
{
    struct tensor_view view;
    struct diag diag = {0};

    CHECK_OK(parse_pnm("P5 1 1 65535\n\x12\x34", 15, &view, &diag));
    assert_int_equal(view.dtype, DTYPE_U16);
    assert_int_equal(*(uint16_t *)view.data, 0x1234);
    free(view.data);
}

static void broken_images_are_refused(void **state)
{
    static const char *const cases[][2] = {
        {"", "not a netpbm"},
        {"JPEG", "not a netpbm"},
        {"P2\n1 1\n1\n1", "format P2"},
        {"P5\n0 1\n255\n", "width"},
        {"P5\n1 x\n", "height"},
        {"P5\n1 1\n70000\n", "70000"},
        {"P5\n1 1\n0\n", "largest"},
        {"P5\n1 1\n255", "not end"},
        {"P5\n2 2\n255\nabc", "3 bytes"},
        {"P5\n1 1\n255\nab", "2 bytes"},
        {"P5\n99999999 99999999\n255\n", "0 bytes"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct tensor_view view;
        struct diag diag = {0};

        assert_true(parse_pnm(cases[i][0], strlen(cases[i][0]), &view, &diag) < 0);
        CHECK_CONTAINS(diag.text, cases[i][1]);
    }
}

/* Items and binding */

static struct graph *two_inputs(void)
{
    struct graph *graph = build_graph(13);
    struct value *ids = build_value(graph, "ids:i64 1,4");
    struct value *image = build_value(graph, "data:f32 1,2");

    ids->shape.dims[0] = -1;
    ids->dim_names[0] = strdup("batch");
    image->shape.dims[0] = -1;
    image->dim_names[0] = strdup("batch");
    return graph;
}

static void expect_binding(const char *text, int error, const char *part)
{
    struct graph *graph = two_inputs();
    struct input_list list = {0};
    struct tensor_view view = {0};
    struct diag diag = {0};
    int rc = input_parse(text, &list, &diag);

    if (rc == 0)
        rc = input_bind_shapes(graph, &list, &diag);
    for (uint32_t i = 0; rc == 0 && i < 2; i++) {
        rc = input_tensor(graph, &list, i, 0, &view, &diag);
        if (rc == 0)
            free(view.data);
    }
    if (rc != error)
        fail_msg("%s gives %d: %s", text, rc, diag.text);
    CHECK_CONTAINS(diag.text, part);
    input_list_deinit(&list);
    graph_destroy(&graph);
}

static void data_are_believed_before_names_of_dimensions(void **state)
{
    static const struct {
        const char *text;
        int64_t ids, data;
    } cases[] = {{"ids:{3,4}", 3, 3},
                 {"data:{2,2}", 2, 2},
                 {"ids:{3,4};data:{2,2}", 3, 2},
                 {"data:{2,2};ids:{3,4}", 3, 2}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct graph *graph = two_inputs();
        struct input_list list = {0};
        struct diag diag = {0};

        assert_int_equal(input_parse(cases[i].text, &list, &diag), 0);
        assert_int_equal(input_bind_shapes(graph, &list, &diag), 0);
        assert_int_equal(graph->inputs[0]->shape.dims[0], cases[i].ids);
        assert_int_equal(graph->inputs[1]->shape.dims[0], cases[i].data);
        input_list_deinit(&list);
        graph_destroy(&graph);
    }
}

static void what_does_not_fit_is_named(void **state)
{
    expect_binding("ids:[1,2,3,4]", 0, "");
    expect_binding("ids:[1,2,3,4];", 0, "");
    expect_binding("[1,2]", 0, ""); /* no name: "data" */
    expect_binding("nope:[1,2]", -EINVAL,
                   "the model has no input 'nope'; its inputs are 'ids' and 'data'");
    expect_binding("ids:[1,2,3]", -EINVAL,
                   "input 'ids' has shape {?,4} in the model, but {1,3} was given");
    expect_binding("ids:1,2,3,4", -EINVAL, "but {4} was given");
    expect_binding("ids:[1,2,3,4.5]", -EINVAL, "input 'ids' is int64 in the model, but numbers");
    expect_binding("ids:[1,2,3,4];ids:[1,2,3,4]", -EINVAL, "input 'ids' is given twice");
    expect_binding("ids:{3,4};data:{2,2}", 0, ""); /* both called "batch" */
    expect_binding("ids:[1,2,3,9223372036854775808]", -EINVAL, "does not fit input 'ids'");
    expect_binding("ids:;data:1", -EINVAL, "the value of 'ids:' is empty");
    expect_binding(":1", -EINVAL, "the name of ':1' is empty");
    expect_binding("ids:{1,4};;data:{1,2}", -EINVAL, "empty item");
    expect_binding("", -EINVAL, "empty item");
    expect_binding("ids:/nonexistent/a.npy", -ENOENT, "/nonexistent/a.npy");
}

static void files_are_found_by_their_ending(void **state)
{
    char *folder = temp_create();
    struct input_list list = {0};
    struct diag diag = {0};
    size_t size;
    uint8_t *npy = make_npy(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2)}",
                            (float[]){1, 2}, 8, &size);
    static const char json[] = "{\"ids\": {\"shape\": [1,4], \"type\": \"int64\", "
                               "\"raw\": [1,2,3,4]}}";
    char *paths[] = {
        temp_write(folder, "a.npy", npy, size), temp_write(folder, "b.json", json, strlen(json)),
        temp_write(folder, "c.pgm", "P5 1 1 255 x", 12), temp_write(folder, "d.json", "{", 1)};
    char text[1500];

    snprintf(text, sizeof(text), "data:%s;%s;pixels:%s", paths[0], paths[1], paths[2]);
    CHECK_OK(input_parse(text, &list, &diag));
    assert_int_equal(list.count, 3);
    assert_string_equal(list.items[0].name, "data");
    assert_string_equal(list.items[1].name, "ids");
    assert_string_equal(list.items[2].name, "pixels");
    assert_int_equal(list.items[2].tensor.dtype, DTYPE_U8);
    assert_int_equal(input_parse(paths[3], &list, &diag), -EINVAL);
    CHECK_CONTAINS(diag.text, "d.json: malformed JSON");
    input_list_deinit(&list);
    for (size_t i = 0; i < 4; i++)
        free(paths[i]);
    free(npy);
    temp_destroy(&folder);
}

static void another_type_is_refused(void **state)
{
    struct graph *graph = two_inputs();
    struct input_list list = {0};
    struct tensor_view view = {DTYPE_F64, {2, {1, 2}}, graph_alloc_data(16)};
    struct diag diag = {0};

    CHECK_OK(input_append(&list, "data", &view, &diag));
    assert_int_equal(input_bind_shapes(graph, &list, &diag), -EINVAL);
    CHECK_CONTAINS(diag.text, "input 'data' is float32 in the model, but float64 was given");
    input_list_deinit(&list);
    graph_destroy(&graph);
}

static void open_dimensions_follow_their_name(void **state)
{
    struct graph *graph = two_inputs();
    struct input_list list = {0};
    struct diag diag = {0};

    CHECK_OK(input_parse("ids:{3,4}", &list, &diag));
    CHECK_OK(input_bind_shapes(graph, &list, &diag));
    assert_int_equal(graph->inputs[0]->shape.dims[0], 3);
    assert_int_equal(graph->inputs[1]->shape.dims[0], 3);
    input_list_deinit(&list);
    graph_destroy(&graph);

    /* Without data they are 1. */
    graph = two_inputs();
    CHECK_OK(input_bind_shapes(graph, &list, &diag));
    assert_int_equal(graph->inputs[1]->shape.dims[0], 1);
    graph_destroy(&graph);
}

static void parts_of_sequences_are_counted(void **state)
{
    struct input_list list = {0};
    struct diag diag = {0};

    CHECK_OK(
        input_parse("x[0]:{2};x[3]:{2};y[1]:1;xy[7]:1;x[:1;x[2:1;x[]:1;x[5]z:1;x[-1]:1;x[+6]:1;"
                    "x[99999999999999999999]:1",
                    &list, &diag));
    assert_int_equal(input_count_parts(&list, "x"), 4);
    assert_int_equal(input_count_parts(&list, "y"), 2);
    assert_int_equal(input_count_parts(&list, "z"), 0);
    input_list_deinit(&list);
}

static void a_number_fits_a_scalar(void **state)
{
    struct graph *graph = build_graph(13);
    struct input_list list = {0};
    struct tensor_view view;
    struct diag diag = {0};

    build_value(graph, "x:f32");
    CHECK_OK(input_parse("2.5", &list, &diag));
    CHECK_OK(input_bind_shapes(graph, &list, &diag));
    CHECK_OK(input_tensor(graph, &list, 0, 0, &view, &diag));
    assert_int_equal(view.shape.rank, 0);
    CHECK_NEAR(*(float *)view.data, 2.5, 0);
    free(view.data);
    input_list_deinit(&list);
    graph_destroy(&graph);
}

static void made_up_data_is_the_same_each_time(void **state)
{
    struct graph *graph = two_inputs();
    struct input_list list = {0};
    struct tensor_view a, b, c;
    struct diag diag = {0};
    bool differs = false;

    CHECK_OK(input_parse("ids:{500,4}", &list, &diag));
    CHECK_OK(input_bind_shapes(graph, &list, &diag));
    CHECK_OK(input_tensor(graph, &list, 1, 7, &a, &diag));
    CHECK_OK(input_tensor(graph, &list, 1, 7, &b, &diag));
    CHECK_OK(input_tensor(graph, &list, 1, 8, &c, &diag));
    assert_memory_equal(a.data, b.data, 4000);
    for (int i = 0; i < 1000; i++) {
        float x = ((float *)a.data)[i];

        assert_true(x >= -1 && x < 1);
        differs |= x != ((float *)c.data)[i];
    }
    assert_true(differs);
    free(a.data);
    free(b.data);
    free(c.data);
    input_list_deinit(&list);
    CHECK_OK(input_tensor(graph, &list, 0, 7, &a, &diag));
    for (int i = 0; i < 2000; i++)
        assert_in_range(((int64_t *)a.data)[i], 0, 1);
    free(a.data);
    graph_destroy(&graph);
}

/* Elements */

static void elements_round_or_are_refused(void **state)
{
    uint64_t slot = 0;

    assert_true(element_set(&slot, DTYPE_F16, 0, 65504));
    CHECK_NEAR((double)element_get(&slot, DTYPE_F16, 0), 65504, 0);
    assert_true(element_set(&slot, DTYPE_F16, 0, 1.0L / 3));
    CHECK_NEAR((double)element_get(&slot, DTYPE_F16, 0), 0.333251953125, 0);
    assert_true(element_set(&slot, DTYPE_F16, 0, 6e-8L));
    CHECK_NEAR((double)element_get(&slot, DTYPE_F16, 0), 5.9604644775390625e-08, 0);
    assert_true(element_set(&slot, DTYPE_F16, 0, -0.000060975551605L));
    CHECK_NEAR((double)element_get(&slot, DTYPE_F16, 0), -0.00006097555160522461, 0);
    assert_false(element_set(&slot, DTYPE_F16, 0, 65520));
    assert_false(element_set(&slot, DTYPE_F32, 0, 1e39L));
    assert_true(element_set(&slot, DTYPE_F32, 0, (long double)INFINITY));
    assert_false(element_set(&slot, DTYPE_U8, 0, -1));
    assert_false(element_set(&slot, DTYPE_U8, 0, 256));
    assert_false(element_set(&slot, DTYPE_I64, 0, (long double)NAN));
    assert_true(element_set(&slot, DTYPE_I64, 0, -9223372036854775807.0L - 1));
    assert_true((int64_t)slot == INT64_MIN);
    assert_true(element_set(&slot, DTYPE_U64, 0, 18446744073709551615.0L));
    CHECK_U64(slot, UINT64_MAX);
    assert_false(element_set(&slot, DTYPE_BOOL, 0, 2));
    assert_false(element_set(&slot, DTYPE_STRING, 0, 0));
}

/* Every half converts to a number and back to the same bits. */
static void halves_survive_the_round_trip(void **state)
{
    for (uint32_t bits = 0; bits < 65536; bits++) {
        uint16_t half = (uint16_t)bits;
        uint16_t back = 0;
        long double number = element_get(&half, DTYPE_F16, 0);

        assert_true(element_set(&back, DTYPE_F16, 0, number));
        if (number == number)
            assert_int_equal(back, half);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_gives_shape_and_numbers),
        cmocka_unit_test(names_may_end_in_a_number),
        cmocka_unit_test(ragged_and_broken_text_is_refused),
        cmocka_unit_test(a_shape_is_filled_with_the_value_one),
        cmocka_unit_test(json_gives_named_tensors),
        cmocka_unit_test(broken_json_is_refused),
        cmocka_unit_test(npy_versions_types_and_orders),
        cmocka_unit_test(texts_come_from_json_and_numpy),
        cmocka_unit_test(broken_npy_is_refused),
        cmocka_unit_test(every_front_part_of_an_npy_is_refused),
        cmocka_unit_test(pixels_begin_behind_the_largest_value),
        cmocka_unit_test(wide_pixels_are_big_endian),
        cmocka_unit_test(broken_images_are_refused),
        cmocka_unit_test(data_are_believed_before_names_of_dimensions),
        cmocka_unit_test(what_does_not_fit_is_named),
        cmocka_unit_test(files_are_found_by_their_ending),
        cmocka_unit_test(another_type_is_refused),
        cmocka_unit_test(open_dimensions_follow_their_name),
        cmocka_unit_test(parts_of_sequences_are_counted),
        cmocka_unit_test(a_number_fits_a_scalar),
        cmocka_unit_test(made_up_data_is_the_same_each_time),
        cmocka_unit_test(elements_round_or_are_refused),
        cmocka_unit_test(halves_survive_the_round_trip),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
