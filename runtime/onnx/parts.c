/* SPDX-License-Identifier: Apache-2.0 */
/* Sequences and optionals out of the files of a test data set. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime/onnx/file.h"
#include "runtime/onnx/tensor.h"

enum { HOLDS_NOTHING = 0, HOLDS_TENSOR = 1, HOLDS_SEQUENCE = 3 }; /* elem_type */

void onnx_parts_deinit(struct onnx_parts *parts)
{
    for (size_t i = 0; i < parts->count; i++)
        free(parts->items[i].data);
    free(parts->items);
    *parts = (struct onnx_parts){0};
}

static int take_tensors(Onnx__TensorProto **tensors, size_t count, struct onnx_parts *parts,
                        struct diag *diag)
{
    if (count > ONNX_PARTS_MAX)
        return diag_set(diag, -E2BIG, "the sequence has more than %d tensors", ONNX_PARTS_MAX);
    parts->items = calloc(count + 1, sizeof(*parts->items));
    if (!parts->items)
        return diag_set(diag, -ENOMEM, "no memory for the sequence");
    for (; parts->count < count; parts->count++) {
        char what[64];
        int rc;

        snprintf(what, sizeof(what), "tensor %zu of the sequence", parts->count);
        rc = onnx_tensor_from_proto(tensors[parts->count], -1, what, &parts->items[parts->count],
                                    diag);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static int parse_sequence(const uint8_t *bytes, size_t size, struct onnx_parts *parts,
                          struct diag *diag)
{
    ProtobufCMessage *message = NULL;
    int rc =
        onnx_unpack(&onnx__sequence_proto__descriptor, "sequence", 2, bytes, size, &message, diag);
    const Onnx__SequenceProto *proto = (const Onnx__SequenceProto *)message;

    if (rc < 0)
        return rc;
    if (proto->has_elem_type && proto->elem_type != HOLDS_TENSOR &&
        proto->elem_type != HOLDS_NOTHING)
        rc = diag_set(diag, -ENOTSUP, "the sequence holds something else than tensors");
    else
        rc = take_tensors(proto->tensor_values, proto->n_tensor_values, parts, diag);
    onnx_free(message);
    return rc;
}

static int parse_optional(const uint8_t *bytes, size_t size, bool is_sequence,
                          struct onnx_parts *parts, struct diag *diag)
{
    ProtobufCMessage *message = NULL;
    int rc =
        onnx_unpack(&onnx__optional_proto__descriptor, "optional", 2, bytes, size, &message, diag);
    Onnx__OptionalProto *proto = (Onnx__OptionalProto *)message;
    int holds;

    if (rc < 0)
        return rc;
    holds = proto->has_elem_type ? proto->elem_type : HOLDS_NOTHING;
    if (holds == HOLDS_TENSOR && !is_sequence && proto->tensor_value)
        rc = take_tensors(&proto->tensor_value, 1, parts, diag);
    else if (holds == HOLDS_SEQUENCE && is_sequence && proto->has_sequence_value)
        rc = parse_sequence(proto->sequence_value.data, proto->sequence_value.len, parts, diag);
    else if (!proto->tensor_value && !proto->has_sequence_value)
        parts->is_empty = true;
    else
        rc = diag_set(diag, -EINVAL, "the optional holds something else than the model says");
    onnx_free(message);
    return rc;
}

int onnx_parts_parse(const uint8_t *bytes, size_t size, bool is_sequence, bool is_optional,
                     struct onnx_parts *out_parts, struct diag *diag)
{
    struct onnx_parts parts = {0};
    int rc = is_optional ? parse_optional(bytes, size, is_sequence, &parts, diag)
                         : parse_sequence(bytes, size, &parts, diag);

    if (rc == 0)
        *out_parts = parts;
    else
        onnx_parts_deinit(&parts);
    return rc;
}

int onnx_parts_load(const char *path, bool is_sequence, bool is_optional,
                    struct onnx_parts *out_parts, struct diag *diag)
{
    struct diag inner = {0};
    struct mapped_file file;
    int rc = mapped_file_open(&file, path, diag);

    if (rc < 0)
        return rc;
    rc = onnx_parts_parse(file.bytes, file.size, is_sequence, is_optional, out_parts, &inner);
    if (rc < 0)
        diag_set(diag, rc, "%.200s: %.280s", path, inner.text);
    mapped_file_close(&file);
    return rc;
}
