/* SPDX-License-Identifier: Apache-2.0 */
/* optrace start and optrace stop: who, at which level, from when on, by which schedule. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/exit_status.h"
#include "base/text.h"
#include "client/cli/commands.h"
#include "client/cli/desk.h"
#include "client/cli/follow.h"
#include "client/cli/hosts.h"
#include "client/cli/show.h"
#include "client/cli/when.h"
#include "client/cli/who.h"
#include "client/schedule.h"

enum {
    OBEY_PAUSE_MS = 20, /* between looks whether the programs have taken it up */
    OBEY_LOOKS = 15,    /* after which those that have not begin with their next run */
    PAST_MAX_S = 60,    /* a time further in the past is a mistake */
};
#define NS_PER_S UINT64_C(1000000000)

struct control_options {
    const char *socket;
    struct option_list pids, sessions, programs;
    int level; /* 0: on */
    const char *duration, *at;
    const char *skip_first, *wait, *warmup, *active, *repeat;
    struct option_list hosts;
    bool follow;
};

#define TARGET(field) offsetof(struct control_options, field)

#define WHO_OPTIONS                                                                                \
    {OPTION_GROUP, "Who", .value_name = "who"},                                                    \
        {OPTION_LIST,                                                                              \
         "pid",                                                                                    \
         'p',                                                                                      \
         "PID",                                                                                    \
         NULL,                                                                                     \
         "The program of this process id. May be repeated, as may the next two; without any of "   \
         "them, all your programs (of all users for root and the daemon's own user), also those "  \
         "that connect later.",                                                                    \
         TARGET(pids)},                                                                            \
        {OPTION_LIST, "session", 0, "N", NULL, "The session of this number.", TARGET(sessions)},   \
        {OPTION_LIST,     "program", 0,                                                            \
         "NAME",          NULL,      "Programs of this name, also those that connect later.",      \
         TARGET(programs)},                                                                        \
        {OPTION_STRING,                                                                            \
         "socket",                                                                                 \
         's',                                                                                      \
         "PATH",                                                                                   \
         "$OPTRACE_SOCKET, else the one that programs connect to",                                 \
         "Socket of the daemon.",                                                                  \
         TARGET(socket)},                                                                          \
        COMMANDS_HOST_OPTIONS(TARGET(hosts), TARGET(follow))

static const struct option_spec start_specs[] = {
    WHO_OPTIONS,
    {OPTION_GROUP, "What and when", .value_name = "when"},
    {OPTION_CHOICE, "level", 'l', "WORD", "on", "Ops, runs and memory, or phases inside ops too.",
     TARGET(level), "on|detail"},
    {OPTION_STRING, "at", 0, "TIME", "at once",
     "Begin then, by the clock of the day: +10s from now, @1700000000.5 (seconds since 1970), or "
     "2026-11-20T19:30:00, with Z or +01:00 behind it unless it is local time. Until then all "
     "stays as it is; another command for the same program takes the place of one that is to come.",
     TARGET(at)},
    {OPTION_STRING, "for", 0, "DURATION", NULL, "Stop after that time, such as 30s or 5min.",
     TARGET(duration)},
    {OPTION_GROUP, "Schedule, in runs (3) or in time (500ms, 2s, 1min, 1h), not mixed",
     .value_name = "schedule"},
    {OPTION_STRING, "active", 0, "LENGTH", NULL, "Record that long in each cycle.", TARGET(active)},
    {OPTION_STRING, "wait", 0, "LENGTH", "0", "First leave out that much of each cycle.",
     TARGET(wait)},
    {OPTION_STRING, "warmup", 0, "LENGTH", "0",
     "Then record that long, with runs marked as warm-up.", TARGET(warmup)},
    {OPTION_STRING, "repeat", 0, "N", "0: for ever", "Cycles.", TARGET(repeat)},
    {OPTION_STRING, "skip-first", 0, "LENGTH", "0", "Leave out that much before the first cycle.",
     TARGET(skip_first)},
};

static const struct option_spec stop_specs[] = {
    WHO_OPTIONS,
    {OPTION_GROUP, "When", .value_name = "when"},
    {OPTION_STRING, "at", 0, "TIME", "at once",
     "Stop then: +10s from now, @1700000000.5, or 2026-11-20T19:30:00.", TARGET(at)},
};

static const char exit_text[] =
    "0  done\n"
    "1  no program matches\n"
    "2  wrong use of the command line\n"
    "3  no daemon listens\n"
    "4  the daemon refuses, does not answer, or is too old; the system failed\n";

static const char start_help[] =
    "optrace start: begin to record programs that run, with a schedule or without\n"
    "\n"
    "Usage: optrace start [OPTION...]\n"
    "\n"
    "  optrace start --for 10s              all your programs, for ten seconds\n"
    "  optrace start --program trainer --wait 5 --warmup 1 --active 3 --repeat 2\n"
    "                                       as PyTorch's schedule: twice three runs\n"
    "  optrace start --host a,b,c --for 30s on three hosts at the same moment\n"
    "\n"
    "Who:\n"
    "  -p, --pid PID, --session N, --program NAME\n"
    "                                       may be repeated; otherwise all of yours,\n"
    "                                       also those that connect later\n"
    "  -H, --host HOST[,HOST...]            on these hosts, by ssh\n"
    "  -s, --socket PATH                    of the daemon\n"
    "\n"
    "What and when:\n"
    "  -l, --level on|detail                ops, runs and memory, or phases too\n"
    "      --at TIME                        +10s, @1700000000.5, 2026-11-20T19:30:00\n"
    "      --for DURATION                   30s, 5min\n"
    "\n"
    "Schedule, in runs (3) or in time (500ms, 2s, 1min, 1h), not mixed:\n"
    "      --skip-first LENGTH              once, then cycles of\n"
    "      --wait, --warmup, --active LENGTH\n"
    "      --repeat N                       cycles; otherwise for ever\n"
    "\n"
    "More:\n"
    "  --help who, when, schedule           the options of that kind\n"
    "  --help options                       all options and exit statuses; --help\n"
    "                                       OPTION: one of them\n"
    "  man optrace                          all of it\n";

const struct option_command start_command = {
    .name = "optrace start",
    .version = OPTRACE_VERSION,
    .purpose = "begin to record programs that run, with a schedule or without",
    .options = start_specs,
    .option_count = sizeof(start_specs) / sizeof(start_specs[0]),
    .examples = "optrace start --for 10s\n"
                "    record all programs for ten seconds\n"
                "optrace start --program trainer --wait 5 --warmup 1 --active 3 --repeat 2\n"
                "    as PyTorch's schedule: twice three runs\n"
                "optrace start --host a,b,c --for 30s\n"
                "    on three hosts at the same moment, two seconds after all are ready\n",
    .exit_text = exit_text,
    .first_help = start_help,
};

const struct option_command stop_command = {
    .name = "optrace stop",
    .version = OPTRACE_VERSION,
    .purpose = "record nothing more of programs that run",
    .options = stop_specs,
    .option_count = sizeof(stop_specs) / sizeof(stop_specs[0]),
    .examples = "optrace stop --pid 4711\n"
                "    record nothing more of that program, until it is started again\n",
    .exit_text = exit_text,
};

/* --- From options to a plan --- */

static int fill_start(const char *at, struct ot_wire_plan *plan, struct diag *diag)
{
    const uint64_t now_ns = ot_clock_ns(CLOCK_REALTIME);
    char late[SHOW_CELL_BYTES];

    plan->start_ns = now_ns;
    if (!at)
        return 0;
    if (when_parse(at, now_ns, &plan->start_ns) < 0)
        return diag_set(diag, -EINVAL,
                        "--at takes +10s, @1700000000.5 or 2026-11-20T19:30:00, not '%s'", at);
    if (plan->start_ns + PAST_MAX_S * NS_PER_S < now_ns)
        return diag_set(diag, -EINVAL, "--at %s lies %s in the past", at,
                        show_duration(now_ns - plan->start_ns, late));
    return 0;
}

/* The schedule in the words of OPTRACE_SCHEDULE. */
static int fill_schedule(const struct control_options *options, struct ot_wire_plan *plan,
                         struct diag *diag)
{
    const struct {
        const char *name, *value;
    } parts[] = {{"wait", options->wait},
                 {"warmup", options->warmup},
                 {"active", options->active},
                 {"repeat", options->repeat},
                 {"skip-first", options->skip_first}};
    struct ot_wire_plan parsed;
    char text[256] = "", error[160];
    size_t length = 0;

    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        if (!parts[i].value)
            continue;
        if (strlen(parts[i].value) > 24 || strchr(parts[i].value, ','))
            return diag_set(diag, -EINVAL, "--%s takes runs or a time, not '%.40s'", parts[i].name,
                            parts[i].value);
        length += (size_t)snprintf(text + length, sizeof(text) - length, "%s%s=%s",
                                   length ? "," : "", parts[i].name, parts[i].value);
    }
    if (ot_schedule_parse(text, &parsed, error, sizeof(error)) < 0)
        return diag_set(diag, -EINVAL, "%s", error);
    parsed.start_ns = plan->start_ns;
    parsed.end_ns = plan->end_ns;
    parsed.level = plan->level;
    *plan = parsed;
    return 0;
}

static int fill_plan(const struct control_options *options, uint32_t level,
                     struct ot_wire_plan *out_plan, struct diag *diag)
{
    uint64_t length;
    uint32_t unit;
    int rc;

    *out_plan = (struct ot_wire_plan){.level = level};
    rc = fill_start(options->at, out_plan, diag);
    if (rc == 0 && options->duration) {
        if (ot_schedule_parse_length(options->duration, &length, &unit) < 0 || unit != OT_UNIT_NS)
            return diag_set(diag, -EINVAL, "--for takes a time such as 30s, not '%s'",
                            options->duration);
        out_plan->end_ns = out_plan->start_ns + length;
    }
    return rc < 0 ? rc : fill_schedule(options, out_plan, diag);
}

/* --- What came of it --- */

static void print_program(FILE *out, const struct desk_session *session, uint64_t session_id)
{
    if (session) {
        text_put(session->program, out);
        fprintf(out, " (pid %" PRIu32 ", session %" PRIu64 ")", session->fixed.pid, session_id);
    } else {
        fprintf(out, "session %" PRIu64 " (it has ended)", session_id);
    }
}

/* Ask until all have taken it up, or are not going to soon. */
static int ask_until_obeyed(struct desk *desk, const struct desk_answer *answer,
                            struct desk_picture *picture, struct diag *diag)
{
    for (int look = 0;; look++) {
        bool is_obeyed = true;
        int rc;

        desk_picture_deinit(picture);
        rc = desk_ask(desk, picture, diag);
        if (rc < 0)
            return rc;
        for (size_t i = 0; i < answer->taken.count; i++) {
            const struct desk_session *session = desk_find(picture, answer->taken.items[i]);

            if (session && !(session->fixed.flags & OT_SESSION_OBEYS))
                is_obeyed = false;
        }
        if (is_obeyed || look == OBEY_LOOKS)
            return 0;
        poll(NULL, 0, OBEY_PAUSE_MS);
    }
}

static void print_taken(const struct desk_session *session, uint64_t session_id)
{
    char text[SHOW_CELL_BYTES];

    print_program(stdout, session, session_id);
    if (!session)
        puts("");
    else if (!(session->fixed.flags & OT_SESSION_CONNECTED))
        puts(": away; told when it comes back");
    else if (!(session->fixed.flags & OT_SESSION_OBEYS))
        puts(": told; it notices where it begins a run");
    else if (session->fixed.plan.state == OT_PLAN_FREE && session->fixed.plan.end_ns == 0)
        text_print(stdout, ": %s\n", ot_wire_level_name(session->fixed.level));
    else
        text_print(stdout, ": %s, %s\n", ot_wire_level_name(session->fixed.level),
                   show_plan(&session->fixed.plan, text));
}

static void print_unable(FILE *out, const struct desk_picture *picture,
                         const struct desk_answer *answer, const struct ot_wire_plan *plan)
{
    for (size_t i = 0; i < answer->unable.count; i++) {
        const struct desk_session *session = desk_find(picture, answer->unable.items[i]);

        print_program(out, session, answer->unable.items[i]);
        text_print(out, ": cannot obey: %s\n",
                   session && session->fixed.flags & OT_SESSION_CONTROL &&
                           plan->unit == OT_UNIT_RUNS && ot_plan_has_schedule(plan)
                       ? "its library is older and knows no schedules in runs, only in time"
                       : "it takes no commands");
    }
}

static int print_nobody(const struct option_command *command, const struct desk_picture *picture,
                        const struct desk_answer *answer, const struct ot_wire_plan *plan)
{
    text_print(stderr, "%s: no program matches", command->name);
    if (picture->sessions.count == 0)
        fputs(picture->status.hidden_count ? ": none of yours is connected" : ": none is connected",
              stderr);
    else if (answer->unable.count == 0)
        fputs("; connected are:", stderr);
    else
        fputs(" that could obey", stderr);
    fputc('\n', stderr);
    print_unable(stderr, picture, answer, plan);
    for (size_t i = 0; answer->unable.count == 0 && i < picture->sessions.count; i++) {
        fputs("  ", stderr);
        print_program(stderr, &picture->sessions.items[i],
                      picture->sessions.items[i].fixed.session_id);
        fputc('\n', stderr);
    }
    return EXIT_NO;
}

/* A time that was over when the daemon heard of it. */
static void print_late(const struct control_options *options, const struct ot_wire_plan *plan)
{
    const uint64_t now_ns = ot_clock_ns(CLOCK_REALTIME);
    char text[SHOW_CELL_BYTES];

    if (options->at && plan->start_ns < now_ns)
        text_print(stdout, "late: that time was over %s ago\n",
                   show_duration(now_ns - plan->start_ns, text));
}

static void print_later(const struct control_options *options, size_t select_count,
                        const struct desk_picture *picture, const struct desk_answer *answer)
{
    const bool is_trusted = geteuid() == 0 || geteuid() == picture->status.uid;
    const char *whose = is_trusted ? "" : " of yours";

    if (select_count == 0 && answer->taken.count)
        text_print(stdout, "and all programs%s that connect later\n", whose);
    else if (select_count == 0)
        text_print(stdout, "no program%s is connected; it holds for those that connect later\n",
                   whose);
    for (size_t i = 0; i < options->programs.count; i++)
        text_print(stdout, "and programs%s named %s that connect later\n", whose,
                   options->programs.items[i]);
}

/* --- Other hosts --- */

static void add_list(struct hosts_words *words, const char *option, const struct option_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        words->items[words->count++] = option;
        words->items[words->count++] = list->items[i];
    }
}

static void add_value(struct hosts_words *words, const char *option, const char *value)
{
    if (!value)
        return;
    words->items[words->count++] = option;
    words->items[words->count++] = value;
}

/* All but --host and --at. */
static int run_on_hosts(const struct option_command *command, const struct control_options *options)
{
    struct hosts_job job = {
        .command = command, .hosts = &options->hosts, .has_time = true, .at = options->at};
    const char *words[2 * (3 * OPTION_LIST_MAX + 8)];

    job.words.items = words;
    add_list(&job.words, "--pid", &options->pids);
    add_list(&job.words, "--session", &options->sessions);
    add_list(&job.words, "--program", &options->programs);
    add_value(&job.words, "--level", options->level ? "detail" : NULL);
    add_value(&job.words, "--for", options->duration);
    add_value(&job.words, "--active", options->active);
    add_value(&job.words, "--wait", options->wait);
    add_value(&job.words, "--warmup", options->warmup);
    add_value(&job.words, "--repeat", options->repeat);
    add_value(&job.words, "--skip-first", options->skip_first);
    add_value(&job.words, "--socket", options->socket);
    return hosts_run(&job);
}

/* --- Both commands --- */

static int carry_out(const struct option_command *command, const struct control_options *options,
                     const struct desk_select *selects, size_t select_count,
                     const struct ot_wire_plan *plan)
{
    struct desk_picture picture = {0};
    struct desk_answer answer = {0};
    struct diag diag = {0};
    int status = EXIT_OK, rc;
    struct desk desk;

    rc = desk_open(&desk, options->socket, &diag);
    if (rc < 0)
        return commands_fail(command, rc, &diag);
    rc = desk_command(&desk, selects, select_count, plan, &answer, &diag);
    if (rc == 0 && answer.status == OT_ANSWER_FULL)
        rc = diag_set(&diag, -ENOSPC,
                      "there are %d commands for programs by name already; one for all programs "
                      "takes their place",
                      OT_WIRE_COMMANDS_MAX);
    if (rc == 0 && answer.status == OT_ANSWER_DENIED)
        rc = diag_set(&diag, -EACCES,
                      "that is a program of another user, whom only that user and root command; "
                      "nothing has changed");
    if (rc == 0)
        rc = ask_until_obeyed(&desk, &answer, &picture, &diag);
    desk_close(&desk);
    if (rc < 0) {
        status = commands_fail(command, rc, &diag);
    } else if (answer.status == OT_ANSWER_NOBODY) {
        status = print_nobody(command, &picture, &answer, plan);
    } else {
        print_late(options, plan);
        for (size_t i = 0; i < answer.taken.count; i++)
            print_taken(desk_find(&picture, answer.taken.items[i]), answer.taken.items[i]);
        print_unable(stdout, &picture, &answer, plan);
        print_later(options, select_count, &picture, &answer);
    }
    desk_picture_deinit(&picture);
    desk_answer_deinit(&answer);
    return status;
}

static int control_main(const struct option_command *command, bool is_start, int argc, char **argv)
{
    struct desk_select selects[OT_WIRE_SELECTS_MAX];
    struct control_options options = {0};
    struct ot_wire_plan plan;
    struct diag diag = {0};
    size_t select_count = 0;
    char at[80];
    int status;

    if (commands_parse(command, argc, argv, &options, &status) != 0)
        return status;
    if (options.follow) {
        if (follow(at, sizeof(at)) < 0)
            return EXIT_SYSTEM;
        options.at = at[0] ? at : NULL;
    }
    if (who_fill(&options.pids, &options.sessions, &options.programs, selects, &select_count,
                 &diag) < 0 ||
        fill_plan(&options, is_start ? OT_LEVEL_ON + (uint32_t)options.level : OT_LEVEL_OFF, &plan,
                  &diag) < 0)
        return options_complain(command, &diag);
    if (options.hosts.count > 0)
        return run_on_hosts(command, &options);
    return carry_out(command, &options, selects, select_count, &plan);
}

int start_main(int argc, char **argv)
{
    return control_main(&start_command, true, argc, argv);
}

int stop_main(int argc, char **argv)
{
    return control_main(&stop_command, false, argc, argv);
}
