/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU's queue: every item once, in order, whatever sleeps when. Runs under the thread sanitizer
 * too. */
#include "tests/support/check.h"

#include "kernels/kernels.h"
#include "runtime/exec/backend.h"

struct counter {
    uint64_t next;  /* the number that the next item must carry */
    uint64_t wrong; /* items that did not */
    uint64_t spin;  /* work of an item */
};

struct numbered {
    struct counter *counter;
    uint64_t number;
};

static void count_item(void *argument)
{
    struct numbered *item = argument;

    item->counter->wrong += item->number != item->counter->next;
    item->counter->next++;
    for (volatile uint64_t i = 0; i < item->counter->spin; i++)
        ;
}

/* More items than the queue has room for, so that the pushing side waits too. */
static void items_run_once_and_in_order(void **state)
{
    enum { ITEMS = 50000 };
    static struct numbered items[ITEMS];
    struct counter counter = {0};
    struct backend_queue *queue;

    CHECK_OK(backend_cpu.queue_create(&(struct backend_queue_config){.threads = 1}, &queue));
    for (uint64_t i = 0; i < ITEMS; i++) {
        items[i] = (struct numbered){&counter, i};
        backend_cpu.queue_push(queue, count_item, &items[i]);
    }
    backend_cpu.queue_wait(queue);
    CHECK_U64(counter.next, ITEMS);
    CHECK_U64(counter.wrong, 0);
    backend_cpu.queue_destroy(queue);
}

/* The worker falls asleep between some of the rounds and not between others. */
static void no_wake_up_is_missed(void **state)
{
    struct counter counter = {0};
    struct numbered item = {&counter, 0};
    struct backend_queue *queue;
    uint64_t pushed = 0;

    CHECK_OK(backend_cpu.queue_create(&(struct backend_queue_config){.threads = 1}, &queue));
    for (uint64_t round = 0; round < 3000; round++) {
        counter.spin = round * 37 % 5000;
        for (uint64_t i = 0; i < round % 4; i++, pushed++)
            backend_cpu.queue_push(queue, count_item, &item);
        for (volatile uint64_t i = 0; i < round * 101 % 20000; i++)
            ;
        backend_cpu.queue_wait(queue);
        item.number = pushed; /* wrong for all but the first: only the count matters here */
        CHECK_U64(counter.next, pushed);
    }
    backend_cpu.queue_destroy(queue);
}

static void destroying_finishes_what_is_queued(void **state)
{
    struct counter counter = {.spin = 1000};
    struct numbered item = {&counter, 0};
    struct backend_queue *queue;

    CHECK_OK(backend_cpu.queue_create(&(struct backend_queue_config){.threads = 1}, &queue));
    for (int i = 0; i < 1000; i++)
        backend_cpu.queue_push(queue, count_item, &item);
    backend_cpu.queue_destroy(queue);
    CHECK_U64(counter.next, 1000);
    backend_cpu.queue_destroy(NULL);
}

static void read_threads(void *argument)
{
    *(uint32_t *)argument = kernel_threads();
}

static void the_worker_leads_a_team_of_the_given_size(void **state)
{
    struct backend_queue *one, *three;
    uint32_t of_one = 0, of_three = 0;

    CHECK_OK(backend_cpu.queue_create(&(struct backend_queue_config){.threads = 1}, &one));
    CHECK_OK(backend_cpu.queue_create(&(struct backend_queue_config){.threads = 3}, &three));
    backend_cpu.queue_push(one, read_threads, &of_one);
    backend_cpu.queue_push(three, read_threads, &of_three);
    backend_cpu.queue_wait(one);
    backend_cpu.queue_wait(three);
    assert_int_equal(of_one, 1);
    assert_int_equal(of_three, 3);
    backend_cpu.queue_destroy(one);
    backend_cpu.queue_destroy(three);
}

static void memory_is_aligned_and_zero(void **state)
{
    for (size_t bytes = 0; bytes < 300; bytes += 7) {
        unsigned char *memory = backend_cpu.alloc(bytes);

        assert_non_null(memory);
        assert_int_equal((uintptr_t)memory % 64, 0);
        for (size_t i = 0; i < bytes; i++)
            assert_int_equal(memory[i], 0);
        backend_cpu.copy_in(memory, "x", bytes ? 1 : 0);
        backend_cpu.free(memory, bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(items_run_once_and_in_order),
        cmocka_unit_test(no_wake_up_is_missed),
        cmocka_unit_test(destroying_finishes_what_is_queued),
        cmocka_unit_test(the_worker_leads_a_team_of_the_given_size),
        cmocka_unit_test(memory_is_aligned_and_zero),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
