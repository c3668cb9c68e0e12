/* SPDX-License-Identifier: Apache-2.0 */
/* Linear models and what prepares their features: ai.onnx.ml without trees. All compute in
 * float32. */
#include <math.h>
#include <string.h>

#include "runtime/ops/lower/rules.h"

/* A list of reals as a constant of one axis, or `rows` x the rest; NULL where it is missing. */
static struct value *reals(struct lower *l, const char *name, int64_t rows)
{
    const struct attribute *list = node_attribute(l->node, name);
    struct shape shape = {1, {0}};
    struct value *value;
    float *data;

    if (!list || !list->floats || list->count == 0)
        return NULL;
    shape.dims[0] = (int64_t)list->count;
    if (rows > 0) {
        if ((int64_t)list->count % rows != 0)
            lower_refuse(l, "attribute %s does not have so many numbers for each of %lld", name,
                         (long long)rows);
        shape = (struct shape){2, {rows, (int64_t)list->count / rows}};
    }
    data = lower_data(l, DTYPE_F32, &shape, &value);
    if (data)
        memcpy(data, list->floats, list->count * sizeof(*data));
    return value;
}

static struct value *features(struct lower *l, uint32_t i)
{
    return lower_cast(l, lower_input(l, i), DTYPE_F32);
}

static void lower_scaler(struct lower *l)
{
    struct value *x = features(l, 0), *offset = reals(l, "offset", 0);
    struct value *scale = reals(l, "scale", 0);

    x = offset ? lower_two(l, "Sub", x, offset) : x;
    lower_done(l, 0, scale ? lower_two(l, "Mul", x, scale) : x);
}

/* y where the condition holds, else z. */
static struct value *choose(struct lower *l, struct value *condition, struct value *y,
                            struct value *z)
{
    struct value *inputs[] = {condition, y, z};

    return lower_op(l, "Where", inputs, 3);
}

/* The largest of each row. */
static struct value *largest(struct lower *l, struct value *x)
{
    static const int64_t last = -1;
    bool is_input = graph_opset(l->graph, "") >= 18;
    struct value *y = is_input ? lower_two(l, "ReduceMax", x, lower_list(l, &last, 1))
                               : lower_one(l, "ReduceMax", x);

    if (!is_input)
        lower_ints(l, "axes", &last, 1);
    return y;
}

static void lower_normalizer(struct lower *l)
{
    const char *norm = node_string(l->node, "norm", "MAX");
    struct value *x = features(l, 0), *most, *y;

    if (strcmp(norm, "MAX") == 0) { /* with its sign, and rows whose largest is 0 stay */
        most = largest(l, x);
        y = lower_two(l, "Equal", most, lower_number(l, 0.0f));
        most = choose(l, y, lower_number(l, 1.0f), most);
        lower_done(l, 0, lower_two(l, "Div", x, most));
        return;
    }
    if (strcmp(norm, "L1") != 0 && strcmp(norm, "L2") != 0)
        lower_refuse(l, "its norm is '%.40s', not MAX, L1 or L2", norm);
    y = lower_one(l, "LpNormalization", x);
    lower_int(l, "axis", -1);
    lower_int(l, "p", strcmp(norm, "L1") == 0 ? 1 : 2);
    lower_done(l, 0, y);
}

/* x times the coefficients of each class or target, plus its intercept. */
static struct value *scores(struct lower *l, int64_t rows)
{
    struct value *inputs[3] = {features(l, 0), reals(l, "coefficients", rows),
                               reals(l, "intercepts", 0)};
    struct value *y;

    if (!inputs[1])
        lower_refuse(l, "attribute coefficients is missing");
    y = lower_op(l, "Gemm", inputs, 3);
    lower_int(l, "transB", 1);
    return y;
}

/* A softmax of what is not 0: zeros stay, and rows of zeros alone are NaN, as 0/0 is. */
static struct value *softmax_zero(struct lower *l, struct value *x)
{
    struct value *most = largest(l, x), *counts, *e, *rest, *zero = lower_number(l, 0.0f);

    counts = lower_two(l, "Greater", lower_one(l, "Abs", x), lower_number(l, 1e-7f));
    e = lower_one(l, "Exp", lower_two(l, "Sub", x, most));
    rest = lower_two(l, "Mul", x, lower_one(l, "Exp", lower_one(l, "Neg", most)));
    return lower_two(l, "Div", choose(l, counts, e, rest),
                     lower_sum(l, choose(l, counts, e, zero), 1, true));
}

/* The normal distribution's quantiles: Winitzki's inverse of erf, as ONNX Runtime has it. */
static struct value *probit(struct lower *l, struct value *x)
{
    const float a = 0.147f;
    struct value *one = lower_number(l, 1.0f), *log, *v;

    x = lower_two(l, "Sub", lower_two(l, "Mul", x, lower_number(l, 2.0f)), one);
    log = lower_two(l, "Mul", lower_two(l, "Sub", one, x), lower_two(l, "Add", one, x));
    log = lower_one(l, "Log", log);
    v = lower_two(l, "Mul", log, lower_number(l, 0.5f));
    v = lower_two(l, "Add", v, lower_number(l, 2.0f / (3.14159f * a)));
    log = lower_two(l, "Mul", log, lower_number(l, 1.0f / a));
    log = lower_two(l, "Sub", lower_two(l, "Mul", v, v), log);
    v = lower_one(l, "Sqrt", lower_two(l, "Sub", lower_one(l, "Sqrt", log), v));
    v = lower_two(l, "Mul", lower_one(l, "Sign", x), v);
    return lower_two(l, "Mul", v, lower_number(l, 1.41421356f));
}

struct value *lower_post_transform(struct lower *l, struct value *y)
{
    const char *name = node_string(l->node, "post_transform", "NONE");

    if (strcmp(name, "NONE") == 0)
        return y;
    if (strcmp(name, "LOGISTIC") == 0)
        return lower_one(l, "Sigmoid", y);
    if (strcmp(name, "SOFTMAX_ZERO") == 0)
        return softmax_zero(l, y);
    if (strcmp(name, "PROBIT") == 0)
        return probit(l, y);
    if (strcmp(name, "SOFTMAX") != 0)
        lower_refuse(l, "attribute post_transform is '%.40s'", name);
    y = lower_one(l, "Softmax", y);
    lower_int(l, "axis", 1);
    return y;
}

static void lower_regressor(struct lower *l)
{
    lower_done(l, 0, lower_post_transform(l, scores(l, node_int(l->node, "targets", 1))));
}

/* The class of the best score, out of their list. */
static struct value *choose_label(struct lower *l, struct value *y, struct value *labels)
{
    y = lower_one(l, "ArgMax", y);
    lower_int(l, "axis", 1);
    lower_int(l, "keepdims", 0);
    y = lower_two(l, "Gather", labels, y);
    lower_int(l, "axis", 0);
    return y;
}

/* Two classes of which the second alone has scores. As ONNX Runtime has it, the first's are 1 less these, and of all
 * transforms LOGISTIC alone changes them. */
static void classify_two(struct lower *l, struct value *labels)
{
    static const int64_t flat = -1;
    const char *name = node_string(l->node, "post_transform", "NONE");
    struct value *y = scores(l, 1), *both[2], *place;
    bool is_logistic = strcmp(name, "LOGISTIC") == 0;

    if (!is_logistic && strcmp(name, "NONE") != 0)
        lower_refuse(l, "attribute post_transform is '%.40s', and it has scores of one class",
                     name);
    place = lower_cast(l, lower_two(l, "Greater", y, lower_number(l, 0.0f)), DTYPE_I64);
    place = lower_two(l, "Gather", labels, lower_reshape(l, place, &flat, 1));
    lower_int(l, "axis", 0);
    lower_done(l, 0, place);
    if (!lower_wants(l, 1))
        return;
    both[0] = is_logistic ? lower_one(l, "Neg", y) : lower_two(l, "Sub", lower_number(l, 1.0f), y);
    both[1] = y;
    y = lower_op(l, "Concat", both, 2);
    lower_int(l, "axis", 1);
    lower_done(l, 1, is_logistic ? lower_one(l, "Sigmoid", y) : y);
}

static void lower_classifier(struct lower *l)
{
    const struct attribute *intercepts = node_attribute(l->node, "intercepts");
    size_t count;
    struct value *labels = lower_labels(l, "classlabels_ints", &count), *y;

    if (labels && count == 2 && intercepts && intercepts->count == 1) {
        classify_two(l, labels);
        return;
    }
    if (!labels || count < 2 || !intercepts || intercepts->count != count) {
        lower_refuse(l,
                     "it does not have a label and an intercept for each of two or more classes");
        return;
    }
    y = scores(l, (int64_t)count);
    lower_done(l, 0, choose_label(l, y, labels));
    if (lower_wants(l, 1))
        lower_done(l, 1, lower_post_transform(l, y));
}

/* The leading dims of x, at least one: of a list it is 1. */
static struct value *leading_dims(struct lower *l, struct value *x)
{
    static const int64_t zero = 0, last = -1, one = 1;
    struct value *dims = lower_one(l, "Shape", x), *inputs[4], *leading, *count;

    inputs[0] = dims;
    inputs[1] = lower_list(l, &zero, 1);
    inputs[2] = lower_list(l, &last, 1);
    leading = lower_op(l, "Slice", inputs, 3);
    /* As many from behind of 1 and them as there are, but one. */
    count = lower_two(l, "Min", lower_one(l, "Neg", lower_one(l, "Shape", leading)),
                      lower_list(l, &last, 1));
    inputs[0] = lower_list(l, &one, 1);
    inputs[1] = leading;
    inputs[0] = lower_op(l, "Concat", inputs, 2);
    lower_int(l, "axis", 0);
    inputs[1] = count;
    inputs[2] = lower_list(l, &(int64_t){INT64_MAX}, 1);
    return lower_op(l, "Slice", inputs, 3);
}

static void lower_extractor(struct lower *l)
{
    static const int64_t flat = -1, row[] = {1, -1};
    int rank = lower_rank(lower_input(l, 0));
    struct value *indices = lower_reshape(l, lower_input(l, 1), &flat, 1), *dims[2];
    struct value *y = lower_two(l, "Gather", lower_input(l, 0), indices);

    lower_int(l, "axis", -1);
    if (rank == 1)
        y = lower_reshape(l, y, row, 2);
    if (rank < 0) {
        dims[0] = leading_dims(l, lower_input(l, 0));
        dims[1] = lower_one(l, "Shape", indices);
        dims[0] = lower_op(l, "Concat", dims, 2);
        lower_int(l, "axis", 0);
        y = lower_two(l, "Reshape", y, dims[0]);
    }
    lower_done(l, 0, y);
}

static void lower_binarizer(struct lower *l)
{
    float threshold = node_float(l->node, "threshold", 0.0f);
    struct value *y = lower_two(l, "Greater", features(l, 0), lower_number(l, threshold));

    lower_done(l, 0, lower_cast(l, y, DTYPE_F32));
}

static void lower_vectorizer(struct lower *l)
{
    enum { PARTS = 256 };
    struct value *parts[PARTS], *y;

    for (uint32_t i = 0; i < l->node->input_count; i++)
        parts[i] = features(l, i);
    y = lower_op(l, "Concat", parts, l->node->input_count);
    lower_int(l, "axis", 1);
    lower_done(l, 0, y);
}

static void lower_imputer(struct lower *l)
{
    float missing = node_float(l->node, "replaced_value_float", 0.0f);
    int64_t lacking = node_int(l->node, "replaced_value_int64", 0);
    struct value *x = lower_input(l, 0), *is_missing;
    size_t count = 0;
    const int64_t *whole = node_ints(l->node, "imputed_value_int64s", &count);

    if (!node_attribute(l->node, "imputed_value_floats") && count > 0) {
        is_missing = lower_two(l, "Equal", x, lower_list(l, &lacking, 1));
        lower_done(l, 0, choose(l, is_missing, lower_list(l, whole, count), x));
        return;
    }
    if (!node_attribute(l->node, "imputed_value_floats"))
        lower_refuse(l, "it has no imputed_value_floats and no imputed_value_int64s");
    is_missing = isnan(missing) ? lower_one(l, "IsNaN", x)
                                : lower_two(l, "Equal", x, lower_number(l, missing));
    lower_done(l, 0, choose(l, is_missing, reals(l, "imputed_value_floats", 0), x));
}

/* A list of maps from labels to scores is the scores, a column for each label. */
static void lower_map(struct lower *l)
{
    lower_done(l, 0, lower_input(l, 0));
}

const struct lower_rule lower_linear[] = {
    {{"ai.onnx.ml.ArrayFeatureExtractor", "Gather"}, 2, 2, 1, "", lower_extractor},
    {{"ai.onnx.ml.Binarizer", "Greater, Cast"}, 1, 1, 1, "threshold", lower_binarizer},
    {{"ai.onnx.ml.FeatureVectorizer", "Cast, Concat"},
     1,
     256,
     1,
     "inputdimensions",
     lower_vectorizer},
    {{"ai.onnx.ml.Imputer", "IsNaN or Equal, Where"},
     1,
     1,
     1,
     "imputed_value_floats imputed_value_int64s replaced_value_float replaced_value_int64",
     lower_imputer},
    {{"ai.onnx.ml.LinearClassifier", "Gemm, ArgMax, Gather, its transform"},
     1,
     1,
     2,
     "classlabels_ints classlabels_strings coefficients intercepts multi_class post_transform",
     lower_classifier},
    {{"ai.onnx.ml.LinearRegressor", "Gemm, its transform"},
     1,
     1,
     1,
     "coefficients intercepts post_transform targets",
     lower_regressor},
    {{"ai.onnx.ml.Normalizer", "LpNormalization; or ReduceMax, Div"},
     1,
     1,
     1,
     "norm",
     lower_normalizer},
    {{"ai.onnx.ml.Scaler", "Sub, Mul"}, 1, 1, 1, "offset scale", lower_scaler},
    {{"ai.onnx.ml.ZipMap", "nothing: its input, a column for each label"},
     1,
     1,
     1,
     "classlabels_int64s classlabels_strings",
     lower_map},
    {{NULL, NULL}, 0, 0, 0, NULL, NULL},
};
