/* SPDX-License-Identifier: Apache-2.0 */
/* optrace, the front command: which subcommand, and what all of them share. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/exit_status.h"
#include "base/text.h"
#include "client/cli/commands.h"

static const struct option_command *const subcommands[] = {
    &run_command, &status_command, &start_command,   &stop_command, &save_command,
    &top_command, &report_command, &compare_command, NULL};

static int (*const mains[])(int argc, char **argv) = {
    run_main, status_main, start_main, stop_main, save_main, top_main, report_main, compare_main};

static const struct option_command command = {
    .name = "optrace",
    .version = OPTRACE_VERSION,
    .purpose = "record a program, see who is being recorded, start and stop it, save and show what "
               "is there",
    .arguments = "COMMAND [ARGUMENT...]",
    .examples = "optrace run -o mine.db -- python3 serve.py\n"
                "    record a program, with a daemon of its own\n"
                "optrace status\n"
                "    who is being recorded, how much, and who was refused\n"
                "optrace start --for 10s\n"
                "    record all programs for ten seconds\n"
                "optrace start --program trainer --wait 5 --warmup 1 --active 3 --repeat 2\n"
                "    twice three runs of the programs of that name\n"
                "optrace report\n"
                "    what ran last, how long it took, where the time went\n"
                "optrace save -o mine.db --last 1h\n"
                "    a store with what your programs recorded\n",
    .environment = "OPTRACE_SOCKET  the daemon's socket, unless --socket names it\n"
                   "OPTRACE_SSH  the command that --host runs in place of ssh, with its options\n",
    .exit_text = "0  done\n"
                 "1  no program matches\n"
                 "2  wrong use of the command line\n"
                 "3  no daemon listens\n"
                 "4  the daemon refuses, does not answer, or is too old; the system failed\n",
    .see_also = "optraced(1), profile_analyze(1), load_and_run(1)",
    .max_arguments = INT_MAX,
    .commands = subcommands,
};

int main(int argc, char **argv)
{
    const struct option_command *which;
    const char **words = calloc((size_t)argc + 1, sizeof(*words));
    struct diag diag = {0};
    char nothing[1]; /* there are no options of its own */
    int word_count = 0, rc;

    if (!words) {
        fputs("optrace: out of memory\n", stderr);
        return EXIT_SYSTEM;
    }
    rc = options_parse(&command, argc, argv, nothing, words, &word_count, &diag);
    which = rc == OPTIONS_RUN ? options_find_command(&command, words[0], &diag) : NULL;
    free(words);
    if (rc == OPTIONS_SHOWN)
        return EXIT_OK;
    if (!which)
        return options_complain(&command, &diag);
    for (size_t i = 0; subcommands[i]; i++) {
        if (subcommands[i] == which)
            return mains[i](word_count, argv + (argc - word_count));
    }
    return EXIT_USAGE;
}
