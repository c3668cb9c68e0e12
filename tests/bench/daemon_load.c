/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the daemon takes of a core, and of memory, while programs record at a steady rate: one
 * program of 100,000 events a second, with a store that has room and with one that is at its
 * budget; and 1,000 programs of 1,000 events a second each, who are asked for by `optrace status`
 * meanwhile. Programs are processes with liboptrace, shares are CPU time of the daemon's process
 * per event that it stored, times the rate: on a busy machine, where producers are late, that is
 * still what it takes.
 *
 *     bench_daemon_load [all|room|budget|many [PROGRAMS]]      default: all 1000
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/support/bench.h"
#include "tests/support/check.h"
#include "tests/support/optraced.h"
#include "tests/support/place.h"

enum {
    RATE = 100000,
    PROGRAM_RATE = 1000,
    PROGRAMS_MAX = 1000,
    ROUNDS = 5,
    SECONDS = 4,      /* of a measurement */
    STATUS_CALLS = 5, /* of a measurement with many programs */
};

static pid_t programs[PROGRAMS_MAX];

static pid_t start_program(const struct optraced *daemon, unsigned rate, unsigned burst_ms)
{
    char *path = place_program("tests/support/paced_producer");
    char rate_text[16], burst_text[16];
    pid_t parent = getpid(), pid;

    snprintf(rate_text, sizeof(rate_text), "%u", rate);
    snprintf(burst_text, sizeof(burst_text), "%u", burst_ms);
    pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        setenv("OPTRACE_SOCKET", daemon->socket, 1);
        if (getppid() == parent)
            execl(path, path, "paced", rate_text, "1", burst_text, "0", "0", "-", NULL);
        _exit(127);
    }
    free(path);
    assert_true(pid > 0);
    return pid;
}

static void stop_programs(unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        kill(programs[i], SIGTERM);
    for (unsigned i = 0; i < count; i++) {
        int status;

        assert_int_equal(waitpid(programs[i], &status, 0), programs[i]);
        assert_int_equal(status, 0);
    }
}

static uint64_t cpu_ns(pid_t pid)
{
    clockid_t clock;

    assert_int_equal(clock_getcpuclockid(pid, &clock), 0);
    return ot_clock_ns(clock);
}

/* The line of /proc/PID/status. */
static double memory_mib(pid_t pid, const char *line_name)
{
    char path[64], line[256];
    double kib = 0;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/status", pid);
    file = fopen(path, "re");
    assert_non_null(file);
    while (fgets(line, sizeof(line), file))
        if (strncmp(line, line_name, strlen(line_name)) == 0)
            kib = strtod(line + strlen(line_name), NULL);
    fclose(file);
    return kib / 1024;
}

/* Committed so far, also what was dropped since: rows of events are numbered on. */
static int64_t stored(const struct optraced *daemon)
{
    return optraced_query(daemon, "SELECT coalesce((SELECT max(last_rowid) FROM event_batch), 0)"
                                  " + (SELECT count(*) FROM run)");
}

struct measurement {
    uint64_t cpu_ns, wall_ns;
    int64_t events;
};

static void begin(const struct optraced *daemon, struct measurement *measurement)
{
    measurement->events = stored(daemon);
    measurement->cpu_ns = cpu_ns(daemon->child.pid);
    measurement->wall_ns = ot_clock_ns(CLOCK_MONOTONIC);
}

/* In percent of a core, at `rate` events a second. */
static double finish(const struct optraced *daemon, struct measurement *measurement, double rate)
{
    measurement->cpu_ns = cpu_ns(daemon->child.pid) - measurement->cpu_ns;
    measurement->wall_ns = ot_clock_ns(CLOCK_MONOTONIC) - measurement->wall_ns;
    measurement->events = stored(daemon) - measurement->events;
    assert_true(measurement->events > 0);
    return (double)measurement->cpu_ns / (double)measurement->events * rate / 1e9 * 100;
}

/* Memory is what is its own: pages of rings are shared. */
static void one_program(const char *budget, const char *until_sql, struct bench_figure *share,
                        struct bench_figure *rss)
{
    const char *arguments[] = {"--store-budget", budget, NULL};
    struct measurement measurement;
    struct optraced daemon;

    optraced_init(&daemon);
    optraced_start(&daemon, arguments);
    programs[0] = start_program(&daemon, RATE, 10);
    optraced_wait_for(&daemon, until_sql, 1);
    for (int i = 0; i < ROUNDS; i++) {
        begin(&daemon, &measurement);
        sleep(SECONDS);
        bench_add(share, finish(&daemon, &measurement, RATE));
        bench_add(rss, memory_mib(daemon.child.pid, "RssAnon:"));
    }
    stop_programs(1);
    assert_int_equal(optraced_stop(&daemon), 0);
    optraced_deinit(&daemon);
    bench_print(share);
    bench_print(rss);
}

static void with_room(void)
{
    static struct bench_figure share = {.name = "daemon_100k_cpu", .unit = "percent"};
    static struct bench_figure rss = {.name = "daemon_100k_rss", .unit = "MiB"};

    one_program("2GiB", "SELECT count(*) > 100000 FROM event", &share, &rss);
}

static void at_budget(void)
{
    static struct bench_figure share = {.name = "daemon_100k_budget_cpu", .unit = "percent"};
    static struct bench_figure rss = {.name = "daemon_100k_budget_rss", .unit = "MiB"};

    one_program("48MiB", "SELECT count(*) > 0 FROM dropped", &share, &rss);
}

static double status_ms(const struct optraced *daemon)
{
    char *path = place_program("client/cli/optrace");
    const char *argv[] = {path, "status", "--socket", daemon->socket, NULL};
    uint64_t start_ns = ot_clock_ns(CLOCK_MONOTONIC);
    struct child_result result = child_run(argv, NULL);

    start_ns = ot_clock_ns(CLOCK_MONOTONIC) - start_ns;
    if (result.status != 0)
        fprintf(stderr, "%s%s", result.out, result.err);
    assert_int_equal(result.status, 0);
    child_result_deinit(&result);
    free(path);
    return (double)start_ns / 1e6;
}

static void many_programs(unsigned count)
{
    static struct bench_figure share = {.name = "daemon_many_programs_cpu", .unit = "percent"};
    static struct bench_figure rss = {.name = "daemon_many_programs_rss", .unit = "MiB"};
    static struct bench_figure rate = {.name = "daemon_many_programs_events_per_s", .unit = "1/s"};
    static struct bench_figure status = {.name = "daemon_many_programs_status", .unit = "ms"};
    static struct bench_figure lost = {.name = "daemon_many_programs_lost", .unit = "events"};
    struct measurement measurement;
    struct optraced daemon;

    optraced_init(&daemon);
    optraced_start(&daemon, NULL);
    for (unsigned i = 0; i < count; i++)
        programs[i] = start_program(&daemon, PROGRAM_RATE, 100);
    for (unsigned i = 0; i < 100; i++)
        if (optraced_query(&daemon, "SELECT count(*) FROM session") < count)
            usleep(100000);
    CHECK_U64(optraced_query(&daemon, "SELECT count(*) FROM session"), count);
    for (int i = 0; i < ROUNDS; i++) {
        begin(&daemon, &measurement);
        for (int call = 0; call < STATUS_CALLS; call++) {
            bench_add(&status, status_ms(&daemon));
            usleep(SECONDS * 1000000 / STATUS_CALLS);
        }
        bench_add(&share, finish(&daemon, &measurement, (double)PROGRAM_RATE * count));
        bench_add(&rate, (double)measurement.events / ((double)measurement.wall_ns / 1e9));
        bench_add(&rss, memory_mib(daemon.child.pid, "RssAnon:"));
    }
    stop_programs(count);
    bench_add(&lost,
              (double)optraced_query(&daemon, "SELECT coalesce(sum(lost_count), 0) FROM gap"));
    assert_int_equal(optraced_stop(&daemon), 0);
    optraced_deinit(&daemon);
    bench_print(&share);
    bench_print(&rate);
    bench_print(&rss);
    bench_print(&status);
    bench_print(&lost);
}

int main(int argc, char **argv)
{
    const char *which = argc > 1 ? argv[1] : "all";
    unsigned count = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : PROGRAMS_MAX;
    bool is_all = strcmp(which, "all") == 0;

    bench_print_machine();
    if (is_all || strcmp(which, "room") == 0)
        with_room();
    if (is_all || strcmp(which, "budget") == 0)
        at_budget();
    if (is_all || strcmp(which, "many") == 0)
        many_programs(count < PROGRAMS_MAX ? count : PROGRAMS_MAX);
    return 0;
}
