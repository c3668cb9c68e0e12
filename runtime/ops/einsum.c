/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the equation of an Einsum. */
#include "runtime/ops/einsum.h"

#include <string.h>

/* Letters by their code, then the axes that an ellipsis stands for, from the last one on. */
enum { LETTERS = 128, LABELS = LETTERS + SHAPE_MAX_RANK, TERM_MAX = 64 };

struct parser {
    const char *at;
    int64_t dims[LABELS];                            /* -1: not seen */
    int64_t strides[KERNEL_EINSUM_OPERANDS][LABELS]; /* by operand */
    int uses[LABELS];
    int ellipsis; /* axes of the longest one */
    bool has_ellipsis;
};

/* The labels of one term; an ellipsis is '.'. */
struct term {
    char labels[TERM_MAX];
    int count; /* of labels, the ellipsis included */
    bool has_ellipsis;
};

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Up to ',', "->" or the end. */
static const char *read_term(struct parser *p, struct term *out_term)
{
    *out_term = (struct term){.count = 0};
    for (;; p->at++) {
        if (*p->at == ' ')
            continue;
        if (out_term->count == TERM_MAX)
            return "a term is too long";
        if (is_letter(*p->at)) {
            out_term->labels[out_term->count++] = *p->at;
        } else if (strncmp(p->at, "...", 3) == 0) {
            if (out_term->has_ellipsis)
                return "a term has two ellipses";
            out_term->has_ellipsis = true;
            out_term->labels[out_term->count++] = '.';
            p->at += 2;
        } else {
            return NULL;
        }
    }
}

static const char *take_axis(struct parser *p, int operand, int label, int64_t dim, int64_t stride)
{
    int64_t *known = &p->dims[label];

    if (*known >= 0 && *known != dim && *known != 1 && dim != 1)
        return "two operands differ in the size of one label";
    if (*known < 0 || *known == 1)
        *known = dim;
    p->strides[operand][label] += dim == 1 ? 0 : stride;
    p->uses[label]++;
    return NULL;
}

static const char *take_operand(struct parser *p, int operand, const struct shape *shape)
{
    struct term term;
    const char *problem = read_term(p, &term);
    int axes = shape->rank - (term.count - term.has_ellipsis), axis = shape->rank;
    int64_t stride = 1;

    if (problem)
        return problem;
    if (axes < 0 || (axes > 0 && !term.has_ellipsis))
        return "a term does not have as many labels as its operand has dimensions";
    p->has_ellipsis = p->has_ellipsis || term.has_ellipsis;
    if (term.has_ellipsis && axes > p->ellipsis)
        p->ellipsis = axes;
    for (int i = term.count - 1; i >= 0; i--) {
        int labels = term.labels[i] == '.' ? axes : 1;

        for (int k = 0; k < labels; k++) {
            int label = term.labels[i] == '.' ? LETTERS + k : term.labels[i];

            axis--;
            problem = take_axis(p, operand, label, shape->dims[axis], stride);
            if (problem)
                return problem;
            stride *= shape->dims[axis];
        }
    }
    return NULL;
}

static const char *add_axis(const struct parser *p, int label, int *count,
                            struct kernel_einsum *out_einsum)
{
    int axis = out_einsum->kept + out_einsum->summed;

    if (axis == KERNEL_EINSUM_AXES)
        return "it has too many labels";
    out_einsum->dims[axis] = p->dims[label];
    for (int i = 0; i < out_einsum->operands; i++)
        out_einsum->strides[i][axis] = p->strides[i][label];
    (*count)++;
    return NULL;
}

/* The labels of the output when the equation does not tell them. */
static void imply(const struct parser *p, struct term *out_term)
{
    *out_term = (struct term){.count = 0};
    if (p->has_ellipsis)
        out_term->labels[out_term->count++] = '.';
    for (int label = 0; label < LETTERS; label++)
        if (p->uses[label] == 1 && out_term->count < TERM_MAX)
            out_term->labels[out_term->count++] = (char)label;
}

static const char *keep(const struct parser *p, const struct term *term, bool is_kept[LABELS],
                        struct kernel_einsum *out_einsum)
{
    for (int i = 0; i < term->count; i++) {
        int first = term->labels[i] == '.' ? LETTERS : term->labels[i];
        int labels = term->labels[i] == '.' ? p->ellipsis : 1;

        for (int label = first + labels - 1; label >= first; label--) {
            const char *problem;

            if (p->dims[label] < 0)
                return "the output has a label that no operand has";
            if (is_kept[label])
                return "the output has a label twice";
            is_kept[label] = true;
            if (out_einsum->kept == SHAPE_MAX_RANK)
                return "the output has too many dimensions";
            problem = add_axis(p, label, &out_einsum->kept, out_einsum);
            if (problem)
                return problem;
        }
    }
    return NULL;
}

static const char *read_output(struct parser *p, struct term *out_term)
{
    const char *problem;

    if (*p->at == '\0') {
        imply(p, out_term);
        return NULL;
    }
    if (strncmp(p->at, "->", 2) != 0)
        return "it has a character that is no label";
    p->at += 2;
    problem = read_term(p, out_term);
    if (!problem && *p->at != '\0')
        problem = "it has something behind the output";
    return problem;
}

const char *einsum_parse(const char *equation, const struct shape *const *operands, int count,
                         struct kernel_einsum *out_einsum)
{
    struct parser p = {.at = equation};
    bool is_kept[LABELS] = {false};
    struct term term;
    const char *problem = NULL;

    *out_einsum = (struct kernel_einsum){.operands = count};
    for (int label = 0; label < LABELS; label++)
        p.dims[label] = -1;
    for (int i = 0; !problem && i < count; i++) {
        if (i > 0 && *p.at++ != ',')
            return "it has not one term for each operand";
        problem = take_operand(&p, i, operands[i]);
    }
    if (!problem && *p.at == ',')
        problem = "it has more terms than operands";
    if (!problem)
        problem = read_output(&p, &term);
    if (!problem)
        problem = keep(&p, &term, is_kept, out_einsum);
    for (int label = 0; !problem && label < LABELS; label++)
        if (p.dims[label] >= 0 && !is_kept[label])
            problem = add_axis(&p, label, &out_einsum->summed, out_einsum);
    return problem;
}
