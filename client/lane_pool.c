/* SPDX-License-Identifier: Apache-2.0 */
/* Which lane a thread gets: one of its own, one that it shares, or none. */
#include "client/lane_pool.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "client/session.h"

enum { SHARED_MAX = OT_LANES_NAMED_MAX + OT_LANES_OTHER_MAX };

static_assert((int)OT_LANES_OWN_MAX + (int)SHARED_MAX < (int)OT_WIRE_LANES_MAX,
              "some are left for streams");
static_assert((int)OT_LANES_OTHER_MAX >= (int)OT_WIRE_RINGS_MAX,
              "one for each thread that has a ring");

static const char OTHER_NAME[] = "threads in turn";

struct shared_lane {
    uint32_t lane_id;
    uint32_t name; /* string id */
    bool is_free;
};

static uint32_t own_count, named_count, other_count;
static struct shared_lane shared[SHARED_MAX];
static uint32_t shared_count;

static int define(uint32_t name, uint64_t native_id, uint32_t *out_lane)
{
    struct ot_log *log = &ot_session.log;
    struct ot_wire_lane frame = {
        .header = ot_wire_header(OT_FRAME_LANE, sizeof(frame)),
        .lane_id = log->lane_count + 1,
        .kind = OT_LANE_THREAD,
        .name = name,
        .native_id = native_id,
    };
    int rc;

    if (log->lane_count >= OT_WIRE_LANES_MAX)
        return -ENOSPC;
    rc = ot_log_add(log, &frame, sizeof(frame));
    if (rc == 0)
        *out_lane = ++log->lane_count;
    return rc;
}

static int define_own(const char *name, uint32_t *out_lane)
{
    uint32_t name_id;
    int rc = ot_log_string(&ot_session.log, name, &name_id);

    if (rc == 0)
        rc = define(name_id, (uint64_t)gettid(), out_lane);
    if (rc == 0)
        own_count++;
    return rc;
}

static bool take_free(uint32_t name_id, uint32_t *out_lane)
{
    for (uint32_t i = 0; i < shared_count; i++) {
        if (!shared[i].is_free || shared[i].name != name_id)
            continue;
        shared[i].is_free = false;
        *out_lane = shared[i].lane_id;
        return true;
    }
    return false;
}

/* `count` is that of its sort, which has room for `max`. */
static int define_shared(const char *name, uint32_t *count, uint32_t max, uint32_t *out_lane)
{
    struct shared_lane *lane = &shared[shared_count];
    int rc = *count < max ? ot_log_string(&ot_session.log, name, &lane->name) : -ENOSPC;

    if (rc == 0)
        rc = define(lane->name, 0, &lane->lane_id);
    if (rc < 0)
        return rc;
    lane->is_free = false;
    shared_count++;
    ++*count;
    *out_lane = lane->lane_id;
    return 0;
}

/* A name that no lane has is not added to the log unless a lane will have it: each thread may have
 * another one. */
static int take_shared(const char *name, uint32_t *out_lane)
{
    uint32_t name_id = ot_log_find_string(&ot_session.log, name);

    if (name_id != 0 && take_free(name_id, out_lane))
        return 0;
    if (define_shared(name, &named_count, OT_LANES_NAMED_MAX, out_lane) == 0)
        return 0;
    name_id = ot_log_find_string(&ot_session.log, OTHER_NAME);
    if (name_id != 0 && take_free(name_id, out_lane))
        return 0;
    return define_shared(OTHER_NAME, &other_count, OT_LANES_OTHER_MAX, out_lane);
}

int ot_lane_pool_take(const char *name, uint32_t *out_lane)
{
    char system_name[17] = "";

    if (!name) {
        prctl(PR_GET_NAME, system_name);
        name = system_name;
    }
    if (own_count < OT_LANES_OWN_MAX) {
        int rc = define_own(name, out_lane);

        if (rc != -ENOSPC)
            return rc;
    }
    return take_shared(name, out_lane);
}

void ot_lane_pool_give(uint32_t lane_id)
{
    for (uint32_t i = 0; i < shared_count; i++)
        if (shared[i].lane_id == lane_id)
            shared[i].is_free = true;
}

void ot_lane_pool_forget(void)
{
    ot_log_drop_thread_lanes(&ot_session.log);
    own_count = named_count = other_count = shared_count = 0;
}
