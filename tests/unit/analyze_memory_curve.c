/* SPDX-License-Identifier: Apache-2.0 */
/* Memory over time in equal parts: the sums, and by name what adds up to them. */
#include "analyze/reports/memory_curve.h"
#include "tests/support/check.h"

enum { BINS = 4, NAMES = MEMORY_GROUPS_MAX + 3 };

static struct lane_row lanes[] = {{.session_id = 1}, {.session_id = 1, .device = "cuda:0"}};

/* A view whose line of a piece is that of its op; what nobody took is of the last line. */
static struct memory_view make(const struct memory_row *rows, size_t count,
                               const struct memory_line *lines, size_t line_count)
{
    struct spans_answer spans = {.lanes = {.items = lanes, .count = 2}};
    struct memory_row_array array = {.items = (struct memory_row *)rows, .count = count};
    struct memory_view view = {.start_ns = rows[0].time_ns, .end_ns = rows[count - 1].time_ns};

    CHECK_OK(memory_blocks_init(&view.blocks, &spans, &array, NULL));
    CHECK_OK(memory_points_of(&view.blocks, &view.points));
    view.line_of = calloc(view.blocks.blocks.count, sizeof(*view.line_of));
    for (size_t i = 0; i < view.blocks.blocks.count; i++) {
        uint32_t op = view.blocks.blocks.items[i].op;

        view.line_of[i] = op == SPAN_NONE ? (uint32_t)line_count - 1 : op;
    }
    view.lines.items = (struct memory_line *)lines;
    view.lines.count = line_count;
    return view;
}

static void deinit(struct memory_view *view)
{
    memory_blocks_deinit(&view->blocks);
    array_deinit(&view->points);
    free(view->line_of);
}

static void check_bins(const int64_t *bytes, size_t step, const int64_t *expected)
{
    for (size_t bin = 0; bin < BINS; bin++)
        CHECK_U64((uint64_t)bytes[bin * step], (uint64_t)expected[bin]);
}

/* The whole time is 0 .. 39 ns, a part 10 ns. */
static const struct memory_row two_devices[] = {
    {.time_ns = 0, .address = 1, .bytes = 100, .op = 0},
    {.time_ns = 5, .address = 2, .bytes = 50, .op = 1},
    {.time_ns = 6, .address = 2, .bytes = -50, .op = 1},
    {.time_ns = 12, .address = 9, .bytes = -30, .op = SPAN_NONE}, /* held before */
    {.time_ns = 15, .address = 3, .bytes = 7, .lane = 1, .op = 3},
    {.time_ns = 25, .address = 1, .bytes = -100, .op = 0},
    {.time_ns = 26, .address = 4, .bytes = 20, .op = 2}, /* of the first name again */
    {.time_ns = 39, .address = 3, .bytes = -7, .lane = 1, .op = 3},
};
static const struct memory_line two_lines[] = {{.name = "conv"},
                                               {.name = "relu"},
                                               {.name = "conv"},
                                               {.pool = 1, .name = "conv"},
                                               {.name = "before"}};

static void a_part_has_its_highest_sum(void **state)
{
    struct memory_view view = make(two_devices, 8, two_lines, 5);
    int64_t host[BINS], device[BINS];

    memory_curve_fill(&view, 0, host, BINS);
    memory_curve_fill(&view, 1, device, BINS);
    check_bins(host, 1, (int64_t[]){180, 130, 100, 20});
    check_bins(device, 1, (int64_t[]){0, 7, 7, 7});
    deinit(&view);
    (void)state;
}

static void names_add_up_to_it(void **state)
{
    struct memory_view view = make(two_devices, 8, two_lines, 5);
    struct memory_groups groups;

    CHECK_OK(memory_groups_init(&groups, &view, 0, BINS));
    CHECK_U64(groups.count, 3);
    assert_false(groups.has_others);
    assert_string_equal(groups.names[0], "conv"); /* what holds most */
    assert_string_equal(groups.names[1], "before");
    assert_string_equal(groups.names[2], "relu");
    check_bins(groups.bytes, 3, (int64_t[]){100, 100, 100, 20});
    check_bins(groups.bytes + 1, 3, (int64_t[]){30, 30, 0, 0});
    check_bins(groups.bytes + 2, 3, (int64_t[]){50, 0, 0, 0});
    memory_groups_deinit(&groups);
    CHECK_OK(memory_groups_init(&groups, &view, 1, BINS));
    CHECK_U64(groups.count, 1);
    check_bins(groups.bytes, 1, (int64_t[]){0, 7, 7, 7});
    memory_groups_deinit(&groups);
    deinit(&view);
    (void)state;
}

static void small_ones_are_all_others(void **state)
{
    static const char *const names[NAMES] = {"a", "b", "c", "d", "e", "f",
                                             "g", "h", "i", "j", NULL};
    struct memory_row rows[NAMES];
    struct memory_line lines[NAMES] = {0};
    struct memory_view view;
    struct memory_groups groups;

    for (uint32_t i = 0; i < NAMES; i++) {
        rows[i] = (struct memory_row){.time_ns = 4 * i, .address = i, .bytes = 100 - i, .op = i};
        lines[i].name = names[i];
    }
    view = make(rows, NAMES, lines, NAMES);
    CHECK_OK(memory_groups_init(&groups, &view, 0, BINS));
    CHECK_U64(groups.count, MEMORY_GROUPS_MAX);
    assert_true(groups.has_others);
    assert_string_equal(groups.names[0], "a");
    assert_string_equal(groups.names[MEMORY_GROUPS_MAX - 1], "h");
    CHECK_U64((uint64_t)groups.bytes[3 * (MEMORY_GROUPS_MAX + 1) + MEMORY_GROUPS_MAX],
              92 + 91 + 90);
    memory_groups_deinit(&groups);
    deinit(&view);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_part_has_its_highest_sum),
        cmocka_unit_test(names_add_up_to_it),
        cmocka_unit_test(small_ones_are_all_others),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
