/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What recording costs the traced program: CPU time of its thread per span (begin + end), of the
 * whole process per span that was shipped, and of a span while nobody listens. The floor is what a
 * recorder that takes two times and keeps them pays: two readings of the time stamp counter and one
 * store of a 64-byte record into a ring as large as a thread's. The process has a floor of its own:
 * what it pays for the pauses and for caches that others use meanwhile is no recorder's fault.
 * Records that bring their times have no clock to read. Spans with CPU counters cost what reading
 * these costs, twice.
 *
 * Spans come in bursts, as between two steps of a program; then there is a pause in which optraced,
 * on another CPU, catches up. Bursts of floor and spans alternate.
 */
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/exit_status.h"
#include "client/optrace.h"
#include "schema/wire/wire.h"
#include "tests/support/bench.h"
#include "tests/support/check.h"
#include "tests/support/place.h"
#include "tests/support/temp.h"
#include "tests/support/wait.h"

enum {
    BURST = 10000,
    BURSTS = 50, /* per sample */
    PAUSE_MS = 10,
    FLUSH_EVERY = 3, /* rounds; together they fit a ring, so that a busy machine drops nothing */
    OFF_SPANS = 4000000,
    SKIPPED_RUNS = 1000000,
    RING_RECORDS = 65536,
    COUNTED_BURST = 2000,
    COLD_SPANS = 400,             /* of a sample, which is their median */
    COLD_BYTES = 6 * 1024 * 1024, /* read before each: more than the caches of one core hold */
    SMALL_RING = 4096,            /* records: a ring that stays in the cache */
    SMALL_BURST = SMALL_RING / 4,
};

#define BARRIER() __asm__ volatile("" ::: "memory")
/* The memory behind `pointer` may be read here: without this, stores into an array that nobody else
 * can see are left out. */
#define KEEP(pointer) __asm__ volatile("" : : "r"(pointer) : "memory")

static struct ot_wire_record floor_ring[RING_RECORDS];
static uint32_t op;

static double thread_ns(void)
{
    return (double)ot_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

static double process_ns(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e9 +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e3;
}

__attribute__((noinline)) static void floor_burst(size_t count)
{
    static size_t head;

    for (size_t i = 0; i < count; i++) {
        uint64_t start = ot_clock_ticks();
        uint64_t end;

        BARRIER();
        end = ot_clock_ticks();
        floor_ring[head++ % RING_RECORDS] = (struct ot_wire_record){
            .kind = 1, .op_id = op, .lane_id = 1, .start_ticks = start, .end_ticks = end};
        KEEP(floor_ring);
    }
}

__attribute__((noinline)) static void span_burst(size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct optrace_span span = optrace_begin(op);

        BARRIER();
        optrace_end(span);
        BARRIER();
    }
}

/* Records with given times, as of a device: no clock is read. */
__attribute__((noinline)) static void given_burst(size_t count)
{
    struct optrace_event event = {.op = op, .start = optrace_ticks()};

    for (size_t i = 0; i < count; i++) {
        event.end = ++event.start;
        event.correlation = i;
        optrace_record(&event);
        BARRIER();
    }
}

static void pause_a_little(void)
{
    nanosleep(&(struct timespec){.tv_nsec = PAUSE_MS * 1000000L}, NULL);
}

/* Not a part of what is measured: a busy machine must not drop anything. */
static void let_daemon_catch_up(int burst)
{
    if (burst % FLUSH_EVERY == FLUSH_EVERY - 1 || burst == BURSTS - 1)
        CHECK_OK(optrace_flush(WAIT_MS));
}

static void pin(int cpu)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    sched_setaffinity(0, sizeof(set), &set); /* where that is not allowed, it is only less steady */
}

static double time_burst(void (*burst)(size_t))
{
    double start = thread_ns();

    burst(BURST);
    return thread_ns() - start;
}

/* One sample of each: CPU of the thread over bursts of all kinds, in turn. */
static void sample_thread(struct bench_figure *floor_ns, struct bench_figure *span_ns,
                          struct bench_figure *given_ns)
{
    double in_floor = 0;
    double in_spans = 0;
    double in_given = 0;

    for (int i = 0; i < BURSTS; i++) {
        in_floor += time_burst(floor_burst);
        in_spans += time_burst(span_burst);
        in_given += time_burst(given_burst);
        pause_a_little();
        let_daemon_catch_up(i);
    }
    bench_add(floor_ns, in_floor / BURSTS / BURST);
    bench_add(span_ns, in_spans / BURSTS / BURST);
    bench_add(given_ns, in_given / BURSTS / BURST);
}

/* CPU of the process over bursts and pauses, all threads and system calls included, also those of
 * the pauses. */
static void sample_process(void (*burst)(size_t), struct bench_figure *figure)
{
    double sum = 0;

    for (int i = 0; i < BURSTS; i++) {
        double start = process_ns();

        burst(BURST);
        pause_a_little();
        sum += process_ns() - start;
        let_daemon_catch_up(i);
    }
    bench_add(figure, sum / BURSTS / BURST);
}

static void sample_off(struct bench_figure *figure)
{
    double start = thread_ns();

    span_burst(OFF_SPANS);
    bench_add(figure, (thread_ns() - start) / OFF_SPANS);
}

static void bench_off(void)
{
    static struct bench_figure off = {.name = "span_off_ns", .unit = "ns"};

    if (optrace_level() != OPTRACE_OFF)
        fail_msg("it is on");
    for (int i = 0; i < BENCH_REPEATS; i++)
        sample_off(&off);
    bench_print(&off);
}

static void sample_skipped(struct bench_figure *figure)
{
    double start = thread_ns();

    for (int i = 0; i < SKIPPED_RUNS; i++) {
        struct optrace_run run = optrace_run_begin(0, 0);

        BARRIER();
        optrace_run_end(run);
    }
    bench_add(figure, (thread_ns() - start) / SKIPPED_RUNS);
}

/* A run that a schedule leaves out, and a span in it, with a daemon that listens. */
static void bench_skipped(struct optrace_config config)
{
    static struct bench_figure run = {.name = "run_skipped_ns", .unit = "ns"};
    static struct bench_figure span = {.name = "span_skipped_ns", .unit = "ns"};

    config.schedule = "wait=1000000000000,active=1";
    if (optrace_start(&config) < 0)
        fail_msg("no daemon");
    for (int i = 0; i < BENCH_REPEATS; i++) {
        sample_skipped(&run);
        sample_off(&span);
    }
    bench_print(&run);
    bench_print(&span);
    optrace_stop();
}

/* One span, after so much else that nothing of it is cached: what a program pays that does little
 * recording. Less the two clock readings that take the time. */
static double time_cold(const unsigned char *memory)
{
    struct optrace_span span;
    unsigned char sum = 0;
    uint64_t before;

    for (size_t i = 0; i < COLD_BYTES; i += 64)
        sum ^= memory[i];
    KEEP(&sum);
    before = ot_clock_ticks();
    BARRIER();
    span = optrace_begin(op);
    BARRIER();
    optrace_end(span);
    BARRIER();
    return (double)(ot_clock_ticks() - before);
}

static void sample_cold(const unsigned char *memory, struct bench_figure *figure)
{
    const struct ot_clock_triple first = ot_clock_read_triple();
    struct bench_figure span = {0}, clock = {0};
    struct ot_clock_triple last;

    for (int i = 0; i < COLD_SPANS; i++) {
        uint64_t before = ot_clock_ticks();

        BARRIER();
        bench_add(&clock, (double)(ot_clock_ticks() - before));
        bench_add(&span, time_cold(memory));
    }
    last = ot_clock_read_triple();
    bench_add(figure, (bench_median(&span) - bench_median(&clock)) *
                          (double)(last.monotonic_ns - first.monotonic_ns) /
                          (double)(last.ticks - first.ticks));
}

static void bench_cold(void)
{
    static struct bench_figure cold = {.name = "span_cold_ns", .unit = "ns"};
    unsigned char *memory = malloc(COLD_BYTES);

    if (!memory)
        fail_msg("no memory");
    memset(memory, 1, COLD_BYTES);
    for (int i = 0; i < BENCH_REPEATS; i++) {
        sample_cold(memory, &cold);
        CHECK_OK(optrace_flush(WAIT_MS));
    }
    bench_print(&cold);
    free(memory);
}

/* Given times into a ring that is as small as the cache. */
static void bench_given_cached(struct optrace_config config)
{
    static struct bench_figure given = {.name = "record_given_cached_ns", .unit = "ns"};

    config.ring_records = SMALL_RING;
    if (optrace_start(&config) < 0)
        fail_msg("no daemon");
    for (int i = 0; i < BENCH_REPEATS; i++) {
        static struct bench_figure bursts;

        bursts.count = 0;
        for (int k = 0; k < BURSTS; k++) {
            double start = thread_ns();

            given_burst(SMALL_BURST);
            bench_add(&bursts, (thread_ns() - start) / SMALL_BURST);
            CHECK_OK(optrace_flush(WAIT_MS));
        }
        bench_add(&given, bench_median(&bursts));
    }
    bench_print(&given);
    optrace_stop();
}

static void bench_on(void)
{
    static struct bench_figure floor_ns = {.name = "span_floor_ns", .unit = "ns"};
    static struct bench_figure span_ns = {.name = "span_recorded_ns", .unit = "ns"};
    static struct bench_figure given_ns = {.name = "record_given_ns", .unit = "ns"};
    static struct bench_figure floor_all_ns = {.name = "span_floor_process_ns", .unit = "ns"};
    static struct bench_figure span_all_ns = {.name = "span_shipped_process_ns", .unit = "ns"};
    /* Per maker: how much of a store is hidden behind the readings of the clock differs. */
    const double thread_goal = bench_cpu_is_amd() ? 1.07 : 1.10;
    const double process_goal = bench_cpu_is_amd() ? 1.08 : 1.12;
    struct optrace_loss loss;

    /* Memory is touched for the first time, and the daemon wakes up. */
    for (int i = 0; i < 2 * RING_RECORDS / BURST; i++) {
        floor_burst(BURST);
        span_burst(BURST);
        CHECK_OK(optrace_flush(WAIT_MS));
    }
    for (int i = 0; i < BENCH_REPEATS; i++) {
        sample_thread(&floor_ns, &span_ns, &given_ns);
        sample_process(floor_burst, &floor_all_ns);
        sample_process(span_burst, &span_all_ns);
    }
    bench_print(&floor_ns);
    bench_print(&span_ns);
    bench_print_ratio("span_recorded_to_floor", &span_ns, &floor_ns, thread_goal);
    bench_print(&given_ns);
    bench_print(&floor_all_ns);
    bench_print(&span_all_ns);
    bench_print_ratio("span_shipped_to_floor", &span_all_ns, &floor_all_ns, process_goal);
    bench_cold();
    CHECK_OK(optrace_flush(WAIT_MS));
    optrace_lost(&loss);
    if (loss.ring_full + loss.too_deep + loss.no_memory > 0)
        fail_msg("%llu spans were dropped: not what is to be measured",
                 (unsigned long long)loss.ring_full);
}

/* With CPU counters at begin and end; each list is a session of its own. */
static void bench_counted(struct optrace_config config, const char *list,
                          struct bench_figure *figure)
{
    char text[256];
    unsigned missing;

    config.counters = list;
    if (optrace_start(&config) < 0)
        fail_msg("no daemon");
    if (optrace_counters_status(&missing, text, sizeof(text)) <= 0 || missing > 0) {
        fprintf(stderr, "%s: left out: %s\n", figure->name, text);
    } else {
        span_burst(COUNTED_BURST);
        for (int i = 0; i < BENCH_REPEATS; i++) {
            double start;

            CHECK_OK(optrace_flush(WAIT_MS));
            start = thread_ns();
            span_burst(COUNTED_BURST);
            bench_add(figure, (thread_ns() - start) / COUNTED_BURST);
        }
        bench_print(figure);
    }
    optrace_stop();
}

static void bench_all_counted(const struct optrace_config *config)
{
    static struct bench_figure kept = {.name = "span_counted_faults_switches_ns", .unit = "ns"};
    static struct bench_figure clock = {.name = "span_counted_task_clock_ns", .unit = "ns"};
    static struct bench_figure group = {.name = "span_counted_migrations_ns", .unit = "ns"};
    static struct bench_figure processor = {.name = "span_counted_processor_ns", .unit = "ns"};

    bench_counted(*config, "page-faults,context-switches", &kept);
    bench_counted(*config, "task-clock", &clock);
    bench_counted(*config, "cpu-migrations,task-clock", &group);
    bench_counted(*config, "instructions,cycles,cache-misses,branch-misses", &processor);
}

static pid_t start_daemon(const char *dir, const char *path)
{
    char *program = place_program("daemon/optraced");
    char *store = temp_path(dir, "store.db");
    pid_t pid = fork();

    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        pin(1);
        execl(program, "optraced", "--foreground", "--socket", path, "--store", store, NULL);
        _exit(EXIT_SYSTEM);
    }
    free(store);
    free(program);
    return pid;
}

int main(void)
{
    char *dir = temp_create();
    char *path = temp_path(dir, "s");
    const struct optrace_config config = {.socket_path = path, .required = 1};
    pid_t daemon;

    bench_print_machine();
    op = optrace_label("bench");
    pin(0);
    bench_off();
    daemon = start_daemon(dir, path);
    wait_for_path(path, WAIT_MS);
    if (optrace_start(&config) < 0)
        fail_msg("no daemon");
    bench_on();
    optrace_stop();
    bench_given_cached(config);
    bench_all_counted(&config);
    bench_skipped(config);
    kill(daemon, SIGTERM);
    waitpid(daemon, NULL, 0);
    free(path);
    temp_destroy(&dir);
    return 0;
}
