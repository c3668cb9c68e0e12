# SPDX-License-Identifier: Apache-2.0
"""A random model under construction: each node is computed as soon as it is there, so that later
ones can be given inputs that make sense, and what the model must give is known at the end."""
import contextlib
import io
import random

import numpy
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from twins import with_twins

F32, F64, F16 = numpy.float32, numpy.float64, numpy.float16
I64, I32, I8, U8, BOOL = numpy.int64, numpy.int32, numpy.int8, numpy.uint8, numpy.bool_
INTS = (I64, I32)
ELEMENTS_MAX = 60000

# Operators of which the reference evaluator is known to compute something else than the standard
# says, in some form; ONNX Runtime alone decides about them.
TRUST_RUNTIME = {
    "BatchNormalization", "ConvTranspose", "GRU", "GlobalMaxPool", "GridSample", "Hardmax", "LRN",
    "LSTM", "LogSoftmax", "Loop", "LpNormalization", "LpPool", "MaxPool", "RNN", "RoiAlign", "Softmax", "Unsqueeze",
}

MICROSOFT, LEARNING = "com.microsoft", "ai.onnx.ml"

onnxruntime.set_default_logger_severity(4)


class Unfit(Exception):
    """The node that was tried makes no sense here; nothing of it stays."""


def type_of(array):
    return helper.np_dtype_to_tensor_dtype(array.dtype)


def full_name(node):
    """As docs/operators.md has it."""
    return f"{node.domain}.{node.op_type}" if node.domain else node.op_type


def domains_of(graph):
    """Of its nodes and those of bodies, without the standard one."""
    found = {node.domain for node in graph.node if node.domain}
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                found |= domains_of(attribute.g)
    return found


def learning_version(opset):
    """The version of ai.onnx.ml that came with an operator set."""
    return next(version for version, first in ((5, 22), (4, 20), (3, 15), (2, 10), (1, 0)) if opset >= first)


def make_model(graph, opset):
    """The standard operator set is the first of its imports."""
    imports = [helper.make_opsetid("", opset)]
    imports += [helper.make_opsetid(domain, learning_version(opset) if domain == LEARNING else 1)
                for domain in sorted(domains_of(graph))]
    model = helper.make_model(graph, opset_imports=imports)
    model.ir_version = 8 if opset < 19 else 10 if opset < 23 else 11
    return model


def evaluate(model, feeds):
    """All outputs by the reference evaluator. Raises whatever it raises."""
    with numpy.errstate(all="ignore"), contextlib.redirect_stdout(io.StringIO()):
        return [numpy.asarray(y) for y in ReferenceEvaluator(model).run(None, feeds)]


def evaluate_by_runtime(model, feeds):
    """All outputs by ONNX Runtime, as the model says it, without optimisation."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(
        with_twins(model).SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, feeds)


def info(name, array, dims=None):
    return helper.make_tensor_value_info(name, type_of(array), list(array.shape) if dims is None else dims)


def read_by_bodies(graph, own=()):
    """Names that the nodes of a body read and neither it nor one inside of it makes."""
    own = set(own) | {i.name for i in graph.input} | {i.name for i in graph.initializer}
    read = []
    for node in graph.node:
        read += [name for name in node.input if name and name not in own]
        for attribute in node.attribute:
            if attribute.HasField("g"):
                read += [name for name in read_by_bodies(attribute.g) if name not in own]
        own.update(node.output)
    read += [o.name for o in graph.output if o.name not in own]
    return read


def reads_of(node):
    read = [name for name in node.input if name]
    for attribute in node.attribute:
        if attribute.HasField("g"):
            read += read_by_bodies(attribute.g)
    return list(dict.fromkeys(read))


def model_of(node, values, opset, is_typed):
    """The node alone, and what it is fed."""
    reads = reads_of(node)
    outputs = [helper.make_tensor_value_info(name, TensorProto.UNDEFINED, None) for name in node.output if name]
    graph = helper.make_graph([node], "one", [info(name, values[name]) for name in reads], outputs)
    if not is_typed:
        for output in graph.output:
            output.ClearField("type")
    return make_model(graph, opset), {name: values[name] for name in reads}


def compute_by(evaluator, node, values, opset):
    """Outputs of one node by name. Raises Unfit where the evaluator cannot."""
    model, feeds = model_of(node, values, opset, evaluator is evaluate)
    try:
        made = [y.astype(object) if y.dtype.kind == "U" else y for y in evaluator(model, feeds)]
        return dict(zip([o.name for o in model.graph.output], made))
    except Exception as error:  # noqa: it raises anything
        raise Unfit(str(error)) from error


def compute(node, values, opset):
    """The same. By ONNX Runtime where the reference evaluator cannot, or is known to be wrong; it alone
    says what the operators are that are not standard ones."""
    if node.domain:
        return compute_by(evaluate_by_runtime, node, values, opset)
    try:
        if node.op_type in TRUST_RUNTIME:
            return compute_by(evaluate_by_runtime, node, values, opset)
    except Unfit:
        pass
    try:
        return compute_by(evaluate, node, values, opset)
    except Unfit:
        return compute_by(evaluate_by_runtime, node, values, opset)


def is_close(a, b, rtol, atol):
    a, b = numpy.asarray(a), numpy.asarray(b)
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.dtype.kind != "f":
        return bool((a == b).all())
    with numpy.errstate(all="ignore"):
        return bool(numpy.allclose(b.astype(float), a.astype(float), rtol, atol, equal_nan=True))


def agree(made, other):
    for name, array in made.items():
        finite = numpy.abs(array[numpy.isfinite(array)]) if array.dtype.kind == "f" and array.size else numpy.zeros(0)
        scale = float(finite.max()) if finite.size else 1.0
        amount = 1e-2 if array.dtype == F16 else 1e-4
        if not is_close(array, other[name], amount, amount * scale):
            return False
    return True


class Builder:
    """A graph or, with a parent, a body, which may read what the graphs around it hold."""

    def __init__(self, rng, opset, parent=None):
        self.rng, self.opset, self.parent = rng, opset, parent
        self.root = parent.root if parent else self
        if not parent:
            self.count, self.symbols, self.disputed, self.disputes, self.hidden = 0, {}, [], [], set()
            self.half_chance = rng.choice([0, 0, 0.2])
            self.is_dynamic = rng.random() < 0.3
            self.common = [rng.choice([1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 17, 20, 32, 33, 48, 64]) for _ in range(4)]
            self.zero_chance = rng.choice([0, 0, 0, 0.05])
            self.wild_chance = rng.choice([0, 0, 0, 0, 0, 0, 0.1])  # of numbers that are not finite, or tiny
            self.is_standard = rng.random() < 0.5  # without operators of other domains
        self.nodes, self.inputs, self.constants, self.values = [], {}, {}, {}
        self.ops = parent.ops if parent else []
        self.depth = parent.depth + 1 if parent else 0

    def name(self, word):
        self.root.count += 1
        return f"{word}{self.root.count}"

    # What there is

    def all_values(self):
        found = dict(self.parent.all_values()) if self.parent else {}
        found.update(self.values)
        return found

    def array(self, name):
        return self.values[name] if name in self.values else self.parent.array(name)

    def shape(self, name):
        return self.array(name).shape

    # New leaves

    def dim(self, most=64):
        rng = self.rng
        if rng.random() < self.root.zero_chance:
            return 0
        if rng.random() < 0.15:
            return 1
        return min(rng.choice(self.root.common), most)

    def dims(self, rank=None):
        rank = self.rng.choice([0, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 5]) if rank is None else rank
        most = 64
        while True:
            dims = tuple(self.dim(most) for _ in range(rank))
            if numpy.prod(dims, dtype=float) <= ELEMENTS_MAX / 4:
                return dims
            most = max(most // 2, 2)

    def random_array(self, dtype, shape, low=None, high=None):
        seed = numpy.random.default_rng(self.rng.getrandbits(48))
        dtype = numpy.dtype(dtype)
        if dtype == numpy.bool_:
            return seed.integers(0, 2, size=shape).astype(bool)
        if dtype.kind == "f":
            kind = self.rng.random()
            scale = 1 if low is None else None
            if scale and kind < 0.6:
                data = seed.normal(size=shape)
            elif scale and kind < 0.8:
                data = seed.integers(-8, 9, size=shape) / 4
            elif scale:
                data = seed.uniform(-3, 3, size=shape)
            else:
                data = seed.uniform(low, high, size=shape)
            data = numpy.asarray(data).astype(dtype)
            if low is None and data.size and self.rng.random() < self.root.wild_chance:
                data = data.reshape(-1)
                data[seed.integers(0, data.size)] = seed.choice([-0.0, 1e-40, 6e4, -6e4])
                data = data.reshape(shape)
            return data
        bounds = {"u": (0, 20), "i": (-9, 10)}[dtype.kind]
        if dtype in (numpy.uint8, numpy.int8) and low is None and self.rng.random() < 0.6:
            bounds = (numpy.iinfo(dtype).min, numpy.iinfo(dtype).max + 1)
        low, high = bounds[0] if low is None else low, bounds[1] if high is None else high
        return numpy.asarray(seed.integers(low, max(high, low + 1), size=shape)).astype(dtype)

    def leaf(self, array, constant=None):
        """A value with this content: an input, an initialiser, a Constant; of a body its own."""
        array = numpy.asarray(array)
        constant = self.rng.random() < 0.5 if constant is None else constant
        holder = self
        if constant or self.parent:
            name = self.name("c")
            if self.rng.random() < 0.7 or self.opset < 9:
                holder.constants[name] = array
                holder.values[name] = array
            else:
                node = helper.make_node("Constant", [], [name], value=numpy_helper.from_array(array))
                node.name = self.name("constant")
                holder.nodes.append(node)
                holder.values[name] = array
                self.ops.append("Constant")
            return name
        name = self.name("x")
        self.inputs[name] = array
        self.values[name] = array
        return name

    def param(self, values, dtype=I64):
        """Content that decides about shapes or is a scalar parameter: nearly always constant."""
        return self.leaf(numpy.array(values, dtype=dtype), constant=self.rng.random() < 0.92)

    def fresh(self, dtype=F32, shape=None, rank=None, low=None, high=None, constant=None):
        shape = self.dims(rank) if shape is None else tuple(shape)
        if numpy.prod(shape, dtype=float) > ELEMENTS_MAX:
            raise Unfit("large")
        return self.leaf(self.random_array(dtype, shape, low, high), constant)

    def float_type(self):
        r = self.rng.random()
        if r < self.root.half_chance:
            return self.rng.choice([F16, F64])
        return F32

    def pick(self, dtypes=None, rank=None, ranks=None, test=None, fresh=0.25, latest=True):
        """A value of one of the types, of that rank; a new one where there is none, or by chance."""
        if dtypes is None:
            dtypes = (self.float_type(),)
        dtypes = dtypes if isinstance(dtypes, (tuple, list)) else (dtypes,)
        ranks = ranks if ranks is not None else None if rank is None else (rank,)
        found = [n for n, a in self.all_values().items()
                 if a.dtype in [numpy.dtype(d) for d in dtypes] and (ranks is None or a.ndim in ranks)
                 and (test is None or test(a))]
        if found and self.rng.random() > fresh:
            if latest and self.rng.random() < 0.7:
                found = found[-3:]
            return self.rng.choice(found)
        dtype = dtypes[0] if self.rng.random() < 0.7 else self.rng.choice(dtypes)
        for _ in range(20):
            shape = self.dims(None if ranks is None else self.rng.choice(list(ranks)))
            array = self.random_array(dtype, shape)
            if test is None or test(array):
                return self.leaf(array)
        raise Unfit("nothing fits")

    # Nodes

    def attempt(self):
        """What has to be put back when a node turns out unfit."""
        return (len(self.nodes), dict(self.values), dict(self.inputs), dict(self.constants), len(self.ops))

    def undo(self, mark):
        count, self.values, self.inputs, self.constants, ops = mark
        del self.nodes[count:]
        del self.ops[ops:]

    def is_fit(self, array):
        if array.size > ELEMENTS_MAX:
            return False
        if array.dtype.kind == "f" and array.size:
            with numpy.errstate(all="ignore"):
                finite = numpy.isfinite(array)
                if not finite.all():
                    return self.rng.random() < (0.9 if self.root.wild_chance else 0.05)
                if numpy.abs(array).max() > (1e4 if array.dtype != F16 else 1e3):
                    return self.rng.random() < 0.05
        return True

    def add(self, op, inputs, outputs=1, word=None, domain="", fits=False, **attributes):
        """Adds a node; its outputs' names, one alone where there is one. fits: however large its numbers are."""
        names = [self.name(word or "v") if o else "" for o in
                 (outputs if isinstance(outputs, list) else [True] * outputs)]
        attributes = {k: v for k, v in attributes.items() if v is not None}
        try:
            node = helper.make_node(op, list(inputs), names, name=self.name(op.lower() + "_"), domain=domain, **attributes)
        except Exception as error:
            raise Unfit(str(error)) from error
        made = compute(node, _All(self), self.opset)
        if not node.domain:
            self.cross_check(node, made)
        for array in made.values():
            if not isinstance(array, numpy.ndarray) or not (fits or self.is_fit(array)):
                raise Unfit("values")
        self.nodes.append(node)
        self.values.update(made)
        self.ops.append(full_name(node))
        return names[0] if len(names) == 1 else names

    def hide(self, names):
        """What of these outputs is not defined is neither read nor compared."""
        self.root.hidden.update(names)
        for name in names:
            del self.values[name]

    def cross_check(self, node, made):
        """A node of which the references make two things decides nothing: it is noted and left out."""
        try:
            other = compute_by(evaluate_by_runtime, node, _All(self), self.opset)
        except Unfit:
            return
        if not agree(made, other):
            self.root.disputed.append((node.op_type, self.opset))
            self.root.disputes.append((node, self.opset, {n: self.array(n) for n in reads_of(node)}, made, other))
            raise Unfit("the references differ")

    # The whole

    def body(self, outputs, inputs=()):
        """This as the graph of an attribute. inputs, outputs: names; it reads the rest from outside."""
        infos = [info(name, self.array(name)) for name in inputs]
        out = [helper.make_tensor_value_info(name, type_of(self.array(name)), None) for name in outputs]
        return helper.make_graph(self.nodes, self.name("body"), infos, out,
                                 [numpy_helper.from_array(a, n) for n, a in self.constants.items()])


class _All:
    """Values of a builder and those around it, by name."""

    def __init__(self, builder):
        self.builder = builder

    def __getitem__(self, name):
        return self.builder.array(name)


def seeded(seed):
    return random.Random(seed)
