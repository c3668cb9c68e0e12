/* SPDX-License-Identifier: Apache-2.0 */
/* A table for ids that are numbers, a hash table for the others. */
#include "analyze/containers/text_ids.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define IS_TEXT UINT32_C(0x80000000) /* in `names`: the rest is a place in `texts` */

enum {
    NUMBER_DIGITS_MAX = 8, /* longer ones are looked up as texts */
    PREFIX_MAX = 16,
};

/* The number that a text spells as one would write it, behind the prefix. */
static bool read_number(const struct text_ids *ids, const char *text, size_t length,
                        uint32_t *out_number)
{
    size_t skipped = ids->prefix ? strlen(ids->prefix) : 0;
    uint32_t number = 0;

    if (length <= skipped || length - skipped > NUMBER_DIGITS_MAX ||
        (skipped && memcmp(text, ids->prefix, skipped) != 0) ||
        (text[skipped] == '0' && length - skipped > 1))
        return false;
    for (size_t i = skipped; i < length; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        number = number * 10 + (uint32_t)(text[i] - '0');
    }
    *out_number = number;
    return true;
}

static int place_of_number(struct text_ids *ids, uint32_t number, uint32_t *out_place)
{
    *out_place = number_map_find(&ids->numbers, number);
    if (*out_place != PLACE_NONE)
        return 0;
    if (array_push(&ids->names, number) < 0 ||
        number_map_set(&ids->numbers, number, ids->count) < 0)
        return -ENOMEM;
    *out_place = ids->count++;
    return 0;
}

static int add_text(struct text_ids *ids, const char *text, size_t length)
{
    uint32_t name = IS_TEXT | (uint32_t)ids->texts.count;
    char *copy = malloc(length + 1);

    if (!copy || array_push(&ids->texts, copy) < 0) {
        free(copy);
        return -ENOMEM;
    }
    if (length)
        memcpy(copy, text, length);
    copy[length] = '\0';
    return array_push(&ids->names, name);
}

int text_ids_place(struct text_ids *ids, const char *text, size_t length, uint32_t *out_place)
{
    struct place_key key = {0};
    uint32_t number;

    if (read_number(ids, text, length, &number))
        return place_of_number(ids, number, out_place);
    place_key_add(&key, text, length);
    *out_place = place_map_find(&ids->others, key);
    if (*out_place != PLACE_NONE)
        return 0;
    if (add_text(ids, text, length) < 0 || place_map_set(&ids->others, key, ids->count) < 0)
        return -ENOMEM;
    *out_place = ids->count++;
    return 0;
}

uint32_t text_ids_find(const struct text_ids *ids, const char *text, size_t length)
{
    struct place_key key = {0};
    uint32_t number;

    if (read_number(ids, text, length, &number))
        return number_map_find(&ids->numbers, number);
    place_key_add(&key, text, length);
    return place_map_find(&ids->others, key);
}

const char *text_ids_name(const struct text_ids *ids, uint32_t place, char *buffer)
{
    uint32_t name = ids->names.items[place];
    char *at = buffer + TEXT_IDS_NAME_BYTES;
    size_t length = ids->prefix ? strlen(ids->prefix) : 0;

    if (name & IS_TEXT)
        return ids->texts.items[name & ~IS_TEXT];
    *--at = '\0';
    do {
        *--at = (char)('0' + name % 10);
        name /= 10;
    } while (name);
    assert(length <= PREFIX_MAX);
    at -= length;
    if (length)
        memcpy(at, ids->prefix, length);
    return at;
}

void text_ids_deinit(struct text_ids *ids)
{
    for (size_t i = 0; i < ids->texts.count; i++)
        free(ids->texts.items[i]);
    number_map_deinit(&ids->numbers);
    array_deinit(&ids->names);
    array_deinit(&ids->texts);
    place_map_deinit(&ids->others);
    *ids = (struct text_ids){0};
}
