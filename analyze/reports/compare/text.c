/* SPDX-License-Identifier: Apache-2.0 */
/* The sides, the answer and its notes as people read them. */
#include "analyze/reports/compare/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/reports/compare/page.h"
#include "analyze/reports/dropped.h"
#include "analyze/stats/power.h"
#include "base/text_buffer.h"

enum {
    SHOWN_MAX = 5, /* lines under one headline */
    SENTENCES_MAX = 5 + 4 * (SHOWN_MAX + 1),
};

static const char *const side_names[ALIGN_SIDES] = {"base", "new"};

struct compare_count compare_count_lines(const struct comparison *comparison)
{
    struct compare_count count = {{0}};

    for (size_t i = 1; i < comparison->lines.count; i++)
        count.of[comparison->lines.items[i].result.verdict]++;
    return count;
}

/* --- Small texts. --- */

static const char *plural(size_t count)
{
    return count == 1 ? "" : "s";
}

/* "+12.3 %" */
static const char *percent(char *text, size_t bytes, double ratio)
{
    if (isnan(ratio))
        snprintf(text, bytes, "no share of a negative time");
    else if (isfinite(ratio))
        snprintf(text, bytes, "%+.1f %%", ratio * 100);
    else
        snprintf(text, bytes, "from nothing");
    return text;
}

/* ", 95 % interval +11.8 % to +12.9 %, p < 0.0001"; what is not known is left out. */
static const char *confidence(char *text, size_t bytes, const struct compare_result *result)
{
    char low[32], high[32];

    text[0] = '\0';
    if (!isnan(result->change.low))
        snprintf(text, bytes, ", 95 %% interval %s to %s",
                 percent(low, sizeof(low), result->change.low),
                 percent(high, sizeof(high), result->change.high));
    if (!isnan(result->p_corrected))
        snprintf(text + strlen(text), bytes - strlen(text),
                 result->p_corrected < 0.0001 ? ", p < 0.0001" : ", p = %.4f", result->p_corrected);
    return text;
}

/* "10.000 ms -> 11.230 ms, +12.3 %" */
static const char *step(char *text, size_t bytes, double base_ns, double new_ns, double ratio)
{
    char base[32], new[32], change[32];

    snprintf(text, bytes, "%s -> %s, %s", out_duration_text(base, sizeof(base), base_ns),
             out_duration_text(new, sizeof(new), new_ns), percent(change, sizeof(change), ratio));
    return text;
}

static void session_list(struct text_buffer *text, const struct compare_side *side)
{
    size_t earlier = side->session_count - side->named_count;

    text_buffer_print(text, "session%s ", plural(side->named_count));
    for (size_t i = 0; i < side->named_count && i < 6; i++)
        text_buffer_print(text, "%s%" PRId64, i ? ", " : "", side->named_ids[i]);
    if (side->named_count > 6)
        text_buffer_print(text, " and %zu more", side->named_count - 6);
    if (earlier)
        text_buffer_print(text, " and %zu earlier one%s like %s", earlier, plural(earlier),
                          side->named_count > 1 ? "them" : "it");
    text_buffer_print(text, " of %s", side->source->name);
}

/* "session 3 of a.db: load_and_run resnet50, 20 runs, device times" */
static void describe_side(struct text_buffer *text, const struct compare_side *side)
{
    const char *program = side->environment.facts[ENVIRONMENT_PROGRAM];
    const char *model = side->environment.facts[ENVIRONMENT_MODEL];
    const struct run_samples *samples = &side->samples;
    size_t runs = samples->runs.count;

    session_list(text, side);
    if (program || model)
        text_buffer_print(text, ": %s%s%s", program ? program : "", program && model ? " " : "",
                          model ? model : "");
    if (samples->has_runs)
        text_buffer_print(text, ", %zu run%s", runs, plural(runs));
    else
        text_buffer_print(text, ", which ha%s no runs and count%s as one%s",
                          side->session_count > 1 ? "ve" : "s", side->session_count > 1 ? "" : "s",
                          side->session_count > 1 ? " each" : "");
    text_buffer_print(text, ", %s times", samples->side == OP_DEVICE ? "device" : "host");
}

/* --- The sides. --- */

static bool differs(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) != 0 : a != b;
}

/* A fact of both sides. */
struct environment_row {
    const char *title, *base, *new;
};

struct environment_rows {
    struct environment_row rows[ENVIRONMENT_FACTS + 2];
    size_t count;
    char numbers[4][24]; /* texts that rows point to */
};

static void add_if_different(struct environment_rows *rows, const char *title, const char *base,
                             const char *new)
{
    if (differs(base, new))
        rows->rows[rows->count++] = (struct environment_row){title, base, new};
}

static void gather_differences(const struct compare_side sides[ALIGN_SIDES],
                               struct environment_rows *out_rows)
{
    for (int fact = 0; fact < ENVIRONMENT_FACTS; fact++)
        add_if_different(out_rows, environment_names[fact].title,
                         sides[ALIGN_BASE].environment.facts[fact],
                         sides[ALIGN_NEW].environment.facts[fact]);
    for (int side = 0; side < ALIGN_SIDES; side++) {
        const struct run_samples *samples = &sides[side].samples;

        snprintf(out_rows->numbers[side], sizeof(out_rows->numbers[side]), "%zu",
                 samples->runs.count);
        snprintf(out_rows->numbers[2 + side], sizeof(out_rows->numbers[side]), "%" PRIu64,
                 samples->spans.basis.warmups_skipped);
    }
    add_if_different(out_rows, "runs", out_rows->numbers[0], out_rows->numbers[1]);
    add_if_different(out_rows, "warm-ups", out_rows->numbers[2], out_rows->numbers[3]);
}

void compare_emit_environment(const struct report *report,
                              const struct compare_side sides[ALIGN_SIDES])
{
    static const struct out_column columns[] = {
        {.name = "fact", .title = "what", .wiki = "what", .compact = true},
        {.name = "base", .title = "base", .wiki = "base", .compact = true, .wrap = 60},
        {.name = "new", .title = "new", .wiki = "new", .compact = true, .wrap = 60},
    };
    struct out_section section = {
        .name = "environment",
        .title = "The recordings differ in more than time:",
    };
    struct environment_rows differences = {.count = 0};

    gather_differences(sides, &differences);
    section.data_only = differences.count == 0;
    out_table_begin(report->out, &section, columns, 3);
    for (size_t i = 0; i < differences.count; i++) {
        const struct environment_row *row = &differences.rows[i];

        out_row(report->out, (struct out_value[]){out_text(row->title), out_text(row->base),
                                                  out_text(row->new)});
    }
    out_table_end(report->out);
}

static void emit_side(const struct report *report, const struct compare_side *side,
                      const char *name)
{
    const struct out_section section = {.name = name, .data_only = true};
    const struct basis *basis = &side->samples.spans.basis;
    struct out_fact facts[ENVIRONMENT_FACTS + 14];
    struct text_buffer ids = {0};
    size_t count = 0;

    for (size_t i = 0; i < side->session_count; i++)
        text_buffer_print(&ids, "%s%" PRId64, i ? "," : "[", side->session_ids[i]);
    text_buffer_print(&ids, "]");
    facts[count++] = (struct out_fact){"file", NULL, out_text(side->source->name)};
    facts[count++] = (struct out_fact){"session_ids", NULL, out_json_text(ids.text)};
    facts[count++] = (struct out_fact){
        "side", NULL, out_text(side->samples.side == OP_DEVICE ? "device" : "host")};
    facts[count++] = (struct out_fact){
        "run_count", NULL,
        out_integer(OUT_INT, side->samples.has_runs ? (int64_t)side->samples.runs.count : 0)};
    facts[count++] = (struct out_fact){
        "unit", NULL, out_text(side->samples.units_are_sessions ? "session" : "run")};
    facts[count++] = (struct out_fact){"sample_count", NULL,
                                       out_integer(OUT_INT, (int64_t)side->samples.unit_count)};
    facts[count++] =
        (struct out_fact){"earlier_session_count", NULL,
                          out_integer(OUT_INT, (int64_t)(side->session_count - side->named_count))};
    facts[count++] = (struct out_fact){"runs_set_aside", NULL,
                                       out_integer(OUT_INT, (int64_t)side->runs_set_aside)};
    facts[count++] = (struct out_fact){"warmups_left_out", NULL,
                                       out_integer(OUT_INT, (int64_t)basis->warmups_skipped)};
    facts[count++] =
        (struct out_fact){"variation", NULL, out_number(OUT_REAL, side->spread.variation)};
    facts[count++] = (struct out_fact){"drift", NULL, out_number(OUT_REAL, side->spread.drift)};
    facts[count++] = (struct out_fact){"drift_p", NULL, out_number(OUT_REAL, side->spread.drift_p)};
    facts[count++] = (struct out_fact){"autocorrelation", NULL,
                                       out_number(OUT_REAL, side->spread.autocorrelation)};
    for (int fact = 0; fact < ENVIRONMENT_FACTS; fact++)
        facts[count++] = (struct out_fact){environment_names[fact].name, NULL,
                                           out_text(side->environment.facts[fact])};
    out_facts(report->out, &section, facts, count);
    text_buffer_deinit(&ids);
}

void compare_emit_sides(const struct report *report, const struct compare_side sides[ALIGN_SIDES])
{
    for (int side = 0; side < ALIGN_SIDES; side++)
        emit_side(report, &sides[side], side_names[side]);
}

/* --- The answer. --- */

static void describe_run(struct text_buffer *text, const struct comparison_line *run)
{
    const struct compare_result *result = &run->result;
    char steps[128], sure[128];

    text_buffer_print(
        text, "%s%s: %s",
        step(steps, sizeof(steps), result->p50.base_ns, result->p50.new_ns, result->ratio),
        confidence(sure, sizeof(sure), result), compare_verdict_names[result->verdict]);
}

/* --- Why there is no verdict, and what would bring one. --- */

/* How much sessions of this program vary: earlier ones, else those of a side that has some; or NaN. */
static double session_variation(const struct compare_side sides[ALIGN_SIDES])
{
    enum { ENOUGH = 3 };
    double most = sides[ALIGN_BASE].earlier.variation;

    for (int side = 0; side < ALIGN_SIDES && isnan(sides[ALIGN_BASE].earlier.variation); side++) {
        const struct run_samples *samples = &sides[side].samples;

        if (samples->units_are_sessions && samples->unit_count >= ENOUGH)
            most = fmax(most, sides[side].spread.variation); /* NaN counts for nothing */
    }
    return most;
}

/* Sessions of each side. */
struct need {
    size_t verdict; /* that it takes for any verdict */
    /* With which a change is found in 95 of 100; POWER_SESSIONS_MAX: they vary too much; 0: not
     * known. */
    size_t power;
    double change; /* that one */
};

static struct need find_need(const struct compare_side sides[ALIGN_SIDES], size_t lines,
                             const struct compare_gates *gates)
{
    const double variation = session_variation(sides);
    struct need need = {
        .verdict = compare_sessions_needed(sides[ALIGN_BASE].named_count, gates->alpha),
        .change = 2 * gates->threshold,
    };

    if (isnan(variation) || !(need.change > 0) || !(gates->alpha > 0))
        return need;
    need.power = power_sessions(variation, need.change, lines ? lines : 1, gates->alpha);
    if (need.power < POWER_SESSIONS_MAX && need.power < need.verdict)
        need.power = need.verdict;
    return need;
}

/* " With 11 more of each side, 12 in all, a change of 6 % is found in 95 of 100." */
static void describe_power(struct text_buffer *text, const struct compare_side sides[ALIGN_SIDES],
                           const struct need *need)
{
    const size_t counts[] = {sides[ALIGN_BASE].named_count, sides[ALIGN_NEW].named_count};
    const size_t sessions = need->power;
    size_t more[ALIGN_SIDES];

    if (!sessions)
        return;
    if (sessions >= POWER_SESSIONS_MAX) {
        text_buffer_print(text, " For a change of %.3g %% they vary too much.", need->change * 100);
        return;
    }
    for (int side = 0; side < ALIGN_SIDES; side++)
        more[side] = sessions > counts[side] ? sessions - counts[side] : 0;
    if (more[ALIGN_BASE] == more[ALIGN_NEW])
        text_buffer_print(text, " With %zu more of each side", more[ALIGN_BASE]);
    else
        text_buffer_print(text, " With %zu more of the base and %zu of new", more[ALIGN_BASE],
                          more[ALIGN_NEW]);
    text_buffer_print(text, ", %zu of each in all, a change of %.3g %% is found in %.0f of 100.",
                      sessions, need->change * 100, POWER_SHARE * 100);
}

static void describe_need(struct text_buffer *text, const struct compare_side sides[ALIGN_SIDES],
                          size_t lines, const struct compare_gates *gates)
{
    const struct compare_side *base = &sides[ALIGN_BASE], *new = &sides[ALIGN_NEW];
    const struct need need = find_need(sides, lines, gates);
    const size_t needed = need.verdict;

    if (base->named_count == 1 && new->named_count == 1)
        text_buffer_print(text, "one session a side does not show how much processes differ");
    else
        text_buffer_print(text, "%zu and %zu sessions do not show how much processes differ",
                          base->named_count, new->named_count);
    if (!isnan(base->earlier.variation))
        text_buffer_print(text, " (here, of %zu earlier one%s: %.1f %%)", base->earlier.count,
                          plural(base->earlier.count), base->earlier.variation * 100);
    text_buffer_print(text, ". Record %zu or more%s, in turn", needed,
                      base->named_count >= needed && new->named_count < needed ? " of new"
                                                                               : " of each side");
    if (base->earlier.count)
        text_buffer_print(text, ", or have %.0f before the new one%s", ceil(1 / gates->alpha) - 1,
                          plural(new->named_count));
    text_buffer_print(text, ".");
    describe_power(text, sides, &need);
}

static void describe_line(struct text_buffer *text, const struct comparison_line *line,
                          const struct comparison_line *run)
{
    const struct compare_result *result = &line->result;
    const struct op_row *op = line->op[ALIGN_NEW] ? line->op[ALIGN_NEW] : line->op[ALIGN_BASE];
    char steps[128], sure[128], delta[32];

    text_buffer_print(text, "%s", line->name);
    if (op && line->op_count[ALIGN_BASE] + line->op_count[ALIGN_NEW] <= 2)
        text_buffer_print(text, " (%s)", op->type);
    if (line->kind == ALIGN_ADDED || line->kind == ALIGN_REMOVED)
        text_buffer_print(text, " was %s: %s%s", align_kind_names[line->kind],
                          line->delta_ns < 0 ? "" : "+",
                          out_duration_text(delta, sizeof(delta), line->delta_ns));
    else
        text_buffer_print(
            text, ": %s%s",
            step(steps, sizeof(steps), result->p50.base_ns, result->p50.new_ns, result->ratio),
            confidence(sure, sizeof(sure), result));
    if (!isnan(line->share))
        text_buffer_print(text, "; %.0f %% of the run's change", line->share * 100);
    if (line->detail)
        text_buffer_print(text, "; %s", line->detail);
}

/* People's facts, whose texts live until they are printed. */
struct sentences {
    struct out_fact facts[SENTENCES_MAX];
    struct text_buffer texts[SENTENCES_MAX];
    size_t count;
};

static struct text_buffer *add_sentence(struct sentences *sentences, const char *title)
{
    sentences->facts[sentences->count].title = title;
    return &sentences->texts[sentences->count++];
}

/* Whether a line stands under this headline. */
static bool is_under(const struct comparison_line *line, enum compare_verdict verdict)
{
    return line->result.verdict == verdict && line->part != COMPARISON_OTHER && line->delta_ns != 0;
}

static void add_lines(struct sentences *sentences, const struct comparison *comparison,
                      const size_t *ranked, enum compare_verdict verdict, const char *title)
{
    const struct comparison_line *run = &comparison->lines.items[0];
    size_t found = 0;

    for (size_t i = 0; i + 1 < comparison->lines.count; i++) {
        const struct comparison_line *line = &comparison->lines.items[ranked[i]];

        if (is_under(line, verdict) && found++ < SHOWN_MAX)
            describe_line(add_sentence(sentences, found == 1 ? title : ""), line, run);
    }
    if (found > SHOWN_MAX)
        text_buffer_print(add_sentence(sentences, ""), "and %zu more, see below",
                          found - SHOWN_MAX);
}

static struct out_value sessions_value(size_t sessions)
{
    return sessions && sessions < POWER_SESSIONS_MAX ? out_integer(OUT_INT, (int64_t)sessions)
                                                     : out_number(OUT_REAL, NAN);
}

/* What people read in sentences, and programs in numbers. */
static void emit_sentences(const struct report *report, struct sentences *sentences,
                           const struct comparison *comparison, const struct need *need)
{
    static const struct out_section section = {.name = "answer"};
    const struct compare_result *run = &comparison->lines.items[0].result;
    struct compare_count count = compare_count_lines(comparison);
    const struct out_fact data[] = {
        {"run", NULL, out_text(compare_verdict_names[run->verdict])},
        {"slower_count", NULL, out_integer(OUT_INT, (int64_t)count.of[COMPARE_SLOWER])},
        {"faster_count", NULL, out_integer(OUT_INT, (int64_t)count.of[COMPARE_FASTER])},
        {"tested_count", NULL, out_integer(OUT_INT, (int64_t)comparison->tested)},
        {"base_ns", NULL, out_number(OUT_NS, run->p50.base_ns)},
        {"new_ns", NULL, out_number(OUT_NS, run->p50.new_ns)},
        {"change", NULL, out_number(OUT_SHARE, isfinite(run->ratio) ? run->ratio : NAN)},
        {"change_low", NULL, out_number(OUT_SHARE, run->change.low)},
        {"change_high", NULL, out_number(OUT_SHARE, run->change.high)},
        {"p", NULL, out_number(OUT_REAL, run->p)},
        {"p_corrected", NULL, out_number(OUT_REAL, run->p_corrected)},
        {"superiority", NULL, out_number(OUT_REAL, run->superiority)},
        {"base_p90_ns", NULL, out_number(OUT_NS, run->p90.base_ns)},
        {"new_p90_ns", NULL, out_number(OUT_NS, run->p90.new_ns)},
        {"p90_low_ns", NULL, out_number(OUT_NS, run->p90.difference_ns.low)},
        {"p90_high_ns", NULL, out_number(OUT_NS, run->p90.difference_ns.high)},
        {"base_p99_ns", NULL, out_number(OUT_NS, run->p99.base_ns)},
        {"new_p99_ns", NULL, out_number(OUT_NS, run->p99.new_ns)},
        {"p99_low_ns", NULL, out_number(OUT_NS, run->p99.difference_ns.low)},
        {"p99_high_ns", NULL, out_number(OUT_NS, run->p99.difference_ns.high)},
        {"sessions_for_verdict", NULL, sessions_value(need->verdict)},
        {"sessions_to_find_change", NULL, sessions_value(need->power)},
        {"change_to_find", NULL, out_number(OUT_SHARE, need->power ? need->change : NAN)},
    };
    struct out_fact facts[SENTENCES_MAX + sizeof(data) / sizeof(data[0])];

    for (size_t i = 0; i < sentences->count; i++) {
        facts[i] = sentences->facts[i];
        facts[i].value = out_text(text_buffer_text(&sentences->texts[i]));
    }
    memcpy(facts + sentences->count, data, sizeof(data));
    out_facts(report->out, &section, facts, sentences->count + sizeof(data) / sizeof(data[0]));
    for (size_t i = 0; i < sentences->count; i++)
        text_buffer_deinit(&sentences->texts[i]);
}

void compare_emit_answer(const struct report *report, const struct compare_side sides[ALIGN_SIDES],
                         const struct comparison *comparison, const struct compare_gates *gates,
                         const size_t *ranked)
{
    const struct comparison_line *run = &comparison->lines.items[0];
    struct sentences sentences = {.count = 0};
    struct need need = {0};

    for (int side = 0; side < ALIGN_SIDES; side++)
        describe_side(add_sentence(&sentences, side_names[side]), &sides[side]);
    describe_run(add_sentence(&sentences, "one run"), run);
    if (run->result.verdict == COMPARE_CANNOT_TELL) {
        need = find_need(sides, comparison->lines.count, gates);
        describe_need(add_sentence(&sentences, "cannot tell"), sides, comparison->lines.count,
                      gates);
    }
    add_lines(&sentences, comparison, ranked, COMPARE_SLOWER, "slower");
    add_lines(&sentences, comparison, ranked, COMPARE_FASTER, "faster");
    add_lines(&sentences, comparison, ranked, COMPARE_UNTESTED, "not tested");
    add_lines(&sentences, comparison, ranked, COMPARE_CANNOT_TELL, "most changed");
    emit_sentences(report, &sentences, comparison, &need);
}

void compare_set_regression(const struct comparison *comparison, struct diag *diag)
{
    const struct comparison_line *run = &comparison->lines.items[0];
    size_t slower = compare_count_lines(comparison).of[COMPARE_SLOWER];
    char text[64] = "";

    if (run->result.verdict == COMPARE_SLOWER)
        snprintf(text, sizeof(text), "one run takes %.1f %% longer%s", run->result.ratio * 100,
                 slower ? ", " : "");
    if (slower)
        diag_set(diag, 0, "regression: %s%zu part%s of it got slower", text, slower,
                 plural(slower));
    else
        diag_set(diag, 0, "regression: %s", text);
}

/* --- The screen. --- */

/* "also different: client library 0.1 > 0.2; runs 20 > 40" */
static void describe_differences(struct text_buffer *text,
                                 const struct compare_side sides[ALIGN_SIDES])
{
    struct environment_rows differences = {.count = 0};

    gather_differences(sides, &differences);
    for (size_t i = 0; i < differences.count; i++) {
        const struct environment_row *row = &differences.rows[i];

        text_buffer_print(text, "%s%s %s > %s", i ? "; " : "also different: ", row->title,
                          row->base ? row->base : "-", row->new ? row->new : "-");
    }
}

int compare_emit_screen(const struct report *report, const struct compare_side sides[ALIGN_SIDES],
                        const struct comparison *comparison, const struct compare_gates *gates,
                        const size_t *ranked)
{
    struct text_buffer need = {0}, differs = {0}, text = {0};
    struct compare_page page = {report, sides, comparison, ranked, NULL, NULL};
    int rc;

    if (comparison->lines.items[0].result.verdict == COMPARE_CANNOT_TELL) {
        describe_need(&need, sides, comparison->lines.count, gates);
        page.need = text_buffer_text(&need);
    }
    describe_differences(&differs, sides);
    page.differs = differs.length ? text_buffer_text(&differs) : NULL;
    rc = need.failed || differs.failed ? -ENOMEM : compare_print_page(&page, &text);
    if (rc == 0)
        out_block(report->out, text_buffer_text(&text));
    text_buffer_deinit(&need);
    text_buffer_deinit(&differs);
    text_buffer_deinit(&text);
    return rc;
}

/* --- Notes. --- */

static void note_noise(const struct report *report, const struct compare_side *side,
                       const char *name, const struct compare_gates *gates)
{
    const char *unit = side->samples.units_are_sessions ? "sessions" : "runs";
    char whose[32];

    snprintf(whose, sizeof(whose), "Of %s, ", name);
    report_warn_dropped(report, whose, &side->samples.spans.basis);
    if (side->spread.variation > SPREAD_NOISY_VARIATION)
        out_note(report->out, OUT_NOTE_WARNING,
                 "The %s of %s vary by %.1f %% (standard deviation by mean): smaller changes need "
                 "more of them to be seen.",
                 unit, name, side->spread.variation * 100);
    if (spread_drifts(&side->spread, gates->threshold))
        out_note(report->out, OUT_NOTE_WARNING,
                 "The %s of %s drift: the later half takes %+.1f %% of the earlier one's time more "
                 "(p %.4f), as while a machine warms up or others use it.",
                 unit, name, side->spread.drift * 100, side->spread.drift_p);
}

static void note_method(const struct report *report, const struct compare_side sides[ALIGN_SIDES],
                        const struct comparison *comparison, const struct compare_gates *gates)
{
    if (comparison->tested)
        out_note(
            report->out, OUT_NOTE_PLAIN,
            "A change counts when %s one as striking among %zu "
            "lines in at most %g %% of all %s (--alpha), when medians of sessions, or the middle "
            "of all pairs of them, are more than %g %% apart (--threshold), and when its 95 %% "
            "interval has no 0 in it.",
            sides[ALIGN_BASE].in_time ? "new sessions put elsewhere among the earlier ones bring"
                                      : "a permutation of the sessions brings",
            comparison->tested, gates->alpha * 100, sides[ALIGN_BASE].in_time ? "places" : "ways",
            gates->threshold * 100);
    out_note(report->out, OUT_NOTE_PLAIN,
             "base and new are medians; deltas are differences of means, which add up to that of "
             "one run; shares are of the run's delta.");
    for (size_t i = 1; i < comparison->lines.count; i++) {
        const struct comparison_line *line = &comparison->lines.items[i];

        if (line->part == COMPARISON_BETWEEN &&
            (line->mean_ns[ALIGN_BASE] < 0 || line->mean_ns[ALIGN_NEW] < 0))
            out_note(report->out, OUT_NOTE_PLAIN,
                     "Ops overlap in time: together they take longer than the run, so the time "
                     "between them is negative.");
    }
    if (sides[ALIGN_BASE].samples.side != sides[ALIGN_NEW].samples.side)
        out_note(report->out, OUT_NOTE_WARNING,
                 "%s has device times, %s host times only; --print-only host compares those.",
                 sides[ALIGN_BASE].samples.side == OP_DEVICE ? "base" : "new",
                 sides[ALIGN_BASE].samples.side == OP_DEVICE ? "new" : "base");
}

/* "of base 3 of 20" */
static void describe_aside(struct text_buffer *text, const struct compare_side *side,
                           const char *name)
{
    text_buffer_print(text, "%zu of %zu run%s of %s", side->runs_set_aside,
                      side->runs_with_cpu_time, plural(side->runs_with_cpu_time), name);
}

static void note_disturbed(const struct report *report,
                           const struct compare_side sides[ALIGN_SIDES])
{
    struct text_buffer text = {0};

    if (!sides[ALIGN_BASE].runs_set_aside && !sides[ALIGN_NEW].runs_set_aside)
        return;
    describe_aside(&text, &sides[ALIGN_BASE], side_names[ALIGN_BASE]);
    text_buffer_print(&text, " and ");
    describe_aside(&text, &sides[ALIGN_NEW], side_names[ALIGN_NEW]);
    if (compare_sides_disturbed_apart(sides))
        out_note(report->out, OUT_NOTE_WARNING,
                 "%s were off the CPU for longer than the others: too different to be chance, so "
                 "that all runs count.",
                 text_buffer_text(&text));
    else
        out_note(
            report->out, OUT_NOTE_PLAIN,
            "%s are set aside: their CPU time tells that something else had the CPU meanwhile.",
            text_buffer_text(&text));
    text_buffer_deinit(&text);
}

static void note_outlying(const struct report *report, const struct compare_side sides[ALIGN_SIDES],
                          const struct comparison *comparison)
{
    const size_t *count = comparison->outlying_count;

    if (!count[ALIGN_BASE] && !count[ALIGN_NEW])
        return;
    out_note(report->out, comparison->judges_outlying ? OUT_NOTE_WARNING : OUT_NOTE_PLAIN,
             "%zu of %zu runs of %s and %zu of %zu of %s stand out of their sessions%s",
             count[ALIGN_BASE], sides[ALIGN_BASE].samples.runs.count, side_names[ALIGN_BASE],
             count[ALIGN_NEW], sides[ALIGN_NEW].samples.runs.count, side_names[ALIGN_NEW],
             comparison->judges_outlying
                 ? ": too different to be chance, so that verdicts stand on all."
                 : " as slow: times count them, verdicts do not.");
}

/* One side after the other: sessions that are not exchangeable. */
static void note_order(const struct report *report, const struct compare_side sides[ALIGN_SIDES])
{
    int64_t first_ns[ALIGN_SIDES] = {INT64_MAX, INT64_MAX}, last_ns[ALIGN_SIDES] = {0};

    for (int i = 0; i < ALIGN_SIDES; i++) {
        for (size_t k = 0; k < sides[i].named_count; k++) {
            int64_t start_ns = compare_side_start(&sides[i], sides[i].named_ids[k]);

            first_ns[i] = start_ns < first_ns[i] ? start_ns : first_ns[i];
            last_ns[i] = start_ns > last_ns[i] ? start_ns : last_ns[i];
        }
    }
    if (last_ns[ALIGN_BASE] < first_ns[ALIGN_NEW] || last_ns[ALIGN_NEW] < first_ns[ALIGN_BASE])
        out_note(
            report->out, OUT_NOTE_PLAIN,
            "One side was recorded after the other: what the machine did in between counts as a "
            "change, too. scripts/ab records in turn.");
}

static void note_losses(const struct report *report, const struct compare_side *side,
                        const char *name)
{
    const struct basis *basis = &side->samples.spans.basis;
    const struct loss_sum sum = query_sum_losses(basis);
    char since[48];

    report_judge_losses(report->verdict, basis);
    report->verdict->unfinished += basis->unfinished_count;
    report->verdict->damaged += basis->bad_count;
    report->verdict->clipped += side->samples.spans.clipped_count;
    if (sum.count)
        out_note(report->out, OUT_NOTE_WARNING,
                 "%" PRIu64 " event%s of %s %s lost, which no number above contains.", sum.count,
                 plural((size_t)sum.count), name, sum.count == 1 ? "was" : "were");
    if (sum.unknown) {
        report_describe_time(since, sizeof(since), sum.unknown_since_ns);
        out_note(report->out, OUT_NOTE_WARNING,
                 "An unknown number of events of %s was lost since %s: no daemon was there.", name,
                 since);
    }
    if (basis->unfinished_count)
        out_note(report->out, OUT_NOTE_WARNING,
                 "%" PRIu64 " span%s of %s never ended and count%s nowhere.",
                 basis->unfinished_count, plural((size_t)basis->unfinished_count), name,
                 basis->unfinished_count == 1 ? "s" : "");
}

void compare_emit_notes(const struct report *report, const struct compare_side sides[ALIGN_SIDES],
                        const struct comparison *comparison, const struct compare_gates *gates)
{
    note_method(report, sides, comparison, gates);
    note_disturbed(report, sides);
    if (comparison->tested) {
        note_outlying(report, sides, comparison);
        note_order(report, sides);
    }
    for (int side = 0; side < ALIGN_SIDES; side++) {
        note_noise(report, &sides[side], side_names[side], gates);
        note_losses(report, &sides[side], side_names[side]);
    }
}
