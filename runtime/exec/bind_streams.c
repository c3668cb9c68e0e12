/* SPDX-License-Identifier: Apache-2.0 */
/*
 * On which stream of a device each step runs, and for which steps of others it waits.
 *
 * Before the plan a step goes on where one is that it needs the result of, if nothing came behind
 * that; else to a stream all of whose steps are done before it anyway; else to the one that had
 * something to do longest ago. After the plan it waits for all steps that touch the memory that it
 * writes, or write what it touches.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/exec/bind_private.h"

/* A piece of the device's arena that a step touches. */
struct piece {
    size_t begin, end;
    bool is_written;
};

struct pieces {
    struct piece *items;
    size_t *firsts; /* by step; and the end */
};

/* What a step comes after: of each stream the last step, and 1; 0: none. */
struct order {
    struct bound *bound;
    uint32_t streams;
    uint32_t *clocks; /* by step, then by stream */
    uint32_t *tails;  /* by stream: the last step there so far, and 1 */
};

/* Whether the device does it. */
static bool is_queued(const struct bound_step *step)
{
    return step->info.on_device || step->copied != PLAN_NONE;
}

static uint32_t *clock_of(const struct order *order, uint32_t step)
{
    return order->clocks + (size_t)step * order->streams;
}

static void come_after(const struct order *order, uint32_t *clock, uint32_t step)
{
    const uint32_t *other = clock_of(order, step);

    for (uint32_t s = 0; s < order->streams; s++)
        if (other[s] > clock[s])
            clock[s] = other[s];
}

static int order_open(struct order *order, struct bound *bound, uint32_t streams)
{
    *order = (struct order){.bound = bound, .streams = streams};
    order->clocks = calloc((size_t)bound->step_count * streams + 1, sizeof(*order->clocks));
    order->tails = calloc(streams, sizeof(*order->tails));
    return order->clocks && order->tails ? 0 : -ENOMEM;
}

static void order_close(struct order *order)
{
    free(order->clocks);
    free(order->tails);
}

/* The step is the last of its stream now. */
static void append(struct order *order, uint32_t step)
{
    uint32_t stream = order->bound->steps[step].stream;

    clock_of(order, step)[stream] = order->tails[stream] = step + 1;
}

/* Choosing */

/* Whether the last step of a stream is one whose result `step` reads. */
static bool reads_tail(const struct order *order, const uint32_t *writers, uint32_t step,
                       uint32_t stream)
{
    const struct bound_step *bound = &order->bound->steps[step];
    size_t offset;

    for (uint32_t i = 0; order->tails[stream] && i < bound->info.input_count; i++)
        if (bound->input_buffers[i] != PLAN_NONE &&
            writers[plan_root(&order->bound->plan, bound->input_buffers[i], &offset)] ==
                order->tails[stream])
            return true;
    return false;
}

static uint32_t choose(const struct order *order, const uint32_t *writers, uint32_t step)
{
    const uint32_t *clock = clock_of(order, step);
    uint32_t chosen = 0;

    for (uint32_t s = 0; s < order->streams; s++)
        if (reads_tail(order, writers, step, s))
            return s;
    for (uint32_t s = 0; s < order->streams; s++)
        if (clock[s] >= order->tails[s])
            return s;
    for (uint32_t s = 1; s < order->streams; s++)
        if (order->tails[s] < order->tails[chosen])
            chosen = s;
    return chosen;
}

/* Whether nothing else goes on when a step begins. */
static bool is_alone(const struct order *order, uint32_t step)
{
    const uint32_t *clock = clock_of(order, step);

    for (uint32_t s = 0; s < order->streams; s++)
        if (clock[s] < order->tails[s])
            return false;
    return true;
}

static void choose_one(struct order *order, uint32_t *writers, uint32_t i)
{
    struct bound_step *step = &order->bound->steps[i];
    const struct plan *plan = &order->bound->plan;
    uint32_t *clock = clock_of(order, i);
    size_t offset;

    for (uint32_t k = 0; k < step->info.input_count; k++) {
        uint32_t writer = step->input_buffers[k] == PLAN_NONE
                              ? 0
                              : writers[plan_root(plan, step->input_buffers[k], &offset)];

        if (writer)
            come_after(order, clock, writer - 1);
    }
    step->stream = choose(order, writers, i);
    if (order->tails[step->stream])
        come_after(order, clock, order->tails[step->stream] - 1);
    append(order, i);
    for (uint32_t k = 0; k < step->info.output_count; k++)
        if (step->output_buffers[k] != PLAN_NONE)
            writers[plan_root(plan, step->output_buffers[k], &offset)] = i + 1;
    if (step->copied != PLAN_NONE && step->info.on_device)
        writers[step->copied] = i + 1;
    if (step->stream >= order->bound->stream_count)
        order->bound->stream_count = step->stream + 1;
}

int bound_choose_streams(struct bound *bound, uint32_t streams, struct diag *diag)
{
    uint32_t *writers = calloc((size_t)bound->plan.buffer_count + 1, sizeof(*writers));
    uint32_t *kept = calloc((size_t)bound->step_count + 1, sizeof(*kept));
    struct order order;
    int rc = order_open(&order, bound, streams);

    bound->stream_count = 1;
    bound->plan.kept_until = kept;
    if (rc < 0 || !writers || !kept) {
        rc = diag_set(diag, -ENOMEM, "out of memory");
        goto out;
    }
    for (uint32_t i = 0; i < bound->step_count; i++) {
        if (!is_queued(&bound->steps[i]))
            continue;
        choose_one(&order, writers, i);
        kept[i] = is_alone(&order, i); /* for now: whether it is */
    }
    /* Memory is not given on before a step that comes after all that may still use it. */
    for (uint32_t i = bound->step_count, last = i ? i - 1 : 0; i-- > 0;) {
        bool alone = kept[i] != 0;

        kept[i] = last;
        if (alone && i > 0)
            last = i - 1;
    }
out:
    order_close(&order);
    free(writers);
    return rc;
}

/* Waits */

static void add_piece(struct pieces *pieces, size_t *at, size_t begin, size_t bytes,
                      bool is_written)
{
    if (bytes > 0)
        pieces->items[(*at)++] = (struct piece){begin, begin + bytes, is_written};
}

static void add_buffer(const struct bound *bound, struct pieces *pieces, size_t *at,
                       uint32_t buffer, bool is_written)
{
    const struct plan *plan = &bound->plan;
    size_t offset;
    uint32_t root;

    if (buffer == PLAN_NONE)
        return;
    root = plan_root(plan, buffer, &offset);
    if (!plan->buffers[root].is_external)
        add_piece(pieces, at, plan->buffers[root].offset, plan->buffers[root].bytes, is_written);
}

static int list_pieces(const struct bound *bound, struct pieces *out_pieces)
{
    size_t room = 0, at = 0;

    for (uint32_t i = 0; i < bound->step_count; i++)
        room += bound->steps[i].info.input_count + bound->steps[i].info.output_count + 1;
    out_pieces->items = calloc(room + 1, sizeof(*out_pieces->items));
    out_pieces->firsts = calloc((size_t)bound->step_count + 1, sizeof(*out_pieces->firsts));
    if (!out_pieces->items || !out_pieces->firsts)
        return -ENOMEM;
    for (uint32_t i = 0; i < bound->step_count; i++) {
        const struct bound_step *step = &bound->steps[i];
        const struct plan_step *planned = &bound->plan.steps[i];

        out_pieces->firsts[i] = at;
        if (step->copied != PLAN_NONE) {
            add_buffer(bound, out_pieces, &at, step->copied, step->info.on_device);
            continue;
        }
        if (!step->info.on_device)
            continue;
        for (uint32_t k = 0; k < step->info.input_count; k++)
            add_buffer(bound, out_pieces, &at, step->input_buffers[k], false);
        for (uint32_t k = 0; k < step->info.output_count; k++)
            add_buffer(bound, out_pieces, &at, step->output_buffers[k], true);
        add_piece(out_pieces, &at, planned->workspace_offset, planned->workspace_bytes, true);
    }
    out_pieces->firsts[bound->step_count] = at;
    return 0;
}

static bool do_conflict(const struct pieces *pieces, uint32_t a, uint32_t b)
{
    for (size_t i = pieces->firsts[a]; i < pieces->firsts[a + 1]; i++)
        for (size_t k = pieces->firsts[b]; k < pieces->firsts[b + 1]; k++) {
            const struct piece *x = &pieces->items[i], *y = &pieces->items[k];

            if ((x->is_written || y->is_written) && x->begin < y->end && y->begin < x->end)
                return true;
        }
    return false;
}

static int add_wait(struct bound *bound, uint32_t step, uint32_t awaited)
{
    struct bound_step *waiting = &bound->steps[step];
    uint32_t *waits = realloc(waiting->waits, (waiting->wait_count + 1) * sizeof(*waits));

    if (!waits)
        return -ENOMEM;
    waiting->waits = waits;
    waits[waiting->wait_count++] = awaited;
    if (bound->steps[awaited].mark == 0)
        bound->steps[awaited].mark = ++bound->mark_count;
    return 0;
}

/* The latest first: what they come after needs no wait of its own. */
static int add_waits_of(struct order *order, const struct pieces *pieces, uint32_t step)
{
    struct bound_step *steps = order->bound->steps;
    uint32_t *clock = clock_of(order, step);
    int rc = 0;

    if (order->tails[steps[step].stream])
        come_after(order, clock, order->tails[steps[step].stream] - 1);
    for (uint32_t i = step; rc == 0 && i-- > 0 && !is_alone(order, step);) {
        if (!is_queued(&steps[i]) || clock[steps[i].stream] > i || !do_conflict(pieces, step, i))
            continue;
        rc = add_wait(order->bound, step, i);
        come_after(order, clock, i);
    }
    append(order, step);
    return rc;
}

int bound_add_waits(struct bound *bound, struct diag *diag)
{
    struct pieces pieces = {0};
    struct order order;
    int rc = order_open(&order, bound, bound->stream_count);

    if (rc == 0)
        rc = list_pieces(bound, &pieces);
    for (uint32_t i = 0; rc == 0 && i < bound->step_count; i++)
        if (is_queued(&bound->steps[i]))
            rc = add_waits_of(&order, &pieces, i);
    order_close(&order);
    free(pieces.items);
    free(pieces.firsts);
    return rc < 0 ? diag_set(diag, rc, "out of memory") : 0;
}
