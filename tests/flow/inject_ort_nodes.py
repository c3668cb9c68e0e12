# SPDX-License-Identifier: Apache-2.0
"""Nodes of ONNX Runtime as its own profile has them, and as a store has them: name, type, number in the
graph, shapes and dtypes, each with how often it ran."""
import collections
import json


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
            " FROM event e JOIN op o USING (op_id) WHERE o.type NOT IN ('label', 'mark') GROUP BY o.op_id"):
        shapes = [json.loads(inputs), json.loads(outputs)]
        types = [names.get(word, word) for word in json.loads(dtypes)]
        out[label(name, kind), kind, label(index, kind), str(shapes), str(types)] += calls
    return out


# The share of a run's time that its nodes take, of the run where it is most: others were interrupted.
def best_coverage(store):
    return store.execute(
        "SELECT max(1.0 * n / (r.end_ns - r.start_ns)) FROM run r JOIN (SELECT e.run AS run, sum(e.dur_ns) AS n"
        " FROM event e JOIN op o USING (op_id) WHERE o.type NOT IN ('label', 'mark') GROUP BY 1) USING (run)").fetchone()[0]
