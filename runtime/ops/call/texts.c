/* SPDX-License-Identifier: Apache-2.0 */
/* Operators on the inside of texts, on the CPU alone: tensors hold numbers of texts, which
 * runtime/graph/texts.h looks up and gives new ones. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/graph/texts.h"
#include "runtime/ops/call/call.h"
#include "runtime/ops/hash.h"
#include "runtime/ops/regex.h"
#include "runtime/ops/tokens.h"
#include "runtime/ops/words.h"

struct texts_params {
    struct diag problem;
    enum dtype from, to; /* of a cast */
    int64_t count;       /* elements of input 0 */
    int64_t parts;       /* that there is room for, of each or of all */
    uint32_t seed;
    struct word_splitter splitter;
    struct word_normaliser normaliser;
    struct kernel_broadcast shape;
    const struct regex *regex;
    const struct tokens *tokens;
    int64_t filling; /* the text that tokens are filled up with */
    max_align_t room[];
};

/* Why a run failed. `number` as texts_number() returns it. */
static int fail(const struct call *call, int64_t number, const char *what)
{
    struct texts_params *p = call->params;

    return diag_set(&p->problem, (int)number, "%s",
                    number == -ENOMEM ? "out of memory"
                    : what            ? what
                                      : "it makes too many texts");
}

/* `more` bytes behind the parameters. */
static int make_params(const struct call_request *request, struct call *call, size_t more,
                       int (*run)(const struct call *call), struct texts_params **out_params)
{
    int rc;

    *out_params = NULL;
    if (request->on_device)
        return call_refuse(request, -ENOTSUP, "no kernel of a device for texts");
    rc = call_params(request, call, sizeof(struct texts_params) + more);
    if (rc < 0)
        return rc;
    *out_params = call->params;
    (*out_params)->count = shape_elements(&request->inputs[0].shape);
    call->problem = &(*out_params)->problem;
    call->version = "ref";
    call->run = run;
    return 0;
}

/* Cast */

static int run_from_text(const struct call *call)
{
    const struct texts_params *p = call->params;
    const int64_t *x = call->inputs[0];

    for (int64_t i = 0; i < p->count; i++)
        if (!words_read_number(x[i], call->outputs[0], p->to, i)) {
            size_t length;
            const char *text = texts_get(x[i], &length);
            struct texts_params *params = call->params;

            return diag_set(&params->problem, -EINVAL,
                            "the text '%.60s' begins with no number that %s can be made of", text,
                            dtype_name(p->to));
        }
    return 0;
}

static int run_to_text(const struct call *call)
{
    const struct texts_params *p = call->params;
    int64_t *y = call->outputs[0];

    for (int64_t i = 0; i < p->count; i++) {
        char text[WORDS_NUMBER_BYTES];

        words_write_number(call->inputs[0], p->from, i, text);
        y[i] = texts_number(text, strlen(text));
        if (y[i] < 0)
            return fail(call, y[i], NULL);
    }
    return 0;
}

int call_bind_cast_text(const struct call_request *request, struct call *call)
{
    enum dtype from = request->inputs[0].dtype, to = request->outputs[0].dtype;
    struct texts_params *p;
    enum kernel_dtype known;
    int rc;

    if (from == DTYPE_STRING && !call_dtype(to, &known))
        return call_refuse(request, -ENOTSUP, "no kernel from %s to %s", dtype_name(from),
                           dtype_name(to));
    rc = make_params(request, call, 0, from == DTYPE_STRING ? run_from_text : run_to_text, &p);
    if (rc < 0)
        return rc;
    p->from = from;
    p->to = to;
    return 0;
}

/* StringConcat */

static int64_t concatenate(int64_t a, int64_t b)
{
    size_t a_length, b_length;
    const char *a_bytes = texts_get(a, &a_length), *b_bytes = texts_get(b, &b_length);
    char *both;
    int64_t number;

    if (a_length == 0 || b_length == 0)
        return a_length == 0 ? b : a;
    if (a_length > WORDS_BYTES_MAX || b_length > WORDS_BYTES_MAX - a_length)
        return -E2BIG;
    both = malloc(a_length + b_length);
    if (!both)
        return -ENOMEM;
    memcpy(both, a_bytes, a_length);
    memcpy(both + a_length, b_bytes, b_length);
    number = texts_number(both, a_length + b_length);
    free(both);
    return number;
}

static int run_concatenate(const struct call *call)
{
    const struct texts_params *p = call->params;
    const struct kernel_broadcast *s = &p->shape;
    const int64_t *a = call->inputs[0], *b = call->inputs[1];
    int64_t *y = call->outputs[0];

    for (int64_t i = 0; i < p->count; i++) {
        int64_t left = i, at_a = 0, at_b = 0;

        for (int axis = s->rank; axis-- > 0; left /= s->dims[axis]) {
            at_a += left % s->dims[axis] * s->a_stride[axis];
            at_b += left % s->dims[axis] * s->b_stride[axis];
        }
        y[i] = concatenate(a[at_a], b[at_b]);
        if (y[i] < 0)
            return fail(call, y[i], "a text of more than 16 MiB, or too many of them");
    }
    return 0;
}

int call_bind_concatenate(const struct call_request *request, struct call *call)
{
    const struct shape *y = &request->outputs[0].shape;
    int64_t strides[SHAPE_MAX_RANK];
    struct texts_params *p;
    int rc = make_params(request, call, 0, run_concatenate, &p);

    if (rc < 0)
        return rc;
    p->count = shape_elements(y);
    p->shape.rank = y->rank;
    memcpy(p->shape.dims, y->dims, sizeof(y->dims));
    for (uint32_t i = 0; rc == 0 && i < 2; i++) {
        const struct shape *x = &request->inputs[i].shape;

        call_input_strides(request, i, strides);
        rc = call_broadcast_strides(request, x, strides, y->rank - x->rank,
                                    i == 0 ? p->shape.a_stride : p->shape.b_stride);
    }
    return rc;
}

/* StringSplit */

static int run_split(const struct call *call)
{
    const struct texts_params *p = call->params;
    const int64_t *x = call->inputs[0];
    int64_t *y = call->outputs[0], *counts = call->outputs[1];

    for (int64_t i = 0; i < p->count; i++) {
        struct word rest, part;
        int64_t count = 0;

        rest.bytes = texts_get(x[i], &rest.length);
        for (; words_next(&p->splitter, count, &rest, &part); count++) {
            if (count >= p->parts)
                return fail(call, -ESTALE,
                            "a text has more parts than there were when its size was inferred");
            if (!y)
                continue;
            y[i * p->parts + count] = texts_number(part.bytes, part.length);
            if (y[i * p->parts + count] < 0)
                return fail(call, y[i * p->parts + count], NULL);
        }
        if (counts)
            counts[i] = count;
        for (; y && count < p->parts; count++)
            y[i * p->parts + count] = 0;
    }
    return 0;
}

int call_bind_split_text(const struct call_request *request, struct call *call)
{
    const struct attribute *delimiter = node_attribute(request->node, "delimiter");
    const struct shape *y = &request->outputs[0].shape;
    bool has_delimiter = delimiter && delimiter->type == ATTRIBUTE_STRING;
    struct texts_params *p;
    int rc = make_params(request, call, has_delimiter ? delimiter->s_bytes : 0, run_split, &p);

    if (rc < 0)
        return rc;
    p->splitter.most = node_int(request->node, "maxsplit", -1);
    p->parts = request->outputs[0].dtype == DTYPE_NONE ? INT64_MAX : y->dims[y->rank - 1];
    if (has_delimiter) {
        memcpy(p->room, delimiter->s, delimiter->s_bytes);
        p->splitter.delimiter = (const char *)p->room;
        p->splitter.length = delimiter->s_bytes;
    }
    return 0;
}

/* StringNormalizer */

static int run_normalise(const struct call *call)
{
    const struct texts_params *p = call->params;
    const int64_t *x = call->inputs[0];
    int64_t *y = call->outputs[0], kept = 0;

    for (int64_t i = 0; i < p->count; i++) {
        int64_t text = words_normalise(&p->normaliser, x[i]);

        if (text == -ENOENT)
            continue;
        if (text < 0)
            return fail(call, text, "a text of more than 16 MiB, or too many of them");
        if (kept >= p->parts)
            return fail(call, -ESTALE, "more words are kept than when its size was inferred");
        y[kept++] = text;
    }
    for (; kept < p->parts; kept++)
        y[kept] = 0;
    return 0;
}

int call_bind_normalise(const struct call_request *request, struct call *call)
{
    struct word_normaliser normaliser;
    struct diag diag = {0};
    struct texts_params *p;
    int rc = words_normaliser_read(request->node, &normaliser, &diag);

    if (rc < 0)
        return call_refuse(request, rc, "%s", diag.text);
    rc = make_params(request, call, normaliser.stop_count * sizeof(int64_t), run_normalise, &p);
    if (rc == 0) {
        int64_t *stops = (int64_t *)p->room;

        for (size_t i = 0; i < normaliser.stop_count; i++)
            stops[i] = normaliser.stops[i];
        p->normaliser = normaliser;
        p->normaliser.stops = stops;
        p->parts = shape_elements(&request->outputs[0].shape);
    }
    free(normaliser.stops);
    return rc;
}

/* RegexFullMatch */

static int run_match(const struct call *call)
{
    const struct texts_params *p = call->params;
    const int64_t *x = call->inputs[0];
    bool *y = call->outputs[0];

    for (int64_t i = 0; i < p->count; i++) {
        size_t length;
        const char *text = texts_get(x[i], &length);

        y[i] = regex_matches(p->regex, text, length, call->workspace);
    }
    return 0;
}

int call_bind_match(const struct call_request *request, struct call *call)
{
    const struct attribute *pattern = node_attribute(request->node, "pattern");
    struct regex *regex = NULL;
    struct diag diag = {0};
    struct texts_params *p;
    int rc;

    if (!pattern || pattern->type != ATTRIBUTE_STRING)
        return call_refuse(request, -EINVAL, "it has no pattern");
    rc = regex_compile(pattern->s, pattern->s_bytes, &regex, &diag);
    if (rc < 0)
        return call_refuse(request, rc, "%s", diag.text);
    rc = make_params(request, call, regex_bytes(regex), run_match, &p);
    if (rc == 0) {
        memcpy(p->room, regex, regex_bytes(regex));
        p->regex = (const struct regex *)p->room;
        call->workspace_bytes = regex_room(regex);
    }
    free(regex);
    return rc;
}

/* com.microsoft.MurmurHash3: of texts, or of what numbers are made of */

static int run_hash(const struct call *call)
{
    const struct texts_params *p = call->params;
    const int64_t *x = call->inputs[0];
    uint32_t *y = call->outputs[0];

    if (p->from != DTYPE_STRING)
        hash_murmur3_each(y, x, (size_t)p->count, dtype_bytes(p->from), p->seed);
    for (int64_t i = 0; p->from == DTYPE_STRING && i < p->count; i++) {
        size_t length;
        const char *text = texts_get(x[i], &length);

        y[i] = hash_murmur3(text, length, p->seed);
    }
    return 0;
}

int call_bind_hash(const struct call_request *request, struct call *call)
{
    struct texts_params *p = NULL;
    int rc = make_params(request, call, 0, run_hash, &p);

    if (rc == 0) {
        p->from = request->inputs[0].dtype;
        p->seed = (uint32_t)node_int(request->node, "seed", 0);
    }
    return rc;
}

/* com.microsoft.Tokenizer */

/* A row that tokens are put into. */
struct token_row {
    int64_t *y;
    int64_t count, room;
};

static int put_token(void *context, const char *bytes, size_t length)
{
    struct token_row *row = context;
    int64_t number = texts_number(bytes, length);

    if (number < 0)
        return (int)number;
    if (row->count >= row->room)
        return -ESTALE;
    row->y[row->count++] = number;
    return 0;
}

static int run_tokens(const struct call *call)
{
    const struct texts_params *p = call->params;
    const int64_t *x = call->inputs[0];
    bool has_marks = tokens_have_marks(p->tokens);

    for (int64_t i = 0; i < p->count && p->parts > 0; i++) {
        struct token_row row = {(int64_t *)call->outputs[0] + i * p->parts, 0, p->parts};
        size_t length;
        const char *text = texts_get(x[i], &length);
        int rc = has_marks ? put_token(&row, "\2", 1) : 0;

        if (rc == 0)
            rc = tokens_each(p->tokens, text, length, call->workspace, put_token, &row);
        if (rc == 0 && has_marks)
            rc = put_token(&row, "\3", 1);
        if (rc < 0)
            return fail(call, rc,
                        rc == -ESTALE
                            ? "a text has more tokens than there were when its size was inferred"
                        : rc == -EILSEQ ? "one of its texts is not UTF-8"
                                        : NULL);
        while (row.count < row.room)
            row.y[row.count++] = p->filling;
    }
    return 0;
}

int call_bind_tokens(const struct call_request *request, struct call *call)
{
    const struct attribute *filling = node_attribute(request->node, "pad_value");
    const struct shape *y = &request->outputs[0].shape;
    struct tokens *tokens = NULL;
    struct diag diag = {0};
    struct texts_params *p;
    int rc;

    if (!filling || filling->type != ATTRIBUTE_STRING)
        return call_refuse(request, -EINVAL, "it has no pad_value");
    rc = tokens_read(request->node, &tokens, &diag);
    if (rc < 0)
        return call_refuse(request, rc, "%s", diag.text);
    rc = make_params(request, call, tokens_bytes(tokens), run_tokens, &p);
    if (rc == 0) {
        memcpy(p->room, tokens, tokens_bytes(tokens));
        p->tokens = (const struct tokens *)p->room;
        p->parts = y->dims[y->rank - 1];
        p->filling = texts_number(filling->s, filling->s_bytes);
        call->workspace_bytes = tokens_room(tokens);
        rc = p->filling < 0 ? call_refuse(request, (int)p->filling, "out of memory") : 0;
    }
    free(tokens);
    return rc;
}
