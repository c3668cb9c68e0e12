/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What recording costs models: each on one thread, recorded to a real daemon and not recorded, in
 * turns within one process, so that memory and kernels are the same ones; in plain turns nobody
 * observes the steps, as with --no-trace. Of each turn the CPU time of the whole process for a run,
 * and the wall time of its median run; the ratios are those of neighbouring turns.
 *
 *     bench_record_model [MODEL.onnx ...]      default: a small encoder, two ResNets
 */
#include <libgen.h>
#include <time.h>

#include "base/clock.h"
#include "client/optrace.h"
#include "runtime/exec/private.h"
#include "runtime/session/session.h"
#include "runtime/session/trace.h"
#include "tests/support/bench.h"
#include "tests/support/check.h"
#include "tests/support/optraced.h"
#include "tests/support/place.h"

enum {
    ROUNDS = 200,
    WARMUPS = 3, /* the first record makes a ring */
    TURN_MS = 20,
    RUNS_MAX = 100, /* of a turn; what they record fits a ring */
    SETTLE_MS = 2,
};

static const char *const defaults[] = {
    "onnx-cases/exported/test_transformer_encoder_d128_l4_s64/model.onnx",
    "onnx-cases/exported/test_resnet18_w20/model.onnx",
    "onnx-cases/light-rand/test_rand_resnet50/model.onnx",
};

struct figures {
    struct bench_figure wall, cpu;
    char names[2][128];
};

/* The kernel counts what a thread takes when it goes to sleep, or at the next tick: the worker,
 * which spins for a while when all is done, is to sleep. */
static double cpu_ms(void)
{
    nanosleep(&(struct timespec){.tv_nsec = SETTLE_MS * 1000000L}, NULL);
    return (double)ot_clock_ns(CLOCK_PROCESS_CPUTIME_ID) * 1e-6;
}

static double run(struct session *session, struct trace *trace, bool is_warmup)
{
    struct session_times times;
    struct diag diag = {0};

    trace_run_begin(trace, is_warmup);
    if (session_run(session, &times, &diag) < 0)
        fail_msg("%s", diag.text);
    trace_run_end(trace);
    return (double)times.e2e_ns * 1e-6;
}

static void run_turn(struct session *session, struct trace *trace, int runs,
                     struct figures *figures)
{
    static struct bench_figure wall;
    double before;

    wall.count = 0;
    run(session, trace, true);
    before = cpu_ms();
    for (int i = 0; i < runs; i++)
        bench_add(&wall, run(session, trace, false));
    bench_add(&figures->cpu, (cpu_ms() - before) / runs);
    bench_add(&figures->wall, bench_median(&wall));
}

/* So many that a turn takes its time. */
static int choose_runs(struct session *session)
{
    double ms = 0;
    int runs = 0;

    for (int i = 0; i < WARMUPS; i++)
        ms = run(session, NULL, true);
    runs = (int)(TURN_MS / ms) + 1;
    return runs < RUNS_MAX ? runs : RUNS_MAX;
}

static void name_figures(struct figures *figures, const char *model, const char *how)
{
    snprintf(figures->names[0], sizeof(figures->names[0]), "%s_%s_ms", model, how);
    snprintf(figures->names[1], sizeof(figures->names[1]), "%s_%s_cpu_ms", model, how);
    figures->wall = (struct bench_figure){.name = figures->names[0], .unit = "ms"};
    figures->cpu = (struct bench_figure){.name = figures->names[1], .unit = "ms"};
}

static void measure(struct session *session, struct trace *trace, const char *model,
                    const char *socket)
{
    struct optrace_config config = {.socket_path = socket, .required = 1};
    static struct figures plain, recorded;
    const int runs = choose_runs(session);
    char name[128];

    name_figures(&plain, model, "plain");
    name_figures(&recorded, model, "recorded");
    CHECK_OK(optrace_start(&config));
    for (int i = 0; i < WARMUPS; i++)
        run(session, trace, true);
    for (int i = 0; i < ROUNDS; i++) {
        session->exec->observer_count = 0;
        run_turn(session, NULL, runs, &plain);
        session->exec->observer_count = 1;
        run_turn(session, trace, runs, &recorded);
        CHECK_OK(optrace_flush(10000));
    }
    optrace_stop();
    bench_print(&plain.wall);
    bench_print(&recorded.wall);
    bench_print(&plain.cpu);
    bench_print(&recorded.cpu);
    snprintf(name, sizeof(name), "%s_recorded_to_plain", model);
    bench_print_ratio(name, &recorded.wall, &plain.wall, 1.01);
    snprintf(name, sizeof(name), "%s_recorded_to_plain_cpu", model);
    bench_print_ratio(name, &recorded.cpu, &plain.cpu, 1.01);
}

/* "test_rand_resnet50/model.onnx" is rand_resnet50. */
static const char *model_name(char *path)
{
    char *slash = strrchr(path, '/');
    const char *name;

    if (slash && strcmp(slash, "/model.onnx") == 0)
        *slash = '\0';
    name = basename(path);
    return strncmp(name, "test_", 5) == 0 ? name + 5 : name;
}

static void measure_model(const char *path, const char *socket)
{
    struct input_list none = {0};
    struct session_config config = {.inputs = &none, .exec = {.threads = 1}};
    struct session *session;
    struct trace *trace = NULL;
    struct diag diag = {0};
    char *name = strdup(path);

    if (session_load(path, false, false, NULL, &session, &diag) < 0 ||
        session_prepare(session, &config, &diag) < 0 ||
        trace_open(session, 0, TRACE_DEFAULT, &trace, &diag) < 0)
        fail_msg("%s", diag.text);
    measure(session, trace, model_name(name), socket);
    trace_close(&trace);
    session_destroy(&session);
    free(name);
}

int main(int argc, char **argv)
{
    struct optraced daemon;
    int count = 0;

    bench_print_machine();
    optraced_init(&daemon);
    optraced_start(&daemon, NULL);
    for (int i = 1; i < argc; i++, count++)
        measure_model(argv[i], daemon.socket);
    for (size_t i = 0; argc == 1 && i < sizeof(defaults) / sizeof(defaults[0]); i++) {
        char *path = place_shared(defaults[i]);

        if (path)
            measure_model(path, daemon.socket), count++;
        free(path);
    }
    trace_stop();
    if (count == 0)
        return CHECK_SKIP_ALL("the shared models are not here, and no model was named");
    if (optraced_query(&daemon, "SELECT count(*) FROM event") <= 0) {
        fprintf(stderr, "nothing was recorded\n");
        return 1;
    }
    optraced_deinit(&daemon);
    return 0;
}
