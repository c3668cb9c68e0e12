/* SPDX-License-Identifier: Apache-2.0 */
/* profile_analyze --history on made-up sessions: changes are found where they were made, against
 * tests/golden/history/, and nowhere else. */
#include <sqlite3.h>
#include <string.h>

#include "tests/support/analyze_scene.h"
#include "tests/support/check.h"
#include "tests/support/golden.h"
#include "tests/support/run_store.h"
#include "tests/support/temp.h"

enum { SESSIONS = 18, CHANGED = 10 };

#define MS       1e6
#define START_NS INT64_C(1769846400000000000)
#define DAY_NS   INT64_C(86400000000000)

static const struct run_store_session plain_session = {
    .host = "box",
    .program = "load_and_run",
    .command = "load_and_run net.onnx",
    .library = "liboptrace 0.1.0",
    .model = "net",
    .digest = "sha256:11",
    .ops =
        {
            {"conv1", "Conv", "[[1,3,224,224]]", NULL, NULL, 4 * MS},
            {"conv2", "Conv", "[[1,64,56,56]]", NULL, NULL, 3 * MS},
            {"fc", "Gemm", "[[1,512],[512,1000]]", NULL, NULL, 0.2 * MS},
        },
    .between_ns = 0.02 * MS,
    .run_count = 5,
    .warmup_count = 1,
    .noise = 0.02,
};

/* history.db: 18 sessions of net, a day apart; from the 11th on conv2 takes 20 % more, and the
 * client library is another one. Between them sessions of another model. flat.db: no change. */
static void make_stores(const struct analyze_scene *scene)
{
    char *history = temp_path(scene->dir, "history.db");
    char *flat = temp_path(scene->dir, "flat.db");

    for (unsigned i = 0; i < SESSIONS; i++) {
        struct run_store_session session = plain_session;

        session.start_ns = START_NS + i * DAY_NS;
        session.seed = 500 + i;
        run_store_append(flat, &session);
        if (i >= CHANGED) {
            session.ops[1].ns *= 1.2;
            session.library = "liboptrace 0.2.0";
        }
        run_store_append(history, &session);
        session.start_ns += DAY_NS / 2;
        session.model = "other";
        session.digest = NULL;
        session.ops[1].ns = (1 + i) * MS;
        if (i % 6 == 0)
            run_store_append(history, &session);
    }
    free(history);
    free(flat);
}

static int start(void **state)
{
    struct analyze_scene *scene = analyze_scene_create();
    struct store *store = NULL;
    struct diag diag = {0};
    char *empty;

    make_stores(scene);
    empty = temp_path(scene->dir, "empty.db");
    CHECK_OK(store_open(empty, STORE_WRITE, &store, &diag));
    store_close(&store);
    free(empty);
    *state = scene;
    return 0;
}

static int stop(void **state)
{
    analyze_scene_destroy((struct analyze_scene **)state);
    return 0;
}

static void reports_look_as_agreed(void **state)
{
    static const struct {
        const char *golden;
        const char *arguments[ANALYZE_ARGUMENTS_MAX];
    } cases[] = {
        {"net.txt", {"history.db", "--history", "--model", "net"}},
        {"conv2.txt", {"history.db", "--history", "--opr-name", "conv2"}},
        {"net.json.txt", {"history.db", "--history", "--model", "sha256:11", "--format", "json"}},
        {"flat.txt", {"flat.db", "--history"}},
        {"few.txt", {"flat.db", "--history", "--session", "1..5"}},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct child_result result = analyze_scene_run(*state, cases[i].arguments);
        char name[128];

        if (result.status != 0)
            fail_msg("%s: status %d, %s", cases[i].golden, result.status, result.err);
        snprintf(name, sizeof(name), "history/%s", cases[i].golden);
        golden_check(name, result.out, strlen(result.out));
        child_result_deinit(&result);
    }
}

static void changes_are_found_where_they_are(void **state)
{
    static const char *const changed[] = {"history.db", "--history", "--model", "net",
                                          "--format",   "csv",       NULL};
    static const char *const told[] = {"history.db", "--history", "--model", "net", NULL};
    static const char *const flat[] = {"flat.db", "--history", NULL};
    struct child_result result = analyze_scene_run(*state, changed);

    assert_int_equal(result.status, 0);
    /* Session 13 of the store is the 11th of the model: two of the other one came before. */
    CHECK_CONTAINS(result.out, "\n13,1770710400000000000,conv2,Conv,");
    CHECK_CONTAINS(result.out, "client library liboptrace 0.1.0 -> liboptrace 0.2.0");
    CHECK_LACKS(result.out, ",conv1,Conv,");
    CHECK_LACKS(result.out, ",fc,Gemm,");
    child_result_deinit(&result);
    result = analyze_scene_run(*state, told);
    CHECK_CONTAINS(result.out, "% since session 13; conv2 explains 1");
    child_result_deinit(&result);
    result = analyze_scene_run(*state, flat);
    CHECK_LACKS(result.out, "Changes:");
    child_result_deinit(&result);
}

/* Where retention took the events of old sessions, what their runs took is still known. */
static void old_sessions_keep_their_runs(void **state)
{
    static const char *const arguments[] = {"old.db", "--history", "--format", "csv", NULL};
    const struct analyze_scene *scene = *state;
    char *path = temp_path(scene->dir, "old.db");
    struct child_result result;
    sqlite3 *db;

    for (unsigned i = 0; i < 3; i++) {
        struct run_store_session session = plain_session;

        session.start_ns = START_NS + i * DAY_NS;
        session.noise = 0;
        run_store_append(path, &session);
    }
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db,
                                  "DELETE FROM event WHERE lane_id = 1;"
                                  "DELETE FROM event_batch WHERE session_max = 1",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    sqlite3_close(db);
    result = analyze_scene_run(scene, arguments);
    assert_int_equal(result.status, 0);
    CHECK_CONTAINS(result.out, "\n1,1769846400000000000,box,5,7260000,");
    CHECK_CONTAINS(result.out, "\n2,1769932800000000000,box,5,7260000,0,");
    child_result_deinit(&result);
    free(path);
}

static void mistakes_get_one_sentence(void **state)
{
    static const struct {
        int status;
        const char *sentence;
        const char *arguments[ANALYZE_ARGUMENTS_MAX];
    } cases[] = {
        {1, "empty.db holds no session yet", {"empty.db", "--history"}},
        {3, "cannot open nowhere.db", {"nowhere.db", "--history"}},
        {1,
         "no session ran a model of the name or digest \"nett\"",
         {"flat.db", "--history", "--model", "nett"}},
        {1, "has runs in which anything asked for", {"flat.db", "--history", "--type", "X"}},
        {1, "there is no session 99", {"flat.db", "--history", "--session", "99"}},
        {2, "--model has no effect on --report ops", {"flat.db", "--model", "net"}},
        {2, "--history has no effect on --list", {"flat.db", "--history", "--list"}},
        {2, "did you mean change?", {"flat.db", "--history", "--order-by", "chang"}},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct child_result result = analyze_scene_run(*state, cases[i].arguments);

        if (result.status != cases[i].status)
            fail_msg("%s: status %d: %s", cases[i].sentence, result.status, result.err);
        CHECK_CONTAINS(result.err, cases[i].sentence);
        assert_string_equal(result.out, "");
        child_result_deinit(&result);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reports_look_as_agreed),
        cmocka_unit_test(changes_are_found_where_they_are),
        cmocka_unit_test(old_sessions_keep_their_runs),
        cmocka_unit_test(mistakes_get_one_sentence),
    };

    return cmocka_run_group_tests(tests, start, stop);
}
