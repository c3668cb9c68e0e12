/* SPDX-License-Identifier: Apache-2.0 */
/* Everything that profile_analyze refuses: one sentence on stderr, nothing on stdout, and the exit
 * status that its manual page states. */
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/analyze_scene.h"
#include "tests/support/check.h"
#include "tests/support/small_store.h"
#include "tests/support/temp.h"
#include "tests/support/wait.h"

enum { ARGUMENTS_MAX = 8 };

struct error_case {
    int status;
    const char *sentence; /* part of it */
    const char *arguments[ARGUMENTS_MAX];
};

static const struct error_case cases[] = {
    /* sources */
    {3, "cannot open nowhere.json: No such file", {"nowhere.json"}},
    {3, "/optrace/optrace.db yet: start optraced and record something", {NULL}},
    {3, "cannot read .: Is a directory", {"."}},
    {3, "empty.json is empty", {"empty.json"}},
    {3, "text.txt is neither SQLite nor JSON: supported are", {"text.txt"}},
    {3, "array.json: malformed JSON at byte 30: a key is missing", {"array.json"}},
    {3, "cut.json: the file ends at byte 25, before its brackets are closed", {"cut.json"}},
    {3, "tail.json: malformed JSON at byte 4: something follows", {"tail.json"}},
    {3, "other.json is JSON, but no profile that is known here", {"other.json"}},
    {3, "graph.json has \"graph_exec\" but no \"profiler\"", {"graph.json"}},
    {3, "half.json has \"profiler\" but no \"graph_exec\"", {"half.json"}},
    {3, "profiler.host.5 has no operator", {"dangling.json"}},
    {3, "trace.json.gz: cannot be unpacked behind byte 0", {"trace.json.gz"}},
    {3, "events.json is JSON, but no profile that is known here", {"events.json"}},
    {3, "newer", {"future.db"}},
    {3, "other.db", {"other.db"}},
    {3, "damaged.db", {"damaged.db"}},
    {3, "bare.db is damaged: no such table: v_loss", {"bare.db"}},
    /* nothing there */
    {1, "empty.db holds no session yet", {"empty.db"}},
    {1, "empty.db holds no session yet", {"empty.db", "--list"}},
    {1, "there is no event in what is asked for", {"empty_trace.json"}},
    {1, "there is no session 99: --list shows", {"store.db", "--session", "99"}},
    {1, "none of the 2 operators with a device time matches", {"store.db", "--type", "conv"}},
    {1, "none of the 2 operators", {"store.db", "--opr-name", "nv"}},
    {1, "none of the 2 operators", {"store.db", "--min-time", "1"}},
    {1, "no event belongs to the runs", {"store.db", "--runs", "90.."}},
    {1, "there is no event in what is asked for", {"store.db", "--time", "10h.."}},
    {1, "no operator has a device time", {"store.db", "--session", "1", "--print-only", "device"}},
    {1, "none of the 10 events matches", {"store.db", "--report", "summary", "--type", "conv"}},
    {1, "nothing matches", {"store.db", "--report", "summary", "--min-time", "1"}},
    {1, "none of the 10 events matches", {"store.db", "--report", "overview", "--type", "conv"}},
    {2, "--top has no effect on --report ov", {"store.db", "--report", "overview", "-t", "3"}},
    {1, "none of the", {"store.db", "--report", "overview", "--min-time", "3"}},
    {1, "none of the 10 events matches", {"store.db", "--report", "events", "--type", "conv"}},
    {1, "nothing matches", {"store.db", "--report", "events", "--min-time", "1"}},
    {1, "nothing that ran on a dev", {"store.db", "--session", "1", "--report", "kernels"}},
    {1, "nothing that ran on a dev", {"store.db", "--session", "1", "--report", "device"}},
    {1, "nothing that ran on a dev", {"store.db", "--session", "1", "--report", "launch"}},
    {1, "there is no copy", {"store.db", "--report", "copies"}},
    {1, "no counters in this session: record with", {"store.db", "--report", "counters"}},
    {1, "no operators follow", {"store.db", "--report", "sequences", "--runs", "3"}},
    {1, "events matches", {"store.db", "--report", "idle", "--lane", "nobody"}},
    {1, "nothing matches", {"store.db", "--report", "types", "--min-time", "1"}},
    /* wrong use */
    {2,
     "averages go by name, shape, stack:N",
     {"store.db", "--report", "averages", "--group-by", "stack:0"}},
    {2, "kernels go by name or launch", {"store.db", "--report", "kernels", "--group-by", "shape"}},
    {2, "counters go by name or type", {"store.db", "--report", "counters", "--group-by", "shape"}},
    {2,
     "sequences go by type or name",
     {"store.db", "--report", "sequences", "--group-by", "shape"}},
    {2, "a factor above 0 are needed", {"store.db", "--report", "critical", "--what-if", "conv.*"}},
    {2,
     "a factor above 0 are needed",
     {"store.db", "--report", "critical", "--what-if", "conv.*=0"}},
    {2, "is no regular expression", {"store.db", "--report", "critical", "--what-if", "(=2"}},
    {1,
     "no operator of the run matches --what-if \"gone\"",
     {"store.db", "--report", "critical", "--what-if", "gone=2"}},
    {2,
     "--what-if has no effect on --report runs",
     {"store.db", "--report", "runs", "--what-if", "conv=2"}},
    {2, "--group-by has no effect", {"store.db", "--report", "types", "--group-by", "name"}},
    {2,
     "--group-by has no effect on --explain of report memory",
     {"store.db", "--report", "memory", "--group-by", "label", "--explain"}},
    {2,
     "--type has no effect on --explain of report memory",
     {"store.db", "--report", "memory", "--type", "Conv", "--explain"}},
    {2,
     "--min-time has no effect on --explain of report events",
     {"store.db", "--report", "events", "--min-time", "1", "--explain"}},
    {2, "--explain has no effect on --export", {"store.db", "--explain", "--export", "chrome"}},
    {2, "it ends before it begins", {"store.db", "--time", "5s..1s"}},
    {2, "it ends before it begins", {"store.db", "--time", "-1s..-5s"}},
    {2,
     "--peak-flops takes a number of at least 1",
     {"store.db", "--report", "roofline", "--peak-flops", "0"}},
    {2, "averages go by name", {"store.db", "--report", "averages", "--group-by", ""}},
    {2,
     "--print-only has no effect on --explain of report ops",
     {"store.db", "--print-only", "summary", "--explain"}},
    {2,
     "did you mean self_cpu_time_total?",
     {"store.db", "--report", "averages", "--sort-by", "self_cpu_time_totl"}},
    {2,
     "--sort-by and --order-by mean the same",
     {"store.db", "--report", "averages", "--sort-by", "count", "--order-by", "name"}},
    {2, "--total has no effect", {"store.db", "--report", "kernels", "--total"}},
    {2, "--row-limit is a number", {"store.db", "--report", "averages", "--row-limit", "0"}},
    {2,
     "--row-limit and --top mean the same",
     {"store.db", "--report", "averages", "--row-limit", "2", "-t", "2"}},
    {2,
     "--sorted-by and --order-by say the same",
     {"store.db", "--report", "events", "--sorted-by", "max", "--order-by", "min"}},
    {2, "default|calls|total|max|min|ave", {"store.db", "--report", "events", "--sorted-by", "x"}},
    {2, "--per-thread has no effect", {"store.db", "--per-thread"}},
    {2, "--batch takes a number of 1", {"store.db", "--report", "summary", "--batch", "0"}},
    {2, "--batch has no effect on --report ops", {"store.db", "--batch", "2"}},
    {2, "did you mean computation?", {"store.db", "--order-by", "computations"}},
    {2, "there are time_ns, time, cumulative", {"store.db", "--order-by", "+xyzzy"}},
    {2,
     "\"a(\" is no regular expression: missing closing parenthesis at character 2",
     {"store.db", "--opr-name", "a("}},
    {2, "--aggregate-by needs --aggregate", {"store.db", "--aggregate-by", "type"}},
    {2, "sessions are last, all, a number", {"store.db", "--session", "first"}},
    {1, "there is no session 3..9: --list shows", {"store.db", "--session", "1,3..9"}},
    {2, "\"3..1\" is no range of runs", {"store.db", "--runs", "3..1"}},
    {2, "\"5 s\" is no time", {"store.db", "--time", "5 s.."}},
    {2, "did you mean '--order-by'?", {"store.db", "--order-bye", "time"}},
    {2, "unexpected argument 'b.db'", {"a.db", "b.db"}},
    {2, "--import needs --into STORE", {"--import", "cut.json"}},
    {2, "--import needs files to import", {"--import", "--into", "new.db"}},
    {2, "--into has no effect without --import", {"store.db", "--into", "new.db"}},
    {2, "--list has no effect on --import", {"--import", "a.json", "--into", "new.db", "--list"}},
    {2, "--explain has no effect on --import", {"--import", "a.json", "--explain"}},
    {3, "cannot open nowhere.json", {"--import", "nowhere.json", "--into", "new.db"}},
    {3, "cut.json: the file ends at byte 25", {"--import", "cut.json", "--into", "new.db"}},
    {2, "max|min|sum|mean", {"store.db", "--aggregate", "median"}},
    {2, "--order-by has no effect on --list", {"store.db", "--list", "--order-by", "time"}},
    {2, "--type has no effect on --sql", {"store.db", "--sql", "SELECT 1", "--type", "x"}},
    {2, "--session has no effect on --sql", {"store.db", "--sql", "SELECT 1", "--session", "1"}},
    {2, "--width is about tables", {"store.db", "--width", "80", "--format", "json"}},
    {2, "--wiki is a format of its own", {"store.db", "--wiki", "--format", "json"}},
    /* SQL */
    {2, "--sql only reads: not authorized", {"store.db", "--sql", "DELETE FROM event"}},
    {2, "--sql only reads", {"store.db", "--format", "html", "--sql", "DROP TABLE op"}},
    {2, "no such column", {"store.db", "--format", "json", "--sql", "SELECT colour FROM op"}},
    {2, "--sql only reads", {"store.db", "--sql", "ATTACH 'x.db' AS x"}},
    {2, "--sql only reads", {"store.db", "--sql", "PRAGMA journal_mode = DELETE"}},
    {2, "--sql only reads", {"profile.db", "--sql", "CREATE TABLE x(a)"}},
    {2, "load_extension", {"store.db", "--sql", "SELECT load_extension('x.so')"}},
    {2, "no such column: colour", {"store.db", "--sql", "SELECT colour FROM event"}},
    {2, "syntax error", {"store.db", "--sql", "SELEKT 1"}},
    {2, "\"SELECT 2\" is left over", {"store.db", "--sql", "SELECT 1; SELECT 2"}},
    {2, "there is no query", {"store.db", "--sql", " "}},
    /* writing the report */
    {4, "cannot write nowhere/report: No such file", {"store.db", "-o", "nowhere/report"}},
    {4, "cannot write /dev/full: No space left", {"store.db", "-o", "/dev/full"}},
    {4,
     "cannot write the report: No space left",
     {"store.db", "-o", "/dev/full", "--format", "csv", "--sql", "SELECT * FROM event"}},
};

static void write_text(const struct analyze_scene *scene, const char *name, const char *text)
{
    free(temp_write(scene->dir, name, text, strlen(text)));
}

static void make_database(const struct analyze_scene *scene, const char *name, bool is_small_store,
                          const char *sql)
{
    char *path = temp_path(scene->dir, name);
    sqlite3 *db;

    if (is_small_store)
        small_store_make(path);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s", sqlite3_errmsg(db));
    sqlite3_close(db);
    free(path);
}

/* A store whose pages behind the first are overwritten. */
static void make_damaged(const struct analyze_scene *scene)
{
    char *path = temp_path(scene->dir, "damaged.db");
    size_t size;
    char *bytes;

    small_store_make(path);
    bytes = temp_read(path, &size);
    memset(bytes + 32768, 0x55, size - 32768);
    free(path);
    free(temp_write(scene->dir, "damaged.db", bytes, size));
    free(bytes);
}

static void make_empty(const struct analyze_scene *scene)
{
    char *path = temp_path(scene->dir, "empty.db");
    struct store *store = NULL;
    struct diag diag = {0};

    CHECK_OK(store_open(path, STORE_WRITE, &store, &diag));
    store_close(&store);
    free(path);
}

static int start(void **state)
{
    struct analyze_scene *scene = analyze_scene_create();

    write_text(scene, "empty.json", " \n");
    write_text(scene, "text.txt", "Hello\n");
    write_text(scene, "array.json", "[{\"ph\":\"X\",\"ts\":1},\n{\"ph\":\"X\",,\"ts\":2}]");
    write_text(scene, "cut.json", "{\"profiler\": {\"device\": {");
    write_text(scene, "tail.json", "{}\n\n{}");
    write_text(scene, "events.json", "{\"events\":[]}");
    write_text(scene, "other.json", "{\"a\":1}");
    write_text(scene, "graph.json", "{\"graph_exec\":{}}");
    write_text(scene, "half.json", "{\"profiler\":{\"device\":{}}}");
    write_text(scene, "dangling.json", "{\"profiler\":{\"host\":{\"5\":{}}},\"graph_exec\":{}}");
    write_text(scene, "trace.json.gz", "\x1f\x8b\x08");
    write_text(scene, "empty_trace.json", "{\"traceEvents\":[]}");
    make_database(scene, "store.db", true, "SELECT 1");
    make_database(scene, "profile.db", true, "SELECT 1");
    make_database(scene, "future.db", true,
                  "UPDATE meta SET value = '99.0' WHERE key = 'schema_version'");
    make_database(scene, "bare.db", true, "DROP VIEW v_loss");
    make_database(scene, "other.db", false, "CREATE TABLE fruit(name)");
    make_damaged(scene);
    make_empty(scene);
    *state = scene;
    return 0;
}

static int stop(void **state)
{
    analyze_scene_destroy((struct analyze_scene **)state);
    return 0;
}

static void check_complaint(const struct error_case *wanted, const struct child_result *result)
{
    const char *first = wanted->arguments[0] ? wanted->arguments[0] : "(no file)";
    size_t lines = 0;

    if (result->status != wanted->status)
        fail_msg("%s, wanted \"%s\": status %d, not %d: %s", first, wanted->sentence,
                 result->status, wanted->status, result->err);
    CHECK_CONTAINS(result->err, wanted->sentence);
    assert_memory_equal(result->err, "profile_analyze: ", 17);
    assert_string_equal(result->out, "");
    for (const char *at = result->err; *at; at++)
        lines += *at == '\n';
    /* After wrong use a second line leads to --help. */
    assert_int_equal(lines, wanted->status == 2 ? 2 : 1);
}

static void mistakes_get_one_sentence(void **state)
{
    struct analyze_scene *scene = *state;
    char state_home[256];
    const char *const environment[] = {state_home, "OPTRACE_STORE", NULL};
    const struct child_options options = {.environment = environment, .directory = scene->dir};

    snprintf(state_home, sizeof(state_home), "XDG_STATE_HOME=%s", scene->dir);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *argv[ARGUMENTS_MAX + 2] = {scene->program};
        struct child_result result;

        for (size_t k = 0; k < ARGUMENTS_MAX && cases[i].arguments[k]; k++)
            argv[k + 1] = cases[i].arguments[k];
        result = child_run(argv, &options);
        check_complaint(&cases[i], &result);
        child_result_deinit(&result);
    }
}

static void no_file_without_an_answer(void **state)
{
    struct analyze_scene *scene = *state;
    const struct child_options options = {.directory = scene->dir};
    const char *argv[] = {scene->program, "store.db", "--type", "x", "-o", "report", NULL};
    struct child_result result = child_run(argv, &options);
    char *path = temp_path(scene->dir, "report");

    assert_int_equal(result.status, 1);
    assert_int_not_equal(access(path, F_OK), 0);
    free(path);
    child_result_deinit(&result);
}

static int run_as_nobody(void *context)
{
    const struct analyze_scene *scene = context;
    char *store = temp_path(scene->dir, "store.db");

    if (geteuid() == 0 && setresuid(65534, 65534, 65534) != 0)
        return 99;
    execl(scene->program, scene->program, store, (char *)NULL);
    return 98;
}

static void permission_is_asked_for(void **state)
{
    struct analyze_scene *scene = *state;
    char *store = temp_path(scene->dir, "store.db");
    struct child child;

    chmod(store, 0);
    child_start_function(&child, run_as_nobody, scene);
    assert_int_equal(child_wait(&child, WAIT_MS), 4);
    CHECK_CONTAINS(child.err, "store.db: Permission denied");
    child_deinit(&child);
    chmod(store, 0600);
    free(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mistakes_get_one_sentence),
        cmocka_unit_test(no_file_without_an_answer),
        cmocka_unit_test(permission_is_asked_for),
    };

    return cmocka_run_group_tests(tests, start, stop);
}
