/* SPDX-License-Identifier: Apache-2.0 */
/* --sanity-check: that nobody changes a tensor between those that make and those that read it. */
#include "runtime/modes/sanity.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "runtime/ops/call/call.h"
#include "runtime/ops/extern_library.h"

enum { NO_STEP = UINT32_MAX };

/* A tensor in one place, from when it is made to when it is read last. */
struct slot {
    const struct value *value;
    const void *address;
    size_t bytes;
    uint32_t maker;    /* step, or NO_STEP: there before the run */
    bool is_last;      /* compared at the end, too */
    bool is_parameter; /* and nowhere else */
    bool is_made;
    uint64_t sum;
};

struct slots ARRAY_FIELDS(struct slot);

/* What a step reads: slots[reads[first .. first + count)]. */
struct span_of_reads {
    uint32_t first, count;
};

struct sanity {
    struct session *session;
    struct slots slots;
    ARRAY_OF(uint32_t) reads;
    struct span_of_reads *reads_of; /* by step */
    uint32_t *first_made;           /* by step: its first slot; they stand together */
    struct sanity_result result;    /* the worker's until the run is over */
    const struct slot *broken;      /* the first that was found, or NULL */
    uint32_t reader;                /* before which step; NO_STEP: at the end */
};

/* Sums */

enum { LANES = 4 };

/* Not against those who want to deceive: a changed bit changes it, and it is as fast as memory. */
static uint64_t sum_of(const void *address, size_t bytes)
{
    const uint64_t factor = 0x9e3779b97f4a7c15u;
    uint64_t sums[LANES] = {1, 2, 3, 4}, words[LANES], rest = 0;
    const char *at = address;

    for (; bytes >= sizeof(words); at += sizeof(words), bytes -= sizeof(words)) {
        memcpy(words, at, sizeof(words));
        for (int i = 0; i < LANES; i++)
            sums[i] = (sums[i] ^ words[i]) * factor;
    }
    for (; bytes > 0; at++, bytes--)
        rest = (rest ^ (uint8_t)*at) * factor;
    for (int i = 0; i < LANES; i++)
        rest = (rest ^ sums[i] ^ sums[i] >> 29) * factor;
    return rest;
}

static uint64_t sum_slot(struct sanity *sanity, const struct slot *slot)
{
    uint64_t start_ns = ot_clock_ns(CLOCK_MONOTONIC);
    uint64_t sum = sum_of(slot->address, slot->bytes);

    sanity->result.bytes += slot->bytes;
    sanity->result.time_ns += ot_clock_ns(CLOCK_MONOTONIC) - start_ns;
    return sum;
}

static void make(struct sanity *sanity, struct slot *slot)
{
    slot->sum = sum_slot(sanity, slot);
    slot->is_made = true;
}

static void compare(struct sanity *sanity, const struct slot *slot, uint32_t reader)
{
    if (sanity->broken || !slot->is_made || sum_slot(sanity, slot) == slot->sum)
        return;
    sanity->broken = slot;
    sanity->reader = reader;
}

/* During the run, on the worker */

static void observe(void *user, enum exec_moment moment, uint32_t step, uint64_t ticks)
{
    struct sanity *sanity = user;
    const struct span_of_reads *reads = &sanity->reads_of[step];

    for (uint32_t i = 0; moment == EXEC_DEVICE_START && i < reads->count; i++)
        compare(sanity, &sanity->slots.items[sanity->reads.items[reads->first + i]], step);
    for (uint32_t i = sanity->first_made[step];
         moment == EXEC_DEVICE_END && i < sanity->first_made[step + 1]; i++)
        make(sanity, &sanity->slots.items[i]);
}

/* Who makes what */

/* Whether the first is the second or, through views of views, what that shows. */
static bool is_shown_by(const struct value *made, const struct value *value)
{
    while (made != value && value->producer && call_is_view(value->producer) &&
           value == value->producer->outputs[0] && value->producer->inputs[0])
        value = value->producer->inputs[0];
    return made == value;
}

static struct slot *find_slot(struct sanity *sanity, const struct value *value, const void *address)
{
    for (size_t i = sanity->slots.count; i-- > 0;) {
        struct slot *slot = &sanity->slots.items[i];

        if (slot->address == address && is_shown_by(slot->value, value))
            return slot;
    }
    return NULL;
}

/* Inputs and parameters are there before the first step. */
static int add_source(struct sanity *sanity, const struct exec_operand *operand)
{
    struct slot slot = {.value = operand->value,
                        .address = operand->address,
                        .bytes = operand->bytes,
                        .maker = NO_STEP,
                        .is_last = true,
                        .is_parameter = operand->is_constant};

    make(sanity, &slot);
    return array_push(&sanity->slots, slot);
}

static int add_sources(struct sanity *sanity)
{
    const struct exec *exec = sanity->session->exec;
    struct exec_operand operand;
    int rc = 0;

    for (uint32_t i = 0; i < exec_step_count(exec); i++) {
        for (uint32_t k = 0; rc == 0 && k < exec_step(exec, i)->input_count; k++)
            if (exec_step_reads(exec, i, k) && exec_step_input(exec, i, k, &operand) &&
                (operand.is_input || operand.is_constant) &&
                !find_slot(sanity, operand.value, operand.address))
                rc = add_source(sanity, &operand);
    }
    return rc;
}

static int add_reads(struct sanity *sanity, uint32_t i)
{
    const struct exec *exec = sanity->session->exec;
    struct span_of_reads *reads = &sanity->reads_of[i];
    struct exec_operand operand;
    int rc = 0;

    reads->first = (uint32_t)sanity->reads.count;
    for (uint32_t k = 0; rc == 0 && k < exec_step(exec, i)->input_count; k++) {
        const struct slot *slot = exec_step_input(exec, i, k, &operand)
                                      ? find_slot(sanity, operand.value, operand.address)
                                      : NULL;

        if (slot && !slot->is_parameter)
            rc = array_push(&sanity->reads, (uint32_t)(slot - sanity->slots.items));
    }
    reads->count = (uint32_t)sanity->reads.count - reads->first;
    return rc;
}

static int add_made(struct sanity *sanity, uint32_t i)
{
    const struct exec *exec = sanity->session->exec;
    struct exec_operand operand;
    int rc = 0;

    sanity->first_made[i] = (uint32_t)sanity->slots.count;
    for (uint32_t k = 0; rc == 0 && k < exec_step(exec, i)->output_count; k++) {
        struct slot slot = {.maker = i};

        if (!exec_step_output(exec, i, k, &operand))
            continue;
        slot.value = operand.value;
        slot.address = operand.address;
        slot.bytes = operand.bytes;
        rc = array_push(&sanity->slots, slot);
    }
    sanity->first_made[i + 1] = (uint32_t)sanity->slots.count;
    return rc;
}

/* What the caller reads after the run. */
static void mark_outputs(struct sanity *sanity)
{
    const struct graph *graph = sanity->session->graph;
    struct tensor_view view;

    for (uint32_t i = 0; i < graph->output_count; i++) {
        struct slot *slot = exec_output(sanity->session->exec, i, &view) == 0
                                ? find_slot(sanity, graph->outputs[i], view.data)
                                : NULL;

        if (slot)
            slot->is_last = true;
    }
}

static int plan(struct sanity *sanity)
{
    uint32_t count = exec_step_count(sanity->session->exec);
    int rc;

    sanity->reads_of = calloc((size_t)count + 1, sizeof(*sanity->reads_of));
    sanity->first_made = calloc((size_t)count + 1, sizeof(*sanity->first_made));
    if (!sanity->reads_of || !sanity->first_made)
        return -ENOMEM;
    rc = add_sources(sanity);
    for (uint32_t i = 0; rc == 0 && i < count; i++) {
        rc = add_reads(sanity, i);
        if (rc == 0)
            rc = add_made(sanity, i);
    }
    if (rc == 0)
        mark_outputs(sanity);
    return rc;
}

/* Life */

bool sanity_is_due(enum sanity_choice choice, const struct graph *graph)
{
    bool has_others = false;

    for (uint32_t i = 0; i < graph->node_count; i++)
        has_others = has_others || extern_op_is(graph->nodes[i]);
    return choice == SANITY_ON || (choice == SANITY_AUTO && has_others);
}

static void destroy(struct sanity *sanity)
{
    array_deinit(&sanity->slots);
    array_deinit(&sanity->reads);
    free(sanity->reads_of);
    free(sanity->first_made);
    free(sanity);
}

int sanity_create(struct session *session, struct sanity **out_sanity, struct diag *diag)
{
    struct sanity *sanity = calloc(1, sizeof(*sanity));
    struct exec_observer observer = {.user = sanity, .moment = observe, .takes_time = true};
    int rc = -ENOMEM;

    if (sanity) {
        sanity->session = session;
        rc = plan(sanity);
    }
    if (rc == 0)
        rc = exec_add_observer(session->exec, &observer);
    if (rc < 0) {
        if (sanity)
            destroy(sanity);
        return diag_set(diag, rc, "no memory for the sanity check");
    }
    *out_sanity = sanity;
    return 0;
}

static int tell(const struct sanity *sanity, struct diag *diag)
{
    const struct exec *exec = sanity->session->exec;
    const struct slot *slot = sanity->broken;
    const char *kind = slot->is_parameter       ? "parameter"
                       : slot->maker == NO_STEP ? "input"
                                                : "tensor";
    char made[200] = "";

    if (slot->maker != NO_STEP)
        snprintf(made, sizeof(made), " after node \"%.150s\" made it",
                 exec_step(exec, slot->maker)->name);
    if (sanity->reader == NO_STEP)
        return diag_set(diag, -EBADE, "sanity check: %s \"%.150s\" was changed%s in the run", kind,
                        slot->value->name, made);
    return diag_set(diag, -EBADE,
                    "sanity check: %s \"%.150s\" was changed%s and before node \"%.150s\" (%s) "
                    "read it",
                    kind, slot->value->name, made, exec_step(exec, sanity->reader)->name,
                    exec_step(exec, sanity->reader)->type);
}

int sanity_finish(struct sanity **sanity_ptr, struct sanity_result *out_result, struct diag *diag)
{
    struct sanity *sanity = *sanity_ptr;
    int rc = 0;

    *sanity_ptr = NULL;
    if (!sanity)
        return 0;
    exec_remove_observer(sanity->session->exec, &(struct exec_observer){.user = sanity});
    for (size_t i = 0; i < sanity->slots.count; i++) {
        const struct slot *slot = &sanity->slots.items[i];

        sanity->result.tensors += slot->is_made;
        if (slot->is_last)
            compare(sanity, slot, NO_STEP);
    }
    if (sanity->broken)
        rc = tell(sanity, diag);
    *out_result = sanity->result;
    destroy(sanity);
    return rc;
}
