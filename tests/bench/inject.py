# SPDX-License-Identifier: Apache-2.0
"""What `optrace run` costs programs that nobody changed: one table, with the goal of each row.

Ways alternate: alone, with nobody listening, recorded; of each the least CPU time of the thread that
was measured. First over small libraries of ours (inject_rows.c), where a call takes next to nothing;
then real programs that scripts/get-programs fetches, beside their own profilers in the same round; rows
whose program is not there say so. Figures of a machine that others use are no figures.

    inject.py [small|onnx_runtime|tensorflow|torch]..."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

BUILD = pathlib.Path(os.environ["OPTRACE_BUILD_ROOT"])
ROOT = pathlib.Path(os.environ["OPTRACE_SOURCE_ROOT"])
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")) / "optrace/programs"
OPTRACE, LIBRARY = BUILD / "client/cli/optrace", BUILD / "client/inject/liboptrace_inject.so"
ROUNDS = int(os.environ.get("OPTRACE_BENCH_ROUNDS", "5"))
sys.path.insert(0, str(ROOT / "tests/flow"))

STAY = "import os; os.sched_setaffinity(0, {os.cpu_count() - 1})"

ORT = STAY + """
import sys, time
import numpy as np
import onnxruntime as ort
options = ort.SessionOptions()
options.intra_op_num_threads = 1
if sys.argv[1] == "profiler":
    options.enable_profiling = True
    options.profile_file_prefix = sys.argv[2] + "/own"
session = ort.InferenceSession(sys.argv[3], options, providers=["CPUExecutionProvider"])
x = {"x": np.ones((2, 10), "f")}
count = int(sys.argv[4])
least = 1e12
for _ in range(40):
    session.run(None, x)
    start = time.thread_time_ns()
    for _ in range(count):
        session.run(None, x)
    least = min(least, (time.thread_time_ns() - start) / count)
    time.sleep(0.02)
start = time.thread_time_ns()
if sys.argv[1] == "profiler":
    session.end_profiling() # what it keeps is written here; what is told to us is written as a run ends
print(least + (time.thread_time_ns() - start) / (40 * (count + 1)))
"""

TENSORFLOW = STAY + """
import sys, time
os.environ["TF_NUM_INTRAOP_THREADS"] = os.environ["TF_NUM_INTEROP_THREADS"] = "1"
import tensorflow as tf
@tf.function(jit_compile=False)
def chain(x):
    for _ in range(100):
        x = tf.raw_ops.Sin(x=x)
    return x
x = tf.ones((4,))
least = 1e12
for _ in range(40):
    chain(x)
    start = time.process_time_ns()
    for _ in range(20):
        chain(x)
    least = min(least, (time.process_time_ns() - start) / 20)
    time.sleep(0.02)
print(least)
"""

rows = []


def run(argv, **more):
    done = subprocess.run([str(word) for word in argv], env={**os.environ, **more}, check=True, capture_output=True,
                          text=True)
    return float(done.stdout.split()[-1])


def recorded(place, *options):
    return [OPTRACE, "run", "-q", "-f", "-o", place / "a.db", *options, "--"]


def beside(argv):
    """The daemon on the first processor; programs go to the last one themselves."""
    return ["taskset", "-c", "0", *argv] if shutil.which("taskset") else argv


def silent():
    """As optrace run would set it, and nobody is there."""
    names = ("LD_PRELOAD", "NVTX_INJECTION64_PATH", "INTEL_LIBITTNOTIFY64")
    return {**{name: str(LIBRARY) for name in names}, "OPTRACE_SOCKET": "/nowhere/socket"}


def least(ways, rounds=ROUNDS):
    """{way: (argv, environment)} to {way: ns}, in turn."""
    out = {}
    for _ in range(rounds):
        for way, (argv, more) in ways.items():
            ns = run(argv, **more)
            out[way] = min(ns, out.get(way, ns))
    return out


def add(name, ns, goal=None, unit="ns"):
    rows.append((name, ns, goal, unit))
    figure = {"figure": name.replace(" ", "_").replace(",", ""), "value": round(ns, 3), "unit": unit}
    print(json.dumps({**figure, "goal": goal} if goal else figure), flush=True)


def skip(name, program):
    rows.append((name, None, None, f"without {program}, which scripts/get-programs fetches"))


def small(place):
    program = BUILD / "tests/bench/bench_inject_rows"
    scenes = ("floor", "nothing", "nvtx_text", "nvtx_registered", "itt", "openvino", "blas", "ggml", "ort")
    ns = {scene: least({"alone": ([program, scene], {}), "off": ([program, scene], silent()),
                        "recorded": (beside([*recorded(place, "--nodes", "off"), program, scene]), {})})
          for scene in scenes}
    floor = ns["floor"]["alone"]
    add("floor", floor)
    add("two calls through a table that do nothing", ns["nothing"]["alone"])
    for scene, goal in (("nvtx_text", 1.4), ("nvtx_registered", 1.4), ("itt", 1.4)):
        add(f"{scene}, recorded", ns[scene]["recorded"])
        add(f"{scene}, recorded, to floor", ns[scene]["recorded"] / floor, goal, "ratio")
        add(f"{scene}, nobody listens", ns[scene]["off"], 6)
    add("OpenVINO layer, recorded", ns["openvino"]["recorded"], 60)
    for scene, what, goal in (("blas", "BLAS call", 60), ("ggml", "ggml run without nodes", 1000),
                              ("ort", "ONNX Runtime run without nodes, small library", 1500)):
        add(f"{what}, recorded, more", ns[scene]["recorded"] - ns[scene]["alone"], goal)
        add(f"{what}, nobody listens, more", ns[scene]["off"] - ns[scene]["alone"])


def onnx_runtime(place):
    python = CACHE / "onnxruntime-1.32.0/bin/python3"
    if not python.exists():
        skip("ONNX Runtime, its wheel", "onnxruntime-1.32.0")
        return
    import inject_ort_model
    nodes, ns = 50, {}
    for length, runs in ((1, 400), (nodes, 60)):
        model = place / f"chain{length}.onnx"
        model.write_bytes(inject_ort_model.chain(length))
        own = [python, "-c", ORT, "plain", place, model, runs]
        ns[length] = least({
            "alone": (own, {}), "off": (own, silent()),
            "runs": (beside([*recorded(place, "--nodes", "off"), *own]), {}),
            "attached": (beside([*recorded(place, "--nodes", "1/1000000"), *own]), {}),
            "nodes": (beside([*recorded(place, "--nodes", "all"), *own]), {}),
            "profiler": ([python, "-c", ORT, "profiler", place, model, runs], {})},
            2 * ROUNDS if length == 1 else ROUNDS)  # some processes are half as fast as others
    one = ns[1]
    add("ONNX Runtime 1.32.0 run without nodes, more", one["attached"] - one["alone"], 1500)
    add("ONNX Runtime 1.32.0 run, --nodes off, more", one["runs"] - one["alone"])
    add("ONNX Runtime 1.32.0 run, nobody listens, more", one["off"] - one["alone"])
    add("ONNX Runtime 1.32.0 run with nodes, of one, more", one["nodes"] - one["alone"])
    add("ONNX Runtime 1.32.0 run, its own profiler and its file, of one, more", one["profiler"] - one["alone"])
    ours, theirs = ((ns[nodes][way] - one[way]) / (nodes - 1) for way in ("nodes", "profiler"))
    alone = (ns[nodes]["alone"] - one["alone"]) / (nodes - 1)
    add("ONNX Runtime 1.32.0 node, recorded, more", ours - alone)
    add("ONNX Runtime 1.32.0 node, its own profiler and its file, more", theirs - alone)
    add("ONNX Runtime 1.32.0 node, to its own profiler", (ours - alone) / (theirs - alone), 1.0, "ratio")


def tensorflow(place):
    python = CACHE / "tensorflow-2.21.0/bin/python3"
    if not python.exists():
        skip("TensorFlow, its wheel", "tensorflow-2.21.0")
        return
    own = [python, "-c", TENSORFLOW]
    ns = least({"alone": (own, {}), "all": (beside([*recorded(place, "--nodes", "all", "--sources", "tensorflow"), *own]), {}),
                "runs": (beside([*recorded(place, "--nodes", "1/1000000", "--sources", "tensorflow"), *own]), {})})
    add("TensorFlow 2.21.0 kernel, recorded with shapes, more", (ns["all"] - ns["runs"]) / 100, 200)
    add("TensorFlow 2.21.0 run without kernels, more", ns["runs"] - ns["alone"])


def torch(_):
    pythons = sorted(CACHE.glob("torch-*/bin/python3"))
    if not pythons:
        skip("PyTorch, its wheel", "torch-2.15.0")
        return
    import inject_torch
    for name, ns, goal in inject_torch.table(str(pythons[0])):
        add(f"PyTorch {pythons[0].parent.parent.name[6:]}, {name}", ns, goal, "ratio" if "to " in name else "ns")


def show():
    print(f"\n{'':<66}{'measured':>10} {'goal':>8}")
    for name, ns, goal, unit in rows:
        if ns is None:
            print(f"{name:<66}{'':>10} {unit}")
            continue
        met = "" if goal is None else f"{goal:>8g} {'met' if ns <= goal else 'MISSED'}"
        print(f"{name:<66}{ns:>10.2f} {met}")


PARTS = {"small": small, "onnx_runtime": onnx_runtime, "tensorflow": tensorflow, "torch": torch}
with tempfile.TemporaryDirectory() as folder:
    for part in sys.argv[1:] or PARTS:
        PARTS[part](pathlib.Path(folder))
show()
