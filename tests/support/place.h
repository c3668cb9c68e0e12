/* SPDX-License-Identifier: Apache-2.0 */
/* Where things lie: the source tree, what was built, shared data that may be absent. */
#ifndef OPTRACE_TESTS_SUPPORT_PLACE_H
#define OPTRACE_TESTS_SUPPORT_PLACE_H

/** A path under the source tree. The caller frees it. Fails the test without OPTRACE_SOURCE_ROOT,
 *  which Meson sets. */
char *place_source(const char *path);

/** The path of a program that was built, such as "daemon/optraced". The caller frees it. Fails the
 *  test without OPTRACE_BUILD_ROOT, which Meson sets. */
char *place_program(const char *path);

/** A path under the shared test data ($OPTRACE_SHARED, else "../shared" beside the source tree), or
 *  NULL when it does not exist: the case then says CHECK_SKIP(). The caller frees it. */
char *place_shared(const char *path);

#endif
