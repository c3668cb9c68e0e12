/* SPDX-License-Identifier: Apache-2.0 */
/* Sequences of operators: what follows what, how often, and what is left out. */
#include "analyze/metrics/sequences.h"

#include "analyze/query/lane_use.h"
#include "analyze/stats/random.h"
#include "tests/support/check.h"
#include "tests/support/hand_spans.h"

enum { HOST, STREAM, OTHER_HOST, LANES };
enum { CONV1, CONV2, RELU, ADD, LABEL, LAUNCH, PYTHON, KERNEL, OTHER_KERNEL, OPS };

static struct lane_row lanes[LANES] = {
    [HOST] = {.side = OP_HOST, .session_id = 1, .kind = "thread", .name = "main"},
    [STREAM] = {.side = OP_DEVICE, .session_id = 1, .device = "cuda:0", .name = "stream 7"},
    [OTHER_HOST] = {.side = OP_HOST, .session_id = 2, .kind = "thread", .name = "main"},
};
static struct op_row ops[OPS] = {
    [CONV1] = {.name = "conv1", .type = "Conv"},
    [CONV2] = {.name = "conv2", .type = "Conv"},
    [RELU] = {.name = "relu", .type = "Relu"},
    [ADD] = {.name = "add", .type = "Add"},
    [LABEL] = {.name = "step", .type = "label", .is_label = true},
    [LAUNCH] = {.name = "cudaLaunchKernel", .type = "cuda_runtime"},
    [PYTHON] = {.name = "f", .type = "python_function"},
    [KERNEL] = {.name = "gemm", .type = "kernel"},
    [OTHER_KERNEL] = {.name = "relu_kernel", .type = "kernel"},
};
static uint8_t kinds[OPS] = {[LABEL] = SPAN_LABEL};

static struct spans_answer make(const struct span *spans, size_t count)
{
    struct spans_answer answer = {
        .ops = {.items = ops, .count = OPS},
        .op_kinds = kinds,
        .lanes = {.items = lanes, .count = LANES},
        .basis = {.runs = 2},
    };

    hand_spans_build(&answer, spans, count);
    for (size_t i = 0; i < answer.spans.count; i++)
        answer.spans.items[i].is_shown = true;
    return answer;
}

static void drop(struct spans_answer *answer, struct sequences *sequences)
{
    sequences_deinit(sequences);
    hand_spans_drop(answer);
}

/* Operators one after the other from 0 on, each 10 ns long and 1 ns behind the last. */
static struct spans_answer make_row(const uint32_t *row, size_t count)
{
    struct span spans[64] = {0};

    assert_true(count <= 64);
    for (size_t i = 0; i < count; i++)
        spans[i] = (struct span){.start_ns = (int64_t)i * 11, .dur_ns = 10, .op = row[i]};
    return make(spans, count);
}

static void check(const struct sequences *all, size_t place, uint32_t length, uint64_t count,
                  int64_t total_ns, int64_t gap_ns)
{
    assert_true(place < all->items.count);
    CHECK_U64(all->items.items[place].length, length);
    CHECK_U64(all->items.items[place].count, count);
    CHECK_U64((uint64_t)all->items.items[place].total_ns, (uint64_t)total_ns);
    CHECK_U64((uint64_t)all->items.items[place].gap_ns, (uint64_t)gap_ns);
}

static void the_longest_stands_for_its_parts(void **state)
{
    const uint32_t row[] = {CONV1, RELU, ADD, CONV2, CONV2, RELU, ADD};
    struct spans_answer answer = make_row(row, 7);
    struct sequences all;

    CHECK_OK(sequences_find(&answer, false, &all));
    CHECK_U64(all.items.count, 1); /* Conv Relu Add, not Conv Relu, nor Relu Add */
    check(&all, 0, 3, 2, 60, 4);
    CHECK_U64(all.items.items[0].first, 0);
    CHECK_U64((uint64_t)all.total_ns, 70);
    sequences_deinit(&all);
    CHECK_OK(sequences_find(&answer, true, &all));
    CHECK_U64(all.items.count, 1); /* the two convolutions are not the same */
    check(&all, 0, 2, 2, 40, 2);
    CHECK_U64(all.items.items[0].first, 1);
    drop(&answer, &all);
}

static void parts_that_occur_more_often_stay(void **state)
{
    const uint32_t row[] = {CONV1, RELU, ADD, CONV1, RELU, ADD, ADD, CONV1, RELU};
    struct spans_answer answer = make_row(row, 9);
    struct sequences all;

    CHECK_OK(sequences_find(&answer, false, &all));
    CHECK_U64(all.items.count, 3);
    check(&all, 0, 3, 2, 60, 4); /* Conv Relu Add */
    check(&all, 1, 2, 3, 60, 3); /* Conv Relu, also at the end */
    check(&all, 2, 3, 2, 60, 4); /* Add Conv Relu */
    drop(&answer, &all);
}

static void occurrences_share_no_operator(void **state)
{
    const uint32_t row[] = {RELU, RELU, RELU, RELU, RELU, RELU, RELU};
    struct spans_answer answer = make_row(row, 7);
    struct sequences all;

    CHECK_OK(sequences_find(&answer, false, &all));
    CHECK_U64(all.items.count, 2);
    check(&all, 0, 3, 2, 60, 4);
    check(&all, 1, 2, 3, 60, 3);
    drop(&answer, &all);
}

static void no_sequence_has_more_than_five(void **state)
{
    const uint32_t row[] = {CONV1, CONV2, RELU, ADD, KERNEL, OTHER_KERNEL,
                            CONV1, CONV2, RELU, ADD, KERNEL, OTHER_KERNEL};
    struct spans_answer answer = make_row(row, 12);
    struct sequences all;

    CHECK_OK(sequences_find(&answer, true, &all));
    CHECK_U64(all.items.count, 2);
    check(&all, 0, 5, 2, 100, 8);
    check(&all, 1, 5, 2, 100, 8);
    CHECK_U64(all.items.items[0].first, 0);
    CHECK_U64(all.items.items[1].first, 1);
    drop(&answer, &all);
}

static void runs_and_long_gaps_end_sequences(void **state)
{
    const int64_t gap_ns = SEQUENCE_GAP_NS;
    const struct span spans[] = {
        {.start_ns = 0, .dur_ns = 10, .op = CONV1, .run = 1},
        {.start_ns = 10, .dur_ns = 10, .op = RELU, .run = 1},
        {.start_ns = 20, .dur_ns = 10, .op = CONV1, .run = 2},
        {.start_ns = 30 + gap_ns, .dur_ns = 10, .op = RELU, .run = 2},
        {.start_ns = 40 + gap_ns, .dur_ns = 10, .op = CONV1, .run = 3},
        {.start_ns = 51 + 2 * gap_ns, .dur_ns = 10, .op = RELU, .run = 3},
        {.start_ns = 61 + 2 * gap_ns, .dur_ns = 10, .op = CONV1, .run = 4},
    };
    struct spans_answer answer = make(spans, 7);
    struct sequences all;

    CHECK_OK(sequences_find(&answer, false, &all));
    CHECK_U64(all.items.count, 1);
    check(&all, 0, 2, 2, 40, gap_ns);
    CHECK_U64(all.parted_count, 1);
    drop(&answer, &all);
}

static void only_operators_shown_count(void **state)
{
    const uint32_t row[] = {CONV1, RELU, CONV1, ADD, RELU, CONV1, RELU};
    struct spans_answer answer = make_row(row, 7);
    struct sequences all;

    answer.spans.items[3].is_shown = false; /* and Conv is not followed by Relu there */
    CHECK_OK(sequences_find(&answer, false, &all));
    CHECK_U64(all.items.count, 2);
    check(&all, 0, 2, 2, 40, 2);
    check(&all, 1, 2, 2, 40, 2);
    CHECK_U64((uint64_t)all.total_ns, 60);
    drop(&answer, &all);
}

static void outermost_operators_count(void **state)
{
    const struct span spans[] = {
        {.start_ns = 0, .dur_ns = 300, .op = PYTHON},
        {.start_ns = 0, .dur_ns = 200, .op = LABEL},
        {.start_ns = 0, .dur_ns = 40, .op = CONV1},
        {.start_ns = 10, .dur_ns = 10, .op = ADD}, /* inside */
        {.start_ns = 42, .dur_ns = 2, .op = LAUNCH},
        {.start_ns = 50, .dur_ns = 10, .op = RELU},
        {.start_ns = 100, .dur_ns = 40, .op = CONV2},
        {.start_ns = 150, .dur_ns = 10, .op = RELU},
    };
    struct spans_answer answer = make(spans, 8);
    struct sequences all;

    CHECK_OK(sequences_find(&answer, false, &all));
    CHECK_U64(all.items.count, 1);
    check(&all, 0, 2, 2, 100, 20);
    CHECK_U64((uint64_t)all.total_ns, 100);
    drop(&answer, &all);
}

/* Session 1 has a device, session 2 has none. */
static void lanes_are_chosen_by_session(void **state)
{
    const struct span spans[] = {
        {.start_ns = 0, .dur_ns = 10, .op = ADD},
        {.start_ns = 10, .dur_ns = 10, .op = ADD},
        {.start_ns = 20, .dur_ns = 10, .op = ADD},
        {.start_ns = 30, .dur_ns = 10, .op = ADD},
        {.start_ns = 0, .dur_ns = 100, .op = KERNEL, .lane = STREAM},
        {.start_ns = 90, .dur_ns = 20, .op = OTHER_KERNEL, .lane = STREAM}, /* overlaps */
        {.start_ns = 120, .dur_ns = 100, .op = KERNEL, .lane = STREAM},
        {.start_ns = 225, .dur_ns = 20, .op = OTHER_KERNEL, .lane = STREAM},
        {.start_ns = 250, .dur_ns = 1, .op = CONV1, .lane = OTHER_HOST},
        {.start_ns = 251, .dur_ns = 1, .op = RELU, .lane = OTHER_HOST},
        {.start_ns = 252, .dur_ns = 1, .op = CONV1, .lane = OTHER_HOST},
        {.start_ns = 253, .dur_ns = 1, .op = RELU, .lane = OTHER_HOST},
    };
    struct spans_answer answer = make(spans, 12);
    struct sequences all;

    CHECK_OK(sequences_find(&answer, false, &all));
    CHECK_U64(all.items.count, 2);
    check(&all, 0, 2, 2, 240, 5); /* kernels go by name */
    check(&all, 1, 2, 2, 4, 0);
    sequences_deinit(&all);
    for (size_t i = 4; i < 8; i++)
        answer.spans.items[i].is_shown = false; /* --device host */
    CHECK_OK(sequences_find(&answer, false, &all));
    CHECK_U64(all.items.count, 2);
    check(&all, 0, 2, 2, 40, 0); /* Add Add */
    CHECK_U64((uint64_t)all.total_ns, 44);
    drop(&answer, &all);
}

static void nothing_has_no_sequence(void **state)
{
    struct spans_answer answer = make(NULL, 0);
    struct sequences all;

    CHECK_OK(sequences_find(&answer, false, &all));
    CHECK_U64(all.items.count, 0);
    drop(&answer, &all);
}

/* --- Against counting one by one. --- */

enum { MANY = 400 };

static bool is_at(const struct span *items, uint32_t a, uint32_t b, uint32_t length)
{
    for (uint32_t i = 0; i < length; i++) {
        if (items[a + i].op != items[b + i].op || items[b + i].run != items[b].run)
            return false;
    }
    return true;
}

static uint64_t count_of(const struct spans_answer *answer, uint32_t first, uint32_t length)
{
    const struct span *items = answer->spans.items;
    uint64_t count = 0;

    if (first + length > MANY || !is_at(items, first, first, length))
        return 0;
    for (uint32_t i = 0; i + length <= MANY;) {
        bool is_there = is_at(items, first, i, length);

        count += is_there;
        i += is_there ? length : 1;
    }
    return count;
}

static bool is_told(const struct spans_answer *answer, const struct sequences *all, uint32_t first,
                    uint32_t length)
{
    for (size_t i = 0; i < all->items.count; i++) {
        const struct sequence *item = &all->items.items[i];

        if (item->length == length && is_at(answer->spans.items, item->first, first, length))
            return true;
    }
    return false;
}

/* Whether any occurrence goes on, in front or behind, to a longer one that occurs as often. */
static bool goes_on(const struct spans_answer *answer, uint32_t first, uint32_t length)
{
    uint64_t count = count_of(answer, first, length);

    for (uint32_t i = 0; i + length <= MANY && length < SEQUENCE_MAX; i++) {
        if (is_at(answer->spans.items, first, i, length) &&
            (count_of(answer, i, length + 1) == count ||
             (i > 0 && count_of(answer, i - 1, length + 1) == count)))
            return true;
    }
    return false;
}

static void counts_are_those_of_a_plain_search(void **state)
{
    struct span spans[MANY];
    uint64_t seed = 7;
    struct spans_answer answer;
    struct sequences all;

    for (uint32_t i = 0; i < MANY; i++)
        spans[i] = (struct span){.start_ns = i * 10,
                                 .dur_ns = 10,
                                 .op = (uint32_t)random_below(&seed, ADD + 1),
                                 .run = i / 37};
    answer = make(spans, MANY);
    CHECK_OK(sequences_find(&answer, true, &all));
    CHECK_U64(all.parts.count, MANY);
    for (size_t i = 0; i < all.items.count; i++)
        CHECK_U64(all.items.items[i].count,
                  count_of(&answer, all.items.items[i].first, all.items.items[i].length));
    for (uint32_t first = 0; first < MANY; first++) {
        for (uint32_t length = SEQUENCE_MIN; length <= SEQUENCE_MAX; length++) {
            if (count_of(&answer, first, length) > 1)
                assert_true(is_told(&answer, &all, first, length) !=
                            goes_on(&answer, first, length));
        }
    }
    drop(&answer, &all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_longest_stands_for_its_parts),
        cmocka_unit_test(parts_that_occur_more_often_stay),
        cmocka_unit_test(occurrences_share_no_operator),
        cmocka_unit_test(no_sequence_has_more_than_five),
        cmocka_unit_test(runs_and_long_gaps_end_sequences),
        cmocka_unit_test(only_operators_shown_count),
        cmocka_unit_test(outermost_operators_count),
        cmocka_unit_test(lanes_are_chosen_by_session),
        cmocka_unit_test(nothing_has_no_sequence),
        cmocka_unit_test(counts_are_those_of_a_plain_search),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
