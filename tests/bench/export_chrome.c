/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How fast a million events are written as a Chrome trace, once they are in memory, against writing
 * the same bytes with nothing done to them; and how much memory that takes besides the events.
 */
#include <sys/resource.h>

#include "analyze/export/export.h"
#include "base/clock.h"
#include "tests/support/bench.h"
#include "tests/support/big_store.h"
#include "tests/support/check.h"

extern const struct export_kind export_chrome;

enum { RUNS = 500 }; /* two events for each op in each */

static double seconds_since(uint64_t start_ns)
{
    return (double)(ot_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - start_ns) * 1e-9;
}

static double peak_mib(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return (double)usage.ru_maxrss / 1024;
}

static int complain(const struct diag *diag)
{
    fprintf(stderr, "export_chrome: %s\n", diag->text);
    return EXIT_FAILURE;
}

/* Writes to a file without a name; returns its size, or -1. CPU time only is taken. */
static double write_trace(struct export *export, double *out_seconds, struct diag *diag)
{
    FILE *stream = tmpfile();
    uint64_t start_ns = ot_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    double bytes = -1;

    export->stream = stream;
    if (stream && export_chrome.run(export, diag) == 0 && fflush(stream) == 0)
        bytes = (double)ftell(stream);
    *out_seconds = seconds_since(start_ns);
    if (stream)
        fclose(stream);
    return bytes;
}

static double write_plain(double bytes)
{
    static const char line[4096] = {0};
    FILE *stream = tmpfile();
    uint64_t start_ns = ot_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    double seconds;

    for (double done = 0; stream && done < bytes; done += sizeof(line))
        fwrite(line, 1, sizeof(line), stream);
    seconds = seconds_since(start_ns);
    if (stream)
        fclose(stream);
    return seconds;
}

static int measure(struct export *export, struct diag *diag)
{
    static struct bench_figure rate = {.name = "export_chrome_mb_per_s", .unit = "MB/s"};
    static struct bench_figure events = {.name = "export_chrome_events_per_s", .unit = "events/s"};
    static struct bench_figure plain = {.name = "export_plain_mb_per_s", .unit = "MB/s"};
    static struct bench_figure size = {.name = "export_chrome_bytes_per_event", .unit = "bytes"};
    static struct bench_figure memory = {.name = "export_chrome_memory_mib", .unit = "MiB"};
    double count = (double)export->packed->count, before_mib = peak_mib();

    for (int i = 0; i < BENCH_REPEATS; i++) {
        double seconds, bytes = write_trace(export, &seconds, diag);

        if (bytes < 0)
            return complain(diag);
        bench_add(&rate, bytes * 1e-6 / seconds);
        bench_add(&events, count / seconds);
        bench_add(&size, bytes / count);
        if (i == 0)
            bench_add(&memory, peak_mib() - before_mib);
        bench_add(&plain, bytes * 1e-6 / write_plain(bytes));
    }
    bench_print(&rate);
    bench_print(&events);
    bench_print(&plain);
    bench_print(&size);
    bench_print(&memory);
    return EXIT_SUCCESS;
}

int main(void)
{
    const int64_t session_id = 1;
    const struct ops_question question = {
        .session_ids = &session_id, .session_count = 1, .first_run = 1, .last_run = RUNS};
    const struct analyze_options options = analyze_options_default();
    struct memory_row_array memory = {0};
    struct counter_row_array counters = {0};
    struct session_rows sessions = {0};
    struct packed_spans packed = {0};
    const struct span_parts parts = {.user = &packed, .begin = packed_begin, .take = packed_take};
    struct spans_answer spans;
    struct source source = {.name = "store"};
    struct report report = {.options = &options,
                            .source = &source,
                            .sessions = &sessions,
                            .session_ids = &session_id,
                            .session_count = 1};
    struct export export = {.report = &report,
                            .spans = &spans,
                            .packed = &packed,
                            .memory = &memory,
                            .counters = &counters,
                            .base_ns = STORE_NULL};
    struct diag diag = {0};
    int64_t end_ns;
    char *path = big_store(&end_ns);
    int status;

    if (store_open(path, STORE_READ, &source.store, &diag) < 0 ||
        query_sessions(source.store, &sessions, &diag) < 0 ||
        query_span_parts(source.store, &question, &parts, &spans, &diag) < 0 ||
        packed_finish(&packed) < 0)
        return complain(&diag);
    bench_print_machine();
    status = measure(&export, &diag);
    packed_deinit(&packed);
    spans_answer_deinit(&spans);
    session_rows_deinit(&sessions);
    store_close(&source.store);
    free(path);
    return status;
}
