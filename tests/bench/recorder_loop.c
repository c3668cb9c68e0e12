/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Empty regions with one recorder, beside two clock readings and a store without any. For
 * scripts/bench-recorders, which compiles it once for each recorder, for Tracy as C++, and tells it
 * by a line on stdin to run a turn. Each turn answers with a line of four figures, in ns: CPU time
 * of the thread for a region and for the floor, the same of the process, pauses included.
 *
 *     recorder_loop [SOCKET]       SOCKET: optraced's
 */
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "schema/wire/wire.h"

#if defined(RECORDER_TRACY)
#include <tracy/Tracy.hpp>
#elif defined(RECORDER_LTTNG)
#include "recorder_lttng.h"
#else
#include "client/optrace.h"
#endif

enum {
    BURST = 10000,
    BURSTS = 30, /* of a turn */
    PAUSE_MS = 10,
    FLUSH_EVERY = 3,
    RING_RECORDS = 65536,
    CONNECT_MS = 10000,
    WAIT_MS = 20000,
};

#define BARRIER()     __asm__ volatile("" ::: "memory")
#define KEEP(pointer) __asm__ volatile("" : : "r"(pointer) : "memory")

static struct ot_wire_record floor_ring[RING_RECORDS];
static uint32_t op = 1;

static void pause_ms(long ms)
{
    struct timespec pause = {ms / 1000, ms % 1000 * 1000000L};

    nanosleep(&pause, NULL);
}

#if defined(RECORDER_TRACY)
static int start(const char *socket)
{
    int waited_ms = 0;

    while (!TracyIsConnected && waited_ms++ < CONNECT_MS)
        pause_ms(1);
    return TracyIsConnected ? 0 : -1;
}

static inline void region(void)
{
    ZoneScopedN("bench");

    BARRIER();
}

static void let_consumer_catch_up(void)
{
}
#elif defined(RECORDER_LTTNG)
static int start(const char *socket)
{
    return 0;
}

/* The event has its end's time by itself. */
static inline void region(void)
{
    uint64_t start = ot_clock_ticks();

    BARRIER();
    lttng_ust_tracepoint(optrace_bench, region, start, op);
}

static void let_consumer_catch_up(void)
{
}
#else
static int start(const char *socket)
{
    struct optrace_config config = {0};

    config.socket_path = socket;
    config.required = 1;
    op = optrace_label("bench");
    return optrace_start(&config);
}

static inline void region(void)
{
    struct optrace_span span = optrace_begin(op);

    BARRIER();
    optrace_end(span);
}

static void let_consumer_catch_up(void)
{
    optrace_flush(WAIT_MS);
}
#endif

__attribute__((noinline)) static void floor_burst(void)
{
    static size_t head;

    for (int i = 0; i < BURST; i++) {
        struct ot_wire_record *record = &floor_ring[head++ % RING_RECORDS];
        uint64_t begun = ot_clock_ticks();
        struct ot_wire_record filled;

        BARRIER();
        memset(&filled, 0, sizeof(filled));
        filled.end_ticks = ot_clock_ticks();
        filled.kind = 1;
        filled.op_id = op;
        filled.lane_id = 1;
        filled.start_ticks = begun;
        *record = filled;
        KEEP(floor_ring);
    }
}

__attribute__((noinline)) static void region_burst(void)
{
    for (int i = 0; i < BURST; i++) {
        region();
        BARRIER();
    }
}

/* CPU time of `clock` that a burst takes, with `ms` of pause behind it. */
static double time_burst(void (*burst)(void), clockid_t clock, long ms)
{
    const uint64_t before = ot_clock_ns(clock);

    burst();
    if (ms > 0)
        pause_ms(ms);
    return (double)(ot_clock_ns(clock) - before) / BURST / BURSTS;
}

static void run_turn(void)
{
    double thread = 0, thread_floor = 0, process = 0, process_floor = 0;

    for (int i = 0; i < BURSTS; i++) {
        thread_floor += time_burst(floor_burst, CLOCK_THREAD_CPUTIME_ID, 0);
        thread += time_burst(region_burst, CLOCK_THREAD_CPUTIME_ID, 0);
        pause_ms(PAUSE_MS);
        if (i % FLUSH_EVERY == FLUSH_EVERY - 1)
            let_consumer_catch_up();
    }
    for (int i = 0; i < BURSTS; i++) {
        process += time_burst(region_burst, CLOCK_PROCESS_CPUTIME_ID, PAUSE_MS);
        if (i % FLUSH_EVERY == FLUSH_EVERY - 1)
            let_consumer_catch_up();
    }
    /* What the recorder's own threads still do now is no floor. */
    pause_ms(20 * PAUSE_MS);
    for (int i = 0; i < BURSTS; i++) {
        const uint64_t before = ot_clock_ns(CLOCK_THREAD_CPUTIME_ID);

        floor_burst();
        pause_ms(PAUSE_MS);
        process_floor += (double)(ot_clock_ns(CLOCK_THREAD_CPUTIME_ID) - before) / BURST / BURSTS;
    }
    printf("%.4f %.4f %.4f %.4f\n", thread, thread_floor, process, process_floor);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    char line[16];
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(0, &set);
    if (start(argc > 1 ? argv[1] : NULL) < 0) {
        fprintf(stderr, "nobody takes what is recorded\n");
        return 1;
    }
    sched_setaffinity(0, sizeof(set), &set); /* this thread; a recorder's own go where they like */
    while (fgets(line, sizeof(line), stdin))
        run_turn();
    return 0;
}
