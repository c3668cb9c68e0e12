/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that look for CUPTI by dlsym(), as those of XLA do.
 *
 * Inside client/inject only. Any thread.
 */
#ifndef OPTRACE_CLIENT_INJECT_CUPTI_YIELD_H
#define OPTRACE_CLIENT_INJECT_CUPTI_YIELD_H

/** What the program gets in place of the function of this name that was found: that, or ours. */
void *cupti_stand_in(const char *name, void *found);

#endif
