/* SPDX-License-Identifier: Apache-2.0 */
/* A program in a container is recorded by the daemon outside: socket and library are mounted there,
 * the variables are those of `optrace run --print-env`. */
#include "tests/support/check.h"
#include "tests/support/optraced.h"
#include "tests/support/place.h"
#include "tests/support/temp.h"

/* Namespaces of its own for user, mounts and processes, as containers have them. */
#define UNSHARE "unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", "--mount-proc"

static bool can_unshare(void)
{
    struct child_result result = child_run(
        (const char *const[]){UNSHARE, "mount", "-t", "tmpfs", "none", "/mnt", NULL}, NULL);
    const bool can = result.status == 0;

    child_result_deinit(&result);
    return can;
}

/* What --print-env prints for that daemon, with the places that it has in the container. */
static char *write_settings(const struct optraced *daemon, const char *library)
{
    char *optrace = place_program("client/cli/optrace"), variable[200], *path;
    const char *const environment[] = {variable, NULL};
    const struct child_options options = {.environment = environment};
    struct child_result result;
    char text[2000] = "";

    snprintf(variable, sizeof(variable), "OPTRACE_SOCKET=%s", daemon->socket);
    result = child_run((const char *const[]){optrace, "run", "--print-env", NULL}, &options);
    assert_int_equal(result.status, 0);
    CHECK_CONTAINS(result.out, variable);
    CHECK_CONTAINS(result.out, library);
    for (char *line = strtok(result.out, "\n"); line; line = strtok(NULL, "\n"))
        snprintf(text + strlen(text), sizeof(text) - strlen(text), "%.*s/mnt/%s\n",
                 (int)(strchr(line, '=') + 1 - line), line,
                 strncmp(line, "OPTRACE_SOCKET", 14) == 0 ? "o.sock" : "liboptrace_inject.so");
    path = temp_write(daemon->dir, "settings", text, strlen(text));
    child_result_deinit(&result);
    free(optrace);
    return path;
}

static void a_container_is_recorded_from_outside(void **state)
{
    char *library = place_program("client/inject/liboptrace_inject.so"),
         *program = place_program("tests/flow/inject_nvtx_program"), command[1500], *settings;
    struct child_result result;
    struct optraced daemon;

    if (!can_unshare())
        CHECK_SKIP("this user may not make namespaces");
    optraced_init(&daemon);
    optraced_start(&daemon, NULL);
    settings = write_settings(&daemon, library);
    snprintf(command, sizeof(command),
             "cp %s %s/ && mount --bind %s /mnt && echo $$ && env $(cat %s) %s ranges", library,
             daemon.dir, daemon.dir, settings, program);
    result = child_run((const char *const[]){UNSHARE, "sh", "-c", command, NULL}, NULL);
    if (result.status != 0)
        fail_msg("status %d: %s%s", result.status, result.out, result.err);
    assert_string_equal(result.out, "1\ndone\n"); /* it has numbers of its own for processes */
    assert_string_equal(result.err, "");
    optraced_wait_for(&daemon, "SELECT count(*) FROM session WHERE end_reason = 'done'", 1);
    assert_int_equal(optraced_stop(&daemon), 0);
    CHECK_U64(
        (uint64_t)optraced_query(&daemon, "SELECT count(*) FROM v_event WHERE op_name = 'outer'"),
        1);
    CHECK_U64((uint64_t)optraced_query(&daemon, "SELECT count(*) FROM session"), 1);
    child_result_deinit(&result);
    optraced_deinit(&daemon);
    free(settings);
    free(library);
    free(program);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_container_is_recorded_from_outside)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
