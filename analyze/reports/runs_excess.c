/* SPDX-License-Identifier: Apache-2.0 */
/* Why slow runs are slow: what they took longer than usual ones, part by part. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "analyze/reports/runs.h"

enum { EXCESS_LINES = 12 }; /* parts shown one by one; --top 0 shows all */

struct excess {
    size_t part;
    double usual_ns, slow_ns;
};

const char *runs_part_name(const struct runs_state *state, size_t part, const char **out_where)
{
    static const char *const where[RUN_PARTS] = {"device", "device waits", "host"};
    size_t ops = state->names.ops.count;

    *out_where = NULL;
    if (part == run_part_between(ops))
        return "between ops";
    if (part == run_part_unshown(ops))
        return "ops left out by the filter";
    *out_where = where[part % RUN_PARTS];
    return state->names.ops.items[part / RUN_PARTS].name;
}

static int compare_excess(const void *a, const void *b)
{
    const struct excess *left = a, *right = b;
    double more = left->slow_ns - left->usual_ns, other = right->slow_ns - right->usual_ns;

    if (more != other)
        return more < other ? 1 : -1;
    return (left->part > right->part) - (left->part < right->part);
}

static void emit_excess_row(const struct runs_state *state, const char *name, const char *type,
                            const char *where, const struct excess *excess)
{
    double all_ns = state->slow.dur_ns - state->usual.dur_ns;
    double more_ns = excess->slow_ns - excess->usual_ns;

    out_row(state->report->out, (struct out_value[]){
                                    out_text(name),
                                    type ? out_text(type) : out_unknown_as(OUT_TEXT, ""),
                                    where ? out_text(where) : out_unknown_as(OUT_TEXT, ""),
                                    out_number(OUT_NS, excess->usual_ns),
                                    out_number(OUT_NS, excess->slow_ns),
                                    out_number(OUT_NS, more_ns),
                                    out_number(OUT_SHARE, all_ns > 0 ? more_ns / all_ns : NAN),
                                });
}

static void emit_excess_rows(const struct runs_state *state, const struct excess *rows,
                             size_t count)
{
    size_t shown =
        report_top(state->report) == 0 || count <= EXCESS_LINES ? count : EXCESS_LINES - 1;
    struct excess rest = {0};
    char others[64];

    for (size_t i = 0; i < count; i++) {
        const char *where, *name = runs_part_name(state, rows[i].part, &where);
        const char *type = where ? state->names.ops.items[rows[i].part / RUN_PARTS].type : NULL;

        if (i < shown) {
            emit_excess_row(state, name, type, where, &rows[i]);
        } else {
            rest.usual_ns += rows[i].usual_ns;
            rest.slow_ns += rows[i].slow_ns;
        }
    }
    if (shown < count) {
        snprintf(others, sizeof(others), "the other %zu", count - shown);
        emit_excess_row(state, others, NULL, NULL, &rest);
    }
}

static void note_excess(const struct runs_state *state)
{
    struct out *out = state->report->out;
    double more_ns = state->slow.dur_ns - state->usual.dur_ns;
    char sample[96] = "";

    if (state->slow.of_count > RUNS_GROUP_MAX || state->usual.of_count > RUNS_GROUP_MAX)
        snprintf(sample, sizeof(sample), " (%d of each, evenly chosen, were looked into)",
                 RUNS_GROUP_MAX);
    if (state->subject)
        out_note(out, OUT_NOTE_PLAIN,
                 "Run %lld took %.4g ms, %.4g ms %s than the %zu around the median%s.",
                 (long long)state->subject->run, state->slow.dur_ns / 1e6, fabs(more_ns) / 1e6,
                 more_ns < 0 ? "less" : "more", state->usual.of_count, sample);
    else
        out_note(out, OUT_NOTE_PLAIN,
                 "The %zu run%s at or above P99 took %.4g ms on average, %.4g ms more than the "
                 "%zu around the median%s.",
                 state->slow.of_count, state->slow.of_count == 1 ? "" : "s",
                 state->slow.dur_ns / 1e6, more_ns / 1e6, state->usual.of_count, sample);
    out_note(out, OUT_NOTE_PLAIN,
             "Shares are of that difference and add up to 100%%: each moment of a run belongs to "
             "what a device works on, else to the innermost op of a thread, else to nothing: "
             "between ops.");
}

int runs_emit_excess(const struct runs_state *state)
{
    static const struct out_section section = {.name = "excess",
                                               .keep = "name more_ns share slow_ns usual_ns",
                                               .title = "Why the slow ones are slow"};
    static const struct out_column head[] = {
        {.name = "name", .title = "what", .wiki = "what", .wrap = 40, .compact = true},
        {.name = "type", .title = "type", .wiki = "type", .compact = true},
        {.name = "where", .title = "where", .wiki = "where", .compact = true},
        {.name = "usual_ns", .title = "median runs", .wiki = "median runs", .compact = true},
        {.name = "slow_ns", .title = "slow runs", .wiki = "slow runs", .compact = true},
        {.name = "more_ns", .title = "more", .wiki = "more", .compact = true},
        {.name = "share", .title = "share", .wiki = "share", .compact = true},
    };
    size_t parts = run_part_count(state->names.ops.count), count = 0;
    struct excess *rows = malloc(parts * sizeof(*rows));

    if (!rows)
        return -ENOMEM;
    for (size_t i = 0; i < parts; i++) {
        if (state->usual.parts[i] > 0 || state->slow.parts[i] > 0)
            rows[count++] = (struct excess){i, state->usual.parts[i], state->slow.parts[i]};
    }
    qsort(rows, count, sizeof(*rows), compare_excess);
    out_table_begin(state->report->out, &section, head, sizeof(head) / sizeof(head[0]));
    emit_excess_rows(state, rows, count);
    out_table_end(state->report->out);
    note_excess(state);
    free(rows);
    return 0;
}
