/* SPDX-License-Identifier: Apache-2.0 */
/* Page faults in known numbers. */
#ifndef OPTRACE_TESTS_SUPPORT_PAGES_H
#define OPTRACE_TESTS_SUPPORT_PAGES_H

#include <stddef.h>

/** Memory of `count` small pages that have been touched: those that a sanitizer keeps beside an
 *  address are there then. Never freed. */
volatile char *pages_map(size_t count);

/** Touches that many pages of it, which are new again: as many page faults. */
void pages_touch(volatile char *memory, size_t count);

#endif
