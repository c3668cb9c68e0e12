/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens of a text, as com.microsoft.Tokenizer takes them. */
#include "runtime/ops/tokens.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "runtime/ops/regex.h"

enum { ALIGNMENT = 16 };

struct tokens {
    size_t bytes, room; /* of all, and of what the largest pattern needs */
    int64_t least;      /* characters of a token */
    bool has_marks, has_separators;
    uint32_t count; /* of patterns, one behind the other; none: each character is a token */
    max_align_t patterns[];
};

/* A text that is being parted. */
struct parting {
    const struct tokens *tokens;
    void *room;
    tokens_put_fn *put;
    void *context;
};

static size_t padded(size_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static const struct regex *next_pattern(const struct regex *pattern)
{
    return (const struct regex *)((const char *)pattern + padded(regex_bytes(pattern)));
}

static int add_pattern(struct tokens **tokens, const char *pattern, size_t length,
                       struct diag *diag)
{
    struct tokens *grown;
    struct regex *regex = NULL;
    int rc = regex_compile(pattern, length, &regex, diag);

    if (rc < 0)
        return rc;
    grown = realloc(*tokens, (*tokens)->bytes + padded(regex_bytes(regex)));
    if (grown) {
        memcpy((char *)grown + grown->bytes, regex, regex_bytes(regex));
        grown->bytes += padded(regex_bytes(regex));
        if (grown->room < regex_room(regex))
            grown->room = regex_room(regex);
        grown->count++;
        *tokens = grown;
    }
    free(regex);
    return grown ? 0 : diag_set(diag, -ENOMEM, "out of memory");
}

static int add_separators(struct tokens **tokens, const struct attribute *separators,
                          struct diag *diag)
{
    if (separators->count > TOKENS_SEPARATORS_MAX)
        return diag_set(diag, -ENOTSUP, "it has more than %d separators", TOKENS_SEPARATORS_MAX);
    for (size_t i = 0; i < separators->count; i++) {
        const char *separator = separators->strings[i];
        int rc = add_pattern(tokens, separator, strlen(separator), diag);

        if (rc < 0)
            return rc;
    }
    return 0;
}

static int read_characters(const struct tokens *tokens, struct diag *diag)
{
    return tokens->least < 2 ? 0
                             : diag_set(diag, -EINVAL, "no character has mincharnum characters");
}

/* An empty separator, and "." as what a token is, mean characters; ends of lines, too. */
static int read_patterns(const struct node *node, struct tokens **tokens, struct diag *diag)
{
    const struct attribute *separators = node_attribute(node, "separators");
    const struct attribute *expression = node_attribute(node, "tokenexp");

    if (separators && separators->type == ATTRIBUTE_STRINGS && separators->count > 0) {
        if (separators->count == 1 && separators->strings[0][0] == '\0')
            return read_characters(*tokens, diag);
        (*tokens)->has_separators = true;
        return add_separators(tokens, separators, diag);
    }
    if (!expression || expression->type != ATTRIBUTE_STRING)
        return diag_set(diag, -EINVAL, "it has neither separators nor a tokenexp");
    if (expression->s_bytes == 1 && expression->s[0] == '.')
        return read_characters(*tokens, diag);
    return add_pattern(tokens, expression->s, expression->s_bytes, diag);
}

int tokens_read(const struct node *node, struct tokens **out_tokens, struct diag *diag)
{
    struct tokens *tokens = calloc(1, sizeof(*tokens));
    int rc;

    if (!tokens)
        return diag_set(diag, -ENOMEM, "out of memory");
    tokens->bytes = sizeof(*tokens);
    tokens->least = node_int(node, "mincharnum", 0);
    tokens->has_marks = node_int(node, "mark", 0) != 0;
    rc = tokens->least < 1 ? diag_set(diag, -EINVAL, "attribute mincharnum is below 1")
                           : read_patterns(node, &tokens, diag);
    if (rc < 0)
        free(tokens);
    else
        *out_tokens = tokens;
    return rc;
}

size_t tokens_bytes(const struct tokens *tokens)
{
    return tokens->bytes;
}

size_t tokens_room(const struct tokens *tokens)
{
    return tokens->room;
}

bool tokens_have_marks(const struct tokens *tokens)
{
    return tokens->has_marks;
}

/* Short tokens are left out. */
static int put_token(const struct parting *p, const char *bytes, size_t length)
{
    uint32_t code;
    size_t at = 0;

    for (int64_t i = 0; i < p->tokens->least; i++) {
        if (at >= length)
            return 0;
        at += text_decode(bytes + at, length - at, &code);
    }
    return p->put(p->context, bytes, length);
}

/* What lies between separators, from this one on; each takes apart what those before it left. */
static int put_between(const struct parting *p, const struct regex *separator, uint32_t left,
                       const char *bytes, size_t length)
{
    size_t at = 0, begin, end;
    int rc = 0;

    if (left == 0)
        return put_token(p, bytes, length);
    while (rc == 0 && at < length &&
           regex_find(separator, bytes, length, at, p->room, &begin, &end)) {
        if (end == begin) /* of such a text ONNX Runtime drops all, or keeps all */
            return -ENOTSUP;
        if (begin > at)
            rc = put_between(p, next_pattern(separator), left - 1, bytes + at, begin - at);
        at = end;
    }
    return rc < 0 || at >= length
               ? rc
               : put_between(p, next_pattern(separator), left - 1, bytes + at, length - at);
}

static int put_matches(const struct parting *p, const char *bytes, size_t length)
{
    const struct regex *pattern = (const struct regex *)p->tokens->patterns;
    size_t at = 0, begin, end;
    uint32_t code;
    int rc = 0;

    while (rc == 0 && at < length &&
           regex_find(pattern, bytes, length, at, p->room, &begin, &end)) {
        if (end > begin)
            rc = put_token(p, bytes + begin, end - begin);
        /* Behind a match of nothing the next character is left out. */
        at = end > begin ? end
                         : end + (end < length ? text_decode(bytes + end, length - end, &code) : 1);
    }
    return rc;
}

static int put_characters(const struct parting *p, const char *bytes, size_t length)
{
    uint32_t code;
    int rc = 0;

    for (size_t at = 0, step; rc == 0 && at < length; at += step) {
        step = text_decode(bytes + at, length - at, &code);
        rc = p->put(p->context, bytes + at, step);
    }
    return rc;
}

int tokens_each(const struct tokens *tokens, const char *text, size_t length, void *room,
                tokens_put_fn *put, void *context)
{
    struct parting p = {tokens, room, put, context};
    uint32_t code;

    for (size_t at = 0, step; at < length; at += step) {
        step = text_decode(text + at, length - at, &code);
        if (step == 0)
            return -EILSEQ;
    }
    if (tokens->count == 0)
        return put_characters(&p, text, length);
    if (!tokens->has_separators)
        return put_matches(&p, text, length);
    return put_between(&p, (const struct regex *)tokens->patterns, tokens->count, text, length);
}
