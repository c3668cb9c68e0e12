#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What reports say of random traces, computed a second time from the raw events by what docs/reports/ says of each
column: recompute.py [FIRST LAST], the seeds."""
import collections
import json
import math
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

from recompute_trace import OPS, Maker, Trace, in_label

PROGRAM = pathlib.Path(os.environ["OPTRACE_BUILD_ROOT"]) / "analyze" / "profile_analyze"
FIRST, LAST = (int(word) for word in sys.argv[1:3] or ("0", "17"))


def share(part, whole):
    return part / whole if whole else None


def rank(values, percent):
    """Nearest rank."""
    return sorted(values)[max(1, math.ceil(percent * len(values) / 100)) - 1] if values else None


def median(values):
    low, high = sorted(values)[(len(values) - 1) // 2], sorted(values)[len(values) // 2]
    return (low + high) / 2


def union(spans):
    pieces = []
    for start, end in sorted((span.start, span.end) for span in spans if span.dur):
        if pieces and start <= pieces[-1][1]:
            pieces[-1][1] = max(pieces[-1][1], end)
        else:
            pieces.append([start, end])
    return pieces


def length(pieces):
    return sum(end - start for start, end in pieces)


def common(one, other):
    return sum(max(0, min(a[1], b[1]) - max(a[0], b[0])) for a in one for b in other)


def grouped(spans, key):
    groups = collections.defaultdict(list)
    for span in spans:
        groups[key(span)].append(span)
    return groups.items()


def of_calls(spans):
    times = [span.dur for span in spans]
    return {"calls": len(times), "total_ns": sum(times), "mean_ns": sum(times) / len(times), "min_ns": min(times), "max_ns": max(times)}


# --- Reports: by table and line the cells. ---

def types(trace):
    lines = {}
    for key, spans in grouped(trace.spans, lambda span: (span.type, span.side)):
        times = [span.dur for span in spans]
        lines[key] = {**of_calls(spans), "op_count": len({span.identity() for span in spans}), "p50_ns": rank(times, 50),
                      "p90_ns": rank(times, 90), "p99_ns": rank(times, 99),
                      "self_ns": sum(span.own_ns() for span in spans) if spans[0].is_op else None}
    return {"types": lines}


def ops(trace):
    """Totals; lines that differ in their stacks alone are added up."""
    found = {"host": {}, "device": {}}
    for key, spans in grouped((span for span in trace.spans if span.is_op), lambda span: (span.name, span.type, span.device, str(span.args.get("Input Dims")))):
        own = sum(span.own_ns() for span in spans)
        found[spans[0].side][key] = {"calls": len(spans), "time_ns": own, "end_ns": own}
    return found


def kernels(trace):
    lines, whole = {}, sum(span.dur for span in trace.spans if span.type == "kernel")
    for key, spans in grouped((span for span in trace.spans if span.type == "kernel"), lambda span: (span.name, span.device)):
        times = [span.dur for span in spans]
        mean = sum(times) / len(times)
        deviation = math.sqrt(sum((ns - mean) ** 2 for ns in times) / (len(times) - 1)) if len(times) > 1 else None
        lines[key] = {**of_calls(spans), "median_ns": median(times), "stddev_ns": deviation, "share": share(sum(times), whole)}
    return {"kernels": lines}


def threads(trace):
    lines = {}
    for lane, spans in trace.lanes.items():
        spans = [span for span in spans if span.is_op]
        if not spans:
            continue
        gaps, until = [], spans[0].end
        for span in spans:
            gaps += [span.start - until] if span.start > until else []
            until = max(until, span.end)
        busy = length(union(spans))
        lines[lane] = {"busy_ns": busy, "share": share(busy, trace.wall_ns()), "span_count": len(spans), "gap_count": len(gaps),
                       "longest_gap_ns": max(gaps, default=0), "first_ns": spans[0].start - min(trace.wall), "last_ns": until - min(trace.wall),
                       "op_count": len({span.identity() for span in spans}), "wall_ns": trace.wall_ns()}
    return {"threads": lines}


def device(trace):
    lines = {}
    for name, whole in grouped((span for span in trace.spans if span.device), lambda span: span.device):
        streams = list(grouped(whole, lambda span: span.lane))
        for stream, spans in streams + ([("all", whole)] if len(streams) > 1 else []):
            busy, computing = union(spans), union(span for span in spans if span.computes)
            copying, talking = union(span for span in spans if span.copies), union(span for span in spans if span.is_collective)
            lines[name, stream] = {
                "busy_ns": length(busy), "idle_ns": trace.wall_ns() - length(busy), "compute_ns": length(computing),
                "copy_ns": length(copying), "copy_hidden_ns": common(copying, computing), "span_count": len(spans),
                "active_ns": max(span.end for span in spans) - min(span.start for span in spans), "wall_ns": trace.wall_ns(),
                "concurrency": share(sum(span.dur for span in spans), length(busy)),
                **({"communication_ns": length(talking), "communication_hidden_ns": common(talking, computing)} if talking else {})}
    return {"devices": lines}


def launch(trace):
    lines, queues = {}, {}
    for name, spans in grouped((span for span in trace.spans if span.device), lambda span: span.name):
        waits = [max(0, span.start - span.launch.end) for span in spans]
        lines[name] = {"calls": len(spans), "unlaunched": 0, "queued": sum(span.start > span.launch.end for span in spans), "delay_ns": sum(waits),
                       "delay_p50_ns": rank(waits, 50), "delay_p99_ns": rank(waits, 99), "delay_max_ns": max(waits),
                       "call_mean_ns": sum(span.launch.dur for span in spans) / len(spans),
                       "total_mean_ns": sum(max(span.end, span.launch.end) - span.launch.start for span in spans) / len(spans)}
    for lane, spans in grouped((span for span in trace.spans if span.device), lambda span: span.lane):
        turns = sorted([(span.launch.start, 0) for span in spans] + [(span.start, 1) for span in spans])
        waiting = most = area = 0
        for (time, ends), (after, _) in zip(turns, turns[1:] + [(turns[-1][0], 1)]):
            waiting += -1 if ends else 1
            most, area = max(most, waiting), area + waiting * (after - time)
        queues[lane] = {"launch_count": len(spans), "max_length": most, "mean_length": share(area, turns[-1][0] - turns[0][0]) or 0}
    return {"launches": lines, "queues": queues}


def copies(trace):
    spans, lines = [span for span in trace.spans if span.copies], {}
    for key, some in grouped(spans, lambda span: (span.name, "async" if "Async" in span.launch.name else "sync")):
        moved, time = sum(span.args["bytes"] for span in some), sum(span.dur for span in some)
        lines[key] = {**of_calls(some), "bytes": moved, "bandwidth_bytes_per_s": share(moved * 1e9, time),
                      "share": share(time, sum(span.dur for span in spans)), "median_ns": median([span.dur for span in some])}
    return {"directions": lines}


def runs(trace):
    lines, times = {}, [step.dur for step in trace.steps]
    far = rank([abs(ns - rank(times, 50)) for ns in times], 50)
    for number, step in enumerate(trace.steps, 1):
        some = [span for span in trace.spans if span.run == number and span.is_op]
        busy = {side: common(union(span for span in some if span.side == side), [[step.start, step.end]]) for side in ("host", "device")}
        has = {side: some and any(span.side == side for span in trace.spans) for side in busy}
        lines[number] = {"dur_ns": step.dur, "of_median": step.dur / rank(times, 50), "z_score": share(0.6745 * (step.dur - rank(times, 50)), far),
                         **{f"{side}_busy": busy[side] / step.dur if has[side] else None for side in busy}}
    return {"each_run": lines} if lines else {}


def events(trace):
    """Paddle's table: by the path of names around."""
    def path(span):
        return tuple(outer.name for outer in reversed(list(span.around())) if outer.type not in ("cuda_runtime", "python_function"))

    lines = collections.defaultdict(lambda: {"calls": 0, "host_ns": 0, "self_ns": 0})
    for span in trace.spans:
        if not span.device and path(span)[-1:] == (span.name,) and span.type not in ("cuda_runtime", "python_function"):
            line = lines[path(span)]
            line["calls"] += 1
            line["host_ns"] += span.dur
            line["self_ns"] += span.dur - sum(child.dur for child in span.children)
    for key, spans in grouped((span for span in trace.spans if span.copies or span.device and not path(span.launch)),
                              lambda span: (*path(span.launch), span.name)):
        lines[key] = {"calls": len(spans)}
    return {} if trace.steps and any(span.run is None for span in trace.spans) else {"events": lines}


def memory(trace):
    """What nobody saw taken was there before."""
    pools, holders = {}, {}
    for place, some in grouped(sorted(trace.memory, key=lambda event: event.time), lambda event: event.device):
        held, pieces, total = {}, [], 0
        for event in some:
            if event.bytes > 0:
                held[event.address] = len(pieces)
                pieces.append([event, None])
            elif event.address in held:
                pieces[held.pop(event.address)][1] = event
            else:
                pieces.append([None, event])
                total -= event.bytes
        before = peak = total
        at = -1
        for event in some:
            total += event.bytes
            if total > peak:
                peak, at = total, event.time
        pools[place] = {"peak_bytes": peak, "before_bytes": before, "after_bytes": total, "event_count": len(some)}
        for name, its in grouped(pieces, lambda piece: piece[0].span.name if piece[0] else "before the recording"):
            alive = [piece for piece in its if (not piece[0] or piece[0].time <= at) and (not piece[1] or piece[1].time > at)]
            kept = [piece for piece in its if not piece[1]]
            holders[place, name] = {"at_peak_bytes": sum(abs((piece[0] or piece[1]).bytes) for piece in alive), "at_peak_count": len(alive),
                                    "kept_count": len(kept), "kept_bytes": sum(piece[0].bytes for piece in kept)}
    return {"pools": pools, "holders": holders}


# --- Against what the program says. ---

KEYS = {
    "types": lambda row: (row["type"], row["side"]), "kernels": lambda row: (row["name"], row["device"]), "threads": lambda row: row["lane"],
    "devices": lambda row: (row["device"], row["stream"]), "launches": lambda row: row["name"], "queues": lambda row: row["lane"],
    "directions": lambda row: (row["name"], row["mode"]), "each_run": lambda row: row["run"], "pools": lambda row: row["device"],
    "holders": lambda row: (row["device"], row["name"]),
    "host": lambda row: (row["name"], row["type"], row["device"], str(row["in_shapes"] or ([] if row["type"] == "cpu_op" else None))),
}
KEYS["device"] = KEYS["host"]
cells, wrong = collections.Counter(), []


def rows_of(answer, table):
    rows = (answer.get(table) or {}).get("rows", [])
    if table != "events":
        return [(KEYS[table](row), row) for row in rows]
    paths = {}
    for row in rows:
        paths[row["position"]] = (*paths.get(row["parent"], ()), row["event"])
    return [(paths[row["position"]], row) for row in rows]


def differs(one, other):
    if one is None or other is None:
        return one is not other
    return abs(one - other) > 1e-9 * max(abs(one), abs(other))


def check(path, report, expected, *options):
    command = [str(PROGRAM), str(path), "--report", report, "--format", "json", "-t", "0", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        sys.exit(f"{' '.join(command)}: exit status {done.returncode}\n{done.stderr}")
    answer = json.loads(done.stdout)
    for table, lines in expected.items():
        found = {}
        for key, row in rows_of(answer, table):
            into = found.setdefault(key, dict.fromkeys(row, None))
            into.update({name: row[name] if into[name] is None or not isinstance(row[name], (int, float)) else into[name] + row[name] for name in row})
        for key in set(lines) ^ set(found):
            wrong.append(f"{path.name} {report} {options} {table}: {key} is only {'here' if key in lines else 'there'}")
        for key in set(lines) & set(found):
            cells[report] += len(lines[key])
            wrong.extend(f"{path.name} {report} {options} {table} {key} {name}: {found[key][name]}, not {value}"
                         for name, value in lines[key].items() if differs(value, found[key][name]))


CHOICES = [
    (["--type", "cpu_op"], lambda span: span.type == "cpu_op"), (["--type", "kernel", "--type", "copy"], lambda span: span.type in ("kernel", "copy")),
    (["--opr-name", "relu|cuda"], lambda span: re.match("relu|cuda", span.name)), (["--opr-name", OPS[0]], lambda span: span.name == OPS[0]),
    (["--device", "cuda:0"], lambda span: span.device == "cuda:0"), (["--device", "host"], lambda span: not span.device),
    (["--lane", "1/1"], lambda span: span.lane.startswith("1/1")), (["--label", "forward"], in_label("forward")),
]


def check_choices(path, trace, draw):
    """Options together, and bounds of time on the lines."""
    chosen = draw.sample(CHOICES, draw.randint(1, 2))
    options = sum((words for words, _ in chosen), [])
    if options.count("--opr-name") > 1 or options.count("--device") > 1 or len([word for word in options if word == "--type"]) == 3:
        return
    part = trace.chosen(lambda span: all(keep(span) for _, keep in chosen))
    lines = {name: {key: {"calls": line["calls"], "total_ns": line["total_ns"]} for key, line in kernels(part)["kernels"].items()} for name in ["kernels"]}
    check(path, "kernels", lines, *options)
    bound = draw.choice([1000, 20_000, 100_000])
    for option, keeps in (("--min-time", lambda ns: ns >= bound), ("--max-time", lambda ns: ns <= bound)):
        tables = {table: {key: line for key, line in lines.items() if keeps(line["time_ns"])} for table, lines in ops(part).items()}
        if not any(span.type == "python_function" for span in trace.spans):  # of stacks each is a line
            check(path, "ops", tables, "--total", "--show-host", option, str(bound / 1e9), *options)


def main():
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(FIRST, LAST + 1):
            path = pathlib.Path(folder) / f"seed{seed}.json"
            Maker(seed).write(path)
            trace = Trace(path)
            check(path, "ops", ops(trace), "--total", "--show-host")
            for report in (types, kernels, threads, device, launch, copies, runs, events, memory):
                check(path, report.__name__, report(trace))
            check_choices(path, trace, random.Random(seed))
    if wrong:
        sys.exit("\n".join(wrong[:20] + [f"{len(wrong)} cells differ"]))
    if len(cells) < 10 or min(cells.values()) < 50:
        sys.exit(f"too little was compared: {cells}")
    print(f"{sum(cells.values())} cells agree: {dict(cells)}")


main()
