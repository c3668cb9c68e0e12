/* SPDX-License-Identifier: Apache-2.0 */
/* A store that lasts for all inputs of a fuzz target: making one costs more than most imports. What
 * an input does to it is rolled back. */
#ifndef OPTRACE_TESTS_FUZZ_KEPT_STORE_H
#define OPTRACE_TESTS_FUZZ_KEPT_STORE_H

#include <stdlib.h>

#include "schema/store/store.h"

/** In a transaction that kept_store_forget() ends. */
static inline struct store *kept_store_begin(void)
{
    static struct store *store;
    struct diag diag = {0};

    if ((!store && store_open("", STORE_MEMORY, &store, &diag) < 0) ||
        store_begin(store, &diag) < 0)
        abort();
    return store;
}

static inline void kept_store_forget(struct store *store)
{
    store_rollback(store);
}

#endif
