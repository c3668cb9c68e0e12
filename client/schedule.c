/* SPDX-License-Identifier: Apache-2.0 */
/* The plan in force, and what follows from it. */
#include "client/schedule.h"

#include <string.h>

#include "base/clock.h"
#include "client/session.h"

struct schedule {
    struct ot_wire_plan plan; /* in force; command_id 0: the program's own, or none */
    struct ot_wire_plan next; /* commanded, and to come at its start_ns */
    bool has_next;
    uint32_t level;    /* as the daemon's WELCOME or CONTROL said */
    uint64_t start_ns; /* CLOCK_REALTIME: position 0 of a plan in ns */
};

static struct schedule schedule;

uint32_t ot_schedule_on;

/* Runs begun under the plan in force, and at how many of them something changes. */
static uint64_t run_count;
static uint64_t look_at;
static uint32_t run_flags; /* of the runs until then */

static bool is_over(uint64_t now_ns)
{
    return schedule.plan.end_ns && now_ns >= schedule.plan.end_ns;
}

/* Where the plan stands now. With a schedule in runs, that of the run under way. */
static struct ot_plan_place place_now(uint64_t now_ns)
{
    const struct ot_wire_plan *plan = &schedule.plan;
    const uint64_t runs = __atomic_load_n(&run_count, __ATOMIC_RELAXED);
    struct ot_plan_place place;

    if (is_over(now_ns))
        return (struct ot_plan_place){.state = OT_PLAN_DONE, .left = UINT64_MAX};
    if (plan->unit == OT_UNIT_NS)
        return ot_plan_at(plan, now_ns > schedule.start_ns ? now_ns - schedule.start_ns : 0);
    if (runs > 0)
        return ot_plan_at(plan, runs - 1);
    place = ot_plan_at(plan, 0);
    if (ot_plan_has_schedule(plan)) { /* what comes before the first run is not part of any */
        place.left = 0;
        if (place.state != OT_PLAN_SKIP)
            place.state = OT_PLAN_WAIT;
    }
    return place;
}

static uint32_t full_level(void)
{
    return schedule.plan.command_id ? schedule.plan.level : schedule.level;
}

/* Publish what follows from the plan. */
static void apply(uint64_t now_ns)
{
    const struct ot_wire_plan *plan = &schedule.plan;
    const struct ot_plan_place place = place_now(now_ns);
    const uint64_t runs = __atomic_load_n(&run_count, __ATOMIC_RELAXED);
    uint64_t next_look = UINT64_MAX;

    if (plan->unit == OT_UNIT_RUNS && place.left < UINT64_MAX)
        next_look = (runs ? runs : 1) + place.left;
    __atomic_store_n(&look_at, next_look, __ATOMIC_RELAXED);
    __atomic_store_n(&run_flags, place.state == OT_PLAN_WARMUP ? OT_RECORD_WARMUP : 0,
                     __ATOMIC_RELAXED);
    __atomic_store_n(&ot_schedule_on, ot_plan_has_schedule(plan), __ATOMIC_RELAXED);
    ot_session_set_level(ot_plan_records(place.state) ? full_level() : OT_LEVEL_OFF);
}

/* Put a plan into force. */
static void enter(const struct ot_wire_plan *plan, uint64_t now_ns)
{
    schedule.plan = *plan;
    schedule.start_ns = plan->start_ns ? plan->start_ns : now_ns;
    __atomic_store_n(&run_count, 0, __ATOMIC_RELAXED);
}

static void begin(const struct ot_wire_plan *own, uint32_t level)
{
    const uint64_t now_ns = ot_clock_ns(CLOCK_REALTIME);

    schedule.level = level;
    schedule.has_next = false;
    enter(own, now_ns);
    apply(now_ns);
}

void ot_schedule_begin(const struct ot_wire_plan *own)
{
    begin(own, OT_LEVEL_OFF);
}

void ot_schedule_fork(const struct ot_wire_plan *own)
{
    begin(own, full_level());
}

void ot_schedule_set_level(uint32_t level)
{
    schedule.level = level;
    ot_schedule_look();
}

void ot_schedule_refuse(void)
{
    const struct ot_wire_plan none = {0};

    schedule.has_next = false;
    if (schedule.plan.command_id)
        enter(&none, 0);
    ot_schedule_set_level(OT_LEVEL_OFF);
}

void ot_schedule_command(const struct ot_wire_plan *plan)
{
    const uint64_t known = schedule.has_next ? schedule.next.command_id : schedule.plan.command_id;

    if (plan->command_id <= known)
        return;
    schedule.next = *plan;
    schedule.has_next = true;
    ot_schedule_look();
}

void ot_schedule_look(void)
{
    const uint64_t now_ns = ot_clock_ns(CLOCK_REALTIME);

    if (schedule.has_next && now_ns >= schedule.next.start_ns) {
        enter(&schedule.next, now_ns);
        schedule.has_next = false;
    }
    apply(now_ns);
}

uint64_t ot_schedule_due_in_ns(void)
{
    const uint64_t now_ns = ot_clock_ns(CLOCK_REALTIME);
    uint64_t due_ns = UINT64_MAX;

    if (schedule.plan.unit == OT_UNIT_NS)
        due_ns = place_now(now_ns).left;
    if (schedule.plan.end_ns > now_ns && schedule.plan.end_ns - now_ns < due_ns)
        due_ns = schedule.plan.end_ns - now_ns;
    if (schedule.has_next && schedule.next.start_ns <= now_ns)
        return 0;
    if (schedule.has_next && schedule.next.start_ns - now_ns < due_ns)
        due_ns = schedule.next.start_ns - now_ns;
    return due_ns;
}

bool ot_schedule_tell(struct ot_wire_plan *out_plan)
{
    const uint64_t now_ns = ot_clock_ns(CLOCK_REALTIME);
    struct ot_wire_plan plan = schedule.plan;

    if (schedule.has_next) {
        *out_plan = schedule.next;
        out_plan->position = 0;
        out_plan->state = OT_PLAN_EARLY;
        return true;
    }
    if (plan.command_id == 0 && !ot_plan_has_schedule(&plan))
        return false;
    plan.level = full_level();
    plan.state = place_now(now_ns).state;
    plan.position = __atomic_load_n(&run_count, __ATOMIC_RELAXED);
    if (plan.unit == OT_UNIT_NS)
        plan.position = now_ns > schedule.start_ns ? now_ns - schedule.start_ns : 0;
    *out_plan = plan;
    return true;
}

bool ot_schedule_count(void)
{
    const uint64_t runs = __atomic_add_fetch(&run_count, 1, __ATOMIC_RELAXED);

    return runs >= __atomic_load_n(&look_at, __ATOMIC_RELAXED);
}

uint16_t ot_schedule_run_flags(void)
{
    return (uint16_t)__atomic_load_n(&run_flags, __ATOMIC_RELAXED);
}
