/* SPDX-License-Identifier: Apache-2.0 */
/* The attributes of a node: set, find, read with a default, release. */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/graph/graph.h"
#include "runtime/graph/private.h"

static size_t size_of(const void *memory)
{
    return malloc_usable_size((void *)memory);
}

static size_t attribute_bytes(const struct attribute *attribute)
{
    size_t bytes = size_of(attribute->name) + size_of(attribute->s) +
                   size_of(attribute->tensor.data) + size_of(attribute->ints) +
                   size_of(attribute->floats) + size_of(attribute->strings);

    for (size_t i = 0; attribute->strings && i < attribute->count; i++)
        bytes += size_of(attribute->strings[i]);
    return bytes;
}

static bool has_body(const struct node *node)
{
    for (uint32_t i = 0; i < node->attribute_count; i++)
        if (node->attributes[i].type == ATTRIBUTE_GRAPH)
            return true;
    return false;
}

static size_t release_attributes(struct node *node)
{
    size_t bytes = size_of(node->attributes);

    for (uint32_t i = 0; i < node->attribute_count; i++) {
        bytes += attribute_bytes(&node->attributes[i]);
        attribute_clear(&node->attributes[i]);
    }
    free(node->attributes);
    node->attributes = NULL;
    node->attribute_count = 0;
    return bytes;
}

static size_t release_origins(struct node *node)
{
    size_t bytes = size_of(node->origins);

    for (uint32_t i = 0; i < node->origin_count; i++) {
        bytes += size_of(node->origins[i]);
        free(node->origins[i]);
    }
    free(node->origins);
    node->origins = NULL;
    node->origin_count = 0;
    return bytes;
}

size_t graph_release_details(struct graph *graph)
{
    size_t bytes = 0;

    for (uint32_t i = 0; i < graph->node_count; i++) {
        bytes += has_body(graph->nodes[i]) ? 0 : release_attributes(graph->nodes[i]);
        bytes += release_origins(graph->nodes[i]);
    }
    for (uint32_t i = 0; i < graph->value_count; i++) {
        struct value *value = graph->values[i];

        for (int axis = 0; axis < SHAPE_MAX_RANK; axis++) {
            bytes += size_of(value->dim_names[axis]);
            free(value->dim_names[axis]);
            value->dim_names[axis] = NULL;
        }
    }
    return bytes;
}

/* Puts *made into the node, over an attribute of the same name; takes ownership, also on failure.
 */
static int store(struct node *node, const char *name, struct attribute *made)
{
    struct attribute *grown;

    made->name = strdup(name);
    if (!made->name)
        goto fail;
    for (uint32_t i = 0; i < node->attribute_count; i++) {
        if (strcmp(node->attributes[i].name, name) == 0) {
            attribute_clear(&node->attributes[i]);
            node->attributes[i] = *made;
            return 0;
        }
    }
    grown = realloc(node->attributes, (node->attribute_count + 1) * sizeof(*grown));
    if (!grown)
        goto fail;
    node->attributes = grown;
    node->attributes[node->attribute_count++] = *made;
    return 0;
fail:
    attribute_clear(made);
    return -ENOMEM;
}

/* A copy that is never NULL for 0 bytes. */
static void *copy(const void *bytes, size_t count)
{
    void *made = malloc(count + 1);

    if (made && count > 0)
        memcpy(made, bytes, count);
    return made;
}

int node_set_int(struct node *node, const char *name, int64_t i)
{
    struct attribute made = {.type = ATTRIBUTE_INT, .i = i};

    return store(node, name, &made);
}

int node_set_float(struct node *node, const char *name, float f)
{
    struct attribute made = {.type = ATTRIBUTE_FLOAT, .f = f};

    return store(node, name, &made);
}

int node_set_string(struct node *node, const char *name, const char *s, size_t bytes)
{
    struct attribute made = {.type = ATTRIBUTE_STRING, .s = copy(s, bytes), .s_bytes = bytes};

    if (!made.s)
        return -ENOMEM;
    made.s[bytes] = '\0';
    return store(node, name, &made);
}

int node_set_ints(struct node *node, const char *name, const int64_t *ints, size_t count)
{
    struct attribute made = {
        .type = ATTRIBUTE_INTS, .ints = copy(ints, count * sizeof(*ints)), .count = count};

    if (!made.ints)
        return -ENOMEM;
    return store(node, name, &made);
}

int node_set_floats(struct node *node, const char *name, const float *floats, size_t count)
{
    struct attribute made = {
        .type = ATTRIBUTE_FLOATS, .floats = copy(floats, count * sizeof(*floats)), .count = count};

    if (!made.floats)
        return -ENOMEM;
    return store(node, name, &made);
}

int node_set_strings(struct node *node, const char *name, const char *const *strings, size_t count)
{
    struct attribute made = {
        .type = ATTRIBUTE_STRINGS, .strings = calloc(count + 1, sizeof(char *)), .count = count};

    if (!made.strings)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        made.strings[i] = strdup(strings[i]);
        if (!made.strings[i]) {
            attribute_clear(&made);
            return -ENOMEM;
        }
    }
    return store(node, name, &made);
}

int node_set_tensor(struct node *node, const char *name, const struct tensor_view *tensor)
{
    struct attribute made = {.type = ATTRIBUTE_TENSOR, .tensor = *tensor};

    return store(node, name, &made);
}

int node_set_graph(struct node *node, const char *name, struct graph *body)
{
    struct attribute made = {.type = ATTRIBUTE_GRAPH, .graph = body};

    return store(node, name, &made);
}

static int copy_tensor(struct node *node, const char *name, const struct tensor_view *from)
{
    struct tensor_view copy = *from;
    size_t bytes = (size_t)shape_bytes(&from->shape, from->dtype);

    copy.data = graph_alloc_data(bytes);
    if (!copy.data)
        return -ENOMEM;
    memcpy(copy.data, from->data, bytes);
    return node_set_tensor(node, name, &copy);
}

int node_copy_attribute(struct node *node, const char *name, const struct attribute *from)
{
    switch (from->type) {
    case ATTRIBUTE_INT:
        return node_set_int(node, name, from->i);
    case ATTRIBUTE_INTS:
        return node_set_ints(node, name, from->ints, from->count);
    case ATTRIBUTE_FLOAT:
        return node_set_float(node, name, from->f);
    case ATTRIBUTE_FLOATS:
        return node_set_floats(node, name, from->floats, from->count);
    case ATTRIBUTE_STRING:
        return node_set_string(node, name, from->s, from->s_bytes);
    case ATTRIBUTE_STRINGS:
        return node_set_strings(node, name, (const char *const *)from->strings, from->count);
    case ATTRIBUTE_TENSOR:
        return copy_tensor(node, name, &from->tensor);
    case ATTRIBUTE_GRAPH:
        break;
    }
    return 0;
}

const struct attribute *node_attribute(const struct node *node, const char *name)
{
    for (uint32_t i = 0; i < node->attribute_count; i++) {
        if (strcmp(node->attributes[i].name, name) == 0)
            return &node->attributes[i];
    }
    return NULL;
}

int64_t node_int(const struct node *node, const char *name, int64_t fallback)
{
    const struct attribute *a = node_attribute(node, name);

    return a && a->type == ATTRIBUTE_INT ? a->i : fallback;
}

float node_float(const struct node *node, const char *name, float fallback)
{
    const struct attribute *a = node_attribute(node, name);

    return a && a->type == ATTRIBUTE_FLOAT ? a->f : fallback;
}

const char *node_string(const struct node *node, const char *name, const char *fallback)
{
    const struct attribute *a = node_attribute(node, name);

    return a && a->type == ATTRIBUTE_STRING ? a->s : fallback;
}

const int64_t *node_ints(const struct node *node, const char *name, size_t *out_count)
{
    const struct attribute *a = node_attribute(node, name);

    *out_count = a && a->type == ATTRIBUTE_INTS ? a->count : 0;
    return a && a->type == ATTRIBUTE_INTS ? a->ints : NULL;
}

int64_t node_int_at(const struct node *node, const char *name, size_t i, int64_t fallback)
{
    size_t count;
    const int64_t *list = node_ints(node, name, &count);

    return i < count ? list[i] : fallback;
}

struct graph *node_graph(const struct node *node, const char *name)
{
    const struct attribute *a = node_attribute(node, name);

    return a && a->type == ATTRIBUTE_GRAPH ? a->graph : NULL;
}

int node_capture(struct node *node, struct graph *body, struct value *outside)
{
    uint32_t count = body->capture_count;
    uint32_t *grown = realloc(body->captures, (count + 1) * sizeof(*grown));

    if (!grown)
        return -ENOMEM;
    body->captures = grown;
    if (node_set_input(node, node->input_count, outside) < 0)
        return -ENOMEM;
    body->captures[count] = node->input_count - 1;
    body->capture_count++;
    node->captured_count++;
    return 0;
}
