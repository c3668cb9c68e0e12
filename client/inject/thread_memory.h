/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of a thread that is given back as the thread ends: where a source keeps what is open on it.
 * A source has the address in a variable of the thread besides, which is what it looks at.
 *
 * Inside client/inject only. Any thread.
 */
#ifndef OPTRACE_CLIENT_INJECT_THREAD_MEMORY_H
#define OPTRACE_CLIENT_INJECT_THREAD_MEMORY_H

#include <stddef.h>
#include <stdint.h>

/** Of a source. */
struct thread_memory {
    void (*forget)(void *memory); /* called by a thread that ends, to free() it */
    uint32_t key;                 /* 0 at first */
};

/** Memory for this thread, all zero; NULL when there is none. Once in a thread. */
void *thread_memory_make(struct thread_memory *of, size_t bytes);

#endif
