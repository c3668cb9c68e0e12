/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of optrace.h that define something. */
#include <errno.h>
#include <stdlib.h>

#include "client/connect.h"
#include "client/define.h"
#include "client/polling.h"
#include "client/session.h"
#include "client/stack.h"
#include "client/thread_life.h"

/* While nothing is recorded, definitions are the moments to look for a daemon. */
static bool enter(void)
{
    if (optrace_level() == OPTRACE_OFF)
        ot_poll();
    return ot_enter();
}

/* After a definition: to the daemon with it, before a record can refer to it. */
static void defined(void)
{
    if (ot_session.phase == OT_PHASE_OPEN)
        ot_connect_push_waiting();
}

int optrace_op_define(const struct optrace_op_info *info, uint32_t *out_op)
{
    struct optrace_op_info placed = *info;
    char *params = ot_stack_params(info->params, __builtin_return_address(0), ot_stack_frames());
    int rc = -EDEADLK;

    if (params)
        placed.params = params;
    if (enter()) {
        rc = ot_define_op(&placed, out_op);
        defined();
        ot_leave();
    }
    free(params);
    return rc;
}

/* Labels have a place in the program; of the other names many places share one. */
static char *stack_of(enum optrace_name_type type, const void *caller)
{
    return type == OPTRACE_LABEL ? ot_stack_params(NULL, caller, ot_stack_frames()) : NULL;
}

uint32_t optrace_name(enum optrace_name_type type, const char *name)
{
    char *params = stack_of(type, __builtin_return_address(0));
    uint32_t op = 0;

    if (enter()) {
        if (ot_define_text(type, name, NULL, params, &op) < 0)
            op = 0;
        defined();
        ot_leave();
    }
    free(params);
    return op;
}

uint32_t optrace_site_define(struct optrace_site *site)
{
    char *params = stack_of(site->type, __builtin_return_address(0));
    uint32_t op = 0;

    if (ot_enter()) {
        op = __atomic_load_n(&site->op, __ATOMIC_RELAXED); /* another thread may have been here */
        if (op == 0 && ot_define_text(site->type, site->name, site->source, params, &op) == 0) {
            defined();
            __atomic_store_n(&site->op, op, __ATOMIC_RELAXED);
        }
        ot_leave();
    }
    free(params);
    return op;
}

int optrace_model_define(const struct optrace_model_info *info, uint32_t *out_model)
{
    int rc;

    if (!enter())
        return -EDEADLK;
    rc = ot_define_model(info, out_model);
    defined();
    ot_leave();
    return rc;
}

int optrace_lane_define(const struct optrace_lane_info *info, uint32_t *out_lane)
{
    int rc = -EINVAL;

    if (!enter())
        return -EDEADLK;
    if (info->name && (info->kind == OT_LANE_STREAM || info->kind == OT_LANE_QUEUE))
        rc = ot_define_lane(info, out_lane);
    defined();
    ot_leave();
    return rc;
}

uint32_t optrace_thread_lane(void)
{
    struct ot_thread *thread;
    uint32_t lane;

    if (ot_hot.thread && ot_hot.thread->lane_id)
        return ot_hot.thread->lane_id;
    if (!ot_enter())
        return 0;
    lane = ot_thread_make(&thread) == 0 && ot_thread_take_lane(thread, NULL) == 0 ? thread->lane_id
                                                                                  : 0;
    defined();
    ot_leave();
    return lane;
}

int optrace_thread_name(const char *name)
{
    struct ot_thread *thread;
    int rc;

    if (!name)
        return -EINVAL;
    if (ot_hot.thread && ot_hot.thread->lane_id)
        return -EALREADY;
    if (!ot_enter())
        return -EDEADLK;
    rc = ot_thread_make(&thread);
    if (rc == 0)
        rc = ot_thread_take_lane(thread, name);
    defined();
    ot_leave();
    return rc;
}
