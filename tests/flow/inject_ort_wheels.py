#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The real ONNX Runtime of a wheel, by a C program that finds it with dlsym(): nodes equal those of its
own profile, and the program is the same with and without us. scripts/get-programs fetches the wheel."""
import collections
import json
import os
import pathlib
import sqlite3
import subprocess
import sys
import tempfile

import inject_ort_model

BUILD = pathlib.Path(os.environ["OPTRACE_BUILD_ROOT"])
SKIPPED = 77
RUNS = 20
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"))
WHEEL = CACHE / "optrace/programs/onnxruntime-1.32.0"
failures = []


# --- Runs. ---

def run(argv, place):
    return subprocess.run([str(word) for word in argv], cwd=place, capture_output=True, text=True, check=False)


def record(place, nodes, argv):
    """With and without us: the same."""
    alone = run(argv, place)
    recorded = run([BUILD / "client/cli/optrace", "run", "--quiet", "-o", "a.db", "--nodes", nodes, "--", *argv],
                   place)
    what = f"{' '.join(str(word) for word in argv[3:])} with --nodes {nodes}"
    for name in ("returncode", "stdout", "stderr"):
        if getattr(alone, name) != getattr(recorded, name):
            failures.append(f"{what}: {name} {getattr(recorded, name)!r}, alone {getattr(alone, name)!r}")
    if alone.returncode != 0:
        failures.append(f"{what}: {alone.stdout}{alone.stderr}")
    return sqlite3.connect(place / "a.db")


def count(store, sql):
    return store.execute(sql).fetchone()[0]


def same(what, got, wanted):
    if got != wanted:
        failures.append(f"{what}: {got}, not {wanted}")


# What it inserts is called, and numbered, by chance, without us too.
def label(name, kind):
    return "" if kind.startswith("Reorder") else name


def nodes_of_profile(path):
    out = collections.Counter()
    for event in json.loads(path.read_text()):
        if event.get("cat") == "Node" and event["name"].endswith("_kernel_time"):
            words = event["args"]
            shapes = [[list(item.values())[0] for item in words[key] if item]
                      for key in ("input_type_shape", "output_type_shape")]
            dtypes = [list(item)[0] for item in words["input_type_shape"] if item]
            out[label(event["name"][:-12], words["op_name"]), words["op_name"],
                label(words["node_index"], words["op_name"]),
                str(shapes), str(dtypes)] += 1
    return out


def nodes_of_store(store):
    names = {"f32": "float", "i64": "int64", "i32": "int32"}
    out = collections.Counter()
    for name, kind, index, inputs, outputs, dtypes, calls in store.execute(
            "SELECT o.name, o.type, o.node_id, o.input_shapes, o.output_shapes, o.input_dtypes, count(*)"
            " FROM event e JOIN op o USING (op_id) WHERE o.type <> 'label' GROUP BY o.op_id"):
        shapes = [json.loads(inputs), json.loads(outputs)]
        types = [names.get(word, word) for word in json.loads(dtypes)]
        out[label(name, kind), kind, label(index, kind), str(shapes), str(types)] += calls
    return out


# One run in ten says of a node what all runs say: calls in a run, and no change of it.
def check_comparison(place, program):
    analyze = BUILD / "analyze/profile_analyze"
    program = [*program[:-1], 200]
    calls = {}
    for nodes in ("all", "1/10"):
        record(place, nodes, program).close()
        store = place / f"{nodes.replace('/', '_')}.db"
        (place / "a.db").rename(store)
        summary = json.loads(run([analyze, store, "--report", "summary", "--format", "json"], place).stdout)
        calls[nodes] = {(row["type"], label(row["name"], row["type"])): row["calls_per_run"]
                        for row in summary["ops"]["rows"]}
        same(f"calls in a run, {nodes}", set(calls[nodes].values()), {1})
    same("ops of one run in ten", calls["1/10"], calls["all"])
    done = run([analyze, "--compare", place / "all.db", place / "1_10.db"], place)
    if done.returncode != 0 or "200 runs) against" not in done.stdout or "(20 runs)" not in done.stdout:
        failures.append(f"comparison: status {done.returncode}: {done.stdout}{done.stderr}")


def check(place, library):
    program = [BUILD / "tests/flow/inject_ort_real", library, "net.onnx", RUNS]
    (place / "net.onnx").write_bytes(inject_ort_model.model())
    run([*program, "profile", place / "own"], place)
    profiles = list(place.glob("own*.json"))
    wanted = nodes_of_profile(profiles[0])
    store = record(place, "all", program)
    same("nodes", nodes_of_store(store), wanted)
    same("runs", count(store, "SELECT count(*) FROM run WHERE end_ns IS NOT NULL AND NOT without_ops"), RUNS)
    same("convolutions", count(store, "SELECT count(*) FROM v_event e JOIN op o USING (op_id) WHERE"
                               " o.type = 'Conv' AND o.computation_flop > 0"), 2 * RUNS)
    for way in ("options", "threads"):
        runs = RUNS * (4 if way == "threads" else 1)
        store = record(place, "all", [*program, way])
        same(way, count(store, "SELECT count(*) FROM run WHERE NOT without_ops"), runs)
        same(f"nodes, {way}", sum(nodes_of_store(store).values()), sum(wanted.values()) // RUNS * runs)
    store = record(place, "1/10", program)
    same("one in ten", count(store, "SELECT count(*) FROM run WHERE NOT without_ops"), 2)
    same("nodes of these", sum(nodes_of_store(store).values()), sum(wanted.values()) // 10)
    check_comparison(place, program)
    record(place, "all", [*program, "devices"])
    store = record(place, "all", [*program, "profile", place / "mine"])
    same("beside its own profile", count(store, "SELECT count(*) FROM run WHERE NOT without_ops"), 0)


libraries = sorted(WHEEL.glob("lib/python3*/site-packages/onnxruntime/capi/libonnxruntime.so.*"))
if not libraries:
    print(f"there is no {WHEEL}: scripts/get-programs fetches it")
    sys.exit(SKIPPED)
with tempfile.TemporaryDirectory() as folder:
    check(pathlib.Path(folder), libraries[0])
for failure in failures:
    print(failure)
sys.exit(1 if failures else 0)
