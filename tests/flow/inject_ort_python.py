#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Python programs with ONNX Runtime, which nobody changed: the same with and without us, with their runs
and nodes. Over an extension of ours, made in one phase and in two; and over the wheels that
scripts/get-programs fetches: 1.32.0, 1.25.1, and 1.20.1, which tells its nodes by a profile at the end."""
import itertools
import os
import pathlib
import signal
import sqlite3
import subprocess
import sys
import tempfile

import inject_ort_model
from inject_ort_nodes import best_coverage, nodes_of_profile, nodes_of_store

BUILD = pathlib.Path(os.environ["OPTRACE_BUILD_ROOT"])
SKIPPED = 77
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"))
WHEELS = {"1.32.0": True, "1.25.1": True, "1.20.1": False, "1.24.4": False, "1.19.2": False}
ONLY_WITH_ALL = ("1.24.4", "1.19.2")  # of scripts/get-programs
failures = []

FAKE = """
import importlib.machinery, importlib.util, sys, traceback
loader = importlib.machinery.ExtensionFileLoader("onnxruntime_pybind11_state", sys.argv[1])
spec = importlib.util.spec_from_file_location("onnxruntime_pybind11_state", sys.argv[1], loader=loader)
module = importlib.util.module_from_spec(spec)
loader.exec_module(module)
class Options:
    enable_profiling = False
session = module.InferenceSession(Options(), "/models/net.onnx", True, False)
session.initialize_session(["CPUExecutionProvider"], [{}], set())
print([session.run(["y"], {"x": i}) for i in range(5)], session.run(None, {"x": 1}, options=None))
print(session.get_providers())
other = module.InferenceSession(Options(), b"12345", False, False)
other.run(None, {"x": 1}, None)
try:
    session.run(None, {})
except ValueError:
    traceback.print_exc()
"""

REAL = """
import hashlib, os, sys, threading, traceback
import numpy as np
import onnxruntime as ort
how = sys.argv[2]
options = ort.SessionOptions()
if how == "profile":
    options.enable_profiling = True
    options.profile_file_prefix = sys.argv[3]
session = ort.InferenceSession(sys.argv[1], options, providers=None if how == "plain" else ["CPUExecutionProvider"])
x = np.random.default_rng(1).standard_normal((2, 3, 32, 32)).astype("f")
def work():
    own = ort.RunOptions() if how == "options" else None
    y = None
    for i in range(20):
        if how == "binding":
            binding = session.io_binding()
            binding.bind_cpu_input("x", x)
            binding.bind_output("y")
            session.run_with_iobinding(binding)
            y = binding.copy_outputs_to_cpu()
        elif how == "async":
            done, out = threading.Event(), []
            session.run_async(None, {"x": x}, lambda result, data, error: (out.append(result), done.set()), None)
            done.wait()
            y = out[0]
        else:
            y = session.run(None, {"x": x}, own)
    return y[0].tobytes()
if how == "threads":
    results = [None] * 4
    threads = [threading.Thread(target=lambda k=k: results.__setitem__(k, work())) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    result = b"".join(results)
else:
    result = work()
if how == "fork":
    child = os.fork()
    if child == 0:
        work()
        os._exit(0)
    os.waitpid(child, 0)
print(hashlib.sha256(result).hexdigest(), session.get_providers(), session.get_provider_options())
print(ort.get_available_providers())
if hasattr(ort, "get_ep_devices"):
    print([device.ep_name for device in ort.get_ep_devices()])
if how == "error":
    try:
        session.run(None, {"x": x[:, :2]})
    except Exception:
        traceback.print_exc()
    try:
        ort.InferenceSession("nothing.onnx")
    except Exception:
        traceback.print_exc()
if how == "killed":
    os.kill(os.getpid(), 9)
"""

# What nodes take is nearly all that runs take.
LARGE = """
import numpy as np
import onnxruntime as ort
options = ort.SessionOptions()
options.intra_op_num_threads = 1
session = ort.InferenceSession("large.onnx", options, providers=["CPUExecutionProvider"])
x = np.ones((2, 3, 256, 256), "f")
for i in range(20):
    y = session.run(None, {"x": x})
print(y[0].tobytes().hex())
"""

# The same work in a child that is made anew.
WORKER = """
import numpy as np
import onnxruntime as ort
def work():
    session = ort.InferenceSession("net.onnx", providers=["CPUExecutionProvider"])
    for i in range(20):
        y = session.run(None, {"x": np.ones((2, 3, 32, 32), "f")})
    print(y[0].tobytes().hex(), flush=True)
"""
SPAWN = """
import multiprocessing, sys
sys.path.insert(0, ".")
import worker
if __name__ == "__main__":
    worker.work()
    child = multiprocessing.get_context(sys.argv[1]).Process(target=worker.work)
    child.start()
    child.join()
    print(child.exitcode)
"""

# Providers are chosen among devices, of which ours must not be one.
POLICY = """
import numpy as np
import onnxruntime as ort
options = ort.SessionOptions()
options.set_provider_selection_policy(ort.OrtExecutionProviderDevicePolicy.PREFER_CPU)
session = ort.InferenceSession("net.onnx", options)
for i in range(20):
    y = session.run(None, {"x": np.ones((2, 3, 32, 32), "f")})
print(session.get_providers(), [device.ep_name for device in ort.get_ep_devices()], y[0].tobytes().hex())
"""

# The same beside a provider that the program has registered itself, and chosen by a function of its own;
# and one session more, without a policy, to which it is added by hand.
PLUGIN = """
import sys
import numpy as np
import onnxruntime as ort
ort.register_execution_provider_library("second", sys.argv[1])
def choose(devices, model, runtime, most):
    print("choose among", [device.ep_name for device in devices], most)
    return [device for device in devices if device.ep_name == "second"]
x = np.ones((2, 3, 32, 32), "f")
for way in ("policy", "function", "by hand"):
    options = ort.SessionOptions()
    if way == "policy":
        options.set_provider_selection_policy(ort.OrtExecutionProviderDevicePolicy.PREFER_CPU)
    elif way == "function":
        options.set_provider_selection_policy_delegate(choose)
    else:
        options.add_provider_for_devices([d for d in ort.get_ep_devices() if d.ep_name == "second"], {})
    session = ort.InferenceSession("net.onnx", options)
    for i in range(20):
        y = session.run(None, {"x": x})
    print(way, session.get_providers(), [d.ep_name for d in ort.get_ep_devices()], y[0].tobytes().hex())
    del session
"""

# What is done, runs, and of these with nodes when all are to have them.
SCENES = (("plain", 20, 20), ("named", 20, 20), ("threads", 80, 80), ("options", 20, 20), ("binding", 20, 20),
          ("fork", 40, 40), ("profile", 20, 0), ("error", 21, 21), ("killed", 20, 20))


def run(argv, place):
    return subprocess.run([str(word) for word in argv], cwd=place, capture_output=True, text=True, check=False,
                          env=dict(os.environ, TMPDIR=str(place)))


def record(what, place, nodes, argv, status=0):
    alone = run(argv, place)
    recorded = run([BUILD / "client/cli/optrace", "run", "--quiet", "--force", "-o", "a.db", "--nodes", nodes, "--", *argv],
                   place)
    for name in ("returncode", "stdout", "stderr"):
        if getattr(alone, name) != getattr(recorded, name):
            failures.append(f"{what}: {name} {getattr(recorded, name)!r}, alone {getattr(alone, name)!r}")
    if alone.returncode != status:
        failures.append(f"{what}: status {alone.returncode}: {alone.stderr}")
    return sqlite3.connect(place / "a.db")


def same(what, store, sql, wanted):
    got = store.execute(sql).fetchone()[0]
    if got != wanted:
        failures.append(f"{what}: {got}, not {wanted}: {sql}")


RUNS = "SELECT count(*) FROM run WHERE end_ns IS NOT NULL"
NODES = "SELECT count(*) FROM v_event WHERE op_type <> 'label'"


def interpreters():
    """One that has Python in itself, and one that has it in a library, as far as they are there."""
    found = {}
    for python in (sys.executable, "/usr/bin/python3", BUILD / "tests/flow/inject_python_shared"):
        if os.path.exists(python):
            maps = run([python, "-c", "print(open('/proc/self/maps').read())"], BUILD).stdout
            found.setdefault("shared" if "/libpython" in maps else "static", python)
    return found


# With the wheel's packages, where it is of the same version.
def check_interpreters(place, version):
    folder = next((CACHE / f"optrace/programs/onnxruntime-{version}/lib").glob("python3*"))
    for kind, python in interpreters().items():
        program = "import sys; sys.path.insert(0, sys.argv.pop(1));" + REAL
        if run([python, "-c", "import sys; print('python%d.%d' % sys.version_info[:2])"], place).stdout.strip() != \
           folder.name:
            continue
        store = record(f"{version}, a {kind} interpreter", place, "all",
                       [python, "-c", program, folder / "site-packages", "net.onnx", "named"])
        same(f"{version}, {kind}", store, RUNS + " AND NOT without_ops", 20)
        same(f"{version}, {kind}", store, "SELECT count(*) FROM v_event e JOIN op o USING (op_id) WHERE"
             " o.type = 'Conv'", 40)


def check_fakes(place):
    for phases, (kind, python) in itertools.product((1, 2), interpreters().items()):
        extension = BUILD / f"tests/flow/libfake_ort_python_{phases}.so"
        what = f"an extension of {phases} phases, a {kind} interpreter"
        store = record(what, place, "all", [python, "-c", FAKE, extension])
        same(what, store, RUNS, 8)
        same(what, store, RUNS + " AND without_ops", 8)
        same(what, store, "SELECT count(*) FROM run JOIN model USING (model_id) WHERE"
             " path = '/models/net.onnx'", 7)
        same(what, store, "SELECT count(*) FROM run JOIN model USING (model_id) WHERE"
             " name = 'model of 5 bytes'", 1)


def check_wheel(place, version, is_live):
    python = CACHE / f"optrace/programs/onnxruntime-{version}/bin/python3"
    for how, runs, with_nodes in SCENES:
        what = f"{version}, {how}"
        if not is_live and how == "fork":
            with_nodes = 20  # a child has no part in its parent's profile
        # A node of a run that fails at once has nothing to tell; what is killed has no profile.
        whole = 0 if not is_live and how == "killed" else with_nodes - (how == "error")
        flags = ["-I"] if how == "named" else []
        store = record(what, place, "all", [python, *flags, "-c", REAL, "net.onnx", how, place / "own"],
                       -signal.SIGKILL if how == "killed" else 0)
        same(what, store, RUNS, runs)
        same(what, store, RUNS + " AND model_id IS NOT NULL", runs)
        same(what, store, RUNS + " AND NOT without_ops", with_nodes)
        same(what, store, "SELECT count(*) FROM v_event e JOIN op o USING (op_id) WHERE o.type = 'Conv'"
             " AND o.computation_flop > 0 AND o.input_shapes LIKE '[[2, %'", 2 * whole)
        same(what, store, NODES + " AND run IS NULL", 0)
        if how == "plain":
            plain = nodes_of_store(store)
        elif how == "profile":
            own = nodes_of_profile(max(place.glob("own*.json")))
            if plain != own:
                failures.append(f"{version}: nodes {plain}, in its own profile {own}")
        elif how == "killed" and is_live:
            listed = run([BUILD / "analyze/profile_analyze", "a.db", "--list"], place).stdout
            if "died" not in listed:
                failures.append(f"{what}: {listed}")
    for way in ("spawn", "forkserver"):
        store = record(f"{version}, {way}", place, "all", [python, "spawn.py", way])
        same(f"{version}, {way}", store, RUNS, 40)
        same(f"{version}, {way}", store, "SELECT count(*) FROM session", 2)
        same(f"{version}, {way}", store, "SELECT count(*) FROM v_event e JOIN op o USING (op_id) WHERE"
             " o.type = 'Conv'", 80 if is_live or way == "spawn" else 40)
    check_interpreters(place, version)
    if is_live:
        store = record(f"{version}, policy", place, "all", [python, "-c", POLICY])
        same(f"{version}, policy", store, RUNS + " AND without_ops", 20)
        store = record(f"{version}, a second plugin", place, "all",
                       [python, "-c", PLUGIN, BUILD / "tests/flow/libinject_ort_plugin.so"])
        same(f"{version}, a second plugin", store, RUNS, 60)
        same(f"{version}, a second plugin", store, RUNS + " AND NOT without_ops", 0)
    store = record(f"{version}, one in ten", place, "1/10", [python, "-c", REAL, "net.onnx", "plain"])
    same(version, store, RUNS + " AND NOT without_ops", 2 if is_live else 0)
    if is_live:
        # Handed to threads of its own, which the provider is told of.
        store = record(f"{version}, async", place, "all", [python, "-c", REAL, "net.onnx", "async"])
        same(version, store, RUNS + " AND without_ops AND model_id IS NOT NULL", 20)
        store = record(f"{version}, large", place, "all", [python, "-c", LARGE])
        if not best_coverage(store) > 0.9:
            failures.append(f"{version}: nodes are {best_coverage(store)} of a run")


missing = [version for version in WHEELS
           if not (CACHE / f"optrace/programs/onnxruntime-{version}/list.txt").exists()]
with tempfile.TemporaryDirectory() as folder:
    here = pathlib.Path(folder)
    (here / "net.onnx").write_bytes(inject_ort_model.model())
    (here / "worker.py").write_text(WORKER)
    (here / "spawn.py").write_text(SPAWN)
    (here / "large.onnx").write_bytes(inject_ort_model.model(256))
    check_fakes(here)
    for wheel, tells in WHEELS.items():
        if wheel not in missing:
            check_wheel(here, wheel, tells)
for failure in failures:
    print(failure)
missing = [wheel for wheel in missing if wheel not in ONLY_WITH_ALL or os.environ.get("OPTRACE_PROGRAMS") == "all"]
if not failures and missing:
    print(f"without the wheels {' '.join(missing)}, which scripts/get-programs fetches")
    sys.exit(SKIPPED)
sys.exit(1 if failures else 0)
