/* SPDX-License-Identifier: Apache-2.0 */
/* Input data from JSON: {"NAME": {"shape": [..], "type": "float32", "raw": [..]}, ...}. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "runtime/graph/element.h"
#include "runtime/graph/texts.h"
#include "runtime/inputs/input.h"

static const struct {
    const char *word;
    enum dtype dtype;
} types[] = {
    {"float32", DTYPE_F32}, {"float", DTYPE_F32}, {"float64", DTYPE_F64},   {"double", DTYPE_F64},
    {"int32", DTYPE_I32},   {"int", DTYPE_I32},   {"int64", DTYPE_I64},     {"int16", DTYPE_I16},
    {"int8", DTYPE_I8},     {"uint8", DTYPE_U8},  {"uint16", DTYPE_U16},    {"uint32", DTYPE_U32},
    {"uint64", DTYPE_U64},  {"bool", DTYPE_BOOL}, {"string", DTYPE_STRING},
};

static int read_type(const cJSON *entry, struct tensor_view *view, struct diag *diag)
{
    const cJSON *type = cJSON_GetObjectItemCaseSensitive(entry, "type");

    if (!cJSON_IsString(type))
        return diag_set(diag, -EINVAL, "tensor '%.100s' has no \"type\"", entry->string);
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (strcmp(types[i].word, type->valuestring) == 0) {
            view->dtype = types[i].dtype;
            return 0;
        }
    }
    return diag_set(diag, -ENOTSUP, "tensor '%.100s' has the type '%.60s', which is not supported",
                    entry->string, type->valuestring);
}

static int read_shape(const cJSON *entry, struct tensor_view *view, struct diag *diag)
{
    const cJSON *shape = cJSON_GetObjectItemCaseSensitive(entry, "shape");
    const cJSON *dim;

    if (!cJSON_IsArray(shape))
        return diag_set(diag, -EINVAL, "tensor '%.100s' has no \"shape\"", entry->string);
    cJSON_ArrayForEach(dim, shape)
    {
        double number = cJSON_IsNumber(dim) ? dim->valuedouble : -1;

        if (view->shape.rank == SHAPE_MAX_RANK)
            return diag_set(diag, -EINVAL, "tensor '%.100s' has more than %d dimensions",
                            entry->string, SHAPE_MAX_RANK);
        if (!(number >= 0 && number <= (double)TENSOR_MAX_BYTES) || number != floor(number))
            return diag_set(diag, -EINVAL, "dimension %d of tensor '%.100s' is not a size",
                            view->shape.rank, entry->string);
        view->shape.dims[view->shape.rank++] = (int64_t)number;
    }
    if (shape_bytes(&view->shape, view->dtype) < 0)
        return diag_set(diag, -EINVAL, "tensor '%.100s' is too large", entry->string);
    return 0;
}

static int read_text(const cJSON *entry, const cJSON *item, struct tensor_view *view, int64_t index,
                     struct diag *diag)
{
    int64_t number;

    if (!cJSON_IsString(item))
        return diag_set(diag, -EINVAL, "element %lld of tensor '%.100s' is not a text",
                        (long long)index, entry->string);
    number = texts_number(item->valuestring, strlen(item->valuestring));
    if (number < 0)
        return diag_set(diag, (int)number, "no memory for tensor '%.100s'", entry->string);
    ((int64_t *)view->data)[index] = number;
    return 0;
}

/* One element. Numbers pass through a double in the JSON reader: beyond 2^53 they may not be what
 * the file says, and are refused for integers. */
static int read_element(const cJSON *entry, const cJSON *item, struct tensor_view *view,
                        int64_t index, struct diag *diag)
{
    double number = cJSON_IsTrue(item) ? 1 : cJSON_IsFalse(item) ? 0 : item->valuedouble;
    bool is_bool = cJSON_IsBool(item) && view->dtype == DTYPE_BOOL;

    if (view->dtype == DTYPE_STRING)
        return read_text(entry, item, view, index, diag);
    if (!cJSON_IsNumber(item) && !is_bool)
        return diag_set(diag, -EINVAL, "element %lld of tensor '%.100s' is not a number",
                        (long long)index, entry->string);
    if ((!element_is_float(view->dtype) && fabs(number) > 9007199254740992.0) ||
        !element_set(view->data, view->dtype, index, number))
        return diag_set(diag, -EINVAL, "element %lld of tensor '%.100s', %.17g, does not fit %s",
                        (long long)index, entry->string, number, dtype_name(view->dtype));
    return 0;
}

static int read_raw(const cJSON *entry, struct tensor_view *view, struct diag *diag)
{
    const cJSON *raw = cJSON_GetObjectItemCaseSensitive(entry, "raw");
    int64_t elements = shape_elements(&view->shape);
    int64_t index = 0;
    const cJSON *item;

    if (!cJSON_IsArray(raw))
        return diag_set(diag, -EINVAL, "tensor '%.100s' has no \"raw\" list", entry->string);
    cJSON_ArrayForEach(item, raw)
    {
        index++;
    }
    if (index != elements)
        return diag_set(diag, -EINVAL,
                        "tensor '%.100s' has %lld numbers in \"raw\" where its shape needs %lld",
                        entry->string, (long long)index, (long long)elements);
    view->data = graph_alloc_data((size_t)shape_bytes(&view->shape, view->dtype));
    if (!view->data)
        return diag_set(diag, -ENOMEM, "no memory for tensor '%.100s'", entry->string);
    index = 0;
    cJSON_ArrayForEach(item, raw)
    {
        int rc = read_element(entry, item, view, index++, diag);

        if (rc < 0)
            return rc;
    }
    return 0;
}

static int read_entry(const cJSON *entry, struct input_list *list, struct diag *diag)
{
    struct tensor_view view = {0};
    int rc;

    for (const cJSON *before = entry->prev; before->next; before = before->prev) {
        if (strcmp(before->string, entry->string) == 0)
            return diag_set(diag, -EINVAL, "tensor '%.100s' stands there twice", entry->string);
    }
    if (!cJSON_IsObject(entry))
        return diag_set(diag, -EINVAL, "tensor '%.100s' is not an object", entry->string);
    rc = read_type(entry, &view, diag);
    if (rc == 0)
        rc = read_shape(entry, &view, diag);
    if (rc == 0)
        rc = read_raw(entry, &view, diag);
    if (rc < 0) {
        free(view.data);
        return rc;
    }
    return input_append(list, entry->string, &view, diag);
}

static int malformed(const char *bytes, const char *at, struct diag *diag)
{
    uint32_t line = 1;
    int rc;

    for (const char *c = bytes; c < at; c++)
        line += *c == '\n';
    rc = diag_set_at(diag, -EINVAL, at - bytes, "malformed JSON at line %u, byte %zu", line,
                     (size_t)(at - bytes));
    if (diag)
        diag->line = line;
    return rc;
}

/* The reader stops behind the first value; only spaces may follow. */
static bool ends_there(const char *at, const char *end)
{
    while (at < end && (*at == '\0' || strchr(" \t\r\n", *at)))
        at++;
    return at == end;
}

int input_parse_json(const char *bytes, size_t size, struct input_list *list, struct diag *diag)
{
    const char *end = NULL;
    size_t before = list->count;
    cJSON *root = cJSON_ParseWithLengthOpts(bytes, size, &end, 0);
    cJSON *entry;
    int rc = 0;

    if (!root || !ends_there(end, bytes + size)) {
        cJSON_Delete(root);
        return malformed(bytes, end ? end : bytes, diag);
    }
    if (!cJSON_IsObject(root))
        rc = diag_set(diag, -EINVAL, "the JSON text is not an object of tensors");
    else if (!root->child)
        rc = diag_set(diag, -EINVAL, "the JSON text holds no tensor");
    cJSON_ArrayForEach(entry, root)
    {
        if (rc == 0)
            rc = read_entry(entry, list, diag);
    }
    cJSON_Delete(root);
    if (rc < 0)
        input_list_truncate(list, before);
    return rc;
}
