/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program that knows nothing of us pays for one call of a source: CPU time of its thread, the
 * least of many bursts, with pauses in which optraced catches up. bench_inject_rows SCENE prints a
 * number of ns. inject.py starts it alone, with nobody listening and recorded, in turn.
 *
 * The floor is what a recorder pays that takes two times and keeps them, as in the benchmark `span`.
 * Libraries are small ones of ours: what they compute is next to nothing.
 */
#include <sched.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "schema/wire/wire.h"
#include "tests/support/fake_ggml.h"
#include "tests/support/itt_unit.h"
#include "tests/support/nvtx_unit.h"
#include "tests/support/ort_program.h"

enum { BURST = 4000, BURSTS = 30, PAUSE_MS = 10, RING_RECORDS = 65536 };

#define KEEP(pointer) __asm__ volatile("" : : "r"(pointer) : "memory")

void cblas_dgemm(int order, int a_number, int b_number, int m, int n, int k, double alpha,
                 const double *a, int lda, const double *b, int ldb, double beta, double *c,
                 int ldc);

static struct ot_wire_record floor_ring[RING_RECORDS];
static void *domain, *registered, *session;
static struct itt_domain *itt_domain, *run_domain, *class_domain, *layer_domain;
static struct itt_handle *itt_name, *run_name, *class_name, *layer_name;

static void floor_burst(void)
{
    static size_t head;

    for (int i = 0; i < BURST; i++) {
        struct ot_wire_record *record = &floor_ring[head++ % RING_RECORDS];
        const uint64_t start = ot_clock_ticks(), end = ot_clock_ticks();

        *record = (struct ot_wire_record){.start_ticks = start, .end_ticks = end};
        KEEP(record);
    }
}

/* As the header of NVTX calls, once it has looked for a tool: what stands in its table. */
#define HANDLER(table, id, type) ((type)__atomic_load_n(&table[id], __ATOMIC_RELAXED))

static void text_burst(void)
{
    for (int i = 0; i < BURST; i++) {
        HANDLER(nvtx_core, 9, int (*)(const char *))("forward pass");
        HANDLER(nvtx_core, 11, int (*)(void))();
    }
}

static void registered_burst(void)
{
    const struct nvtx_event event = {
        .version = 3, .size = sizeof(event), .message_type = 3, .message = registered};

    for (int i = 0; i < BURST; i++) {
        HANDLER(nvtx_core2, 4, int (*)(void *, const struct nvtx_event *))(domain, &event);
        HANDLER(nvtx_core2, 5, int (*)(void *))(domain);
    }
}

static __attribute__((noinline)) int nothing(const char *text)
{
    KEEP(text);
    return 0;
}

/* What two such calls take of which nothing comes. */
static void nothing_burst(void)
{
    static int (*table[2])(const char *) = {nothing, nothing};

    for (int i = 0; i < BURST; i++) {
        HANDLER(table, 0, int (*)(const char *))("forward pass");
        HANDLER(table, 1, int (*)(const char *))(NULL);
    }
}

static bool start_nvtx(void)
{
    domain = nvtx_domain("bench");
    registered = nvtx_register(domain, "forward pass");
    return nvtx_slot(nvtx_core, 9) != NULL;
}

static void itt_burst(void)
{
    for (int i = 0; i < BURST; i++) {
        itt_task_begin(itt_domain, itt_no_id, itt_no_id, itt_name);
        itt_task_end(itt_domain);
    }
}

static bool start_itt(void)
{
    if (!itt_look_for_tool())
        return false;
    itt_domain = itt_domain_create("bench");
    itt_name = itt_handle_create("a task");
    run_domain = itt_domain_create("ov::phases::cpu::inference");
    class_domain = itt_domain_create("ov::op::cpu::exec");
    layer_domain = itt_domain_create("ov::op::cpu::details");
    run_name = itt_handle_create("SyncInferenceCPU::infer::Model1");
    class_name = itt_handle_create("Convolution::execute");
    layer_name = itt_handle_create("conv0");
    return true;
}

/* Layers in runs of a hundred. */
static void openvino_burst(void)
{
    for (int i = 0; i < BURST / 100; i++) {
        itt_task_begin(run_domain, itt_no_id, itt_no_id, run_name);
        for (int k = 0; k < 100; k++) {
            itt_task_begin(class_domain, itt_no_id, itt_no_id, class_name);
            itt_task_begin(layer_domain, itt_no_id, itt_no_id, layer_name);
            itt_task_end(layer_domain);
            itt_task_end(class_domain);
        }
        itt_task_end(run_domain);
    }
}

static void blas_burst(void)
{
    double c[4] = {0};

    for (int i = 0; i < BURST; i++)
        cblas_dgemm(101, 111, 111, 2, 2, 2, 1, c, 2, c, 2, 0, c, 2);
    KEEP(c);
}

static void ggml_burst(void)
{
    static struct graph graph = {
        4,
        {
            {.dims = {32, 5, 1, 1}, .kind = "MUL_MAT", .name = "Qcur-0"},
            {.dims = {16, 10, 1, 1}, .kind = "RESHAPE", .name = "Qcur-0 (reshaped)"},
            {.dims = {16, 10, 1, 1}, .kind = "SOFT_MAX", .name = "kq-0"},
            {.dims = {32, 5, 1, 1}, .kind = "ADD", .name = "l_out-0"},
        },
    };
    static struct scheduler scheduler;

    for (int i = 0; i < BURST; i++)
        ggml_backend_sched_graph_compute_async(&scheduler, &graph);
}

static bool start_ort(void)
{
    ort_api = OrtGetApiBase()->get_api(17);
    return ort_api && !ort_create("/models/bench.onnx", &session);
}

static void ort_burst(void)
{
    for (int i = 0; i < BURST; i++)
        ort_run(session, i);
}

/* One that is moved between bursts finds its ring in the caches of another: 14 ns a span. */
static void stay(void)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET((int)sysconf(_SC_NPROCESSORS_ONLN) - 1, &set);
    sched_setaffinity(0, sizeof(set), &set); /* where that is not allowed, it is only less steady */
}

static double measure(void (*burst)(void))
{
    double least = -1;

    stay();
    burst();
    for (int i = 0; i < BURSTS; i++) {
        const uint64_t start_ns = ot_clock_ns(CLOCK_THREAD_CPUTIME_ID);
        double ns;

        burst();
        ns = (double)(ot_clock_ns(CLOCK_THREAD_CPUTIME_ID) - start_ns) / BURST;
        least = least < 0 || ns < least ? ns : least;
        nanosleep(&(struct timespec){.tv_nsec = PAUSE_MS * 1000000}, NULL);
    }
    return least;
}

static const struct {
    const char *name;
    bool (*start)(void); /* false: there is no tool, and nothing to measure */
    void (*burst)(void);
} scenes[] = {
    {"floor", NULL, floor_burst},
    {"nothing", NULL, nothing_burst},
    {"nvtx_text", start_nvtx, text_burst},
    {"nvtx_registered", start_nvtx, registered_burst},
    {"itt", start_itt, itt_burst},
    {"openvino", start_itt, openvino_burst},
    {"blas", NULL, blas_burst},
    {"ggml", NULL, ggml_burst},
    {"ort", start_ort, ort_burst},
};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc == 2 && i < sizeof(scenes) / sizeof(scenes[0]); i++) {
        if (strcmp(argv[1], scenes[i].name) != 0)
            continue;
        printf("%.2f\n", !scenes[i].start || scenes[i].start() ? measure(scenes[i].burst) : 0);
        return 0;
    }
    fprintf(stderr, "bench_inject_rows SCENE\n");
    return 2;
}
