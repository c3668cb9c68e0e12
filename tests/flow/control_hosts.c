/* SPDX-License-Identifier: Apache-2.0 */
/* optrace --host: two daemons take the part of two hosts, a shell script that of ssh. */
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cjson/cJSON.h>

#include "tests/support/check.h"
#include "tests/support/optraced.h"
#include "tests/support/place.h"
#include "tests/support/temp.h"
#include "tests/support/wait.h"

enum { WORDS_MAX = 16 };

/* Finds the daemon of a host by a file of its name; as a login shell does, it also prints a line
 * that nobody asked for. */
static const char ssh_script[] =
    "#!/bin/sh\n"
    "dir=$(dirname \"$0\")\n"
    "host=$1\n"
    "shift\n"
    "if [ ! -e \"$dir/$host\" ]; then\n"
    "  echo \"ssh: Could not resolve hostname $host: Name or service not known\" >&2\n"
    "  exit 255\n"
    "fi\n"
    "[ \"$host\" != old ] || { echo \"optrace: unknown option '--follow'\" >&2; exit 2; }\n"
    "echo \"Welcome to $host\"\n"
    "OPTRACE_SOCKET=$(cat \"$dir/$host\")\n"
    "export OPTRACE_SOCKET\n"
    "exec sh -c \"$*\"\n";

struct scene {
    struct optraced a, b;
    struct child programs[2];
    char *dir, *ssh, *path; /* the latter two: variables of the environment */
};

static void add_host(const struct scene *scene, const char *name, const char *socket)
{
    free(temp_write(scene->dir, name, socket, strlen(socket)));
}

static void start_program(struct child *child, const struct optraced *daemon, const char *name)
{
    char *program = place_program("tests/flow/control_program");
    char socket[200];
    const char *environment[] = {socket, NULL};
    const struct child_options options = {.environment = environment};

    snprintf(socket, sizeof(socket), "OPTRACE_SOCKET=%s", daemon->socket);
    child_start(child, (const char *const[]){program, name, NULL}, &options);
    if (!child_wait_text(child, "running", WAIT_MS))
        fail_msg("%s: %s", name, child->err);
    free(program);
}

static int make_scene(void **state)
{
    struct scene *scene = calloc(1, sizeof(*scene));
    char *script, *commands = place_program("client/cli");
    const char *path = getenv("PATH");

    scene->dir = temp_create();
    script = temp_write(scene->dir, "ssh", ssh_script, sizeof(ssh_script) - 1);
    assert_int_equal(chmod(script, 0700), 0);
    assert_true(asprintf(&scene->ssh, "OPTRACE_SSH=%s", script) > 0);
    assert_true(asprintf(&scene->path, "PATH=%s:%s", commands, path ? path : "/bin") > 0);
    free(script);
    free(commands);
    optraced_init(&scene->a);
    optraced_init(&scene->b);
    optraced_start(&scene->a, (const char *const[]){"--level", "off", NULL});
    optraced_start(&scene->b, (const char *const[]){"--level", "off", NULL});
    add_host(scene, "alpha", scene->a.socket);
    add_host(scene, "beta", scene->b.socket);
    start_program(&scene->programs[0], &scene->a, "rank0");
    start_program(&scene->programs[1], &scene->b, "rank 'one'; exit 9");
    *state = scene;
    return 0;
}

static int end_scene(void **state)
{
    struct scene *scene = *state;

    for (size_t i = 0; i < 2; i++) {
        child_kill(&scene->programs[i], SIGKILL);
        child_deinit(&scene->programs[i]);
    }
    optraced_deinit(&scene->a);
    optraced_deinit(&scene->b);
    temp_destroy(&scene->dir);
    free(scene->ssh);
    free(scene->path);
    free(scene);
    return 0;
}

static struct child_result optrace(const struct scene *scene, const char *const *words)
{
    const char *environment[] = {scene->ssh, scene->path, NULL};
    const struct child_options options = {.environment = environment};
    char *program = place_program("client/cli/optrace");
    const char *argv[WORDS_MAX + 2] = {program};
    struct child_result result;

    for (size_t i = 0; words[i]; i++)
        argv[1 + i] = words[i];
    result = child_run(argv, &options);
    free(program);
    return result;
}

#define OPTRACE(scene, ...) optrace(scene, (const char *const[]){__VA_ARGS__, NULL})

static int64_t first_run_ns(const struct optraced *daemon)
{
    optraced_wait_for(daemon, "SELECT count(*) > 0 FROM run", 1);
    return optraced_query(daemon, "SELECT min(start_ns) FROM run");
}

/* All begin at one moment, which is two seconds after all were ready; runs are 2 ms long. */
static void hosts_start_together(void **state)
{
    struct scene *scene = *state;
    struct child_result result = OPTRACE(scene, "start", "--host", "alpha,beta", "--for", "300ms");
    unsigned long long seconds, ns;
    int64_t at_ns;
    const char *at;

    if (result.status != 0)
        fail_msg("status %d: %s%s", result.status, result.out, result.err);
    CHECK_CONTAINS(result.out, "all hosts at 20");
    CHECK_CONTAINS(result.out, "\nalpha: clock ");
    CHECK_CONTAINS(result.out, "\nbeta: clock ");
    CHECK_CONTAINS(result.out, "\nalpha: rank0 (pid ");
    CHECK_CONTAINS(result.out, "\nbeta: and all programs that connect later\n");
    CHECK_LACKS(result.out, "Welcome");
    at = strchr(result.out, '@');
    assert_non_null(at);
    assert_int_equal(sscanf(at, "@%llu.%9llu", &seconds, &ns), 2);
    at_ns = (int64_t)(seconds * 1000000000 + ns);
    assert_in_range(first_run_ns(&scene->a) - at_ns, 0, 100000000);
    assert_in_range(first_run_ns(&scene->b) - at_ns, 0, 100000000);
    child_result_deinit(&result);
}

static void a_name_with_quotes_reaches_the_other_end(void **state)
{
    struct scene *scene = *state;
    struct child_result result = OPTRACE(scene, "stop", "--host", "beta", "--host", "alpha",
                                         "--program", "rank 'one'; exit 9", "--at", "+1s");

    assert_int_equal(result.status, 1); /* alpha has none of that name */
    CHECK_CONTAINS(result.out, "beta: rank 'one'; exit 9 (pid ");
    CHECK_CONTAINS(result.err, "optrace stop: alpha: optrace stop: no program matches; connected");
    CHECK_CONTAINS(result.err, "optrace stop: alpha:   rank0 (pid ");
    child_result_deinit(&result);
}

static void a_host_that_fails_is_named(void **state)
{
    struct scene *scene = *state;
    struct child_result result = OPTRACE(scene, "start", "--host", "alpha,nowhere");

    assert_int_equal(result.status, 4);
    CHECK_CONTAINS(result.out, "alpha: rank0");
    CHECK_CONTAINS(result.err, "optrace start: nowhere: ssh: Could not resolve hostname nowhere");
    child_result_deinit(&result);
    add_host(scene, "gamma", "/nonexistent/socket");
    result = OPTRACE(scene, "status", "--host", "gamma,alpha");
    assert_int_equal(result.status, 3);
    CHECK_CONTAINS(result.err, "optrace status: gamma: optrace status: no daemon listens on");
    CHECK_CONTAINS(result.out, "alpha: collector ");
    child_result_deinit(&result);
    add_host(scene, "old", "");
    result = OPTRACE(scene, "stop", "--host", "old");
    assert_int_equal(result.status, 2);
    CHECK_CONTAINS(result.err, "optrace stop: old: optrace: unknown option '--follow'");
    child_result_deinit(&result);
    result = OPTRACE(scene, "stop", "--host", "-oProxyCommand=x");
    assert_int_equal(result.status, 2);
    CHECK_CONTAINS(result.err, "--host takes names of hosts");
    child_result_deinit(&result);
    result = OPTRACE(scene, "start", "--host", "alpha", "--wait", "3");
    assert_int_equal(result.status, 2); /* before any host is asked */
    CHECK_CONTAINS(result.err, "active=N is missing");
    child_result_deinit(&result);
}

static void status_of_hosts_is_one_json(void **state)
{
    struct scene *scene = *state;
    struct child_result result =
        OPTRACE(scene, "status", "--json", "--host", "alpha,beta", "--host=nowhere");
    const cJSON *hosts, *host, *sessions;
    cJSON *json = cJSON_Parse(result.out);

    if (!json)
        fail_msg("no JSON: %s", result.out);
    assert_int_equal(result.status, 4);
    hosts = cJSON_GetObjectItem(json, "hosts");
    CHECK_U64((uint64_t)cJSON_GetArraySize(hosts), 3);
    host = cJSON_GetArrayItem(hosts, 1);
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(host, "host")), "beta");
    assert_true(cJSON_IsNumber(cJSON_GetObjectItem(host, "clock_offset_ns")));
    /* Both ends have one clock: the error that is told must hold. */
    assert_true(cJSON_GetObjectItem(host, "clock_error_ns")->valuedouble + 1000 >=
                cJSON_GetObjectItem(host, "clock_offset_ns")->valuedouble);
    sessions = cJSON_GetObjectItem(cJSON_GetObjectItem(host, "status"), "sessions");
    CHECK_U64((uint64_t)cJSON_GetArraySize(sessions), 1);
    host = cJSON_GetArrayItem(hosts, 2);
    assert_true(cJSON_IsNull(cJSON_GetObjectItem(host, "status")));
    CHECK_CONTAINS(cJSON_GetStringValue(cJSON_GetObjectItem(host, "error")), "Could not resolve");
    cJSON_Delete(json);
    child_result_deinit(&result);
}

static void the_far_end_is_careful(void **state)
{
    struct scene *scene = *state;
    char *program = place_program("client/cli/optrace");
    struct child_result result = child_run(
        (const char *const[]){program, "stop", "--follow", "--socket", scene->a.socket, NULL},
        NULL); /* stdin ends at once: the leader is gone */

    assert_int_equal(result.status, 4);
    assert_string_equal(result.out, "optrace follows\n");
    child_result_deinit(&result);
    free(program);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hosts_start_together),
        cmocka_unit_test(a_name_with_quotes_reaches_the_other_end),
        cmocka_unit_test(a_host_that_fails_is_named),
        cmocka_unit_test(status_of_hosts_is_one_json),
        cmocka_unit_test(the_far_end_is_careful),
    };

    return cmocka_run_group_tests(tests, make_scene, end_scene);
}
