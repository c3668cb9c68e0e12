/* SPDX-License-Identifier: Apache-2.0 */
/* Args of an event that an op keeps as its params. */
#include <errno.h>
#include <stdlib.h>

#include "analyze/import/chrome/private.h"
#include "analyze/import/values.h"

/* The args that are kept in `params`, and their names there. */
static const struct {
    enum chrome_arg arg;
    const char *name;
} params[] = {
    {ARG_STRIDES, "input_strides"},
    {ARG_CONCRETE, "concrete_inputs"},
    {ARG_STACK, "stack"},
    {ARG_MODULE, "module"},
    {ARG_GRID, "grid"},
    {ARG_BLOCK, "block"},
    {ARG_REGISTERS, "registers_per_thread"},
    {ARG_SHARED, "shared_memory_bytes"},
    {ARG_BLOCKS_PER_SM, "blocks_per_sm"},
    {ARG_WARPS_PER_SM, "warps_per_sm"},
    {ARG_OCCUPANCY, "occupancy_percent"},
    {ARG_COLLECTIVE, "collective"},
    {ARG_ELEMENT_TYPE, "dtype"},
    {ARG_IN_ELEMENTS, "in_elements"},
    {ARG_OUT_ELEMENTS, "out_elements"},
    {ARG_GROUP_SIZE, "group_size"},
    {ARG_PROCESS_GROUP, "process_group"},
    {ARG_PROCESS_GROUP_RANKS, "process_group_ranks"},
    {ARG_HLO_OP, "hlo_op"},
    {ARG_HLO_MODULE, "hlo_module"},
    {ARG_WAIT_STREAM, "wait_on_stream"},
};

/* What our own traces have besides. */
static void write_more_params(struct json_writer *json, struct json_slice more)
{
    struct json_walk walk = json_walk_over(more);
    struct json_slice key, value;

    while (json_walk_next(&walk, &key, &value) == 1) {
        char *name = json_take_text(key);

        if (name) {
            json_key(json, name);
            import_write_value(json, value);
        } else {
            json->error = -ENOMEM;
        }
        free(name);
    }
}

char *chrome_params_text(const struct chrome_event *event, bool has_stack)
{
    struct json_writer json;
    bool has_params = event->arg[ARG_PARAMS].kind == JSON_OBJECT;

    for (size_t i = 0; i < sizeof(params) / sizeof(params[0]); i++)
        has_params |= event->arg[params[i].arg].kind != JSON_NONE &&
                      (has_stack || params[i].arg != ARG_STACK);
    if (!has_params)
        return NULL;
    json_init_memory(&json);
    json_begin_object(&json);
    for (size_t i = 0; i < sizeof(params) / sizeof(params[0]); i++) {
        struct json_slice value = event->arg[params[i].arg];

        if (value.kind == JSON_NONE || (params[i].arg == ARG_STACK && !has_stack))
            continue;
        json_key(&json, params[i].name);
        if (params[i].arg == ARG_CONCRETE)
            import_write_texts(&json, value);
        else
            import_write_value(&json, value);
    }
    if (event->arg[ARG_PARAMS].kind == JSON_OBJECT)
        write_more_params(&json, event->arg[ARG_PARAMS]);
    json_end_object(&json);
    return import_take(&json);
}
