/* SPDX-License-Identifier: Apache-2.0 */
/* The team of threads behind the kernels: each part of a loop once, barriers, steps, loops in loops, teams
 * that grow, end and are left behind by a fork. Runs under the thread sanitizer too. */
#include "tests/support/check.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernels/cpu/team.h"
#include "kernels/kernels.h"

/* What oneDNN is linked to. */
extern void GOMP_parallel(void (*work)(void *), void *data, unsigned threads, unsigned flags);
extern void GOMP_barrier(void);
extern int omp_get_max_threads(void);
extern int omp_get_num_threads(void);
extern int omp_get_thread_num(void);
extern int omp_in_parallel(void);

enum { ITEMS = 1000, THREADS = 4, ROUNDS = 200 };

static void count_items(void *argument, int64_t begin, int64_t end)
{
    int *counts = argument;

    for (int64_t i = begin; i < end; i++)
        counts[i]++;
}

static void check_counts(int64_t items, int wanted)
{
    int counts[ITEMS] = {0};

    for (int round = 0; round < wanted; round++)
        team_for(items, 1, count_items, counts);
    for (int64_t i = 0; i < ITEMS; i++)
        assert_int_equal(counts[i], i < items ? wanted : 0);
}

static void test_each_item_once(void **state)
{
    (void)state;
    for (uint32_t threads = 1; threads <= THREADS; threads++) {
        kernel_set_threads(threads);
        assert_int_equal(kernel_threads(), threads);
        check_counts(0, 1);
        check_counts(1, 3);
        check_counts(3, ROUNDS);
        check_counts(ITEMS, ROUNDS);
    }
}

/* A team shrinks and grows between loops; helpers that sit out must not miss their turn. */
static void test_sizes_change(void **state)
{
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        kernel_set_threads(1 + (uint32_t)(round * 7 % THREADS));
        check_counts(1 + round * 13 % ITEMS, 2);
        if (round % 50 == 0)
            usleep(3000); /* until the helpers sleep */
    }
}

struct phases {
    int sums[THREADS][ROUNDS];
    atomic_int wrong;
};

/* Each thread reads what all the others wrote before the barrier. */
static void work_in_phases(void *data)
{
    struct phases *phases = data;
    int index = omp_get_thread_num(), threads = omp_get_num_threads();

    for (int round = 0; round < ROUNDS; round++) {
        phases->sums[index][round] = round + index;
        GOMP_barrier();
        for (int other = 0; other < threads; other++)
            if (phases->sums[other][round] != round + other)
                atomic_fetch_add(&phases->wrong, 1);
        if (index == round % threads && round % 64 == 0)
            usleep(2000); /* the others sleep at the next barrier */
    }
    if (!omp_in_parallel())
        atomic_fetch_add(&phases->wrong, 1);
}

static void test_barriers(void **state)
{
    struct phases *phases = calloc(1, sizeof(*phases));

    (void)state;
    assert_non_null(phases);
    kernel_set_threads(THREADS);
    assert_int_equal(omp_get_max_threads(), THREADS);
    assert_false(omp_in_parallel());
    for (unsigned threads = 2; threads <= THREADS; threads++)
        GOMP_parallel(work_in_phases, phases, threads, 0);
    GOMP_parallel(work_in_phases, phases, 0, 0); /* as many as there are */
    assert_int_equal(atomic_load(&phases->wrong), 0);
    assert_int_equal(omp_get_num_threads(), 1);
    free(phases);
}

/* What two items of the step before make of each. */
struct mix {
    uint32_t items[2][ITEMS];
    int64_t slow; /* the step at which the first part takes long */
};

static void mix_items(void *argument, int64_t step, int64_t begin, int64_t end)
{
    struct mix *mix = argument;
    const uint32_t *from = mix->items[step % 2];
    uint32_t *to = mix->items[(step + 1) % 2];

    for (int64_t i = begin; i < end; i++)
        to[i] = 31 * from[ITEMS - 1 - i] + from[i] + (uint32_t)step;
    if (begin == 0 && step == mix->slow)
        usleep(3000); /* the others sleep */
}

static void test_steps_see_the_one_before(void **state)
{
    static struct mix one, many;

    (void)state;
    kernel_set_threads(1);
    for (uint32_t i = 0; i < ITEMS; i++)
        one.items[0][i] = i;
    many = one;
    one.slow = -1;
    team_steps(ROUNDS, ITEMS, 1, mix_items, &one);
    team_steps(0, ITEMS, 1, mix_items, &one);
    team_steps(1, 0, 1, mix_items, &one);
    for (uint32_t threads = 2; threads <= THREADS; threads++) {
        kernel_set_threads(threads);
        for (int round = 0; round < 20; round++) {
            for (uint32_t i = 0; i < ITEMS; i++)
                many.items[0][i] = i;
            many.slow = round % 5 == 0 ? round : -1;
            team_steps(ROUNDS, ITEMS, 1, mix_items, &many);
            assert_memory_equal(one.items[ROUNDS % 2], many.items[ROUNDS % 2],
                                sizeof(one.items[0]));
        }
    }
}

struct visits {
    pthread_t leader;
    atomic_int others, slow; /* parts that others did; of these still to take long */
};

static void visit(void *argument, int64_t step, int64_t begin, int64_t end)
{
    struct visits *visits = argument;

    (void)step;
    (void)end;
    if (pthread_equal(pthread_self(), visits->leader)) {
        if (begin == 0)
            usleep(1000); /* so that the other one comes to its share */
        return;
    }
    atomic_fetch_add(&visits->others, 1);
    if (atomic_fetch_sub(&visits->slow, 1) > 0)
        usleep(300000);
}

/* A helper that loses its CPU within a step is not waited for again. */
static void *stall(void *argument)
{
    struct visits visits = {.leader = pthread_self()};

    kernel_set_threads(2);
    atomic_store(&visits.slow, 1);
    for (int i = 0; i < 1000 && atomic_load(&visits.others) == 0; i++)
        team_steps(1, 2, 1, visit, &visits);
    assert_int_not_equal(atomic_load(&visits.others), 0);
    atomic_store(&visits.others, 0);
    team_steps(20, 2, 1, visit, &visits);
    assert_int_equal(atomic_load(&visits.others), 0);
    return argument;
}

static void test_stalls(void **state)
{
    pthread_t leader; /* whose team nobody else has */

    (void)state;
    assert_int_equal(pthread_create(&leader, NULL, stall, NULL), 0);
    pthread_join(leader, NULL);
}

static void nested_steps(void *argument, int64_t begin, int64_t end)
{
    for (int64_t i = begin; i < end; i++) {
        struct visits visits = {.leader = pthread_self()};

        team_steps(2, ITEMS, 1, visit, &visits);
        atomic_fetch_add((atomic_int *)argument, atomic_load(&visits.others));
    }
}

static void test_nested_steps_run_alone(void **state)
{
    atomic_int others = 0;

    (void)state;
    kernel_set_threads(THREADS);
    team_for(THREADS, 1, nested_steps, &others);
    assert_int_equal(atomic_load(&others), 0);
}

struct nested {
    atomic_int inner, wrong;
};

static void inner_loop(void *data)
{
    struct nested *nested = data;

    atomic_fetch_add(&nested->inner, 1);
    GOMP_barrier(); /* of one */
    if (omp_get_num_threads() != 1 || omp_get_thread_num() != 0)
        atomic_fetch_add(&nested->wrong, 1);
}

static void outer_loop(void *data)
{
    struct nested *nested = data;
    int index = omp_get_thread_num();

    GOMP_parallel(inner_loop, nested, THREADS, 0);
    if (omp_get_thread_num() != index || omp_get_num_threads() != THREADS)
        atomic_fetch_add(&nested->wrong, 1);
}

static void test_nested_loops_run_alone(void **state)
{
    struct nested nested = {0};

    (void)state;
    kernel_set_threads(THREADS);
    GOMP_parallel(outer_loop, &nested, THREADS, 0);
    assert_int_equal(atomic_load(&nested.inner), THREADS);
    assert_int_equal(atomic_load(&nested.wrong), 0);
}

static void *lead_a_team(void *argument)
{
    kernel_set_threads(3);
    for (int round = 0; round < ROUNDS; round++)
        team_for(ITEMS, 1, count_items, argument);
    return NULL;
}

/* Each leader has a team of its own, which ends with it. */
static void test_leaders(void **state)
{
    static int counts[THREADS][ITEMS];
    pthread_t threads[THREADS];

    (void)state;
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, lead_a_team, counts[i]), 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    for (int i = 0; i < THREADS; i++)
        for (int64_t item = 0; item < ITEMS; item++)
            assert_int_equal(counts[i][item], ROUNDS);
}

static void test_pins(void **state)
{
    uint32_t cores[2] = {0, 0}, none[2] = {0, 4000000};

    (void)state;
    kernel_set_threads(2);
    assert_int_equal(kernel_pin_threads(none, 2), -EINVAL);
    assert_int_equal(kernel_pin_threads(cores, 2), 0);
    check_counts(ITEMS, ROUNDS); /* two on one core */
}

static void note_thread(void *argument, int64_t begin, int64_t end)
{
    pthread_t *threads = argument;

    for (int64_t i = begin; i < end; i++)
        threads[i] = pthread_self();
    if (begin == 0)
        usleep(1000); /* so that the other one comes to its share */
}

/* A leader and its helper begin on one CPU. */
static void *crowd(void *argument)
{
    pthread_t threads[2] = {pthread_self(), pthread_self()};
    cpu_set_t one, before, after;

    (void)argument;
    kernel_set_threads(2);
    for (int i = 0; i < 1000 && pthread_equal(threads[1], pthread_self()); i++)
        team_for(2, 1, note_thread, threads);
    assert_false(pthread_equal(threads[1], pthread_self()));
    assert_int_equal(pthread_getaffinity_np(threads[1], sizeof(before), &before), 0);
    CPU_ZERO(&one);
    for (int cpu = 0; CPU_COUNT(&one) == 0; cpu++)
        if (CPU_ISSET(cpu, &before))
            CPU_SET(cpu, &one);
    assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
    assert_int_equal(pthread_setaffinity_np(threads[1], sizeof(one), &one), 0);
    check_counts(ITEMS, ROUNDS); /* it has no other */
    assert_int_equal(pthread_getaffinity_np(threads[1], sizeof(after), &after), 0);
    assert_true(CPU_EQUAL(&one, &after));
    assert_int_equal(pthread_setaffinity_np(threads[1], sizeof(before), &before), 0);
    check_counts(ITEMS, ROUNDS);
    assert_int_equal(pthread_getaffinity_np(threads[1], sizeof(after), &after), 0);
    assert_true(CPU_EQUAL(&before, &after));
    return NULL;
}

/* A helper that is sent to another CPU may go where it might before. */
static void test_crowds(void **state)
{
    pthread_t leader;

    (void)state;
    assert_int_equal(pthread_create(&leader, NULL, crowd, NULL), 0);
    pthread_join(leader, NULL);
}

/* The child has no helpers: it starts its own. */
static void test_fork(void **state)
{
    int status = -1;
    pid_t child;

    (void)state;
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
    skip(); /* it starts no threads in a child */
#endif
#endif
    kernel_set_threads(THREADS);
    check_counts(ITEMS, 1);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        int counts[ITEMS] = {0};

        team_for(ITEMS, 1, count_items, counts);
        for (int64_t i = 0; i < ITEMS; i++)
            if (counts[i] != 1)
                _exit(1);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* oneDNN finds what the program defines, not what libgomp does. */
static void test_symbols_go_first(void **state)
{
    static const char *const names[] = {"GOMP_parallel",       "GOMP_barrier",
                                        "omp_get_max_threads", "omp_get_num_threads",
                                        "omp_get_thread_num",  "omp_in_parallel"};
    struct kernel_conv none = {.groups = 1};
    struct kernel_conv_versions versions;
    Dl_info main_program, found;

    (void)state;
    /* Links oneDNN, which brings libgomp. */
    assert_int_equal(kernel_conv_plan_list(&none, false, false, false, &versions), -ENOTSUP);
    assert_non_null(dlopen("libgomp.so.1", RTLD_NOLOAD | RTLD_LAZY)); /* it is there */
    assert_int_not_equal(dladdr((void *)&kernel_set_threads, &main_program), 0);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        assert_int_not_equal(dladdr(dlsym(RTLD_DEFAULT, names[i]), &found), 0);
        assert_ptr_equal(found.dli_fbase, main_program.dli_fbase);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_item_once), cmocka_unit_test(test_sizes_change),
        cmocka_unit_test(test_barriers),       cmocka_unit_test(test_nested_loops_run_alone),
        cmocka_unit_test(test_leaders),        cmocka_unit_test(test_fork),
        cmocka_unit_test(test_pins),           cmocka_unit_test(test_symbols_go_first),
        cmocka_unit_test(test_crowds),         cmocka_unit_test(test_steps_see_the_one_before),
        cmocka_unit_test(test_stalls),         cmocka_unit_test(test_nested_steps_run_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
