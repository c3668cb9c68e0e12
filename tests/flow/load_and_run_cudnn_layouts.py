#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""load_and_run --cuda on row-major and on channels-last images: the same results, by plans that are told so, with
images turned around at borders alone; the choice by what the device says; what is kept of it; every call failing."""
import os
import pathlib
import re
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import emulated
from emulated import BUILD, calls_that_matter, is_clean, left_of

ROOT = pathlib.Path(os.environ["OPTRACE_SOURCE_ROOT"])
failures = []


def expect(condition, what):
    if not condition:
        failures.append(what)


def run(model, *flags, **settings):
    return emulated.infer("cudnn", model, "--no-trace", *flags, **settings)


class Model:
    """Nodes with random weights; what they compute is what row-major images give."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.nodes, self.constants, self.inputs, self.outputs = [], [], {}, []

    def constant(self, *dims, dtype=np.float32):
        name = f"c{len(self.constants)}"
        value = (self.random.standard_normal(dims) * 0.3).astype(dtype)
        self.constants.append(numpy_helper.from_array(value, name))
        return name

    def add(self, op, *names, **attributes):
        name = f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(names), [name], name=f"n{len(self.nodes)}", **attributes))
        return name

    def conv(self, x, *w, bias=True, **attributes):
        return self.add("Conv", x, self.constant(*w), *([self.constant(w[0])] if bias else []), **attributes)

    def save(self, folder):
        graph = helper.make_graph(
            self.nodes, "images",
            [helper.make_tensor_value_info(name, TensorProto.DOUBLE if value.dtype == np.float64 else TensorProto.FLOAT, value.shape)
             for name, value in self.inputs.items()],
            [helper.make_tensor_value_info(name, kind, None) for name, kind in self.outputs], self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
        model.ir_version = 8
        folder.mkdir()
        onnx.save(model, str(folder / "model.onnx"))
        for name, value in self.inputs.items():
            np.save(folder / f"{name}.npy", value)
        return folder


def make_network(folder):
    """Blocks as networks have them: sums of a residual, pools, branches that are concatenated, groups."""
    m = Model(3)
    m.inputs = {"x": m.random.standard_normal((2, 3, 12, 10)).astype(np.float32)}
    same = {"pads": [1, 1, 1, 1]}
    first = m.add("Relu", m.conv("x", 8, 3, 3, 3, **same))
    block = m.add("Relu", m.add("Add", m.conv(first, 8, 8, 3, 3, **same), first))
    pooled = m.add("MaxPool", block, kernel_shape=[2, 2], strides=[2, 2])
    branches = m.conv(pooled, 6, 8, 1, 1, bias=False), m.conv(pooled, 4, 4, 3, 3, group=2, **same)
    joined = m.add("Concat", *branches, axis=1)
    joined = m.add("AveragePool", m.add("Mul", joined, m.add("Sigmoid", joined)), kernel_shape=[2, 3], pads=[1, 0, 0, 1])
    last = m.conv(joined, 12, 10, 2, 2, strides=[2, 1])
    flat = m.add("Flatten", m.add("GlobalAveragePool", last))
    m.outputs = [(m.add("Gemm", flat, m.constant(5, 12), m.constant(5), transB=1), TensorProto.FLOAT),
                 (m.add("Abs", last), TensorProto.FLOAT)]
    return m.save(folder), 5


def make_odd(folder):
    """Weights that are an input, used twice; one axis and three; one channel, one pixel; a residual that is a
    constant, or is read again; what is read by a Transpose and a Reshape; float64, and back."""
    m = Model(4)
    m.inputs = {"x": m.random.standard_normal((1, 4, 5, 6)).astype(np.float32),
                "w": (m.random.standard_normal((4, 4, 3, 3)) * 0.3).astype(np.float32),
                "line": m.random.standard_normal((2, 3, 9)).astype(np.float32),
                "cube": m.random.standard_normal((1, 2, 4, 5, 3)).astype(np.float32),
                "wide": m.random.standard_normal((1, 2, 4, 4)).astype(np.float64),
                "single": m.random.standard_normal((1, 1, 4, 4)).astype(np.float32)}
    same = {"pads": [1, 1, 1, 1]}
    twice = m.add("Conv", m.add("Conv", "x", "w", **same), "w", **same)
    ends = [m.add("Add", twice, m.constant(1, 4, 5, 6)), m.add("Relu", m.add("Add", m.conv(twice, 4, 4, 3, 3, **same), twice)),
            m.add("Softmax", m.add("Transpose", twice, perm=[0, 2, 3, 1]), axis=-1),
            m.conv("line", 4, 3, 3), m.add("MaxPool", m.conv("line", 4, 3, 2), kernel_shape=[2]),
            m.add("MaxPool", m.conv("cube", 4, 2, 2, 3, 3), kernel_shape=[2, 1, 1]),
            m.conv("single", 1, 1, 3, 3), m.conv(m.conv("single", 3, 1, 4, 4), 5, 3, 1, 1)]
    m.constants.append(numpy_helper.from_array(np.array([1, -1], np.int64), "sizes"))
    ends.append(m.add("Relu", m.add("Reshape", m.conv("x", 4, 4, 3, 3), "sizes")))
    m.outputs = [(name, TensorProto.FLOAT) for name in ends]
    wide = m.add("Conv", "wide", m.constant(2, 2, 3, 3, dtype=np.float64), **same)
    m.outputs += [(m.add("Relu", wide), TensorProto.DOUBLE), (twice, TensorProto.FLOAT)]
    return m.save(folder)


def dump(model, folder, *flags, **environment):
    """What a run has computed, by output, in bytes."""
    out = folder / "out"
    out.mkdir(exist_ok=True)
    for path in out.iterdir():
        path.unlink()
    inputs = [word for path in sorted(model.glob("*.npy")) for word in ("--input", f"{path.stem}:{path}")]
    done = run(model, *inputs, "--iter", "1", "--warmup-iter", "0", "--bin-out-dump", out, *flags, **environment)
    return done, {path.name: path.read_bytes() for path in sorted(out.iterdir())}


def is_near(plain, found):
    """Which of the ways is taken that sum alike is not certain: they round otherwise behind the sum."""
    def numbers_of(content):
        return np.frombuffer(content[len(content) % 4:], np.float32) # what stands before them is the same
    return plain.keys() == found.keys() and all(
        np.allclose(numbers_of(plain[name]), numbers_of(found[name]), rtol=1e-4, atol=1e-5, equal_nan=True) for name in plain)


def check_results(model, folder):
    """By each engine, own kernels, with several streams, as a graph, in half precision: byte for byte what row-major
    images give, since the double sums in the same order, and nearly so by own kernels."""
    left = folder / "left"
    for numbers in ((), ("--fp16",), ("--bf16",), ("--tf32",)):
        for engines, fuses in (("0", "all"), ("1", "none"), ("none", "all")):
            given = {"CUDNN_DOUBLE_ENGINES": engines, "CUDNN_DOUBLE_FUSES": fuses, "CUDNN_DOUBLE_FALLBACK": "none"}
            done, plain = dump(model, folder, *numbers, "--layout-transform", "nchw", **given)
            expect(done.returncode == 0 and plain, f"{model.name} {numbers} {engines}: {done.stderr}")
            for flags, streams in (((), "lazy"), (("--streams", "3"), "others"), (("--record-comp-seq",), "lazy")):
                done, turned = dump(model, folder, *numbers, *flags, "--layout-transform", "nhwc", **given,
                                    CUDA_DOUBLE_STREAMS=streams, CUDA_DOUBLE_LEFT=str(left))
                what = f"{model.name} {numbers} {engines} {fuses} {flags}"
                expect(done.returncode == 0 and is_clean(left_of(left)), f"{what}: {done.stderr} {left_of(left)}")
                expect(turned == plain, f"{what}: {[name for name in plain if plain[name] != turned.get(name)]} differ")


def check_borders(model, count, folder):
    """Every convolution is told of it, and images are turned around where the network begins and ends."""
    profile = folder / "profile.json"
    for how, images, turned in (("nhwc", "channels-last", 2), ("nchw", "row-major", 0)):
        done, _ = dump(model, folder, "--layout-transform", how, "--profile", profile, "--verbose")
        expect(f"--layout-transform: {count} of {count} convolutions are to compute on {images} images\n" in done.stderr,
               done.stderr)
        steps = re.findall(r"step \d+: (\S+) \((\w+)\) by (\S+),", done.stderr)
        names = {by for _, kind, by in steps if kind == "Conv"}
        expect(names == {"cudnn:1:nhwc" if turned else "cudnn:1"}, f"{how}: {steps}")
        expect(sum(kind == "Reorder" for _, kind, _ in steps) == turned, f"{how}: {steps}")
        expect(f"{12 + turned} operators on it, 0 on the CPU" in done.stderr, f"{how}: {done.stderr}")


def check_choice(model, count, folder):
    """By what the device says, of the whole: convolutions in the faster layout, all of them in the other where
    turning images around costs more than it gains; nothing where they are equal."""
    left = folder / "left"
    few = {"CUDNN_DOUBLE_ENGINES": "0", "CUDNN_DOUBLE_FALLBACK": "none"}
    _, plain = dump(model, folder, **few)
    for script, chosen in (("cudnn_0=9000000,cudnn_0_nhwc=2000000", count), ("cudnn_0=2000000,cudnn_0_nhwc=9000000", 0),
                           ("cudnn_0=9000000,cudnn_0_nhwc=8000000,transpose_4=30000000", 0)):
        done, found = dump(model, folder, "--layout-transform", "cuda", "--verbose", **few, CUDA_DOUBLE_KERNELS=script,
                           CUDA_DOUBLE_LEFT=str(left))
        told = re.search(r"--layout-transform: (\d+) of (\d+) operators that know two layouts compute in another than by "
                         r"rule: ([\d.]+) ms expected in place of ([\d.]+) ms; (\d+) shapes timed", done.stderr)
        names = re.findall(r"\(Conv\) by (\S+),", done.stderr)
        expect(done.returncode == 0 and told and is_clean(left_of(left)), f"{script}: {done.stderr} {left_of(left)}")
        expect(names.count("cudnn:0:nhwc") == chosen and len(names) == count, f"{script}: {names}")
        expect(found == plain, f"{script}: other results")
        if told:
            expect((int(told[1]) >= chosen) if chosen else told[1] == "0", f"{script}: {told[0]}")
            expect(not chosen or float(told[3]) < 0.5 * float(told[4]), f"{script}: {told[0]}")
        expect(re.search(r"n\d+ \(Conv\): row-major [\d.]+ ms by cuda, channels-last [\d.]+ ms by cuda", done.stderr), done.stderr)
    planned = folder / "planned.onnx"
    done, _ = dump(model, folder, "--layout-transform", "cuda", "--layout-transform-dump", planned, **few,
                   CUDA_DOUBLE_KERNELS="cudnn_0=9000000,cudnn_0_nhwc=2000000")
    expect(done.returncode == 0 and planned.exists(), done.stderr)
    (folder / "told").mkdir()
    (folder / "told" / "model.onnx").write_bytes(planned.read_bytes())
    for path in model.glob("*.npy"):
        (folder / "told" / path.name).write_bytes(path.read_bytes())
    done, found = dump(folder / "told", folder, "--verbose", **few)
    expect("compute in the layout that the model's metadata says" in done.stderr and found == plain and
           re.findall(r"\(Conv\) by (\S+),", done.stderr) == count * ["cudnn:0:nhwc"], done.stderr)


def check_policy(model, folder):
    """What was timed of layouts is in the file, and is not timed again."""
    policy, left = folder / "policy", folder / "left"
    words = ("--fast-run", "--fast-run-algo-policy", policy, "--layout-transform", "cuda", "--verbose")
    few = {"CUDNN_DOUBLE_ENGINES": "0", "CUDNN_DOUBLE_FALLBACK": "none", "CUDA_DOUBLE_LEFT": str(left)}
    script = "conv_f32=20000000,cudnn_0=9000000,cudnn_0_nhwc=2000000"
    first, plain = dump(model, folder, *words, **few, CUDA_DOUBLE_KERNELS=script)
    launches = left_of(left)["launches"]
    expect(first.returncode == 0 and policy.exists() and "channels-last" in policy.read_text() and
           " before" not in first.stderr.split("shapes timed")[1].splitlines()[0], first.stderr)
    kept = policy.read_text()
    again, found = dump(model, folder, *words, **few, CUDA_DOUBLE_KERNELS="cudnn_0=2000000,cudnn_0_nhwc=9000000")
    expect(again.returncode == 0 and found == plain and policy.read_text() == kept and
           re.search(r"shapes timed in [\d.]+ s, \d+ of them and of moves before", again.stderr) and
           re.findall(r"\(Conv\) by (\S+),", again.stderr) == re.findall(r"\(Conv\) by (\S+),", first.stderr), again.stderr)
    expect(left_of(left)["launches"] * 3 < launches, f"{left_of(left)['launches']} launches after {launches}")


def check_fast_run(model, count, folder):
    """--fast-run alone chooses among layouts, too, and keeps what was timed: its policy is enough. What the options
    or the model's metadata say of layouts is not asked again."""
    policy, left, told = folder / "fast", folder / "left", folder / "told"
    few = {"CUDNN_DOUBLE_ENGINES": "0", "CUDNN_DOUBLE_FALLBACK": "none", "CUDA_DOUBLE_LEFT": str(left)}
    last = "conv_f32=20000000,cudnn_0=9000000,cudnn_0_nhwc=2000000"
    first = "conv_f32=20000000,cudnn_0=2000000,cudnn_0_nhwc=9000000"
    _, plain = dump(model, folder, **few)

    def check(place, script, chosen, *flags):
        done, found = dump(place, folder, "--verbose", *flags, **few, CUDA_DOUBLE_KERNELS=script)
        names = re.findall(r"\(Conv\) by (\S+),", done.stderr)
        expect(done.returncode == 0 and is_clean(left_of(left)), f"{flags} {script}: {done.stderr}")
        expect(is_near(plain, found), f"{flags} {script}: other results")
        expect(sorted(names) == (count - chosen) * ["cudnn:0"] + chosen * ["cudnn:0:nhwc"], f"{flags} {script}: {names}")
        return done.stderr

    for script, chosen, *flags in ((last, count), (first, 0), (last, count, "--streams", "2"), (last, count, "--record-comp-seq")):
        text = check(model, script, chosen, "--fast-run", *flags)
        sentence = re.search(r"--fast-run: (\d+) of \d+ operators that know two layouts compute in another than by rule: "
                             r"([\d.]+) ms expected in place of ([\d.]+) ms; \d+ shapes timed in [\d.]+ s\n", text)
        expect(sentence and (int(sentence[1]) >= count and float(sentence[2]) < 0.5 * float(sentence[3])
                             if chosen else sentence[1] == "0"), f"{flags}: {text}")
    text = check(model, first, count, "--fast-run", "--layout-transform", "nhwc")
    expect("--fast-run: " not in text, text)
    check(model, last, 0, "--fast-run", "--layout-transform", "nchw")
    text = check(told, first, count, "--fast-run")
    expect("compute in the layout that the model's metadata says" in text and "--fast-run: " not in text, text)

    kept = folder / "kept"
    kept.mkdir()
    for path in model.glob("*.npy"):
        (kept / path.name).write_bytes(path.read_bytes())
    for script, chosen in ((last, count), (first, 0)):
        check(model, script, chosen, "--fast-run", "--layout-transform-dump", kept / "model.onnx")
        text = check(kept, first if chosen else last, chosen)
        expect("compute in the layout that the model's metadata says" in text, text)
    done, _ = dump(told, folder, "--fast-run", "--layout-transform-dump", kept / "again.onnx", **few)
    expect(done.returncode == 3 and "no layouts were chosen: the model's metadata says them\n" in done.stderr and
           not (kept / "again.onnx").exists(), done.stderr)

    words = "--fast-run-algo-policy", policy
    check(model, last, 0, "--fast-run", *words, "--layout-transform", "nchw")
    text = check(model, last, 0, *words)
    expect("--fast-run-algo-policy: all images are row-major: the policy has not all of their times\n" in text, text)
    check(model, last, count, "--fast-run", *words)
    kept, launches = policy.read_text(), left_of(left)["launches"]
    for flags in (words, ("--fast-run", *words), (*words, "--streams", "2")):
        text = check(model, first, count, *flags)
        found = re.search(r"; (\d+) shapes timed in [\d.]+ s, (\d+) of them and of moves before\n", text)
        expect(found and int(found[2]) > int(found[1]) > 0 and f"{flags[0]}: " in text and policy.read_text() == kept and
               left_of(left)["launches"] * 2 < launches, f"{flags}: {left_of(left)['launches']} {launches} {text}")


def check_fast_run_without(folder):
    """Nothing is said of layouts where no convolution is; too little memory to time them is no reason to fail."""
    m = Model(7)
    m.inputs = {"x": m.random.standard_normal((1, 4, 6, 6)).astype(np.float32)}
    m.outputs = [(m.add("Relu", m.add("MaxPool", "x", kernel_shape=[2, 2])), TensorProto.FLOAT)]
    done, _ = dump(m.save(folder / "pool"), folder, "--fast-run")
    expect(done.returncode == 0 and "layouts" not in done.stderr, done.stderr)
    m = Model(8)
    m.inputs = {"x": m.random.standard_normal((1, 8, 32, 32)).astype(np.float32)}
    m.outputs = [(m.add("ReduceMax", m.conv("x", 8, 8, 1, 1), axes=[2, 3]), TensorProto.FLOAT)]
    model, seen = m.save(folder / "large"), set()
    few = {"CUDNN_DOUBLE_ENGINES": "0", "CUDNN_DOUBLE_FALLBACK": "none"}
    for room in range(32768, 131072, 8192):
        done, _ = dump(model, folder, "--fast-run", **few, CUDA_DOUBLE_MEMORY=str(room))
        seen.add((done.returncode, "all images are row-major: the device has no room to time them\n" in done.stderr))
        expect(done.returncode in (0, 4), f"{room}: {done.returncode} {done.stderr}")
    expect((0, False) in seen and any(by_rule for _, by_rule in seen), f"{seen}")


def check_mixed(folder):
    """BatchNormalization with scale and statistics of types of their own behind convolutions on channels-last images; in
    training, and with statistics for each place, which take row-major ones."""
    half, real, double = TensorProto.FLOAT16, TensorProto.FLOAT, TensorProto.DOUBLE
    for number, (kind, scale, statistics, opset, attributes) in enumerate((
            (half, real, real, 15, {}), (TensorProto.BFLOAT16, real, real, 15, {}), (half, real, double, 15, {}),
            (real, double, double, 15, {}), (real, real, double, 15, {}), (half, real, real, 15, {"training_mode": 1}),
            (half, half, half, 8, {}), (real, real, real, 8, {"spatial": 0}))):
        random = np.random.default_rng(number)
        x = random.standard_normal((2, 3, 5, 4)).astype(np.float32)
        places = (4, 5, 4) if "spatial" in attributes else (4,)
        constants = {"w": random.standard_normal((4, 3, 3, 3)), "v": random.standard_normal((2, 4, 1, 1)),
                     **{name: random.random(places) + 0.5 for name in ("scale", "bias", "mean", "variance")}}
        types = {"w": kind, "v": kind, "scale": scale, "bias": scale, "mean": statistics, "variance": statistics}
        nodes = [helper.make_node("Cast", ["x"], ["h"], to=kind),
                 helper.make_node("Conv", ["h", "w"], ["c"], pads=[1, 1, 1, 1]),
                 helper.make_node("BatchNormalization", ["c", "scale", "bias", "mean", "variance"],
                                  ["n", *(["m", "s"] if "training_mode" in attributes else [])], name="norm", **attributes),
                 helper.make_node("Conv", ["n", "v"], ["d"]), helper.make_node("Cast", ["d"], ["y"], to=TensorProto.FLOAT)]
        tensors = [helper.make_tensor(name, types[name], value.shape, value.astype(np.float32).ravel()) for name, value in constants.items()]
        graph = helper.make_graph(nodes, "mixed", [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], tensors)
        model = folder / f"mixed{number}"
        model.mkdir()
        proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
        proto.ir_version = 8
        onnx.save(proto, str(model / "model.onnx"))
        np.save(model / "x.npy", x)
        results = []
        for how in ("nchw", "nhwc"):
            done, found = dump(model, folder, "--layout-transform", how)
            expect(done.returncode == 0 and found, f"{kind} {scale} {statistics} {attributes} {how}: {done.stderr}")
            results.append(found)
        expect(results[0] == results[1], f"{kind} {scale} {statistics} {attributes}: layouts differ")


def check_refusals(model):
    for words, sentence in ((("--layout-transform", "cpu"), "--layout-transform cpu chooses for the CPU"),
                            (("--layout-transform", "nhwcd4"), "--layout-transform")):
        done = run(model, *words)
        expect(done.returncode == 2 and sentence in done.stderr, f"{words}: {done.returncode} {done.stderr}")
    done = emulated.run((BUILD / "runtime" / "load_and_run", model / "model.onnx", "--no-trace", "--layout-transform", "cuda"))
    expect(done.returncode == 2 and "it needs --cuda" in done.stderr, f"{done.returncode} {done.stderr}")


def make_small(folder):
    m = Model(6)
    m.inputs = {"x": m.random.standard_normal((1, 4, 4, 4)).astype(np.float32)}
    last = m.conv(m.conv("x", 4, 4, 3, 3, bias=False, pads=[1, 1, 1, 1]), 4, 4, 1, 1)
    m.outputs = [(m.add("Relu", m.add("Add", last, "x")), TensorProto.FLOAT)]
    return m.save(folder)


def check_failures(model, folder):
    """Each call in turn, also of those that time layouts: results are right, or one sentence; nothing is left."""
    left = folder / "left"
    few = {"CUDNN_DOUBLE_ENGINES": "1", "CUDNN_DOUBLE_FALLBACK": "none"}
    _, plain = dump(model, folder, **few)
    for flags in (("--layout-transform", "nhwc"), ("--layout-transform", "cuda"), ("--fast-run",),
                  ("--layout-transform", "cuda", "--fast-run", "--streams", "2")):
        done, _ = dump(model, folder, *flags, CUDA_DOUBLE_LEFT=str(left), CUDA_DOUBLE_CALLS=str(folder / "calls"), **few)
        calls, statuses = left_of(left)["calls"], set()
        for number in calls_that_matter(folder / "calls"):
            left.unlink(missing_ok=True)
            done, found = dump(model, folder, *flags, CUDA_DOUBLE_LEFT=str(left), CUDA_DOUBLE_FAIL=f"#{number}=4000", **few)
            what = f"{flags} call {number} of {calls}"
            expect(left.exists() and is_clean(left_of(left)), f"{what} leaves {left.exists() and left_of(left)}")
            same = done.returncode == 0 and is_near(plain, found)
            expect(same or (done.returncode == 4 and done.stderr.rstrip()), f"{what}: {done.returncode} {done.stderr}")
            statuses.add(done.returncode)
        expect(statuses == {0, 4}, f"{flags}: {statuses}")


def check_copies_out(model, folder):
    """The last calls of a run bring its outputs: what is not brought is not taken for a result."""
    left, seen = folder / "left", 0
    few = {"CUDNN_DOUBLE_ENGINES": "1", "CUDNN_DOUBLE_FALLBACK": "none", "CUDA_DOUBLE_LEFT": str(left)}
    for flags in ((), ("--enable-offload-copy",)):
        _, plain = dump(model, folder, *flags, **few)
        calls = left_of(left)["calls"]
        for number in range(calls - 6, calls + 1):
            done, found = dump(model, folder, *flags, CUDA_DOUBLE_FAIL=f"#{number}=4000", **few)
            what = f"{flags} call {number} of {calls}: {done.returncode} {done.stderr}"
            expect(is_clean(left_of(left)) and done.returncode in (0, 4) and found == ({} if done.returncode else plain), what)
            seen += bool(re.search(r'^load_and_run: output ".+" cannot be read: the GPU failed at .+: error 4000$',
                                   done.stderr, re.M))
    expect(seen == 2, f"{seen} outputs could not be read")


with tempfile.TemporaryDirectory() as name:
    place = pathlib.Path(name)
    network, convolutions = make_network(place / "network")
    check_results(network, place)
    check_results(make_odd(place / "odd"), place)
    check_borders(network, convolutions, place)
    check_choice(network, convolutions, place)
    check_policy(network, place)
    check_fast_run(network, convolutions, place)
    check_fast_run_without(place)
    check_mixed(place)
    check_refusals(network)
    small = make_small(place / "small")
    check_copies_out(small, place)
    check_failures(small, place)
for failure in failures:
    print(failure)
sys.exit(1 if failures else 0)
