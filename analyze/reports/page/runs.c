/* SPDX-License-Identifier: Apache-2.0 */
/* The page's runs: how long each took, and which of them are worth a timeline. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "analyze/reports/page/page.h"
#include "base/text_buffer.h"

static int64_t duration_of(const struct counted_run *run)
{
    return run->end_ns == STORE_NULL ? STORE_NULL : run->end_ns - run->start_ns;
}

/* --- The curve: of more runs than it has points, the slowest of each stretch. --- */

static void emit_run(const struct page *page, const struct counted_run *run)
{
    int64_t ns = duration_of(run);

    out_row(page->report->out,
            (struct out_value[]){
                out_integer(OUT_INT, run->session_id),
                out_integer(OUT_INT, run->run),
                ns == STORE_NULL ? out_unknown(OUT_NS) : out_number(OUT_NS, (double)ns),
            });
}

static void emit_stretches(const struct page *page)
{
    const struct counted_runs *runs = &page->runs;
    size_t stretch = (runs->count + PAGE_POINTS_MAX - 1) / PAGE_POINTS_MAX;

    for (size_t i = 0; i < runs->count; i += stretch) {
        const struct counted_run *slowest = &runs->items[i];

        for (size_t k = i + 1; k < i + stretch && k < runs->count; k++) {
            if (duration_of(&runs->items[k]) > duration_of(slowest))
                slowest = &runs->items[k];
        }
        emit_run(page, slowest);
    }
    if (stretch > 1)
        out_note(page->report->out, OUT_NOTE_PLAIN,
                 "The curve of run times shows the slowest of each %zu of %zu runs.", stretch,
                 runs->count);
}

int page_run_times(const struct page *page, struct diag *diag)
{
    static const struct out_column columns[] = {
        {.name = "session_id", .title = "session"},
        {.name = "run", .title = "run"},
        {.name = "time_ns", .title = "time"},
    };
    const struct basis *basis = &page->answer->basis;
    struct out_guide guides[3] = {{"P50"}, {"P90"}, {"P99"}};
    const struct out_chart chart = {.kind = OUT_CHART_LINE,
                                    .x = "run",
                                    .values = {"time_ns"},
                                    .guides = guides,
                                    .guide_count = 3,
                                    .about = "A click on a run shows it on the timeline."};
    const struct out_section section = {
        .name = "run_times", .title = "Run times", .data_only = true, .chart = &chart};

    if (page->runs.count < 2 || basis->run_ns_count < 2 || page->report->session_count > 1)
        return 0;
    guides[0].value = stats_percentile(basis->run_ns, basis->run_ns_count, 50);
    guides[1].value = stats_percentile(basis->run_ns, basis->run_ns_count, 90);
    guides[2].value = stats_percentile(basis->run_ns, basis->run_ns_count, 99);
    out_table_begin(page->report->out, &section, columns, 3);
    emit_stretches(page);
    out_table_end(page->report->out);
    return 0;
}

/* --- The timeline's. --- */

/* The slowest first; those that never ended last. */
static int compare_durations(const void *a, const void *b)
{
    int64_t left = duration_of(*(const struct counted_run *const *)a);
    int64_t right = duration_of(*(const struct counted_run *const *)b);

    return (left < right) - (left > right);
}

static void choose(struct page *page, const struct counted_run *run, const char *role)
{
    for (size_t i = 0; i < page->chosen_count; i++) {
        const struct counted_run *chosen = &page->chosen[i].run;

        if (chosen->session_id == run->session_id && chosen->run == run->run)
            return;
    }
    page->chosen[page->chosen_count++] = (struct page_run){*run, role};
}

/* How many more runs there is room for, as far as events are spread evenly. */
static size_t room_for_more(const struct page *page)
{
    double each = (double)page->answer->basis.event_count / (double)page->runs.count;
    double room = PAGE_SPANS_MAX - each * (double)page->chosen_count;
    size_t most = PAGE_RUNS_MAX - page->chosen_count;

    if (each <= 0 || room < each)
        return 0;
    return room / each < (double)most ? (size_t)(room / each) : most;
}

/* Others by number; of more than there is room for, every n-th. */
static void choose_more(struct page *page)
{
    const struct counted_runs *runs = &page->runs;
    size_t most = page->chosen_count + room_for_more(page);
    size_t stretch = (runs->count + most - 1) / most;

    for (size_t i = 0; i < runs->count && page->chosen_count < most; i += stretch)
        choose(page, &runs->items[i], "");
}

int page_choose_runs(struct page *page, struct diag *diag)
{
    const struct counted_runs *runs = &page->runs;
    const struct counted_run **sorted = malloc((runs->count + 1) * sizeof(*sorted));
    size_t ended = 0;

    page->chosen_count = 0;
    if (!sorted)
        return diag_set(diag, -ENOMEM, "no memory for the runs");
    for (size_t i = 0; i < runs->count; i++) {
        sorted[i] = &runs->items[i];
        ended += runs->items[i].end_ns != STORE_NULL;
    }
    qsort(sorted, runs->count, sizeof(*sorted), compare_durations);
    if (ended) {
        choose(page, sorted[ended / 2], ended > 1 ? ", the median" : "");
        choose(page, sorted[0], ", the slowest");
    }
    if (runs->count)
        choose(page, &runs->items[0], ", the first");
    if (page->chosen_count)
        choose_more(page);
    free(sorted);
    return 0;
}

void page_name_run(const struct page *page, const struct page_run *chosen, struct text_buffer *name)
{
    int64_t ns = duration_of(&chosen->run);

    if (page->report->session_count > 1)
        text_buffer_print(name, "session %" PRId64 ", ", chosen->run.session_id);
    text_buffer_print(name, "run %" PRId64 "%s", chosen->run.run, chosen->role);
    if (ns != STORE_NULL) {
        struct out_value took = out_number(OUT_NS, (double)ns);

        text_buffer_print(name, ": ");
        out_format_compact(name, &took);
    }
}
