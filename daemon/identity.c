/* SPDX-License-Identifier: Apache-2.0 */
/* /proc says when this boot began to be this one, and when a process started in it. */
#include "daemon/identity.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

enum { STAT_BYTES = 1024, START_FIELD = 22, BOOT_BYTES = 40 };

/* The first line of a file, without its end. */
static bool read_line(const char *path, char *out, int bytes)
{
    FILE *file = fopen(path, "re");
    bool is_read;

    if (!file)
        return false;
    is_read = fgets(out, bytes, file) != NULL;
    fclose(file);
    if (is_read)
        out[strcspn(out, "\n")] = '\0';
    return is_read;
}

/* Field 22 of /proc/PID/stat; the name, field 2, may hold anything, also spaces and brackets. */
static const char *find_start(char *stat)
{
    char *at = strrchr(stat, ')');

    for (int field = 2; at && field < START_FIELD; field++) {
        at = strchr(at, ' ');
        at = at ? at + 1 : NULL;
    }
    if (at)
        at[strcspn(at, " ")] = '\0';
    return at;
}

void identity_read(int64_t pid, char out_text[IDENTITY_BYTES])
{
    char boot[BOOT_BYTES], stat[STAT_BYTES], path[48];
    const char *start;

    out_text[0] = '\0';
    snprintf(path, sizeof(path), "/proc/%lld/stat", (long long)pid);
    if (pid <= 0 || !read_line("/proc/sys/kernel/random/boot_id", boot, sizeof(boot)) ||
        !read_line(path, stat, sizeof(stat)) || !(start = find_start(stat)))
        return;
    snprintf(out_text, IDENTITY_BYTES, "%.36s %.20s", boot, start);
}

bool identity_lives(int64_t pid, const char *text)
{
    char now[IDENTITY_BYTES];

    if (pid <= 0 || (kill((pid_t)pid, 0) < 0 && errno != EPERM))
        return false;
    identity_read(pid, now);
    return !text || !text[0] || !now[0] || strcmp(text, now) == 0;
}
