/* SPDX-License-Identifier: Apache-2.0 */
/* Input data from text: numbers with brackets for the shape, or a shape alone. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/inputs/input.h"

struct parser {
    const char *at;
    const char *text;
    ARRAY_OF(long double) numbers;
    int64_t fixed[SHAPE_MAX_RANK]; /* items of the first group of each level; 0: none yet */
    int leaf_level;                /* where the numbers stand; -1: not known yet */
    bool has_fraction;
    struct diag *diag;
};

static void skip_spaces(struct parser *parser)
{
    while (isspace((unsigned char)*parser->at))
        parser->at++;
}

static int fail(struct parser *parser, const char *what)
{
    return diag_set(parser->diag, -EINVAL, "%s at character %d of '%.200s'", what,
                    (int)(parser->at - parser->text) + 1, parser->text);
}

static int parse_number(struct parser *parser)
{
    char *end;
    long double number = strtold(parser->at, &end);

    if (end == parser->at)
        return fail(parser, "there is no number");
    for (const char *c = parser->at; c < end; c++)
        parser->has_fraction |= !strchr("0123456789+-", *c);
    parser->at = end;
    return array_push(&parser->numbers, number);
}

static int parse_level(struct parser *parser, int level);

static int parse_group(struct parser *parser, int level)
{
    int rc;

    if (level + 1 >= SHAPE_MAX_RANK)
        return fail(parser, "there are too many brackets");
    parser->at++;
    rc = parse_level(parser, level + 1);
    if (rc < 0)
        return rc;
    skip_spaces(parser);
    if (*parser->at != ']')
        return fail(parser, "a bracket is not closed");
    parser->at++;
    return 0;
}

/* One number, or one group in brackets; numbers stand on one level only. */
static int parse_entry(struct parser *parser, int level)
{
    bool is_group;

    skip_spaces(parser);
    is_group = *parser->at == '[';
    if (parser->leaf_level < 0 && !is_group)
        parser->leaf_level = level;
    if (parser->leaf_level >= 0 && is_group == (level == parser->leaf_level))
        return fail(parser, "the brackets are ragged");
    return is_group ? parse_group(parser, level) : parse_number(parser);
}

/* A comma-separated list, up to a closing bracket or the end. Each list of a level must be as long
 * as the first one there. */
static int parse_level(struct parser *parser, int level)
{
    int64_t count = 0;
    int rc;

    for (;;) {
        rc = parse_entry(parser, level);
        if (rc < 0)
            return rc;
        count++;
        skip_spaces(parser);
        if (*parser->at != ',')
            break;
        parser->at++;
    }
    if (parser->fixed[level] != 0 && parser->fixed[level] != count)
        return fail(parser, "the brackets are ragged");
    parser->fixed[level] = count;
    return 0;
}

/* "{2,3}": spaces are allowed, the closing brace is not optional. */
static int parse_shape(const char *text, struct shape *out_shape, struct diag *diag)
{
    const char *at = text + 1;

    out_shape->rank = 0;
    while (isspace((unsigned char)*at))
        at++;
    while (*at != '}') {
        char *end;

        if (out_shape->rank == SHAPE_MAX_RANK)
            return diag_set(diag, -EINVAL, "the shape '%.200s' has more than %d dimensions", text,
                            SHAPE_MAX_RANK);
        errno = 0;
        out_shape->dims[out_shape->rank] = strtoll(at, &end, 10);
        if (end == at || errno != 0 || out_shape->dims[out_shape->rank] < 0)
            return diag_set(diag, -EINVAL, "dimension %d of the shape '%.200s' is not a number",
                            out_shape->rank, text);
        out_shape->rank++;
        for (at = end; isspace((unsigned char)*at);)
            at++;
        if (*at == ',')
            at++;
        else if (*at != '}')
            return diag_set(diag, -EINVAL, "the shape '%.200s' is not closed with '}'", text);
    }
    if (at[1] != '\0')
        return diag_set(diag, -EINVAL, "there is more behind the shape '%.200s'", text);
    if (shape_elements(out_shape) < 0)
        return diag_set(diag, -EINVAL, "the shape '%.200s' is too large", text);
    return 0;
}

int input_parse_text(const char *text, struct input *out_input, struct diag *diag)
{
    struct parser parser = {.at = text, .text = text, .leaf_level = -1, .diag = diag};
    int rc;

    if (text[0] == '{') {
        struct shape shape;

        rc = parse_shape(text, &shape, diag);
        if (rc == 0)
            *out_input = (struct input){.kind = INPUT_ONES, .tensor = {.shape = shape}};
        return rc;
    }
    rc = parse_level(&parser, 0);
    if (rc == 0 && *parser.at != '\0')
        rc = fail(&parser, "there is something else");
    if (rc == -ENOMEM)
        diag_set(diag, rc, "no memory for the input data");
    if (rc < 0) {
        array_deinit(&parser.numbers);
        return rc;
    }
    *out_input = (struct input){.kind = INPUT_NUMBERS,
                                .numbers = parser.numbers.items,
                                .has_fraction = parser.has_fraction};
    out_input->tensor.shape.rank = parser.leaf_level + 1;
    memcpy(out_input->tensor.shape.dims, parser.fixed, sizeof(parser.fixed));
    return 0;
}
