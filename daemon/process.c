/* SPDX-License-Identifier: Apache-2.0 */
/* fork() and a pipe that says when the child is ready; limits; the pid file. */
#include "daemon/process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/exit_status.h"
#include "daemon/log.h"

/* Waits until the child is ready or has failed. */
static int wait_for_child(pid_t child, int fd)
{
    char ready;
    ssize_t count;
    int status;

    do
        count = read(fd, &ready, 1);
    while (count < 0 && errno == EINTR);
    if (count == 1)
        return EXIT_OK;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return EXIT_SYSTEM;
    return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_SYSTEM;
}

int process_go_background(void)
{
    int fds[2];
    pid_t child;

    if (pipe2(fds, O_CLOEXEC) < 0)
        return -errno;
    child = fork();
    if (child < 0)
        return -errno;
    if (child > 0) {
        close(fds[1]);
        _exit(wait_for_child(child, fds[0]));
    }
    close(fds[0]);
    setsid();
    return fds[1];
}

void process_say_ready(int ready_fd)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    for (int fd = 0; null >= 0 && fd <= 2; fd++)
        dup2(null, fd);
    if (null > 2)
        close(null);
    if (chdir("/") < 0 || write(ready_fd, "", 1) != 1)
        _exit(EXIT_SYSTEM);
    close(ready_fd);
}

void process_raise_file_limit(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

void process_write_pid(const char *path)
{
    FILE *file;
    int rc;

    if (!path)
        return;
    file = fopen(path, "we");
    rc = file && fprintf(file, "%d\n", (int)getpid()) > 0 ? 0 : -1;
    if (file && fclose(file) != 0)
        rc = -1;
    if (rc < 0)
        log_say("cannot write %s, going on without: %s", path, strerror(errno));
}

void process_remove_pid(const char *path)
{
    if (path)
        unlink(path);
}
