/* SPDX-License-Identifier: Apache-2.0 */
/* A convolution with what comes behind it, as the double of cuDNN reads it from descriptors, and
 * computes it. */
#ifndef OPTRACE_TESTS_SUPPORT_CUDA_CUDNN_GRAPH_H
#define OPTRACE_TESTS_SUPPORT_CUDA_CUDNN_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

enum { GRAPH_RANK_MAX = 5, GRAPH_STEPS_MAX = 4, GRAPH_PLACES_MAX = 8 };

struct graph_tensor {
    int64_t id, rank, alignment;
    int type; /* DNN_F32, DNN_F16, DNN_BF16 */
    int64_t dims[GRAPH_RANK_MAX], strides[GRAPH_RANK_MAX];
    bool is_virtual;
};

/* A function of each element behind the convolution. */
struct graph_step {
    int mode;
    float lower, upper, slope;
    struct graph_tensor other; /* id 0: none */
};

struct graph_problem {
    bool is_back;
    struct graph_tensor x, w, y; /* of the convolution, `x` being its image also on the way back */
    int64_t pad_begin[3], pad_end[3], stride[3], dilation[3];
    float alpha, beta;
    int step_count;
    struct graph_step steps[GRAPH_STEPS_MAX];
    struct graph_tensor result; /* of the last */
};

/* What a device is handed. */
struct graph_work {
    struct graph_problem problem;
    const void *from, *w; /* what the convolution reads */
    const void *others[GRAPH_STEPS_MAX];
    void *to;
    double *partial; /* in the workspace: half of each sum; NULL: there is none */
    bool is_second, is_tf32;
};

/* Whether the sizes are those that a convolution has. */
bool graph_fits(const struct graph_problem *problem);

/* Elements of the result. */
int64_t graph_count(const struct graph_problem *problem);

/* work  a struct graph_work */
void graph_compute(const void *work);

#endif
