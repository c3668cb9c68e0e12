/* SPDX-License-Identifier: Apache-2.0 */
/* Matching, delivery, and the timer for clients that know levels only. */
#include "daemon/commands.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "daemon/memory.h"
#include "daemon/privacy.h"

enum {
    TIMER_MAX_MS = 1000, /* somebody may set the clock */
    STANDING_MAX = 1024, /* of all users together */
};
#define NS_PER_MS UINT64_C(1000000)

/* Commands are numbered by the clock. Numbers from further ahead were never given. */
static const uint64_t AHEAD_MAX_NS = UINT64_C(3600000000000);

void command_selects_deinit(struct command_selects *selects)
{
    for (size_t i = 0; i < selects->count; i++)
        free(selects->items[i].program);
    array_deinit(selects);
}

static void deinit_command(struct command *command)
{
    for (size_t i = 0; i < command->programs.count; i++)
        free(command->programs.items[i]);
    array_deinit(&command->programs);
}

/* --- What a plan means at a moment --- */

/* Where it stands, as far as can be known without the client. */
static struct ot_plan_place place_at(const struct ot_wire_plan *plan, uint64_t now_ns)
{
    if (plan->end_ns && now_ns >= plan->end_ns)
        return (struct ot_plan_place){.state = OT_PLAN_DONE, .left = UINT64_MAX};
    if (now_ns < plan->start_ns)
        return (struct ot_plan_place){.state = OT_PLAN_EARLY, .left = plan->start_ns - now_ns};
    if (plan->unit == OT_UNIT_NS)
        return ot_plan_at(plan, now_ns - plan->start_ns);
    if (ot_plan_has_schedule(plan)) /* its client counts */
        return (struct ot_plan_place){.state = OT_PLAN_WAIT, .left = UINT64_MAX};
    return (struct ot_plan_place){.state = OT_PLAN_FREE, .left = UINT64_MAX};
}

/* The level that a plan gives; `before` while its time is to come. */
static uint32_t level_at(const struct ot_wire_plan *plan, uint64_t now_ns, uint32_t before)
{
    const struct ot_plan_place place = place_at(plan, now_ns);

    if (plan->command_id == 0 || place.state == OT_PLAN_EARLY)
        return before;
    return ot_plan_records(place.state) ? plan->level : OT_LEVEL_OFF;
}

/* ns until the level changes by time alone. */
static uint64_t due_in_ns(const struct ot_wire_plan *plan, uint64_t now_ns)
{
    uint64_t due_ns = place_at(plan, now_ns).left;

    if (plan->end_ns > now_ns && plan->end_ns - now_ns < due_ns)
        due_ns = plan->end_ns - now_ns;
    return due_ns;
}

static bool knows_schedules(const struct session *session)
{
    return session->features & OT_FEATURE_SCHEDULE;
}

bool commands_is_obeyed(const struct session *session)
{
    return !knows_schedules(session) || session->report.command_id >= session->plan.command_id;
}

struct ot_wire_plan commands_view(const struct session *session)
{
    const uint64_t now_ns = ot_clock_ns(CLOCK_REALTIME);
    struct ot_wire_plan plan = session->plan;

    if (knows_schedules(session) && commands_is_obeyed(session))
        return session->report;
    if (plan.command_id == 0)
        return plan;
    plan.state = place_at(&plan, now_ns).state;
    if (plan.unit == OT_UNIT_NS && now_ns > plan.start_ns)
        plan.position = now_ns - plan.start_ns;
    return plan;
}

/* --- Clients that know levels only --- */

static void send_level(struct commands *commands, struct session *session, uint32_t level)
{
    const struct ot_wire_control control = {
        .header = ot_wire_header(OT_FRAME_CONTROL, sizeof(control)), .level = level};

    if (level == session->level || !(session->features & OT_FEATURE_CONTROL))
        return;
    session->level = level;
    if (session->producer)
        commands->send(session->producer, &control, sizeof(control));
}

static void on_timer(uv_timer_t *timer);

/* Sets the levels that are due, and the timer for the next. */
static void keep_levels(struct commands *commands)
{
    const uint64_t now_ns = ot_clock_ns(CLOCK_REALTIME);
    uint64_t due_ns = UINT64_MAX, ms;

    for (struct session *s = collector_sessions(commands->collector); s; s = s->next) {
        if (s->end_reason || knows_schedules(s) || s->plan.command_id == 0)
            continue;
        send_level(commands, s, level_at(&s->plan, now_ns, s->level));
        if (due_in_ns(&s->plan, now_ns) < due_ns)
            due_ns = due_in_ns(&s->plan, now_ns);
    }
    if (due_ns == UINT64_MAX) {
        uv_timer_stop(&commands->timer);
        return;
    }
    ms = due_ns / NS_PER_MS + 1;
    uv_timer_start(&commands->timer, on_timer, ms < TIMER_MAX_MS ? ms : TIMER_MAX_MS, 0);
}

static void on_timer(uv_timer_t *timer)
{
    keep_levels(timer->data);
}

/* --- Sessions --- */

static bool is_for_program(const struct command *command, const char *program)
{
    for (size_t i = 0; i < command->programs.count; i++)
        if (strcmp(command->programs.items[i], program) == 0)
            return true;
    return command->programs.count == 0;
}

uint32_t commands_default_level(const struct commands *commands, uid_t uid)
{
    for (size_t i = commands->standing.count; i-- > 0;) {
        const struct command *command = &commands->standing.items[i];

        if (command->programs.count == 0 && privacy_may_see(command->uid, uid))
            return level_at(&command->plan, ot_clock_ns(CLOCK_REALTIME), commands->level);
    }
    return commands->level;
}

/* Whether a client can do what the plan asks. */
static bool is_able(const struct session *session, const struct ot_wire_plan *plan)
{
    if (knows_schedules(session))
        return true;
    return (session->features & OT_FEATURE_CONTROL) &&
           !(ot_plan_has_schedule(plan) && plan->unit == OT_UNIT_RUNS);
}

void commands_join(struct commands *commands, struct session *session)
{
    const struct ot_wire_plan *newest = NULL;

    for (size_t i = commands->standing.count; i-- > 0 && !newest;) {
        const struct command *command = &commands->standing.items[i];

        if (privacy_may_see(command->uid, session->uid) &&
            is_for_program(command, session->program) && is_able(session, &command->plan))
            newest = &command->plan;
    }
    if (newest && newest->command_id > session->plan.command_id)
        session->plan = *newest;
    session->level = level_at(&session->plan, ot_clock_ns(CLOCK_REALTIME), commands->level);
}

void commands_deliver(struct commands *commands, struct session *session)
{
    const struct ot_wire_schedule schedule = ot_wire_schedule(&session->plan);

    if (session->plan.command_id == 0)
        return;
    if (!knows_schedules(session))
        keep_levels(commands);
    else if (session->producer)
        commands->send(session->producer, &schedule, sizeof(schedule));
}

void commands_take_report(struct commands *commands, struct session *session,
                          const struct ot_wire_plan *report)
{
    if (!knows_schedules(session))
        return;
    session->report = *report;
    if (report->state != OT_PLAN_EARLY)
        session->level = ot_plan_records(report->state) ? report->level : OT_LEVEL_OFF;
    if (report->command_id > ot_clock_ns(CLOCK_REALTIME) + AHEAD_MAX_NS)
        return;
    if (report->command_id > commands->last_id)
        commands->last_id = report->command_id; /* of an earlier daemon */
    if (report->command_id > session->plan.command_id) {
        session->plan = *report;
        session->plan.position = 0;
        session->plan.state = 0;
    }
}

/* --- Commands --- */

enum choice {
    CHOICE_NONE,
    CHOICE_GROUP, /* everybody, or by the program's name */
    CHOICE_SINGLE,
};

static enum choice choice_of(const struct command_selects *selects, const struct session *session)
{
    bool is_named = false;

    for (size_t i = 0; i < selects->count; i++) {
        const struct command_select *select = &selects->items[i];

        if (select->kind == OT_SELECT_PID && (uint64_t)session->pid == select->number)
            return CHOICE_SINGLE;
        if (select->kind == OT_SELECT_SESSION && (uint64_t)session->session_id == select->number)
            return CHOICE_SINGLE;
        if (select->kind == OT_SELECT_PROGRAM && strcmp(session->program, select->program) == 0)
            is_named = true;
    }
    return is_named || selects->count == 0 ? CHOICE_GROUP : CHOICE_NONE;
}

static bool is_for_those_to_come(const struct command_selects *selects)
{
    for (size_t i = 0; i < selects->count; i++)
        if (selects->items[i].kind == OT_SELECT_PROGRAM)
            return true;
    return selects->count == 0;
}

/* Forgets what a newer command overrides: no command of somebody who may command more. */
static void supersede(struct commands *commands, const struct command *newer)
{
    size_t kept = 0;

    for (size_t i = 0; i < commands->standing.count; i++) {
        struct command *old = &commands->standing.items[i];
        const bool is_below = privacy_may_see(newer->uid, old->uid);
        bool is_over = is_below && newer->programs.count == 0;

        for (size_t k = old->programs.count; is_below && k-- > 0 && !is_over;) {
            if (!is_for_program(newer, old->programs.items[k]))
                continue;
            free(old->programs.items[k]);
            old->programs.items[k] = old->programs.items[--old->programs.count];
            is_over = old->programs.count == 0;
        }
        if (is_over)
            deinit_command(old);
        else
            commands->standing.items[kept++] = *old;
    }
    commands->standing.count = kept;
}

static void keep_standing(struct commands *commands, uid_t uid,
                          const struct command_selects *selects, const struct ot_wire_plan *plan)
{
    struct command command = {.uid = uid, .plan = *plan};

    for (size_t i = 0; i < selects->count; i++) {
        char *copy;

        if (selects->items[i].kind != OT_SELECT_PROGRAM)
            continue;
        copy = strdup(selects->items[i].program);
        memory_must(copy ? array_push(&command.programs, copy) : -1);
    }
    supersede(commands, &command);
    memory_must(array_push(&commands->standing, command));
}

/* Whether sessions are chosen that this user may not command: one by one, or none but them. */
static bool is_denied(const struct commands *commands, uid_t uid,
                      const struct command_selects *selects)
{
    bool has_own = false, has_others = false;

    if (selects->count == 0)
        return false;
    for (struct session *s = collector_sessions(commands->collector); s; s = s->next) {
        const enum choice choice = s->end_reason ? CHOICE_NONE : choice_of(selects, s);

        if (choice == CHOICE_NONE)
            continue;
        if (privacy_may_see(uid, s->uid))
            has_own = true;
        else if (choice == CHOICE_SINGLE)
            return true;
        else
            has_others = true;
    }
    return has_others && !has_own;
}

/* Whether there is no room for one more that also holds for clients to come. */
static bool is_full(const struct commands *commands, uid_t uid)
{
    size_t own = 0;

    for (size_t i = 0; i < commands->standing.count; i++)
        own += commands->standing.items[i].uid == uid;
    return own >= OT_WIRE_COMMANDS_MAX || commands->standing.count >= STANDING_MAX;
}

/* Fills the list of those who obey, then of those who cannot. */
static void choose(struct commands *commands, uid_t uid, const struct command_selects *selects,
                   const struct ot_wire_plan *plan, struct command_result *result)
{
    for (int pass = 0; pass < 2; pass++) {
        const bool wants_able = pass == 0;
        uint32_t *count = wants_able ? &result->answer.taken_count : &result->answer.unable_count;

        for (struct session *s = collector_sessions(commands->collector); s; s = s->next) {
            if (s->end_reason || !privacy_may_see(uid, s->uid) ||
                choice_of(selects, s) == CHOICE_NONE || is_able(s, plan) != wants_able)
                continue;
            memory_must(array_push(&result->ids, (uint64_t)s->session_id));
            ++*count;
        }
    }
}

void commands_give(struct commands *commands, uid_t uid, const struct command_selects *selects,
                   const struct ot_wire_plan *wanted, struct command_result *out_result)
{
    const bool is_standing = is_for_those_to_come(selects);
    const uint64_t now_ns = ot_clock_ns(CLOCK_REALTIME);
    struct ot_wire_plan plan = *wanted;

    memset(out_result, 0, sizeof(*out_result));
    plan.position = plan.state = plan.reserved = 0;
    if (plan.start_ns == 0)
        plan.start_ns = now_ns;
    if (is_denied(commands, uid, selects)) {
        out_result->answer.status = OT_ANSWER_DENIED;
        return;
    }
    choose(commands, uid, selects, &plan, out_result);
    if (selects->count > 0 && out_result->answer.taken_count == 0)
        out_result->answer.status = OT_ANSWER_NOBODY;
    else if (is_standing && (selects->count > 0 || !privacy_is_trusted(uid)) &&
             is_full(commands, uid))
        out_result->answer.status = OT_ANSWER_FULL;
    if (out_result->answer.status != OT_ANSWER_OK)
        return;
    commands->last_id = now_ns > commands->last_id ? now_ns : commands->last_id + 1;
    plan.command_id = out_result->answer.command_id = commands->last_id;
    if (is_standing)
        keep_standing(commands, uid, selects, &plan);
    for (uint32_t i = 0; i < out_result->answer.taken_count; i++) {
        const int64_t id = (int64_t)out_result->ids.items[i];
        struct session *session = collector_next_session(commands->collector, id);

        if (!session || session->session_id != id)
            continue; /* it did not read what it was sent before */
        session->plan = plan;
        commands_deliver(commands, session);
    }
}

/* --- Start and end --- */

void commands_init(struct commands *commands, uv_loop_t *loop, struct collector *collector,
                   commands_send_fn *send, uint32_t level)
{
    memset(commands, 0, sizeof(*commands));
    commands->collector = collector;
    commands->send = send;
    commands->level = level;
    uv_timer_init(loop, &commands->timer);
    commands->timer.data = commands;
}

void commands_close(struct commands *commands)
{
    for (size_t i = 0; i < commands->standing.count; i++)
        deinit_command(&commands->standing.items[i]);
    array_deinit(&commands->standing);
    uv_close((uv_handle_t *)&commands->timer, NULL);
}
