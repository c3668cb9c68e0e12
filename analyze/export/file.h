/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file that an export goes to. It is written under another name beside the one that was asked
 * for and takes that name when it is whole: nobody ever sees half of it, and what was there before
 * stays until then. Pipes and devices are written to as they
 * are.
 *
 *     export_file_open(&file, path, true, &diag);
 *     ... file.stream ...
 *     rc = export_file_close(&file, keep, &diag);
 *
 * One file at a time: a signal that ends the program removes the unfinished one. One thread.
 */
#ifndef OPTRACE_ANALYZE_EXPORT_FILE_H
#define OPTRACE_ANALYZE_EXPORT_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/diag.h"

struct export_file {
    FILE *stream;
    const char *name; /* for sentences */
    char *path;       /* to become; NULL: it is written to directly */
    char *temporary;
    bool is_new; /* `path` must not be there yet */
    int lock_fd; /* with export_file_append(): the folder, locked; else -1 */
};

/** path NULL: standard output. packs: a name that ends in .gz is compressed. Returns 0, or -EACCES,
 * -EISDIR, -EIO with a sentence; then nothing is to be closed. */
int export_file_open(struct export_file *file, const char *path, bool packs, struct diag *diag);

/**
 * The same for a Chrome trace in the array form to which events are added: file->stream stands
 * behind what the file held, without its last bracket, ready for the next event.
 *
 * out_base_ns  the zero of the file's times; STORE_NULL when there was no event in it
 * out_bytes    how much stands before; 0 when there was no event in it: "[" is then to be written
 *
 * Waits for others that append to a file of the same folder. Also -EUCLEAN: it is not a file that
 * was begun by this function.
 */
int export_file_append(struct export_file *file, const char *path, int64_t *out_base_ns,
                       int64_t *out_bytes, struct diag *diag);

/** For exports that make a file by other means: only the names. The file file->temporary is not
 *  there. -EINVAL when something of that name exists already. */
int export_file_reserve(struct export_file *file, const char *path, struct diag *diag);

/** Gives the file its name if `keep` is set, else removes it. Returns 0, or what went wrong while
 *  writing, with a sentence; then nothing is left, and what was there before is as it was. */
int export_file_close(struct export_file *file, bool keep, struct diag *diag);

#endif
