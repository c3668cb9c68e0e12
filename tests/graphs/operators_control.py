# SPDX-License-Identifier: Apache-2.0
"""Random If and Loop nodes, whose bodies hold random nodes, read what is around them, and have
initialisers of their own; and whole models."""
import numpy
import onnx
from onnx import helper, numpy_helper

import operators_counted  # noqa: F401 (they fill the table)
import operators_heads  # noqa: F401
import operators_heavy  # noqa: F401
import operators_layers  # noqa: F401
import operators_learning  # noqa: F401
import operators_packed  # noqa: F401
import operators_patterns  # noqa: F401
from builder import BOOL, F32, I64, Builder, Unfit, info, make_model, reads_of, seeded, type_of
from operators import MAKERS, maker

DEPTH_MAX = 2
ONLY = set()  # of makers, where not all are to be tried
DEEP = ("If", "Loop", "Scan", "branch computed", "turns computed")


def choose(b):
    """A maker: half the time by weight, half the time all alike, so that rare ones come up, too."""
    fits = [(name, m) for name, m in MAKERS.items() if m[1] <= b.opset <= m[2] and
            (b.depth < DEPTH_MAX or name not in DEEP)]
    chosen = [(name, m) for name, m in fits if name in ONLY]
    if chosen and b.rng.random() < 0.8:
        return b.rng.choice(chosen)[1][0]
    if b.root.is_standard:
        fits = [(name, m) for name, m in fits if "." not in name]
    if b.rng.random() < 0.5:
        return b.rng.choice(fits)[1][0]
    return b.rng.choices(fits, [m[3] for _, m in fits])[0][1][0]


def grow(b, count):
    """Adds about so many makers' nodes."""
    tries = 0
    while count > 0 and tries < 60:
        tries += 1
        mark = b.attempt()
        try:
            choose(b)(b)
            count -= 1
        except (Unfit, ValueError, IndexError, KeyError):
            b.undo(mark)


def condition_of(b):
    found = [n for n, a in b.all_values().items() if a.dtype == bool and a.shape in ((), (1,))]
    if found and b.rng.random() < 0.4:
        return b.rng.choice(found)
    if b.opset >= 13 and b.rng.random() < 0.4:
        x = b.pick((F32,), test=lambda a: a.size > 0 and bool(numpy.isfinite(a).all()))
        total = b.add("ReduceSum", [x], keepdims=0)
        if abs(float(b.array(total))) < 0.01:
            raise Unfit("close")
        return b.add("Greater", [total, b.leaf(numpy.array(0, F32), constant=True)])
    return b.leaf(numpy.array(b.rng.random() < 0.5), constant=b.rng.random() < 0.4)


def result_like(b, array):
    """A value of this body with the type and shape of the array; made where there is none."""
    found = [n for n, a in b.values.items() if a.dtype == array.dtype and a.shape == array.shape and n not in b.constants]
    if found and b.rng.random() < 0.8:
        return found[-1]
    c = b.leaf(b.random_array(array.dtype, array.shape), constant=True)
    fits = [n for n, a in b.all_values().items() if a.dtype == array.dtype and a.shape == array.shape]
    if array.dtype == bool:
        return b.add("And", [b.rng.choice(fits), c])
    return b.add(b.rng.choice(["Add", "Sub"]) if array.dtype.kind == "f" else "Add", [b.rng.choice(fits), c])


@maker("If", weight=1.2)
def make_if(b):
    condition = condition_of(b)
    bodies = []
    wanted = None
    for _ in range(2):
        body = Builder(b.rng, b.opset, b)
        grow(body, b.rng.randint(0, 4))
        if wanted is None:
            made = [n for n, a in body.values.items() if a.dtype.kind in "fi" and a.dtype.itemsize >= 4]
            if not made:
                like = b.array(b.pick((F32,)))
                made = [result_like(body, like)]
            names = b.rng.sample(made, min(len(made), b.rng.choice([1, 1, 2])))
            wanted = [body.array(n) for n in names]
        else:
            names = [result_like(body, array) for array in wanted]
        if len(set(names)) < len(names):
            raise Unfit("one output twice")
        bodies.append(body.body(names))
    b.rng.shuffle(bodies)
    b.add("If", [condition], len(wanted), then_branch=bodies[0], else_branch=bodies[1])


@maker("Loop", weight=1.2)
def make_loop(b):
    states = [b.pick((F32, F32, I64), ranks=(0, 1, 2, 3)) for _ in range(b.rng.choice([0, 1, 1, 2]))]
    turns = b.leaf(numpy.array(b.rng.choice([0, 1, 2, 3, 5]), I64), constant=b.rng.random() < 0.7)
    kind = b.rng.choice(["", "", "true", "given"])
    start = "" if not kind else b.leaf(numpy.array(kind == "true" or b.rng.random() < 0.8), constant=b.rng.random() < 0.6)
    body = Builder(b.rng, b.opset, b)
    turn, going = body.name("turn"), body.name("going")
    carried = [body.name("state") for _ in states]
    body.values.update({turn: numpy.array(0, I64), going: numpy.array(True)})
    body.values.update({n: b.array(s) for n, s in zip(carried, states)})
    inputs = [turn, going, *carried]
    grow(body, b.rng.randint(1, 4))
    if b.rng.random() < 0.6 or b.opset < 9:
        goes_on = body.add("Identity", [going])
    else:
        goes_on = body.add("Less", [turn, body.leaf(numpy.array(b.rng.randint(0, 3), I64), constant=True)])
    ends = []
    for name in carried:
        array = body.array(name)
        if array.ndim and b.rng.random() < 0.08:
            ends.append(body.add("Concat", [name, name], axis=0))  # it grows
        else:
            fits = [n for n, a in body.values.items() if a.dtype == array.dtype and a.shape == array.shape and
                    n not in inputs and n not in body.constants and n not in ends]
            ends.append(fits[-1] if fits and b.rng.random() < 0.7 else
                        body.add("Add", [name, body.leaf(body.random_array(array.dtype, array.shape), constant=True)]))
    made = [n for n, a in body.values.items() if n not in inputs and n not in body.constants and
            n not in ends and n != goes_on and a.dtype != BOOL and a.ndim < 6]
    scans = b.rng.sample(made, min(len(made), b.rng.choice([0, 1, 1, 2])))
    if not states and not scans:
        raise Unfit("no output")
    graph = body.body([goes_on, *ends, *scans], inputs)
    for i, value in enumerate(graph.input):
        if i >= 2 and b.rng.random() < 0.5:
            value.type.tensor_type.ClearField("shape")
    made = b.add("Loop", [turns, start, *states], len(ends) + len(scans), body=graph)
    made = [made] if isinstance(made, str) else made
    if any(b.shape(name)[0] == 0 for name in made[len(ends):]):
        raise Unfit("of no turn ONNX Runtime forgets the shape")


@maker("Scan", since=9, weight=0.6)
def make_scan(b):
    turns, size = b.rng.randint(1, 5), b.rng.randint(1, 5)
    shape, axis = ([turns, size], 0) if b.rng.random() < 0.7 else ([size, turns], 1)
    rows = [b.leaf(b.random_array(F32, shape)) for _ in range(b.rng.randint(1, 2))]
    states = [b.leaf(b.random_array(F32, [size])) for _ in range(b.rng.randint(0, 2))]
    body = Builder(b.rng, b.opset, b)
    inputs = [body.name("state") for _ in states] + [body.name("row") for _ in rows]
    body.values.update({n: b.array(s) for n, s in zip(inputs, states)})
    body.values.update({n: numpy.take(b.array(r), 0, axis) for n, r in zip(inputs[len(states):], rows)})
    grow(body, b.rng.randint(1, 3))
    ends = [body.add("Add", [n, inputs[-1]]) for n in inputs[:len(states)]]
    made = [n for n, a in body.values.items() if n not in inputs and n not in body.constants and n not in ends and a.ndim < 5 and a.dtype != BOOL]
    scans = b.rng.sample(made, min(len(made), b.rng.choice([1, 1, 2])))
    if not ends and not scans:
        raise Unfit("no output")
    ways = [b.rng.choice([0, 0, 1]) for _ in rows]
    b.add("Scan", states + rows, len(ends) + len(scans), body=body.body(ends + scans, inputs), num_scan_inputs=len(rows),
          scan_input_axes=[axis] * len(rows) if axis or b.rng.random() < 0.2 else None,
          scan_input_directions=ways if b.rng.random() < 0.4 else None)


# --- Whole models ---


class Case:
    """A model with its inputs and what it gives; `others`: such of the same model, with other inputs."""

    def __init__(self, model, inputs, expected, ops=()):
        self.model, self.inputs, self.expected, self.ops, self.others = model, inputs, expected, ops, []


def dims_of(b, array):
    if not b.is_dynamic:
        return None
    return [b.symbols.setdefault((d, b.rng.randrange(3)), f"d{len(b.symbols)}") if b.rng.random() < 0.6 else d
            for d in array.shape]


def outputs_of(b):
    read = set()
    for node in b.nodes:
        read.update(reads_of(node))
    made = [n for node in b.nodes for n in node.output if n and n not in b.hidden]
    ends = [n for n in made if n not in read]
    if len(ends) > 1 and b.rng.random() < 0.2:
        ends.remove(b.rng.choice(ends))  # and what it needed is dead
    more = [n for n in made if n in read]
    ends += b.rng.sample(more, min(len(more), b.rng.choice([0, 0, 1, 2])))
    if b.rng.random() < 0.04 and (b.inputs or b.constants):
        ends.append(b.rng.choice([*b.inputs, *b.constants]))  # handed on
    if b.rng.random() < 0.06:  # the same once more, which may be computed once
        twin = b.rng.choice(b.nodes)
        names = {n: b.name("twin") for n in twin.output if n}
        copy = onnx.NodeProto()
        copy.CopyFrom(twin)
        copy.name = b.name("twin_")
        copy.output[:] = [names.get(n, "") for n in twin.output]
        if not any(a.HasField("g") for a in copy.attribute):
            b.nodes.append(copy)
            b.values.update({names[n]: b.values[n] for n in names if n in b.values})
            b.hidden.update(names[n] for n in names if n in b.hidden)
            ends.append(next(iter(names.values())))
    return list(dict.fromkeys(ends))


def random_case(seed, opset_max):
    rng = seeded(seed)
    b = Builder(rng, rng.choice([*range(7, opset_max + 1), 13, 13, 17, 17, 18, 20, opset_max]))
    grow(b, rng.choice([1, 2, 3, 5, 8, 12, 16, 20, 25, 30]))
    if not b.nodes:
        return None
    outputs = outputs_of(b)
    if not outputs:
        return None
    graph = helper.make_graph(
        b.nodes, f"seed{seed}", [info(n, a, dims_of(b, a)) for n, a in b.inputs.items()],
        [helper.make_tensor_value_info(n, type_of(b.array(n)), None if b.is_dynamic or rng.random() < 0.5
                                       else list(b.shape(n))) for n in outputs],
        [numpy_helper.from_array(a, n) for n, a in b.constants.items()])
    return Case(make_model(graph, b.opset), dict(b.inputs), {n: b.array(n) for n in outputs}, list(b.ops))
