/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In which order the axes of a tensor lie in memory. Tensors are always dense; a layout is a
 * permutation of the axes. Images [batch, channels, spatial...] know two that matter, row-major and
 * channels-last; views of them (a Reshape that splits the channels) have others.
 */
#ifndef OPTRACE_RUNTIME_GRAPH_LAYOUT_H
#define OPTRACE_RUNTIME_GRAPH_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/graph/graph.h"

struct layout {
    int rank;
    uint8_t order[SHAPE_MAX_RANK]; /* axes from outermost to innermost */
};

struct layout layout_row_major(int rank);

/** [0, 2, 3, ..., 1]; row-major where the rank is below 3. */
struct layout layout_channels_last(int rank);

/** Strides in elements, by axis. */
void layout_strides(const struct layout *layout, const struct shape *shape, int64_t *out_strides);

/** Whether two layouts of one shape put each element at the same place: axes of one element do not
 *  count. */
bool layout_same(const struct layout *a, const struct layout *b, const struct shape *shape);

bool layout_is_row_major(const struct layout *layout, const struct shape *shape);
bool layout_is_channels_last(const struct layout *layout, const struct shape *shape);

/**
 * The layout under which `to` shows the same memory as `from` under `layout`, element for element
 * in row-major order of both shapes. Returns false when there is none: elements would have to move.
 */
bool layout_reshape(const struct shape *from, const struct layout *layout, const struct shape *to,
                    struct layout *out_layout);

#endif
