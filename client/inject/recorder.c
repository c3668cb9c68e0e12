/* SPDX-License-Identifier: Apache-2.0 */
/* What all sources share: whose functions record, what is wanted, and locks across fork(). */
#include "client/inject/recorder.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

const uint32_t recorder_closed_level = OPTRACE_OFF;

struct recorder recorder = {.level = &recorder_closed_level};
struct recorder_spans recorder_spans;
OT_TLS uint32_t recorder_idle;
uint32_t recorder_primitives;
uint32_t recorder_forks;
uintptr_t recorder_counted_begin, recorder_counted_end;

static pthread_once_t prepared = PTHREAD_ONCE_INIT;
static pthread_mutex_t locks[RECORDER_LOCK_COUNT] = {
    PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
    PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER,
    PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};

static void before_fork(void)
{
    for (int i = 0; i < RECORDER_LOCK_COUNT; i++)
        pthread_mutex_lock(&locks[i]);
}

static void after_fork_parent(void)
{
    for (int i = RECORDER_LOCK_COUNT; i-- > 0;)
        pthread_mutex_unlock(&locks[i]);
}

static void after_fork_child(void)
{
    recorder_forks++;
    recorder_primitives = 0; /* of threads that are not here */
    after_fork_parent();
}

/* After the client has told of its own handlers, as it was loaded: these are called before them. */
static void prepare_once(void)
{
    pthread_atfork(before_fork, after_fork_parent, after_fork_child);
}

void recorder_prepare(void)
{
    pthread_once(&prepared, prepare_once);
}

void recorder_lock(enum recorder_lock which)
{
    recorder_prepare();
    pthread_mutex_lock(&locks[which]);
}

bool recorder_try_lock(enum recorder_lock which)
{
    recorder_prepare();
    return pthread_mutex_trylock(&locks[which]) == 0;
}

void recorder_unlock(enum recorder_lock which)
{
    pthread_mutex_unlock(&locks[which]);
}

bool recorder_wants(const char *source)
{
    const char *list = secure_getenv("OPTRACE_SOURCES");
    const size_t length = strlen(source);

    if (!list || !list[0])
        return true;
    while (*list) {
        const size_t word = strcspn(list, ",");

        if (word == length && strncmp(list, source, length) == 0)
            return true;
        list += word + (list[word] == ',');
    }
    return false;
}
