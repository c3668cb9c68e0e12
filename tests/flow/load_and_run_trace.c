/* SPDX-License-Identifier: Apache-2.0 */
/* What load_and_run records stands in the store: the model, ops with their facts, host and device
 * spans that belong together, runs, memory. */
#include "base/exit_status.h"
#include "tests/support/check.h"
#include "tests/support/child.h"
#include "tests/support/onnx_sample.h"
#include "tests/support/optraced.h"
#include "tests/support/place.h"
#include "tests/support/temp.h"

static char *program;
static struct optraced daemon_;

enum { WORDS_MAX = 8 };

/* Runs a program and waits until the daemon has seen its session end. */
static void record_with(const char *const *words, const char *first, int64_t session_count)
{
    char *socket;
    /* The model's two operators stay two: these tests look at each. */
    const char *argv[WORDS_MAX + 4] = {program, first, "--no-enable-jit"};
    const char *environment[] = {NULL, NULL};
    struct child_options options = {.environment = environment};
    struct child_result result;

    assert_true(asprintf(&socket, "OPTRACE_SOCKET=%s", daemon_.socket) > 0);
    environment[0] = socket;
    for (int i = 0; i < WORDS_MAX && words[i]; i++)
        argv[i + 3] = words[i];
    result = child_run(argv, &options);
    if (result.status != EXIT_OK)
        fail_msg("%s", result.err);
    child_result_deinit(&result);
    optraced_wait_for(&daemon_, "SELECT count(*) FROM session WHERE end_ns IS NOT NULL",
                      session_count);
    free(socket);
}

/* The sample model. */
static void record(const char *const words[WORDS_MAX], int64_t session_count)
{
    char *model = temp_path(daemon_.dir, "model.onnx");

    record_with(words, model, session_count);
    free(model);
}

#define RECORD(sessions, ...) record((const char *const[WORDS_MAX]){__VA_ARGS__}, sessions)

static void expect(const char *sql, int64_t wanted)
{
    int64_t got = optraced_query(&daemon_, sql);

    if (got != wanted)
        fail_msg("%s: %lld, not %lld", sql, (long long)got, (long long)wanted);
}

static void expect_text(const char *sql, const char *wanted)
{
    char *got = optraced_query_text(&daemon_, sql);

    assert_string_equal(got, wanted);
    free(got);
}

static void start(void)
{
    struct onnx_sample sample;
    uint8_t *bytes;
    size_t size;

    optraced_init(&daemon_);
    optraced_start(&daemon_, NULL);
    onnx_sample_init(&sample);
    bytes = onnx_sample_pack(&sample, &size);
    free(temp_write(daemon_.dir, "model.onnx", bytes, size));
    free(bytes);
}

static void stop(void)
{
    assert_int_equal(optraced_stop(&daemon_), 0);
    optraced_deinit(&daemon_);
}

static void a_run_stands_in_the_store(void **state)
{
    start();
    RECORD(1, "--iter", "3", "--warmup-iter", "2", "--trace");
    expect_text("SELECT name || ' ' || format || ' ' || producer FROM model", "main onnx test");
    expect("SELECT count(*) FROM run", 5);
    expect("SELECT count(*) FROM run WHERE warmup = 1", 2);
    expect("SELECT count(*) FROM run WHERE model_id IS NULL OR end_ns < start_ns", 0);

    /* Two ops, each five times on each side. */
    expect_text("SELECT name || ' ' || device || ' ' || computation_flop || ' ' || memory_bytes "
                "|| ' ' || origin FROM op WHERE type = 'Add'",
                "sum cpu:0 6 72 [\"sum\"]");
    expect("SELECT count(*) FROM op WHERE type IN ('Add', 'Relu') AND "
           "json_extract(input_shapes, '$[0][1]') = 3 AND json_valid(params)",
           2);
    expect_text("SELECT group_concat(json_extract(params, '$.model_inputs')) FROM op "
                "WHERE input_shapes IS NOT NULL",
                "[0]");
    expect("SELECT count(*) FROM event JOIN lane USING (lane_id) WHERE lane.kind = 'queue'", 10);
    expect("SELECT count(*) FROM event JOIN lane USING (lane_id) WHERE lane.kind = 'thread'", 10);
    expect("SELECT count(DISTINCT op_id) FROM event", 2);
    stop();
}

static void write_control_model(void)
{
    struct onnx_control_sample sample;
    uint8_t *bytes;
    size_t size;

    onnx_control_sample_init(&sample);
    bytes = onnx_sample_pack(&sample.outer, &size);
    free(temp_write(daemon_.dir, "model.onnx", bytes, size));
    free(bytes);
}

/* What the chosen branch did stands on the queue's lane, inside of the If. */
static void bodies_are_recorded_inside(void **state)
{
    start();
    write_control_model();
    RECORD(1, "--iter", "3", "--warmup-iter", "0", "--trace");
    expect("SELECT count(*) FROM op WHERE type IN ('If', 'Add', 'Relu')", 5);
    expect("SELECT count(*) FROM event JOIN op USING (op_id) WHERE type IN ('Add', 'Relu')", 6);
    expect("SELECT count(*) FROM event e JOIN op o ON o.op_id = e.op_id JOIN event i ON i.lane_id "
           "= e.lane_id AND i.run = e.run JOIN op p ON p.op_id = i.op_id WHERE o.type IN ('Add', "
           "'Relu') AND p.type = 'If' AND e.start_ns >= i.start_ns AND e.start_ns + e.dur_ns <= "
           "i.start_ns + i.dur_ns",
           6);
    expect("SELECT count(DISTINCT node_id) FROM op", 5);
    stop();
}

static void host_and_device_belong_together(void **state)
{
    start();
    RECORD(1, "--iter", "4", "--warmup-iter", "0", "--trace");
    expect("SELECT count(*) FROM event h JOIN lane hl ON hl.lane_id = h.lane_id AND hl.kind = "
           "'thread' JOIN event d ON d.correlation = h.correlation JOIN lane dl ON dl.lane_id = "
           "d.lane_id AND dl.kind = 'queue' WHERE h.op_id = d.op_id AND h.run = d.run AND "
           "d.start_ns + d.kern_ns >= h.start_ns",
           8);
    expect("SELECT count(*) FROM event WHERE kern_ns IS NULL OR kern_ns < 0 OR kern_ns > dur_ns",
           0);
    expect("SELECT count(*) FROM event e LEFT JOIN run r ON r.run = e.run WHERE r.run IS NULL OR "
           "e.start_ns < r.start_ns OR e.start_ns + e.dur_ns > "
           "r.end_ns",
           0);
    stop();
}

/* What a query says of the profile; the caller frees it. */
static char *ask_profile(const char *profile, const char *sql)
{
    char *analyze = place_program("analyze/profile_analyze"), *text;
    const char *argv[] = {analyze, profile, "--format", "csv", "--sql", sql, NULL};
    struct child_result result = child_run(argv, NULL);

    if (result.status != EXIT_OK)
        fail_msg("%s", result.err);
    text = strdup(result.out);
    assert_non_null(text);
    child_result_deinit(&result);
    free(analyze);
    return text;
}

/* Of the durations of all spans, in ns. */
static double sum_of(const char *source)
{
    char *text = ask_profile(source, "SELECT sum(dur_ns) AS a FROM event");
    double sum = strtod(text + strlen("a\n"), NULL);

    free(text);
    assert_true(sum > 0);
    return sum;
}

/* The same runs were recorded and profiled at once: the profile has the same ops, runs and spans,
 * to the rounding of times. */
static void a_profile_tells_what_was_recorded(void **state)
{
    static const char *const questions[] = {
        "SELECT group_concat(name || ' ' || type || ' ' || node_id || ' ' || device || ' ' ||"
        " input_shapes || input_dtypes || output_shapes || output_dtypes || params || ' ' ||"
        " coalesce(computation_flop, '-') || ' ' || memory_bytes || ' ' || workspace_bytes || ' '"
        " || origin, ';') AS a FROM (SELECT * FROM op WHERE op_id IN (SELECT op_id FROM event)"
        " ORDER BY name)",
        "SELECT group_concat(name || format || producer) AS a FROM model",
        "SELECT group_concat(run || ' ' || warmup || model_id) AS a FROM run",
        "SELECT group_concat(n, ';') AS a FROM (SELECT name || ' ' || kind || ' ' || run || ' ' ||"
        " count(*) || ' ' || (correlation IS NULL) AS n FROM event JOIN op USING (op_id)"
        " JOIN (SELECT lane_id, kind FROM lane) USING (lane_id) GROUP BY op_id, kind, run"
        " ORDER BY op.name, kind, run)",
    };
    char *profile;

    start();
    profile = temp_path(daemon_.dir, "profile.json");
    RECORD(1, "--iter", "3", "--warmup-iter", "1", "--trace", "--profile", profile);
    for (size_t i = 0; i < sizeof(questions) / sizeof(questions[0]); i++) {
        char *recorded = ask_profile(daemon_.store, questions[i]);
        char *profiled = ask_profile(profile, questions[i]);

        assert_true(strlen(recorded) > strlen("a\n1\n"));
        assert_string_equal(profiled, recorded);
        free(profiled);
        free(recorded);
    }
    CHECK_NEAR(sum_of(profile), sum_of(daemon_.store), 2000 + 0.01 * sum_of(profile));
    free(profile);
    stop();
}

/* Each phase within an op of its lane and run; out of runs, shapes alone. */
static void expect_phases_inside(void)
{
    expect("SELECT count(*) FROM event e JOIN op o USING (op_id) WHERE o.type = 'phase' AND"
           " (SELECT count(*) FROM event w JOIN op p ON p.op_id = w.op_id WHERE p.type <> 'phase'"
           "  AND w.lane_id = e.lane_id AND w.run = e.run AND w.start_ns <= e.start_ns AND"
           "  w.start_ns + w.dur_ns >= e.start_ns + e.dur_ns) = 0 AND"
           " NOT (e.run IS NULL AND o.name = 'infer_shape')",
           0);
    expect("SELECT count(*) FROM event WHERE run IS NULL", 1);
}

/* The first line of a report's CSV that has this in it, or NULL; the caller frees it. */
static char *line_of(const char *const *words, const char *part)
{
    char *analyze = place_program("analyze/profile_analyze"), *line = NULL, *at;
    const char *argv[] = {analyze,  daemon_.store, "--format", "csv",    "--report",
                          words[0], words[1],      words[2],   words[3], NULL};
    struct child_result result = child_run(argv, NULL);

    if (result.status != EXIT_OK)
        fail_msg("%s", result.err);
    for (char *text = result.out; (at = strsep(&text, "\n")) && !line;)
        line = strstr(at, part) ? strdup(at) : NULL;
    child_result_deinit(&result);
    free(analyze);
    return line;
}

/* Or whether there is none, where `wanted` is NULL. */
static void expect_line(const char *const words[4], const char *part, const char *wanted)
{
    char *line = line_of(words, part);

    if (!wanted)
        assert_null(line);
    else if (!line || !strstr(line, wanted))
        fail_msg("%s of %s: %s, not %s", part, words[0], line, wanted);
    free(line);
}

#define LINE(part, wanted, ...) expect_line((const char *const[4]){__VA_ARGS__}, part, wanted)

static void phases_are_recorded_when_asked_for(void **state)
{
    static const char *const details[] = {"default", "op", "all"};

    for (int i = 0; i < 3; i++) {
        start();
        RECORD(1, "--iter", "3", "--warmup-iter", "0", "--trace", "--trace-detail", details[i]);
        expect("SELECT count(*) FROM event JOIN op USING (op_id) WHERE type IN ('Add', 'Relu')",
               12);
        LINE("compute", NULL, "ops", "-t", "0");
        LINE("compute", NULL, "events");
        if (i == 0) {
            expect("SELECT count(*) FROM op WHERE type = 'phase'", 0);
            LINE("compute", NULL, "events", "--detail", "op");
            stop();
            continue;
        }
        expect_phases_inside();
        expect("SELECT count(*) FROM event JOIN op USING (op_id) WHERE type = 'phase'", 7);
        LINE("compute", ",1,phase,,,compute,3,", "events", "--detail", "op");
        LINE("compute", ",2,phase,,,compute,3,", "events", "--detail", "all");
        expect_text("SELECT group_concat(name) FROM (SELECT name FROM op WHERE type = 'phase' AND"
                    " node_id IS NOT NULL ORDER BY name)",
                    i == 2 ? "act/compute,sum/compute" : "");
        stop();
    }
}

/* Those of nodes in a branch are inferred, prepared and computed each time. */
static void bodies_have_all_phases(void **state)
{
    start();
    write_control_model();
    RECORD(1, "--iter", "3", "--warmup-iter", "0", "--trace", "--trace-detail", "op");
    expect_phases_inside();
    expect_text("SELECT group_concat(n, ';') FROM (SELECT name || ' ' || count(*) AS n FROM event"
                " JOIN op USING (op_id) WHERE type = 'phase' AND run IS NOT NULL GROUP BY name"
                " ORDER BY name)",
                "compute 6;infer_shape 6;prepare_data 6");
    expect("SELECT count(*) FROM event e JOIN op USING (op_id) WHERE type IN ('Add', 'Relu') AND"
           " (SELECT sum(p.dur_ns) FROM event p JOIN op q ON q.op_id = p.op_id WHERE q.type ="
           "  'phase' AND p.lane_id = e.lane_id AND p.run = e.run AND p.start_ns >= e.start_ns AND"
           "  p.start_ns + p.dur_ns <= e.start_ns + e.dur_ns) BETWEEN e.dur_ns - 9 AND e.dur_ns",
           6);
    stop();
}

/* Without a word the daemon decides. */
static void the_daemon_may_ask_for_phases(void **state)
{
    start();
    assert_int_equal(optraced_stop(&daemon_), 0);
    optraced_start(&daemon_, (const char *const[]){"--level", "detail", NULL});
    RECORD(1, "--iter", "1", "--warmup-iter", "0", "--trace");
    expect("SELECT count(*) FROM event JOIN op USING (op_id) WHERE name = 'compute'", 2);
    stop();
}

/* A run without operators, which is a warm-up as the other first ones are. */
static void a_fake_run_has_no_operators(void **state)
{
    start();
    RECORD(1, "--iter", "2", "--warmup-iter", "2", "--fake-first", "--trace");
    expect("SELECT count(*) FROM run", 4);
    expect("SELECT count(*) FROM run WHERE warmup = 1", 2);
    expect("SELECT count(*) FROM event WHERE run = 1", 0);
    expect("SELECT count(*) FROM event", 12);
    stop();
}

static void memory_is_taken_and_given_back(void **state)
{
    start();
    RECORD(1, "--iter", "1", "--trace");
    expect("SELECT count(*) > 2 FROM memory_event", 1);
    expect("SELECT sum(bytes) FROM memory_event", 0);
    expect("SELECT count(*) FROM memory_event JOIN op USING (op_id) WHERE op.name = 'arena'", 2);
    expect("SELECT count(*) FROM op a JOIN op b ON b.name = json_extract(a.params, '$.peak_op')"
           " WHERE a.name = 'arena' AND json_extract(a.params, '$.peak_bytes') > 0",
           1);
    stop();
}

static void threads_share_the_ops(void **state)
{
    start();
    RECORD(1, "--iter", "2", "--warmup-iter", "0", "--thread", "3", "--trace");
    expect("SELECT count(*) FROM op WHERE type IN ('Add', 'Relu')", 2);
    expect("SELECT count(*) FROM lane WHERE kind = 'queue'", 3);
    expect("SELECT count(*) FROM run", 6);
    expect("SELECT count(*) FROM event", 24);
    stop();
}

/* What the machine can do stands in the store of the model, and reports of the model find it,
 * though the last session is the machine's. */
static void a_calibration_is_found_by_reports(void **state)
{
    char *analyze = place_program("analyze/profile_analyze");
    const char *argv[] = {analyze, NULL, "--report", "roofline", "--format", "json", NULL};
    struct child_result result;

    start();
    argv[1] = daemon_.store;
    RECORD(1, "--iter", "2", "--trace");
    result = child_run(argv, NULL);
    assert_int_equal(result.status, 0);
    CHECK_CONTAINS(result.out, "load_and_run --calibrate");
    child_result_deinit(&result);
    record_with((const char *const[]){"--trace", NULL}, "--calibrate", 2);
    expect("SELECT count(*) > 4 FROM counter JOIN op USING (op_id) WHERE value > 0"
           " AND name LIKE 'calibration.%'",
           1);
    result = child_run(argv, NULL);
    assert_int_equal(result.status, 0);
    CHECK_CONTAINS(result.out, "The peaks are those of ");
    CHECK_CONTAINS(result.out, "measured in session 2");
    CHECK_CONTAINS(result.out, "\"bound\": \"memory\"");
    child_result_deinit(&result);
    stop();
    free(analyze);
}

/* Two readings of each counter for each execution on the queue, at its start and its end. */
static void counters_are_recorded_with_operators(void **state)
{
    start();
    RECORD(1, "--iter", "4", "--warmup-iter", "0", "--counters", "page-faults,task-clock");
    expect("SELECT count(*) FROM counter c JOIN op o USING (op_id) JOIN lane l USING (lane_id)"
           " WHERE o.name IN ('perf.page-faults', 'perf.task-clock_ns') AND l.kind = 'queue'",
           2 * 2 * 8);
    expect("SELECT count(*) FROM event e JOIN lane l USING (lane_id)"
           " JOIN counter a ON a.lane_id = e.lane_id AND a.time_ns = e.start_ns"
           " JOIN counter b ON b.lane_id = e.lane_id AND b.time_ns = e.start_ns + e.dur_ns"
           " JOIN op o ON o.op_id = a.op_id AND b.op_id = a.op_id"
           " WHERE l.kind = 'queue' AND b.value > a.value AND o.name = 'perf.task-clock_ns'",
           8);
    stop();
}

/* As for any program: the runs that it names, each with all its events. */
static void a_schedule_chooses_runs(void **state)
{
    struct child_result result;
    char *model;

    start();
    setenv("OPTRACE_SCHEDULE", "skip-first=5,wait=2,warmup=1,active=2,repeat=3", 1);
    RECORD(1, "--warmup-iter", "1", "--iter", "25");
    expect("SELECT count(*) FROM run WHERE warmup", 3);
    expect("SELECT count(*) FROM run WHERE NOT warmup", 6);
    expect("SELECT count(DISTINCT n) FROM (SELECT count(*) AS n FROM event WHERE run IS NOT NULL"
           " GROUP BY run)",
           1);
    setenv("OPTRACE_SCHEDULE", "active=2,wait=1s", 1);
    model = temp_path(daemon_.dir, "model.onnx");
    result = child_run((const char *const[]){program, model, NULL}, NULL);
    assert_int_not_equal(result.status, EXIT_OK);
    CHECK_CONTAINS(result.err, "OPTRACE_SCHEDULE: runs and times are mixed");
    child_result_deinit(&result);
    free(model);
    unsetenv("OPTRACE_SCHEDULE");
    stop();
}

static void nothing_is_recorded_when_told_so(void **state)
{
    start();
    RECORD(0, "--iter", "1", "--no-trace");
    RECORD(1, "--iter", "1"); /* without a word, a daemon that listens gets it */
    expect("SELECT count(*) FROM session", 1);
    stop();
}

/* A run of the model in the folder that goes wrong. */
static void fail_with(const char *model, const char *const words[WORDS_MAX], int status,
                      const char *err)
{
    const char *argv[WORDS_MAX + 4] = {program, model};
    char *socket;
    struct child_options options = {.directory = daemon_.dir};
    const char *environment[] = {NULL, NULL};
    struct child_result result;

    assert_true(asprintf(&socket, "OPTRACE_SOCKET=%s", daemon_.socket) > 0);
    environment[0] = socket;
    options.environment = environment;
    for (int i = 0; i < WORDS_MAX && words[i]; i++)
        argv[i + 2] = words[i];
    result = child_run(argv, &options);
    if (result.status != status)
        fail_msg("status %d: %s%s", result.status, result.out, result.err);
    CHECK_CONTAINS(result.err, err);
    child_result_deinit(&result);
    free(socket);
}

#define FAIL(model, status, err, ...)                                                              \
    fail_with(model, (const char *const[WORDS_MAX]){__VA_ARGS__}, status, err)

/* What went wrong before it ran is no session, with a recording asked for or not. */
static void failures_leave_no_session(void **state)
{
    static const char *const ways[] = {"--no-enable-jit", "--trace", "--trace-detail=op",
                                       "--counters=task-clock"};

    start();
    free(temp_write(daemon_.dir, "bad.onnx", "no model", 8));
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        const char *way = ways[i];

        FAIL("absent.onnx", EXIT_INPUT, "cannot open 'absent.onnx'", way);
        FAIL("bad.onnx", EXIT_INPUT, "bad.onnx", way);
        FAIL("absent.onnx", EXIT_INPUT, "cannot open 'absent.onnx'", way, "--thread", "3");
        FAIL("model.onnx", EXIT_INPUT, "'z'", way, "--input", "z:1");
        FAIL("model.onnx", EXIT_INPUT, "", way, "--verify", "absent");
        FAIL("model.onnx", EXIT_INPUT, "", way, "--verify", ".");
        FAIL("model.onnx", EXIT_INPUT, "make the folder first", way, "--bin-out-dump",
             "absent/folder");
        FAIL("model.onnx", EXIT_INPUT, "", way, "--io-dump", "absent/file");
        FAIL("model.onnx", EXIT_INPUT, "", way, "--get-static-mem-info", "absent/folder");
    }
    RECORD(1, "--iter", "1");
    expect("SELECT count(*) FROM session", 1);
    /* What reads the settings says first that they are wrong, too, and leaves none either. */
    FAIL("model.onnx", EXIT_USAGE, "--counters", "--counters", "nonsense");
    /* From where it ran on, there is one. */
    RECORD(2, "--iter", "1", "--thread", "3", "--trace");
    expect("SELECT count(*) FROM session", 2);
    expect("SELECT count(*) FROM run WHERE session_id = 2", 3 * (1 + 1));
    stop();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_stands_in_the_store),
        cmocka_unit_test(bodies_are_recorded_inside),
        cmocka_unit_test(host_and_device_belong_together),
        cmocka_unit_test(a_profile_tells_what_was_recorded),
        cmocka_unit_test(phases_are_recorded_when_asked_for),
        cmocka_unit_test(bodies_have_all_phases),
        cmocka_unit_test(the_daemon_may_ask_for_phases),
        cmocka_unit_test(a_fake_run_has_no_operators),
        cmocka_unit_test(memory_is_taken_and_given_back),
        cmocka_unit_test(threads_share_the_ops),
        cmocka_unit_test(a_calibration_is_found_by_reports),
        cmocka_unit_test(counters_are_recorded_with_operators),
        cmocka_unit_test(a_schedule_chooses_runs),
        cmocka_unit_test(nothing_is_recorded_when_told_so),
        cmocka_unit_test(failures_leave_no_session),
    };
    int failed;

    program = place_program("runtime/load_and_run");
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    free(program);
    return failed;
}
