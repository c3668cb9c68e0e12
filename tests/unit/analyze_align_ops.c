/* SPDX-License-Identifier: Apache-2.0 */
/* Which op of one recording is which of another. */
#include "analyze/metrics/align_ops.h"
#include "tests/support/check.h"

enum { OPS_MAX = 8 };

struct scene {
    struct align_op base[OPS_MAX], new[OPS_MAX];
    /* One text for each group, in order: "kind: base ops > new ops" by name. */
    const char *wanted[OPS_MAX];
};

static size_t count_ops(const struct align_op *ops)
{
    size_t count = 0;

    while (count < OPS_MAX && ops[count].name)
        count++;
    return count;
}

static void describe(const struct alignment *alignment, const struct scene *scene, size_t group,
                     char *text, size_t bytes)
{
    const struct align_op *const ops[] = {scene->base, scene->new};

    snprintf(text, bytes, "%s:", align_kind_names[alignment->groups.items[group].kind]);
    for (int side = 0; side < ALIGN_SIDES; side++) {
        for (size_t i = 0; i < count_ops(ops[side]); i++) {
            if (alignment->group_of[side][i] == group)
                snprintf(text + strlen(text), bytes - strlen(text), " %s", ops[side][i].name);
        }
        if (side == ALIGN_BASE)
            snprintf(text + strlen(text), bytes - strlen(text), " >");
    }
}

static void check(const struct scene *scene)
{
    const struct align_op *const ops[] = {scene->base, scene->new};
    const size_t count[] = {count_ops(scene->base), count_ops(scene->new)};
    struct alignment alignment;
    char text[200];
    size_t groups = 0;

    while (groups < OPS_MAX && scene->wanted[groups])
        groups++;
    CHECK_OK(align_ops(ops, count, &alignment));
    for (size_t i = 0; i < alignment.groups.count && i < groups; i++) {
        describe(&alignment, scene, i, text, sizeof(text));
        assert_string_equal(text, scene->wanted[i]);
    }
    assert_int_equal(alignment.groups.count, groups);
    alignment_deinit(&alignment);
}

static void the_same_ops_are_found_in_any_order(void **state)
{
    const struct scene scene = {
        .base = {{"a", "Conv", "[[1]]"}, {"b", "Relu"}, {"c", "Add"}},
        .new = {{"c", "Add"}, {"a", "Conv", "[[1]]"}, {"b", "Relu"}},
        .wanted = {"same: c > c", "same: a > a", "same: b > b"},
    };

    check(&scene);
}

static void ops_that_share_a_name_pair_in_order(void **state)
{
    const struct scene scene = {
        .base = {{"relu", "relu", "[[1]]"}, {"relu", "relu", "[[1]]"}, {"relu", "relu", "[[2]]"}},
        .new = {{"relu", "relu", "[[1]]"}, {"relu", "relu", "[[2]]"}, {"relu", "relu", "[[3]]"}},
        .wanted = {"same: relu > relu", "same: relu > relu", "changed shape: relu > relu"},
    };

    check(&scene);
}

static void fused_and_split_ops_share_model_nodes(void **state)
{
    const struct scene fused = {
        .base = {{"conv1", "Conv"},
                 {"bn1", "BatchNormalization"},
                 {"relu1", "Relu"},
                 {"fc", "Gemm"}},
        .new = {{"conv1", "Conv", .origin = "[\"conv1\",\"bn1\",\"relu1\"]"},
                {"fc", "Gemm", .origin = "[\"fc\"]"}},
        .wanted = {"fused: conv1 bn1 relu1 > conv1", "same: fc > fc"},
    };
    const struct scene split = {
        .base = {{"block", "Fused", .origin = "[\"a\",\"b\"]"}},
        .new = {{"a", "Conv"}, {"b", "Relu"}},
        .wanted = {"split: block > a b"},
    };
    const struct scene regrouped = {
        .base = {{"ab", "Fused", .origin = "[\"a\",\"b\"]"}, {"c", "Relu"}},
        .new = {{"a", "Conv"}, {"bc", "Fused", .origin = "[\"b\",\"c\"]"}},
        .wanted = {"regrouped: ab c > a bc"},
    };

    check(&fused);
    check(&split);
    check(&regrouped);
}

static void engines_meet_in_model_nodes(void **state)
{
    const struct scene scene = {
        .base = {{"r1_reorder", "ReorderInput"}, {"r2_nchwc", "Conv", "[[1,3]]"}, {"r9", "Gemm"}},
        .new = {{"conv", "ConvRelu", .origin = "[\"r2\",\"r3\"]"}, {"r9", "MatMul"}},
        .wanted = {"changed type: r2_nchwc > conv", "changed type: r9 > r9",
                   "removed: r1_reorder >"},
    };

    check(&scene);
}

static void renamed_ops_stand_between_the_same_neighbours(void **state)
{
    const struct scene scene = {
        .base = {{"x1", "Relu", "[[1]]"}, {"conv", "Conv"}, {"x2", "Relu", "[[1]]"}},
        .new = {{"conv", "Conv"}, {"y2", "Relu", "[[1]]"}, {"y3", "Relu", "[[2]]"}},
        .wanted = {"same: conv > conv", "renamed: x2 > y2", "added: > y3", "removed: x1 >"},
    };
    const struct scene all = {
        .base = {{"a1", "Conv", "[]"}, {"a2", "Relu", "[]"}, {"a3", "Conv", "[]"}},
        .new = {{"b1", "Conv", "[]"}, {"b2", "Add", "[]"}, {"b3", "Conv", "[]"}},
        .wanted = {"renamed: a1 > b1", "added: > b2", "renamed: a3 > b3", "removed: a2 >"},
    };

    check(&scene);
    check(&all);
}

static void the_same_work_is_found_in_another_order(void **state)
{
    const struct scene swapped = {
        .base = {{"a1", "Conv", "[[1]]"}, {"a3", "Conv", "[[3]]"}, {"x", "Add"}},
        .new = {{"b3", "Conv", "[[3]]"}, {"b1", "Conv", "[[1]]"}, {"x", "Add"}},
        .wanted = {"renamed: a3 > b3", "renamed: a1 > b1", "same: x > x"},
    };
    const struct scene fewer = {
        .base = {{"a", "Conv", "[]"}, {"b", "Conv", "[]"}, {"x", "Add"}},
        .new = {{"x", "Add"}, {"c", "Conv", "[]"}},
        .wanted = {"same: x > x", "added: > c", "removed: a >", "removed: b >"},
    };

    check(&swapped);
    check(&fewer);
}

static void unknown_shapes_say_nothing(void **state)
{
    const struct scene kernels = {
        .base = {{"sgemm", "kernel"}, {"x", "Add"}},
        .new = {{"memset", "kernel"}, {"x", "Add"}},
        .wanted = {"added: > memset", "same: x > x", "removed: sgemm >"},
    };
    const struct scene names = {
        .base = {{"aten::relu", "op"}},
        .new = {{"aten::relu", "op", "[[1]]"}, {"aten::relu", "op", "[[2]]"}},
        .wanted = {"split: aten::relu > aten::relu aten::relu"},
    };

    check(&kernels);
    check(&names);
}

static void one_side_may_be_empty(void **state)
{
    const struct scene scene = {.new = {{"a", "Conv"}}, .wanted = {"added: > a"}};
    const struct scene nothing = {.wanted = {NULL}};

    check(&scene);
    check(&nothing);
}

static void names_that_are_not_unique_say_nothing(void **state)
{
    const struct scene scene = {
        .base = {{"aten::add", "op", "[[1]]"}, {"aten::add", "op", "[[2]]"}},
        .new = {{"aten::add", "kernel", "[[3]]"}},
        .wanted = {"added: > aten::add", "removed: aten::add >", "removed: aten::add >"},
    };

    check(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_ops_are_found_in_any_order),
        cmocka_unit_test(ops_that_share_a_name_pair_in_order),
        cmocka_unit_test(fused_and_split_ops_share_model_nodes),
        cmocka_unit_test(engines_meet_in_model_nodes),
        cmocka_unit_test(renamed_ops_stand_between_the_same_neighbours),
        cmocka_unit_test(the_same_work_is_found_in_another_order),
        cmocka_unit_test(unknown_shapes_say_nothing),
        cmocka_unit_test(one_side_may_be_empty),
        cmocka_unit_test(names_that_are_not_unique_say_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
