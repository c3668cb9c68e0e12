#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every report on every trace there is, in 80 columns: no line is wider, the columns that a report is
about are there, and names are alike exactly where they are in the table that is as wide as it likes.
Traces of this tree, and those that are shared, where they are."""
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unicodedata

from turns import turns_take

ROOT = pathlib.Path(os.environ["OPTRACE_SOURCE_ROOT"])
PROGRAM = pathlib.Path(os.environ["OPTRACE_BUILD_ROOT"]) / "analyze" / "profile_analyze"
SHARED = pathlib.Path(os.environ.get("OPTRACE_SHARED", ROOT.parent / "shared"))
SCREEN = 80
BREAKS_LINES = {"ops", "advice"}  # rows take several lines, and nothing is shortened
FINDINGS = "finding, what to do, what shows it"  # nor are these
NO_TABLE = {"brief", "ranks"}  # text; what is asked of several sessions at once
# Of each table, by report and first column: what is there on any trace.
COLUMNS = {
    ("advice", "rule"): ["of wall", FINDINGS],
    ("averages", "Name"): ["Self CPU %", "Self CPU"],
    ("collectives", "Name"): ["Count", "Total", "Mean"],
    ("collectives", "By size"): ["Mean"],
    ("copies", "Name"): ["Time %", "Total time", "Count"],
    ("copies", "Bandwidth of"): ["Bytes", "Mean", "Max"],
    ("critical", "Name"): ["What", "On the path", "Share", "Count"],
    ("critical", "At"): ["Time", "What", "Name"],
    ("device", "Device"): ["Stream", "Busy", "Of wall", "Idle"],
    ("events", "Event"): ["Calls", "Total"],
    ("idle", "Lane"): ["Cause", "Total", "Share"],
    ("kernels", "Time %"): ["Total time", "Instances", "Avg", "Name"],
    ("launch", "Name"): ["Count", "Delay", "Avg", "P99"],
    ("launch", "Queue of"): ["Launches", "Mean length", "Max", "Full", "of wall"],
    ("memory", "memory of"): ["peak", "at", "before", "at the end"],
    ("memory", "taken by"): ["at the peak", "of it", "kept"],
    ("memory", "counter"): ["of", "values", "first", "peak", "last"],
    ("ops", "device self time"): ["cumulative", "operator info", "calls", "FLOPS"],
    ("ops", "host self time"): ["cumulative", "operator info", "calls", "FLOPS"],
    ("overview", "Overhead Summary"): ["time", "of wall", "of recorded"],
    ("overview", "Device Summary"): ["lanes", "events", "busy", "Utilization", "copying"],
    ("overview", "GpuMemcpy Summary"): ["Total", "Ratio"],
    ("overview", "Model Summary"): ["Calls", "CPU Total", "Avg"],
    ("page", "type"): ["time", "share", "operators", "calls"],
    ("page", "name"): ["share"],
    ("page", "of wall"): [FINDINGS],
    ("page", "taken by"): ["at the peak", "of it"],
    ("roofline", "operator"): ["type", "time", "bound"],
    ("runs", "run"): ["duration", "of median"],
    ("runs", "what"): ["slow runs", "more", "share"],
    ("sequences", "Operators"): ["Length", "Count", "Between", "Total", "Share"],
    ("summary", "operator"): ["type", "mean", "share", "calls"],
    ("summary", "@"): ["operator", "type", "mean", "share", "calls"],
    ("summary", "type"): ["total", "/ operators", "= mean", "share"],
    ("summary", "total"): ["min", "mean", "median", "99%", "runs"],
    ("threads", "Lane"): ["Busy", "Share", "Spans"],
    ("types", "Type"): ["Share", "Self", "Calls", "Mean", "P99"],
}
# Columns that names keep at least where they are cut: those of collectives end with what tells them apart.
LEAST = {("collectives", "Name"): 24, ("collectives", "By size"): 30}


def run(*arguments):
    return subprocess.run([str(PROGRAM), *map(str, arguments)], capture_output=True, text=True,
                          env=dict(os.environ, COLUMNS="", NO_COLOR="1"), check=False)


def traces():
    today = ["jax_0.10.trace.json", "ort1.32_session.json", "gloo_rank0.json",
             "torch_with_stack_default.json", "torch_compiled_with_stack.json",
             "torch_memory_hang_width80.json"]
    found = [ROOT / "tests" / "golden" / "analyze" / name for name in ("gpu.json", "profile.json")]
    for pattern in ("kineto-gpu/*.gz", "nsys-sqlite/*.sqlite", "onnxruntime/*.json", "pytorch/*.json"):
        found += sorted((SHARED / "traces").glob(pattern))
    found += [SHARED / "cases" / "traces-today" / f"{name}.gz" for name in today]
    return [path for path in found if path.exists()]


def columns_of(text):
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
               for c in text)


def read_tables(text):
    """Pairs of head and rows. Rows keep their blanks: names that are indented are nested."""
    tables, is_head = [], False
    for line in text.splitlines():
        if line.startswith("│"):
            cells = line.split("│")[1:-1]
            if is_head:
                tables.append(([cell.strip() for cell in cells], []))
            else:
                tables[-1][1].append(cells)
        is_head = line.startswith("╒")
    return tables


def compare_names(narrow, wide):
    """What two rows show alike is alike, and what is alike is shown so; column by column."""
    (head, rows), (wide_head, wide_rows) = narrow, wide
    if len(rows) != len(wide_rows):
        yield f"{len(rows)} rows, {len(wide_rows)} when wide"
        return
    at = 0
    for column, title in enumerate(head):
        while at < len(wide_head) and wide_head[at] != title:
            at += 1
        if at == len(wide_head):
            yield f"no column {title} when wide"
            return
        full, shown = {}, {}
        for row, wide_row in zip(rows, wide_rows):
            if full.setdefault(row[column], wide_row[at]) != wide_row[at]:
                yield f"{title}: {row[column]} is {wide_row[at]} and {full[row[column]]}"
            if shown.setdefault(wide_row[at], row[column]) != row[column]:
                yield f"{title}: {wide_row[at]} is {row[column]} and {shown[wide_row[at]]}"
        at += 1


def top_of(store, report):
    """All lines, where the report can be asked for them."""
    if report in BREAKS_LINES:
        return ["-t", "3"] if report == "ops" else []
    return [] if run(store, "--session", 1, "--report", report, "-t0").returncode == 2 else ["-t0"]


def check(store, session, report, top, compares):
    """Returns what is wrong, and how many tables there were. Where it compares, names are held against wide ones."""
    asked = [store, "--session", session, "--report", report, *top]
    narrow = run(*asked, "--width", SCREEN)
    if narrow.returncode not in (0, 1):
        return [f"status {narrow.returncode}: {narrow.stderr}"], 0
    wrong = [f"{columns_of(line)} columns: {line}" for line in narrow.stdout.splitlines()
             if columns_of(line) > SCREEN]
    tables = read_tables(narrow.stdout)
    wrong += [f"{row[0].strip()} in {head}" for head, rows in tables for row in rows
              if "..." in row[0] and columns_of(row[0].strip()) < LEAST.get((report, head[0]), 0)]
    for head, _ in tables if report not in NO_TABLE else []:
        lacking = [title for title in COLUMNS.get((report, head[0]), ["?"]) if title not in head]
        wrong += [f"lacks {lacking} in {head}"] if lacking else []
    if tables and compares and report not in BREAKS_LINES:
        wide = read_tables(run(*asked, "--width", 0).stdout)
        if len(wide) != len(tables):
            wrong.append(f"{len(tables)} tables, {len(wide)} when wide")
        for pair in zip(tables, wide):
            wrong += compare_names(*pair) if FINDINGS not in pair[0][0] else []
    return wrong, len(tables)


def main():
    with tempfile.TemporaryDirectory(prefix="columns-") as folder:
        store = pathlib.Path(folder) / "all.db"
        files = traces()
        for path in files:
            done = run("--import", path, "--into", store)
            if done.returncode != 0:
                sys.exit(f"{path}: {done.stderr}")
        reports = re.findall(r"^  ([a-z]+)  ", run("--help", "reports").stdout, re.MULTILINE)
        if len(reports) < 20:
            sys.exit(f"--help reports has {reports}")
        tops = {report: top_of(store, report) for report in reports}
        jobs = [(number, report, tops[report], turns_take(number + place, 0, 2))
                for number in range(1, len(files) + 1) for place, report in enumerate(reports)]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            answers = list(pool.map(lambda job: check(store, *job), jobs))
    failures = 0
    for (number, report, *_), (wrong, _) in zip(jobs, answers):
        for what in wrong[:5]:
            print(f"{files[number - 1].name}, {report}: {what}")
        failures += len(wrong)
    count = sum(tables for _, tables in answers)
    print(f"{len(files)} traces, {len(reports)} reports, {count} tables")
    if failures or count < 2 * len(files):
        sys.exit(f"{failures} wrong")


if __name__ == "__main__":
    main()
