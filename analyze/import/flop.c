/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of an imported op, as the formulas want them. */
#include "analyze/import/flop.h"

#include <string.h>

#include "base/op_flop.h"
#include "schema/store/store.h"

enum { SCALAR_BYTES = 64 };

static struct op_flop_shape read_shape(struct json_slice value)
{
    struct op_flop_shape shape = {0}, unknown = {.rank = -1};
    struct json_walk walk = json_walk_over(value);
    struct json_slice key, item;

    if (value.kind != JSON_ARRAY)
        return unknown;
    while (json_walk_next(&walk, &key, &item) == 1) {
        if (shape.rank == OP_FLOP_RANK_MAX || !json_whole(item, &shape.dims[shape.rank]))
            return unknown;
        shape.rank++;
    }
    return walk.problem ? unknown : shape;
}

static struct json_slice first_of(struct json_slice list)
{
    struct json_walk walk = json_walk_over(list);
    struct json_slice key, item;

    return list.kind == JSON_ARRAY && json_walk_next(&walk, &key, &item) == 1
               ? item
               : (struct json_slice){.kind = JSON_NONE};
}

/* False: there are more than the formulas may look at. */
static bool read_inputs(struct json_slice list, struct op_flop_call *call)
{
    struct json_walk walk = json_walk_over(list);
    struct json_slice key, item;

    while (list.kind == JSON_ARRAY && json_walk_next(&walk, &key, &item) == 1) {
        if (call->input_count == OP_FLOP_TENSORS_MAX)
            return false;
        call->inputs[call->input_count++] = read_shape(item);
    }
    return true;
}

static void read_scalars(struct json_slice list, struct op_flop_call *call,
                         char texts[OP_FLOP_TENSORS_MAX][SCALAR_BYTES])
{
    struct json_walk walk = json_walk_over(list);
    struct json_slice key, item;

    for (size_t i = 0; list.kind == JSON_ARRAY && i < OP_FLOP_TENSORS_MAX &&
                       json_walk_next(&walk, &key, &item) == 1;
         i++) {
        if (item.kind != JSON_STRING || !item.length || item.length >= SCALAR_BYTES)
            continue;
        memcpy(texts[i], item.text, item.length);
        texts[i][item.length] = '\0';
        call->scalars[i] = texts[i];
    }
}

int64_t import_flop(const char *name, struct json_slice inputs, struct json_slice output,
                    struct json_slice scalars)
{
    struct op_flop_call call = {.name = name};
    char texts[OP_FLOP_TENSORS_MAX][SCALAR_BYTES];
    int64_t flop;

    if (!op_flop_knows(name) || inputs.kind != JSON_ARRAY || !read_inputs(inputs, &call))
        return STORE_NULL;
    call.output = read_shape(first_of(output));
    read_scalars(scalars, &call, texts);
    flop = op_flop(&call);
    return flop < 0 ? STORE_NULL : flop;
}
