/* SPDX-License-Identifier: Apache-2.0 */
/* Batches: rows, losses that add up, texts, being full and empty. */
#include "daemon/batch.h"

#include "tests/support/check.h"

static void a_new_batch_is_empty(void **state)
{
    struct batch *batch = batch_create();

    assert_true(batch_is_empty(batch));
    assert_false(batch_is_full(batch));
    CHECK_U64(batch_row_count(batch), 0);
    batch_destroy(&batch);
    assert_null(batch);
    batch_destroy(&batch); /* allowed */
}

static void a_waiter_alone_makes_it_worth_handing_over(void **state)
{
    struct batch *batch = batch_create();

    batch_push(&batch->waiters, (struct batch_waiter){.token = 1});
    assert_false(batch_is_empty(batch));
    batch_destroy(&batch);
}

static void clearing_forgets_all_rows(void **state)
{
    struct batch *batch = batch_create();

    batch_push(&batch->events, (struct store_event){.op_id = 1});
    batch_push(&batch->ops, (struct store_op){.name = arena_text(&batch->texts, "conv", 4)});
    batch_push(&batch->ends, (struct batch_end){.session_id = 1});
    batch_add_gap(batch, 1, 1, "store", 1, 1, 1);
    batch->status = -5;
    batch_clear(batch);
    assert_true(batch_is_empty(batch));
    CHECK_U64(batch->texts.bytes, 0);
    assert_int_equal(batch->status, 0);
    batch_destroy(&batch);
}

/* What a backlog took is not kept by every batch that was there then. */
static void a_large_list_is_given_back_when_it_is_not_used(void **state)
{
    struct batch *batch = batch_create();

    for (int i = 0; i < BATCH_ROWS_FULL; i++)
        batch_push(&batch->events, (struct store_event){.op_id = i});
    batch_clear(batch);
    assert_true(batch->events.capacity >= BATCH_ROWS_FULL); /* it was used */
    batch_push(&batch->events, (struct store_event){.op_id = 1});
    batch_clear(batch);
    CHECK_U64(batch->events.capacity, 0);
    CHECK_U64(batch->events.count, 0);
    batch_push(&batch->events, (struct store_event){.op_id = 2});
    CHECK_U64(batch->events.items[0].op_id, 2);
    batch_destroy(&batch);
}

static void many_rows_make_it_full(void **state)
{
    struct batch *batch = batch_create();

    for (int i = 0; i < BATCH_ROWS_FULL / 2; i++) {
        assert_false(batch_is_full(batch));
        batch_push(&batch->events, (struct store_event){.op_id = i});
        batch_push(&batch->counters, (struct store_counter){.op_id = i});
    }
    assert_true(batch_is_full(batch));
    batch_destroy(&batch);
}

static void long_texts_make_it_full(void **state)
{
    struct batch *batch = batch_create();

    arena_memory(&batch->texts, BATCH_TEXT_BYTES_FULL - 8);
    assert_false(batch_is_full(batch));
    arena_memory(&batch->texts, 8);
    assert_true(batch_is_full(batch));
    batch_destroy(&batch);
}

static void losses_of_one_kind_add_up(void **state)
{
    struct batch *batch = batch_create();

    batch_add_gap(batch, 1, 7, "ring full", 5, 200, 300);
    batch_add_gap(batch, 1, 7, "ring full", 2, 100, 250);
    batch_add_gap(batch, 1, 7, "ring full", 1, STORE_NULL, STORE_NULL);
    batch_add_gap(batch, 1, 7, "too deep", 1, STORE_NULL, STORE_NULL);
    batch_add_gap(batch, 1, 7, "too deep", 1, 50, 60);
    batch_add_gap(batch, 1, 8, "ring full", 1, 1, 1);
    batch_add_gap(batch, 2, 7, "ring full", 1, 1, 1);
    CHECK_U64(batch->gaps.count, 4);
    CHECK_U64((uint64_t)batch->gaps.items[0].lost_count, 8);
    CHECK_U64((uint64_t)batch->gaps.items[0].start_ns, 100);
    CHECK_U64((uint64_t)batch->gaps.items[0].end_ns, 300);
    CHECK_U64((uint64_t)batch->gaps.items[1].lost_count, 2);
    CHECK_U64((uint64_t)batch->gaps.items[1].start_ns, 50);
    CHECK_U64((uint64_t)batch->gaps.items[1].end_ns, 60);
    batch_destroy(&batch);
}

static void losses_do_not_overflow(void **state)
{
    struct batch *batch = batch_create();

    for (int i = 0; i < 4; i++)
        batch_add_gap(batch, 1, 1, "store", UINT64_MAX, 1, 1);
    assert_true(batch->gaps.items[0].lost_count > INT64_MAX / 4);
    assert_true(batch->gaps.items[0].lost_count <= INT64_MAX / 2);
    batch_destroy(&batch);
}

static void losses_do_not_fill_memory(void **state)
{
    struct batch *batch = batch_create();
    uint64_t sum = 0;

    for (int i = 0; i < BATCH_GAPS_MAX + 1000; i++)
        batch_add_gap(batch, i, 1, "store", 1, 1, 1);
    CHECK_U64(batch->gaps.count, BATCH_GAPS_MAX);
    for (size_t i = 0; i < batch->gaps.count; i++)
        sum += (uint64_t)batch->gaps.items[i].lost_count;
    CHECK_U64(sum, BATCH_GAPS_MAX + 1000);
    batch_destroy(&batch);
}

static void an_arena_gives_aligned_memory_of_any_size(void **state)
{
    struct arena arena = {0};
    char *texts[1000];

    for (size_t i = 0; i < 1000; i++) {
        char text[32];
        int length = snprintf(text, sizeof(text), "text %zu", i);

        texts[i] = arena_text(&arena, text, (size_t)length);
        assert_int_equal((uintptr_t)texts[i] % 8, 0);
        memset(arena_memory(&arena, i * 100), 0xff, i * 100);
    }
    for (size_t i = 0; i < 1000; i++) {
        char text[32];

        snprintf(text, sizeof(text), "text %zu", i);
        assert_string_equal(texts[i], text);
    }
    assert_string_equal(arena_text(&arena, NULL, 0), "");
    arena_deinit(&arena);
    CHECK_U64(arena.bytes, 0);
    arena_deinit(&arena);
}

/* Two batches that come back together are both used again, empty. */
static void spares_are_used_again(void **state)
{
    struct batch_spares spares = {0};
    struct batch *first = batch_create(), *second = batch_create(), *third = batch_create();

    assert_null(batch_spares_take(&spares));
    batch_push(&first->events, (struct store_event){.op_id = 1});
    batch_spares_put(&spares, first);
    batch_spares_put(&spares, second);
    batch_spares_put(&spares, third); /* one too many: destroyed */
    assert_ptr_equal(batch_spares_take(&spares), second);
    assert_ptr_equal(batch_spares_take(&spares), first);
    assert_true(batch_is_empty(first));
    assert_true(first->events.capacity > 0);
    assert_null(batch_spares_take(&spares));
    batch_spares_put(&spares, first);
    batch_destroy(&second);
    batch_spares_deinit(&spares);
    CHECK_U64(spares.count, 0);
}

/* After a backlog, where one is enough, the other goes. */
static void a_spare_that_is_not_needed_goes(void **state)
{
    struct batch_spares spares = {0};
    struct batch *batch = batch_create();

    batch_spares_put(&spares, batch_create());
    for (int i = 0; i < BATCH_SPARE_TAKES; i++) {
        CHECK_U64(spares.count, 1);
        batch_spares_put(&spares, batch);
        assert_ptr_equal(batch_spares_take(&spares), batch);
    }
    CHECK_U64(spares.count, 0);
    batch_spares_put(&spares, batch);
    for (int i = 0; i < 2 * BATCH_SPARE_TAKES; i++) {
        assert_ptr_equal(batch_spares_take(&spares), batch);
        batch_spares_put(&spares, batch);
    }
    CHECK_U64(spares.count, 1);
    batch_spares_deinit(&spares);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_batch_is_empty),
        cmocka_unit_test(a_waiter_alone_makes_it_worth_handing_over),
        cmocka_unit_test(clearing_forgets_all_rows),
        cmocka_unit_test(a_large_list_is_given_back_when_it_is_not_used),
        cmocka_unit_test(many_rows_make_it_full),
        cmocka_unit_test(long_texts_make_it_full),
        cmocka_unit_test(losses_of_one_kind_add_up),
        cmocka_unit_test(losses_do_not_overflow),
        cmocka_unit_test(losses_do_not_fill_memory),
        cmocka_unit_test(spares_are_used_again),
        cmocka_unit_test(a_spare_that_is_not_needed_goes),
        cmocka_unit_test(an_arena_gives_aligned_memory_of_any_size),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
