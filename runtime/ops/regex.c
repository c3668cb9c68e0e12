/* SPDX-License-Identifier: Apache-2.0 */
/* Regular expressions: the parser writes a program whose jumps are relative, so that a part can be moved
 * and copied. */
#include "runtime/ops/regex.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "runtime/ops/regex_program.h"
#include "runtime/ops/words.h"

/* Parsing */

enum { FOLDS = 1, LINES = 2, DOT_IS_ALL = 4 }; /* flags i, m, s */

struct parser {
    const char *at, *end;
    unsigned flags;
    int depth;
    bool is_quoted; /* between \Q and \E */
    int rc;         /* the first failure; what is called afterwards does nothing */
    struct diag *diag;
    ARRAY_OF(struct step) steps;
    ARRAY_OF(struct range) ranges;
};

static void fail(struct parser *p, int rc, const char *what)
{
    if (p->rc == 0)
        p->rc = diag_set(p->diag, rc, "its pattern %s", what);
}

static bool is_next(const struct parser *p, const char *text)
{
    size_t length = strlen(text);

    return p->rc == 0 && (size_t)(p->end - p->at) >= length && memcmp(p->at, text, length) == 0;
}

static bool take(struct parser *p, const char *text)
{
    bool is_there = is_next(p, text);

    if (is_there)
        p->at += strlen(text);
    return is_there;
}

static uint32_t take_character(struct parser *p)
{
    uint32_t code = 0;
    size_t bytes =
        p->rc == 0 && p->at < p->end ? text_decode(p->at, (size_t)(p->end - p->at), &code) : 0;

    if (bytes == 0)
        fail(p, -EINVAL, p->at < p->end ? "is no UTF-8" : "ends too early");
    p->at += bytes;
    return code;
}

static void push_step(struct parser *p, struct step step)
{
    if (p->steps.count >= REGEX_STEPS_MAX)
        fail(p, -E2BIG, "is too large");
    if (p->rc == 0 && array_push(&p->steps, step) < 0)
        fail(p, -ENOMEM, "needs more memory than there is");
}

static void insert_step(struct parser *p, size_t at, struct step step)
{
    push_step(p, step);
    if (p->rc < 0)
        return;
    memmove(p->steps.items + at + 1, p->steps.items + at,
            (p->steps.count - 1 - at) * sizeof(*p->steps.items));
    p->steps.items[at] = step;
}

static void add_range(struct parser *p, uint32_t first, uint32_t last)
{
    if (p->ranges.count >= 4 * REGEX_STEPS_MAX)
        fail(p, -E2BIG, "is too large");
    if (p->rc == 0 && array_push(&p->ranges, ((struct range){first, last})) < 0)
        fail(p, -ENOMEM, "needs more memory than there is");
}

enum { CODE_MAX = 0x10ffff };

/* Ranges of ASCII, in order, as pairs of characters; or all that is not in them. */
static void add_pairs(struct parser *p, const char *pairs, size_t count, bool is_negated)
{
    uint32_t next = 0;

    for (size_t i = 0; i < count; i++) {
        uint32_t first = (uint8_t)pairs[2 * i], last = (uint8_t)pairs[2 * i + 1];

        if (!is_negated)
            add_range(p, first, last);
        else if (first > next)
            add_range(p, next, first - 1);
        next = last + 1;
    }
    if (is_negated)
        add_range(p, next, CODE_MAX);
}

struct named {
    const char *name, *pairs;
    size_t count;
};

/* \d, \s and \w, and with a capital letter what they are not. */
static bool add_escaped_class(struct parser *p, char letter)
{
    static const struct named classes[] = {
        {"d", "09", 1}, {"s", "\t\n\f\r  ", 3}, {"w", "09AZ__az", 4}};

    for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
        if ((letter | 0x20) == classes[i].name[0]) {
            add_pairs(p, classes[i].pairs, classes[i].count, letter != classes[i].name[0]);
            return true;
        }
    return false;
}

static bool add_posix_class(struct parser *p)
{
    static const struct named classes[] = {{"alnum", "09AZaz", 3},
                                           {"alpha", "AZaz", 2},
                                           {"ascii", "\0\177", 1},
                                           {"blank", "\t\t  ", 2},
                                           {"cntrl", "\0\037\177\177", 2},
                                           {"digit", "09", 1},
                                           {"graph", "!~", 1},
                                           {"lower", "az", 1},
                                           {"print", " ~", 1},
                                           {"punct", "!/:@[`{~", 4},
                                           {"space", "\t\r  ", 2},
                                           {"upper", "AZ", 1},
                                           {"word", "09AZ__az", 4},
                                           {"xdigit", "09AFaf", 3}};

    for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
        for (int is_negated = 0; is_negated < 2; is_negated++) {
            char text[16] = "[:^";

            strcpy(text + 2 + is_negated, classes[i].name);
            strcat(text, ":]");
            if (take(p, text)) {
                add_pairs(p, classes[i].pairs, classes[i].count, is_negated != 0);
                return true;
            }
        }
    return false;
}

static int digit_of(char c, int base)
{
    int digit = c >= '0' && c <= '9'                     ? c - '0'
                : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10
                                                         : 99;

    return digit < base ? digit : -1;
}

/* \x41 or \x{41}. */
static uint32_t take_hexadecimal(struct parser *p)
{
    bool has_braces = take(p, "{");
    uint32_t code = 0;
    int digits = 0;

    while (p->at < p->end && digit_of(*p->at, 16) >= 0 && digits < (has_braces ? 8 : 2)) {
        code = code * 16 + (uint32_t)digit_of(*p->at++, 16);
        digits++;
    }
    if (digits < (has_braces ? 1 : 2) || code > CODE_MAX || (has_braces && !take(p, "}")))
        fail(p, -EINVAL, "has an escape that is none");
    return code;
}

/* The character behind a backslash that stands for one. */
static uint32_t take_escaped(struct parser *p)
{
    static const char letters[] = "afnrtv", codes[] = "\a\f\n\r\t\v";
    const char *letter;
    uint32_t code = take_character(p);
    bool is_octal =
        code == '0' || (code >= '1' && code <= '7' && p->at < p->end && digit_of(*p->at, 8) >= 0);

    if (p->rc < 0)
        return 0;
    if (is_octal) {
        code -= '0';
        for (int i = 0; i < 2 && p->at < p->end && digit_of(*p->at, 8) >= 0; i++)
            code = code * 8 + (uint32_t)digit_of(*p->at++, 8);
        return code;
    }
    if (code == 'x')
        return take_hexadecimal(p);
    letter = code > 0 && code < 0x80 ? strchr(letters, (int)code) : NULL;
    if (letter)
        return (uint8_t)codes[letter - letters];
    if (code == 'p' || code == 'P' || code == 'C')
        fail(p, -ENOTSUP, "has \\p, \\P or \\C, which are not supported");
    else if (code >= 0x80 || digit_of((char)code, 10) >= 0 ||
             ((code | 0x20) >= 'a' && (code | 0x20) <= 'z'))
        fail(p, -EINVAL, "has an escape that is none");
    return code;
}

static void end_class(struct parser *p, size_t first, bool is_negated)
{
    push_step(p, (struct step){STEP_CLASS, is_negated, (p->flags & FOLDS) != 0, (int32_t)first,
                               (int32_t)(p->ranges.count - first)});
}

static void push_character(struct parser *p, uint32_t code)
{
    size_t first = p->ranges.count;

    add_range(p, code, code);
    end_class(p, first, false);
}

/* One end of a range. */
static uint32_t take_member(struct parser *p)
{
    return take(p, "\\") ? take_escaped(p) : take_character(p);
}

/* Behind "[". */
static void parse_class(struct parser *p)
{
    size_t first = p->ranges.count;
    bool is_negated = take(p, "^"), is_empty = true;

    while (p->rc == 0 && (is_empty || !is_next(p, "]"))) {
        uint32_t low, high;

        is_empty = false;
        if (is_next(p, "[:")) {
            if (add_posix_class(p))
                continue;
            fail(p, -EINVAL, "has a class of characters that is none");
        }
        if (is_next(p, "\\") && p->end - p->at > 1 && add_escaped_class(p, p->at[1])) {
            p->at += 2;
            continue;
        }
        low = high = take_member(p);
        if (is_next(p, "-") && p->end - p->at > 1 && p->at[1] != ']') {
            p->at++;
            high = take_member(p);
        }
        if (p->rc == 0 && high < low)
            fail(p, -EINVAL, "has a range that goes backwards");
        add_range(p, low, high);
    }
    if (!take(p, "]"))
        fail(p, -EINVAL, "has a class that does not end");
    end_class(p, first, is_negated);
}

static void parse_choices(struct parser *p);

/* Behind "(?": flags, for the group that opens here or for what is left of the one around it. Returns
 * whether a group opens. */
static bool parse_flags(struct parser *p)
{
    static const char letters[] = "imsU";
    static const unsigned bits[] = {FOLDS, LINES, DOT_IS_ALL, 0};
    bool is_off = false, has_any = false;

    while (p->rc == 0 && p->at < p->end && *p->at != ':' && *p->at != ')') {
        char letter = *p->at++;
        const char *found = letter ? strchr(letters, letter) : NULL;

        if (letter == '-' && !is_off) {
            is_off = true;
            has_any = false;
            continue;
        }
        if (!found) {
            fail(p, -EINVAL, "has a group of a kind that RE2 does not have");
            return false;
        }
        has_any = true;
        if (is_off)
            p->flags &= ~bits[found - letters];
        else
            p->flags |= bits[found - letters];
    }
    if (is_off && !has_any)
        fail(p, -EINVAL, "has a group of a kind that RE2 does not have");
    if (take(p, ":"))
        return true;
    if (!take(p, ")"))
        fail(p, -EINVAL, "has a group that does not end");
    return false;
}

/* What matches is not told apart, so names of groups say nothing. */
static void take_name(struct parser *p)
{
    const char *name = p->at;

    while (p->at < p->end && *p->at != '>')
        p->at++;
    if (p->at == name || !take(p, ">"))
        fail(p, -EINVAL, "has a name that does not end");
}

/* Behind "(". Returns whether it was a group, not only flags. */
static bool parse_group(struct parser *p)
{
    unsigned outside = p->flags;

    if (take(p, "?P<") || (!is_next(p, "?<=") && !is_next(p, "?<!") && take(p, "?<")))
        take_name(p);
    else if (take(p, "?") && !parse_flags(p))
        return false;
    if (++p->depth > REGEX_DEPTH_MAX)
        fail(p, -E2BIG, "has too many groups within each other");
    parse_choices(p);
    p->depth--;
    if (!take(p, ")"))
        fail(p, -EINVAL, "has a group that does not end");
    p->flags = outside;
    return true;
}

/* Behind a backslash that is none of a character alone. Returns whether that was so. */
static bool parse_assertion(struct parser *p)
{
    static const struct {
        char letter;
        enum step_kind kind;
    } assertions[] = {
        {'A', STEP_TEXT_BEGIN}, {'z', STEP_TEXT_END}, {'b', STEP_EDGE}, {'B', STEP_NO_EDGE}};

    for (size_t i = 0; p->at < p->end && i < sizeof(assertions) / sizeof(assertions[0]); i++)
        if (*p->at == assertions[i].letter) {
            p->at++;
            push_step(p, (struct step){.kind = (uint8_t)assertions[i].kind});
            return true;
        }
    return false;
}

static void parse_escape(struct parser *p)
{
    size_t first = p->ranges.count;

    if (p->at < p->end && add_escaped_class(p, *p->at)) {
        p->at++;
        end_class(p, first, false);
    } else if (!parse_assertion(p)) {
        push_character(p, take_escaped(p));
    }
}

/* Returns whether something was made that can be repeated. */
static bool parse_atom(struct parser *p)
{
    size_t first = p->ranges.count;
    bool is_multi = (p->flags & LINES) != 0;

    if (p->is_quoted) {
        push_character(p, take_character(p));
    } else if (take(p, "(")) {
        return parse_group(p);
    } else if (take(p, "[")) {
        parse_class(p);
    } else if (take(p, ".")) {
        if (!(p->flags & DOT_IS_ALL))
            add_range(p, '\n', '\n');
        end_class(p, first, true);
    } else if (take(p, "^")) {
        push_step(p, (struct step){.kind = is_multi ? STEP_LINE_BEGIN : STEP_TEXT_BEGIN});
    } else if (take(p, "$")) {
        push_step(p, (struct step){.kind = is_multi ? STEP_LINE_END : STEP_TEXT_END});
    } else if (take(p, "\\")) {
        parse_escape(p);
    } else if (is_next(p, "*") || is_next(p, "+") || is_next(p, "?")) {
        fail(p, -EINVAL, "repeats nothing");
    } else {
        push_character(p, take_character(p));
    }
    return true;
}

/* The steps from `first` on, once more. */
static void copy_steps(struct parser *p, size_t first, size_t count)
{
    for (size_t i = 0; p->rc == 0 && i < count; i++) {
        struct step step = p->steps.items[first + i];

        push_step(p, step);
    }
}

/* most < 0: without end. The steps from `first` on are there once. */
static void repeat(struct parser *p, size_t first, int least, int most)
{
    size_t length = p->steps.count - first;
    int there = 1;

    if (p->rc == 0 && most == 0)
        p->steps.count = first;
    if (p->rc < 0 || most == 0)
        return;
    for (; there < least; there++)
        copy_steps(p, first, length);
    if (most < 0 && least > 0) { /* the last one again */
        push_step(p, (struct step){.kind = STEP_SPLIT, .a = -(int32_t)length, .b = 1});
    } else if (most < 0) {
        insert_step(p, first, (struct step){.kind = STEP_SPLIT, .a = 1, .b = (int32_t)length + 2});
        push_step(p, (struct step){.kind = STEP_JUMP, .a = -(int32_t)length - 1});
    } else {
        struct step maybe = {.kind = STEP_SPLIT, .a = 1, .b = (int32_t)length + 1};

        if (least == 0)
            insert_step(p, first, maybe);
        for (; there < most; there++) {
            push_step(p, maybe);
            copy_steps(p, first + (least == 0), length);
        }
    }
}

static int take_count(struct parser *p)
{
    int count = 0, digits = 0;

    for (; p->at < p->end && digit_of(*p->at, 10) >= 0; p->at++, digits++)
        count = count > REGEX_REPEAT_MAX ? count : count * 10 + digit_of(*p->at, 10);
    return digits > 0 ? count : -1;
}

/* "{2}", "{2,}" or "{2,3}"; anything else behind "{" is a character as any other. */
static bool take_counts(struct parser *p, int *out_least, int *out_most)
{
    const char *begin = p->at;

    if (!take(p, "{"))
        return false;
    *out_least = *out_most = take_count(p);
    if (*out_least >= 0 && take(p, ","))
        *out_most = is_next(p, "}") ? -2 : take_count(p);
    if (*out_least < 0 || *out_most == -1 || !take(p, "}")) {
        p->at = begin;
        return false;
    }
    if (*out_least > REGEX_REPEAT_MAX || *out_most > REGEX_REPEAT_MAX ||
        (*out_most >= 0 && *out_most < *out_least))
        fail(p, -EINVAL, "repeats something so many times as RE2 does not");
    return true;
}

static bool take_repetition(struct parser *p, int *out_least, int *out_most)
{
    bool is_there = true;

    *out_least = 0;
    *out_most = -1;
    if (take(p, "?"))
        *out_most = 1;
    else if (take(p, "+"))
        *out_least = 1;
    else if (!take(p, "*"))
        is_there = take_counts(p, out_least, out_most);
    return is_there;
}

/* \Q and \E where they stand; true at the end of the pattern, a group or a choice. */
static bool is_at_end(struct parser *p)
{
    for (;;) {
        if (p->is_quoted && take(p, "\\E"))
            p->is_quoted = false;
        else if (!p->is_quoted && take(p, "\\Q"))
            p->is_quoted = true;
        else
            break;
    }
    return p->rc < 0 || p->at >= p->end || (!p->is_quoted && (is_next(p, "|") || is_next(p, ")")));
}

static void parse_sequence(struct parser *p)
{
    while (!is_at_end(p)) {
        size_t first = p->steps.count;
        int least, most;
        bool is_repeatable = parse_atom(p);

        if (p->is_quoted && take(p, "\\E"))
            p->is_quoted = false;
        if (p->is_quoted || !take_repetition(p, &least, &most))
            continue;
        if (!is_repeatable)
            fail(p, -EINVAL, "repeats nothing");
        repeat(p, first, least, most);
        take(p, "?"); /* as short as possible: the same texts */
        if (take_repetition(p, &least, &most))
            fail(p, -EINVAL, "repeats a repetition");
    }
}

static void parse_choices(struct parser *p)
{
    size_t first = p->steps.count, last_jump = SIZE_MAX;

    for (;;) {
        size_t length;

        parse_sequence(p);
        if (!take(p, "|"))
            break;
        length = p->steps.count - first;
        insert_step(p, first, (struct step){.kind = STEP_SPLIT, .a = 1, .b = (int32_t)length + 2});
        push_step(p, (struct step){.kind = STEP_JUMP, .b = (int32_t)(last_jump == SIZE_MAX)});
        /* Its end is not known yet: a tells how far the jump before it is. */
        if (p->rc == 0) {
            size_t jump = p->steps.count - 1;

            p->steps.items[jump].a = last_jump == SIZE_MAX ? 0 : (int32_t)(jump - last_jump);
            last_jump = jump;
        }
        first = p->steps.count;
    }
    while (p->rc == 0 && last_jump != SIZE_MAX) {
        struct step *jump = &p->steps.items[last_jump];
        size_t before = jump->b ? SIZE_MAX : last_jump - (size_t)jump->a;

        jump->a = (int32_t)(p->steps.count - last_jump);
        jump->b = 0;
        last_jump = before;
    }
}

static int pack(const struct parser *p, struct regex **out_regex)
{
    size_t step_bytes = p->steps.count * sizeof(struct step);
    size_t range_bytes = p->ranges.count * sizeof(struct range);
    struct regex *regex = malloc(sizeof(*regex) + step_bytes + range_bytes);

    if (!regex)
        return -ENOMEM;
    regex->step_count = (uint32_t)p->steps.count;
    regex->range_count = (uint32_t)p->ranges.count;
    memcpy(regex->steps, p->steps.items, step_bytes);
    if (range_bytes > 0)
        memcpy((char *)regex->steps + step_bytes, p->ranges.items, range_bytes);
    *out_regex = regex;
    return 0;
}

int regex_compile(const char *pattern, size_t length, struct regex **out_regex, struct diag *diag)
{
    struct parser p = {.at = pattern, .end = pattern + length, .diag = diag};
    int rc;

    parse_choices(&p);
    if (p.rc == 0 && p.at < p.end)
        fail(&p, -EINVAL, "closes a group that was not opened");
    push_step(&p, (struct step){.kind = STEP_DONE});
    rc = p.rc < 0 ? p.rc : pack(&p, out_regex);
    if (rc == -ENOMEM)
        diag_set(diag, rc, "out of memory");
    array_deinit(&p.steps);
    array_deinit(&p.ranges);
    return rc;
}

size_t regex_bytes(const struct regex *regex)
{
    return sizeof(*regex) + regex->step_count * sizeof(struct step) +
           regex->range_count * sizeof(struct range);
}
