/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Places 0, 1, 2, ... for the ids of a document, in the order in which they are first mentioned.
 * Ids are texts, nearly all of them decimal numbers that lie close together, some behind a prefix
 * ("chk12"): those take eight bytes each. One thread.
 *
 *     struct text_ids ids = {.prefix = "chk"};
 *
 *     text_ids_place(&ids, text, length, &place), ..., text_ids_deinit(&ids)
 */
#ifndef OPTRACE_ANALYZE_CONTAINERS_TEXT_IDS_H
#define OPTRACE_ANALYZE_CONTAINERS_TEXT_IDS_H

#include <stddef.h>
#include <stdint.h>

#include "analyze/containers/number_map.h"
#include "analyze/containers/place_map.h"
#include "base/array.h"

struct text_ids {
    const char *prefix; /* input; NULL: none */
    uint32_t count;     /* places given */
    /* inside */
    struct number_map numbers;
    struct place_map others;
    ARRAY_OF(uint32_t) names; /* by place: the number, or where the id is in `texts` */
    ARRAY_OF(char *) texts;
};

/** The place of an id, a new one where it is new. Returns 0 or -ENOMEM. */
int text_ids_place(struct text_ids *ids, const char *text, size_t length, uint32_t *out_place);

/** The place of an id, or PLACE_NONE where it was not mentioned. */
uint32_t text_ids_find(const struct text_ids *ids, const char *text, size_t length);

enum { TEXT_IDS_NAME_BYTES = 32 };

/** The id of a place: `buffer`, of TEXT_IDS_NAME_BYTES, or a text that is borrowed. Not
 *  unescaped. */
const char *text_ids_name(const struct text_ids *ids, uint32_t place, char *buffer);

/** {.prefix} alone is allowed. */
void text_ids_deinit(struct text_ids *ids);

#endif
