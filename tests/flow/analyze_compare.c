/* SPDX-License-Identifier: Apache-2.0 */
/* profile_analyze --compare on made-up recordings: what it prints, against tests/golden/compare/,
 * and its exit statuses. */
#include <string.h>

#include "tests/support/analyze_scene.h"
#include "tests/support/check.h"
#include "tests/support/golden.h"
#include "tests/support/run_store.h"
#include "tests/support/temp.h"

enum { ARGUMENTS_MAX = 12 };

#define MS       1e6
#define START_NS INT64_C(1769846400000000000)

static const struct run_store_session base_session = {
    .start_ns = START_NS,
    .host = "box",
    .environment = "{\"cpu\":\"Fast 1\",\"cpu_count\":8,\"memory_bytes\":1073741824,"
                   "\"gpus\":[\"A\",\"B\"],\"kernel\":\"Linux 6.1\"}",
    .program = "load_and_run",
    .command = "load_and_run net.onnx",
    .library = "liboptrace 0.1.0",
    .model = "net",
    .digest = "sha256:11",
    .ops =
        {
            {"conv1", "Conv", "[[1,3,224,224]]", NULL, "{\"implementation\":\"direct\"}", 4 * MS},
            {"bn1", "BatchNormalization", "[[1,64,112,112]]", NULL, NULL, 1 * MS},
            {"relu1", "Relu", "[[1,64,112,112]]", NULL, NULL, 0.5 * MS},
            {"conv2", "Conv", "[[1,64,56,56]]", NULL, "{\"implementation\":\"direct\"}", 3 * MS},
            {"fc", "Gemm", "[[1,512],[512,1000]]", NULL, NULL, 0.2 * MS},
        },
    .between_ns = 0.02 * MS,
    .run_count = 20,
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

/* Five sessions, recorded in turn with those of other stores. */
static void append_five(const struct analyze_scene *scene, const char *name,
                        const struct run_store_session *session)
{
    struct run_store_session one = *session;

    for (unsigned i = 0; i < 5; i++) {
        one.seed = session->seed + 10 * i;
        one.start_ns = session->start_ns + i * INT64_C(60000000000) + (int64_t)session->seed;
        append(scene, name, &one);
    }
}

/* slower.db: another machine and library; conv2 got slower, conv1 + bn1 + relu1 fused and faster,
 * fc renamed, an op added. */
static void make_slower(const struct analyze_scene *scene)
{
    struct run_store_session session = base_session;

    session.start_ns += INT64_C(86400000000000);
    session.host = "other";
    session.environment = "{\"cpu\":\"Slow 2\",\"cpu_count\":8,\"memory_bytes\":2147483648,"
                          "\"gpus\":[\"A\",\"C\"],\"cpu_governor\":\"powersave\"}";
    session.library = "liboptrace 0.2.0";
    session.seed = 2;
    memset(session.ops, 0, sizeof(session.ops));
    session.ops[0] = (struct run_store_op){
        "conv1", "Conv", "[[1,3,224,224]]", "[\"conv1\",\"bn1\",\"relu1\"]", NULL, 4.2 * MS};
    session.ops[1] = base_session.ops[3];
    session.ops[1].params = "{\"implementation\":\"gemm\"}";
    session.ops[1].ns = 5 * MS;
    session.ops[2] = base_session.ops[4];
    session.ops[2].name = "classifier";
    session.ops[3] =
        (struct run_store_op){"softmax", "Softmax", "[[1,1000]]", NULL, NULL, 0.1 * MS};
    append_five(scene, "slower.db", &session);
}

static void make_stores(const struct analyze_scene *scene)
{
    struct run_store_session session = base_session;

    append_five(scene, "base.db", &session);
    session.seed = 3;
    append_five(scene, "same.db", &session);
    session.seed = 4;
    session.ops[3].ns *= 1.1;
    append_five(scene, "conv2.db", &session);
    session.ops[3].ns = base_session.ops[3].ns * 0.8;
    append_five(scene, "faster.db", &session);
    session.ops[3].ns = base_session.ops[3].ns * 1.5;
    session.run_count = 1;
    append(scene, "single.db", &session);
    make_slower(scene);
    session = base_session;
    memset(session.ops, 0, sizeof(session.ops));
    session.ops[0] = (struct run_store_op){"other", "Op", NULL, NULL, NULL, 1 * MS};
    append(scene, "stranger.db", &session);
}

/* a.db and b.db: ten sessions each, of which those of b are 10 % slower in conv2. Sessions differ
 * among themselves more than their runs do. */
static void make_many(const struct analyze_scene *scene)
{
    struct run_store_session session = base_session;

    session.run_count = 4;
    session.noise = 0.005;
    for (unsigned i = 0; i < 20; i++) {
        session.seed = 100 + i;
        session.start_ns = START_NS + (int64_t)i * INT64_C(60000000000);
        for (int op = 0; base_session.ops[op].name; op++)
            session.ops[op].ns = base_session.ops[op].ns * (1 + 0.01 * ((i / 2 * 7) % 5));
        if (i % 2)
            session.ops[3].ns *= 1.1;
        append(scene, i % 2 ? "b.db" : "a.db", &session);
    }
}

/* history.db: 13 sessions, one of another library, then two in which conv2 takes 10 % longer. */
static void make_history(const struct analyze_scene *scene)
{
    struct run_store_session session = base_session;

    for (unsigned i = 0; i < 15; i++) {
        session.seed = 200 + i;
        session.start_ns = START_NS + (int64_t)i * INT64_C(60000000000);
        session.library = i == 4 ? "liboptrace 0.0.9" : base_session.library;
        for (int op = 0; base_session.ops[op].name; op++)
            session.ops[op].ns = base_session.ops[op].ns * (1 + 0.01 * ((i * 7) % 5));
        if (i >= 13)
            session.ops[3].ns *= 1.2;
        append(scene, "history.db", &session);
    }
}

/* quiet.db and busy.db: the same, but that in 3 of 8 runs of each something else had the CPU; and
 * waits.db: in all of them, which is the program's own doing. */
static void make_disturbed(const struct analyze_scene *scene)
{
    struct run_store_session session = base_session;

    session.warmup_count = 0;
    session.run_count = 24;
    session.has_cpu_time = true;
    session.disturbed_of_8 = 3;
    append_five(scene, "quiet.db", &session);
    session.seed = 3;
    append_five(scene, "busy.db", &session);
    session.disturbed_of_8 = 8;
    append_five(scene, "waits.db", &session);
    session.disturbed_of_8 = 0;
    append_five(scene, "calm.db", &session);
}

static int start(void **state)
{
    struct analyze_scene *scene = analyze_scene_create();
    struct store *store = NULL;
    struct diag diag = {0};
    char *empty;

    make_stores(scene);
    make_many(scene);
    make_history(scene);
    make_disturbed(scene);
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

struct compare_case {
    int status;
    const char *out, *err; /* parts of them; NULL: nothing must be there */
    const char *arguments[ARGUMENTS_MAX];
};

static struct child_result run(const struct analyze_scene *scene, const char *const *arguments)
{
    static const char *const environment[] = {"TZ=UTC", "NO_COLOR", "OPTRACE_STORE=a.db", NULL};
    const struct child_options options = {.environment = environment, .directory = scene->dir};
    const char *argv[ARGUMENTS_MAX + 2] = {scene->program};

    for (size_t i = 0; i < ARGUMENTS_MAX && arguments[i]; i++)
        argv[i + 1] = arguments[i];
    return child_run(argv, &options);
}

static void check_cases(const struct analyze_scene *scene, const struct compare_case *cases,
                        size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct child_result result = run(scene, cases[i].arguments);

        if (result.status != cases[i].status)
            fail_msg("case %zu: status %d, not %d: %s%s", i, result.status, cases[i].status,
                     result.out, result.err);
        if (cases[i].out)
            CHECK_CONTAINS(result.out, cases[i].out);
        else
            assert_string_equal(result.out, "");
        if (cases[i].err)
            CHECK_CONTAINS(result.err, cases[i].err);
        else
            assert_string_equal(result.err, "");
        child_result_deinit(&result);
    }
}

static void statuses_are_for_ci(void **state)
{
    static const struct compare_case cases[] = {
        {0, "no change", NULL, {"--compare", "base.db:all", "same.db:all"}},
        {1, "slower", "regression: one run takes", {"--compare", "base.db:all", "conv2.db:all"}},
        {0, "faster", NULL, {"--compare", "base.db:all", "faster.db:all"}},
        {1, "slower", "regression: ", {"--compare", "faster.db:all", "base.db:all"}},
        /* gates */
        {0,
         "below threshold",
         NULL,
         {"--compare", "base.db:all", "conv2.db:all", "--threshold", "15", "-t0"}},
        {0, "cannot tell", NULL, {"--compare", "base.db:all", "conv2.db:all", "--alpha", "1e-30"}},
        /* how much sessions vary is seen by the base's own */
        {0,
         " in all, a change of 20 % is found in 95 of 100.",
         NULL,
         {"--compare", "base.db:all", "conv2.db:3", "--threshold", "10", "--width", "400"}},
        /* parts */
        {0,
         "ops not asked for",
         NULL,
         {"--compare", "base.db:all", "conv2.db:all", "--opr-name", "conv1", "--threshold", "5",
          "-t0"}},
        {0, "no change", NULL, {"--compare", "base.db:all", "same.db:all", "--runs", "2..9"}},
        /* places */
        {0, "session 3 of a.db", NULL, {"--compare", "3", "5"}},
        {0, "session 10 of a.db", NULL, {"--compare", "a.db:3"}},
        {0, "sessions 1, 2, 3, 4 of a.db", NULL, {"--compare", "a.db:1..4", "--session", "5..8"}},
    };

    check_cases(*state, cases, sizeof(cases) / sizeof(cases[0]));
}

static void sessions_are_compared_together(void **state)
{
    static const struct compare_case cases[] = {
        {1, "conv2", "regression", {"--compare", "a.db:all", "b.db:all"}},
        {0, "no change", NULL, {"--compare", "a.db:1..5", "a.db:6..10"}},
    };

    check_cases(*state, cases, sizeof(cases) / sizeof(cases[0]));
}

/* However much slower: nobody knows how much processes differ. */
static void one_session_a_side_cannot_tell(void **state)
{
    static const struct compare_case cases[] = {
        {0,
         "one session a side does not show how much processes differ. Record 5 or more of each "
         "side",
         NULL,
         {"--compare", "single.db", "conv2.db:3", "--width", "400"}},
        {0,
         "cannot tell: one session a side",
         NULL,
         {"--compare", "base.db:1", "slower.db:1", "--width", "400"}},
        {0,
         "how much processes differ (here, of 4 earlier ones: 0.0 %)",
         NULL,
         {"--compare", "base.db", "conv2.db", "--width", "400"}},
        {0,
         "3 and 3 sessions do not show",
         NULL,
         {"--compare", "base.db:1..3", "conv2.db:1..3", "--width", "400"}},
    };

    check_cases(*state, cases, sizeof(cases) / sizeof(cases[0]));
}

static void earlier_sessions_show_how_processes_differ(void **state)
{
    static const struct compare_case cases[] = {
        {1,
         "session 13 and 11 earlier ones like it of history.db",
         "1 part of it got slower",
         {"--compare", "13", "history.db:14,15", "--alpha", "0.08", "--width", "400"}},
        /* two new ones have 13 places among 12 others */
        {0,
         "(here, of 11 earlier ones: 1.4 %). Record 5 or more of each side, in turn, or have 99 "
         "before the new ones. With 5 more of the base and 4 of new, 6 of each in all, a change of 6 % is "
         "found in 95 of 100.",
         NULL,
         {"--compare", "13", "history.db:14,15", "--width", "400"}},
        {0,
         "cannot tell",
         NULL,
         {"--compare", "13", "history.db:14,15", "--alpha", "0.07", "--width", "400"}},
        {0,
         "no change",
         NULL,
         {"--compare", "11", "history.db:12,13", "--alpha", "0.1", "--width", "400"}},
        /* those of another library are none, and the named base decides */
        {0,
         "cannot tell",
         NULL,
         {"--compare", "5", "history.db:14,15", "--alpha", "0.02", "--width", "400"}},
        {0,
         "no change",
         NULL,
         {"--compare", "14", "history.db:15", "--alpha", "0.1", "--width", "400"}},
    };

    check_cases(*state, cases, sizeof(cases) / sizeof(cases[0]));
}

static void disturbed_runs_are_set_aside(void **state)
{
    static const struct compare_case cases[] = {
        {0,
         "45 of 120 runs of base and 45 of 120 runs of new are set aside",
         NULL,
         {"--compare", "quiet.db:all", "busy.db:all", "--width", "400"}},
        {0, "no change", NULL, {"--compare", "quiet.db:all", "busy.db:all", "--width", "400"}},
        {1, "slower", "regression", {"--compare", "calm.db:all", "waits.db:all", "--width", "400"}},
        {0,
         "45 of 120 runs of base and 0 of 120 runs of new were off the CPU for longer",
         NULL,
         {"--compare", "quiet.db:all", "calm.db:all", "--width", "400"}},
    };

    check_cases(*state, cases, sizeof(cases) / sizeof(cases[0]));
}

static void mistakes_get_one_sentence(void **state)
{
    static const struct compare_case cases[] = {
        {3, NULL, "cannot open nowhere.db", {"--compare", "nowhere.db", "base.db"}},
        {3, NULL, "cannot open nowhere.db", {"--compare", "base.db", "nowhere.db"}},
        {3, NULL, "have no operator in common", {"--compare", "base.db", "stranger.db"}},
        {1, NULL, "empty.db, the base, holds no session yet", {"--compare", "empty.db", "base.db"}},
        {1, NULL, "empty.db holds no session yet", {"--compare", "base.db", "empty.db"}},
        {1, NULL, "there is no session 77", {"--compare", "base.db:77", "base.db"}},
        {2,
         NULL,
         "--compare needs two recordings, and both are the same session of base.db",
         {"--compare", "base.db", "base.db"}},
        {2, NULL, "--compare needs two recordings", {"--compare", "10"}},
        {2, NULL, "names sessions already", {"--compare", "3", "a.db:5", "--session", "1"}},
        {2, NULL, "--threshold has no effect on --report ops", {"base.db", "--threshold", "5"}},
        {2, NULL, "--compare has no effect on --list", {"--compare", "base.db", "--list"}},
        {2, NULL, "--total has no effect on --compare", {"--compare", "3", "a.db", "--total"}},
        {1, NULL, "no operator of either side matches", {"--compare", "3", "a.db", "--type", "X"}},
    };

    check_cases(*state, cases, sizeof(cases) / sizeof(cases[0]));
}

/* Two products of one name, of which the second takes `more_us` more, and an op beside them. */
static void write_twins(const struct analyze_scene *scene, const char *name, int more_us)
{
    char *text;

    assert_true(
        asprintf(&text,
                 "{\"traceEvents\": ["
                 "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"mm\",\"pid\":1,\"tid\":1,\"ts\":0,"
                 "\"dur\":%d,\"args\":{\"Input Dims\":[[64,32]]}},"
                 "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"mm\",\"pid\":1,\"tid\":1,"
                 "\"ts\":2000,\"dur\":%d,\"args\":{\"Input Dims\":[[8,16]]}},"
                 "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"add\",\"pid\":1,\"tid\":1,"
                 "\"ts\":4000,\"dur\":%d,\"args\":{\"Input Dims\":[[8,16]]}}]}",
                 700 + more_us, 900 + more_us, 800 + more_us) > 0);
    free(temp_write(scene->dir, name, text, strlen(text)));
    free(text);
}

static void ops_of_one_name_are_told_apart(void **state)
{
    const char *const arguments[ARGUMENTS_MAX] = {"--compare", "twins.json", "more.json"};
    struct child_result result;

    write_twins(*state, "twins.json", 0);
    write_twins(*state, "more.json", 300);
    result = run(*state, arguments);
    assert_int_equal(result.status, 0);
    CHECK_CONTAINS(result.out, "\nmm 64x32 ");
    CHECK_CONTAINS(result.out, "\nmm 8x16 ");
    CHECK_CONTAINS(result.out, "\nadd  ");
    child_result_deinit(&result);
}

static void reports_look_as_agreed(void **state)
{
    static const struct {
        const char *golden;
        const char *arguments[ARGUMENTS_MAX];
    } cases[] = {
        {"slower.txt", {"--compare", "base.db:all", "slower.db:all"}},
        {"same.txt", {"--compare", "base.db:all", "same.db:all"}},
        {"single.txt", {"--compare", "base.db", "single.db"}},
        {"single.json.txt", {"--compare", "base.db", "single.db", "--format", "json"}},
        {"sessions.txt", {"--compare", "a.db:all", "b.db:all"}},
        {"slower.json.txt", {"--compare", "base.db:all", "slower.db:all", "--format", "json"}},
        {"slower.tables.txt", {"--compare", "base.db:all", "slower.db:all", "-t0"}},
        {"slower.csv.txt", {"--compare", "base.db:all", "slower.db:all", "--format", "csv"}},
        {"slower.md.txt", {"--compare", "base.db:all", "slower.db:all", "--format", "markdown"}},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct child_result result = run(*state, cases[i].arguments);
        char name[128];
        char *all;

        assert_true(asprintf(&all, "%s--- stderr, status %d\n%s", result.out, result.status,
                             result.err) >= 0);
        snprintf(name, sizeof(name), "compare/%s", cases[i].golden);
        golden_check(name, all, strlen(all));
        free(all);
        child_result_deinit(&result);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(statuses_are_for_ci),
        cmocka_unit_test(sessions_are_compared_together),
        cmocka_unit_test(one_session_a_side_cannot_tell),
        cmocka_unit_test(earlier_sessions_show_how_processes_differ),
        cmocka_unit_test(disturbed_runs_are_set_aside),
        cmocka_unit_test(ops_of_one_name_are_told_apart),
        cmocka_unit_test(mistakes_get_one_sentence),
        cmocka_unit_test(reports_look_as_agreed),
    };

    return cmocka_run_group_tests(tests, start, stop);
}
