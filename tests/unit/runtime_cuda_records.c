/* SPDX-License-Identifier: Apache-2.0 */
/* When steps ran by CUPTI's records, where the test is CUPTI: who has it, records that come on other
 * threads at any time, and memory that is not there. Also under the thread sanitizer. */
#include "runtime/exec/cuda_records.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

#include "base/array.h"
#include "base/cupti/records.h"
#include "tests/support/check.h"
#include "tests/support/cuda/double.h"

enum { STEPS = 5, LAUNCH = 307, COPY = 277, RUNS = 150 };

/* --- Memory: the allocation with this number fails, counted by thread; 0: none --- */

static _Thread_local int fails_at;

void *__real_realloc(void *memory, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);
void *__real_aligned_alloc(size_t alignment, size_t bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes);

static bool fails_now(void)
{
    return fails_at > 0 && --fails_at == 0;
}

void *__wrap_realloc(void *memory, size_t bytes)
{
    return fails_now() ? NULL : __real_realloc(memory, bytes);
}

void *__wrap_aligned_alloc(size_t alignment, size_t bytes)
{
    return fails_now() ? NULL : __real_aligned_alloc(alignment, bytes);
}

/* --- CUPTI --- */

static struct double_hooks hooks;

static void call(uint32_t id, uint32_t correlation)
{
    const struct cupti_call told = {.correlation = correlation};

    hooks.callback(NULL, CUPTI_DRIVER, id, &told);
}

/* A kernel of each of `count` calls, that took 10 ns more than the one before. */
static void deliver(uint32_t correlation, uint32_t count, uint64_t start_ns)
{
    uint8_t *buffer = NULL;
    size_t bytes = 0, limit = 0;

    hooks.request(&buffer, &bytes, &limit);
    if (!buffer || bytes < count * hooks.kernel_bytes)
        return; /* CUPTI drops them */
    memset(buffer, 0, count * hooks.kernel_bytes);
    for (uint32_t i = 0; i < count; i++) {
        const struct cupti_kernel kernel = {.kind = CUPTI_KERNEL,
                                            .correlation = correlation + i,
                                            .start = start_ns + i,
                                            .end = start_ns + i + 10 * (i + 1)};

        memcpy(buffer + i * hooks.kernel_bytes, &kernel,
               sizeof(kernel) < hooks.kernel_bytes ? sizeof(kernel) : hooks.kernel_bytes);
    }
    hooks.complete(NULL, 0, buffer, bytes, count * hooks.kernel_bytes);
}

static void hand_over(uint32_t first)
{
    for (uint32_t i = 0; i < STEPS; i++) {
        cuda_records_step(i);
        call(LAUNCH, first + i);
        cuda_records_step(UINT32_MAX);
        call(LAUNCH, first + i); /* of no step */
    }
}

static bool are_right(const struct device_span *spans, uint64_t start_ns)
{
    for (uint32_t i = 0; i < STEPS; i++)
        if (spans[i].start_ns != start_ns + i || spans[i].kern_ns != start_ns + i ||
            spans[i].end_ns != start_ns + i + 10 * (i + 1))
            return false;
    return true;
}

static void begin(const void *owner)
{
    const char *why = cuda_records_begin(owner, STEPS);

    if (why)
        fail_msg("%s", why);
    cuda_double_get_hooks(&hooks);
}

/* --- Cases --- */

struct delivery {
    uint32_t correlation;
    uint64_t start_ns;
};

static void *deliver_late(void *user)
{
    const struct delivery *delivery = user;

    nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    deliver(delivery->correlation, 2, delivery->start_ns);
    nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    deliver(delivery->correlation + 2, STEPS - 2, delivery->start_ns + 2);
    return NULL;
}

/* Also where numbers of calls go round, and 0 is one of them. */
static void waits_for_records_of_another_thread(void **state)
{
    int owner = 0;
    const uint32_t firsts[] = {100, 2, UINT32_MAX - 1};

    (void)state;
    for (size_t i = 0; i < sizeof(firsts) / sizeof(firsts[0]); i++) {
        struct delivery delivery = {firsts[i], 0};
        const struct device_span *spans = NULL;
        pthread_t thread;

        begin(&owner);
        delivery.start_ns = cuda_double_now();
        hand_over(firsts[i]);
        CHECK_OK(pthread_create(&thread, NULL, deliver_late, &delivery));
        assert_null(cuda_records_end(&spans));
        CHECK_OK(pthread_join(thread, NULL));
        assert_int_equal(spans[1].start_ns, delivery.start_ns + 1);
        assert_int_equal(spans[1].end_ns, delivery.start_ns + 1 + 20);
        assert_int_equal(spans[4].end_ns, delivery.start_ns + 4 + 30);
    }
    assert_string_equal(cuda_records_name(), "CUPTI 13.5");
    cuda_records_leave(&owner);
}

static void says_what_is_not_whole(void **state)
{
    const struct device_span *spans;
    int owner = 0;

    (void)state;
    begin(&owner);
    hand_over(10);
    deliver(10, STEPS - 1, cuda_double_now());
    CHECK_CONTAINS(cuda_records_end(&spans), "did not come");
    begin(&owner);
    cuda_records_step(0);
    call(LAUNCH, 20);
    call(LAUNCH, 19);
    cuda_records_step(STEPS); /* there is no such */
    call(LAUNCH, 21);
    cuda_records_step(UINT32_MAX);
    CHECK_CONTAINS(cuda_records_end(&spans), "does not number calls");
    begin(&owner);
    hand_over(30);
    deliver(30, STEPS, cuda_double_now() - 1000000000u);
    CHECK_CONTAINS(cuda_records_end(&spans), "lie outside");
    begin(&owner);
    hand_over(40);
    deliver(40, STEPS, 0);
    CHECK_CONTAINS(cuda_records_end(&spans), "have no times");
    begin(&owner); /* records of the run before, which come now, are of no call */
    deliver(40, STEPS, cuda_double_now());
    assert_null(cuda_records_end(&spans));
    assert_int_equal(spans[0].end_ns, 0);
    assert_null(cuda_records_begin(&owner, 0));
    assert_null(cuda_records_end(&spans));
    cuda_records_leave(&owner);
}

/* Each allocation of a run fails in turn: it is said, and the next run is as if nothing had been. */
static void does_without_memory(void **state)
{
    static const char *const told[] = {"out of memory", "dropped", "did not come", NULL};
    int owner = 0, failed = 0;
    bool has_failed = true;

    (void)state;
    for (int number = 1; has_failed; number++) {
        const struct device_span *spans;
        uint64_t start_ns;
        const char *why;

        cuda_records_leave(&owner); /* so that all is taken anew */
        fails_at = number;
        why = cuda_records_begin(&owner, STEPS);
        if (!why) {
            start_ns = cuda_double_now();
            hand_over(1);
            deliver(1, STEPS, start_ns);
            why = cuda_records_end(&spans);
        }
        has_failed = fails_at == 0;
        fails_at = 0;
        failed += has_failed;
        assert_int_equal(why != NULL, has_failed);
        for (size_t i = 0; why && !strstr(why, told[i]); i++)
            assert_non_null(told[i + 1]);
        begin(&owner);
        start_ns = cuda_double_now();
        hand_over(100);
        deliver(100, STEPS, start_ns);
        assert_null(cuda_records_end(&spans));
        assert_true(are_right(spans, start_ns));
    }
    assert_true(failed >= 3); /* spans, counts, calls or a buffer */
    cuda_records_leave(&owner);
}

static atomic_uint next_call = 1000, runs_done, refusals;
static atomic_bool is_over;

/* An execution: it has CUPTI for some runs, or another one has it. */
static void *execute(void *user)
{
    for (int i = 0; i < RUNS; i++) {
        const struct device_span *spans;
        const char *why = cuda_records_begin(user, STEPS);
        uint32_t first = atomic_fetch_add(&next_call, STEPS);
        uint64_t start_ns = cuda_double_now();

        if (why) {
            if (strcmp(why, "another execution of this process has CUPTI") != 0)
                return (void *)why;
            atomic_fetch_add(&refusals, 1);
            continue;
        }
        hand_over(first);
        deliver(first, STEPS, start_ns);
        why = cuda_records_end(&spans);
        if (why)
            return (void *)why;
        if (!are_right(spans, start_ns) || !cuda_records_name())
            return "spans are wrong";
        atomic_fetch_add(&runs_done, 1);
        if (i % 4 == 3)
            cuda_records_leave(user);
    }
    cuda_records_leave(user);
    return NULL;
}

/* Records of what no execution has handed over, and calls of no step. */
static void *disturb(void *user)
{
    (void)user;
    while (!is_over) {
        deliver(1, 3, cuda_double_now());
        call(LAUNCH, 1);
        call(COPY, 2);
    }
    return NULL;
}

static void is_had_by_one_of_several(void **state)
{
    int owners[3] = {0};
    pthread_t threads[3], disturber;
    void *why = NULL;

    (void)state;
    begin(&owners[0]);
    cuda_records_leave(&owners[0]);
    CHECK_OK(pthread_create(&disturber, NULL, disturb, NULL));
    for (int i = 0; i < 3; i++)
        CHECK_OK(pthread_create(&threads[i], NULL, execute, &owners[i]));
    for (int i = 0; i < 3; i++) {
        void *said = NULL;

        CHECK_OK(pthread_join(threads[i], &said));
        why = said ? said : why;
    }
    is_over = true;
    CHECK_OK(pthread_join(disturber, NULL));
    if (why)
        fail_msg("%s", (const char *)why);
    assert_true(runs_done > 0);
    assert_int_equal(runs_done + refusals, 3 * RUNS);
}

/* Is another process: what is asked for once stays refused. */
static void says_each_refusal(void **state)
{
    const struct device_span *spans;
    const char *first, *second;
    int owner = 0;

    (void)state;
    begin(&owner);
    first = cuda_records_end(&spans);
    begin(&owner);
    second = cuda_records_end(&spans);
    assert_string_equal(first, "CUPTI refused (error 5 of cuptiActivityFlushAll)");
    assert_ptr_equal(first, second);
    cuda_records_leave(&owner);
}

int main(void)
{
    const struct CMUnitTest refused[] = {cmocka_unit_test(says_each_refusal)};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_for_records_of_another_thread),
        cmocka_unit_test(says_what_is_not_whole),
        cmocka_unit_test(does_without_memory),
        cmocka_unit_test(is_had_by_one_of_several),
    };

    if (getenv("CUDA_DOUBLE_FAIL"))
        return cmocka_run_group_tests(refused, NULL, NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
