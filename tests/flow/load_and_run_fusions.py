#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""load_and_run's options that change how a model is computed: each says on how many operators it took
effect, can be left out, and leaves the results as they were."""
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


def expect(condition, what, done=None):
    if not condition:
        sys.exit(what + (f"\nexit status {done.returncode}\n{done.stdout}{done.stderr}" if done else ""))


def run(folder, *words):
    environment = dict(os.environ, OPTRACE_SOCKET="/nonexistent/collector.sock")
    return subprocess.run([str(PROGRAM), "model.onnx", *words], cwd=folder, capture_output=True,
                          text=True, env=environment, check=False)


def constant(name, values):
    return numpy_helper.from_array(numpy.array(values, dtype=numpy.float32), name)


def make_model(folder, seed):
    """An image of bytes, prepared, convolved, and a GELU spelled out behind it."""
    random = numpy.random.default_rng(seed)
    weights = random.normal(size=(16, 3, 3, 3)).astype(numpy.float32) / 5
    nodes = [
        helper.make_node("Cast", ["image"], ["floats"], name="cast", to=TensorProto.FLOAT),
        helper.make_node("Transpose", ["floats"], ["turned"], name="turn", perm=[0, 3, 1, 2]),
        helper.make_node("Sub", ["turned", "mean"], ["centred"], name="centre"),
        helper.make_node("Mul", ["centred", "scale"], ["scaled"], name="scaling"),
        helper.make_node("Conv", ["scaled", "weights"], ["conv"], name="conv"),
        helper.make_node("Mul", ["conv", "scale"], ["small"], name="small"),
        helper.make_node("HardSigmoid", ["small"], ["gate"], name="gate"),
        helper.make_node("Mul", ["conv", "gate"], ["gated"], name="gated"),
        helper.make_node("GlobalAveragePool", ["gated"], ["pooled"], name="pool"),
        helper.make_node("Flatten", ["pooled"], ["flat"], name="flat"),
        helper.make_node("MatMul", ["flat", "last"], ["y"], name="last"),
    ]
    graph = helper.make_graph(
        nodes, "main", [helper.make_tensor_value_info("image", TensorProto.UINT8, [2, 9, 8, 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 5])],
        [constant("mean", [[[120]], [[110]], [[100]]]), constant("scale", 1 / 64),
         numpy_helper.from_array(weights, "weights"),
         constant("last", random.normal(size=(16, 5)))])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    model.ir_version = 8
    onnx.save(model, folder / "model.onnx")


def output(folder, *words):
    """What the run of that image gives."""
    for old in folder.glob("run*"):
        old.unlink()
    done = run(folder, "--iter", "1", "--warmup-iter", "0", "--seed", "3", "--bin-out-dump", ".",
               *words)
    expect(done.returncode == 0, f"{words} fails", done)
    files = sorted(folder.glob("run0-*"))
    expect(len(files) == 1, f"{words} dumps {files}", done)
    return numpy.frombuffer(files[0].read_bytes()[-2 * 5 * 4:], dtype=numpy.float32), done


def check_option(folder, option, sentence, tolerance):
    with_it, done = output(folder, f"--{option}")
    expect(sentence in done.stderr, f"no '{sentence}'", done)
    without, done = output(folder, f"--no-{option}")
    expect(f"--{option}:" not in done.stderr, f"--no-{option} speaks", done)
    expect(numpy.allclose(with_it, without, rtol=tolerance, atol=tolerance),
           f"{option}: {with_it}, {without}")
    done = run(folder, f"--{option}", f"--no-{option}")
    expect(done.returncode == 2 and "exclude each other" in done.stderr, f"{option} and --no-", done)
    done = run(folder, "--verify-against", "ref")
    expect(done.returncode == 0, "the reference differs", done)


def check_graph(folder):
    """What was fused is seen, with the names of all that it stands for."""
    done = run(folder, "--print-graph", "text", "--print-stage", "after")
    expect("FusedPreprocess[" in done.stdout and "# cast, turn, centre, scaling" in done.stdout,
           "no preparation in the graph", done)
    expect("FusedElementwise[" in done.stdout and "# small, gate, gated" in done.stdout,
           "no chain in the graph", done)
    done = run(folder, "--perf-report", "--iter", "2")
    expect(done.returncode == 0 and "FusedPreprocess:" in done.stdout, "no summary", done)


def check_half(folder):
    """Stored in half precision: said, close to the model in its own types, and not the same."""
    plain, done = output(folder)
    for option, dtype, bound in (("--fp16", "float16", 0.01), ("--enable-ioc16", "float16", 0.01),
                                 ("--bf16", "bfloat16", 0.1)):
        got, done = output(folder, option)
        expect(f"6 operators read or write tensors stored in {dtype}; all compute in float32, " in
               done.stderr, f"no word of {option}", done)
        error = numpy.abs(got - plain).max()
        expect(0 < error < bound, f"{option} is {error} off", done)
        done = run(folder, option, "--verify-against", "ref")
        expect(done.returncode == 0, f"{option}: the reference differs", done)
        done = run(folder, option, "--print-graph", "text", "--print-stage", "after")
        expect(f"-> {dtype}, " in done.stdout, f"{option}: none in the graph", done)
    done = run(folder, "--fp16", "--bf16")
    expect(done.returncode == 2 and "exclude each other" in done.stderr, "--fp16 and --bf16", done)


def check_verify(folder):
    """--verify says how far half precision is off."""
    data = folder / "test_data_set_0"
    data.mkdir()
    image = numpy.random.default_rng(1).integers(0, 256, (2, 9, 8, 3), dtype=numpy.uint8)
    (data / "input_0.pb").write_bytes(numpy_helper.from_array(image, "image").SerializeToString())
    numpy.save(folder / "image.npy", image)
    done = run(folder, "--input", "image:image.npy", "--iter", "1", "--warmup-iter", "0",
               "--bin-out-dump", ".")
    expect(done.returncode == 0, "no output", done)
    bytes_ = sorted(folder.glob("run0-*"))[0].read_bytes()[-2 * 5 * 4:]
    y = numpy.frombuffer(bytes_, dtype=numpy.float32).reshape(2, 5)
    (data / "output_0.pb").write_bytes(numpy_helper.from_array(y, "y").SerializeToString())
    done = run(folder, "--verify", ".")
    expect(done.returncode == 0, "it is not its own output", done)
    done = run(folder, "--verify", ".", "--bf16", "--rtol", "1e-3", "--atol", "1e-7")
    expect(done.returncode == 1 and "worst at" in done.stdout, "bfloat16 is as good", done)
    done = run(folder, "--verify", ".", "--bf16")
    expect(done.returncode == 0, "bfloat16 is no good at all", done)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        make_model(folder, 5)
        check_option(folder, "enable-fuse-preprocess",
                     "--enable-fuse-preprocess: 4 operators are computed together, in 1 passes",
                     1e-6)
        check_option(folder, "enable-jit",
                     "--enable-jit: 3 operators are computed together, in 1 chains (no code", 1e-5)
        check_graph(folder)
        check_half(folder)
        check_verify(folder)


main()
