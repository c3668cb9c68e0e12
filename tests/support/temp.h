/* SPDX-License-Identifier: Apache-2.0 */
/* Directories that a test makes and removes. */
#ifndef OPTRACE_TESTS_SUPPORT_TEMP_H
#define OPTRACE_TESTS_SUPPORT_TEMP_H

#include <stddef.h>

/** A new directory, 0700, with a path short enough for Unix sockets in it. Fails the test when it
 *  cannot be made. Give it to temp_destroy(). */
char *temp_create(void);

/** Remove the directory and all in it (links are removed, never followed); free and null *dir.
 *  NULL is allowed. */
void temp_destroy(char **dir);

/** "dir/name"; the caller frees it. */
char *temp_path(const char *dir, const char *name);

/** Write a file "dir/name" with these bytes; returns its path, which the caller frees. */
char *temp_write(const char *dir, const char *name, const void *bytes, size_t size);

/** The whole file with a NUL behind it, which *out_size (NULL is allowed) does not count. Fails the
 *  test when it cannot be read. The caller frees it. */
char *temp_read(const char *path, size_t *out_size);

#endif
