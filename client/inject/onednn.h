/* SPDX-License-Identifier: Apache-2.0 */
/* Primitives that are recorded: while they run, oneDNN tells the same by ITT, on each of its threads.
 * Inside client/inject only. */
#ifndef OPTRACE_CLIENT_INJECT_ONEDNN_H
#define OPTRACE_CLIENT_INJECT_ONEDNN_H

#include <stdint.h>

/** How many run now, in the whole process. Read it relaxed. */
extern uint32_t onednn_running;

#endif
