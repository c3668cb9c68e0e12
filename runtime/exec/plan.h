/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where each intermediate tensor lies: lifetimes of buffers over a list of steps, and offsets in
 * one arena so that buffers that live at the same time do not overlap. Pure: no tensors, no
 * kernels, only numbers.
 *
 * A buffer may be a view of an earlier one (a part of it, or all of it under another name); views
 * take no room and keep what they show alive. The buffer at the end of that chain is the root.
 */
#ifndef OPTRACE_RUNTIME_EXEC_PLAN_H
#define OPTRACE_RUNTIME_EXEC_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PLAN_ALIGNMENT = 64, PLAN_NONE = UINT32_MAX };

struct plan_buffer {
    size_t bytes;
    uint32_t parent; /* the buffer that this is a view of, or PLAN_NONE. Set by plan_make() where a
                        step was allowed to work in place */
    size_t parent_offset;
    bool is_external; /* has its own memory (constants, inputs): not placed, never overwritten */
    bool is_kept;     /* still needed after the last step */
    size_t offset;    /* result, in the arena; not set when the root is external */
    /* Results, of roots in the arena: the steps from the first to the last that need it, last being
     * step_count for what is kept. first is PLAN_NONE when no step touches it. */
    uint32_t first, last;
};

struct plan_step {
    const uint32_t *reads; /* buffers, PLAN_NONE is skipped; borrowed */
    uint32_t read_count;
    const uint32_t *writes;
    uint32_t write_count;
    size_t workspace_bytes;  /* scratch during this step only */
    uint32_t in_place_read;  /* this step may write in_place_write over in_place_read, which the */
    uint32_t in_place_write; /* plan does if that ends there; PLAN_NONE: it may not */
    bool must_be_in_place;   /* plan_make() fails where it cannot */
    size_t workspace_offset; /* result */
};

struct plan {
    struct plan_buffer *buffers;
    uint32_t buffer_count;
    struct plan_step *steps;
    uint32_t step_count;
    bool is_lavish;       /* every buffer has its own place for the whole time, and steps work in
                           place only where they must */
    uint32_t *kept_until; /* by step: what is needed in it keeps its place up to this one, as others
                             may be under way at the same time; NULL: one is, at any time */
    size_t arena_bytes;   /* result */
};

/**
 * Fill in the results. Parents must have smaller indices than their views.
 *
 * Returns 0, -ENOMEM, or -EINVAL when a step that must work in place cannot.
 */
int plan_make(struct plan *plan);

/** The root of a buffer; *out_offset is where in the root it begins. */
uint32_t plan_root(const struct plan *plan, uint32_t buffer, size_t *out_offset);

#endif
