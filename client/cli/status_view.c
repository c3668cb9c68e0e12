/* SPDX-License-Identifier: Apache-2.0 */
/* The picture of the daemon as lines: the answer first, what is ordinary in few words. */
#include "client/cli/status_view.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/amount.h"
#include "base/text.h"
#include "client/cli/show.h"

#define NS_PER_S UINT64_C(1000000000)

enum { NAME_COLUMNS = 20 }; /* of the store's file in the first line */

/* A pause that is worth a line. */
static const uint64_t LONG_PAUSE_NS = NS_PER_S;

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

static void print_hidden(const struct desk_picture *picture)
{
    const unsigned hidden = picture->status.hidden_count;

    if (hidden > 0)
        text_print(stdout, "%s%u session%s of other users %s not shown.\n",
                   hidden == UINT16_MAX ? "At least " : "", hidden, hidden == 1 ? "" : "s",
                   hidden == 1 ? "is" : "are");
}

static void print_sessions_long(const struct desk_picture *picture)
{
    static const char *const heads[] = {"session",    "pid",      "user",   "program",
                                        "level",      "schedule", "events", "lost",
                                        "unfinished", "since",    "command"};
    struct show_table table = {
        sizeof(heads) / sizeof(heads[0]), heads, "rrrlllrrrll", NULL, 0, 0, false};
    char text[SHOW_CELL_BYTES];

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
    struct show_table table = {sizeof(heads) / sizeof(heads[0]), heads, "lrrl", NULL, 0, 0, false};
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

static void print_daemon_long(const struct desk_picture *picture)
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

/* --- The short form --- */

/* "1.21 of 5 GiB", "300 KiB of 5 GiB" */
static void show_store(const struct desk_picture *picture, char *out, size_t bytes)
{
    const uint64_t used = picture->status.store_bytes, budget = picture->usage.budget_bytes;
    char first[SHOW_CELL_BYTES], second[SHOW_CELL_BYTES];
    double number;

    show_bytes(used, first);
    if (budget == 0) {
        snprintf(out, bytes, "%s", first);
        return;
    }
    if (amount_scale_bytes((double)used, &number) == amount_scale_bytes((double)budget, &number))
        *strchr(first, ' ') = 0;
    snprintf(out, bytes, "%s of %s", first, show_bytes(budget, second));
}

/* " (11 days of room)", of a store that grows; "" otherwise. */
static void show_room(const struct ot_wire_usage *usage, char *out, size_t bytes)
{
    double seconds;

    out[0] = 0;
    if (usage->header.length == 0 || usage->room_bytes == UINT64_MAX)
        return;
    if (usage->room_bytes == 0) {
        snprintf(out, bytes, " (full)");
        return;
    }
    if (usage->growth_ns < 60 * NS_PER_S || usage->growth_bytes == 0)
        return;
    seconds =
        (double)usage->room_bytes / (double)usage->growth_bytes * (double)usage->growth_ns / 1e9;
    if (seconds > 2 * 365 * 86400.0)
        snprintf(out, bytes, " (years of room)");
    else if (seconds >= 2 * 86400.0)
        snprintf(out, bytes, " (%.0f days of room)", seconds / 86400);
    else if (seconds >= 3600)
        snprintf(out, bytes, " (%.0f h of room)", seconds / 3600);
    else
        snprintf(out, bytes, " (%.0f min of room)", seconds / 60);
}

static void print_daemon(const struct desk_picture *picture)
{
    const struct ot_wire_status *status = &picture->status;
    const struct ot_wire_usage *usage = &picture->usage;
    const uint64_t age_ns =
        status->now_ns > status->started_ns ? status->now_ns - status->started_ns : 0;
    const char *slash = strrchr(picture->store_path, '/');
    const char *path = slash && slash[1] ? slash + 1 : picture->store_path;
    char age[SHOW_CELL_BYTES], store[2 * SHOW_CELL_BYTES], room[SHOW_CELL_BYTES],
        cpu[48] = "", name[4 * OT_WIRE_SUMMARY_BYTES_MAX];

    text_show(path, strlen(path), name, sizeof(name));
    show_cut(name, NAME_COLUMNS);
    show_store(picture, store, sizeof(store));
    show_room(usage, room, sizeof(room));
    if (usage->cpu_window_ns > 0)
        snprintf(cpu, sizeof(cpu), " · %.1f %% CPU",
                 100.0 * (double)usage->cpu_ns / (double)usage->cpu_window_ns);
    show_age(age_ns, age);
    if (strlen("collector  ·  ") + strlen(age) + text_columns(name, strlen(name)) + strlen(store) +
            strlen(room) + strlen(cpu) >
        80)
        room[0] = 0; /* what can be told from the two sizes */
    text_print(stdout, "collector %s · %s %s%s%s\n", age, name, store, room, cpu);
    if (picture->health.longest_pause_ns >= LONG_PAUSE_NS)
        print_health(&picture->health);
    if (status->level == OT_LEVEL_OFF)
        puts("default level off: programs are recorded from `optrace start` on");
    putchar('\n');
}

/* What of a program is recorded: "all", "1 run in 20", "nothing". */
static const char *show_records(const struct ot_wire_session *session, char out[SHOW_CELL_BYTES])
{
    const struct ot_wire_plan *plan = &session->plan;
    const uint64_t cycle = plan->wait + plan->warmup + plan->active;
    char active[SHOW_CELL_BYTES], whole[SHOW_CELL_BYTES];

    if (!(session->flags & OT_SESSION_CONNECTED))
        snprintf(out, SHOW_CELL_BYTES, "away");
    else if (plan->state == OT_PLAN_FREE && session->level == OT_LEVEL_OFF)
        snprintf(out, SHOW_CELL_BYTES, "nothing");
    else if (plan->state == OT_PLAN_FREE && !plan->end_ns)
        snprintf(out, SHOW_CELL_BYTES, session->level == OT_LEVEL_DETAIL ? "all, phases" : "all");
    else if (plan->repeat > 0 || cycle == plan->active || plan->state == OT_PLAN_FREE ||
             plan->state == OT_PLAN_EARLY || plan->state == OT_PLAN_DONE)
        return show_plan(plan, out);
    else if (plan->unit == OT_UNIT_NS)
        snprintf(out, SHOW_CELL_BYTES, "%s in %s", show_duration(plan->active, active),
                 show_duration(cycle, whole));
    else
        snprintf(out, SHOW_CELL_BYTES, "%" PRIu64 " run%s in %" PRIu64, plan->active,
                 plan->active == 1 ? "" : "s", cycle);
    return out;
}

static void add_rate(struct show_table *table, uint64_t count, uint64_t window_ns)
{
    char text[SHOW_CELL_BYTES];

    show_add(table,
             window_ns > 0 ? show_figures((double)count * 1e9 / (double)window_ns, text) : "-");
}

static void add_session(struct show_table *table, const struct desk_session *session,
                        uint64_t now_ns)
{
    const struct ot_wire_session *fixed = &session->fixed;
    const struct ot_wire_pace *pace = &session->pace;
    char text[SHOW_CELL_BYTES];

    show_add(table, session->program);
    add_number(table, fixed->pid);
    show_add(table, show_since(fixed->started_ns, now_ns, text));
    add_rate(table, pace->event_count, pace->window_ns);
    add_rate(table, pace->run_count, pace->window_ns);
    show_add(table,
             pace->run_sample_count > 0 ? show_figures((double)pace->run_p50_ns / 1e6, text) : "-");
    show_add(table, show_count(fixed->lost_count, text));
    show_add(table, show_records(fixed, text));
}

static void print_nobody(const struct desk_picture *picture)
{
    puts(picture->status.hidden_count ? "No program of yours is connected."
                                      : "No program is connected.");
}

static void print_sessions(const struct desk_picture *picture)
{
    static const char *const heads[] = {"program", "pid",    "since", "events/s",
                                        "runs/s",  "P50 ms", "lost",  "records"};
    struct show_table table = {.column_count = sizeof(heads) / sizeof(heads[0]),
                               .heads = heads,
                               .right = "lrlrrrrl",
                               .first_gives = true};

    for (size_t i = 0; i < picture->sessions.count; i++)
        add_session(&table, &picture->sessions.items[i], picture->status.now_ns);
    show_print(&table, stdout);
    show_deinit(&table);
}

void status_view_print(const struct desk_picture *picture)
{
    print_daemon(picture);
    if (picture->sessions.count == 0)
        print_nobody(picture);
    else
        print_sessions(picture);
    print_hidden(picture);
    print_refusals(picture);
}

void status_view_print_long(const struct desk_picture *picture)
{
    print_daemon_long(picture);
    if (picture->sessions.count == 0)
        print_nobody(picture);
    else
        print_sessions_long(picture);
    print_hidden(picture);
    print_refusals(picture);
}
