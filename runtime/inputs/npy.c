/* SPDX-License-Identifier: Apache-2.0 */
/* Input data from NumPy files: header versions 1 to 3, either byte order, either memory order. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "runtime/graph/texts.h"
#include "runtime/inputs/input.h"

/* What the header says. */
struct header {
    enum dtype dtype;
    bool swapped; /* big-endian */
    bool fortran;
    struct shape shape;
    size_t characters; /* of each text, 4 bytes each */
    bool has_descr, has_order, has_shape;
};

/* A reader over the header's text, which is a Python dict. */
struct reader {
    const char *at;
    const char *end;
    struct diag *diag;
};

static int fail(struct reader *reader, const char *what)
{
    return diag_set(reader->diag, -EINVAL, "the NumPy header %s", what);
}

static void skip_spaces(struct reader *reader)
{
    while (reader->at < reader->end && isspace((unsigned char)*reader->at))
        reader->at++;
}

/* Steps over one character if it is the next one behind spaces. */
static bool accept(struct reader *reader, char c)
{
    skip_spaces(reader);
    if (reader->at == reader->end || *reader->at != c)
        return false;
    reader->at++;
    return true;
}

static bool accept_word(struct reader *reader, const char *word)
{
    size_t length = strlen(word);

    skip_spaces(reader);
    if ((size_t)(reader->end - reader->at) < length || memcmp(reader->at, word, length) != 0)
        return false;
    reader->at += length;
    return true;
}

/* 'text' or "text" into out, which has room for `room` bytes with the NUL. */
static int read_string(struct reader *reader, char *out, size_t room)
{
    char quote;
    size_t length = 0;

    skip_spaces(reader);
    if (reader->at == reader->end || (*reader->at != '\'' && *reader->at != '"'))
        return fail(reader, "has something else where a text should be");
    quote = *reader->at++;
    while (reader->at < reader->end && *reader->at != quote) {
        if (length + 1 >= room)
            return fail(reader, "holds a text that is too long");
        out[length++] = *reader->at++;
    }
    if (reader->at == reader->end)
        return fail(reader, "ends within a text");
    reader->at++;
    out[length] = '\0';
    return 0;
}

enum { CHARACTERS_MAX = 1 << 20 };

/* "<U12": texts of up to so many characters. */
static void read_characters(const char *digits, struct header *header)
{
    char *end;
    unsigned long count = strtoul(digits, &end, 10);

    if (isdigit((unsigned char)*digits) && *end == '\0' && count > 0 && count <= CHARACTERS_MAX) {
        header->dtype = DTYPE_STRING;
        header->characters = count;
    }
}

/* "<f4": byte order, kind, bytes. */
static int read_descr(struct reader *reader, struct header *header)
{
    static const struct {
        const char *kind;
        enum dtype dtype;
    } kinds[] = {
        {"f4", DTYPE_F32}, {"f8", DTYPE_F64}, {"f2", DTYPE_F16}, {"i1", DTYPE_I8},
        {"i2", DTYPE_I16}, {"i4", DTYPE_I32}, {"i8", DTYPE_I64}, {"u1", DTYPE_U8},
        {"u2", DTYPE_U16}, {"u4", DTYPE_U32}, {"u8", DTYPE_U64}, {"b1", DTYPE_BOOL},
    };
    char descr[64];
    int rc;

    skip_spaces(reader);
    if (reader->at < reader->end && *reader->at == '[')
        return diag_set(reader->diag, -ENOTSUP, "the NumPy array has a structured type");
    rc = read_string(reader, descr, sizeof(descr));
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (strchr("<>=|", descr[0]) && strcmp(descr + 1, kinds[i].kind) == 0)
            header->dtype = kinds[i].dtype;
    }
    if (strchr("<>=|", descr[0]) && descr[0] != '\0' && descr[1] == 'U')
        read_characters(descr + 2, header);
    if (descr[0] == '\0' || header->dtype == DTYPE_NONE)
        return diag_set(reader->diag, -ENOTSUP,
                        "the NumPy array has the type '%s', which is not supported", descr);
    header->swapped = descr[0] == '>';
    header->has_descr = true;
    return 0;
}

static int read_order(struct reader *reader, struct header *header)
{
    header->fortran = accept_word(reader, "True");
    if (!header->fortran && !accept_word(reader, "False"))
        return fail(reader, "does not say the memory order");
    header->has_order = true;
    return 0;
}

static int read_shape(struct reader *reader, struct header *header)
{
    struct shape *shape = &header->shape;

    if (!accept(reader, '('))
        return fail(reader, "has no shape");
    while (!accept(reader, ')')) {
        int64_t dim = 0;
        bool digits = false;

        if (shape->rank == SHAPE_MAX_RANK)
            return diag_set(reader->diag, -EINVAL, "the NumPy array has more than %d dimensions",
                            SHAPE_MAX_RANK);
        skip_spaces(reader);
        for (; reader->at < reader->end && isdigit((unsigned char)*reader->at); reader->at++) {
            digits = true;
            if (dim > TENSOR_MAX_BYTES)
                return fail(reader, "has a dimension that is too large");
            dim = dim * 10 + (*reader->at - '0');
        }
        if (!digits)
            return fail(reader, "has a dimension that is no number");
        shape->dims[shape->rank++] = dim;
        accept(reader, 'L'); /* Python 2 wrote its longs so */
        if (!accept(reader, ',')) {
            if (!accept(reader, ')'))
                return fail(reader, "has a shape that does not end");
            break;
        }
    }
    header->has_shape = true;
    return 0;
}

static int read_header(struct reader *reader, struct header *header)
{
    char key[32];
    int rc = 0;

    if (!accept(reader, '{'))
        return fail(reader, "is not a dict");
    while (rc == 0 && !accept(reader, '}')) {
        rc = read_string(reader, key, sizeof(key));
        if (rc < 0)
            return rc;
        if (!accept(reader, ':'))
            return fail(reader, "is not a dict");
        if (strcmp(key, "descr") == 0 && !header->has_descr)
            rc = read_descr(reader, header);
        else if (strcmp(key, "fortran_order") == 0 && !header->has_order)
            rc = read_order(reader, header);
        else if (strcmp(key, "shape") == 0 && !header->has_shape)
            rc = read_shape(reader, header);
        else
            return fail(reader, "has an entry that does not belong there");
        if (rc == 0 && !accept(reader, ',')) {
            if (!accept(reader, '}'))
                return fail(reader, "does not end");
            break;
        }
    }
    if (rc == 0 && !(header->has_descr && header->has_order && header->has_shape))
        return fail(reader, "lacks the type, the memory order or the shape");
    return rc;
}

/* Finds the header's text. Returns the offset of the data behind it. */
static int find_header(const uint8_t *bytes, size_t size, struct reader *out_reader,
                       size_t *out_data, struct diag *diag)
{
    size_t start = size >= 8 && bytes[6] == 1 ? 10 : 12;
    size_t length;

    if (size < 8 || memcmp(bytes, "\x93NUMPY", 6) != 0)
        return diag_set(diag, -EINVAL, "this is not a NumPy file");
    if (bytes[6] < 1 || bytes[6] > 3)
        return diag_set(diag, -ENOTSUP, "the NumPy file has version %u; 1 to 3 are supported",
                        bytes[6]);
    if (size < start)
        return diag_set(diag, -EINVAL, "the NumPy file ends within its header");
    length = (size_t)bytes[8] | (size_t)bytes[9] << 8;
    if (start == 12)
        length |= (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
    if (length > size - start)
        return diag_set(diag, -EINVAL, "the NumPy file ends within its header");
    *out_reader =
        (struct reader){(const char *)bytes + start, (const char *)bytes + start + length, diag};
    *out_data = start + length;
    return 0;
}

static void swap_bytes(uint8_t *data, int64_t count, size_t width)
{
    for (int64_t i = 0; i < count; i++, data += width) {
        for (size_t k = 0; k < width / 2; k++) {
            uint8_t kept = data[k];

            data[k] = data[width - 1 - k];
            data[width - 1 - k] = kept;
        }
    }
}

/* Column-major source to row-major: walks the target in order with a counter per dim. */
static void copy_fortran(uint8_t *to, const uint8_t *from, const struct shape *shape, size_t width)
{
    int64_t index[SHAPE_MAX_RANK] = {0};
    int64_t stride[SHAPE_MAX_RANK];
    int64_t total = shape_elements(shape);
    int64_t step = 1;
    int64_t at = 0;

    for (int i = 0; i < shape->rank; i++) {
        stride[i] = step;
        step *= shape->dims[i];
    }
    for (int64_t n = 0; n < total; n++, to += width) {
        memcpy(to, from + (size_t)at * width, width);
        for (int i = shape->rank - 1; i >= 0; i--) {
            at += stride[i];
            if (++index[i] < shape->dims[i])
                break;
            at -= stride[i] * shape->dims[i];
            index[i] = 0;
        }
    }
}

/* The number of one text, which ends where only zeros follow. -EINVAL for what is no character. */
static int64_t read_text(const uint8_t *bytes, const struct header *header, char *room)
{
    size_t length = 0, end = 0;

    for (size_t i = 0; i < header->characters; i++) {
        uint32_t code = 0;

        for (int k = 0; k < 4; k++)
            code |= (uint32_t)bytes[4 * i + (size_t)k] << (header->swapped ? 24 - 8 * k : 8 * k);
        if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
            return -EINVAL;
        length += text_encode(room + length, code);
        end = code ? length : end;
    }
    return texts_number(room, end);
}

/* Texts have a fixed width in the file, in Unicode's code points. */
static int parse_texts(const uint8_t *bytes, size_t size, const struct header *header,
                       struct tensor_view *out_view, struct diag *diag)
{
    int64_t count = shape_elements(&header->shape);
    size_t width = 4 * header->characters;
    struct tensor_view view = {header->dtype, header->shape, NULL};
    char *room = malloc(width + 1);
    int64_t *numbers = NULL, rc = room ? 0 : -ENOMEM;

    if (width > 0 ? size % width != 0 || size / width != (size_t)count : size != 0)
        rc = diag_set(diag, -EINVAL,
                      "the NumPy file has %zu bytes of texts where its shape needs "
                      "%lld times %zu",
                      size, (long long)count, width);
    else if (header->fortran && header->shape.rank > 1)
        rc = diag_set(diag, -ENOTSUP, "the NumPy array has texts in Fortran's order");
    if (rc == 0)
        numbers = view.data = graph_alloc_data((size_t)count * sizeof(*numbers));
    if (rc == 0 && !numbers)
        rc = -ENOMEM;
    for (int64_t i = 0; rc == 0 && i < count; i++) {
        numbers[i] = read_text(bytes + (size_t)i * width, header, room);
        rc = numbers[i] < 0 ? numbers[i] : 0;
        if (rc == -EINVAL)
            diag_set(diag, -EINVAL, "element %lld of the NumPy array is no text", (long long)i);
    }
    free(room);
    if (rc == -ENOMEM || rc == -E2BIG)
        diag_set(diag, (int)rc, "no memory for the NumPy array");
    if (rc == 0)
        *out_view = view;
    else
        free(numbers);
    return (int)rc;
}

int input_parse_npy(const uint8_t *bytes, size_t size, struct tensor_view *out_view,
                    struct diag *diag)
{
    struct header header = {0};
    struct reader reader = {0};
    size_t start = 0;
    int64_t wanted;
    int rc = find_header(bytes, size, &reader, &start, diag);

    if (rc == 0)
        rc = read_header(&reader, &header);
    if (rc < 0)
        return rc;
    wanted = shape_bytes(&header.shape, header.dtype);
    if (wanted < 0)
        return diag_set(diag, -EINVAL, "the NumPy array is too large");
    if (header.dtype == DTYPE_STRING)
        return parse_texts(bytes + start, size - start, &header, out_view, diag);
    if ((uint64_t)wanted != size - start)
        return diag_set(diag, -EINVAL,
                        "the NumPy file has %zu bytes of data where its shape needs %lld",
                        size - start, (long long)wanted);
    *out_view = (struct tensor_view){header.dtype, header.shape, graph_alloc_data((size_t)wanted)};
    if (!out_view->data)
        return diag_set(diag, -ENOMEM, "no memory for the NumPy array");
    if (header.fortran && header.shape.rank > 1)
        copy_fortran(out_view->data, bytes + start, &header.shape, dtype_bytes(header.dtype));
    else if (wanted > 0)
        memcpy(out_view->data, bytes + start, (size_t)wanted);
    if (header.swapped)
        swap_bytes(out_view->data, shape_elements(&header.shape), dtype_bytes(header.dtype));
    return 0;
}
