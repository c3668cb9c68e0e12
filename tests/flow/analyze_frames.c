/* SPDX-License-Identifier: Apache-2.0 */
/* What reports say of a recording does not depend on how it is cut, though labels and ops lie around much of
 * it, streams wait for each other, and a host is ahead of them: where it is told in short batches, there
 * are many parts, where it is one batch, all is one part. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/analyze_scene.h"
#include "tests/support/check.h"
#include "tests/support/span_scene.h"
#include "tests/support/store_support.h"
#include "tests/support/stream_scene.h"
#include "tests/support/temp.h"
#include "tests/support/turns.h"

enum { SEEDS = 12, COPIED_SEEDS = 4, STREAM_SEEDS = 12, ALL = 7, HALF = 4, CHOICES = 4 };

/* The scene several times over, one after the other. */
static const char longer_sql[] =
    "CREATE TEMP TABLE e AS SELECT * FROM event; CREATE TEMP TABLE r AS SELECT * FROM run;"
    "CREATE TEMP TABLE all_of AS SELECT max(start_ns + dur_ns) - min(start_ns) + 1000 AS ns,"
    " max(correlation) AS launches, (SELECT max(run) FROM r) AS runs FROM e;"
    "WITH RECURSIVE t(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM t WHERE k < 3)"
    " INSERT INTO event (lane_id, op_id, run, start_ns, dur_ns, kern_ns, correlation, bytes)"
    " SELECT lane_id, op_id, run + k * ifnull(runs, 0), start_ns + k * ns, dur_ns, kern_ns,"
    " correlation + k * launches, bytes FROM t CROSS JOIN all_of CROSS JOIN e ORDER BY k, e.rowid;"
    "WITH RECURSIVE t(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM t WHERE k < 3)"
    " INSERT INTO run SELECT session_id, run + k * runs, model_id, lane_id, start_ns + k * ns,"
    " end_ns + k * ns, 0, 0 FROM t CROSS JOIN all_of CROSS JOIN r;";

/* A second thread, which is in labels, too, and phases, copies, Python and what waits. */
static const char scene_sql[] =
    "UPDATE lane SET kind = 'thread', device = NULL, native_id = 101 WHERE lane_id = 3;"
    "UPDATE event SET op_id = 3 WHERE op_id IN (4, 7);"
    "UPDATE event SET lane_id = 3 WHERE lane_id = 1 AND op_id = 5;"
    "UPDATE op_row SET type = 'label', name = 'short' WHERE op_id = 8;"
    "UPDATE op_row SET type = 'phase' WHERE op_id = 6;"
    "UPDATE op_row SET type = 'cpu_op', name = 'cudaStreamSynchronize' WHERE op_id = 2;"
    "UPDATE op_row SET type = 'copy', name = 'Memcpy HtoD' WHERE op_id = 9;"
    "UPDATE op_row SET params = '{\"stack\":\"model.py(' || op_id || '): forward;train.py(9): main\"}';";

static const char *const short_batches =
    "DELETE FROM event_batch;"
    "INSERT INTO event_batch SELECT min(rowid), max(rowid), min(start_ns),"
    " max(start_ns + dur_ns), max(dur_ns), 1, 1, '[1,2,3]' FROM event GROUP BY (rowid - 1) / 500";
static const char *const one_batch =
    "DELETE FROM event_batch;"
    "INSERT INTO event_batch SELECT min(rowid), max(rowid), min(start_ns),"
    " max(start_ns + dur_ns), max(dur_ns), 1, 1, '[1,2,3]' FROM event";

/* The two labels, or ops, that lie around much. */
static const struct names {
    const char *all, *half, *type_of_all, *type_of_half;
} names[SEEDS] = {
    {"all", "half", "label", "label"},
    {"ProfilerStep#1", "half forward", "label", "label"},
    {"ProfilerStep#1", "half", "label", "label"},
    {"all", "all", "label", "label"},
    {"Synchronize", "half", "label", "label"},
    {"short", "all", "label", "label"},
    {"all", "half", "block", "block"},
    {"all", "half", "label", "block"},
    {"all", "half", "cpu_op", "label"},
    {"all", "all", "block", "block"},
    {"cudaDeviceSynchronize", "half", "cuda_runtime", "cpu_op"},
    {"c10d::allreduce_", "backward", "cpu_op", "cpu_op"},
};

static int start(void **state)
{
    *state = analyze_scene_create();
    return 0;
}

static int stop(void **state)
{
    analyze_scene_destroy((struct analyze_scene **)state);
    return 0;
}

/* A label from a share of the events to another one, in thousandths, told behind all of them. */
static void add_label(const char *path, int op, int lane, int from, int until)
{
    char sql[1024];

    snprintf(sql, sizeof(sql),
             "INSERT INTO event (lane_id, op_id, start_ns, dur_ns) SELECT %d, %d, a.start_ns,"
             " max(b.start_ns + b.dur_ns - a.start_ns, 0) FROM event a, event b,"
             " (SELECT count(*) AS n FROM event WHERE op_id NOT IN (%d, %d)) WHERE"
             " a.rowid = 1 + n * %d / 1000 AND b.rowid = max(n * %d / 1000, 1)",
             lane, op, ALL, HALF, from, until);
    store_support_run(path, sql);
}

/* The same in one batch, and a base to compare it with. */
static void make_others(const struct analyze_scene *place, const char *path)
{
    char sql[512], *other;

    store_support_run(path, short_batches);
    snprintf(sql, sizeof(sql), "VACUUM INTO '%s/whole.db'", place->dir);
    store_support_run(path, sql);
    other = temp_path(place->dir, "whole.db");
    store_support_run(other, one_batch);
    snprintf(sql, sizeof(sql), "VACUUM INTO '%s/base.db'", place->dir);
    store_support_run(other, sql);
    free(other);
    other = temp_path(place->dir, "base.db");
    store_support_run(other, "UPDATE session SET uuid = zeroblob(16)");
    free(other);
}

static void make_store(const struct analyze_scene *place, uint64_t seed)
{
    struct span_scene *scene = malloc(sizeof(*scene));
    char *path = temp_path(place->dir, "parts.db"), sql[512];
    const struct names *named = &names[seed % SEEDS];
    const bool has_runs = seed % 2;

    assert_non_null(scene);
    *scene = (struct span_scene){.seed = seed * 2654435761u + 88172645463325252u,
                                 .run = has_runs ? 1 : STORE_NULL,
                                 .steps = has_runs,
                                 .touches = seed % 4 == 1};
    span_scene_fill(scene);
    span_scene_store(path, scene, has_runs);
    store_support_run(path, longer_sql);
    store_support_run(path, scene_sql);
    if (seed % 3 == 1)
        store_support_run(path,
                          "UPDATE op_row SET name = 'ncclDevKernel_AllReduce' WHERE op_id = 3");
    if (seed % 6 == 2) /* no device: ops of threads are what computes */
        store_support_run(path, "UPDATE lane SET kind = 'thread', device = NULL WHERE lane_id = 2;"
                                "UPDATE event SET correlation = NULL");
    snprintf(sql, sizeof(sql),
             "UPDATE op_row SET type = '%s', name = '%s' WHERE op_id = %d;"
             "UPDATE op_row SET type = '%s', name = '%s' WHERE op_id = %d;",
             named->type_of_all, named->all, ALL, named->type_of_half, named->half, HALF);
    store_support_run(path, sql);
    add_label(path, HALF, 1, (int)(seed % 6) * 60, 350 + (int)(seed % 6) * 80);
    if (seed % 3 == 0)
        add_label(path, HALF, 3, 20, 900);
    add_label(path, ALL, 1, 0, seed % 4 == 2 ? 990 : 1000);
    make_others(place, path);
    free(path);
    free(scene);
}

/* Two streams of a device, and a thread of several that launches for them. */
static void make_streams(const struct analyze_scene *place, uint64_t seed)
{
    static const int64_t grids_ns[] = {1000, 100000, 10};
    struct stream_scene *scene = malloc(sizeof(*scene));
    char *path = temp_path(place->dir, "parts.db");

    assert_non_null(scene);
    *scene = (struct stream_scene){.seed = seed * 2654435761u + 88172645463325252u,
                                   .grid_ns = grids_ns[seed % 3],
                                   .is_ahead = seed % 4 != 3,
                                   .is_in_order = seed % 8 == 3,
                                   .waits = seed % 5 != 4,
                                   .is_busy = seed % 7 > 3,
                                   .graphs = seed % 5 == 4,
                                   .recalls = seed % 5 == 2};
    stream_scene_fill(scene);
    stream_scene_store(path, scene);
    store_support_run(path, longer_sql);
    if (seed % 3 == 1)
        store_support_run(path,
                          "UPDATE op_row SET name = 'ncclDevKernel_AllReduce' WHERE op_id = 7");
    if (seed % 3 == 2)
        store_support_run(path, "UPDATE op_row SET type = 'copy', name = 'Memcpy HtoD' WHERE"
                                " op_id = 7");
    make_others(place, path);
    free(path);
    free(scene);
}

static void forget(const struct analyze_scene *place, const char *store)
{
    char *path = temp_path(place->dir, store);

    CHECK_OK(unlink(path));
    free(path);
}

/* What is said of a store; the caller frees it. */
static char *ask(const struct analyze_scene *place, const char *store, const char *arguments)
{
    static const char *const environment[] = {"TZ=UTC", "NO_COLOR", NULL};
    const struct child_options options = {.environment = environment, .directory = place->dir};
    const char *argv[20] = {place->program, store};
    char *copy = strdup(arguments), *rest = copy, *word, *text, *name;
    struct child_result result;

    for (size_t i = 2; (word = strsep(&rest, " ")); i++)
        argv[i] = word;
    result = child_run(argv, &options);
    if (result.status > 1)
        fail_msg("%s %s: %s", store, arguments, result.err);
    text = malloc(strlen(result.out) + strlen(result.err) + 1);
    assert_non_null(text);
    strcpy(text, result.out);
    strcat(text, result.err);
    while ((name = strstr(text, store))) /* reports name what they read */
        memset(name, '.', strlen(store));
    child_result_deinit(&result);
    free(copy);
    return text;
}

/* turn  whose of the choices it is: each report meets all of them, and all seeds */
static void compare(const struct analyze_scene *place, uint64_t seed, const char *what,
                    const char *const *chosen, size_t turn)
{
    for (size_t i = 0; i < CHOICES; i++) {
        char arguments[256], *parts, *whole;
        size_t at = 0;

        if (!turns_take(turn, i, CHOICES))
            continue;
        snprintf(arguments, sizeof(arguments), "%s%s", what, chosen[i]);
        parts = ask(place, "parts.db", arguments);
        whole = ask(place, "whole.db", arguments);
        while (parts[at] && parts[at] == whole[at])
            at++;
        if (parts[at] || whole[at])
            fail_msg("seed %llu, %s, at %zu: %.200s; of one part %.200s", (unsigned long long)seed,
                     arguments, at, parts + at, whole + at);
        free(parts);
        free(whole);
    }
}

/* The events of what is exported of a store, in their order; the caller frees it. */
static char *exported(const struct analyze_scene *place, const char *store, const char *chosen)
{
    static const char *const rows =
        "SELECT group_concat(at || ' ' || lane_id || ' ' || op_id || ' ' || ifnull(run, '-') || ' ' ||"
        " start_ns || ' ' || ifnull(dur_ns, '-') || ' ' || ifnull(kern_ns, '-') || ' ' ||"
        " ifnull(correlation, '-') || ' ' || ifnull(bytes, '-'), char(10))"
        " FROM (SELECT rowid AS at, * FROM event ORDER BY rowid)";
    char arguments[256], *path = temp_path(place->dir, "copy.db"), *text;

    snprintf(arguments, sizeof(arguments), "--export sqlite -o copy.db%s", chosen);
    text = ask(place, store, arguments);
    if (access(path, F_OK) == 0) { /* not where nothing matches */
        free(text);
        text = store_support_file_text(path, rows);
        CHECK_OK(unlink(path));
    }
    free(path);
    return text;
}

/* Also of events that never end, before, between and behind those that lie around. */
static void compare_copies(const struct analyze_scene *place, uint64_t seed)
{
    static const char *const chosen[] = {"", " --time 1ms..3ms", " --label half", " --opr-name all",
                                         " --opr-name half"};
    char *stores[2] = {temp_path(place->dir, "parts.db"), temp_path(place->dir, "whole.db")};

    for (size_t i = 0; i < 2; i++) {
        store_support_run(stores[i],
                          "UPDATE event SET dur_ns = NULL WHERE rowid % 97 = 5 OR rowid IN"
                          " (1, (SELECT max(rowid) - 5 FROM event));");
        free(stores[i]);
    }
    for (size_t i = 0; i < sizeof(chosen) / sizeof(chosen[0]); i++) {
        char *parts = exported(place, "parts.db", chosen[i]);
        char *whole = exported(place, "whole.db", chosen[i]);

        if (!parts || !whole || strcmp(parts, whole) != 0)
            fail_msg("seed %llu,%s: exports differ", (unsigned long long)seed, chosen[i]);
        free(parts);
        free(whole);
    }
}

static const char *const asked[] = {
    "--report events --detail all -t 0 --format json",
    "--report events --state all -t 0 --format json",
    "--report events --state gpu --per-thread -t 0 --format json",
    "--report overview --format json",
    "--report summary --total -t 0 --format json",
    "--report idle -t 0 --format json",
    "--report advice --format json",
    "--report device --format json",
    "--report launch -t 0 --format json",
    "--report threads --format json",
    "--report sequences -t 0 --format json",
    "--report kernels -t 0 --format json",
    "--report averages -t 0 --format json",
    "--report ops --total -t 0 --format json",
    "--report critical -t 0 --format json",
    "--compare base.db --format json",
    "--report page --format json",
    "--report collectives -t 0 --format json",
    "--export stacks",
    "--export chrome",
    "--export csv",
    "--history --format json",
};

static void forget_stores(const struct analyze_scene *place)
{
    forget(place, "parts.db");
    forget(place, "whole.db");
    forget(place, "base.db");
}

static void parts_say_what_the_whole_says(void **state)
{
    static const char *const chosen[CHOICES] = {"", " --label half", " --label short",
                                                " --type Add"};
    const struct analyze_scene *place = *state;

    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        if (!turns_third(seed))
            continue;
        make_store(place, seed);
        for (size_t i = 0; i < sizeof(asked) / sizeof(asked[0]); i++)
            compare(place, seed, asked[i], chosen, i + seed + seed / 4);
        if (seed < COPIED_SEEDS)
            compare_copies(place, seed);
        forget_stores(place);
    }
}

/* Each run makes some that no other had. */
static void streams_say_what_the_whole_says(void **state)
{
    static const char *const chosen[CHOICES] = {"", " --label step", " --lane a", " --lane .*[12]"};
    static const char *const exports[] = {"--export speedscope", "--export folded"};
    const struct analyze_scene *place = *state;
    const uint64_t first = turns_seed();

    for (uint64_t i = 0; i < turns_rounds(STREAM_SEEDS); i++) {
        const uint64_t seed = first + i;

        if (!turns_third(i))
            continue;
        make_streams(place, seed);
        for (size_t k = 0; k < sizeof(asked) / sizeof(asked[0]); k++)
            compare(place, seed, asked[k], chosen, k + seed + seed / 4);
        for (size_t k = 0; k < sizeof(exports) / sizeof(exports[0]); k++)
            compare(place, seed, exports[k], chosen, k + seed + seed / 4);
        compare_copies(place, seed);
        forget_stores(place);
    }
}

/* Of a host that is ahead: a kernel 30 ms behind the end of its run, in a batch of its own. */
static void what_a_run_launched_is_read_with_it(void **state)
{
    static const char trace[] =
        "[{\"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"ProfilerStep#1\", \"pid\": 1, \"tid\": 1,"
        " \"ts\": 0, \"dur\": 100},"
        "{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", \"pid\": 1, \"tid\": 1,"
        " \"ts\": 10, \"dur\": 5, \"args\": {\"correlation\": 1}},"
        "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"late\", \"pid\": 0, \"tid\": 7,"
        " \"ts\": 30000, \"dur\": 5, \"args\": {\"correlation\": 1}}]";
    static const char *const chosen[CHOICES] = {"", "", "", ""};
    const struct analyze_scene *place = *state;
    char *path = temp_path(place->dir, "late.json"), sql[512];
    const char *argv[] = {place->program, "--import", "late.json", "--into", "parts.db", NULL};
    const struct child_options options = {.directory = place->dir};
    struct child_result result;
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_int_equal(fputs(trace, file) < 0, 0);
    assert_int_equal(fclose(file), 0);
    result = child_run(argv, &options);
    assert_int_equal(result.status, 0);
    child_result_deinit(&result);
    free(path);
    path = temp_path(place->dir, "parts.db");
    snprintf(sql, sizeof(sql), "VACUUM INTO '%s/whole.db'", place->dir);
    store_support_run(path, sql);
    store_support_run(path, "DELETE FROM event_batch; INSERT INTO event_batch SELECT rowid, rowid,"
                            " start_ns, start_ns + dur_ns, dur_ns, 1, 1, '[1,2]' FROM event");
    compare(place, 0, "--report critical --format json", chosen, 0);
    free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(parts_say_what_the_whole_says, start, stop),
        cmocka_unit_test_setup_teardown(what_a_run_launched_is_read_with_it, start, stop),
        cmocka_unit_test_setup_teardown(streams_say_what_the_whole_says, start, stop),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
