/* SPDX-License-Identifier: Apache-2.0 */
/* What the totals of a session say: no collective is in them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/metrics/overhead.h"
#include "base/op_sort.h"

static struct overhead_times times_of(const struct query_cover_times *times, double wall_ns)
{
    return (struct overhead_times){.wall_ns = wall_ns,
                                   .recorded_ns = times->recorded_ns,
                                   .computation_ns = times->computing_ns,
                                   .copies_ns = times->copying_ns,
                                   .labels_ns = times->labels_ns};
}

static int add_side(const struct query_cover *cover, const struct query_cover_side *side,
                    int64_t session_id, struct overhead *out_overhead)
{
    return array_push(&out_overhead->sides, ((struct overhead_side){
                                                .name = side->device ? side->device : "host",
                                                .is_device = side->device != NULL,
                                                .session_id = session_id,
                                                .lane_count = side->lane_count,
                                                .event_count = side->event_count,
                                                .busy_ns = side->busy_ns,
                                                .computation_ns = side->computing_ns,
                                                .copies_ns = side->copying_ns,
                                                .wall_ns = cover->wall_ns,
                                            }));
}

/* What names calls that copy tells the mode of those that they launched. */
static bool tells_modes(const struct spans_answer *spans, const struct query_cover *cover)
{
    for (size_t i = 0; i < cover->ops.count; i++) {
        const char *name = spans->ops.items[cover->ops.items[i].op].name;

        if (cover->ops.items[i].side == OP_HOST && (strstr(name, "emcpy") || strstr(name, "emset")))
            return true;
    }
    return false;
}

static int add_copies(const struct spans_answer *spans, const struct query_cover_op *sums,
                      bool has_calls, struct overhead *out_overhead)
{
    const struct op_row *op = &spans->ops.items[sums->op];
    struct overhead_copies copies = {
        .mode = copy_mode_of(op, NULL),
        .direction = copy_direction_of(op),
        .is_fill = op_class_of(op) == OP_CLASS_FILL,
        .calls = sums->calls,
        .sized_calls = sums->sized_calls,
        .total_ns = sums->total_ns,
        .sized_ns = sums->sized_ns,
        .bytes = sums->bytes,
    };

    if (copies.mode == COPY_MODE_UNKNOWN && sums->side == OP_DEVICE && has_calls)
        return 1;
    return array_push(&out_overhead->copies, copies);
}

/* What only hands a copy to a device is not one more. */
static int sum_copies(const struct spans_answer *spans, const struct query_cover *cover,
                      struct overhead *out_overhead)
{
    const bool has_calls = tells_modes(spans, cover);
    bool *on_device = calloc(spans->ops.count + 1, sizeof(*on_device));
    int rc = on_device ? 0 : -ENOMEM;

    for (size_t i = 0; i < cover->ops.count && rc == 0; i++)
        on_device[cover->ops.items[i].op] |= cover->ops.items[i].side == OP_DEVICE;
    for (size_t i = 0; i < cover->ops.count && rc == 0; i++) {
        const struct query_cover_op *sums = &cover->ops.items[i];
        const struct op_row *op = &spans->ops.items[sums->op];

        if (op_sort_bits(op->type, op->name) == OP_SORT_COPIES &&
            (sums->side == OP_DEVICE || !on_device[sums->op]))
            rc = add_copies(spans, sums, has_calls, out_overhead);
    }
    free(on_device);
    return rc;
}

int overhead_of_cover(const struct spans_answer *spans, const struct query_cover *cover,
                      struct overhead *out_overhead)
{
    const int64_t session_id = spans->windows.items[0].session_id;
    int rc = 0;

    *out_overhead = (struct overhead){
        .times = times_of(&cover->all, cover->wall_ns),
        .lanes = times_of(&cover->lanes, cover->wall_ns * (double)spans->lanes.count),
    };
    for (int is_device = 0; is_device < 2; is_device++) {
        for (size_t i = 0; i < cover->sides.count && rc == 0; i++) {
            if ((cover->sides.items[i].device != NULL) == is_device)
                rc = add_side(cover, &cover->sides.items[i], session_id, out_overhead);
        }
    }
    return rc ? rc : sum_copies(spans, cover, out_overhead);
}
