/* SPDX-License-Identifier: Apache-2.0 */
/* Reports on a store from which the oldest events were dropped: what stays the same, what is left
 * out, and what they say about it. */
#include <string.h>

#include "tests/support/analyze_scene.h"
#include "tests/support/check.h"
#include "tests/support/dropped_store.h"
#include "tests/support/report_json.h"
#include "tests/support/store_support.h"
#include "tests/support/temp.h"

/* What is stored is not rolled up yet. */
static void let_rollups_wait(const char *path)
{
    store_support_run(path,
                      "DELETE FROM op_stat WHERE start_ns >= (SELECT min(start_ns) FROM event)"
                      " / 10000000000 * 10000000000;"
                      "INSERT INTO meta SELECT 'rolled_up', min(rowid) - 1 FROM event");
}

static int start(void **state)
{
    static const struct {
        const char *name;
        int dropped_steps;
    } stores[] = {
        {"whole.db", 0}, {"left.db", 5}, {"none.db", DROPPED_STORE_STEPS}, {"waiting.db", 5}};
    struct analyze_scene *scene = analyze_scene_create();

    for (size_t i = 0; i < sizeof(stores) / sizeof(stores[0]); i++) {
        char *path = temp_path(scene->dir, stores[i].name);

        dropped_store_make(path, stores[i].dropped_steps);
        if (strcmp(stores[i].name, "waiting.db") == 0)
            let_rollups_wait(path);
        free(path);
    }
    *state = scene;
    return 0;
}

static int stop(void **state)
{
    analyze_scene_destroy((struct analyze_scene **)state);
    return 0;
}

/* Runs a command line; words are parted by blanks. The caller deinits the result. */
static struct child_result run(const struct analyze_scene *scene, const char *arguments)
{
    static const char *const environment[] = {"TZ=UTC", "NO_COLOR", NULL};
    const struct child_options options = {.environment = environment, .directory = scene->dir};
    const char *argv[20] = {scene->program};
    char *copy = strdup(arguments), *rest = copy, *word;
    struct child_result result;

    for (size_t i = 1; (word = strsep(&rest, " ")); i++)
        argv[i] = word;
    result = child_run(argv, &options);
    free(copy);
    return result;
}

/* It ends with this status, and its output has each of the texts. */
static void check_output(const struct analyze_scene *scene, const char *arguments, int status,
                         const char *const *texts)
{
    struct child_result result = run(scene, arguments);

    if (result.status != status)
        fail_msg("%s: status %d: %s", arguments, result.status, result.err);
    for (size_t i = 0; texts[i]; i++)
        CHECK_CONTAINS(status == 0 ? result.out : result.err, texts[i]);
    child_result_deinit(&result);
}

#define SAYS(arguments, status, ...)                                                               \
    check_output(*state, arguments, status, (const char *const[]){__VA_ARGS__, NULL})

/* The rows of a table in JSON, as text; the caller frees it. */
static char *rows_of(const struct analyze_scene *scene, const char *arguments, const char *table)
{
    struct child_result result = run(scene, arguments);
    cJSON *json = cJSON_Parse(result.out);
    char *text =
        cJSON_PrintUnformatted(cJSON_GetObjectItem(cJSON_GetObjectItem(json, table), "rows"));

    if (result.status != 0 || !text)
        fail_msg("%s: status %d: %s%s", arguments, result.status, result.err, result.out);
    cJSON_Delete(json);
    child_result_deinit(&result);
    return text;
}

static void check_same(const struct analyze_scene *scene, const char *before, const char *after,
                       const char *table)
{
    char *wanted = rows_of(scene, before, table);
    char *got = rows_of(scene, after, table);

    assert_string_equal(got, wanted);
    free(wanted);
    free(got);
}

/* Calls, sums, extremes and percentiles of ops: from events before, from roll-ups after. */
static void totals_of_ops_stay_the_same(void **state)
{
    static const char *const questions[] = {
        "--session 1 --warmup --total -t 0 --show-host --format json",
        "--session 1 --warmup -t 0 --format json",
        "--session 1 --warmup -t 0 --top-end-key exec --format json",
        "--session 1 --warmup --type Relu --format json",
        "--session 3 -t 0 --format json",
        "--session 4 -t 0 --total --format json",
        "--session 1,3 --warmup -t 0 --format json",
        "--session 1 --warmup --aggregate sum --aggregate-by type --format json",
    };

    static const char *const names[] = {"none.db", "left.db", "waiting.db"};

    for (size_t i = 0; i < sizeof(questions) / sizeof(questions[0]); i++) {
        char before[120], after[120];
        bool is_host = strstr(questions[i], "--session 3") || strstr(questions[i], "--session 4");

        snprintf(before, sizeof(before), "whole.db %s", questions[i]);
        for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++) {
            snprintf(after, sizeof(after), "%s %s", names[k], questions[i]);
            if (k == 0 && strstr(questions[i], "exec"))
                continue; /* which ops have a first kernel no roll-up knows */
            check_same(*state, before, after, is_host ? "host" : "device");
        }
    }
}

/* What is about runs with all of their events is as if these had been asked for. */
static void runs_with_all_events_count_alone(void **state)
{
    static const struct {
        const char *report, *table;
    } cases[] = {
        {"ops", "host"},
        {"events", "events"},
        {"critical", "critical"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char before[120], after[120];

        snprintf(before, sizeof(before),
                 "whole.db --session 2 --runs 6.. --format json --report %s", cases[i].report);
        snprintf(after, sizeof(after), "left.db --session 2 --format json --report %s",
                 cases[i].report);
        check_same(*state, before, after, cases[i].table);
    }
}

static void every_report_says_what_was_dropped(void **state)
{
    static const char *const of_all[] = {"types", "events",  "threads", "averages",
                                         "idle",  "summary", "overview"};
    const char *text =
        "10 events up to 2026-03-01 08:01:20 +0000 were dropped because of their age";

    for (size_t i = 0; i < sizeof(of_all) / sizeof(of_all[0]); i++) {
        char arguments[100];

        snprintf(arguments, sizeof(arguments), "left.db --session 2 --report %s", of_all[i]);
        SAYS(arguments, 0, text);
    }
    SAYS("left.db --report ops --session 2 --notes", 0, text, "3 runs; times",
         "5 runs of which not all events are there are left out above.",
         "Operators cover 73.9% on the host of the runs' wall time, as far as events are stored.");
    SAYS("left.db --report ops --session 1", 0,
         "20 events, 10 memory events up to 2026-03-01 08:01:20",
         "the calls and times above are from roll-ups, which have all of them");
    SAYS("left.db --session 1 --report memory", 0, "10 memory events up to");
    SAYS("left.db --session 2 --runs 3..5 --report events", 1,
         "there is no event in what is asked for: old ones were dropped");
    SAYS("left.db --session 4 --report events", 0,
         "no run has all of its events: the numbers above are totals of what is left.");
    SAYS("left.db --session 1 --format json", 0,
         "\"session_id\": 1, \"reason\": \"age\", \"event_count\": 20, \"memory_event_count\": 10");
    SAYS("left.db --list --format csv", 0, "dropped_count", ",20,done", ",10,done");
}

/* What is asked for came later, or nothing was dropped: not a word about it. */
static void nothing_is_said_where_nothing_is_missing(void **state)
{
    static const char *const commands[] = {"whole.db --session 1", "whole.db --session 4",
                                           "left.db --session 2 --time 115s.."};

    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        struct child_result result = run(*state, commands[i]);

        assert_int_equal(result.status, 0);
        CHECK_LACKS(result.out, "dropped");
        CHECK_LACKS(result.out, "as far as events are stored");
        child_result_deinit(&result);
    }
}

/* What was dropped was recorded: --strict is about what never came. */
static void dropped_events_are_no_losses(void **state)
{
    SAYS("left.db --report ops --session 1 --strict --notes", 0, "No event was lost.");
    SAYS("left.db --session 2 --strict --report events --notes", 0, "No event was lost.");
}

/* Runs, and the history of them, outlive their events. */
static void runs_are_known_without_events(void **state)
{
    SAYS("none.db --session 1 --report runs -t 0 --notes", 0, "11.750 ms",
         "7 of these runs count with their durations alone");
    SAYS("left.db --session 1 --report runs -t 0 --notes", 0, "10.250 ms", "11.750 ms",
         "4 of these runs count with their durations alone");
    SAYS("left.db --session 1 --report runs --runs 3", 0, "10.500 ms");
    SAYS("none.db --session 1 --report events", 1, "old ones were dropped");
    SAYS("none.db --history --session 1,2 --notes", 0,
         "Of 2 sessions old events were dropped: they count", "11.000 ms");
    SAYS("--compare whole.db:1 left.db:1 --notes", 0,
         "Of new, 20 events, 10 memory events up to 2026-03-01 08:01:20 +0000 were dropped because",
         "one session a side does not show");
    SAYS("--compare whole.db:1 none.db:1", 1, "old ones were dropped");
    SAYS("left.db --report ops --session 1 --time ..50s", 1, "old ones were dropped");
    SAYS("none.db --report ops --session 2 --notes", 0, "outer", "from roll-ups",
         "and times with those of operators inside.");
    SAYS("none.db --sql SELECT\tcalls\tFROM\tv_op\tWHERE\top_id=1", 0, "8");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(totals_of_ops_stay_the_same),
        cmocka_unit_test(runs_with_all_events_count_alone),
        cmocka_unit_test(every_report_says_what_was_dropped),
        cmocka_unit_test(nothing_is_said_where_nothing_is_missing),
        cmocka_unit_test(dropped_events_are_no_losses),
        cmocka_unit_test(runs_are_known_without_events),
    };

    return cmocka_run_group_tests(tests, start, stop);
}
