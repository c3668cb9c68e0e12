#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Attention that models spell out, on the emulated device: it is one kernel there, whatever the mask, and gives
what NumPy gives; transpositions around it move nothing; --tf32, with which products are faster, leaves it as it is. In
half precision, too, by kernels of its own, as models are stored and by --fp16 and --bf16; also an Attention of one
query with a past."""
import pathlib
import re
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import emulated
import turns

BATCH, STEPS, HEADS, CHANNELS = 2, 70, 3, 16
WIDTH = HEADS * CHANNELS
KINDS = {np.dtype(np.float32): TensorProto.FLOAT, np.dtype(np.float16): TensorProto.FLOAT16}
failures = []


def expect(condition, what):
    if not condition:
        failures.append(what)


def softmax(x):
    parts = np.exp(x - x.max(-1, keepdims=True))
    return parts / parts.sum(-1, keepdims=True)


def save(folder, nodes, constants, inputs, output, opset):
    info = lambda name, value: helper.make_tensor_value_info(name, KINDS[value.dtype], value.shape)
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


def encoder(folder, mask, scaled, opset=13, dtype=np.float32):
    """A layer's attention as exporters write it: three products, heads parted and joined by Reshape and Transpose."""
    random = np.random.default_rng(3)
    draw = lambda *dims: (random.standard_normal(dims) * 0.5).astype(dtype)
    x, weights = draw(BATCH, STEPS, WIDTH), [draw(WIDTH, WIDTH) for _ in range(4)]
    constants = [(f"w{i}", value) for i, value in enumerate(weights)]
    constants += [("parted", np.array([0, 0, HEADS, CHANNELS])), ("joined", np.array([0, 0, WIDTH])),
                  ("four", dtype(4)), ("half", dtype(0.5))]
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
    x, weights = x.astype(np.float32), [w.astype(np.float32) for w in weights]
    heads = [(x @ w).reshape(BATCH, STEPS, HEADS, CHANNELS).transpose(0, 2, 1, 3) for w in weights[:3]]
    scores = heads[0] @ heads[1].transpose(0, 1, 3, 2) / 4 + (0 if mask is None else mask)
    joined = (softmax(scores) @ heads[2]).transpose(0, 2, 1, 3).reshape(BATCH, STEPS, WIDTH)
    return save(folder, nodes, constants, inputs, (joined @ weights[3]).astype(dtype), opset)


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
    for turn, (name, mask) in enumerate(masks.items()):
        for way, scaled in enumerate(("behind", "before")):
            model = encoder(folder / f"{name}_{scaled}", mask, scaled, 12 if name == "steps" else 13)
            for place, flags in enumerate(((), ("--streams", "3"), ("--record-comp-seq",))):
                if not turns.turns_take(turn + place, way, 2):
                    continue
                done = emulated.infer("cublaslt", model, "--verify", model, "--no-trace", "--atol", "1e-5", *flags)
                expect(done.returncode == 0 and "passed: 1 of 1" in done.stdout,
                       f"{name} {scaled} {flags}: {done.stdout}{done.stderr}")
            found, told = kinds(model)
            expect(sorted(found) == ["Attention"] + 4 * ["MatMul"], f"{name} {scaled}: {found}")
            expect("5 operators on it, 0 on the CPU" in told, told)


def check_flags(folder):
    """Where tensor cores compute products of float32 all stays."""
    found, _ = kinds(encoder(folder / "flags", None, "behind"), "--tf32")
    expect("Softmax" in found and "Attention" not in found, f"--tf32: {found}")


def verify(model, tolerance, *flags, **environment):
    return emulated.infer("cublaslt", model, "--verify", model, "--no-trace", "--rtol", "0", "--atol", str(tolerance), *flags,
                          **environment)


def check_half_way(model, tolerance, bug, *flags):
    """It is right, and goes by the kernel in which the mistake is planted."""
    done = verify(model, tolerance, *flags)
    expect(done.returncode == 0 and "passed: 1 of 1" in done.stdout, f"{model} {flags}: {done.stdout}{done.stderr}")
    done = verify(model, tolerance, *flags, CUDA_DOUBLE_BUG=str(bug))
    expect(done.returncode == 1, f"{model} {flags}: another kernel: {done.stdout}{done.stderr}")


def check_half(folder):
    random = np.random.default_rng(5)
    hidden = np.where(random.random((BATCH, 1, 1, STEPS)) < 0.3, -10000, 0)
    causal = np.triu(np.full((STEPS, STEPS), -np.inf), 1)
    for name, mask in (("none", None), ("batch", hidden), ("causal", causal)):
        as_type = lambda dtype: None if mask is None else mask.astype(dtype)
        models = {dtype: encoder(folder / f"{name}_{dtype.__name__}", as_type(dtype), "before", 13, dtype)
                  for dtype in (np.float32, np.float16)}
        for dtype, tolerance, flags in ((np.float32, 0.05, ("--fp16",)), (np.float32, 0.5, ("--bf16",)),
                                        (np.float16, 0.05, ()), (np.float16, 0.05, ("--tf32",))):
            check_half_way(models[dtype], tolerance, 41, *flags)
            found, told = kinds(models[dtype], *flags)
            expect(sorted(found) == ["Attention"] + 4 * ["MatMul"], f"{name} {flags}: {found}")
            expect("5 operators on it, 0 on the CPU" in told, told)
    wide = encoder(folder / "wide", None, "behind")
    for flags in ((), ("--fp16", "--streams", "3"), ("--fp16", "--record-comp-seq"), ("--bf16", "--record-comp-seq")):
        done = verify(wide, 0.5 if "--bf16" in flags else 0.05, *flags)
        expect(done.returncode == 0, f"{flags}: {done.stdout}{done.stderr}")


def decoder(folder, dtype, queries, past, steps=0, channels=40, heads=6, groups=2):
    """An Attention whose keys are mostly of the past, as it is read by the model itself."""
    random = np.random.default_rng(6)
    draw = lambda *dims: random.standard_normal(dims).astype(dtype)
    steps = steps or queries
    given = {"q": draw(BATCH, heads, queries, channels), "k": draw(BATCH, groups, steps, channels),
             "v": draw(BATCH, groups, steps, channels), "pk": draw(BATCH, groups, past, channels),
             "pv": draw(BATCH, groups, past, channels)}
    wide = {name: value.astype(np.float32) for name, value in given.items()}
    repeated = lambda x: np.repeat(x, heads // groups, 1)
    if past:
        k, v = (repeated(np.concatenate([wide["p" + name], wide[name]], 2)) for name in "kv")
        names = ["q", "k", "v", "", "pk", "pv"]
    else:
        k, v = repeated(wide["k"]), repeated(wide["v"])
        names = ["q", "k", "v"]
    y = softmax(wide["q"] @ k.transpose(0, 1, 3, 2) / np.sqrt(np.float32(channels))) @ v
    node = helper.make_node("Attention", names, ["y", "prk", "prv"] if past else ["y"])
    return save(folder, [node], [], [(name, given[name]) for name in names if name], y.astype(dtype), 23)


def check_decoders(folder):
    few = {"heads": 2, "groups": 1}
    for queries, past, bug in ((1, 700, 42), (3, 40, 42), (20, 130, 41)):
        check_half_way(decoder(folder / f"stored_{queries}", np.float16, queries, past), 2e-3, bug)
        expect(verify(decoder(folder / f"kept_{queries}", np.float32, queries, past), 1e-5).returncode == 0, "float32")
    # Nothing that it reads or writes is stored in half precision.
    for option, tolerance in (("--fp16", 4e-3), ("--bf16", 3e-2)):
        for queries, bug in ((2, 42), (70, 41)):
            check_half_way(decoder(folder / f"converted_{queries}{option}", np.float32, queries, 0, 150, **few), tolerance, bug, option)
        # Caches that stay in float32 have no kernel of half precision.
        done = verify(decoder(folder / f"past{option}", np.float32, 2, 30), 1e-5, option, CUDA_DOUBLE_BUG="42")
        expect(done.returncode == 0, f"{option}: {done.stdout}{done.stderr}")
    # Nor have so many channels.
    done = verify(decoder(folder / "channels", np.float16, 20, 30, 20, 130, **few), 2e-3, CUDA_DOUBLE_BUG="41")
    expect(done.returncode == 0, f"130 channels: {done.stdout}{done.stderr}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        check_masks(pathlib.Path(folder))
        check_flags(pathlib.Path(folder))
        check_half(pathlib.Path(folder))
        check_decoders(pathlib.Path(folder))
    for failure in failures:
        print(failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
