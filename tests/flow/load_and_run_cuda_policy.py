#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""load_and_run --cuda --fast-run-algo-policy on the emulated device: what was timed of products and convolutions
is kept in the file, and taken from it without timing; what does not fit any more is timed again."""
import pathlib
import re
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import emulated
from emulated import BUILD, EMULATED, is_clean, left_of

LIBRARIES = ":".join(str(path) for path in (EMULATED, BUILD / "tests/support/cuda/cublaslt",
                                            BUILD / "tests/support/cuda/cudnn"))
failures = []


def expect(condition, what):
    if not condition:
        failures.append(what)


def make_model(folder, rows=8):
    """Two convolutions, one of them with a bias and Relu, and two products."""
    random = np.random.default_rng(8)
    constants = {"c": (4, 3, 3, 3), "d": (4, 4, 3, 3), "b": (4,), "w": (8, 6), "v": (6, 5)}
    node = helper.make_node
    nodes = [node("Conv", ["x", "c", "b"], ["e"], pads=[1, 1, 1, 1]), node("Relu", ["e"], ["f"]),
             node("Conv", ["f", "d"], ["g"], pads=[1, 1, 1, 1]), node("MatMul", ["g", "w"], ["h"]),
             node("Softmax", ["h"], ["i"]), node("MatMul", ["i", "v"], ["y"])]
    info = lambda name, dims: helper.make_tensor_value_info(name, TensorProto.FLOAT, dims)
    graph = helper.make_graph(nodes, "chosen", [info("x", (1, 3, rows, 8))], [info("y", (1, 4, rows, 5))],
                              [numpy_helper.from_array(random.standard_normal(dims).astype(np.float32), name)
                               for name, dims in constants.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    model.ir_version = 8
    folder.mkdir()
    onnx.save(model, str(folder / "model.onnx"))
    return folder / "model.onnx"


def run(model, *flags, **environment):
    words = [BUILD / "runtime" / "load_and_run", model, "--cuda", "--no-trace", "--iter", "1",
             "--layout-transform", "nchw", *flags]
    return emulated.run(words, **{"LD_LIBRARY_PATH": LIBRARIES, **environment})


def script(**fast):
    """Far apart: on a busy machine a launch comes later than the event before it."""
    kernels = ("gemm_f32", "cublasLt_0", "cublasLt_1", "cublasLt_2", "conv_f32", "cudnn_0", "cudnn_1", "cudnn_2")
    return ",".join(f"{name}={fast.get(name, 9000000)}" for name in kernels)


def chosen(model, place, *flags, **environment):
    """What computes, what is said, and what the device counted."""
    profile, left = place / "profile.json", place / "left"
    done = run(model, *flags, "--profile", profile, CUDA_DOUBLE_LEFT=str(left), **environment)
    expect(done.returncode == 0, f"{flags} {environment}: {done.stdout}{done.stderr}")
    expect(is_clean(left_of(left)), f"{flags} leaves {left_of(left)}")
    return sorted(set(re.findall(r"(?:cublasLt|cudnn):\d+", profile.read_text()))), done.stderr


def check_kept(model, place):
    policy = place / "kept.policy"
    words = ("--fast-run", "--fast-run-algo-policy", policy)
    times = script(cublasLt_2=1000000, cudnn_0=1000000)
    found, told = chosen(model, place, *words, CUDA_DOUBLE_KERNELS=times)
    expect(found == ["cublasLt:2", "cudnn:0"] and "2 of 2 products by cuBLASLt 13.2, chosen among 8 ways" in told,
           f"timed: {found} {told}")
    text = policy.read_text()
    expect(re.search(r"^machine emulated device, compute capability 9.0, .*optrace ", text, re.M), text)
    expect(len(re.findall(r"^op cuBLASLt 13.2 product ", text, re.M)) == 2 and
           len(re.findall(r"^op cuDNN 9.28 convolution ", text, re.M)) == 2, text)
    expect(re.search(r"^time \d+ 1024 cublasLt:2 key [0-9a-f]{16}$", text, re.M), text)
    # Other times now, but nothing is timed: with and without --fast-run.
    for flags in (words, words[1:], (*words, "--streams", "2")):
        found, told = chosen(model, place, *flags, CUDA_DOUBLE_KERNELS=script(gemm_f32=1000000, conv_f32=1000000))
        expect(found == ["cublasLt:2", "cudnn:0"] and "timed" not in told and
               told.count(", 2 of them as the policy says") == 2, f"{flags}: {found} {told}")
    expect(policy.read_text() == text, "what was not timed is not written")
    # Own kernels are a choice, too.
    own = place / "own.policy"
    times = script(gemm_f32=1000000, conv_f32=1000000)
    found, _ = chosen(model, place, "--fast-run", "--fast-run-algo-policy", own, CUDA_DOUBLE_KERNELS=times)
    expect(found == [], f"own kernels: {found}")
    found, told = chosen(model, place, "--fast-run-algo-policy", own)
    expect(found == [] and "0 of 2 products by cuBLASLt 13.2, 2 of them as the policy says" in told, f"{found} {told}")


def check_changed(model, other, place):
    """Less workspace, other proposals, other sizes, TF32, another version."""
    policy = place / "changed.policy"
    words = ("--fast-run", "--fast-run-algo-policy", policy)
    times = script(cublasLt_2=1000000, gemm_f32=4000000, cudnn_2=1000000, cudnn_0=4000000)
    chosen(model, place, *words, CUDA_DOUBLE_KERNELS=times)
    found, told = chosen(model, place, *words, "--workspace-limit", "0")
    expect("cublasLt:2" not in found and "cudnn:2" not in found and told.count("as the policy says") == 2,
           f"the next that fits: {found} {told}")
    for order, engines in (("2,0", "2,0"), ("0,1,2", "5,4,1,2"), ("3,2", "6,2")):
        found, told = chosen(model, place, *words, CUDA_DOUBLE_KERNELS=times, CUBLASLT_DOUBLE_PROPOSALS=order,
                             CUDNN_DOUBLE_ENGINES=engines)
        expect(found == ["cublasLt:2", "cudnn:2"] and told.count(", 2 of them as the policy says") == 2 and
               "timed" not in told, f"in another order, {order}: {found} {told}")
    found, told = chosen(model, place, *words, "--tf32", CUDA_DOUBLE_KERNELS=times)
    expect("chosen among 8 ways that were timed" in told and "as the policy says" not in told, f"TF32: {told}")
    entries = policy.read_text().count("\nop ")
    found, told = chosen(other, place, *words, CUDA_DOUBLE_KERNELS=times)
    expect(told.count("ways that were timed") == 2 and policy.read_text().count("\nop ") == entries + 4, f"{told}")
    text = policy.read_text()
    found, told = chosen(model, place, "--fast-run-algo-policy", policy, LD_LIBRARY_PATH=str(EMULATED))
    expect(found == [] and "as the policy says" not in told and policy.read_text() == text, f"without libraries: {told}")


def check_configurations(model, place):
    """Several ways of one algorithm and one engine: known by what they are set to, wherever they are proposed."""
    policy = place / "ways.policy"
    words = ("--fast-run", "--fast-run-algo-policy", policy)
    ways = {"CUBLASLT_DOUBLE_PROPOSALS": "2,2,2", "CUDNN_DOUBLE_ENGINES": "2,2,2", "CUDNN_DOUBLE_FALLBACK": "none",
            "CUDA_DOUBLE_KERNELS": script(cublasLt_2=1000000, cudnn_2=1000000)}
    chosen(model, place, *words, **ways, CUBLASLT_DOUBLE_TILES="5,6,5", CUDNN_DOUBLE_TILES="5,6,5")
    text = policy.read_text()
    for library in ("cublasLt", "cudnn"):
        keys = re.findall(rf"^time \d+ \d+ ({library}:2 key [0-9a-f]{{16}}(?: whole)?)$", text, re.M)
        expect(len(set(keys)) in (2, 4) and all(keys.count(key) <= 2 for key in keys), f"{library}: {keys}")
    for tiles in ("9,6,5", "6,5,9", "5,9,6"):
        found, told = chosen(model, place, *words, **ways, CUBLASLT_DOUBLE_TILES=tiles, CUDNN_DOUBLE_TILES=tiles)
        expect("timed" not in told and found == ["cublasLt:2", "cudnn:2"], f"{tiles}: {found} {told}")
    found, told = chosen(model, place, *words, **ways, CUBLASLT_DOUBLE_TILES="7,8,9", CUDNN_DOUBLE_TILES="7,8,9")
    expect(told.count("ways that were timed") == 2 and "as the policy says" not in told, f"none of them: {told}")


def check_files(model, place):
    done = run(model, "--fast-run-algo-policy", place / "none.policy")
    expect(done.returncode != 0 and "does not exist: --fast-run" in done.stderr, done.stderr)
    done = run(model, "--fast-run", "--fast-run-algo-policy", "/nowhere/a.policy")
    expect(done.returncode != 0 and "/nowhere/a.policy" in done.stderr and len(done.stderr.splitlines()) <= 3, done.stderr)
    damaged = place / "damaged.policy"
    damaged.write_text("optrace-policy 2\nmachine x\n")
    done = run(model, "--fast-run", "--fast-run-algo-policy", damaged)
    expect(done.returncode != 0 and "damaged" in done.stderr, done.stderr)
    # Beside what was timed on the CPU, which stays.
    both = place / "both.policy"
    words = [BUILD / "runtime" / "load_and_run", model, "--no-trace", "--iter", "1", "--fast-run", "--fast-run-algo-policy", both]
    done = emulated.run(words)
    expect(done.returncode == 0, done.stderr)
    before = both.read_text().count("\nop ")
    chosen(model, place, "--fast-run", "--fast-run-algo-policy", both)
    after = both.read_text()
    expect(before > 0 and after.count("\nop ") == before + 4 and after.count("\nmachine ") == 2, after)
    expect(emulated.run(words).returncode == 0 and both.read_text() == after, "the CPU reads its part")


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    small, large = make_model(folder / "small"), make_model(folder / "large", 12)
    check_kept(small, folder)
    check_changed(small, large, folder)
    check_configurations(small, folder)
    check_files(small, folder)
for failure in failures:
    print(failure)
sys.exit(1 if failures else 0)
