/* SPDX-License-Identifier: Apache-2.0 */
/* --explain of --compare and --history: the SQL gives the numbers that tests, intervals and the
 * search for changes stand on. */
#include <math.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/analyze_scene.h"
#include "tests/support/check.h"
#include "tests/support/report_json.h"
#include "tests/support/run_store.h"
#include "tests/support/temp.h"

enum { SESSIONS = 18, CHANGED = 10 };

#define MS       1e6
#define START_NS INT64_C(1769846400000000000)
#define DAY_NS   INT64_C(86400000000000)

static const struct run_store_session plain_session = {
    .start_ns = START_NS,
    .host = "box",
    .program = "load_and_run",
    .model = "net",
    .digest = "sha256:11",
    .ops =
        {
            {"conv1", "Conv", "[[1,3,224,224]]", NULL, NULL, 4 * MS},
            {"bn1", "BatchNormalization", "[[1,64,112,112]]", NULL, NULL, 1 * MS},
            {"relu1", "Relu", "[[1,64,112,112]]", NULL, NULL, 0.5 * MS},
            {"conv2", "Conv", "[[1,64,56,56]]", NULL, NULL, 3 * MS},
            {"fc", "Gemm", "[[1,512],[512,1000]]", NULL, NULL, 0.2 * MS},
            {"pool", "Pool", "[[1,64,7,7]]", NULL, NULL, 0.3 * MS},
        },
    .between_ns = 0.02 * MS,
    .run_count = 12,
    .warmup_count = 1,
    .noise = 0.02,
    .seed = 1,
};

static void append(const struct analyze_scene *scene, const char *name,
                   const struct run_store_session *session)
{
    char *path = temp_path(scene->dir, name);

    run_store_append(path, session);
    free(path);
}

/* base.db; new.db, where conv2 is slower, conv1, bn1 and relu1 are one, fc has another name, pool
 * another shape, and softmax is new. both.db has three sessions of each, in turn. */
static void make_stores(const struct analyze_scene *scene)
{
    struct run_store_session base = plain_session, new = plain_session;

    memset(new.ops, 0, sizeof(new.ops));
    new.ops[0] = (struct run_store_op){
        "conv1", "Conv", "[[1,3,224,224]]", "[\"conv1\",\"bn1\",\"relu1\"]", NULL, 4.2 * MS};
    new.ops[1] = base.ops[3];
    new.ops[1].ns *= 1.5;
    new.ops[2] = base.ops[4];
    new.ops[2].name = "classifier";
    new.ops[3] = base.ops[5];
    new.ops[3].shapes = "[[8,64,7,7]]";
    new.ops[4] = (struct run_store_op){"softmax", "Softmax", "[[1,1000]]", NULL, NULL, 0.1 * MS};
    new.run_count = 9;
    new.seed = 2;
    append(scene, "base.db", &base);
    append(scene, "new.db", &new);
    for (int i = 0; i < 6; i++) {
        struct run_store_session *session = i % 2 ? &new : &base;

        session->seed = 10 + (uint64_t)i;
        session->start_ns = START_NS + i * DAY_NS;
        append(scene, "both.db", session);
    }
}

/* 18 sessions of net, a day apart; from the 11th on conv2 takes 20 % more. Between them sessions of
 * another model. */
static void make_history(const struct analyze_scene *scene)
{
    for (unsigned i = 0; i < SESSIONS; i++) {
        struct run_store_session session = plain_session;

        session.start_ns = START_NS + i * DAY_NS;
        session.seed = 500 + i;
        session.run_count = 5;
        if (i >= CHANGED)
            session.ops[3].ns *= 1.2;
        append(scene, "history.db", &session);
        session.start_ns += DAY_NS / 2;
        session.model = "other";
        session.digest = NULL;
        if (i % 6 == 0)
            append(scene, "history.db", &session);
    }
}

static int start(void **state)
{
    struct analyze_scene *scene = analyze_scene_create();

    make_stores(scene);
    make_history(scene);
    *state = scene;
    return 0;
}

static int stop(void **state)
{
    analyze_scene_destroy((struct analyze_scene **)state);
    return 0;
}

/* --- Rows. --- */

static cJSON *take_value(sqlite3_stmt *statement, int column)
{
    switch (sqlite3_column_type(statement, column)) {
    case SQLITE_NULL:
        return cJSON_CreateNull();
    case SQLITE_TEXT:
        return cJSON_CreateString((const char *)sqlite3_column_text(statement, column));
    default:
        return cJSON_CreateNumber(sqlite3_column_double(statement, column));
    }
}

/* The rows of a query on a store, with another one attached as `base` unless NULL: as somebody
 * would do it with SQLite alone. */
static cJSON *query(const struct analyze_scene *scene, const char *name, const char *base,
                    const char *sql)
{
    char *path = temp_path(scene->dir, name), *attach;
    cJSON *rows = cJSON_CreateArray();
    sqlite3_stmt *statement = NULL;
    sqlite3 *db;

    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    if (base) {
        assert_true(asprintf(&attach, "ATTACH '%s/%s' AS base", scene->dir, base) > 0);
        assert_int_equal(sqlite3_exec(db, attach, NULL, NULL, NULL), SQLITE_OK);
        free(attach);
    }
    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK)
        fail_msg("%s:\n%s", sqlite3_errmsg(db), sql);
    while (sqlite3_step(statement) == SQLITE_ROW) {
        cJSON *row = cJSON_CreateObject();

        for (int i = 0; i < sqlite3_column_count(statement); i++)
            cJSON_AddItemToObject(row, sqlite3_column_name(statement, i), take_value(statement, i));
        cJSON_AddItemToArray(rows, row);
    }
    sqlite3_finalize(statement);
    sqlite3_close(db);
    free(path);
    return rows;
}

/* --- Comparisons. --- */

static void sql_gives_what_is_compared(void **state)
{
    static const struct {
        const char *store, *base; /* NULL: of the same store */
        const char *arguments[8];
        bool is_fused;
    } cases[] = {
        {"new.db", "base.db", {"--compare", "base.db"}, true},
        {"base.db", "new.db", {"--compare", "new.db"}, false},
        {"both.db", NULL, {"--compare", "1", "--session=2"}, true},
        {"both.db", NULL, {"--compare", "1,3,5", "--session=2,4,6"}, true},
        {"both.db", NULL, {"--compare", "1", "--session=3"}, false},
        {"new.db", "base.db", {"--compare", "base.db", "--type=Conv"}, false},
        {"new.db", "base.db", {"--compare", "base.db", "--opr-name=conv.*"}, false},
        {"new.db", "base.db", {"--compare", "base.db", "--runs=3..7"}, true},
    };
    const struct analyze_scene *scene = *state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *arguments[12] = {"--explain", "--top=0"};
        const cJSON *table;
        cJSON *report, *rows;
        char *all;

        for (size_t k = 0; k < 8 && cases[i].arguments[k]; k++)
            arguments[2 + k] = cases[i].arguments[k];
        report = report_json_run(scene->program, scene->dir, cases[i].store, arguments);
        assert_non_null(report);
        CHECK_CONTAINS(report_json_sql(report), "/* not in it: rank, share, p, p_corrected");
        rows = query(scene, cases[i].store, cases[i].base, report_json_sql(report));
        table = report_json_table(report, rows->child);
        assert_non_null(table);
        report_json_check(arguments[3], table, rows, report_json_sql(report));
        all = cJSON_PrintUnformatted(rows);
        if (cases[i].is_fused) {
            CHECK_CONTAINS(all, "\"fused\"");
            CHECK_CONTAINS(all, "\"renamed\"");
            CHECK_CONTAINS(all, "\"changed shape\"");
            CHECK_CONTAINS(all, "\"added\"");
        }
        cJSON_free(all);
        cJSON_Delete(rows);
        cJSON_Delete(report);
    }
}

/* A base of another file has to be attached, and one of another form imported. */
static void how_to_reach_the_base_is_said(void **state)
{
    static const char *const arguments[] = {"--explain", "--compare", "base.db", NULL};
    const struct analyze_scene *scene = *state;
    cJSON *report = report_json_run(scene->program, scene->dir, "new.db", arguments);

    CHECK_CONTAINS(report_json_sql(report), "/* first: ATTACH 'base.db' AS base */\n");
    CHECK_CONTAINS(report_json_sql(report), "FROM base.event");
    cJSON_Delete(report);
}

/* --- Histories. --- */

static int compare_doubles(const void *a, const void *b)
{
    double left = *(const double *)a, right = *(const double *)b;

    return (left > right) - (left < right);
}

/* The median of the values of a series in a range of sessions, which ends before `until`. */
static double find_level(const cJSON *rows, const char *name, double from, double until)
{
    double values[SESSIONS];
    size_t count = 0;
    const cJSON *row;

    cJSON_ArrayForEach(row, rows)
    {
        double session = cJSON_GetObjectItem(row, "session_id")->valuedouble;

        if (strcmp(cJSON_GetObjectItem(row, "name")->valuestring, name) != 0 || session < from ||
            session >= until)
            continue;
        assert_in_range(count, 0, SESSIONS - 1);
        values[count++] = cJSON_GetObjectItem(row, "median_ns")->valuedouble;
    }
    assert_true(count > 0);
    qsort(values, count, sizeof(values[0]), compare_doubles);
    return values[(count + 1) / 2 - 1];
}

/* Each change in the report is one between medians of what the SQL gives; these have one each. */
static void check_changes(const cJSON *report, const cJSON *rows)
{
    const cJSON *change;

    cJSON_ArrayForEach(change, cJSON_GetObjectItem(cJSON_GetObjectItem(report, "changes"), "rows"))
    {
        const char *name = cJSON_GetObjectItem(change, "name")->valuestring;
        double session = cJSON_GetObjectItem(change, "session_id")->valuedouble;

        assert_true(find_level(rows, name, 0, session) ==
                    cJSON_GetObjectItem(change, "before_ns")->valuedouble);
        assert_true(find_level(rows, name, session, INFINITY) ==
                    cJSON_GetObjectItem(change, "after_ns")->valuedouble);
    }
}

/* The rows of the whole are those of the report's table of sessions, in what both have. */
static void check_sessions(const cJSON *report, const cJSON *rows)
{
    static const char *const columns[] = {"session_id", "start_ns",  "host",
                                          "run_count",  "median_ns", "change"};
    const cJSON *sessions = cJSON_GetObjectItem(cJSON_GetObjectItem(report, "sessions"), "rows");
    const cJSON *row, *session = sessions->child;

    cJSON_ArrayForEach(row, rows)
    {
        if (!cJSON_IsNull(cJSON_GetObjectItem(row, "type")))
            continue;
        assert_non_null(session);
        for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
            assert_true(report_json_is_same(cJSON_GetObjectItem(session, columns[i]),
                                            cJSON_GetObjectItem(row, columns[i])));
        session = session->next;
    }
    assert_null(session);
}

static void sql_gives_the_series_of_a_history(void **state)
{
    static const struct {
        const char *arguments[6];
        int series, sessions, changes;
    } cases[] = {
        {{"--history", "--explain", "--model=net"}, 7, SESSIONS, 2},
        {{"--history", "--explain", "--model=sha256:11", "--type=Conv"}, 3, SESSIONS, 2},
        {{"--history", "--explain", "--model=net", "--opr-name=conv2"}, 2, SESSIONS, 2},
        {{"--history", "--explain", "--model=net", "--input-shape=1x64x*x*"}, 5, SESSIONS, 2},
        {{"--history", "--explain", "--model=other"}, 7, 3, 0},
        {{"--history", "--explain", "--runs=2..4"}, 7, SESSIONS, 2},
    };
    const struct analyze_scene *scene = *state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        cJSON *report =
            report_json_run(scene->program, scene->dir, "history.db", cases[i].arguments);
        cJSON *rows = query(scene, "history.db", NULL, report_json_sql(report));

        CHECK_CONTAINS(report_json_sql(report), "/* not in it: z_score, level, differs");
        assert_int_equal(cJSON_GetArraySize(rows), cases[i].series * cases[i].sessions);
        assert_int_equal(
            cJSON_GetArraySize(cJSON_GetObjectItem(cJSON_GetObjectItem(report, "changes"), "rows")),
            cases[i].changes);
        check_sessions(report, rows);
        check_changes(report, rows);
        cJSON_Delete(rows);
        cJSON_Delete(report);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sql_gives_what_is_compared),
        cmocka_unit_test(how_to_reach_the_base_is_said),
        cmocka_unit_test(sql_gives_the_series_of_a_history),
    };

    return cmocka_run_group_tests(tests, start, stop);
}
