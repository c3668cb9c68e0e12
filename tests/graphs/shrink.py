# SPDX-License-Identifier: Apache-2.0
"""Make a model smaller as long as the verdict about it stays what it was."""
import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

from builder import I64, full_name, info, make_model, reads_of, type_of
from judge import all_values
from operators_control import Case

TRIES_MAX = 400


class Parts:
    """A case in pieces."""

    def __init__(self, nodes, inputs, constants, outputs, opset):
        self.nodes, self.inputs, self.constants = nodes, inputs, constants
        self.outputs, self.opset = outputs, opset

    @staticmethod
    def of(case):
        graph = case.model.graph
        return Parts(list(graph.node), dict(case.inputs),
                     {t.name: numpy_helper.to_array(t) for t in graph.initializer},
                     [o.name for o in graph.output], case.model.opset_import[0].version)

    def copy(self, **changes):
        parts = Parts(list(self.nodes), dict(self.inputs), dict(self.constants), list(self.outputs), self.opset)
        for name, value in changes.items():
            setattr(parts, name, value)
        return parts

    def prune(self):
        """Without nodes, inputs and constants that no output needs."""
        needed = set(self.outputs)
        kept = []
        for node in reversed(self.nodes):
            if needed.intersection(node.output):
                kept.append(node)
                needed.update(reads_of(node))
        self.nodes = kept[::-1]
        self.inputs = {n: a for n, a in self.inputs.items() if n in needed}
        self.constants = {n: a for n, a in self.constants.items() if n in needed}
        return self

    def case(self, name="shrunk"):
        """With what is expected worked out anew. Raises where it cannot be."""
        graph = helper.make_graph(
            self.nodes, name, [info(n, a) for n, a in self.inputs.items()],
            [helper.make_tensor_value_info(n, TensorProto.UNDEFINED, None) for n in self.outputs],
            [numpy_helper.from_array(a, n) for n, a in self.constants.items()])
        model = make_model(graph, self.opset)
        values = all_values(model, self.inputs)
        del model.graph.output[:]
        for n in self.outputs:
            model.graph.output.append(helper.make_tensor_value_info(n, type_of(values[n]), None))
        return Case(model, self.inputs, {n: values[n] for n in self.outputs},
                    [full_name(node) for node in self.nodes])


class Shrinker:
    def __init__(self, runner, flag, verdict):
        self.runner, self.flag, self.wanted = runner, flag, verdict
        self.tries = 0

    def holds(self, parts):
        if self.tries >= TRIES_MAX or not parts.outputs:
            return None
        self.tries += 1
        try:
            case = parts.case()
        except Exception:  # noqa: what is left may make no sense at all
            return None
        verdict = self.runner.verdict(case, self.flag)
        return case if (verdict.kind, verdict.what) == (self.wanted.kind, self.wanted.what) else None

    def take(self, parts):
        """The parts, pruned, where the verdict stays."""
        parts = parts.prune()
        return parts if self.holds(parts) else None

    def fewer_outputs(self, parts):
        for name in parts.outputs:
            if len(parts.outputs) > 1:
                smaller = self.take(parts.copy(outputs=[name]))
                if smaller:
                    return smaller
        for name in list(parts.outputs):
            if len(parts.outputs) > 1:
                parts = self.take(parts.copy(outputs=[o for o in parts.outputs if o != name])) or parts
        return parts

    def without(self, parts, start, count):
        """Nodes are left out; what others read of them becomes inputs."""
        try:
            values = all_values(parts.case().model, parts.inputs)
        except Exception:  # noqa
            return None
        gone = {n for node in parts.nodes[start:start + count] for n in node.output if n}
        kept = parts.nodes[:start] + parts.nodes[start + count:]
        read = {n for node in kept for n in reads_of(node)}
        outputs = [o for o in parts.outputs if o not in gone]
        if not kept or not outputs:
            return None
        smaller = parts.copy(nodes=kept, outputs=outputs)
        for name in gone & read:
            (smaller.inputs if self.as_inputs else smaller.constants)[name] = values[name]
        return self.take(smaller)

    def fewer_nodes(self, parts):
        count = max(len(parts.nodes) // 2, 1)
        while count >= 1:
            start = 0
            while start < len(parts.nodes):
                smaller = None
                for self.as_inputs in (True, False):
                    smaller = smaller or self.without(parts, start, count)
                if smaller:
                    parts = smaller
                else:
                    start += count
            count //= 2
        return parts

    def earlier_ends(self, parts):
        """An output further up in place of one further down."""
        for node in parts.nodes[:-1]:
            for name in node.output:
                if name:
                    smaller = self.take(parts.copy(outputs=[name]))
                    if smaller and len(smaller.nodes) < len(parts.nodes):
                        return smaller
        return parts

    def fewer_attributes(self, parts):
        for i, node in enumerate(parts.nodes):
            for attribute in list(node.attribute):
                if attribute.HasField("g"):
                    continue
                plain = onnx.NodeProto()
                plain.CopyFrom(parts.nodes[i])
                for a in [a for a in plain.attribute if a.name == attribute.name]:
                    plain.attribute.remove(a)
                nodes = list(parts.nodes)
                nodes[i] = plain
                parts = self.take(parts.copy(nodes=nodes)) or parts
        return parts

    def smaller_bodies(self, parts):
        """Nodes of bodies whose outputs become constants of zero are tried out, one by one."""
        for i in range(len(parts.nodes)):
            for a, attribute in enumerate(parts.nodes[i].attribute):
                if not attribute.HasField("g"):
                    continue
                for k in range(len(attribute.g.node) - 1, -1, -1):
                    if len(parts.nodes) <= i or len(parts.nodes[i].attribute) <= a or \
                            len(parts.nodes[i].attribute[a].g.node) <= k:
                        continue
                    node = onnx.NodeProto()
                    node.CopyFrom(parts.nodes[i])
                    body = node.attribute[a].g
                    read = {n for m in body.node for n in reads_of(m)} | {o.name for o in body.output}
                    if read.intersection(body.node[k].output):
                        continue
                    del body.node[k]
                    nodes = list(parts.nodes)
                    nodes[i] = node
                    parts = self.take(parts.copy(nodes=nodes)) or parts
        return parts

    def smaller_dims(self, parts):
        sizes = sorted({d for a in [*parts.inputs.values(), *parts.constants.values()] for d in a.shape if d > 1},
                       reverse=True)
        for size in sizes:
            for less in sorted({1, 2, 3, size // 2}):
                if less >= size:
                    continue

                def cut(array):
                    for axis, d in enumerate(array.shape):
                        if d == size:
                            array = numpy.take(array, range(less), axis)
                    if array.dtype == I64 and array.ndim <= 1:
                        array = numpy.where(array == size, less, array).astype(I64)
                    return array

                smaller = self.take(parts.copy(inputs={n: cut(a) for n, a in parts.inputs.items()},
                                               constants={n: cut(a) for n, a in parts.constants.items()}))
                if smaller:
                    parts = smaller
                    break
        return parts

    def simpler_numbers(self, parts):
        for holder in ("inputs", "constants"):
            for name, array in getattr(parts, holder).items():
                if array.dtype.kind != "f" or array.size == 0:
                    continue
                for simple in (numpy.ones_like(array), numpy.round(array), numpy.round(array, 1)):
                    if numpy.array_equal(simple, array):
                        break
                    changed = dict(getattr(parts, holder))
                    changed[name] = simple.astype(array.dtype)
                    smaller = self.take(parts.copy(**{holder: changed}))
                    if smaller:
                        parts = smaller
                        break
        return parts

    def shrink(self, case):
        """The smallest found, which may be the case itself."""
        parts = Parts.of(case).prune()
        if not self.holds(parts):
            return case
        before = None
        while before != (len(parts.nodes), sum(a.size for a in parts.inputs.values())) and self.tries < TRIES_MAX:
            before = (len(parts.nodes), sum(a.size for a in parts.inputs.values()))
            for step in (self.fewer_outputs, self.fewer_nodes, self.earlier_ends, self.smaller_bodies,
                         self.smaller_dims, self.fewer_attributes):
                parts = step(parts)
        parts = self.simpler_numbers(parts)
        self.tries = 0
        return self.holds(parts) or case
