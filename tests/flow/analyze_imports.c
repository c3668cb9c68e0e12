/* SPDX-License-Identifier: Apache-2.0 */
/* The shared traces of other tools: profile_analyze reads each, and what it says was counted by
 * other means. */
#include <unistd.h>

#include "tests/support/check.h"
#include "tests/support/child.h"
#include "tests/support/place.h"
#include "tests/support/temp.h"

struct trace {
    const char *path, *counts, *types;
};

/* session.source; spans and marks; kernels; memory events, and those inside of an op; runs;
 * distinct correlations of launches that have a device span; bytes copied and set; first start in
 * ns. */
static const char counts_sql[] =
    "SELECT (SELECT source FROM session) || ' ' || (SELECT count(*) FROM event)"
    " || ' ' || (SELECT count(*) FROM event JOIN op USING (op_id) WHERE type = 'kernel')"
    " || ' ' || (SELECT count(*) FROM memory_event)"
    " || ' ' || (SELECT count(*) FROM memory_event WHERE op_id IS NOT NULL)"
    " || ' ' || (SELECT count(*) FROM run)"
    " || ' ' || (SELECT count(DISTINCT d.correlation) FROM event d JOIN lane USING (lane_id)"
    "             WHERE kind = 'stream' AND d.correlation IN"
    "             (SELECT correlation FROM event JOIN lane USING (lane_id) WHERE kind = 'thread'))"
    " || ' ' || (SELECT coalesce(sum(bytes), 0) FROM event)"
    " || ' ' || (SELECT min(start_ns) FROM event) || ': ' ||"
    " (SELECT group_concat(type || ' ' || n, ', ') FROM (SELECT type, count(*) AS n FROM event"
    "  JOIN op USING (op_id) GROUP BY type ORDER BY type)) AS counts";

static const struct trace traces[] = {
    {"traces/kineto-gpu/a100_alexnet_train.json.gz",
     "chrome 867 79 0 0 0 139 244425120 1695835542514261000",
     "copy 16, cpu_op 359, cuda_runtime 361, kernel 79, label 8, memset 3, phase 41"},
    {"traces/kineto-gpu/a100_recsys_train_shapes.json.gz",
     "chrome 67216 6080 0 0 5 6600 16891202864 1683564901548726000",
     "collective 85, copy 1390, cpu_op 25185, cuda_runtime 33924, kernel 6080, label 275, "
     "memset 277"},
    {"traces/kineto-gpu/a100_resnet_nccl_rank.json.gz",
     "chrome 26932 2700 0 0 3 3774 716464101 1716423322416788066",
     "collective 21, copy 960, cpu_op 14346, cuda_runtime 8740, kernel 2700, label 51, "
     "memset 114"},
    {"traces/kineto-gpu/v100_resnet50_shapes_stack_memory_legacy.json.gz",
     "chrome 44665 8772 12838 9544 6 9096 482082960 1623142623460072000",
     "copy 12, cpu_op 23640, cuda_runtime 11923, kernel 8772, label 6, memset 312"},
    {"traces/onnxruntime/light_resnet50_cpu_1thread_3runs.json", "onnxruntime 185 0 0 0 3 0 0 2000",
     "AveragePool 3, Conv 159, Gemm 3, MaxPool 3, ReorderOutput 3, Reshape 3, Softmax 3, label 8"},
    {"traces/onnxruntime/light_squeezenet_cpu_1thread_3runs.json",
     "onnxruntime 128 0 0 0 3 0 0 2000",
     "Concat 24, Conv 78, GlobalAveragePool 3, MaxPool 9, ReorderOutput 3, Softmax 3, label 8"},
    {"traces/nsys-sqlite/h100_2gpu_train_a.sqlite",
     "nsys 32249 4010 0 0 0 5634 8046135620 1779782390288182771",
     "copy 1020, cpu_op 18656, cuda_runtime 7466, kernel 4010, label 462, memset 269, phase 366"},
    {"traces/pytorch/cnn_inference_cpu.function_events.json",
     "pytorch events 433 0 174 174 0 0 0 171000", "cpu_op 418, label 15"},
    {"traces/pytorch/cnn_inference_cpu.stacks.txt", "folded samples 257 0 0 0 0 0 0 0",
     "frame 257"},
    {"traces/pytorch/cnn_inference_cpu.json", "chrome 433 0 0 0 0 0 0 171000", "cpu_op 433"},
};

static void counts_are_right(void **state)
{
    char *program = place_program("analyze/profile_analyze");
    size_t seen = 0;

    for (size_t i = 0; i < sizeof(traces) / sizeof(traces[0]); i++) {
        char *path = place_shared(traces[i].path);
        const char *argv[] = {program, path, "--format", "csv", "--sql", counts_sql, NULL};
        struct child_result result;
        char *wanted;

        if (!path)
            continue;
        seen++;
        result = child_run(argv, NULL);
        if (result.status != 0)
            fail_msg("%s: status %d: %s", path, result.status, result.err);
        if (asprintf(&wanted, "counts\n\"%s: %s\"\n", traces[i].counts, traces[i].types) < 0)
            fail_msg("no memory");
        /* A text without a comma stands without quotes. */
        if (!strchr(traces[i].types, ','))
            snprintf(wanted, strlen(wanted) + 1, "counts\n%s: %s\n", traces[i].counts,
                     traces[i].types);
        assert_string_equal(result.out, wanted);
        free(wanted);
        child_result_deinit(&result);
        free(path);
    }
    free(program);
    if (!seen)
        CHECK_SKIP("the shared traces are not there");
}

/* What PyTorch's own table says of the same run: "Self CPU time total: 10.116ms". */
static void self_times_add_up_to_pytorchs_total(void **state)
{
    char *program = place_program("analyze/profile_analyze");
    char *path = place_shared("traces/pytorch/cnn_inference_cpu.json");
    const char *argv[] = {program, path, "--print-only", "summary", NULL};
    struct child_result result;

    if (!path) {
        free(program);
        CHECK_SKIP("the shared traces are not there");
    }
    result = child_run(argv, NULL);
    assert_int_equal(result.status, 0);
    CHECK_CONTAINS(result.out, "0.010116");
    child_result_deinit(&result);
    free(path);
    free(program);
}

/* Runs profile_analyze; the caller gives the result to child_result_deinit(). */
static struct child_result analyze(const char *const *arguments)
{
    char *program = place_program("analyze/profile_analyze");
    const char *argv[16] = {program};
    struct child_result result;

    for (size_t i = 0; arguments[i]; i++)
        argv[i + 1] = arguments[i];
    result = child_run(argv, NULL);
    free(program);
    return result;
}

static void check_output(const char *const *arguments, const char *wanted)
{
    struct child_result result = analyze(arguments);

    if (result.status != 0)
        fail_msg("status %d: %s", result.status, result.err);
    assert_string_equal(result.out, wanted);
    child_result_deinit(&result);
}

static const char small_trace[] = "[{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":2},"
                                  "{\"ph\":\"X\",\"name\":\"b\",\"ts\":4,\"dur\":1}]";

static void imports_stay_in_a_store(void **state)
{
    char *dir = temp_create(), *store = temp_path(dir, "kept.db");
    char *new_store = temp_path(dir, "new.db");
    char *whole = temp_write(dir, "whole.json", small_trace, sizeof(small_trace) - 1);
    char *cut = temp_write(dir, "cut.json", small_trace, sizeof(small_trace) - 9);
    const char *const both[] = {"--import", whole, cut, "--lenient", "--into", store, NULL};
    const char *const count[] = {
        store,
        "--format",
        "csv",
        "--sql",
        "SELECT session_id, source, count(*) AS n FROM event JOIN lane USING (lane_id)"
        " JOIN session USING (session_id) GROUP BY session_id",
        NULL};
    const char *const again[] = {"--import", cut, "--into", store, NULL};
    const char *const mixed[] = {"--import", whole, cut, "--into", store, NULL};
    const char *const fresh[] = {"--import", whole, cut, "--into", new_store, NULL};
    const char *const twice[] = {"--import", whole, "--into", store, NULL};
    char wanted[1024];
    struct child_result result;

    snprintf(
        wanted, sizeof(wanted),
        "%s: session 1: 2 events of a Chrome trace\n"
        "%s: session 2: 1 events of a Chrome trace; the rest is lost: %s: the file ends at byte "
        "%zu, in the middle of the value that begins at byte 38\n",
        whole, cut, cut, sizeof(small_trace) - 9);
    check_output(both, wanted);
    check_output(count, "session_id,source,n\n1,chrome,2\n2,chrome,1\n");
    /* Damage without --lenient changes nothing. */
    result = analyze(again);
    assert_int_equal(result.status, 3);
    CHECK_CONTAINS(result.err, "in the middle of the value");
    child_result_deinit(&result);
    check_output(count, "session_id,source,n\n1,chrome,2\n2,chrome,1\n");
    /* Nor does it with others that are whole, and what was imported before is detected. */
    result = analyze(mixed);
    assert_int_equal(result.status, 3);
    assert_string_equal(result.out, "");
    child_result_deinit(&result);
    result = analyze(fresh);
    assert_int_equal(result.status, 3);
    child_result_deinit(&result);
    assert_int_equal(access(new_store, F_OK), -1);
    check_output(count, "session_id,source,n\n1,chrome,2\n2,chrome,1\n");
    snprintf(wanted, sizeof(wanted),
             "%s: session 3: 2 events of a Chrome trace; the same events as session 1\n", whole);
    check_output(twice, wanted);
    free(new_store);
    free(cut);
    free(whole);
    free(store);
    temp_destroy(&dir);
}

/* What is said to be damaged is so by the importer's word, not by the file's name. */
static void a_name_is_no_damage(void **state)
{
    char *dir = temp_create();
    char *whole = temp_write(dir, "x; the rest is lost: y; malformed z.json", small_trace,
                             sizeof(small_trace) - 1);
    char *cut = temp_write(dir, "cut.json", small_trace, sizeof(small_trace) - 9);
    const char *const sound[] = {whole, "--strict", NULL};
    const char *const damaged[] = {cut, "--lenient", "--strict", NULL};
    struct child_result result = analyze(sound);

    if (result.status != 0)
        fail_msg("status %d: %s", result.status, result.err);
    child_result_deinit(&result);
    result = analyze(damaged);
    assert_int_equal(result.status, 1);
    CHECK_CONTAINS(result.err, "1 piece is damaged");
    child_result_deinit(&result);
    free(cut);
    free(whole);
    temp_destroy(&dir);
}

/* On a thread a and b overlap without one holding the other, and c is in both, which is in the one that began
 * last; on a stream three kernels run at once. No time counts twice on the host, and none is lost. */
static void overlaps_keep_their_times(void **state)
{
    static const char trace[] =
        "[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"outer\",\"pid\":1,\"tid\":1,\"ts\":0,\"dur\":"
        "100},"
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":10,\"dur\":30},"
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"b\",\"pid\":1,\"tid\":1,\"ts\":30,\"dur\":40},"
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"c\",\"pid\":1,\"tid\":1,\"ts\":32,\"dur\":5},"
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k1\",\"pid\":0,\"tid\":7,\"ts\":50,\"dur\":20."
        "5},"
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k2\",\"pid\":0,\"tid\":7,\"ts\":60,\"dur\":20}"
        ","
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k3\",\"pid\":0,\"tid\":7,\"ts\":62,\"dur\":2}"
        "]";
    static const char *const lines[] = {"20500,0.4823529411764706,20500,0.4823529411764706,k1,",
                                        "2000,0.047058823529411764,42500,1,k3,",
                                        "35000,0.35,35000,0.35,b,",
                                        "30000,0.3,65000,0.65,outer,",
                                        "30000,0.3,95000,0.95,a,",
                                        "5000,0.05,100000,1,c,"};
    char *dir = temp_create(), *path = temp_write(dir, "trace.json", trace, sizeof(trace) - 1);
    const char *const arguments[] = {path, "--show-host", "--top", "0", "--format", "csv", NULL};
    struct child_result result = analyze(arguments);

    assert_int_equal(result.status, 0);
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
        CHECK_CONTAINS(result.out, lines[i]);
    child_result_deinit(&result);
    free(path);
    temp_destroy(&dir);
}

/* Runs a command of a shell, in which $analyze is the program and $folder an empty folder. */
static void check_command(const char *command, int status, const char *out, const char *err)
{
    char *program = place_program("analyze/profile_analyze"), *folder = temp_create(), *text;
    const char *argv[] = {"/bin/sh", "-c", NULL, NULL};
    struct child_result result;

    if (asprintf(&text, "analyze='%s'; cd '%s'; %s", program, folder, command) < 0)
        fail_msg("no memory");
    argv[2] = text;
    result = child_run(argv, NULL);
    assert_string_equal(result.err, err);
    assert_string_equal(result.out, out);
    assert_int_equal(result.status, status);
    child_result_deinit(&result);
    free(text);
    free(program);
    temp_destroy(&folder);
}

/* What comes through a pipe cannot be read twice. */
static void reads_pipes(void **state)
{
    char *command;

    if (asprintf(&command,
                 "printf '%%s' '%s' | gzip | $analyze /dev/stdin --format csv"
                 " --sql 'SELECT name FROM op'",
                 small_trace) < 0)
        fail_msg("no memory");
    check_command(command, 0, "name\na\nb\n", "");
    free(command);
    check_command("printf 'a 1\\n' > s; $analyze --import s --into store > /dev/null;"
                  " cat store | $analyze /dev/stdin --format csv --sql 'SELECT name FROM op'",
                  0, "name\na\n", "");
}

/* gzip holds anything, and stacks may begin like JSON. */
static void looks_into_gzip(void **state)
{
    check_command("printf '[unknown];a 1\\n' | gzip > s; $analyze s --export folded", 0,
                  "[unknown];a 1000\n", "");
    check_command("printf 'SQLite format 3\\0 and more' | gzip > s; $analyze s", 3, "",
                  "profile_analyze: s is a compressed file of SQLite: unpack it first, with"
                  " gunzip\n");
    check_command("printf a | gzip > s; head -c 13 s > t; printf '\\0\\0\\0\\0\\1\\0\\0\\0' >> t; "
                  "$analyze t 2>&1 |"
                  " cut -d: -f3-",
                  0, " cannot be unpacked behind byte 0 of its contents: incorrect data check\n",
                  "");
    check_command("printf 'a tar, maybe' | gzip > s; $analyze s 2>&1 | cut -d: -f1,2", 0,
                  "profile_analyze: s is neither SQLite nor JSON\n", "");
}

/* On a screen of 40 columns no line is longer, unless one of its words is. */
static void says_what_it_imported_on_lines_that_fit(void **state)
{
    check_command("printf '%s' '[{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":9,"
                  "\"args\":{\"Ev Idx\":1,\"queued\":2,\"cbid\":3}}]' > t;"
                  " $analyze --import t --into narrow --width 40",
                  0,
                  "t: session 1: 1 events of a Chrome\n"
                  "  trace; left out: Ev Idx (1), queued\n"
                  "  (1), cbid (1)\n",
                  "");
}

/* Numbers of bytes that no machine has are in no sum, which would not hold them. */
static void believes_no_bytes_beyond_a_machine(void **state)
{
    check_command(
        "printf '%s' '[{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":9},"
        "{\"ph\":\"i\",\"name\":\"[memory]\",\"ts\":3,\"args\":{\"Bytes\":9223372036854775807}},"
        "{\"ph\":\"i\",\"name\":\"[memory]\",\"ts\":4,\"args\":{\"Bytes\":9223372036854775807}},"
        "{\"ph\":\"i\",\"name\":\"[memory]\",\"ts\":5,\"args\":{\"Bytes\":100}}]' > t;"
        " $analyze t --export folded --weight alloc",
        0, "a 100\n", "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_are_right),
        cmocka_unit_test(self_times_add_up_to_pytorchs_total),
        cmocka_unit_test(imports_stay_in_a_store),
        cmocka_unit_test(a_name_is_no_damage),
        cmocka_unit_test(overlaps_keep_their_times),
        cmocka_unit_test(reads_pipes),
        cmocka_unit_test(looks_into_gzip),
        cmocka_unit_test(says_what_it_imported_on_lines_that_fit),
        cmocka_unit_test(believes_no_bytes_beyond_a_machine),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
