/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --explain: the SQL that gives the same numbers as a report. A report hands in a SELECT; what the
 * command line chose is put before it as common tables, those of them that it names:
 *
 *   counted_run   session_id, run, start_ns, end_ns, dur_ns of the runs that count
 *   every_span    the finished spans of these runs, of the window of time, with names
 *   counted_span  of them those of the types asked for
 *   launching     spans of hosts that launched something, one for each session, run, correlation
 *   own_piece     what lies between two starts or ends of ops on a thread, and the `place` of its
 *                 `owner` in own_placed
 *   sample_of_op  own times of ops on one side, the devices' where they have any, with is_shown:
 *                 of the types asked for
 *   sampled_op    their rows of `op`, with part_id: the op that it is in the first of the sessions
 *   own_time      counted_span with own_ns: without the ops inside; labels, which have their whole
 *                 time, only where the type is asked for
 *
 * Words in braces in any of it: {sessions} a list of ids, {runs} what values per run are divided
 * by, {per_run} whether they are divided, {by_time} whether --time is given, {filtered} whether
 * types are; {detail}, {per_thread}, {state}, {model}, {top_time} what the options of these names
 * choose; {base} and {new} the queries on the sides of a comparison. Whether is 1 or 0.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/compare_sides.h"
#include "analyze/out_buffer.h"
#include "analyze/query_private.h"
#include "analyze/report.h"

static const struct common_table {
    const char *name, *sql;
} common_tables[] = {
    {"counted_run", "SELECT session_id, run, start_ns, end_ns, end_ns - start_ns AS dur_ns\n"
                    "      FROM run WHERE session_id IN ({sessions}) AND {counted}"},
    {"every_span",
     "SELECT e.rowid AS event_id, l.session_id, e.lane_id,\n"
     "           coalesce(l.name, l.kind || ' ' || coalesce(l.native_id, 0)) AS lane, l.device,\n"
     "           CASE l.kind WHEN 'thread' THEN 'host' ELSE 'device' END AS side,\n"
     "           e.op_id, o.name, o.type, o.node_id, o.input_shapes, o.computation_flop,\n"
     "           o.memory_bytes, e.run, e.start_ns, e.start_ns + e.dur_ns AS end_ns, e.dur_ns,\n"
     "           e.kern_ns, e.correlation, e.bytes\n"
     "      FROM event e JOIN lane l USING (lane_id) JOIN op o USING (op_id)\n"
     "     WHERE l.session_id IN ({sessions}) AND e.dur_ns IS NOT NULL{in_runs}{in_time}"},
    {"counted_span", "SELECT * FROM every_span{of_types}"},
    /* Starts and ends in order; what lies between two belongs to the innermost span, which is the
     * last one that opened at this depth. */
    {"own_point", "SELECT lane_id, event_id, dur_ns, 1 AS opens, start_ns AS time_ns\n"
                  "      FROM every_span WHERE side = 'host' AND dur_ns > 0\n"
                  "       AND type NOT IN ('label', 'phase', 'mark', 'counter')\n"
                  "    UNION ALL SELECT lane_id, event_id, dur_ns, -1, end_ns\n"
                  "      FROM every_span WHERE side = 'host' AND dur_ns > 0\n"
                  "       AND type NOT IN ('label', 'phase', 'mark', 'counter')"},
    {"own_placed", "SELECT *, row_number() OVER o AS place, sum(opens) OVER o AS depth,\n"
                   "           lead(time_ns) OVER o - time_ns AS ns FROM own_point\n"
                   "    WINDOW o AS (PARTITION BY lane_id\n"
                   "                 ORDER BY time_ns, opens, -opens * dur_ns, -opens * event_id\n"
                   "                 ROWS UNBOUNDED PRECEDING)"},
    {"own_piece",
     "SELECT lane_id, place, time_ns, ns, max(place) FILTER (WHERE opens = 1) OVER (\n"
     "           PARTITION BY lane_id, depth ORDER BY place ROWS UNBOUNDED PRECEDING)\n"
     "           AS owner FROM own_placed"},
    {"own_host", "SELECT o.event_id, sum(p.ns) AS own_ns FROM own_piece p JOIN own_placed o\n"
                 "        ON o.lane_id = p.lane_id AND o.place = p.owner AND o.opens = 1\n"
                 "     WHERE p.ns IS NOT NULL GROUP BY o.event_id"},
    /* What runs on a device and what launched it have a number in common. */
    {"launching",
     "SELECT * FROM (\n"
     "        SELECT *, row_number() OVER (\n"
     "                   PARTITION BY session_id, run, correlation\n"
     "                   ORDER BY lane_id DESC, start_ns DESC, dur_ns, event_id) AS nth\n"
     "          FROM every_span WHERE side = 'host' AND correlation IS NOT NULL)\n"
     "     WHERE nth = 1"},
    {"sample_of_op",
     "SELECT session_id, run, op_id, start_ns,\n"
     "           event_id IN (SELECT event_id FROM counted_span) AS is_shown,\n"
     "           CASE WHEN side = 'device' OR session_id IN (\n"
     "                    SELECT session_id FROM session WHERE source = 'megengine')\n"
     "                THEN dur_ns ELSE coalesce(own_ns, 0) END AS own_ns\n"
     "      FROM every_span LEFT JOIN own_host USING (event_id)\n"
     "     WHERE type NOT IN ('label', 'phase', 'mark', 'counter')\n"
     "       AND side = (SELECT min(side) FROM every_span\n"
     "                    WHERE type NOT IN ('label', 'phase', 'mark', 'counter'))"},
    /* Of those that look alike in a session the first is the first of another. */
    {"sampled_op",
     "SELECT *, first_value(op_id) OVER (PARTITION BY name, type, input_shapes, input_dtypes,\n"
     "                                   origin, twin ORDER BY session_id) AS part_id\n"
     "      FROM (SELECT *, row_number() OVER (PARTITION BY session_id, name, type, input_shapes,\n"
     "                                         input_dtypes, origin ORDER BY client_op) AS twin\n"
     "              FROM op WHERE op_id IN (SELECT op_id FROM sample_of_op WHERE is_shown))"},
    {"own_time", "SELECT s.*, CASE WHEN type = 'label' OR side = 'device' THEN s.dur_ns\n"
                 "                ELSE coalesce(h.own_ns, 0) END AS own_ns\n"
                 "      FROM counted_span s LEFT JOIN own_host h USING (event_id)\n"
                 "     WHERE type NOT IN ('phase', 'mark', 'counter'{no_labels})"},
};
enum { TABLES = sizeof(common_tables) / sizeof(common_tables[0]) };
enum { COUNTED_RUN, EVERY_SPAN, COUNTED_SPAN }; /* the first of them */

struct explanation {
    const struct report *report;
    const struct explanation *sides; /* of a comparison: queries that replace {base} and {new} */
    struct report_selection selection;
    bool has_runs;       /* the sessions have any */
    const char *counted; /* condition on run, for want of chosen numbers */
    struct out_buffer text;
};

/* --- What the words stand for. --- */

static void add_sessions(struct explanation *explanation)
{
    for (size_t i = 0; i < explanation->report->session_count; i++)
        out_buffer_print(&explanation->text, "%s%" PRId64, i ? ", " : "",
                         explanation->report->session_ids[i]);
}

static bool is_by_number(const struct explanation *explanation)
{
    const struct ops_question *question = &explanation->selection.question;

    return question->first_run || question->last_run;
}

static void add_counted(struct explanation *explanation)
{
    const struct ops_question *question = &explanation->selection.question;

    if (!is_by_number(explanation))
        out_buffer_print(&explanation->text, "%s", explanation->counted);
    else if (question->last_run == INT64_MAX)
        out_buffer_print(&explanation->text, "run >= %" PRId64, question->first_run);
    else
        out_buffer_print(&explanation->text, "run BETWEEN %" PRId64 " AND %" PRId64,
                         question->first_run, question->last_run);
}

static bool is_per_run(const struct explanation *explanation)
{
    return explanation->has_runs && !explanation->selection.question.totals;
}

static void add_in_runs(struct explanation *explanation)
{
    if (!explanation->has_runs)
        return;
    out_buffer_print(&explanation->text,
                     is_per_run(explanation) || is_by_number(explanation)
                         ? "\n       AND (l.session_id, e.run) IN"
                           " (SELECT session_id, run FROM counted_run)"
                         : "\n       AND (e.run IS NULL OR (l.session_id, e.run) IN"
                           " (SELECT session_id, run FROM counted_run))");
}

/* Conditions on the start of rows, whose columns are named with `prefix`es. */
static void add_window(struct explanation *explanation, const char *before,
                       const char *session_prefix, const char *start_prefix)
{
    const struct report *report = explanation->report;

    if (!explanation->selection.question.window)
        return;
    for (size_t i = 0; i < report->sessions->rows.count; i++) {
        const struct session_row *session = &report->sessions->rows.items[i];
        int64_t from_ns, until_ns;

        selection_resolve_window(&explanation->selection.window, session->start_ns, session->end_ns,
                                 &from_ns, &until_ns);
        out_buffer_print(&explanation->text,
                         "%s%ssession_id = %" PRId64 " AND %sstart_ns >= %" PRId64
                         " AND %sstart_ns < %" PRId64,
                         before, session_prefix, session->session_id, start_prefix, from_ns,
                         start_prefix, until_ns);
        before = "\n         OR ";
    }
    out_buffer_add(&explanation->text, ")", 1);
}

static void add_in_time(struct explanation *explanation)
{
    add_window(explanation, "\n       AND (", "l.", "e.");
}

static void add_runs_in_time(struct explanation *explanation)
{
    add_window(explanation, "\n WHERE (", "", "");
}

static void add_quoted(struct explanation *explanation, const char *text)
{
    out_buffer_add(&explanation->text, "'", 1);
    for (; *text; text++)
        out_buffer_print(&explanation->text, *text == '\'' ? "''" : "%c", *text);
    out_buffer_add(&explanation->text, "'", 1);
}

static void add_of_types(struct explanation *explanation)
{
    const struct option_list *types = &explanation->report->options->types;

    for (size_t i = 0; i < types->count; i++) {
        out_buffer_print(&explanation->text, i ? ", " : " WHERE type IN (");
        add_quoted(explanation, types->items[i]);
    }
    if (types->count)
        out_buffer_add(&explanation->text, ")", 1);
}

static void add_filtered(struct explanation *explanation)
{
    out_buffer_print(&explanation->text, "%d", explanation->report->options->types.count > 0);
}

static void add_model(struct explanation *explanation)
{
    if (explanation->report->options->model)
        add_quoted(explanation, explanation->report->options->model);
    else
        out_buffer_print(&explanation->text, "NULL");
}

static void add_side(struct explanation *explanation, int side)
{
    out_buffer_print(&explanation->text, "%s", explanation->sides[side].text.text);
}

static void add_base(struct explanation *explanation)
{
    add_side(explanation, ALIGN_BASE);
}

static void add_new(struct explanation *explanation)
{
    add_side(explanation, ALIGN_NEW);
}

static void add_no_labels(struct explanation *explanation)
{
    if (!explanation->selection.question.labels)
        out_buffer_print(&explanation->text, ", 'label'");
}

static void add_divisor(struct explanation *explanation)
{
    out_buffer_print(&explanation->text,
                     is_per_run(explanation) ? "(SELECT count(*) FROM counted_run)" : "1");
}

static void add_per_run(struct explanation *explanation)
{
    out_buffer_print(&explanation->text, "%d", is_per_run(explanation));
}

static void add_by_time(struct explanation *explanation)
{
    out_buffer_print(&explanation->text, "%d", explanation->report->options->time != NULL);
}

static void add_top_time(struct explanation *explanation)
{
    static const char *const times[] = {"own_ns", "kern_ns", "dur_ns - kern_ns"};

    out_buffer_print(&explanation->text, "%s", times[explanation->report->options->top_end_key]);
}

/* --detail, --per-thread and --state of events. */
static void add_detail(struct explanation *explanation)
{
    int detail = explanation->report->options->detail;

    out_buffer_print(&explanation->text, "%d", detail == CHOICE_NONE ? 0 : detail);
}

static void add_per_thread(struct explanation *explanation)
{
    out_buffer_print(&explanation->text, "%d", explanation->report->options->per_thread);
}

static void add_state(struct explanation *explanation)
{
    static const char *const states[] = {"cpu", "gpu", "all"};
    int state = explanation->report->options->state;

    out_buffer_print(&explanation->text, "'%s'", state == CHOICE_NONE ? "auto" : states[state]);
}

static const struct {
    const char *word;
    void (*add)(struct explanation *explanation);
} words[] = {
    {"{sessions}", add_sessions},
    {"{counted}", add_counted},
    {"{in_runs}", add_in_runs},
    {"{in_time}", add_in_time},
    {"{runs_in_time}", add_runs_in_time},
    {"{of_types}", add_of_types},
    {"{no_labels}", add_no_labels},
    {"{runs}", add_divisor},
    {"{top_time}", add_top_time},
    {"{by_time}", add_by_time},
    {"{detail}", add_detail},
    {"{per_thread}", add_per_thread},
    {"{state}", add_state},
    {"{filtered}", add_filtered},
    {"{model}", add_model},
    {"{base}", add_base},
    {"{new}", add_new},
    {"{per_run}", add_per_run},
};

static void add_sql(struct explanation *explanation, const char *sql)
{
    while (*sql) {
        size_t plain = strcspn(sql, "{"), i = 0;

        out_buffer_add(&explanation->text, sql, plain);
        sql += plain;
        if (!*sql)
            break;
        while (i < sizeof(words) / sizeof(words[0]) &&
               strncmp(sql, words[i].word, strlen(words[i].word)) != 0)
            i++;
        if (i == sizeof(words) / sizeof(words[0])) { /* a brace of its own */
            out_buffer_add(&explanation->text, sql++, 1);
            continue;
        }
        words[i].add(explanation);
        sql += strlen(words[i].word);
    }
}

/* --- Which runs count: as choose_runs() in query_reading.c has it. --- */

static int has_row(const struct report *report, const char *condition, bool *out_has,
                   struct diag *diag)
{
    struct out_buffer sql = {0};
    sqlite3_stmt *statement = NULL;
    int rc;

    out_buffer_print(&sql, "SELECT 1 FROM run WHERE %s AND session_id IN (0", condition);
    for (size_t i = 0; i < report->session_count; i++)
        out_buffer_print(&sql, ", %" PRId64, report->session_ids[i]);
    out_buffer_print(&sql, ") LIMIT 1");
    rc = sql.failed ? -ENOMEM
                    : query_prepare(report->source->store, out_buffer_text(&sql), &statement, diag);
    if (rc == 0)
        rc = query_step(report->source->store, statement, diag);
    *out_has = rc == 1;
    sqlite3_finalize(statement);
    out_buffer_deinit(&sql);
    return rc < 0 ? rc : 0;
}

static int choose_counted(struct explanation *explanation, struct diag *diag)
{
    const struct ops_question *question = &explanation->selection.question;
    const char *const conditions[] = {
        question->totals ? "1" : "end_ns IS NOT NULL",
        question->totals ? "warmup = 0" : "warmup = 0 AND end_ns IS NOT NULL",
        "end_ns IS NOT NULL",
        "1",
    };
    bool has = false;
    int rc = has_row(explanation->report, "1", &explanation->has_runs, diag);

    for (size_t i = question->warmups ? 0 : 1; i < 4 && rc == 0 && !has; i++) {
        explanation->counted = conditions[i];
        rc = has_row(explanation->report, conditions[i], &has, diag);
    }
    return rc;
}

/* --- The query. --- */

/* Which tables the report's SELECT needs, and those need. */
static void find_needed(const char *select, bool *needed)
{
    for (size_t i = TABLES; i-- > 0;) {
        needed[i] = strstr(select, common_tables[i].name) != NULL;
        for (size_t k = i + 1; k < TABLES; k++)
            needed[i] |= needed[k] && strstr(common_tables[k].sql, common_tables[i].name) != NULL;
    }
}

/* Conditions that SQL has no words for, or none that are short, or that this SELECT has no place
 * for; columns that it does not have. */
static void add_left_out(struct explanation *explanation, const char *select, const bool *needed)
{
    const struct analyze_options *options = explanation->report->options;
    const char *lacks = explanation->report->kind->explain_lacks;
    bool has_runs = needed[COUNTED_RUN] || needed[EVERY_SPAN];
    bool has_time = needed[EVERY_SPAN] || strstr(select, "{runs_in_time}");
    const struct {
        const char *name;
        bool given;
    } all[] = {
        {"opr-name", options->opr_name != NULL},
        {"type", options->types.count && !needed[COUNTED_SPAN]},
        {"runs", options->runs && !has_runs},
        {"time", options->time && !has_time},
        {"label", options->label != NULL},
        {"lane", options->lane != NULL},
        {"device", options->device != NULL},
        {"input-dtype", options->input_dtype != NULL},
        {"group-by", options->group_by != NULL},
        {"min-time", !isnan(options->min_time_s)},
        {"max-time", !isnan(options->max_time_s)},
        {"what-if", options->what_if.count > 0},
    };

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        if (all[i].given)
            out_buffer_print(&explanation->text, "/* without the condition of --%s */\n",
                             all[i].name);
    }
    if (lacks)
        out_buffer_print(&explanation->text, "/* %s */\n", lacks);
}

/* The tables that the SELECT needs, all but the last ones after `before`, then the SELECT. */
static void put_query(struct explanation *explanation, const char *select, const bool *needed,
                      const char *before)
{
    for (size_t i = 0; i < TABLES; i++) {
        if (!needed[i])
            continue;
        out_buffer_print(&explanation->text, "%s%s AS (\n    ", before, common_tables[i].name);
        add_sql(explanation, common_tables[i].sql);
        out_buffer_add(&explanation->text, ")", 1);
        before = ",\n";
    }
    /* It may have common tables of its own. */
    if (strcmp(before, "WITH ") != 0 && strncmp(select, "WITH ", 5) == 0)
        select += 5;
    else if (strcmp(before, "WITH ") != 0)
        before = "\n";
    else
        before = "";
    out_buffer_print(&explanation->text, "%s", before);
    add_sql(explanation, select);
}

static void choose_tables(const struct explanation *explanation, const char *select, bool *needed)
{
    bool divides = strstr(select, "{runs}") && is_per_run(explanation);

    find_needed(select, needed);
    needed[COUNTED_RUN] |= divides || (needed[EVERY_SPAN] && explanation->has_runs);
}

static int begin(struct explanation *explanation, const struct report *report, struct diag *diag)
{
    int rc;

    explanation->report = report;
    rc = report_select(report, &explanation->selection, diag);
    return rc ? rc : choose_counted(explanation, diag);
}

static void end(struct explanation *explanation)
{
    out_buffer_deinit(&explanation->text);
    report_selection_deinit(&explanation->selection);
}

/* --- Comparisons. --- */

/* A base of another file is attached; its tables take the place of those of the same names. */
static int put_side(struct explanation *side, const struct report *report, bool is_attached,
                    struct diag *diag)
{
    const char *select = report->kind->explain_side;
    bool needed[TABLES];
    int rc = begin(side, report, diag);

    if (rc < 0)
        return rc;
    choose_tables(side, select, needed);
    if (is_attached)
        out_buffer_print(&side->text, "WITH event AS (SELECT rowid, * FROM base.event),\n"
                                      "lane AS (SELECT * FROM base.lane),\n"
                                      "op AS (SELECT * FROM base.op),\n"
                                      "run AS (SELECT * FROM base.run),\n"
                                      "session AS (SELECT * FROM base.session)");
    put_query(side, select, needed, is_attached ? ",\n" : "WITH ");
    return side->text.failed ? -ENOMEM : 0;
}

static void add_attachment(struct explanation *explanation, const struct source *base)
{
    out_buffer_print(&explanation->text, "/* first: %sATTACH ",
                     base->kind == SOURCE_STORE
                         ? ""
                         : "profile_analyze --import FILE --into STORE, and with that store ");
    add_quoted(explanation, base->name);
    out_buffer_print(&explanation->text, " AS base */\n");
}

static int put_comparison(struct explanation *explanation, struct diag *diag)
{
    const struct report *report = explanation->report;
    struct explanation sides[ALIGN_SIDES] = {{0}};
    struct compare_side opened[ALIGN_SIDES];
    const bool needed[TABLES] = {0};
    int rc = compare_sides_open(report, opened, diag);

    for (int i = 0; i < ALIGN_SIDES && rc == 0; i++) {
        struct report of_side = compare_side_report(report, &opened[i]);

        rc = put_side(&sides[i], &of_side, opened[i].source != report->source, diag);
    }
    if (rc == 0) {
        explanation->sides = sides;
        if (opened[ALIGN_BASE].source != report->source)
            add_attachment(explanation, opened[ALIGN_BASE].source);
        put_query(explanation, report->kind->explain, needed, "WITH ");
        explanation->sides = NULL;
    }
    for (int i = 0; i < ALIGN_SIDES; i++)
        end(&sides[i]);
    compare_sides_deinit(opened);
    return rc;
}

/* --- The explanation. --- */

static int put_together(struct explanation *explanation, struct diag *diag)
{
    const struct report_kind *kind = explanation->report->kind;
    bool needed[TABLES];

    /* Of a comparison the sides say what they need. */
    choose_tables(explanation, kind->explain_side ? kind->explain_side : kind->explain, needed);
    add_left_out(explanation, kind->explain_side ? kind->explain_side : kind->explain, needed);
    if (kind->explain_side)
        return put_comparison(explanation, diag);
    put_query(explanation, kind->explain, needed, "WITH ");
    return 0;
}

int report_explain(const struct report *report, struct diag *diag)
{
    static const struct out_section section = {.name = "explain", .data_only = true};
    struct explanation explanation = {0};
    int rc = begin(&explanation, report, diag);

    if (rc == 0)
        rc = put_together(&explanation, diag);
    if (rc == -ENOMEM || (rc == 0 && explanation.text.failed))
        rc = diag_set(diag, -ENOMEM, "no memory for the explanation");
    if (rc == 0) {
        struct out_fact sql = {"sql", NULL, out_text(explanation.text.text)};

        out_facts(report->out, &section, &sql, 1);
        out_note(report->out, OUT_NOTE_PLAIN, "The same in SQL:\n%s;", explanation.text.text);
    }
    end(&explanation);
    return rc;
}
