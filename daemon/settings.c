/* SPDX-License-Identifier: Apache-2.0 */
/* The options of optraced, their defaults, and paths that stay true in another directory. */
#include "daemon/settings.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/exit_status.h"
#include "base/options.h"
#include "base/amount.h"
#include "schema/store/store.h"
#include "schema/wire/wire.h"

#define TARGET(field) offsetof(struct settings, field)

static const struct option_spec specs[] = {
    {OPTION_GROUP, "Places", .value_name = "places"},
    {OPTION_STRING, "socket", 's', "PATH",
     "$OPTRACE_SOCKET, else $XDG_RUNTIME_DIR/optrace/collector.sock, else "
     "/run/optrace/collector.sock",
     "Socket that programs connect to. Ignored when systemd hands one over.", TARGET(socket_path)},
    {OPTION_STRING, "store", 'o', "PATH",
     "$OPTRACE_STORE, else $XDG_STATE_HOME/optrace/optrace.db, else "
     "~/.local/state/optrace/optrace.db",
     "SQLite file that receives what is recorded; made when it does not exist.",
     TARGET(store_path)},
    {OPTION_STRING, "log", 0, "FILE", "standard error; in the background STORE.log",
     "File that receives what the daemon has to say. SIGHUP opens it anew.", TARGET(log_path)},
    {OPTION_STRING, "pid-file", 0, "FILE", NULL,
     "Write the process id there once programs can connect; removed at the end.", TARGET(pid_path)},
    {OPTION_GROUP, "What the store keeps", .value_name = "keeping"},
    {OPTION_STRING, "store-budget", 0, "SIZE", "$OPTRACE_STORE_BUDGET, else 2GiB",
     "How large the store may become with its log: 512MiB, 20GB, none. At it, and where its disk "
     "is full, the oldest events, memory events "
     "and counters are dropped; sessions, runs, ops and roll-ups stay "
     "within half of it, and reports say so.",
     TARGET(store_budget)},
    {OPTION_STRING, "keep-events", 0, "DURATION", "$OPTRACE_KEEP_EVENTS, else none",
     "Also drop events, memory events and counters that are older than this: 12h, 7d, 4w, none.",
     TARGET(keep_events)},
    {OPTION_STRING, "keep-sessions", 0, "DURATION", "$OPTRACE_KEEP_SESSIONS, else none",
     "Drop sessions that ended longer ago whole, with their runs, ops and roll-ups: 90d, 52w, "
     "none. "
     "Imported sessions stay, and calibrations.",
     TARGET(keep_sessions)},
    {OPTION_FLAG, "no-command-lines", 0, NULL, NULL,
     "Keep no command lines of programs. Otherwise what looks like a secret in them is masked.",
     TARGET(no_commands)},
    {OPTION_GROUP, "Behaviour", .value_name = "behaviour"},
    {OPTION_STRING, "on-lost-store", 0, "WORD", "$OPTRACE_ON_LOST_STORE, else new",
     "When the store is deleted, renamed or replaced while the daemon runs: new goes on in what is "
     "at its path then, a new file where there is none; stop ends with a sentence and status 4.",
     TARGET(lost_store_word)},
    {OPTION_FLAG, "foreground", 'f', NULL, NULL,
     "Stay in the foreground. Without it the command returns once programs can connect, and the "
     "daemon goes on in the background.",
     TARGET(foreground)},
    {OPTION_FLAG, "once", '1', NULL, NULL,
     "End after the last program has left, when at least one has come.", TARGET(once)},
    {OPTION_INT, "until-closed", 0, "FD", NULL,
     "End once this descriptor, a pipe to read from, is closed at its other end and the last "
     "program has left: for who starts a daemon for programs of its own, as `optrace run` does.",
     TARGET(starter_fd), NULL, 0, INT_MAX, OPTION_HIDDEN},
    {OPTION_CHOICE, "level", 'l', "WORD", "on",
     "What programs are to record: nothing (until `optrace start`), or ops, runs and memory, or "
     "phases inside ops too.",
     TARGET(level), "off|on|detail"},
    {OPTION_STRING, "group", 'g', "NAME", NULL,
     "Members of this group may connect too; each sees and commands its own programs. Otherwise "
     "only the user who runs the daemon may connect, and root.",
     TARGET(group)},
    {OPTION_FLAG, "verbose", 'v', NULL, NULL, "Say who comes and goes.", TARGET(verbose)},
};

static const char first_help[] =
    "optraced: collect what programs record and keep it in a store\n"
    "\n"
    "Usage: optraced [OPTION...]\n"
    "\n"
    "  optraced                             start it in the background\n"
    "  optraced --foreground --once         record until the programs that come now\n"
    "                                       have ended\n"
    "  optraced --store-budget 20GiB --keep-events 7d\n"
    "                                       a week of events, in 20 GiB at most\n"
    "\n"
    "Places:\n"
    "  -s, --socket PATH                    $OPTRACE_SOCKET, else below\n"
    "                                       $XDG_RUNTIME_DIR, else /run\n"
    "  -o, --store PATH                     $OPTRACE_STORE, else below\n"
    "                                       $XDG_STATE_HOME, else ~/.local/state\n"
    "      --log FILE, --pid-file FILE      STORE.log in the background\n"
    "\n"
    "What the store keeps:\n"
    "      --store-budget SIZE              2GiB; then the oldest events go, their\n"
    "                                       roll-ups stay\n"
    "      --keep-events DURATION           as long as there is room\n"
    "      --keep-sessions DURATION         for ever\n"
    "      --no-command-lines               of programs\n"
    "\n"
    "Behaviour:\n"
    "  -l, --level off|on|detail            what programs record: on\n"
    "  -g, --group NAME                     its members may connect, too\n"
    "  -f, --foreground; -1, --once; -v, --verbose; --on-lost-store new|stop\n"
    "\n"
    "More:\n"
    "  --help places, keeping, behaviour    the options of that kind\n"
    "  --help options                       all options and exit statuses; --help\n"
    "                                       OPTION: one of them\n"
    "  optrace status                       whether it runs, and whom it records\n"
    "  man optraced                         all of it\n";

static const struct option_command command = {
    .name = "optraced",
    .version = OPTRACE_VERSION,
    .purpose = "collect what programs record and keep it in a store",
    .options = specs,
    .option_count = sizeof(specs) / sizeof(specs[0]),
    .examples = "optraced\n"
                "    start the daemon in the background, with the default socket and store\n"
                "optraced --foreground --once --socket /tmp/o.sock --store /tmp/o.db\n"
                "    record until the programs that come now have ended\n"
                "optraced --store-budget 20GiB --keep-events 7d\n"
                "    keep a week of events, in 20 GiB at most\n",
    .exit_text = "0  ended by SIGTERM, SIGINT or --once, with all stored\n"
                 "2  wrong use of the command line, or a path that is too long\n"
                 "3  the store is damaged, of a newer version, or not a store\n"
                 "4  the socket or the store is in use, no permission, no memory; at the end: not "
                 "all could be stored, the log says how much\n",
    .see_also = "profile_analyze(1), load_and_run(1), optrace(1)",
    .max_arguments = 0,
    .first_help = first_help,
};

static const char *default_socket(char *out, size_t bytes)
{
    const char *socket = getenv("OPTRACE_SOCKET");
    const char *runtime = getenv("XDG_RUNTIME_DIR");

    if (socket && socket[0])
        return socket;
    if (!runtime || runtime[0] != '/')
        return "/run/optrace/collector.sock";
    snprintf(out, bytes, "%s/optrace/collector.sock", runtime);
    return out;
}

/* Makes *path absolute, in `place`. */
static int make_absolute(const char **path, char place[PATH_MAX], struct diag *diag)
{
    char directory[PATH_MAX];
    int length;

    if (!*path || (*path)[0] == '/')
        return 0;
    if (!getcwd(directory, sizeof(directory)))
        return diag_set(diag, -errno, "the current directory has no path: %s", strerror(errno));
    length = snprintf(place, PATH_MAX, "%s/%s", directory, *path);
    if (length >= PATH_MAX)
        return diag_set(diag, -ENAMETOOLONG, "the path is too long: %.60s...", *path);
    *path = place;
    return 0;
}

static int fill_paths(struct settings *settings, struct diag *diag)
{
    char place[PATH_MAX];
    int rc;

    if (!settings->socket_path) {
        snprintf(settings->paths[0], PATH_MAX, "%s", default_socket(place, sizeof(place)));
        settings->socket_path = settings->paths[0];
    }
    if (!settings->store_path) {
        rc = store_default_path(settings->paths[1], PATH_MAX);
        if (rc < 0)
            return diag_set(diag, rc, "the path of the store is too long");
        settings->store_path = settings->paths[1];
    }
    if (!settings->log_path && !settings->foreground) {
        snprintf(settings->paths[2], PATH_MAX, "%.*s.log", PATH_MAX - 5, settings->store_path);
        settings->log_path = settings->paths[2];
    }
    return 0;
}

/* The option, else the variable, else the default. */
static const char *find_bound(const char *option, const char *variable, const char *otherwise,
                              const char **out_name)
{
    const char *value = getenv(variable);

    if (option)
        return option;
    if (!value || !value[0])
        return otherwise;
    *out_name = variable;
    return value;
}

static int fill_bounds(struct settings *settings, struct diag *diag)
{
    struct store_bounds *bounds = &settings->bounds;
    const char *sessions_name = "--keep-sessions";
    const char *sessions =
        find_bound(settings->keep_sessions, "OPTRACE_KEEP_SESSIONS", "none", &sessions_name);
    const char *budget_name = "--store-budget", *keep_name = "--keep-events";
    const char *budget =
        find_bound(settings->store_budget, "OPTRACE_STORE_BUDGET", "2GiB", &budget_name);
    const char *keep = find_bound(settings->keep_events, "OPTRACE_KEEP_EVENTS", "none", &keep_name);
    int rc = amount_parse_bytes(budget_name, budget, &bounds->budget_bytes, diag);

    if (rc == 0)
        rc = amount_parse_duration(keep_name, keep, &bounds->keep_events_ns, diag);
    if (rc == 0)
        rc = amount_parse_duration(sessions_name, sessions, &bounds->keep_sessions_ns, diag);
    if (rc == 0 && bounds->budget_bytes && bounds->budget_bytes < STORE_BUDGET_MIN)
        rc = diag_set(diag, -EINVAL, "%s takes at least 4MiB, not '%.40s'", budget_name, budget);
    return rc;
}

static int fill_lost_store(struct settings *settings, struct diag *diag)
{
    const char *name = "--on-lost-store";
    const char *word = find_bound(settings->lost_store_word, "OPTRACE_ON_LOST_STORE", "new", &name);

    if (strcmp(word, "new") != 0 && strcmp(word, "stop") != 0)
        return diag_set(diag, -EINVAL, "%s takes new or stop, not '%.40s'", name, word);
    settings->on_lost_store = word[0] == 'n' ? LOST_STORE_NEW : LOST_STORE_STOP;
    return 0;
}

int settings_read(int argc, char **argv, struct settings *out_settings, int *out_status)
{
    const char *words[1];
    struct diag diag = {0};
    char place[PATH_MAX];
    int word_count, rc;

    *out_settings = (struct settings){.level = OT_LEVEL_ON, .starter_fd = -1};
    rc = options_parse(&command, argc, argv, out_settings, words, &word_count, &diag);
    if (rc == OPTIONS_SHOWN) {
        *out_status = EXIT_OK;
        return rc;
    }
    if (rc == 0)
        rc = fill_paths(out_settings, &diag);
    if (rc == 0)
        rc = fill_bounds(out_settings, &diag);
    if (rc == 0)
        rc = fill_lost_store(out_settings, &diag);
    if (rc < 0) {
        *out_status = options_complain(&command, &diag);
        return rc;
    }
    const char **paths[] = {&out_settings->socket_path, &out_settings->store_path,
                            &out_settings->log_path, &out_settings->pid_path};

    for (size_t i = 0; rc == 0 && i < sizeof(paths) / sizeof(paths[0]); i++) {
        const char *path = *paths[i];

        rc = make_absolute(paths[i], place, &diag);
        if (rc == 0 && *paths[i] != path) {
            memcpy(out_settings->paths[i], place, sizeof(place));
            *paths[i] = out_settings->paths[i];
        }
    }
    if (rc < 0)
        *out_status = options_complain(&command, &diag);
    return rc;
}
