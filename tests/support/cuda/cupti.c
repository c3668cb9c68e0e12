/* SPDX-License-Identifier: Apache-2.0 */
/* libcupti.so.13 of the double: plays that of any toolkit. See double.h. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "client/inject/cupti/short.h"
#include "tests/support/cuda/double.h"
#include "tests/support/cuda/toolkits.h"

enum {
    INVALID = 1,
    INVALID_KIND = 21,
    IDS = 2048,
    FULL_MAX = 400,
    FORCED = 1,
    RECORD_BYTES_MAX = 256,
    OVERHEAD_NS = 900000000,
    GARBAGE_AFTER = 50,
    NOBODYS = 5000,
};

struct filled {
    uint8_t *memory;
    size_t bytes, used;
    uint64_t end_ns; /* when all in it is finished */
};

/* One buffer for all threads, as before toolkit 13. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct filled current;
static struct filled full[FULL_MAX];
static size_t full_count, dropped;
static uint8_t kinds[CUPTI_KINDS];
static bool is_zeroed; /* the tool clears buffers itself */
static bool is_left;   /* kernels or graphs were asked for, and are not any more */
static uint8_t ids[CUPTI_DOMAINS][IDS];
static cupti_callback *callback;
static void *callback_user;
static cupti_request *request;
static cupti_complete *complete;
static uint32_t correlations;
static void *const the_subscriber = &correlations;
static const struct toolkit *played = &toolkits[TOOLKITS - 1];
static const char *failures;
static char mode;

static uint32_t on_enter(uint32_t domain, uint32_t id, const char *function, const char *symbol);
static void on_leave(uint32_t domain, uint32_t id, const char *function, const char *symbol,
                     uint32_t correlation);
static void on_put(uint32_t kind, const void *record, uint64_t end_ns);
static int on_has_kind(uint32_t kind);
static void on_node(uint32_t id, void *node, void *original);

static const struct double_tool mine = {on_enter, on_leave, on_put, on_has_kind, on_node};

__attribute__((constructor)) static void start(void)
{
    const char *toolkit = getenv("CUDA_DOUBLE_TOOLKIT"), *records = getenv("CUDA_DOUBLE_RECORDS");

    for (size_t i = 0; toolkit && i < TOOLKITS; i++) {
        if (strcmp(toolkit, toolkits[i].name) == 0)
            played = &toolkits[i];
    }
    if (toolkit && strcmp(toolkit, toolkit_ancient.name) == 0)
        played = &toolkit_ancient;
    mode = records ? records[0] : '\0';
    failures = getenv("CUDA_DOUBLE_FAIL");
    cuda_double_attach(&mine);
}

/* What $CUDA_DOUBLE_FAIL has this function answer. */
static int script(const char *function)
{
    const char *at = failures ? strstr(failures, function) : NULL;

    return at && at[strlen(function)] == '=' ? atoi(at + strlen(function) + 1) : 0;
}

/* The same of one kind of record: after a slash. */
static int script_of_kind(const char *function, uint32_t kind)
{
    char name[64];

    snprintf(name, sizeof(name), "%s/%u", function, kind);
    return script(name);
}

#define SCRIPTED()                                                                                 \
    do {                                                                                           \
        int scripted_ = script(__func__);                                                          \
        if (scripted_)                                                                             \
            return scripted_;                                                                      \
    } while (0)

static size_t bytes_of(uint32_t kind)
{
    return toolkit_bytes(played, kind);
}

/* As records.h has it, which for some is shorter than the newest. */
static size_t own_bytes(uint32_t kind)
{
    static const size_t bytes[CUPTI_KINDS] = {
        [CUPTI_KERNEL] = sizeof(struct cupti_kernel),
        [CUPTI_MEMCPY] = sizeof(struct cupti_memcpy),
        [CUPTI_MEMCPY2] = sizeof(struct cupti_memcpy2),
        [CUPTI_MEMSET] = sizeof(struct cupti_memset),
        [CUPTI_GRAPH] = sizeof(struct cupti_graph),
        [CUPTI_SYNC] = sizeof(struct cupti_sync),
        [CUPTI_MEMORY] = sizeof(struct cupti_memory),
        [CUPTI_EVENT] = sizeof(struct cupti_event),
        [CUPTI_OVERHEAD] = sizeof(struct cupti_overhead),
        [CUPTI_CONTEXT] = sizeof(struct cupti_context),
        [CUPTI_POOL] = sizeof(struct cupti_pool),
        [CUPTI_JIT] = sizeof(struct cupti_jit),
    };

    return bytes[kind];
}

/* --- Records of chosen fields, from 13.3 on --- */

static struct {
    cupti_request_v2 *request;
    cupti_complete_v2 *complete;
} short_hooks;
static int is_chosen; /* the attribute is set */
static struct cupti_field_layout chosen[CUPTI_KINDS][CUPTI_FIELDS];
static struct cupti_layout layouts[CUPTI_KINDS], *layout_list[CUPTI_KINDS];

static const struct {
    uint32_t kind;
    int id;
    size_t offset, size;
} known_fields[] = {
#define FIELD(kind, record, member, id, since, theirs)                                             \
    {kind, id, offsetof(struct record, member), sizeof(((struct record *)0)->member)},
#include "client/inject/cupti/fields.def"
#undef FIELD
};
enum { KNOWN = sizeof(known_fields) / sizeof(known_fields[0]) };

static size_t known(uint32_t kind, int id)
{
    size_t i = 0;

    while (i < KNOWN && (known_fields[i].kind != kind || known_fields[i].id != id))
        i++;
    return i;
}

static size_t short_bytes(uint32_t kind)
{
    return layouts[kind].record_bytes;
}

/* One after the other, each at its own alignment; numbers of calls have 64 bits here. */
static int choose(uint32_t kind, const struct cupti_config *config)
{
    const int *wanted = config->selection.ids;
    size_t at = 0;

    if (config->bytes < sizeof(*config) || config->selection.count == 0 || wanted[0] != 0 ||
        config->selection.count > CUPTI_FIELDS)
        return INVALID;
    for (size_t i = 0; i < config->selection.count; i++) {
        const size_t place = known(kind, wanted[i]);
        size_t size;

        if (place == KNOWN)
            return INVALID;
        size = known_fields[place].size;
        if (kind == CUPTI_KERNEL &&
            known_fields[place].offset == offsetof(struct cupti_kernel, correlation))
            size = 8;
        at = (at + size - 1) / size * size;
        chosen[kind][i] =
            (struct cupti_field_layout){sizeof(chosen[kind][i]), wanted[i], at, size, size};
        at += size;
    }
    layouts[kind] = (struct cupti_layout){sizeof(layouts[kind]), chosen[kind],
                                          config->selection.count, (at + 7) / 8 * 8};
    layout_list[kind] = &layouts[kind];
    return 0;
}

static void short_pack(uint32_t kind, const void *whole, uint8_t *out)
{
    memset(out, 0, short_bytes(kind));
    for (size_t i = 0; i < layouts[kind].count; i++) {
        const struct cupti_field_layout *to = &chosen[kind][i];
        const size_t place = known(kind, to->id);

        memcpy(out + to->offset, (const uint8_t *)whole + known_fields[place].offset,
               known_fields[place].size);
    }
}

/* Of what nobody cleared something stays. */
static void write_whole(uint8_t *out, const void *record, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        out[i] = (uint8_t)((is_zeroed ? out[i] : 0) | ((const uint8_t *)record)[i]);
}

static void hand_over(uint8_t *buffer, size_t bytes, size_t valid)
{
    const struct cupti_complete_info info = {sizeof(info), 1, layout_list, CUPTI_KINDS};

    if (short_hooks.complete)
        short_hooks.complete(buffer, bytes, valid, &info);
    else
        complete(NULL, 0, buffer, bytes, valid);
}

static void give_back(const struct filled *filled)
{
    const size_t less = mode == 'c' && filled->used ? sizeof(uint64_t) : 0;

    hand_over(filled->memory, filled->bytes, filled->used - less);
}

/* --- What the driver tells --- */

static void call_back(uint32_t site, uint32_t domain, uint32_t id, const char *function,
                      const char *symbol, uint32_t correlation)
{
    uint64_t slot = 0;
    const struct cupti_call data = {.site = site,
                                    .function = function,
                                    .symbol = symbol,
                                    .slot = &slot,
                                    .correlation = correlation};

    if (callback && id < IDS && __atomic_load_n(&ids[domain][id], __ATOMIC_RELAXED))
        callback(callback_user, domain, id, &data);
}

/* A call of the driver within one of the runtime has its number. */
static _Thread_local uint32_t outer;

static uint32_t on_enter(uint32_t domain, uint32_t id, const char *function, const char *symbol)
{
    const uint32_t correlation =
        outer ? outer : __atomic_add_fetch(&correlations, 1, __ATOMIC_RELAXED);

    if (domain == CUPTI_RUNTIME)
        outer = correlation;
    call_back(0, domain, id, function, symbol, correlation);
    return correlation;
}

static void on_leave(uint32_t domain, uint32_t id, const char *function, const char *symbol,
                     uint32_t correlation)
{
    if (domain == CUPTI_RUNTIME)
        outer = 0;
    call_back(1, domain, id, function, symbol, correlation);
}

static void on_node(uint32_t id, void *node, void *original)
{
    const struct cupti_graph_data graph = {.node = node, .original_node = original};
    const struct cupti_resource data = {.data = &graph};

    if (callback && __atomic_load_n(&ids[CUPTI_RESOURCE][id], __ATOMIC_RELAXED))
        callback(callback_user, CUPTI_RESOURCE, id, &data);
}

/* Of graphs it is asked where one is launched: that crashes in a libcupti 13.0. */
static int on_has_kind(uint32_t kind)
{
    if (kind == CUPTI_GRAPH && is_left)
        abort();
    return kinds[kind];
}

static void *hand_back(void *buffer)
{
    struct filled *filled = buffer;

    give_back(filled);
    free(filled);
    return NULL;
}

/* On a thread that is none of the program's. */
static void hand_back_elsewhere(const struct filled *filled)
{
    struct filled *copy = malloc(sizeof(*copy));
    pthread_t thread;

    if (!copy)
        abort();
    *copy = *filled;
    if (pthread_create(&thread, NULL, hand_back, copy) != 0)
        abort();
    pthread_join(thread, NULL);
}

/* Times that CUPTI gets wrong: start and end lie at the same place in all records that have them. */
static void spoil(uint32_t kind, uint8_t *record)
{
    const size_t at = kind == CUPTI_GRAPH ? offsetof(struct cupti_graph, start)
                                          : offsetof(struct cupti_memcpy, start);
    uint64_t times[2];

    if (kind == CUPTI_MEMORY || kind == CUPTI_OVERHEAD || kind == CUPTI_EVENT ||
        kind == CUPTI_SYNC || kind == CUPTI_CONTEXT || kind == CUPTI_POOL)
        return;
    memcpy(times, record + at, sizeof(times));
    if (mode == 'z')
        times[0] = times[1] = 0;
    else if (mode == 'b')
        times[1] = times[0] - 1;
    memcpy(record + at, times, sizeof(times));
}

/* Whether it is in a buffer. */
static bool put(uint32_t kind, const void *record, uint64_t end_ns)
{
    const size_t bytes = short_bytes(kind) ? short_bytes(kind) : bytes_of(kind);
    uint64_t whole[RECORD_BYTES_MAX / sizeof(uint64_t)] = {0};
    struct filled out = {0};
    bool has_room;
    size_t limit = 0;

    if (!kinds[kind] || (!request && !short_hooks.request) || mode == 'n')
        return false;
    memcpy(whole, record, own_bytes(kind));
    spoil(kind, (uint8_t *)whole);
    pthread_mutex_lock(&lock);
    if (current.memory && current.used + bytes > current.bytes) {
        if ((mode == 'l' || mode == 'r') && full_count < FULL_MAX)
            full[full_count++] = current;
        else
            out = current;
        current = (struct filled){0};
    }
    if (!current.memory && short_hooks.request)
        short_hooks.request(&current.memory, &current.bytes, &limit, NULL);
    else if (!current.memory)
        request(&current.memory, &current.bytes, &limit);
    has_room =
        current.memory && current.used + bytes <= current.bytes && !(mode == 'd' && end_ns % 2);
    if (!has_room) {
        dropped++;
    } else {
        if (short_bytes(kind))
            short_pack(kind, whole, current.memory + current.used);
        else
            write_whole(current.memory + current.used, whole, bytes);
        current.used += bytes;
        if (end_ns > current.end_ns)
            current.end_ns = end_ns;
    }
    pthread_mutex_unlock(&lock);
    if (out.memory)
        hand_back_elsewhere(&out);
    return has_room;
}

/* Between the others, one that nobody asked for, of a kind that has no reader. */
static void put_unknown(uint32_t kind)
{
    const size_t bytes = bytes_of(kind) ? bytes_of(kind) : sizeof(uint64_t);

    pthread_mutex_lock(&lock);
    if (current.memory && current.used + bytes <= current.bytes) {
        memset(current.memory + current.used, 0xff, bytes);
        memcpy(current.memory + current.used, &kind, sizeof(kind));
        current.used += bytes;
    }
    pthread_mutex_unlock(&lock);
}

static void on_put(uint32_t kind, const void *record, uint64_t end_ns)
{
    static const uint32_t others[] = {TOOLKIT_TO_COME, TOOLKIT_EXTERNAL, TOOLKIT_GREEN_CONTEXT};
    static uint32_t count;

    if (!put(kind, record, end_ns))
        return;
    count++;
    if (mode == 'u')
        put_unknown(others[count % (bytes_of(TOOLKIT_GREEN_CONTEXT) ? 3 : 2)]);
    else if (mode == 'g' && count == GARBAGE_AFTER)
        put_unknown(NOBODYS);
}

void cuda_double_get_hooks(struct double_hooks *out_hooks)
{
    *out_hooks = (struct double_hooks){callback, request, complete, hand_over, played->kernel};
}

void cuda_double_play(size_t toolkit)
{
    played = &toolkits[toolkit < TOOLKITS ? toolkit : TOOLKITS - 1];
}

const struct cupti_layout *cuda_double_layout(uint32_t kind)
{
    return kind < CUPTI_KINDS ? layout_list[kind] : NULL;
}

/* --- What a tool calls: it looks for them by name --- */

int cuptiGetVersion(uint32_t *out_version);
int cuptiSubscribe(void **out_subscriber, cupti_callback *function, void *user);
int cuptiUnsubscribe(void *subscriber);
int cuptiEnableCallback(uint32_t is_on, void *subscriber, uint32_t domain, uint32_t id);
int cuptiEnableDomain(uint32_t is_on, void *subscriber, uint32_t domain);
int cuptiActivityRegisterCallbacks(cupti_request *asks, cupti_complete *takes);
int cuptiActivityEnable(uint32_t kind);
int cuptiActivityDisable(uint32_t kind);
int cuptiActivitySetAttribute(uint32_t attribute, size_t *bytes, void *value);
int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, void **record);
int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *out_count);
int cuptiActivityFlushAll(uint32_t flag);
int cuptiGetGraphNodeId(void *node, uint64_t *out_id);

int cuptiGetVersion(uint32_t *out_version)
{
    SCRIPTED();
    *out_version = played->version;
    return 0;
}

int cuptiSubscribe(void **out_subscriber, cupti_callback *function, void *user)
{
    SCRIPTED();
    if (callback)
        return CUPTI_TAKEN;
    callback = function;
    callback_user = user;
    *out_subscriber = the_subscriber;
    return 0;
}

int cuptiUnsubscribe(void *subscriber)
{
    SCRIPTED();
    if (subscriber != the_subscriber)
        return INVALID;
    callback = NULL;
    memset(ids, 0, sizeof(ids));
    memset(&short_hooks, 0, sizeof(short_hooks));
    memset(layouts, 0, sizeof(layouts));
    is_chosen = 0;
    return 0;
}

int cuptiEnableCallback(uint32_t is_on, void *subscriber, uint32_t domain, uint32_t id)
{
    SCRIPTED();
    if (subscriber != the_subscriber || domain >= CUPTI_DOMAINS || id >= IDS)
        return INVALID;
    __atomic_store_n(&ids[domain][id], is_on, __ATOMIC_RELAXED);
    return 0;
}

int cuptiEnableDomain(uint32_t is_on, void *subscriber, uint32_t domain)
{
    SCRIPTED();
    if (subscriber != the_subscriber || domain >= CUPTI_DOMAINS)
        return INVALID;
    memset(ids[domain], (int)is_on, sizeof(ids[domain]));
    return 0;
}

int cuptiActivityRegisterCallbacks(cupti_request *asks, cupti_complete *takes)
{
    SCRIPTED();
    request = asks;
    complete = takes;
    return 0;
}

int cuptiActivityEnable(uint32_t kind)
{
    SCRIPTED();
    if (script_of_kind(__func__, kind))
        return script_of_kind(__func__, kind);
    if (kind >= CUPTI_KINDS || bytes_of(kind) == 0)
        return INVALID_KIND;
    kinds[kind] = 1;
    return 0;
}

int cuptiActivityDisable(uint32_t kind)
{
    SCRIPTED();
    if (!kinds[kind % CUPTI_KINDS])
        return INVALID;
    kinds[kind % CUPTI_KINDS] = 0;
    is_left = is_left || kind == CUPTI_KERNEL || kind == CUPTI_GRAPH;
    return 0;
}

int cuptiActivitySetAttribute(uint32_t attribute, size_t *bytes, void *value)
{
    SCRIPTED();
    if (attribute != CUPTI_ZEROED_BUFFERS || *bytes != 1 || !value)
        return INVALID;
    is_zeroed = *(const uint8_t *)value;
    return 0;
}

int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, void **record)
{
    uint8_t *at = *record;
    uint32_t kind;

    SCRIPTED();
    if (at) {
        memcpy(&kind, at, sizeof(kind));
        at += bytes_of(kind);
    } else {
        at = buffer;
    }
    if (at + sizeof(uint64_t) > buffer + valid)
        return CUPTI_END_OF_BUFFER;
    memcpy(&kind, at, sizeof(kind));
    if (bytes_of(kind) == 0)
        return played->version >= 22 ? INVALID_KIND : CUPTI_UNKNOWN;
    *record = at;
    return 0;
}

int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *out_count)
{
    (void)context;
    (void)stream;
    SCRIPTED();
    pthread_mutex_lock(&lock);
    *out_count = dropped;
    dropped = 0;
    pthread_mutex_unlock(&lock);
    return 0;
}

int cuptiGetGraphNodeId(void *node, uint64_t *out_id)
{
    SCRIPTED();
    if (!node)
        return INVALID;
    *out_id = cuda_double_node_id(node);
    return 0;
}

/* What is not finished has no end, and does not come again. */
static void cut(const struct filled *filled)
{
    const uint64_t now = cuda_double_now();
    uint64_t end;
    uint32_t kind;

    for (size_t at = 0; !is_chosen && at < filled->used; at += bytes_of(kind)) {
        const size_t field = offsetof(struct cupti_memcpy, end);

        memcpy(&kind, filled->memory + at, sizeof(kind));
        if (bytes_of(kind) == 0)
            return; /* a buffer that was given more than once */
        if (kind != CUPTI_KERNEL && kind != CUPTI_MEMCPY && kind != CUPTI_MEMSET)
            continue;
        memcpy(&end, filled->memory + at + field, sizeof(end));
        if (end > now)
            memset(filled->memory + at + field, 0, sizeof(end));
    }
}

/* What a buffer took, with a note that is the tool's to free. */
static void put_overhead(void)
{
    const uint64_t now = cuda_double_now();
    const struct cupti_overhead record = {.kind = CUPTI_OVERHEAD,
                                          .start = now - (mode == 'o' ? OVERHEAD_NS : 1000),
                                          .end = now,
                                          .data = kinds[CUPTI_OVERHEAD] ? malloc(32) : NULL};

    if (!put(CUPTI_OVERHEAD, &record, now))
        free(record.data);
}

int cuptiActivityFlushAll(uint32_t flag)
{
    struct filled out[FULL_MAX + 1];
    size_t count = 0;

    SCRIPTED();
    put_overhead();
    if ((mode == 'l' || mode == 'r') && !(flag & FORCED))
        return 0;
    pthread_mutex_lock(&lock);
    for (; count < full_count; count++)
        out[count] = full[count];
    full_count = 0;
    if (current.memory && (flag & FORCED || current.end_ns <= cuda_double_now())) {
        out[count++] = current;
        current = (struct filled){0};
    }
    pthread_mutex_unlock(&lock);
    for (size_t i = 0; i < count; i++) {
        const struct filled *filled = &out[mode == 'r' ? count - 1 - i : i];

        cut(filled);
        give_back(filled);
    }
    return 0;
}

/* --- The same with a subscriber, from 13.3 on: one that there is not answers as an older library --- */

int cuptiSubscribe_v2(void **out_subscriber, cupti_callback *function, void *user,
                      struct cupti_subscriber *params);
int cuptiActivitySetAttribute_v2(void *subscriber, uint32_t attribute, size_t *bytes, void *value);
int cuptiActivityEnable_v2(void *subscriber, uint32_t kind, struct cupti_config *config);
int cuptiActivityDisable_v2(void *subscriber, uint32_t kind, struct cupti_config *config);
int cuptiActivityRegisterCallbacks_v2(void *subscriber, cupti_request_v2 *asks,
                                      cupti_complete_v2 *takes);
int cuptiActivityGetNextRecord_v2(void *subscriber, uint8_t *buffer, size_t valid, void **record);
int cuptiActivityGetNumDroppedRecords_v2(void *subscriber, void *context, uint32_t stream,
                                         size_t *out_count);

int cuptiSubscribe_v2(void **out_subscriber, cupti_callback *function, void *user,
                      struct cupti_subscriber *params)
{
    const int scripted = script(__func__);

    if (scripted == CUPTI_TAKEN && params->holder)
        strncpy(params->holder, "another", params->holder_bytes);
    return scripted ? scripted : cuptiSubscribe(out_subscriber, function, user);
}

int cuptiActivitySetAttribute_v2(void *subscriber, uint32_t attribute, size_t *bytes, void *value)
{
    SCRIPTED();
    if (subscriber != the_subscriber)
        return INVALID;
    if (attribute != CUPTI_CHOSEN_FIELDS)
        return cuptiActivitySetAttribute(attribute, bytes, value);
    is_chosen = *(uint8_t *)value;
    return 0;
}

int cuptiActivityEnable_v2(void *subscriber, uint32_t kind, struct cupti_config *config)
{
    int rc = subscriber == the_subscriber && is_chosen && config ? 0 : INVALID;

    SCRIPTED();
    if (script_of_kind(__func__, kind))
        return script_of_kind(__func__, kind);
    if (rc == 0)
        rc = choose(kind % CUPTI_KINDS, config);
    return rc ? rc : cuptiActivityEnable(kind);
}

int cuptiActivityDisable_v2(void *subscriber, uint32_t kind, struct cupti_config *config)
{
    (void)config;
    SCRIPTED();
    return subscriber == the_subscriber ? cuptiActivityDisable(kind) : INVALID;
}

int cuptiActivityRegisterCallbacks_v2(void *subscriber, cupti_request_v2 *asks,
                                      cupti_complete_v2 *takes)
{
    SCRIPTED();
    if (subscriber != the_subscriber)
        return INVALID;
    short_hooks.request = asks;
    short_hooks.complete = takes;
    return 0;
}

int cuptiActivityGetNextRecord_v2(void *subscriber, uint8_t *buffer, size_t valid, void **record)
{
    uint8_t *at = *record;
    uint32_t kind;

    SCRIPTED();
    if (subscriber != the_subscriber)
        return INVALID;
    if (at) {
        memcpy(&kind, at, sizeof(kind));
        at += short_bytes(kind);
    } else {
        at = buffer;
    }
    if (at + sizeof(uint64_t) > buffer + valid)
        return CUPTI_END_OF_BUFFER;
    memcpy(&kind, at, sizeof(kind));
    if (kind >= CUPTI_KINDS || short_bytes(kind) == 0)
        return INVALID_KIND;
    *record = at;
    return 0;
}

int cuptiActivityGetNumDroppedRecords_v2(void *subscriber, void *context, uint32_t stream,
                                         size_t *out_count)
{
    SCRIPTED();
    return subscriber == the_subscriber
               ? cuptiActivityGetNumDroppedRecords(context, stream, out_count)
               : INVALID;
}
