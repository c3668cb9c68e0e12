/* SPDX-License-Identifier: Apache-2.0 */
/* What a person can be told about the recording. */
#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "client/greet.h"
#include "client/optrace.h"
#include "client/ring.h"
#include "client/schedule.h"
#include "client/session.h"

/* A text that is written piece by piece, and measured beyond its end. */
struct text {
    char *out;
    size_t bytes, length;
};

static void __attribute__((format(printf, 2, 3))) add(struct text *text, const char *format, ...)
{
    const bool fits = text->length < text->bytes;
    va_list values;

    va_start(values, format);
    text->length += (size_t)vsnprintf(fits ? text->out + text->length : NULL,
                                      fits ? text->bytes - text->length : 0, format, values);
    va_end(values);
}

static void add_connected(struct text *text, const char *path)
{
    const struct ot_session *session = &ot_session;
    const bool is_on = optrace_level() != OPTRACE_OFF;
    char why[200] = "";

    if (is_on && session->ring_error)
        ot_ring_explain(session->ring_error, session->settings.ring_records, why, sizeof(why));
    add(text, "%s to %s as session %" PRIu64,
        why[0] && session->ring_count == 0 ? "not recording, connected"
        : is_on                            ? "recording"
        : ot_schedule_is_on()              ? "paused by the schedule, connected"
                                           : "paused by the daemon, connected",
        path, session->session_id);
    if (why[0])
        add(text, "; a thread has no ring: %s", why);
}

size_t optrace_status(char *out_text, size_t bytes)
{
    const struct ot_session *session = &ot_session;
    struct text text = {out_text, bytes, 0};
    char path[OT_LINK_PATH_BYTES] = "";

    if (!ot_enter())
        return (size_t)snprintf(out_text, bytes, "busy");
    ot_greet_path(session->settings.socket_path, path);
    if (session->phase == OT_PHASE_OPEN)
        add_connected(&text, path);
    else if (optrace_level() != OPTRACE_OFF)
        add(&text, "recording, waiting for the daemon: %s", session->problem);
    else
        add(&text, "not recording: %s",
            ot_session_is_disabled() ? "OPTRACE_DISABLE is set"
            : session->problem[0]    ? session->problem
                                     : "not started");
    if (session->starts > 0 && session->counters.text[0])
        add(&text, "; CPU counters: %s", session->counters.text);
    ot_leave();
    return text.length;
}

void optrace_lost_sized(struct optrace_loss *out_loss, size_t loss_bytes)
{
    uint64_t lost[OT_LOSS_NO_MEMORY + 1] = {0};
    struct optrace_loss loss = {0};

    if (ot_enter()) {
        ot_thread_lost(lost);
        loss.refused = ot_session.refused_count;
        ot_leave();
    }
    loss.ring_full = lost[OT_LOSS_RING_FULL];
    loss.too_deep = lost[OT_LOSS_TOO_DEEP];
    loss.no_memory = lost[OT_LOSS_NO_MEMORY];
    if (loss_bytes > sizeof(loss)) /* a program that is newer than the library */
        memset((char *)out_loss + sizeof(loss), 0, loss_bytes - sizeof(loss));
    memcpy(out_loss, &loss, loss_bytes < sizeof(loss) ? loss_bytes : sizeof(loss));
}

/* For programs that were built when the struct ended before `refused`. */
void(optrace_lost)(struct optrace_loss *out_loss)
{
    optrace_lost_sized(out_loss, offsetof(struct optrace_loss, refused));
}
