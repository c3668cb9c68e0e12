/* SPDX-License-Identifier: Apache-2.0 */
/* Texts by the program of a regular expression, all of whose states are followed at once (K. Thompson,
 * Regular Expression Search Algorithm, 1968). */
#include <string.h>

#include "base/text.h"
#include "runtime/ops/regex.h"
#include "runtime/ops/regex_program.h"
#include "runtime/ops/words.h"

/* Two sets of states: their members, and for each state in which round it was added last; and states that
 * are still to be followed. */
struct states {
    uint32_t *now, *next, *round, *todo;
    uint32_t *now_start, *next_start; /* of regex_find(): where in the text each began */
    uint32_t now_count, next_count;
};

enum { LISTS = 7 }; /* `todo` takes two: a split adds two states */

size_t regex_room(const struct regex *regex)
{
    return LISTS * (size_t)regex->step_count * sizeof(uint32_t);
}

static bool is_in(const struct range *ranges, const struct step *step, uint32_t code)
{
    for (int32_t i = 0; i < step->b; i++)
        if (code >= ranges[step->a + i].first && code <= ranges[step->a + i].last)
            return true;
    return false;
}

static bool takes(const struct regex *regex, const struct step *step, uint32_t code)
{
    const struct range *ranges = ranges_of(regex);
    bool is_one = is_in(ranges, step, code);

    if (step->folds && !is_one) {
        uint32_t upper = words_upper(code), lower = words_lower(code);

        is_one = is_in(ranges, step, lower) || is_in(ranges, step, upper) ||
                 is_in(ranges, step, words_lower(upper));
    }
    return is_one != step->is_negated;
}

/* Where in a text the states are. */
struct place {
    bool is_begin, is_end, is_line_begin, is_line_end, is_edge;
};

static bool is_word(int c)
{
    return c == '_' || (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
}

static struct place place_of(const char *text, size_t length, size_t at)
{
    int before = at > 0 ? (uint8_t)text[at - 1] : -1, after = at < length ? (uint8_t)text[at] : -1;

    return (struct place){at == 0, at == length, at == 0 || before == '\n',
                          at == length || after == '\n',
                          (before >= 0 && is_word(before)) != (after >= 0 && is_word(after))};
}

static bool holds(enum step_kind kind, const struct place *place)
{
    return kind == STEP_TEXT_BEGIN   ? place->is_begin
           : kind == STEP_TEXT_END   ? place->is_end
           : kind == STEP_LINE_BEGIN ? place->is_line_begin
           : kind == STEP_LINE_END   ? place->is_line_end
                                     : place->is_edge == (kind == STEP_EDGE);
}

/* Add a state, and those that it leads to without a character. */
static void follow(const struct regex *regex, struct states *s, uint32_t state, uint32_t round,
                   const struct place *place)
{
    uint32_t todo_count = 1;

    s->todo[0] = state;
    while (todo_count > 0) {
        uint32_t at = s->todo[--todo_count];
        const struct step *step = &regex->steps[at];

        if (s->round[at] == round)
            continue;
        s->round[at] = round;
        switch (step->kind) {
        case STEP_CLASS:
        case STEP_DONE:
            s->next[s->next_count++] = at;
            break;
        case STEP_SPLIT:
            s->todo[todo_count++] = (uint32_t)((int64_t)at + step->b);
            /* fall through */
        case STEP_JUMP:
            s->todo[todo_count++] = (uint32_t)((int64_t)at + step->a);
            break;
        default:
            if (holds((enum step_kind)step->kind, place))
                s->todo[todo_count++] = at + 1;
        }
    }
}

static void swap_sets(struct states *s)
{
    uint32_t *now = s->now;

    s->now = s->next;
    s->now_count = s->next_count;
    s->next = now;
    s->next_count = 0;
    now = s->now_start;
    s->now_start = s->next_start;
    s->next_start = now;
}

static struct states states_in(void *room, uint32_t count)
{
    struct states s = {.now = room};

    s.next = s.now + count;
    s.round = s.next + count;
    s.todo = s.round + count;
    s.now_start = s.todo + 2 * (size_t)count;
    s.next_start = s.now_start + count;
    memset(s.round, 0, count * sizeof(*s.round));
    return s;
}

bool regex_matches(const struct regex *regex, const char *text, size_t length, void *room)
{
    uint32_t round = 1, code;
    struct states s = states_in(room, regex->step_count);
    struct place place = place_of(text, length, 0);

    follow(regex, &s, 0, round, &place);
    swap_sets(&s);
    for (size_t at = 0; at < length;) {
        size_t bytes = text_decode(text + at, length - at, &code);

        if (bytes == 0 || s.now_count == 0)
            return false;
        at += bytes;
        place = place_of(text, length, at);
        round = round == UINT32_MAX ? 1 : round + 1;
        for (uint32_t i = 0; i < s.now_count; i++) {
            const struct step *step = &regex->steps[s.now[i]];

            if (step->kind == STEP_CLASS && takes(regex, step, code))
                follow(regex, &s, s.now[i] + 1, round, &place);
        }
        swap_sets(&s);
    }
    for (uint32_t i = 0; i < s.now_count; i++)
        if (regex->steps[s.now[i]].kind == STEP_DONE)
            return true;
    return false;
}

/* What is found: nothing, while the end is before the beginning. */
struct found {
    size_t begin, end;
};

/* Those that follow from a state, with where it began. Lists are in the order of beginnings, so that of two
 * that come to one state the first one's stays. */
static void follow_from(const struct regex *regex, struct states *s, uint32_t state, uint32_t start,
                        uint32_t round, const struct place *place)
{
    uint32_t first = s->next_count;

    follow(regex, s, state, round, place);
    for (uint32_t i = first; i < s->next_count; i++)
        s->next_start[i] = start;
}

/* Where the pattern ends; what begins behind the first that ended is of no use. */
static void take_ends(const struct regex *regex, const struct states *s, size_t at,
                      struct found *found)
{
    for (uint32_t i = 0; i < s->now_count; i++)
        if (regex->steps[s->now[i]].kind == STEP_DONE &&
            (found->end < found->begin || s->now_start[i] <= found->begin)) {
            found->begin = s->now_start[i];
            found->end = at;
            return;
        }
}

bool regex_find(const struct regex *regex, const char *text, size_t length, size_t from, void *room,
                size_t *out_begin, size_t *out_end)
{
    struct states s = states_in(room, regex->step_count);
    struct found found = {1, 0};
    uint32_t round = 0, code = 0;

    if (length >= UINT32_MAX)
        return false;
    for (size_t at = from, bytes = 0;; at += bytes) {
        struct place place = place_of(text, length, at);

        round = round == UINT32_MAX ? 1 : round + 1;
        for (uint32_t i = 0; i < s.now_count; i++) {
            const struct step *step = &regex->steps[s.now[i]];

            if (step->kind == STEP_CLASS && takes(regex, step, code) &&
                (found.end < found.begin || s.now_start[i] <= found.begin))
                follow_from(regex, &s, s.now[i] + 1, s.now_start[i], round, &place);
        }
        if (found.end < found.begin)
            follow_from(regex, &s, 0, (uint32_t)at, round, &place);
        swap_sets(&s);
        take_ends(regex, &s, at, &found);
        if (at >= length || (s.now_count == 0 && found.end >= found.begin))
            break;
        bytes = text_decode(text + at, length - at, &code);
        if (bytes == 0) { /* nothing that a pattern can say */
            bytes = 1;
            s.now_count = 0;
        }
    }
    if (found.end < found.begin)
        return false;
    *out_begin = found.begin;
    *out_end = found.end;
    return true;
}
