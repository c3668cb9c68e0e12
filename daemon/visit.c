/* SPDX-License-Identifier: Apache-2.0 */
/* What a controller asks, and the answers. */
#include "daemon/visit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "daemon/log.h"
#include "daemon/memory.h"
#include "daemon/privacy.h"

enum { USAGE_MINOR = 3 }; /* the minor version that brought USAGE and PACE */

/* Frames of an answer are gathered, one behind the other, and sent at once: each send would wake the
 * controller, and a page has hundreds. */
static uint8_t *place(const struct visit *visit)
{
    return visit->scratch + visit->gathered_bytes;
}

static size_t room(const struct visit *visit)
{
    return OT_WIRE_FRAME_BYTES_MAX - visit->gathered_bytes;
}

/* A frame of this length, or a negative errno, is at its place. */
static int add_frame(struct visit *visit, int length)
{
    if (length < 0)
        return length;
    visit->gathered_bytes += (size_t)length;
    return 0;
}

static int add_copy(struct visit *visit, const void *frame, size_t length)
{
    if (length > room(visit))
        return -ENOBUFS;
    memcpy(place(visit), frame, length);
    return add_frame(visit, (int)length);
}

static int send_gathered(struct visit *visit)
{
    const size_t length = visit->gathered_bytes;

    visit->gathered_bytes = 0;
    return length ? visit->send(visit->context, visit->scratch, length) : 0;
}

/* --- ASK --- */

static uint64_t file_bytes(const char *path, const char *suffix)
{
    char name[4096];
    struct stat info;

    if (snprintf(name, sizeof(name), "%s%s", path, suffix) >= (int)sizeof(name))
        return 0;
    return stat(name, &info) == 0 ? (uint64_t)info.st_size : 0;
}

static uint64_t store_bytes(const struct visit_host *host)
{
    return file_bytes(host->store_path, "") + file_bytes(host->store_path, "-wal");
}

/* A text for an answer, in `place`. */
static struct ot_text cut(const char *text, char *place, size_t capacity)
{
    return (struct ot_text){place, ot_wire_clean_text(text, strlen(text), place, capacity)};
}

/* Sessions that the controller may see; the others count as hidden. */
static uint32_t count_sessions(const struct visit *visit, uint32_t *out_hidden)
{
    uint32_t seen = 0;

    *out_hidden = 0;
    for (struct session *s = collector_sessions(visit->host->collector); s; s = s->next) {
        if (!s->end_reason && privacy_may_see(visit->uid, s->uid))
            seen++;
        else if (!s->end_reason)
            ++*out_hidden;
    }
    return seen;
}

static uint64_t count_refusals(const struct visit *visit)
{
    const struct refusals *refusals = visit->host->refusals;
    const struct refusal *item;
    uint64_t count = 0;

    if (privacy_is_trusted(visit->uid))
        return refusals->count;
    for (size_t age = 0; (item = refusals_get(refusals, age)); age++)
        count += privacy_may_see(visit->uid, item->uid);
    return count;
}

static int add_status(struct visit *visit)
{
    const struct visit_host *host = visit->host;
    char name[OT_WIRE_REMARK_BYTES_MAX] = "", path[OT_WIRE_SUMMARY_BYTES_MAX];
    uint32_t hidden;
    const uint32_t seen = count_sessions(visit, &hidden);
    const struct ot_wire_status status = {
        .now_ns = ot_clock_ns(CLOCK_REALTIME),
        .started_ns = host->started_ns,
        .store_bytes = store_bytes(host),
        .refusal_count = count_refusals(visit),
        .pid = (uint32_t)getpid(),
        .uid = geteuid(),
        .level = commands_default_level(host->commands, visit->uid),
        .session_count = seen,
        .hidden_count = (uint16_t)(hidden < UINT16_MAX ? hidden : UINT16_MAX),
    };
    struct ot_wire_status_texts texts = {
        .version = {OPTRACE_VERSION, sizeof(OPTRACE_VERSION) - 1},
        .store_path = cut(host->store_path, path, sizeof(path)),
    };

    gethostname(name, sizeof(name) - 1);
    texts.host = cut(name, name, sizeof(name));
    return add_frame(visit, ot_wire_encode_status(&status, &texts, place(visit), room(visit)));
}

/* Older controllers know nothing of it. */
static int add_health(struct visit *visit)
{
    const struct health *health = visit->host->health;
    const struct ot_wire_health frame = {
        .header = ot_wire_header(OT_FRAME_HEALTH, sizeof(frame)),
        .longest_pause_ns = health->longest_pause_ns,
        .longest_pause_at_ns = health->longest_pause_at_ns,
        .writer_ns = collector_writer_ns(visit->host->collector),
        .watchdog_ns = health->watchdog_ns,
    };

    return visit->minor < 2 ? 0 : add_copy(visit, &frame, sizeof(frame));
}

static int add_usage(struct visit *visit)
{
    struct ot_wire_usage frame;

    if (visit->minor < USAGE_MINOR)
        return 0;
    frame = usage_look(visit->host->usage, store_bytes(visit->host));
    return add_copy(visit, &frame, sizeof(frame));
}

static int add_refusals(struct visit *visit)
{
    const struct refusal *item;
    int rc = 0;

    for (size_t age = 0; rc == 0 && (item = refusals_get(visit->host->refusals, age)); age++) {
        const struct ot_wire_refusal refusal = {
            .time_ns = item->time_ns, .pid = (uint32_t)item->pid, .uid = item->uid};

        if (!privacy_may_see(visit->uid, item->uid))
            continue;
        rc = add_frame(visit, ot_wire_encode_refusal(
                                  &refusal, (struct ot_text){item->text, strlen(item->text)},
                                  place(visit), room(visit)));
    }
    return rc;
}

static uint32_t session_flags(const struct session *session)
{
    uint32_t flags = session->producer ? OT_SESSION_CONNECTED : 0;

    if (session->features & OT_FEATURE_CONTROL)
        flags |= OT_SESSION_CONTROL;
    if (session->features & OT_FEATURE_SCHEDULE)
        flags |= OT_SESSION_SCHEDULE;
    if (commands_is_obeyed(session))
        flags |= OT_SESSION_OBEYS;
    return flags;
}

static struct ot_text name_of(const char *name)
{
    return name ? (struct ot_text){name, strlen(name)} : (struct ot_text){0};
}

static int add_session(struct visit *visit, const struct session *session)
{
    const struct ot_wire_session frame = {
        .session_id = (uint64_t)session->session_id,
        .started_ns = (uint64_t)session->start_ns,
        .event_count = session->event_count,
        .lost_count = session->lost_count,
        .open_count = session_open_count(session),
        .pid = (uint32_t)session->pid,
        .uid = session->uid,
        .level = session->level,
        .flags = session_flags(session),
        .plan = commands_view(session),
    };
    const struct ot_wire_session_texts texts = {name_of(session->program),
                                                name_of(session->command)};

    return add_frame(visit, ot_wire_encode_session(&frame, &texts, place(visit), room(visit)));
}

static int add_pace(struct visit *visit, const struct session *session)
{
    const struct pace_view view =
        pace_look(&session->pace, ot_clock_ns(CLOCK_MONOTONIC), session->event_count);
    const struct ot_wire_pace frame = {
        .header = ot_wire_header(OT_FRAME_PACE, sizeof(frame)),
        .session_id = (uint64_t)session->session_id,
        .window_ns = view.window_ns,
        .event_count = view.event_count,
        .run_count = view.run_count,
        .run_p50_ns = view.run_p50_ns,
        .run_sample_count = view.run_sample_count,
    };

    return visit->minor < USAGE_MINOR ? 0 : add_copy(visit, &frame, sizeof(frame));
}

static int on_ask(struct visit *visit, const void *frame, size_t length, struct diag *diag)
{
    struct collector *collector = visit->host->collector;
    struct ot_wire_answer answer = {.status = OT_ANSWER_OK};
    const struct session *session;
    struct ot_wire_ask ask;
    int rc = ot_wire_decode_ask(frame, length, &ask, diag);

    if (rc == 0 && ask.first_session == 0)
        rc = add_status(visit);
    if (rc == 0 && ask.first_session == 0)
        rc = add_health(visit);
    if (rc == 0 && ask.first_session == 0)
        rc = add_usage(visit);
    if (rc == 0 && ask.first_session == 0)
        rc = add_refusals(visit);
    if (rc < 0)
        return rc;
    session = collector_next_session(collector, (int64_t)ask.first_session);
    for (int seen = 0; rc == 0 && session && seen < OT_WIRE_PAGE_SESSIONS &&
                       visit->gathered_bytes < OT_WIRE_PAGE_BYTES;) {
        if (privacy_may_see(visit->uid, session->uid)) {
            rc = add_session(visit, session);
            if (rc == 0)
                rc = add_pace(visit, session);
            seen++;
        }
        session = collector_next_session(collector, session->session_id + 1);
    }
    if (rc < 0)
        return rc;
    answer.next_session = session ? (uint64_t)session->session_id : 0;
    return add_frame(visit, ot_wire_encode_answer(&answer, NULL, place(visit), room(visit)));
}

/* --- Commands --- */

static int on_select(struct visit *visit, const void *frame, size_t length, struct diag *diag)
{
    struct command_select select = {0};
    struct ot_wire_select_view view;
    int rc = ot_wire_decode_select(frame, length, &view, diag);

    if (rc < 0)
        return rc;
    if (visit->selects.count >= OT_WIRE_SELECTS_MAX)
        return diag_set(diag, -EPROTO, "SELECT: more than %d before one SCHEDULE",
                        OT_WIRE_SELECTS_MAX);
    select.kind = view.fixed.kind;
    select.number = view.fixed.number;
    select.program = strndup(view.text.bytes ? view.text.bytes : "", view.text.length);
    memory_must(select.program ? array_push(&visit->selects, select) : -ENOMEM);
    return 0;
}

static void log_command(const struct visit *visit, const struct ot_wire_plan *plan,
                        const struct ot_wire_answer *answer)
{
    log_say("pid %lld of user %lld commands %s%s: %u of %u chosen sessions obey",
            (long long)visit->pid, (long long)visit->uid, ot_wire_level_name(plan->level),
            ot_plan_has_schedule(plan) ? " by a schedule" : "", answer->taken_count,
            answer->taken_count + answer->unable_count);
}

static int on_schedule(struct visit *visit, const void *frame, size_t length, struct diag *diag)
{
    struct command_result result;
    struct ot_wire_schedule schedule;
    int rc = ot_wire_decode_schedule(frame, length, &schedule, diag);

    if (rc < 0)
        return rc;
    commands_give(visit->host->commands, visit->uid, &visit->selects, &schedule.plan, &result);
    command_selects_deinit(&visit->selects);
    log_command(visit, &schedule.plan, &result.answer);
    if (result.answer.status == OT_ANSWER_DENIED && visit->minor < 2)
        result.answer.status = OT_ANSWER_NOBODY;
    rc = add_frame(
        visit, ot_wire_encode_answer(&result.answer, result.ids.items, place(visit), room(visit)));
    array_deinit(&result.ids);
    return rc;
}

/* --- Copies --- */

static int refuse_save(struct visit *visit, int error, const struct diag *why)
{
    const struct ot_wire_saved saved = {.state = OT_SAVE_FAILED, .error = error};
    char text[OT_WIRE_REMARK_BYTES_MAX];

    return add_frame(visit, ot_wire_encode_saved(&saved, cut(why->text, text, sizeof(text)),
                                                 place(visit), room(visit)));
}

static int on_save(struct visit *visit, const void *frame, size_t length, struct diag *diag)
{
    const struct save_client client = {.context = visit->context,
                                       .uid = visit->uid,
                                       .scratch = visit->scratch,
                                       .send = visit->send,
                                       .send_fd = visit->send_fd};
    struct diag why = {0};
    struct ot_wire_save save;
    int rc = ot_wire_decode_save(frame, length, &save, diag);

    if (rc < 0)
        return rc;
    rc = saves_begin(visit->host->saves, &client, &visit->selects, save.since_ns, &why);
    command_selects_deinit(&visit->selects);
    log_say("pid %lld of user %lld saves sessions%s%s", (long long)visit->pid,
            (long long)visit->uid, rc < 0 ? ": " : "", why.text);
    return rc < 0 ? refuse_save(visit, rc, &why) : 0;
}

void visit_deinit(struct visit *visit)
{
    command_selects_deinit(&visit->selects);
}

static int take_frame(struct visit *visit, uint16_t type, const void *frame, size_t length,
                      struct diag *diag)
{
    if (type == OT_FRAME_ASK)
        return on_ask(visit, frame, length, diag);
    if (type == OT_FRAME_SELECT)
        return on_select(visit, frame, length, diag);
    if (type == OT_FRAME_SCHEDULE)
        return on_schedule(visit, frame, length, diag);
    if (type == OT_FRAME_SAVE)
        return on_save(visit, frame, length, diag);
    if (!ot_wire_client_sends(type) && !ot_wire_daemon_sends(type))
        return 0; /* of a newer version */
    return diag_set(diag, -EPROTO, "%s, which a controller does not send",
                    ot_wire_frame_name(type));
}

int visit_take_frame(struct visit *visit, uint16_t type, const void *frame, size_t length,
                     struct diag *diag)
{
    int rc = take_frame(visit, type, frame, length, diag);

    if (rc == 0)
        rc = send_gathered(visit);
    visit->gathered_bytes = 0;
    return rc;
}
