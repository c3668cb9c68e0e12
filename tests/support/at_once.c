/* SPDX-License-Identifier: Apache-2.0 */
/* Scenarios in processes of their own. */
#include "tests/support/at_once.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SCENARIOS_MAX = 64 };

struct scenario {
    pid_t pid; /* 0: has ended, or has not begun */
    FILE *output;
};

static void start(struct scenario *scenario, const struct CMUnitTest *test)
{
    const pid_t parent = getpid();

    fflush(NULL);
    scenario->output = tmpfile();
    scenario->pid = scenario->output ? fork() : -1;
    if (scenario->pid < 0) {
        perror("at_once");
        exit(1);
    }
    if (scenario->pid > 0)
        return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    fcntl(fileno(scenario->output), F_SETFD, FD_CLOEXEC);
    dup2(fileno(scenario->output), STDOUT_FILENO);
    dup2(fileno(scenario->output), STDERR_FILENO);
    exit(_cmocka_run_group_tests(test->name, test, 1, NULL, NULL));
}

/* What it has printed, and whether it failed. */
static bool end(struct scenario *scenario, const char *name, int status)
{
    const bool is_well = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    char part[4096];
    size_t bytes;

    rewind(scenario->output);
    while ((bytes = fread(part, 1, sizeof(part), scenario->output)) > 0)
        fwrite(part, 1, bytes, stdout);
    fclose(scenario->output);
    if (WIFSIGNALED(status))
        printf("%s: ended by signal %d\n", name, WTERMSIG(status));
    fflush(stdout);
    scenario->pid = 0;
    return !is_well;
}

int at_once_run(const struct CMUnitTest *tests, size_t count, size_t processes)
{
    struct scenario scenarios[SCENARIOS_MAX] = {0};
    size_t begun = 0, running = 0;
    int failed = 0;

    if (count > SCENARIOS_MAX || processes == 0)
        return 1;
    while (begun < count || running > 0) {
        int status;
        pid_t pid;

        if (begun < count && running < processes) {
            start(&scenarios[begun], &tests[begun]);
            begun++;
            running++;
            continue;
        }
        pid = waitpid(-1, &status, 0);
        for (size_t i = 0; i < begun; i++) {
            if (scenarios[i].pid != pid)
                continue;
            failed += end(&scenarios[i], tests[i].name, status);
            running--;
        }
    }
    return failed;
}
