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

enum { FORMAT_VERSION = 1 };

struct status_options {
    const char *socket;
    bool json;
    struct option_list hosts;
    bool follow;
};

#define TARGET(field) offsetof(struct status_options, field)

static const struct option_spec specs[] = {
    {OPTION_STRING, "socket", 's', "PATH", "$OPTRACE_SOCKET, else the one that programs connect to",
     "Socket of the daemon.", TARGET(socket)},
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
                "    a row per program: what it records, how many events, how many lost\n"
                "optrace status --json\n"
                "    the same for scripts\n"
                "optrace status --host a,b,c\n"
                "    of three hosts, by ssh\n",
    .exit_text = "0  done\n"
                 "2  wrong use of the command line\n"
                 "3  no daemon listens\n"
                 "4  the daemon refuses, does not answer, or is too old; the system failed\n",
};

/* --- Tables --- */

static void add_number(struct show_table *table, uint64_t number)
{
    char text[SHOW_CELL_BYTES];

    snprintf(text, sizeof(text), "%" PRIu64, number);
    show_add(table, text);
}

/* Whether the daemon keeps up with itself. */
static void print_health(const struct ot_wire_health *health)
{
    char text[SHOW_CELL_BYTES];

    if (health->longest_pause_at_ns == 0)
        return; /* of an older daemon, or of one that has just started */
    text_print(stdout, "longest pause of its loop: %s",
               show_duration(health->longest_pause_ns, text));
    text_print(stdout, ", until %s", show_time(health->longest_pause_at_ns, text));
    if (health->writer_ns > 0)
        text_print(stdout, "; writing since %s", show_duration(health->writer_ns, text));
    if (health->watchdog_ns > 0)
        text_print(stdout, "; watchdog after %s", show_duration(health->watchdog_ns, text));
    putchar('\n');
}

static void print_daemon(const struct desk_picture *picture)
{
    const struct ot_wire_status *status = &picture->status;
    char text[SHOW_CELL_BYTES];

    text_print(stdout,
               "optraced %s on %s: pid %" PRIu32 " of user %" PRIu32
               ", since %s, default level %s\n",
               picture->version, picture->host, status->pid, status->uid,
               show_time(status->started_ns, text), ot_wire_level_name(status->level));
    text_print(stdout, "store %s: %s\n", picture->store_path,
               show_bytes(status->store_bytes, text));
    print_health(&picture->health);
    putchar('\n');
}

static void print_hidden(const struct desk_picture *picture)
{
    const unsigned hidden = picture->status.hidden_count;

    if (hidden > 0)
        text_print(stdout, "%s%u session%s of other users %s not shown.\n",
                   hidden == UINT16_MAX ? "At least " : "", hidden, hidden == 1 ? "" : "s",
                   hidden == 1 ? "is" : "are");
}

static void print_sessions(const struct desk_picture *picture)
{
    static const char *const heads[] = {"session",    "pid",      "user",   "program",
                                        "level",      "schedule", "events", "lost",
                                        "unfinished", "since",    "command"};
    struct show_table table = {sizeof(heads) / sizeof(heads[0]), heads, "rrrlllrrrll", NULL, 0, 0};
    char text[SHOW_CELL_BYTES];

    if (picture->sessions.count == 0) {
        puts(picture->status.hidden_count ? "No program of yours is connected."
                                          : "No program is connected.");
        return;
    }
    for (size_t i = 0; i < picture->sessions.count; i++) {
        const struct desk_session *session = &picture->sessions.items[i];
        const struct ot_wire_session *fixed = &session->fixed;

        add_number(&table, fixed->session_id);
        add_number(&table, fixed->pid);
        add_number(&table, fixed->uid);
        show_add(&table, session->program);
        show_add(&table,
                 fixed->flags & OT_SESSION_CONNECTED ? ot_wire_level_name(fixed->level) : "away");
        show_add(&table, show_plan(&fixed->plan, text));
        add_number(&table, fixed->event_count);
        add_number(&table, fixed->lost_count);
        add_number(&table, fixed->open_count);
        show_add(&table, show_time(fixed->started_ns, text));
        show_add(&table, session->command);
    }
    show_print(&table, stdout);
    show_deinit(&table);
}

static void print_refusals(const struct desk_picture *picture)
{
    static const char *const heads[] = {"refused", "pid", "user", "why"};
    struct show_table table = {sizeof(heads) / sizeof(heads[0]), heads, "lrrl", NULL, 0, 0};
    char text[SHOW_CELL_BYTES];

    if (picture->refusals.count == 0)
        return;
    putchar('\n');
    for (size_t i = 0; i < picture->refusals.count; i++) {
        const struct desk_refusal *refusal = &picture->refusals.items[i];

        show_add(&table, show_time(refusal->fixed.time_ns, text));
        add_number(&table, refusal->fixed.pid);
        add_number(&table, refusal->fixed.uid);
        show_add(&table, refusal->text);
    }
    show_print(&table, stdout);
    show_deinit(&table);
    if (picture->status.refusal_count > picture->refusals.count)
        printf("and %" PRIu64 " before\n", picture->status.refusal_count - picture->refusals.count);
}

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
    json_end_object(json);
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
    const char *words[3];

    job.words.items = words;
    if (options->json)
        words[job.words.count++] = "--json";
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
        print_daemon(&picture);
        print_sessions(&picture);
        print_hidden(&picture);
        print_refusals(&picture);
        status = EXIT_OK;
    }
    desk_picture_deinit(&picture);
    return status;
}
