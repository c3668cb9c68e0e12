/* SPDX-License-Identifier: Apache-2.0 */
/* optrace top: how fast programs record now, again and again. */
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/amount.h"
#include "base/exit_status.h"
#include "base/text.h"
#include "client/cli/commands.h"
#include "client/cli/desk.h"
#include "client/cli/show.h"

struct top_options {
    const char *socket, *interval;
    int64_t count;
};

#define TARGET(field) offsetof(struct top_options, field)

static const struct option_spec specs[] = {
    {OPTION_STRING, "socket", 's', "PATH", "$OPTRACE_SOCKET, else the one that programs connect to",
     "Socket of the daemon.", TARGET(socket)},
    {OPTION_STRING, "interval", 'i', "DURATION", "1s", "How long a picture stands.",
     TARGET(interval)},
    {OPTION_INT, "count", 'n', "N", "no end on a terminal, else 1", "Pictures to show.",
     TARGET(count), .min = 1, .max = 1e9},
};

const struct option_command top_command = {
    .name = "optrace top",
    .version = OPTRACE_VERSION,
    .purpose = "show again and again who records how fast",
    .options = specs,
    .option_count = sizeof(specs) / sizeof(specs[0]),
    .examples = "optrace top\n"
                "    a picture each second, until Ctrl-C\n"
                "optrace top --interval 10s --count 1\n"
                "    the rates of ten seconds\n",
    .exit_text = "0  done\n"
                 "2  wrong use of the command line\n"
                 "3  no daemon listens\n"
                 "4  the daemon refuses, does not answer, or is too old; the system failed\n",
};

static void print_session(struct show_table *table, const struct desk_session *session,
                          const struct desk_session *before, double seconds)
{
    const struct ot_wire_session *now = &session->fixed;
    uint64_t events =
        before && now->event_count > before->fixed.event_count && seconds > 0
            ? (uint64_t)((double)(now->event_count - before->fixed.event_count) / seconds + 0.5)
            : 0;
    char text[SHOW_CELL_BYTES];

    show_add(table, session->program);
    snprintf(text, sizeof(text), "%" PRIu32, now->pid);
    show_add(table, text);
    show_add(table, show_time(now->started_ns, text));
    snprintf(text, sizeof(text), "%" PRIu64, events);
    show_add(table, text);
    snprintf(text, sizeof(text), "%" PRIu64, now->event_count);
    show_add(table, text);
    snprintf(text, sizeof(text), "%" PRIu64, now->lost_count);
    show_add(table, text);
    show_add(table, now->flags & OT_SESSION_CONNECTED ? ot_wire_level_name(now->level) : "away");
    show_add(table, show_plan(&now->plan, text));
}

static void print_picture(const struct desk_picture *now, const struct desk_picture *before)
{
    static const char *const heads[] = {"program", "pid",  "since",   "events/s",
                                        "events",  "lost", "records", "schedule"};
    struct show_table table = {
        sizeof(heads) / sizeof(heads[0]), heads, "lrlrrrll", NULL, 0, 0, false};
    double seconds = (double)(now->status.now_ns - before->status.now_ns) / 1e9;
    char text[SHOW_CELL_BYTES];

    text_print(stdout, "optraced on %s since %s, ", now->host,
               show_time(now->status.started_ns, text));
    text_print(stdout, "store %s: %s\n\n", now->store_path,
               show_bytes(now->status.store_bytes, text));
    if (!now->sessions.count)
        puts("No program is connected.");
    for (size_t i = 0; i < now->sessions.count; i++)
        print_session(&table, &now->sessions.items[i],
                      desk_find(before, now->sessions.items[i].fixed.session_id), seconds);
    if (now->sessions.count)
        show_print(&table, stdout);
    show_deinit(&table);
}

static int look(const char *socket, struct desk_picture *out_picture, struct diag *diag)
{
    struct desk desk;
    int rc = desk_open(&desk, socket, diag);

    if (rc < 0)
        return rc;
    rc = desk_ask(&desk, out_picture, diag);
    desk_close(&desk);
    return rc;
}

static int show_pictures(const struct top_options *options, int64_t interval_ns, int64_t count,
                         struct diag *diag)
{
    const struct timespec pause = {interval_ns / 1000000000, interval_ns % 1000000000};
    const bool is_terminal = isatty(STDOUT_FILENO);
    struct desk_picture before = {0};
    int rc = look(options->socket, &before, diag);

    for (int64_t i = 0; rc == 0 && (count == 0 || i < count); i++) {
        struct desk_picture now = {0};

        nanosleep(&pause, NULL);
        rc = look(options->socket, &now, diag);
        if (rc == 0 && is_terminal)
            fputs("\033[H\033[2J", stdout);
        else if (rc == 0 && i > 0)
            putchar('\n');
        if (rc == 0)
            print_picture(&now, &before);
        if (fflush(stdout) == EOF && rc == 0)
            rc = diag_set(diag, -errno, "cannot write");
        desk_picture_deinit(&before);
        before = now;
    }
    desk_picture_deinit(&before);
    return rc;
}

int top_main(int argc, char **argv)
{
    struct top_options options = {0};
    struct diag diag = {0};
    int64_t interval_ns = 1000000000;
    int status, rc;

    if (commands_parse(&top_command, argc, argv, &options, &status) != 0)
        return status;
    if (options.interval &&
        (amount_parse_duration("--interval", options.interval, &interval_ns, &diag) < 0 ||
         interval_ns <= 0)) {
        if (!diag.text[0])
            diag_set(&diag, -EINVAL, "--interval takes a duration such as 500ms or 2s");
        return options_complain(&top_command, &diag);
    }
    if (!options.count && !isatty(STDOUT_FILENO))
        options.count = 1;
    rc = show_pictures(&options, interval_ns, options.count, &diag);
    return rc < 0 ? commands_fail(&top_command, rc, &diag) : EXIT_OK;
}
