#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""load_and_run --cuda on the emulated device: results, copies, what is recorded, errors, what is left."""
import json
import os
import pathlib
import re
import sqlite3
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import emulated
from emulated import BUILD, EMULATED, calls_that_matter, is_clean, left_of

ROOT = pathlib.Path(os.environ["OPTRACE_SOURCE_ROOT"])
CASES = ROOT / "tests" / "graphs" / "cases"
LINEAR = CASES / "lowered_linear"        # the device does all of it
ATTENTION = CASES / "lowered_attention"  # the CPU does some
failures = []


def expect(condition, what):
    if not condition:
        failures.append(what)


def run(model, *flags, before=(), **environment):
    words = [*before, BUILD / "runtime" / "load_and_run", model / "model.onnx", "--cuda", *flags]
    return emulated.run(words, **environment)


def check_results():
    """Each model in each order, with copies within the run, and as a graph."""
    for case in (LINEAR, ATTENTION, CASES / "lowered_layers", CASES / "zeros_counted_as_the_run_does"):
        for order in ("forward", "reverse", "random:3"):
            for flags in ((), ("--enable-offload-copy",), ("--record-comp-seq",)):
                done = run(case, "--verify", case, "--no-trace", *flags, CUDA_DOUBLE_ORDER=order)
                expect(done.returncode == 0,
                       f"{case.name} {order} {flags}: {done.returncode} {done.stdout}{done.stderr}")


def check_effects(folder):
    """Runs as graphs, copies to the byte."""
    path = folder / "left"
    done = run(LINEAR, "--no-trace", "--iter", "5", "--warmup-iter", "1", "--record-comp-seq",
               CUDA_DOUBLE_LEFT=str(path))
    left = left_of(path)
    expect(done.returncode == 0 and "a run is one graph" in done.stderr, done.stderr)
    expect(left["graphs"] == 6 and is_clean(left), f"6 runs as graphs: {left}")
    # Once a run the word is read that tells of an index out of range.
    told = re.search(r"(\d+) copies in each run, (\d+) B to it and (\d+) B from it", done.stderr)
    expect(told and told.groups() == ("0", "0", "0"), f"no copies within runs: {done.stderr}")
    expect(left["copied out"] == 6 * 4, f"no output is copied unasked: {left}")
    run(LINEAR, "--no-trace", "--iter", "5", "--copy-to-host", CUDA_DOUBLE_LEFT=str(path))
    copied = left_of(path)["copied out"]
    expect(copied > 6 * 4 and (copied - 6 * 4) % 6 == 0, f"each run copies its outputs: {copied}")
    once = run(LINEAR, "--no-trace", "--iter", "0", "--warmup-iter", "0", CUDA_DOUBLE_LEFT=str(path))
    first = left_of(path)["copied in"]
    run(LINEAR, "--no-trace", "--iter", "50", CUDA_DOUBLE_LEFT=str(path))
    expect(once.returncode == 0 and left_of(path)["copied in"] == first,
           "parameters and inputs are copied once")


def check_trace(folder):
    """Host and device of each operator, tied to each other."""
    store = folder / "run.db"
    done = run(ATTENTION, "--trace", "--iter", "3", "--warmup-iter", "0",
               before=(BUILD / "client" / "cli" / "optrace", "run", "-f", "-o", store, "--"))
    expect(done.returncode == 0, f"recorded: {done.stdout}{done.stderr}")
    facts = re.search(r"(\d+) operators on it, (\d+) on the CPU; (\d+) copies", done.stderr)
    expect(facts, done.stderr)
    if not store.exists() or not facts:
        return
    with sqlite3.connect(store) as connection:
        rows = connection.execute(
            "SELECT lane_kind, lane_device, run, correlation, op_name, op_type, start_ns, end_ns "
            "FROM v_event WHERE correlation IS NOT NULL AND run IS NOT NULL").fetchall()
    steps = sum(int(number) for number in facts.groups())
    host = {(row[2], row[3]): row for row in rows if row[0] == "thread"}
    device = {(row[2], row[3]): row for row in rows if row[0] != "thread"}
    expect(len(host) == 3 * steps and set(host) == set(device),
           f"{steps} steps of 3 runs, host {len(host)} and device {len(device)}")
    streams = [row for row in rows if row[0] == "stream"]
    on_it = int(facts.group(1)) + sum(1 for row in streams if row[5] == "CopyToDevice") // 3
    expect(len(streams) == 3 * on_it and all(row[1] == "cuda:0" for row in streams),
           f"{on_it} of them on the stream in each run: {len(streams)}")
    for key, row in device.items():
        expect(key not in host or row[6] >= host[key][6],
               f"{row[4]} begins on the device before it is handed over")


def check_times(folder):
    """What the device scripted, where it is busy: an event before a kernel comes as early as the device is
    free, which may be before the launch."""
    store = folder / "times.db"
    done = run(LINEAR, "--trace", "--iter", "2", "--warmup-iter", "0",
               before=(BUILD / "client" / "cli" / "optrace", "run", "-f", "-o", store, "--"),
               CUDA_DOUBLE_KERNELS="gemm_f32=30000000")
    expect(done.returncode == 0 and store.exists(), f"recorded: {done.stdout}{done.stderr}")
    if not store.exists():
        return
    with sqlite3.connect(store) as connection:
        times = [row[0] for row in connection.execute(
            "SELECT dur_ns FROM v_event WHERE lane_kind = 'stream' AND op_type IN ('MatMul', 'Gemm') "
            "ORDER BY start_ns")]
    exact = [time for time in times if abs(time - 30000000) <= 1500]
    expect(len(times) > 4 and min(times) >= 29998500 and len(exact) >= len(times) - 4,
           f"products take what the device says: {times}")


def check_errors(folder):
    told = (({"CUDA_DOUBLE_DRIVER": "none"}, (), "the driver finds no GPU"),
            ({"CUDA_DOUBLE_DRIVER": "old"}, (), "no kernels for a GPU|kernels cannot be loaded"),
            ({"LD_LIBRARY_PATH": "/nowhere"}, (), "no driver of NVIDIA's on this machine"),
            ({}, ("--cuda=7",), "there is no GPU 7: the driver finds 1"),
            ({"CUDA_DOUBLE_MEMORY": "4096"}, (), "the device has no room for .*: .* are needed, and "),
            ({"CUDA_DOUBLE_FAIL": "cuLaunchKernel=719"}, (),
             'node ".*" .*: the GPU failed at kernel .*: CUDA_ERROR_LAUNCH_FAILED'))
    for environment, flags, sentence in told:
        path = folder / "left"
        path.unlink(missing_ok=True)
        done = run(LINEAR, "--no-trace", "--iter", "2", *flags,
                   **{**environment, "CUDA_DOUBLE_LEFT": str(path)})
        expect(done.returncode == 4 and re.search(sentence, done.stderr),
               f"{environment} {flags}: {done.returncode} {done.stderr}")
        expect(not path.exists() or is_clean(left_of(path)), f"{environment}: {path} has more")
    for words in (("--cuda=x",), ("--device", "cuda"), ("--cpu",), ("--full-run",), ("--reproducible",), ("--counters", "cycles"), ("--cpu-default",)):
        done = run(LINEAR, "--no-trace", *words)
        expect(done.returncode == 2 and len(done.stderr.splitlines()) == 2,
               f"{words}: {done.returncode} {done.stderr}")


def fail_each(folder, model, flags, answer):
    """Calls in turn fail: one sentence, and nothing is left. Only what is asked for a name, or
    comes after all was done, may fail unseen."""
    path = folder / "left"
    words = ("--no-trace", "--iter", "1", "--warmup-iter", "0", *flags)
    run(model, *words, CUDA_DOUBLE_LEFT=str(path), CUDA_DOUBLE_CALLS=str(folder / "calls"))
    calls = left_of(path)["calls"]
    expect(calls > 40, f"{model.name} {flags}: {calls} calls")
    told = set()
    for number in calls_that_matter(folder / "calls"):
        path.unlink(missing_ok=True)
        done = run(model, *words, CUDA_DOUBLE_LEFT=str(path), CUDA_DOUBLE_FAIL=f"#{number}={answer}")
        left = left_of(path)
        which = [what.split()[1] for what in left if what.startswith("failed ")]
        what = f"{model.name} {flags} call {number} {which} answers {answer}"
        sentences = [line for line in done.stderr.splitlines()
                     if not re.search("has no data, using|operators on it|operators are handed over|--streams: |cuBLASLt is not used", line)]
        may_go_on = ["cuDeviceGetName", "cuDeviceGetAttribute", *(["cuMemHostAlloc", "cuEventCreate"] if answer == 2 else [])]
        expect(len(which) == 1, f"{what}: {left}")
        if number > calls - (4 if "--streams" in flags else 2):  # all was done; as it is closed
            may_go_on = ["cuCtxSetCurrent", "cuStreamSynchronize"]
        if which and which[0] in may_go_on:
            expect(done.returncode == 0, f"{what}: {done.returncode} {done.stderr}")
        else:
            expect(done.returncode == 4 and len(sentences) == 1 and sentences[0].startswith("load_and_run: "),
                   f"{what}: {done.returncode} {done.stderr}")
        expect(is_clean(left), f"{what} leaves {left}")
        told.update(which)
    return told


def check_each_failure(folder):
    profile = ("--profile", folder / "profile.json")
    told = set()
    for flags in ((), ("--record-comp-seq",), profile, ("--streams", "3"), ("--streams", "3", "--record-comp-seq")):
        told |= fail_each(folder, LINEAR, flags, 999)
    told |= fail_each(folder, LINEAR, (), 2)
    fail_each(folder, ATTENTION, (), 999)
    for name in ("cuMemAlloc_v2", "cuMemHostAlloc", "cuLaunchKernel", "cuStreamEndCapture", "cuEventElapsedTime",
                 "cuStreamWaitEvent"):
        expect(name in told, f"{name} is among what failed: {told}")


def check_no_memory(folder):
    """Too little in the middle of a run: which operator, and how much there is."""
    done = run(LINEAR, "--no-trace", CUDA_DOUBLE_FAIL="cuLaunchKernel=2", CUDA_DOUBLE_MEMORY="1048576")
    expect(done.returncode == 4 and
           re.search(r'node ".+" \(.+\): the GPU failed at kernel \w+: CUDA_ERROR_OUT_OF_MEMORY; '
                     r"\d+ of its 1048576 bytes are free\n", done.stderr), done.stderr)
    path = folder / "left"
    most = re.compile(r'no room for the intermediate tensors: .+ are needed, and .+ are free; most of them '
                      r'at once in ".+" \(.+\), .+B\n')
    done = run(LINEAR, "--no-trace", CUDA_DOUBLE_MEMORY="64", CUDA_DOUBLE_LEFT=str(path))
    expect(done.returncode == 4 and most.search(done.stderr) and is_clean(left_of(path)), done.stderr)


def check_devices():
    """--device in place of --cuda; what is wrong there."""
    def named(*words):
        done = subprocess.run([BUILD / "runtime" / "load_and_run", LINEAR / "model.onnx", "--no-trace", *words],
                              capture_output=True, text=True, check=False,
                              env={**os.environ, "LD_LIBRARY_PATH": str(EMULATED)})
        return done.returncode, done.stderr

    on_it = "--cuda: emulated device"
    for words in (("--device", "cuda"), ("--device=cuda:0",)):
        status, text = named(*words)
        expect(status == 0 and on_it in text, f"{words}: {status} {text}")
    status, text = named("--device", "cpu")
    expect(status == 0 and on_it not in text, f"cpu: {status} {text}")
    status, text = named("--device", "cuda:3")
    expect(status == 4 and "there is no GPU 3" in text, f"cuda:3: {status} {text}")
    for words in (("--device", "gpu"), ("--device", "cuda:"), ("--device", "cuda:x"), ("--device", "cpu", "--cpu"),
                  ("--device", "")):
        status, text = named(*words)
        expect(status == 2 and len(text.splitlines()) == 2, f"{words}: {status} {text}")


def check_memory(folder):
    """Where parameters lie on the device; times of single operators."""
    done = run(LINEAR, "--no-trace", "--get-static-mem-info", folder / "memory")
    chunks = json.loads((folder / "memory" / "StaticMemoryInfo.json").read_text())["chunk"].values()
    arena = max(int(chunk["logic_addr_end"]) for chunk in chunks if chunk["type"] == "static_mem")
    weights = sorted((int(chunk["logic_addr_begin"]), int(chunk["logic_addr_end"])) for chunk in chunks
                     if chunk["type"] == "weight_mem")
    expect(len(weights) > 3 and weights[0][0] >= arena and
           all(a[1] <= b[0] and (b[0] - a[0]) % 256 == 0 for a, b in zip(weights, weights[1:])),
           f"parameters as they lie on the device, behind {arena}: {weights}")
    done = run(LINEAR, "--no-trace", "--trace-eval", "1", "--iter", "1", "--warmup-iter", "0",
               CUDA_DOUBLE_KERNELS="gemm_f32=30000000")
    times = re.findall(r"= (?:Gemm|MatMul)\[.*\nTime: .*?, ([\d.]+)ms", done.stdout)
    expect(len(times) > 2 and all(float(time) >= 30 for time in times), f"products take 30 ms: {times}")
    done = run(ATTENTION, "--no-trace", "--check-dispatch", "--iter", "1")
    expect("does not dispatch kernel on cuda:0" in done.stderr, done.stderr)


def check_float64_cells(folder):
    """RNN, GRU and LSTM of float64, both ways through sequences of several lengths: as on the CPU."""
    random = np.random.default_rng(4)
    for op, gates in (("RNN", 1), ("GRU", 3), ("LSTM", 4)):
        place = folder / op
        constants = {"w": random.standard_normal((2, gates * 9, 5)), "r": random.standard_normal((2, gates * 9, 9)) / 3,
                     "b": random.standard_normal((2, 2 * gates * 9)), "x": random.standard_normal((6, 4, 5)),
                     "l": np.array([6, 1, 0, 4], np.int32)}
        info = lambda name, dims: helper.make_tensor_value_info(name, TensorProto.DOUBLE, dims)
        # What is read is no constant: it would be computed before the run.
        nodes = [helper.make_node("Add", ["x", "z"], ["s"]),
                 helper.make_node(op, ["s", "w", "r", "b", "l"], ["y", "h"], hidden_size=9, direction="bidirectional")]
        graph = helper.make_graph(nodes, op, [info("z", (1,))], [info("y", (6, 2, 4, 9)), info("h", (2, 4, 9))],
                                  [numpy_helper.from_array(value, name) for name, value in constants.items()])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)])
        model.ir_version = 8
        for made in (place, place / "device", place / "cpu"):
            made.mkdir()
        onnx.save(model, str(place / "model.onnx"))
        np.save(place / "z.npy", np.full(1, 0.25))
        words = ("--no-trace", "--iter", "1", "--warmup-iter", "0", "--input", f"z:{place / 'z.npy'}", "--bin-out-dump")
        done = run(place, *words, place / "device")
        other = emulated.run([BUILD / "runtime" / "load_and_run", place / "model.onnx", *words, place / "cpu"])
        expect(done.returncode == 0 and other.returncode == 0 and re.search(": [1-9] operators on it, 0 on the CPU", done.stderr),
               f"{op}: {done.stderr}{other.stderr}")
        expect(len(list((place / "cpu").glob("run0-*"))) >= 2, f"{op}: nothing was dumped")
        for path in (place / "cpu").glob("run0-*"):
            got, want = (np.frombuffer(file.read_bytes()[-2 * 4 * 9 * 8:], np.float64) for file in (place / "device" / path.name, path))
            expect(np.abs(want).max() > 0.01 and np.abs(got - want).max() <= 1e-12, f"{op} {path.name}: {np.abs(got - want).max()}")


def check_upload(folder):
    """Parameters come by way of pinned memory; where there is none, by other."""
    path = folder / "left"
    done = run(LINEAR, "--no-trace", "--iter", "0", "--warmup-iter", "0", CUDA_DOUBLE_LEFT=str(path))
    pinned = left_of(path)["copied in pinned"]
    expect(pinned > 0 and "from pinned memory by 1 copy" in done.stderr, f"{pinned} {done.stderr}")
    done = run(LINEAR, "--verify", LINEAR, "--no-trace", CUDA_DOUBLE_FAIL="cuMemHostAlloc=2",
               CUDA_DOUBLE_LEFT=str(path))
    expect(done.returncode == 0 and left_of(path)["copied in pinned"] == 0 and is_clean(left_of(path)),
           f"without pinned memory: {done.stdout}{done.stderr}{left_of(path)}")


with tempfile.TemporaryDirectory() as name:
    check_results()
    check_effects(pathlib.Path(name))
    check_trace(pathlib.Path(name))
    check_times(pathlib.Path(name))
    check_errors(pathlib.Path(name))
    check_no_memory(pathlib.Path(name))
    check_devices()
    check_memory(pathlib.Path(name))
    check_upload(pathlib.Path(name))
    check_float64_cells(pathlib.Path(name))
    check_each_failure(pathlib.Path(name))
for failure in failures:
    print(failure)
sys.exit(1 if failures else 0)
