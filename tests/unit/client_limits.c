/* SPDX-License-Identifier: Apache-2.0 */
/* Limits of the process and memory that is not there: nothing is recorded then, it is said, and the
 * program goes on. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "client/optrace.h"
#include "client/ring.h"
#include "tests/support/check.h"
#include "tests/support/client_place.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

/* Stand in for the system's where a test wants it: what the limit was a moment ago, and whether
 * memory can be had. */
static bool limit_is_hidden;
static int populate_error;

int getrlimit(__rlimit_resource_t what, struct rlimit *out_limit)
{
    if (!limit_is_hidden)
        return prlimit(0, what, NULL, out_limit);
    *out_limit = (struct rlimit){RLIM_INFINITY, RLIM_INFINITY};
    return 0;
}

int madvise(void *address, size_t length, int advice)
{
    static int (*real)(void *, size_t, int);

    if (advice == MADV_POPULATE_WRITE && populate_error) {
        errno = populate_error;
        return -1;
    }
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "madvise");
    return real(address, length, advice);
}

static rlim_t set_limit(__rlimit_resource_t what, rlim_t value)
{
    struct rlimit limit;
    rlim_t before;

    CHECK_OK(prlimit(0, what, NULL, &limit));
    before = limit.rlim_cur;
    limit.rlim_cur = value;
    CHECK_OK(setrlimit(what, &limit));
    return before;
}

static void expect_status(const char *text)
{
    char status[512];

    assert_true(optrace_status(status, sizeof(status)) < sizeof(status));
    CHECK_CONTAINS(status, text);
}

static uint64_t lost_to_memory(void)
{
    struct optrace_loss loss;

    optrace_lost(&loss);
    return loss.no_memory;
}

static void record(unsigned count)
{
    const uint32_t op = optrace_label("work");

    for (unsigned i = 0; i < count; i++)
        optrace_end(optrace_begin(op));
}

static void *record_three(void *context)
{
    record(3);
    return context;
}

static void record_in_a_thread(void)
{
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, record_three, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static void a_limit_of_file_sizes_ends_recording_only(void **state)
{
    struct client_place *place = *state;
    const uint64_t lost = lost_to_memory();
    rlim_t before = set_limit(RLIMIT_FSIZE, 4096);

    record(3);
    expect_status("not recording, connected");
    expect_status("ulimit -f");
    record_in_a_thread();
    CHECK_U64(lost_to_memory() - lost, 6);
    set_limit(RLIMIT_FSIZE, before);
    record_in_a_thread();
    client_place_drain(place, 3);
    expect_status("recording to");
}

static volatile sig_atomic_t signal_count;

static void on_too_big(int number)
{
    signal_count++;
}

static void a_limit_that_falls_meanwhile_raises_nothing(void **state)
{
    const struct ot_ring_header header = {.record_count = 1024};
    struct sigaction action = {.sa_handler = on_too_big}, standard;
    rlim_t before = set_limit(RLIMIT_FSIZE, 4096);
    sigset_t blocked, pending;
    struct ot_ring *ring;
    struct ot_fd fd;
    FILE *file;

    sigaction(SIGXFSZ, &action, &standard);
    limit_is_hidden = true;
    assert_int_equal(ot_ring_create(&header, &ring, &fd), -EFBIG);
    limit_is_hidden = false;
    assert_int_equal(signal_count, 0);
    sigpending(&pending);
    assert_false(sigismember(&pending, SIGXFSZ));
    pthread_sigmask(SIG_BLOCK, NULL, &blocked);
    assert_false(sigismember(&blocked, SIGXFSZ));
    /* The program's own come as they did. */
    file = tmpfile();
    assert_non_null(file);
    assert_int_equal(ftruncate(fileno(file), 8192), -1);
    assert_int_equal(signal_count, 1);
    fclose(file);
    sigaction(SIGXFSZ, &standard, NULL);
    set_limit(RLIMIT_FSIZE, before);
}

static void a_thread_without_descriptors_is_counted(void **state)
{
    const uint64_t lost = lost_to_memory();
    rlim_t before = set_limit(RLIMIT_NOFILE, 3);

    record_in_a_thread();
    expect_status("ulimit -n");
    CHECK_U64(lost_to_memory() - lost, 3);
    set_limit(RLIMIT_NOFILE, before);
}

static void no_memory_for_a_ring_is_counted(void **state)
{
    const uint64_t lost = lost_to_memory();

    populate_error = EFAULT;
    record_in_a_thread();
    populate_error = 0;
    expect_status("ulimit -v");
    CHECK_U64(lost_to_memory() - lost, 3);
}

/* With rings of 2048 records, memory for the first 512 of them is taken at first. */
static void no_memory_for_more_of_a_ring_is_counted(void **state)
{
    struct client_place *place = *state;
    const struct optrace_config config = {.socket_path = place->socket, .ring_records = 2048};
    const uint64_t lost = lost_to_memory();
    uint64_t lost_now;

    optrace_stop();
    CHECK_OK(optrace_start(&config));
    client_place_set_idle(place, true);
    record(10);
    populate_error = ENOMEM;
    record(1000);
    lost_now = lost_to_memory() - lost;
    CHECK_U64(lost_now, 1000 + 10 + CLIENT_PLACE_OWN - 512);
    populate_error = 0;
    client_place_set_idle(place, false);
    CHECK_OK(optrace_flush(60000));
    record(100);
    client_place_drain(place, 1110 - (size_t)(lost_to_memory() - lost));
}

static void old_kernels_take_the_other_way(void **state)
{
    const struct ot_ring_header header = {.record_count = 4096};
    struct stat before, after;
    struct ot_ring *ring;
    struct ot_fd fd;

    populate_error = EINVAL;
    CHECK_OK(ot_ring_create(&header, &ring, &fd));
    CHECK_OK(fstat(fd.number, &before));
    CHECK_OK(ot_ring_populate(ring, &fd, 0, 1024));
    CHECK_OK(fstat(fd.number, &after));
    CHECK_U64((uint64_t)(after.st_blocks - before.st_blocks) * 512, 1024 * 64);
    ot_fd_close(&fd);
    assert_int_equal(ot_ring_populate(ring, &fd, 1024, 2048), -EBADF);
    populate_error = 0;
    ot_ring_destroy(&ring, &fd);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, client_place_setup, client_place_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        /* First: a thread that got no ring tries again a second later only. */
        CASE(no_memory_for_more_of_a_ring_is_counted),
        CASE(a_limit_of_file_sizes_ends_recording_only),
        cmocka_unit_test(a_limit_that_falls_meanwhile_raises_nothing),
        CASE(a_thread_without_descriptors_is_counted),
        CASE(no_memory_for_a_ring_is_counted),
        cmocka_unit_test(old_kernels_take_the_other_way),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
