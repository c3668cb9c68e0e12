/* SPDX-License-Identifier: Apache-2.0 */
/* RecordFunctions are made in buffers of ours, for one and two callbacks, and never run. */
#include "client/inject/torch_outputs.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#if defined(__x86_64__) &&                                                                         \
    defined(__linux__) /* where a result of class type goes is known for it */

_Static_assert(sizeof(struct torch_callback) == 40, "as libtorch has it");

enum {
    FUNCTION_BYTES = 2048, /* it has about 350, and what it is made of 100 */
    SCOPE_UNUSED = 5,      /* BUILD_FEATURE */
};

/* A StepCallbacks, which a caller has room for. */
struct steps {
    _Alignas(16) unsigned char bytes[FUNCTION_BYTES];
};

struct maker {
    void *(*get)(struct steps *out_steps, uint8_t scope); /* returns a class, in that place */
    void (*construct)(void *function, struct steps *steps);
    void (*destroy)(void *function);
    const struct torch_callbacks *callbacks;
};

/* Of a RecordFunction. */
static struct {
    size_t count; /* of callbacks that it calls */
    size_t wish;  /* that one of them wants its result; 0: not found */
} places;

static void *start_nothing(void **out_context, const void *function)
{
    (void)function;
    *out_context = NULL;
    return out_context;
}

static void end_nothing(const void *function, void *context)
{
    (void)function, (void)context;
}

static void make(const struct maker *maker, int count, bool wish, struct steps *out_function)
{
    const struct torch_callback callback = {
        start_nothing, end_nothing, 1.0, {[SCOPE_UNUSED] = true}, .needs_outputs = wish};
    static _Alignas(16) unsigned char function[FUNCTION_BYTES]; /* in the same place each time */
    uint64_t handles[2] = {0, 0};
    struct steps steps;

    for (int i = 0; i < count; i++)
        handles[i] = maker->callbacks->add(callback);
    maker->get(&steps, SCOPE_UNUSED);
    for (int i = 0; i < count; i++)
        maker->callbacks->remove(handles[i]);
    memset(function, 0, sizeof(function));
    maker->construct(function, &steps);
    memcpy(out_function->bytes, function, sizeof(function));
    maker->destroy(function);
}

static uint32_t word_at(const unsigned char *bytes, size_t place)
{
    uint32_t word;

    memcpy(&word, bytes + place, sizeof(word));
    return word;
}

/* The first word that is 1 for one callback and 2 for two; who else listens would be in it. */
static size_t find_count(const struct steps *plain, const struct steps *wish,
                         const struct steps *both)
{
    for (size_t i = sizeof(void *); i < FUNCTION_BYTES; i += sizeof(uint32_t)) {
        if (word_at(plain->bytes, i) == 1 && word_at(wish->bytes, i) == 1 &&
            word_at(both->bytes, i) == 2)
            return i;
    }
    return 0;
}

/* The only byte that is 1 with the wish, and 0 without. */
static size_t find_wish(const struct steps *plain, const struct steps *wish,
                        const struct steps *both)
{
    size_t found = 0;

    for (size_t i = 0; i < FUNCTION_BYTES; i++) {
        if (plain->bytes[i] == wish->bytes[i])
            continue;
        if (found || plain->bytes[i] != 0 || wish->bytes[i] != 1 || both->bytes[i] != 1)
            return 0;
        found = i;
    }
    return found;
}

void torch_outputs_find(void *library, const struct torch_callbacks *callbacks)
{
    struct maker maker = {.callbacks = callbacks};
    struct steps plain, wish, both;

    *(void **)&maker.get = dlsym(library, "_ZN2at16getStepCallbacksENS_11RecordScopeE");
    *(void **)&maker.construct = dlsym(library, "_ZN2at14RecordFunctionC1EONS_13StepCallbacksE");
    *(void **)&maker.destroy = dlsym(library, "_ZN2at14RecordFunctionD1Ev");
    if (!maker.get || !maker.construct || !maker.destroy)
        return;
    make(&maker, 1, false, &plain);
    make(&maker, 1, true, &wish);
    make(&maker, 2, true, &both);
    places.count = find_count(&plain, &wish, &both);
    if (places.count)
        places.wish = find_wish(&plain, &wish, &both);
}

bool torch_outputs_leave(const void *function)
{
    unsigned char *const bytes = (unsigned char *)(uintptr_t)function; /* of a caller's stack */

    if (!places.wish || word_at(bytes, places.count) != 1)
        return false;
    bytes[places.wish] = 0;
    return true;
}

#endif
