/* SPDX-License-Identifier: Apache-2.0 */
/* optraced, the collector daemon: options, background, exit status. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/exit_status.h"
#include "base/text.h"
#include "daemon/log.h"
#include "daemon/memory.h"
#include "daemon/process.h"
#include "daemon/service.h"
#include "daemon/settings.h"

/* What a failed start means to the caller of the command. */
static int exit_status(int rc)
{
    switch (rc) {
    case -ENAMETOOLONG:
        return EXIT_USAGE;
    case -EPROTO:
    case -EUCLEAN:
    case -EISDIR:
    case -EINVAL:
        return EXIT_INPUT;
    default:
        return EXIT_SYSTEM;
    }
}

int main(int argc, char **argv)
{
    static struct settings settings;
    struct diag diag = {0};
    int ready_fd = -1, status, rc;

    if (settings_read(argc, argv, &settings, &status) != 0)
        return status;
    if (!settings.foreground && (ready_fd = process_go_background()) < 0) {
        text_print(stderr, "optraced: cannot go into the background: %s\n", strerror(-ready_fd));
        return EXIT_SYSTEM;
    }
    memory_return_large();
    process_raise_file_limit();
    log_set_verbose(settings.verbose);
    rc = service_run(&settings, ready_fd, &diag);
    if (rc == 0)
        return EXIT_OK;
    text_print(stderr, "optraced: %s\n", diag.text[0] ? diag.text : strerror(-rc));
    return exit_status(rc);
}
