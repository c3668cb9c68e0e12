/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long a report over one hundredth of the time of ten million events takes, its rows found
 * through event_batch, against the plain scan with a condition on the time.
 */
#include <sqlite3.h>
#include <stdlib.h>

#include "analyze/query/query.h"
#include "base/clock.h"
#include "tests/support/bench.h"
#include "tests/support/big_store.h"
#include "tests/support/check.h"

static int64_t from_ns, until_ns;

/* CPU time: all of it is one thread that waits for nothing once the file is in memory. */
static double seconds_since(uint64_t start_ns)
{
    return (double)(ot_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - start_ns) * 1e-9;
}

static double run_sql(struct store *store, uint64_t *out_count)
{
    uint64_t start_ns = ot_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    sqlite3_stmt *statement = NULL;

    sqlite3_prepare_v2(store_handle(store),
                       "SELECT count(*), sum(dur_ns) FROM event"
                       " WHERE start_ns >= ?1 AND start_ns < ?2",
                       -1, &statement, NULL);
    sqlite3_bind_int64(statement, 1, from_ns);
    sqlite3_bind_int64(statement, 2, until_ns);
    sqlite3_step(statement);
    *out_count = (uint64_t)sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return seconds_since(start_ns);
}

static double run_report(struct store *store, uint64_t *out_count)
{
    uint64_t start_ns = ot_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    const int64_t session_id = 1;
    struct selection_window window = {.from = {SELECTION_ABSOLUTE, from_ns},
                                      .until = {SELECTION_ABSOLUTE, until_ns}};
    struct ops_question question = {
        .session_ids = &session_id, .session_count = 1, .window = &window, .totals = true};
    struct ops_answer answer;
    struct diag diag = {0};
    double seconds;

    if (query_ops(store, &question, &answer, &diag) < 0) {
        fprintf(stderr, "report_window: %s\n", diag.text);
        exit(EXIT_FAILURE);
    }
    seconds = seconds_since(start_ns);
    *out_count = answer.basis.event_count;
    ops_answer_deinit(&answer);
    return seconds;
}

int main(void)
{
    static struct bench_figure scan = {.name = "window_plain_scan_cpu_s", .unit = "s"};
    static struct bench_figure report = {.name = "window_report_cpu_s", .unit = "s"};
    int64_t end_ns;
    char *path = big_store(&end_ns);
    struct store *store = NULL;
    struct diag diag = {0};

    if (store_open(path, STORE_READ, &store, &diag) < 0) {
        fprintf(stderr, "report_window: %s\n", diag.text);
        return EXIT_FAILURE;
    }
    from_ns = BIG_STORE_START_NS + (end_ns - BIG_STORE_START_NS) / 3;
    until_ns = from_ns + (end_ns - BIG_STORE_START_NS) / 100;
    bench_print_machine();
    for (int i = 0; i < BENCH_REPEATS; i++) {
        uint64_t wanted, count;

        bench_add(&scan, run_sql(store, &wanted));
        bench_add(&report, run_report(store, &count));
        if (count != wanted || !count) {
            fprintf(stderr, "report_window: %llu events, not %llu\n", (unsigned long long)count,
                    (unsigned long long)wanted);
            return EXIT_FAILURE;
        }
    }
    bench_print(&report);
    bench_print(&scan);
    bench_print_ratio("window_report_against_plain_scan", &scan, &report, 10);
    store_close(&store);
    free(path);
    return EXIT_SUCCESS;
}
