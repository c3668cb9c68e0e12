/* SPDX-License-Identifier: Apache-2.0 */
/* Pairing memory taken with memory given back, and the peak of what is alive. */
#include "analyze/metrics/memory_blocks.h"
#include "tests/support/check.h"

#define UNKNOWN STORE_NULL

static struct lane_row lanes[] = {{.session_id = 1}, {.session_id = 1, .device = "cuda:0"}};

struct fixture {
    struct memory_blocks blocks;
    struct memory_points points;
};

static struct fixture pair(const struct memory_row *rows, size_t count)
{
    struct spans_answer spans = {.lanes = {.items = lanes, .count = 2}};
    struct memory_row_array array = {.items = (struct memory_row *)rows, .count = count};
    struct fixture fixture = {0};

    CHECK_OK(memory_blocks_init(&fixture.blocks, &spans, &array, NULL));
    CHECK_OK(memory_points_of(&fixture.blocks, &fixture.points));
    return fixture;
}

static void deinit(struct fixture *fixture)
{
    memory_blocks_deinit(&fixture->blocks);
    array_deinit(&fixture->points);
}

static struct memory_peak peak_of(const struct fixture *fixture, uint32_t pool, int64_t from,
                                  int64_t until)
{
    struct memory_peak peak;

    memory_find_peak(&fixture->blocks, &fixture->points, pool, from, until, &peak);
    return peak;
}

static void addresses_belong_together(void **state)
{
    static const struct memory_row rows[] = {
        {.time_ns = 10, .address = 1, .bytes = 100, .op = 0},
        {.time_ns = 20, .address = 2, .bytes = 100, .op = 1},
        {.time_ns = 30, .address = 1, .bytes = UNKNOWN},
        {.time_ns = 40, .address = 1, .bytes = 50, .op = 2}, /* taken again */
        {.time_ns = 50, .address = 2, .bytes = -100},
    };
    struct fixture fixture = pair(rows, 5);
    struct memory_peak peak = peak_of(&fixture, 0, INT64_MIN, INT64_MAX);
    size_t alive = 0;

    CHECK_U64(fixture.blocks.blocks.count, 3);
    CHECK_U64((uint64_t)peak.bytes, 200);
    CHECK_U64((uint64_t)peak.time_ns, 20);
    for (size_t i = 0; i < 3; i++)
        alive += memory_is_alive(&fixture.blocks.blocks.items[i], peak.row);
    CHECK_U64(alive, 2);
    /* A window begins with what is alive then. */
    peak = peak_of(&fixture, 0, 35, 38);
    CHECK_U64((uint64_t)peak.bytes, 100);
    CHECK_U64((uint64_t)peak.time_ns, 35);
    peak = peak_of(&fixture, 0, 35, 60);
    CHECK_U64((uint64_t)peak.bytes, 150);
    CHECK_U64((uint64_t)peak.time_ns, 40);
    assert_false(memory_find_peak(&fixture.blocks, &fixture.points, 0, 0, 10, &peak));
    deinit(&fixture);
}

static void without_addresses_the_latest_of_the_size(void **state)
{
    static const struct memory_row rows[] = {
        {.lane = 1, .time_ns = 1, .address = UNKNOWN, .bytes = 8, .op = 0},
        {.lane = 1, .time_ns = 2, .address = UNKNOWN, .bytes = 8, .op = 1},
        {.lane = 1, .time_ns = 3, .address = UNKNOWN, .bytes = -8},
        {.lane = 0, .time_ns = 4, .address = UNKNOWN, .bytes = -8}, /* of the host, not of cuda */
    };
    struct fixture fixture = pair(rows, 4);
    uint32_t device = fixture.blocks.pools.items[0].device ? 0 : 1;

    for (size_t i = 0; i < fixture.blocks.blocks.count; i++) {
        const struct memory_block *block = &fixture.blocks.blocks.items[i];

        if (block->pool == device)
            assert_true((block->end_ns == MEMORY_NEVER) == (block->op == 0));
    }
    CHECK_U64(fixture.blocks.pools.items[device].bare_count, 3);
    CHECK_U64(fixture.blocks.pools.items[!device].stray_count, 1);
    CHECK_U64((uint64_t)memory_bytes_before(&fixture.blocks, !device), 8);
    CHECK_U64((uint64_t)peak_of(&fixture, device, INT64_MIN, INT64_MAX).bytes, 16);
    deinit(&fixture);
}

static void what_was_there_before_counts_from_the_start(void **state)
{
    static const struct memory_row rows[] = {
        {.time_ns = 5, .address = 7, .bytes = 10},
        {.time_ns = 6, .address = 9, .bytes = -1000},
        {.time_ns = 7, .address = 7, .bytes = 20}, /* 7 was never given back */
    };
    struct fixture fixture = pair(rows, 3);
    struct memory_peak peak = peak_of(&fixture, 0, INT64_MIN, INT64_MAX);

    CHECK_U64((uint64_t)peak.bytes, 1010);
    CHECK_U64((uint64_t)peak.time_ns, 5);
    CHECK_U64(fixture.blocks.pools.items[0].stray_count, 1);
    CHECK_U64((uint64_t)fixture.blocks.pools.items[0].stray_bytes, 1000);
    CHECK_U64(fixture.blocks.pools.items[0].retaken_count, 1);
    deinit(&fixture);
}

static void what_is_not_shown_is_not_alive(void **state)
{
    static const struct memory_row rows[] = {
        {.time_ns = 1, .address = 1, .bytes = 10, .op = 0},
        {.time_ns = 2, .address = 2, .bytes = 30, .op = 1},
    };
    struct fixture fixture = pair(rows, 2);

    for (size_t i = 0; i < 2; i++)
        fixture.blocks.blocks.items[i].is_shown = fixture.blocks.blocks.items[i].op == 1;
    fixture.points.count = 0;
    CHECK_OK(memory_points_of(&fixture.blocks, &fixture.points));
    CHECK_U64((uint64_t)peak_of(&fixture, 0, INT64_MIN, INT64_MAX).bytes, 30);
    deinit(&fixture);
}

/* What the first event of each pool says: there is the rest of what is not given back later. */
static void what_was_there_before_counts(void **state)
{
    static const struct memory_row rows[] = {
        {.lane = 0, .time_ns = 10, .address = 1, .bytes = 100, .op = 0},
        {.lane = 1, .time_ns = 10, .address = UNKNOWN, .bytes = -8, .op = 1},
        {.lane = 0, .time_ns = 20, .address = 7, .bytes = -30, .op = 0}, /* of the 400 */
        {.lane = 0, .time_ns = 30, .address = 2, .bytes = 60, .op = 0},
    };
    static struct counter_row items[] = {
        {.lane = 0, .time_ns = 10, .value = 500},
        {.lane = 1, .time_ns = 9, .value = 1e6}, /* of another moment */
        {.lane = 0, .time_ns = 30, .value = 7777},
    };
    const struct counter_row_array totals = {.items = items, .count = 3};
    struct spans_answer spans = {.lanes = {.items = lanes, .count = 2}};
    struct memory_row_array array = {.items = (struct memory_row *)rows, .count = 4};
    struct fixture fixture = {0};
    struct memory_peak peak;

    CHECK_OK(memory_blocks_init(&fixture.blocks, &spans, &array, &totals));
    CHECK_OK(memory_points_of(&fixture.blocks, &fixture.points));
    CHECK_U64((uint64_t)memory_bytes_before(&fixture.blocks, 0), 400);
    CHECK_U64((uint64_t)memory_bytes_before(&fixture.blocks, 1), 8);
    CHECK_U64((uint64_t)fixture.blocks.pools.items[0].base_bytes, 400);
    peak = peak_of(&fixture, 0, INT64_MIN, INT64_MAX);
    CHECK_U64((uint64_t)peak.bytes, 530);
    CHECK_U64((uint64_t)peak.time_ns, 30);
    deinit(&fixture);
    /* Less than what is given back, and damage: nothing is added. */
    items[0].value = 105;
    CHECK_OK(memory_blocks_init(&fixture.blocks, &spans, &array, &totals));
    CHECK_U64((uint64_t)memory_bytes_before(&fixture.blocks, 0), 30);
    memory_blocks_deinit(&fixture.blocks);
    items[0].value = -1e300;
    CHECK_OK(memory_blocks_init(&fixture.blocks, &spans, &array, &totals));
    CHECK_U64((uint64_t)memory_bytes_before(&fixture.blocks, 0), 30);
    memory_blocks_deinit(&fixture.blocks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses_belong_together),
        cmocka_unit_test(without_addresses_the_latest_of_the_size),
        cmocka_unit_test(what_was_there_before_counts_from_the_start),
        cmocka_unit_test(what_is_not_shown_is_not_alive),
        cmocka_unit_test(what_was_there_before_counts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
