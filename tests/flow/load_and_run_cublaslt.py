#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""load_and_run --cuda with a cuBLASLt on the emulated device: results of every algorithm, what is chosen and
by what, workspaces, and what happens where it is absent or any of its calls fails."""
import math
import pathlib
import re
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import emulated
from emulated import BUILD, calls_that_matter, is_clean, left_of

failures = []


def expect(condition, what):
    if not condition:
        failures.append(what)


def run(model, *flags, **settings):
    return emulated.infer("cublaslt", model, *flags, **settings)


def save(folder, nodes, constants, inputs, outputs, opset=13):
    """A model with its data set: (name, numbers) each."""
    kinds = {np.dtype(np.float32): TensorProto.FLOAT, np.dtype(np.float64): TensorProto.DOUBLE,
             np.dtype(np.int8): TensorProto.INT8, np.dtype(np.int32): TensorProto.INT32}
    info = lambda name, value: helper.make_tensor_value_info(name, kinds[value.dtype], value.shape)
    graph = helper.make_graph(nodes, "products", [info(*given) for given in inputs], [info(*given) for given in outputs],
                              [numpy_helper.from_array(value, name) for name, value in constants])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    model.ir_version = 8
    folder.mkdir()
    onnx.save(model, str(folder / "model.onnx"))
    (folder / "test_data_set_0").mkdir()
    for place, values in (("input", inputs), ("output", outputs)):
        for i, (name, value) in enumerate(values):
            (folder / "test_data_set_0" / f"{place}_{i}.pb").write_bytes(
                numpy_helper.from_array(value, name).SerializeToString())
    return folder


def make_all(folder):
    """Each way in which a product is handed over: by rows and columns, batches of either side, what is added as
    a row, a column, one number, a matrix; scaled; of float64; and quantised ones."""
    random = np.random.default_rng(5)
    f32 = lambda *dims: random.standard_normal(dims).astype(np.float32)
    i8 = lambda *dims: random.integers(-9, 9, dims).astype(np.int8)
    x, b, w = f32(8, 12), f32(2, 3, 8, 12), f32(12, 20)
    bias, column, whole, one = f32(20), f32(8, 1), f32(8, 20), f32(1)
    other, turned, d, q, p = f32(2, 3, 12, 5), f32(20, 8), f32(8, 12).astype(np.float64), i8(8, 12), i8(12, 20)
    skewed, few = f32(3, 12, 5), f32(3, 12, 7)
    nodes, outputs = [], []

    def add(op, names, value, **attributes):
        name = f"y{len(nodes)}"
        nodes.append(helper.make_node(op, names, [name], name=f"n{len(nodes)}", **attributes))
        outputs.append((name, value))

    add("MatMul", ["x", "w"], x @ w)
    add("MatMul", ["b", "w"], b @ w)                                    # many rows of one product
    add("MatMul", ["b", "other"], b @ other)                            # a batch
    add("MatMul", ["b", "skewed"], b @ skewed)                          # one side is broadcast along an outer axis
    add("MatMul", ["x", "few"], x @ few)                                # the left side is
    add("Gemm", ["x", "w", "bias"], x @ w + bias)
    add("Gemm", ["x", "w", "column"], x @ w + column)
    add("Gemm", ["x", "w", "one"], x @ w + one)
    add("Gemm", ["x", "w", "whole"], x @ w + whole)
    add("Gemm", ["x", "w", "bias"], 0.5 * (x @ w) - 2 * bias, alpha=0.5, beta=-2.0)
    add("Gemm", ["x", "w", "whole"], 0.5 * (x @ w) - 2 * whole, alpha=0.5, beta=-2.0)
    add("Gemm", ["x", "turned"], x.T @ turned.T, transA=1, transB=1)
    add("MatMul", ["d", "e"], d @ d.T)
    add("MatMulInteger", ["q", "p"], q.astype(np.int32) @ p.astype(np.int32))
    outputs = [(name, value.astype(np.float32) if value.dtype == np.float64 and name != "y12" else value)
               for name, value in outputs]
    constants = [("w", w), ("bias", bias), ("column", column), ("whole", whole), ("one", one), ("turned", turned),
                 ("e", np.ascontiguousarray(d.T)), ("p", p), ("few", few)]
    inputs = [("x", x), ("b", b), ("other", other), ("skewed", skewed), ("d", d), ("q", q)]
    return save(folder, nodes, constants, inputs, outputs), len(nodes)


def make_two(folder):
    """Two products, the second with a bias."""
    random = np.random.default_rng(6)
    x, w, v = (random.standard_normal((8, 8)).astype(np.float32) for _ in range(3))
    bias = np.arange(8, dtype=np.float32)
    nodes = [helper.make_node("MatMul", ["x", "w"], ["s"], name="first"),
             helper.make_node("Softmax", ["s"], ["t"], name="between", axis=1),
             helper.make_node("Gemm", ["t", "v", "bias"], ["y"], name="second")]
    parts = np.exp(x @ w - (x @ w).max(1, keepdims=True))
    return save(folder, nodes, [("w", w), ("v", v), ("bias", bias)], [("x", x)],
                [("y", parts / parts.sum(1, keepdims=True) @ v + bias)])


def check_results(model, count, folder):
    """Each algorithm, in lazy and eager streams, with several, as a graph."""
    path = folder / "left"
    for proposals in ("0", "1", "2", "1,0,2"):
        for streams in ("lazy", "eager", "others"):
            for flags in ((), ("--streams", "4"), ("--record-comp-seq",), ("--fast-run",)):
                done = run(model, "--verify", model, "--no-trace", *flags, CUDA_DOUBLE_STREAMS=streams,
                           CUBLASLT_DOUBLE_PROPOSALS=proposals, CUDA_DOUBLE_LEFT=str(path))
                what = f"{proposals} {streams} {flags}"
                expect(done.returncode == 0 and "passed: 1 of 1" in done.stdout, f"{what}: {done.stdout}{done.stderr}")
                expect(is_clean(left_of(path)), f"{what} leaves {left_of(path)}")
                if "--fast-run" not in flags and proposals != "2":
                    expect(f"{count} of {count} products by cuBLASLt 13.2\n" in done.stderr, f"{what}: {done.stderr}")


def check_absent(model, count, folder):
    """Own kernels take over, and it is said once."""
    path = folder / "left"
    for environment, why in (({"LD_LIBRARY_PATH": str(emulated.EMULATED)},
                              "neither libcublasLt.so.13 nor libcublasLt.so.12 can be opened"),
                             ({"CUDA_DOUBLE_FAIL": "cublasLtCreate=1"},
                              r"cublasLtCreate\(\) answers CUBLAS_STATUS_NOT_INITIALIZED")):
        done = run(model, "--verify", model, "--no-trace", CUDA_DOUBLE_LEFT=str(path), **environment)
        told = re.findall(rf"cuBLASLt is not used: {why}; own kernels compute {count} products\n", done.stderr)
        expect(done.returncode == 0 and len(told) == 1 and is_clean(left_of(path)), f"{environment}: {done.stderr}")
    done = run(model, "--verify", model, "--no-trace", CUBLASLT_DOUBLE_PROPOSALS="none")
    expect(done.returncode == 0 and f"0 of {count} products by cuBLASLt 13.2\n" in done.stderr, done.stderr)


def check_behind(folder):
    """A number, a bias and Relu are part of one product; where there is none with Relu, it is a kernel behind it."""
    random = np.random.default_rng(7)
    x, w, v, k = (random.standard_normal(dims).astype(np.float32) for dims in ((9, 12), (12, 20), (20, 8), (8, 16)))
    bias, whole = random.standard_normal(20).astype(np.float32), random.standard_normal((9, 8)).astype(np.float32)
    node = helper.make_node
    nodes = [node("MatMul", ["x", "w"], ["a"]), node("Mul", ["a", "half"], ["b"]), node("Add", ["b", "bias"], ["c"]),
             node("Relu", ["c"], ["d"]), node("Gemm", ["d", "v", "whole"], ["e"]), node("Relu", ["e"], ["f"]),
             node("Div", ["f", "half"], ["g"]), node("MatMul", ["g", "k"], ["h"]), node("Sigmoid", ["h"], ["y"])]
    f = np.maximum(np.maximum(0.5 * (x @ w) + bias, 0) @ v + whole, 0)
    model = save(folder / "behind", nodes, [("w", w), ("v", v), ("k", k), ("bias", bias), ("whole", whole),
                                            ("half", np.float32(0.5))], [("x", x)], [("y", 1 / (1 + np.exp(-2 * f @ k)))])
    path = folder / "left"
    # Three products and a Sigmoid; that many more where Relu is a kernel of its own; algorithm 0 is one kernel.
    for more, launches in (({}, 4), ({"CUBLASLT_DOUBLE_NO_RELU": "1"}, 6)):
        for flags in ((), ("--streams", "2"), ("--record-comp-seq",), ("--fast-run",), ("--fp16",), ("--bf16",)):
            done = run(model, "--verify", model, "--no-trace", *flags, CUDA_DOUBLE_LEFT=str(path),
                       CUBLASLT_DOUBLE_PROPOSALS="0,1,2", **more)
            what = f"{more} {flags}"
            expect(done.returncode == 0 and "3 operators on it, 0 on the CPU" in done.stderr,
                   f"{what}: {done.stdout}{done.stderr}")
            expect(is_clean(left_of(path)), f"{what} leaves {left_of(path)}")
        launched = {}
        for runs in (1, 11):
            run(model, "--no-trace", "--warmup-iter", "0", "--iter", str(runs), CUDA_DOUBLE_LEFT=str(path),
                CUBLASLT_DOUBLE_PROPOSALS="0", **more)
            launched[runs] = left_of(path)["launches"]
        expect(launched[11] - launched[1] == 10 * launches, f"{more}: {launched} launches")


def check_gelu(folder):
    """GELU by tanh is part of one product with its bias; where there is none with it, a kernel behind it, as the one by erf."""
    random = np.random.default_rng(9)
    x, w, v = (random.standard_normal(dims).astype(np.float32) for dims in ((9, 12), (12, 20), (20, 8)))
    bias = random.standard_normal(20).astype(np.float32)
    gelu = {"tanh": lambda x: x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x ** 3))),
            "none": lambda x: x / 2 * (1 + np.vectorize(math.erf)(x / np.sqrt(2)))}
    path = folder / "left"
    for form, function in gelu.items():
        nodes = [helper.make_node("MatMul", ["x", "w"], ["a"]), helper.make_node("Add", ["a", "bias"], ["b"]),
                 helper.make_node("Gelu", ["b"], ["c"], approximate=form), helper.make_node("MatMul", ["c", "v"], ["y"])]
        model = save(folder / f"gelu-{form}", nodes, [("w", w), ("v", v), ("bias", bias)], [("x", x)],
                     [("y", (function(x @ w + bias) @ v).astype(np.float32))], 20)
        steps = 2 if form == "tanh" else 3
        for more, launches in (({}, steps), ({"CUBLASLT_DOUBLE_NO_RELU": "1"}, 3), ({"LD_LIBRARY_PATH": str(emulated.EMULATED)}, steps)):
            for flags in ((), ("--record-comp-seq",), ("--fp16",), ("--bf16",)):
                done = run(model, "--verify", model, "--no-trace", *flags, CUDA_DOUBLE_LEFT=str(path),
                           CUBLASLT_DOUBLE_PROPOSALS="0", **more)
                expect(done.returncode == 0 and f"{steps} operators on it, 0 on the CPU" in done.stderr,
                       f"{form} {more} {flags}: {done.stdout}{done.stderr}")
                expect(is_clean(left_of(path)), f"{form} {more} {flags} leaves {left_of(path)}")
            launched = {}
            for runs in (1, 11):
                run(model, "--no-trace", "--warmup-iter", "0", "--iter", str(runs), CUDA_DOUBLE_LEFT=str(path),
                    CUBLASLT_DOUBLE_PROPOSALS="0", **more)
                launched[runs] = left_of(path)["launches"]
            expect(launched[11] - launched[1] == 10 * launches, f"{form} {more}: {launched} launches")
    tanh = folder / "gelu-tanh" / "model.onnx"
    for cpu, words in ((False, ("--cuda",)), (True, ())):
        done = emulated.run([BUILD / "runtime" / "load_and_run", tanh, "--no-trace", "--iter", "1", "--model-info", *words])
        expect(done.returncode == 0 and ("+ Gelu(tanh)" in done.stdout) != cpu, f"{words}: {done.stdout}{done.stderr}")


def check_choice(model, folder):
    """By time: whichever the device says is the fastest, and what it is called. Without: the first."""
    profile = folder / "profile.json"

    def versions(*flags, **environment):
        done = run(model, "--no-trace", "--iter", "1", "--profile", profile, *flags, **environment)
        expect(done.returncode == 0, f"{flags} {environment}: {done.stdout}{done.stderr}")
        return done.stderr, set(re.findall(r"cublasLt[:\d]*", profile.read_text()))

    # Far apart: on a busy machine a launch comes later than the event before it.
    times = {"gemm_f32": 16000000, "cublasLt_0": 12000000, "cublasLt_1": 12000000, "cublasLt_2": 12000000}
    for fast, names in (("gemm_f32", set()), ("cublasLt_0", {"cublasLt:0"}), ("cublasLt_2", {"cublasLt:2"})):
        script = ",".join(f"{kernel}={2000000 if kernel == fast else ns}" for kernel, ns in times.items())
        text, found = versions("--fast-run", CUDA_DOUBLE_KERNELS=script)
        expect(found == names, f"{fast} is the fastest, and taken is {found}")
        expect(f"{2 if names else 0} of 2 products by cuBLASLt 13.2, chosen among 8 ways that were timed" in text, text)
    _, found = versions(CUDA_DOUBLE_KERNELS="cublasLt_1=900000")
    expect(found == {"cublasLt:1"}, f"the first proposal without --fast-run: {found}")
    _, found = versions("--workspace-limit", "0")
    expect(found == {"cublasLt:0"}, f"without workspace: {found}")
    _, found = versions("--workspace-limit", "1024", CUBLASLT_DOUBLE_PROPOSALS="2,0")
    expect(found == {"cublasLt:2"}, f"with as much as it needs: {found}")
    _, found = versions("--workspace-limit", "1023", CUBLASLT_DOUBLE_PROPOSALS="2,0")
    expect(found == {"cublasLt:0"}, f"with a byte less: {found}")


def check_workspaces(model, folder):
    """One for each stream, to the byte in what is told of the device's memory; too little memory for one."""
    path = folder / "left"
    done = run(model, "--no-trace", "--get-static-mem-info", folder / "memory", CUDA_DOUBLE_LEFT=str(path))
    told = re.search(r"^memory of cuda:0: .*\n((?:  .*\n)+)", done.stdout, re.M)
    expect(told and re.search(r" 512 B .*the workspace of products", told.group(1)), done.stdout)
    with_one = left_of(path)["most allocated"]
    # What was only tried has none any more.
    times = {"gemm_f32": 16000000, "cublasLt_0": 12000000, "cublasLt_1": 12000000, "cublasLt_2": 12000000}
    for fast, kept in (("cublasLt_0", None), ("gemm_f32", None), ("cublasLt_2", "1 KiB"), ("cublasLt_1", "512 B")):
        script = ",".join(f"{kernel}={1000000 if kernel == fast else ns}" for kernel, ns in times.items())
        done = run(model, "--no-trace", "--iter", "2", "--fast-run", "--get-static-mem-info", folder / "memory",
                   CUDA_DOUBLE_KERNELS=script, CUDA_DOUBLE_LEFT=str(path))
        found = re.search(r" ([\d.]+ \w+) .*the workspace of products", done.stdout)
        expect(done.returncode == 0 and (found and found.group(1)) == kept, f"{fast}: {done.stdout}{done.stderr}")
        expect(is_clean(left_of(path)), f"{fast} leaves {left_of(path)}")
    done = run(model, "--no-trace", "--iter", "1", "--workspace-limit", "0", CUDA_DOUBLE_LEFT=str(path))
    without = left_of(path)["most allocated"]
    expect(with_one - without == 512, f"{with_one} and {without} bytes")
    done = run(model, "--verify", model, "--no-trace", CUDA_DOUBLE_MEMORY=str(without + 511), CUDA_DOUBLE_LEFT=str(path))
    expect(done.returncode == 0 and "2 of 2 products by" in done.stderr and is_clean(left_of(path)),
           f"an algorithm without workspace where there is no room for one: {done.stderr}")


def check_tf32(model, count):
    """Only where it is asked for, and --verify allows for it."""
    worst = {}
    for flags in ((), ("--tf32",)):
        done = run(model, "--verify", model, "--no-trace", *flags)
        expect(done.returncode == 0, f"{flags}: {done.stdout}{done.stderr}")
        worst[flags] = max(float(error) for error in re.findall(r"error ([\d.e+-]+)", done.stdout))
        expect(("(products by TF32)" in done.stdout) == bool(flags), f"{flags}: {done.stdout[-200:]}")
    expect(worst[()] < 1e-5 < 1e-4 < worst[("--tf32",)], f"errors {worst}")
    done = run(model, "--verify", model, "--no-trace", "--tf32", LD_LIBRARY_PATH=str(emulated.EMULATED))
    expect(done.returncode == 0 and "(products by TF32)" not in done.stdout, "own kernels do not round")


def fail_each(model, flags, folder):
    """Each call of the driver and of cuBLASLt in turn: those of the library before runs hand its work to own
    kernels, others end it with a sentence; nothing is left behind."""
    path = folder / "left"
    words = ("--verify", model, "--no-trace", *flags)
    run(model, *words, CUDA_DOUBLE_CALLS=str(folder / "calls"))
    seen = {}
    for number in calls_that_matter(folder / "calls"):
        path.unlink(missing_ok=True)
        done = run(model, *words, CUDA_DOUBLE_LEFT=str(path), CUDA_DOUBLE_FAIL=f"#{number}=14")
        left = left_of(path)
        which = [what.split()[1] for what in left if what.startswith("failed ")]
        what = f"{flags} call {number} {which}"
        expect(is_clean(left), f"{what} leaves {left}")
        if not which or not which[0].startswith("cublasLt"):
            continue
        name = which[0]
        seen[name] = seen.get(name, 0) + 1
        is_last = done.returncode == 4 and re.search(
            r'(node ".*" \(.*\): )?(the GPU failed at )?cublasLt\w+\(\)( answers|:) CUBLAS_STATUS_INTERNAL_ERROR(; which operator it was is not known)?\n',
            done.stderr)
        may_end = name in ("cublasLtMatmul", "cublasLtMatmulDescSetAttribute")
        goes_on = done.returncode == 0 and "passed: 1 of 1" in done.stdout
        expect(goes_on or (may_end and is_last), f"{what}: {done.returncode} {done.stdout}{done.stderr}")
        if name == "cublasLtMatmul" and "--fast-run" not in flags:
            expect(is_last, f"{what}: {done.returncode} {done.stderr}")
        if goes_on and name not in ("cublasLtCreate", "cublasLtMatmulAlgoConfigGetAttribute", "cublasLtMatmul"):
            expect(re.search(rf"[01] of 2 products by .*; for others {name}\(\) answers CUBLAS_STATUS_INTERNAL_ERROR\n",
                             done.stderr), f"{what} is told: {done.stderr}")
    return seen


def check_failures(model, folder):
    seen = fail_each(model, (), folder)
    for name in ("cublasLtCreate", "cublasLtMatrixLayoutCreate", "cublasLtMatmulDescCreate",
                 "cublasLtMatmulDescSetAttribute", "cublasLtMatmulPreferenceCreate",
                 "cublasLtMatmulPreferenceSetAttribute", "cublasLtMatmulAlgoGetHeuristic",
                 "cublasLtMatmulAlgoConfigGetAttribute", "cublasLtMatmul"):
        expect(seen.get(name, 0) > 0, f"{name} is among what failed: {seen}")
    fail_each(model, ("--fast-run",), folder)
    fail_each(model, ("--record-comp-seq", "--streams", "2"), folder)


def check_words(model):
    for words, sentence in ((("--full-run",), "--full-run, --reproducible"), (("--reproducible",), "--reproducible"),
                            (("--layout-transform", "cpu"), "--layout-transform cpu chooses for the CPU"),
                            (("--fast-run", "--fast-run-shared-batch-size", "2"), "shared batches")):
        done = run(model, "--no-trace", *words)
        expect(done.returncode == 2 and sentence in done.stderr, f"{words}: {done.returncode} {done.stderr}")
    done = emulated.run([BUILD / "runtime/load_and_run", model / "model.onnx", "--tf32", "--no-trace"])
    expect(done.returncode == 2 and "--tf32 is of a GPU" in done.stderr, done.stderr)


with tempfile.TemporaryDirectory() as name:
    place = pathlib.Path(name)
    everything, products = make_all(place / "all")
    two = make_two(place / "two")
    check_results(everything, products, place)
    check_absent(everything, products, place)
    check_behind(place)
    check_gelu(place)
    check_choice(two, place)
    check_workspaces(two, place)
    check_tf32(everything, products)
    check_failures(two, place)
    check_words(two)
for failure in failures:
    print(failure)
sys.exit(1 if failures else 0)
