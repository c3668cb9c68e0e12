/* SPDX-License-Identifier: Apache-2.0 */
/* Tensor data that a model keeps in other files of its folder. */
#ifndef OPTRACE_RUNTIME_ONNX_EXTERNAL_H
#define OPTRACE_RUNTIME_ONNX_EXTERNAL_H

#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"

struct onnx_external {
    const char *location; /* relative path, '/' between components */
    uint64_t offset;
    uint64_t length; /* 0: not given */
};

/* The pages of a file in which a tensor's data lie. */
struct onnx_external_map {
    void *address; /* for munmap() */
    size_t bytes;
    const void *data;
};

/** Map what onnx_external_read() would read. Errors as there; 1 when the system maps no more: then
 *  read it. */
int onnx_external_map(int folder_fd, const struct onnx_external *external, const char *what,
                      size_t bytes, struct onnx_external_map *out_map, struct diag *diag);

/**
 * Read `bytes` bytes.
 *
 * out_data  written only on success: made with graph_alloc_data(), the caller frees it. Nothing is
 *           allocated before the file is known to hold that much.
 *
 * Absolute paths, "..", and symbolic links anywhere on the way are refused with -EACCES: a model
 * from somewhere else must not be able to read files of this machine. -EINVAL when the file is
 * shorter than it must be or `length` contradicts `bytes`; else what open() or pread() say.
 */
int onnx_external_read(int folder_fd, const struct onnx_external *external, const char *what,
                       size_t bytes, void **out_data, struct diag *diag);

#endif
