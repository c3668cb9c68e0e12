# SPDX-License-Identifier: Apache-2.0
"""Random chains of nodes that the runtime fuses, spelt as exporters spell them and as none does: layers of
transformers, norms, gates, positions; weights that several nodes read, and values in the middle that others read."""
import numpy

from builder import BOOL, F16, F32, I64
from operators import maker


def number(b, value):
    return b.leaf(numpy.array(value, F32), constant=True)


def whole(b, *numbers):
    return b.leaf(numpy.array(numbers, I64), constant=True)


def weights(b, rows, columns):
    """Small enough that what comes out is about as large as what goes in."""
    return b.leaf((b.random_array(F32, [rows, columns]) / max(rows, 1)**0.5).astype(F32), constant=True)


def reduce_mean(b, x):
    if b.opset >= 18:
        return b.add("ReduceMean", [x, whole(b, -1)], keepdims=1)
    return b.add("ReduceMean", [x], axes=[-1] if b.opset >= 11 else [b.array(x).ndim - 1], keepdims=1)


def linear(b, x, w, bias=None):
    """By MatMul and Add, in either order, or by Gemm with weights turned over."""
    if b.array(x).ndim == 2 and b.opset >= 11 and b.rng.random() < 0.2:
        turned = b.leaf(b.array(w).T.copy(), constant=True)
        return b.add("Gemm", [x, turned] + ([bias] if bias else []), transB=1)
    y = b.add("MatMul", [x, w])
    return b.add("Add", [y, bias] if b.rng.random() < 0.5 else [bias, y]) if bias else y


def tokens(b, size):
    """[batch, steps, size], or rows alone."""
    batch, steps = b.rng.randint(1, 3), b.rng.randint(1, 7)
    return b.fresh(F32, [batch, steps, size], constant=False)


def norm(b, x):
    """With a mean or without, its parts in one of many orders."""
    size = b.shape(x)[-1]
    scale, bias = b.fresh(F32, [size], constant=True), b.fresh(F32, [size], constant=True)
    kind = b.rng.choice(["own", "mean", "root"])
    if kind == "own" and b.opset >= 17:
        return b.add("LayerNormalization", [x, scale, bias], axis=-1, epsilon=1e-2)
    y = b.add("Sub", [x, reduce_mean(b, x)]) if kind != "root" else x
    twin = b.add("Sub", [x, reduce_mean(b, x)]) if kind != "root" and b.rng.random() < 0.2 else y
    square = b.add("Mul", [y, twin]) if b.rng.random() < 0.5 else b.add("Pow", [twin, number(b, 2)])
    total = b.add("Add", [reduce_mean(b, square), number(b, 1e-2)])
    root = b.add("Sqrt", [total])
    if b.rng.random() < 0.5:
        y = b.add("Div", [y, root])
    else:
        inverse = b.add("Reciprocal", [root]) if b.rng.random() < 0.5 else b.add("Div", [number(b, 1), root])
        y = b.add("Mul", [y, inverse] if b.rng.random() < 0.5 else [inverse, y])
    y = b.add("Mul", [y, scale] if b.rng.random() < 0.5 else [scale, y])
    return b.add("Add", [y, bias]) if kind != "root" or b.rng.random() < 0.2 else y


def gelu(b, x):
    """One of the many spellings."""
    kind = b.rng.choice(["erf", "tanh", "quick", "silu", "own"])
    half, one = number(b, 0.5), number(b, 1)
    if kind == "own" and b.opset >= 20:
        return b.add("Gelu", [x], approximate=b.rng.choice(["none", "tanh"]))
    if kind == "silu":
        return b.add("Mul", [x, b.add("Sigmoid", [x])])
    if kind == "quick":
        return b.add("Mul", [x, b.add("Sigmoid", [b.add("Mul", [x, number(b, 1.702)])])])
    if kind == "tanh":
        cube = b.add("Mul", [b.add("Mul", [x, x]), x]) if b.rng.random() < 0.5 else b.add("Pow", [x, number(b, 3)])
        inner = b.add("Add", [x, b.add("Mul", [number(b, 0.044715), cube])])
        part = b.add("Add", [one, b.add("Tanh", [b.add("Mul", [inner, number(b, 0.7978845608)])])])
    else:
        inner = b.add("Div", [x, number(b, 2**0.5)]) if b.rng.random() < 0.5 else b.add("Mul", [x, number(b, 0.5**0.5)])
        part = b.add("Add", [b.add("Erf", [inner]), one])
    if b.rng.random() < 0.5:
        return b.add("Mul", [b.add("Mul", [x, half]), part])
    return b.add("Mul", [b.add("Mul", [x, part]), half])


def heads_of(b, x, heads, size, is_key=False):
    """[batch, heads, steps, size], of keys perhaps turned at once."""
    y = b.add("Reshape", [x, whole(b, 0, 0, heads, size) if b.rng.random() < 0.5 else whole(b, *b.shape(x)[:2], heads, size)])
    return b.add("Transpose", [y], perm=[0, 2, 3, 1] if is_key else [0, 2, 1, 3])


def rotated(b, x, steps, size):
    """Positions spelt out: halves, one of them negative, times tables."""
    shape = [1, 1, steps, size]
    cosines, sines = (b.fresh(F32, shape, constant=True) for _ in range(2))
    ends = [whole(b, n) for n in (0, size // 2, 2**31 - 1, 3)]
    left, right = b.add("Slice", [x, ends[0], ends[1], ends[3]]), b.add("Slice", [x, ends[1], ends[2], ends[3]])
    turned = b.add("Concat", [b.add("Neg", [right]), left], axis=-1)
    return b.add("Add", [b.add("Mul", [x, cosines]), b.add("Mul", [turned, sines])])


def masked(b, scores):
    shape = b.shape(scores)
    kind = b.rng.choice(["", "", "add", "where", "causal"])
    if kind == "add":
        return b.add("Add", [scores, b.fresh(F32, b.rng.choice([[shape[0], 1, 1, shape[3]], [1, 1, shape[2], shape[3]], list(shape)]))])
    if kind:
        seen = numpy.tril(numpy.ones([1, 1, shape[2], shape[3]])) > 0 if kind == "causal" else \
            b.random_array(BOOL, [shape[0], 1, shape[2], shape[3]]) | (numpy.arange(shape[3]) == 0)
        low = number(b, b.rng.choice([-1e4, -3.4028234663852886e38]))
        return b.add("Where", [b.leaf(seen, constant=kind == "causal"), scores, low], fits=True)
    return scores


def attention(b, x):
    """Of one product or three, scaled before, behind or on both sides, with positions and masks, or without."""
    batch, steps, wide = b.shape(x)
    heads, size = b.rng.choice([1, 2, 3]), b.rng.choice([2, 4, 8])
    hidden = heads * size
    if b.rng.random() < 0.4:
        both = linear(b, x, weights(b, wide, 3 * hidden), b.fresh(F32, [3 * hidden], constant=True) if b.rng.random() < 0.6 else None)
        parts = b.add("Split", [both, whole(b, hidden, hidden, hidden)], 3, axis=2)
    else:
        shared = weights(b, wide, hidden)
        ways = [shared if b.rng.random() < 0.2 else weights(b, wide, hidden) for _ in range(3)]
        parts = [linear(b, x, w, b.fresh(F32, [hidden], constant=True) if b.rng.random() < 0.6 else None) for w in ways]
    is_turned, has_places = b.rng.random() < 0.5, b.rng.random() < 0.3
    q, v = heads_of(b, parts[0], heads, size), heads_of(b, parts[2], heads, size)
    k = heads_of(b, parts[1], heads, size, is_turned and not has_places)
    if has_places:
        q, k = rotated(b, q, steps, size), rotated(b, k, steps, size)
    scale = size**-0.5
    where = b.rng.choice(["scores", "divided", "queries", "both", ""])
    if where == "queries":
        q = b.add("Mul", [q, number(b, scale)])
    elif where == "both":
        q, k = (b.add("Mul", [y, number(b, scale**0.5)]) for y in (q, k))
    k = k if is_turned and not has_places else b.add("Transpose", [k], perm=[0, 1, 3, 2])
    scores = b.add("MatMul", [q, k])
    if where == "scores":
        scores = b.add("Mul", [scores, number(b, scale)])
    elif where == "divided":
        scores = b.add("Div", [scores, number(b, size**0.5)])
    chances = b.add("Softmax", [masked(b, scores)], axis=-1)
    y = b.add("Transpose", [b.add("MatMul", [chances, v])], perm=[0, 2, 1, 3])
    y = b.add("Reshape", [y, whole(b, 0, 0, hidden)])
    return linear(b, y, weights(b, hidden, wide), b.fresh(F32, [wide], constant=True) if b.rng.random() < 0.6 else None)


def feed_forward(b, x):
    wide, inner = b.shape(x)[-1], b.rng.choice([3, 8, 16])
    up = linear(b, x, weights(b, wide, inner), b.fresh(F32, [inner], constant=True) if b.rng.random() < 0.6 else None)
    if b.rng.random() < 0.4:  # a gate of its own
        y = b.add("Mul", [gelu(b, linear(b, x, weights(b, wide, inner))), up])
    else:
        y = gelu(b, up)
    return linear(b, y, weights(b, inner, wide), b.fresh(F32, [wide], constant=True) if b.rng.random() < 0.6 else None)


@maker("transformer", since=13, weight=2.0)
def make_transformer(b):
    x = tokens(b, b.rng.choice([4, 8, 12]))
    for _ in range(b.rng.randint(1, 3)):
        part = b.rng.choice([attention, attention, feed_forward])
        is_first = b.rng.random() < 0.5
        y = part(b, norm(b, x) if is_first else x)
        y = b.add("Add", [x, y] if b.rng.random() < 0.5 else [y, x])
        x = y if is_first else norm(b, y)


@maker("gelu in many words", since=9, weight=0.8)
def make_gelu_variants(b):
    x = b.pick((F32,), ranks=(1, 2, 3, 4))
    y = gelu(b, x)
    if b.rng.random() < 0.3:  # with something of it read by others
        read = b.rng.choice([n for node in b.nodes[-4:] for n in node.output])
        if b.array(read).dtype == F32:
            b.add("Neg", [read])
    b.add("Add", [y, x])


@maker("norm in many words", since=13, weight=0.8)
def make_norm_variants(b):
    x = b.pick((F32,), ranks=(2, 3), test=lambda a: a.size > 0 and a.shape[-1] > 1)
    is_half = b.rng.random() < 0.2 and bool((numpy.abs(b.array(x)) < 100).all())
    if is_half:  # as models of half precision norm
        x = b.add("Cast", [b.add("Cast", [x], to=10)], to=1)
    y = norm(b, x)
    if is_half and b.array(y).dtype != F16:
        y = b.add("Cast", [y], to=10)
    if b.rng.random() < 0.4:
        read = b.rng.choice([n for node in b.nodes[-6:] for n in node.output])
        if b.array(read).dtype == F32:
            b.add("Neg", [read])


@maker("weights that several read", since=11, weight=1.0)
def make_tied(b):
    size, out = b.rng.choice([1, 3, 8, 16, 17]), b.rng.choice([1, 2, 8, 16, 33])
    if b.rng.random() < 0.5:
        w = weights(b, size, out)
        rows = [b.fresh(F32, [b.rng.randint(1, 9), size]) for _ in range(2)]
        first = b.add("MatMul", [rows[0], w])
        b.add("Relu", [b.add("Add", [first, b.fresh(F32, [out], constant=True)])])
        b.add(b.rng.choice(["MatMul", "Gemm"]), [rows[1], w])
        if b.rng.random() < 0.5:  # and back by the same, as embeddings are
            b.add("Gemm", [first, w], transB=1)
        if b.rng.random() < 0.3:
            b.add("Gather", [w, b.leaf(b.random_array(I64, [3], 0, size))], axis=0)
        return
    w = b.leaf((b.random_array(F32, [out, size, 3, 3]) / (3 * size**0.5)).astype(F32), constant=True)
    images = [b.fresh(F32, [1, size, b.rng.randint(3, 8), b.rng.randint(3, 8)]) for _ in range(2)]
    made = [b.add("Conv", [x, w], pads=b.rng.choice([None, [1, 1, 1, 1]])) for x in images]
    scale = [b.fresh(F32, [out], low=0.5, high=2, constant=True) for _ in range(4)]
    y = b.add("BatchNormalization", [made[0], *scale])
    b.add("Add", [b.add("Relu", [y]), y])
    b.add("Sigmoid", [made[1]])
    if b.rng.random() < 0.3:
        b.add("ReduceSum", [b.add("Abs", [w])], keepdims=0)
