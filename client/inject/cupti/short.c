/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks for the fields that are read and no others, where CUPTI can do that (13.3 and later) and
 * $OPTRACE_CUPTI_RECORDS is "short": a kernel's record is then less than half as long. What comes is
 * made into the records that decode.c knows. Which of the two ways is the cheaper one nobody has
 * measured yet.
 */
#include "client/inject/cupti/short.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "client/inject/cupti/private.h"
#include "client/inject/real.h"
#include "client/inject/recorder.h"

#define SIZE_OF(record, member) sizeof(((struct record *)0)->member)

static const struct field {
    uint8_t kind, id, offset, size;
    uint32_t since;
} fields[] = {
#define FIELD(kind, record, member, id, since, theirs)                                             \
    {kind, id, offsetof(struct record, member), SIZE_OF(record, member), since},
#include "client/inject/cupti/fields.def"
#undef FIELD
};
enum { COUNT = sizeof(fields) / sizeof(fields[0]), RECORD_BYTES_MAX = 256 };

static const struct cupti *library;
static void *subscriber;
static uint8_t places[CUPTI_KINDS][CUPTI_FIELDS]; /* in `fields`, from 1; 0: it is not asked for */
static OT_TLS struct {
    struct cupti_layout *const *items;
    size_t count;
} layouts; /* of the buffer that this thread hands over */

static struct {
    int (*subscribe)(void **out_subscriber, cupti_callback *callback, void *user,
                     struct cupti_subscriber *params);
    int (*set_attribute)(void *of, uint32_t attribute, size_t *bytes, void *value);
    int (*enable)(void *of, uint32_t kind, struct cupti_config *config);
    int (*disable)(void *of, uint32_t kind, struct cupti_config *config);
    int (*register_callbacks)(void *of, cupti_request_v2 *request, cupti_complete_v2 *complete);
    int (*next_record)(void *of, uint8_t *buffer, size_t valid, void **record);
    int (*dropped)(void *of, void *context, uint32_t stream, size_t *out_count);
} v2;

/* --- In place of the functions without a subscriber --- */

static int set_attribute(uint32_t attribute, size_t *bytes, void *value)
{
    return v2.set_attribute(subscriber, attribute, bytes, value);
}

static int enable(uint32_t kind)
{
    int ids[CUPTI_FIELDS];
    struct cupti_config config = {sizeof(config), {sizeof(config.selection), 0, ids}};

    for (size_t i = 0; i < COUNT; i++) {
        if (fields[i].kind == kind && library->version >= fields[i].since)
            ids[config.selection.count++] = fields[i].id;
    }
    return v2.enable(subscriber, kind, &config);
}

static int disable(uint32_t kind)
{
    return v2.disable(subscriber, kind, NULL);
}

static void request(uint8_t **out_buffer, size_t *out_bytes, size_t *out_record_limit, void *info)
{
    (void)info;
    cupti_buffers_request(out_buffer, out_bytes, out_record_limit);
}

static void complete(uint8_t *buffer, size_t bytes, size_t valid,
                     const struct cupti_complete_info *info)
{
    layouts.items = info ? info->layouts : NULL;
    layouts.count = layouts.items ? info->count : 0;
    cupti_buffers_complete(NULL, 0, buffer, bytes, valid);
    layouts.items = NULL;
    layouts.count = 0;
}

static int register_callbacks(cupti_request *asks, cupti_complete *takes)
{
    (void)asks;
    (void)takes;
    return v2.register_callbacks(subscriber, request, complete);
}

static int next_record(uint8_t *buffer, size_t valid, void **record)
{
    return v2.next_record(subscriber, buffer, valid, record);
}

static int dropped(void *context, uint32_t stream, size_t *out_count)
{
    return v2.dropped(subscriber, context, stream, out_count);
}

/* --- Records --- */

const void *cupti_short_expand(const void *record, size_t bytes)
{
    static uint64_t room[RECORD_BYTES_MAX / sizeof(uint64_t)]; /* under the lock of decode.c */
    const struct cupti_layout *layout;
    uint32_t kind;

    memcpy(&kind, record, sizeof(kind));
    layout = kind < CUPTI_KINDS && kind < layouts.count ? layouts.items[kind] : NULL;
    if (!layout) {
        cupti_say("records of the device were left out: CUPTI does not say how they are laid out");
        return NULL;
    }
    if (layout->record_bytes > bytes) {
        cupti_say("a record of the device was left out: its buffer ends before it does");
        return NULL;
    }
    memset(room, 0, sizeof(room));
    for (size_t i = 0; i < layout->count; i++) {
        const struct cupti_field_layout *from = &layout->fields[i];
        const uint8_t place = from->id >= 0 && from->id < CUPTI_FIELDS ? places[kind][from->id] : 0;
        const struct field *to = &fields[place ? place - 1 : 0];

        if (place && from->offset <= layout->record_bytes &&
            from->size <= layout->record_bytes - from->offset)
            memcpy((uint8_t *)room + to->offset, (const uint8_t *)record + from->offset,
                   from->size < to->size ? from->size : to->size);
    }
    return room;
}

/* --- Which of the two --- */

static bool find_functions(void *handle)
{
    const struct {
        const char *name;
        void *place;
    } functions[] = {
        {"cuptiSubscribe_v2", &v2.subscribe},
        {"cuptiActivitySetAttribute_v2", &v2.set_attribute},
        {"cuptiActivityEnable_v2", &v2.enable},
        {"cuptiActivityDisable_v2", &v2.disable},
        {"cuptiActivityRegisterCallbacks_v2", &v2.register_callbacks},
        {"cuptiActivityGetNextRecord_v2", &v2.next_record},
        {"cuptiActivityGetNumDroppedRecords_v2", &v2.dropped},
    };

    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        void *function = real_symbol(handle, functions[i].name);

        if (!function)
            return false;
        memcpy(functions[i].place, &function, sizeof(function));
    }
    return true;
}

static void take_over(struct cupti *cupti)
{
    cupti->set_attribute = set_attribute;
    cupti->enable = enable;
    cupti->disable = disable;
    cupti->register_callbacks = register_callbacks;
    cupti->next_record = next_record;
    cupti->dropped = dropped;
    cupti->is_short = true;
    for (size_t i = 0; i < COUNT; i++) {
        const size_t end = (size_t)fields[i].offset + fields[i].size;
        uint16_t *bytes = &cupti->record_bytes[fields[i].kind];

        if (cupti->version < fields[i].since || *bytes == 0)
            continue;
        places[fields[i].kind][fields[i].id] = (uint8_t)(i + 1);
        if (*bytes < end)
            *bytes = (uint16_t)end;
    }
}

/* Others that ask by these functions may have CUPTI beside us. */
static int subscribe(struct cupti *cupti, cupti_callback *callback)
{
    char holder[64] = "";
    struct cupti_subscriber params = {sizeof(params), "optrace", holder, sizeof(holder), 1, {0}};
    uint8_t yes = 1;
    size_t bytes = sizeof(yes);
    int rc = v2.subscribe(&subscriber, callback, NULL, &params);

    if (rc == CUPTI_TAKEN && holder[0])
        cupti_say("CUPTI is with %.63s", holder);
    if (rc != 0)
        return rc;
    rc = v2.set_attribute(subscriber, CUPTI_CHOSEN_FIELDS, &bytes, &yes);
    if (rc != 0) {
        cupti_give_back(cupti, subscriber);
        return rc;
    }
    cupti->subscriber = subscriber;
    return 0;
}

int cupti_subscribe(struct cupti *cupti, cupti_callback *callback)
{
    const char *wanted = secure_getenv("OPTRACE_CUPTI_RECORDS");
    int rc;

    if (!wanted || strcmp(wanted, "short") != 0)
        return cupti->subscribe(&cupti->subscriber, callback, NULL);
    if (cupti->version < CUPTI_SHORT_FROM || !find_functions(cupti->handle)) {
        cupti_say("records are of full length: its libcupti is older than 13.3");
        return cupti->subscribe(&cupti->subscriber, callback, NULL);
    }
    library = cupti;
    rc = subscribe(cupti, callback);
    if (rc == 0)
        take_over(cupti);
    if (rc == 0 || rc == CUPTI_TAKEN)
        return rc;
    cupti_say("records are of full length: short ones were refused (error %d)", rc);
    return cupti->subscribe(&cupti->subscriber, callback, NULL);
}
