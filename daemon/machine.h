/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the machine is like, for session.environment: clients are on the same one. Reads files of
 * the kernel; waits for no disk. One thread.
 */
#ifndef OPTRACE_DAEMON_MACHINE_H
#define OPTRACE_DAEMON_MACHINE_H

/** A JSON object as schema/store/store.md has it, for free(); NULL without memory. Only the
 * governor of the CPUs is likely to change while the machine runs. */
char *machine_describe(void);

#endif
