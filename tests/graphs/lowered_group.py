# SPDX-License-Identifier: Apache-2.0
"""A model of operators that stand for others, and what ONNX Runtime gives for it (lowered.py)."""
import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

MICROSOFT, BLOCKED, LEARNING = "com.microsoft", "com.microsoft.nchwc", "ai.onnx.ml"
OPSET = 17


class Group:
    """One model: nodes with inputs that are fed or constant, and all of their outputs."""

    def __init__(self, learning=1, opset=OPSET):
        self.opset = opset
        self.learning = learning  # the version of ai.onnx.ml
        self.random = np.random.default_rng(11)
        self.nodes, self.constants, self.feeds, self.inputs, self.outputs = [], [], {}, [], []
        self.twins = []  # what ONNX Runtime is to run in place of the nodes
        self.shared = {}  # outputs that are to lie where these inputs do

    def real(self, *shape):
        return self.random.standard_normal(shape).astype(np.float32)

    def quanta(self, *shape, dtype=np.uint8):
        limits = np.iinfo(dtype)
        return self.random.integers(limits.min, limits.max, shape, endpoint=True).astype(dtype)

    def feed(self, array):
        name = f"x{len(self.feeds)}"
        self.feeds[name] = array
        self.inputs.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape))
        return name

    def feed_as(self, value, kind):
        """A sequence (a list) or an optional, also of one; kind: its type."""
        name = f"x{len(self.feeds)}"
        self.feeds[name] = value
        self.inputs.append(helper.make_value_info(name, kind))
        return name

    def give_as(self, name, kind):
        self.outputs.append(helper.make_value_info(name, kind))

    def constant(self, value, dtype=np.float32):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(value, dtype), name))
        return name

    def add(self, op, inputs, types=(1,), domain=MICROSOFT, **attributes):
        """types: the element type of each output, 0 for one that nobody wants."""
        place = len(self.nodes)
        names = [f"y{place}_{i}" if t else "" for i, t in enumerate(types)]
        self.nodes.append(helper.make_node(op, inputs, names, f"{op}_{place}", domain=domain, **attributes))
        self.outputs += [helper.make_tensor_value_info(n, t, None) for n, t in zip(names, types) if t]
        return names

    def chain(self, op, inputs, count=1, domain="", **attributes):
        """A node whose outputs are read by others only."""
        names = [f"z{len(self.nodes)}_{i}" for i in range(count)]
        self.nodes.append(helper.make_node(op, inputs, names, f"{op}_{len(self.nodes)}", domain=domain, **attributes))
        return names if count > 1 else names[0]

    def maps(self, scores, key, **labels):
        self.nodes.append(helper.make_node("ZipMap", [scores], ["maps"], "maps", domain=LEARNING, **labels))
        inner = helper.make_map_type_proto(key, helper.make_tensor_type_proto(1, None))
        self.outputs.append(helper.make_value_info("maps", helper.make_sequence_type_proto(inner)))

    def model(self, nodes):
        read = {name for node in nodes for name in node.input} if self.twins else {c.name for c in self.constants}
        graph = helper.make_graph(nodes, "lowered", self.inputs, self.outputs, [c for c in self.constants if c.name in read])
        opsets = [helper.make_opsetid(d, v) for d, v in (("", self.opset), (MICROSOFT, 1), (BLOCKED, 1), (LEARNING, self.learning))
                  if v > 0 and (d != BLOCKED or any(node.domain == d for node in nodes))]
        return helper.make_model(graph, opset_imports=opsets, ir_version=8)

    @staticmethod
    def columns(result):
        """A list of maps is a column for each label."""
        if isinstance(result, list) and result and isinstance(result[0], dict):
            return np.array([list(row.values()) for row in result], np.float32)
        return result

    @staticmethod
    def proto(value, name, info):
        """As it stands in a file of a data set."""
        if info.type.HasField("optional_type"):
            return numpy_helper.from_optional(value, name)
        if isinstance(value, list):
            return numpy_helper.from_list(value, name)
        return numpy_helper.from_array(np.asarray(value), name)

    def run(self, session):
        if not self.shared:
            return session.run(None, self.feeds)
        binding, held = session.io_binding(), {}
        for name, array in self.feeds.items():
            held[name] = onnxruntime.OrtValue.ortvalue_from_numpy(array.copy())
            binding.bind_ortvalue_input(name, held[name])
        for output in self.outputs:
            if output.name in self.shared:
                binding.bind_ortvalue_output(output.name, held[self.shared[output.name]])
            else:
                binding.bind_output(output.name)
        session.run_with_iobinding(binding)
        return [value.numpy().copy() for value in binding.get_outputs()]

    def write(self, folder):
        model = self.model(self.nodes)
        wishes = onnxruntime.SessionOptions()
        wishes.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        session = onnxruntime.InferenceSession(self.model(self.twins or self.nodes).SerializeToString(), wishes,
                                               providers=["CPUExecutionProvider"])
        results = [self.columns(result) for result in self.run(session)]
        results = [result.astype(object) if not isinstance(result, list) and result is not None and result.dtype.kind in "OU" else result
                   for result in results]
        data = folder / "test_data_set_0"
        data.mkdir(parents=True, exist_ok=True)
        (folder / "model.onnx").write_bytes(model.SerializeToString())
        (folder / "flags").write_text("\n--no-optimize-for-inference\n")
        for kind, values, infos in (("input", self.feeds.values(), self.inputs), ("output", results, self.outputs)):
            for i, (value, info) in enumerate(zip(values, infos)):
                (data / f"{kind}_{i}.pb").write_bytes(self.proto(value, info.name, info).SerializeToString())
