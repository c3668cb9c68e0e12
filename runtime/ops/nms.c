/* SPDX-License-Identifier: Apache-2.0 */
/* NonMaxSuppression: its inputs as the kernel wants them. */
#include "runtime/ops/nms.h"

const char *nms_check(const struct node *node, const struct nms_inputs *in,
                      struct kernel_nms *out_nms)
{
    const struct shape *boxes = in->shapes[NMS_BOXES], *scores = in->shapes[NMS_SCORES];

    if (!boxes || !scores || boxes->rank != 3 || scores->rank != 3 || boxes->dims[2] != 4 ||
        boxes->dims[0] != scores->dims[0] || boxes->dims[1] != scores->dims[2])
        return "its boxes and scores do not fit together";
    for (int i = 0; i < NMS_INPUTS; i++) {
        enum dtype want = i == NMS_LIMIT ? DTYPE_I64 : DTYPE_F32;

        if (!in->shapes[i])
            continue;
        if (in->types[i] != want)
            return "an input has another type than float32, or the limit than int64";
        if (i >= NMS_LIMIT && shape_elements(in->shapes[i]) != 1)
            return "a limit is not one number";
    }
    *out_nms = (struct kernel_nms){
        .batch = boxes->dims[0],
        .classes = scores->dims[1],
        .boxes = boxes->dims[1],
        .is_center = node_int(node, "center_point_box", 0) != 0,
    };
    return NULL;
}

void nms_limits(const struct nms_inputs *in, struct kernel_nms *out_nms)
{
    const int64_t *limit = in->data[NMS_LIMIT];
    const float *overlap = in->data[NMS_OVERLAP], *score = in->data[NMS_SCORE_MIN];

    out_nms->limit = limit ? *limit : 0;
    out_nms->overlap_max = overlap ? *overlap : 0.0f;
    out_nms->has_score_min = score != NULL;
    out_nms->score_min = score ? *score : 0.0f;
}
