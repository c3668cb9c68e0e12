#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""load_and_run --cuda in half precision on the emulated device: --fp16, --bf16, and models that are stored so; by own
kernels and by doubles of cuBLASLt and cuDNN; what is said of it; numbers that are too large; a mistake in each kernel,
and any call that fails."""
import pathlib
import re
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import emulated
from emulated import BUILD, calls_that_matter, is_clean, left_of

DOUBLES = [emulated.EMULATED, *(BUILD / "tests/support/cuda" / name for name in ("cudnn", "cublaslt"))]
LIBRARIES = ":".join(map(str, DOUBLES))
OWN = str(emulated.EMULATED)
OPTIONS = {"--fp16": ("float16", 2.0 ** -11), "--bf16": ("bfloat16", 2.0 ** -8)}
KINDS = {np.dtype(np.float32): TensorProto.FLOAT, np.dtype(np.float16): TensorProto.FLOAT16}
failures = []


def expect(condition, what):
    if not condition:
        failures.append(what)


def run(model, *flags, libraries=LIBRARIES, **settings):
    return emulated.infer("", model, *flags, LD_LIBRARY_PATH=libraries, **settings)


def on_cpu(model, *flags):
    return emulated.run([BUILD / "runtime" / "load_and_run", model / "model.onnx", *flags])


def outputs_of(model, folder, *flags, cpu=False, **settings):
    """The outputs of a run, by name, and what it said."""
    folder.mkdir()
    inputs = [word for given in sorted((model / "inputs").glob("*.npy")) for word in ("--input", f"{given.stem}:{given}")]
    words = ("--no-trace", "--warmup-iter", "0", "--iter", "1", *inputs, "--bin-out-dump", folder)
    done = on_cpu(model, *words, *flags) if cpu else run(model, *words, *flags, **settings)
    graph = onnx.load(str(model / "model.onnx")).graph
    found = {}
    for value in graph.output:
        dims = [d.dim_value for d in value.type.tensor_type.shape.dim]
        dtype = next(dtype for dtype, kind in KINDS.items() if kind == value.type.tensor_type.elem_type)
        for content in (path.read_bytes() for path in folder.glob("run0-*")):
            count = int(np.prod(dims)) * dtype.itemsize
            if re.search(rf"name:{value.name}[,}}]".encode(), content[:-count]):
                found[value.name] = np.frombuffer(content[-count:], dtype).reshape(dims)
    return found, done


def save(folder, nodes, constants, inputs, outputs, dtype=TensorProto.FLOAT):
    """inputs: name -> numbers; outputs: name -> dims."""
    graph = helper.make_graph(
        nodes, "half", [helper.make_tensor_value_info(name, KINDS[value.dtype], value.shape) for name, value in inputs.items()],
        [helper.make_tensor_value_info(name, dtype, dims) for name, dims in outputs.items()],
        [numpy_helper.from_array(value, name) for name, value in constants.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    (folder / "inputs").mkdir(parents=True)
    onnx.save(model, str(folder / "model.onnx"))
    for name, value in inputs.items():
        np.save(folder / "inputs" / f"{name}.npy", value)
    return folder


def make_network(folder, dtype=np.float32):
    """Convolutions with what stands behind them, there and back; products; a chain, norms, pools, moves."""
    random = np.random.default_rng(3)
    draw = lambda *dims: (random.standard_normal(dims) / 2).astype(dtype)
    node = lambda op, names, y, **given: helper.make_node(op, names, [y], name=f"n_{y}", **given)
    constants = {"w1": draw(8, 3, 3, 3), "b1": draw(8), "w2": draw(8, 8, 3, 3), "b2": draw(8), "w3": draw(8, 1, 3, 3),
                 "w4": draw(8, 8, 2, 2), "b4": draw(8), "m": draw(8, 12), "g": draw(12, 16), "c": draw(16), "u": draw(16, 16),
                 "scale": draw(16), "bias": draw(16), "last": draw(16, 6), "add": draw(6),
                 "flat": np.array([2, 8, -1], np.int64)}
    nodes = [node("Conv", ["x", "w1", "b1"], "a", pads=[1, 1, 1, 1]), node("Relu", ["a"], "a1"),
             node("Conv", ["a1", "w2", "b2"], "b", pads=[1, 1, 1, 1]), node("Add", ["b", "a1"], "b1s"),
             node("Relu", ["b1s"], "b2s"), node("Conv", ["b2s", "w3"], "d", group=8, pads=[1, 1, 1, 1]),
             node("Sigmoid", ["d"], "d1"), node("Sub", ["d", "d1"], "d2"),
             node("MaxPool", ["d2"], "p", kernel_shape=[2, 2], strides=[2, 2]),
             node("ConvTranspose", ["p", "w4", "b4"], "t", strides=[2, 2]), node("Tanh", ["t"], "t1"),
             node("AveragePool", ["t1"], "q", kernel_shape=[2, 2], strides=[2, 2]),
             node("Reshape", ["q", "flat"], "r"), node("Transpose", ["r"], "r1", perm=[0, 2, 1]),
             node("MatMul", ["r1", "m"], "s"), node("MatMul", ["s", "g"], "s1"), node("Add", ["s1", "c"], "s2"),
             node("LayerNormalization", ["s2", "scale", "bias"], "l"), node("MatMul", ["l", "u"], "v"),
             node("Transpose", ["l"], "l1", perm=[0, 2, 1]), node("MatMul", ["v", "l1"], "k"),
             node("Softmax", ["k"], "k1", axis=-1), node("MatMul", ["k1", "l"], "o"),
             node("ReduceMean", ["o"], "o1", axes=[1], keepdims=0), node("Gemm", ["o1", "last", "add"], "z"),
             node("Relu", ["z"], "y")]
    kind = KINDS[np.dtype(dtype)]
    return save(folder, nodes, constants, {"x": draw(2, 3, 8, 8)}, {"y": [2, 6], "b1s": [2, 8, 8, 8]}, kind)


def close(got, want, unit, rounds):
    """What differs is some roundings of the largest number."""
    return all(name in got and np.abs(got[name].astype(np.float64) - value.astype(np.float64)).max() <=
               rounds * unit * np.abs(value.astype(np.float64)).max() for name, value in want.items())


def check_network(model, place):
    """Of the model in float32 it is as far off as the CPU in half precision; all is computed as it is stored, in
    every way in which runs go."""
    want, _ = outputs_of(model, place / "plain", cpu=True)
    for option, (dtype, unit) in OPTIONS.items():
        half, _ = outputs_of(model, place / f"cpu{option}", option, cpu=True)
        for i, (libraries, flags) in enumerate((
                (LIBRARIES, ()), (OWN, ()), (LIBRARIES, ("--streams", "4")), (LIBRARIES, ("--record-comp-seq",)),
                (LIBRARIES, ("--fast-run",)), (LIBRARIES, ("--no-enable-jit",)))):
            for engines in ("0", "1", "6,0") if libraries == LIBRARIES else ("0",):
                folder = place / f"gpu{option}{i}{engines}"
                left = place / "left"
                got, done = outputs_of(model, folder, option, *flags, libraries=libraries, CUDNN_DOUBLE_ENGINES=engines,
                                       CUDA_DOUBLE_LEFT=str(left))
                what = f"{option} {flags} {libraries == OWN} {engines}: {done.stdout[-300:]}{done.stderr}"
                expect(done.returncode == 0 and is_clean(left_of(left)), what)
                expect(close(got, want, unit, 40) and close(got, half, unit, 40), f"too far off: {what} {got} {want} {half}")
                told = re.search(r"of operators over half precision the GPU computes (\d+) as they are, and 0 in float32, "
                                 r"converting there; the CPU computes 0\n", done.stderr)
                expect(told and int(told.group(1)) >= 17, f"not all in half precision: {what}")
                expect(re.search(rf"{option}: \d+ operators read or write tensors stored in {dtype}\n", done.stderr), what)
                if libraries == LIBRARIES and not flags:
                    expect("4 of 4 convolutions by cuDNN 9.28\n" in done.stderr, what)
                    expect("4 of 4 products by cuBLASLt 13.2\n" in done.stderr, what)


def check_stored(model, place):
    """A model that is float16 as it is stored: cuDNN and cuBLASLt, without an option."""
    want, _ = outputs_of(model, place / "stored cpu", cpu=True)
    for libraries in (LIBRARIES, OWN):
        got, done = outputs_of(model, place / f"stored {libraries == OWN}", libraries=libraries)
        what = f"{libraries == OWN}: {done.stdout[-300:]}{done.stderr}"
        expect(done.returncode == 0 and close(got, want, 2.0 ** -11, 40), f"float16 as it is stored: {what} {got} {want}")
        if libraries == LIBRARIES:
            expect("4 of 4 convolutions by cuDNN 9.28\n" in done.stderr and "4 of 4 products by cuBLASLt" in done.stderr, what)
        expect(re.search(r"the GPU computes \d+ as they are, and 0 in float32, converting there; the CPU computes 0\n",
                         done.stderr), what)


def check_engines(model, place):
    """Tensor cores are for half precision alone where --tf32 is not given, and what rounds inputs is for none; nor
    are parts of a sum rounded to the type of its result, but where that is float32."""
    profile = place / "profile.json"

    def versions(*flags, order):
        run(model, "--no-trace", "--iter", "1", "--profile", profile, *flags, CUDNN_DOUBLE_ENGINES=order)
        return set(re.findall(r"cudnn:\d+", profile.read_text()))

    # Two others are a part of attention.
    for flags, count in ((("--fp16",), "1 of 4"), (("--bf16",), "1 of 4"), ((), "4 of 4")):
        done = run(model, "--no-trace", "--iter", "1", *flags, CUBLASLT_DOUBLE_PROPOSALS="3")
        expect(f"{count} products by cuBLASLt" in done.stderr, f"{flags}: parts of sums are rounded: {done.stderr}")

    expect(versions("--fp16", order="6,0") == {"cudnn:6"}, "tensor cores are not taken")
    expect(versions(order="6,0") == {"cudnn:0"}, "tensor cores are taken for float32")
    expect(versions("--bf16", order="3,5,0") == {"cudnn:0"}, "engines that round inputs are taken")
    expect(versions("--bf16", "--tf32", order="3,0") == {"cudnn:0"}, "engines that round inputs are taken with --tf32")


def check_transposes(place):
    """Where products alone read it, and its rows stay in one piece, a Transpose is no step."""
    nodes = [helper.make_node("Abs", ["x"], ["a"], name="n_a"),
             helper.make_node("Transpose", ["a"], ["t"], name="n_rows", perm=[0, 2, 1, 3]),
             helper.make_node("Transpose", ["a"], ["u"], name="n_columns", perm=[0, 2, 3, 1]),
             helper.make_node("MatMul", ["t", "u"], ["p"], name="n_p"), helper.make_node("MatMul", ["p", "t"], ["q"], name="n_q"),
             helper.make_node("Transpose", ["q"], ["r"], name="n_back", perm=[0, 2, 1, 3]),
             helper.make_node("Tanh", ["r"], ["y"], name="n_y")]
    x = np.random.default_rng(8).standard_normal((2, 4, 3, 8)).astype(np.float32) / 4
    model = save(place / "transposes", nodes, {}, {"x": x}, {"y": [2, 4, 3, 8]})
    want, _ = outputs_of(model, place / "transposes cpu", cpu=True)
    for i, (libraries, flags, unit) in enumerate(((LIBRARIES, (), 1e-7), (OWN, (), 1e-7), (LIBRARIES, ("--fp16",), 2.0 ** -11),
                                                  (OWN, ("--fp16",), 2.0 ** -11), (LIBRARIES, ("--bf16",), 2.0 ** -8))):
        profile = place / f"transposes{i}.json"
        got, done = outputs_of(model, place / f"transposes{i}", *flags, "--profile", profile, libraries=libraries)
        steps = set(re.findall(r"n_\w+", profile.read_text()))
        expect(done.returncode == 0 and close(got, want, unit, 40), f"{flags}: {done.stderr} {got} {want}")
        expect(steps >= {"n_columns", "n_p", "n_q", "n_y"} and not steps & {"n_rows", "n_back"}, f"{flags}: {steps}")


def check_mixed(place):
    """What has to stay in float32 stays so, on the device; what it has no kernel for is the CPU's."""
    random = np.random.default_rng(4)
    draw = lambda *dims: random.standard_normal(dims).astype(np.float32)
    constants = {"w": draw(4, 4), "large": draw(4, 4) * 1e6, "v": draw(4, 4),
                 "f": draw(1, 4, 3, 2), "four": np.array([1, 4, 4, 1], np.int64)}
    nodes = [helper.make_node("MatMul", ["x", "w"], ["a"], name="a"),
             helper.make_node("MatMul", ["a", "large"], ["b"], name="b"),
             helper.make_node("Tanh", ["b"], ["c"], name="c"), helper.make_node("MatMul", ["c", "v"], ["d"], name="d"),
             helper.make_node("ReduceSumSquare", ["d"], ["e"], name="e", axes=[1], keepdims=1),
             helper.make_node("Mul", ["d", "e"], ["e1"], name="e1"),
             helper.make_node("Reshape", ["e1", "four"], ["g"], name="g"),
             helper.make_node("DFT", ["g"], ["h"], name="h", axis=1),
             helper.make_node("Conv", ["h", "f"], ["y"], name="y")]
    model = save(place / "mixed", nodes, constants, {"x": draw(4, 4)}, {"y": [1, 1, 2, 1]})
    want, _ = outputs_of(model, place / "mixed plain", cpu=True)
    for option, (_, unit) in OPTIONS.items():
        for libraries in (LIBRARIES, OWN):
            got, done = outputs_of(model, place / f"mixed{option}{libraries == OWN}", option, libraries=libraries)
            expect(done.returncode == 0 and close(got, want, unit, 60), f"{option}: {done.stderr} {got} {want}")
            told = re.search(r"the GPU computes (\d+) as they are, and (\d+) in float32, converting there; the CPU computes 1\n",
                             done.stderr)
            expect(told and int(told.group(1)) >= 4 and int(told.group(2)) >= 1, f"{option}: {done.stderr}")


def check_large(place):
    """What float16 cannot hold stays finite, as it does on the CPU, whatever computes it: infinity minus infinity
    would be no number."""
    x = np.full((3, 8), 300, np.float32)
    difference = 2 * np.eye(8, dtype=np.float32) - np.eye(8, k=1, dtype=np.float32)
    filters = np.float32([[[[3]], [[0]]], [[[2]], [[0]]], [[[-2]], [[0]]]])
    nodes = [helper.make_node("Mul", ["x", "k"], ["a"], name="a"), helper.make_node("MatMul", ["a", "w"], ["b"], name="b"),
             helper.make_node("MatMul", ["b", "w"], ["c"], name="c"), helper.make_node("Gemm", ["c", "w"], ["d"], name="d"),
             helper.make_node("Relu", ["d"], ["e"], name="e"), helper.make_node("Reshape", ["e", "image"], ["f"], name="f"),
             helper.make_node("Conv", ["f", "v"], ["g"], name="g"), helper.make_node("Conv", ["g", "u"], ["h"], name="h"),
             helper.make_node("Relu", ["h"], ["i"], name="i"), helper.make_node("Conv", ["i", "t"], ["j"], name="j"),
             helper.make_node("Tanh", ["j"], ["y"], name="y")]
    constants = {"k": np.full((3, 8), 300, np.float32), "w": difference, "image": np.array([1, 2, 3, 4], np.int64),
                 "v": filters, "u": np.float32(np.arange(6).reshape(2, 3, 1, 1) % 2 * 2 - 1),
                 "t": np.float32([[[[1]], [[-1]]]])}
    model = save(place / "large", nodes, constants, {"x": x}, {"y": [1, 1, 3, 4]})
    for libraries in (None, OWN, LIBRARIES):
        for engines, fuses in (("0", "all"), ("1", "none")) if libraries == LIBRARIES else (("0", "all"),):
            got, done = outputs_of(model, place / f"large {engines} {libraries and len(libraries)}", "--fp16",
                                   cpu=not libraries, libraries=libraries, CUDNN_DOUBLE_ENGINES=engines,
                                   CUDNN_DOUBLE_FUSES=fuses)
            expect(done.returncode == 0 and np.isfinite(got["y"]).all(),
                   f"infinity minus infinity: {libraries} {engines} {done.stderr} {got}")
    got, _ = outputs_of(model, place / "large wrong", "--fp16", CUDNN_DOUBLE_ENGINES="0", CUDA_DOUBLE_BUG="27")
    expect(not np.isfinite(got["y"]).all(), "nothing becomes infinite in a library")


def check_mistakes(model, place):
    """A mistake in a kernel shows."""
    want, _ = outputs_of(model, place / "right", "--fp16", libraries=OWN)
    for bug, what in ((24, "a convolution without its bias"), (25, "a product without what is added"),
                      (4, "operands that change places")):
        got, _ = outputs_of(model, place / f"wrong {bug}", "--fp16", libraries=OWN, CUDA_DOUBLE_BUG=str(bug))
        expect(not close(got, want, 2.0 ** -11, 40), f"{what} is not found")


def make_small(folder):
    """A convolution and a product with a result of float32, and little more."""
    random = np.random.default_rng(6)
    draw = lambda *dims: random.standard_normal(dims).astype(np.float32)
    nodes = [helper.make_node("Conv", ["x", "w", "b"], ["a"], name="a"), helper.make_node("Relu", ["a"], ["r"], name="r"),
             helper.make_node("Flatten", ["r"], ["f"], name="f"), helper.make_node("Gemm", ["f", "m", "c"], ["y"], name="y")]
    constants = {"w": draw(2, 2, 3, 3), "b": draw(2), "m": draw(8, 3), "c": draw(3)}
    return save(folder, nodes, constants, {"x": draw(1, 2, 4, 4)}, {"y": [1, 3]})


def check_failures(model, place):
    """Each call of the driver and of the libraries in turn: a sentence, or another way; nothing is left behind."""
    path = place / "left"
    few = {"CUDNN_DOUBLE_ENGINES": "1", "CUDNN_DOUBLE_FALLBACK": "none", "CUBLASLT_DOUBLE_PROPOSALS": "1"}
    words = ("--fp16", "--no-trace", "--warmup-iter", "0", "--iter", "1")
    done = run(model, *words, CUDA_DOUBLE_LEFT=str(path), CUDA_DOUBLE_CALLS=str(place / "calls"), **few)
    calls = left_of(path)["calls"]
    expect(done.returncode == 0 and calls > 100, f"{calls} calls: {done.stderr}")
    for number in calls_that_matter(place / "calls"):
        path.unlink(missing_ok=True)
        done = run(model, *words, CUDA_DOUBLE_LEFT=str(path), CUDA_DOUBLE_FAIL=f"#{number}=700", **few)
        expect(done.returncode in (0, 4) and is_clean(left_of(path)),
               f"call {number}: {done.returncode} {done.stderr} {left_of(path)}")
        expect(done.returncode == 0 or done.stderr.count("\n") >= 1, f"call {number} says nothing")


with tempfile.TemporaryDirectory() as name:
    where = pathlib.Path(name)
    network = make_network(where / "network")
    check_network(network, where)
    check_stored(make_network(where / "stored", np.float16), where)
    check_engines(network, where)
    check_transposes(where)
    check_mixed(where)
    check_large(where)
    check_mistakes(network, where)
    check_failures(make_small(where / "small"), where)
for failure in failures:
    print(failure)
sys.exit(1 if failures else 0)
