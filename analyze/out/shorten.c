/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names that must fit a column lose what they have in common, never what tells them apart.
 *
 * Functions lose what they take and return first, then their namespaces, unless they then look like
 * others. In the order of names, those that share a beginning stand together, and where two part is the
 * length of what neighbours have in common. The characters at these places are kept first, then
 * the words that they are in, then the end, then what is around them; the rest becomes three dots.
 * Names that still look alike, as there is no room for more, get a number.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/out/kernel_name.h"
#include "analyze/out/private.h"
#include "base/text.h"

enum {
    COLUMNS_MIN = 8, /* fewer leave names as they are */
    DOTS = 3,
    PARTINGS_MAX = 16,             /* of one name */
    PIECES_MAX = PARTINGS_MAX + 3, /* and its indentation, its head and its end */
    WORD_MAX = 24,                 /* characters to both sides */
    NUMBERED_MIN = 4,              /* columns that a number leaves to its name */
    NUMBERING_ROUNDS = 8,
};

/* A name that is too wide. */
struct name {
    const char *text;
    size_t length;
    char *shown, *numbered;        /* `numbered` takes the place of `shown` */
    size_t partings[PARTINGS_MAX]; /* offsets of characters */
    size_t parting_count;
};

/* Bytes of a name that are shown. */
struct piece {
    size_t from, to, columns;
};
struct pieces {
    const struct name *name;
    size_t columns; /* that all may take */
    struct piece items[PIECES_MAX];
    size_t count;
};

/* --- Characters. --- */

/* The end of the character at `at`, with the marks that stand on it. */
static size_t next_end(const struct name *name, size_t at)
{
    uint32_t code;
    bool is_first = true;

    while (at < name->length) {
        size_t bytes = text_decode(name->text + at, name->length - at, &code);

        bytes = bytes ? bytes : 1;
        if (!is_first && text_columns(name->text + at, bytes) > 0)
            break;
        at += bytes;
        is_first = false;
    }
    return at;
}

static size_t byte_before(const struct name *name, size_t at)
{
    at--;
    while (at > 0 && ((unsigned char)name->text[at] & 0xc0) == 0x80)
        at--;
    return at;
}

/* The start of the character before `at`, which is above 0, without leaving marks behind. */
static size_t previous_start(const struct name *name, size_t at)
{
    size_t end;

    do {
        end = at;
        at = byte_before(name, at);
    } while (at > 0 && text_columns(name->text + at, end - at) == 0);
    return at;
}

static bool is_of_word(unsigned char c)
{
    return isalnum(c) || c == '_' || c >= 0x80;
}

/* --- Pieces. --- */

/* What stands for the bytes between two pieces: themselves when they take no more than dots. */
static size_t gap_columns(const struct name *name, size_t from, size_t to)
{
    size_t columns = 0;

    while (from < to && columns <= DOTS) {
        const size_t end = next_end(name, from);

        columns += text_columns(name->text + from, end - from);
        from = end;
    }
    return columns > DOTS ? DOTS : columns;
}

static bool is_hidden(const struct name *name, size_t from, size_t to)
{
    size_t columns = 0;

    while (from < to && columns <= DOTS) {
        const size_t end = next_end(name, from);

        columns += text_columns(name->text + from, end - from);
        from = end;
    }
    return columns > DOTS;
}

static size_t columns_of(const struct pieces *pieces)
{
    const struct name *name = pieces->name;
    size_t columns = 0, at = 0;

    for (size_t i = 0; i < pieces->count; i++) {
        const struct piece *piece = &pieces->items[i];

        columns += gap_columns(name, at, piece->from);
        columns += piece->columns;
        at = piece->to;
    }
    return columns + gap_columns(name, at, name->length);
}

static size_t columns_between(const struct name *name, size_t from, size_t to)
{
    return text_columns(name->text + from, to - from);
}

/* A piece grows to `from` and `to`, and takes in those that it meets, if there is room. */
static bool grow(struct pieces *pieces, size_t place, size_t from, size_t to)
{
    const struct name *name = pieces->name;
    struct pieces grown = *pieces;
    struct piece *piece = &grown.items[place];
    size_t kept = 0;

    piece->columns +=
        columns_between(name, from, piece->from) + columns_between(name, piece->to, to);
    piece->from = from;
    piece->to = to;
    for (size_t i = 0; i < grown.count; i++) {
        struct piece *last = kept ? &grown.items[kept - 1] : NULL;

        piece = &grown.items[i];
        if (!last || piece->from >= last->to) {
            grown.items[kept++] = *piece;
        } else if (piece->to > last->to) {
            last->columns += columns_between(name, last->to, piece->to);
            last->to = piece->to;
        }
    }
    grown.count = kept;
    if (columns_of(&grown) > pieces->columns)
        return false;
    *pieces = grown;
    return true;
}

static bool grow_right(struct pieces *pieces, size_t place)
{
    const struct piece *piece = &pieces->items[place];

    return piece->to < pieces->name->length &&
           grow(pieces, place, piece->from, next_end(pieces->name, piece->to));
}

static bool grow_left(struct pieces *pieces, size_t place)
{
    const struct piece *piece = &pieces->items[place];

    return piece->from > 0 &&
           grow(pieces, place, previous_start(pieces->name, piece->from), piece->to);
}

/* Sorted, apart. */
static void add_piece(struct pieces *pieces, size_t from, size_t to)
{
    size_t place = pieces->count;

    while (place && pieces->items[place - 1].from > from)
        place--;
    if (place && pieces->items[place - 1].to >= to)
        return;
    memmove(&pieces->items[place + 1], &pieces->items[place],
            (pieces->count - place) * sizeof(*pieces->items));
    pieces->items[place] = (struct piece){from, to, columns_between(pieces->name, from, to)};
    pieces->count++;
}

static size_t place_of(const struct pieces *pieces, size_t at)
{
    size_t place = pieces->count - 1;

    while (place && pieces->items[place].from > at)
        place--;
    return place;
}

/* The word around a parting, as far as there is room. */
static void grow_word(struct pieces *pieces, size_t at)
{
    const struct name *name = pieces->name;

    for (size_t i = 0; i < WORD_MAX; i++) {
        const size_t place = place_of(pieces, at), to = pieces->items[place].to;

        if (to >= name->length || !is_of_word((unsigned char)name->text[to]) ||
            !grow_right(pieces, place))
            break;
    }
    for (size_t i = 0; i < WORD_MAX; i++) {
        const size_t place = place_of(pieces, at), from = pieces->items[place].from;

        if (!from || !is_of_word((unsigned char)name->text[from - 1]) || !grow_left(pieces, place))
            break;
    }
}

/* The indentation of names in a tree; a third of the columns at most. */
static size_t indentation(const struct name *name, size_t columns)
{
    size_t blanks = strspn(name->text, " ");

    return blanks < columns / 3 ? blanks : columns / 3;
}

/* A head and an end, as names differ at both; without partings half of the room each. */
static void grow_ends(struct pieces *pieces)
{
    const size_t taken = columns_of(pieces);
    const size_t room = pieces->columns > taken ? pieces->columns - taken : 0;
    struct piece *items = pieces->items;
    size_t end = pieces->count - 1;

    if (pieces->count == 2 && items[0].from == 0) { /* no more than both */
        const size_t head_room = pieces->columns > DOTS ? (pieces->columns - DOTS) / 2 : 0;

        while (items[0].columns < head_room && pieces->count == 2 && grow_right(pieces, 0))
            continue;
        while (pieces->count == 2 && grow_left(pieces, 1))
            continue;
        return;
    }
    while (items[end].to == pieces->name->length && items[end].columns < room / 2 &&
           grow_left(pieces, end))
        end = pieces->count - 1;
}

static void grow_around(struct pieces *pieces)
{
    bool has_grown = true;

    while (has_grown) {
        has_grown = false;
        for (size_t i = 0; i < pieces->count; i++)
            has_grown |= grow_left(pieces, i);
        for (size_t i = 0; i < pieces->count; i++)
            has_grown |= grow_right(pieces, i);
    }
}

static char *join(const struct pieces *pieces, size_t tail_bytes)
{
    const struct name *name = pieces->name;
    char *text = malloc(name->length + (pieces->count + 1) * DOTS + tail_bytes + 1), *to = text;
    size_t at = 0;

    for (size_t i = 0; i <= pieces->count && text; i++) {
        const bool is_end = i == pieces->count;
        const size_t from = is_end ? name->length : pieces->items[i].from;

        if (is_hidden(name, at, from))
            to = stpcpy(to, "...");
        else
            to = mempcpy(to, name->text + at, from - at);
        at = is_end ? from : pieces->items[i].to;
        if (!is_end)
            to = mempcpy(to, name->text + from, at - from);
    }
    if (text)
        *to = '\0';
    return text;
}

static int compare_offsets(const void *a, const void *b)
{
    const size_t *left = a, *right = b;

    return (*left > *right) - (*left < *right);
}

/* The characters that tell a name apart: all of them, or those that there is room for, from the
 * last, where its nearest neighbours part, and the first on. */
static void add_partings(struct pieces *pieces)
{
    const struct name *name = pieces->name;
    size_t sorted[PARTINGS_MAX], low = 0, high = name->parting_count;

    memcpy(sorted, name->partings, high * sizeof(*sorted));
    qsort(sorted, high, sizeof(*sorted), compare_offsets);
    for (bool is_last = true; low < high; is_last = !is_last) {
        const size_t at = is_last ? sorted[--high] : sorted[low++];
        const struct pieces before = *pieces;

        add_piece(pieces, at, next_end(name, at));
        if (columns_of(pieces) > pieces->columns)
            *pieces = before;
    }
}

/* With what tells it apart, and a head and an end. */
static char *shorten(const struct name *name, size_t columns, size_t tail_bytes)
{
    struct pieces pieces = {.name = name, .columns = columns};
    const size_t indent = indentation(name, columns);

    add_piece(&pieces, 0, indent);
    add_partings(&pieces);
    if (!indent && pieces.count > 1) /* the head is as common as the rest */
        memmove(pieces.items, pieces.items + 1, --pieces.count * sizeof(*pieces.items));
    for (size_t i = 0; i < name->parting_count; i++) {
        const struct piece *piece = &pieces.items[place_of(&pieces, name->partings[i])];

        if (piece->from <= name->partings[i] && name->partings[i] < piece->to)
            grow_word(&pieces, name->partings[i]);
    }
    if (pieces.items[pieces.count - 1].to < name->length)
        pieces.items[pieces.count++] = (struct piece){name->length, name->length, 0};
    grow_ends(&pieces);
    grow_around(&pieces);
    return join(&pieces, tail_bytes);
}

/* --- Where names part. --- */

static int compare_names(const void *a, const void *b)
{
    const struct name *left = a, *right = b;

    return strcmp(left->text, right->text);
}

/* The offset of the character in which two names differ. */
static size_t parting_of(const struct name *a, const struct name *b)
{
    size_t at = 0;

    while (a->text[at] && a->text[at] == b->text[at])
        at++;
    return at;
}

static void add_parting(struct name *name, size_t at)
{
    at = at < name->length ? previous_start(name, next_end(name, at))
                           : previous_start(name, name->length);
    for (size_t i = 0; i < name->parting_count; i++) {
        if (name->partings[i] == at)
            return;
    }
    if (name->parting_count < PARTINGS_MAX)
        name->partings[name->parting_count++] = at;
}

/* Names are sorted and differ. Going back from a name, what it shares with the others shrinks: the
 * places where it does are kept on a stack, the nearest on top. */
static int find_partings(struct name *names, size_t count, bool backwards)
{
    size_t *stack = malloc((count ? count : 1) * sizeof(*stack)), depth = 0;

    if (!stack)
        return -ENOMEM;
    for (size_t i = 1; i < count; i++) {
        struct name *name = &names[backwards ? count - 1 - i : i];
        const size_t at = parting_of(name, backwards ? name + 1 : name - 1);

        while (depth && stack[depth - 1] >= at)
            depth--;
        stack[depth++] = at;
        for (size_t k = depth; k-- > 0;)
            add_parting(name, stack[k]);
    }
    free(stack);
    return 0;
}

/* --- All names of a column. --- */

/* What is shown, whose it is. */
struct shown_name {
    const char *shown, *text;
    struct name *name; /* NULL: shown in full */
};

static int compare_shown(const void *a, const void *b)
{
    const struct shown_name *left = a, *right = b;
    int order = strcmp(left->shown, right->shown);

    if (!order)
        order = (left->name != NULL) - (right->name != NULL);
    return order ? order : strcmp(left->text, right->text);
}

/* Gives numbers to names that look like another one. Returns how many, or -ENOMEM. */
static int number_alike(struct shown_name *all, size_t count, size_t columns, size_t *number)
{
    int found = 0;

    qsort(all, count, sizeof(*all), compare_shown);
    for (size_t i = 1; i < count; i++) {
        char tail[24], *shown;
        size_t bytes;

        if (!all[i].name || strcmp(all[i].shown, all[i - 1].shown) != 0 ||
            strcmp(all[i].text, all[i - 1].text) == 0)
            continue;
        bytes = (size_t)snprintf(tail, sizeof(tail), "~%zu", ++*number);
        shown = shorten(all[i].name,
                        columns > bytes + NUMBERED_MIN ? columns - bytes : NUMBERED_MIN, bytes);
        if (!shown) {
            found = -ENOMEM;
            break;
        }
        strcat(shown, tail);
        all[i].name->numbered = shown;
        found++;
    }
    /* Only now, as neighbours were compared by what they looked like. */
    for (size_t i = 0; i < count; i++) {
        struct name *name = all[i].name;

        if (!name || !name->numbered)
            continue;
        free(name->shown);
        all[i].shown = name->shown = name->numbered;
        name->numbered = NULL;
    }
    return found;
}

static int make_different(struct name *names, size_t count, char *const *narrow,
                          size_t narrow_count, size_t columns)
{
    struct shown_name *all = malloc((count + narrow_count + 1) * sizeof(*all));
    size_t number = 1;
    int rc = all ? 1 : -ENOMEM;

    for (size_t i = 0; i < count && all; i++)
        all[i] = (struct shown_name){names[i].shown, names[i].text, &names[i]};
    for (size_t i = 0; i < narrow_count && all; i++)
        all[count + i] = (struct shown_name){narrow[i], narrow[i], NULL};
    for (int round = 0; round < NUMBERING_ROUNDS && rc > 0; round++)
        rc = number_alike(all, count + narrow_count, columns, &number);
    free(all);
    return rc < 0 ? rc : 0;
}

static int shorten_names(struct name *names, size_t count, char *const *narrow, size_t narrow_count,
                         size_t columns)
{
    int rc = find_partings(names, count, false);

    if (rc == 0)
        rc = find_partings(names, count, true);
    for (size_t i = 0; i < count && rc == 0; i++) {
        names[i].shown = shorten(&names[i], columns, 0);
        rc = names[i].shown ? 0 : -ENOMEM;
    }
    return rc < 0 ? rc : make_different(names, count, narrow, narrow_count, columns);
}

/* Names that are too wide, sorted, each once; the others beside them. Returns how many. */
static size_t sort_names(char **texts, size_t count, size_t columns, struct name *names,
                         char **narrow, size_t *out_narrow_count)
{
    size_t wide_count = 0, narrow_count = 0, kept = 0;

    for (size_t i = 0; i < count; i++) {
        const size_t length = strlen(texts[i]);

        if (text_columns(texts[i], length) > columns)
            names[wide_count++] = (struct name){.text = texts[i], .length = length};
        else
            narrow[narrow_count++] = texts[i];
    }
    if (wide_count)
        qsort(names, wide_count, sizeof(*names), compare_names);
    for (size_t i = 0; i < wide_count; i++) {
        if (i == 0 || strcmp(names[i].text, names[kept - 1].text) != 0)
            names[kept++] = names[i];
    }
    *out_narrow_count = narrow_count;
    return kept;
}

/* What is shown in the place of each text; NULL: it stays. Names point into the texts. */
static int copy_shown(char **texts, size_t count, const struct name *names, size_t name_count,
                      char **copies)
{
    for (size_t i = 0; i < count; i++) {
        const struct name key = {.text = texts[i]};
        const struct name *found = bsearch(&key, names, name_count, sizeof(*names), compare_names);

        copies[i] = found ? strdup(found->shown) : NULL;
        if (found && !copies[i])
            return -ENOMEM;
    }
    return 0;
}

/* --- Names of functions. --- */

/* A text and what may stand for it; the same where nothing can be taken off. */
struct stripped {
    const char *text;
    char *taken;
    bool is_kept; /* as it is */
};

static const char *chosen_of(const struct stripped *name)
{
    return name->is_kept ? name->text : name->taken;
}

static int compare_chosen(const void *a, const void *b)
{
    const struct stripped *left = *(struct stripped *const *)a;
    const struct stripped *right = *(struct stripped *const *)b;
    int order = strcmp(chosen_of(left), chosen_of(right));

    return order ? order : strcmp(left->text, right->text);
}

/* Those that look like another one stay as they are. Returns how many. */
static size_t keep_alike(struct stripped **sorted, size_t count)
{
    size_t kept = 0;

    qsort(sorted, count, sizeof(struct stripped *), compare_chosen);
    for (size_t i = 0, end; i < count; i = end) {
        bool differ = false;

        for (end = i + 1; end < count && strcmp(chosen_of(sorted[end]), chosen_of(sorted[i])) == 0;
             end++)
            differ |= strcmp(sorted[end]->text, sorted[i]->text) != 0;
        for (size_t k = i; k < end && differ; k++) {
            kept += !sorted[k]->is_kept;
            sorted[k]->is_kept = true;
        }
    }
    return kept;
}

/* What `take_off` leaves of those that are too wide takes their place. */
static int strip(char **texts, size_t count, size_t columns, bool (*take_off)(char *name))
{
    struct stripped *names = calloc(count + 1, sizeof(*names));
    struct stripped **sorted = calloc(count + 1, sizeof(*sorted));
    size_t changed = 0;
    int rc = names && sorted ? 0 : -ENOMEM;

    for (size_t i = 0; i < count && rc == 0; i++) {
        names[i] = (struct stripped){.text = texts[i], .taken = strdup(texts[i])};
        sorted[i] = &names[i];
        if (!names[i].taken)
            rc = -ENOMEM;
        else if (text_columns(texts[i], strlen(texts[i])) > columns)
            changed += take_off(names[i].taken);
    }
    while (rc == 0 && changed && keep_alike(sorted, count))
        continue;
    for (size_t i = 0; i < count && names; i++) {
        if (rc == 0 && changed && !names[i].is_kept) {
            free(texts[i]);
            texts[i] = names[i].taken;
        } else {
            free(names[i].taken);
        }
    }
    free(names);
    free(sorted);
    return rc;
}

int out_shorten(char **texts, size_t count, size_t columns)
{
    struct name *names = calloc(count + 1, sizeof(*names));
    char **narrow = calloc(count + 1, sizeof(*narrow)),
         **copies = calloc(count + 1, sizeof(*copies));
    size_t narrow_count, name_count = 0;
    int rc = names && narrow && copies ? 0 : -ENOMEM;

    if (rc == 0 && columns >= COLUMNS_MIN)
        rc = strip(texts, count, columns, kernel_name_strip_signature);
    if (rc == 0 && columns >= COLUMNS_MIN)
        rc = strip(texts, count, columns, kernel_name_strip_scopes);
    if (rc == 0 && columns >= COLUMNS_MIN)
        name_count = sort_names(texts, count, columns, names, narrow, &narrow_count);
    if (name_count)
        rc = shorten_names(names, name_count, narrow, narrow_count, columns);
    if (rc == 0 && name_count)
        rc = copy_shown(texts, count, names, name_count, copies);
    for (size_t i = 0; i < count && copies; i++) {
        if (rc == 0 && copies[i]) {
            free(texts[i]);
            texts[i] = copies[i];
        } else {
            free(copies[i]);
        }
    }
    for (size_t i = 0; i < name_count; i++)
        free(names[i].shown);
    free(names);
    free(narrow);
    free(copies);
    return rc;
}
