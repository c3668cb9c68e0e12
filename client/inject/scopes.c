/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks of threads, and a table of ranges that are open. */
#include "client/inject/scopes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "client/inject/recorder.h"
#include "client/inject/thread_memory.h"

enum {
    STACK_FIRST = 32,
    STACK_MAX = 4096, /* the client records 120 at once; deeper ones are counted by it as lost */
    NAMED_MAX = 256,  /* threads that others have named and that did nothing yet */
};

OT_TLS struct scopes *scopes_mine;

static struct range {
    struct scopes_id id;
    uint64_t start;
    uint32_t op; /* 0: it is not recorded */
    uint32_t lane;
    uint32_t generation;
    bool is_open;
} ranges[SCOPES_RANGES_MAX];

static struct named {
    uint32_t tid;
    char name[64];
} named[NAMED_MAX];
static size_t named_count;

static uint32_t forks_seen;

/* What the parent has begun does not exist in the child. */
static void lock(void)
{
    recorder_lock(RECORDER_LOCK_SCOPES);
    if (forks_seen == recorder_forks)
        return;
    for (size_t i = 0; i < SCOPES_RANGES_MAX; i++)
        ranges[i].is_open = false;
    forks_seen = recorder_forks;
}

/* --- Threads --- */

static void forget_mine(void *context)
{
    struct scopes *ended = context;

    scopes_mine = NULL;
    free(ended->items);
    free(ended);
}

/* A name that another thread gave to this one. */
static void take_name(void)
{
    const uint32_t tid = (uint32_t)syscall(SYS_gettid);
    char name[sizeof(named[0].name)] = "";

    lock();
    for (size_t i = 0; i < named_count; i++) {
        if (named[i].tid == tid) {
            memcpy(name, named[i].name, sizeof(name));
            named[i] = named[--named_count];
            break;
        }
    }
    recorder_unlock(RECORDER_LOCK_SCOPES);
    if (name[0])
        recorder.thread_name(name);
}

static __attribute__((noinline, cold)) struct scopes *make_mine(void)
{
    static struct thread_memory memory = {forget_mine, 0};

    scopes_mine = thread_memory_make(&memory, sizeof(*scopes_mine));
    if (!scopes_mine)
        return NULL;
    recorder_open();
    if (__atomic_load_n(&named_count, __ATOMIC_RELAXED) > 0)
        take_name();
    return scopes_mine;
}

static bool grow(struct scopes *mine)
{
    const uint32_t wanted = mine->capacity ? mine->capacity * 2 : STACK_FIRST;
    struct scope *larger;

    larger = wanted <= STACK_MAX ? realloc(mine->items, wanted * sizeof(*larger)) : NULL;
    if (!larger)
        return false;
    mine->items = larger;
    mine->capacity = wanted;
    return true;
}

/* Where the innermost of an owner stands, from 1; 0: there is none. */
static uint32_t find_innermost(const struct scopes *mine, const void *owner)
{
    uint32_t place = mine->count;

    while (place > 0 && mine->items[place - 1].owner != owner)
        place--;
    return place;
}

__attribute__((noinline, cold)) int scopes_push_slowly(const void *owner, uint32_t op)
{
    struct scopes *mine = scopes_mine ? scopes_mine : make_mine();
    struct scope *scope;
    uint32_t place;

    if (!mine)
        return -1;
    if (mine->count == mine->capacity && !grow(mine)) {
        mine->over++;
        return -1;
    }
    place = find_innermost(mine, owner);
    scope = &mine->items[mine->count++];
    scope->level = place > 0 ? mine->items[place - 1].level + 1 : 0;
    scope->owner = owner;
    scopes_begin_span(scope, op);
    return scope->level;
}

__attribute__((noinline, cold)) int scopes_pop_slowly(const void *owner)
{
    struct scopes *mine = scopes_mine;
    const uint32_t place = mine ? find_innermost(mine, owner) : 0;
    struct scope scope;

    if (place == 0)
        return -1;
    if (mine->over > 0) {
        mine->over--;
        return -1;
    }
    scope = mine->items[place - 1];
    memmove(&mine->items[place - 1], &mine->items[place],
            (mine->count - place) * sizeof(*mine->items));
    mine->count--;
    if (scope.span.id)
        op_end(scope.span);
    return scope.level;
}

/* --- Texts --- */

void scopes_remember(const void *owner, const char *text, uint64_t kind, uint32_t op)
{
    struct scopes *mine = scopes_mine ? scopes_mine : make_mine();
    struct scopes_text *slot;
    const size_t bytes = strnlen(text, sizeof(slot->words)) + 1;

    if (!mine || bytes > sizeof(slot->words))
        return;
    slot = scopes_text_slot(mine, text, owner);
    *slot = (struct scopes_text){.address = text, .owner = owner, .kind = kind, .op = op};
    memcpy(slot->words, text, bytes);
    slot->word_count = (uint32_t)((bytes + 7) / 8);
    memset(&slot->last, 0xff, bytes - (slot->word_count - 1) * sizeof(uint64_t));
}

/* --- Ranges --- */

static uint32_t make_lane(size_t place)
{
    struct optrace_lane_info info = {.kind = OPTRACE_LANE_QUEUE, .native_id = place + 1};
    uint32_t lane = 0;
    char name[32];

    snprintf(name, sizeof(name), "ranges %zu", place + 1);
    info.name = name;
    return recorder.lane_define(&info, &lane) == 0 ? lane : 0;
}

uint64_t scopes_begin(const struct scopes_id *id, uint32_t op)
{
    const bool is_on = recorder_is_on();
    uint64_t number = 0;

    lock();
    for (size_t i = 0; i < SCOPES_RANGES_MAX && number == 0; i++) {
        struct range *range = &ranges[i];

        if (range->is_open)
            continue;
        if (is_on && op != 0 && range->lane == 0)
            range->lane = make_lane(i);
        range->id = id ? *id : (struct scopes_id){0};
        range->op = is_on && range->lane ? op : 0;
        range->start = is_on ? recorder.ticks() : 0;
        range->is_open = true;
        number = (uint64_t)++range->generation << 16 | (i + 1);
    }
    recorder_unlock(RECORDER_LOCK_SCOPES);
    return number;
}

/* Needs the lock, and leaves it. */
static void end_range(struct range *range)
{
    const struct optrace_event event = {
        .op = range->op,
        .lane = range->lane,
        .start = range->start,
        .end = range->op ? recorder.ticks() : 0,
    };

    range->is_open = false;
    recorder_unlock(RECORDER_LOCK_SCOPES);
    if (event.op)
        recorder.record(&event);
}

void scopes_end(uint64_t number)
{
    const size_t place = (number & 0xffff) - 1;

    if (place >= SCOPES_RANGES_MAX)
        return;
    lock();
    if (ranges[place].is_open && ranges[place].generation == number >> 16)
        end_range(&ranges[place]);
    else
        recorder_unlock(RECORDER_LOCK_SCOPES);
}

/* The one that began last. */
void scopes_end_id(const struct scopes_id *id)
{
    struct range *found = NULL;

    lock();
    for (size_t i = 0; i < SCOPES_RANGES_MAX; i++) {
        if (ranges[i].is_open && memcmp(&ranges[i].id, id, sizeof(*id)) == 0 &&
            (!found || ranges[i].start >= found->start))
            found = &ranges[i];
    }
    if (found)
        end_range(found);
    else
        recorder_unlock(RECORDER_LOCK_SCOPES);
}

/* --- Names of threads --- */

/* Where nothing is recorded yet, a name waits for the thread's first range: libraries name their
 * threads in programs that nobody records. */
void scopes_name_thread(uint32_t tid, const char *name)
{
    if (recorder_is_open() && tid == (uint32_t)syscall(SYS_gettid)) {
        recorder.thread_name(name);
        return;
    }
    lock();
    if (named_count < NAMED_MAX) {
        named[named_count].tid = tid;
        snprintf(named[named_count].name, sizeof(named[0].name), "%s", name);
        __atomic_store_n(&named_count, named_count + 1, __ATOMIC_RELAXED);
    }
    recorder_unlock(RECORDER_LOCK_SCOPES);
}
