/* SPDX-License-Identifier: Apache-2.0 */
/* Files beside /proc/self/exe. */
#include "client/cli/siblings.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool is_at(char out_path[PATH_MAX], const char *folder, const char *below, const char *name)
{
    const int length = snprintf(out_path, PATH_MAX, "%s/%s%s", folder, below, name);

    return length > 0 && length < PATH_MAX && access(out_path, R_OK) == 0;
}

int siblings_find(const char *name, const char *elsewhere, char out_path[PATH_MAX])
{
    char folder[PATH_MAX], below[PATH_MAX];
    const ssize_t length = readlink("/proc/self/exe", folder, sizeof(folder) - 1);
    char *slash;

    folder[length > 0 ? length : 0] = '\0';
    slash = strrchr(folder, '/');
    if (slash) {
        *slash = '\0';
        snprintf(below, sizeof(below), "%s/", elsewhere);
        if (is_at(out_path, folder, "", name) || is_at(out_path, folder, below, name))
            return 0;
    }
    snprintf(out_path, PATH_MAX, "%s", name);
    return -ENOENT;
}
