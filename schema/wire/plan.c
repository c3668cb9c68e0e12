/* SPDX-License-Identifier: Apache-2.0 */
/* What a plan says at each position; the same for clients, daemon and controllers. */
#include "schema/wire/wire.h"

struct ot_plan_place ot_plan_at(const struct ot_wire_plan *plan, uint64_t position)
{
    const uint64_t cycle_length = plan->wait + plan->warmup + plan->active;
    struct ot_plan_place place = {.state = OT_PLAN_FREE, .left = UINT64_MAX};
    uint64_t within;

    if (!ot_plan_has_schedule(plan))
        return place;
    if (position < plan->skip_first) {
        place.state = OT_PLAN_SKIP;
        place.left = plan->skip_first - position;
        return place;
    }
    position -= plan->skip_first;
    place.cycle = position / cycle_length;
    within = position % cycle_length;
    if (plan->repeat > 0 && place.cycle >= plan->repeat) {
        place.state = OT_PLAN_DONE;
        place.cycle = plan->repeat;
    } else if (within < plan->wait) {
        place.state = OT_PLAN_WAIT;
        place.left = plan->wait - within;
    } else if (within < plan->wait + plan->warmup) {
        place.state = OT_PLAN_WARMUP;
        place.left = plan->wait + plan->warmup - within;
    } else {
        place.state = OT_PLAN_ACTIVE;
        place.left = cycle_length - within;
    }
    return place;
}

const char *ot_plan_state_name(uint32_t state)
{
    static const char *const names[] = {"free",    "early",  "skip", "wait",
                                        "warm-up", "active", "done"};

    return state <= OT_PLAN_DONE ? names[state] : "unknown";
}

const char *ot_wire_level_name(uint32_t level)
{
    static const char *const names[] = {"off", "on", "detail"};

    return level <= OT_LEVEL_DETAIL ? names[level] : "unknown";
}
