/* SPDX-License-Identifier: Apache-2.0 */
/* A disk that is soon full. */
#ifndef OPTRACE_TESTS_SUPPORT_SMALL_DISK_H
#define OPTRACE_TESTS_SUPPORT_SMALL_DISK_H

/** Run `work` in a child with a mount namespace of its own, where `folder`, which is handed on to
 * it, is an empty disk of this size ("6m"). Skips the test where none may be mounted; fails it with
 * what the child printed unless work returns 0. */
void small_disk_run(int (*work)(void *folder), char *folder, const char *size);

#endif
