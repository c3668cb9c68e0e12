#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""--report averages against PyTorch's own tables, cell by cell: what key_averages().table() printed of
a recording, and what profile_analyze makes of the same recording. Skipped without the recording."""
import csv
import gzip
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from pytorch_tables import compare_tables, time_text

ROOT = pathlib.Path(os.environ["OPTRACE_SOURCE_ROOT"])
PROGRAM = pathlib.Path(os.environ["OPTRACE_BUILD_ROOT"]) / "analyze" / "profile_analyze"
SHARED = pathlib.Path(os.environ.get("OPTRACE_SHARED", ROOT.parent / "shared"))
STEM = SHARED / "traces" / "pytorch" / "cnn_inference_cpu"

GROUPS = {"plain": "name", "group_by_input_shape=True": "shape", "group_by_stack_n=5": "stack:5"}
SELF_TOTAL = 10116  # us, the tables' "Self CPU time total"


def analyze(source, *options):
    command = [str(PROGRAM), f"{STEM}{source}", "--report", "averages", "--format", "json", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: exit status {done.returncode}\n{done.stderr}")
    return json.loads(done.stdout)


# --- PyTorch's tables. ---

def read_tables(text):
    """Yields (grouping, sort key, rows, total); a row is a dict of cells, its stack a list."""
    for part in text.split("==== ")[1:]:
        title, rest = part.split("\n", 1)
        grouping, key = re.match(r'key_averages\((.*)\)\.table\(sort_by="(\w+)"', title).groups()
        lines = rest.split("\n")
        # Columns are as wide as the dashes of the rule.
        spans = [match.span() for match in re.finditer("-+", lines[0])]

        def cells(line):
            return [line[begin:end].strip() for begin, end in spans]

        head = cells(lines[1])
        rows = []
        for line in lines[3:]:
            if line.startswith("---"):
                break
            row = dict(zip(head, cells(line)))
            if row["Name"]:
                rows.append(row)
                row["stack"] = []
            frame = row.get("Total KFLOPs")
            if grouping.startswith("group_by_stack") and frame:
                # PyTorch puts the two last cells of such a row the wrong way round.
                rows[-1]["stack"].append(line[spans[-1][0]:].strip())
                if row["Name"]:
                    row["Total KFLOPs"] = row["Source Location"]
        total = re.search(r"^Self CPU time total: (.*)$", rest, re.MULTILINE).group(1)
        yield grouping, key, rows, total


def memory_text(size):
    for power, unit in ((3, "Gb"), (2, "Mb"), (1, "Kb")):
        if abs(size) >= 1024 ** power:
            return f"{size / 1024 ** power:.2f} {unit}"
    return f"{int(size)} b"


def frame_text(frame):
    """A long one loses its left end."""
    return frame if len(frame) <= 75 else "..." + frame[-72:]


def expected_cells(row, grouping):
    """What PyTorch would print of a row of ours."""
    cells = {
        "Name": row["name"],
        "Self CPU %": f"{row['self_cpu_share'] * 100:.2f}%",
        "Self CPU": time_text(row["self_cpu_ns"]),
        "CPU total %": f"{row['cpu_share'] * 100:.2f}%",
        "CPU total": time_text(row["cpu_ns"]),
        "CPU time avg": time_text(row["cpu_mean_ns"]),
        "CPU Mem": memory_text(row["cpu_memory_bytes"]),
        "Self CPU Mem": memory_text(row["self_cpu_memory_bytes"]),
        "# of Calls": str(row["calls"]),
        "Total KFLOPs": "--" if row["computation_flop"] is None
                        else f"{row['computation_flop'] / 1000:.3f}",
        "stack": [frame_text(frame) for frame in row["source"] or []],
    }
    if grouping == "group_by_input_shape=True":
        cells["Input Shapes"] = str(row["input_shapes"] or [])[:80]
    return cells


def check_tables():
    count = 0
    for grouping, key, rows, total in read_tables((STEM.parent / f"{STEM.name}.tables.txt").read_text()):
        ours = analyze(".function_events.json", "--group-by", GROUPS[grouping], "--sort-by", key,
                       "--row-limit", "-1")
        where = f"{grouping} by {key}"
        if len(ours["averages"]["rows"]) != len(rows):
            sys.exit(f"{where}: {len(rows)} rows there, {len(ours['averages'])} here")
        for number, (theirs, line) in enumerate(zip(rows, ours["averages"]["rows"])):
            cells = expected_cells(line, grouping)
            theirs.pop("Source Location", None)
            if cells != theirs:
                sys.exit(f"{where}: row {number}\nthere {theirs}\nhere  {cells}")
            count += len(cells)
        if time_text(ours["totals"]["self_cpu_ns"]) != total:
            sys.exit(f"{where}: total {total} there, {ours['totals']} here")
    if count < 3000:
        sys.exit(f"only {count} cells were compared")
    print(f"{count} cells agree")


# --- The events themselves, and the Chrome trace of the same recording. ---

def check_events():
    """The sums of PyTorch's own numbers of single events."""
    sums = {}
    for event in json.loads((STEM.parent / f"{STEM.name}.function_events.json").read_text()):
        line = sums.setdefault(event["name"], [0, 0, 0, 0, 0])
        for place, value in enumerate((1, event["cpu_time_total"] * 1000,
                                       event["self_cpu_time_total"] * 1000,
                                       event["cpu_memory_usage"], event["self_cpu_memory_usage"])):
            line[place] += value
    ours = {row["name"]: [row["calls"], row["cpu_ns"], row["self_cpu_ns"], row["cpu_memory_bytes"],
                          row["self_cpu_memory_bytes"]]
            for row in analyze(".function_events.json", "-t", "0")["averages"]["rows"]}
    if ours != sums:
        sys.exit(f"events: {[(name, sums[name], ours.get(name)) for name in sums if sums[name] != ours.get(name)]}")


def check_chrome():
    """Here a span that sticks out by the rounding to 1 us is cut: totals differ by 1 us a call at
    most, no self time is negative, and self times still add up to what no op is around. One of four
    aten::div_ is then the only child of another, and one with it, as PyTorch itself would have it."""
    tables = read_tables((STEM.parent / f"{STEM.name}.tables.txt").read_text())
    theirs = {row["name"]: row for row in analyze(".function_events.json", "-t", "0")["averages"]["rows"]}
    negative = [row["Name"] for row in next(tables)[2] if row["Self CPU"].startswith("-")]
    ours = analyze(".json", "-t", "0")
    if negative != ["aten::batch_norm", "stage2", "aten::convolution"]:
        sys.exit(f"negative self times in PyTorch's table: {negative}")
    for row in ours["averages"]["rows"]:
        other = theirs.pop(row["name"])
        if row["name"] == "aten::div_":
            other["calls"] -= 1
            other["cpu_ns"] -= 10000
        if row["calls"] != other["calls"]:
            sys.exit(f"calls of {row['name']}: {other['calls']} there, {row['calls']} here")
        if not 0 <= other["cpu_ns"] - row["cpu_ns"] <= 1000 * row["calls"]:
            sys.exit(f"{row['name']}: {other['cpu_ns']} there, {row['cpu_ns']} here")
        if row["self_cpu_ns"] < 0:
            sys.exit(f"{row['name']}: self time {row['self_cpu_ns']}")
    total = sum(row["self_cpu_ns"] for row in ours["averages"]["rows"])
    if theirs or total != ours["totals"]["self_cpu_ns"] or total != SELF_TOTAL * 1000:
        sys.exit(f"not there: {list(theirs)}; self times {total} ns, {ours['totals']}")


# --- Traces with Python's functions, against what key_averages() held of the same recording. ---

TODAY = SHARED / "cases" / "traces-today"
PYTHON_TRACES = {  # and how PyTorch's tables are called
    "torch_with_stack_default": "torch_with_stack_default",
    "torch_verbose_stack": "torch_verbose_stack",
    "torch_compiled_with_stack": "torch_compiled",
}


def today_rows(trace, *options):
    command = [str(PROGRAM), str(TODAY / f"{trace}.json.gz"), "--report", "averages", "-t", "0",
               "--format", "json", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def check_today():
    count = 0
    for trace, tables in PYTHON_TRACES.items():
        with gzip.open(TODAY / f"{tables}.tables.json.gz") as file:
            theirs = json.load(file)
        count += compare_tables(trace, theirs, lambda *options: today_rows(trace, *options))
    if count < 11000:
        sys.exit(f"only {count} cells of traces with Python's functions were compared")
    print(f"{count} cells agree")


# --- Call stacks of these traces. ---

def events_with_stacks():
    """The rows of PyTorch's averages of the verbose trace, as its own profiler finds them: name,
    stack and self time in ns of each."""
    with gzip.open(TODAY / "torch_verbose_stack.json.gz") as file:
        events = [event for event in json.load(file)["traceEvents"]
                  if event.get("cat") in ("cpu_op", "user_annotation", "python_function")]
    for event in events:
        event["start"] = round(event["ts"] * 1000)
        event["end"] = event["start"] + round(event["dur"] * 1000)
        stack = event["args"].get("Call stack", "").split(";")
        event["stack"] = [frame for frame in stack if frame and not (
            "autograd/__init__" in frame and ("_make_grads" in frame or "backward" in frame))]
        event["children"] = []
    events.sort(key=lambda event: (event["start"], -event["end"]))
    opened = []
    for event in events:
        while opened and (event["start"] >= opened[-1]["end"] or event["end"] > opened[-1]["end"]):
            opened.pop()
        event["parent"] = opened[-1] if opened else None
        if opened:
            opened[-1]["children"].append(event)
        opened.append(event)
    give_forward_stacks(events)
    return fold_twins(events)


def give_forward_stacks(events):
    def number(event):
        return event["args"].get("Sequence number", -1), event["args"].get("Fwd thread id", 0)

    def backward_around(event):
        while event and not (event["name"].startswith("torch::autograd::") or
                             number(event)[1] and "evaluate_function" not in event["name"]):
            event = event["parent"]
        return event

    forward = {}
    for event in events:
        if not backward_around(event):
            forward.setdefault(number(event)[0], event["stack"])
    for event in events:
        around = backward_around(event)
        if around:
            event["stack"] = forward[number(around)[0]] if number(around)[1] else []


def fold_twins(events):
    rows = []
    for event in events:
        parent = event["parent"]
        if parent and len(parent["children"]) == 1 and parent["name"] == event["name"]:
            event["row"] = parent["row"]
            continue
        event["row"] = event
        event["own"] = event["end"] - event["start"]
        if parent:
            parent["row"]["own"] -= event["own"]
        rows.append(event)
    return [row for row in rows if row["cat"] != "python_function"]


def check_stack_lines():
    lines = []
    for row in events_with_stacks():
        frames = [re.sub("[ ;\\t\\n]", "_", frame) for frame in reversed(row["stack"])]
        if frames and row["own"] >= 1000:
            lines.append(f"{';'.join(frames)} {row['own'] // 1000}")
    done = subprocess.run([str(PROGRAM), str(TODAY / "torch_verbose_stack.json.gz"), "--export", "stacks"],
                          capture_output=True, text=True, check=True)
    ours = done.stdout.splitlines()
    if len(lines) < 500 or ours != lines:
        sys.exit(f"stacks: {len(lines)} lines there, {len(ours)} here, "
                 f"{[pair for pair in zip(lines, ours) if pair[0] != pair[1]][:3]}")
    print(f"{len(lines)} stacks agree")


def module_of(event):
    """The modules of an event's stack; of one without stack, those of what it lies in."""
    while event and not event["stack"]:
        event = event["parent"]
    frames = reversed(event["stack"]) if event else []
    return "/".join(frame[11:] for frame in frames if frame.startswith("nn.Module: "))


def check_modules():
    """Self times by module; a module's total is the sum over it and those inside."""
    own = {}
    for row in events_with_stacks():
        path = module_of(row)
        own[path] = own.get(path, 0) + row["own"]
    report = today_rows("torch_verbose_stack", "--group-by", "module")
    rows = {row["name"]: row for row in report["averages"]["rows"]}
    outside = rows.pop("(outside of modules)")
    if outside["self_cpu_ns"] != own.pop("") or outside["calls"] is not None:
        sys.exit(f"outside of modules: {outside}")
    for path, row in rows.items():
        total = sum(ns for other, ns in own.items() if f"{other}/".startswith(f"{path}/"))
        if (row["self_cpu_ns"], row["cpu_ns"], row["calls"]) != (own.get(path, 0), total, 1):
            sys.exit(f"module {path}: {own.get(path)} of {total} ns, here {row}")
    if len(rows) != 18 or own.keys() - rows.keys():
        sys.exit(f"modules: {sorted(rows)}, there {sorted(own)}")
    default = today_rows("torch_with_stack_default", "--group-by", "module")["averages"]["rows"]
    if {row["name"] for row in default} != rows.keys() | {outside["name"]}:
        sys.exit(f"modules without call stacks: {[row['name'] for row in default]}")
    print(f"{len(rows)} modules agree")


def check_without_call_stacks():
    """The functions of Python tell the same stacks as `Call stack` does."""
    with gzip.open(TODAY / "torch_verbose_stack.json.gz") as file:
        trace = json.load(file)
    for event in trace["traceEvents"]:
        event.get("args", {}).pop("Call stack", None)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "stripped.json"
        path.write_text(json.dumps(trace))
        tables = []
        for source in (TODAY / "torch_verbose_stack.json.gz", path):
            command = [str(PROGRAM), str(source), "--report", "averages", "-t", "0", "--format",
                       "json", "--group-by", "stack:1000"]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            tables.append(json.loads(done.stdout)["averages"]["rows"])
    if tables[0] != tables[1] or not any(row["source"] for row in tables[0]):
        sys.exit("stacks by nesting are others than those of the trace")


def check_csv():
    """CSV has what JSON has."""
    command = [str(PROGRAM), f"{STEM}.function_events.json", "--report", "averages", "--format", "csv"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    lines = analyze(".function_events.json")["averages"]["rows"]
    if [(row["name"], int(row["self_cpu_ns"])) for row in rows] != \
            [(line["name"], line["self_cpu_ns"]) for line in lines]:
        sys.exit("CSV differs from JSON")


def main():
    if not (STEM.parent / f"{STEM.name}.tables.txt").exists():
        print(f"no recordings in {STEM.parent}")
        sys.exit(77)
    check_tables()
    check_events()
    check_chrome()
    check_csv()
    check_today()
    check_stack_lines()
    check_modules()
    check_without_call_stacks()


main()
