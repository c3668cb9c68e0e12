#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reports that show the same quantity show the same number: self times and calls by type and side (`ops`,
`types`, `summary`), kernels, copies, busy lanes and devices (`overview`, `threads`, `device`). Of random traces with spans
that overlap, nest, take no time or end together, on several threads and streams, with labels
across them; and of all traces of other tools that are there."""
import collections
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(os.environ["OPTRACE_SOURCE_ROOT"])
PROGRAM = pathlib.Path(os.environ["OPTRACE_BUILD_ROOT"]) / "analyze" / "profile_analyze"
SHARED = pathlib.Path(os.environ.get("OPTRACE_SHARED", ROOT.parent / "shared"))
SEEDS = 25


def report(path, name, *arguments):
    """Its JSON, or None where the file has nothing of the kind, of which it says so."""
    done = subprocess.run([str(PROGRAM), str(path), "--report", name, "--format", "json",
                           *arguments], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        sys.exit(f"{path} {name} {arguments}: exit status {done.returncode}\n{done.stderr}")
    return json.loads(done.stdout) if done.returncode == 0 else None


def import_once(path, folder):
    """A store of a large trace, which eight reports then need not read from the other tool's file."""
    if path.suffix not in (".gz", ".sqlite"):
        return path  # of a store nobody tells that it was MegEngine's
    store = folder / f"{path.name}.db"
    done = subprocess.run([str(PROGRAM), "--import", str(path), "--into", str(store)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{path} --import: exit status {done.returncode}\n{done.stderr}")
    return store


def rows(answer, table):
    return (answer.get(table) or {}).get("rows", []) if answer else []


def known(value):
    return value or 0


compared = collections.Counter()


class Sums:
    """What the reports say of a trace; `wrong` is what differs."""

    def __init__(self, path, has_overlaps):
        self.path, self.wrong, self.has_overlaps = path, [], has_overlaps
        self.ops = report(path, "ops", "-t0", "--show-host", "--total")
        self.types = report(path, "types", "-t0")
        self.is_megengine = bool(self.ops) and self.ops["selection"]["source_kind"] == "megengine"

    def same(self, what, one, other, slack=0.0):
        compared[what.split(",")[0]] += 1
        # Means of runs are rounded, and not sums of what was.
        if abs(one - other) > slack + 1e-9 * max(abs(one), abs(other)):
            self.wrong.append(f"{what}: {one} and {other}")

    def check_types(self):
        by_ops, by_types = collections.Counter(), collections.Counter()
        for side in ("host", "device"):
            for row in rows(self.ops, side):
                by_ops["self", row["type"], side] += known(row["end_ns"])
                by_ops["calls", row["type"], side] += row["calls"]
        for row in rows(self.types, "types"):
            if row["type"] != "label":
                by_types["self", row["type"], row["side"]] += known(row["self_ns"])
                by_types["calls", row["type"], row["side"]] += row["calls"]
        for key in sorted(set(by_ops) | set(by_types)):
            if self.is_megengine and key[0] == "calls":
                continue  # parts of one execution on several streams are calls in one of them alone
            self.same(f"ops and types, {key}", by_ops[key], by_types[key])
        self.by_type = by_types

    def total(self, side, what="self"):
        return sum(value for key, value in self.by_type.items() if key[0] == what and key[2] == side)

    def check_totals(self):
        facts = (self.ops or {}).get("summary", {})
        for side in ("host", "device"):
            self.same(f"ops' own total and types, {side}",
                      known(facts.get(f"total_{side}_time_ns")), self.total(side))

    def check_summary(self):
        """Its lines are of a side; of runs it has means."""
        found = report(self.path, "summary", "-t0")
        if not found:
            return
        has_runs = found["runs"]["count"] > 0
        counted = self.ops if not has_runs else report(self.path, "ops", "-t0", "--show-host")
        by_name = {side: collections.Counter() for side in ("host", "device")}
        for side in by_name:
            for row in rows(counted, side):
                by_name[side][row["name"], row["type"]] += \
                    known(row["end_ns"]) * (found["runs"]["count"] if has_runs else 1)
        side = "device" if sum(by_name["device"].values()) else "host"
        mine = collections.Counter()
        for row in rows(found, "ops"):
            mine[row["name"], row["type"]] += row["plain_mean_ns"] * row["run_count"]
        for key in sorted(set(mine) | set(by_name[side]), key=str):
            self.same(f"ops and summary, {side} {key}", by_name[side][key], mine[key], 1)

    def check_launches(self):
        """What is launched in several ways is one line."""
        for name, table in (("summary", "ops"), ("roofline", "operators"), ("ops", "device")):
            lines = collections.Counter((row["name"], row["type"], row["device"]) for row in rows(report(self.path, name, "-t0"), table)
                                        if row["type"] in ("kernel", "copy", "memset"))
            for line, count in lines.items():
                self.same(f"lines of what is launched, {name} {line}", count, 1)

    def check_kinds(self):
        kernels = report(self.path, "kernels", "-t0")
        copies = report(self.path, "copies", "-t0")
        overview = report(self.path, "overview", "--total")
        if kernels and not self.is_megengine:
            self.same("types and kernels", self.total_of("kernel"),
                      sum(row["total_ns"] for row in rows(kernels, "kernels")))
        if copies and overview:
            # Fills are in one of them alone.
            self.same("copies and overview", sum(row["total_ns"] for row in rows(copies, "directions")
                                                 if "memset" not in row["name"].lower()),
                      sum(row["total_ns"] for row in rows(overview, "copies")[:1]))

    def total_of(self, kind):
        return sum(row["total_ns"] for row in rows(self.types, "types")
                   if row["type"] == kind and row["side"] == "device")

    def check_busy(self):
        """Unions: of what does not overlap on a thread the sum of self times. MegEngine's profiles have no
        common clock, and `overview` looks at one side of them."""
        if self.is_megengine:
            return
        threads = report(self.path, "threads", "-t0")
        overview = report(self.path, "overview", "--total")
        device = report(self.path, "device", "-t0")
        if not overview:
            return
        recorded = {row["part"]: row for row in rows(overview, "overhead")}["recorded"]
        if threads:
            self.same("threads and overview", sum(row["busy_ns"] for row in rows(threads, "threads")),
                      recorded["lanes_ns"])
        whole = {row["device"]: row["busy_ns"] for row in rows(overview, "devices")}
        for row in rows(device, "devices"):
            if row["stream"] == "all":
                self.same(f"device and overview, {row['device']}", row["busy_ns"],
                          whole[row["device"]])
        if not self.has_overlaps:
            self.same("types and overview, all lanes", recorded["lanes_ns"],
                      self.total("host") + self.total("device"))

    def check(self):
        self.check_types()
        self.check_totals()
        self.check_summary()
        self.check_launches()
        self.check_kinds()
        self.check_busy()
        return self.wrong


# --- Random traces. ---

def make_spans(pick, now, until, depth, overlaps, out):
    """Spans of a thread between two times, as (start, duration)."""
    while now < until and len(out) < 400:
        now += pick.choice([0, 0, 1, 7, 40])
        dur = pick.choice([0, 1, 10, 50, 200, 1000])
        dur = dur if overlaps and pick.random() < 0.3 else min(dur, until - now)
        if now >= until or dur < 0:
            break
        out.append((now, dur))
        if depth < 4 and dur > 1 and pick.random() < 0.5:
            make_spans(pick, now, now + dur, depth + 1, overlaps, out)
        if overlaps and pick.random() < 0.2:
            continue  # the next one begins while this one runs
        now += dur


def make_trace(seed, overlaps):
    """A trace as PyTorch writes them."""
    pick, events, correlation, free = random.Random(seed), [], 0, collections.Counter()
    for thread in range(1, pick.choice([2, 3, 4])):
        spans = []
        make_spans(pick, pick.choice([0, 5, 100]), 4000, 0, overlaps, spans)
        for start, dur in spans:
            kind = pick.choice(["cpu_op"] * 4 + ["cuda_runtime", "user_annotation", "python_function"])
            event = {"ph": "X", "cat": kind, "name": f"{kind}{pick.randrange(5)}", "pid": 1, "tid": thread,
                     "ts": start, "dur": dur, "args": {}}
            events.append(event)
            if kind != "cuda_runtime":
                continue
            correlation += 1
            event["name"] = pick.choice(["cudaLaunchKernel", "cudaMemcpyAsync"])
            event["args"]["correlation"] = correlation
            copies = event["name"] == "cudaMemcpyAsync"
            stream, dur, start = pick.choice([7, 8]), pick.choice([0, 1, 20, 90]), start + dur
            start = start + pick.choice([0, 3, 50]) if overlaps else max(start, free[stream])
            free[stream] = start + dur
            events.append({"ph": "X", "cat": "gpu_memcpy" if copies else "kernel",
                           "name": "Memcpy HtoD (Pageable -> Device)" if copies
                           else f"kernel{pick.randrange(4)}",
                           "pid": 0, "tid": stream, "ts": start, "dur": dur,
                           "args": {"device": 0, "stream": stream, "correlation": correlation,
                                    **({"bytes": 64} if copies else {"grid": pick.choice([[1, 1, 1], [8, 2, 1]])})}})
    pick.shuffle(events)
    return {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "GPU"}], "traceEvents": events}


def traces():
    found = []
    for pattern in ("kineto-gpu/*.gz", "nsys-sqlite/*.sqlite", "onnxruntime/*.json",
                    "pytorch/*.json", "pytorch/*.stacks.txt"):
        found += sorted((SHARED / "traces").glob(pattern))
    found += sorted((SHARED / "cases" / "analyze").glob("*.json"))
    today = sorted((SHARED / "cases" / "traces-today").glob("*.json.gz"))
    for path in today:  # the others are refused, with a reason: traces_today.py
        if path.name.startswith(("torch_", "jax_", "gloo_", "ort")) and "tables" not in path.name \
                and "execution" not in path.name:
            found.append(path)
    return found


def main():
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        folder, made = pathlib.Path(name), []
        for seed in range(SEEDS):
            path = folder / f"seed{seed}{'' if seed % 3 else '_nested'}.json"
            path.write_text(json.dumps(make_trace(seed, seed % 3 != 0)))
            made.append((path, seed % 3 != 0))
        for path, overlaps in made + [(import_once(path, folder), True) for path in traces()]:
            wrong = Sums(path, overlaps).check()
            failed += bool(wrong)
            for line in wrong:
                print(f"{path.name}: {line}")
    never = [what for what in ("ops and types", "ops and summary", "types and kernels", "lines of what is launched",
                               "copies and overview", "device and overview", "threads and overview",
                               "types and overview") if not compared[what]]
    if never:
        sys.exit(f"never compared: {never}")
    if failed:
        sys.exit(f"{failed} traces of which reports disagree")


if __name__ == "__main__":
    main()
