/* SPDX-License-Identifier: Apache-2.0 */
/* What of the command line of a program reaches the store and `optrace status`. */
#include "tests/support/check.h"
#include "tests/support/optraced.h"
#include "tests/support/place.h"
#include "tests/support/raw_client.h"
#include "tests/support/wait.h"

/* Records a run of a program with a secret among its arguments. */
static void run_program(const struct optraced *daemon, const char *variable)
{
    char *program = place_program("tests/flow/control_program"), socket[200];
    const char *argv[] = {program,
                          "shy",
                          "1",
                          "--password",
                          "hunter2 and more",
                          "--mode=a b",
                          "https://me:hunter3@host/",
                          NULL};
    const char *environment[] = {socket, variable, NULL};
    const struct child_options options = {.environment = environment};
    struct child_result result;

    snprintf(socket, sizeof(socket), "OPTRACE_SOCKET=%s", daemon->socket);
    result = child_run(argv, &options);
    if (result.status != 0)
        fail_msg("%s", result.err);
    child_result_deinit(&result);
    free(program);
}

/* The command line behind the program's path. */
static char *stored_command(const struct optraced *daemon)
{
    return optraced_query_text(daemon,
                               "SELECT substr(command, instr(command, 'shy')) FROM session");
}

static void programs_mask_their_own(void **state)
{
    struct optraced daemon;
    char *command;

    optraced_init(&daemon);
    optraced_start(&daemon, NULL);
    run_program(&daemon, NULL);
    assert_int_equal(optraced_stop(&daemon), 0);
    command = stored_command(&daemon);
    assert_string_equal(command, "shy 1 --password *** --mode=a b https://me:***@host/");
    free(command);
    optraced_deinit(&daemon);
}

static void nothing_is_told_when_it_is_switched_off(void **state)
{
    struct optraced daemon;

    optraced_init(&daemon);
    optraced_start(&daemon, NULL);
    run_program(&daemon, "OPTRACE_COMMAND_LINE=0");
    assert_int_equal(optraced_stop(&daemon), 0);
    CHECK_U64(optraced_query(&daemon, "SELECT count(*) FROM session WHERE command IS NULL"), 1);
    optraced_deinit(&daemon);
    optraced_init(&daemon);
    optraced_start(&daemon, (const char *const[]){"--no-command-lines", NULL});
    run_program(&daemon, NULL);
    assert_int_equal(optraced_stop(&daemon), 0);
    CHECK_U64(optraced_query(&daemon, "SELECT count(*) FROM session WHERE command IS NULL"), 1);
    optraced_deinit(&daemon);
}

/* Of a client that does not mask its own, as older ones do not. */
static void the_daemon_masks_those_of_others(void **state)
{
    static const char line[] = "raw --api-key=hunter2 Authorization: Bearer hunter3";
    const struct ot_wire_hello_texts texts = {.program = {"raw", 3},
                                              .command = {line, sizeof(line) - 1}};
    char *optrace = place_program("client/cli/optrace"), *command;
    struct child_result result;
    struct optraced daemon;
    struct raw_client client;
    struct ot_wire_hello hello;
    uint8_t frame[512];
    int length;

    optraced_init(&daemon);
    optraced_start(&daemon, NULL);
    raw_init(&client);
    assert_true(raw_connect(&client, daemon.socket));
    hello = raw_hello(&client);
    length = ot_wire_encode_hello(&hello, &texts, frame, sizeof(frame));
    assert_true(length > 0);
    assert_true(raw_send(&client, frame, (size_t)length));
    assert_true(raw_receive(&client, frame, sizeof(frame)) > 0);
    result = child_run(
        (const char *const[]){optrace, "status", "--json", "--socket", daemon.socket, NULL}, NULL);
    assert_int_equal(result.status, 0);
    CHECK_CONTAINS(result.out, "raw --api-key=*** Authorization: Bearer ***");
    assert_null(strstr(result.out, "hunter"));
    child_result_deinit(&result);
    assert_true(raw_bye(&client));
    raw_close(&client);
    assert_int_equal(optraced_stop(&daemon), 0);
    command = optraced_query_text(&daemon, "SELECT command FROM session");
    assert_string_equal(command, "raw --api-key=*** Authorization: Bearer ***");
    free(command);
    free(optrace);
    optraced_deinit(&daemon);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_mask_their_own),
        cmocka_unit_test(nothing_is_told_when_it_is_switched_off),
        cmocka_unit_test(the_daemon_masks_those_of_others),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
