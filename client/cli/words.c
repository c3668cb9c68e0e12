/* SPDX-License-Identifier: Apache-2.0 */
/* optrace report, optrace compare: words of their own for what profile_analyze does. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/exit_status.h"
#include "base/text.h"
#include "client/cli/commands.h"
#include "client/cli/siblings.h"

#define EXITS                                                                                      \
    "0  the report was written\n"                                                                  \
    "1  nothing matches, or something got slower\n"                                                \
    "2  wrong use of the command line\n"                                                           \
    "3  the source is missing, damaged, of another format or too new\n"                            \
    "4  profile_analyze is not there; the system failed\n"

const struct option_command report_command = {
    .name = "optrace report",
    .version = OPTRACE_VERSION,
    .purpose = "show a report on what was recorded: profile_analyze --report",
    .arguments = "[NAME [FILE] [OPTION OF profile_analyze...]]",
    .examples = "optrace report\n"
                "    what ran last, how long it took, where the time went\n"
                "optrace report runs\n"
                "    which runs were slow, and why\n"
                "optrace report ops trace.json -t 10\n"
                "    the ten dearest operators of a file\n",
    .exit_text = EXITS,
    .see_also = "profile_analyze(1)",
    .max_arguments = INT_MAX,
    .stop_at_argument = true,
};

const struct option_command compare_command = {
    .name = "optrace compare",
    .version = OPTRACE_VERSION,
    .purpose = "say what got slower: profile_analyze --compare",
    .arguments = "BASE [NEW] [OPTION OF profile_analyze...]",
    .examples = "optrace compare monday.db today.db\n"
                "    what got slower, by how much and how sure\n"
                "optrace compare 12\n"
                "    session 12 of the default store against the last one\n",
    .exit_text = EXITS,
    .see_also = "profile_analyze(1)",
    .max_arguments = INT_MAX,
    .stop_at_argument = true,
};

/* The one that was installed with this program, else that of the PATH. Returns an exit status. */
static int run_analyze(const struct option_command *command, const char **words)
{
    char path[PATH_MAX];

    words[0] = "profile_analyze";
    if (siblings_find(words[0], "../../analyze", path) == 0)
        execv(path, (char *const *)words);
    execvp(words[0], (char *const *)words);
    text_print(stderr, "%s: cannot run profile_analyze: %s\n", command->name, strerror(errno));
    return EXIT_SYSTEM;
}

/* `option` and all words, or --help and its kin of our own. */
static int pass_on(const struct option_command *command, const char *option, int argc, char **argv)
{
    const char **words = calloc((size_t)argc + 3, sizeof(*words));
    struct diag diag = {0};
    char nothing[1];
    int count, rc;

    if (!words) {
        text_print(stderr, "%s: out of memory\n", command->name);
        return EXIT_SYSTEM;
    }
    rc = options_parse(command, argc, argv, nothing, words + 2, &count, &diag);
    if (rc == OPTIONS_RUN && !count && command == &compare_command)
        rc = diag_set(&diag, -EINVAL, "name what to compare with: a file, or a session's number");
    if (rc != OPTIONS_RUN) {
        free(words);
        return rc == OPTIONS_SHOWN ? EXIT_OK : options_complain(command, &diag);
    }
    words[1] = option;
    rc = run_analyze(command, count ? words : words + 1);
    free(words);
    return rc;
}

int report_main(int argc, char **argv)
{
    return pass_on(&report_command, "--report", argc, argv);
}

int compare_main(int argc, char **argv)
{
    return pass_on(&compare_command, "--compare", argc, argv);
}
