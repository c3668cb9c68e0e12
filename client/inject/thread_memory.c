/* SPDX-License-Identifier: Apache-2.0 */
/* A key of libpthread for each source, made with the first thread that needs it. */
#include "client/inject/thread_memory.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

/* `key` is one more than libpthread's. Of two threads that make one the first has it. */
static bool find_key(struct thread_memory *of, pthread_key_t *out_key)
{
    uint32_t key = __atomic_load_n(&of->key, __ATOMIC_ACQUIRE);
    pthread_key_t made;

    if (key == 0) {
        if (pthread_key_create(&made, of->forget) != 0)
            return false;
        if (__atomic_compare_exchange_n(&of->key, &key, made + 1, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE))
            key = made + 1;
        else
            pthread_key_delete(made);
    }
    *out_key = key - 1;
    return true;
}

__attribute__((noinline, cold)) void *thread_memory_make(struct thread_memory *of, size_t bytes)
{
    pthread_key_t key;
    void *made = find_key(of, &key) ? calloc(1, bytes) : NULL;

    if (made && pthread_setspecific(key, made) != 0) {
        free(made);
        made = NULL;
    }
    return made;
}
