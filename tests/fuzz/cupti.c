/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: a buffer of CUPTI as a toolkit writes it, with what lies in it from the input. The first
 * byte says which toolkit's records those are, or that they are of chosen fields; the second one what
 * the recorder refuses. The library that walks over them is that of tests/support/cuda, and the recorder
 * one that ends the process if it is handed what makes no sense. Pointers of records are the library's
 * own: what the input has in their places says which.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "client/inject/cupti/private.h"
#include "client/inject/real.h"
#include "client/inject/cupti/short.h"
#include "client/inject/names.h"
#include "client/inject/recorder.h"
#include "client/inject/stack.h"
#include "tests/fuzz/accepted.h"
#include "tests/support/cuda/double.h"
#include "tests/support/cuda/toolkits.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
    NO_LANES = 1,
    NO_OPS = 2,
    HEAD = 2,
    NOTE_BYTES = 16,
    NAME_ID = 24,
    DATA_ID = 7,
    ROOM = 20,
    UNREAD_FROM = 224
};

int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, void **record);

static struct cupti whole = {.next_record = cuptiActivityGetNextRecord};
static struct cupti shortened; /* of the newest toolkit */
static const struct cupti *now_read;
static uint8_t refused;
static bool is_unread; /* the level was given up */
static uint64_t recorded;

/* --- The recorder --- */

static const uint32_t level_on = OPTRACE_ON;
OT_TLS uint32_t recorder_idle;
const uint32_t recorder_closed_level;

static void expect(bool is_so)
{
    if (!is_so)
        abort();
}

static int take_span(uint32_t op, uint64_t lane_run, uint64_t start, uint64_t end,
                     uint64_t correlation)
{
    (void)correlation;
    expect(op && (uint32_t)lane_run && start > 0 && start <= end && end <= INT64_MAX);
    recorded++;
    return 0;
}

static int take(const struct optrace_event *event)
{
    expect(event->lane && event->flags == OPTRACE_EVENT_REALTIME && event->kind);
    recorded++;
    return 0;
}

static int define_op(const struct optrace_op_info *info, uint32_t *out_op)
{
    expect(info->name && strlen(info->type) > 0 && (!info->device || strlen(info->device) < 24));
    if (info->params)
        expect(info->params[strlen(info->params) - 1] == '}');
    *out_op = 1;
    return refused & NO_OPS ? -1 : 0;
}

static int define_lane(const struct optrace_lane_info *info, uint32_t *out_lane)
{
    expect(strlen(info->name) > 0);
    *out_lane = 1;
    return refused & NO_LANES ? -1 : 0;
}

static uint32_t name(enum optrace_name_type type, const char *text)
{
    (void)type;
    expect(strlen(text) > 0);
    return refused & NO_OPS ? 0 : 1;
}

static void mark(uint32_t op)
{
    expect(op != 0);
}

static uint32_t set_run(uint32_t number)
{
    return number;
}

static int flush(uint32_t timeout_ms)
{
    return timeout_ms > 0 ? 0 : -1;
}

struct recorder recorder = {.level = &level_on,
                            .record = take,
                            .op_define = define_op,
                            .lane_define = define_lane,
                            .name = name,
                            .mark = mark,
                            .run_set = set_run,
                            .flush = flush};

/* --- Its ring: now there is more room, now less, and none before each third time --- */

static struct ot_wire_record ring[ROOM + OT_AHEAD];
static uint32_t room, committed, times;

static struct ot_spans reserve(void)
{
    expect(times == 0 || committed <= room);
    room = ++times % 3 == 0 ? 0 : times * 7 % ROOM + 1;
    committed = 0;
    return room ? (struct ot_spans){ring, ring + room} : (struct ot_spans){NULL, NULL};
}

static void commit(uint32_t count)
{
    expect(count > 0 && count <= room - committed);
    for (uint32_t end = committed + count; committed < end; committed++) {
        const struct ot_wire_record *record = &ring[committed];

        expect(record->kind == OT_RECORD_SPAN && record->flags == OT_RECORD_REALTIME);
        take_span(record->op_id, ot_lane_run(record->lane_id, record->run), record->start_ticks,
                  record->end_ticks, record->correlation);
    }
}

static void fetch(void)
{
}

struct recorder_spans recorder_spans = {take_span, reserve, commit, fetch};

bool recorder_look(void)
{
    return true;
}

/* Each is made anew, so that no input fills a table for the next ones. */
uint64_t names_find(const void *key, size_t bytes, names_make *make, const void *context)
{
    expect(key && bytes <= NAMES_KEY_BYTES);
    return make(context);
}

uint64_t names_find_always(const void *key, size_t bytes, names_make *make, const void *context)
{
    return names_find(key, bytes, make, context);
}

uint64_t names_known(const void *key, size_t bytes)
{
    expect(key && bytes <= NAMES_KEY_BYTES);
    return 0;
}

size_t stack_path(char *out_path, size_t bytes)
{
    expect(bytes > 0);
    out_path[0] = '\0';
    return 0;
}

/* --- The rest of the double, and buffers --- */

void cuda_double_attach(const struct double_tool *tool)
{
    (void)tool;
}

uint64_t cuda_double_now(void)
{
    return 1;
}

uint64_t cuda_double_node_id(const void *node)
{
    return (uintptr_t)node;
}

void *real_symbol(void *handle, const char *name)
{
    return dlsym(handle, name);
}

void cupti_buffers_request(uint8_t **out_buffer, size_t *out_bytes, size_t *out_record_limit)
{
    *out_buffer = NULL;
    *out_bytes = *out_record_limit = 0;
}

void cupti_buffers_complete(void *context, uint32_t stream, uint8_t *buffer, size_t bytes,
                            size_t valid)
{
    size_t cleared;

    (void)context, (void)stream;
    expect(valid <= bytes);
    if (is_unread) {
        cupti_decode_nothing(now_read, buffer, valid);
        return;
    }
    cupti_decode_soon(now_read, buffer, valid);
    cleared = cupti_decode(now_read, buffer, valid);
    expect(cleared <= valid);
    for (size_t i = 0; i < cleared; i++)
        expect(buffer[i] == 0);
}

void cupti_give_back(const struct cupti *cupti, void *subscriber)
{
    (void)cupti, (void)subscriber;
    abort();
}

/* --- Inputs --- */

/* Where a field of a record lies that a struct of ours has at `offset`; 0: nowhere, or it is cut off. */
static size_t place_of(uint32_t kind, size_t offset, int short_id)
{
    const struct cupti_layout *layout = now_read->is_short ? cuda_double_layout(kind) : NULL;

    if (!now_read->is_short)
        return offset + sizeof(void *) <= now_read->record_bytes[kind] ? offset : 0;
    for (size_t i = 0; layout && i < layout->count; i++) {
        if (layout->fields[i].id == short_id)
            return layout->fields[i].offset;
    }
    return 0;
}

static size_t length_of(uint32_t kind)
{
    const struct cupti_layout *layout = now_read->is_short ? cuda_double_layout(kind) : NULL;

    return layout ? layout->record_bytes : now_read->is_short ? 0 : now_read->record_bytes[kind];
}

static void set_pointer(uint8_t *record, uint32_t kind)
{
    static const char *const names[] = {NULL, "", "_Z6kernelPfi", "_Z", "a \"name\"\n\xff"};
    const size_t place = kind == CUPTI_KERNEL
                             ? place_of(kind, offsetof(struct cupti_kernel, name), NAME_ID)
                             : place_of(kind, offsetof(struct cupti_overhead, data), DATA_ID);
    const void *pointer =
        kind == CUPTI_KERNEL ? (const void *)names[record[place] % (sizeof(names) / sizeof(*names))]
                             : NULL;

    if (place == 0)
        return;
    if (kind == CUPTI_OVERHEAD && record[place] % 2)
        pointer = malloc(NOTE_BYTES);
    memcpy(record + place, &pointer, sizeof(pointer));
}

/* As far as the library finds records. */
static void set_pointers(uint8_t *buffer, size_t valid)
{
    void *record = NULL;
    uint32_t kind;

    while (now_read->next_record(buffer, valid, &record) == 0) {
        memcpy(&kind, record, sizeof(kind));
        if ((kind == CUPTI_KERNEL || kind == CUPTI_OVERHEAD) &&
            length_of(kind) <= (size_t)(buffer + valid - (uint8_t *)record))
            set_pointer(record, kind);
    }
}

static void measure(struct cupti *cupti, size_t toolkit)
{
    cuda_double_play(toolkit);
    cupti->version = toolkits[toolkit].version;
    for (uint32_t kind = 0; kind < CUPTI_KINDS; kind++)
        cupti->record_bytes[kind] = kind == TOOLKIT_EXTERNAL || kind == TOOLKIT_GREEN_CONTEXT
                                        ? 0
                                        : (uint16_t)toolkit_bytes(&toolkits[toolkit], kind);
}

static void no_callback(void *user, uint32_t domain, uint32_t id, const void *data)
{
    (void)user, (void)domain, (void)id, (void)data;
}

/* The library finds its functions in this program. */
static void open_short(void)
{
    measure(&shortened, TOOLKITS - 1);
    shortened.handle = dlopen(NULL, RTLD_NOW);
    setenv("OPTRACE_CUPTI_RECORDS", "short", 1);
    expect(cupti_subscribe(&shortened, no_callback) == 0 && shortened.is_short);
    expect(shortened.register_callbacks(NULL, NULL) == 0);
    for (uint32_t kind = 0; kind < CUPTI_KINDS; kind++)
        expect(shortened.record_bytes[kind] == 0 || shortened.enable(kind) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct double_hooks hooks;
    uint8_t *buffer;

    if (!shortened.is_short)
        open_short();
    if (size < HEAD)
        return 0;
    refused = data[1];
    is_unread = data[0] >= UNREAD_FROM;
    size -= HEAD;
    buffer = malloc(size + !size);
    if (!buffer)
        abort();
    memcpy(buffer, data + HEAD, size);
    recorded = 0;
    if (data[0] % (TOOLKITS + 1) == TOOLKITS) {
        now_read = &shortened;
        set_pointers(buffer, size);
        cuda_double_get_hooks(&hooks);
        hooks.hand_over(buffer, size, size);
    } else {
        now_read = &whole;
        measure(&whole, data[0] % (TOOLKITS + 1));
        set_pointers(buffer, size);
        cupti_buffers_complete(NULL, 0, buffer, size, size);
    }
    fuzz_accepted(recorded > 0);
    free(buffer);
    return 0;
}
