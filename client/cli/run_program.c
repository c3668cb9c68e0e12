/* SPDX-License-Identifier: Apache-2.0 */
/* fork, exec, signals passed on, wait. */
#include "client/cli/run_program.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STATUS_CANNOT = 126, STATUS_ABSENT = 127 }; /* as shells, env and nohup have them */

static int refuse(const char *name, int error, struct diag *diag)
{
    diag_set(diag, -error, "cannot run %s: %s", name, strerror(error));
    return error == ENOENT ? STATUS_ABSENT : STATUS_CANNOT;
}

/* 0, or why it cannot be run. */
static int look_at(const char *path)
{
    struct stat info;

    if (stat(path, &info) < 0)
        return errno;
    return !S_ISREG(info.st_mode) ? EACCES : access(path, X_OK) < 0 ? errno : 0;
}

int run_program_find(const char *name, char out_path[PATH_MAX], struct diag *diag)
{
    const char *folder = getenv("PATH");
    int error = ENOENT;

    if (strchr(name, '/')) {
        snprintf(out_path, PATH_MAX, "%s", name);
        error = look_at(name);
        return error ? refuse(name, error, diag) : 0;
    }
    for (folder = folder ? folder : "/bin:/usr/bin"; name[0] && folder;) {
        const size_t length = strcspn(folder, ":");

        snprintf(out_path, PATH_MAX, "%.*s%s%s", (int)length, folder, length ? "/" : "", name);
        if (look_at(out_path) == 0)
            return 0;
        if (look_at(out_path) == EACCES)
            error = EACCES;
        folder = folder[length] ? folder + length + 1 : NULL;
    }
    return refuse(name, error, diag);
}

static _Noreturn void become(const struct run_program *program, char *const *argv,
                             const char *const *settings, int error_fd)
{
    int error;

    for (size_t i = 0; settings[i]; i++)
        putenv((char *)settings[i]);
    sigaction(SIGCHLD, &program->old_child_action, NULL);
    sigprocmask(SIG_SETMASK, &program->old_mask, NULL);
    execvp(argv[0], argv);
    error = errno;
    while (write(error_fd, &error, sizeof(error)) < 0 && errno == EINTR)
        ;
    _exit(STATUS_ABSENT);
}

/* Why it could not be run; 0: it runs. */
static int hear_error(int error_fd)
{
    ssize_t got;
    int error = 0;

    do
        got = read(error_fd, &error, sizeof(error));
    while (got < 0 && errno == EINTR);
    return got == (ssize_t)sizeof(error) ? error : 0;
}

int run_program_start(struct run_program *program, char *const *argv, const char *const *settings,
                      struct diag *diag)
{
    const struct sigaction by_default = {.sa_handler = SIG_DFL};
    int ends[2], error;
    sigset_t all;

    if (pipe2(ends, O_CLOEXEC) < 0)
        return diag_set(diag, -errno, "cannot run %s: %s", argv[0], strerror(errno));
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &program->old_mask);
    sigaction(SIGCHLD, &by_default, &program->old_child_action); /* ignored: nothing to wait for */
    program->pid = fork();
    if (program->pid == 0)
        become(program, argv, settings, ends[1]);
    close(ends[1]);
    error = program->pid < 0 ? errno : hear_error(ends[0]);
    close(ends[0]);
    if (error == 0)
        return 0;
    if (program->pid > 0)
        waitpid(program->pid, NULL, 0);
    sigprocmask(SIG_SETMASK, &program->old_mask, NULL);
    return refuse(argv[0], error, diag);
}

/* Of the terminal's stops this process takes part, so that the shell sees one. */
static void stop_along(const struct run_program *program, int signal_number)
{
    if (signal_number != SIGTSTP && signal_number != SIGTTIN && signal_number != SIGTTOU)
        return;
    kill(getpid(), SIGSTOP);
    kill(program->pid, SIGCONT); /* somebody has continued this one */
}

/* Whether it has ended; *out_status then. */
static bool look_after(const struct run_program *program, int *out_status)
{
    for (;;) {
        int status;
        const pid_t pid = waitpid(program->pid, &status, WNOHANG | WUNTRACED);

        if (pid == 0)
            return false;
        if (pid < 0 && errno == EINTR)
            continue;
        if (pid < 0 || !WIFSTOPPED(status)) {
            *out_status = pid < 0 ? STATUS_CANNOT << 8 : status;
            return true;
        }
        stop_along(program, WSTOPSIG(status));
    }
}

/* What the terminal sends, all of its process group get, the program among them. */
static void pass_on(const struct run_program *program, const siginfo_t *info)
{
    if (info->si_code == SI_QUEUE && info->si_pid != program->pid)
        sigqueue(program->pid, info->si_signo, info->si_value);
    else if ((info->si_code == SI_USER || info->si_code == SI_TKILL) &&
             info->si_pid != program->pid)
        kill(program->pid, info->si_signo);
}

int run_program_wait(struct run_program *program)
{
    sigset_t all;
    int status;

    sigfillset(&all);
    while (!look_after(program, &status)) {
        siginfo_t info;

        if (sigwaitinfo(&all, &info) > 0 && info.si_signo != SIGCHLD)
            pass_on(program, &info);
    }
    return status;
}

int run_program_end_like(const struct run_program *program, int status)
{
    const struct sigaction by_default = {.sa_handler = SIG_DFL};
    sigset_t one;

    if (!WIFSIGNALED(status))
        return WEXITSTATUS(status);
    prctl(PR_SET_DUMPABLE, 0); /* the core is the program's */
    sigaction(WTERMSIG(status), &by_default, NULL);
    kill(getpid(), WTERMSIG(status));
    sigemptyset(&one);
    sigaddset(&one, WTERMSIG(status));
    sigprocmask(SIG_UNBLOCK, &one, NULL);
    return 128 + WTERMSIG(status); /* a signal that does not kill by default */
}
