/* SPDX-License-Identifier: Apache-2.0 */
/* Records of earlier parts come back as they were, however long ago: random ones, in and out of runs. */
#include "analyze/query/earlier_records.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/check.h"

enum { PARTS = 60, RECORDS = 40, KEPT = 30, WAITS = 8 };

static uint64_t seed = 88172645463325252u;

static int64_t pick(int64_t below)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (int64_t)((seed >> 20) % (uint64_t)below);
}

static struct op_row ops[] = {
    {.name = "cudaEventRecord", .type = "cuda_runtime"},
    {.name = "Stream Wait Event", .type = "phase", .params = "{\"wait_on_stream\":7}"},
};
static uint8_t kinds[] = {SPAN_OP, SPAN_PHASE};
static struct lane_row lanes[] = {{.session_id = 3, .side = OP_HOST},
                                  {.session_id = 3, .side = OP_DEVICE}};

static struct spans_answer make_answer(void)
{
    struct spans_answer answer = {.op_kinds = kinds};

    answer.ops.items = ops;
    answer.ops.count = 2;
    answer.lanes.items = lanes;
    answer.lanes.count = 2;
    return answer;
}

static struct span make_record(int64_t number, int64_t part)
{
    const bool is_far = pick(20) == 0;

    return (struct span){.start_ns = pick(is_far ? INT64_MAX / 4 : 100000) + part,
                         .dur_ns = pick(is_far ? INT64_MAX / 4 : 3000),
                         .kern_ns = pick(3) ? STORE_NULL : pick(500),
                         .self_ns = pick(4000),
                         .correlation = number,
                         .bytes = pick(5) ? STORE_NULL : pick(1 << 30),
                         .op = 0,
                         .lane = 0,
                         .run = number % 3 ? SPAN_NONE : (uint32_t)(part / 7),
                         .parent = SPAN_NONE,
                         .launch = SPAN_NONE,
                         .next = SPAN_NONE,
                         .depth = (uint32_t)pick(1 << 20) & 0xfffffff,
                         .is_leaf = pick(2),
                         .frame = (uint32_t)pick(3) & 3,
                         .is_shown = pick(2),
                         .order = (uint32_t)pick(UINT32_MAX)};
}

/* Waits for records of earlier parts, chosen anyhow; those that were named before say so. */
static void check_waits(struct earlier_records *records, struct span *all, size_t count)
{
    struct spans_answer part = make_answer();

    for (size_t i = 0; i < WAITS; i++) {
        struct span wait = all[pick((int64_t)count)];

        wait.op = wait.lane = 1;
        wait.launch = SPAN_NONE;
        CHECK_OK(array_push(&part.spans, wait));
    }
    CHECK_OK(earlier_records_link(records, &part));
    CHECK_U64(part.earlier_count, WAITS);
    for (size_t i = 0; i < WAITS; i++) {
        const struct span *wait = &part.spans.items[i], *found = &part.spans.items[wait->launch];
        struct span *record = all;

        while (record->correlation != wait->correlation)
            record++;
        assert_true(wait->launch >= part.spans.count);
        assert_memory_equal(found, record, sizeof(*record));
        record->launch = 0;
    }
    array_deinit(&part.spans);
}

static void records_come_back_as_they_were(void **state)
{
    static struct span all[PARTS * RECORDS];
    const struct spans_answer answer = make_answer();
    struct earlier_records records = {0};
    size_t count = 0;

    (void)state;
    CHECK_OK(earlier_records_init(&records, &answer, KEPT));
    for (int round = 0; round < 2; round++) {
        count = 0;
        earlier_records_restart(&records);
        for (int64_t i = 0; i < PARTS; i++) {
            struct spans_answer part = make_answer();

            if (count)
                check_waits(&records, all, count);
            for (size_t k = 0; k < RECORDS; k++) {
                all[count] = make_record((int64_t)count * 3 + pick(3), i);
                CHECK_OK(array_push(&part.spans, all[count++]));
            }
            CHECK_OK(earlier_records_keep(&records, &part));
            for (size_t k = count - RECORDS; k < count;
                 k++) /* it is behind the spans of its part */
                all[k].launch = SPAN_NONE;
            array_deinit(&part.spans);
        }
    }
    assert_true(records.kept.count <= 2 * KEPT);
    assert_true(records.archives[KEYS_OF_RUNS].count > 0);
    assert_true(records.archives[KEYS_OF_SESSIONS].count > 0);
    earlier_records_deinit(&records);
}

/* What was never recorded may be for something else, behind the first there was. */
static void what_was_not_recorded_is_not_there(void **state)
{
    const struct spans_answer answer = make_answer();
    struct earlier_records records = {0};
    struct spans_answer part = make_answer();

    (void)state;
    CHECK_OK(earlier_records_init(&records, &answer, 1));
    for (int64_t i = 0; i < 200; i++) {
        struct span record = make_record(10 + 4 * i, 0);

        record.run = SPAN_NONE;
        CHECK_OK(array_push(&part.spans, record));
    }
    CHECK_OK(earlier_records_keep(&records, &part));
    for (int64_t number = 5; number < 900; number++) {
        const bool is_there = number >= 10 && number < 810 && (number - 10) % 4 == 0;

        part.spans.items[0] = (struct span){
            .op = 1, .lane = 1, .run = SPAN_NONE, .launch = SPAN_NONE, .correlation = number};
        part.spans.count = 1;
        assert_int_equal(earlier_records_link(&records, &part),
                         is_there || number < 10 ? 0 : SPAN_PARTS_WHOLE);
        CHECK_U64(part.earlier_count, is_there);
    }
    array_deinit(&part.spans);
    earlier_records_deinit(&records);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_come_back_as_they_were),
        cmocka_unit_test(what_was_not_recorded_is_not_there),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
