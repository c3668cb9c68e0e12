/* SPDX-License-Identifier: Apache-2.0 */
/* What recording cost, below reports on spans. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>

#include "analyze/query/recording_overhead.h"
#include "analyze/reports/report.h"

static void emit_sum(const struct report *report, const struct recording_overhead_sum *sum)
{
    static const struct out_section section = {.name = "recording", .data_only = true};
    const bool is_known = sum->span_count > 0;
    const double mean_ns = is_known ? sum->cost_ns / (double)sum->span_count : NAN;
    const double share = sum->recorded_ns > 0 ? sum->cost_ns / sum->recorded_ns : NAN;
    char text[32];

    out_facts(
        report->out, &section,
        (struct out_fact[]){
            {"span_count", NULL,
             is_known ? out_integer(OUT_INT, (int64_t)sum->span_count) : out_unknown(OUT_INT)},
            {"span_ns", NULL, out_number(OUT_NS, mean_ns)},
            {"cost_ns", NULL, out_number(OUT_NS, is_known ? sum->cost_ns : NAN)},
            {"recorded_ns", NULL, out_number(OUT_NS, is_known ? sum->recorded_ns : NAN)},
            {"share", NULL, out_number(OUT_SHARE, share)},
            {"unknown_span_count", NULL, out_integer(OUT_INT, (int64_t)sum->unknown_count)},
        },
        6);
    if (!is_known)
        return;
    out_note(report->out, OUT_NOTE_PLAIN,
             "Recording took about %.2g%% of the recorded time of threads and queues: %" PRIu64
             " spans at %s each, as measured when the program started. It is in the times above.",
             isnan(share) ? 0 : 100 * share, sum->span_count,
             out_duration_text(text, sizeof(text), mean_ns));
    if (sum->unknown_count)
        out_note(report->out, OUT_NOTE_PLAIN,
                 "What recording %" PRIu64 " other spans cost is not known.", sum->unknown_count);
}

int report_recording_begin(struct report_recording *recording, const struct spans_answer *spans)
{
    recording_overhead_deinit(&recording->costs);
    recording->sum = (struct recording_overhead_sum){0};
    return query_recording_overhead(recording->report->source->store, spans, &recording->costs,
                                    recording->diag);
}

void report_recording_take(struct report_recording *recording, const struct spans_answer *spans)
{
    recording_overhead_add(&recording->costs, spans, &recording->sum);
}

void report_recording_emit(const struct report_recording *recording)
{
    emit_sum(recording->report, &recording->sum);
}

void report_recording_deinit(struct report_recording *recording)
{
    recording_overhead_deinit(&recording->costs);
}
