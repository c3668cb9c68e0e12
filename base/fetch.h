/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that is asked for before it is needed. */
#ifndef OPTRACE_BASE_FETCH_H
#define OPTRACE_BASE_FETCH_H

/**
 * Ask for a line of the cache, to be written.
 *
 * An instruction, because __builtin_prefetch() asks a processor of the baseline for a line to read,
 * and one that others have a copy of must then come again. It does nothing where there is no such
 * memory, nor on processors that do not know it.
 */
static inline void ot_fetch_to_write(const void *place)
{
#if defined(__x86_64__)
    __asm__ volatile("prefetchw %0" : : "m"(*(const char *)place));
#else
    __builtin_prefetch(place, 1);
#endif
}

#endif
