#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""NonMaxSuppression on the emulated device: the rows that the definition gives, in their order, with no copy
within a run; step by step, as a graph, on three streams; and each call to the driver failing."""
import pathlib
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import emulated
from emulated import BUILD, calls_that_matter, is_clean, left_of

failures = []


def expect(condition, what):
    if not condition:
        failures.append(what)


def corners(box, is_center):
    a, b, c, d = (float(number) for number in box)
    if is_center:
        return b - d / 2, a - c / 2, b + d / 2, a + c / 2
    return min(a, c), min(b, d), max(a, c), max(b, d)


def overlap(one, other):
    """Intersection over union; none where one has no area."""
    def area(box):
        return max(box[2] - box[0], 0.0) * max(box[3] - box[1], 0.0)
    both = (max(one[0], other[0]), max(one[1], other[1]), min(one[2], other[2]), min(one[3], other[3]))
    shared, areas = area(both), (area(one), area(other))
    return shared / (sum(areas) - shared) if min(areas) > 0 and sum(areas) > shared else 0.0


def kept(boxes, scores, is_center, limit, most, least):
    """By the definition, box by box."""
    rows = []
    for image in range(scores.shape[0]):
        for kind in range(scores.shape[1]):
            mine = []
            order = sorted(range(scores.shape[2]), key=lambda i: (-scores[image, kind, i], i))
            for i in order:
                if len(mine) >= limit or (least is not None and scores[image, kind, i] < least):
                    continue
                box = corners(boxes[image, i], is_center)
                if all(overlap(box, corners(boxes[image, k], is_center)) <= float(np.float32(most)) for k in mine):
                    mine.append(i)
            rows += [(image, kind, i) for i in mine]
    return np.array(rows, np.int64).reshape(-1, 3)


def case(folder, name, images, kinds, count, is_center=False, limit=20, most=0.4, least=None, shared=1):
    """A model whose result a Cast reads, with its inputs and what comes out; `shared`: boxes that are the same."""
    random = np.random.default_rng(len(name) + count)
    place = folder / name
    data = place / "test_data_set_0"
    data.mkdir(parents=True)
    boxes = (random.random((images, count, 4)) + (np.array([0, 0, 0.05, 0.05]) if is_center else 0)).astype(np.float32)
    scores = (random.integers(-9, 10, (images, kinds, count)) / 8).astype(np.float32)  # many are equal
    boxes[:, :count // shared] = boxes[:, :1] if count > 0 and shared > 1 else boxes[:, :count // shared]
    constants = [("limit", np.array([limit], np.int64)), ("most", np.array([most], np.float32))]
    if least is not None:
        constants.append(("least", np.array([least], np.float32)))
    want = kept(boxes, scores, is_center, limit, most, least)
    info = helper.make_tensor_value_info
    nodes = [helper.make_node("NonMaxSuppression", ["boxes", "scores", *(given[0] for given in constants)], ["rows"],
                              center_point_box=int(is_center)),
             helper.make_node("Cast", ["rows"], ["y"], to=TensorProto.FLOAT)]
    graph = helper.make_graph(nodes, name, [info("boxes", TensorProto.FLOAT, boxes.shape),
                                            info("scores", TensorProto.FLOAT, scores.shape)],
                              [info("y", TensorProto.FLOAT, (len(want), 3))],
                              [numpy_helper.from_array(value, given) for given, value in constants])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    model.ir_version = 8
    onnx.save(model, str(place / "model.onnx"))
    for at, (given, value) in enumerate((("boxes", boxes), ("scores", scores))):
        (data / f"input_{at}.pb").write_bytes(numpy_helper.from_array(value, given).SerializeToString())
    (data / "output_0.pb").write_bytes(numpy_helper.from_array(want.astype(np.float32), "y").SerializeToString())
    return place, len(want)


def run(place, *flags, **environment):
    return emulated.run([BUILD / "runtime" / "load_and_run", place / "model.onnx", "--cuda", "--no-trace",
                         "--verify", place, *flags], **environment)


def check(folder):
    cases = [case(folder, "corners", 2, 3, 300), case(folder, "centers", 1, 5, 150, is_center=True, least=0.1),
             case(folder, "one", 1, 1, 1), case(folder, "same", 2, 2, 300, shared=2, limit=300),
             case(folder, "unlimited", 1, 2, 280, limit=2 ** 40, most=1.0),
             case(folder, "few", 1, 90, 17, limit=1, least=-0.5), case(folder, "large", 1, 1, 1500, most=0.1),
             case(folder, "none", 1, 2, 30, limit=0), case(folder, "low", 1, 2, 30, least=5.0),
             case(folder, "empty", 2, 3, 0), case(folder, "nobody", 0, 3, 4)]
    path = folder / "left"
    expect([rows for _, rows in cases[-4:]] == [0, 0, 0, 0] and min(rows for _, rows in cases[:-4]) > 0,
           f"cases are what they are for: {[rows for _, rows in cases]}")
    for place, rows in cases:
        for order in ("forward", "reverse", "random:5"):
            for flags in ((), ("--record-comp-seq",), ("--streams", "3")):
                done = run(place, *flags, CUDA_DOUBLE_ORDER=order, CUDA_DOUBLE_LEFT=str(path))
                expect(done.returncode == 0 and is_clean(left_of(path)),
                       f"{place.name}, {rows} rows, {order} {flags}: {done.stdout}{done.stderr}")
                expect(": 2 operators on it, 0 on the CPU; 0 copies in each run" in done.stderr,
                       f"{place.name} {flags}: all of it on the device, without a copy: {done.stderr}")
    place, _ = cases[0]
    expect(run(place, CUDA_DOUBLE_BUG="33").returncode == 1, "of equal scores the last one is no difference")
    run(place, CUDA_DOUBLE_LEFT=str(path), CUDA_DOUBLE_CALLS=str(folder / "calls"))
    calls, ended = left_of(path)["calls"], set()
    for call in calls_that_matter(folder / "calls"):
        done = run(place, CUDA_DOUBLE_FAIL=f"#{call}=719", CUDA_DOUBLE_LEFT=str(path))
        ended.add(done.returncode)
        expect(is_clean(left_of(path)), f"call {call} fails: {done.returncode} {done.stderr}")
    # 1: what is verified could not be copied out.
    expect(calls > 30 and {4} < ended <= {0, 1, 4}, f"{calls} calls fail in turn: statuses {ended}")


with tempfile.TemporaryDirectory() as name:
    check(pathlib.Path(name))
for failure in failures:
    print(failure)
sys.exit(1 if failures else 0)
