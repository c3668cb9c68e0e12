#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""load_and_run --cuda --streams on the emulated device: results whatever stream is first, what runs side by
side, waits as they are counted, recorded, and followed by the critical path."""
import json
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
from emulated import BUILD, left_of

SIZE = 6
failures = []


def expect(condition, what):
    if not condition:
        failures.append(what)


def run(model, *flags, before=(), **environment):
    words = [*before, BUILD / "runtime" / "load_and_run", model / "model.onnx", *flags]
    return emulated.run(words, **environment)


def save(folder, nodes, constants, x, outputs):
    """A model with its data set; outputs are (name, numbers)."""
    tensors = [numpy_helper.from_array(value, name) for name, value in constants]
    graph = helper.make_graph(
        nodes, "streams", [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, value.shape) for name, value in outputs], tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    model.ir_version = 8
    folder.mkdir()
    onnx.save(model, str(folder / "model.onnx"))
    (folder / "test_data_set_0").mkdir()
    for place, values in (("input", [("x", x)]), ("output", outputs)):
        for i, (name, value) in enumerate(values):
            data = numpy_helper.from_array(value, name).SerializeToString()
            (folder / "test_data_set_0" / f"{place}_{i}.pb").write_bytes(data)
    return folder


def make_fork(folder):
    """One product, two branches of it, of which the second takes longer, and their sum."""
    random = np.random.default_rng(1)
    x, weights = random.random((SIZE, SIZE), np.float32), random.random((2, SIZE, SIZE), np.float32)
    start = x @ weights[0]
    parts = np.exp(start - start.max(1, keepdims=True))
    nodes = [helper.make_node("MatMul", ["x", "w0"], ["s"], name="start"),
             helper.make_node("MatMul", ["s", "w1"], ["a"], name="quick"),
             helper.make_node("Softmax", ["s"], ["b"], name="slow", axis=1),
             helper.make_node("Add", ["a", "b"], ["y"], name="end")]
    return save(folder, nodes, [("w0", weights[0]), ("w1", weights[1])], x,
                [("y", start @ weights[1] + parts / parts.sum(1, keepdims=True))])


def make_branches(folder):
    """Two branches of eight products each, whose results are of one size, so that each could lie where one of
    the other branch has lain."""
    x = np.arange(SIZE * SIZE, dtype=np.float32).reshape(SIZE, SIZE)
    turn = np.roll(np.eye(SIZE, dtype=np.float32), 1, axis=0)
    nodes, ends = [helper.make_node("MatMul", ["x", "turn"], ["s"], name="start")], []
    for branch in "ab":
        last = "s"
        for i in range(8):
            nodes.append(helper.make_node("MatMul", [last, "turn"], [f"{branch}{i}"], name=f"{branch}{i}"))
            last = f"{branch}{i}"
        ends.append(last)
    nodes.append(helper.make_node("Sub", ends, ["y"], name="end"))
    return save(folder, nodes, [("turn", turn)], x, [("y", np.zeros((SIZE, SIZE), np.float32))])


def make_random(folder, seed):
    """Some 30 operators of what was made before, of whole numbers, which are computed without rounding."""
    random = np.random.default_rng(seed)
    x = random.integers(-4, 5, (SIZE, SIZE)).astype(np.float32)
    made, nodes, constants = [("x", x)], [], []
    for i in range(30):
        name = f"v{i}"
        # Most go on from the last few, some reach far back.
        a, b = (made[-1 - min(int(random.exponential(2.5)), len(made) - 1)] for _ in range(2))
        kind = random.choice(["MatMul", "Add", "Sub", "Transpose", "Concat", "Max"])
        if kind == "MatMul":
            chosen = np.eye(SIZE, dtype=np.float32)[random.permutation(SIZE)]
            constants.append((f"w{i}", chosen))
            nodes.append(helper.make_node("MatMul", [a[0], f"w{i}"], [name], name=name))
            value = a[1] @ chosen
        elif kind == "Transpose":
            nodes.append(helper.make_node("Transpose", [a[0]], [name], name=name, perm=[1, 0]))
            value = a[1].T.copy()
        elif kind == "Concat":
            half = f"h{i}"
            bounds = [(f"{half}_{k}", np.array(v, np.int64)) for k, v in
                      (("from", [SIZE]), ("to", [2 * SIZE]), ("axis", [0]))]
            constants.extend(bounds)
            nodes.append(helper.make_node("Concat", [a[0], b[0]], [half], name=half, axis=0))
            nodes.append(helper.make_node("Slice", [half, *(bound[0] for bound in bounds)], [name], name=name))
            value = b[1].copy()
        else:
            nodes.append(helper.make_node(kind, [a[0], b[0]], [name], name=name))
            value = {"Add": np.add, "Sub": np.subtract, "Max": np.maximum}[kind](a[1], b[1])
        if np.abs(value).max() > 1e5:  # far from where whole numbers end
            nodes.append(helper.make_node("Clip", [name, "low", "high"], [name + "c"], name=name + "c"))
            name, value = name + "c", np.clip(value, -9, 9)
        made.append((name, value))
    constants += [("low", np.array(-9, np.float32)), ("high", np.array(9, np.float32))]
    return save(folder, nodes, constants, x, [made[-1], made[-4], made[-7]])


def check_results(folder):
    """Each graph, whichever stream is first, with more streams and fewer, in runs that are one graph. Without
    waits some must come out wrong, or this test would see nothing."""
    wrong = 0
    beside = 0
    for seed in range(12):
        model = make_random(folder / f"random{seed}", seed)
        for streams, first, flags in ((2, "lazy", ()), (3, "others", ()), (5, "lazy", ("--record-comp-seq",)),
                                      (4, "eager", ("--enable-offload-copy",)), (16, "others", ())):
            done = run(model, "--cuda", "--verify", model, "--no-trace", "--streams", str(streams), *flags,
                       CUDA_DOUBLE_STREAMS=first)
            expect(done.returncode == 0, f"{seed} {streams} {first} {flags}: {done.stdout}{done.stderr}")
            beside += int(re.search(r"are used, (\d+) operators", done.stderr).group(1))
        for first in ("lazy", "others"):
            done = run(model, "--cuda", "--verify", model, "--no-trace", "--streams", "3", CUDA_DOUBLE_WAITS="none",
                       CUDA_DOUBLE_STREAMS=first)
            wrong += done.returncode == 1
    expect(beside > 200 and wrong > 6, f"{beside} operators beside others, {wrong} wrong without waits")


def check_counts(model, folder):
    path = folder / "left"
    done = run(model, "--cuda", "--streams", "4", "--no-trace", "--iter", "5", "--warmup-iter", "1",
               CUDA_DOUBLE_LEFT=str(path))
    told = re.search(r"--streams: (\d) of 4 are used, (\d) operators and copies run on others than the first, "
                     r"with (\d) waits between them\n", done.stderr)
    expect(done.returncode == 0 and told and told.groups() == ("2", "1", "2"), done.stderr)
    left = left_of(path)
    # The other stream waits as a run begins, and it is waited for then and at the end.
    expect(left["waits"] == 6 * (2 + 3), f"{left}")
    expect(all(count == 0 for what, count in left.items() if what.startswith("left ")), f"{left}")
    done = run(model, "--cuda", "--no-trace", "--iter", "5", CUDA_DOUBLE_LEFT=str(path))
    expect(left_of(path)["waits"] == 0 and "--streams" not in done.stderr, done.stderr)


def check_memory(model, folder):
    """Branches do not wait for each other's memory; without streams there is less of it."""
    path = folder / "left"
    done = run(model, "--cuda", "--verify", model, "--streams", "2", "--no-trace", CUDA_DOUBLE_LEFT=str(path))
    several = left_of(path)["most allocated"]
    expect(done.returncode == 0 and "8 operators and copies run on others than the first, with 2 waits" in done.stderr,
           f"{done.stdout}{done.stderr}")
    done = run(model, "--cuda", "--verify", model, "--no-trace", CUDA_DOUBLE_LEFT=str(path))
    expect(left_of(path)["most allocated"] < several, f"{left_of(path)}, {several} on two streams")
    done = run(model, "--cuda", "--no-trace", "--get-static-mem-info", folder / "memory", CUDA_DOUBLE_LEFT=str(path))
    told = re.search(r"^memory of cuda:0: (\d+) B\n((?:  .*\n)+)", done.stdout, re.M)
    expect(done.returncode == 0 and told, f"{done.stdout}{done.stderr}")
    if told:
        parts = [int(number) for number in re.findall(r"^ +(\d+) B ", told.group(2), re.M)]
        most = left_of(path)["most allocated"] - 16  # the word that tells of an index out of range, and an answer
        expect(len(parts) == 3 and int(told.group(1)) == sum(parts) == most, f"{told.group(0)} of {most}")


SECOND = 1000000000


def record(model, store, *flags, times):
    done = run(model, "--cuda", "--streams", "2", "--trace", "--iter", "1", "--warmup-iter", "0", *flags,
               before=(BUILD / "client" / "cli" / "optrace", "run", "-q", "-f", "-o", store, "--"), CUDA_DOUBLE_KERNELS=times)
    expect(done.returncode == 0 and store.exists(), f"recorded: {done.stdout}{done.stderr}")
    with sqlite3.connect(store) as connection:
        return {row[0]: row[1:] for row in connection.execute(
            "SELECT op_name, lane_name, start_ns, end_ns FROM v_event WHERE lane_kind = 'stream' AND op_type <> 'phase'")}


def path_of(store, *flags):
    """Rows of the critical path, and ops on the device that are on it."""
    done = subprocess.run([BUILD / "analyze" / "profile_analyze", store, "--report", "critical", "--format", "json", *flags],
                          capture_output=True, text=True, check=False)
    path = json.loads(done.stdout)
    return path, [row["name"] for row in path["path"]["rows"] if row["kind"] == "device"]


def check_record(model, folder):
    """The branches overlap, and the path goes over the slow one to what waits for it."""
    store = folder / "run.db"
    spans = record(model, store, times="gemm_f32=500000000,along_thread=2000000000,softmax_warp_f32=2000000000")
    with sqlite3.connect(store) as connection:
        waits = connection.execute(
            "SELECT w.lane_name, r.lane_kind, w.start_ns - r.start_ns FROM v_event w JOIN v_event r ON "
            "w.correlation = r.correlation AND w.run = r.run AND r.op_name = 'cuEventRecord' "
            "WHERE w.op_name = 'Stream Wait Event'").fetchall()
    expect(spans["quick"][0] != spans["slow"][0], f"on streams of their own: {spans}")
    expect(spans["quick"][1] < spans["slow"][2] and spans["slow"][1] < spans["quick"][2],
           f"side by side: {spans}")
    expect(spans["end"][1] >= spans["slow"][2] - 1000, f"the sum waits: {spans}")
    expect(len(waits) == 2 and all(row[1] == "thread" and row[2] > 0 for row in waits), f"waits: {waits}")
    path, names = path_of(store)
    expect(names == ["start", "slow", "end"], f"the path on the device: {path}")
    idle = sum(row["time_ns"] for row in path["path"]["rows"] if row["kind"] in ("launch", "between"))
    expect(idle < SECOND / 2, f"the sum does not wait in vain: {path}")


def check_explained(store, path):
    """The SELECT of --explain finds the same."""
    sql = path_of(store, "--explain")[0]["explain"]["sql"]
    done = subprocess.run([BUILD / "analyze" / "profile_analyze", store, "--sql", sql, "--format", "json"],
                          capture_output=True, text=True, check=False)
    expect(done.returncode == 0, done.stderr)
    found = {(row["name"], row["kind"]): row["time_ns"] for row in json.loads(done.stdout)["result"]["rows"]}
    rows = {(row["name"], row["kind"]): row["time_ns"] for row in path["critical"]["rows"]}
    expect(found == rows, f"{found} for {rows}")


def check_graph(model, folder):
    """The same of a run that is one graph, where all is launched at once: waits are on the device's lanes. Whichever
    branch is slower is on the path, and what the run would take without it is known."""
    for number, (times, slow, quick) in enumerate((
            ("gemm_f32=250000000,along_thread=1000000000,softmax_warp_f32=1000000000", "slow", "quick"),
            ("gemm_f32=750000000,along_thread=125000000,softmax_warp_f32=125000000", "quick", "slow"))):
        store = folder / f"graph{number}.db"
        spans = record(model, store, "--record-comp-seq", times=times)
        with sqlite3.connect(store) as connection:
            waits = connection.execute(
                "SELECT w.lane_name, w.start_ns, r.lane_name, r.start_ns FROM v_event w JOIN v_event r ON "
                "w.correlation = r.correlation AND w.run = r.run AND r.op_name = 'cuEventRecord' "
                "WHERE w.op_name = 'Stream Wait Event' ORDER BY w.start_ns").fetchall()
            others = connection.execute("SELECT count(*) FROM v_event WHERE op_name GLOB '*Event*'").fetchone()[0]
        branch = "slow" if spans["slow"][0] != spans["start"][0] else "quick"
        expect(waits == [(spans[branch][0], spans[branch][1], spans["start"][0], spans["start"][2]),
                         (spans["end"][0], spans["end"][1], spans[branch][0], spans[branch][2])] and others == 4,
               f"waits and records have the times of the ops: {waits} {others} {spans}")
        path, names = path_of(store)
        expect(names == ["start", slow, "end"], f"the path within the graph: {path}")
        idle = sum(row["time_ns"] for row in path["path"]["rows"] if row["kind"] in ("launch", "between"))
        expect(idle < SECOND / 10, f"the sum does not wait in vain: {path}")
        ns = {name: spans[name][2] - spans[name][1] for name in (slow, quick)}
        what_if = path_of(store, "--what-if", f"{slow}=1000000000")[0]["what_if"]
        expect(abs(what_if["gain_ns"] - (ns[slow] - ns[quick])) < SECOND / 1000 and
               what_if["limit_factor"] == round(ns[slow] / ns[quick]), f"the other one holds it up then: {what_if} {ns}")
        check_explained(store, path)


def check_refusals(model):
    for words, sentence in ((("--cuda", "--streams", "0"), "--streams"), (("--cuda", "--streams", "17"), "--streams"),
                            (("--streams", "2"), "it needs --cuda"),
                            (("--cuda", "--streams", "2", "--print-graph", "text"), "has no effect")):
        done = run(model, "--no-trace", *words)
        expect(done.returncode == 2 and sentence in done.stderr and len(done.stderr.splitlines()) == 2,
               f"{words}: {done.returncode} {done.stderr}")


with tempfile.TemporaryDirectory() as name:
    place = pathlib.Path(name)
    fork = make_fork(place / "fork")
    for order in ("lazy", "others", "eager"):
        done = run(fork, "--cuda", "--verify", fork, "--no-trace", "--streams", "2", CUDA_DOUBLE_STREAMS=order)
        expect(done.returncode == 0, f"fork {order}: {done.stdout}{done.stderr}")
    check_counts(fork, place)
    check_refusals(fork)
    check_record(fork, place)
    check_graph(fork, place)
    check_memory(make_branches(place / "branches"), place)
    check_results(place)
for failure in failures:
    print(failure)
sys.exit(1 if failures else 0)
