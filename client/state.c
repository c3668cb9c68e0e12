/* SPDX-License-Identifier: Apache-2.0 */
/* The session's and the threads' state, and the lock that guards it. */
#include "client/float_state.h"
#include "client/optrace.h"
#include "client/session.h"

struct ot_session ot_session = {.lock = PTHREAD_MUTEX_INITIALIZER, .link = {.fd = {.number = -1}}};
_Thread_local struct ot_hot ot_hot = {.state = OT_STATE_NONE};
uint32_t optrace_level_now = OPTRACE_OFF;

void ot_entered(void)
{
    ot_hot.busy = true;
    ot_hot.float_state = ot_float_save();
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &ot_hot.cancel_state);
}

bool ot_enter(void)
{
    if (ot_hot.busy)
        return false;
    pthread_mutex_lock(&ot_session.lock);
    ot_entered();
    return true;
}

bool ot_try_enter(void)
{
    if (ot_hot.busy || pthread_mutex_trylock(&ot_session.lock) != 0)
        return false;
    ot_entered();
    return true;
}

void ot_leave(void)
{
    int state = ot_hot.cancel_state;

    ot_float_restore(ot_hot.float_state);
    ot_hot.busy = false;
    pthread_mutex_unlock(&ot_session.lock);
    pthread_setcancelstate(state, NULL);
}

void ot_session_set_level(uint32_t level)
{
    if (ot_session.starts == 0 || ot_session.is_stopping || level > OT_LEVEL_DETAIL)
        level = OT_LEVEL_OFF;
    __atomic_store_n(&optrace_level_now, level, __ATOMIC_RELAXED);
}
