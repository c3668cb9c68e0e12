/* SPDX-License-Identifier: Apache-2.0 */
/* From a file, or bytes in memory, to a protobuf message, with messages that say what is wrong.
 * For model.c and tensor.c; nobody else sees protobuf. */
#ifndef OPTRACE_RUNTIME_ONNX_FILE_H
#define OPTRACE_RUNTIME_ONNX_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "runtime/onnx/onnx.pb-c.h"

struct mapped_file {
    const uint8_t *bytes; /* NULL when the file is empty */
    size_t size;
};

/** Map a whole regular file for reading. -ENOENT, -EACCES, -EISDIR, ... with the path in diag. */
int mapped_file_open(struct mapped_file *file, const char *path, struct diag *diag);

/** Accepts {0}. */
void mapped_file_close(struct mapped_file *file);

/**
 * Decode one message.
 *
 * what          for messages: "model" or "tensor"
 * first_field   a file that breaks before this field number was seen is called foreign, not
 *               truncated (ONNX writers put the fields in order)
 * out_message   free with onnx_free()
 *
 * The memory taken stays below 8 times the size plus 64 MiB: -E2BIG beyond. -EINVAL for bytes that
 * are truncated or no such message.
 */
int onnx_unpack(const ProtobufCMessageDescriptor *descriptor, const char *what,
                uint32_t first_field, const uint8_t *bytes, size_t size,
                ProtobufCMessage **out_message, struct diag *diag);

void onnx_free(ProtobufCMessage *message);

#endif
