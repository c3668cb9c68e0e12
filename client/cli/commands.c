/* SPDX-License-Identifier: Apache-2.0 */
/* What all subcommands do first, and how they fail. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/exit_status.h"
#include "base/text.h"
#include "client/cli/commands.h"

int commands_fail(const struct option_command *which, int rc, const struct diag *diag)
{
    text_print(stderr, "%s: %s\n", which->name, diag->text[0] ? diag->text : strerror(-rc));
    return rc == -ENOENT ? EXIT_INPUT : EXIT_SYSTEM;
}

int commands_parse(const struct option_command *which, int argc, char **argv, void *target,
                   int *out_status)
{
    struct diag diag = {0};
    const char *words[1];
    int word_count;
    int rc = options_parse(which, argc, argv, target, words, &word_count, &diag);

    if (rc == OPTIONS_RUN)
        return 0;
    *out_status = rc == OPTIONS_SHOWN ? EXIT_OK : options_complain(which, &diag);
    return 1;
}
