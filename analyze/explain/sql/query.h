/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The SQL of --explain, as scripts/embed-sql makes it of the .sql files here: for each report a
 * SELECT that gives the lines of its main table, the columns under the names that they have there,
 * the first one telling lines apart; and the common tables that these are made of (tables.sql).
 *
 * Words in braces in any of it are places that explain/words.c fills: {sessions} a list of ids,
 * {runs} what values per run are divided by, {per_run} whether they are divided, {by_time} whether
 * --time is given, {filtered} whether a filter is, {is_chosen} that
 * an event_id before it passes; {line_key} what tells ops apart; {op_side} the side
 * that a table of ops shows, {own_wanted} that self times are of hosts'; {detail}, {per_thread}, {state}, {model}, {top_time} what the options
 * of these names choose; {base} and {new} the queries on the sides of a comparison. Whether is 1 or
 * 0.
 */
#ifndef OPTRACE_ANALYZE_EXPLAIN_SQL_QUERY_H
#define OPTRACE_ANALYZE_EXPLAIN_SQL_QUERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct explain_table {
    const char *name, *sql;
    uint64_t tables; /* a bit for each that it is made of, by its place; and its own */
    bool is_kept;    /* AS MATERIALIZED: it is looked up row by row */
    bool is_inlined; /* AS NOT MATERIALIZED: there is nothing to be gained from a copy */
};

struct explain_query {
    const char *name, *sql;
    uint64_t tables;           /* that it needs, and those these need */
    const char *const *places; /* in it, with their braces, ending in NULL */
    unsigned takes;            /* times its report's time, of 70,000 spans; 0: up to 10 */
    uint64_t again;            /* tables that are cheaper made again for each use than copied */
};

/* In the order in which they may name each other. */
extern const struct explain_table explain_tables[];
extern const size_t explain_table_count;
extern const struct explain_query explain_queries[];
extern const size_t explain_query_count;

/** variant: "", "_reduced", ..., behind the report's name. NULL: there is none. */
const struct explain_query *explain_query_of(const char *report, const char *variant);

/** The bits of a table that is there, and of those that it needs. */
uint64_t explain_table_bits(const char *name);

/** Whether a query needs a table that is there. */
bool explain_needs(uint64_t tables, const char *name);

/** Whether it has this place: "{runs}". */
bool explain_has_place(const struct explain_query *query, const char *place);

#endif
