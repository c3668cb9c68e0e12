/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that asks for CUPTI itself, as torch.profiler does. CUPTI has one subscriber, and hands
 * buffers over to one: where that is us, the program gets it, and its result is what it is without us.
 */
#include <string.h>

#include "client/inject/cupti/private.h"
#include "client/inject/cupti/short.h"
#include "client/inject/cupti/yield.h"
#include "client/inject/real.h"

typedef int subscribe_type(void **out_subscriber, cupti_callback *callback, void *user);
typedef int subscribe_v2_type(void **out_subscriber, cupti_callback *callback, void *user,
                              struct cupti_subscriber *params);
typedef int register_type(cupti_request *request, cupti_complete *complete);

OT_HOOK subscribe_type cuptiSubscribe;
OT_HOOK subscribe_v2_type cuptiSubscribe_v2;
OT_HOOK register_type cuptiActivityRegisterCallbacks;

enum { SUBSCRIBE, SUBSCRIBE_V2, REGISTER, HOOKS };

typedef void (*function)(void);

static struct real reals[HOOKS] = {
    {"cuptiSubscribe", (function)cuptiSubscribe, {NULL}},
    {"cuptiSubscribe_v2", (function)cuptiSubscribe_v2, {NULL}},
    {"cuptiActivityRegisterCallbacks", (function)cuptiActivityRegisterCallbacks, {NULL}},
};
/* What the program got by dlsym(), else that of the libcupti that we have. Atomic, as `ours`. */
static void *known[HOOKS];
static bool (*ours)(void);

static void say_if_taken(int rc)
{
    if (rc == CUPTI_TAKEN)
        cupti_say("the program asks for CUPTI, and another tool holds it (error %d)", rc);
}

static bool yields(void)
{
    bool (*const give_back)(void) = __atomic_load_n(&ours, __ATOMIC_ACQUIRE);

    return give_back && give_back();
}

/* NULL: the caller found us without having a libcupti. One that jumped here is not known. */
static function find(int which, const void *caller)
{
    function found = real_try(&reals[which], caller);

    if (!found) {
        void *any = __atomic_load_n(&known[which], __ATOMIC_ACQUIRE);

        memcpy(&found, &any, sizeof(found));
    }
    return found;
}

void cupti_yield_begin(void *library, bool (*give_back)(void))
{
    __atomic_store_n(&ours, give_back, __ATOMIC_RELEASE);
    for (int i = 0; i < HOOKS; i++) {
        if (!__atomic_load_n(&known[i], __ATOMIC_RELAXED))
            __atomic_store_n(&known[i], real_symbol(library, reals[i].name), __ATOMIC_RELEASE);
    }
}

void *cupti_stand_in(const char *name, void *found)
{
    for (int i = 0; found && i < HOOKS; i++) {
        if (strcmp(reals[i].name, name) == 0) {
            __atomic_store_n(&known[i], found, __ATOMIC_RELEASE);
            memcpy(&found, &reals[i].hook, sizeof(found));
            return found;
        }
    }
    return found;
}

int cuptiSubscribe(void **out_subscriber, cupti_callback *callback, void *user)
{
    subscribe_type *real = (subscribe_type *)find(SUBSCRIBE, __builtin_return_address(0));
    int rc = real ? real(out_subscriber, callback, user) : CUPTI_UNKNOWN;

    if (rc == CUPTI_TAKEN && yields())
        rc = real(out_subscriber, callback, user);
    say_if_taken(rc);
    return rc;
}

int cuptiSubscribe_v2(void **out_subscriber, cupti_callback *callback, void *user,
                      struct cupti_subscriber *params)
{
    subscribe_v2_type *real = (subscribe_v2_type *)find(SUBSCRIBE_V2, __builtin_return_address(0));
    int rc = real ? real(out_subscriber, callback, user, params) : CUPTI_UNKNOWN;

    if (rc == CUPTI_TAKEN && yields())
        rc = real(out_subscriber, callback, user, params);
    say_if_taken(rc);
    return rc;
}

/* It may do without a subscription, and then takes our buffers: nothing refuses it. */
int cuptiActivityRegisterCallbacks(cupti_request *request, cupti_complete *complete)
{
    register_type *real = (register_type *)find(REGISTER, __builtin_return_address(0));

    if (!real)
        return CUPTI_UNKNOWN;
    yields();
    return real(request, complete);
}

void cupti_give_back(const struct cupti *of, void *subscriber)
{
    const int rc = of->unsubscribe(subscriber);

    if (rc != 0)
        cupti_say("no other tool can have CUPTI either (error %d of cuptiUnsubscribe)", rc);
}
