/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What recording costs a model: ResNet-50 on one thread, recorded to a real daemon and not
 * recorded, in turns within one process, so that memory and kernels are the same ones. Wall time of
 * each run, and CPU time of the whole process.
 *
 *     bench_record_model [MODEL.onnx]      default: the shared ResNet-50 with random weights
 */
#include <time.h>

#include "client/optrace.h"
#include "runtime/session.h"
#include "runtime/trace.h"
#include "tests/support/bench.h"
#include "tests/support/check.h"
#include "tests/support/optraced.h"
#include "tests/support/place.h"

enum {
    ROUNDS = 12,
    WARMUPS = 2,       /* of a turn: the first record makes a ring */
    RUNS_PER_TURN = 5, /* that count */
};

struct figures {
    struct bench_figure wall, cpu;
};

static double cpu_ms(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
    return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec * 1e-6;
}

static void run_turn(struct session *session, struct trace *trace, struct figures *figures)
{
    for (int i = 0; i < WARMUPS + RUNS_PER_TURN; i++) {
        struct session_times times;
        struct diag diag = {0};
        double before = cpu_ms();

        trace_run_begin(trace, i < WARMUPS);
        if (session_run(session, &times, &diag) < 0)
            fail_msg("%s", diag.text);
        trace_run_end(trace);
        if (i < WARMUPS)
            continue;
        bench_add(&figures->wall, (double)times.e2e_ns * 1e-6);
        bench_add(&figures->cpu, cpu_ms() - before);
    }
}

static void measure(struct session *session, struct trace *trace, const char *socket)
{
    struct optrace_config config = {.socket_path = socket, .required = 1};
    static struct figures plain = {{.name = "model_plain_ms", .unit = "ms"},
                                   {.name = "model_plain_cpu_ms", .unit = "ms"}};
    static struct figures recorded = {{.name = "model_recorded_ms", .unit = "ms"},
                                      {.name = "model_recorded_cpu_ms", .unit = "ms"}};

    for (int i = 0; i < ROUNDS; i++) {
        run_turn(session, trace, &plain);
        CHECK_OK(optrace_start(&config));
        run_turn(session, trace, &recorded);
        CHECK_OK(optrace_flush(10000));
        optrace_stop();
    }
    bench_print(&plain.wall);
    bench_print(&recorded.wall);
    bench_print(&plain.cpu);
    bench_print(&recorded.cpu);
    bench_print_ratio("model_recorded_to_plain", &recorded.wall, &plain.wall, 1.01);
    bench_print_ratio("model_recorded_to_plain_cpu", &recorded.cpu, &plain.cpu, 1.01);
}

int main(int argc, char **argv)
{
    char *model = argc > 1 ? strdup(argv[1])
                           : place_shared("onnx-cases/light-rand/test_rand_resnet50/model.onnx");
    struct input_list none = {0};
    struct session_config config = {.inputs = &none, .exec = {.threads = 1}};
    struct session *session;
    struct trace *trace;
    struct optraced daemon;
    struct diag diag = {0};

    if (model == NULL)
        return CHECK_SKIP_ALL("the shared models are not here, and no model was named");
    bench_print_machine();
    optraced_init(&daemon);
    optraced_start(&daemon, NULL);
    if (session_load(model, &session, &diag) < 0 || session_prepare(session, &config, &diag) < 0 ||
        trace_open(session, 0, TRACE_DEFAULT, &trace, &diag) < 0) {
        fprintf(stderr, "%s\n", diag.text);
        return 1;
    }
    measure(session, trace, daemon.socket);
    trace_close(&trace);
    session_destroy(&session);
    trace_stop();
    if (optraced_query(&daemon, "SELECT count(*) FROM event") <= 0) {
        fprintf(stderr, "nothing was recorded\n");
        return 1;
    }
    optraced_deinit(&daemon);
    free(model);
    return 0;
}
