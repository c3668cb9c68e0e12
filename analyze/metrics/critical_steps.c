/* SPDX-License-Identifier: Apache-2.0 */
/* A step in bytes: its kind with flags, its start where the one before it does not end there, its
 * length, of whom it is, and its class. */
#include "analyze/metrics/critical_steps.h"

#include <errno.h>
#include <stdlib.h>

#include "analyze/containers/packed_numbers.h"

enum { STEP_BYTES = 6 * PACKED_NUMBER_MAX, KIND_BITS = 3 };

int packed_steps_add(struct packed_steps *steps, const struct critical_step *step)
{
    const bool has_gap = step->start_ns != steps->end_ns;
    uint8_t *at;

    if (array_reserve(&steps->bytes, steps->bytes.count + STEP_BYTES) < 0)
        return -ENOMEM;
    at = steps->bytes.items + steps->bytes.count;
    at = packed_number_put(at, (uint64_t)step->kind | (uint64_t)step->is_shown << KIND_BITS |
                                   (uint64_t)has_gap << (KIND_BITS + 1) |
                                   (uint64_t)(step->class > 0) << (KIND_BITS + 2));
    if (has_gap)
        at = packed_number_put(at, (uint64_t)step->start_ns - (uint64_t)steps->end_ns);
    at = packed_number_put(at, (uint64_t)(step->end_ns - step->start_ns));
    if (step->kind != PATH_NOTHING) {
        at = packed_number_put(at, step->op);
        at = packed_number_put(at, step->lane);
    }
    if (step->class > 0)
        at = packed_number_put(at, step->class);
    steps->bytes.count = (size_t)(at - steps->bytes.items);
    steps->count++;
    steps->end_ns = step->end_ns;
    return 0;
}

bool packed_steps_next(const struct packed_steps *steps, struct packed_steps_place *place,
                       struct critical_step *out_step)
{
    const uint8_t *at;
    uint64_t word;

    if (place->step == steps->count)
        return false;
    at = steps->bytes.items + place->byte;
    word = packed_number_get(&at);
    *out_step = (struct critical_step){.start_ns = place->since_ns,
                                       .op = SPAN_NONE,
                                       .lane = SPAN_NONE,
                                       .kind = word & ((1 << KIND_BITS) - 1),
                                       .is_shown = word >> KIND_BITS & 1};
    if (word >> (KIND_BITS + 1) & 1)
        out_step->start_ns = (int64_t)((uint64_t)place->since_ns + packed_number_get(&at));
    out_step->end_ns = out_step->start_ns + (int64_t)packed_number_get(&at);
    if (out_step->kind != PATH_NOTHING) {
        out_step->op = (uint32_t)packed_number_get(&at);
        out_step->lane = (uint32_t)packed_number_get(&at);
    }
    if (word >> (KIND_BITS + 2))
        out_step->class = (uint32_t)packed_number_get(&at);
    *place = (struct packed_steps_place){(size_t)(at - steps->bytes.items), place->step + 1,
                                         out_step->end_ns};
    return true;
}

void packed_steps_trim(struct packed_steps *steps)
{
    uint8_t *items = steps->bytes.count ? realloc(steps->bytes.items, steps->bytes.count) : NULL;

    if (!items)
        return;
    steps->bytes.items = items;
    steps->bytes.capacity = steps->bytes.count;
}

void packed_steps_deinit(struct packed_steps *steps)
{
    array_deinit(&steps->bytes);
    *steps = (struct packed_steps){0};
}
