/* SPDX-License-Identifier: Apache-2.0 */
/* Tensor data that a model keeps in other files of its folder. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/graph/graph.h"
#include "runtime/onnx/external.h"

static int refuse(const struct onnx_external *external, const char *what, struct diag *diag)
{
    return diag_set(diag, -EACCES,
                    "%s keeps its data in '%s', which is outside the model's folder or behind a "
                    "symbolic link",
                    what, external->location);
}

/* Opens one component after the other, never following a link. */
static int open_inside(int folder_fd, const struct onnx_external *external, const char *what,
                       struct diag *diag)
{
    char path[PATH_MAX];
    char *rest = path;
    char *part;
    int fd = -1;
    int next;

    if (external->location[0] == '/' || strlen(external->location) >= sizeof(path))
        return refuse(external, what, diag);
    strcpy(path, external->location);
    while ((part = strsep(&rest, "/"))) {
        if (part[0] == '\0' || strcmp(part, ".") == 0)
            continue;
        if (strcmp(part, "..") == 0) {
            next = -1;
            errno = ELOOP;
        } else {
            next = openat(fd >= 0 ? fd : folder_fd, part,
                          O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
        }
        if (fd >= 0) {
            int kept = errno;

            close(fd);
            errno = kept;
        }
        fd = next;
        if (fd < 0 && errno == ELOOP)
            return refuse(external, what, diag);
        if (fd < 0)
            return diag_set(diag, -errno, "%s keeps its data in '%s', which cannot be opened: %s",
                            what, external->location, strerror(errno));
    }
    return fd >= 0 ? fd : refuse(external, what, diag);
}

static int read_all(int fd, const struct onnx_external *external, const char *what, uint8_t *data,
                    size_t bytes, struct diag *diag)
{
    size_t done = 0;

    while (done < bytes) {
        ssize_t n = pread(fd, data + done, bytes - done, (off_t)(external->offset + done));

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return diag_set(diag, -errno, "cannot read '%s': %s", external->location,
                            strerror(errno));
        if (n == 0)
            return diag_set(diag, -EINVAL, "'%s' ends before the data of %s", external->location,
                            what);
        done += (size_t)n;
    }
    return 0;
}

static int alloc_and_read(int fd, const struct onnx_external *external, const char *what,
                          size_t bytes, void **out_data, struct diag *diag)
{
    void *data = graph_alloc_data(bytes);
    int rc;

    if (!data)
        return diag_set(diag, -ENOMEM, "no memory for the %zu bytes of %s", bytes, what);
    rc = read_all(fd, external, what, data, bytes, diag);
    if (rc < 0)
        free(data);
    else
        *out_data = data;
    return rc;
}

static int check_length(const struct onnx_external *external, const char *what, size_t bytes,
                        struct diag *diag)
{
    if (external->length == 0 || external->length == bytes)
        return 0;
    return diag_set(diag, -EINVAL,
                    "%s needs %zu bytes, but says that '%s' holds %" PRIu64 " for it", what, bytes,
                    external->location, external->length);
}

/* That the file is one, and large enough. */
static int check_file(int fd, const struct onnx_external *external, const char *what, size_t bytes,
                      struct diag *diag)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return diag_set(diag, -errno, "cannot read '%s': %s", external->location, strerror(errno));
    if (!S_ISREG(st.st_mode))
        return diag_set(diag, -EINVAL, "%s keeps its data in '%s', which is not a regular file",
                        what, external->location);
    if (external->offset > (uint64_t)st.st_size || bytes > (uint64_t)st.st_size - external->offset)
        return diag_set(diag, -EINVAL,
                        "%s needs %zu bytes from byte %" PRIu64 " of '%s', which has %" PRIu64,
                        what, bytes, external->offset, external->location, (uint64_t)st.st_size);
    return 0;
}

int onnx_external_map(int folder_fd, const struct onnx_external *external, const char *what,
                      size_t bytes, struct onnx_external_map *out_map, struct diag *diag)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), inside = external->offset % page;
    struct onnx_external_map map = {.bytes = (size_t)inside + bytes};
    int rc = check_length(external, what, bytes, diag);
    int fd = rc < 0 ? rc : open_inside(folder_fd, external, what, diag);

    if (fd < 0)
        return fd;
    rc = check_file(fd, external, what, bytes, diag);
    if (rc == 0) {
        map.address =
            mmap(NULL, map.bytes, PROT_READ, MAP_PRIVATE, fd, (off_t)(external->offset - inside));
        map.data = (const uint8_t *)map.address + inside;
        rc = map.address == MAP_FAILED ? 1 : 0;
    }
    close(fd);
    if (rc == 0)
        *out_map = map;
    return rc;
}

int onnx_external_read(int folder_fd, const struct onnx_external *external, const char *what,
                       size_t bytes, void **out_data, struct diag *diag)
{
    int rc = check_length(external, what, bytes, diag);
    int fd = rc < 0 ? rc : open_inside(folder_fd, external, what, diag);

    if (fd < 0)
        return fd;
    rc = check_file(fd, external, what, bytes, diag);
    if (rc == 0)
        rc = alloc_and_read(fd, external, what, bytes, out_data, diag);
    close(fd);
    return rc;
}
