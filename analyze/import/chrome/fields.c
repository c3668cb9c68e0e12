/* SPDX-License-Identifier: Apache-2.0 */
/* The fields of an event of a Chrome trace. */
#include <errno.h>

#include "analyze/import/chrome/private.h"

struct arg_name {
    const char *name;
    size_t length;
    enum chrome_arg arg;
};

#define ARG(name, arg)                                                                             \
    {                                                                                              \
        name, sizeof(name) - 1, arg                                                                \
    }

/* As Kineto spells them, then Paddle. */
static const struct arg_name arg_names[] = {
    ARG("correlation", ARG_CORRELATION),
    ARG("External id", ARG_EXTERNAL),
    ARG("external id", ARG_EXTERNAL),
    ARG("device", ARG_DEVICE),
    ARG("stream", ARG_STREAM),
    ARG("bytes", ARG_BYTES),
    ARG("size", ARG_CALL_BYTES),
    ARG("cuda_sync_kind", ARG_SYNC_KIND),
    ARG("wait_on_stream", ARG_WAIT_STREAM),
    ARG("wait_on_cuda_event_record_corr_id", ARG_WAIT_RECORD),
    ARG("Input Dims", ARG_DIMS),
    ARG("Input dims", ARG_DIMS),
    ARG("Input type", ARG_TYPES),
    ARG("Input Strides", ARG_STRIDES),
    ARG("Concrete Inputs", ARG_CONCRETE),
    ARG("Call stack", ARG_STACK),
    ARG("Module Hierarchy", ARG_MODULE),
    ARG("grid", ARG_GRID),
    ARG("block", ARG_BLOCK),
    ARG("registers per thread", ARG_REGISTERS),
    ARG("shared memory", ARG_SHARED),
    ARG("blocks per SM", ARG_BLOCKS_PER_SM),
    ARG("warps per SM", ARG_WARPS_PER_SM),
    ARG("est. achieved occupancy %", ARG_OCCUPANCY),
    ARG("Collective name", ARG_COLLECTIVE),
    ARG("dtype", ARG_ELEMENT_TYPE),
    ARG("In msg nelems", ARG_IN_ELEMENTS),
    ARG("Out msg nelems", ARG_OUT_ELEMENTS),
    ARG("Group size", ARG_GROUP_SIZE),
    ARG("Process Group Name", ARG_PROCESS_GROUP),
    ARG("Process Group Ranks", ARG_PROCESS_GROUP_RANKS),
    ARG("Sequence number", ARG_SEQUENCE),
    ARG("Fwd thread id", ARG_FORWARD_THREAD),
    ARG("step_num", ARG_STEP),
    ARG("hlo_op", ARG_HLO_OP),
    ARG("hlo_module", ARG_HLO_MODULE),
    ARG("Addr", ARG_ADDRESS),
    ARG("Bytes", ARG_MEMORY_BYTES),
    ARG("Total Allocated", ARG_ALLOCATED),
    ARG("Total Reserved", ARG_RESERVED),
    ARG("Device Type", ARG_DEVICE_TYPE),
    ARG("Device Id", ARG_DEVICE_ID),
    ARG("name", ARG_NAME),
    ARG("input_shapes", ARG_DIMS),
    ARG("input_dtypes", ARG_TYPES),
    ARG("callstack", ARG_STACK),
    ARG("addr", ARG_ADDRESS),
    ARG("increase_bytes", ARG_MEMORY_BYTES),
    ARG("current_allocated", ARG_ALLOCATED),
    ARG("current_reserved", ARG_RESERVED),
    ARG("place", ARG_PLACE),
    ARG("correlation id", ARG_CORRELATION),
    /* our own */
    ARG("optrace op", ARG_OWN_OP),
    ARG("optrace owner", ARG_OWNER),
    ARG("Output Dims", ARG_OUT_DIMS),
    ARG("Output type", ARG_OUT_TYPES),
    ARG("FLOP", ARG_FLOP),
    ARG("memory bytes", ARG_OP_BYTES),
    ARG("node id", ARG_NODE),
    ARG("device name", ARG_OP_DEVICE),
    ARG("source", ARG_SOURCE),
    ARG("origin", ARG_ORIGIN),
    ARG("params", ARG_PARAMS),
    ARG("run", ARG_RUN),
    ARG("kern_us", ARG_KERN),
    ARG("optrace", ARG_LANE),
    ARG("warmup", ARG_WARMUP),
    ARG("without_ops", ARG_WITHOUT_OPS),
    ARG("lane pid", ARG_LANE_PROCESS),
    ARG("lane tid", ARG_LANE_THREAD),
    ARG("reason", ARG_REASON),
    ARG("lost_count", ARG_LOST),
    ARG("until_us", ARG_UNTIL),
    ARG("value", ARG_VALUE),
    ARG("labels", ARG_LABELS),
    ARG("sort_index", ARG_ORDER),
};

static void note_arg(struct chrome_event *event, struct json_slice key, struct json_slice value,
                     struct skipped *skipped)
{
    for (size_t i = 0; i < sizeof(arg_names) / sizeof(arg_names[0]); i++) {
        const struct arg_name *name = &arg_names[i];

        if (key.length == name->length && key.text[0] == name->name[0] &&
            memcmp(key.text, name->name, name->length) == 0) {
            event->arg[name->arg] = value;
            return;
        }
    }
    skipped_add(skipped, key.text, key.length);
}

/* How a viewer shows an event, or said by its other fields as well. */
static bool is_for_viewers(struct json_slice key)
{
    return json_is(key, "s") || json_is(key, "bp") || json_is(key, "cname") ||
           json_is(key, "flow_in") || json_is(key, "flow_out");
}

static struct json_slice *field_of(struct chrome_event *event, struct json_slice key)
{
    switch (key.length) {
    case 2:
        if (key.text[0] == 't')
            return key.text[1] == 's' ? &event->time : NULL;
        if (key.text[0] == 'p')
            return key.text[1] == 'h' ? &event->phase : NULL;
        return json_is(key, "id") ? &event->id : NULL;
    case 3:
        if (json_is(key, "dur"))
            return &event->duration;
        if (json_is(key, "pid"))
            return &event->process;
        if (json_is(key, "tid"))
            return &event->thread;
        if (json_is(key, "id2"))
            return &event->id2;
        return json_is(key, "cat") ? &event->category : NULL;
    case 4:
        if (json_is(key, "name"))
            return &event->name;
        return json_is(key, "args") ? &event->args : NULL;
    case 5:
        return json_is(key, "scope") ? &event->scope : NULL;
    default:
        return NULL;
    }
}

int chrome_read_event(struct json_slice text, struct chrome_event *out_event,
                      struct skipped *skipped, const char **out_problem, const char **out_place)
{
    struct json_walk walk = json_walk_over(text);
    struct json_slice key, value;
    int rc;

    memset(out_event, 0, sizeof(*out_event));
    while ((rc = json_walk_next(&walk, &key, &value)) == 1) {
        struct json_slice *field = field_of(out_event, key);

        if (field)
            *field = value;
        else if (!is_for_viewers(key))
            skipped_add(skipped, key.text, key.length);
    }
    /* Of a counter each arg is a counter of its own. */
    if (rc == 0 && out_event->args.kind == JSON_OBJECT && !json_is(out_event->phase, "C") &&
        !chrome_is_profiler_range(out_event)) {
        walk = json_walk_over(out_event->args);
        while ((rc = json_walk_next(&walk, &key, &value)) == 1)
            note_arg(out_event, key, value, skipped);
    }
    *out_problem = walk.problem;
    *out_place = walk.at;
    return rc;
}
