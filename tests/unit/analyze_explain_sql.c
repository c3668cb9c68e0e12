/* SPDX-License-Identifier: Apache-2.0 */
/* The SQL of --explain as the build embeds it: whose it is, what it names, which places it has. */
#include <string.h>

#include "analyze/explain/private.h"
#include "analyze/explain/sql/query.h"
#include "tests/support/check.h"

static bool is_of_a_report(const char *name)
{
    static const char *const variants[] = {"", "_reduced", "_rolled", "_rolled_reduced", "_side"};

    for (size_t i = 0; report_kinds[i]; i++) {
        for (size_t k = 0; k < sizeof(variants) / sizeof(variants[0]); k++) {
            const struct explain_query *query =
                explain_query_of(report_kinds[i]->name, variants[k]);

            if (query && strcmp(query->name, name) == 0)
                return true;
        }
    }
    return false;
}

static void each_query_is_of_a_report(void **state)
{
    assert_true(explain_query_count > 25);
    for (size_t i = 0; i < explain_query_count; i++) {
        if (!is_of_a_report(explain_queries[i].name))
            fail_msg("%s.sql is of no report", explain_queries[i].name);
    }
    assert_null(explain_query_of("ops", "_of_nothing"));
    assert_null(explain_query_of("op", ""));
    (void)state;
}

/* A place that nobody fills would stay in the SQL as it is. */
static void each_place_is_known(void **state)
{
    size_t places = 0;

    for (size_t i = 0; i < explain_query_count; i++) {
        for (const char *const *place = explain_queries[i].places; *place; place++, places++) {
            assert_non_null(strstr(explain_queries[i].sql, *place));
            if (!explain_is_place(*place))
                fail_msg("%s.sql: nobody fills %s", explain_queries[i].name, *place);
        }
    }
    assert_true(places > 40);
    assert_false(explain_is_place("{nothing}"));
    assert_false(explain_is_place("{run}"));
    (void)state;
}

static void tables_need_those_before_them(void **state)
{
    for (size_t i = 0; i < explain_table_count; i++) {
        CHECK_U64(explain_tables[i].tables >> i, 1);
        assert_true(
            explain_needs(explain_table_bits(explain_tables[i].name), explain_tables[i].name));
    }
    assert_true(explain_needs(explain_table_bits("self_time"), "every_span"));
    assert_false(explain_needs(explain_table_bits("self_time"), "launching"));
    (void)state;
}

/* What it needs by way of another table, too, and nothing whose name is only part of a word. */
static void queries_have_the_tables_that_they_need(void **state)
{
    const struct explain_query *ops = explain_query_of("ops", "_reduced");
    const struct explain_query *events = explain_query_of("events", "");

    assert_non_null(ops);
    assert_true(explain_needs(ops->tables, "self_time"));
    assert_true(explain_needs(ops->tables, "own_inner"));
    assert_false(explain_needs(ops->tables, "labelled"));
    assert_true(explain_has_place(ops, "{runs}"));
    assert_false(explain_has_place(ops, "{having}"));
    assert_non_null(strstr(events->sql, "own_host_time"));
    assert_false(explain_needs(events->tables, "own_inner"));
    (void)state;
}

/* How long it takes is said where it is more than some times the report's. */
static void slow_queries_say_so(void **state)
{
    static const char *const quick[] = {"kernels", "copies", "launch", "threads", "runs"};

    assert_true(explain_query_of("sequences", "")->takes > 10);
    CHECK_U64(explain_query_of("ops", "_reduced")->takes, 0);
    CHECK_U64(explain_query_of("ops", "_rolled")->takes, 0);
    for (size_t i = 0; i < sizeof(quick) / sizeof(quick[0]); i++)
        CHECK_U64(explain_query_of(quick[i], "")->takes, 0);
    for (size_t i = 0; i < explain_query_count; i++)
        assert_true(!explain_queries[i].takes || explain_queries[i].takes > 10);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_query_is_of_a_report),
        cmocka_unit_test(each_place_is_known),
        cmocka_unit_test(tables_need_those_before_them),
        cmocka_unit_test(queries_have_the_tables_that_they_need),
        cmocka_unit_test(slow_queries_say_so),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
