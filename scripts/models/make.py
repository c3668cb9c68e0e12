# SPDX-License-Identifier: Apache-2.0
"""Make one model and its data, with what ONNX Runtime computes: make.py MODULE NAME FOLDER."""
import importlib
import json
import pathlib
import sys

import numpy
import onnxruntime
from onnx import numpy_helper

# What rounding may come to, of the largest number of all outputs; and of an output that is counted in quanta, a few of these: one that
# falls to the other side within a network moves others behind it.
SHARES = {"detectors": 2e-5, "learning": 1e-5, "networks": 2e-5, "optimised": 2e-3}
QUANTA = 4.5


def columns(result):
    """A list of maps is a column for each label."""
    return numpy.array([list(row.values()) for row in result], numpy.float32) if isinstance(result, list) else numpy.asarray(result)


def quanta(model):
    """The size of a quantum of each output that is counted in them."""
    numbers = {i.name: numpy_helper.to_array(i) for i in model.graph.initializer}
    outputs = {o.name for o in model.graph.output}
    return [float(numbers[n.input[1]].max()) for n in model.graph.node
            if n.op_type == "DequantizeLinear" and n.output[0] in outputs and n.input[1] in numbers]


def write(folder, kind, names, arrays):
    for i, (name, array) in enumerate(zip(names, arrays)):
        (folder / f"{kind}_{i}.pb").write_bytes(numpy_helper.from_array(numpy.ascontiguousarray(array), name).SerializeToString())


def main():
    module, name, folder = sys.argv[1:]
    model, feeds = importlib.import_module(module).MODELS[name]()
    # Node by node, as the model says: fused, it moves outputs of a quantised network by dozens of quanta.
    wishes = onnxruntime.SessionOptions()
    wishes.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), wishes, providers=["CPUExecutionProvider"])
    results = [columns(result) for result in session.run(None, feeds)]
    data = pathlib.Path(folder) / "test_data_set_0"
    data.mkdir(parents=True)
    inputs = [i.name for i in session.get_inputs()]
    write(data, "input", inputs, [feeds[i] for i in inputs])
    write(data, "output", [o.name for o in session.get_outputs()], results)
    largest = max([float(numpy.abs(r[numpy.isfinite(r)]).max(initial=0)) for r in results if r.dtype.kind == "f"], default=0)
    allowed = max(1e-6, SHARES[module] * largest, QUANTA * max(quanta(model), default=0))
    (pathlib.Path(folder) / "data.json").write_text(json.dumps({"rtol": 1e-3, "atol": allowed}))
    (pathlib.Path(folder) / "model.onnx").write_bytes(model.SerializeToString())


if __name__ == "__main__":
    main()
