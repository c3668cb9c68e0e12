/* SPDX-License-Identifier: Apache-2.0 */
/* Models of ai.onnx.ml that compare each row with known ones: support vectors, categories, keys. */
#include <math.h>
#include <string.h>

#include "runtime/ops/lower/rules.h"

/* Support vectors */

enum kernel { LINEAR, POLYNOMIAL, RADIAL, SIGMOID, KERNELS };

static enum kernel find_kernel(struct lower *l)
{
    static const char *const names[KERNELS] = {"LINEAR", "POLY", "RBF", "SIGMOID"};
    const char *name = node_string(l->node, "kernel_type", "LINEAR");

    for (int i = 0; i < KERNELS; i++)
        if (strcmp(names[i], name) == 0)
            return (enum kernel)i;
    lower_refuse(l, "attribute kernel_type is '%.40s'", name);
    return LINEAR;
}

/* gamma, what is added, the power. */
static float parameter(const struct lower *l, size_t i)
{
    const struct attribute *list = node_attribute(l->node, "kernel_params");

    return list && list->floats && i < list->count ? list->floats[i] : 0.0f;
}

/* Of each row of x with each support vector. */
static struct value *likeness(struct lower *l, struct value *x, struct value *vectors)
{
    enum kernel kernel = find_kernel(l);
    float gamma = parameter(l, 0);
    struct value *y, *inputs[] = {x, vectors};

    if (kernel == RADIAL)
        return lower_one(l, "Exp",
                         lower_two(l, "Mul", lower_two(l, "com.microsoft.CDist", x, vectors),
                                   lower_number(l, -gamma)));
    y = lower_op(l, "Gemm", inputs, 2);
    lower_int(l, "transB", 1);
    if (kernel == LINEAR)
        return y;
    y = lower_two(l, "Mul", y, lower_number(l, gamma));
    y = lower_two(l, "Add", y, lower_number(l, parameter(l, 1)));
    return kernel == SIGMOID ? lower_one(l, "Tanh", y)
                             : lower_two(l, "Pow", y, lower_number(l, parameter(l, 2)));
}

/* The numbers of an attribute as rows; NULL: none. */
static struct value *rows_of(struct lower *l, const char *name, int64_t rows)
{
    const struct attribute *list = node_attribute(l->node, name);
    struct shape shape = {2, {rows, 0}};
    struct value *value;
    float *data;

    if (!list || !list->floats || rows < 1 || list->count == 0 ||
        (int64_t)list->count % rows != 0) {
        lower_refuse(l, "attribute %s does not have so many numbers for each of %lld", name,
                     (long long)rows);
        return NULL;
    }
    shape.dims[1] = (int64_t)list->count / rows;
    data = lower_data(l, DTYPE_F32, &shape, &value);
    if (data)
        memcpy(data, list->floats, list->count * sizeof(*data));
    return value;
}

/* Without support vectors the coefficients are those of the features. */
static void lower_vectors(struct lower *l)
{
    int64_t count = node_int(l->node, "n_supports", 0);
    struct value *x = lower_cast(l, lower_input(l, 0), DTYPE_F32), *y, *inputs[3];

    if (count < 0 || strcmp(node_string(l->node, "post_transform", "NONE"), "NONE") != 0)
        lower_refuse(l, "its number of support vectors or its post_transform is not known");
    inputs[0] = count > 0 ? likeness(l, x, rows_of(l, "support_vectors", count)) : x;
    inputs[1] = rows_of(l, "coefficients", 1);
    inputs[2] = rows_of(l, "rho", 1);
    y = lower_op(l, "Gemm", inputs, 3);
    lower_int(l, "transB", 1);
    if (node_int(l->node, "one_class", 0) != 0) {
        inputs[0] = lower_two(l, "Greater", y, lower_number(l, 0.0f));
        inputs[1] = lower_number(l, 1.0f);
        inputs[2] = lower_number(l, -1.0f);
        y = lower_op(l, "Where", inputs, 3);
    }
    lower_done(l, 0, y);
}

/* Classifiers compare each class with each other one */

struct duel {
    struct value *labels;
    size_t classes, pairs, vectors;
    const int64_t *counts; /* of the support vectors of each class */
    const float *coefficients;
    bool has_probabilities; /* prob_a and prob_b */
};

/* Without it there are none, and no other number of them than pairs. */
static bool has_pairs(struct lower *l, const char *name, const struct duel *d)
{
    const struct attribute *list = node_attribute(l->node, name);

    if (list && (!list->floats || list->count != d->pairs))
        lower_refuse(l, "attribute %s does not have a number for each pair of labels", name);
    return list && list->count > 0;
}

static void read_duel(struct lower *l, struct duel *d)
{
    const struct attribute *c = node_attribute(l->node, "coefficients");
    const struct attribute *rho = node_attribute(l->node, "rho");
    size_t labels, counts;
    int64_t left;

    d->labels = lower_labels(l, "classlabels_ints", &labels);
    d->counts = node_ints(l->node, "vectors_per_class", &counts);
    d->classes = labels;
    d->pairs = labels * (labels - 1) / 2;
    d->has_probabilities = has_pairs(l, "prob_a", d);
    if (has_pairs(l, "prob_b", d) != d->has_probabilities)
        lower_refuse(l, "it has one of prob_a and prob_b without the other");
    if (labels < 2 || labels > 1024 || counts != labels || !c || !c->floats ||
        c->count % (labels - 1) != 0 || !rho || !rho->floats || rho->count != d->pairs) {
        lower_refuse(l, "it does not have support vectors for each of two or more labels");
        return;
    }
    d->coefficients = c->floats;
    d->vectors = c->count / (labels - 1);
    left = (int64_t)d->vectors;
    for (size_t i = 0; i < labels; i++) {
        if (d->counts[i] < 0 || d->counts[i] > left) {
            lower_refuse(l, "its classes have other numbers of support vectors than coefficients");
            return;
        }
        left -= d->counts[i];
    }
}

/* What each support vector counts for each pair of classes: those of others, nothing. */
static void fill_duel(const struct duel *d, float *y)
{
    size_t pair = 0, first = 0;

    for (size_t i = 0; i < d->classes; first += (size_t)d->counts[i++]) {
        size_t second = first + (size_t)d->counts[i];

        for (size_t j = i + 1; j < d->classes; second += (size_t)d->counts[j++], pair++) {
            for (size_t v = first; v < first + (size_t)d->counts[i]; v++)
                y[v * d->pairs + pair] = d->coefficients[(j - 1) * d->vectors + v];
            for (size_t v = second; v < second + (size_t)d->counts[j]; v++)
                y[v * d->pairs + pair] = d->coefficients[i * d->vectors + v];
        }
    }
}

/* Who wins gets one vote: of a pair the first class where its score is above 0. */
static struct value *votes_of(struct lower *l, const struct duel *d, struct value *scores)
{
    int64_t pairs = (int64_t)d->pairs, classes = (int64_t)d->classes;
    struct value *inputs[3];
    float *change, *start;
    size_t pair = 0;

    scores = lower_two(l, "Greater", scores, lower_number(l, 0.0f));
    inputs[0] = lower_cast(l, scores, DTYPE_F32);
    change = lower_data(l, DTYPE_F32, &(struct shape){2, {pairs, classes}}, &inputs[1]);
    start = lower_data(l, DTYPE_F32, &(struct shape){1, {classes}}, &inputs[2]);
    if (!change || !start)
        return NULL;
    memset(change, 0, d->pairs * d->classes * sizeof(*change));
    memset(start, 0, d->classes * sizeof(*start));
    for (size_t i = 0; i < d->classes; i++)
        for (size_t j = i + 1; j < d->classes; j++, pair++) {
            change[pair * d->classes + i] = 1.0f;
            change[pair * d->classes + j] = -1.0f;
            start[j] += 1.0f;
        }
    return lower_op(l, "Gemm", inputs, 3);
}

/* Of the one score of two classes ONNX Runtime makes both, and of them no SOFTMAX. */
static struct value *both_scores(struct lower *l, struct value *y)
{
    const char *transform = node_string(l->node, "post_transform", "NONE");
    bool is_logistic = strcmp(transform, "LOGISTIC") == 0;
    struct value *both[] = {NULL, y};

    if (is_logistic || strcmp(transform, "NONE") == 0)
        both[0] = lower_one(l, "Neg", y);
    else if (strcmp(transform, "SOFTMAX") == 0 || strcmp(transform, "SOFTMAX_ZERO") == 0)
        both[0] = lower_two(l, "Sub", lower_number(l, 1.0f), y);
    else
        lower_refuse(l, "attribute post_transform is '%.40s', and it has one score of two classes",
                     transform);
    y = lower_op(l, "Concat", both, 2);
    lower_int(l, "axis", 1);
    return is_logistic ? lower_one(l, "Sigmoid", y) : y;
}

static struct value *duel_scores(struct lower *l, const struct duel *d, struct value *y)
{
    struct value *inputs[3];

    if (!d->has_probabilities && d->classes == 2)
        return both_scores(l, y);
    if (d->has_probabilities) {
        inputs[0] = y;
        inputs[1] = rows_of(l, "prob_a", 1);
        inputs[2] = rows_of(l, "prob_b", 1);
        y = lower_op(l, "optrace.PairwiseCoupling", inputs, 3);
    }
    return lower_post_transform(l, y);
}

static void lower_duels(struct lower *l)
{
    struct duel d = {0};
    struct value *inputs[3], *scores, *label;
    float *weights;

    read_duel(l, &d);
    if (l->rc < 0)
        return;
    inputs[0] = likeness(l, lower_cast(l, lower_input(l, 0), DTYPE_F32),
                         rows_of(l, "support_vectors", (int64_t)d.vectors));
    weights = lower_data(l, DTYPE_F32, &(struct shape){2, {(int64_t)d.vectors, (int64_t)d.pairs}},
                         &inputs[1]);
    if (!weights)
        return;
    memset(weights, 0, d.vectors * d.pairs * sizeof(*weights));
    fill_duel(&d, weights);
    inputs[2] = rows_of(l, "rho", 1);
    scores = lower_op(l, "Gemm", inputs, 3);
    label = lower_one(l, "ArgMax", votes_of(l, &d, scores));
    lower_int(l, "axis", 1);
    lower_int(l, "keepdims", 0);
    label = lower_two(l, "Gather", d.labels, label);
    lower_int(l, "axis", 0);
    lower_done(l, 0, label);
    if (lower_wants(l, 1))
        lower_done(l, 1, duel_scores(l, &d, scores));
}

/* Keys and categories */

static struct value *list_of(struct lower *l, const struct attribute *a)
{
    struct value *value = NULL;
    float *data;

    if (a && a->type == ATTRIBUTE_INTS)
        return lower_list(l, a->ints, a->count);
    if (a && a->type == ATTRIBUTE_STRINGS && a->count > 0)
        return lower_texts(l, (const char *const *)a->strings, a->count);
    if (a && a->type == ATTRIBUTE_TENSOR && shape_elements(&a->tensor.shape) > 0 &&
        a->tensor.shape.rank == 1) {
        void *bytes = lower_data(l, a->tensor.dtype, &a->tensor.shape, &value);

        if (bytes)
            memcpy(bytes, a->tensor.data, (size_t)shape_bytes(&a->tensor.shape, a->tensor.dtype));
        return value;
    }
    if (!a || a->type != ATTRIBUTE_FLOATS)
        return NULL;
    data = lower_data(l, DTYPE_F32, &(struct shape){1, {(int64_t)a->count}}, &value);
    if (data)
        memcpy(data, a->floats, a->count * sizeof(*data));
    return value;
}

/* The first that is there. */
static struct value *list_named(struct lower *l, const char *const names[4])
{
    for (int i = 0; i < 4; i++) {
        struct value *value = list_of(l, node_attribute(l->node, names[i]));

        if (value)
            return value;
    }
    return NULL;
}

/* What lists of tensors have where no default is given: -1, of reals -0. */
static struct value *plain_default(struct lower *l, enum dtype dtype)
{
    static const float minus_zero = -0.0f;
    static const double minus_zero_wide = -0.0;
    static const int16_t none_of_16 = -1;
    static const int32_t none_of_32 = -1;
    const void *from = dtype == DTYPE_F32   ? (const void *)&minus_zero
                       : dtype == DTYPE_F64 ? (const void *)&minus_zero_wide
                       : dtype == DTYPE_I16 ? (const void *)&none_of_16
                       : dtype == DTYPE_I32 ? (const void *)&none_of_32
                                            : NULL;
    struct value *value = NULL;
    void *data;

    if (!from) {
        lower_refuse(l, "its values are %s", dtype_name(dtype));
        return NULL;
    }
    data = lower_data(l, dtype, &(struct shape){1, {1}}, &value);
    if (data)
        memcpy(data, from, dtype_bytes(dtype));
    return value;
}

/* What stands for a key that is none. */
static struct value *default_of(struct lower *l, const struct value *values)
{
    const struct attribute *a = node_attribute(l->node, "default_tensor");
    const enum dtype dtype = values ? values->dtype : DTYPE_F32;
    int64_t whole = node_int(l->node, "default_int64", -1);
    const char *text = node_string(l->node, "default_string", "_Unused");
    struct value *value;

    if (a && (a->type != ATTRIBUTE_TENSOR || !values || a->tensor.dtype != dtype ||
              shape_elements(&a->tensor.shape) != 1)) {
        lower_refuse(l, "its default_tensor is no element of the type of its values");
        return NULL;
    }
    if (dtype == DTYPE_STRING)
        value = lower_texts(l, &text, 1);
    else if (dtype == DTYPE_F32)
        value = lower_number(l, node_float(l->node, "default_float", -0.0f));
    else if (dtype == DTYPE_I64)
        value = lower_list(l, &whole, 1);
    else
        value = plain_default(l, dtype);
    if (l->rc == 0 && a)
        memcpy(value->data, a->tensor.data, dtype_bytes(dtype));
    return value;
}

static bool has_nan(const struct value *keys)
{
    bool found = false;

    if (keys && keys->dtype == DTYPE_F32)
        for (int64_t i = 0; i < shape_elements(&keys->shape); i++)
            found |= isnan(((const float *)keys->data)[i]) != 0;
    if (keys && keys->dtype == DTYPE_F64)
        for (int64_t i = 0; i < shape_elements(&keys->shape); i++)
            found |= isnan(((const double *)keys->data)[i]) != 0;
    return found;
}

/* Which of the keys each element is: [..., keys], 1 or 0. */
static struct value *hits_of(struct lower *l, struct value *x, struct value *keys)
{
    int64_t last = -1;
    struct value *is_key = lower_two(l, "Equal", lower_unsqueeze(l, x, &last, 1), keys);

    return lower_cast(l, is_key, DTYPE_F32);
}

static void replace_keys(struct lower *l, struct value *keys, struct value *values)
{
    struct value *hits, *place, *ones, *inputs[3];
    float *data;

    hits = hits_of(l, lower_cast(l, lower_input(l, 0), keys->dtype), keys);
    place = lower_one(l, "ArgMax", hits);
    lower_int(l, "axis", -1);
    lower_int(l, "keepdims", 0);
    data = lower_data(l, DTYPE_F32, &keys->shape, &ones);
    for (int64_t i = 0; data && i < keys->shape.dims[0]; i++)
        data[i] = 1.0f;
    inputs[0] = lower_two(l, "Greater", lower_two(l, "MatMul", hits, ones), lower_number(l, 0.0f));
    inputs[1] = lower_two(l, "Gather", values, place);
    inputs[2] = default_of(l, values);
    lower_done(l, 0, lower_op(l, "Where", inputs, 3));
}

/* Texts become their places in one list and places its texts, as the input is. */
static void lower_mapper(struct lower *l)
{
    const struct attribute *texts = node_attribute(l->node, "cats_strings");
    const struct attribute *places = node_attribute(l->node, "cats_int64s");
    const struct value *x = lower_input(l, 0);
    struct value *words, *numbers;
    int64_t *data = NULL;

    if (!texts)
        texts = node_attribute(l->node, "classes_strings");
    words = list_of(l, texts);
    numbers = places ? list_of(l, places) : NULL;
    if (words && !places)
        data = lower_data(l, DTYPE_I64, &words->shape, &numbers);
    for (int64_t i = 0; data && i < words->shape.dims[0]; i++)
        data[i] = i;
    if (l->rc == 0 && (!words || words->dtype != DTYPE_STRING || !numbers ||
                       numbers->dtype != DTYPE_I64 || !shape_equal(&words->shape, &numbers->shape)))
        lower_refuse(l, "it does not have a number for each of its texts");
    if (l->rc == 0 && x->dtype == DTYPE_I64)
        replace_keys(l, numbers, words);
    else if (l->rc == 0)
        replace_keys(l, words, numbers);
}

/* Version 1 has a list of classes. */
static void lower_encoder(struct lower *l)
{
    static const char *const key_names[] = {"keys_int64s", "keys_floats", "keys_strings",
                                            "keys_tensor"};
    static const char *const value_names[] = {"values_int64s", "values_floats", "values_strings",
                                              "values_tensor"};
    struct value *keys = list_named(l, key_names), *values = list_named(l, value_names);

    if (node_attribute(l->node, "classes_strings")) {
        lower_mapper(l);
        return;
    }
    if (l->rc == 0 && (!keys || !values || !shape_equal(&keys->shape, &values->shape)))
        lower_refuse(l, "it does not have a value for each of its keys");
    if (has_nan(keys))
        lower_refuse(l, "one of its keys is no number");
    if (l->rc < 0)
        return;
    replace_keys(l, keys, values);
}

/* What is none of the categories has only zeros, also where `zeros` says that there is none. */
static struct value *whole_number(struct lower *l, int64_t number)
{
    struct value *value;
    int64_t *data = lower_data(l, DTYPE_I64, &(struct shape){.rank = 0}, &value);

    if (data)
        *data = number;
    return value;
}

/* Whether each is one more than the one before, and none so large that a distance to it would wrap around. */
static bool are_a_run(const struct value *numbers)
{
    const int64_t *n = numbers->data, most = INT64_MAX / 4;

    if (numbers->dtype != DTYPE_I64 || numbers->shape.dims[0] < 1 || n[0] < -most || n[0] > most)
        return false;
    for (int64_t i = 1; i < numbers->shape.dims[0]; i++)
        if (n[i] != n[0] + i)
            return false;
    return true;
}

/* Of categories that follow each other, by their distance to the first one; from behind none is counted. */
static struct value *one_hot(struct lower *l, struct value *x, const struct value *categories)
{
    int64_t first = *(const int64_t *)categories->data, count = categories->shape.dims[0];
    struct value *start = whole_number(l, first), *inputs[3];
    float *data = lower_data(l, DTYPE_F32, &(struct shape){1, {2}}, &inputs[2]);
    struct value *choice[] = {lower_two(l, "Less", x, start), whole_number(l, count),
                              first ? lower_two(l, "Sub", x, start) : x};

    if (data) {
        data[0] = 0.0f;
        data[1] = 1.0f;
    }
    inputs[0] = lower_op(l, "Where", choice, 3);
    inputs[1] = whole_number(l, count);
    return lower_op(l, "OneHot", inputs, 3);
}

static void lower_one_hot(struct lower *l)
{
    struct value *categories = list_of(l, node_attribute(l->node, "cats_int64s")), *x;

    if (!categories)
        categories = list_of(l, node_attribute(l->node, "cats_strings"));
    if (!categories) {
        lower_refuse(l, "it has no categories");
        return;
    }
    x = lower_cast(l, lower_input(l, 0), categories->dtype);
    lower_done(l, 0, are_a_run(categories) ? one_hot(l, x, categories) : hits_of(l, x, categories));
}

const struct lower_rule lower_learning[] = {
    {{"ai.onnx.ml.CategoryMapper", "Equal, ArgMax, Gather, Where"},
     1,
     1,
     1,
     "cats_int64s cats_strings default_int64 default_string",
     lower_mapper},
    {{"ai.onnx.ml.LabelEncoder", "Equal, ArgMax, Gather, Where"},
     1,
     1,
     1,
     "classes_strings default_float default_int64 default_string default_tensor keys_floats "
     "keys_int64s keys_strings keys_tensor values_floats values_int64s values_strings values_tensor",
     lower_encoder},
    {{"ai.onnx.ml.OneHotEncoder", "OneHot; or Equal, Cast"},
     1,
     1,
     1,
     "cats_int64s cats_strings zeros",
     lower_one_hot},
    {{"ai.onnx.ml.SVMClassifier",
      "Gemm, or CDist and Exp; Pow or Tanh, PairwiseCoupling, ArgMax, Gather"},
     1,
     1,
     2,
     "classlabels_ints classlabels_strings coefficients kernel_params kernel_type post_transform prob_a prob_b rho "
     "support_vectors vectors_per_class",
     lower_duels},
    {{"ai.onnx.ml.SVMRegressor", "Gemm, or CDist and Exp; Pow or Tanh"},
     1,
     1,
     1,
     "coefficients kernel_params kernel_type n_supports n_targets one_class post_transform rho "
     "support_vectors",
     lower_vectors},
    {{NULL, NULL}, 0, 0, 0, NULL, NULL},
};
