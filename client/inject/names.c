/* SPDX-License-Identifier: Apache-2.0 */
/* A hash table that grows by making another, and ops of texts. */
#include "client/inject/names.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "client/inject/recorder.h"
#include "client/inject/runs.h"

enum { SLOTS_FIRST = 256, PARAMS_BYTES = 2048 };

struct names_entry {
    uint64_t hash;
    uint64_t value;
    size_t bytes;
    unsigned char key[];
};

/* Readers may be in an old one: they stay, and are no more than the new one together. */
struct table {
    struct table *older; /* reachable, for who looks for leaks in the program */
    size_t mask;
    struct names_entry *slots[];
};

static struct table *table;
static size_t entry_count;

static uint64_t hash_of(const unsigned char *key, size_t bytes)
{
    uint64_t hash = bytes * UINT64_C(0x9e3779b97f4a7c15), other = ~hash;

    for (; bytes >= 16;
         key += 16, bytes -= 16) { /* two at a time, which do not wait for each other */
        uint64_t words[2];

        memcpy(words, key, sizeof(words));
        hash = (hash ^ words[0]) * UINT64_C(0xff51afd7ed558ccd);
        other = (other ^ words[1]) * UINT64_C(0xc4ceb9fe1a85ec53);
        hash ^= hash >> 32;
        other ^= other >> 29;
    }
    hash ^= other;
    for (; bytes >= 8; key += 8, bytes -= 8) {
        uint64_t word;

        memcpy(&word, key, sizeof(word));
        hash = (hash ^ word) * UINT64_C(0xff51afd7ed558ccd);
        hash ^= hash >> 32;
    }
    for (; bytes > 0; key++, bytes--)
        hash = (hash ^ *key) * UINT64_C(0x100000001b3);
    return hash ^ hash >> 29;
}

/* Not by memcmp(): the thread sanitizer of a program sees it read, and not how it was published. */
static bool is_same(const unsigned char *a, const unsigned char *b, size_t bytes)
{
    uint64_t differ = 0;

    for (; bytes >= 8; a += 8, b += 8, bytes -= 8) {
        uint64_t words[2];

        memcpy(&words[0], a, 8);
        memcpy(&words[1], b, 8);
        differ |= words[0] ^ words[1];
    }
    for (; bytes > 0; a++, b++, bytes--)
        differ |= (uint64_t)(*a ^ *b);
    return differ == 0;
}

static const struct names_entry *find(const struct table *where, uint64_t hash, const void *key,
                                      size_t bytes, size_t *out_place)
{
    size_t place = hash & where->mask;

    for (;; place = (place + 1) & where->mask) {
        const struct names_entry *entry = __atomic_load_n(&where->slots[place], __ATOMIC_ACQUIRE);

        *out_place = place;
        if (!entry ||
            (entry->hash == hash && entry->bytes == bytes && is_same(entry->key, key, bytes)))
            return entry;
    }
}

/* A table with room for one more; needs the lock. */
static bool reserve(void)
{
    const size_t slots = table ? table->mask + 1 : 0;
    const size_t wanted = slots ? slots * 2 : SLOTS_FIRST;
    struct table *larger;

    if (entry_count * 2 < slots)
        return true;
    larger = calloc(1, sizeof(*larger) + wanted * sizeof(larger->slots[0]));
    if (!larger)
        return false;
    larger->older = table;
    larger->mask = wanted - 1;
    for (size_t i = 0; i < slots; i++) {
        struct names_entry *entry = table->slots[i];
        size_t place;

        if (entry && !find(larger, entry->hash, entry->key, entry->bytes, &place))
            larger->slots[place] = entry;
    }
    __atomic_store_n(&table, larger, __ATOMIC_RELEASE);
    return true;
}

/* Needs the lock. */
static const struct names_entry *add(uint64_t hash, const void *key, size_t bytes, names_make *make,
                                     const void *context, bool always)
{
    const struct names_entry *known;
    struct names_entry *entry;
    size_t place;

    if (!reserve())
        return NULL;
    known = find(table, hash, key, bytes, &place); /* another thread may have been here */
    if (known)
        return known;
    if (entry_count >= NAMES_MAX && !always)
        return NULL;
    entry = malloc(sizeof(*entry) + bytes);
    if (!entry)
        return NULL;
    entry->hash = hash;
    entry->bytes = bytes;
    memcpy(entry->key, key, bytes);
    entry->value = make(context);
    __atomic_store_n(&table->slots[place], entry, __ATOMIC_RELEASE);
    entry_count++;
    return entry;
}

static inline const struct names_entry *find_or_add(const void *key, size_t bytes, names_make *make,
                                                    const void *context, bool always)
{
    const struct table *now = __atomic_load_n(&table, __ATOMIC_ACQUIRE);
    const uint64_t hash = hash_of(key, bytes);
    const struct names_entry *entry;
    size_t place;

    entry = now ? find(now, hash, key, bytes, &place) : NULL;
    if (LIKELY(entry))
        return entry;
    recorder_lock(RECORDER_LOCK_NAMES);
    entry = add(hash, key, bytes, make, context, always);
    recorder_unlock(RECORDER_LOCK_NAMES);
    return entry;
}

uint64_t names_known(const void *key, size_t bytes)
{
    const struct table *where = __atomic_load_n(&table, __ATOMIC_ACQUIRE);
    const struct names_entry *known;
    size_t place;

    known = where ? find(where, hash_of(key, bytes), key, bytes, &place) : NULL;
    return known ? known->value : 0;
}

uint64_t names_find(const void *key, size_t bytes, names_make *make, const void *context)
{
    const struct names_entry *const entry = find_or_add(key, bytes, make, context, false);

    return entry ? entry->value : 0;
}

uint64_t names_find_again(const struct names_entry **last, const void *key, size_t bytes,
                          names_make *make, const void *context)
{
    const struct names_entry *entry = __atomic_load_n(last, __ATOMIC_ACQUIRE);

    if (LIKELY(entry && entry->bytes == bytes && is_same(entry->key, key, bytes)))
        return entry->value;
    entry = find_or_add(key, bytes, make, context, false);
    if (!entry)
        return 0;
    __atomic_store_n(last, entry, __ATOMIC_RELEASE);
    return entry->value;
}

uint64_t names_find_always(const void *key, size_t bytes, names_make *make, const void *context)
{
    const struct names_entry *const entry = find_or_add(key, bytes, make, context, true);

    return entry ? entry->value : 0;
}

/* --- Ops of texts --- */

/* A JSON string; bytes that are no UTF-8 are the client's to mend. */
static size_t put_json(char *out, size_t room, const char *text)
{
    size_t length = 0;

    for (; *text && length + 8 < room; text++) {
        const unsigned char byte = (unsigned char)*text;

        if (byte == '"' || byte == '\\')
            out[length++] = '\\';
        out[length++] = byte < 0x20 ? ' ' : (char)byte;
    }
    return length;
}

static void put_member(char out[PARAMS_BYTES], const char *key, const char *text)
{
    size_t length = strlen(out);

    if (!text || !text[0] || length + strlen(key) + 16 > PARAMS_BYTES)
        return;
    out[length] = length ? ',' : '{';
    length++;
    out[length++] = '"';
    length += strlen(strcpy(out + length, key));
    length += strlen(strcpy(out + length, "\":\""));
    length += put_json(out + length, PARAMS_BYTES - length - 4, text);
    strcpy(out + length, "\"");
}

uint32_t names_define(const struct names_text *text)
{
    static const char *const types[] = {"label", "phase", "copy", "counter", "mark", "memory"};
    struct optrace_op_info info = OPTRACE_OP_INFO(text->text, types[text->type]);
    char params[PARAMS_BYTES] = "";
    uint32_t op = 0;

    put_member(params, "domain", text->domain);
    put_member(params, "category", text->category);
    if (!params[0]) {
        op = recorder.name((enum optrace_name_type)text->type, text->text);
    } else {
        strcat(params, "}");
        info.params = params;
        if (recorder.op_define(&info, &op) < 0)
            op = 0;
    }
    if (text->type == OPTRACE_LABEL)
        runs_note(op, text->text);
    return op;
}
