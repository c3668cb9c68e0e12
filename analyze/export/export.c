/* SPDX-License-Identifier: Apache-2.0 */
/* --export: what was selected goes to a file that other programs read. */
#include "analyze/export/export.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "analyze/export/file.h"

/* --- Points: what is no span. --- */

static bool is_in_chosen_run(const struct export *export, int64_t session_id, int64_t time_ns)
{
    const struct spans_answer *spans = export->spans;

    if (!export->report->options->runs)
        return true;
    for (size_t i = 0; i < spans->runs.count; i++) {
        const struct run_row *run = &spans->runs.items[i];

        if (run->selected && run->session_id == session_id && time_ns >= run->start_ns &&
            (run->end_ns == STORE_NULL || time_ns <= run->end_ns))
            return true;
    }
    return false;
}

/* op SPAN_NONE: not known, which passes only where nobody asks for some. */
static bool takes_point(const struct export *export, struct filter *filter, uint32_t lane,
                        uint32_t op, int64_t time_ns)
{
    const struct spans_answer *spans = export->spans;
    static const struct op_row unknown = {.name = "", .type = ""};
    const struct op_row *row = op == SPAN_NONE ? &unknown : &spans->ops.items[op];

    if (filter_is_of(filter, FILTER_OF_LABELS) || !filter_passes_op(filter, row))
        return false;
    if (filter_is_of(filter, FILTER_OF_LANES) &&
        !filter_passes_lane(filter, &spans->lanes.items[lane], row))
        return false;
    return is_in_chosen_run(export, spans->lanes.items[lane].session_id, time_ns);
}

static int read_points(const struct export *export, struct filter *filter,
                       struct memory_row_array *out_memory, struct counter_row_array *out_counters,
                       struct diag *diag)
{
    struct store *store = export->report->source->store;
    size_t kept = 0;
    int rc = query_memory(store, export->spans, out_memory, diag);

    if (rc == 0)
        rc = query_counters(store, export->spans, out_counters, diag);
    for (size_t i = 0; i < out_memory->count && rc == 0; i++) {
        const struct memory_row *row = &out_memory->items[i];

        if (takes_point(export, filter, row->lane, row->op, row->time_ns))
            out_memory->items[kept++] = *row;
    }
    out_memory->count = kept;
    kept = 0;
    for (size_t i = 0; i < out_counters->count && rc == 0; i++) {
        const struct counter_row *row = &out_counters->items[i];

        if (takes_point(export, filter, row->lane, row->op, row->time_ns))
            out_counters->items[kept++] = *row;
    }
    out_counters->count = kept;
    return rc;
}

/* --- The file. --- */

static int open_file(struct export *export, struct export_file *file, struct diag *diag)
{
    const struct analyze_options *options = export->report->options;
    int rc;

    if (export->kind->makes_file) {
        rc = export_file_reserve(file, options->output, diag);
        export->path = file->temporary;
        return rc;
    }
    if (!options->output && export->kind->is_binary && isatty(STDOUT_FILENO))
        return diag_set(diag, -EINVAL, "%s is not for a terminal: name a file with -o",
                        export->kind->name);
    rc = options->append ? export_file_append(file, options->append, &export->base_ns,
                                              &export->taken_bytes, diag)
                         : export_file_open(file, options->output, !export->kind->is_binary, diag);
    export->stream = file->stream;
    return rc;
}

/* Finished spans, as the export takes them. */
struct taken {
    struct packed_spans packed;
    struct ordered_spans ordered;
    struct stack_lines stacks;
};

static int write_file(struct export *export, struct taken *taken, struct diag *diag)
{
    struct export_file file;
    int rc = open_file(export, &file, diag), close_rc;

    if (rc < 0)
        return rc;
    if (!export->stream || !isatty(fileno(export->stream)))
        taken->packed.progress = taken->ordered.progress = taken->stacks.progress =
            export->report->progress;
    rc = export->kind->run(export, diag);
    progress_end(export->report->progress);
    close_rc = export_file_close(&file, rc == 0, diag);
    return rc ? rc : close_rc;
}

static enum export_weight choose_weight(const struct export_kind *kind, int asked)
{
    enum export_weight weight = WEIGHT_TIME;

    if (asked != CHOICE_NONE)
        return (enum export_weight)asked;
    while (kind->weights && !(kind->weights & 1U << weight))
        weight++;
    return weight;
}

/* Without --runs and --time an export is of all there is. */
static int select_all(const struct report *report, struct report_selection *out_selection,
                      struct diag *diag)
{
    int rc = report_select(report, out_selection, diag);

    out_selection->question.totals = true;
    out_selection->question.warmups = true;
    return rc;
}

static bool has_unfinished(const struct spans_answer *spans)
{
    for (size_t i = 0; i < spans->unfinished.count; i++) {
        if (spans->unfinished.items[i].is_shown)
            return true;
    }
    return false;
}

static int query_all(const struct export *export, struct report_selection *selection,
                     struct taken *taken, struct spans_answer *out_spans, struct diag *diag)
{
    const struct report_parts parts[] = {
        [EXPORT_LANES] = {&taken->packed, packed_begin, packed_take, SPAN_FRAMES_LEAVES,
                          SPAN_CUT_WAITS},
        [EXPORT_STORE] = {&taken->ordered, ordered_begin, ordered_take, SPAN_FRAMES_LEAVES,
                          SPAN_CUT_WAITS},
        [EXPORT_STACKS] = {&taken->stacks, stacks_begin, stacks_take, SPAN_FRAMES_LEAVES,
                           SPAN_CUT_WAITS},
    };
    int rc, finish_rc;

    taken->stacks.by_device = export->weight == WEIGHT_DEVICE;
    rc = report_query_span_parts(export->report, selection, &parts[export->kind->order], out_spans,
                                 diag);
    finish_rc = packed_finish(&taken->packed);
    if (rc >= 0 && finish_rc < 0)
        return diag_set(diag, finish_rc, "no memory for the events");
    return rc;
}

static int run(const struct report *report, struct diag *diag)
{
    struct memory_row_array memory = {0};
    struct counter_row_array counters = {0};
    struct taken taken = {0};
    struct spans_answer spans = {0};
    struct report_selection selection;
    struct diag reason = {0};
    struct export export = {
        .kind = export_kind_of(report->options->export, diag),
        .report = report,
        .spans = &spans,
        .packed = &taken.packed,
        .ordered = &taken.ordered,
        .stacks = &taken.stacks,
        .memory = &memory,
        .counters = &counters,
        .base_ns = STORE_NULL,
    };
    int rc = select_all(report, &selection, diag);

    export.weight = choose_weight(export.kind, report->options->weight);
    if (rc == 0)
        rc = query_all(&export, &selection, &taken, &spans, &reason);
    if (rc >= 0)
        report_judge(report, &spans.basis);
    if (rc < 0 && reason.text[0])
        diag_set(diag, rc, "%s", reason.text);
    if (rc >= 0) {
        int points_rc = read_points(&export, &selection.filter, &memory, &counters, diag);

        rc = points_rc < 0 ? points_rc : rc;
    }
    if (rc == REPORT_NOTHING && (memory.count || counters.count || has_unfinished(&spans)))
        rc = 0;
    else if (rc == REPORT_NOTHING)
        diag_set(diag, 0, "%s", reason.text);
    if (rc == 0)
        rc = write_file(&export, &taken, diag);
    array_deinit(&memory);
    array_deinit(&counters);
    packed_deinit(&taken.packed);
    ordered_deinit(&taken.ordered);
    stacks_deinit(&taken.stacks);
    spans_answer_deinit(&spans);
    report_selection_deinit(&selection);
    return rc;
}

const struct report_kind report_export = {
    .name = "export",
    .about = "",
    .mode = "export",
    .values = REPORT_EACH_EVENT,
    .output = REPORT_WRITES,
    .run = run,
    .takes = (const char *const[]){"append", "weight", NULL},
};
