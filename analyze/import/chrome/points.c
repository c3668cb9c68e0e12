/* SPDX-License-Identifier: Apache-2.0 */
/* Points of a Chrome trace: memory, marks, counters, flows. */
#include <errno.h>
#include <stdlib.h>

#include "analyze/import/chrome/private.h"
#include "analyze/import/values.h"

/* --- Memory. --- */

/* What an allocator says it holds, beside what it just did. */
static int add_total(struct chrome *chrome, const struct chrome_event *event, enum chrome_arg arg,
                     uint32_t lane, int64_t time_ns, struct diag *diag)
{
    static const struct json_slice names[] = {{"Total Allocated", 15, JSON_STRING},
                                              {"Total Reserved", 14, JSON_STRING}};
    struct chrome_event counter = {.name = names[arg == ARG_RESERVED]};
    double value;
    uint32_t op;
    int rc;

    if (!json_real(event->arg[arg], &value))
        return 0;
    rc = chrome_op(chrome, &counter, KIND_COUNTER, lane, NULL, &op, diag);
    return rc < 0 ? rc : importer_counter(&chrome->importer, lane, op, time_ns, value, diag);
}

/* The op that the event names, or else that of the span around it. */
static int find_owner(struct chrome *chrome, const struct chrome_event *event, uint32_t *out_op,
                      struct diag *diag)
{
    struct chrome_event owner = *event;

    *out_op = IMPORT_NONE;
    if (!chrome_is_own(event))
        return 0;
    *out_op = chrome_find_own_op(chrome, event);
    if (*out_op != IMPORT_NONE || event->arg[ARG_OWNER].kind != JSON_OBJECT)
        return 0;
    owner.name = json_member(event->arg[ARG_OWNER], "name");
    owner.category = json_member(event->arg[ARG_OWNER], "cat");
    if (owner.name.kind == JSON_STRING && owner.category.kind == JSON_STRING)
        return chrome_own_op(chrome, &owner, out_op, diag);
    chrome->bad_count++;
    return 0;
}

static int add_memory(struct chrome *chrome, const struct chrome_event *event, uint32_t lane,
                      int64_t time_ns, struct diag *diag)
{
    struct import_memory memory = {
        .lane = lane,
        .time_ns = time_ns,
    };
    int rc = find_owner(chrome, event, &memory.op, diag);

    if (rc == 0)
        rc = chrome_memory_lane(chrome, event, lane, &memory.device, diag);

    if (!json_whole(event->arg[ARG_MEMORY_BYTES], &memory.bytes))
        memory.bytes = STORE_NULL;
    if (!json_whole(event->arg[ARG_ADDRESS], &memory.address))
        memory.address = STORE_NULL;
    if (rc == 0)
        rc = importer_memory(&chrome->importer, &memory, diag);
    if (rc == 0)
        rc = add_total(chrome, event, ARG_ALLOCATED, memory.device, time_ns, diag);
    return rc < 0 ? rc : add_total(chrome, event, ARG_RESERVED, memory.device, time_ns, diag);
}

/* --- Marks, counters, flows. --- */

int chrome_add_instant(struct chrome *chrome, const struct chrome_event *event, uint32_t lane,
                       int64_t time_ns, struct diag *diag)
{
    struct import_span span = {
        .lane = lane,
        .start_ns = time_ns,
        .kern_ns = STORE_NULL,
        .correlation = STORE_NULL,
        .bytes = STORE_NULL,
    };
    int rc;

    if (json_is(event->name, "[memory]"))
        return add_memory(chrome, event, lane, time_ns, diag);
    rc = chrome_op(chrome, event, KIND_MARK, lane, NULL, &span.op, diag);
    return rc < 0 ? rc : importer_span(&chrome->importer, &span, diag);
}

/* Each number in args is a counter of its own; a single one goes by the event's name. */
int chrome_add_counters(struct chrome *chrome, const struct chrome_event *event, uint32_t lane,
                        int64_t time_ns, struct diag *diag)
{
    struct json_walk walk = json_walk_over(event->args);
    struct json_slice key, value;
    size_t count = 0;
    int rc = 0;

    while (json_walk_next(&walk, &key, &value) == 1)
        count++;
    walk = json_walk_over(event->args);
    while (rc == 0 && json_walk_next(&walk, &key, &value) == 1) {
        char *suffix = count > 1 ? json_take_text(key) : NULL;
        double number;
        uint32_t op;

        if (json_real(value, &number)) {
            rc = chrome_op(chrome, event, KIND_COUNTER, lane, suffix, &op, diag);
            if (rc == 0)
                rc = importer_counter(&chrome->importer, lane, op, time_ns, number, diag);
        }
        free(suffix);
    }
    return rc;
}

/* Flows between launches and what they launched; those between forward and backward ops, and
 * others, have no place in a store. */
int chrome_add_flow(struct chrome *chrome, const struct chrome_event *event, uint32_t lane,
                    int64_t time_ns, struct diag *diag)
{
    int64_t id;

    if (!json_is(event->category, "ac2g") && !json_is(event->category, "async_cpu_to_gpu") &&
        !json_is(event->category, "async") && !json_is(event->name, "ac2g")) {
        chrome->relation_count += json_is(event->phase, "s");
        return 0;
    }
    if (!json_whole(event->id, &id)) {
        chrome->bad_count++;
        return 0;
    }
    return importer_flow(&chrome->importer, lane, time_ns, id, diag);
}
