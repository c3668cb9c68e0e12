/* SPDX-License-Identifier: Apache-2.0 */
/* What a person can be told about the recording. */
#include <inttypes.h>
#include <stdio.h>

#include "client/greet.h"
#include "client/optrace.h"
#include "client/schedule.h"
#include "client/session.h"

size_t optrace_status(char *out_text, size_t bytes)
{
    const struct ot_session *session = &ot_session;
    char path[OT_LINK_PATH_BYTES] = "";
    int length;

    if (!ot_enter())
        return (size_t)snprintf(out_text, bytes, "busy");
    ot_greet_path(session->settings.socket_path, path);
    if (session->phase == OT_PHASE_OPEN)
        length = snprintf(out_text, bytes, "%s to %s as session %" PRIu64,
                          optrace_level() != OPTRACE_OFF ? "recording"
                          : ot_schedule_is_on()          ? "paused by the schedule, connected"
                                                         : "paused by the daemon, connected",
                          path, session->session_id);
    else if (optrace_level() != OPTRACE_OFF)
        length =
            snprintf(out_text, bytes, "recording, waiting for the daemon: %s", session->problem);
    else
        length = snprintf(out_text, bytes, "not recording: %s",
                          ot_session_is_disabled() ? "OPTRACE_DISABLE is set"
                          : session->problem[0]    ? session->problem
                                                   : "not started");
    if (session->starts > 0 && session->counters.text[0])
        length += snprintf((size_t)length < bytes ? out_text + length : NULL,
                           (size_t)length < bytes ? bytes - (size_t)length : 0,
                           "; CPU counters: %s", session->counters.text);
    ot_leave();
    return (size_t)length;
}

void optrace_lost(struct optrace_loss *out_loss)
{
    uint64_t lost[OT_LOSS_NO_MEMORY + 1] = {0};

    if (ot_enter()) {
        ot_thread_lost(lost);
        ot_leave();
    }
    out_loss->ring_full = lost[OT_LOSS_RING_FULL];
    out_loss->too_deep = lost[OT_LOSS_TOO_DEEP];
    out_loss->no_memory = lost[OT_LOSS_NO_MEMORY];
}
