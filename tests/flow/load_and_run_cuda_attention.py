#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Attention that models spell out, on the emulated device: it is one kernel there, whatever the mask, and gives
what NumPy gives; transpositions around it move nothing; flags for which products are faster leave it as it is."""
import pathlib
import re
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import emulated

BATCH, STEPS, HEADS, CHANNELS = 2, 70, 3, 16
WIDTH = HEADS * CHANNELS
failures = []


def expect(condition, what):
    if not condition:
        failures.append(what)


def softmax(x):
    parts = np.exp(x - x.max(-1, keepdims=True))
    return parts / parts.sum(-1, keepdims=True)


def save(folder, nodes, constants, inputs, output, opset):
    info = lambda name, value: helper.make_tensor_value_info(name, TensorProto.FLOAT, value.shape)
    graph = helper.make_graph(nodes, "attention", [info(*given) for given in inputs], [info("y", output)],
                              [numpy_helper.from_array(value, name) for name, value in constants])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    model.ir_version = 8
    data = folder / "test_data_set_0"
    data.mkdir(parents=True)
    onnx.save(model, str(folder / "model.onnx"))
    for i, (_, value) in enumerate(inputs):
        (data / f"input_{i}.pb").write_bytes(numpy_helper.from_array(value).SerializeToString())
    (data / "output_0.pb").write_bytes(numpy_helper.from_array(output).SerializeToString())
    return folder


def encoder(folder, mask, scaled, opset=13):
    """A layer's attention as exporters write it: three products, heads parted and joined by Reshape and Transpose."""
    random = np.random.default_rng(3)
    f32 = lambda *dims: random.standard_normal(dims).astype(np.float32) * np.float32(0.5)
    x, weights = f32(BATCH, STEPS, WIDTH), [f32(WIDTH, WIDTH) for _ in range(4)]
    constants = [(f"w{i}", value) for i, value in enumerate(weights)]
    constants += [("parted", np.array([0, 0, HEADS, CHANNELS])), ("joined", np.array([0, 0, WIDTH])),
                  ("four", np.float32(4)), ("half", np.float32(0.5))]
    node, nodes = helper.make_node, []
    for i, (name, perm) in enumerate((("q", [0, 2, 1, 3]), ("k", [0, 2, 3, 1]), ("v", [0, 2, 1, 3]))):
        nodes += [node("MatMul", ["x", f"w{i}"], [f"{name}0"]), node("Reshape", [f"{name}0", "parted"], [f"{name}1"]),
                  node("Transpose", [f"{name}1"], [f"{name}2"], perm=perm)]
    last = "s"
    if scaled == "behind":
        nodes += [node("MatMul", ["q2", "k2"], ["s0"]), node("Div", ["s0", "four"], ["s"])]
    else:
        nodes += [node("Mul", ["q2", "half"], ["q3"]), node("Mul", ["k2", "half"], ["k3"]),
                  node("MatMul", ["q3", "k3"], ["s"])]
    inputs = [("x", x)]
    if mask is not None:
        nodes.append(node("Add", ["s", "m"], ["masked"]))
        inputs.append(("m", mask))
        last = "masked"
    nodes += [node("Softmax", [last], ["p"], axis=-1 if opset >= 13 else 3), node("MatMul", ["p", "v2"], ["z"]),
              node("Transpose", ["z"], ["z1"], perm=[0, 2, 1, 3]), node("Reshape", ["z1", "joined"], ["z2"]),
              node("MatMul", ["z2", "w3"], ["y"])]
    heads = [(x @ w).reshape(BATCH, STEPS, HEADS, CHANNELS).transpose(0, 2, 1, 3) for w in weights[:3]]
    scores = heads[0] @ heads[1].transpose(0, 1, 3, 2) / 4 + (0 if mask is None else mask)
    joined = (softmax(scores) @ heads[2]).transpose(0, 2, 1, 3).reshape(BATCH, STEPS, WIDTH)
    return save(folder, nodes, constants, inputs, (joined @ weights[3]).astype(np.float32), opset)


def kinds(model, *flags):
    """How often each kind of operator is computed, and what is said of the device."""
    with tempfile.NamedTemporaryFile(suffix=".json") as profile:
        done = emulated.infer("cublaslt", model, "--no-trace", "--iter", "1", "--profile", profile.name, *flags)
        text = pathlib.Path(profile.name).read_text()
    expect(done.returncode == 0, f"{flags}: {done.stdout}{done.stderr}")
    return re.findall(r'"type": ?"(\w+)"', text), done.stderr


def check_masks(folder):
    random = np.random.default_rng(4)
    hidden = lambda *dims: np.where(random.random(dims) < 0.3, -10000, 0).astype(np.float32)
    masks = {"none": None, "keys": hidden(STEPS), "batch": hidden(BATCH, 1, 1, STEPS), "steps": hidden(STEPS, STEPS),
             "heads": hidden(1, HEADS, STEPS, STEPS), "all": hidden(BATCH, HEADS, STEPS, STEPS),
             "causal": np.triu(np.full((STEPS, STEPS), -np.inf, np.float32), 1)}
    for name, mask in masks.items():
        for scaled in ("behind", "before"):
            model = encoder(folder / f"{name}_{scaled}", mask, scaled, 12 if name == "steps" else 13)
            for flags in ((), ("--streams", "3"), ("--record-comp-seq",)):
                done = emulated.infer("cublaslt", model, "--verify", model, "--no-trace", "--atol", "1e-5", *flags)
                expect(done.returncode == 0 and "passed: 1 of 1" in done.stdout,
                       f"{name} {scaled} {flags}: {done.stdout}{done.stderr}")
            found, told = kinds(model)
            expect(sorted(found) == ["Attention"] + 4 * ["MatMul"], f"{name} {scaled}: {found}")
            expect("5 operators on it, 0 on the CPU" in told, told)


def check_flags(folder):
    """Where tensor cores compute products, and where nothing is to be simplified, all stays."""
    model = encoder(folder / "flags", None, "behind")
    for flag in ("--tf32", "--fp16", "--bf16"):
        found, _ = kinds(model, flag)
        expect("Softmax" in found and "Attention" not in found, f"{flag}: {found}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        check_masks(pathlib.Path(folder))
        check_flags(pathlib.Path(folder))
    for failure in failures:
        print(failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
