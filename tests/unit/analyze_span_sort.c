/* SPDX-License-Identifier: Apache-2.0 */
/* Spans in order, and gathered by lane. */
#include "analyze/query/span_bins.h"
#include "analyze/query/span_sort.h"
#include "tests/support/check.h"

enum { SPANS = 30000, LANES = 7 };

static uint32_t next_number(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/* Times of few values, so that many spans are equal; lane 2 has none, lane 3 nearly all. */
static void fill(struct span *spans, size_t count, uint32_t state)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t lane = next_number(&state) % 16;

        spans[i] = (struct span){
            .start_ns = next_number(&state) % 1000,
            .dur_ns = next_number(&state) % 5,
            .lane = lane >= LANES || lane == 2 ? 3 : lane,
            .order = (uint32_t)i,
            .correlation = (int64_t)i * 3,
        };
    }
}

static bool is_before(const struct span *a, const struct span *b)
{
    if (a->lane != b->lane)
        return a->lane < b->lane;
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns;
    if (a->dur_ns != b->dur_ns)
        return a->dur_ns > b->dur_ns;
    return a->order > b->order;
}

/* In order, and each of `first` is there once, whole. */
static void check_sorted(const struct span *spans, const struct span *first, size_t count)
{
    bool *is_there = calloc(count, sizeof(*is_there));

    for (size_t i = 0; i < count; i++) {
        uint32_t order = spans[i].order;

        assert_true(i == 0 || is_before(&spans[i - 1], &spans[i]));
        assert_true(order < count && !is_there[order]);
        is_there[order] = true;
        assert_memory_equal(&spans[i], &first[order], sizeof(*spans));
    }
    free(is_there);
}

static void any_order_becomes_the_order(void **state)
{
    struct span *spans = calloc(SPANS, sizeof(*spans)), *first = calloc(SPANS, sizeof(*first));

    for (uint32_t seed = 1; seed <= 5; seed++) {
        fill(spans, SPANS, seed);
        memcpy(first, spans, SPANS * sizeof(*spans));
        CHECK_OK(span_sort(spans, SPANS, LANES));
        check_sorted(spans, first, SPANS);
        CHECK_OK(span_sort(spans, SPANS, LANES)); /* what is in order stays */
        check_sorted(spans, first, SPANS);
    }
    CHECK_OK(span_sort(spans, 1, LANES));
    CHECK_OK(span_sort(spans, 0, 0));
    free(spans);
    free(first);
    (void)state;
}

/* As threads record: what lies around others comes behind them, few of them, or with much in each. */
static void late_ones_go_to_their_place(void **state)
{
    struct span *spans = calloc(SPANS, sizeof(*spans)), *first = calloc(SPANS, sizeof(*first));

    for (uint32_t inside = 1; inside < SPANS; inside = inside * 3 + 1) {
        for (uint32_t i = 0; i < SPANS; i++) {
            const bool is_outer = i % (inside + 1) == inside;

            spans[i] = (struct span){.start_ns = is_outer ? i - inside : i,
                                     .dur_ns = is_outer ? inside + 1 : 1,
                                     .lane = i >= SPANS / 2,
                                     .order = i};
        }
        memcpy(first, spans, SPANS * sizeof(*spans));
        CHECK_OK(span_sort(spans, SPANS, LANES));
        check_sorted(spans, first, SPANS);
    }
    free(spans);
    free(first);
    (void)state;
}

static void bins_keep_the_order_of_a_lane(void **state)
{
    struct span *spans = calloc(SPANS, sizeof(*spans));
    struct spans_answer answer = {0};
    struct span_bins bins;

    fill(spans, SPANS, 9);
    CHECK_OK(span_bins_init(&bins, LANES));
    for (size_t i = 0; i < 100; i++)
        CHECK_OK(span_bins_add(&bins, &spans[i]));
    span_bins_clear(&bins);
    CHECK_U64(bins.count, 0);
    for (size_t i = 0; i < SPANS; i++)
        CHECK_OK(span_bins_add(&bins, &spans[i]));
    CHECK_U64(bins.count, SPANS);
    CHECK_OK(span_bins_move(&bins, &answer));
    CHECK_U64(answer.spans.count, SPANS);
    CHECK_U64(bins.count, 0);
    for (size_t i = 0; i < SPANS; i++) {
        const struct span *span = &answer.spans.items[i], *before = span - 1;

        assert_memory_equal(span, &spans[span->order], sizeof(*span));
        assert_true(i == 0 || before->lane < span->lane ||
                    (before->lane == span->lane && before->order < span->order));
    }
    CHECK_OK(span_bins_move(&bins, &answer)); /* nothing more */
    CHECK_U64(answer.spans.count, SPANS);
    span_bins_deinit(&bins);
    array_deinit(&answer.spans);
    free(spans);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_order_becomes_the_order),
        cmocka_unit_test(late_ones_go_to_their_place),
        cmocka_unit_test(bins_keep_the_order_of_a_lane),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
