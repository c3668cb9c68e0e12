/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX tensors: from the messages of a model, and from the files of a test data set. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/graph/texts.h"
#include "runtime/onnx/external.h"
#include "runtime/onnx/file.h"
#include "runtime/onnx/tensor.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "raw_data is copied as it is");

/* Shape from ONNX dims; -EINVAL for negative ones, too many, or a tensor beyond the limit. */
static int read_shape(const int64_t *dims, size_t rank, enum dtype dtype, const char *what,
                      struct shape *out_shape, struct diag *diag)
{
    if (rank > SHAPE_MAX_RANK)
        return diag_set(diag, -EINVAL, "%s has %zu dimensions; the limit is %d", what, rank,
                        SHAPE_MAX_RANK);
    out_shape->rank = (int)rank;
    for (size_t i = 0; i < rank; i++) {
        if (dims[i] < 0)
            return diag_set(diag, -EINVAL, "%s has the negative dimension %" PRId64, what, dims[i]);
        out_shape->dims[i] = dims[i];
    }
    if (shape_bytes(out_shape, dtype) < 0) {
        char text[SHAPE_TEXT_BYTES];

        return diag_set(diag, -EINVAL, "%s is too large: %s", what, shape_text(out_shape, text));
    }
    return 0;
}

static int check_dtype(const Onnx__TensorProto *proto, const char *what, enum dtype *out_dtype,
                       struct diag *diag)
{
    enum dtype dtype = (enum dtype)proto->data_type;

    if (!proto->has_data_type || proto->data_type == 0)
        return diag_set(diag, -EINVAL, "%s has no element type", what);
    if (proto->data_type < 0 || dtype_bytes(dtype) == 0)
        return diag_set(diag, -ENOTSUP, "%s has element type %d (%s), which is not supported", what,
                        (int)proto->data_type, dtype_name(dtype));
    *out_dtype = dtype;
    return 0;
}

/* One of the typed lists of a TensorProto, and the width of its entries. */
struct typed_list {
    const void *entries;
    size_t count;
    size_t entry_bytes;
};

static struct typed_list typed_data(const Onnx__TensorProto *proto, enum dtype dtype)
{
    switch (dtype) {
    case DTYPE_F32:
        return (struct typed_list){proto->float_data, proto->n_float_data, 4};
    case DTYPE_F64:
        return (struct typed_list){proto->double_data, proto->n_double_data, 8};
    case DTYPE_I64:
        return (struct typed_list){proto->int64_data, proto->n_int64_data, 8};
    case DTYPE_U32:
    case DTYPE_U64:
        return (struct typed_list){proto->uint64_data, proto->n_uint64_data, 8};
    default: /* 8 and 16 bit integers, int32, bool, the bits of float16 */
        return (struct typed_list){proto->int32_data, proto->n_int32_data, 4};
    }
}

/* Copies entries into narrower elements: both are little-endian, so the first bytes are the value.
 */
static void copy_narrow(uint8_t *to, size_t width, const struct typed_list *list)
{
    const uint8_t *from = list->entries;

    for (size_t i = 0; i < list->count; i++)
        memcpy(to + i * width, from + i * list->entry_bytes, width);
}

/* Bytes of so many elements in a file: those of few bits are packed. */
static size_t file_bytes(enum dtype dtype, size_t elements)
{
    return (elements * dtype_file_bits(dtype) + 7) / 8;
}

static bool is_packed(enum dtype dtype)
{
    return dtype_file_bits(dtype) < 8;
}

enum { PACKED_PART = 64 }; /* bytes */

/* So many parts of elements of 4 bits, the last one first. */
static void unpack_fours(uint8_t *data, uint8_t sign, size_t parts)
{
    uint8_t packed[PACKED_PART];

    while (parts-- > 0) {
        uint8_t *to = data + 2 * PACKED_PART * parts;

        memcpy(packed, data + PACKED_PART * parts, sizeof(packed));
        for (size_t i = 0; i < PACKED_PART; i++) {
            to[2 * i] = (uint8_t)(((packed[i] & 15) ^ sign) - sign);
            to[2 * i + 1] = (uint8_t)((packed[i] >> 4 ^ sign) - sign);
        }
    }
}

/* A byte for each element, from the lowest bits on; integers with a sign keep it. `data` has room for
 * all and begins with what is packed, so that the last one is unpacked first. */
static void unpack(uint8_t *data, enum dtype dtype, size_t elements)
{
    size_t bits = dtype_file_bits(dtype), each = 8 / bits;
    size_t parts = bits == 4 ? elements / (2 * PACKED_PART) : 0;
    uint8_t sign = dtype == DTYPE_I4 || dtype == DTYPE_I2 ? (uint8_t)(1 << (bits - 1)) : 0;

    for (size_t i = elements; i-- > parts * 2 * PACKED_PART;) {
        uint8_t code = data[i / each] >> (i % each * bits) & ((1 << bits) - 1);

        data[i] = (uint8_t)((code ^ sign) - sign);
    }
    unpack_fours(data, sign, parts);
}

/* What is stored in the message must fit the shape before anything is allocated for it. */
static int check_stored(const Onnx__TensorProto *proto, const char *what, enum dtype dtype,
                        size_t elements, struct diag *diag)
{
    struct typed_list list = typed_data(proto, dtype);
    size_t bytes = file_bytes(dtype, elements);
    size_t entries = is_packed(dtype) ? bytes : elements;

    if (proto->has_raw_data && proto->raw_data.len != bytes)
        return diag_set(diag, -EINVAL, "%s holds %zu bytes where its shape needs %zu", what,
                        proto->raw_data.len, bytes);
    if (!proto->has_raw_data && list.count != entries)
        return diag_set(diag, -EINVAL, "%s holds %zu elements where its shape needs %zu", what,
                        list.count, entries);
    return 0;
}

enum {
    GIVE_BACK_BYTES = 1 << 16, /* worth a system call */
    PART_BYTES = 1 << 20       /* are copied before their pages are given back */
};

/* Pages of a file that were copied need not be held as well. A wish: nothing depends on it. */
static void give_back(const uint8_t *bytes, size_t size)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), begin = (uintptr_t)bytes;
    uintptr_t first = (begin + page - 1) / page * page, end = (begin + size) / page * page;

    if (end >= first + GIVE_BACK_BYTES)
        madvise((void *)first, end - first, MADV_DONTNEED);
}

static void copy_raw(uint8_t *to, const ProtobufCBinaryData *raw, bool is_mapped)
{
    for (size_t begin = 0; begin < raw->len; begin += PART_BYTES) {
        size_t part = raw->len - begin < PART_BYTES ? raw->len - begin : PART_BYTES;

        memcpy(to + begin, raw->data + begin, part);
        if (is_mapped)
            give_back(raw->data + begin, part);
    }
}

static int copy_stored(Onnx__TensorProto *proto, const char *what, enum dtype dtype, size_t bytes,
                       bool is_mapped, void **out_data, struct diag *diag)
{
    struct typed_list list = typed_data(proto, dtype);
    void *data = graph_alloc_data(bytes);

    if (!data)
        return diag_set(diag, -ENOMEM, "no memory for the %zu bytes of %s", bytes, what);
    *out_data = data;
    if (!proto->has_raw_data) {
        copy_narrow(data, dtype_bytes(dtype), &list);
        return 0;
    }
    copy_raw(data, &proto->raw_data, is_mapped);
    return 0;
}

static bool may_share(const struct onnx_share *share, enum dtype dtype, size_t bytes)
{
    return share && share->may_share && dtype != DTYPE_BOOL && !is_packed(dtype) && bytes > 0;
}

static bool is_aligned(const void *data, enum dtype dtype)
{
    return (uintptr_t)data % dtype_bytes(dtype) == 0;
}

static bool may_defer(const struct onnx_share *share, enum dtype dtype, size_t bytes)
{
    return share && share->may_defer && dtype == DTYPE_F32 && bytes >= GIVE_BACK_BYTES;
}

/* What the message holds, or held until it was cut out. */
static int take_stored(Onnx__TensorProto *proto, const char *what, struct onnx_share *share,
                       struct tensor_view *made, struct diag *diag)
{
    size_t elements = (size_t)shape_elements(&made->shape);
    size_t bytes = (size_t)shape_bytes(&made->shape, made->dtype);
    bool is_cut = share && share->raw->bytes;
    int rc;

    if (is_cut) {
        proto->has_raw_data = 1;
        proto->raw_data = (ProtobufCBinaryData){share->raw->size, (uint8_t *)share->raw->bytes};
    }
    rc = check_stored(proto, what, made->dtype, elements, diag);
    if (rc == 0 && is_cut && may_share(share, made->dtype, bytes) &&
        is_aligned(share->raw->bytes, made->dtype)) {
        made->data = (void *)share->raw->bytes;
        share->is_shared = true;
    } else if (rc == 0 && is_cut && share->is_mapped && may_defer(share, made->dtype, bytes)) {
        made->data = (void *)share->raw->bytes;
        share->is_shared = share->is_deferred = true;
    } else if (rc == 0) {
        rc = copy_stored(proto, what, made->dtype, bytes, is_cut && share->is_mapped, &made->data,
                         diag);
    }
    if (!is_cut && (rc < 0 || !proto->has_raw_data))
        return rc;
    if (!is_cut)
        free(proto->raw_data.data); /* early: a large model is not held twice */
    proto->raw_data = (ProtobufCBinaryData){0};
    return rc;
}

static int parse_number(const char *text, uint64_t *out_number)
{
    char *end;

    errno = 0;
    *out_number = strtoull(text, &end, 10);
    return errno != 0 || *end != '\0' || text[0] < '0' || text[0] > '9' ? -EINVAL : 0;
}

static int find_external(const Onnx__TensorProto *proto, int folder_fd, const char *what,
                         struct onnx_external *out_external, struct diag *diag)
{
    struct onnx_external external = {0};

    if (folder_fd < 0)
        return diag_set(diag, -EACCES,
                        "%s keeps its data in another file, which is not allowed "
                        "here",
                        what);
    for (size_t i = 0; i < proto->n_external_data; i++) {
        const char *key = proto->external_data[i]->key;
        const char *value = proto->external_data[i]->value;
        int rc = 0;

        if (!key || !value)
            continue;
        if (strcmp(key, "location") == 0)
            external.location = value;
        else if (strcmp(key, "offset") == 0)
            rc = parse_number(value, &external.offset);
        else if (strcmp(key, "length") == 0)
            rc = parse_number(value, &external.length);
        if (rc < 0 || external.offset > INT64_MAX / 2)
            return diag_set(diag, -EINVAL, "%s has '%s' as the %s of its external data", what,
                            value, key);
    }
    if (!external.location)
        return diag_set(diag, -EINVAL, "%s keeps its data in another file and does not say which",
                        what);
    *out_external = external;
    return 0;
}

/* Returns 1 when it cannot stay where it is. */
static int map_external(const struct onnx_external *external, int folder_fd, const char *what,
                        struct onnx_share *share, struct tensor_view *made, struct diag *diag)
{
    size_t bytes = (size_t)shape_bytes(&made->shape, made->dtype);
    bool defers = may_defer(share, made->dtype, bytes);
    struct onnx_external_map map;
    int rc;

    if (!may_share(share, made->dtype, bytes) && !defers)
        return 1;
    rc = onnx_external_map(folder_fd, external, what, bytes, &map, diag);
    if (rc != 0)
        return rc;
    share->is_deferred = !share->may_share || !is_aligned(map.data, made->dtype);
    if ((share->is_deferred && !defers) ||
        graph_add_map(share->graph, map.address, map.bytes) < 0) {
        munmap(map.address, map.bytes);
        share->is_deferred = false;
        return 1;
    }
    made->data = (void *)map.data;
    share->is_shared = true;
    return 0;
}

/* What is packed needs more room than it has in the file. */
static int read_packed(const struct onnx_external *external, int folder_fd, const char *what,
                       struct tensor_view *made, struct diag *diag)
{
    size_t elements = (size_t)shape_elements(&made->shape);
    size_t bytes = file_bytes(made->dtype, elements);
    void *packed;
    int rc = onnx_external_read(folder_fd, external, what, bytes, &packed, diag);

    if (rc < 0)
        return rc;
    made->data = graph_alloc_data(elements);
    if (made->data)
        memcpy(made->data, packed, bytes);
    free(packed);
    return made->data ? 0 : diag_set(diag, -ENOMEM, "no memory for %s", what);
}

static int take_external(const Onnx__TensorProto *proto, int folder_fd, const char *what,
                         struct onnx_share *share, struct tensor_view *made, struct diag *diag)
{
    struct onnx_external external;
    int rc = find_external(proto, folder_fd, what, &external, diag);

    if (rc == 0)
        rc = map_external(&external, folder_fd, what, share, made, diag);
    if (rc != 1)
        return rc;
    return is_packed(made->dtype)
               ? read_packed(&external, folder_fd, what, made, diag)
               : onnx_external_read(folder_fd, &external, what,
                                    (size_t)shape_bytes(&made->shape, made->dtype), &made->data,
                                    diag);
}

/* Texts are listed one by one, and become their numbers. */
static int take_texts(const Onnx__TensorProto *proto, const char *what,
                      const struct onnx_share *share, struct tensor_view *made, struct diag *diag)
{
    bool was_cut = share && share->raw->size > 0;
    size_t elements = (size_t)shape_elements(&made->shape);
    int64_t *numbers;

    if (was_cut || (proto->has_raw_data && proto->raw_data.len > 0) || proto->data_location != 0)
        return diag_set(diag, -EINVAL, "%s holds texts as raw bytes", what);
    if (proto->n_string_data != elements)
        return diag_set(diag, -EINVAL, "%s holds %zu texts where its shape needs %zu", what,
                        proto->n_string_data, elements);
    numbers = graph_alloc_data(elements * sizeof(*numbers));
    if (!numbers)
        return diag_set(diag, -ENOMEM, "no memory for %s", what);
    for (size_t i = 0; i < elements; i++) {
        numbers[i] =
            texts_number((const char *)proto->string_data[i].data, proto->string_data[i].len);
        if (numbers[i] < 0) {
            int rc = (int)numbers[i];

            free(numbers);
            return diag_set(diag, rc, "no memory for the texts of %s", what);
        }
    }
    made->data = numbers;
    return 0;
}

/* A bool is 0 or 1 from here on, whatever byte the file holds. */
static void normalise_bool(struct tensor_view *tensor, size_t elements)
{
    uint8_t *bytes = tensor->data;

    for (size_t i = 0; i < elements; i++)
        bytes[i] = bytes[i] != 0;
}

int onnx_tensor_share(Onnx__TensorProto *proto, int folder_fd, const char *what,
                      struct onnx_share *share, struct tensor_view *out_view, struct diag *diag)
{
    struct tensor_view made = {0};
    int rc;

    if (proto->has_segment)
        return diag_set(diag, -ENOTSUP, "%s is stored in segments, which is not supported", what);
    rc = check_dtype(proto, what, &made.dtype, diag);
    if (rc == 0)
        rc = read_shape(proto->dims, proto->n_dims, made.dtype, what, &made.shape, diag);
    if (rc < 0)
        return rc;
    if (made.dtype == DTYPE_STRING)
        rc = take_texts(proto, what, share, &made, diag);
    else if (proto->data_location == 0)
        rc = take_stored(proto, what, share, &made, diag);
    else if (proto->data_location == 1)
        rc = take_external(proto, folder_fd, what, share, &made, diag);
    else
        rc = diag_set(diag, -ENOTSUP, "%s has the unknown data location %d", what,
                      (int)proto->data_location);
    if (rc < 0)
        return rc;
    if (is_packed(made.dtype))
        unpack(made.data, made.dtype, (size_t)shape_elements(&made.shape));
    if (made.dtype == DTYPE_BOOL)
        normalise_bool(&made, (size_t)shape_elements(&made.shape));
    *out_view = made;
    return 0;
}

int onnx_tensor_from_proto(Onnx__TensorProto *proto, int folder_fd, const char *what,
                           struct tensor_view *out_view, struct diag *diag)
{
    return onnx_tensor_share(proto, folder_fd, what, NULL, out_view, diag);
}

int onnx_tensor_parse(const uint8_t *bytes, size_t size, const char *what,
                      struct tensor_view *out_view, char **out_name, struct diag *diag)
{
    ProtobufCMessage *message = NULL;
    Onnx__TensorProto *proto;
    char *name = NULL;
    int rc;

    rc = onnx_unpack(&onnx__tensor_proto__descriptor, "tensor", 2, bytes, size, &message, diag);
    if (rc < 0)
        return rc;
    proto = (Onnx__TensorProto *)message;
    if (out_name) {
        name = strdup(proto->name ? proto->name : "");
        if (!name)
            rc = -ENOMEM;
    }
    if (rc == 0)
        rc = onnx_tensor_from_proto(proto, -1, what, out_view, diag);
    if (rc == 0 && out_name) {
        *out_name = name;
        name = NULL;
    }
    free(name);
    onnx_free(message);
    return rc;
}

int onnx_tensor_load(const char *path, struct tensor_view *out_view, char **out_name,
                     struct diag *diag)
{
    struct diag inner = {0};
    struct mapped_file file;
    int rc = mapped_file_open(&file, path, diag);

    if (rc < 0)
        return rc;
    rc = onnx_tensor_parse(file.bytes, file.size, "the tensor", out_view, out_name, &inner);
    if (rc < 0)
        diag_set(diag, rc, "%.200s: %.280s", path, inner.text);
    mapped_file_close(&file);
    return rc;
}
