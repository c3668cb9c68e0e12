/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that follow each other again and again: what could become one. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/metrics/sequences.h"
#include "analyze/query/lane_use.h"
#include "analyze/query/op_class.h"
#include "analyze/reports/report.h"
#include "base/json.h"

struct sequence_line {
    const struct sequence *sequence;
    const char *ops, *example; /* JSON lists; example NULL: `ops` are names already */
};

#define CELL(name, value) LINE_CELL(name, struct sequence_line, value)
#define ALL               ((const struct sequences *)context)
#define TOTAL_NS          ((double)line->sequence->total_ns)
#define GAP_NS            ((double)line->sequence->gap_ns)
#define COUNT             ((double)line->sequence->count)

CELL(ops_of, out_list(line->ops))
CELL(length_of, out_integer(OUT_INT, line->sequence->length))
CELL(count_of, out_integer(OUT_INT, (int64_t)line->sequence->count))
CELL(gap_of, out_number(OUT_NS, GAP_NS))
CELL(gap_mean_of, out_number(OUT_NS, GAP_NS / COUNT))
CELL(total_of, out_number(OUT_NS, TOTAL_NS))
CELL(mean_of, out_number(OUT_NS, TOTAL_NS / COUNT))
CELL(share_of, out_number(OUT_SHARE, ALL->total_ns ? TOTAL_NS / (double)ALL->total_ns : NAN))
CELL(example_of, out_list(line->example))

static const struct line_column columns[] = {
    {LINE_TEXT("ops", "Operators", 50),
     {"sequence"},
     "types in order, names of what has none or with --group-by name",
     ops_of},
    {LINE_COMPACT("length", "Length"), {NULL}, "operators in it, 2 to 5", length_of},
    {LINE_COMPACT("calls", "Count"), {"count"}, "occurrences, none inside another", count_of},
    {LINE_COMPACT("gap_ns", "Between"),
     {"saved"},
     "time between its operators, all occurrences",
     gap_of},
    {LINE_COMPACT("gap_mean_ns", "Between avg"), {NULL}, "of one occurrence", gap_mean_of},
    {LINE_COMPACT("total_ns", "Total"), {"time"}, "its operators, all occurrences", total_of},
    {LINE_COMPACT("mean_ns", "Avg"), {"avg"}, "of one occurrence", mean_of},
    {LINE_COMPACT("share", "Share"),
     {NULL},
     "total_ns, of the time of all operators on these lanes",
     share_of},
    {LINE_TEXT("example", "For example", 40), {NULL}, "names where it first occurs", example_of},
};

/* The operators of its first occurrence as a JSON list; NULL without memory. */
static const char *list_ops(const struct spans_answer *spans, const struct sequences *all,
                            const struct sequence *sequence, bool by_name,
                            struct query_texts *texts)
{
    struct json_writer json;
    const char *kept = NULL;
    char *text;

    json_init_memory(&json);
    json_begin_array(&json);
    for (uint32_t i = 0; i < sequence->length; i++) {
        const struct op_row *op = &spans->ops.items[all->parts.items[sequence->first + i].op];

        json_string(&json, by_name ? op->name : op_group_name(op));
    }
    json_end_array(&json);
    if (json_finish(&json) == 0) {
        text = json_take(&json, NULL);
        kept = query_keep(texts, text);
        free(text);
    } else {
        texts->failed = true;
    }
    json_deinit(&json);
    return kept;
}

static struct sequence_line make_line(const struct spans_answer *spans, const struct sequences *all,
                                      const struct sequence *sequence, bool by_name,
                                      struct query_texts *texts)
{
    struct sequence_line line = {.sequence = sequence};

    line.ops = list_ops(spans, all, sequence, by_name, texts);
    line.example = list_ops(spans, all, sequence, true, texts);
    if (line.ops && line.example && strcmp(line.ops, line.example) == 0)
        line.example = NULL;
    return line;
}

static void note(const struct report *report, const struct sequences *all)
{
    char total[32];

    out_note(report->out, OUT_NOTE_PLAIN,
             "Shares are of the %s of all operators on these lanes: the devices' where something "
             "ran on one, else the threads'; the outermost of nested operators. An operator can "
             "be in several lines.",
             out_duration_text(total, sizeof(total), (double)all->total_ns));
    out_note(report->out, OUT_NOTE_PLAIN,
             "No sequence goes from one run to the next, nor over a gap longer than %" PRId64
             " ms (such gaps within runs: %" PRIu64 ").",
             SEQUENCE_GAP_NS / 1000000, all->parted_count);
}

static int emit_sequences(const struct report *report, const struct spans_answer *spans,
                          const struct sequences *all, bool by_name, struct diag *diag)
{
    static const struct out_chart chart = {
        .kind = OUT_CHART_BARS, .label = "ops", .values = {"total_ns", "gap_ns"}};
    static const struct out_section section = {
        .name = "sequences", .keep = "ops calls total_ns gap_ns share length", .chart = &chart};
    struct sequence_line *lines = calloc(all->items.count + 1, sizeof(*lines));
    struct query_texts texts = {.failed = !lines};
    int rc;

    for (size_t i = 0; i < all->items.count && !texts.failed; i++)
        lines[i] = make_line(spans, all, &all->items.items[i], by_name, &texts);
    if (texts.failed) {
        rc = diag_set(diag, -ENOMEM, "no memory for the table");
    } else if (!all->items.count) {
        diag_set(diag, 0, "no operators follow each other more than once");
        rc = REPORT_NOTHING;
    } else {
        rc =
            report_emit_lines(report, &section, lines, all->items.count, sizeof(*lines), all, diag);
    }
    if (rc == 0)
        note(report, all);
    free(lines);
    query_texts_deinit(&texts);
    return rc;
}

static int begin(void *user, const struct spans_answer *spans)
{
    return sequences_begin(spans, user);
}

static int take(void *user, struct spans_answer *spans)
{
    struct sequences_gathered **gathered = user;

    return sequences_add(*gathered, spans);
}

static int emit(const struct report *report, void *user, struct spans_answer *spans,
                struct diag *diag)
{
    struct sequences_gathered **gathered = user;
    const char *group_by = report->options->group_by;
    bool by_name = group_by && strcmp(group_by, "name") == 0;
    struct sequences all = {0};
    int rc;

    if (group_by && !by_name && strcmp(group_by, "type") != 0)
        return diag_set(diag, -EINVAL, "--group-by \"%s\": sequences go by type or name", group_by);
    rc = sequences_finish(*gathered, spans, by_name, &all);
    rc = rc < 0 ? diag_set(diag, rc, "no memory for the sequences")
                : emit_sequences(report, spans, &all, by_name, diag);
    sequences_deinit(&all);
    return rc;
}

static int run(const struct report *report, struct diag *diag)
{
    struct sequences_gathered *gathered = NULL;
    const struct report_parts parts = {&gathered, begin, take, SPAN_FRAMES_LEAVES, SPAN_CUT_WAITS};
    int rc = report_on_span_parts(report, &parts, emit, diag);

    sequences_drop(&gathered);
    return rc;
}

static double time_ns(const void *item)
{
    return (double)((const struct sequence_line *)item)->sequence->total_ns;
}

static const char *const takes[] = {"group-by", NULL};

const struct report_kind report_sequences = {
    .name = "sequences",
    .about = "Operators that follow each other again and again, and the time between them: what "
             "could become one.",
    .values = REPORT_TOTALS,
    .run = run,
    .tables = (const char *const[]){"sequences", NULL},
    .takes = takes,
    .lines = {.columns = columns,
              .column_count = sizeof(columns) / sizeof(columns[0]),
              .top = 10,
              .order_by = "gap_ns",
              .time_ns = time_ns},
    .explain =
        {.time = "total_ns",
         .groups =
             (const struct explain_group[]){
                 {"type",
                  "CASE WHEN type IN ('', 'cpu_op', 'kernel', 'copy', 'memset', 'cuda_runtime',\n"
                  "                              'cuda_driver', 'os_runtime', 'collective') THEN name\n"
                  "                ELSE type END",
                  ""},
                 {"name", "name", ""},
                 {NULL, NULL, NULL},
             }},
};
