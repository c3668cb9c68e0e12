/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVTX version 3: ranges, marks, domains, registered texts, names of threads and categories.
 *
 * Each executable and library with NVTX in it looks at NVTX_INJECTION64_PATH at its first call,
 * loads this library and calls InitializeInjectionNvtx2() with a function that finds its tables of
 * handlers. Structs and numbers below are those of that interface. Handles of domains and texts are
 * the tool's to make: they point to structs of this file, and stay for the life of the process.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "base/text_encode.h"
#include "client/inject/found.h"
#include "client/inject/names.h"
#include "client/inject/recorder.h"
#include "client/inject/scopes.h"

/* --- The other side's interface --- */

enum { EXPORT_CALLBACKS = 1, EXPORT_VERSION = 3, MODULE_CORE = 1, MODULE_CORE2 = 5 };
enum { MESSAGE_ASCII = 1, MESSAGE_WIDE = 2, MESSAGE_REGISTERED = 3 };

typedef void (*function)(void);
typedef const void *(*export_table)(uint32_t id);

struct callbacks {
    size_t struct_bytes;
    int (*get_module)(int module, function ***out_table, unsigned *out_count);
};

struct version_info {
    size_t struct_bytes;
    uint32_t version;
    uint32_t reserved;
    void (*set_version)(uint32_t version);
};

struct attributes {
    uint16_t version, bytes;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type, reserved;
    uint64_t payload;
    int32_t message_type;
    union {
        const char *ascii;
        const wchar_t *wide;
        const struct registered *registered;
    } message;
};
_Static_assert(sizeof(struct attributes) == 48, "as NVTX has it");

enum { CATEGORIES_MAX = 64 };

struct domain {
    char *name; /* NULL: the default one */
    struct {
        uint32_t number;
        char *name;
    } categories[CATEGORIES_MAX]; /* in the order of their naming; count is published last */
    uint32_t category_count;
};

struct registered {
    struct domain *domain;
    char *text;
    uint32_t label, mark; /* ops, once they are needed */
};

static struct domain default_domain;

/* --- Texts --- */

/* At most NAMES_KEY_BYTES / 2 of a text, as keys hold it. */
enum { TEXT_BYTES = NAMES_KEY_BYTES / 2 };

static const char *narrow(const wchar_t *wide, char out[TEXT_BYTES])
{
    size_t length = 0;

    for (; wide && *wide && length + 5 < TEXT_BYTES; wide++)
        length += text_encode(out + length, (uint32_t)*wide);
    out[length] = '\0';
    return out;
}

/* In the middle of a character no text ends. */
static const char *cut(const char *text, char out[TEXT_BYTES])
{
    size_t length = strnlen(text, TEXT_BYTES);

    if (length < TEXT_BYTES)
        return text;
    length = TEXT_BYTES - 1;
    while (length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80)
        length--;
    memcpy(out, text, length);
    out[length] = '\0';
    return out;
}

/* --- Ops --- */

static const char *category_name(const struct domain *domain, uint32_t number, char out[16])
{
    const uint32_t count = __atomic_load_n(&domain->category_count, __ATOMIC_ACQUIRE);

    if (number == 0)
        return NULL;
    for (uint32_t i = count; i-- > 0;) {
        if (domain->categories[i].number == number)
            return domain->categories[i].name;
    }
    out[15] = '\0';
    for (size_t i = 15; i-- > 0;) {
        out[i] = (char)('0' + number % 10);
        number /= 10;
        if (number == 0)
            return out + i;
    }
    return out;
}

struct wanted {
    const struct domain *domain;
    const char *text;
    uint32_t category, type;
};

static uint64_t make_op(const void *context)
{
    const struct wanted *wanted = context;
    char number[16];
    const struct names_text text = {wanted->text, wanted->domain->name,
                                    category_name(wanted->domain, wanted->category, number),
                                    wanted->type};

    found_say(FOUND_NVTX);
    return names_define(&text);
}

/* All whose texts are too many to keep. */
static uint32_t other_op(const struct domain *domain, uint32_t type)
{
    const struct wanted other = {domain, "(further names)", 0, type};
    const struct {
        const void *domain;
        uint64_t kind;
    } key = {domain, UINT64_C(1) << 63 | type};

    return (uint32_t)names_find_always(&key, sizeof(key), make_op, &other);
}

static uint32_t find_op(const struct wanted *wanted)
{
    const uint64_t kind = (uint64_t)wanted->category << 8 | wanted->type;
    const size_t length = strlen(wanted->text);
    struct {
        const void *domain;
        uint64_t kind;
        char text[TEXT_BYTES];
    } key;
    uint32_t op;

    key.domain = wanted->domain;
    key.kind = kind;
    memcpy(key.text, wanted->text, length);
    op = (uint32_t)names_find(&key, offsetof(__typeof__(key), text) + length, make_op, wanted);
    return op ? op : other_op(wanted->domain, wanted->type);
}

static uint32_t op_of_text(const struct domain *domain, const char *text, uint32_t category,
                           uint32_t type)
{
    const uint64_t kind = (uint64_t)category << 8 | type;
    uint32_t op = scopes_recall(domain, text, kind);
    char room[TEXT_BYTES];

    if (LIKELY(op))
        return op;
    op = find_op(&(struct wanted){domain, cut(text, room), category, type});
    scopes_remember(domain, text, kind, op);
    return op;
}

static uint32_t op_of_registered(struct registered *registered, uint32_t category, uint32_t type)
{
    uint32_t *place = type == OPTRACE_MARK ? &registered->mark : &registered->label;
    uint32_t op = category ? 0 : __atomic_load_n(place, __ATOMIC_RELAXED);

    if (LIKELY(op))
        return op;
    op = find_op(&(struct wanted){registered->domain, registered->text, category, type});
    if (category == 0)
        __atomic_store_n(place, op, __ATOMIC_RELAXED);
    return op;
}

/* While off nothing is looked up or defined. */
static uint32_t op_of(const struct domain *domain, const struct attributes *attributes,
                      uint32_t type)
{
    char room[TEXT_BYTES];

    if (!recorder_is_on() || !attributes || attributes->bytes < sizeof(*attributes) ||
        !attributes->message.ascii)
        return 0;
    switch (attributes->message_type) {
    case MESSAGE_ASCII:
        return op_of_text(domain, attributes->message.ascii, attributes->category, type);
    case MESSAGE_WIDE:
        return find_op(&(struct wanted){domain, narrow(attributes->message.wide, room),
                                        attributes->category, type});
    case MESSAGE_REGISTERED:
        return op_of_registered((struct registered *)attributes->message.registered,
                                attributes->category, type);
    default:
        return 0;
    }
}

static uint32_t op_of_ascii(const char *text, uint32_t type)
{
    return text && recorder_is_on() ? op_of_text(&default_domain, text, 0, type) : 0;
}

static uint32_t op_of_wide(const wchar_t *text, uint32_t type)
{
    char room[TEXT_BYTES];

    return text && recorder_is_on()
               ? find_op(&(struct wanted){&default_domain, narrow(text, room), 0, type})
               : 0;
}

static const struct domain *domain_of(void *handle)
{
    return handle ? handle : &default_domain;
}

/* --- Handlers --- */

static void mark(uint32_t op)
{
    if (op)
        recorder.mark(op);
}

static void on_mark_ex(const struct attributes *attributes)
{
    mark(op_of(&default_domain, attributes, OPTRACE_MARK));
}

static void on_mark_a(const char *text)
{
    mark(op_of_ascii(text, OPTRACE_MARK));
}

static void on_mark_w(const wchar_t *text)
{
    mark(op_of_wide(text, OPTRACE_MARK));
}

static uint64_t on_start_ex(const struct attributes *attributes)
{
    return scopes_begin(NULL, op_of(&default_domain, attributes, OPTRACE_LABEL));
}

static uint64_t on_start_a(const char *text)
{
    return scopes_begin(NULL, op_of_ascii(text, OPTRACE_LABEL));
}

static uint64_t on_start_w(const wchar_t *text)
{
    return scopes_begin(NULL, op_of_wide(text, OPTRACE_LABEL));
}

static void on_end(uint64_t number)
{
    scopes_end(number);
}

static NOINLINE int push_ex(const struct domain *domain, const struct attributes *attributes)
{
    return scopes_push(domain, op_of(domain, attributes, OPTRACE_LABEL));
}

static int on_push_ex(const struct attributes *attributes)
{
    return scopes_are_quiet() ? SCOPES_UNTRACKED : push_ex(&default_domain, attributes);
}

static NOINLINE int push_a(const char *text)
{
    return scopes_push(&default_domain, op_of_ascii(text, OPTRACE_LABEL));
}

static int on_push_a(const char *text)
{
    return scopes_are_quiet() ? SCOPES_UNTRACKED : push_a(text);
}

static int on_push_w(const wchar_t *text)
{
    return scopes_push(&default_domain, op_of_wide(text, OPTRACE_LABEL));
}

static int on_pop(void)
{
    return scopes_pop(&default_domain);
}

static void name_category(struct domain *domain, uint32_t number, const char *name)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

    pthread_mutex_lock(&lock);
    if (name && domain->category_count < CATEGORIES_MAX) {
        domain->categories[domain->category_count].number = number;
        domain->categories[domain->category_count].name = strndup(name, TEXT_BYTES);
        __atomic_store_n(&domain->category_count, domain->category_count + 1, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&lock);
}

static void on_name_category_a(uint32_t number, const char *name)
{
    name_category(&default_domain, number, name);
}

static void on_name_category_w(uint32_t number, const wchar_t *name)
{
    char room[TEXT_BYTES];

    name_category(&default_domain, number, narrow(name, room));
}

static void on_name_thread_a(uint32_t tid, const char *name)
{
    if (name)
        scopes_name_thread(tid, name);
}

static void on_name_thread_w(uint32_t tid, const wchar_t *name)
{
    char room[TEXT_BYTES];

    on_name_thread_a(tid, narrow(name, room));
}

static void on_domain_mark(void *handle, const struct attributes *attributes)
{
    mark(op_of(domain_of(handle), attributes, OPTRACE_MARK));
}

static uint64_t on_domain_start(void *handle, const struct attributes *attributes)
{
    return scopes_begin(NULL, op_of(domain_of(handle), attributes, OPTRACE_LABEL));
}

static void on_domain_end(void *handle, uint64_t number)
{
    scopes_end(number);
}

static int on_domain_push(void *handle, const struct attributes *attributes)
{
    return scopes_are_quiet() ? SCOPES_UNTRACKED : push_ex(domain_of(handle), attributes);
}

static int on_domain_pop(void *handle)
{
    return scopes_pop(domain_of(handle));
}

static void on_domain_name_category_a(void *handle, uint32_t number, const char *name)
{
    name_category((struct domain *)domain_of(handle), number, name);
}

static void on_domain_name_category_w(void *handle, uint32_t number, const wchar_t *name)
{
    char room[TEXT_BYTES];

    name_category((struct domain *)domain_of(handle), number, narrow(name, room));
}

/* --- Handles --- */

static uint64_t make_domain(const void *context)
{
    struct domain *domain = calloc(1, sizeof(*domain));

    if (domain)
        domain->name = strdup(context);
    return (uintptr_t)domain;
}

/* A name is a domain, whoever makes it. */
static void *on_domain_create_a(const char *name)
{
    struct {
        uint64_t kind;
        char name[TEXT_BYTES];
    } key = {.kind = 1};
    char room[TEXT_BYTES];
    const char *text = cut(name ? name : "", room);
    const size_t length = strlen(text);

    memcpy(key.name, text, length);
    return (void *)(uintptr_t)names_find(&key, offsetof(__typeof__(key), name) + length,
                                         make_domain, text);
}

static void *on_domain_create_w(const wchar_t *name)
{
    char room[TEXT_BYTES];

    return on_domain_create_a(narrow(name, room));
}

static uint64_t make_registered(const void *context)
{
    const struct wanted *wanted = context;
    struct registered *made = calloc(1, sizeof(*made));

    if (made) {
        made->domain = (struct domain *)wanted->domain;
        made->text = strdup(wanted->text);
    }
    return (uintptr_t)made;
}

static void *on_register_a(void *handle, const char *text)
{
    struct {
        uint64_t kind;
        const void *domain;
        char text[TEXT_BYTES];
    } key = {.kind = 2, .domain = domain_of(handle)};
    char room[TEXT_BYTES];
    const struct wanted wanted = {key.domain, cut(text ? text : "", room), 0, 0};
    const size_t length = strlen(wanted.text);

    memcpy(key.text, wanted.text, length);
    return (void *)(uintptr_t)names_find(&key, offsetof(__typeof__(key), text) + length,
                                         make_registered, &wanted);
}

static void *on_register_w(void *handle, const wchar_t *text)
{
    char room[TEXT_BYTES];

    return on_register_a(handle, narrow(text, room));
}

/* --- Tables --- */

struct handler {
    unsigned id;
    function handler;
};

#define HANDLER(id, name)                                                                          \
    {                                                                                              \
        id, (function)(name)                                                                       \
    }

static const struct handler core[] = {
    HANDLER(1, on_mark_ex),
    HANDLER(2, on_mark_a),
    HANDLER(3, on_mark_w),
    HANDLER(4, on_start_ex),
    HANDLER(5, on_start_a),
    HANDLER(6, on_start_w),
    HANDLER(7, on_end),
    HANDLER(8, on_push_ex),
    HANDLER(9, on_push_a),
    HANDLER(10, on_push_w),
    HANDLER(11, on_pop),
    HANDLER(12, on_name_category_a),
    HANDLER(13, on_name_category_w),
    HANDLER(14, on_name_thread_a),
    HANDLER(15, on_name_thread_w),
};

static const struct handler core2[] = {
    HANDLER(1, on_domain_mark),
    HANDLER(2, on_domain_start),
    HANDLER(3, on_domain_end),
    HANDLER(4, on_domain_push),
    HANDLER(5, on_domain_pop),
    HANDLER(8, on_domain_name_category_a),
    HANDLER(9, on_domain_name_category_w),
    HANDLER(10, on_register_a),
    HANDLER(11, on_register_w),
    HANDLER(12, on_domain_create_a),
    HANDLER(13, on_domain_create_w),
};

static void install(const struct callbacks *callbacks, int module, const struct handler *handlers,
                    size_t count)
{
    function **table;
    unsigned slots;

    if (!callbacks->get_module(module, &table, &slots))
        return;
    for (size_t i = 0; i < count; i++) {
        if (handlers[i].id < slots && table[handlers[i].id])
            *table[handlers[i].id] = handlers[i].handler;
    }
}

OT_HOOK int InitializeInjectionNvtx2(export_table get);

/* Always 1: for 0 the caller would unload this library and load it again for the next. */
int InitializeInjectionNvtx2(export_table get)
{
    const struct callbacks *callbacks = get(EXPORT_CALLBACKS);
    const struct version_info *version = get(EXPORT_VERSION);

    if (!recorder_wants("nvtx"))
        return 1;
    if (version && version->struct_bytes >= sizeof(*version) && version->set_version)
        version->set_version(3);
    if (callbacks && callbacks->struct_bytes >= sizeof(*callbacks) && callbacks->get_module) {
        install(callbacks, MODULE_CORE, core, sizeof(core) / sizeof(core[0]));
        install(callbacks, MODULE_CORE2, core2, sizeof(core2) / sizeof(core2[0]));
    }
    return 1;
}
