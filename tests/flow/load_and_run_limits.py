#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""--max-memory and --max-time of load_and_run: a model that needs more ends with exit status 3 and
one sentence, whether it grows while it runs, while it is loaded, or has its sizes in the file."""
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

PROGRAM = pathlib.Path(os.environ["OPTRACE_BUILD_ROOT"]) / "runtime" / "load_and_run"
FOREVER = 2**63 - 1


def expect(condition, what, done=None):
    if not condition:
        sys.exit(what + (f"\nexit status {done.returncode}\n{done.stdout}{done.stderr}" if done else ""))


def run(model, *words):
    environment = dict(os.environ, OPTRACE_SOCKET="/nonexistent/collector.sock")
    return subprocess.run([str(PROGRAM), str(model), "--iter", "1", *words], capture_output=True,
                          text=True, env=environment, check=False)


def expect_refused(done, *parts):
    expect(done.returncode == 3, f"not refused for {parts}", done)
    said = [line for line in done.stderr.splitlines() if "it needs more" in line or "longer" in line]
    expect(len(said) == 1 and said[0].startswith("load_and_run: "), "not one sentence", done)
    for part in parts:
        expect(part in said[0], f"no '{part}'", done)


def integers(name, values):
    return numpy_helper.from_array(numpy.array(values, dtype=numpy.int64), name)


def value(name, dtype, shape):
    return helper.make_tensor_value_info(name, dtype, shape)


def save(path, nodes, inputs, outputs, constants=()):
    graph = helper.make_graph(nodes, "main", inputs, outputs, list(constants))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    model.ir_version = 8
    onnx.save(model, path)
    return path


def loop_body(nodes, outputs, states=()):
    return helper.make_graph(
        [helper.make_node("Identity", ["going"], ["goes_on"], name="keep"), *nodes], "body",
        [value("turn", TensorProto.INT64, []), value("going", TensorProto.BOOL, []), *states],
        [value("goes_on", TensorProto.BOOL, []), *outputs])


def doubling(path, turns):
    """A Loop whose state is twice as long after each turn."""
    body = loop_body([helper.make_node("Concat", ["s", "s"], ["twice"], name="double", axis=0)],
                     [value("twice", TensorProto.FLOAT, [None])], [value("s", TensorProto.FLOAT, [None])])
    return save(path, [helper.make_node("Loop", ["turns", "", "x"], ["y"], name="grow", body=body),
                       helper.make_node("ReduceSum", ["y"], ["sum"], name="sum", keepdims=0)],
                [value("x", TensorProto.FLOAT, [4])], [value("sum", TensorProto.FLOAT, [])],
                [integers("turns", turns)])


def collecting(path, is_counted):
    """A Loop that keeps 64 KiB of each turn; how often it turns is known before, or only then."""
    body = loop_body([helper.make_node("Identity", ["x"], ["copy"], name="copy")],
                     [value("copy", TensorProto.FLOAT, [16384])])
    if not is_counted:
        body.node[0].CopyFrom(helper.make_node("Less", ["turn", "turns"], ["goes_on"], name="less"))
    return save(path, [helper.make_node("Loop", ["turns", ""], ["y"], name="keep", body=body)],
                [value("x", TensorProto.FLOAT, [16384])], [value("y", TensorProto.FLOAT, [None, 16384])],
                [integers("turns", 1000000)])


def endless(path, is_constant):
    """Two Loops, one in the other, that do nothing for ever; all constant: while it is loaded."""
    inner = loop_body([helper.make_node("Add", ["b", "x"], ["c"], name="add")],
                      [value("c", TensorProto.FLOAT, [1])], [value("b", TensorProto.FLOAT, [1])])
    outer = loop_body([helper.make_node("Loop", ["turns", "", "a"], ["d"], name="inner", body=inner)],
                      [value("d", TensorProto.FLOAT, [1])], [value("a", TensorProto.FLOAT, [1])])
    constants = [integers("turns", FOREVER)]
    if is_constant:
        constants.append(numpy_helper.from_array(numpy.ones(1, dtype=numpy.float32), "x"))
    return save(path, [helper.make_node("Loop", ["turns", "", "x"], ["y"], name="outer", body=outer)],
                [] if is_constant else [value("x", TensorProto.FLOAT, [1])],
                [value("y", TensorProto.FLOAT, [1])], constants)


def large(path, kind):
    """One tensor of 4 GiB, in one of the ways to make one out of few bytes, and its sum."""
    size = integers("size", [1024, 1024, 1024])
    node = {
        "ConstantOfShape": helper.make_node("ConstantOfShape", ["size"], ["y"], name="large"),
        "Expand": helper.make_node("Expand", ["x", "size"], ["y"], name="large"),
        "Tile": helper.make_node("Tile", ["x", "size"], ["y"], name="large"),
    }[kind]
    return save(path, [node, helper.make_node("ReduceSum", ["y"], ["sum"], name="sum", keepdims=0)],
                [value("x", TensorProto.FLOAT, [1, 1, 1])], [value("sum", TensorProto.FLOAT, [])], [size])


def sized_by_input(path):
    """The size is an input's: known when it is bound."""
    return save(path, [helper.make_node("ConstantOfShape", ["size"], ["y"], name="large")],
                [value("size", TensorProto.INT64, [1])], [value("y", TensorProto.FLOAT, [None])])


def slow(path):
    """One operator that takes far longer than a second."""
    shape = [6000, 6000]
    return save(path, [helper.make_node("MatMulInteger", ["x", "x"], ["y"], name="slow")],
                [value("x", TensorProto.UINT8, shape)], [value("y", TensorProto.INT32, shape)])


def check_memory(folder):
    model = doubling(folder / "doubling.onnx", 40)
    expect_refused(run(model, "--max-memory", "64MiB"), "--max-memory: it needs more than 64 MiB")
    expect_refused(run(model, "--max-memory", "64MiB", "--thread", "3"), "64 MiB")
    expect_refused(run(model, "--max-memory", "64MiB", "--no-optimize-for-inference"), "64 MiB")
    done = run(doubling(folder / "short.onnx", 10), "--max-memory", "64MiB")
    expect(done.returncode == 0, "a small loop is refused", done)
    for is_counted in True, False:
        model = collecting(folder / "collecting.onnx", is_counted)
        expect_refused(run(model, "--max-memory", "64MiB"), "it needs more than 64 MiB")
    for kind in ["ConstantOfShape", "Expand", "Tile"]:
        model = large(folder / f"{kind}.onnx", kind)
        expect_refused(run(model, "--max-memory", "256MiB"), "256 MiB", "4.00 GiB more are needed")
    model = sized_by_input(folder / "sized.onnx")
    expect_refused(run(model, "--input", "size:500000000", "--max-memory", "256MiB"), "256 MiB")
    done = run(model, "--input", "size:5", "--max-memory", "256MiB")
    expect(done.returncode == 0, "a small size is refused", done)
    done = run(model, "--input", "size:5", "--max-memory", "none")
    expect(done.returncode == 0, "no limit refuses", done)


def check_time(folder):
    running = endless(folder / "endless.onnx", False)
    for words in [], ["--thread", "2"], ["--cpu-default"], ["--record-comp-seq"]:
        expect_refused(run(running, "--max-time", "300ms", *words),
                       "--max-time: it takes longer than 0.3 s, stopped")
    expect_refused(run(endless(folder / "loading.onnx", True), "--max-time", "300ms"),
                   "it takes longer than 0.3 s")
    expect_refused(run(slow(folder / "slow.onnx"), "--max-time", "300ms"), "it takes longer than 0.3 s")
    done = run(doubling(folder / "short.onnx", 10), "--max-time", "10m")
    expect(done.returncode == 0, "a short run is stopped", done)
    words = ["--iter", "1000000000", "--max-time", "300ms", "--json"]
    expect_refused(run(folder / "short.onnx", *words), "it takes longer than 0.3 s")


def check_words(folder):
    model = doubling(folder / "short.onnx", 10)
    for option in "max-memory", "max-time":
        for text in "0", "-1", "12", "many", "", "1e9", "0B", "0s":
            done = run(model, f"--{option}={text}")
            expect(done.returncode == 2 and f"--{option} takes a" in done.stderr, f"'{text}'", done)


def main():
    with tempfile.TemporaryDirectory() as name:
        check_words(pathlib.Path(name))
        check_memory(pathlib.Path(name))
        check_time(pathlib.Path(name))
    return 0


if __name__ == "__main__":
    sys.exit(main())
