/* SPDX-License-Identifier: Apache-2.0 */
/* Shape inference: operators on the inside of texts. How many parts or words there are is found in the texts. */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "runtime/ops/shape/infer.h"
#include "runtime/graph/texts.h"
#include "runtime/ops/tokens.h"
#include "runtime/ops/words.h"

static int require_texts(struct infer *infer, uint32_t i)
{
    if (infer_dtype(infer, i) != DTYPE_STRING)
        return infer_fail(infer, "input %u is %s where texts are needed", i,
                          dtype_name(infer_dtype(infer, i)));
    return 0;
}

int shape_concatenate(struct infer *infer)
{
    struct shape out = *infer_shape(infer, 0);
    int rc = require_texts(infer, 0);

    if (rc == 0)
        rc = require_texts(infer, 1);
    if (rc == 0)
        rc = infer_broadcast(infer, &out, infer_shape(infer, 1));
    return rc < 0 ? rc : infer_output(infer, 0, DTYPE_STRING, &out);
}

int shape_match(struct infer *infer)
{
    int rc = require_texts(infer, 0);

    return rc < 0 ? rc : infer_output(infer, 0, DTYPE_BOOL, infer_shape(infer, 0));
}

/* Of the bytes of each element. */
int shape_hash(struct infer *infer)
{
    enum dtype dtype = infer_dtype(infer, 0);
    bool is_known = dtype == DTYPE_STRING || dtype == DTYPE_F32 || dtype == DTYPE_F64 ||
                    dtype == DTYPE_I32 || dtype == DTYPE_I64 || dtype == DTYPE_U32 ||
                    dtype == DTYPE_U64;

    if (!is_known)
        return infer_unsupported(infer, "its input is %s", dtype_name(dtype));
    return infer_output(infer, 0, node_int(infer->node, "positive", 1) != 0 ? DTYPE_U32 : DTYPE_I32,
                        infer_shape(infer, 0));
}

int shape_split_text(struct infer *infer)
{
    const struct attribute *delimiter = node_attribute(infer->node, "delimiter");
    struct word_splitter splitter = {.most = node_int(infer->node, "maxsplit", -1)};
    struct shape out = *infer_shape(infer, 0);
    int64_t count = shape_elements(&out);
    const void *data;
    int rc = require_texts(infer, 0);

    if (rc == 0 && out.rank >= SHAPE_MAX_RANK)
        rc = infer_unsupported(infer, "its input has %d dimensions", out.rank);
    if (rc == 0)
        rc = infer_output(infer, 1, DTYPE_I64, &out);
    if (rc == 0)
        rc = infer_content(infer, 0, &data);
    if (rc < 0)
        return rc;
    if (delimiter && delimiter->type == ATTRIBUTE_STRING) {
        splitter.delimiter = delimiter->s;
        splitter.length = delimiter->s_bytes;
    }
    out.dims[out.rank] = 0;
    for (int64_t i = 0; i < count; i++) {
        int64_t parts = words_count(&splitter, ((const int64_t *)data)[i]);

        if (parts > out.dims[out.rank])
            out.dims[out.rank] = parts;
    }
    out.rank++;
    return infer_output(infer, 0, DTYPE_STRING, &out);
}

/* One empty text where none is kept. */
int shape_normalise(struct infer *infer)
{
    const struct shape *x = infer_shape(infer, 0);
    struct shape out = *x;
    struct word_normaliser normaliser;
    struct diag diag = {0};
    const void *data = NULL;
    int64_t kept = 0;
    int rc = require_texts(infer, 0);

    if (rc == 0 && ((x->rank != 1 && x->rank != 2) || shape_elements(x) == 0 ||
                    (x->rank == 2 && x->dims[0] != 1)))
        rc = infer_fail(infer, "its input is no list of one or more texts, and no row of them");
    if (rc == 0 && node_attribute(infer->node, "stopwords"))
        rc = infer_content(infer, 0, &data);
    if (rc < 0)
        return rc;
    rc = words_normaliser_read(infer->node, &normaliser, &diag);
    if (rc < 0)
        return rc == -EINVAL ? infer_fail(infer, "%s", diag.text)
                             : infer_unsupported(infer, "%s", diag.text);
    for (int64_t i = 0; data && i < shape_elements(x); i++)
        kept += words_normalise(&normaliser, ((const int64_t *)data)[i]) != -ENOENT;
    free(normaliser.stops);
    if (data)
        out.dims[out.rank - 1] = kept > 0 ? kept : 1;
    return infer_output(infer, 0, DTYPE_STRING, &out);
}

static int count_token(void *context, const char *bytes, size_t length)
{
    (void)bytes;
    (void)length;
    ++*(int64_t *)context;
    return 0;
}

/* The most tokens of a text. */
static int count_tokens(struct infer *infer, const struct tokens *tokens, const int64_t *texts,
                        int64_t *out_most)
{
    void *room = malloc(tokens_room(tokens) + 1);
    int64_t count = shape_elements(infer_shape(infer, 0));
    int rc = room ? 0 : -ENOMEM;

    *out_most = 0;
    for (int64_t i = 0; rc == 0 && i < count; i++) {
        size_t length;
        const char *text = texts_get(texts[i], &length);
        int64_t here = 0;

        rc = tokens_each(tokens, text, length, room, count_token, &here);
        *out_most = here > *out_most ? here : *out_most;
    }
    free(room);
    return rc == -ENOTSUP  ? infer_unsupported(infer, "nothing is a separator in one of its texts")
           : rc == -EILSEQ ? infer_fail(infer, "one of its texts is not UTF-8")
                           : rc;
}

/* Of no texts there are no columns; as in ONNX Runtime, not one for each of a list either. */
int shape_tokens(struct infer *infer)
{
    struct shape out = *infer_shape(infer, 0);
    struct tokens *tokens = NULL;
    struct diag diag = {0};
    const void *data;
    int64_t most = 0;
    int rc = require_texts(infer, 0);

    if (rc == 0 && out.rank != 1 && out.rank != 2)
        rc = infer_fail(infer, "its input has %d dimensions instead of 1 or 2", out.rank);
    if (rc == 0 && shape_elements(&out) == 0) {
        out.dims[out.rank - 1] = 0;
        return infer_output(infer, 0, DTYPE_STRING, &out);
    }
    if (rc == 0)
        rc = infer_content(infer, 0, &data);
    if (rc < 0)
        return rc;
    rc = tokens_read(infer->node, &tokens, &diag);
    if (rc < 0)
        return rc == -EINVAL ? infer_fail(infer, "%s", diag.text)
                             : infer_unsupported(infer, "%s", diag.text);
    rc = count_tokens(infer, tokens, data, &most);
    out.dims[out.rank++] = most > 0 && tokens_have_marks(tokens) ? most + 2 : most;
    free(tokens);
    return rc < 0 ? rc : infer_output(infer, 0, DTYPE_STRING, &out);
}
