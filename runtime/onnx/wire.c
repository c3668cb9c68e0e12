/* SPDX-License-Identifier: Apache-2.0 */
/* Tags, lengths and what lies between them. */
#include "runtime/onnx/wire.h"

#include <errno.h>

int onnx_wire_varint(struct onnx_wire *wire, uint64_t *out_value)
{
    uint64_t value = 0;

    for (unsigned shift = 0; shift < 70; shift += 7) {
        uint8_t byte;

        if (wire->at >= wire->end)
            return -EINVAL;
        byte = *wire->at++;
        value |= shift < 64 ? (uint64_t)(byte & 0x7f) << shift : 0;
        if (byte < 0x80) {
            *out_value = value;
            return 0;
        }
    }
    return -EINVAL;
}

int onnx_wire_next(struct onnx_wire *wire, struct onnx_wire_field *out_field)
{
    struct onnx_wire_field field = {.start = wire->at};
    uint64_t tag, length = 0;

    if (onnx_wire_varint(wire, &tag) < 0)
        return wire->at >= wire->end ? -ENODATA : -EINVAL;
    field.number = tag >> 3;
    field.type = tag & 7;
    field.content = wire->at;
    if (field.number == 0)
        return -EINVAL;
    switch (field.type) {
    case 0:
        if (onnx_wire_varint(wire, &length) < 0)
            return -ENODATA;
        length = 0;
        break;
    case 1:
        length = 8;
        break;
    case ONNX_WIRE_DELIMITED:
        if (onnx_wire_varint(wire, &length) < 0)
            return -ENODATA;
        field.content = wire->at;
        break;
    case 5:
        length = 4;
        break;
    default:
        return -EINVAL;
    }
    if (length > (uint64_t)(wire->end - wire->at))
        return -ENODATA;
    wire->at += length;
    field.end = wire->at;
    *out_field = field;
    return 0;
}
