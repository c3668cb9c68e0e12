/* SPDX-License-Identifier: Apache-2.0 */
/* The subcommands of optrace: a table of options and a function each. Inside client/cli only. */
#ifndef OPTRACE_CLIENT_CLI_COMMANDS_H
#define OPTRACE_CLIENT_CLI_COMMANDS_H

#include "base/diag.h"
#include "base/options.h"

extern const struct option_command run_command;
extern const struct option_command status_command;
extern const struct option_command start_command;
extern const struct option_command stop_command;
extern const struct option_command save_command;
extern const struct option_command top_command;
extern const struct option_command report_command;
extern const struct option_command compare_command;

/** argv[0] is the subcommand's word. Returns the exit status; has printed what there is to say. */
int run_main(int argc, char **argv);
int status_main(int argc, char **argv);
int start_main(int argc, char **argv);
int stop_main(int argc, char **argv);
int save_main(int argc, char **argv);
int top_main(int argc, char **argv);
int report_main(int argc, char **argv);
int compare_main(int argc, char **argv);

/* Options that all of them have. */
#define COMMANDS_HOST_OPTIONS(hosts_target, follow_target)                                         \
    {OPTION_LIST,                                                                                  \
     "host",                                                                                       \
     'H',                                                                                          \
     "HOST[,HOST...]",                                                                             \
     NULL,                                                                                         \
     "Do it on these hosts, by `ssh HOST optrace ...`; may be repeated. Each line of output then " \
     "begins with its host; how far the clocks of the hosts are off is measured and shown.",       \
     hosts_target},                                                                                \
    {                                                                                              \
        OPTION_FLAG, "follow", 0, NULL, NULL,                                                      \
            "The far end of --host: answer \"time\" on standard input, do the work at \"go\".",    \
            follow_target, .flags = OPTION_HIDDEN                                                  \
    }

/** Prints the sentence of a failed visit. Returns the exit status: EXIT_INPUT when no daemon
 *  listens, else EXIT_SYSTEM. */
int commands_fail(const struct option_command *command, int rc, const struct diag *diag);

/** Reads the options of a subcommand that takes no further words. Returns 0, or 1 when it has
 *  printed what there is to say: *out_status is the exit status then. */
int commands_parse(const struct option_command *command, int argc, char **argv, void *target,
                   int *out_status);

#endif
