/* SPDX-License-Identifier: Apache-2.0 */
/* CPU counters of one thread: lists, what they count, what is left where the system refuses. */
#include "client/counters.h"

#include <dirent.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/check.h"
#include "tests/support/child.h"
#include "tests/support/forbid_perf.h"
#include "tests/support/pages.h"
#include "tests/support/wait.h"

enum { PAGES = 200, SLEEPS = 7, PAGES_BESIDE = 40, ALL = (1 << OT_COUNTER_UNSCHEDULED) - 1 };

static const uint32_t kept_mask =
    1U << OT_COUNTER_PAGE_FAULTS | 1U << OT_COUNTER_CONTEXT_SWITCHES | 1U << OT_COUNTER_TASK_CLOCK;

static uint32_t parse(const char *list)
{
    char why[256] = "";
    uint32_t mask = 0;

    if (ot_counters_parse(list, &mask, why, sizeof(why)) < 0)
        fail_msg("\"%s\": %s", list, why);
    return mask;
}

static void lists_are_read(void **state)
{
    assert_int_equal(parse(NULL), 0);
    assert_int_equal(parse(" , "), 0);
    assert_int_equal(parse("cycles"), 1 << OT_COUNTER_CYCLES);
    assert_int_equal(parse("task-clock,page-faults, task-clock"),
                     1 << OT_COUNTER_TASK_CLOCK | 1 << OT_COUNTER_PAGE_FAULTS);
    assert_int_equal(parse("instructions,cycles,cache-misses,branch-misses,page-faults,"
                           "context-switches,cpu-migrations,task-clock"),
                     ALL);
}

static void a_wrong_name_gets_a_sentence(void **state)
{
    char why[256];
    uint32_t mask = 77;

    assert_int_equal(ot_counters_parse("cycles,page_fault", &mask, why, sizeof(why)), -EINVAL);
    assert_string_equal(why, "there is no counter \"page_fault\": did you mean page-faults?");
    assert_int_equal(ot_counters_parse("watts-per-hour", &mask, why, sizeof(why)), -EINVAL);
    CHECK_CONTAINS(why, "there is no counter \"watts-per-hour\"; there are instructions, cycles,");
    assert_int_equal(ot_counters_parse("cycle", &mask, why, 10), -EINVAL);
    assert_string_equal(why, "there is ");
    assert_int_equal(mask, 77);
}

static void touch_pages(void)
{
    static volatile char *memory;

    if (!memory)
        memory = pages_map(PAGES);
    pages_touch(memory, PAGES);
}

static void sleep_some(int count)
{
    for (int i = 0; i < count; i++)
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
}

/* What needs no permission counts, and counts right. */
static void check_kept(struct ot_counters *counters)
{
    double before[OT_COUNTERS];

    assert_int_equal(counters->open & kept_mask, kept_mask);
    touch_pages();
    ot_counters_read(counters);
    memcpy(before, counters->values, sizeof(before));
    touch_pages();
    ot_counters_read(counters);
    assert_true(counters->values[OT_COUNTER_PAGE_FAULTS] >= before[OT_COUNTER_PAGE_FAULTS] + PAGES);
    assert_true(counters->values[OT_COUNTER_PAGE_FAULTS] <
                before[OT_COUNTER_PAGE_FAULTS] + PAGES + PAGES_BESIDE);
    assert_true(counters->values[OT_COUNTER_TASK_CLOCK] > before[OT_COUNTER_TASK_CLOCK]);
    memcpy(before, counters->values, sizeof(before));
    sleep_some(SLEEPS);
    ot_counters_read(counters);
    assert_true(counters->values[OT_COUNTER_CONTEXT_SWITCHES] >=
                before[OT_COUNTER_CONTEXT_SWITCHES] + SLEEPS);
}

static void faults_switches_and_time_are_counted(void **state)
{
    struct ot_counters counters;

    ot_counters_open(&counters, kept_mask);
    assert_int_equal(counters.fd_count, 0); /* no file for these */
    check_kept(&counters);
    ot_counters_close(&counters);
}

static unsigned count_files(void)
{
    DIR *dir = opendir("/proc/self/fd");
    unsigned count = 0;

    assert_non_null(dir);
    while (readdir(dir))
        count++;
    closedir(dir);
    return count;
}

/* Whatever this machine and its permissions allow. */
static void all_that_can_be_opened_is(void **state)
{
    const unsigned files = count_files();
    struct ot_counters counters;
    double before[OT_COUNTERS];
    char text[512];

    ot_counters_open(&counters, ALL);
    check_kept(&counters);
    memcpy(before, counters.values, sizeof(before));
    for (volatile int i = 0; i < 1000000; i++)
        continue;
    ot_counters_read(&counters);
    ot_counters_describe(&counters, text, sizeof(text));
    for (int i = 0; i < OT_COUNTER_UNSCHEDULED; i++) {
        const bool is_open = counters.open & 1U << i;

        assert_true(is_open == (counters.errors[i] == 0));
        assert_true(counters.values[i] >= before[i]);
        CHECK_CONTAINS(text, ot_counter_word((enum ot_counter)i));
    }
    if (counters.open & 1U << OT_COUNTER_INSTRUCTIONS)
        assert_true(counters.values[OT_COUNTER_INSTRUCTIONS] >=
                    before[OT_COUNTER_INSTRUCTIONS] + 1e6);
    assert_int_equal(count_files(), files + counters.fd_count);
    ot_counters_close(&counters);
    assert_int_equal(count_files(), files);
}

static int count_without_perf(void *argument)
{
    const int error = *(const int *)argument;
    struct ot_counters counters;
    char text[512];

    forbid_perf(error);
    ot_counters_open(&counters, ALL);
    assert_int_equal(counters.open, kept_mask);
    assert_int_equal(counters.fd_count, 0);
    for (int i = 0; i < OT_COUNTER_UNSCHEDULED; i++)
        assert_int_equal(counters.errors[i], kept_mask & 1U << i ? 0 : -error);
    check_kept(&counters);
    ot_counters_describe(&counters, text, sizeof(text));
    puts(text);
    ot_counters_close(&counters);
    return 0;
}

static void run_child(int (*function)(void *), void *context, const char *wanted)
{
    struct child child;

    child_start_function(&child, function, context);
    if (child_wait(&child, WAIT_MS) != 0)
        fail_msg("%s%s", child.out, child.err);
    CHECK_CONTAINS(child.out, wanted);
    child_deinit(&child);
}

static void a_container_that_forbids_perf_leaves_the_rest(void **state)
{
    int error = EPERM;

    run_child(count_without_perf, &error,
              "page-faults, context-switches, task-clock; not instructions, cycles, cache-misses, "
              "branch-misses, cpu-migrations (not permitted: see kernel.perf_event_paranoid");
    error = ENOSYS;
    run_child(count_without_perf, &error, "has no perf_event_open()");
}

/* Without privilege the kernel's part of perf_event may be closed, and switches happen there. */
static int count_as_nobody(void *context)
{
    struct ot_counters counters;

    if (geteuid() == 0 && setuid(65534) < 0)
        return 0; /* a user namespace without that user */
    ot_counters_open(&counters, ALL);
    check_kept(&counters);
    ot_counters_close(&counters);
    return 0;
}

static void without_privilege_switches_are_not_zero(void **state)
{
    run_child(count_as_nobody, NULL, "");
}

static void a_shared_processor_scales_counts(void **state)
{
    struct ot_counters counters = {
        .open = 1U << OT_COUNTER_CYCLES | 1U << OT_COUNTER_INSTRUCTIONS,
        .members = {OT_COUNTER_CYCLES, OT_COUNTER_INSTRUCTIONS},
        .fd_count = 2,
    };

    ot_counters_take(&counters, &(struct ot_counters_group){2, 100, 100, {1000, 300}});
    assert_true(counters.values[OT_COUNTER_CYCLES] == 1000);
    assert_true(counters.values[OT_COUNTER_UNSCHEDULED] == 0);
    /* A quarter of the time: four times what was counted. */
    ot_counters_take(&counters, &(struct ot_counters_group){2, 500, 200, {1500, 400}});
    assert_true(counters.values[OT_COUNTER_CYCLES] == 3000);
    assert_true(counters.values[OT_COUNTER_INSTRUCTIONS] == 700);
    assert_true(counters.values[OT_COUNTER_UNSCHEDULED] == 300);
    /* Not on the processor at all: nothing is made up, and nothing is forgotten. */
    ot_counters_take(&counters, &(struct ot_counters_group){2, 600, 200, {1500, 400}});
    assert_true(counters.values[OT_COUNTER_CYCLES] == 3000);
    assert_true(counters.values[OT_COUNTER_UNSCHEDULED] == 400);
    ot_counters_take(&counters, &(struct ot_counters_group){2, 700, 300, {1600, 450}});
    assert_true(counters.values[OT_COUNTER_CYCLES] == 3200);
    assert_true(counters.values[OT_COUNTER_INSTRUCTIONS] == 800);
}

/* The program closes what it does not know, and opens a pipe in its place: it is neither read nor
 * closed. */
static void what_became_the_programs_is_left_alone(void **state)
{
    static struct ot_counters counters;
    char byte = 0;
    int fds[2];

    ot_counters_open(&counters, UINT32_C(1) << OT_COUNTER_CPU_MIGRATIONS);
    if (counters.fd_count == 0)
        CHECK_SKIP("no perf_event_open() here");
    assert_true(counters.fds[0] >= 32);
    assert_int_equal(pipe(fds), 0);
    assert_int_equal(write(fds[1], "x", 1), 1);
    assert_int_equal(dup2(fds[0], counters.fds[0]), counters.fds[0]);
    ot_counters_read(&counters);
    ot_counters_close(&counters);
    assert_int_equal(read(fds[0], &byte, 1), 1);
    assert_int_equal(byte, 'x');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_became_the_programs_is_left_alone),
        cmocka_unit_test(lists_are_read),
        cmocka_unit_test(a_wrong_name_gets_a_sentence),
        cmocka_unit_test(faults_switches_and_time_are_counted),
        cmocka_unit_test(all_that_can_be_opened_is),
        cmocka_unit_test(a_container_that_forbids_perf_leaves_the_rest),
        cmocka_unit_test(without_privilege_switches_are_not_zero),
        cmocka_unit_test(a_shared_processor_scales_counts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
