/* SPDX-License-Identifier: Apache-2.0 */
/* Each condition on an op, and all together. */
#include <math.h>

#include "analyze/query/filter.h"
#include "tests/support/check.h"

/* A word and the count of words. */
#define ONE(word) (const char *const[]){word}, 1

static const struct op_row conv = {
    .name = "stem.conv1", .type = "Conv", .input_dtypes = "[\"f32\",null]"};

static bool passes_name(const char *pattern, const char *name)
{
    struct op_row op = {.name = name, .type = "Conv"};
    struct filter filter = {0};
    struct diag diag = {0};
    bool passes;

    if (filter_set(&filter, FILTER_OPR_NAME, &pattern, 1, &diag) < 0)
        fail_msg("%s", diag.text);
    passes = filter_passes(&filter, &op, 1);
    filter_deinit(&filter);
    return passes;
}

static void empty_filter_passes_all(void **state)
{
    struct filter filter = {0};

    assert_true(filter_passes(&filter, &conv, NAN));
}

static void names_match_from_the_start(void **state)
{
    assert_true(passes_name("stem", "stem.conv1"));
    assert_true(passes_name(".*conv", "stem.conv1"));
    assert_true(passes_name("conv*", "con"));
    assert_true(passes_name("", "anything"));
    assert_true(passes_name("\xc3\xa4.$", "\xc3\xa4\xc3\xb6"));
    assert_true(passes_name("a.b", "a\xff\x62") == false); /* a byte that is no UTF-8 is no . */
    assert_false(passes_name("conv", "stem.conv1"));
    assert_false(passes_name("stem$", "stem.conv1"));
    assert_false(passes_name("a|conv", "stem.conv1"));
}

static void bad_patterns_say_where(void **state)
{
    struct filter filter = {0};
    struct diag diag = {0};

    assert_int_equal(filter_set(&filter, FILTER_OPR_NAME, ONE("conv("), &diag), -EINVAL);
    CHECK_CONTAINS(diag.text, "\"conv(\" is no regular expression");
    CHECK_CONTAINS(diag.text, "at character 5");
    assert_int_equal(diag.offset, 5);
    assert_false(filter_is_of(&filter, FILTER_OF_OPS));
}

static bool passes_device(const char *wanted, const char *lane_device, const char *op_device,
                          enum op_side side)
{
    const struct lane_row lane = {.name = "x", .device = lane_device, .side = side};
    const struct op_row op = {.name = "op", .type = "Conv", .device = op_device};
    struct filter filter = {0};

    CHECK_OK(filter_set(&filter, FILTER_DEVICE, &wanted, 1, NULL));
    assert_true(filter_needs_spans(&filter));
    return filter_passes_lane(&filter, &lane, &op);
}

static void devices_are_named_whole_or_by_kind(void **state)
{
    assert_true(passes_device("cuda", "cuda:1", NULL, OP_DEVICE));
    assert_true(passes_device("CUDA:1", "cuda:1", NULL, OP_DEVICE));
    assert_false(passes_device("cuda:0", "cuda:1", NULL, OP_DEVICE));
    assert_false(passes_device("cu", "cuda:1", NULL, OP_DEVICE));
    assert_true(passes_device("cpu", NULL, "cpu:0", OP_DEVICE)); /* a queue without a device */
    assert_false(passes_device("cpu", NULL, NULL, OP_DEVICE));
    assert_true(passes_device("host", NULL, "cuda:0", OP_HOST)); /* its launching side */
    assert_false(passes_device("cuda", NULL, "cuda:0", OP_HOST));
}

static void lanes_match_by_name(void **state)
{
    const struct lane_row lane = {.name = "stream 7", .side = OP_DEVICE};
    struct filter filter = {0};

    assert_false(filter_needs_spans(&filter));
    CHECK_OK(filter_set(&filter, FILTER_LANE, ONE("stream [0-9]$"), NULL));
    assert_true(filter_needs_spans(&filter));
    assert_true(filter_passes_lane(&filter, &lane, &conv));
    assert_false(filter_passes_lane(&filter, &(struct lane_row){.name = "stream 17"}, &conv));
    CHECK_OK(filter_set(&filter, FILTER_LANE, ONE("stream 1[0-9]$"), NULL)); /* instead */
    assert_false(filter_passes_lane(&filter, &lane, &conv));
    assert_int_equal(filter_set(&filter, FILTER_LANE, ONE("("), NULL),
                     -EINVAL); /* nothing is lost */
    assert_true(filter_passes_lane(&filter, &(struct lane_row){.name = "stream 17"}, &conv));
    filter_deinit(&filter);
}

static void endless_patterns_give_up(void **state)
{
    char name[64];
    struct op_row op = {.name = name, .type = "Conv"};
    struct filter filter = {0};
    struct diag diag = {0};

    memset(name, 'a', sizeof(name) - 1);
    name[sizeof(name) - 1] = '\0';
    CHECK_OK(filter_set(&filter, FILTER_OPR_NAME, ONE("((a+)+)+[^a]"), NULL));
    assert_null(filter.gave_up);
    assert_false(filter_passes(&filter, &op, 1));
    assert_int_equal(filter_complain(&filter, &diag), -EINVAL);
    CHECK_CONTAINS(diag.text, "--opr-name \"((a+)+)+[^a]\" takes too many steps");
    filter_deinit(&filter);
}

static void types_are_exact(void **state)
{
    const char *const types[] = {"Relu", "Conv"};
    struct filter filter = {0};

    CHECK_OK(filter_set(&filter, FILTER_TYPE, types, 2, NULL));
    assert_true(filter_passes(&filter, &conv, 1));
    CHECK_OK(filter_set(&filter, FILTER_TYPE, types, 1, NULL));
    assert_false(filter_passes(&filter, &conv, 1));
}

static void dtypes_have_two_spellings(void **state)
{
    struct op_row none = {.name = "a", .type = "b"};
    struct op_row odd = {.name = "a", .type = "b", .input_dtypes = "no json"};
    struct filter filter = {0};

    CHECK_OK(filter_set(&filter, FILTER_INPUT_DTYPE, ONE("Float32"), NULL));
    assert_true(filter_passes(&filter, &conv, 1));
    CHECK_OK(filter_set(&filter, FILTER_INPUT_DTYPE, ONE("F32"), NULL));
    assert_true(filter_passes(&filter, &conv, 1));
    CHECK_OK(filter_set(&filter, FILTER_INPUT_DTYPE, ONE("i8"), NULL));
    assert_false(filter_passes(&filter, &conv, 1));
    assert_false(filter_passes(&filter, &none, 1));
    assert_false(filter_passes(&filter, &odd, 1));
}

static void ops_are_chosen_by_id(void **state)
{
    struct op_row op = {.name = "a", .type = "b"};
    struct filter filter = {0}, none = {0};

    CHECK_OK(filter_set_ops(&filter, (int64_t[]){9, 2, 5}, 3)); /* in any order */
    CHECK_OK(filter_set_ops(&none, NULL, 0));
    for (op.op_id = 1; op.op_id <= 10; op.op_id++) {
        assert_int_equal(filter_passes_op(&filter, &op),
                         op.op_id == 2 || op.op_id == 5 || op.op_id == 9);
        assert_false(filter_passes_op(&none, &op));
    }
    filter_deinit(&filter);
    filter_deinit(&none);
    (void)state;
}

static bool has_shape(const char *shapes, const char *wanted)
{
    struct op_row op = {.name = "a", .type = "b", .input_shapes = shapes};
    struct filter filter = {0};
    bool passes;

    CHECK_OK(filter_set(&filter, FILTER_INPUT_SHAPE, &wanted, 1, NULL));
    passes = filter_passes(&filter, &op, 1);
    filter_deinit(&filter);
    return passes;
}

static void shapes_are_those_of_one_input(void **state)
{
    static const char two[] = "[[1,64,56,56],null,[64]]";

    assert_true(has_shape(two, "1x64x56x56"));
    assert_true(has_shape(two, "*x64x*x*"));
    assert_true(has_shape(two, "64"));
    assert_true(has_shape("[[null,3]]", "*x3")); /* a size that is not known is any */
    assert_true(has_shape("[[],[2]]", "scalar"));
    assert_false(has_shape(two, "1x64x56"));
    assert_false(has_shape(two, "1x64x56x57"));
    assert_false(has_shape(two, "scalar"));
    assert_false(has_shape("[[null,3]]", "1x3"));
    assert_false(has_shape(NULL, "*"));
    assert_false(has_shape("no json", "*"));
    (void)state;
}

static void shapes_that_are_none_are_refused(void **state)
{
    static const char *const texts[] = {"",
                                        "x",
                                        "1x",
                                        "x1",
                                        "1xx2",
                                        "-1",
                                        "1x 2",
                                        "1,2",
                                        "99999999999999999999",
                                        "Scalar",
                                        "1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1"};
    struct diag diag;

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct filter filter = {0};

        diag = (struct diag){0};
        assert_int_equal(filter_set(&filter, FILTER_INPUT_SHAPE, &texts[i], 1, &diag), -EINVAL);
        assert_non_null(strstr(diag.text, "1x64x56x56"));
    }
    (void)state;
}

static void bounds_are_inclusive(void **state)
{
    struct filter filter = {.has_min = true, .min_ns = 10, .has_max = true, .max_ns = 20};

    assert_true(filter_passes(&filter, &conv, 10));
    assert_true(filter_passes(&filter, &conv, 20));
    assert_false(filter_passes(&filter, &conv, 9));
    assert_false(filter_passes(&filter, &conv, 21));
    assert_false(filter_passes(&filter, &conv, NAN));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty_filter_passes_all),
        cmocka_unit_test(names_match_from_the_start),
        cmocka_unit_test(devices_are_named_whole_or_by_kind),
        cmocka_unit_test(lanes_match_by_name),
        cmocka_unit_test(bad_patterns_say_where),
        cmocka_unit_test(endless_patterns_give_up),
        cmocka_unit_test(types_are_exact),
        cmocka_unit_test(dtypes_have_two_spellings),
        cmocka_unit_test(ops_are_chosen_by_id),
        cmocka_unit_test(shapes_are_those_of_one_input),
        cmocka_unit_test(shapes_that_are_none_are_refused),
        cmocka_unit_test(bounds_are_inclusive),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
