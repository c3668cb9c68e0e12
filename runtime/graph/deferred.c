/* SPDX-License-Identifier: Apache-2.0 */
/* Constants that stay in the file for now, so that a model whose weights become something else is
 * never held as a whole in between. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "runtime/graph/graph.h"
#include "runtime/graph/private.h"

enum { PART = 1 << 18 }; /* elements that are copied before their pages are given back */

void value_defer_data(struct value *value, const void *data)
{
    value_share_data(value, data);
    value->is_deferred = true;
    value->stored = DTYPE_F32;
}

void value_defer_half(struct value *value)
{
    value->stored = value->dtype;
    value->dtype = DTYPE_F32;
    value->is_deferred = true;
}

bool value_is_stored_as(const struct value *value, enum dtype dtype)
{
    return value->is_deferred && value->stored == dtype && !value->factors;
}

bool value_take_back(struct value *value, enum dtype dtype)
{
    if (!value_is_stored_as(value, dtype))
        return false;
    value->dtype = dtype;
    value->is_deferred = false;
    return true;
}

size_t value_stored_bytes(const struct value *value)
{
    return dtype_bytes(value->is_deferred ? value->stored : value->dtype);
}

static float widened(enum dtype dtype, uint16_t bits)
{
    uint32_t magnitude = bits & 0x7fff, sign = (uint32_t)(bits & 0x8000) << 16;
    union {
        uint32_t bits;
        float number;
    } wide;

    if (dtype == DTYPE_BF16) {
        wide.bits = (uint32_t)bits << 16;
        return wide.number;
    }
    wide.bits = magnitude << 13;
    /* The exponent counts from elsewhere, also that of what is below the smallest normal. */
    if (magnitude < 0x7c00)
        wide.number *= 0x1p112f;
    else
        wide.bits |= 0x7f800000;
    wide.bits |= sign;
    return wide.number;
}

static void scale(const struct value *value, size_t begin, size_t count, float *numbers)
{
    size_t each = (size_t)(shape_elements(&value->shape) / value->shape.dims[0]);

    for (size_t i = 0; i < count; i++)
        numbers[i] = (float)(numbers[i] * value->factors[(begin + i) / each]);
}

const float *value_read(const struct value *value, size_t begin, size_t count, float *room)
{
    if (!value->is_deferred)
        return (const float *)value->data + begin;
    if (value->stored != DTYPE_F32)
        for (size_t i = 0; i < count; i++)
            room[i] = widened(value->stored, ((const uint16_t *)value->data)[begin + i]);
    else if (count > 0)
        memcpy(room, (const char *)value->data + begin * sizeof(*room), count * sizeof(*room));
    if (value->factors)
        scale(value, begin, count, room);
    return room;
}

int value_settle(struct value *value)
{
    size_t count = (size_t)shape_elements(&value->shape), bytes = value_stored_bytes(value);
    float *data;

    if (!value->is_deferred)
        return 0;
    data = graph_alloc_data(count * sizeof(*data));
    if (!data)
        return -ENOMEM;
    for (size_t begin = 0; begin < count; begin += PART) {
        size_t part = count - begin < PART ? count - begin : PART;

        value_read(value, begin, part, data + begin);
        value_give_back(value, begin * bytes, part * bytes);
    }
    value_set_data(value, data);
    return 0;
}

int node_settle(const struct node *node)
{
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < node->input_count; i++)
        rc = node->inputs[i] ? value_settle(node->inputs[i]) : 0;
    return rc;
}

void graph_give_back_maps(const struct graph *graph)
{
    const struct graph_private *state = graph->private_state;

    for (size_t i = 0; i < state->maps.count; i++) /* a wish: nothing depends on it */
        madvise(state->maps.items[i].address, state->maps.items[i].bytes, MADV_DONTNEED);
}
