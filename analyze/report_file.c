/* SPDX-License-Identifier: Apache-2.0 */
/* Holding back what a report prints. */
#include "analyze/report_file.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

enum { HELD_BYTES = 16 << 20, COPY_BYTES = 256 << 10 };

/* All that came goes to a temporary file, and what is to come; where none can be made, memory has to
 * do. */
static int spill(struct report_file *file)
{
    file->spilled = tmpfile();
    if (!file->spilled) {
        file->held_bytes = SIZE_MAX;
        return 0;
    }
    if (fwrite(file->text.items, 1, file->text.count, file->spilled) != file->text.count)
        return -1;
    array_deinit(&file->text);
    return 0;
}

/* As fopencookie() wants it: 0 with errno is a failure. */
static ssize_t hold(void *cookie, const char *bytes, size_t size)
{
    struct report_file *file = cookie;
    const size_t most = file->held_bytes ? file->held_bytes : HELD_BYTES;

    if (!file->spilled && size > most - file->text.count && spill(file) < 0)
        return 0;
    if (file->spilled)
        return fwrite(bytes, 1, size, file->spilled) == size ? (ssize_t)size : 0;
    if (array_reserve(&file->text, file->text.count + size) < 0) {
        errno = ENOMEM;
        return 0;
    }
    memcpy(file->text.items + file->text.count, bytes, size);
    file->text.count += size;
    return (ssize_t)size;
}

int report_file_open(struct report_file *file, const char *path, bool holds, struct diag *diag)
{
    int rc;

    file->path = path;
    file->holds = holds;
    if (holds) {
        file->stream = fopencookie(file, "w", (cookie_io_functions_t){.write = hold});
        return file->stream ? 0 : diag_set(diag, -ENOMEM, "no memory for the report");
    }
    rc = export_file_open(&file->file, path, true, diag);
    if (rc == 0)
        file->stream = file->file.stream;
    return rc;
}

/* Failures of writing are told by the end of the file. */
static int copy_spilled(FILE *from, FILE *to, struct diag *diag)
{
    char *bytes = malloc(COPY_BYTES);
    size_t size;
    int rc = 0;

    if (!bytes)
        return diag_set(diag, -ENOMEM, "no memory for the report");
    rewind(from);
    while ((size = fread(bytes, 1, COPY_BYTES, from)) > 0)
        fwrite(bytes, 1, size, to);
    if (ferror(from))
        rc = diag_set(diag, -EIO, "cannot read a temporary file: %s", strerror(errno));
    free(bytes);
    return rc;
}

static int write_held(struct report_file *file, struct diag *diag)
{
    int rc = export_file_open(&file->file, file->path, true, diag), close_rc;

    if (rc < 0)
        return rc;
    if (file->spilled)
        rc = copy_spilled(file->spilled, file->file.stream, diag);
    else if (file->text.count)
        fwrite(file->text.items, 1, file->text.count, file->file.stream);
    close_rc = export_file_close(&file->file, rc == 0, diag);
    return rc ? rc : close_rc;
}

int report_file_close(struct report_file *file, bool keep, struct diag *diag)
{
    int rc = 0;

    if (!file->stream)
        return 0;
    if (!file->holds)
        return export_file_close(&file->file, keep, diag);
    if (fclose(file->stream) == EOF || (file->spilled && fflush(file->spilled) == EOF))
        rc = diag_set(diag, errno ? -errno : -EIO,
                      "cannot hold the report in a temporary file in /tmp: %s",
                      strerror(errno ? errno : EIO));
    else if (keep)
        rc = write_held(file, diag);
    if (file->spilled)
        fclose(file->spilled);
    array_deinit(&file->text);
    return rc;
}
