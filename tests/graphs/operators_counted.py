# SPDX-License-Identifier: Apache-2.0
"""Random nodes that find as much as computed numbers decide: places above a limit, the k of a TopK, turns of a
Loop, the branch of an If, ends of a Slice, boxes that are kept."""
import numpy

from builder import F32, I64, Builder
from operators import maker

ELEMENTS_MAX = 4000


def scalar(b, value, dtype=I64):
    return b.leaf(numpy.array(value, dtype), constant=True)


def limit_of(b, array):
    """A number that none of these is next to."""
    numbers = numpy.unique(array.astype(float))
    ends = [numbers[0] - 1, *numbers, numbers[-1] + 1]
    scale = float(numpy.abs(numbers).max()) + 1e-3
    wide = [(low + high) / 2 for low, high in zip(ends, ends[1:]) if high - low > 2e-3 * scale]
    return b.rng.choice(wide) if wide else ends[0]


def mask_of(b, ranks=(1, 2, 3, 4)):
    """Computed numbers and where they are above a limit."""
    x = b.pick((F32,), ranks=ranks,
               test=lambda a: 0 < a.size <= ELEMENTS_MAX and bool(numpy.isfinite(a).all() and numpy.abs(a).max() < 1e6))
    if b.rng.random() < 0.5:
        x = b.add(b.rng.choice(["Sigmoid", "Tanh", "Neg"]), [x])
    limit = b.leaf(numpy.array(limit_of(b, b.array(x)), F32), constant=True)
    return x, b.add(b.rng.choice(["Greater", "Less"]), [x, limit])


def count_of(b, mask):
    """How many are true, as one int64."""
    numbers = b.add("Cast", [mask], to=7)
    return b.add("ReduceSum", [b.add("Reshape", [numbers, b.leaf(numpy.array([-1]), constant=True)])], keepdims=0)


def within(b, count, low, high):
    return b.add("Min", [b.add("Max", [count, scalar(b, low)]), scalar(b, high)])


def line(b, value):
    return b.add("Reshape", [value, b.leaf(numpy.array([-1]), constant=True)])


@maker("places found", since=13, weight=0.6)
def make_found(b):
    x, mask = mask_of(b)
    if b.rng.random() < 0.5:
        mask = b.add("Where", [mask, b.leaf(numpy.array(2, F32), constant=True), scalar(b, 0, F32)])
    places = b.add("NonZero", [mask])
    if b.rng.random() < 0.5:
        b.add("GatherND", [x, b.add("Transpose", [places], perm=[1, 0])])
    else:
        first = b.add("Gather", [places, scalar(b, 0)], axis=0)
        b.add("Gather", [x, first], axis=0)


@maker("slices kept", since=13, weight=0.6)
def make_kept(b):
    x, mask = mask_of(b)
    size = b.array(x).size
    other = x if b.rng.random() < 0.5 else b.leaf(b.random_array(I64, (size,)))
    kept = b.add("Compress", [line(b, other), line(b, mask)])
    if b.array(other).dtype == I64 and b.array(kept).size:
        b.add("Unique", [kept], b.rng.randint(1, 4), sorted=b.rng.choice([None, 0, 1]))


@maker("sizes computed", since=13, weight=0.6)
def make_sized(b):
    x, mask = mask_of(b)
    size = b.array(x).size
    count = within(b, count_of(b, mask), 1, size)
    kind = b.rng.choice(["TopK", "Slice", "Range", "Expand"])
    if kind == "TopK":
        numbers = b.leaf(numpy.array(b.rng.sample(range(size), size), F32))
        b.add("TopK", [numbers, line(b, count)], 2, largest=b.rng.choice([None, 0, 1]))
    elif kind == "Slice":
        b.add("Slice", [line(b, x), b.leaf(numpy.array([0]), constant=True), line(b, count)])
    elif kind == "Range":
        b.add("Range", [scalar(b, 0), count, scalar(b, 1)])
    else:
        b.add("Expand", [b.leaf(b.random_array(F32, (1,))), line(b, count)])


@maker("boxes kept", since=13, weight=0.6)
def make_boxes(b):
    count, classes = b.rng.randint(1, 20), b.rng.randint(1, 3)
    corner = b.leaf(b.random_array(F32, [1, count, 2], 0, 4))
    size = b.add("Exp", [b.leaf(b.random_array(F32, [1, count, 2], -1, 1))])
    boxes = b.add("Concat", [corner, b.add("Add", [corner, size])], axis=2)
    scores = b.add("Sigmoid", [b.leaf(b.random_array(F32, [1, classes, count], -3, 3))])
    limits = [scalar(b, b.rng.randint(1, 9)), scalar(b, 0.4, F32), scalar(b, limit_of(b, b.array(scores)), F32)]
    kept = b.add("NonMaxSuppression", [boxes, scores, *limits])
    which = b.add("Gather", [kept, scalar(b, 2)], axis=1)
    b.add("Gather", [boxes, which], axis=1)


@maker("turns computed", since=13, weight=0.6)
def make_turns(b):
    """As many turns as numbers are above a limit; what it carries grows, or all is collected."""
    _, mask = mask_of(b)
    turns = within(b, count_of(b, mask), 1, 9)
    start = b.leaf(b.random_array(F32, (b.rng.randint(1, 4),)))
    body = Builder(b.rng, b.opset, b)
    turn, going, state = body.name("turn"), body.name("going"), body.name("state")
    body.values.update({turn: numpy.array(0, I64), going: numpy.array(True), state: b.array(start)})
    goes_on = body.add("Identity", [going])
    step = body.add("Add", [state, body.add("Cast", [turn], to=1)])
    scanned = body.add("ReduceMax", [step], keepdims=0)
    grows = b.rng.random() < 0.5
    end = body.add("Concat", [step, body.leaf(numpy.ones(1, F32), constant=True)], axis=0) if grows else step
    graph = body.body([goes_on, end, scanned], [turn, going, state])
    graph.input[2].type.tensor_type.ClearField("shape")
    b.add("Loop", [turns, ""] + [start], 2, body=graph)


@maker("branch computed", since=13, weight=0.6)
def make_branch(b):
    """What is computed decides which branch; they make other sizes."""
    x, mask = mask_of(b)
    size = b.array(x).size
    condition = b.add("Greater", [count_of(b, mask), scalar(b, b.rng.randint(0, size))])
    bodies = []
    for _ in range(2):
        body = Builder(b.rng, b.opset, b)
        if b.rng.random() < 0.5:
            made = body.add("Gather", [x, body.add("Gather", [body.add("NonZero", [mask]), scalar(body, 0)], axis=0)], axis=0)
        else:
            made = body.add("Concat", [x] * b.rng.randint(1, 3), axis=0)
        bodies.append(body.body([made]))
    b.add("If", [condition], 1, then_branch=bodies[0], else_branch=bodies[1])
