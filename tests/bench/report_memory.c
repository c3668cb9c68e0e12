/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much memory and CPU answers on ten million single events take: with labels around each run, or
 * around all of it; without runs; with an operator around all of these, so that something always
 * runs, with streams that wait for each other, or with a host that is ahead of streams that are never
 * idle; and of two sessions. Each is a process of its own; `base` stands for a store to compare with.
 *
 *     bench_report_memory [NAME [ROUNDS]]    one of them alone
 *     bench_report_memory --store KIND       the path of a store, made if need be: scripts/bench-reports
 *                                            asks for all answers about it
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/bench.h"
#include "tests/support/big_store.h"
#include "tests/support/check.h"
#include "tests/support/place.h"

enum { WORDS_MAX = 7, DEFAULT_ROUNDS = 3 };

static const char base[] = "BASE";

static const struct answer {
    const char *name;
    enum big_store_kind store;
    const char *words[WORDS_MAX];
} answers[] = {
    {"stacks", BIG_STORE_LABEL_AROUND_EACH, {"--export", "stacks"}},
    {"ops_label", BIG_STORE_LABEL_AROUND_EACH, {"--report", "ops", "--label", "step"}},
    {"ops_label_all", BIG_STORE_LABEL_AROUND_ALL, {"--report", "ops", "--label", "all", "--total"}},
    {"stacks_all", BIG_STORE_LABEL_AROUND_ALL, {"--export", "stacks"}},
    {"averages_all", BIG_STORE_LABEL_AROUND_ALL, {"--report", "averages"}},
    {"events_all", BIG_STORE_LABEL_AROUND_ALL, {"--report", "events"}},
    {"overview_all", BIG_STORE_LABEL_AROUND_ALL, {"--report", "overview"}},
    {"summary_all", BIG_STORE_LABEL_AROUND_ALL, {"--report", "summary"}},
    {"idle_all", BIG_STORE_LABEL_AROUND_ALL, {"--report", "idle"}},
    {"advice_all", BIG_STORE_LABEL_AROUND_ALL, {"--report", "advice"}},
    {"chrome_all", BIG_STORE_LABEL_AROUND_ALL, {"--export", "chrome"}},
    {"compare", BIG_STORE_LABEL_AROUND_ALL, {"--compare", base}},
    {"page", BIG_STORE_LABEL_AROUND_ALL, {"--format", "html"}},
    {"runs", BIG_STORE_LABEL_AROUND_ALL, {"--report", "runs"}},
    {"critical", BIG_STORE_LABEL_AROUND_ALL, {"--report", "critical"}},
    {"history", BIG_STORE_TWO_SESSIONS, {"--history"}},
    {"ranks", BIG_STORE_TWO_SESSIONS, {"--report", "ranks", "--session", "all"}},
    {"overview_no_runs", BIG_STORE_NO_RUNS, {"--report", "overview"}},
    {"page_no_runs", BIG_STORE_NO_RUNS, {"--format", "html"}},
    {"critical_no_runs", BIG_STORE_NO_RUNS, {"--report", "critical"}},
    {"overview_busy", BIG_STORE_OP_AROUND_ALL, {"--report", "overview"}},
    {"events_busy", BIG_STORE_OP_AROUND_ALL, {"--report", "events"}},
    {"compare_busy", BIG_STORE_OP_AROUND_ALL, {"--compare", base}},
    {"summary_busy", BIG_STORE_OP_AROUND_ALL, {"--report", "summary"}},
    {"averages_busy", BIG_STORE_OP_AROUND_ALL, {"--report", "averages"}},
    {"threads_busy", BIG_STORE_OP_AROUND_ALL, {"--report", "threads"}},
    {"device_busy", BIG_STORE_OP_AROUND_ALL, {"--report", "device"}},
    {"launch_busy", BIG_STORE_OP_AROUND_ALL, {"--report", "launch"}},
    {"kernels_busy", BIG_STORE_OP_AROUND_ALL, {"--report", "kernels"}},
    {"sequences_busy", BIG_STORE_OP_AROUND_ALL, {"--report", "sequences"}},
    {"chrome_busy", BIG_STORE_OP_AROUND_ALL, {"--export", "chrome"}},
    {"idle_busy", BIG_STORE_OP_AROUND_ALL, {"--report", "idle"}},
    {"advice_busy", BIG_STORE_OP_AROUND_ALL, {"--report", "advice"}},
    {"stacks_busy", BIG_STORE_OP_AROUND_ALL, {"--export", "stacks"}},
    {"csv_busy", BIG_STORE_OP_AROUND_ALL, {"--export", "csv"}},
    {"pprof_busy", BIG_STORE_OP_AROUND_ALL, {"--export", "pprof"}},
    {"folded_busy", BIG_STORE_OP_AROUND_ALL, {"--export", "folded"}},
    {"speedscope_busy", BIG_STORE_OP_AROUND_ALL, {"--export", "speedscope"}},
    {"critical_table", BIG_STORE_NO_RUNS, {"--report", "critical", "-t", "0"}},
    {"what_if", BIG_STORE_NO_RUNS, {"--report", "critical", "--what-if", "node_1.*=2"}},
    {"critical_waits", BIG_STORE_STREAM_WAITS, {"--report", "critical"}},
    {"what_if_waits", BIG_STORE_STREAM_WAITS, {"--report", "critical", "--what-if", "node_1.*=2"}},
    {"critical_recalls", BIG_STORE_RECALLS, {"--report", "critical"}},
    {"what_if_recalls", BIG_STORE_RECALLS, {"--report", "critical", "--what-if", "node_1.*=2"}},
    {"idle_waits", BIG_STORE_STREAM_WAITS, {"--report", "idle"}},
    {"advice_waits", BIG_STORE_STREAM_WAITS, {"--report", "advice"}},
    {"kernels_ahead", BIG_STORE_AHEAD, {"--report", "kernels"}},
    {"averages_ahead", BIG_STORE_AHEAD, {"--report", "averages"}},
    {"summary_ahead", BIG_STORE_AHEAD, {"--report", "summary"}},
    {"launch_ahead", BIG_STORE_AHEAD, {"--report", "launch"}},
    {"device_ahead", BIG_STORE_AHEAD, {"--report", "device"}},
    {"sequences_ahead", BIG_STORE_AHEAD, {"--report", "sequences"}},
    {"idle_ahead", BIG_STORE_AHEAD, {"--report", "idle"}},
    {"advice_ahead", BIG_STORE_AHEAD, {"--report", "advice"}},
    {"csv_ahead", BIG_STORE_AHEAD, {"--export", "csv"}},
    {"chrome_ahead", BIG_STORE_AHEAD, {"--export", "chrome"}},
    {"stacks_ahead", BIG_STORE_AHEAD, {"--export", "stacks"}},
    {"averages_ahead_waits", BIG_STORE_AHEAD_WAITS, {"--report", "averages"}},
    {"device_ahead_waits", BIG_STORE_AHEAD_WAITS, {"--report", "device"}},
    {"overview_ahead_waits", BIG_STORE_AHEAD_WAITS, {"--report", "overview"}},
    {"critical_busy", BIG_STORE_OP_AROUND_ALL, {"--report", "critical"}},
    {"page_busy", BIG_STORE_OP_AROUND_ALL, {"--format", "html"}},
};
enum { ANSWERS = sizeof(answers) / sizeof(answers[0]) };

static void ask(const char *program, const char *path, const struct answer *answer,
                struct bench_figure *bytes, struct bench_figure *seconds)
{
    const char *argv[WORDS_MAX + 3] = {program, path};
    char *other = answer->words[1] == base ? big_store_of(BIG_STORE_LABEL_AROUND_EACH) : NULL;
    const pid_t child = fork();
    struct rusage usage;
    int status;

    for (int i = 0; i < WORDS_MAX; i++)
        argv[2 + i] = answer->words[i] == base ? other : answer->words[i];
    if (child == 0) {
        const int nothing = open("/dev/null", O_WRONLY);

        if (nothing >= 0 && dup2(nothing, STDOUT_FILENO) >= 0)
            execv(program, (char *const *)argv);
        _exit(127);
    }
    assert_int_equal(wait4(child, &status, 0, &usage), child);
    free(other);
    assert_int_equal(status, 0);
    bench_add(bytes, (double)usage.ru_maxrss * 1024 / BIG_STORE_EVENTS);
    bench_add(seconds, (double)usage.ru_utime.tv_sec + (double)usage.ru_utime.tv_usec * 1e-6 +
                           (double)usage.ru_stime.tv_sec + (double)usage.ru_stime.tv_usec * 1e-6);
}

static void measure(const char *program, const struct answer *answer, int rounds)
{
    char *path = big_store_of(answer->store), bytes_name[64], seconds_name[64];
    struct bench_figure bytes = {.name = bytes_name, .unit = "bytes"};
    struct bench_figure seconds = {.name = seconds_name, .unit = "s"};

    snprintf(bytes_name, sizeof(bytes_name), "memory_%s_bytes_per_event", answer->name);
    snprintf(seconds_name, sizeof(seconds_name), "memory_%s_cpu_s", answer->name);
    for (int i = 0; i < rounds; i++)
        ask(program, path, answer, &bytes, &seconds);
    bench_print(&bytes);
    bench_print(&seconds);
    free(path);
}

static int print_store(const char *name)
{
    for (int kind = 0; kind < BIG_STORE_KINDS; kind++) {
        char *path;

        if (strcmp(name, big_store_name((enum big_store_kind)kind)) != 0)
            continue;
        path = big_store_of((enum big_store_kind)kind);
        puts(path);
        free(path);
        return EXIT_SUCCESS;
    }
    fprintf(stderr, "bench_report_memory: there is no store \"%s\"\n", name);
    return EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    const char *only = argc > 1 ? argv[1] : NULL;
    const int rounds = argc > 2 ? atoi(argv[2]) : DEFAULT_ROUNDS;
    char *program;

    if (argc == 3 && strcmp(only, "--store") == 0)
        return print_store(argv[2]);
    program = place_program("analyze/profile_analyze");
    bench_print_machine();
    for (int i = 0; i < ANSWERS; i++) {
        if (!only || strcmp(only, answers[i].name) == 0)
            measure(program, &answers[i], rounds);
    }
    free(program);
    return EXIT_SUCCESS;
}
