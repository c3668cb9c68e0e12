# SPDX-License-Identifier: Apache-2.0
"""How to make a random node of each operator: element-wise ones, reductions, views, moves, indices.
The rest is in operators_heavy.py. A maker takes a builder and adds at least that node, or raises."""
import numpy
from onnx import numpy_helper

from builder import BOOL, F16, F32, F64, I32, I64, I8, INTS, U8, Unfit

MAKERS = {}
ANY = (F32, F32, F32, I64, I32, BOOL, F64, U8, I8, F16)
NUMBERS = (F32, F32, F32, I64, I32, F64)
MORE = (F32, I64, I32, F64, U8, I8, F16)  # of the newer forms of most operators


def maker(*names, since=1, until=99, weight=1.0):
    def note(make):
        for name in names:
            MAKERS[name] = (make, since, until, weight)
        return make
    return note


# --- One input ---


def unary(name, since=1, test=None, dtypes=None, **attributes):
    def make(b):
        x = b.pick(dtypes or ((F32, F32, F32, F16, F64) if b.rng.random() < b.root.half_chance else (F32,)),
                   test=test)
        chosen = {k: v(b) for k, v in attributes.items() if b.rng.random() < 0.6}
        b.add(name, [x], **chosen)
    MAKERS[name] = (make, since, 99, 0.5)


def between(low, high):
    return lambda b: round(b.rng.uniform(low, high), 3)


def inside(low, high):
    return lambda a: bool(((a > low) & (a < high)).all())


for op in ["Ceil", "Floor", "Exp", "Sigmoid", "Softplus", "Softsign", "Tanh", "Relu"]:
    unary(op)
for op, first in [("Cos", 7), ("Sin", 7), ("Atan", 7), ("Sinh", 9), ("Cosh", 9), ("Asinh", 9), ("Erf", 9),
                  ("Sign", 9), ("Round", 11), ("HardSwish", 14), ("Mish", 18), ("IsNaN", 9)]:
    unary(op, since=first)
unary("Abs", dtypes=NUMBERS)
unary("Neg", dtypes=NUMBERS)
unary("Not", dtypes=(BOOL,))
unary("Tan", since=7, test=inside(-1.4, 1.4))
unary("Asin", since=7, test=inside(-0.99, 0.99))
unary("Acos", since=7, test=inside(-0.99, 0.99))
unary("Acosh", since=9, test=inside(1.01, 1e9))
unary("Atanh", since=9, test=inside(-0.98, 0.98))
unary("Log", test=inside(1e-3, 1e9))
unary("Sqrt", test=inside(1e-3, 1e9))
unary("Reciprocal", test=lambda a: bool((numpy.abs(a) > 0.05).all()))
unary("Celu", since=12, dtypes=(F32,), alpha=between(0.3, 2))
unary("Elu", alpha=between(0.3, 2))
unary("Selu", alpha=between(0.5, 2), gamma=between(0.5, 2))
unary("LeakyRelu", alpha=between(-0.3, 1.2))
unary("ThresholdedRelu", since=10, alpha=between(0, 2))
unary("HardSigmoid", alpha=between(0.1, 0.5), beta=between(0.2, 0.8))
unary("Shrink", since=9, lambd=between(0, 1), bias=between(-1, 1))
unary("Gelu", since=20, approximate=lambda b: b.rng.choice(["none", "tanh"]))
unary("Swish", since=24, alpha=between(0.5, 2))
unary("IsInf", since=10, dtypes=(F32, F64), detect_negative=lambda b: b.rng.randint(0, 1),
      detect_positive=lambda b: b.rng.randint(0, 1))


@maker("Identity", weight=0.7)
def make_identity(b):
    b.add("Identity", [b.pick(ANY)])


@maker("Dropout", weight=0.4)
def make_dropout(b):
    x = b.pick()
    outputs = b.rng.choice([1, 2]) if b.opset >= 10 else 1
    if b.opset < 12:
        b.add("Dropout", [x], outputs, ratio=0.4)
    elif b.rng.random() < 0.5:
        b.add("Dropout", [x], outputs)
    else:
        b.add("Dropout", [x, b.leaf(numpy.array(0.3, F32), constant=True)], outputs)


@maker("Cast", weight=1.2)
def make_cast(b):
    x = b.pick(ANY)
    kinds = {F32: 1, U8: 2, I8: 3, I32: 6, I64: 7, BOOL: 9, F16: 10, F64: 11}
    array = b.array(x)
    to = b.rng.choice([F32, F32, F32, I64, I32, BOOL, F64, F16, U8, I8])
    if array.dtype.kind == "f" and to in (U8, I8, I32, I64) and array.size:
        low, high = (numpy.iinfo(to).min, numpy.iinfo(to).max)
        if not (numpy.isfinite(array).all() and array.min() >= low and array.max() <= high):
            raise Unfit("not defined")
    b.add("Cast", [x], to=kinds[to])


@maker("CastLike", since=15, weight=0.4)
def make_cast_like(b):
    x = b.pick((F32, I64, I32, BOOL))
    b.add("CastLike", [x, b.pick((F32, F64, F32), fresh=0.5)])


@maker("Clip", weight=0.8)
def make_clip(b):
    low, high = sorted([round(b.rng.uniform(-2, 2), 2), round(b.rng.uniform(-2, 4), 2)])
    if b.opset < 11:
        b.add("Clip", [b.pick()], **b.rng.choice([{"min": low}, {"max": high}, {"min": low, "max": high}, {}]))
        return
    dtypes = (F32, F32, F32, I64, I32, U8) if b.opset >= 12 else (F32,)
    x = b.pick(dtypes)
    dtype = b.array(x).dtype
    bounds = [b.param(low if dtype.kind != "u" else abs(low), dtype), b.param(high + 1, dtype)]
    ends = b.rng.choice([[0, 1], [0], [1], []])
    names = [bounds[i] if i in ends else "" for i in (0, 1)]
    while names and not names[-1]:
        names.pop()
    b.add("Clip", [x, *names])


# --- Two and more, with broadcast ---


def broadcast_shape(b, shape):
    """One that shape broadcasts with, often smaller."""
    dims = list(shape)
    kind = b.rng.random()
    if kind < 0.35:
        return tuple(dims)
    if kind < 0.5:
        return ()
    dims = [1 if b.rng.random() < 0.4 else d for d in dims]
    return tuple(dims[b.rng.randint(0, len(dims)):] if b.rng.random() < 0.5 else dims)


def compatible(a, other):
    try:
        shape = numpy.broadcast_shapes(a, other)
    except ValueError:
        return False
    return numpy.prod(shape, dtype=float) <= 60000


def partner(b, x, dtype=None, test=None, low=None, high=None):
    """A second operand for x, of its type."""
    array = b.array(x)
    dtype = dtype or array.dtype
    if b.rng.random() < 0.5:
        fits = [n for n, a in b.all_values().items() if a.dtype == dtype and
                compatible(a.shape, array.shape) and (test is None or test(a)) and
                (low is None or not a.size or (a.min() >= low and a.max() <= high))]
        if fits:
            return b.rng.choice(fits)
    return b.fresh(dtype, broadcast_shape(b, array.shape), low=low, high=high)


def both(b, x, y):
    return [x, y] if b.rng.random() < 0.5 else [y, x]


@maker("Add", "Sub", "Mul", weight=2.5)
def make_arithmetic(b):
    op = b.rng.choice(["Add", "Sub", "Mul"])
    x = b.pick((MORE if b.opset >= 14 else NUMBERS) if b.rng.random() < 0.5 else None)
    b.add(op, both(b, x, partner(b, x)))


@maker("Div", weight=1.0)
def make_div(b):
    x = b.pick(NUMBERS if b.rng.random() < 0.4 else None)
    y = partner(b, x, low=1, high=9) if b.array(x).dtype.kind != "f" else partner(b, x, low=0.3, high=4)
    b.add("Div", [x, y])


@maker("Pow", weight=0.5)
def make_pow(b):
    x = b.pick((F32,), test=inside(0.05, 50)) if b.rng.random() < 0.5 else b.pick((F32,))
    if b.array(x).size and b.array(x).min() <= 0.05:
        b.add("Pow", [x, b.param(b.rng.choice([1, 2, 3, 2]), F32)])
    elif b.opset >= 12 and b.rng.random() < 0.3:
        b.add("Pow", [x, b.fresh(I64, broadcast_shape(b, b.shape(x)), low=0, high=4)])
    else:
        b.add("Pow", [x, partner(b, x, low=-2, high=3)])


@maker("Mod", since=10, weight=0.4)
def make_mod(b):
    if b.rng.random() < 0.6:
        x = b.pick(INTS)
        b.add("Mod", [x, partner(b, x, low=1, high=7)], fmod=b.rng.choice([0, 0, 1]))
    else:
        x = b.pick((F32,))
        b.add("Mod", [x, partner(b, x, low=0.5, high=3)], fmod=1)


@maker("Max", "Min", "Sum", "Mean", weight=1.2)
def make_variadic(b):
    op = b.rng.choice(["Max", "Min", "Sum", "Mean"])
    dtypes = MORE if op in ("Max", "Min") and b.opset >= 12 else (F32,)
    if b.opset < 8:
        x = b.pick((F32,))
        b.add(op, [x] + [b.fresh(F32, b.shape(x)) for _ in range(b.rng.randint(0, 3))])
        return
    x = b.pick(dtypes)
    b.add(op, [x] + [partner(b, x) for _ in range(b.rng.choice([0, 1, 1, 1, 2, 3]))])


@maker("PRelu", weight=0.6)
def make_prelu(b):
    x = b.pick((F32,))
    dims = b.shape(x)
    slope = tuple(d if b.rng.random() < 0.6 else 1 for d in dims)
    slope = slope[b.rng.randint(0, len(slope)):] if b.rng.random() < 0.4 else slope
    b.add("PRelu", [x, b.fresh(F32, slope)])


@maker("Equal", "Greater", "Less", "GreaterOrEqual", "LessOrEqual", weight=1.5)
def make_compare(b):
    ops = ["Greater", "Less"] + (["Equal"] if b.opset >= 7 else [])
    ops += ["GreaterOrEqual", "LessOrEqual"] if b.opset >= 12 else []
    op = b.rng.choice(ops)
    dtypes = INTS if b.opset < 9 and op != "Equal" else (F32, I64, I32, F64)
    dtypes = (F32,) if b.opset < 9 and op != "Equal" else INTS if op == "Equal" and b.opset < 11 else dtypes
    dtypes = MORE if b.opset >= 13 else dtypes
    x = b.pick(dtypes)
    b.add(op, both(b, x, partner(b, x)))


@maker("And", "Or", "Xor", weight=0.9)
def make_logic(b):
    x = b.pick((BOOL,), fresh=0.1)
    b.add(b.rng.choice(["And", "Or", "Xor"]), both(b, x, partner(b, x)))


@maker("BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitwiseNot", since=18, weight=0.5)
def make_bits(b):
    x = b.pick((I64, I32, U8, I8))
    op = b.rng.choice(["BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitwiseNot"])
    b.add(op, [x] if op == "BitwiseNot" else both(b, x, partner(b, x)))


@maker("BitShift", since=11, weight=0.3)
def make_shift(b):
    x = b.pick((U8,))
    b.add("BitShift", [x, partner(b, x, low=0, high=7)], direction=b.rng.choice(["LEFT", "RIGHT"]))


@maker("Where", since=9, weight=1.0)
def make_where(b):
    x = b.pick((F32, F32, F32, I64, I32, U8, BOOL))
    fits = [n for n, a in b.all_values().items() if a.dtype == bool and compatible(a.shape, b.shape(x))]
    condition = b.rng.choice(fits) if fits and b.rng.random() < 0.6 else \
        b.fresh(BOOL, broadcast_shape(b, b.shape(x)))
    b.add("Where", [condition, *both(b, x, partner(b, x))])


# --- Reductions ---


def random_axes(b, rank, least=0):
    count = b.rng.randint(min(least, rank), rank)
    axes = b.rng.sample(range(rank), count)
    return [a - rank if b.rng.random() < 0.3 and b.opset >= 11 else a for a in axes]


REDUCTIONS = ["ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean",
              "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare"]


@maker(*REDUCTIONS, weight=2.0)
def make_reduce(b):
    op = b.rng.choice(REDUCTIONS)
    dtypes = (F32,) if op in ("ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMean") else NUMBERS
    dtypes = MORE if op in ("ReduceMax", "ReduceMin") and b.opset >= 13 else dtypes
    test = inside(1e-2, 1e6) if op == "ReduceLogSum" else None
    x = b.pick(dtypes, test=test)
    rank = b.array(x).ndim
    axes = random_axes(b, rank)
    keepdims = b.rng.choice([None, 0, 1])
    if b.opset >= (13 if op == "ReduceSum" else 18):
        inputs = [x]
        if axes or b.rng.random() < 0.5:
            inputs.append(b.param(axes))
        b.add(op, inputs, keepdims=keepdims,
              noop_with_empty_axes=b.rng.choice([None, None, 0, 1]))
    else:
        b.add(op, [x], keepdims=keepdims, axes=axes or None)


@maker("ArgMax", "ArgMin", weight=0.8)
def make_arg(b):
    x = b.pick((F32, F32, I32, I64) if b.opset < 13 else MORE, test=lambda a: a.ndim > 0 and a.size > 0)
    rank = b.array(x).ndim
    axis = b.rng.randint(-rank if b.opset >= 11 else 0, rank - 1)
    b.add(b.rng.choice(["ArgMax", "ArgMin"]), [x], axis=b.rng.choice([axis, axis, None]),
          keepdims=b.rng.choice([None, 0, 1]),
          select_last_index=b.rng.choice([None, 0, 1]) if b.opset >= 12 else None)


@maker("Softmax", "LogSoftmax", "Hardmax", "LpNormalization", weight=1.6)
def make_along(b):
    op = b.rng.choice(["Softmax", "Softmax", "LogSoftmax", "Hardmax", "LpNormalization"])
    x = b.pick((F32,), test=lambda a: a.ndim > 0 and a.size > 0)
    rank = b.array(x).ndim
    axis = b.rng.choice([None, -1 if b.opset >= 11 else rank - 1, b.rng.randint(0, rank - 1)])
    axis = 0 if axis is None and rank == 1 else axis
    b.add(op, [x], axis=axis, p=b.rng.choice([1, 2]) if op == "LpNormalization" else None)


@maker("CumSum", since=11, weight=0.5)
def make_cumsum(b):
    x = b.pick(NUMBERS, ranks=(1, 2, 3, 4))
    rank = b.array(x).ndim
    b.add("CumSum", [x, b.param(b.rng.randint(-rank, rank - 1), b.rng.choice([I64, I32]))],
          exclusive=b.rng.choice([None, 0, 1]), reverse=b.rng.choice([None, 0, 1]))


@maker("CumProd", since=26, weight=0.5)
def make_cumprod(b):
    x = b.pick((F32, I32, I64), ranks=(1, 2, 3, 4))
    rank = b.array(x).ndim
    b.add("CumProd", [x, b.param(b.rng.randint(-rank, rank - 1), b.rng.choice([I64, I32]))],
          exclusive=b.rng.choice([None, 0, 1]), reverse=b.rng.choice([None, 0, 1]))


@maker("MeanVarianceNormalization", since=9, weight=0.4)
def make_mvn(b):
    x = b.pick((F32,), rank=4, test=lambda a: a.size > 8)
    b.add("MeanVarianceNormalization", [x], axes=b.rng.choice([None, [0, 2, 3], [2, 3], [0, 1, 2, 3], [1]]))


# --- Views ---


def factor(b, total, rank):
    dims = []
    for _ in range(max(rank - 1, 0)):
        choices = [d for d in range(1, total + 1) if total % d == 0] if 0 < total < 4096 else [1]
        dims.append(b.rng.choice(choices))
        total //= dims[-1]
    if rank:
        dims.append(total)
        b.rng.shuffle(dims)
    return dims


@maker("Reshape", weight=1.6)
def make_reshape(b):
    x = b.pick(ANY if b.rng.random() < 0.5 else None)
    array = b.array(x)
    dims = factor(b, array.size, b.rng.randint(0 if array.size == 1 else 1, 5))
    attributes = {}
    if dims and array.size and b.rng.random() < 0.5:
        dims[b.rng.randrange(len(dims))] = -1
    for i, d in enumerate(dims):
        if i < array.ndim and d == array.shape[i] and d > 0 and b.rng.random() < 0.3:
            dims[i] = 0
    if b.opset >= 14 and 0 not in dims and b.rng.random() < 0.1:
        attributes["allowzero"] = 1
    if b.opset >= 14 and array.size == 0:
        attributes["allowzero"] = 1
    b.add("Reshape", [x, b.param(dims)], **attributes)


@maker("Flatten", weight=0.6)
def make_flatten(b):
    x = b.pick(ANY if b.opset >= 9 else (F32,))
    rank = b.array(x).ndim
    b.add("Flatten", [x], axis=b.rng.choice([None, b.rng.randint(-rank if b.opset >= 11 else 0, rank)])
          if rank else 0)


@maker("Squeeze", weight=0.7)
def make_squeeze(b):
    x = b.pick(ANY, test=lambda a: 1 in a.shape, fresh=0.05)
    ones = [i for i, d in enumerate(b.shape(x)) if d == 1]
    axes = b.rng.sample(ones, b.rng.randint(1, len(ones)))
    axes = [a - b.array(x).ndim if b.opset >= 11 and b.rng.random() < 0.3 else a for a in axes]
    if b.rng.random() < 0.2:
        b.add("Squeeze", [x])
    elif b.opset >= 13:
        b.add("Squeeze", [x, b.param(axes)])
    else:
        b.add("Squeeze", [x], axes=axes)


@maker("Unsqueeze", weight=0.7)
def make_unsqueeze(b):
    x = b.pick(ANY, ranks=(0, 1, 2, 3))
    rank = b.array(x).ndim
    more = b.rng.randint(1, 2)
    axes = b.rng.sample(range(rank + more), more)
    axes = [a - rank - more if b.opset >= 11 and b.rng.random() < 0.3 else a for a in axes]
    if b.opset >= 13:
        b.add("Unsqueeze", [x, b.param(axes)])
    else:
        b.add("Unsqueeze", [x], axes=axes)


@maker("Shape", "Size", weight=0.8)
def make_shape(b):
    x = b.pick(ANY)
    if b.rng.random() < 0.3:
        b.add("Size", [x])
    elif b.opset >= 15 and b.rng.random() < 0.5:
        rank = b.array(x).ndim
        b.add("Shape", [x], start=b.rng.choice([None, b.rng.randint(-rank - 1, rank + 1)]),
              end=b.rng.choice([None, b.rng.randint(-rank - 1, rank + 1)]))
    else:
        b.add("Shape", [x])


# --- Moves ---


@maker("Transpose", weight=1.6)
def make_transpose(b):
    x = b.pick(ANY if b.rng.random() < 0.4 else None)
    perm = list(range(b.array(x).ndim))
    b.rng.shuffle(perm)
    b.add("Transpose", [x], perm=b.rng.choice([perm, perm, None]) if perm else None)


@maker("Concat", weight=1.4)
def make_concat(b):
    x = b.pick(ANY if b.rng.random() < 0.4 else None, ranks=(1, 2, 3, 4, 5))
    array = b.array(x)
    axis = b.rng.randrange(array.ndim)

    def fits(a):
        return a.dtype == array.dtype and a.ndim == array.ndim and \
            all(p == q for i, (p, q) in enumerate(zip(a.shape, array.shape)) if i != axis)

    known = [n for n, a in b.all_values().items() if fits(a)]
    parts = [x]
    for _ in range(b.rng.choice([0, 1, 1, 2, 3])):
        if b.rng.random() < 0.6:
            parts.append(b.rng.choice(known))
        else:
            dims = list(array.shape)
            dims[axis] = b.dim(8)
            parts.append(b.fresh(array.dtype, dims))
    b.rng.shuffle(parts)
    b.add("Concat", parts, axis=axis - array.ndim if b.opset >= 11 and b.rng.random() < 0.3 else axis)


@maker("Split", weight=0.8)
def make_split(b):
    x = b.pick((F32, F32, I64, F64), test=lambda a: a.ndim > 0 and max(a.shape) > 1)
    array = b.array(x)
    axis = b.rng.choice([i for i, d in enumerate(array.shape) if d > 1])
    size = array.shape[axis]
    count = b.rng.randint(1, min(size, 4))
    kind = b.rng.random()
    if kind < 0.6 or b.opset >= 18 and size % count:
        cuts = sorted(b.rng.choices(range(size + 1), k=count - 1)) if b.rng.random() < 0.1 else \
            sorted(b.rng.sample(range(1, size), count - 1))
        sizes = [hi - lo for lo, hi in zip([0] + cuts, cuts + [size])]
        if b.opset >= 13:
            b.add("Split", [x, b.param(sizes)], count, axis=axis)
        else:
            b.add("Split", [x], count, axis=axis, split=sizes)
    elif b.opset >= 18:
        b.add("Split", [x], count, axis=axis, num_outputs=count)
    elif size % count == 0:
        b.add("Split", [x], count, axis=axis)


@maker("Slice", weight=1.6)
def make_slice(b):
    x = b.pick(ANY if b.rng.random() < 0.4 else None, ranks=(1, 2, 3, 4))
    array = b.array(x)
    axes = b.rng.sample(range(array.ndim), b.rng.randint(1, array.ndim))
    starts, ends, steps = [], [], []
    for axis in axes:
        size = array.shape[axis]
        step = b.rng.choice([1, 1, 1, 2, 3, -1, -2]) if b.opset >= 10 else 1
        low, high = sorted(b.rng.choices(range(size + 1), k=2))
        if b.rng.random() < 0.8 and low == high and high < size:
            high += 1
        if step > 0:
            start, end = b.rng.choice([low, low - size if size else 0]), b.rng.choice([high, 2**31, high])
        else:
            start, end = b.rng.choice([high - 1, high - 1, 2**31 - 1]), b.rng.choice([low - 1 if low else -2**31, -2**31])
        starts.append(start), ends.append(end), steps.append(step)
    if b.opset < 10:
        b.add("Slice", [x], starts=starts, ends=ends, axes=axes)
        return
    axes = [a - array.ndim if b.rng.random() < 0.2 else a for a in axes]
    inputs = [x, b.param(starts), b.param(ends)]
    if sorted(axes) == axes == list(range(len(axes))) and all(s == 1 for s in steps) and b.rng.random() < 0.5:
        b.add("Slice", inputs)
    else:
        inputs.append(b.param(axes))
        if any(s != 1 for s in steps) or b.rng.random() < 0.5:
            inputs.append(b.param(steps))
        b.add("Slice", inputs)


@maker("Pad", weight=1.2)
def make_pad(b):
    mode = b.rng.choice(["constant", "constant", "constant", "reflect", "edge"] +
                        (["wrap"] if b.opset >= 19 else []))
    x = b.pick(ANY[:6] if b.opset >= 13 and mode == "constant" else (F32,), ranks=(1, 2, 3, 4),
               test=lambda a: mode == "constant" or (a.size > 0 and min(a.shape) > 2))
    array = b.array(x)
    axes = None
    if b.opset >= 18 and b.rng.random() < 0.3:
        axes = b.rng.sample(range(array.ndim), b.rng.randint(1, array.ndim))
    count = array.ndim if axes is None else len(axes)
    low = -1 if mode == "constant" and 0 not in array.shape and b.rng.random() < 0.3 else 0
    pads = [b.rng.choice([0, 0, 1, 2, low]) for _ in range(2 * count)]
    if b.opset < 11:
        b.add("Pad", [x], mode=mode, pads=pads, value=b.rng.choice([None, 1.5]))
        return
    inputs = [x, b.param(pads)]
    if mode == "constant" and b.rng.random() < 0.6:
        inputs.append(b.leaf(numpy.array(1, array.dtype), constant=True))
    if axes is not None:
        inputs = inputs + [""] * (3 - len(inputs)) + [b.param(axes)]
    b.add("Pad", inputs, mode=b.rng.choice([mode, mode, None]) if mode == "constant" else mode)


@maker("CenterCropPad", since=18, weight=0.4)
def make_center(b):
    x = b.pick((F32, I64), ranks=(2, 3, 4))
    rank = b.array(x).ndim
    axes = b.rng.sample(range(rank), b.rng.randint(1, rank)) if b.rng.random() < 0.6 else None
    b.add("CenterCropPad", [x, b.param([b.rng.randint(1, 9) for _ in axes or range(rank)])], axes=axes)


@maker("Expand", since=8, weight=0.8)
def make_expand(b):
    x = b.pick(ANY)
    dims = [b.dim(6) if d == 1 and b.rng.random() < 0.7 else b.rng.choice([1, d]) for d in b.shape(x)]
    dims = [b.dim(4) for _ in range(b.rng.choice([0, 0, 1, 2]))] + dims
    b.add("Expand", [x, b.param(dims)])


@maker("Tile", weight=0.7)
def make_tile(b):
    x = b.pick(ANY, ranks=(1, 2, 3, 4))
    b.add("Tile", [x, b.param([b.rng.choice([1, 1, 2, 3]) for _ in b.shape(x)])])


@maker("DepthToSpace", "SpaceToDepth", weight=0.6)
def make_depth(b):
    n, c, h, w = b.rng.randint(1, 2), b.rng.randint(1, 4), b.rng.randint(1, 5), b.rng.randint(1, 5)
    block = b.rng.choice([2, 3])
    if b.rng.random() < 0.5:
        x = b.fresh(F32, [n, c * block * block, h, w])
        b.add("DepthToSpace", [x], blocksize=block,
              mode=b.rng.choice([None, "DCR", "CRD"]) if b.opset >= 11 else None)
    else:
        b.add("SpaceToDepth", [b.fresh(F32, [n, c, h * block, w * block])], blocksize=block)


@maker("ReverseSequence", since=10, weight=0.4)
def make_reverse(b):
    x = b.pick((F32, I64), ranks=(2, 3, 4), test=lambda a: a.size > 0)
    time = b.rng.randint(0, 1)
    shape = b.shape(x)
    lengths = [b.rng.randint(1, shape[time]) for _ in range(shape[1 - time])]
    b.add("ReverseSequence", [x, b.param(lengths)], time_axis=time, batch_axis=1 - time)


@maker("Trilu", since=14, weight=0.5)
def make_trilu(b):
    x = b.pick((F32, I64, F64, BOOL), ranks=(2, 3, 4))
    inputs = [x] if b.rng.random() < 0.4 else [x, b.leaf(numpy.array(b.rng.randint(-5, 5), I64), constant=True)]
    b.add("Trilu", inputs, upper=b.rng.choice([None, 0, 1]))


# --- Made from nothing ---


@maker("ConstantOfShape", since=9, weight=0.6)
def make_constant_of_shape(b):
    dims = list(b.dims(b.rng.randint(0, 4)))
    value = None
    if b.rng.random() < 0.7:
        dtype = b.rng.choice([F32, I64, I32, BOOL, F64])
        value = numpy_helper.from_array(numpy.array([b.rng.randint(0, 3)], dtype=dtype))
    b.add("ConstantOfShape", [b.param(dims)], value=value)


@maker("EyeLike", since=9, weight=0.4)
def make_eye(b):
    b.add("EyeLike", [b.pick((F32, I64, I32), rank=2)], k=b.rng.choice([None, -2, 0, 1, 3]),
          dtype=b.rng.choice([None, 1, 7, 6, 11]))


@maker("Range", since=11, weight=0.5)
def make_range(b):
    dtype = b.rng.choice([F32, I64, I32])
    start, delta, count = b.rng.randint(-4, 4), b.rng.choice([-2, -1, 1, 2, 3]), b.rng.randint(0, 12)
    ends = [start, start + delta * count, delta]
    b.add("Range", [b.leaf(numpy.array(e, dtype), constant=b.rng.random() < 0.8) for e in ends])


@maker("OneHot", since=9, weight=0.5)
def make_one_hot(b):
    depth = b.rng.randint(1, 7)
    indices = b.fresh(b.rng.choice([I64, I64, I32, F32]), rank=b.rng.randint(0, 3), low=-depth if b.opset >= 11 else 0,
                      high=depth)
    if b.array(indices).dtype == F32:
        raise Unfit("fractions")
    values = b.leaf(numpy.array([0, b.rng.choice([1, 3])], b.rng.choice([F32, I64, F32, I32])), constant=True)
    b.add("OneHot", [indices, b.leaf(numpy.array(b.rng.choice([depth, [depth]]), I64), constant=True), values],
          axis=b.rng.choice([None, -1, 0, b.array(indices).ndim]))


# --- Indices ---


def index_type(b):
    return b.rng.choice([I64, I64, I32])


@maker("Gather", weight=1.2)
def make_gather(b):
    x = b.pick(ANY if b.rng.random() < 0.4 else None, ranks=(1, 2, 3, 4), test=lambda a: a.size > 0)
    axis = b.rng.randrange(b.array(x).ndim)
    size = b.shape(x)[axis]
    indices = b.fresh(index_type(b), b.dims(b.rng.choice([0, 1, 1, 2])), low=-size if b.opset >= 11 else 0,
                      high=size, constant=b.rng.random() < 0.7)
    b.add("Gather", [x, indices], axis=axis - b.array(x).ndim if b.rng.random() < 0.2 else axis)


@maker("GatherElements", since=11, weight=0.7)
def make_gather_elements(b):
    x = b.pick(NUMBERS, ranks=(1, 2, 3, 4), test=lambda a: a.size > 0)
    shape = b.shape(x)
    axis = b.rng.randrange(len(shape))
    dims = [b.dim(8) if i == axis else b.rng.randint(1, d) for i, d in enumerate(shape)]
    b.add("GatherElements", [x, b.fresh(index_type(b), dims, low=-shape[axis], high=shape[axis])], axis=axis)


def nd_indices(b, shape, k, lead):
    seed = numpy.random.default_rng(b.rng.getrandbits(32))
    columns = [seed.integers(-d if b.opset >= 11 else 0, d, size=lead) for d in shape[:k]]
    return numpy.stack(columns, axis=-1).astype(I64)


@maker("GatherND", since=11, weight=0.6)
def make_gather_nd(b):
    x = b.pick(NUMBERS, ranks=(1, 2, 3, 4), test=lambda a: a.size > 0)
    shape = b.shape(x)
    k = b.rng.randint(1, len(shape))
    if b.opset >= 12 and len(shape) > 1 and b.rng.random() < 0.3:
        k = b.rng.randint(1, len(shape) - 1)
        indices = nd_indices(b, shape[1:], k, (shape[0], b.rng.randint(1, 4)))
        b.add("GatherND", [x, b.leaf(indices)], batch_dims=1)
    else:
        b.add("GatherND", [x, b.leaf(nd_indices(b, shape, k, tuple(b.dims(b.rng.randint(0, 2)))))])


def reductions(b, mul, more):
    return b.rng.choice([None, "none"] + (["add", "mul"] if b.opset >= mul else []) +
                        (["max", "min"] if b.opset >= more else []))


@maker("Scatter", since=9, until=10, weight=0.6)
@maker("ScatterElements", since=11, weight=0.7)
def make_scatter(b):
    x = b.pick((F32, F32, I64, I32), ranks=(1, 2, 3), test=lambda a: a.size > 0)
    array = b.array(x)
    axis = b.rng.randrange(array.ndim)
    dims = [b.rng.randint(1, d) for d in array.shape]
    if b.opset < 11:
        order = numpy.argsort(b.random_array(F32, array.shape), axis=axis)
        b.add("Scatter", [x, b.leaf(order.astype(I64)), b.fresh(array.dtype, array.shape)], axis=axis)
        return
    reduction = reductions(b, 16, 18)
    if reduction in (None, "none"):
        dims = [d if i == axis else e for i, (d, e) in enumerate(zip(array.shape, dims))]
        indices = numpy.argsort(b.random_array(F32, dims), axis=axis).astype(I64)
        b.add("ScatterElements", [x, b.leaf(indices), b.fresh(array.dtype, dims)], axis=axis, reduction=reduction)
    else:
        indices = b.fresh(I64, dims, low=-array.shape[axis], high=array.shape[axis])
        b.add("ScatterElements", [x, indices, b.fresh(array.dtype, dims)], axis=axis, reduction=reduction)


@maker("ScatterND", since=11, weight=0.6)
def make_scatter_nd(b):
    x = b.pick((F32, F32, I64, I32), ranks=(1, 2, 3), test=lambda a: a.size > 0)
    array = b.array(x)
    k = b.rng.randint(1, array.ndim)
    reduction = reductions(b, 16, 18)
    count = b.rng.randint(1, 5)
    indices = nd_indices(b, array.shape, k, (count,))
    if reduction in (None, "none"):
        indices = numpy.unique(numpy.where(indices < 0, indices + numpy.array(array.shape[:k]), indices), axis=0)
    updates = b.fresh(array.dtype, (len(indices), *array.shape[k:]))
    b.add("ScatterND", [x, b.leaf(indices), updates], reduction=reduction)


@maker("TopK", weight=0.7)
def make_top_k(b):
    # Distinct numbers: which of equal ones comes first is left open.
    shape = b.dims(b.rng.randint(1, 3))
    if 0 in shape:
        raise Unfit("nothing to choose from")
    axis = b.rng.randrange(len(shape))
    k = b.rng.randint(1, shape[axis])
    data = b.random_array(F32, (int(numpy.prod(shape)),)).argsort().reshape(shape)
    x = b.leaf(data.astype(b.rng.choice([F32, F32, I64]) if b.opset >= 11 else F32))
    axis = axis - len(shape) if b.opset >= 11 and b.rng.random() < 0.3 else axis
    if b.opset < 10:
        b.add("TopK", [x], 2, k=k, axis=axis)
    elif b.opset < 11:
        b.add("TopK", [x, b.param([k])], 2, axis=axis)
    else:
        b.add("TopK", [x, b.param([k])], 2, axis=axis, largest=b.rng.choice([None, 0, 1]),
              sorted=b.rng.choice([None, 1]))


@maker("NonZero", since=9, weight=0.4)
def make_nonzero(b):
    b.add("NonZero", [b.pick((F32, I64, BOOL, I32), ranks=(1, 2, 3, 4))])


@maker("Compress", since=9, weight=0.4)
def make_compress(b):
    x = b.pick((F32, I64, BOOL), ranks=(1, 2, 3), test=lambda a: a.size > 0)
    axis = b.rng.choice([None] + list(range(b.array(x).ndim)))
    size = b.array(x).size if axis is None else b.shape(x)[axis]
    b.add("Compress", [x, b.fresh(BOOL, [b.rng.randint(1, size)])], axis=axis)


@maker("TensorScatter", since=24, weight=0.4)
def make_tensor_scatter(b):
    batch, heads, total, size = b.rng.randint(1, 3), b.rng.randint(1, 3), b.rng.randint(2, 8), b.rng.randint(1, 5)
    count = b.rng.randint(1, total)
    inputs = [b.fresh(F32, [batch, heads, total, size]), b.fresh(F32, [batch, heads, count, size])]
    if b.rng.random() < 0.7:
        inputs.append(b.leaf(numpy.array([b.rng.randint(0, total - count) for _ in range(batch)], I64)))
    b.add("TensorScatter", inputs, mode=b.rng.choice([None, "linear", "circular"]))


# --- Texts, which begin and end as numbers ---


@maker("StringConcat", "StringSplit", "RegexFullMatch", since=20, weight=0.5)
def make_texts(b):
    x = b.pick((I64, I32), fresh=0.5)
    if b.array(x).ndim > 4 or b.array(x).size > 2000:
        raise Unfit("large")
    text = b.add("Cast", [x], to=8)
    joined = b.add("StringConcat", [text, b.leaf(numpy.array(b.rng.choice(["-", "", " 1", "é,"]), object), constant=True)])
    kind = b.rng.randint(0, 4)
    if kind == 0:
        b.add("RegexFullMatch", [joined], pattern=b.rng.choice(["-?\\d+", "[^1]*", "(1|2)?.*", ".", "(?:\\W|\\d){2,3}", "", "\\d\\b.*"]))
    elif kind == 1 and b.array(x).size:
        given = {} if b.rng.random() < 0.5 else {"delimiter": b.rng.choice(["1", "-", "-1"])}
        b.add("StringSplit", [joined], outputs=2, maxsplit=b.rng.randint(-1, 2), **given)
    elif kind == 2:
        b.add("Equal", [text, joined])
    elif kind == 3 and b.array(x).size:
        b.add("Unique", [joined], outputs=b.rng.randint(1, 4), sorted=b.rng.randint(0, 1))
    else:
        b.add("Cast", [text], to=b.rng.choice([1, 6, 7, 11]))


@maker("TfIdfVectorizer", since=9, weight=0.3)
def make_ngrams(b):
    x = b.pick((I64, I32), ranks=(1, 2), fresh=0.6)
    if not b.array(x).size:
        raise Unfit("empty")
    grams = [[b.rng.randint(-3, 5) for _ in range(size)] for size in (1, 2, 3) for _ in range(b.rng.randint(0, 5))]
    grams = [list(g) for g in dict.fromkeys(map(tuple, grams))]
    if not grams:
        raise Unfit("no grams")
    starts, flat = [], []
    for size in range(1, max(map(len, grams)) + 1):
        starts.append(len(flat))
        flat += [item for g in grams if len(g) == size for item in g]
    low = b.rng.randint(1, len(starts))
    columns = list(range(len(grams)))
    b.rng.shuffle(columns)
    b.add("TfIdfVectorizer", [x], mode=b.rng.choice(["TF", "IDF", "TFIDF"]), min_gram_length=low,
          max_gram_length=b.rng.randint(low, len(starts)), max_skip_count=b.rng.randint(0, 3), ngram_counts=starts,
          ngram_indexes=columns, pool_int64s=flat, weights=[round(b.rng.uniform(0.1, 2), 2) for _ in grams])
