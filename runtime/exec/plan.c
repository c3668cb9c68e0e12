/* SPDX-License-Identifier: Apache-2.0 */
/* Lifetimes and arena offsets. */
#include "runtime/exec/plan.h"

#include <errno.h>
#include <stdlib.h>

#include "runtime/exec/plan_place.h"

static size_t align_up(size_t bytes)
{
    return (bytes + PLAN_ALIGNMENT - 1) / PLAN_ALIGNMENT * PLAN_ALIGNMENT;
}

uint32_t plan_root(const struct plan *plan, uint32_t buffer, size_t *out_offset)
{
    size_t offset = 0;

    while (plan->buffers[buffer].parent != PLAN_NONE) {
        offset += plan->buffers[buffer].parent_offset;
        buffer = plan->buffers[buffer].parent;
    }
    *out_offset = offset;
    return buffer;
}

static struct lifetime *life_of(const struct plan *plan, struct lifetime *lives, uint32_t buffer)
{
    size_t offset;

    return &lives[plan_root(plan, buffer, &offset)];
}

static void touch(struct lifetime *life, uint32_t step)
{
    if (life->first == PLAN_NONE)
        life->first = step;
    life->last = step;
}

static void find_lifetimes(const struct plan *plan, struct lifetime *lives)
{
    for (uint32_t i = 0; i < plan->buffer_count; i++)
        lives[i] = (struct lifetime){PLAN_NONE, 0};
    for (uint32_t i = 0; i < plan->step_count; i++) {
        const struct plan_step *step = &plan->steps[i];

        for (uint32_t j = 0; j < step->read_count; j++)
            if (step->reads[j] != PLAN_NONE)
                touch(life_of(plan, lives, step->reads[j]), i);
        for (uint32_t j = 0; j < step->write_count; j++)
            if (step->writes[j] != PLAN_NONE)
                touch(life_of(plan, lives, step->writes[j]), i);
    }
    for (uint32_t i = 0; i < plan->buffer_count; i++) {
        struct lifetime *life = life_of(plan, lives, i);

        if (plan->buffers[i].is_kept && life->first != PLAN_NONE)
            life->last = plan->step_count;
    }
}

/* A step may write over what it reads when nobody needs that afterwards, it reads it once, nothing
 * but the step itself fills the new buffer, and the new one has room there. */
static bool can_be_in_place(const struct plan *plan, struct lifetime *lives, uint32_t index)
{
    const struct plan_step *step = &plan->steps[index];
    const struct plan_buffer *write = &plan->buffers[step->in_place_write];
    size_t offset;
    uint32_t root = plan_root(plan, step->in_place_read, &offset), uses = 0;

    for (uint32_t i = 0; i < step->read_count; i++)
        uses += step->reads[i] != PLAN_NONE && plan_root(plan, step->reads[i], &offset) == root;
    return uses == 1 && !plan->buffers[root].is_external && lives[root].last == index &&
           lives[root].first < index && write->parent == PLAN_NONE && !write->is_external &&
           lives[step->in_place_write].first == index &&
           root < step->in_place_write && /* keeps parents before their views */
           write->bytes <= plan->buffers[step->in_place_read].bytes;
}

/* By root: how many reads there are of what lies there. */
static void count_reads(const struct plan *plan, uint32_t *reads)
{
    size_t offset;

    for (uint32_t i = 0; i < plan->step_count; i++)
        for (uint32_t k = 0; k < plan->steps[i].read_count; k++)
            if (plan->steps[i].reads[k] != PLAN_NONE)
                reads[plan_root(plan, plan->steps[i].reads[k], &offset)]++;
}

/* reads: of roots, where others that read may be under way when the last one begins; else NULL. */
static int merge_in_place(struct plan *plan, struct lifetime *lives, uint32_t *reads)
{
    for (uint32_t i = 0; i < plan->step_count; i++) {
        const struct plan_step *step = &plan->steps[i];
        struct plan_buffer *write;
        size_t offset;
        uint32_t root;

        if (step->in_place_write == PLAN_NONE || (plan->is_lavish && !step->must_be_in_place))
            continue;
        if (!can_be_in_place(plan, lives, i)) {
            if (step->must_be_in_place)
                return -EINVAL;
            continue;
        }
        root = plan_root(plan, step->in_place_read, &offset);
        if (reads && reads[root] > 1 && !step->must_be_in_place)
            continue; /* it would have to wait for them */
        if (reads)
            reads[root] = reads[step->in_place_write];
        write = &plan->buffers[step->in_place_write];
        write->parent = root;
        write->parent_offset = offset;
        lives[root].last = lives[step->in_place_write].last;
    }
    return 0;
}

/* What ends with a step lives on while others may be under way. */
static void keep_longer(const struct plan *plan, struct lifetime *life)
{
    if (plan->kept_until && life->first != PLAN_NONE && life->last < plan->step_count &&
        plan->kept_until[life->last] > life->last)
        life->last = plan->kept_until[life->last];
}

static uint32_t collect_items(struct plan *plan, const struct lifetime *lives, struct item *items)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < plan->buffer_count; i++) {
        struct plan_buffer *buffer = &plan->buffers[i];

        buffer->first = lives[i].first;
        buffer->last = lives[i].last;
        if (buffer->parent == PLAN_NONE && !buffer->is_external && lives[i].first != PLAN_NONE) {
            items[count] = (struct item){align_up(buffer->bytes), lives[i], &buffer->offset};
            if (plan->is_lavish)
                items[count].life = (struct lifetime){0, plan->step_count};
            count++;
        }
    }
    for (uint32_t i = 0; i < plan->step_count; i++) {
        struct plan_step *step = &plan->steps[i];

        if (step->workspace_bytes) {
            items[count] =
                (struct item){align_up(step->workspace_bytes), {i, i}, &step->workspace_offset};
            keep_longer(plan, &items[count].life);
            count++;
        }
    }
    return count;
}

int plan_make(struct plan *plan)
{
    size_t most = (size_t)plan->buffer_count + plan->step_count + 1;
    struct lifetime *lives = calloc(most, sizeof(*lives));
    struct item *items = calloc(most, sizeof(*items));
    uint32_t *reads = calloc(most, sizeof(*reads));
    int rc = -ENOMEM;

    if (!lives || !items || !reads)
        goto out;
    find_lifetimes(plan, lives);
    if (plan->kept_until)
        count_reads(plan, reads);
    rc = merge_in_place(plan, lives, plan->kept_until ? reads : NULL);
    if (rc < 0)
        goto out;
    for (uint32_t i = 0; i < plan->buffer_count; i++)
        keep_longer(plan, &lives[i]);
    rc = plan_place(items, collect_items(plan, lives, items), PLAN_PAIRS_MAX, &plan->arena_bytes);
    if (rc < 0)
        goto out;
    for (uint32_t i = 0; i < plan->buffer_count; i++) {
        size_t offset;
        uint32_t root = plan_root(plan, i, &offset);

        if (root != i)
            plan->buffers[i].offset = plan->buffers[root].offset + offset;
    }
out:
    free(lives);
    free(reads);
    free(items);
    return rc;
}
