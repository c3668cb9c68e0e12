/* SPDX-License-Identifier: Apache-2.0 */
/* Options of load_and_run that choose kernels: what they say, what they write, what they refuse. */
#include <unistd.h>

#include "base/exit_status.h"
#include "tests/support/check.h"
#include "tests/support/child.h"
#include "tests/support/onnx_sample.h"
#include "tests/support/place.h"
#include "tests/support/temp.h"

static char *program, *folder;

enum { WORDS_MAX = 16 };

static struct child_result run(const char *const words[WORDS_MAX])
{
    const char *const environment[] = {"OPTRACE_SOCKET=/nonexistent/collector.sock", NULL};
    struct child_options options = {
        .environment = environment, .directory = folder, .timeout_ms = 300000};

    return child_run(words, &options);
}

#define RUN(...)                                                                                   \
    run((const char *const[WORDS_MAX]){program, "good.onnx", "--iter", "2", __VA_ARGS__})

static void expect(struct child_result result, int status, const char *err)
{
    if (result.status != status)
        fail_msg("status %d: %s", result.status, result.err);
    if (status == EXIT_OK)
        CHECK_CONTAINS(result.out, "finished test");
    else
        assert_string_equal(result.out, "");
    CHECK_CONTAINS(result.err, err);
    child_result_deinit(&result);
}

static char *read_policy(void)
{
    char *path = temp_path(folder, "policy"), *text;
    size_t size;

    text = temp_read(path, &size);
    free(path);
    return text;
}

static void forget_policy(void)
{
    char *path = temp_path(folder, "policy");

    unlink(path);
    free(path);
}

static void kernels_are_timed(void **state)
{
    expect(RUN("--fast-run"), EXIT_OK, "load_and_run: --fast-run: ");
    expect(RUN("--full-run", "--verbose"), EXIT_OK, " bytes of scratch, default");
    expect(RUN("--full-run", "--verbose"), EXIT_OK, "load_and_run:     ref, ");
}

static void a_policy_is_made_once_and_then_read(void **state)
{
    char *first, *second;

    expect(RUN("--fast-run-algo-policy", "policy"), EXIT_INPUT, "policy does not exist");
    expect(RUN("--fast-run", "--fast-run-algo-policy", "policy"), EXIT_OK, " shapes timed in ");
    first = read_policy();
    CHECK_CONTAINS(first, "optrace-policy 1\nmachine ");
    CHECK_CONTAINS(first, ", 1 threads, optrace ");
    expect(RUN("--fast-run-algo-policy", "policy"), EXIT_OK, "; 0 shapes timed, ");
    expect(RUN("--fast-run", "--fast-run-algo-policy", "policy"), EXIT_OK, "; 0 shapes timed, ");
    second = read_policy();
    assert_string_equal(first, second);
    free(first);
    free(second);
    /* Times of one thread say nothing about two. */
    expect(RUN("--fast-run-algo-policy", "policy", "--multithread", "2"), EXIT_OK,
           "; 0 shapes timed, 0 known");
    expect(RUN("--fast-run", "--fast-run-algo-policy", "policy", "--multithread", "2"), EXIT_OK,
           " shapes timed in ");
    second = read_policy();
    CHECK_CONTAINS(second, ", 1 threads, optrace ");
    CHECK_CONTAINS(second, ", 2 threads, optrace ");
    free(second);
    forget_policy();
}

static void foreign_and_damaged_policies_are_refused(void **state)
{
    char *text;

    free(temp_write(folder, "policy", "hello\n", 6));
    expect(RUN("--fast-run-algo-policy", "policy"), EXIT_INPUT,
           "policy is no policy file of load_and_run: it does not begin with \"optrace-policy \"");
    forget_policy();
    expect(RUN("--fast-run", "--fast-run-algo-policy", "policy"), EXIT_OK, "");
    text = read_policy();
    free(temp_write(folder, "policy", text, strlen(text) - 1));
    expect(RUN("--fast-run", "--fast-run-algo-policy", "policy"), EXIT_INPUT,
           "policy is truncated: it does not end in a checksum; delete it");
    text[20] = text[20] == 'x' ? 'y' : 'x';
    free(temp_write(folder, "policy", text, strlen(text)));
    expect(RUN("--fast-run", "--fast-run-algo-policy", "policy"), EXIT_INPUT,
           "policy is damaged: its checksum does not fit; delete it");
    free(text);
    forget_policy();
    expect(RUN("--fast-run", "--fast-run-algo-policy", "nowhere/policy"), EXIT_INPUT,
           "cannot write nowhere/policy: No such file or directory");
}

static void properties_are_asked_for(void **state)
{
    expect(RUN("--reproducible"), EXIT_OK, "load_and_run: --reproducible: 0 of ");
    expect(RUN("--binary-equal-between-batch"), EXIT_OK, "--binary-equal-between-batch: ");
    expect(RUN("--workspace-limit", "0"), EXIT_OK, "--workspace-limit: ");
}

static void combinations_that_say_nothing_are_refused(void **state)
{
    expect(RUN("--fast-run", "--full-run"), EXIT_USAGE, "exclude each other");
    expect(RUN("--fast-run-shared-batch-size", "8"), EXIT_USAGE,
           "--fast-run-shared-batch-size needs --fast-run, --full-run or --fast-run-algo-policy");
    expect(RUN("--fast-run", "--fast-run-shared-batch-size", "0"), EXIT_USAGE, "");
    expect(run((const char *const[WORDS_MAX]){program, "--calibrate", "--reproducible"}),
           EXIT_USAGE, "--calibrate runs no model");
}

static int set_up(void **state)
{
    struct onnx_sample sample;
    size_t size;
    uint8_t *bytes;

    program = place_program("runtime/load_and_run");
    folder = temp_create();
    onnx_sample_init(&sample);
    bytes = onnx_sample_pack(&sample, &size);
    free(temp_write(folder, "good.onnx", bytes, size));
    free(bytes);
    return 0;
}

static int tear_down(void **state)
{
    temp_destroy(&folder);
    free(program);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_are_timed),
        cmocka_unit_test(a_policy_is_made_once_and_then_read),
        cmocka_unit_test(foreign_and_damaged_policies_are_refused),
        cmocka_unit_test(properties_are_asked_for),
        cmocka_unit_test(combinations_that_say_nothing_are_refused),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
