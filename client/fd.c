/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers that stay out of the program's way, and whose they are. */
#include "client/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    NUMBER_MIN = 3, /* below are the standard streams, also of a program that has closed them */
    /* In the first 64, which every process has room for: the table that holds more is made while
     * all threads wait for an RCU grace period. */
    NUMBER_WANTED = 32,
};

static int duplicate(int number)
{
    int copy = fcntl(number, F_DUPFD_CLOEXEC, NUMBER_WANTED);

    if (copy < 0) /* the limit may be below what is wanted */
        copy = fcntl(number, F_DUPFD_CLOEXEC, NUMBER_MIN);
    return copy < 0 ? -errno : copy;
}

int ot_fd_move(int number)
{
    int moved = duplicate(number);

    if (moved < 0 && number >= NUMBER_MIN)
        return number;
    close(number);
    return moved;
}

int ot_fd_take(int number, struct ot_fd *out_fd)
{
    int moved = ot_fd_move(number);
    struct stat status;

    if (moved < 0)
        return moved;
    if (fstat(moved, &status) < 0) {
        int error = errno;

        close(moved);
        return -error;
    }
    *out_fd = (struct ot_fd){moved, status.st_dev, status.st_ino};
    return 0;
}

bool ot_fd_is_ours(const struct ot_fd *fd)
{
    struct stat status;

    return fd->number >= 0 && fstat(fd->number, &status) == 0 && status.st_dev == fd->device &&
           status.st_ino == fd->inode;
}

struct ot_fd ot_fd_copy(const struct ot_fd *fd)
{
    struct ot_fd copy = *fd;

    copy.number = ot_fd_is_ours(fd) ? duplicate(fd->number) : -1;
    return copy.number < 0 ? OT_FD_NONE : copy;
}

void ot_fd_close(struct ot_fd *fd)
{
    if (ot_fd_is_ours(fd))
        close(fd->number);
    *fd = OT_FD_NONE;
}
