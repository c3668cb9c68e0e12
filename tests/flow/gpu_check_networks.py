#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Line i of scripts/gpu-check, as far as no GPU is needed: small networks on the emulated device, whose models
ONNX reads, and what it makes of figures that are known."""
import os
import pathlib
import re
import sqlite3
import sys
import tempfile

from gpu_script import load_script

BUILD = pathlib.Path(os.environ["OPTRACE_BUILD_ROOT"])
EMULATED = BUILD / "tests/support/cuda/emulated"
failures = []


def expect(condition, what):
    if not condition:
        failures.append(what)


def refusal(call, *arguments):
    """The words of what it finds wrong, None where all is as it has to be."""
    import common
    try:
        call(*arguments)
    except common.Failed as why:
        return str(why)
    return None


def check_models():
    """Shapes and products of what networks.py writes, by another reader."""
    import networks
    import onnx
    for name, make, count, dims in (
            ("resnet50", lambda: networks.resnet50(2, 64), {"Conv": 53, "Relu": 49, "Add": 16, "Gemm": 1}, [2, 1000]),
            ("encoder", lambda: networks.encoder(2, 8, 24, 3, 4), {"MatMul": 3 * 8, "Softmax": 3, "Gelu": 3}, [2, 8, 24]),
            ("attention", lambda: networks.one_attention(2, 3, 5, 4), {"MatMul": 2, "Softmax": 1}, [2, 3, 5, 4]),
            ("stored", lambda: networks.stored_attention(2, 3, 7, "float16", 5, 4), {"Attention": 1}, [2, 5, 3, 4])):
        graph = onnx.load_model_from_string(make()).graph
        kinds = [node.op_type for node in graph.node]
        expect({kind: kinds.count(kind) for kind in count} == count, f"{name}: {kinds}")
        out = [dim.dim_value for dim in graph.output[0].type.tensor_type.shape.dim]
        expect(out == dims and len(graph.output) == 1, f"{name}: {out}")
    for name, number in (("float16", onnx.TensorProto.FLOAT16), ("bfloat16", onnx.TensorProto.BFLOAT16)):
        model = onnx.load_model_from_string(networks.stored_attention(2, 3, 7, name))
        types = [one.type.tensor_type.elem_type for one in [*model.graph.input, *model.graph.output]]
        expect(types == [number] * 4 and model.opset_import[0].version == 23, f"attention of {name}: {types}")
    big = sum(len(tensor.raw_data) for tensor in onnx.load_model_from_string(networks.resnet50(1)).graph.initializer) // 4
    expect(big == 25530472, f"ResNet-50 has {big} parameters")


def check_libraries(script, folder):
    """What computes products and convolutions is PyTorch's, and nothing else of what came with it."""
    for name in ("torch/__init__.py", "nvidia/cudnn/lib/libcudnn.so.9", "nvidia/cublas/lib/libcublasLt.so.13",
                 "nvidia/nccl/lib/libnccl.so.2"):
        (folder / "packages" / name).parent.mkdir(parents=True)
        (folder / "packages" / name).touch()
    found = script.Place(BUILD, False, folder, folder / "packages").computing()
    parts = found.get("LD_LIBRARY_PATH", "").split(":")
    expect(parts[-2:] == [str(folder / "packages/nvidia" / name / "lib") for name in ("cublas", "cudnn")] and
           not any("nccl" in part for part in parts), f"libraries of PyTorch: {found}")


def check_emulated(script, folder):
    import computing

    class Small(computing.Sizes):
        networks = (("encoder", 1, {"rows": 4, "width": 16, "layers": 1, "heads": 2}),)
        attentions = (("float16", 1, 2, 20), ("bfloat16", 2, 17, 20))
        moved, steps = (16, 24), 2

    place = script.Place(BUILD, False, folder, None)
    os.environ.update({"LD_LIBRARY_PATH": str(EMULATED), "ASAN_OPTIONS": "detect_leaks=0",
                       "CUDA_DOUBLE_KERNELS": "peak_copy=20000,peak_multiply_add=8000000"})
    text = refusal(computing.check_networks, place, Small)
    expect(text and re.search(r"Transpose reaches \d+% of what copies do, not 80%", text),
           f"an emulated device is as fast as its copies: {text}")
    text = computing.try_network(place, Small, *Small.networks[0])[0]
    expect(re.fullmatch(r"encoder x1: \S+ ms \(eager:? .*, compiled:? .*, onnxruntime:? .*\), in float16 \S+ ms "
                        r"\(eager16:? .*, compiled16:? .*\), recorded \S+%, CUPTI absent, its own by events", text),
           f"a network: {text}")
    for one, ways in zip(Small.attentions, (r"\(cudnn:? .*, eager16:? ", r"\(cudnn_bf16:? .*, eager_bf16:? ")):
        text = computing.try_attention(place, Small, *one)
        expect(re.match(rf"attention of {one[0]} x{one[1]}, {one[2]} queries of 20 keys: \S+ ms {ways}", text), text)
    os.environ["OPTRACE_CUPTI"] = str(BUILD / "tests/support/libcupti.so.13")
    text = computing.try_network(place, Small, *Small.networks[0])[0]
    expect(re.search(r", own records' [+-]\d+\.\d%$", text), f"with a CUPTI: {text}")
    del os.environ["OPTRACE_CUPTI"]
    os.environ["CUDA_DOUBLE_FAIL"] = "cuLaunchKernel=719"
    text = refusal(computing.check_networks, place, Small)
    expect(text and "LAUNCH_FAILED" in text, f"a launch fails: {text}")
    del os.environ["CUDA_DOUBLE_FAIL"]


def check_judgements(script, folder):
    import computing
    expect(computing.judge("n", True, 0.009, (-0.009, 0.009)) == [], "within 1 %")
    expect(computing.judge("n", True, 0.011, (None, None)) == ["n: recording costs 1.1%, more than 1%"], "recording")
    for offs in ((-0.02, None), (None, 0.02), (0.001, -0.02)):
        expect(len(computing.judge("n", True, 0, offs)) == 1 and computing.judge("n", False, 0, offs) == [], f"sums {offs}")
    text, problems = computing.judge_bandwidth({"Add": 85.0, "Relu": 79.0}, 100.0)
    expect(text.endswith("Add 85%, Relu 79%") and problems == ["Relu reaches 79% of what copies do, not 80%"],
           f"bandwidth: {text} {problems}")

    def infer(_place, _model, steps, store, level=None, options=(), extra=()):
        """Runs of 100 ns by events, of 98 by load_and_run's own records, of 103 by CUPTI, which sees those that warm
        up, too."""
        by_events = "OPTRACE_CUPTI" in dict(extra) or not level and not has_own[0]
        with sqlite3.connect(store) as connection:
            connection.execute("CREATE TABLE v_event (lane_kind, run, op_type, dur_ns, op_name)")
            runs = steps + computing.WARM_UPS if level else steps
            connection.executemany("INSERT INTO v_event VALUES ('stream', ?, ?, ?, NULL)",
                                   [(None, "kernel", 103)] * runs if level else
                                   [(run, "Add", 100 if by_events else 98) for run in range(runs)])
            connection.execute("INSERT INTO v_event VALUES ('thread', NULL, 'mark', 0, ?)",
                               ("CUDA: times of the device: 7 runs by " + ("events: why" if by_events else "records of CUPTI 13.5"),))
        expect(options == (), "what chooses kernels runs others before")

    place, kept, has_own = script.Place(BUILD, False, folder, None), computing.infer, [True]
    computing.infer = infer
    try:
        offs = computing.sums_off(place, "m", "known", 7)
        has_own[0] = False
        others = computing.sums_off(place, "m", "others", 7)
    finally:
        computing.infer = kept
    expect(abs(offs[0] - 0.03) < 1e-9 and abs(offs[1] + 0.02) < 1e-9, f"sums that are 3 and -2 % off: {offs}")
    expect(abs(others[0] - 0.03) < 1e-9 and others[1] is None, f"its own by events: {others}")


def main():
    if not (EMULATED / "libcuda.so.1").exists():
        print("this build has no emulated device")
        return 77
    script = load_script()
    with tempfile.TemporaryDirectory() as name:
        check_judgements(script, pathlib.Path(name))
        check_libraries(script, pathlib.Path(name))
        check_emulated(script, pathlib.Path(name))
    check_models()
    print("\n".join(failures) or "ok")
    return 1 if failures else 0


sys.exit(main())
