/* SPDX-License-Identifier: Apache-2.0 */
/* optrace status: the daemon, its clients, and who was refused. */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

#include "base/exit_status.h"
#include "base/json.h"
#include "base/text.h"
#include "client/cli/commands.h"
#include "client/cli/desk.h"
#include "client/cli/follow.h"
#include "client/cli/hosts.h"
#include "client/cli/show.h"
#include "client/cli/status_view.h"

enum { FORMAT_VERSION = 1 };

struct status_options {
    const char *socket;
    bool json, all;
    struct option_list hosts;
    bool follow;
};

#define TARGET(field) offsetof(struct status_options, field)

static const struct option_spec specs[] = {
    {OPTION_STRING, "socket", 's', "PATH", "$OPTRACE_SOCKET, else the one that programs connect to",
     "Socket of the daemon.", TARGET(socket)},
    {OPTION_FLAG, "long", 'l', NULL, NULL,
     "All that is known of the daemon and of each program: numbers of sessions, users, levels, "
     "schedules, spans that are not finished, command lines.",
     TARGET(all)},
    {OPTION_FLAG, "json", 'j', NULL, NULL, "JSON in place of tables.", TARGET(json)},
    COMMANDS_HOST_OPTIONS(TARGET(hosts), TARGET(follow)),
};

const struct option_command status_command = {
    .name = "optrace status",
    .version = OPTRACE_VERSION,
    .purpose = "show the daemon, whom it records, and whom it refused",
    .options = specs,
    .option_count = sizeof(specs) / sizeof(specs[0]),
    .examples = "optrace status\n"
                "    how the daemon fares, and a row per program: how fast it records, how\n"
                "    long a run takes, how much was lost\n"
                "optrace status --long\n"
                "    numbers of sessions, users, schedules, command lines\n"
                "optrace status --json\n"
                "    the same for scripts\n"
                "optrace status --host a,b,c\n"
                "    of three hosts, by ssh\n",
    .exit_text = "0  done\n"
                 "2  wrong use of the command line\n"
                 "3  no daemon listens\n"
                 "4  the daemon refuses, does not answer, or is too old; the system failed\n",
};

/* --- JSON --- */

static void put_number(struct json_writer *json, const char *name, uint64_t value)
{
    json_key(json, name);
    json_uint(json, value);
}

static void put_text(struct json_writer *json, const char *name, const char *text)
{
    json_key(json, name);
    json_string(json, text);
}

static void put_plan(struct json_writer *json, const struct ot_wire_plan *plan)
{
    char text[SHOW_CELL_BYTES];

    json_key(json, "schedule");
    json_begin_object(json);
    put_text(json, "state", ot_plan_state_name(plan->state));
    put_text(json, "text", show_plan(plan, text));
    put_text(json, "unit", plan->unit == OT_UNIT_NS ? "ns" : "runs");
    put_number(json, "command_id", plan->command_id);
    put_number(json, "start_ns", plan->start_ns);
    put_number(json, "end_ns", plan->end_ns);
    put_number(json, "skip_first", plan->skip_first);
    put_number(json, "wait", plan->wait);
    put_number(json, "warmup", plan->warmup);
    put_number(json, "active", plan->active);
    put_number(json, "repeat", plan->repeat);
    put_number(json, "position", plan->position);
    put_text(json, "level", ot_wire_level_name(plan->level));
    json_end_object(json);
}

static void put_session(struct json_writer *json, const struct desk_session *session)
{
    const struct ot_wire_session *fixed = &session->fixed;

    json_begin_object(json);
    put_number(json, "session", fixed->session_id);
    put_number(json, "pid", fixed->pid);
    put_number(json, "uid", fixed->uid);
    put_text(json, "program", session->program);
    put_text(json, "command", session->command);
    json_key(json, "connected");
    json_bool(json, fixed->flags & OT_SESSION_CONNECTED);
    json_key(json, "obeys_levels");
    json_bool(json, fixed->flags & OT_SESSION_CONTROL);
    json_key(json, "obeys_schedules");
    json_bool(json, fixed->flags & OT_SESSION_SCHEDULE);
    put_text(json, "level", ot_wire_level_name(fixed->level));
    put_plan(json, &fixed->plan);
    put_number(json, "events", fixed->event_count);
    put_number(json, "lost", fixed->lost_count);
    put_number(json, "unfinished", fixed->open_count);
    put_number(json, "since_ns", fixed->started_ns);
    if (session->pace.header.length > 0) {
        put_number(json, "window_ns", session->pace.window_ns);
        put_number(json, "window_events", session->pace.event_count);
        put_number(json, "window_runs", session->pace.run_count);
        put_number(json, "run_p50_ns", session->pace.run_p50_ns);
        put_number(json, "run_p50_of", session->pace.run_sample_count);
    }
    json_end_object(json);
}

static void put_usage(struct json_writer *json, const struct ot_wire_usage *usage)
{
    put_number(json, "store_budget_bytes", usage->budget_bytes);
    if (usage->room_bytes != UINT64_MAX)
        put_number(json, "store_room_bytes", usage->room_bytes);
    put_number(json, "store_growth_bytes", usage->growth_bytes);
    put_number(json, "store_growth_ns", usage->growth_ns);
    put_number(json, "cpu_ns", usage->cpu_ns);
    put_number(json, "cpu_window_ns", usage->cpu_window_ns);
}

static void put_daemon(struct json_writer *json, const struct desk_picture *picture)
{
    const struct ot_wire_status *status = &picture->status;

    json_key(json, "daemon");
    json_begin_object(json);
    put_text(json, "version", picture->version);
    put_text(json, "host", picture->host);
    put_number(json, "pid", status->pid);
    put_number(json, "uid", status->uid);
    put_number(json, "now_ns", status->now_ns);
    put_number(json, "since_ns", status->started_ns);
    put_text(json, "level", ot_wire_level_name(status->level));
    put_text(json, "store", picture->store_path);
    put_number(json, "store_bytes", status->store_bytes);
    put_number(json, "hidden_sessions", status->hidden_count);
    put_number(json, "refusals", status->refusal_count);
    if (picture->health.header.length > 0) {
        put_number(json, "longest_pause_ns", picture->health.longest_pause_ns);
        put_number(json, "longest_pause_at_ns", picture->health.longest_pause_at_ns);
        put_number(json, "writer_ns", picture->health.writer_ns);
        put_number(json, "watchdog_ns", picture->health.watchdog_ns);
    }
    if (picture->usage.header.length > 0)
        put_usage(json, &picture->usage);
    json_end_object(json);
}

static int print_json(const struct desk_picture *picture)
{
    struct json_writer json;

    json_init_file(&json, stdout);
    json_set_indent(&json, 2);
    json_begin_object(&json);
    put_number(&json, "format_version", FORMAT_VERSION);
    put_daemon(&json, picture);
    json_key(&json, "sessions");
    json_begin_array(&json);
    for (size_t i = 0; i < picture->sessions.count; i++)
        put_session(&json, &picture->sessions.items[i]);
    json_end_array(&json);
    json_key(&json, "refusals");
    json_begin_array(&json);
    for (size_t i = 0; i < picture->refusals.count; i++) {
        const struct desk_refusal *refusal = &picture->refusals.items[i];

        json_begin_object(&json);
        put_number(&json, "time_ns", refusal->fixed.time_ns);
        put_number(&json, "pid", refusal->fixed.pid);
        put_number(&json, "uid", refusal->fixed.uid);
        put_text(&json, "reason", refusal->text);
        json_end_object(&json);
    }
    json_end_array(&json);
    json_end_object(&json);
    return json_finish(&json) < 0 ? EXIT_SYSTEM : EXIT_OK;
}

static int run_on_hosts(const struct status_options *options)
{
    struct hosts_job job = {
        .command = &status_command, .hosts = &options->hosts, .is_json = options->json};
    const char *words[4];

    job.words.items = words;
    if (options->json)
        words[job.words.count++] = "--json";
    if (options->all)
        words[job.words.count++] = "--long";
    if (options->socket) {
        words[job.words.count++] = "--socket";
        words[job.words.count++] = options->socket;
    }
    return hosts_run(&job);
}

int status_main(int argc, char **argv)
{
    struct status_options options = {0};
    char unused[80];
    struct desk_picture picture = {0};
    struct diag diag = {0};
    struct desk desk;
    int status, rc;

    if (commands_parse(&status_command, argc, argv, &options, &status) != 0)
        return status;
    if (options.hosts.count > 0)
        return run_on_hosts(&options);
    if (options.follow && follow(unused, sizeof(unused)) < 0)
        return EXIT_SYSTEM;
    rc = desk_open(&desk, options.socket, &diag);
    if (rc < 0)
        return commands_fail(&status_command, rc, &diag);
    rc = desk_ask(&desk, &picture, &diag);
    desk_close(&desk);
    if (rc < 0) {
        status = commands_fail(&status_command, rc, &diag);
    } else if (options.json) {
        status = print_json(&picture);
    } else {
        (options.all ? status_view_print_long : status_view_print)(&picture);
        status = EXIT_OK;
    }
    desk_picture_deinit(&picture);
    return status;
}
