/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Export, import, ask again: the same answer. Of stores through Chrome traces, MegEngine profiles
 * and smaller stores; of the shared traces of other tools through Chrome traces, event by event.
 */
#include <cjson/cJSON.h>
#include <sqlite3.h>
#include <string.h>

#include "analyze/reports/report.h"
#include "tests/support/analyze_scene.h"
#include "tests/support/check.h"
#include "tests/support/child.h"
#include "tests/support/memory_store.h"
#include "tests/support/odd_store.h"
#include "tests/support/place.h"
#include "tests/support/temp.h"
#include "tests/support/wait.h"

static int start(void **state)
{
    struct analyze_scene *scene = analyze_scene_create();
    char *store = temp_path(scene->dir, "store.db"), *bytes;
    char *profile = place_source("tests/golden/analyze/profile.json");
    size_t size;

    odd_store_make(store);
    bytes = temp_read(profile, &size);
    free(temp_write(scene->dir, "profile.json", bytes, size));
    free(bytes);
    free(profile);
    free(store);
    *state = scene;
    return 0;
}

static int stop(void **state)
{
    analyze_scene_destroy((struct analyze_scene **)state);
    return 0;
}

/* --- Reports. --- */

/* Sections of the ops report that tell numbers. */
static const char *const sections[] = {"summary", "device", "host"};

/* `skipped`: members of rows that the format has no place for, ending in NULL. */
static char *take_numbers(const char *text, const char *const *skipped)
{
    cJSON *report = cJSON_Parse(text), *kept = cJSON_CreateObject();
    char *printed;

    assert_non_null(report);
    for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++) {
        cJSON *section = cJSON_DetachItemFromObject(report, sections[i]), *row;

        if (!section)
            continue; /* nothing ran there */
        cJSON_ArrayForEach(row, cJSON_GetObjectItem(section, "rows"))
        {
            for (const char *const *name = skipped; *name; name++)
                cJSON_DeleteItemFromObject(row, *name);
        }
        cJSON_AddItemToObject(kept, sections[i], section);
    }
    printed = cJSON_Print(kept);
    cJSON_Delete(kept);
    cJSON_Delete(report);
    return printed;
}

static void check_same_report(const struct analyze_scene *scene, const char *const *before,
                              const char *const *after, const char *const *skipped)
{
    char *first = analyze_scene_output(scene, before), *second = analyze_scene_output(scene, after);
    char *wanted = take_numbers(first, skipped), *got = take_numbers(second, skipped);

    assert_string_equal(got, wanted);
    cJSON_free(wanted);
    cJSON_free(got);
    free(first);
    free(second);
}

static const char *const nothing_skipped[] = {NULL};
/* Some of them have names of their own in a Chrome trace, and come first there. */
static const char *const order_skipped[] = {"params", NULL};

#define REPORT "--format", "json", "--show-host", "-t", "0"

static void chrome_traces_give_the_same_report(void **state)
{
    static const char *const sessions[] = {"1", "2", "3"};

    for (size_t i = 0; i < sizeof(sessions) / sizeof(sessions[0]); i++) {
        const char *const export[] = {"store.db", "--session", sessions[i], "--export",
                                      "chrome",   "-o",        "back.json", NULL};
        const char *const append[] = {"store.db", "--session", sessions[i], "--export",
                                      "chrome",   "--append",  sessions[i], NULL};
        const char *const before[] = {"store.db", "--session", sessions[i], REPORT, NULL};
        const char *const after[] = {"back.json", REPORT, NULL};
        const char *const after_append[] = {sessions[i], REPORT, NULL};

        free(analyze_scene_output(*state, export));
        free(analyze_scene_output(*state, append));
        check_same_report(*state, before, after, order_skipped);
        check_same_report(*state, before, after_append, order_skipped);
    }
}

static void megengine_profiles_give_the_same_report(void **state)
{
    /* Of a store one run is written; of a profile rates are told for the host, too. */
    static const char *const skipped[] = {"flop_per_s", "bandwidth_bytes_per_s", NULL};
    const char *const of_store[] = {"store.db", "--session", "2",  "--runs",    "3",
                                    "--export", "megengine", "-o", "back.json", NULL};
    const char *const before[] = {"store.db", "--session", "2",    "--runs", "3", "--type",
                                  "Conv",     "--type",    "Relu", REPORT,   NULL};
    const char *const after[] = {"back.json", REPORT, NULL};
    const char *const of_profile[] = {"profile.json", "--export",   "megengine",
                                      "-o",           "again.json", NULL};
    const char *const profile_before[] = {"profile.json", REPORT, NULL};
    const char *const profile_after[] = {"again.json", REPORT, NULL};

    free(analyze_scene_output(*state, of_store));
    check_same_report(*state, before, after, skipped);
    free(analyze_scene_output(*state, of_profile));
    check_same_report(*state, profile_before, profile_after, nothing_skipped);
}

/* --- Stores. --- */

static void check_integrity(const char *path)
{
    sqlite3 *db;
    sqlite3_stmt *statement;

    CHECK_OK(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL));
    CHECK_OK(sqlite3_prepare_v2(db,
                                "SELECT (SELECT group_concat(integrity_check) FROM"
                                " pragma_integrity_check), (SELECT count(*) FROM"
                                " pragma_foreign_key_check), (SELECT sum(last_rowid -"
                                " first_rowid + 1) FROM event_batch) = (SELECT count(*) FROM"
                                " event), (SELECT sum(event_count) FROM op_stat) = (SELECT"
                                " count(*) FROM event WHERE dur_ns IS NOT NULL)",
                                -1, &statement, NULL));
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    assert_string_equal((const char *)sqlite3_column_text(statement, 0), "ok");
    assert_int_equal(sqlite3_column_int(statement, 1), 0);
    assert_int_equal(sqlite3_column_int(statement, 2), 1);
    assert_int_equal(sqlite3_column_int(statement, 3), 1);
    sqlite3_finalize(statement);
    sqlite3_close(db);
}

/* What else a copy must hold: everything of one session that is no op and no event. */
static const char rest_sql[] =
    "SELECT (SELECT group_concat(program || start_ns || end_ns || end_reason) FROM session"
    "         WHERE session_id = 3) AS session,"
    " (SELECT group_concat(time_ns || ' ' || coalesce(bytes, '?') || ' ' || coalesce(op_id, '?'))"
    "    FROM memory_event) AS memory,"
    " (SELECT group_concat(time_ns || ' ' || value) FROM counter) AS counters,"
    " (SELECT group_concat(lost_count || reason || start_ns || end_ns) FROM gap"
    "   WHERE session_id = 3) AS losses,"
    " (SELECT group_concat(start_ns || coalesce(dur_ns, '?') || coalesce(correlation, '-')"
    "         || coalesce(bytes, '-')) FROM event JOIN lane USING (lane_id)"
    "   WHERE session_id = 3) AS events,"
    " (SELECT group_concat(name || params) FROM op WHERE session_id = 3) AS ops";

static void smaller_stores_give_the_same_reports(void **state)
{
    static const struct {
        const char *session, *option, *value;
    } selections[] = {
        {"1"}, {"2"}, {"3"}, {"all"}, {"2", "--runs", "1..2"}, {"2", "--time", "35ms..75ms"},
    };
    struct analyze_scene *scene = *state;

    for (size_t i = 0; i < sizeof(selections) / sizeof(selections[0]); i++) {
        const char *session = selections[i].session, *option = selections[i].option;
        const char *value = selections[i].value;
        const char *const export[] = {"store.db",  "--export", "sqlite", "-o",  "part.db",
                                      "--session", session,    option,   value, NULL};
        const char *const before[] = {"store.db", REPORT, "--session", session,
                                      option,     value,  NULL};
        const char *const after[] = {"part.db", REPORT, "--session", session, option, value, NULL};
        char *path = temp_path(scene->dir, "part.db");

        free(analyze_scene_output(scene, export));
        check_integrity(path);
        check_same_report(scene, before, after, nothing_skipped);
        CHECK_OK(remove(path));
        free(path);
    }
}

static void a_smaller_store_has_all_of_its_session(void **state)
{
    const char *const export[] = {"store.db", "--export", "sqlite", "-o", "third.db", NULL};
    const char *const before[] = {"store.db", "--sql", rest_sql, NULL};
    const char *const after[] = {"third.db", "--sql", rest_sql, NULL};
    const char *const count[] = {"third.db",
                                 "--format",
                                 "csv",
                                 "--sql",
                                 "SELECT count(*) AS n, max(session_id) AS id FROM session",
                                 NULL};
    char *first, *second, *sessions;

    free(analyze_scene_output(*state, export));
    first = analyze_scene_output(*state, before);
    second = analyze_scene_output(*state, after);
    sessions = analyze_scene_output(*state, count);
    assert_string_equal(second, first);
    assert_string_equal(sessions, "n,id\n1,3\n");
    free(sessions);
    free(first);
    free(second);
}

/* Cuts the name of the source, which alone may differ, and commands that have it in them. */
static void drop_source(char *text)
{
    static const char *const members[] = {"\"source\": \"", "\"command\": \"profile_analyze "};

    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        for (char *at = text; (at = strstr(at, members[i]));) {
            char *end = strchr(at, '\n');

            memmove(at, end, strlen(end) + 1);
        }
    }
}

static void every_report_is_the_same_of_a_smaller_store(void **state)
{
    static const char *const sessions[] = {"2", "3"};
    static const char *const copies[] = {"of_2.db", "of_3.db"};

    for (size_t i = 0; i < sizeof(sessions) / sizeof(sessions[0]); i++) {
        const char *const export[] = {"store.db", "--session", sessions[i], "--export",
                                      "sqlite",   "-o",        copies[i],   NULL};

        free(analyze_scene_output(*state, export));
        for (size_t k = 0; report_kinds[k]; k++) {
            const char *before[] = {"store.db", "--report",  report_kinds[k]->name, "--format",
                                    "json",     "--session", sessions[i],           NULL};
            struct child_result first, second;

            if (report_kinds[k]->mode)
                continue;
            first = analyze_scene_run(*state, before);
            before[0] = copies[i];
            second = analyze_scene_run(*state, before);
            drop_source(first.out);
            drop_source(second.out);
            assert_int_equal(second.status, first.status);
            assert_string_equal(second.out, first.out);
            child_result_deinit(&first);
            child_result_deinit(&second);
        }
    }
}

/* --- Chrome traces. --- */

/* Everything that is put on a line of time, without the numbers that a store gives. A byte that is
 * not UTF-8 cannot come back. */
static const char events_sql[] =
    "SELECT coalesce(lane.name, kind || ' ' || native_id) AS lane, kind, lane.device AS device, "
    "replace(op.name, cast(x'ff' AS TEXT), "
    "char(65533)) AS op, op.type AS type,"
    "       node_id, op.device AS op_device, json(input_shapes), json(input_dtypes), "
    "json(output_shapes),"
    "       json(output_dtypes), computation_flop, memory_bytes, op.source, json(origin), run, "
    "start_ns, "
    "dur_ns,"
    "       kern_ns, bytes"
    "  FROM event JOIN lane USING (lane_id) JOIN op USING (op_id) WHERE lane.session_id = %s"
    " UNION ALL SELECT coalesce(lane.name, kind || ' ' || native_id), kind, 'memory', "
    "replace(op.name, cast(x'ff' AS TEXT), "
    "char(65533)), op.type, address, NULL, NULL, NULL, "
    "NULL,"
    "       NULL, NULL, NULL, NULL, NULL, run, time_ns, NULL, NULL, bytes"
    "  FROM memory_event JOIN lane USING (lane_id) LEFT JOIN op USING (op_id)"
    "       WHERE lane.session_id = %s"
    " UNION ALL SELECT coalesce(lane.name, kind || ' ' || native_id), kind, 'counter', op.name, "
    "value, NULL, NULL, NULL, NULL, NULL,"
    "       NULL, NULL, NULL, NULL, NULL, run, time_ns, NULL, NULL, NULL"
    "  FROM counter JOIN lane USING (lane_id) JOIN op USING (op_id) WHERE lane.session_id = %s"
    " UNION ALL SELECT coalesce(lane.name, kind || ' ' || native_id), 'run', NULL, NULL, NULL, "
    "NULL, NULL, NULL, NULL, NULL, NULL,"
    "       NULL, NULL, NULL, NULL, run, start_ns, end_ns, warmup, NULL"
    "  FROM run JOIN lane USING (lane_id) WHERE run.session_id = %s"
    " UNION ALL SELECT coalesce(lane.name, kind || ' ' || native_id), 'gap', reason, NULL, NULL, "
    "NULL, NULL, NULL, NULL, NULL, NULL,"
    "       NULL, NULL, NULL, NULL, lost_count, start_ns, end_ns, NULL, NULL"
    "  FROM gap LEFT JOIN lane USING (lane_id) WHERE gap.session_id = %s"
    " ORDER BY 1, 2, 3, 17, 18, 4, 5, 6, 20";

static char *list_events(const struct analyze_scene *scene, const char *path, const char *session)
{
    char *sql, *text;
    const char *arguments[] = {path, "--format", "csv", "--sql", NULL, NULL};

    assert_true(asprintf(&sql, events_sql, session, session, session, session, session) > 0);
    arguments[4] = sql;
    text = analyze_scene_output(scene, arguments);
    free(sql);
    return text;
}

static void check_chrome(const struct analyze_scene *scene, const char *path, const char *session)
{
    const char *const export[] = {path,     "--session", session,        "--export",
                                  "chrome", "-o",        "back.json.gz", NULL};
    char *before, *after;

    free(analyze_scene_output(scene, export));
    before = list_events(scene, path, session);
    after = list_events(scene, "back.json.gz", "1");
    if (strcmp(before, after) != 0) {
        size_t at = 0, line;

        while (before[at] && before[at] == after[at])
            at++;
        for (line = at; line && before[line - 1] != '\n'; line--)
            continue;
        fail_msg("%s: was %.300s\nnow %.300s", path, before + line, after + line);
    }
    free(before);
    free(after);
}

static void chrome_traces_bring_all_events_back(void **state)
{
    check_chrome(*state, "store.db", "1");
    check_chrome(*state, "store.db", "2");
    check_chrome(*state, "store.db", "3");
}

/* Owners of memory that never ran are in no span. */
static void memory_keeps_its_owners(void **state)
{
    static const char sql[] =
        "SELECT m.time_ns, m.bytes, o.name, o.type, json(o.output_shapes) FROM memory_event m"
        " LEFT JOIN op o USING (op_id) JOIN lane l ON l.lane_id = m.lane_id"
        " WHERE l.session_id = %d ORDER BY 1, 2, 3";
    const struct analyze_scene *scene = *state;
    char *path = temp_path(scene->dir, "memory.db"), *before_sql, *after_sql, *before, *after;
    const char *const export[] = {"memory.db", "--session", "3",         "--export",
                                  "chrome",    "-o",        "back.json", NULL};
    const char *first[] = {"memory.db", "--format", "csv", "--sql", NULL, NULL};
    const char *second[] = {"back.json", "--format", "csv", "--sql", NULL, NULL};

    memory_store_make(path);
    free(analyze_scene_output(scene, export));
    assert_true(asprintf(&before_sql, sql, MEMORY_STORE_SESSION) > 0);
    assert_true(asprintf(&after_sql, sql, 1) > 0);
    first[4] = before_sql;
    second[4] = after_sql;
    before = analyze_scene_output(scene, first);
    after = analyze_scene_output(scene, second);
    CHECK_CONTAINS(before, "1000,weights,memory");
    assert_string_equal(after, before);
    free(before);
    free(after);
    free(before_sql);
    free(after_sql);
    free(path);
}

/* What CUPTI counted in kernels is no curve over time: name and metric stay apart. */
static void counters_of_kernels_come_back(void **state)
{
    static const char trace[] =
        "[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::mm\",\"pid\":1,\"tid\":1,\"ts\":1,"
        "\"dur\":9},{\"ph\":\"X\",\"cat\":\"cuda_profiler_range\",\"name\":\"void k<4>(int, "
        "\\\"f\\\")\","
        "\"pid\":0,\"tid\":0,\"ts\":100,\"dur\":121,\"args\":{\"inst.sum\":7,\"bytes\":8.5}}]";
    static const char sql[] = "SELECT o.name, o.params, device, time_ns, value FROM counter"
                              " JOIN op o USING (op_id) ORDER BY 1";
    static const char *const first[] = {"ranges.json", "--format", "csv", "--sql", sql, NULL};
    static const char *const export[] = {"ranges.json", "--export",      "chrome",
                                         "-o",          "ranges_2.json", NULL};
    static const char *const second[] = {"ranges_2.json", "--format", "csv", "--sql", sql, NULL};
    const struct analyze_scene *scene = *state;
    char *path = temp_path(scene->dir, "ranges.json"), *before, *after;
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_int_equal(fputs(trace, file) < 0, 0);
    assert_int_equal(fclose(file), 0);
    before = analyze_scene_output(scene, first);
    free(analyze_scene_output(scene, export));
    after = analyze_scene_output(scene, second);
    CHECK_CONTAINS(before, "cuda:0,100000,7");
    assert_string_equal(after, before);
    free(before);
    free(after);
    free(path);
}

/* All that a report says, but for the source's name and kind. */
static char *report_without_source(struct analyze_scene *scene, const char *source)
{
    const char *const arguments[] = {source, "--report", "memory", "--top",
                                     "0",    "--format", "json",   NULL};
    char *text = analyze_scene_output(scene, arguments), *printed, *kept;
    cJSON *json = cJSON_Parse(text), *selection = cJSON_GetObjectItem(json, "selection");

    assert_true(cJSON_GetArraySize(cJSON_GetObjectItem(json, "holders")) > 0);
    assert_true(cJSON_HasObjectItem(selection, "source"));
    cJSON_DeleteItemFromObject(selection, "source");
    cJSON_DeleteItemFromObject(selection, "source_kind");
    printed = cJSON_Print(json);
    assert_non_null(printed);
    kept = strdup(printed);
    cJSON_free(printed);
    cJSON_Delete(json);
    free(text);
    return kept;
}

static void memory_of_shared_traces_comes_back(void **state)
{
    static const char *const traces[] = {
        "traces/kineto-gpu/v100_resnet50_shapes_stack_memory_legacy.json.gz",
        "cases/traces-today/torch_memory_hang_width80.json.gz",
        "cases/traces-today/torch_verbose_stack.json.gz",
    };
    size_t seen = 0;

    for (size_t i = 0; i < sizeof(traces) / sizeof(traces[0]); i++) {
        char *path = place_shared(traces[i]), *there, *back;
        const char *const export[] = {path,      "--export", "chrome", "-o", "memory_back.json",
                                      "--force", NULL};

        if (!path)
            continue;
        seen++;
        free(analyze_scene_output(*state, export));
        there = report_without_source(*state, path);
        back = report_without_source(*state, "memory_back.json");
        assert_string_equal(back, there);
        free(there);
        free(back);
        free(path);
    }
    if (!seen)
        CHECK_SKIP("the shared traces are not there");
}

static void shared_traces_come_back_event_by_event(void **state)
{
    static const char *const traces[] = {
        "traces/kineto-gpu/a100_alexnet_train.json.gz",
        "traces/kineto-gpu/a100_recsys_train_shapes.json.gz",
        "traces/kineto-gpu/a100_resnet_nccl_rank.json.gz",
        "traces/kineto-gpu/v100_resnet50_shapes_stack_memory_legacy.json.gz",
        "traces/onnxruntime/light_resnet50_cpu_1thread_3runs.json",
        "traces/onnxruntime/light_squeezenet_cpu_1thread_3runs.json",
        "traces/nsys-sqlite/h100_2gpu_train_a.sqlite",
        "traces/pytorch/cnn_inference_cpu.function_events.json",
        "traces/pytorch/cnn_inference_cpu.json",
    };
    size_t seen = 0;

    for (size_t i = 0; i < sizeof(traces) / sizeof(traces[0]); i++) {
        char *path = place_shared(traces[i]);

        if (path)
            check_chrome(*state, path, "1");
        seen += path != NULL;
        free(path);
    }
    if (!seen)
        CHECK_SKIP("the shared traces are not there");
}

/* The file that PyTorch itself wrote of the same run. */
static void stacks_are_those_of_pytorch(void **state)
{
    char *path = place_shared("traces/pytorch/cnn_inference_cpu.function_events.json");
    char *wanted_path = place_shared("traces/pytorch/cnn_inference_cpu.stacks.txt");
    const char *const arguments[] = {path, "--export", "stacks", NULL};
    char *got, *wanted;

    if (!path || !wanted_path) {
        free(path);
        free(wanted_path);
        CHECK_SKIP("the shared traces are not there");
    }
    got = analyze_scene_output(*state, arguments);
    wanted = temp_read(wanted_path, NULL);
    assert_string_equal(got, wanted);
    free(got);
    free(wanted);
    free(path);
    free(wanted_path);
}

/* Which rank of how many a trace is of, and on what it was recorded. */
static void chrome_traces_keep_their_place(void **state)
{
    static const char trace[] =
        "{\"deviceProperties\":[{\"id\":0,\"name\":\"A \\\"100\\\"\"}],"
        "\"distributedInfo\":{\"backend\":\"gloo\",\"rank\":1,\"world_size\":4},"
        "\"traceEvents\":[{\"ph\":\"X\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":2}]}";
    static const char sql[] = "SELECT environment FROM session";
    const char *const export[] = {"rank.json", "--export", "chrome", "-o", "rank_back.json", NULL};
    const char *const ask[] = {"rank.json", "--format", "csv", "--sql", sql, NULL};
    const char *const ask_back[] = {"rank_back.json", "--format", "csv", "--sql", sql, NULL};
    struct analyze_scene *scene = *state;
    char *there, *back;

    free(temp_write(scene->dir, "rank.json", trace, strlen(trace)));
    free(analyze_scene_output(scene, export));
    there = analyze_scene_output(scene, ask);
    back = analyze_scene_output(scene, ask_back);
    CHECK_CONTAINS(there, "\"\"world_size\"\": 4");
    assert_string_equal(back, there);
    free(there);
    free(back);
}

/* --- Adding to a trace. --- */

static void appended_sessions_stand_beside_each_other(void **state)
{
    static const char sql[] = "SELECT count(*) AS n, count(DISTINCT correlation) AS launches,"
                              " (SELECT count(*) FROM run) AS runs FROM event";
    const char *const one[] = {"store.db", "--session", "1",        "--export",
                               "chrome",   "--append",  "all.json", NULL};
    const char *const two[] = {"store.db", "--session", "2",        "--export",
                               "chrome",   "--append",  "all.json", NULL};
    const char *const three[] = {"store.db", "--session", "3",        "--export",
                                 "chrome",   "--append",  "all.json", NULL};
    const char *const count[] = {"all.json", "--format", "csv", "--sql", sql, NULL};
    struct analyze_scene *scene = *state;
    char *path = temp_path(scene->dir, "all.json"), *text;
    cJSON *trace;
    FILE *file;

    free(analyze_scene_output(scene, one));
    free(analyze_scene_output(scene, two));
    /* A file that lost its bracket goes on as well. */
    text = temp_read(path, NULL);
    *strrchr(text, ']') = '\0';
    file = fopen(path, "w");
    fputs(text, file);
    fclose(file);
    free(text);
    free(analyze_scene_output(scene, three));
    text = temp_read(path, NULL);
    trace = cJSON_Parse(text);
    assert_true(cJSON_IsArray(trace));
    cJSON_Delete(trace);
    free(text);
    text = analyze_scene_output(scene, count);
    assert_string_equal(text, "n,launches,runs\n31,7,4\n");
    free(text);
    free(path);
}

/* Each waits for the others: nothing is lost. */
static void many_append_at_once(void **state)
{
    enum { WRITERS = 6 };
    static const char sql[] = "SELECT count(*) AS n FROM event";
    struct analyze_scene *scene = *state;
    const struct child_options options = {.directory = scene->dir};
    const char *argv[] = {scene->program, "store.db",  "--export", "chrome", "--append",
                          "many.json",    "--session", "1",        NULL};
    const char *const count[] = {"many.json", "--format", "csv", "--sql", sql, NULL};
    struct child children[WRITERS];
    char *text;

    for (size_t i = 0; i < WRITERS; i++)
        child_start(&children[i], argv, &options);
    for (size_t i = 0; i < WRITERS; i++) {
        int status = child_wait(&children[i], WAIT_MS);

        if (status != 0)
            fail_msg("status %d: %s", status, children[i].err);
        child_deinit(&children[i]);
    }
    text = analyze_scene_output(scene, count);
    assert_string_equal(text, "n\n42\n");
    free(text);
}

/* What is no trace of ours keeps its bytes. */
static void other_files_are_not_appended_to(void **state)
{
    static const char *const contents[] = {
        "[{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":2}]",
        "{\"traceEvents\":[]}",
        "some text",
    };
    struct analyze_scene *scene = *state;
    const struct child_options options = {.directory = scene->dir};
    const char *argv[] = {scene->program, "store.db", "--export", "chrome",
                          "--append",     "foreign",  NULL};

    for (size_t i = 0; i < sizeof(contents) / sizeof(contents[0]); i++) {
        char *path = temp_write(scene->dir, "foreign", contents[i], strlen(contents[i])), *text;
        struct child_result result = child_run(argv, &options);

        assert_int_equal(result.status, 3);
        CHECK_CONTAINS(result.err, "was not begun with --append");
        text = temp_read(path, NULL);
        assert_string_equal(text, contents[i]);
        free(text);
        free(path);
        child_result_deinit(&result);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chrome_traces_give_the_same_report),
        cmocka_unit_test(megengine_profiles_give_the_same_report),
        cmocka_unit_test(smaller_stores_give_the_same_reports),
        cmocka_unit_test(a_smaller_store_has_all_of_its_session),
        cmocka_unit_test(every_report_is_the_same_of_a_smaller_store),
        cmocka_unit_test(chrome_traces_bring_all_events_back),
        cmocka_unit_test(chrome_traces_keep_their_place),
        cmocka_unit_test(memory_keeps_its_owners),
        cmocka_unit_test(memory_of_shared_traces_comes_back),
        cmocka_unit_test(counters_of_kernels_come_back),
        cmocka_unit_test(shared_traces_come_back_event_by_event),
        cmocka_unit_test(stacks_are_those_of_pytorch),
        cmocka_unit_test(appended_sessions_stand_beside_each_other),
        cmocka_unit_test(many_append_at_once),
        cmocka_unit_test(other_files_are_not_appended_to),
    };

    return cmocka_run_group_tests(tests, start, stop);
}
