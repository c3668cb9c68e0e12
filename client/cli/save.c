/* SPDX-License-Identifier: Apache-2.0 */
/* optrace save: one's own sessions, out of the daemon's store into a file. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/exit_status.h"
#include "base/text.h"
#include "client/cli/commands.h"
#include "client/cli/desk.h"
#include "client/cli/show.h"
#include "client/cli/who.h"
#include "client/schedule.h"

enum { PART_BYTES = 1 << 20 };
#define NS_PER_S UINT64_C(1000000000)

struct save_options {
    const char *output, *last, *socket;
    struct option_list pids, sessions, programs;
    bool force, progress;
};

#define TARGET(field) offsetof(struct save_options, field)

static const struct option_spec specs[] = {
    {OPTION_STRING, "output", 'o', "FILE", NULL,
     "Store to write, for profile_analyze; needed. Only its owner may read it (mode 0600).",
     TARGET(output)},
    {OPTION_FLAG, "force", 'f', NULL, NULL, "Replace a file that is there.", TARGET(force)},
    {OPTION_GROUP, "Which sessions", .value_name = "sessions"},
    {OPTION_STRING, "last", 0, "DURATION", NULL,
     "Those that still run, or ended within that time: 30s, 5min, 2h.", TARGET(last)},
    {OPTION_LIST, "session", 0, "N", NULL,
     "The session of this number. May be repeated, as may the next two; without any of them, all "
     "your sessions (of all users for root and the daemon's own user).",
     TARGET(sessions)},
    {OPTION_LIST, "program", 0, "NAME", NULL, "Sessions of programs of this name.",
     TARGET(programs)},
    {OPTION_LIST, "pid", 'p', "PID", NULL, "Sessions of this process id.", TARGET(pids)},
    {OPTION_GROUP, "Behaviour", .value_name = "behaviour"},
    {OPTION_FLAG, "progress", 0, NULL, NULL,
     "Say on standard error how far it is, from the first second on. Without it, or "
     "--no-progress, that is done on a terminal.",
     TARGET(progress), .flags = OPTION_NEGATABLE},
    {OPTION_STRING, "socket", 's', "PATH", "$OPTRACE_SOCKET, else the one that programs connect to",
     "Socket of the daemon.", TARGET(socket)},
};

const struct option_command save_command = {
    .name = "optrace save",
    .version = OPTRACE_VERSION,
    .purpose = "write your sessions, out of the daemon's store, into a store of your own",
    .options = specs,
    .option_count = sizeof(specs) / sizeof(specs[0]),
    .examples = "optrace save -o mine.db\n"
                "    all that your programs recorded; then: profile_analyze mine.db\n"
                "optrace save -o run.db --session 12\n"
                "    one session, to give to somebody else\n"
                "optrace save -o hour.db --program trainer --last 1h --force\n"
                "    what trainer did lately, in place of the file of that name\n",
    .exit_text =
        "0  done\n"
        "1  no session matches\n"
        "2  wrong use of the command line\n"
        "3  no daemon listens\n"
        "4  the daemon refuses, does not answer, or is too old; there is no room; the file "
        "is there already; the system failed\n"
        "130  interrupted; no file was made\n",
};

/* --- The file --- */

/* Removed when the command is interrupted; "": none. */
static char unfinished[PATH_MAX + 16];

static void on_signal(int number)
{
    if (unfinished[0])
        unlink(unfinished);
    _exit(number == SIGINT ? EXIT_INTERRUPTED : EXIT_SYSTEM);
}

static int say_exists(const char *path, struct diag *diag)
{
    return diag_set(diag, -EEXIST, "%s is there already; --force replaces it", path);
}

/* A file beside it that takes its name at the end. */
static int begin_file(const struct save_options *options, int *out_fd, struct diag *diag)
{
    struct stat info;
    int fd;

    if (!options->force && lstat(options->output, &info) == 0)
        return say_exists(options->output, diag);
    if (snprintf(unfinished, sizeof(unfinished), "%s.XXXXXX", options->output) >= PATH_MAX) {
        unfinished[0] = 0;
        return diag_set(diag, -ENAMETOOLONG, "the path is too long: %.60s...", options->output);
    }
    fd = mkostemp(unfinished, O_CLOEXEC);
    if (fd < 0) {
        unfinished[0] = 0;
        return diag_set(diag, -EIO, "cannot make %s: %s", options->output, strerror(errno));
    }
    *out_fd = fd;
    return 0;
}

static int end_file(const struct save_options *options, struct diag *diag)
{
    int rc = options->force
                 ? rename(unfinished, options->output)
                 : renameat2(AT_FDCWD, unfinished, AT_FDCWD, options->output, RENAME_NOREPLACE);

    /* Some file systems cannot rename so; a link never replaces. */
    if (rc < 0 && !options->force && (errno == EINVAL || errno == ENOSYS)) {
        rc = link(unfinished, options->output);
        if (rc == 0)
            unlink(unfinished);
    }
    if (rc < 0 && errno == EEXIST)
        return say_exists(options->output, diag);
    if (rc < 0)
        return diag_set(diag, -EIO, "cannot make %s: %s", options->output, strerror(errno));
    unfinished[0] = 0;
    return 0;
}

/* --- Progress --- */

struct saying {
    bool is_shown, was_shown;
    uint64_t start_ns, last_ns;
};

static void say(void *context, const char *what, uint64_t bytes)
{
    const uint64_t now_ns = ot_clock_ns(CLOCK_MONOTONIC);
    struct saying *saying = context;
    char text[SHOW_CELL_BYTES];

    if (!saying->is_shown || now_ns - saying->start_ns < NS_PER_S ||
        now_ns - saying->last_ns < NS_PER_S / 10)
        return;
    saying->last_ns = now_ns;
    saying->was_shown = true;
    text_print(stderr, "\r\033[K%s: %s", what, show_bytes(bytes, text));
    fflush(stderr);
}

static void say_copying(void *context, uint64_t bytes)
{
    say(context, "copying", bytes);
}

static void end_saying(struct saying *saying)
{
    if (saying->was_shown)
        fputs("\r\033[K", stderr);
    saying->was_shown = false;
}

/* --- The work --- */

static int write_all(int fd, const char *bytes, size_t count)
{
    while (count > 0) {
        const ssize_t done = write(fd, bytes, count);

        if (done < 0 && errno != EINTR)
            return -errno;
        if (done > 0) {
            bytes += done;
            count -= (size_t)done;
        }
    }
    return 0;
}

static int fetch(const struct desk_copy *copy, int fd, const char *path, struct saying *saying,
                 struct diag *diag)
{
    char *part = malloc(PART_BYTES);
    uint64_t done = 0;
    int rc = part ? 0 : diag_set(diag, -ENOMEM, "out of memory");

    while (rc == 0 && done < copy->bytes) {
        const ssize_t got = pread(copy->fd, part, PART_BYTES, (off_t)done);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            rc = diag_set(diag, got < 0 ? -errno : -ECONNRESET,
                          "the daemon took the copy back before it was written to %s", path);
        else if ((rc = write_all(fd, part, (size_t)got)) < 0)
            diag_set(diag, rc, "cannot write %s: %s", path, strerror(-rc));
        else
            done += (uint64_t)got;
        say(saying, "writing", done);
    }
    if (rc == 0 && fsync(fd) < 0 && errno != EINVAL)
        rc = diag_set(diag, -errno, "cannot write %s: %s", path, strerror(errno));
    free(part);
    return rc;
}

static int save(const struct save_options *options, const struct desk_select *selects,
                size_t select_count, uint64_t since_ns, struct desk_copy *out_copy,
                struct diag *diag)
{
    struct saying saying = {.is_shown = options->progress,
                            .start_ns = ot_clock_ns(CLOCK_MONOTONIC)};
    struct desk desk;
    int fd = -1, rc;

    rc = desk_open(&desk, options->socket, diag);
    if (rc < 0)
        return rc;
    rc = begin_file(options, &fd, diag);
    if (rc == 0) {
        rc =
            desk_save(&desk, selects, select_count, since_ns, say_copying, &saying, out_copy, diag);
        rc = rc == -ENOENT ? -ENODATA : rc; /* -ENOENT: no daemon */
    }
    if (rc == 0)
        rc = fetch(out_copy, fd, options->output, &saying, diag);
    if (rc == 0)
        rc = end_file(options, diag);
    end_saying(&saying);
    if (unfinished[0])
        unlink(unfinished);
    if (fd >= 0)
        close(fd);
    if (out_copy->fd >= 0)
        close(out_copy->fd);
    desk_close(&desk);
    return rc;
}

static int fill_since(const struct save_options *options, uint64_t *out_since_ns, struct diag *diag)
{
    const uint64_t now_ns = ot_clock_ns(CLOCK_REALTIME);
    uint64_t length;
    uint32_t unit;

    *out_since_ns = 0;
    if (!options->last)
        return 0;
    if (ot_schedule_parse_length(options->last, &length, &unit) < 0 || unit != OT_UNIT_NS)
        return diag_set(diag, -EINVAL, "--last takes a time such as 30s or 2h, not '%s'",
                        options->last);
    *out_since_ns = length < now_ns ? now_ns - length : 0;
    return 0;
}

int save_main(int argc, char **argv)
{
    struct save_options options = {.progress = isatty(STDERR_FILENO)};
    struct desk_select selects[OT_WIRE_SELECTS_MAX];
    struct desk_copy copy = {.fd = -1};
    char text[SHOW_CELL_BYTES];
    size_t select_count = 0;
    struct diag diag = {0};
    uint64_t since_ns = 0;
    int status, rc;

    if (commands_parse(&save_command, argc, argv, &options, &status) != 0)
        return status;
    if (!options.output || !options.output[0])
        rc = diag_set(&diag, -EINVAL, "--output FILE is missing");
    else if ((rc = who_fill(&options.pids, &options.sessions, &options.programs, selects,
                            &select_count, &diag)) == 0)
        rc = fill_since(&options, &since_ns, &diag);
    if (rc < 0)
        return options_complain(&save_command, &diag);
    signal(SIGINT, on_signal);
    signal(SIGTERM, on_signal);
    signal(SIGHUP, on_signal);
    signal(SIGXFSZ, SIG_IGN);
    rc = save(&options, selects, select_count, since_ns, &copy, &diag);
    if (rc < 0) {
        status = commands_fail(&save_command, rc, &diag);
        return rc == -ENODATA ? EXIT_NO : status;
    }
    text_print(stdout, "%u session%s in %s: %s\n", copy.session_count,
               copy.session_count == 1 ? "" : "s", options.output, show_bytes(copy.bytes, text));
    return EXIT_OK;
}
