/* SPDX-License-Identifier: Apache-2.0 */
/* The global scope, else that of the library which calls. */
#include "client/inject/real.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "client/inject/recorder.h"

typedef void (*function)(void);

struct real_caller {
    const void *caller;
    function function;
};

/* It is not found by dlsym(). */
real_dlsym_type *real_dlsym(void)
{
    static void *real;
    void *found = __atomic_load_n(&real, __ATOMIC_ACQUIRE);
    real_dlsym_type *loader;

    if (UNLIKELY(!found)) {
        found = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
        if (!found)
            found = dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
        if (!found)
            abort(); /* there is no C library that we know */
        __atomic_store_n(&real, found, __ATOMIC_RELEASE);
    }
    *(void **)&loader = found;
    return loader;
}

void *real_symbol(void *handle, const char *name)
{
    return real_dlsym()(handle, name);
}

static function look_up(void *scope, const struct real *real)
{
    function found;

    *(void **)&found = real_symbol(scope, real->name);
    return found == real->hook ? NULL : found;
}

/* Libraries of RTLD_LOCAL ones are not in the global scope. */
static function look_up_from(const struct real *real, const void *caller)
{
    Dl_info place;
    function found;
    void *library;

    if (dladdr(caller, &place) == 0 || !place.dli_fname)
        return NULL;
    library = dlopen(place.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (!library)
        return NULL;
    found = look_up(library, real);
    dlclose(library);
    return found;
}

/* A caller that jumped here shows the one before it, who may not know of the function. */
static function any_known(const struct real *real)
{
    for (int i = 0; i < REAL_CALLERS; i++) {
        const struct real_caller *known = __atomic_load_n(&real->callers[i], __ATOMIC_ACQUIRE);

        if (known)
            return known->function;
    }
    return NULL;
}

/* Callers are places in code: where there are too many, the rest is looked up each time. */
static void keep(struct real *real, const void *caller, function found)
{
    struct real_caller *kept = malloc(sizeof(*kept));
    const size_t first = (uintptr_t)caller >> 2;

    if (!kept)
        return;
    *kept = (struct real_caller){caller, found};
    for (size_t i = 0; i < REAL_CALLERS; i++) {
        struct real_caller *none = NULL;

        if (__atomic_compare_exchange_n(&real->callers[(first + i) % REAL_CALLERS], &none, kept,
                                        false, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
            return;
    }
    free(kept);
}

static __attribute__((noinline, cold)) function search(struct real *real, const void *caller)
{
    function found = look_up(RTLD_NEXT, real);

    if (!found)
        found = look_up_from(real, caller);
    if (found) {
        keep(real, caller, found);
        return found;
    }
    return any_known(real);
}

function real_try(struct real *real, const void *caller)
{
    const size_t first = (uintptr_t)caller >> 2;

    for (size_t i = 0; i < REAL_CALLERS; i++) {
        const struct real_caller *known =
            __atomic_load_n(&real->callers[(first + i) % REAL_CALLERS], __ATOMIC_ACQUIRE);

        if (!known)
            break;
        if (known->caller == caller)
            return known->function;
    }
    return search(real, caller);
}

function real_find(struct real *real, const void *caller)
{
    const function found = real_try(real, caller);

    if (UNLIKELY(!found))
        abort(); /* as a jump to nowhere would */
    return found;
}
