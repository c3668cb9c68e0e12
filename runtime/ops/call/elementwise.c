/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise operators over every element type. */
#include "runtime/ops/call/call.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* One operand */

struct map_params {
    map_fn *fn;
    size_t count;
    struct kernel_map_args args;
    bool has_low, has_high; /* Clip: in inputs 1 and 2 */
};

static int run_map(const struct call *call)
{
    const struct map_params *p = call->params;

    p->fn(call->outputs[0], call->inputs[0], p->count, &p->args);
    return 0;
}

/* Operator -> function, the attributes that are its parameters, and their defaults. */
static const struct map_op {
    const char *op_type;
    enum kernel_map op;
    const char *a_name;
    float a;
    const char *b_name;
    float b;
} map_ops[] = {
    {"Abs", MAP_ABS, NULL, 0, NULL, 0},
    {"Acos", MAP_ACOS, NULL, 0, NULL, 0},
    {"Acosh", MAP_ACOSH, NULL, 0, NULL, 0},
    {"Asin", MAP_ASIN, NULL, 0, NULL, 0},
    {"Asinh", MAP_ASINH, NULL, 0, NULL, 0},
    {"Atan", MAP_ATAN, NULL, 0, NULL, 0},
    {"Atanh", MAP_ATANH, NULL, 0, NULL, 0},
    {"BitwiseNot", MAP_BIT_NOT, NULL, 0, NULL, 0},
    {"Ceil", MAP_CEIL, NULL, 0, NULL, 0},
    {"Celu", MAP_CELU, "alpha", 1, NULL, 0},
    {"Cos", MAP_COS, NULL, 0, NULL, 0},
    {"Cosh", MAP_COSH, NULL, 0, NULL, 0},
    {"Elu", MAP_ELU, "alpha", 1, NULL, 0},
    {"Erf", MAP_ERF, NULL, 0, NULL, 0},
    {"Exp", MAP_EXP, NULL, 0, NULL, 0},
    {"Floor", MAP_FLOOR, NULL, 0, NULL, 0},
    {"Gelu", MAP_GELU, NULL, 0, NULL, 0},
    {"HardSigmoid", MAP_HARD_SIGMOID, "alpha", 0.2f, "beta", 0.5f},
    {"HardSwish", MAP_HARD_SWISH, NULL, 0, NULL, 0},
    {"IsInf", MAP_IS_INF, NULL, 0, NULL, 0},
    {"IsNaN", MAP_IS_NAN, NULL, 0, NULL, 0},
    {"LeakyRelu", MAP_LEAKY_RELU, "alpha", 0.01f, NULL, 0},
    {"Log", MAP_LOG, NULL, 0, NULL, 0},
    {"Mish", MAP_MISH, NULL, 0, NULL, 0},
    {"Neg", MAP_NEG, NULL, 0, NULL, 0},
    {"Not", MAP_NOT, NULL, 0, NULL, 0},
    {"Reciprocal", MAP_RECIPROCAL, NULL, 0, NULL, 0},
    {"Relu", MAP_RELU, NULL, 0, NULL, 0},
    {"Round", MAP_ROUND, NULL, 0, NULL, 0},
    {"Selu", MAP_SELU, "alpha", 1.67326319217681884765625f, "gamma", 1.05070102214813232421875f},
    {"Shrink", MAP_SHRINK, "bias", 0, "lambd", 0.5f},
    {"Sigmoid", MAP_SIGMOID, NULL, 0, NULL, 0},
    {"Sign", MAP_SIGN, NULL, 0, NULL, 0},
    {"Sin", MAP_SIN, NULL, 0, NULL, 0},
    {"Sinh", MAP_SINH, NULL, 0, NULL, 0},
    {"Softplus", MAP_SOFTPLUS, NULL, 0, NULL, 0},
    {"Softsign", MAP_SOFTSIGN, NULL, 0, NULL, 0},
    {"Sqrt", MAP_SQRT, NULL, 0, NULL, 0},
    {"Swish", MAP_SWISH, "alpha", 1, NULL, 0},
    {"Tan", MAP_TAN, NULL, 0, NULL, 0},
    {"Tanh", MAP_TANH, NULL, 0, NULL, 0},
    {"ThresholdedRelu", MAP_THRESHOLDED_RELU, "alpha", 1, NULL, 0},
};

static const struct map_op *find_map(const char *op_type)
{
    for (size_t i = 0; i < sizeof(map_ops) / sizeof(map_ops[0]); i++)
        if (strcmp(map_ops[i].op_type, op_type) == 0)
            return &map_ops[i];
    return NULL;
}

static void map_args(const struct graph *graph, const struct node *node, const struct map_op *op,
                     struct kernel_map_args *args)
{
    args->op = op->op;
    args->a = op->a_name ? (double)node_float(node, op->a_name, op->a) : 0.0;
    args->b = op->b_name ? (double)node_float(node, op->b_name, op->b) : 0.0;
    if (op->op == MAP_GELU && strcmp(node_string(node, "approximate", "none"), "tanh") == 0)
        args->op = MAP_GELU_TANH;
    if (op->op == MAP_IS_INF) {
        args->a = (double)node_int(node, "detect_positive", 1);
        args->b = (double)node_int(node, "detect_negative", 1);
    }
    /* Selu had rounder defaults, and Elu computed the same, before operator set 6. */
    if (op->op == MAP_SELU && graph_opset(graph, "") < 6) {
        args->a = (double)node_float(node, "alpha", 1.6732f);
        args->b = (double)node_float(node, "gamma", 1.0507f);
    }
}

bool call_map_takes(const char *op_type, enum kernel_dtype dtype)
{
    const struct map_op *op = find_map(op_type);

    return op && kernel_map_has(op->op, dtype);
}

static bool has_known_form(const struct node *node)
{
    const char *approximate = node_string(node, "approximate", "none");

    return strcmp(approximate, "none") == 0 || strcmp(approximate, "tanh") == 0;
}

bool call_map_of(const struct graph *graph, const struct node *node,
                 struct kernel_map_args *out_args)
{
    const struct map_op *op = find_map(node->op_type);

    if (!op || !has_known_form(node))
        return false;
    *out_args = (struct kernel_map_args){.dtype = KERNEL_F32};
    map_args(graph, node, op, out_args);
    return true;
}

static const char gelu_tanh[] = "Gelu(tanh)";

const char *call_map_name(enum kernel_map op)
{
    size_t i = 0;

    if (op == MAP_GELU_TANH)
        return gelu_tanh;
    while (map_ops[i].op != op)
        i++;
    return map_ops[i].op_type;
}

bool call_map_by_name(const char *name, enum kernel_map *out_map)
{
    const struct map_op *op = find_map(name);

    if (op)
        *out_map = op->op;
    else if (strcmp(name, gelu_tanh) == 0)
        *out_map = MAP_GELU_TANH;
    else
        return false;
    return true;
}

int call_bind_map(const struct call_request *request, struct call *call)
{
    const struct tensor_view *x = call_input(request, 0);
    struct map_params *p;
    const struct map_op *op = find_map(request->node->op_type);
    int rc;

    if (!has_known_form(request->node))
        return call_refuse(request, -EINVAL, "attribute approximate is '%.40s'",
                           node_string(request->node, "approximate", ""));
    if (!x || !shape_equal(&x->shape, &request->outputs[0].shape))
        return call_refuse(request, -EINVAL, "input and output differ in shape");
    rc = call_params(request, call, sizeof(*p));
    if (rc < 0)
        return rc;
    p = call->params;
    if (!call_dtype(x->dtype, &p->args.dtype) || !kernel_map_has(op->op, p->args.dtype))
        return call_refuse(request, -ENOTSUP, "no kernel for %s", dtype_name(x->dtype));
    map_args(request->graph, request->node, op, &p->args);
    p->fn = request->kernels->map.fn;
    p->count = (size_t)shape_elements(&x->shape);
    call->version = request->kernels->map.version;
    call->run = run_map;
    return 0;
}

/* Two operands, and chains of them */

struct zip_step {
    uint32_t a, b; /* inputs; a is RESULT for what was computed so far, b NUMBER + i for number i */
    struct kernel_zip_args args;
};

enum { NUMBERS = 2, RESULT = UINT32_MAX, NUMBER = UINT32_MAX - NUMBERS };

struct zip_params {
    zip_fn *fn;
    double numbers[NUMBERS];
    uint32_t count;
    struct zip_step steps[];
};

static const void *first_operand(const struct call *call, const struct zip_step *step)
{
    return step->a == RESULT ? call->outputs[0] : call->inputs[step->a];
}

static const void *second_operand(const struct call *call, const struct zip_step *step)
{
    const struct zip_params *p = call->params;

    return step->b >= NUMBER ? (const void *)&p->numbers[step->b - NUMBER] : call->inputs[step->b];
}

/* Elements [first, first + count) of a step, all axes being one. */
static void run_zip_part(const struct call *call, const struct zip_step *step, int64_t first,
                         int64_t count)
{
    const struct zip_params *p = call->params;
    const struct kernel_zip_args *s = &step->args;
    int64_t a_step = s->a_stride[0], b_step = s->b_stride[0];
    struct kernel_zip_args args = {.op = s->op,
                                   .y_type = s->y_type,
                                   .a_type = s->a_type,
                                   .b_type = s->b_type,
                                   .rank = 1,
                                   .dims = {count},
                                   .a_stride = {a_step},
                                   .b_stride = {b_step}};
    const char *a = first_operand(call, step), *b = second_operand(call, step);

    p->fn((char *)call->outputs[0] + (size_t)first * kernel_dtype_bytes(s->y_type),
          a + (size_t)(first * a_step) * kernel_dtype_bytes(s->a_type),
          b + (size_t)(first * b_step) * kernel_dtype_bytes(s->b_type), &args);
}

/* Several steps a block at a time, which is worth its threads, so that it stays in the cache between them. */
static int run_zip_blocks(const struct call *call)
{
    enum { BLOCK = 1 << 15 };
    const struct zip_params *p = call->params;
    int64_t total = p->steps[0].args.dims[0], block = (int64_t)kernel_threads() * BLOCK;

    for (int64_t first = 0; first < total; first += block)
        for (uint32_t i = 0; i < p->count; i++)
            run_zip_part(call, &p->steps[i], first, total - first < block ? total - first : block);
    return 0;
}

static int run_zip(const struct call *call)
{
    const struct zip_params *p = call->params;

    for (uint32_t i = 0; i < p->count; i++)
        p->fn(call->outputs[0], first_operand(call, &p->steps[i]),
              second_operand(call, &p->steps[i]), &p->steps[i].args);
    return 0;
}

/* Whether strides are those of one dense run, or of one number; *out_step is then that of a single axis. */
static bool is_even(const struct kernel_zip_args *s, const int64_t *strides, int64_t *out_step)
{
    int64_t dense = 1;
    bool is_dense = true, is_one = true;

    for (int i = s->rank - 1; i >= 0; i--) {
        if (s->dims[i] == 1)
            continue;
        is_dense = is_dense && strides[i] == dense;
        is_one = is_one && strides[i] == 0;
        dense *= s->dims[i];
    }
    *out_step = is_dense;
    return is_dense || is_one;
}

/* Several steps over operands that lie so are run as blocks. */
static void join_steps(struct zip_params *p, bool on_device, struct call *call)
{
    if (p->count < 2 || on_device)
        return;
    for (uint32_t i = 0; i < p->count; i++) {
        struct kernel_zip_args *s = &p->steps[i].args;
        int64_t step;

        if (!is_even(s, s->a_stride, &step) || !is_even(s, s->b_stride, &step))
            return;
    }
    for (uint32_t i = 0; i < p->count; i++) {
        struct kernel_zip_args *s = &p->steps[i].args;
        int64_t a_step = 0, b_step = 0, total = 1;

        (void)is_even(s, s->a_stride, &a_step);
        (void)is_even(s, s->b_stride, &b_step);
        for (int axis = 0; axis < s->rank; axis++)
            total *= s->dims[axis];
        s->rank = 1;
        s->dims[0] = total;
        s->a_stride[0] = a_step;
        s->b_stride[0] = b_step;
    }
    call->run = run_zip_blocks;
}

static int begin_zip(const struct call_request *request, struct call *call, uint32_t steps,
                     struct zip_params **out_params)
{
    int rc =
        call_params(request, call, sizeof(struct zip_params) + steps * sizeof(struct zip_step));

    if (rc < 0)
        return rc;
    *out_params = call->params;
    (*out_params)->fn = request->kernels->zip.fn;
    call->version = request->kernels->zip.version;
    call->run = run_zip;
    return 0;
}

/* Texts are equal or not, and nothing else. */
static bool type_of(const struct tensor_view *x, enum kernel_zip op, enum kernel_dtype *out_type)
{
    return op == ZIP_EQUAL ? call_moved_dtype(x->dtype, out_type) : call_dtype(x->dtype, out_type);
}

/* The strides of an operand under the axes of y's memory. */
static int operand(const struct call_request *request, uint32_t index, int first,
                   enum kernel_zip op, enum kernel_dtype *out_type, int64_t out[KERNEL_MAX_RANK])
{
    struct layout layout = call_output_layout(request);
    const struct tensor_view *x = call_input(request, index);
    int64_t own[SHAPE_MAX_RANK], strides[KERNEL_MAX_RANK];
    int rc;

    if (!x)
        return call_refuse(request, -EINVAL, "input %u is left out", index);
    if (!type_of(x, op, out_type))
        return call_refuse(request, -ENOTSUP, "no kernel for %s", dtype_name(x->dtype));
    call_input_strides(request, index, own);
    rc = call_broadcast_strides(request, &x->shape, own, first, strides);
    for (int i = 0; rc == 0 && i < layout.rank; i++)
        out[i] = strides[layout.order[i]];
    return rc;
}

/* Append y = a op b. */
static int add_zip(const struct call_request *request, struct zip_params *p, enum kernel_zip op,
                   uint32_t a, uint32_t b, int b_first)
{
    const struct shape *y = &request->outputs[0].shape;
    struct layout layout = call_output_layout(request);
    struct zip_step *step = &p->steps[p->count++];
    struct kernel_zip_args *args = &step->args;
    int64_t stride = 1;
    int rc = 0;

    step->a = a;
    step->b = b;
    args->op = op;
    args->rank = y->rank;
    if (!call_dtype(request->outputs[0].dtype, &args->y_type))
        return call_refuse(request, -ENOTSUP, "no kernel for %s",
                           dtype_name(request->outputs[0].dtype));
    for (int i = y->rank - 1; i >= 0; i--) {
        args->dims[i] = y->dims[layout.order[i]];
        args->a_stride[i] = stride; /* of the result so far */
        stride *= args->dims[i];
    }
    args->a_type = args->b_type = args->y_type;
    if (a != RESULT)
        rc = operand(request, a, y->rank - request->inputs[a].shape.rank, op, &args->a_type,
                     args->a_stride);
    if (b >= NUMBER)
        args->b_type = KERNEL_F64;
    else if (rc == 0)
        rc = operand(request, b, b_first, op, &args->b_type, args->b_stride);
    return rc;
}

/* Where the second operand's axes stand: before operator set 7 at an axis of the first one. */
static int second_first(const struct call_request *request)
{
    const struct node *node = request->node;
    int rank = request->outputs[0].shape.rank;

    if (graph_opset(request->graph, "") < 7 && node_attribute(node, "axis"))
        return (int)node_int(node, "axis", 0) + (node_int(node, "axis", 0) < 0 ? rank : 0);
    return rank - request->inputs[1].shape.rank;
}

/* Before operator set 7 the slopes of a PRelu are one, or one per channel; later as NumPy does. */
static int slope_first(const struct call_request *request)
{
    const struct shape *slope = &request->inputs[1].shape;
    int rank = request->outputs[0].shape.rank;

    if (graph_opset(request->graph, "") < 7 && slope->rank == 1 && rank > 1 &&
        slope->dims[0] == request->outputs[0].shape.dims[1])
        return 1;
    return rank - slope->rank;
}

static const struct zip_op {
    const char *op_type;
    enum kernel_zip op;
} zip_ops[] = {
    {"Add", ZIP_ADD},
    {"And", ZIP_AND},
    {"Div", ZIP_DIV},
    {"Equal", ZIP_EQUAL},
    {"Greater", ZIP_GREATER},
    {"GreaterOrEqual", ZIP_GREATER_OR_EQUAL},
    {"Less", ZIP_LESS},
    {"LessOrEqual", ZIP_LESS_OR_EQUAL},
    {"Mod", ZIP_MOD},
    {"Mul", ZIP_MUL},
    {"Or", ZIP_OR},
    {"PRelu", ZIP_PRELU},
    {"Pow", ZIP_POW},
    {"Sub", ZIP_SUB},
    {"Max", ZIP_MAX},
    {"Min", ZIP_MIN},
    {"Xor", ZIP_XOR},
    {"BitShift", ZIP_SHIFT_LEFT},
    {"BitwiseAnd", ZIP_BIT_AND},
    {"BitwiseOr", ZIP_BIT_OR},
    {"BitwiseXor", ZIP_BIT_XOR},
};

bool call_zip_of(const char *op_type, enum kernel_zip *out_zip)
{
    for (size_t i = 0; i < sizeof(zip_ops) / sizeof(zip_ops[0]); i++) {
        if (strcmp(zip_ops[i].op_type, op_type) == 0) {
            *out_zip = zip_ops[i].op;
            return true;
        }
    }
    return false;
}

int call_bind_zip(const struct call_request *request, struct call *call)
{
    struct zip_params *p;
    enum kernel_zip op = ZIP_ADD;
    int rc;

    call_zip_of(request->node->op_type, &op);
    if (!call_input(request, 0) || !call_input(request, 1))
        return call_refuse(request, -EINVAL, "it needs two inputs");
    if (op == ZIP_MOD && node_int(request->node, "fmod", 0) != 0)
        op = ZIP_FMOD;
    if (op == ZIP_SHIFT_LEFT) {
        const char *direction = node_string(request->node, "direction", "");

        if (strcmp(direction, "RIGHT") == 0)
            op = ZIP_SHIFT_RIGHT;
        else if (strcmp(direction, "LEFT") != 0)
            return call_refuse(request, -EINVAL, "attribute direction is '%.40s'", direction);
    }
    rc = begin_zip(request, call, 1, &p);
    return rc < 0 ? rc
                  : add_zip(request, p, op, 0, 1,
                            op == ZIP_PRELU ? slope_first(request) : second_first(request));
}

/* Max, Min, Sum and Mean of any number of operands. Mean divides at the end. */
int call_bind_zip_many(const struct call_request *request, struct call *call)
{
    const char *op_type = request->node->op_type;
    bool is_mean = strcmp(op_type, "Mean") == 0;
    enum kernel_zip op = strcmp(op_type, "Max") == 0   ? ZIP_MAX
                         : strcmp(op_type, "Min") == 0 ? ZIP_MIN
                                                       : ZIP_ADD;
    const struct shape *y = &request->outputs[0].shape;
    uint32_t count = request->node->input_count;
    struct zip_params *p;
    int rc;

    if (count == 1)
        return call_bind_view(request, call);
    rc = begin_zip(request, call, count, &p);
    for (uint32_t i = 1; rc == 0 && i < count; i++)
        rc = add_zip(request, p, op, i == 1 ? 0 : (uint32_t)RESULT, i,
                     y->rank - (call_input(request, i) ? request->inputs[i].shape.rank : 0));
    if (rc == 0 && is_mean) {
        rc = add_zip(request, p, ZIP_DIV, RESULT, NUMBER, 0);
        p->numbers[0] = (double)count;
    }
    if (rc == 0)
        join_steps(p, request->on_device, call);
    return rc;
}

/* Operator sets before 11: min and max are attributes. */
static int bind_clip_attributes(const struct call_request *request, struct call *call)
{
    static const char *const names[] = {"min", "max"};
    struct zip_params *p;
    int rc = begin_zip(request, call, 2, &p);

    for (uint32_t i = 0; rc == 0 && i < 2; i++) {
        p->numbers[i] = (double)node_float(request->node, names[i], 0.0f);
        if (node_attribute(request->node, names[i]))
            rc = add_zip(request, p, i == 0 ? ZIP_MAX : ZIP_MIN,
                         p->count > 0 ? (uint32_t)RESULT : 0, (uint32_t)NUMBER + i, 0);
    }
    if (rc == 0)
        join_steps(p, request->on_device, call);
    return rc;
}

/* Of float64 in one go. */
static int run_clip_f64(const struct call *call)
{
    const struct map_params *p = call->params;
    struct kernel_map_args args = p->args;

    args.a = p->has_low ? *(const double *)call->inputs[1] : args.a;
    args.b = p->has_high ? *(const double *)call->inputs[2] : args.b;
    p->fn(call->outputs[0], call->inputs[0], p->count, &args);
    return 0;
}

static int bind_clip_f64(const struct call_request *request, struct call *call)
{
    struct map_params *p;
    int rc = call_params(request, call, sizeof(*p));

    if (rc < 0)
        return rc;
    p = call->params;
    p->args = (struct kernel_map_args){MAP_CLIP, KERNEL_F64, -(double)INFINITY, (double)INFINITY};
    p->fn = request->kernels->map.fn;
    p->count = (size_t)shape_elements(&request->inputs[0].shape);
    p->has_low = call_input(request, 1) != NULL;
    p->has_high = call_input(request, 2) != NULL;
    call->version = request->kernels->map.version;
    call->run = run_clip_f64;
    return 0;
}

/* min and max as inputs, whose content is read on each run. */
int call_bind_clip_any(const struct call_request *request, struct call *call)
{
    const struct shape *y = &request->outputs[0].shape;
    struct zip_params *p;
    int rc;

    if (!call_input(request, 0) || !shape_equal(&request->inputs[0].shape, y))
        return call_refuse(request, -EINVAL, "input and output differ in shape");
    if (graph_opset(request->graph, "") < 11 &&
        (node_attribute(request->node, "min") || node_attribute(request->node, "max")))
        return bind_clip_attributes(request, call);
    if (!call_input(request, 1) && !call_input(request, 2))
        return call_bind_view(request, call);
    for (uint32_t i = 1; i <= 2; i++)
        if (call_input(request, i) && (shape_elements(&request->inputs[i].shape) != 1 ||
                                       request->inputs[i].dtype != request->inputs[0].dtype))
            return call_refuse(request, -EINVAL, "%s is not one number of the input's type",
                               i == 1 ? "min" : "max");
    if (request->inputs[0].dtype == DTYPE_F64 && !request->on_device)
        return bind_clip_f64(request, call);
    rc = begin_zip(request, call, 2, &p);
    if (rc == 0 && call_input(request, 1))
        rc = add_zip(request, p, ZIP_MAX, 0, 1, y->rank - request->inputs[1].shape.rank);
    if (rc == 0 && call_input(request, 2))
        rc = add_zip(request, p, ZIP_MIN, call_input(request, 1) ? (uint32_t)RESULT : 0, 2,
                     y->rank - request->inputs[2].shape.rank);
    if (rc == 0)
        join_steps(p, request->on_device, call);
    return rc;
}

/* Where */

struct where_params {
    where_fn *fn;
    struct kernel_where shape;
};

static int run_where(const struct call *call)
{
    const struct where_params *p = call->params;

    p->fn(call->outputs[0], call->inputs[0], call->inputs[1], call->inputs[2], &p->shape);
    return 0;
}

int call_bind_where(const struct call_request *request, struct call *call)
{
    const struct shape *y = &request->outputs[0].shape;
    struct where_params *p;
    int64_t own[SHAPE_MAX_RANK];
    int rc = call_params(request, call, sizeof(*p));

    if (rc < 0)
        return rc;
    p = call->params;
    p->fn = request->kernels->where.fn;
    p->shape.element_bytes = dtype_bytes(request->outputs[0].dtype);
    p->shape.rank = y->rank;
    memcpy(p->shape.dims, y->dims, sizeof(y->dims));
    for (uint32_t i = 0; i < 3; i++) {
        int64_t *strides = i == 0   ? p->shape.condition_stride
                           : i == 1 ? p->shape.a_stride
                                    : p->shape.b_stride;

        if (!call_input(request, i) ||
            request->inputs[i].dtype != (i == 0 ? DTYPE_BOOL : request->outputs[0].dtype))
            return call_refuse(request, -EINVAL, "input %u has the wrong type", i);
        call_input_strides(request, i, own);
        rc = call_broadcast_strides(request, &request->inputs[i].shape, own,
                                    y->rank - request->inputs[i].shape.rank, strides);
        if (rc < 0)
            return rc;
    }
    call->version = request->kernels->where.version;
    call->run = run_where;
    return 0;
}
