/* SPDX-License-Identifier: Apache-2.0 */
/* Child processes whose output is collected through two pipes. */
#include "tests/support/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/support/check.h"
#include "tests/support/wait.h"

static void apply_options(const struct child_options *options)
{
    const char *const *entry = options ? options->environment : NULL;

    for (; entry && *entry; entry++) {
        if (strchr(*entry, '='))
            putenv((char *)*entry);
        else
            unsetenv(*entry);
    }
    if (options && options->directory && chdir(options->directory) < 0) {
        fprintf(stderr, "%s: %s\n", options->directory, strerror(errno));
        _exit(127);
    }
}

/* In the child: its streams, and its death when the test dies. */
static void become_child(pid_t parent, int out_fd, int err_fd)
{
    int null_fd = open("/dev/null", O_RDONLY);

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(127);
    dup2(null_fd, STDIN_FILENO);
    dup2(out_fd, STDOUT_FILENO);
    dup2(err_fd, STDERR_FILENO);
    if (null_fd > STDERR_FILENO)
        close(null_fd);
}

/* Fork with pipes. Returns true in the child. */
static bool fork_child(struct child *child)
{
    pid_t parent = getpid();
    int out[2], err[2];

    memset(child, 0, sizeof(*child));
    fflush(NULL);
    if (pipe2(out, O_CLOEXEC) < 0 || pipe2(err, O_CLOEXEC) < 0)
        fail_msg("pipe: %s", strerror(errno));
    child->pid = fork();
    if (child->pid < 0)
        fail_msg("fork: %s", strerror(errno));
    if (child->pid == 0) {
        become_child(parent, out[1], err[1]);
        return true;
    }
    close(out[1]);
    close(err[1]);
    child->stdout_fd = out[0];
    child->stderr_fd = err[0];
    fcntl(out[0], F_SETFL, O_NONBLOCK);
    fcntl(err[0], F_SETFL, O_NONBLOCK);
    child->out = calloc(1, 1);
    child->err = calloc(1, 1);
    return false;
}

void child_start(struct child *child, const char *const *argv, const struct child_options *options)
{
    if (!fork_child(child))
        return;
    apply_options(options);
    execvp(argv[0], (char *const *)argv);
    fprintf(stderr, "%s: %s\n", argv[0], strerror(errno));
    _exit(127);
}

void child_start_function(struct child *child, int (*function)(void *context), void *context)
{
    int status;

    if (!fork_child(child))
        return;
    status = function(context);
    fflush(NULL);
    _exit(status);
}

/* Read what is there; closes the fd at its end. */
static void drain(int *fd, char **text, size_t *bytes)
{
    char chunk[16384];

    while (*fd >= 0) {
        ssize_t got = read(*fd, chunk, sizeof(chunk));

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0 && errno == EAGAIN)
            return;
        if (got <= 0) {
            close(*fd);
            *fd = -1;
            return;
        }
        *text = realloc(*text, *bytes + (size_t)got + 1);
        if (!*text)
            fail_msg("out of memory");
        memcpy(*text + *bytes, chunk, (size_t)got);
        *bytes += (size_t)got;
        (*text)[*bytes] = '\0';
    }
}

void child_drain(struct child *child)
{
    drain(&child->stdout_fd, &child->out, &child->out_bytes);
    drain(&child->stderr_fd, &child->err, &child->err_bytes);
}

/* Wait for output until the deadline and take it. Returns false when both streams have ended or the
 * time is over. */
static bool read_some(struct child *child, uint64_t deadline_ns)
{
    struct pollfd fds[2] = {{child->stdout_fd, POLLIN, 0}, {child->stderr_fd, POLLIN, 0}};
    uint64_t now_ns = ot_clock_ns(CLOCK_MONOTONIC);

    if ((child->stdout_fd < 0 && child->stderr_fd < 0) || now_ns >= deadline_ns)
        return false;
    poll(fds, 2, (int)((deadline_ns - now_ns) / 1000000) + 1);
    child_drain(child);
    return true;
}

bool child_wait_text(struct child *child, const char *text, unsigned timeout_ms)
{
    uint64_t deadline_ns = ot_clock_ns(CLOCK_MONOTONIC) + timeout_ms * (uint64_t)1000000;

    do {
        if (strstr(child->out, text) || strstr(child->err, text))
            return true;
    } while (read_some(child, deadline_ns));
    return strstr(child->out, text) || strstr(child->err, text);
}

struct reaping {
    pid_t pid;
    int status;
};

static bool is_reaped(void *context)
{
    struct reaping *reaping = context;

    return waitpid(reaping->pid, &reaping->status, WNOHANG) == reaping->pid;
}

int child_wait(struct child *child, unsigned timeout_ms)
{
    uint64_t deadline_ns = ot_clock_ns(CLOCK_MONOTONIC) + timeout_ms * (uint64_t)1000000;
    struct reaping reaping = {.pid = child->pid};

    /* Its own children may hold the pipes open for longer than it lives: look at both. */
    while (!is_reaped(&reaping)) {
        uint64_t now_ns = ot_clock_ns(CLOCK_MONOTONIC);

        if (now_ns >= deadline_ns) {
            kill(child->pid, SIGKILL);
            waitpid(child->pid, NULL, 0);
            child->pid = 0;
            fail_msg("a child did not end within %u ms\nstdout: %s\nstderr: %s", timeout_ms,
                     child->out, child->err);
        }
        if (!read_some(child, now_ns + 5000000) && wait_until(is_reaped, &reaping, 5))
            break;
    }
    child->pid = 0;
    drain(&child->stdout_fd, &child->out, &child->out_bytes);
    drain(&child->stderr_fd, &child->err, &child->err_bytes);
    return WIFSIGNALED(reaping.status) ? 128 + WTERMSIG(reaping.status)
                                       : WEXITSTATUS(reaping.status);
}

int child_kill(struct child *child, int signal_number)
{
    kill(child->pid, signal_number);
    return child_wait(child, WAIT_MS);
}

void child_deinit(struct child *child)
{
    if (child->pid > 0) {
        kill(child->pid, SIGKILL);
        waitpid(child->pid, NULL, 0);
    }
    if (child->out) {
        if (child->stdout_fd >= 0)
            close(child->stdout_fd);
        if (child->stderr_fd >= 0)
            close(child->stderr_fd);
    }
    free(child->out);
    free(child->err);
    memset(child, 0, sizeof(*child));
}

struct child_result child_run(const char *const *argv, const struct child_options *options)
{
    struct child_result result;
    struct child child;

    child_start(&child, argv, options);
    result.status =
        child_wait(&child, options && options->timeout_ms ? options->timeout_ms : WAIT_MS);
    result.out = child.out;
    result.err = child.err;
    result.out_bytes = child.out_bytes;
    child.out = NULL;
    child.err = NULL;
    child_deinit(&child);
    return result;
}

void child_result_deinit(struct child_result *result)
{
    free(result->out);
    free(result->err);
    memset(result, 0, sizeof(*result));
}
