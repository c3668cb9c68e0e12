#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The roofline has a bound for each operator of an encoder as BERT's: embeddings by Gather, layer norms,
attention spelled out and as the operator, GELU by Erf, a pooler."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy
    import onnx
    from onnx import TensorProto, helper, numpy_helper
except ImportError:
    print("no Python packages onnx and numpy here")
    sys.exit(77)

BUILD = pathlib.Path(os.environ["OPTRACE_BUILD_ROOT"])
STEPS, WIDTH, HEADS, WORDS = 16, 32, 4, 50


def call(*words):
    environment = dict(os.environ, OPTRACE_SOCKET="/nonexistent/collector.sock")
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True,
                          env=environment, check=False)
    if done.returncode != 0:
        sys.exit(f"{words}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


class Net:
    def __init__(self):
        self.random = numpy.random.default_rng(7)
        self.nodes, self.constants = [], []

    def constant(self, array):
        self.constants.append(numpy_helper.from_array(numpy.asarray(array), f"c{len(self.constants)}"))
        return self.constants[-1].name

    def weight(self, *shape):
        return self.constant((self.random.standard_normal(shape) * 0.1).astype(numpy.float32))

    def add(self, op, *inputs, **attributes):
        name = f"{op}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], name=name, **attributes))
        return name

    def linear(self, x, width):
        return self.add("Add", self.add("MatMul", x, self.weight(WIDTH, width)), self.weight(width))

    def norm(self, x):
        return self.add("LayerNormalization", x, self.weight(WIDTH), self.weight(WIDTH), axis=-1)

    def heads(self, x):
        x = self.add("Reshape", x, self.constant(numpy.array([1, STEPS, HEADS, WIDTH // HEADS])))
        return self.add("Transpose", x, perm=[0, 2, 1, 3])

    def attention(self, x, mask):
        q, k, v = (self.heads(self.linear(x, WIDTH)) for _ in range(3))
        scores = self.add("MatMul", q, self.add("Transpose", k, perm=[0, 1, 3, 2]))
        scores = self.add("Div", scores, self.constant(numpy.float32(8 ** 0.5)))
        scores = self.add("Softmax", self.add("Add", scores, mask), axis=-1)
        return self.linear(self.merge(self.add("MatMul", scores, v)), WIDTH)

    def merge(self, x):
        x = self.add("Transpose", x, perm=[0, 2, 1, 3])
        return self.add("Reshape", x, self.constant(numpy.array([1, STEPS, WIDTH])))

    def feed_forward(self, x):
        wide = self.add("Add", self.add("MatMul", x, self.weight(WIDTH, 4 * WIDTH)), self.weight(4 * WIDTH))
        erf = self.add("Erf", self.add("Div", wide, self.constant(numpy.float32(2 ** 0.5))))
        gelu = self.add("Mul", self.add("Mul", wide, self.add("Add", erf, self.constant(numpy.float32(1)))),
                        self.constant(numpy.float32(0.5)))
        return self.add("Add", self.add("MatMul", gelu, self.weight(4 * WIDTH, WIDTH)), self.weight(WIDTH))


def encoder(path, opset):
    net = Net()
    mask = net.add("Mul", net.add("Sub", net.constant(numpy.float32(1)),
                                  net.add("Cast", "mask", to=TensorProto.FLOAT)),
                   net.constant(numpy.float32(-1e4)))
    x = net.norm(net.add("Add", net.add("Gather", net.weight(WORDS, WIDTH), "words"),
                         net.weight(1, STEPS, WIDTH)))
    for _ in range(2):
        if opset >= 23:
            q, k, v = (net.linear(x, WIDTH) for _ in range(3))
            attended = net.add("Attention", q, k, v, q_num_heads=HEADS, kv_num_heads=HEADS)
        else:
            attended = net.attention(x, mask)
        x = net.norm(net.add("Add", x, attended))
        x = net.norm(net.add("Add", x, net.feed_forward(x)))
    first = net.add("Gather", x, net.constant(numpy.int64(0)), axis=1)
    pooled = net.add("Tanh", net.add("Gemm", first, net.weight(WIDTH, WIDTH), net.weight(WIDTH)))
    graph = helper.make_graph(
        net.nodes, "encoder",
        [helper.make_tensor_value_info("words", TensorProto.INT64, [1, STEPS]),
         helper.make_tensor_value_info("mask", TensorProto.INT64, [1, 1, 1, STEPS])],
        [helper.make_tensor_value_info(pooled, TensorProto.FLOAT, [1, WIDTH])], net.constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    model.ir_version = 8
    onnx.save(model, path)


def check(folder, opset, *flags):
    model, profile = folder / f"encoder{opset}.onnx", folder / "profile.json"
    encoder(model, opset)
    numpy.save(folder / "words.npy", numpy.arange(STEPS, dtype=numpy.int64)[None] % WORDS)
    call(BUILD / "runtime" / "load_and_run", model, "--iter", "2", "--input",
         f"words:{folder / 'words.npy'}", "--profile", profile, *flags)
    answer = json.loads(call(BUILD / "analyze" / "profile_analyze", profile, "--report", "roofline", "-t0",
                             "--peak-flops", "1e11", "--peak-bandwidth", "1e10", "--format", "json"))
    ops = answer["operators"]["rows"]
    if len(ops) < 20:
        sys.exit(f"only {len(ops)} ops under the roofline of opset {opset}")
    unbound = [op for op in ops if op["bound"] not in ("memory", "compute") or op["flop_per_s"] is None
               or op["bytes_per_s"] is None]
    if unbound:
        sys.exit(f"opset {opset} {flags}: no bound for {unbound}")


with tempfile.TemporaryDirectory() as place:
    for version in (17, 23):
        check(pathlib.Path(place), version)
        check(pathlib.Path(place), version, "--no-optimize-for-inference")
