/* SPDX-License-Identifier: Apache-2.0 */
/* The stacks under which ops are defined, from a program to the report. */
#include <stdlib.h>

#include "client/optrace.h"
#include "tests/support/check.h"
#include "tests/support/child.h"
#include "tests/support/optraced.h"
#include "tests/support/place.h"
#include "tests/support/report_json.h"
#include "tests/support/wait.h"

static struct optraced daemon_;

static __attribute__((noinline)) uint32_t define_here(void)
{
    const struct optrace_op_info info = OPTRACE_OP_INFO("conv", "Conv");
    uint32_t op = 0;

    CHECK_OK(optrace_op_define(&info, &op));
    return op;
}

static __attribute__((noinline)) uint32_t define_there(void)
{
    struct optrace_op_info info = OPTRACE_OP_INFO("conv", "Conv");
    uint32_t op = 0;

    info.params = "{\"stride\": 2}";
    CHECK_OK(optrace_op_define(&info, &op));
    return op;
}

static int run_program(void *frames)
{
    struct optrace_config config = {.required = 1, .connect_timeout_ms = 60000};
    uint32_t ops[2];
    char text[300];

    setenv("OPTRACE_SOCKET", daemon_.socket, 1);
    setenv("OPTRACE_STACKS", frames, 1);
    if (optrace_start(&config) < 0) {
        optrace_status(text, sizeof(text));
        puts(text);
        return 1;
    }
    ops[0] = define_here();
    ops[1] = define_there();
    for (int i = 0; i < 6; i++)
        optrace_end(optrace_begin(ops[i % 3 == 2]));
    {
        OPTRACE_SCOPE("scope");
    }
    optrace_stop();
    return 0;
}

/* The op is defined at two places: two lines of the report, each with its stack. */
static void ops_are_told_by_their_stacks(void **state)
{
    static const char *const arguments[] = {"--report", "averages", "--group-by", "stack:1", NULL};
    char *analyze = place_program("analyze/profile_analyze");
    size_t conv = 0, calls = 0, label = 0;
    const cJSON *row;
    struct child child;
    cJSON *report;

    optraced_init(&daemon_);
    optraced_start(&daemon_, NULL);
    child_start_function(&child, run_program, (void *)"3");
    if (child_wait(&child, WAIT_MS) != 0)
        fail_msg("%s%s", child.out, child.err);
    child_deinit(&child);
    optraced_wait_for(&daemon_, "SELECT count(*) FROM session WHERE end_ns IS NOT NULL", 1);
    CHECK_U64(optraced_query(&daemon_, "SELECT sum(params ->> '$.stride') FROM op"), 2);
    CHECK_U64(optraced_query(&daemon_, "SELECT count(*) FROM op WHERE type IN ('Conv', 'label')"
                                       " AND params ->> '$.stack' LIKE '%stacks%;%;%'"),
              3);
    report = report_json_run(analyze, daemon_.dir, daemon_.store, arguments);
    cJSON_ArrayForEach(row, cJSON_GetObjectItem(cJSON_GetObjectItem(report, "averages"), "rows"))
    {
        const char *name = cJSON_GetObjectItem(row, "name")->valuestring;
        const cJSON *source = cJSON_GetObjectItem(row, "source");

        if (strcmp(name, "conv") != 0 && strcmp(name, "scope") != 0)
            continue;
        conv += strcmp(name, "conv") == 0;
        label += strcmp(name, "scope") == 0;
        calls += (size_t)cJSON_GetObjectItem(row, "calls")->valueint;
        assert_int_equal(cJSON_GetArraySize(source), 1);
        CHECK_CONTAINS(cJSON_GetArrayItem(source, 0)->valuestring, "stacks");
    }
    CHECK_U64(conv, 2);
    CHECK_U64(label, 1);
    CHECK_U64(calls, 7);
    cJSON_Delete(report);
    assert_int_equal(optraced_stop(&daemon_), 0);
    optraced_deinit(&daemon_);
    free(analyze);
    (void)state;
}

static void a_wrong_number_is_said(void **state)
{
    struct child child;

    optraced_init(&daemon_);
    child_start_function(&child, run_program, (void *)"many");
    assert_int_equal(child_wait(&child, WAIT_MS), 1);
    CHECK_CONTAINS(child.out, "OPTRACE_STACKS is not a number of frames from 0 to 64");
    child_deinit(&child);
    optraced_deinit(&daemon_);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ops_are_told_by_their_stacks),
        cmocka_unit_test(a_wrong_number_is_said),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
