/* SPDX-License-Identifier: Apache-2.0 */
/* A tmpfs in a mount namespace. */
#include "tests/support/small_disk.h"

#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>

#include "tests/support/check.h"
#include "tests/support/child.h"
#include "tests/support/wait.h"

enum { MAY_NOT_MOUNT = 77 };

struct job {
    int (*work)(void *folder);
    char *folder;
    const char *size;
};

static int work_on_disk(void *context)
{
    const struct job *job = context;
    char options[32];

    snprintf(options, sizeof(options), "size=%s", job->size);
    if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("none", job->folder, "tmpfs", 0, options) < 0)
        return MAY_NOT_MOUNT;
    return job->work(job->folder);
}

void small_disk_run(int (*work)(void *folder), char *folder, const char *size)
{
    struct job job = {work, folder, size};
    struct child child;
    int status;

    child_start_function(&child, work_on_disk, &job);
    status = child_wait(&child, WAIT_MS);
    if (status != 0 && status != MAY_NOT_MOUNT)
        fail_msg("%d\n%s%s", status, child.out, child.err);
    child_deinit(&child);
    if (status == MAY_NOT_MOUNT)
        CHECK_SKIP("may not mount a file system here");
}
