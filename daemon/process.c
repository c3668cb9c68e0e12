/* SPDX-License-Identifier: Apache-2.0 */
/* fork() and a pipe that says when the child is ready; limits; the pid file. */
#include "daemon/process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/exit_status.h"
#include "base/file.h"
#include "daemon/log.h"

static struct stat pid_file; /* the one that was made; all zero: none */

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

/* Made anew, never written into: what is there may be a link to something precious. */
static int make_pid_file(const char *path, struct diag *diag)
{
    struct stat info;
    int fd, rc = file_check_owner(path, diag);

    if (rc < 0)
        return rc;
    if (lstat(path, &info) == 0) {
        if (!S_ISREG(info.st_mode))
            return diag_set(diag, -EEXIST, "%s is there already, and is no file", path);
        if (unlink(path) < 0) /* of a daemon that was killed */
            return diag_set(diag, -errno, "cannot replace %s: %s", path, strerror(errno));
    }
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return diag_set(diag, -errno, "cannot make %s: %s", path, strerror(errno));
    return fd;
}

void process_write_pid(const char *path)
{
    struct diag diag = {0};
    int fd;

    if (!path)
        return;
    fd = make_pid_file(path, &diag);
    if (fd >= 0 && (dprintf(fd, "%d\n", (int)getpid()) < 0 || fstat(fd, &pid_file) < 0))
        diag_set(&diag, -errno, "cannot write %s: %s", path, strerror(errno));
    if (fd >= 0)
        close(fd);
    if (diag.text[0])
        log_say("going on without a pid file: %s", diag.text);
}

void process_remove_pid(const char *path)
{
    struct stat info;

    /* Another daemon may have put its own there. */
    if (path && pid_file.st_ino && lstat(path, &info) == 0 && info.st_ino == pid_file.st_ino &&
        info.st_dev == pid_file.st_dev)
        unlink(path);
}
