/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long the sums of a whole session take from its totals: of ten million events, against reading
 * them, and of a thousand million in half a million runs, of which only the last ones are stored
 * still.
 */
#include <sqlite3.h>
#include <stdlib.h>

#include "analyze/query/cover.h"
#include "base/clock.h"
#include "tests/support/bench.h"
#include "tests/support/big_store.h"
#include "tests/support/check.h"
#include "tests/support/store_support.h"
#include "tests/support/temp.h"

enum { TIMES = 100, MEBI = 1 << 20 };

/* Seconds of CPU, opening the store included; *out_events is how many were counted. */
static double ask(const char *path, int64_t totals_from, uint64_t *out_events)
{
    const uint64_t start_ns = ot_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    const int64_t session_id = 1;
    struct ops_question question = {.session_ids = &session_id,
                                    .session_count = 1,
                                    .totals = true,
                                    .warmups = true,
                                    .totals_from = totals_from};
    struct store *store = store_support_open(path, STORE_READ);
    struct ops_answer answer;
    struct diag diag = {0};

    if (query_ops(store, &question, &answer, &diag) < 0)
        fail_msg("%s", diag.text);
    assert_int_equal(answer.basis.is_of_totals, totals_from > 0);
    *out_events = answer.basis.event_count;
    ops_answer_deinit(&answer);
    store_close(&store);
    return (double)(ot_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - start_ns) * 1e-9;
}

/* The same of how the time was filled: of counted runs, without warm-ups. */
static double ask_cover(const char *path)
{
    const uint64_t start_ns = ot_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    const int64_t session_id = 1;
    const struct ops_question question = {
        .session_ids = &session_id, .session_count = 1, .totals_from = MEBI};
    struct store *store = store_support_open(path, STORE_READ);
    struct spans_answer spans;
    struct query_cover cover;
    struct diag diag = {0};

    if (query_cover(store, &question, &spans, &cover, &diag) != 1)
        fail_msg("totals do not tell how time was filled: %s", diag.text);
    query_cover_deinit(&cover);
    spans_answer_deinit(&spans);
    store_close(&store);
    return (double)(ot_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - start_ns) * 1e-9;
}

/* Runs a hundred times over, one after the other; the events that are left are of the last ones. */
static void lengthen_runs(const char *path)
{
    char sql[2048];

    snprintf(sql, sizeof(sql),
             "CREATE TEMP TABLE r AS SELECT *, (SELECT max(end_ns) - min(start_ns) + 5000 FROM run)"
             " AS all_ns FROM run;"
             "DELETE FROM run;"
             "WITH RECURSIVE t(k) AS (SELECT 0 UNION ALL SELECT k + 1 FROM t WHERE k < %d)"
             " INSERT INTO run SELECT session_id, run + k * %d, model_id, lane_id,"
             " start_ns - (%d - k) * all_ns, end_ns - (%d - k) * all_ns,"
             " CASE k WHEN 0 THEN warmup ELSE 0 END, without_ops FROM t CROSS JOIN r;"
             "UPDATE event SET run = run + %d * %d;"
             "UPDATE session SET start_ns = (SELECT min(start_ns) FROM run)",
             TIMES - 1, BIG_STORE_RUNS, TIMES - 1, TIMES - 1, TIMES - 1, BIG_STORE_RUNS);
    store_support_run(path, sql);
}

/* The same session a hundred times as long, whose events have been dropped but for the last ones. */
static void make_huge(const char *big, const char *path)
{
    char sql[4096];

    snprintf(sql, sizeof(sql), "VACUUM INTO '%s'", path);
    store_support_run(big, sql);
    snprintf(sql, sizeof(sql),
             "UPDATE op_total SET event_count = event_count * %d, sum_ns = sum_ns * %d,"
             " nested_ns = nested_ns * %d, kern_count = kern_count * %d,"
             " kern_sum_ns = kern_sum_ns * %d, exec_sum_ns = exec_sum_ns * %d, histogram ="
             " (SELECT json_group_object(key, value * %d) FROM json_each(histogram));"
             "UPDATE session_cover SET wall_ns = wall_ns * 100, recorded_ns = recorded_ns * 100;"
             "DELETE FROM event_batch WHERE last_rowid < (SELECT max(rowid) FROM event) - 100000;"
             "DELETE FROM event WHERE rowid < (SELECT min(first_rowid) FROM event_batch);"
             "INSERT INTO dropped SELECT 1, 'budget', %lld - count(*), 0, 0, %lld, min(start_ns),"
             " min(start_ns), 0, 0 FROM event",
             TIMES, TIMES, TIMES, TIMES, TIMES, TIMES, TIMES, (long long)BIG_STORE_EVENTS * TIMES,
             (long long)BIG_STORE_START_NS);
    store_support_run(path, sql);
    lengthen_runs(path);
}

int main(void)
{
    static struct bench_figure exact = {.name = "report_exact_10m_cpu_s", .unit = "s"};
    static struct bench_figure big = {.name = "report_totals_10m_cpu_s", .unit = "s"};
    static struct bench_figure big_cover = {.name = "cover_totals_10m_cpu_s", .unit = "s"};
    static struct bench_figure huge_cover = {.name = "cover_totals_1g_cpu_s", .unit = "s"};
    static struct bench_figure huge = {.name = "report_totals_1g_cpu_s", .unit = "s"};
    int64_t end_ns;
    char *path = big_store(&end_ns), *dir = temp_create(), *huge_path = temp_path(dir, "huge.db");
    uint64_t events;

    make_huge(path, huge_path);
    bench_print_machine();
    for (int i = 0; i < BENCH_REPEATS; i++) {
        bench_add(&exact, ask(path, 0, &events));
        CHECK_U64(events, BIG_STORE_EVENTS);
        bench_add(&big, ask(path, MEBI, &events));
        CHECK_U64(events, BIG_STORE_EVENTS);
        bench_add(&huge, ask(huge_path, MEBI, &events));
        CHECK_U64(events, (uint64_t)BIG_STORE_EVENTS * TIMES);
        bench_add(&big_cover, ask_cover(path));
        bench_add(&huge_cover, ask_cover(huge_path));
    }
    bench_print(&exact);
    bench_print(&big);
    bench_print(&huge);
    bench_print(&big_cover);
    bench_print(&huge_cover);
    bench_print_ratio("report_totals_against_exact", &exact, &big, 9);
    free(huge_path);
    free(path);
    temp_destroy(&dir);
    return EXIT_SUCCESS;
}
