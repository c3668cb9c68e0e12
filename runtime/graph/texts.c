/* SPDX-License-Identifier: Apache-2.0 */
/* The texts of string tensors: an array by number, and a hash table of numbers. */
#include "runtime/graph/texts.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct text {
    size_t length;
    uint64_t hash;
    char bytes[]; /* and a NUL */
};

/* One for all: numbers go from tensor to tensor, which do not know their graph. */
static struct {
    pthread_mutex_t lock;
    struct text **items; /* by number - 1 */
    size_t count, room;
    uint32_t *slots; /* numbers, 0 for free; at most half of them are taken */
    size_t slot_count;
} texts = {.lock = PTHREAD_MUTEX_INITIALIZER};

static uint64_t hash_of(const char *bytes, size_t length)
{
    uint64_t hash = 14695981039346656037u; /* FNV-1a */

    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (uint8_t)bytes[i]) * 1099511628211u;
    return hash ^ hash >> 32;
}

/* The slot that holds the text, or the free one where it belongs. */
static size_t find_slot(const char *bytes, size_t length, uint64_t hash)
{
    size_t slot = hash & (texts.slot_count - 1);

    for (;; slot = (slot + 1) & (texts.slot_count - 1)) {
        const struct text *text;

        if (texts.slots[slot] == 0)
            return slot;
        text = texts.items[texts.slots[slot] - 1];
        if (text->hash == hash && text->length == length && memcmp(text->bytes, bytes, length) == 0)
            return slot;
    }
}

static int grow_slots(void)
{
    size_t count = texts.slot_count ? 2 * texts.slot_count : 64;
    uint32_t *slots = calloc(count, sizeof(*slots));

    if (!slots)
        return -ENOMEM;
    free(texts.slots);
    texts.slots = slots;
    texts.slot_count = count;
    for (size_t i = 0; i < texts.count; i++) {
        size_t slot = texts.items[i]->hash & (count - 1);

        while (slots[slot])
            slot = (slot + 1) & (count - 1);
        slots[slot] = (uint32_t)(i + 1);
    }
    return 0;
}

static int make_room(void)
{
    if (2 * (texts.count + 1) > texts.slot_count && grow_slots() < 0)
        return -ENOMEM;
    if (texts.count == texts.room) {
        size_t room = texts.room ? 2 * texts.room : 32;
        struct text **items = realloc(texts.items, room * sizeof(struct text *));

        if (!items)
            return -ENOMEM;
        texts.items = items;
        texts.room = room;
    }
    return 0;
}

static int64_t add(const char *bytes, size_t length, uint64_t hash, size_t slot)
{
    struct text *text = texts.count < TEXTS_MAX ? malloc(sizeof(*text) + length + 1) : NULL;

    if (!text)
        return texts.count < TEXTS_MAX ? -ENOMEM : -E2BIG;
    text->length = length;
    text->hash = hash;
    memcpy(text->bytes, bytes, length);
    text->bytes[length] = '\0';
    texts.items[texts.count++] = text;
    texts.slots[slot] = (uint32_t)texts.count;
    return (int64_t)texts.count;
}

int64_t texts_number(const char *bytes, size_t length)
{
    uint64_t hash;
    size_t slot;
    int64_t number;

    if (length == 0)
        return 0;
    hash = hash_of(bytes, length);
    pthread_mutex_lock(&texts.lock);
    number = make_room();
    if (number == 0) {
        slot = find_slot(bytes, length, hash);
        number = texts.slots[slot];
        if (number == 0)
            number = add(bytes, length, hash, slot);
    }
    pthread_mutex_unlock(&texts.lock);
    return number;
}

const char *texts_get(int64_t number, size_t *out_length)
{
    const struct text *text = NULL;

    pthread_mutex_lock(&texts.lock);
    if (number > 0 && (uint64_t)number <= texts.count)
        text = texts.items[number - 1];
    pthread_mutex_unlock(&texts.lock);
    *out_length = text ? text->length : 0;
    return text ? text->bytes : "";
}

void texts_forget(void)
{
    pthread_mutex_lock(&texts.lock);
    for (size_t i = 0; i < texts.count; i++)
        free(texts.items[i]);
    free(texts.items);
    free(texts.slots);
    texts.items = NULL;
    texts.slots = NULL;
    texts.count = texts.room = texts.slot_count = 0;
    pthread_mutex_unlock(&texts.lock);
}
