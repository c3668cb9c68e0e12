/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What it costs to keep a store within its budget: store_add_events() into a store that is at its
 * budget, dropping as many events as it adds in each transaction, against the same store without
 * one. CPU time of the process. Then the price of dropping alone, with events of one session and of
 * several in each batch.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "schema/store/store.h"
#include "schema/store/retain.h"
#include "schema/store/room.h"
#include "tests/support/bench.h"
#include "tests/support/store_support.h"
#include "tests/support/temp.h"

enum { OPS = 75, BATCH = 100000, FILL = 20, MEASURED = 10, DROP_ROWS = 16384 };

static struct store_event *events;

static void check(int rc, const struct diag *diag)
{
    if (rc < 0) {
        fprintf(stderr, "store_retain: %s\n", diag->text);
        exit(EXIT_FAILURE);
    }
}

/* A second session, so that a batch may hold events of both. */
static void define_second(struct store *store)
{
    const struct store_session session = {.session_id = 2,
                                          .uuid = {2},
                                          .start_ns = 1,
                                          .end_ns = STORE_NULL,
                                          .pid = 2,
                                          .uid = 2,
                                          .clock = "tsc",
                                          .source = "live"};
    const struct store_lane lane = {4, 2, 1, "thread", "main", NULL, 1};
    struct diag diag = {0};

    check(store_put_session(store, &session, &diag), &diag);
    check(store_put_lane(store, &lane, &diag), &diag);
}

static void add(struct store *store, int batch, bool is_mixed)
{
    struct diag diag = {0};

    store_support_make_events(events, BATCH, (int64_t)batch * BATCH, OPS);
    for (size_t i = 0; is_mixed && i < BATCH; i += 2)
        events[i].lane_id = 4;
    check(store_begin(store, &diag), &diag);
    check(store_add_events(store, events, BATCH, &diag), &diag);
    check(store_commit(store, &diag), &diag);
}

static struct store *make_filled(const char *path, bool is_mixed)
{
    struct store *store;

    unlink(path);
    store = store_support_open(path, STORE_WRITE);
    store_support_begin(store);
    store_support_define(store, OPS);
    define_second(store);
    store_support_commit(store);
    for (int i = 0; i < FILL; i++)
        add(store, i, is_mixed);
    return store;
}

/* Returns the rows dropped. */
static size_t keep_within(struct store *store, int64_t budget_bytes, size_t row_max)
{
    struct store_bounds bounds = {.budget_bytes = budget_bytes};
    struct store_retained done = {0};
    struct diag diag = {0};

    check(store_retain(store, &bounds, 1, row_max, &done, &diag), &diag);
    return done.row_count;
}

/* As the daemon does at the beginning of a batch. */
static void make_way(struct store *store, int64_t budget_bytes)
{
    struct store_bounds bounds = {.budget_bytes = budget_bytes};
    struct store_retained done;
    struct diag diag = {0};

    check(store_retain_ahead(store, &bounds, 1, BATCH, &done, &diag), &diag);
}

/* CPU ns per event. */
static double ingest(const char *path, bool has_budget)
{
    struct store *store = make_filled(path, false);
    struct diag diag = {0};
    int64_t budget_bytes;
    uint64_t start_ns, total_ns = 0;

    check(store_used_bytes(store, &budget_bytes, &diag), &diag);
    for (int i = 0; i < MEASURED; i++) {
        store_support_make_events(events, BATCH, (int64_t)(FILL + i) * BATCH, OPS);
        start_ns = ot_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
        check(store_begin(store, &diag), &diag);
        if (has_budget)
            make_way(store, budget_bytes);
        check(store_add_events(store, events, BATCH, &diag), &diag);
        check(store_commit(store, &diag), &diag);
        if (has_budget)
            keep_within(store, budget_bytes, 2 * BATCH + DROP_ROWS);
        total_ns += ot_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - start_ns;
    }
    store_close(&store);
    return (double)total_ns / MEASURED / BATCH;
}

/* CPU ns per row dropped. */
static double drop(const char *path, bool is_mixed)
{
    struct store *store = make_filled(path, is_mixed);
    uint64_t start_ns = ot_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    size_t dropped = 0, count;

    while (dropped < (size_t)MEASURED * BATCH && (count = keep_within(store, 1, DROP_ROWS)) > 0)
        dropped += count;
    start_ns = ot_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - start_ns;
    store_close(&store);
    return (double)start_ns / (double)dropped;
}

int main(void)
{
    struct bench_figure plain = {.name = "store_add_cpu_ns", .unit = "ns"};
    struct bench_figure bounded = {.name = "store_add_at_budget_cpu_ns", .unit = "ns"};
    struct bench_figure one = {.name = "store_drop_cpu_ns", .unit = "ns"};
    struct bench_figure mixed = {.name = "store_drop_mixed_cpu_ns", .unit = "ns"};
    char *dir = temp_create();
    char *path = temp_path(dir, "store.db");

    events = malloc(BATCH * sizeof(*events));
    if (!events)
        return EXIT_FAILURE;
    bench_print_machine();
    for (int i = 0; i < BENCH_REPEATS; i++) {
        bench_add(&plain, ingest(path, false));
        bench_add(&bounded, ingest(path, true));
        bench_add(&one, drop(path, false));
        bench_add(&mixed, drop(path, true));
    }
    bench_print(&plain);
    bench_print(&bounded);
    bench_print_ratio("store_add_at_budget_slowdown", &bounded, &plain, 2.0);
    bench_print(&one);
    bench_print(&mixed);
    temp_destroy(&dir);
    free(path);
    free(events);
    return EXIT_SUCCESS;
}
