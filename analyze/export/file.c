/* SPDX-License-Identifier: Apache-2.0 */
/* Files that appear whole or not at all. */
#include "analyze/export/file.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "analyze/json/text.h"
#include "schema/store/store.h"

/* --- What a signal removes. --- */

/* SQLite and the writer's lock make files beside the database. */
static const char *const companions[] = {"", "-journal", "-wal", "-shm", "-lock"};
enum { LINKS_MAX = 40 }; /* as many as Linux follows */
enum { COMPANIONS = sizeof(companions) / sizeof(companions[0]) };

static char pending[COMPANIONS][PATH_MAX];

static void remove_pending(void)
{
    for (int i = 0; i < COMPANIONS; i++) {
        if (pending[i][0])
            unlink(pending[i]);
    }
}

static void end_by_signal(int number)
{
    remove_pending();
    signal(number, SIG_DFL);
    raise(number);
}

/* "" ends it. */
static void set_pending(const char *path)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    static bool is_armed;
    sigset_t signals, before;

    sigemptyset(&signals);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        sigaddset(&signals, numbers[i]);
    sigprocmask(SIG_BLOCK, &signals, &before);
    for (int i = 0; i < COMPANIONS; i++)
        snprintf(pending[i], sizeof(pending[i]), "%s%s", path, *path ? companions[i] : "");
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]) && !is_armed; i++) {
        if (signal(numbers[i], end_by_signal) == SIG_IGN)
            signal(numbers[i], SIG_IGN);
    }
    is_armed = true;
    sigprocmask(SIG_SETMASK, &before, NULL);
}

/* --- Errors. --- */

static int fail(const struct export_file *file, int error, struct diag *diag)
{
    return diag_set(diag, error == EACCES || error == EISDIR ? -error : -EIO, "cannot write %s: %s",
                    file->name, strerror(error));
}

/* --- Compression. --- */

static ssize_t write_gzip(void *cookie, const char *bytes, size_t size)
{
    unsigned part = size > INT_MAX ? INT_MAX : (unsigned)size;

    return gzwrite(cookie, bytes, part);
}

static int close_gzip(void *cookie)
{
    return gzclose(cookie) == Z_OK ? 0 : -1;
}

/* The stream takes the descriptor over, also when it fails. */
static FILE *open_gzip(int fd)
{
    static const cookie_io_functions_t functions = {.write = write_gzip, .close = close_gzip};
    gzFile gzip = gzdopen(fd, "wb4");
    FILE *stream;

    if (!gzip) {
        close(fd);
        return NULL;
    }
    stream = fopencookie(gzip, "w", functions);
    if (!stream)
        gzclose(gzip);
    return stream;
}

static bool ends_in_gz(const char *path)
{
    size_t length = strlen(path);

    return length > 3 && strcmp(path + length - 3, ".gz") == 0;
}

/* --- Names. --- */

/* Where a path leads to that may be a link to what is not there yet: what is put in its place would
 * be no link. NULL with errno; the caller frees it. */
static char *follow(const char *path)
{
    char target[PATH_MAX], *next, *at = strdup(path);

    for (int links = 0; at; links++) {
        const ssize_t length = readlink(at, target, sizeof(target) - 1);
        const char *slash = strrchr(at, '/');

        if (length < 0)
            return at;
        target[length] = '\0';
        next = NULL;
        errno = ELOOP;
        if (links < LINKS_MAX &&
            asprintf(&next, "%.*s%s", *target == '/' || !slash ? 0 : (int)(slash - at + 1), at,
                     target) < 0)
            next = NULL;
        free(at);
        at = next;
    }
    return NULL;
}

/* What the names are: of a link, what it leads to. Returns 1 when the file is to be written to
 * directly, as it is no regular one. */
static int choose_names(struct export_file *file, const char *path, struct stat *status,
                        struct diag *diag)
{
    bool exists = stat(path, status) == 0;

    *file = (struct export_file){.name = path, .lock_fd = -1};
    if (!exists)
        memset(status, 0, sizeof(*status));
    if (exists && S_ISDIR(status->st_mode))
        return fail(file, EISDIR, diag);
    if (exists && !S_ISREG(status->st_mode))
        return 1;
    file->path = exists ? realpath(path, NULL) : follow(path);
    if (!file->path && errno != ENOMEM)
        return fail(file, errno, diag);
    if (!file->path || asprintf(&file->temporary, "%s.XXXXXX", file->path) < 0) {
        free(file->path);
        return diag_set(diag, -ENOMEM, "no memory for the names of files");
    }
    if (strlen(file->temporary) + 16 > PATH_MAX) {
        free(file->path);
        free(file->temporary);
        return diag_set(diag, -ENAMETOOLONG, "the name %s is too long", path);
    }
    return 0;
}

static mode_t usual_mode(void)
{
    mode_t mask = umask(0);

    umask(mask);
    return 0666 & ~mask;
}

/* Makes the temporary file, with the permissions that the file has or would get. */
static int make_temporary(struct export_file *file, const struct stat *status, struct diag *diag)
{
    int fd = mkostemp(file->temporary, O_CLOEXEC), error;

    if (fd >= 0) {
        set_pending(file->temporary);
        if (fchmod(fd, status->st_mode ? status->st_mode & 0777 : usual_mode()) == 0)
            return fd;
        unlink(file->temporary);
        close(fd);
    }
    error = errno;
    set_pending("");
    return fail(file, error, diag);
}

static int open_stream(struct export_file *file, int fd, bool is_gzip, struct diag *diag)
{
    file->stream = is_gzip ? open_gzip(fd) : fdopen(fd, "w");
    if (file->stream)
        return 0;
    if (!is_gzip)
        close(fd);
    return diag_set(diag, -ENOMEM, "no memory to write %s", file->name);
}

int export_file_open(struct export_file *file, const char *path, bool packs, struct diag *diag)
{
    struct stat status;
    int rc;

    *file = (struct export_file){.stream = stdout, .name = "standard output", .lock_fd = -1};
    if (!path)
        return 0;
    rc = choose_names(file, path, &status, diag);
    if (rc == 1) {
        file->stream = fopen(path, "we");
        return file->stream ? 0 : fail(file, errno, diag);
    }
    if (rc < 0)
        return rc;
    rc = make_temporary(file, &status, diag);
    if (rc >= 0)
        rc = open_stream(file, rc, packs && ends_in_gz(path), diag);
    if (rc < 0)
        export_file_close(file, false, NULL);
    return rc;
}

int export_file_reserve(struct export_file *file, const char *path, struct diag *diag)
{
    struct stat status;
    int rc;

    if (lstat(path, &status) == 0)
        return diag_set(diag, -EINVAL, "%s exists already: it is not replaced", path);
    rc = choose_names(file, path, &status, diag);
    if (rc < 0)
        return rc;
    file->is_new = true;
    rc = make_temporary(file, &status, diag);
    if (rc < 0) {
        export_file_close(file, false, NULL);
        return rc;
    }
    close(rc);
    unlink(file->temporary);
    return 0;
}

/* --- Adding to a file. --- */

enum { TAIL_BYTES = 4096, HEAD_BYTES = 4096, NOT_THERE = -1000 };

/* Others that add to a file of this folder wait, also where it is still to be made. */
static int lock_folder(struct export_file *file, struct diag *diag)
{
    char *path = strdup(file->path);

    if (!path)
        return diag_set(diag, -ENOMEM, "no memory for the names of files");
    file->lock_fd = open(dirname(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    free(path);
    if (file->lock_fd < 0 || flock(file->lock_fd, LOCK_EX) < 0)
        return fail(file, errno, diag);
    return 0;
}

static int64_t skip_back(const char *text, int64_t length)
{
    while (length && strchr(" \t\r\n,", text[length - 1]))
        length--;
    return length;
}

/* How many bytes of the file go before the next event: without the last bracket. -EUCLEAN where it
 * does not end as an array of events does. */
static int64_t find_end(int fd, int64_t size)
{
    char tail[TAIL_BYTES];
    int64_t from = size > TAIL_BYTES ? size - TAIL_BYTES : 0;
    int64_t length = pread(fd, tail, TAIL_BYTES, from);

    if (length != size - from)
        return -EIO;
    length = skip_back(tail, length);
    if (length && tail[length - 1] == ']')
        length = skip_back(tail, length - 1);
    if (!length || (tail[length - 1] != '}' && tail[length - 1] != '['))
        return size && length ? -EUCLEAN : 0;
    return from + length;
}

/* The zero of the times stands in the first event: export/chrome/chrome.c writes it. */
static bool read_base(int fd, int64_t *out_base_ns)
{
    char head[HEAD_BYTES];
    ssize_t length = pread(fd, head, sizeof(head), 0);
    const char *open = length > 0 ? memchr(head, '{', (size_t)length) : NULL;
    const char *end = open ? memchr(open, '\n', (size_t)(head + length - open)) : NULL;
    struct json_slice event, args;

    if (head[0] != '[' || !end)
        return false;
    end -= end > open && end[-1] == ',';
    event = json_value(open, (size_t)(end - open));
    args = json_member(event, "args");
    return json_is(json_member(event, "name"), "baseTimeNanoseconds") &&
           json_whole(json_member(args, "value"), out_base_ns) && *out_base_ns >= 0;
}

static int copy_bytes(int from, int to, int64_t size)
{
    char bytes[65536];
    int64_t done = 0;

    while (done < size) {
        size_t left = (size_t)(size - done), part = left < sizeof(bytes) ? left : sizeof(bytes);
        ssize_t length = pread(from, bytes, part, done);

        if (length <= 0)
            return length ? -errno : -EIO;
        for (ssize_t at = 0, wrote; at < length; at += wrote) {
            wrote = write(to, bytes + at, (size_t)(length - at));
            if (wrote < 0)
                return -errno;
        }
        done += length;
    }
    return 0;
}

/* What stands before: *out_bytes 0 where there is nothing to go on with. Returns a descriptor of
 * the file, or -1 where there is none, or another negative errno. */
static int open_before(struct export_file *file, int64_t *out_base_ns, int64_t *out_bytes,
                       struct diag *diag)
{
    int fd = open(file->path, O_RDONLY | O_CLOEXEC), rc = 0;
    struct stat status;
    int64_t end;

    if (fd < 0 && errno == ENOENT)
        return NOT_THERE;
    if (fd < 0 || fstat(fd, &status) < 0)
        rc = fail(file, errno, diag);
    end = rc == 0 ? find_end(fd, status.st_size) : 0;
    if (end == -EIO)
        rc = fail(file, EIO, diag);
    else if (end > 1 && read_base(fd, out_base_ns))
        *out_bytes = end;
    else if (end > 1 || end < 0)
        rc = diag_set(diag, -EUCLEAN,
                      "%s was not begun with --append: its times have another zero, or it is no "
                      "array of events",
                      file->name);
    if (rc < 0 && fd >= 0)
        close(fd);
    return rc < 0 ? rc : fd;
}

/* The names are chosen and the folder is locked. */
static int begin_append(struct export_file *file, const struct stat *status, int64_t *out_base_ns,
                        int64_t *out_bytes, struct diag *diag)
{
    int before = open_before(file, out_base_ns, out_bytes, diag), fd, rc = 0;

    if (before < 0 && before != NOT_THERE)
        return before;
    fd = make_temporary(file, status, diag);
    if (fd >= 0 && *out_bytes)
        rc = copy_bytes(before, fd, *out_bytes);
    if (before >= 0)
        close(before);
    if (fd < 0)
        return fd;
    if (rc < 0) {
        close(fd);
        return fail(file, -rc, diag);
    }
    return open_stream(file, fd, false, diag);
}

int export_file_append(struct export_file *file, const char *path, int64_t *out_base_ns,
                       int64_t *out_bytes, struct diag *diag)
{
    struct stat status;
    int rc = choose_names(file, path, &status, diag);

    *out_base_ns = STORE_NULL;
    *out_bytes = 0;
    if (rc == 1)
        return diag_set(diag, -EINVAL, "%s is no regular file: --append needs one", path);
    if (rc < 0)
        return rc;
    rc = ends_in_gz(path) ? diag_set(diag, -EINVAL, "--append cannot go on with a compressed file")
                          : lock_folder(file, diag);
    if (rc == 0)
        rc = begin_append(file, &status, out_base_ns, out_bytes, diag);
    if (rc < 0)
        export_file_close(file, false, NULL);
    return rc;
}

/* --- The end. --- */

static int copy_packed(int from, gzFile to)
{
    char bytes[65536];
    ssize_t length;

    while ((length = read(from, bytes, sizeof(bytes))) > 0) {
        if (gzwrite(to, bytes, (unsigned)length) != length)
            return -EIO;
    }
    return length < 0 ? -errno : 0;
}

/* What was made by other means is packed once it is whole, under the name that it was made with. */
static int pack_made(const struct export_file *file, struct diag *diag)
{
    int from = open(file->temporary, O_RDONLY | O_CLOEXEC), to = -1, rc = 0;
    struct stat status;
    gzFile gzip = NULL;

    if (from < 0)
        return fail(file, errno, diag);
    if (fstat(from, &status) == 0) {
        remove_pending();
        to = open(file->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, status.st_mode & 0777);
        gzip = to < 0 ? NULL : gzdopen(to, "wb4");
    }
    if (!gzip)
        rc = errno ? -errno : -ENOMEM;
    if (gzip)
        rc = copy_packed(from, gzip);
    if (gzip && gzclose(gzip) != Z_OK && rc == 0)
        rc = errno ? -errno : -EIO;
    if (!gzip && to >= 0)
        close(to);
    close(from);
    return rc < 0 ? fail(file, -rc, diag) : 0;
}

static int put_in_place(struct export_file *file, struct diag *diag)
{
    if (!file->is_new)
        return rename(file->temporary, file->path) == 0 ? 0 : fail(file, errno, diag);
    /* A link fails where the name has been taken meanwhile. */
    if (link(file->temporary, file->path) == 0)
        return 0;
    if (errno == EEXIST || rename(file->temporary, file->path) < 0)
        return fail(file, errno, diag);
    return 0;
}

int export_file_close(struct export_file *file, bool keep, struct diag *diag)
{
    int rc = 0;

    errno = 0;
    if (file->stream && (fflush(file->stream) == EOF || ferror(file->stream)) && keep)
        rc = fail(file, errno ? errno : EIO, diag);
    if (file->is_new && keep && ends_in_gz(file->path))
        rc = pack_made(file, diag);
    errno = 0;
    if (file->stream && file->stream != stdout && fclose(file->stream) == EOF && rc == 0 && keep)
        rc = fail(file, errno ? errno : EIO, diag);
    if (file->temporary && keep && rc == 0)
        rc = put_in_place(file, diag);
    if (file->temporary && (!keep || rc < 0 || file->is_new))
        remove_pending();
    if (file->temporary)
        set_pending("");
    if (file->lock_fd >= 0)
        close(file->lock_fd);
    free(file->path);
    free(file->temporary);
    *file = (struct export_file){.name = file->name, .lock_fd = -1};
    return rc;
}
