/* SPDX-License-Identifier: Apache-2.0 */
/* Temporary directories and whole files. */
#include "tests/support/temp.h"

#include <ftw.h>
#include <unistd.h>

#include "tests/support/check.h"

char *temp_create(void)
{
    const char *parent = getenv("TMPDIR");
    char *path;

    /* A socket's path holds 107 bytes, so a long TMPDIR is passed over. */
    if (!parent || !parent[0] || strlen(parent) > 60)
        parent = "/tmp";
    if (asprintf(&path, "%s/optrace-XXXXXX", parent) < 0)
        fail_msg("out of memory");
    if (!mkdtemp(path))
        fail_msg("%s: %s", path, strerror(errno));
    return path;
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *place)
{
    return remove(path);
}

void temp_destroy(char **dir)
{
    if (!*dir)
        return;
    nftw(*dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    free(*dir);
    *dir = NULL;
}

char *temp_path(const char *dir, const char *name)
{
    char *path;

    if (asprintf(&path, "%s/%s", dir, name) < 0)
        fail_msg("out of memory");
    return path;
}

char *temp_write(const char *dir, const char *name, const void *bytes, size_t size)
{
    char *path = temp_path(dir, name);
    FILE *file = fopen(path, "wb");

    if (!file || fwrite(bytes, 1, size, file) != size || fclose(file) != 0)
        fail_msg("%s: %s", path, strerror(errno));
    return path;
}

char *temp_read(const char *path, size_t *out_size)
{
    FILE *file = fopen(path, "rb");
    char *bytes = NULL;
    size_t size = 0;
    size_t got;

    if (!file)
        fail_msg("%s: %s", path, strerror(errno));
    do {
        bytes = realloc(bytes, size + 65537);
        if (!bytes)
            fail_msg("out of memory");
        got = fread(bytes + size, 1, 65536, file);
        size += got;
    } while (got > 0);
    fclose(file);
    bytes[size] = '\0';
    if (out_size)
        *out_size = size;
    return bytes;
}
