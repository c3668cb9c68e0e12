/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --explain: the SQL that gives the same numbers as a report. A report hands in a SELECT; what the
 * command line chose is put before it as common tables (sql/tables.sql), those of them that it
 * names.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/explain/private.h"
#include "analyze/explain/sql/query.h"
#include "analyze/query/statement.h"
#include "analyze/reports/compare/sides.h"
#include "analyze/reports/report.h"
#include "base/text_buffer.h"

/* --- Which runs count: as choose_runs() in query/reading.c has it. --- */

static int has_row(const struct report *report, const char *condition, bool *out_has,
                   struct diag *diag)
{
    struct text_buffer sql = {0};
    sqlite3_stmt *statement = NULL;
    int rc;

    text_buffer_print(&sql, "SELECT 1 FROM run WHERE %s AND session_id IN (0", condition);
    for (size_t i = 0; i < report->session_count; i++)
        text_buffer_print(&sql, ", %" PRId64, report->session_ids[i]);
    text_buffer_print(&sql, ") LIMIT 1");
    rc = sql.failed
             ? -ENOMEM
             : query_prepare(report->source->store, text_buffer_text(&sql), &statement, diag);
    if (rc == 0)
        rc = query_step(report->source->store, statement, diag);
    *out_has = rc == 1;
    sqlite3_finalize(statement);
    text_buffer_deinit(&sql);
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

/* Runs whose ops were left out on purpose count where there are no others: as
 * query_skip_incomplete() has it, too. */
static int choose_with_ops(struct explanation *explanation, struct diag *diag)
{
    const struct report_kind *kind = explanation->report->kind;
    const bool all_count =
        (explanation->selection.question.totals && kind->runs != REPORT_RUNS_WHOLE) ||
        kind->runs == REPORT_RUNS_ALL;
    bool has[2] = {false, false};
    int rc = 0;

    explanation->only_with_ops = false;
    for (int without = 0; without < 2 && rc == 0 && explanation->has_runs; without++) {
        struct text_buffer condition = {0};

        text_buffer_print(&condition, "(");
        explain_add_counted(explanation, &condition);
        text_buffer_print(&condition, ") AND without_ops = %d", without);
        rc = condition.failed
                 ? -ENOMEM
                 : has_row(explanation->report, text_buffer_text(&condition), &has[without], diag);
        text_buffer_deinit(&condition);
    }
    explanation->only_with_ops = has[0] && has[1] && !all_count;
    return rc;
}

/* Runs of which events were dropped are left out where there are others: as
 * query_skip_incomplete() has it. */
static int choose_whole(struct explanation *explanation, struct diag *diag)
{
    const struct ops_question *question = &explanation->selection.question;
    const struct session_rows *sessions = explanation->report->sessions;
    struct text_buffer condition = {0};
    bool has = false, has_dropped = false;
    int rc = 0;

    for (size_t i = 0; sessions && i < sessions->rows.count; i++)
        has_dropped |= sessions->rows.items[i].dropped_count > 0;
    if (!has_dropped || !explanation->has_runs)
        return 0;
    text_buffer_print(&condition, "(");
    explain_add_counted(explanation, &condition);
    text_buffer_print(&condition, ")%s", EXPLAIN_IS_WHOLE);
    rc = condition.failed ? -ENOMEM
                          : has_row(explanation->report, text_buffer_text(&condition), &has, diag);
    text_buffer_deinit(&condition);
    explanation->only_whole =
        has && (!question->totals || explanation->report->kind->runs == REPORT_RUNS_WHOLE) &&
        explanation->report->kind->runs != REPORT_RUNS_ALL;
    explanation->lacks_whole = !has;
    return rc;
}

/* --- Ids of what regular expressions and types of elements are about. --- */

static int add_op_id(struct explanation *explanation, const struct op_row *op)
{
    struct filter *filter = &explanation->selection.filter;
    int rc = 0;

    if (filter_passes_id(filter, op, NULL))
        rc = array_push(&explanation->op_ids, op->op_id);
    if (rc == 0 && strcmp(op->type, "label") == 0 && filter_passes_label(filter, op))
        rc = array_push(&explanation->label_ids, op->op_id);
    return rc;
}

static int add_lane_id(struct explanation *explanation, const struct lane_row *lane)
{
    static const struct op_row any = {.name = "", .type = ""};

    return filter_passes_id(&explanation->selection.filter, &any, lane)
               ? array_push(&explanation->lane_ids, lane->lane_id)
               : 0;
}

static int add_op_of(struct explanation *explanation, sqlite3_stmt *statement)
{
    struct query_texts texts = {0};
    struct op_row op = {
        .op_id = query_int(statement, 0),
        .name = query_text(&texts, statement, 1),
        .type = query_text(&texts, statement, 2),
        .input_dtypes = query_text(&texts, statement, 3),
        .input_shapes = query_text(&texts, statement, 4),
    };
    int rc = op.name && op.type ? add_op_id(explanation, &op) : -ENOMEM;

    query_texts_deinit(&texts);
    return rc;
}

static int add_lane_of(struct explanation *explanation, sqlite3_stmt *statement)
{
    struct query_texts texts = {0};
    struct lane_row lane = {
        .lane_id = query_int(statement, 0),
        .name = query_text(&texts, statement, 1),
        .kind = query_text(&texts, statement, 2),
        .device = query_text(&texts, statement, 3),
    };
    int rc = lane.name && lane.kind ? 0 : -ENOMEM;

    lane.side = rc == 0 && strcmp(lane.kind, "thread") == 0 ? OP_HOST : OP_DEVICE;
    if (rc == 0)
        rc = add_lane_id(explanation, &lane);
    query_texts_deinit(&texts);
    return rc;
}

/* Rows of a SELECT whose last condition is on the session. */
static int find_ids(struct explanation *explanation, const char *select,
                    int (*add)(struct explanation *explanation, sqlite3_stmt *statement),
                    struct diag *diag)
{
    struct store *store = explanation->report->source->store;
    sqlite3_stmt *statement = NULL;
    int rc = query_prepare(store, select, &statement, diag);

    for (size_t i = 0; i < explanation->report->session_count && rc == 0; i++) {
        sqlite3_bind_int64(statement, 1, explanation->report->session_ids[i]);
        while (rc == 0 && (rc = query_step(store, statement, diag)) == 1)
            rc = add(explanation, statement);
        sqlite3_reset(statement);
    }
    sqlite3_finalize(statement);
    return rc;
}

static int choose_ids(struct explanation *explanation, struct diag *diag)
{
    const struct filter *filter = &explanation->selection.filter;
    int rc = 0;

    if (filter_wants_ids(filter, FILTER_OF_OPS) || filter_is_of(filter, FILTER_OF_LABELS))
        rc = find_ids(explanation,
                      "SELECT op_id, coalesce(name, ''), coalesce(type, ''), input_dtypes,"
                      " input_shapes FROM op"
                      " WHERE session_id = ?1",
                      add_op_of, diag);
    if (rc == 0 && filter_wants_ids(filter, FILTER_OF_LANES))
        rc = find_ids(explanation,
                      "SELECT lane_id, coalesce(name, kind || ' ' || coalesce(native_id, 0)), kind,"
                      " device FROM lane WHERE session_id = ?1",
                      add_lane_of, diag);
    return rc;
}

/* --- The query. --- */

/* The tables that a report's query needs, of those that are there. */
static uint64_t tables_of(const struct analyze_options *options, const struct explain_query *query)
{
    uint64_t tables = query->tables;

    if (explain_needs(tables, "counted_span") && report_filters_by(options, FILTER_OF_LABELS))
        tables |= explain_table_bits("labelled");
    return tables;
}

/* These tables, all but the last ones after `before`, then the SELECT. */
static void put_query(struct explanation *explanation, const char *select, uint64_t tables,
                      const char *before)
{
    for (size_t i = 0; i < explain_table_count; i++) {
        if (!(tables >> i & 1))
            continue;
        text_buffer_print(&explanation->text, "%s%s AS %s(\n    ", before, explain_tables[i].name,
                          explain_tables[i].is_kept ? "MATERIALIZED "
                          : explain_tables[i].is_inlined || explanation->again >> i & 1
                              ? "NOT MATERIALIZED "
                              : "");
        explain_add_sql(explanation, explain_tables[i].sql);
        text_buffer_add(&explanation->text, ")", 1);
        before = ",\n";
    }
    /* It may have common tables of its own. */
    if (strcmp(before, "WITH ") != 0 && strncmp(select, "WITH ", 5) == 0)
        select += 5;
    else if (strcmp(before, "WITH ") != 0)
        before = "\n";
    else
        before = "";
    text_buffer_print(&explanation->text, "%s", before);
    explain_add_sql(explanation, select);
}

static uint64_t choose_tables(const struct explanation *explanation,
                              const struct explain_query *query)
{
    uint64_t tables = tables_of(explanation->report->options, query);

    if ((explain_has_place(query, "{runs}") && explain_is_per_run(explanation)) ||
        (explain_needs(tables, "every_span") && explanation->has_runs))
        tables |= explain_table_bits("counted_run");
    return tables;
}

static int begin(struct explanation *explanation, const struct report *report, struct diag *diag)
{
    int rc;

    explanation->report = report;
    rc = report_select(report, &explanation->selection, diag);
    if (rc == 0)
        rc = choose_counted(explanation, diag);
    if (rc == 0)
        rc = choose_with_ops(explanation, diag);
    if (rc == 0)
        rc = choose_whole(explanation, diag);
    return rc ? rc : choose_ids(explanation, diag);
}

static void end(struct explanation *explanation)
{
    array_deinit(&explanation->op_ids);
    array_deinit(&explanation->label_ids);
    array_deinit(&explanation->lane_ids);
    text_buffer_deinit(&explanation->text);
    report_selection_deinit(&explanation->selection);
}

/* --- Comparisons. --- */

/* A base of another file is attached; its tables take the place of those of the same names. */
static int put_side(struct explanation *side, const struct report *report, bool is_attached,
                    struct diag *diag)
{
    const struct explain_query *query = explain_query_of(report->kind->name, "_side");
    int rc = begin(side, report, diag);

    if (rc < 0)
        return rc;
    if (is_attached)
        text_buffer_print(&side->text, "WITH event AS (SELECT rowid, * FROM base.event),\n"
                                       "lane AS (SELECT * FROM base.lane),\n"
                                       "op AS (SELECT * FROM base.op),\n"
                                       "run AS (SELECT * FROM base.run),\n"
                                       "dropped AS (SELECT * FROM base.dropped),\n"
                                       "session AS (SELECT * FROM base.session)");
    put_query(side, query->sql, choose_tables(side, query), is_attached ? ",\n" : "WITH ");
    return side->text.failed ? -ENOMEM : 0;
}

static void add_attachment(struct explanation *explanation, const struct source *base)
{
    text_buffer_print(
        &explanation->text, "/* first: %sATTACH ",
        !base->format ? "" : "profile_analyze --import FILE --into STORE, and with that store ");
    explain_add_quoted(explanation, base->name);
    text_buffer_print(&explanation->text, " AS base */\n");
}

static int put_comparison(struct explanation *explanation, const struct explain_query *query,
                          struct diag *diag)
{
    const struct report *report = explanation->report;
    struct explanation sides[ALIGN_SIDES] = {{0}};
    struct compare_side opened[ALIGN_SIDES];
    int rc = compare_sides_open(report, opened, diag);

    for (int i = 0; i < ALIGN_SIDES && rc == 0; i++) {
        struct report of_side = compare_side_report(report, &opened[i]);

        rc = put_side(&sides[i], &of_side, opened[i].source != report->source, diag);
    }
    if (rc == 0) {
        explanation->sides = sides;
        if (opened[ALIGN_BASE].source != report->source)
            add_attachment(explanation, opened[ALIGN_BASE].source);
        put_query(explanation, query->sql, 0, "WITH ");
        explanation->sides = NULL;
    }
    for (int i = 0; i < ALIGN_SIDES; i++)
        end(&sides[i]);
    compare_sides_deinit(opened);
    return rc;
}

/* --- The explanation. --- */

/* What the report says besides. */
static void add_notes(struct explanation *explanation)
{
    const struct report *report = explanation->report;

    if (report->options->what_if.count)
        text_buffer_print(&explanation->text, "/* not in it: what --what-if tells */\n");
    if (report->options->show_host)
        text_buffer_print(&explanation->text, "/* not in it: the second table, of the host */\n");
    if (report->kind->explain.lacks)
        text_buffer_print(&explanation->text, "/* %s */\n", report->kind->explain.lacks);
}

/* All runs that ended count then. */
static int choose_rolled(struct explanation *explanation, struct diag *diag)
{
    bool has = false;
    int rc = has_row(explanation->report, "end_ns IS NOT NULL", &has, diag);

    explanation->counted = "end_ns IS NOT NULL";
    explanation->only_whole = false;
    explanation->lacks_whole = !has;
    return rc < 0 ? rc : choose_with_ops(explanation, diag);
}

static const struct explain_query *query_of(const struct analyze_options *options,
                                            const struct report_kind *kind, bool is_rolled)
{
    bool is_reduced = options->aggregate != CHOICE_NONE;

    if (is_rolled)
        return explain_query_of(kind->name, is_reduced ? "_rolled_reduced" : "_rolled");
    return explain_query_of(kind->name, is_reduced ? "_reduced" : "");
}

/* --min-time and --max-time are about the lines of a SELECT. */
static int put_lines(struct explanation *explanation, const char *select, uint64_t tables)
{
    struct text_buffer bounded = {0};

    text_buffer_print(&bounded, "SELECT * FROM (\n%s){bounds}", select);
    if (!bounded.failed)
        put_query(explanation, bounded.text, tables, "WITH ");
    explanation->text.failed |= bounded.failed;
    text_buffer_deinit(&bounded);
    return explanation->text.failed ? -ENOMEM : 0;
}

static int put_together(struct explanation *explanation, struct diag *diag)
{
    const struct report_kind *kind = explanation->report->kind;
    const struct analyze_options *options = explanation->report->options;
    bool has_bounds =
        kind->explain.time && (!isnan(options->min_time_s) || !isnan(options->max_time_s));
    bool is_rolled = explanation->report->verdict->is_of_rollups;
    const struct explain_query *query = query_of(options, kind, is_rolled);
    uint64_t tables;
    int rc = is_rolled ? choose_rolled(explanation, diag) : 0;

    if (rc < 0)
        return rc;
    add_notes(explanation);
    if (explain_query_of(kind->name, "_side"))
        return put_comparison(explanation, query, diag);
    tables = choose_tables(explanation, query);
    explanation->again = query->again;
    explanation->is_of_one_side = explain_has_place(query, "{op_side}");
    if (query->takes)
        text_buffer_print(&explanation->text,
                          "/* for looking into and changing: it asks for each span by itself and "
                          "takes some\n * %u times as long as the report (of 70,000 spans) */\n",
                          query->takes);
    if (has_bounds && options->aggregate == CHOICE_NONE && !explain_has_place(query, "{having}"))
        return put_lines(explanation, query->sql, tables);
    put_query(explanation, query->sql, tables, "WITH ");
    return 0;
}

/* --- What it cannot say. --- */

/* Whether a word is one that SQL has none for; what is no word at all the report says. */
static bool lacks_group(const struct explain_group *group, const char *text)
{
    for (const char *at = text ? text : ""; group && *at;) {
        size_t length = strcspn(at, ",:");
        const struct explain_group *found = group;

        while (found->word &&
               (strlen(found->word) != length || strncmp(found->word, at, length) != 0))
            found++;
        if (found->word && !found->columns)
            return true;
        at += strcspn(at, ",");
        at += *at == ',';
    }
    return false;
}

const char *report_explain_refused(const struct analyze_options *options,
                                   const struct report_kind *kind)
{
    const struct explain_query *side = explain_query_of(kind->name, "_side");
    const struct explain_query *query = side ? side : query_of(options, kind, false);
    uint64_t tables;
    bool filters, times, bounds;

    if (!query)
        return "aggregate";
    tables = tables_of(options, query);
    filters = explain_needs(tables, "counted_span") || kind->explain.is_of_all;
    times = explain_needs(tables, "every_span") || explain_has_place(query, "{runs_in_time}") ||
            explain_has_place(query, "{bounds_of_sessions}");
    bounds = kind->explain.time || (filters && report_bounds_ops(kind, options));
    const struct {
        const char *name;
        bool is_refused;
    } all[] = {
        {"runs", options->runs && !times && !explain_needs(tables, "counted_run")},
        {"time", options->time && !times},
        {"group-by", lacks_group(kind->explain.groups, options->group_by)},
        {"min-time", !isnan(options->min_time_s) && !bounds},
        {"max-time", !isnan(options->max_time_s) && !bounds},
        {"print-only", options->print_only == PRINT_SUMMARY},
    };

    for (enum filter_id id = 0; id < FILTERS; id++) {
        if (report_filter_words(options, id) && !filters)
            return filter_kinds[id].option;
    }
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        if (all[i].is_refused)
            return all[i].name;
    }
    return NULL;
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
