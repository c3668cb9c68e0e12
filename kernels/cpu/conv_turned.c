/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolutions of row-major images that oneDNN would leave to products of unrolled ones: the images are
 * turned to channels last in the workspace, where there is a better kernel, and its result is turned back.
 * What makes machine code for such products takes longer, once a process, than many a network runs.
 */
#include "kernels/cpu/conv_plan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/kernels.h"

static const char prefix[] = "turned:";

struct turned_plan {
    struct kernel_conv_plan base;
    struct kernel_conv_plan *inner; /* owned; its weights are this plan's */
    int64_t batch, channels, filters, x_places, y_places;
    bool has_residual;
    size_t x_offset, y_offset; /* in the workspace */
};

bool conv_turned_inner(const struct kernel_conv *shape, struct kernel_conv *out_inner)
{
    const struct kernel_window *w = &shape->window;

    for (int i = 0; i < KERNEL_SPATIAL; i++)
        if (w->in[i] < 1 || w->out[i] < 1)
            return false;
    if (shape->channels_last || shape->is_transposed || shape->types.weights != KERNEL_F32 ||
        shape->batch < 1 || shape->channels < 1 || shape->filters < 1)
        return false;
    *out_inner = *shape;
    out_inner->channels_last = true;
    return true;
}

void conv_turned_name(const char *inner, char out_name[KERNEL_CONV_VERSION_BYTES])
{
    snprintf(out_name, KERNEL_CONV_VERSION_BYTES, "%s%s", prefix, inner);
}

const char *conv_turned_inner_name(const char *version)
{
    return strncmp(version, prefix, strlen(prefix)) == 0 ? version + strlen(prefix) : NULL;
}

/* y[image, column, row] = x[image, row, column] */
static void turn(float *y, const float *x, int64_t images, int64_t rows, int64_t columns)
{
    const struct kernel_copy shape = {
        .element_bytes = sizeof(float),
        .rank = 3,
        .dims = {images, columns, rows},
        .y_stride = {rows * columns, rows, 1},
        .x_stride = {rows * columns, 1, columns},
    };

    copy_portable(y, x, &shape);
}

static int run(struct kernel_conv_plan *base, void *y, const void *x, void *workspace)
{
    struct turned_plan *plan = (struct turned_plan *)base;
    float *turned_x = (float *)(void *)((char *)workspace + plan->x_offset);
    float *turned_y = (float *)(void *)((char *)workspace + plan->y_offset);
    int rc;

    turn(turned_x, x, plan->batch, plan->channels, plan->x_places);
    if (plan->has_residual)
        turn(turned_y, y, plan->batch, plan->filters, plan->y_places);
    rc = plan->inner->type->run(plan->inner, turned_y, turned_x, workspace);
    turn(y, turned_y, plan->batch, plan->y_places, plan->filters);
    return rc;
}

static void place(struct kernel_conv_plan *base, float *weights, float *bias)
{
    struct turned_plan *plan = (struct turned_plan *)base;

    plan->inner->type->place(plan->inner, weights, bias);
}

static void destroy(struct kernel_conv_plan *base)
{
    struct turned_plan *plan = (struct turned_plan *)base;

    plan->inner->type->destroy(plan->inner);
    free(plan->base.weights);
    free(plan);
}

static int64_t places_of(const int64_t sizes[KERNEL_SPATIAL])
{
    int64_t count = 1;

    for (int i = 0; i < KERNEL_SPATIAL; i++)
        count *= sizes[i];
    return count;
}

int conv_turned_wrap(const struct conv_request *request, struct kernel_conv_plan *inner,
                     struct kernel_conv_plan **out_plan)
{
    static const struct conv_plan_type type = {destroy, run, place};
    const struct kernel_conv *s = request->shape;
    struct turned_plan *plan = calloc(1, sizeof(*plan));

    if (!plan) {
        inner->type->destroy(inner);
        return -ENOMEM;
    }
    plan->base.type = &type;
    conv_turned_name(inner->version, plan->base.version);
    plan->inner = inner;
    plan->batch = s->batch;
    plan->channels = s->channels;
    plan->filters = s->filters;
    plan->x_places = places_of(s->window.in);
    plan->y_places = places_of(s->window.out);
    plan->has_residual = request->has_residual;
    conv_plan_take_weights(&plan->base, inner);
    plan->x_offset = conv_round_up(inner->workspace_bytes);
    plan->y_offset =
        plan->x_offset +
        conv_round_up((size_t)(s->batch * s->channels * plan->x_places) * sizeof(float));
    plan->base.workspace_bytes =
        plan->y_offset +
        conv_round_up((size_t)(s->batch * s->filters * plan->y_places) * sizeof(float));
    *out_plan = &plan->base;
    return 0;
}
