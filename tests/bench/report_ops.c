/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long the sums of a report over ten million events take, against SQL's GROUP BY on the same
 * file. There are two of these: the plainest, which gives less than the report needs (no lanes, no
 * warm-ups left out, no coverage), and the one that gives the same sums.
 */
#include <sqlite3.h>
#include <stdlib.h>

#include "analyze/query/query.h"
#include "base/clock.h"
#include "tests/support/bench.h"
#include "tests/support/big_store.h"
#include "tests/support/check.h"

static const char plain_sql[] =
    "SELECT op_id, count(*), sum(dur_ns), min(dur_ns), max(dur_ns), avg(dur_ns)"
    "  FROM event GROUP BY op_id";

static const char same_sql[] =
    "SELECT e.op_id, l.kind, count(*), sum(e.dur_ns), min(e.dur_ns), max(e.dur_ns), sum(e.kern_ns)"
    "  FROM event e JOIN lane l ON l.lane_id = e.lane_id"
    "  JOIN run r ON r.session_id = l.session_id AND r.run = e.run"
    " WHERE l.session_id = 1 AND NOT r.warmup GROUP BY e.op_id, l.kind";

/* CPU time: all of it is one thread that waits for nothing once the file is in memory. */
static double seconds_since(uint64_t start_ns)
{
    return (double)(ot_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - start_ns) * 1e-9;
}

/* Seconds, and the sum of all counts and durations on the device, to compare. */
static double run_sql(struct store *store, const char *sql, int kind, double *out_device_ns)
{
    uint64_t start_ns = ot_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    sqlite3_stmt *statement = NULL;

    *out_device_ns = 0;
    sqlite3_prepare_v2(store_handle(store), sql, -1, &statement, NULL);
    while (sqlite3_step(statement) == SQLITE_ROW) {
        if (kind && strcmp((const char *)sqlite3_column_text(statement, kind), "queue") == 0)
            *out_device_ns += sqlite3_column_double(statement, kind + 2);
    }
    sqlite3_finalize(statement);
    return seconds_since(start_ns);
}

static double run_report(struct store *store, double *out_device_ns)
{
    uint64_t start_ns = ot_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    const int64_t session_id = 1;
    struct ops_question question = {.session_ids = &session_id, .session_count = 1};
    struct ops_answer answer;
    struct diag diag = {0};
    double seconds;

    if (query_ops(store, &question, &answer, &diag) < 0) {
        fprintf(stderr, "report_ops: %s\n", diag.text);
        exit(EXIT_FAILURE);
    }
    seconds = seconds_since(start_ns);
    *out_device_ns = answer.basis.total_ns[OP_DEVICE] * answer.basis.divisor;
    ops_answer_deinit(&answer);
    return seconds;
}

int main(void)
{
    static struct bench_figure plain = {.name = "report_plain_group_by_cpu_s", .unit = "s"};
    static struct bench_figure same = {.name = "report_same_group_by_cpu_s", .unit = "s"};
    static struct bench_figure report = {.name = "report_ops_cpu_s", .unit = "s"};
    int64_t end_ns;
    char *path = big_store(&end_ns);
    struct store *store = NULL;
    struct diag diag = {0};

    if (store_open(path, STORE_READ, &store, &diag) < 0) {
        fprintf(stderr, "report_ops: %s\n", diag.text);
        return EXIT_FAILURE;
    }
    bench_print_machine();
    for (int i = 0; i < BENCH_REPEATS; i++) {
        double device_ns, wanted_ns;

        bench_add(&report, run_report(store, &device_ns));
        bench_add(&plain, run_sql(store, plain_sql, 0, &wanted_ns));
        if (i % 3 == 0) { /* slow: three of them have to do */
            bench_add(&same, run_sql(store, same_sql, 1, &wanted_ns));
            if (!(device_ns > wanted_ns * 0.999999 && device_ns < wanted_ns * 1.000001)) {
                fprintf(stderr, "report_ops: %.0f ns on the device, not %.0f\n", device_ns,
                        wanted_ns);
                return EXIT_FAILURE;
            }
        }
    }
    bench_print(&report);
    bench_print(&plain);
    bench_print(&same);
    bench_print_ratio("report_ops_against_plain_group_by", &plain, &report, 7);
    bench_print_ratio("report_ops_against_same_group_by", &same, &report, 7);
    store_close(&store);
    free(path);
    return EXIT_SUCCESS;
}
