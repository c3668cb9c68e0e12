/* SPDX-License-Identifier: Apache-2.0 */
/* A seccomp profile as containers have it. */
#ifndef OPTRACE_TESTS_SUPPORT_FORBID_PERF_H
#define OPTRACE_TESTS_SUPPORT_FORBID_PERF_H

/** From now on perf_event_open() fails with this error (EPERM) in this process, for good. Fails the
 *  test where that cannot be had. */
void forbid_perf(int error);

#endif
