/* SPDX-License-Identifier: Apache-2.0 */
/* The runs one by one, the slowest first, and which ops explain why the slow ones are slow. */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/query/span_filter.h"
#include "analyze/reports/runs.h"
#include "analyze/stats/describe.h"
#include "analyze/stats/spread.h"

enum { BLOCK_RUNS = 4096 }; /* runs whose spans are in memory at once */

/* --- Columns. --- */

static struct out_value get_run(const void *line, const void *context)
{
    return out_integer(OUT_INT, ((const struct run_line *)line)->run.run);
}

static struct out_value get_session(const void *line, const void *context)
{
    return out_integer(OUT_INT, ((const struct run_line *)line)->run.session_id);
}

static struct out_value get_start(const void *line, const void *context)
{
    return out_integer(OUT_WHEN, ((const struct run_line *)line)->run.start_ns);
}

static struct out_value get_at(const void *line, const void *context)
{
    return out_number(OUT_NS, ((const struct run_line *)line)->at_ns);
}

static struct out_value get_dur(const void *line, const void *context)
{
    return out_number(OUT_NS, ((const struct run_line *)line)->dur_ns);
}

static struct out_value get_of_median(const void *line, const void *context)
{
    return out_number(OUT_SHARE, ((const struct run_line *)line)->of_median);
}

static struct out_value get_z(const void *line, const void *context)
{
    return out_number(OUT_REAL, ((const struct run_line *)line)->z);
}

static struct out_value get_slow(const void *line, const void *context)
{
    const struct run_line *run = line;

    return isnan(run->z) ? out_unknown_as(OUT_BOOL, "")
                         : out_integer(OUT_BOOL, run->z > SPREAD_OUTLIER_Z);
}

static struct out_value get_host(const void *line, const void *context)
{
    return out_number(OUT_SHARE, ((const struct run_line *)line)->busy[OP_HOST]);
}

static struct out_value get_device(const void *line, const void *context)
{
    return out_number(OUT_SHARE, ((const struct run_line *)line)->busy[OP_DEVICE]);
}

static struct out_value get_cause(const void *line, const void *context)
{
    size_t part = ((const struct run_line *)line)->cause;
    const char *where;

    return part == SIZE_MAX ? out_unknown_as(OUT_TEXT, "")
                            : out_text(runs_part_name(context, part, &where));
}

static struct out_value get_cause_where(const void *line, const void *context)
{
    size_t part = ((const struct run_line *)line)->cause;
    const char *where = NULL;

    if (part != SIZE_MAX)
        runs_part_name(context, part, &where);
    return where ? out_text(where) : out_unknown_as(OUT_TEXT, "");
}

static struct out_value get_cause_ns(const void *line, const void *context)
{
    double ns = ((const struct run_line *)line)->cause_ns;

    return isnan(ns) ? out_unknown_as(OUT_NS, "") : out_number(OUT_NS, ns);
}

static const struct line_column columns[] = {
    {{.name = "run", .title = "run", .wiki = "run", .compact = true},
     {0},
     "its number, from 1",
     get_run},
    {{.name = "at_ns", .title = "at", .wiki = "at", .compact = true},
     {"at"},
     "when it began, after the start of its session",
     get_at},
    {{.name = "dur_ns", .title = "duration", .wiki = "duration", .compact = true},
     {"dur", "time", "duration"},
     "from its start to its end",
     get_dur},
    {{.name = "of_median", .title = "of median", .wiki = "of median", .compact = true},
     {0},
     "its duration as a share of the median run's",
     get_of_median},
    {{.name = "slow", .title = "slow", .wiki = "slow", .compact = true},
     {0},
     "whether its z_score is above 3.5",
     get_slow},
    {{.name = "session_id", .data_only = true}, {"session"}, "its session", get_session},
    {{.name = "start_ns", .data_only = true}, {"start"}, "when it began, since 1970", get_start},
    {{.name = "z_score", .data_only = true},
     {0},
     "0.6745 times its distance from the median duration, by the median of all distances (MAD)",
     get_z},
    /* What only looking into the run tells: the last LOOKED_INTO. */
    {{.name = "host_busy", .title = "host busy", .wiki = "host busy", .compact = true},
     {0},
     "share of its duration with an op on some thread",
     get_host},
    {{.name = "device_busy", .title = "device busy", .wiki = "device busy", .compact = true},
     {0},
     "share of its duration with an op on some stream or queue",
     get_device},
    {{.name = "cause",
      .title = "mostly longer",
      .wiki = "mostly longer",
      .wrap = 40,
      .compact = true},
     {0},
     "what took most longer than in the runs around the median",
     get_cause},
    {{.name = "cause_where", .title = "where", .wiki = "where", .compact = true},
     {0},
     "whether that is on the device, waits there for its first kernel, or on the host while no "
     "device works",
     get_cause_where},
    {{.name = "cause_ns", .title = "by", .wiki = "by", .compact = true},
     {0},
     "how much longer",
     get_cause_ns},
};
enum { COLUMNS = sizeof(columns) / sizeof(columns[0]), LOOKED_INTO = 5 };

static double time_of(const void *line)
{
    return ((const struct run_line *)line)->dur_ns;
}

/* --- The runs and their statistics. --- */

static int make_lines(struct runs_state *state, const struct counted_runs *runs)
{
    state->sorted = malloc((runs->count ? runs->count : 1) * sizeof(*state->sorted));
    if (!state->sorted)
        return -ENOMEM;
    for (size_t i = 0; i < runs->count; i++) {
        const struct counted_run *run = &runs->items[i];
        const struct session_row *session = report_session(state->report, run->session_id);
        struct run_line line = {
            .run = *run,
            .at_ns = (double)(run->start_ns - session->start_ns),
            .dur_ns = NAN,
            .z = NAN,
            .of_median = NAN,
            .busy = {NAN, NAN},
            .cause = SIZE_MAX,
            .cause_ns = NAN,
        };

        if (run->end_ns != STORE_NULL && run->end_ns >= run->start_ns)
            state->sorted[state->ended++] = line.dur_ns = (double)(run->end_ns - run->start_ns);
        if (array_push(&state->lines, line) < 0)
            return -ENOMEM;
    }
    stats_sort(state->sorted, state->ended);
    return 0;
}

static void rate_lines(struct runs_state *state)
{
    double median, distance;

    if (!state->ended)
        return;
    median = stats_percentile(state->sorted, state->ended, 50);
    distance = stats_median_distance(state->sorted, state->ended);
    for (size_t i = 0; i < state->lines.count; i++) {
        struct run_line *line = &state->lines.items[i];

        if (median > 0)
            line->of_median = line->dur_ns / median;
        if (distance > 0)
            line->z = 0.6745 * (line->dur_ns - median) / distance;
    }
}

/* --- Groups. --- */

static bool is_subject(const struct runs_state *state, const struct run_line *line)
{
    return state->subject && line->run.session_id == state->subject->session_id &&
           line->run.run == state->subject->run;
}

/* Of runs that can be looked into. */
static bool is_between(const struct run_line *line, double low_ns, double high_ns)
{
    return line->dur_ns >= low_ns && line->dur_ns <= high_ns && !line->run.lacks_events;
}

/* At most RUNS_GROUP_MAX of the runs between two durations, spread over all of them. */
static int gather_group(const struct runs_state *state, double low_ns, double high_ns,
                        struct run_group *group)
{
    size_t seen = 0, step;
    int rc = 0;

    for (size_t i = 0; i < state->lines.count; i++)
        group->of_count += is_between(&state->lines.items[i], low_ns, high_ns);
    step = (group->of_count + RUNS_GROUP_MAX - 1) / RUNS_GROUP_MAX;
    for (size_t i = 0; i < state->lines.count && rc == 0; i++) {
        const struct run_line *line = &state->lines.items[i];

        if (is_between(line, low_ns, high_ns) && seen++ % step == 0)
            rc = array_push(&group->keys, ((struct run_key){line->run.session_id, line->run.run}));
    }
    return rc;
}

/* The runs within the middle tenth of those that can be looked into, without those that they are
 * compared with; sets the limit of the latter. */
static int gather_usual(struct runs_state *state)
{
    double *sorted = malloc(state->ended * sizeof(*sorted)), low_ns, high_ns;
    size_t count = 0;

    if (!sorted)
        return -ENOMEM;
    for (size_t i = 0; i < state->lines.count; i++) {
        const struct run_line *line = &state->lines.items[i];

        if (!isnan(line->dur_ns) && !line->run.lacks_events)
            sorted[count++] = line->dur_ns;
    }
    stats_sort(sorted, count);
    low_ns = stats_percentile(sorted, count, 45);
    high_ns = stats_percentile(sorted, count, 55);
    state->limit_ns = stats_percentile(sorted, count, 99);
    if (high_ns >= state->limit_ns)
        high_ns = stats_percentile(sorted, count, 50);
    free(sorted);
    return gather_group(state, low_ns, high_ns, &state->usual);
}

static int gather_slow(struct runs_state *state)
{
    if (!state->subject)
        return gather_group(state, state->limit_ns, INFINITY, &state->slow);
    state->slow.of_count = 1;
    return array_push(&state->slow.keys, *state->subject);
}

static void deinit_group(struct run_group *group)
{
    array_deinit(&group->keys);
    free(group->parts);
}

/* --- Looking into runs. --- */

static int compare_keys(const void *a, const void *b)
{
    const struct run_key *left = a, *right = b;

    if (left->session_id != right->session_id)
        return left->session_id < right->session_id ? -1 : 1;
    return (left->run > right->run) - (left->run < right->run);
}

/* The spans of these runs, which are put in order. */
static int read_runs(struct runs_state *state, struct run_key *keys, size_t count,
                     struct spans_answer *out_answer, struct diag *diag)
{
    struct ops_question question = state->selection.question;
    int rc;

    qsort(keys, count, sizeof(*keys), compare_keys);
    question.chosen_runs = keys;
    question.chosen_run_count = count;
    question.window = NULL;
    rc = query_spans(state->report->source->store, &question, out_answer, diag);
    if (rc == 0 && span_filter(out_answer, &state->selection.filter) < 0)
        rc = diag_set(diag, -ENOMEM, "no memory for the events");
    if (rc == 0 && state->selection.filter.gave_up)
        rc = filter_complain(&state->selection.filter, diag);
    for (size_t i = 0; i < out_answer->spans.count && rc == 0; i++)
        state->shown_spans += out_answer->spans.items[i].is_shown;
    return rc;
}

static bool is_key_of(const struct run_key *key, const struct run_row *run)
{
    return key->session_id == run->session_id && key->run == run->run;
}

/* Adds up the parts of a group's runs, which are among those read. */
static int measure_group(const struct runs_state *state, const struct run_index *index,
                         struct run_group *group)
{
    const struct spans_answer *answer = &state->names;
    size_t parts = run_part_count(answer->ops.count), key = 0;
    double busy[OP_SIDES];
    int rc = 0;

    group->parts = calloc(parts, sizeof(*group->parts));
    if (!group->parts)
        return -ENOMEM;
    for (size_t i = 0; i < answer->runs.count && key < group->keys.count && rc == 0; i++) {
        const struct run_row *run = &answer->runs.items[i];

        if (!is_key_of(&group->keys.items[key], run))
            continue;
        key++;
        group->dur_ns += (double)(run->end_ns - run->start_ns);
        rc = run_parts_add(answer, index, (uint32_t)i, group->parts, busy);
    }
    group->dur_ns /= (double)group->keys.count;
    for (size_t i = 0; i < parts; i++)
        group->parts[i] /= (double)group->keys.count;
    return rc;
}

/* Both groups, as far as there are any. */
static int look_into_groups(struct runs_state *state, struct diag *diag)
{
    struct run_index index = {0};
    ARRAY_OF(struct run_key) keys = {0};
    int rc = gather_usual(state);

    if (rc == 0)
        rc = gather_slow(state);
    for (size_t i = 0; i < state->usual.keys.count && rc == 0; i++)
        rc = array_push(&keys, state->usual.keys.items[i]);
    for (size_t i = 0; i < state->slow.keys.count && rc == 0; i++)
        rc = array_push(&keys, state->slow.keys.items[i]);
    if (rc == 0)
        rc = read_runs(state, keys.items, keys.count, &state->names, diag);
    if (rc == 0)
        rc = run_index_init(&index, &state->names);
    if (rc == 0)
        rc = measure_group(state, &index, &state->usual);
    if (rc == 0)
        rc = measure_group(state, &index, &state->slow);
    state->has_reference = rc == 0;
    run_index_deinit(&index);
    array_deinit(&keys);
    return rc;
}

static void find_cause(const struct runs_state *state, const double *parts, size_t count,
                       struct run_line *line)
{
    for (size_t i = 0; i < count; i++) {
        double more_ns = parts[i] - state->usual.parts[i];

        if (more_ns > 0 && (isnan(line->cause_ns) || more_ns > line->cause_ns)) {
            line->cause_ns = more_ns;
            line->cause = i;
        }
    }
}

static int look_into_run(const struct runs_state *state, const struct spans_answer *answer,
                         const struct run_index *index, uint32_t run, struct run_line *line)
{
    size_t count = run_part_count(answer->ops.count);
    double *parts = calloc(count, sizeof(*parts));
    int rc = parts ? run_parts_add(answer, index, run, parts, line->busy) : -ENOMEM;

    for (int side = 0; side < OP_SIDES; side++)
        line->busy[side] /= line->dur_ns;
    /* Ops that were defined in between would be in other places. */
    if (rc == 0 && answer->ops.count == state->names.ops.count &&
        line->dur_ns > state->usual.dur_ns)
        find_cause(state, parts, count, line);
    free(parts);
    return rc;
}

/* The lines stand by session and run number, as the answer's runs do. */
static int look_into_block(struct runs_state *state, size_t *places, struct run_key *keys,
                           size_t count, struct diag *diag)
{
    struct spans_answer answer = {0};
    struct run_index index = {0};
    int rc = read_runs(state, keys, count, &answer, diag);
    size_t next = 0;

    if (rc == 0)
        rc = run_index_init(&index, &answer);
    for (size_t i = 0; i < answer.runs.count && next < count && rc == 0; i++) {
        if (is_key_of(&keys[next], &answer.runs.items[i]))
            rc = look_into_run(state, &answer, &index, (uint32_t)i,
                               &state->lines.items[places[next++]]);
    }
    run_index_deinit(&index);
    spans_answer_deinit(&answer);
    return rc;
}

static int look_into_wanted(struct runs_state *state, struct diag *diag)
{
    struct run_key keys[BLOCK_RUNS];
    size_t places[BLOCK_RUNS], count = 0;
    int rc = 0;

    for (size_t i = 0; i < state->lines.count && rc == 0; i++) {
        const struct run_line *line = &state->lines.items[i];

        if (line->is_wanted && !isnan(line->dur_ns) && !line->run.lacks_events) {
            places[count] = i;
            keys[count++] = (struct run_key){line->run.session_id, line->run.run};
        }
        if (count == BLOCK_RUNS || (count && i + 1 == state->lines.count)) {
            rc = look_into_block(state, places, keys, count, diag);
            count = 0;
        }
    }
    return rc;
}

/* Lines that will be shown; all of them where their order hangs on what is inside. */
static int want_lines(struct runs_state *state, struct diag *diag)
{
    const char *order_by = report_order_by(state->report);
    bool all = lines_check_order(columns + COLUMNS - LOOKED_INTO, LOOKED_INTO, order_by, NULL) == 0;
    struct lines lines = {
        .columns = columns,
        .column_count = COLUMNS,
        .items = state->lines.items,
        .count = state->lines.count,
        .item_bytes = sizeof(struct run_line),
        .order_by = order_by,
        .top = all ? 0 : report_top(state->report),
    };
    size_t *order, count;
    int rc = lines_sort(&lines, &order, &count, diag);

    if (rc < 0)
        return rc;
    for (size_t i = 0; i < count; i++)
        state->lines.items[order[i]].is_wanted = true;
    free(order);
    return 0;
}

/* --- Output. --- */

static void emit_statistics(const struct runs_state *state)
{
    static const struct out_section section = {.name = "run_times"};
    static const double percents[] = {50, 90, 95, 99, 99.9};
    const double *sorted = state->sorted;
    struct spread spread = {.variation = NAN};
    double values[5] = {NAN, NAN, NAN, NAN, NAN};
    bool any = state->ended > 0;

    for (size_t i = 0; i < 5 && any; i++)
        values[i] = stats_percentile(sorted, state->ended, percents[i]);
    if (any && spread_of(sorted, state->ended, &spread) < 0)
        spread.variation = NAN;
    out_facts(
        state->report->out, &section,
        (struct out_fact[]){
            {"run_count", "runs that ended", out_integer(OUT_INT, (int64_t)state->ended)},
            {"interquartile_mean_ns", "interquartile mean (s)",
             out_number(OUT_NS, stats_trimmed_mean(sorted, state->ended))},
            {"variation", "coefficient of variation", out_number(OUT_SHARE, spread.variation)},
            {"min_ns", "fastest (s)", out_number(OUT_NS, any ? sorted[0] : NAN)},
            {"p50_ns", "P50 (s)", out_number(OUT_NS, values[0])},
            {"p90_ns", "P90 (s)", out_number(OUT_NS, values[1])},
            {"p95_ns", "P95 (s)", out_number(OUT_NS, values[2])},
            {"p99_ns", "P99 (s)", out_number(OUT_NS, values[3])},
            {"p99_9_ns", "P99.9 (s)", out_number(OUT_NS, values[4])},
            {"max_ns", "slowest (s)", out_number(OUT_NS, any ? sorted[state->ended - 1] : NAN)},
        },
        10);
    if (spread.variation > SPREAD_NOISY_VARIATION)
        out_note(state->report->out, OUT_NOTE_PLAIN,
                 "The runs vary by %.1f%% (standard deviation by mean; from 2.5%% on that is "
                 "noisy).",
                 spread.variation * 100);
}

static int emit_lines(struct runs_state *state, struct diag *diag)
{
    static const struct out_section section = {
        .name = "each_run", .keep = "run dur_ns cause cause_ns of_median slow at_ns"};
    const struct run_line *items = state->lines.items;
    size_t count = state->lines.count;

    for (size_t i = 0; i < count && state->subject; i++) {
        if (is_subject(state, &items[i])) {
            items += i;
            count = 1;
        }
    }
    return report_emit_lines(state->report, &section, items, count, sizeof(*items), state, diag);
}

/* --- The report. --- */

/* --runs with one number is a question about this run; the others are what it is compared with. */
static bool take_subject(struct runs_state *state, const struct counted_runs *runs)
{
    struct ops_question *question = &state->selection.question;

    if (!question->first_run || question->first_run != question->last_run)
        return false;
    if (runs->count != 1 || runs->items[0].end_ns == STORE_NULL)
        return false;
    state->subject_key = (struct run_key){runs->items[0].session_id, runs->items[0].run};
    state->subject = &state->subject_key;
    question->first_run = question->last_run = 0;
    return true;
}

/* The runs to compare and show; the subject is always one of them. */
static int read_lines(struct runs_state *state, struct diag *diag)
{
    struct store *store = state->report->source->store;
    struct counted_runs runs, all = {0};
    int rc = query_runs(store, &state->selection.question, &runs, diag);

    if (rc == 0 && !runs.count) {
        diag_set(diag, 0, "there is no run in what is asked for");
        rc = REPORT_NOTHING;
    }
    if (rc == 0 && take_subject(state, &runs)) {
        rc = query_runs(store, &state->selection.question, &all, diag);
        for (size_t i = 0; i < all.count && rc == 0; i++) {
            if (all.items[i].session_id == state->subject->session_id &&
                all.items[i].run == state->subject->run)
                all.items[i--] = all.items[--all.count];
        }
        if (rc == 0)
            rc = array_push(&all, runs.items[0]);
    }
    if (rc == 0)
        rc = make_lines(state, state->subject ? &all : &runs);
    array_deinit(&runs);
    array_deinit(&all);
    return rc;
}

static int compare_lines(const void *a, const void *b)
{
    const struct run_line *left = a, *right = b;

    return compare_keys(&(struct run_key){left->run.session_id, left->run.run},
                        &(struct run_key){right->run.session_id, right->run.run});
}

/* Whether there is a run with all of its events to compare with; of a subject they are needed,
 * too. */
static bool can_look_into(const struct runs_state *state)
{
    bool has_any = false;

    for (size_t i = 0; i < state->lines.count; i++) {
        const struct run_line *line = &state->lines.items[i];

        if (is_subject(state, line) && line->run.lacks_events)
            return false;
        has_any |= !isnan(line->dur_ns) && !line->run.lacks_events;
    }
    return has_any;
}

static int gather(struct runs_state *state, struct diag *diag)
{
    const struct analyze_options *options = state->report->options;
    int rc = read_lines(state, diag);

    if (rc != 0)
        return rc;
    qsort(state->lines.items, state->lines.count, sizeof(*state->lines.items), compare_lines);
    rate_lines(state);
    if (state->subject) {
        for (size_t i = 0; i < state->lines.count; i++)
            state->lines.items[i].is_wanted = is_subject(state, &state->lines.items[i]);
    } else if (isnan(options->min_time_s) && isnan(options->max_time_s)) {
        rc = want_lines(state, diag);
    } else {
        for (size_t i = 0; i < state->lines.count; i++)
            state->lines.items[i].is_wanted = true;
    }
    if (rc == 0 && can_look_into(state))
        rc = look_into_groups(state, diag);
    if (rc == 0 && can_look_into(state))
        rc = look_into_wanted(state, diag);
    if (rc == 0 && state->names.basis.event_count && !state->shown_spans) {
        diag_set(diag, 0, "none of the events in these runs matches");
        rc = REPORT_NOTHING;
    }
    return rc;
}

static void note_lacking(const struct runs_state *state)
{
    size_t lacking = 0;

    for (size_t i = 0; i < state->lines.count; i++)
        lacking += state->lines.items[i].run.lacks_events && !state->lines.items[i].run.without_ops;
    if (lacking)
        out_note(state->report->out, OUT_NOTE_PLAIN,
                 "%zu of these runs count with their durations alone: events of theirs were "
                 "dropped.",
                 lacking);
}

static int run(const struct report *report, struct diag *diag)
{
    struct runs_state state = {.report = report};
    int rc = report_select(report, &state.selection, diag);

    state.selection.question.runs_without_events = true; /* their durations are known */
    if (rc == 0)
        rc = gather(&state, diag);
    state.selection.question.runs_without_events = false;
    if (rc == 0)
        rc = query_ops(report->source->store, &state.selection.question, &state.basis, diag);
    if (rc == 0) {
        emit_statistics(&state);
        rc = emit_lines(&state, diag);
    }
    if (rc == 0)
        note_lacking(&state);
    if (rc == 0 && state.has_reference && (state.subject || state.limit_ns > state.usual.dur_ns))
        rc = runs_emit_excess(&state);
    if (rc == 0)
        report_footer(report, &state.basis.basis);
    if (rc == -ENOMEM)
        diag_set(diag, rc, "no memory for the runs");
    deinit_group(&state.usual);
    deinit_group(&state.slow);
    spans_answer_deinit(&state.names);
    ops_answer_deinit(&state.basis);
    array_deinit(&state.lines);
    free(state.sorted);
    report_selection_deinit(&state.selection);
    return rc;
}

const struct report_kind report_runs = {
    .name = "runs",
    .about = "Each run with its duration, the slowest first, percentiles, and which ops explain "
             "why the slow ones are slow; with --runs and one number, why that run was.",
    .runs = REPORT_RUNS_ALL,
    .run = run,
    .tables = (const char *const[]){"each_run", "excess", NULL},
    .lines = {.columns = columns,
              .column_count = COLUMNS,
              .top = 10,
              .order_by = "dur_ns",
              .time_ns = time_of},
    .explain = {.time = "dur_ns", .is_of_all = true},
};
