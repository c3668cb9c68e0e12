#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The reports on devices against numbers computed from the recordings themselves, by the formulas in
the comments: Kineto traces with json, an Nsight Systems export with sqlite3. Skipped without them."""
import bisect
import collections
import functools
import gzip
import itertools
import json
import math
import os
import pathlib
import re
import sqlite3
import statistics
import subprocess
import sys

ROOT = pathlib.Path(os.environ["OPTRACE_SOURCE_ROOT"])
PROGRAM = pathlib.Path(os.environ["OPTRACE_BUILD_ROOT"]) / "analyze" / "profile_analyze"
SHARED = pathlib.Path(os.environ.get("OPTRACE_SHARED", ROOT.parent / "shared"))
TRACES = SHARED / "traces"

# What is compared: start and end in ns.
Span = collections.namedtuple("Span", "kind name device stream start end bytes correlation thread extra",
                              defaults=(None,) * 6)


@functools.cache
def report(path, name, *options):
    command = [str(PROGRAM), str(path), "--report", name, "--format", "json", *options]
    if name != "overview":
        command += ["-t", "0"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: exit status {done.returncode}\n{done.stderr}")
    return json.loads(done.stdout)


def same(what, got, want):
    """Numbers may differ by the rounding of their sums, nothing else."""
    if isinstance(want, float) and got is not None:
        if math.isclose(got, want, rel_tol=1e-9, abs_tol=1e-6):
            return
    elif got == want:
        return
    sys.exit(f"{what}: {got}, computed {want}")


def union(intervals):
    """Length of the union: sorted by start, overlaps merged."""
    total, until = 0, None
    for start, end in sorted(intervals):
        start = start if until is None else max(start, until)
        if end > start:
            total += end - start
        until = end if until is None else max(until, end)
    return total


def nearest_rank(values, percent):
    """The value at place ceil(p / 100 * n), counting from 1."""
    values = sorted(values)
    return values[max(1, math.ceil(percent / 100 * len(values) - 1e-9)) - 1]


# --- Reading. ---

def ns(value):
    """Microseconds as they are spelt."""
    whole, _, rest = str(value).partition(".")
    return int(whole) * 1000 + int((rest + "000")[:3])


@functools.cache
def read_kineto(name):
    """Device spans, launches by correlation, host ops."""
    with gzip.open(TRACES / "kineto-gpu" / f"{name}.json.gz", "rt") as file:
        document = json.load(file, parse_float=str)
    kinds = {"kernel": "kernel", "gpu_memcpy": "copy", "gpu_memset": "fill",
             "cuda_runtime": "call", "cuda_driver": "call", "cpu_op": "op",
             "Kernel": "kernel", "Memcpy": "copy", "Memset": "fill", "Runtime": "call",
             "Operator": "op"}  # the latter in 2021
    spans = []
    for event in document["traceEvents"]:
        kind = kinds.get(event.get("cat"))
        if kind and event["ph"] == "X":
            args = event["args"]
            start = ns(event["ts"])
            spans.append(Span(kind, event["name"], f"cuda:{event['pid']}", event["tid"], start,
                              start + ns(event["dur"]), args.get("bytes"), args.get("correlation"),
                              event["tid"], args.get("External id", args.get("external id"))))
    return spans


def read_nsys():
    path = TRACES / "nsys-sqlite" / "h100_2gpu_train_a.sqlite"
    database = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
    spans = []
    # A process counts its correlations from 1.
    queries = {
        "kernel": "SELECT s.value, deviceId, streamId, start, end, NULL, correlationId,"
                  " globalPid / 0x1000000 % 0x1000000"
                  " FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN StringIds s ON s.id = k.demangledName",
        "copy": "SELECT copyKind || CASE WHEN srcKind = 0 THEN 'pageable' ELSE '' END,"
                " deviceId, streamId, start, end, bytes, correlationId,"
                " globalPid / 0x1000000 % 0x1000000 FROM CUPTI_ACTIVITY_KIND_MEMCPY",
        "fill": "SELECT 'Memset', deviceId, streamId, start, end, bytes, correlationId,"
                " globalPid / 0x1000000 % 0x1000000 FROM CUPTI_ACTIVITY_KIND_MEMSET",
        "call": "SELECT s.value, NULL, NULL, start, end, NULL, correlationId,"
                " globalTid / 0x1000000 % 0x1000000"
                " FROM CUPTI_ACTIVITY_KIND_RUNTIME r JOIN StringIds s ON s.id = r.nameId",
    }
    copy_names = {"1pageable": "Memcpy HtoD (Pageable -> Device)", "8": "Memcpy DtoD"}
    for kind, query in queries.items():
        for name, device, stream, start, end, size, correlation, process in database.execute(query):
            spans.append(Span(kind, copy_names.get(name, name), f"cuda:{device}",
                              (process, stream), start, end, size, (process, correlation)))
    return path, spans


# --- Checks. ---

def check_kernels(path, spans):
    kernels = [span for span in spans if span.kind == "kernel"]
    groups = collections.defaultdict(list)
    for span in kernels:
        groups[span.device, span.name].append(span.end - span.start)
    total = sum(map(sum, groups.values()))
    rows = report(path, "kernels")["kernels"]["rows"]
    same("kernels", len(rows), len(groups))
    for row in rows:
        values = groups[row["device"], row["name"]]
        what = f"kernels, {row['name']}"
        same(what, row["total_ns"], float(sum(values)))
        same(what, row["share"], sum(values) / total)
        same(what, row["calls"], len(values))
        same(what, row["mean_ns"], sum(values) / len(values))
        same(what, row["median_ns"], float(statistics.median(values)))
        same(what, row["min_ns"], float(min(values)))
        same(what, row["max_ns"], float(max(values)))
        same(what, row["stddev_ns"], statistics.stdev(values) if len(values) > 1 else None)


def check_copies(path, spans):
    copies = [span for span in spans if span.kind in ("copy", "fill")]
    total = sum(span.end - span.start for span in copies)
    found = collections.defaultdict(lambda: [0, 0, 0, 0])
    for row in report(path, "copies")["directions"]["rows"]:
        line = found[row["name"]]  # async, sync and not known together
        line[0] += row["calls"]
        line[1] += row["total_ns"]
        line[2] += row["bytes"] or 0
        line[3] += row["share"]
        if row["bytes"]:
            same("bandwidth", row["bandwidth_bytes_per_s"] * row["total_ns"], row["bytes"] * 1e9)
    same("directions", sorted(found), sorted({span.name for span in copies}))
    for name, (calls, total_ns, size, share) in found.items():
        group = [span for span in copies if span.name == name]
        same(name, calls, len(group))
        same(name, total_ns, sum(span.end - span.start for span in group))
        if all(span.kind == "copy" for span in group):
            same(name, size, sum(span.bytes for span in group))
        same(name, share, sum(span.end - span.start for span in group) / total)


def check_launch(path, spans):
    """delay = max(0, start on the device - end of the call)"""
    calls = {span.correlation: span for span in spans if span.kind == "call"}
    groups = collections.defaultdict(list)
    for span in spans:
        if span.kind in ("kernel", "copy", "fill"):
            groups[span.name].append(span)
    rows = report(path, "launch")["launches"]["rows"]
    same("launch", len(rows), len(groups))
    for row in rows:
        group = groups[row["name"]]
        pairs = [(span, calls[span.correlation]) for span in group if span.correlation in calls]
        delays = [max(0, span.start - call.end) for span, call in pairs]
        what = f"launch, {row['name']}"
        same(what, row["calls"], len(group))
        same(what, row["unlaunched"], len(group) - len(pairs))
        same(what, row["queued"], sum(span.start > call.end for span, call in pairs))
        if not pairs:
            continue
        same(what, row["delay_ns"], float(sum(delays)))
        for percent in (50, 90, 99):
            same(what, row[f"delay_p{percent}_ns"], float(nearest_rank(delays, percent)))
        same(what, row["delay_max_ns"], float(max(delays)))
        same(what, row["call_mean_ns"], statistics.fmean(call.end - call.start for _, call in pairs))
        same(what, row["since_call_mean_ns"],
             statistics.fmean(span.start - call.start for span, call in pairs))
        same(what, row["total_mean_ns"], statistics.fmean(
            max(span.end, call.end) - call.start for span, call in pairs))


def steps_of(changes):
    """Value after each change of (time, change): [(time, value), ...]"""
    value, steps = 0, []
    for time, change in changes:
        value += change
        steps.append((time, value))
    return steps


def check_queues(path, spans):
    """HTA: one more at the start of a call that launches, one less at the start on the device; mean
    by time, full at 1024. Of equal times launches come first."""
    calls = {span.correlation: span for span in spans if span.kind == "call"}
    queues = collections.defaultdict(list)
    for span in spans:
        call = calls.get(span.correlation)
        if span.kind in ("kernel", "copy", "fill") and call:
            queues[span.device, span.stream] += [(call.start, 1), (span.start, -1)]
    rows = report(path, "launch")["queues"]["rows"]
    same("queues", len(rows), len(queues))
    found = []
    for changes in queues.values():
        steps = steps_of(sorted(changes, key=lambda change: (change[0], -change[1])))
        ends = [time for time, _ in steps[1:]] + [steps[-1][0]]
        area = sum(value * (end - time) for (time, value), end in zip(steps, ends))
        full = sum(end - time for (time, value), end in zip(steps, ends) if value >= 1024)
        extent = steps[-1][0] - steps[0][0]
        found.append((len(changes) // 2, max(value for _, value in steps),
                      round(area / extent, 3) if extent else 0, full))
    for got, want in zip(sorted((row["launch_count"], row["max_length"], row["mean_length"],
                                 row["full_ns"]) for row in rows), sorted(found)):
        for a, b in zip(got, want):
            if abs(a - b) > 0.0011:
                sys.exit(f"queue: {got}, computed {want}")
    points = report(path, "launch")["queue_over_time"]["rows"]
    same("parts of queues", len(points), 100 * len(queues))
    same("the highest of all parts", max(row["max_length"] for row in points),
         float(max(row[1] for row in found)))


def check_bandwidth(path, spans):
    """HTA: bytes / duration from start to end of each copy, added up; copies of 0 take 1 us."""
    rates = collections.defaultdict(list)
    for span in spans:
        if span.kind in ("copy", "fill") and span.bytes is not None:
            ns_taken = max(span.end - span.start, 0) or 1000
            rate = int(span.bytes) * 1e9 / ns_taken
            rates[span.name] += [(span.start, rate), (span.start + ns_taken, -rate)]
    answer = report(path, "copies")
    rows = {row["name"]: row for row in answer["bandwidth"]["rows"]}
    same("bandwidths", sorted(rows), sorted(rates))
    first = min(min(changes)[0] for changes in rates.values())
    last = max(max(changes)[0] for changes in rates.values())
    for name, changes in rates.items():
        steps = steps_of(sorted(changes))
        size = sum(int(span.bytes) for span in spans
                   if span.name == name and span.kind in ("copy", "fill"))
        if not math.isclose(rows[name]["max_bytes_per_s"], max(value for _, value in steps),
                            rel_tol=1e-6):
            sys.exit(f"{name}: {rows[name]}, computed {max(value for _, value in steps)}")
        same(name, rows[name]["mean_bytes_per_s"], size * 1e9 / (last - first))
        parts = [row["mean_bytes_per_s"] for row in answer["bandwidth_over_time"]["rows"]
                 if row["name"] == name]
        # The parts make up the whole.
        if not math.isclose(sum(parts) / 100 * (last - first) * 1e-9, size, rel_tol=1e-6):
            sys.exit(f"{name}: parts of {sum(parts) / 100 * (last - first) * 1e-9}, bytes {size}")


def check_device(path, spans, wall):
    """busy = |all|, hidden = |kernels| + |others| - |both|, |.| the length of a union; HTA's overlap of
    computation and communication is hidden, of |communication|"""
    rows = {row["device"]: row for row in report(path, "device")["devices"]["rows"]
            if row["stream"] == "all"}
    for row in report(path, "device")["devices"]["rows"]:
        rows.setdefault(row["device"], row)  # a device with one stream
    devices = {span.device for span in spans if span.kind in ("kernel", "copy", "fill")}
    same("devices", sorted(rows), sorted(devices))
    for device in devices:
        here = [span for span in spans
                if span.device == device and span.kind in ("kernel", "copy", "fill")]
        talks = [(span.start, span.end) for span in here
                 if span.kind == "kernel" and span.name.lower().startswith("nccl")]
        copies = [(span.start, span.end) for span in here if span.kind != "kernel"]
        moves = talks + copies
        work = [(span.start, span.end) for span in here
                if span.kind == "kernel" and not span.name.lower().startswith("nccl")]
        row = rows[device]
        same(device, row["busy_ns"], float(union(moves + work)))
        same(device, row["compute_ns"], float(union(work)))
        same(device, row["transfer_ns"], float(union(moves)))
        same(device, row["overlap_ns"], float(union(work) + union(moves) - union(moves + work)))
        for name, those in (("copy", copies), ("communication", talks)):
            if name == "communication" and not talks:
                continue
            hidden = float(union(work) + union(those) - union(work + those))
            same(device, row[f"{name}_ns"], float(union(those)))
            same(device, row[f"{name}_hidden_ns"], hidden)
            same(device, row[f"{name}_hidden_share"],
                 hidden / union(those) if union(those) else None)
        same(device, row["communication_exposed_ns"],
             float(union(talks + work) - union(work)) if talks else None)
        same(device, row["active_ns"],
             float(max(span.end for span in here) - min(span.start for span in here)))
        same(device, row["wall_ns"], float(wall))
        same(device, row["share"], union(moves + work) / wall)
        same(device, row["span_count"], len(here))


def check_idle(path, spans):
    """The gaps of a stream make up what is left of the time from its first to its last."""
    rows = report(path, "idle", "--device", "cuda")["gaps"]["rows"]
    streams = collections.defaultdict(list)
    for span in spans:
        if span.kind in ("kernel", "copy", "fill"):
            streams[span.device, span.stream].append((span.start, span.end))
    gaps = sum(max(end for _, end in each) - min(start for start, _ in each) - union(each)
               for each in streams.values())
    same("gaps", sum(row["total_ns"] for row in rows), gaps)


def check_averages(path, spans):
    """A kernel belongs to the op whose External id its launch carries; so PyTorch has it."""
    ops = {span.extra: span for span in spans if span.kind == "op"}
    times = collections.defaultdict(int)
    for span in spans:
        if span.kind in ("kernel", "copy", "fill"):
            owner = ops.get(span.extra)
            times[owner.name if owner else None] += span.end - span.start
    owned = {name: ns for name, ns in times.items() if name}
    answer = report(path, "averages")
    rows = {row["name"]: row for row in answer["averages"]["rows"]
            if row["side"] == "host" and not row["is_label"]}
    for name, ns in owned.items():
        same(f"averages, {name}", rows[name]["self_device_ns"], float(ns))
    same("device total", answer["totals"]["self_device_ns"], float(sum(times.values())))
    return len(owned)


def check_collectives(path):
    """A kernel's message is that of the innermost op with a collective around its launch; the rate of
    the bus is bytes * 2 (n - 1) / n of an allreduce, bytes of a broadcast, by the time."""
    with gzip.open(path, "rt") as file:
        events = json.load(file, parse_float=str)["traceEvents"]
    told = [(event["tid"], ns(event["ts"]), ns(event["ts"]) + ns(event["dur"]), event["args"])
            for event in events if "Collective name" in event.get("args", {})]
    calls = {event["args"].get("correlation"): event for event in events
             if event.get("cat") == "cuda_runtime"}
    element = {"Float": 4, "Byte": 1, "Char": 1, "Long": 8}
    sums = collections.defaultdict(lambda: [0, 0, 0, 0.0])
    for event in events:
        if event.get("cat") != "kernel" or not event["name"].startswith("nccl"):
            continue
        call = calls[event["args"]["correlation"]]
        at = ns(call["ts"])
        around = [(end - start, args) for tid, start, end, args in told
                  if tid == call["tid"] and start <= at <= end]
        args = min(around, key=lambda pair: pair[0])[1]
        size = max(args["In msg nelems"], args["Out msg nelems"]) * element[args["dtype"]]
        ranks = args["Group size"]
        factor = 2 * (ranks - 1) / ranks if "allreduce" in args["Collective name"] else 1
        line = sums[event["name"]]
        line[0] += 1
        line[1] += ns(event["dur"])
        line[2] += size
        line[3] += size * factor
    rows = {row["name"]: row for row in report(path, "collectives")["collectives"]["rows"]}
    same("collectives", sorted(rows), sorted(sums))
    for name, (count, total, size, crossed) in sums.items():
        same(name, rows[name]["calls"], count)
        same(name, rows[name]["total_ns"], float(total))
        same(name, rows[name]["bytes"], float(size))
        same(name, rows[name]["bandwidth_bytes_per_s"], size * 1e9 / total)
        same(name, rows[name]["bus_bytes_per_s"], crossed * 1e9 / total)
    return sum(line[0] for line in sums.values())


def reach_of(spans):
    """A function: how far those of a thread reach that had begun by a time."""
    threads = collections.defaultdict(list)
    for span in spans:
        threads[span.thread].append((span.start, span.end))
    ends = {}
    for thread, found in threads.items():
        found.sort()
        ends[thread] = [start for start, _ in found], list(itertools.accumulate((end for _, end in found), max))

    def reach(thread, time):
        starts, until = ends.get(thread, ((), ()))
        place = bisect.bisect_right(starts, time)
        return until[place - 1] if place else -math.inf

    return reach


def check_labels(path):
    """Calls of ops in any label, on the label's thread; and what autograd ran on another thread while
    a label was open whose thread was in no op."""
    autograd = re.compile(r"autograd::engine::evaluate_function: |torch::autograd::|.*Backward\d*$")
    with gzip.open(path, "rt") as file:
        events = json.load(file, parse_float=str)["traceEvents"]
    labels, ops, calls = [], [], []
    for event in events:
        if event.get("cat") not in ("user_annotation", "cpu_op", "cuda_runtime"):
            continue
        start = ns(event["ts"])
        span = Span(None, event["name"], None, None, start, start + ns(event["dur"]), thread=event["tid"])
        {"user_annotation": labels, "cpu_op": ops, "cuda_runtime": calls}[event["cat"]].append(span)
    scopes, others, busy = list(labels), 0, reach_of(ops + calls)
    for op in ops:
        around = [label for label in labels if label.start <= op.start and label.end >= op.end
                  and label.thread != op.thread] if autograd.match(op.name) else []
        if any(busy(label.thread, op.start) <= op.start for label in around):
            scopes.append(op)
            others += 1
    reach = reach_of(scopes)
    counts = collections.Counter(op.name for op in ops if reach(op.thread, op.start) >= op.end)
    got = collections.Counter()
    for row in report(path, "ops", "--label", ".*", "--show-host")["host"]["rows"]:
        got[row["name"]] += row["calls"] if row["type"] == "cpu_op" else 0
    same("labels", {name: count for name, count in got.items() if count}, dict(counts))
    return sum(counts.values()), others


def check_gloo(rank):
    """Collectives on threads: computation are ops without a span of some length inside, but for
    those that ask for a collective; exposed = |computation or communication| - |computation|."""
    path = SHARED / "cases" / "traces-today" / f"gloo_rank{rank}.json.gz"
    if not path.exists():
        return 0
    with gzip.open(path, "rt") as file:
        events = json.load(file, parse_float=str)["traceEvents"]
    spans, steps = [], []
    for event in events:
        if event["ph"] != "X" or event["cat"] not in ("cpu_op", "user_annotation"):
            continue
        start = ns(event["ts"])
        talks = event["name"].startswith("gloo:")
        span = Span("talk" if talks else "op", event["name"], None, event["tid"], start,
                    start + ns(event["dur"]))
        if event["cat"] == "cpu_op" or talks:
            spans.append(span)
        elif event["name"].startswith("ProfilerStep"):
            steps.append((span.start, span.end))
    talks, work = [], []
    for span in spans:
        inside = any(other.stream == span.stream and other is not span and
                     span.start <= other.start and other.end <= span.end and other.end > other.start
                     for other in spans)
        if span.kind == "talk":
            talks.append((span.start, span.end))
        elif not inside and not span.name.startswith("c10d::"):
            work.append((span.start, span.end))

    def within(these):
        """The length of what they have in common with the steps."""
        return float(union(these) + union(steps) - union(these + steps))

    rows = {row["part"]: row for row in report(path, "overview")["overhead"]["rows"]}
    same("communication", rows["communication"]["time_ns"], within(talks))
    same("computation", rows["computation"]["time_ns"], within(work))
    exposed = within(talks + work) - within(work)
    same("exposed", rows["communication_exposed"]["time_ns"], exposed)
    same("hidden", rows["communication_hidden"]["time_ns"], within(talks) - exposed)
    names = collections.Counter()
    for span in spans:
        names[span.name] += span.end - span.start
    types = {row["name"]: row for row in report(path, "averages")["averages"]["rows"]}
    for name in names:
        if name.startswith("gloo:"):
            same(name, types[name]["cpu_ns"], float(names[name]))
    return len(talks)


def wall_of(spans):
    return max(span.end for span in spans) - min(span.start for span in spans)


def main():
    if not (TRACES / "kineto-gpu").exists():
        print(f"no recordings in {TRACES}")
        sys.exit(77)
    for rank in (0, 1):
        print(f"gloo_rank{rank}: {check_gloo(rank)} collectives agree")
    for name in ("a100_alexnet_train", "a100_resnet_nccl_rank", "a100_recsys_train_shapes",
                 "v100_resnet50_shapes_stack_memory_legacy"):
        path, spans = TRACES / "kineto-gpu" / f"{name}.json.gz", read_kineto(name)
        check_kernels(path, spans)
        check_copies(path, spans)
        check_launch(path, spans)
        check_queues(path, spans)
        check_bandwidth(path, spans)
        check_device(path, spans, wall_of(spans))
        check_idle(path, spans)
        print(f"{name}: {len(spans)} spans agree")
    # The other traces have correlations where External ids should be.
    path, spans = (TRACES / "kineto-gpu" / "a100_resnet_nccl_rank.json.gz",
                   read_kineto("a100_resnet_nccl_rank"))
    print(f"collectives: {check_collectives(path)} of NCCL agree")
    in_labels, by_autograd = check_labels(path)
    print(f"labels: {in_labels} calls agree, {by_autograd} of autograd's threads begin in one")
    if not by_autograd:
        sys.exit("no call of autograd's threads is in a label")
    print(f"averages: {check_averages(path, spans)} ops with kernels agree")
    path, spans = read_nsys()
    check_kernels(path, spans)
    check_copies(path, spans)
    check_launch(path, spans)
    check_queues(path, spans)
    check_bandwidth(path, spans)
    check_idle(path, spans)
    print(f"{path.name}: {len(spans)} spans agree")


main()
