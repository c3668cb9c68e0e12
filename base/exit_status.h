/* SPDX-License-Identifier: Apache-2.0 */
/* The exit statuses that every program of this project uses; each man page lists them. */
#ifndef OPTRACE_BASE_EXIT_STATUS_H
#define OPTRACE_BASE_EXIT_STATUS_H

enum exit_status {
    EXIT_OK = 0,
    EXIT_NO = 1,      /* the answer is no: outputs differ, nothing matched, a regression */
    EXIT_USAGE = 2,   /* wrong use of the command line */
    EXIT_INPUT = 3,   /* an input is missing, damaged, unsupported or too new */
    EXIT_SYSTEM = 4,  /* the system or the daemon failed: no memory, no permission, disk full */
    EXIT_REFUSED = 5, /* an option that another tool has and this one, for a reason, has not */
    EXIT_INTERRUPTED = 130, /* SIGINT */
};

#endif
