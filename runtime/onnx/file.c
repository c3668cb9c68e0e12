/* SPDX-License-Identifier: Apache-2.0 */
/* From a file, or bytes in memory, to a protobuf message, with messages that say what is wrong. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/amount.h"
#include "runtime/graph/run_limits.h"
#include "runtime/onnx/file.h"
#include "runtime/onnx/wire.h"

int mapped_file_open(struct mapped_file *file, const char *path, struct diag *diag)
{
    struct stat st;
    void *map;
    int rc = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    *file = (struct mapped_file){0};
    if (fd < 0)
        return diag_set(diag, -errno, "cannot open '%s': %s", path, strerror(errno));
    if (fstat(fd, &st) < 0)
        rc = diag_set(diag, -errno, "cannot read '%s': %s", path, strerror(errno));
    else if (!S_ISREG(st.st_mode))
        rc = diag_set(diag, S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL, "'%s' is %s", path,
                      S_ISDIR(st.st_mode) ? "a folder" : "not a regular file");
    else if (st.st_size > 0) {
        map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (map == MAP_FAILED)
            rc = diag_set(diag, -errno, "cannot map '%s': %s", path, strerror(errno));
        else
            *file = (struct mapped_file){map, (size_t)st.st_size};
    }
    close(fd);
    return rc;
}

void mapped_file_close(struct mapped_file *file)
{
    if (file->bytes)
        munmap((void *)file->bytes, file->size);
    *file = (struct mapped_file){0};
}

/* Walks over the fields of the outermost message. */
static int check_wire(const char *what, uint32_t first_field, const uint8_t *bytes, size_t size,
                      struct diag *diag)
{
    struct onnx_wire wire;
    struct onnx_wire_field field = {0};
    bool seen = false;

    if (size == 0)
        return diag_set_at(diag, -EINVAL, 0, "the %s is empty", what);
    wire = (struct onnx_wire){bytes, bytes + size};
    while (wire.at < wire.end) {
        size_t start = (size_t)(wire.at - bytes);
        int rc = onnx_wire_next(&wire, &field);

        if (rc == -ENODATA && seen)
            return diag_set_at(diag, -EINVAL, (int64_t)start,
                               "the %s is truncated: the field at byte %zu goes beyond the end of "
                               "its %zu bytes",
                               what, start, size);
        if (rc < 0 && seen)
            return diag_set_at(diag, -EINVAL, (int64_t)start, "the %s is damaged at byte %zu", what,
                               start);
        if (rc < 0)
            break;
        seen = seen || field.number == first_field;
    }
    if (!seen)
        return diag_set_at(diag, -EINVAL, 0, "this is not an ONNX %s", what);
    return 0;
}

/* What a message may take; a hostile file of two-byte submessages would take 60 times its size. */
struct budget {
    size_t left;
    bool exceeded;
};

static void *budget_alloc(void *data, size_t size)
{
    struct budget *budget = data;

    if (size > budget->left) {
        budget->exceeded = true;
        return NULL;
    }
    budget->left -= size;
    return limits_allow(size) ? malloc(size) : NULL;
}

static void budget_free(void *data, void *pointer)
{
    (void)data;
    free(pointer);
}

int onnx_unpack(const ProtobufCMessageDescriptor *descriptor, const char *what,
                uint32_t first_field, const uint8_t *bytes, size_t size,
                ProtobufCMessage **out_message, struct diag *diag)
{
    struct budget budget = {.left = size * 8 + ((size_t)64 << 20)};
    ProtobufCAllocator allocator = {budget_alloc, budget_free, &budget};
    ProtobufCMessage *message;
    char text[AMOUNT_BYTES];
    int rc = check_wire(what, first_field, bytes, size, diag);

    if (rc < 0)
        return rc;
    message = protobuf_c_message_unpack(descriptor, &allocator, size, bytes);
    if (!message && budget.exceeded)
        return diag_set(
            diag, -E2BIG, "the %s unfolds to more than %s", what,
            amount_format_bytes(text, sizeof(text), (double)(size * 8 + ((size_t)64 << 20))));
    if (!message)
        return diag_set(diag, -EINVAL, "the %s is damaged: a field inside does not decode", what);
    *out_message = message;
    return 0;
}

void onnx_free(ProtobufCMessage *message)
{
    ProtobufCAllocator allocator = {budget_alloc, budget_free, NULL};

    if (message)
        protobuf_c_message_free_unpacked(message, &allocator);
}
