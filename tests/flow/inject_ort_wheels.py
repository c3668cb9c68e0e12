#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The real ONNX Runtime of a wheel and of Node's packages, by a C program that finds it with dlsym(), and
by Node: nodes equal those of its own profile, and the program is the same with and without us.
scripts/get-programs fetches them."""
import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile

import inject_ort_model
from inject_ort_nodes import best_coverage, label, nodes_of_profile, nodes_of_store

BUILD = pathlib.Path(os.environ["OPTRACE_BUILD_ROOT"])
SKIPPED = 77
RUNS = 20
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"))
# What scripts/get-programs calls it, where the library lies, and whether it tells of nodes as they run.
LIBRARIES = (("onnxruntime-1.32.0", "lib/python3*/site-packages/onnxruntime/capi/libonnxruntime.so.*", True),
             ("onnxruntime-node-1.30.0", "node_modules/onnxruntime-node/bin/*/linux/x64/libonnxruntime.so.1", True),
             ("onnxruntime-node-1.20.1", "node_modules/onnxruntime-node/bin/*/linux/x64/libonnxruntime.so.1", False))
APP = """
const ort = require('onnxruntime-node');
const crypto = require('crypto');
(async () => {
  const session = await ort.InferenceSession.create('net.onnx', {intraOpNumThreads: 1, interOpNumThreads: 1});
  const x = new ort.Tensor('float32', Float32Array.from({length: 6144}, (_, i) => i % 255 / 255), [2, 3, 32, 32]);
  let y;
  for (let i = 0; i < 200; i++) y = await session.run({x});
  console.log(crypto.createHash('sha256').update(Buffer.from(y.y.data.buffer)).digest('hex'));
  if (process.argv[2] === 'wrong')
    await session.run({x: new ort.Tensor('float32', new Float32Array(4), [4])});
  if (process.argv[2] === 'killed') process.kill(process.pid, 'SIGKILL');
})();
"""
failures = []


# --- Runs. ---

def run(argv, place):
    return subprocess.run([str(word) for word in argv], cwd=place, capture_output=True, text=True, check=False,
                          env=dict(os.environ, TMPDIR=str(place)))


def record(place, nodes, argv, status=0):
    """With and without us: the same."""
    alone = run(argv, place)
    recorded = run([BUILD / "client/cli/optrace", "run", "--quiet", "--force", "-o", "a.db", "--nodes", nodes, "--", *argv],
                   place)
    what = f"{' '.join(str(word) for word in argv[3:])} with --nodes {nodes}"
    for name in ("returncode", "stdout", "stderr"):
        if getattr(alone, name) != getattr(recorded, name):
            failures.append(f"{what}: {name} {getattr(recorded, name)!r}, alone {getattr(alone, name)!r}")
    if alone.returncode != status:
        failures.append(f"{what}: {alone.stdout}{alone.stderr}")
    return sqlite3.connect(place / "a.db")


def count(store, sql):
    return store.execute(sql).fetchone()[0]


def same(what, got, wanted):
    if got != wanted:
        failures.append(f"{what}: {got}, not {wanted}")


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


def check(place, library, is_live):
    program = [BUILD / "tests/flow/inject_ort_real", library, "net.onnx", RUNS]
    run([*program, "profile", place / "own"], place)
    profiles = list(place.glob("own*.json"))
    wanted = nodes_of_profile(profiles[0])
    store = record(place, "all", program)
    same(f"nodes of {library}", nodes_of_store(store), wanted)
    same("runs", count(store, "SELECT count(*) FROM run WHERE end_ns IS NOT NULL AND NOT without_ops"), RUNS)
    same("convolutions", count(store, "SELECT count(*) FROM v_event e JOIN op o USING (op_id) WHERE"
                               " o.type = 'Conv' AND o.computation_flop > 0"), 2 * RUNS)
    for way in ("options", "threads"):
        runs = RUNS * (4 if way == "threads" else 1)
        store = record(place, "all", [*program, way])
        same(way, count(store, "SELECT count(*) FROM run WHERE NOT without_ops"), runs)
        same(f"nodes, {way}", sum(nodes_of_store(store).values()), sum(wanted.values()) // RUNS * runs)
    store = record(place, "1/10", [*program])
    same("one in ten", count(store, "SELECT count(*) FROM run WHERE NOT without_ops"), 2 if is_live else 0)
    same("nodes of these", sum(nodes_of_store(store).values()), sum(wanted.values()) // 10 if is_live else 0)
    if is_live:
        check_comparison(place, program)
        record(place, "all", [*program, "devices"])
        record(place, "all", [*program, "chooser"])
    store = record(place, "all", [*program, "profile", place / "mine"])
    same("beside its own profile", count(store, "SELECT count(*) FROM run WHERE NOT without_ops"), 0)
    same("files left", [path.name for path in place.glob("optrace-ort*")], [])


def check_node(place, modules, is_live):
    (place / "app.js").write_text(APP)
    (place / "node_modules").symlink_to(modules)
    for how, status in (("plain", 0), ("wrong", 1), ("killed", -9)):
        store = record(place, "all", ["node", "app.js", how], status)
        what = f"node, {modules.parent.name}, {how}"
        same(what, count(store, "SELECT count(*) FROM run WHERE end_ns IS NOT NULL AND NOT without_ops"
                                " AND model_id IS NOT NULL"), 200 + (how == "wrong"))
        if is_live or how != "killed":
            same(what, {calls for (_, kind, *_), calls in nodes_of_store(store).items() if kind == "Conv"}, {200})
        same(what, count(store, "SELECT end_reason FROM session"), "died" if how == "killed" else "done")


missing = []
for name, pattern, tells in LIBRARIES:
    folder = CACHE / "optrace/programs" / name
    libraries = sorted(folder.glob(pattern))
    if not libraries:
        missing.append(name)
        continue
    with tempfile.TemporaryDirectory() as here:
        (pathlib.Path(here) / "net.onnx").write_bytes(inject_ort_model.model())
        check(pathlib.Path(here), libraries[0], tells)
        if "node" in name and not shutil.which("node"):
            missing.append("node")
        elif "node" in name:
            check_node(pathlib.Path(here), folder / "node_modules", tells)
for failure in failures:
    print(failure)
if not failures and missing:
    print(f"without {' '.join(missing)}, which scripts/get-programs fetches")
    sys.exit(SKIPPED)
sys.exit(1 if failures else 0)
