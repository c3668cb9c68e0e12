/* SPDX-License-Identifier: Apache-2.0 */
/* Start, stop, fork, exit: the life of the session. */
#include "client/session.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "client/connect.h"
#include "client/counted.h"
#include "client/ended_losses.h"
#include "client/float_state.h"
#include "client/greet.h"
#include "client/lane_pool.h"
#include "client/loss_ring.h"
#include "client/optrace.h"
#include "client/orphan.h"
#include "client/polling.h"
#include "client/schedule.h"
#include "client/stack.h"
#include "client/thread_end.h"
#include "client/thread_life.h"

enum {
    RING_RECORDS_DEFAULT = 65536,
    CONNECT_TIMEOUT_MS = 1000,
    EXIT_TIMEOUT_MS = 1000,
};
#define NS_PER_MS UINT64_C(1000000)

/* The number in an environment variable; 0 when it is not set. -EINVAL when it is no number. */
static int read_environment(const char *name, uint32_t *out_value)
{
    const char *text = secure_getenv(name);
    char *end;
    unsigned long long value;

    *out_value = 0;
    if (!text || !text[0])
        return 0;
    errno = 0;
    value = strtoull(text, &end, 10);
    if (errno || *end || text[0] < '0' || text[0] > '9' || value > UINT32_MAX)
        return -EINVAL;
    *out_value = (uint32_t)value;
    return 0;
}

static int complain(int error, const char *why)
{
    ot_session.error = error;
    snprintf(ot_session.problem, sizeof(ot_session.problem), "%s", why);
    return error;
}

static int choose_ring_records(uint32_t wanted, uint32_t *out_records)
{
    uint32_t records = OT_WIRE_RING_RECORDS_MIN;

    if (wanted == 0 && read_environment("OPTRACE_RING_RECORDS", &wanted) < 0)
        return complain(-EINVAL, "OPTRACE_RING_RECORDS is not a number");
    if (wanted == 0)
        wanted = RING_RECORDS_DEFAULT;
    if (wanted > OT_WIRE_RING_RECORDS_MAX)
        return complain(-EINVAL, "a ring holds 4194304 records at most");
    while (records < wanted)
        records *= 2;
    *out_records = records;
    return 0;
}

static int read_counters(const struct optrace_config *config, uint32_t *out_mask)
{
    const char *list = config->counters ? config->counters : secure_getenv("OPTRACE_COUNTERS");
    char why[sizeof(ot_session.problem) - sizeof("OPTRACE_COUNTERS: ")], text[256];

    if (ot_counters_parse(list, out_mask, why, sizeof(why)) == 0)
        return 0;
    snprintf(text, sizeof(text), "%s%s", config->counters ? "" : "OPTRACE_COUNTERS: ", why);
    return complain(-EINVAL, text);
}

/* Read again where ops are defined, which may be before. */
static int check_stacks(void)
{
    const char *text = secure_getenv("OPTRACE_STACKS");
    uint32_t frames;

    if (!text || !text[0] || ot_stack_parse(text, &frames) == 0)
        return 0;
    return complain(-EINVAL, "OPTRACE_STACKS is not a number of frames from 0 to 64");
}

static int choose_schedule(const char *wanted, struct ot_wire_plan *out_plan)
{
    const char *text = wanted ? wanted : secure_getenv("OPTRACE_SCHEDULE");
    char error[160], sentence[224];

    if (ot_schedule_parse(text ? text : "", out_plan, error, sizeof(error)) == 0)
        return 0;
    snprintf(sentence, sizeof(sentence), "%s: %s", wanted ? "the schedule" : "OPTRACE_SCHEDULE",
             error);
    return complain(-EINVAL, sentence);
}

static int choose_command(bool *out_hides)
{
    const char *text = secure_getenv("OPTRACE_COMMAND_LINE");

    *out_hides = text && strcmp(text, "0") == 0;
    if (!text || !text[0] || strcmp(text, "0") == 0 || strcmp(text, "1") == 0)
        return 0;
    return complain(-EINVAL, "OPTRACE_COMMAND_LINE is neither 0 nor 1");
}

static int read_settings(const struct optrace_config *config, struct ot_settings *out_settings)
{
    const char *path = config->socket_path ? config->socket_path : secure_getenv("OPTRACE_SOCKET");
    const char *label = secure_getenv("OPTRACE_LABEL");
    struct ot_settings settings = {
        .connect_timeout_ms = config->connect_timeout_ms,
        .exit_timeout_ms = config->exit_timeout_ms,
    };
    int rc = choose_ring_records(config->ring_records, &settings.ring_records);

    if (rc == 0)
        rc = read_counters(config, &settings.counters);
    if (rc == 0)
        rc = choose_schedule(config->schedule, &settings.plan);
    if (rc == 0)
        rc = check_stacks();
    if (rc == 0)
        rc = choose_command(&settings.hides_command);
    if (rc < 0)
        return rc;
    if (path && strlen(path) >= sizeof(settings.socket_path))
        return complain(-ENAMETOOLONG, "the path of the socket is too long");
    snprintf(settings.socket_path, sizeof(settings.socket_path), "%s", path ? path : "");
    if (label && label[0])
        snprintf(settings.program, sizeof(settings.program), "%s", label);
    else if (config->program)
        snprintf(settings.program, sizeof(settings.program), "%s", config->program);
    else
        ot_greet_program(settings.program, sizeof(settings.program));
    if (settings.connect_timeout_ms == 0)
        settings.connect_timeout_ms = CONNECT_TIMEOUT_MS;
    if (settings.exit_timeout_ms == 0)
        settings.exit_timeout_ms = EXIT_TIMEOUT_MS;
    *out_settings = settings;
    return 0;
}

bool ot_session_is_disabled(void)
{
    const char *text = secure_getenv("OPTRACE_DISABLE");

    return text && text[0] && strcmp(text, "0") != 0;
}

/* Errors that another try would not mend, or that the caller does not want to live with. */
static bool is_fatal(int rc, bool required)
{
    return rc < 0 && (required || rc == -EPROTO || rc == -EACCES || rc == -ENAMETOOLONG);
}

static int start(const struct optrace_config *config)
{
    struct ot_session *session = &ot_session;
    int rc = read_settings(config, &session->settings);

    if (rc < 0)
        return rc;
    ot_ticks_choose_clock();
    ot_ticks_measure(session);
    rc = ot_session_renew();
    if (rc < 0)
        return complain(rc, "no random numbers");
    session->settings.counters = ot_counted_choose(session->settings.counters);
    session->refused = false;
    session->retry_ns = 0;
    session->backoff_ms = 0;
    session->starts = 1;
    ot_schedule_begin(&session->settings.plan);
    rc = ot_connect_wait(session->settings.connect_timeout_ms, false);
    if (is_fatal(rc, config->required)) {
        ot_link_close(&session->link);
        session->phase = OT_PHASE_CLOSED;
        session->starts = 0;
        ot_session_set_level(OT_LEVEL_OFF);
        return rc;
    }
    ot_connect_push();
    ot_poll_again();
    return 0;
}

int optrace_start(const struct optrace_config *config)
{
    static const struct optrace_config defaults;
    int rc = 0;

    if (ot_session_is_disabled())
        return 0;
    if (!ot_enter())
        return -EDEADLK;
    if (ot_session.starts > 0)
        ot_session.starts++;
    else
        rc = start(config ? config : &defaults);
    ot_leave();
    return rc;
}

/* Hear of the records whose rings cannot be handed over, or count them as lost. Returns 0 when that
 * is done, or -EAGAIN. */
static int settle_orphans(uint32_t left_ms)
{
    ot_thread_leave_cut_off();
    ot_thread_give_up_past();
    if (ot_orphan_push() == 0 && ot_orphan_is_left() && left_ms > 0) {
        ot_link_wait(&ot_session.link, POLLIN, left_ms);
        return -EAGAIN;
    }
    ot_orphan_give_up();
    return 0;
}

static void send_bye(void)
{
    char frame[64];
    int length = ot_wire_encode_bye(OT_BYE_DONE, (struct ot_text){0}, frame, sizeof(frame));

    if (ot_connect_send(frame, (size_t)length) == 0)
        ot_session_set_saved();
}

/* There is something to say: goodbye, also over a new connection where the program has closed the
 * old one. */
static bool has_to_say(void)
{
    return ot_session.phase == OT_PHASE_OPEN || ot_session.error == -EBADF ||
           ot_thread_has_records();
}

/* Put everything into the daemon's hands, with patience only when there is something to lose. */
static void say_goodbye(void)
{
    struct ot_session *session = &ot_session;
    const uint64_t deadline_ns =
        ot_clock_ns(CLOCK_MONOTONIC) + session->settings.exit_timeout_ms * NS_PER_MS;

    while (has_to_say()) {
        uint64_t now_ns = ot_clock_ns(CLOCK_MONOTONIC);
        uint32_t left_ms =
            now_ns < deadline_ns ? (uint32_t)((deadline_ns - now_ns) / NS_PER_MS) + 1 : 0;

        if (ot_connect_wait(left_ms, true) == 0 && ot_connect_push() == 0) {
            if (settle_orphans(left_ms) < 0)
                continue;
            send_bye();
        }
        if (session->saved_epoch == session->epoch || left_ms == 0 || session->refused)
            break;
        if (session->phase == OT_PHASE_OPEN && ot_link_wait(&session->link, POLLOUT, left_ms) < 0 &&
            session->error != -EBADF)
            break;
    }
}

static void stop(void)
{
    struct ot_session *session = &ot_session;

    session->is_stopping = true; /* whatever the daemon may still say */
    ot_schedule_refuse();
    ot_thread_call_all(); /* who has seen the old level looks again */
    say_goodbye();
    ot_link_close(&session->link);
    session->phase = OT_PHASE_CLOSED;
    session->starts = 0;
    session->is_stopping = false;
    ot_session_set_level(OT_LEVEL_OFF);
    ot_poll_again();
    complain(0, session->saved_epoch == session->epoch || !ot_thread_has_records()
                    ? "stopped"
                    : "stopped without the daemon");
    ot_orphan_forget();
    ot_thread_call_all();
    ot_thread_reap(true);
    ot_ended_losses_forget();
}

void optrace_stop(void)
{
    if (!ot_enter())
        return;
    if (ot_session.starts > 1)
        ot_session.starts--;
    else if (ot_session.starts == 1)
        stop();
    ot_leave();
}

/* The forking thread holds the lock, and has no ring until the fork is over: what other handlers
 * record meanwhile must not go into the parent's ring from the child. */
static void before_fork(void)
{
    ot_session.fork_is_nested = !ot_enter();
    if (ot_session.fork_is_nested)
        return;
    ot_session.fork_state = ot_hot.state;
    ot_hot.state = OT_STATE_NONE;
}

static void after_fork_parent(void)
{
    if (ot_session.fork_is_nested) {
        ot_session.fork_is_nested = false;
        return;
    }
    ot_hot.state = ot_session.fork_state;
    ot_leave();
}

static void after_fork_child(void)
{
    struct ot_session *session = &ot_session;

    pthread_mutex_init(&session->lock, NULL);
    ot_link_close(&session->link);
    session->fork_is_nested = false;
    session->flushes = NULL; /* of threads that are not here */
    session->phase = OT_PHASE_CLOSED;
    session->retry_ns = 0;
    session->backoff_ms = 0;
    session->forked = optrace_level() != OPTRACE_OFF;
    memset(session->lost, 0, sizeof(session->lost));
    ot_orphan_forget();
    ot_ended_losses_forget();
    ot_thread_fork_child();
    ot_lane_pool_forget();
    ot_loss_ring_forget();
    if (session->starts > 0 && ot_session_renew() < 0)
        session->refused = true;
    if (session->starts > 0)
        ot_schedule_fork(&session->settings.plan);
    ot_float_restore(ot_hot.float_state);
    ot_hot.busy = false;
    pthread_setcancelstate(ot_hot.cancel_state, NULL);
}

__attribute__((constructor)) static void loaded(void)
{
    ot_session.origin = ot_clock_read_triple();
    pthread_atfork(before_fork, after_fork_parent, after_fork_child);
}

/* At exit other threads may still run, and one may hold the lock for good. */
__attribute__((destructor)) static void unloaded(void)
{
    struct timespec deadline;

    if (ot_hot.busy)
        return;
    clock_gettime(CLOCK_REALTIME, &deadline);
    deadline.tv_sec += 1 + ot_session.settings.exit_timeout_ms / 1000;
    if (pthread_mutex_timedlock(&ot_session.lock, &deadline) != 0)
        return;
    ot_entered();
    if (ot_session.starts > 0)
        stop();
    ot_leave();
}
