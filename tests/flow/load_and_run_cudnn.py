#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""load_and_run --cuda with a cuDNN on the emulated device: results of every engine, what is chosen and by what,
workspaces, what is recorded, and what happens where it is absent or any of its calls fails."""
import itertools
import os
import pathlib
import re
import sqlite3
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import emulated
from emulated import BUILD, calls_that_matter, is_clean, left_of

ROOT = pathlib.Path(os.environ["OPTRACE_SOURCE_ROOT"])
LIBRARIES = f"{emulated.EMULATED}:{BUILD / 'tests/support/cuda/cudnn'}"
failures = []


def expect(condition, what):
    if not condition:
        failures.append(what)


def run(model, *flags, **settings):
    return emulated.infer("cudnn", model, *flags, **settings)


def convolve(x, w, bias=None, group=1, strides=None, dilations=None, pads=None):
    """In float64, a place of the kernel after the other."""
    rank = x.ndim - 2
    strides, dilations, pads = strides or [1] * rank, dilations or [1] * rank, pads or [0] * 2 * rank
    x = np.pad(x.astype(np.float64), [(0, 0), (0, 0), *zip(pads[:rank], pads[rank:])])
    out = [(x.shape[2 + i] - dilations[i] * (w.shape[2 + i] - 1) - 1) // strides[i] + 1 for i in range(rank)]
    y = np.zeros((x.shape[0], w.shape[0], *out))
    filters, channels = w.shape[0] // group, w.shape[1]
    for k in itertools.product(*map(range, w.shape[2:])):
        begin = [k[i] * dilations[i] for i in range(rank)]
        seen = x[(..., *(slice(b, b + n * s, s) for b, n, s in zip(begin, out, strides)))]
        for g in range(group):
            part = np.einsum("nc...,fc->nf...", seen[:, g * channels:(g + 1) * channels],
                             w[(slice(g * filters, (g + 1) * filters), slice(None), *k)].astype(np.float64))
            y[:, g * filters:(g + 1) * filters] += part
    return y if bias is None else y + bias.reshape(-1, *[1] * rank)


def transpose(x, w, bias=None, strides=(1, 1), pads=(0, 0, 0, 0)):
    """Each pixel is spread by the kernel."""
    size = [(x.shape[2 + i] - 1) * strides[i] + w.shape[2 + i] for i in range(2)]
    y = np.zeros((x.shape[0], w.shape[1], *size))
    for i, j in itertools.product(range(w.shape[2]), range(w.shape[3])):
        y[:, :, i:i + x.shape[2] * strides[0]:strides[0], j:j + x.shape[3] * strides[1]:strides[1]] += np.einsum(
            "ncij,cf->nfij", x.astype(np.float64), w[:, :, i, j].astype(np.float64))
    y = y[:, :, pads[0]:size[0] - pads[2], pads[1]:size[1] - pads[3]]
    return y if bias is None else y + bias.reshape(-1, 1, 1)


FUNCTIONS = {"Conv": convolve, "ConvTranspose": transpose, "Add": np.add, "Abs": np.abs, "Tanh": np.tanh,
             "Relu": lambda x: np.maximum(x, 0), "LeakyRelu": lambda x, alpha: np.where(x < 0, alpha * x, x),
             "Sigmoid": lambda x: 1 / (1 + np.exp(-x)), "Clip": np.clip,
             "Softmax": lambda x, axis: np.exp(x) / np.exp(x).sum(axis, keepdims=True)}


class Model:
    """Nodes with random weights, and what they compute."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.nodes, self.constants, self.inputs, self.outputs = [], [], {}, []

    def draw(self, *dims):
        return self.random.standard_normal(dims).astype(np.float32)

    def constant(self, *dims):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(self.draw(*dims), name))
        return name

    def add(self, op, names, **attributes):
        name = f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, names, [name], name=f"n{len(self.nodes)}", **attributes))
        return name

    def conv(self, x, w, bias=False, op="Conv", **attributes):
        filters = w[0] if op == "Conv" else w[1] * attributes.get("group", 1)
        names = [x, self.constant(*w)] + ([self.constant(filters)] if bias else [])
        return self.add(op, names, **attributes)

    def save(self, folder):
        info = lambda name, dims: helper.make_tensor_value_info(name, TensorProto.FLOAT, dims)
        graph = helper.make_graph(self.nodes, "convolutions", [info(n, v.shape) for n, v in self.inputs.items()],
                                  [info(name, None) for name in self.outputs], self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
        model.ir_version = 8
        values = {**self.inputs, **{value.name: numpy_helper.to_array(value) for value in self.constants}}
        for node in self.nodes:
            given = {a.name: helper.get_attribute_value(a) for a in node.attribute}
            values[node.output[0]] = FUNCTIONS[node.op_type](*(values[n] for n in node.input), **given)
        folder.mkdir()
        onnx.save(model, str(folder / "model.onnx"))
        (folder / "test_data_set_0").mkdir()
        for place, pairs in (("input", self.inputs.items()), ("output", [(name, values[name]) for name in self.outputs])):
            for i, (name, value) in enumerate(pairs):
                (folder / "test_data_set_0" / f"{place}_{i}.pb").write_bytes(
                    numpy_helper.from_array(np.asarray(value, np.float32), name).SerializeToString())
        return folder


def make_all(folder):
    """Each way in which a convolution is handed over: of one to three axes, with pads that differ, steps, gaps and
    groups; with a bias, a sum and each activation behind; and back."""
    m = Model(5)
    m.inputs = {"x": m.draw(2, 4, 9, 8), "r": m.draw(2, 6, 9, 8), "line": m.draw(2, 4, 11), "cube": m.draw(1, 2, 5, 4, 6)}
    pads = {"pads": [1, 1, 1, 1]}
    ends = [m.conv("x", (6, 4, 3, 3), **pads), m.conv("x", (6, 4, 1, 1), True),
            m.conv("x", (6, 4, 3, 3), True, strides=[2, 1], dilations=[1, 2]),
            m.conv("x", (6, 2, 3, 3), True, group=2, **pads), m.conv("x", (4, 1, 3, 3), group=4, **pads),
            m.conv("x", (6, 4, 3, 2), True, pads=[2, 0, 0, 1]), m.conv("x", (6, 4, 4, 4), pads=[1, 1, 2, 2]),
            m.conv("line", (3, 4, 3), True, pads=[1, 1], strides=[2]),
            m.conv("cube", (3, 2, 2, 3, 3), True, pads=[1, 0, 1, 0, 1, 1])]
    ends.append(m.add("Relu", [m.conv("x", (6, 4, 3, 3), True, **pads)]))
    ends.append(m.add("Relu", [m.add("Add", [m.conv("x", (6, 4, 3, 3), True, **pads), "r"])]))
    ends.append(m.add("Relu", [m.add("Add", [m.conv("x", (6, 4, 3, 3), **pads), m.add("Abs", ["r"])])]))
    for op, attributes in (("LeakyRelu", {"alpha": 0.125}), ("Sigmoid", {}), ("Tanh", {})):
        ends.append(m.add(op, [m.conv("x", (6, 4, 3, 3), True, **pads)], **attributes))
    low, high = (numpy_helper.from_array(np.float32(v), n) for v, n in ((-0.25, "low"), (1.5, "high")))
    m.constants += [low, high]
    ends.append(m.add("Clip", [m.conv("x", (6, 4, 3, 3), True, **pads), "low", "high"]))
    count = len(ends)
    ends.append(m.conv("x", (4, 6, 3, 3), True, "ConvTranspose", strides=[2, 2], pads=[1, 1, 1, 1]))
    ends.append(m.conv("x", (4, 3, 2, 2), False, "ConvTranspose", strides=[2, 2]))
    m.outputs = ends
    return m.save(folder), count + 2


def make_two(folder):
    """Two convolutions, the second with a bias and an activation."""
    m = Model(6)
    m.inputs = {"x": m.draw(1, 4, 6, 6)}
    first = m.conv("x", (8, 4, 3, 3), pads=[1, 1, 1, 1])
    m.outputs = [m.add("Relu", [m.conv(m.add("Softmax", [first], axis=1), (8, 8, 3, 3), True, pads=[1, 1, 1, 1])])]
    return m.save(folder)


def make_many(folder):
    """More steps of one shape than cuDNN keeps the memory of: each has a place of its own."""
    m = Model(7)
    m.inputs = {"x": m.draw(1, 2, 3, 3)}
    filters, last = m.constant(2, 2, 1, 1), "x"
    m.constants = [numpy_helper.from_array(np.float32([[0.6, -0.8], [0.8, 0.6]]).reshape(2, 2, 1, 1), filters)]
    for _ in range(70):
        last = m.add("Conv", [last, filters])
        m.outputs.append(last)
    return m.save(folder)


def check_results(model, count, folder):
    """Each engine, in lazy and eager streams, with several, as a graph; with and without what comes behind."""
    path = folder / "left"
    for engines, fuses in (("0", "all"), ("1", "all"), ("0", "none"), ("1", "none"), ("2", "none"), ("4,3,5,1,0,2", "all")):
        for streams in ("lazy", "others"):
            for flags in ((), ("--streams", "4"), ("--record-comp-seq",), ("--fast-run",)):
                done = run(model, "--verify", model, "--no-trace", *flags, CUDA_DOUBLE_STREAMS=streams,
                           CUDNN_DOUBLE_ENGINES=engines, CUDNN_DOUBLE_FUSES=fuses, CUDA_DOUBLE_LEFT=str(path))
                what = f"{engines} {fuses} {streams} {flags}"
                expect(done.returncode == 0 and "passed: 1 of 1" in done.stdout, f"{what}: {done.stdout}{done.stderr}")
                expect(is_clean(left_of(path)), f"{what} leaves {left_of(path)}")
                if "--fast-run" not in flags:
                    expect(f"{count} of {count} convolutions by cuDNN 9.28\n" in done.stderr, f"{what}: {done.stderr}")


def check_absent(model, count, folder):
    """Own kernels take over, and it is said once."""
    path = folder / "left"
    for environment, why in (({"LD_LIBRARY_PATH": str(emulated.EMULATED)}, r"libcudnn\.so\.9 cannot be opened"),
                             ({"CUDA_DOUBLE_FAIL": "cudnnCreate=1001"},
                              r"cudnnCreate\(\) answers CUDNN_STATUS_NOT_INITIALIZED"),
                             ({"CUDA_DOUBLE_FAIL": "cudnnCreate=3005"},
                              r"cudnnCreate\(\) answers CUDNN_STATUS_NOT_SUPPORTED_INCOMPATIBLE_CUDA_DRIVER")):
        done = run(model, "--verify", model, "--no-trace", CUDA_DOUBLE_LEFT=str(path), **environment)
        told = re.findall(rf"cuDNN is not used: {why}; own kernels compute {count} convolutions\n", done.stderr)
        expect(done.returncode == 0 and len(told) == 1 and is_clean(left_of(path)), f"{environment}: {done.stderr}")
    done = run(model, "--verify", model, "--no-trace", CUDNN_DOUBLE_ENGINES="none", CUDNN_DOUBLE_FALLBACK="none")
    expect(done.returncode == 0 and f"0 of {count} convolutions by cuDNN 9.28\n" in done.stderr, done.stderr)


def check_choice(model, folder):
    """By time: whichever the device says is the fastest, and what it is called. Without: the first that can be
    had and is exact."""
    profile = folder / "profile.json"

    def versions(*flags, **environment):
        done = run(model, "--no-trace", "--iter", "1", "--profile", profile, "--layout-transform", "nchw", *flags,
                   **environment)
        expect(done.returncode == 0, f"{flags} {environment}: {done.stdout}{done.stderr}")
        return done.stderr, set(re.findall(r"cudnn:\d+", profile.read_text()))

    # Far apart: on a busy machine a launch comes later than the event before it.
    times = {"conv_f32": 16000000, "cudnn_0": 12000000, "cudnn_1": 12000000, "cudnn_2": 12000000}
    for fast, names in (("conv_f32", set()), ("cudnn_0", {"cudnn:0"}), ("cudnn_2", {"cudnn:2"})):
        script = ",".join(f"{kernel}={2000000 if kernel == fast else ns}" for kernel, ns in times.items())
        text, found = versions("--fast-run", CUDA_DOUBLE_KERNELS=script, CUDNN_DOUBLE_FALLBACK="none")
        expect(found == names, f"{fast} is the fastest, and taken is {found}")
        # Own kernels; engines 1, 0 and 2 alone, and 1 and 0 with what comes behind the second.
        expect(f"{2 if names else 0} of 2 convolutions by cuDNN 9.28, chosen among 10 ways that were timed" in text, text)
    _, found = versions()
    expect(found == {"cudnn:1"}, f"the first that is exact without --fast-run: {found}")
    _, found = versions("--tf32")
    expect(found == {"cudnn:3"}, f"the first with --tf32: {found}")
    _, found = versions("--workspace-limit", "0")
    expect(found == {"cudnn:0"}, f"without workspace: {found}")
    text, found = versions("--workspace-limit", "1023", CUDNN_DOUBLE_ENGINES="2", CUDNN_DOUBLE_FALLBACK="none")
    expect(not found and "0 of 2 convolutions" in text, f"with a byte less than it needs: {found}")
    _, found = versions("--workspace-limit", "1024", CUDNN_DOUBLE_ENGINES="2", CUDNN_DOUBLE_FALLBACK="none")
    expect(found == {"cudnn:2"}, f"with as much as it needs: {found}")
    _, found = versions(CUDNN_DOUBLE_ENGINES="4,3,5")
    expect(found == {"cudnn:0"}, f"what the mode that is asked last has: {found}")


def check_workspaces(model, folder):
    """To the byte in what is told of the device's memory; too little memory for one."""
    path = folder / "left"
    done = run(model, "--no-trace", "--get-static-mem-info", folder / "memory", CUDA_DOUBLE_LEFT=str(path))
    told = re.search(r"^memory of cuda:0: .*\n((?:  .*\n)+)", done.stdout, re.M)
    expect(told and re.search(r" 2\.25 KiB .*the workspace of products and convolutions", told.group(1)), done.stdout)
    with_one = left_of(path)["most allocated"]
    run(model, "--no-trace", "--iter", "1", "--workspace-limit", "0", CUDA_DOUBLE_LEFT=str(path))
    without = left_of(path)["most allocated"]
    expect(with_one - without == 2304, f"{with_one} and {without} bytes")
    done = run(model, "--verify", model, "--no-trace", CUDA_DOUBLE_MEMORY=str(without + 2303), CUDA_DOUBLE_LEFT=str(path))
    expect(done.returncode == 0 and "2 of 2 convolutions by" in done.stderr and is_clean(left_of(path)),
           f"an engine without workspace where there is no room for one: {done.stderr}")


def check_tf32(model):
    """Only where it is asked for, and --verify allows for it."""
    worst = {}
    for flags in ((), ("--tf32",)):
        done = run(model, "--verify", model, "--no-trace", *flags)
        expect(done.returncode == 0, f"{flags}: {done.stdout}{done.stderr}")
        worst[flags] = max(float(error) for error in re.findall(r"error ([\d.e+-]+)", done.stdout))
        expect(("(products by TF32)" in done.stdout) == bool(flags), f"{flags}: {done.stdout[-200:]}")
    expect(worst[()] < 1e-5 < 1e-4 < worst[("--tf32",)], f"errors {worst}")


def check_events(model, folder):
    """Host and device of each convolution, with the time that the device scripts and what computes it."""
    store = folder / "trace.db"
    done = run(model, "--trace", "--warmup-iter", "0", "--iter", "2", CUDNN_DOUBLE_ENGINES="0",
               CUDA_DOUBLE_KERNELS="cudnn_0=3000000",
               before=(BUILD / "client" / "cli" / "optrace", "run", "-f", "-o", store, "--"))
    expect(done.returncode == 0 and store.exists(), done.stderr)
    if not store.exists():
        return
    with sqlite3.connect(store) as connection:
        rows = connection.execute(
            "SELECT lane_kind, run, correlation, op_name, start_ns, end_ns FROM v_event "
            "WHERE correlation IS NOT NULL AND run IS NOT NULL AND op_type LIKE 'Conv%'").fetchall()
    host = {row[1:3] for row in rows if row[0] == "thread"}
    device = {row[1:3]: row[5] - row[4] for row in rows if row[0] == "stream"}
    expect(len(host) == 4 and host == set(device), f"two convolutions of two runs on both sides: {rows}")
    expect(all(ns >= 2998500 for ns in device.values()), f"they take what the device says: {device}")


def fail_each(model, flags, folder, **environment):
    """Each call of the driver and of cuDNN in turn: those of the library before runs hand its work to own kernels,
    others end it with a sentence; nothing is left behind."""
    path = folder / "left"
    words = ("--verify", model, "--no-trace", *flags)
    run(model, *words, CUDA_DOUBLE_CALLS=str(folder / "calls"), **environment)
    seen = {}
    for number in calls_that_matter(folder / "calls"):
        path.unlink(missing_ok=True)
        done = run(model, *words, CUDA_DOUBLE_LEFT=str(path), CUDA_DOUBLE_FAIL=f"#{number}=4000", **environment)
        left = left_of(path)
        which = [what.split()[1] for what in left if what.startswith("failed ")]
        what = f"{flags} call {number} {which}"
        expect(is_clean(left), f"{what} leaves {left}")
        if not which or not which[0].startswith("cudnn"):
            continue
        name = which[0]
        seen[name] = seen.get(name, 0) + 1
        is_last = done.returncode == 4 and re.search(
            r'(node ".*" \(.*\): )?(the GPU failed at )?cudnn\w+\(\)( answers|:) CUDNN_STATUS_INTERNAL_ERROR'
            r"(; which operator it was is not known)?\n", done.stderr)
        goes_on = done.returncode == 0 and "passed: 1 of 1" in done.stdout
        expect(goes_on or is_last, f"{what}: {done.returncode} {done.stdout}{done.stderr}")
        if name in ("cudnnBackendExecute", "cudnnSetStream") and "--fast-run" not in flags:
            expect(is_last, f"{what}: {done.returncode} {done.stderr}")
        if goes_on and name not in ("cudnnCreate", "cudnnBackendExecute", "cudnnSetStream"):
            expect(re.search(rf"[012] of 2 convolutions by .*; for others {name}\(\) answers CUDNN_STATUS_INTERNAL_ERROR\n",
                             done.stderr), f"{what} is told: {done.stderr}")
    return seen


def check_resnet(folder):
    """All of ResNet-50's, with images of 32x32: sums and activations behind are part of the plans, and the result
    is that of own kernels."""
    made = emulated.run((ROOT / "scripts" / "make-model", "resnet50", folder / "model.onnx", "--image", "32"))
    if made.returncode != 0:
        print(f"without ResNet-50: {made.stderr.strip()}")
        return
    results = []
    for libraries in (LIBRARIES, str(emulated.EMULATED)):
        out = folder / f"out{len(results)}"
        out.mkdir()
        done = run(folder, "--no-trace", "--warmup-iter", "0", "--iter", "1", "--bin-out-dump", out,
                   LD_LIBRARY_PATH=libraries, CUDNN_DOUBLE_ENGINES="0", CUDA_DOUBLE_LEFT=str(folder / "left"))
        left = left_of(folder / "left")
        expect(done.returncode == 0 and is_clean(left), f"ResNet-50: {done.stderr} {left}")
        if not results:  # one kernel for each operator
            expect("53 of 53 convolutions by cuDNN 9.28\n" in done.stderr and left["launches"] == 57, f"{done.stderr}{left}")
        files = list(out.iterdir())
        results.append(np.frombuffer(files[0].read_bytes()[-4000:], np.float32) if files else None)
    expect(results[0] is not None and np.allclose(results[0], results[1], rtol=1e-3, atol=1e-7) and
           abs(results[0].sum() - 1) < 1e-4, f"ResNet-50: {results}")


def check_failures(model, folder):
    few = {"CUDNN_DOUBLE_ENGINES": "0", "CUDNN_DOUBLE_FALLBACK": "none"}
    seen = fail_each(model, (), folder, **few)
    fail_each(model, ("--fast-run", "--layout-transform", "nchw"), folder, CUDNN_DOUBLE_ENGINES="1", CUDNN_DOUBLE_FALLBACK="none")
    fail_each(model, ("--record-comp-seq", "--streams", "2"), folder, **few)
    for name in ("cudnnCreate", "cudnnSetStream", "cudnnBackendCreateDescriptor", "cudnnBackendSetAttribute",
                 "cudnnBackendGetAttribute", "cudnnBackendFinalize", "cudnnBackendExecute"):
        expect(seen.get(name, 0) > 0, f"{name} is among what failed: {seen}")


with tempfile.TemporaryDirectory() as name:
    place = pathlib.Path(name)
    everything, convolutions = make_all(place / "all")
    two = make_two(place / "two")
    check_results(everything, convolutions, place)
    many = make_many(place / "many")
    for flags in ((), ("--record-comp-seq",)):
        done = run(many, "--verify", many, "--no-trace", *flags, CUDA_DOUBLE_LEFT=str(place / "left"))
        expect(done.returncode == 0 and "70 of 70 convolutions by cuDNN" in done.stderr and
               is_clean(left_of(place / "left")), f"70 of one shape: {flags} {done.stdout}{done.stderr}")
    check_absent(everything, convolutions, place)
    check_choice(two, place)
    check_workspaces(two, place)
    check_tf32(two)
    check_events(two, place)
    (place / "resnet").mkdir()
    check_resnet(place / "resnet")
    check_failures(two, place)
for failure in failures:
    print(failure)
sys.exit(1 if failures else 0)
