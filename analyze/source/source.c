/* SPDX-License-Identifier: Apache-2.0 */
/* Opening files of all formats as stores. */
#include "analyze/source/source.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyze/json/stream.h"

enum { PLACE_BYTES = 64 };

static int open_default(struct source *source, struct diag *diag)
{
    char path[PATH_MAX];
    int rc = store_default_path(path, sizeof(path));

    if (rc < 0)
        return diag_set(diag, rc, "the path of the default store is too long");
    source->is_default = true;
    source->name = strdup(path);
    if (!source->name)
        return diag_set(diag, -ENOMEM, "no memory for the source");
    if (access(path, F_OK) < 0 && errno == ENOENT)
        return diag_set(diag, -ENOENT,
                        "there is no store at %s yet: start optraced and record something, or "
                        "name a file",
                        path);
    return store_open(path, STORE_READ, &source->store, diag);
}

static int load_stream(const char *path, struct source *source,
                       const struct import_options *options, struct diag *diag)
{
    struct json_stream_watch watch = {
        .read = options ? options->progress : NULL,
        .context = options ? options->progress_context : NULL,
    };
    struct json_stream *stream = NULL;
    int rc = json_stream_open(path, source->name, &watch, &stream, diag);

    if (rc < 0)
        return rc;
    rc = source->format->read_json(stream, source->name, source->store, options, &source->format,
                                   diag);
    json_stream_close(&stream);
    return rc;
}

/* Sessions of a store that the other has already are left out. What a daemon writes meanwhile is
 * not seen. */
static int import_store(const char *path, struct store *into, struct diag *diag)
{
    struct store *from = NULL;
    size_t taken, known;
    int rc = store_open(path, STORE_READ, &from, diag);

    if (rc == 0)
        rc = store_copy_all(into, from, &taken, &known, diag);
    store_close(&from);
    return rc;
}

/* `source->store` is where an import goes; NULL: to a store in memory, and stores are read too. */
static int open_path(const char *path, struct source *source, const struct import_options *options,
                     struct diag *diag)
{
    int rc = source_detect(path, source->name, &source->format, diag);

    if (rc < 0)
        return rc;
    if (!source->format && source->store)
        return import_store(path, source->store, diag);
    if (!source->format)
        return store_open(path, STORE_READ, &source->store, diag);
    rc = source->store ? 0 : store_open("", STORE_MEMORY, &source->store, diag);
    if (rc < 0)
        return rc;
    if (source->format->read_file)
        return source->format->read_file(path, source->name, source->store, options, diag);
    return load_stream(path, source, options, diag);
}

/* A file for what comes through a pipe. SQLite opens files by name, so one of it keeps its name,
 * until it is open. It came without a journal, so its head (bytes 18 and 19) asks for none: then no
 * files are made beside it. */
static FILE *make_copy(char *head, size_t length, char *name)
{
    bool is_sqlite = length >= 100 && memcmp(head, "SQLite", 6) == 0;
    int fd = is_sqlite ? mkostemp(name, O_CLOEXEC) : -1;
    FILE *copy = !is_sqlite ? tmpfile() : fd < 0 ? NULL : fdopen(fd, "w+e");

    if (is_sqlite)
        head[18] = head[19] = 1;
    if (copy && !is_sqlite)
        snprintf(name, PLACE_BYTES, "/proc/self/fd/%d", fileno(copy));
    if (fd >= 0 && !copy) {
        close(fd);
        unlink(name);
    }
    return copy;
}

/* What comes through a pipe is read twice, first to see what it is. */
static int open_pipe(const char *path, struct source *source, const struct import_options *options,
                     struct diag *diag)
{
    char bytes[65536], place[PLACE_BYTES] = P_tmpdir "/profile_analyze.XXXXXX";
    FILE *pipe = fopen(path, "re"), *copy = NULL;
    size_t length = pipe ? fread(bytes, 1, sizeof(bytes), pipe) : 0;
    int rc = 0;

    if (pipe)
        copy = make_copy(bytes, length, place);
    if (!copy) {
        rc = diag_set(diag, errno ? -errno : -EIO, "cannot open %s: %s", path,
                      strerror(errno ? errno : EIO));
        goto out;
    }
    while (length > 0 && fwrite(bytes, 1, length, copy) == length)
        length = fread(bytes, 1, sizeof(bytes), pipe);
    if (ferror(pipe) || ferror(copy) || fflush(copy) == EOF) {
        rc = diag_set(diag, -EIO, "cannot read %s: %s", path, strerror(errno));
        goto out;
    }
    rc = open_path(place, source, options, diag);
out:
    if (pipe)
        fclose(pipe);
    if (copy)
        fclose(copy);
    if (copy && strncmp(place, "/proc/", 6) != 0)
        unlink(place);
    return rc;
}

static int open_file(const char *path, struct source *source, const struct import_options *options,
                     struct diag *diag)
{
    struct stat status;

    source->name = strdup(path);
    if (!source->name)
        return diag_set(diag, -ENOMEM, "no memory for the source");
    if (stat(path, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode))
        return open_pipe(path, source, options, diag);
    return open_path(path, source, options, diag);
}

int source_open(const char *path, const struct import_options *options, struct source *out_source,
                struct diag *diag)
{
    struct source source = {0};
    int rc = path ? open_file(path, &source, options, diag) : open_default(&source, diag);

    if (rc < 0)
        source_close(&source);
    else
        *out_source = source;
    return rc;
}

int source_import(const char *path, const struct import_options *options, struct store *store,
                  struct diag *diag)
{
    struct source source = {.store = store};
    int rc = open_file(path, &source, options, diag);

    if (rc == 0 && options && options->sample_ns &&
        !(source.format && source.format->takes_samples))
        rc = diag_set(diag, -EUCLEAN, SOURCE_NO_SAMPLES, path);
    free(source.name);
    return rc;
}

void source_close(struct source *source)
{
    store_close(&source->store);
    free(source->name);
    source->name = NULL;
}
