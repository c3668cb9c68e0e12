/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What liboptrace_inject costs a program that knows nothing of it: CPU time of its thread per NVTX
 * push and pop, recorded and with nobody listening, of a text and of a registered one. The floor is
 * what a recorder pays that takes two times and keeps them, as in the benchmark `span`. Pushes come
 * in bursts, with pauses in which optraced catches up.
 */
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "schema/wire/wire.h"
#include "tests/support/bench.h"
#include "tests/support/check.h"
#include "tests/support/nvtx_unit.h"
#include "tests/support/optraced.h"
#include "tests/support/place.h"

enum { BURST = 5000, BURSTS = 20, PAUSE_MS = 20, RING_RECORDS = 65536 };

#define KEEP(pointer) __asm__ volatile("" : : "r"(pointer) : "memory")

static struct ot_wire_record floor_ring[RING_RECORDS];
static void *domain, *registered;

static double thread_ns(void)
{
    return (double)ot_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

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

static double measure(void (*burst)(void))
{
    double spent_ns = 0;

    for (int i = 0; i < BURSTS; i++) {
        const double start_ns = thread_ns();

        burst();
        spent_ns += thread_ns() - start_ns;
        nanosleep(&(struct timespec){.tv_nsec = PAUSE_MS * 1000000}, NULL);
    }
    return spent_ns / BURST / BURSTS;
}

/* One process is recorded, another is not: what is once open stays so. */
static int run(const char *socket, const char *word, double goal)
{
    char names[4][64];
    struct bench_figure floor = {.name = names[0], .unit = "ns"},
                        text = {.name = names[1], .unit = "ns"},
                        known = {.name = names[2], .unit = "ns"};

    snprintf(names[0], sizeof(names[0]), "nvtx_floor_%s_ns", word);
    snprintf(names[1], sizeof(names[1]), "nvtx_text_%s_ns", word);
    snprintf(names[2], sizeof(names[2]), "nvtx_registered_%s_ns", word);
    setenv("OPTRACE_SOCKET", socket, 1);
    domain = nvtx_domain("bench");
    registered = nvtx_register(domain, "forward pass");
    if (!nvtx_slot(nvtx_core, 9))
        return 1;
    text_burst();
    registered_burst();
    for (int i = 0; i < BENCH_REPEATS; i++) {
        bench_add(&floor, measure(floor_burst));
        bench_add(&text, measure(text_burst));
        bench_add(&known, measure(registered_burst));
    }
    bench_print(&floor);
    bench_print(&text);
    bench_print(&known);
    snprintf(names[3], sizeof(names[3]), "nvtx_registered_%s_to_floor", word);
    bench_print_ratio(names[3], &known, &floor, goal);
    return 0;
}

int main(void)
{
    char *library = place_program("client/inject/liboptrace_inject.so");
    struct optraced daemon;
    int status;
    pid_t pid;

    bench_print_machine();
    setenv("NVTX_INJECTION64_PATH", library, 1);
    fflush(stdout);
    pid = fork();
    if (pid == 0) {
        status = run("/nonexistent/optrace.sock", "off", 0);
        fflush(stdout);
        _exit(status);
    }
    if (waitpid(pid, &status, 0) != pid || status != 0)
        return 1;
    optraced_init(&daemon);
    optraced_start(&daemon, NULL);
    status = run(daemon.socket, "recorded", 1.4);
    optraced_stop(&daemon);
    optraced_deinit(&daemon);
    free(library);
    return status;
}
