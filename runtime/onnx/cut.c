/* SPDX-License-Identifier: Apache-2.0 */
/* A model without the bytes of its parameters: a copy of the message, field by field. */
#include "runtime/onnx/cut.h"

#include <errno.h>
#include <string.h>

#include "runtime/onnx/wire.h"

/* Field numbers of ModelProto, GraphProto, TensorProto. */
enum { MODEL_GRAPH = 7, GRAPH_INITIALIZER = 5, TENSOR_RAW_DATA = 9 };

enum { LENGTH_BYTES = 5 }; /* of a length that is filled in later */

static int append(struct onnx_cut *cut, const uint8_t *from, const uint8_t *end)
{
    size_t size = (size_t)(end - from);

    if (array_reserve(&cut->message, cut->message.count + size) < 0)
        return -ENOMEM;
    memcpy(cut->message.items + cut->message.count, from, size);
    cut->message.count += size;
    return 0;
}

/* A length that is not known yet, in as many bytes as any needs. */
static int begin_length(struct onnx_cut *cut, size_t *out_place)
{
    static const uint8_t zeros[LENGTH_BYTES];

    *out_place = cut->message.count;
    return append(cut, zeros, zeros + LENGTH_BYTES);
}

static int end_length(struct onnx_cut *cut, size_t place)
{
    uint64_t length = cut->message.count - place - LENGTH_BYTES;

    if (length >> (7 * LENGTH_BYTES))
        return -EINVAL;
    for (int i = 0; i < LENGTH_BYTES; i++, length >>= 7)
        cut->message.items[place + (size_t)i] =
            (uint8_t)((length & 0x7f) | (i + 1 < LENGTH_BYTES ? 0x80 : 0));
    return 0;
}

/* Fields of a message, each handed to `copy`. */
typedef int copy_fn(struct onnx_cut *cut, const struct onnx_wire_field *field);

static int copy_fields(struct onnx_cut *cut, struct onnx_wire rest, copy_fn *copy)
{
    struct onnx_wire_field field;
    int rc = 0;

    while (rc == 0 && rest.at < rest.end) {
        rc = onnx_wire_next(&rest, &field);
        if (rc == 0)
            rc = copy(cut, &field);
    }
    return rc == -ENODATA ? -EINVAL : rc;
}

static int copy_inner(struct onnx_cut *cut, const struct onnx_wire_field *field, copy_fn *copy)
{
    struct onnx_wire tag = {field->start, field->content};
    uint64_t number;
    size_t place = 0;
    int rc = onnx_wire_varint(&tag, &number);

    if (rc == 0)
        rc = append(cut, field->start, tag.at);
    if (rc == 0)
        rc = begin_length(cut, &place);
    if (rc == 0)
        rc = copy_fields(cut, (struct onnx_wire){field->content, field->end}, copy);
    return rc < 0 ? rc : end_length(cut, place);
}

static int copy_tensor_field(struct onnx_cut *cut, const struct onnx_wire_field *field)
{
    if (field->number != TENSOR_RAW_DATA || field->type != ONNX_WIRE_DELIMITED)
        return append(cut, field->start, field->end);
    cut->raws.items[cut->raws.count - 1] =
        (struct onnx_raw){field->content, (size_t)(field->end - field->content)};
    return 0;
}

static int copy_graph_field(struct onnx_cut *cut, const struct onnx_wire_field *field)
{
    if (field->number != GRAPH_INITIALIZER || field->type != ONNX_WIRE_DELIMITED)
        return append(cut, field->start, field->end);
    if (array_push(&cut->raws, ((struct onnx_raw){0})) < 0)
        return -ENOMEM;
    return copy_inner(cut, field, copy_tensor_field);
}

static int copy_model_field(struct onnx_cut *cut, const struct onnx_wire_field *field)
{
    if (field->number != MODEL_GRAPH || field->type != ONNX_WIRE_DELIMITED)
        return append(cut, field->start, field->end);
    return copy_inner(cut, field, copy_graph_field);
}

int onnx_cut_init(struct onnx_cut *cut, const uint8_t *bytes, size_t size)
{
    *cut = (struct onnx_cut){0};
    return size == 0 ? -EINVAL
                     : copy_fields(cut, (struct onnx_wire){bytes, bytes + size}, copy_model_field);
}

void onnx_cut_deinit(struct onnx_cut *cut)
{
    array_deinit(&cut->message);
    array_deinit(&cut->raws);
}
