/* SPDX-License-Identifier: Apache-2.0 */
/* Fields of a protobuf message, one after the other, without decoding what they hold. */
#ifndef OPTRACE_RUNTIME_ONNX_WIRE_H
#define OPTRACE_RUNTIME_ONNX_WIRE_H

#include <stdint.h>

enum { ONNX_WIRE_DELIMITED = 2 }; /* the type of strings, bytes and messages */

/** The rest of a message; borrowed bytes. */
struct onnx_wire {
    const uint8_t *at, *end;
};

struct onnx_wire_field {
    uint64_t number;
    unsigned type;
    /* The field begins with its tag; of a delimited one the content stands behind its length, of
     * the others it is the rest of the field. */
    const uint8_t *start, *content, *end;
};

/** Returns 0, or -EINVAL at the end of the bytes or after ten of them. */
int onnx_wire_varint(struct onnx_wire *wire, uint64_t *out_value);

/** Steps over a field. Returns 0; -EINVAL for no protobuf; -ENODATA when the bytes end too early.
 */
int onnx_wire_next(struct onnx_wire *wire, struct onnx_wire_field *out_field);

#endif
