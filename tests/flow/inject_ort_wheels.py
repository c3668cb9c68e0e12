#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The real ONNX Runtime of a wheel, by a C program that finds it with dlsym(): nodes equal those of its
own profile, and the program is the same with and without us. scripts/get-programs fetches the wheel."""
import collections
import json
import os
import pathlib
import sqlite3
import struct
import subprocess
import sys
import tempfile

BUILD = pathlib.Path(os.environ["OPTRACE_BUILD_ROOT"])
SKIPPED = 77
RUNS = 20
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"))
WHEEL = CACHE / "optrace/programs/onnxruntime-1.32.0"
failures = []


# --- A model, byte by byte: Conv, Relu, GlobalAveragePool, Flatten, Gemm, Softmax. ---

def varint(value):
    out = b""
    while value > 0x7f:
        out += bytes([value & 0x7f | 0x80])
        value >>= 7
    return out + bytes([value])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def tensor(name, *dims):
    count = 1
    for dim in dims:
        count *= dim
    values = [((i * 7919 + len(name) * 31) % 200 - 100) / 1000 for i in range(count)]
    return b"".join(field(1, dim) for dim in dims) + field(2, 1) + field(8, name) + \
        field(9, struct.pack(f"<{count}f", *values))


def node(kind, name, inputs, output, **attributes):
    out = b"".join(field(1, value) for value in inputs) + field(2, output) + field(3, name) + field(4, kind)
    for key, value in attributes.items():
        attribute = field(1, key)
        if isinstance(value, int):
            attribute += field(3, value) + field(20, 2)
        else:
            attribute += b"".join(field(8, item) for item in value) + field(20, 7)
        out += field(5, attribute)
    return out


def value(name, *dims):
    shape = b"".join(field(1, field(1, dim)) for dim in dims)
    return field(1, name) + field(2, field(1, field(1, 1) + field(2, shape)))


def model():
    nodes = [
        node("Conv", "conv0", ["x", "w0", "b0"], "c0", kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2]),
        node("Relu", "relu0", ["c0"], "r0"),
        node("Conv", "conv1", ["r0", "w1"], "c1", kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
        node("GlobalAveragePool", "gap", ["c1"], "g"),
        node("Flatten", "flat", ["g"], "f"),
        node("Gemm", "fc", ["f", "w2", "b2"], "l", transB=1),
        node("Softmax", "prob", ["l"], "y"),
    ]
    graph = b"".join(field(1, item) for item in nodes) + field(2, "net")
    for name, dims in {"w0": (8, 3, 3, 3), "b0": (8,), "w1": (16, 8, 3, 3), "w2": (10, 16), "b2": (10,)}.items():
        graph += field(5, tensor(name, *dims))
    graph += field(11, value("x", 2, 3, 32, 32)) + field(12, value("y", 2, 10))
    return field(1, 8) + field(7, graph) + field(8, field(1, "") + field(2, 13))


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


def check(place, library):
    program = [BUILD / "tests/flow/inject_ort_real", library, "net.onnx", RUNS]
    (place / "net.onnx").write_bytes(model())
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
