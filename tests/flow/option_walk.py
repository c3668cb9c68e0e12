#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each option of profile_analyze on each report: it changes the answer, or it is refused by name.

An option that a report neither honours nor refuses would be ignored without a word. Every option that
--help options lists has a row here, so that a new one cannot be forgotten.
"""
import os
import pathlib
import re
import shlex
import sqlite3
import subprocess
import sys
import tempfile

import turns
from turns import turns_take, turns_third

ROOT = pathlib.Path(os.environ["OPTRACE_SOURCE_ROOT"])
BUILD = pathlib.Path(os.environ["OPTRACE_BUILD_ROOT"])

# Values that should matter, tried until one does. {columns} stands for the columns of the report.
OPTIONS = {
    "session": ["1", "all"], "program": ["other.py", "hello"], "since": ["1h", "2026-01-31"],
    "runs": ["2..3", "1"], "time": ["0..2ms", "0..20ms", "50ms.."], "warmup": [None], "total": [None],
    "type": ["kernel", "Conv", "label"], "opr-name": ["conv.*", "relu.*", "fc1"], "label": ["forward", "phase.*", "step"],
    "lane": ["'stream 7'", "main", "worker"], "device": ["host", "cuda", "cpu"], "input-dtype": ["f32", "i8"],
    "input-shape": ["8x64x112x112", "1x3x224x224"], "min-time": ["1e-4", "2e-3", "5e-3", "1.9e-2", "7e-3"], "max-time": ["2e-4", "4e-3"],
    "top": ["1", "2"], "order-by": ["{columns}"],
    "group-by": ["shape", "type", "launch", "params", "label", "name"], "sort-by": ["cpu_time_total", "count"],
    "row-limit": ["1"], "top-end-key": ["kern", "exec"], "aggregate": ["sum"], "aggregate-by": ["type --aggregate sum"],
    "show-host": [None], "print-only": ["host", "summary"], "copy-time": [None], "batch": ["4"], "detailed": [None],
    "detail": ["op", "all"], "per-thread": [None], "sorted-by": ["min", "calls"], "state": ["gpu", "all"],
    "what-if": ["conv_.*=2", "conv.*=2"], "dump-only-opr": [None], "explain": [None], "strict": [None],
    "model": ["other", "nothing"], "threshold": ["50"], "alpha": ["0.001"], "weight": ["calls"],
    "append": ["added.json"], "peak-flops": ["1e12"], "peak-bandwidth": ["1e11"],
    "format": ["json"], "wiki": [None], "confluence": [None], "ascii": [None], "notes": [None], "width": ["40"],
    "list": [None], "sql": ["'SELECT 1'"], "compare": ["base.db"], "history": [None], "export": ["csv"], "report": ["ops", "types"],
    "exact": [None], "output": ["out.txt"], "color": ["always"], "import": [None], "into": ["into.db"],
}
# They are about reading foreign files, about progress or about a file that is there: no matter of a report.
ELSEWHERE = {"lenient", "sample", "progress", "force"}
# Where nothing of what is asked for could change the answer, and why that is right.
SAME = {
    ("exact", "brief"): "the same numbers, from events", ("exact", "ops"): "the same numbers, from events",
    ("exact", "types"): "the same numbers, from events", ("exact", "overview"): "the same numbers, from events",
    ("strict", "compare"): "no event of its stores was lost",
}
# How an answer is shown is accepted everywhere, also where there is nothing of the kind: some report changes.
SHOWING = {"ascii", "color", "notes", "width"}
SOURCES = {
    "compare": [["new.db:all", "--compare", "base.db:all"]],
    "counters": [["counters.db", "--session", ids, "--report", "counters"] for ids in ("4", "2,4")],
    "history": [["history.db", "--history"], ["job.db", "--history"]],
    "page": [["store.db", "--report", "page"], ["job.db", "--report", "page"],
             ["store.db", "--report", "page", "--format", "html"]],
    "roofline": [["store.db", "--report", "roofline", "--peak-flops", "2e11"], ["job.db", "--report", "roofline"]],
    "sessions": [["job.db", "--list"]],
    "sql": [["job.db", "--sql", "SELECT name, type FROM op LIMIT 3"]],
    "export": [["job.db", "--export", name] for name in ("chrome", "folded", "csv")],
    None: [["job.db"], ["store.db"], ["job.db", "--session", "all"], ["counters.db", "--session", "4"], ["workers.db", "--session", "1..3"]],
}


class Walk:
    def __init__(self, folder):
        self.folder = folder
        self.environment = dict(os.environ, TZ="UTC", NO_COLOR="")
        self.answers = {}
        self.complaints = []
        self.count = 0

    def run(self, words):
        self.count += 1
        for name in ("out.txt", "added.json", "into.db"):
            (self.folder / name).unlink(missing_ok=True)
        done = subprocess.run([BUILD / "analyze/profile_analyze", *words], cwd=self.folder, env=self.environment,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, check=False)
        if done.returncode not in (0, 1, 2):
            sys.exit(f"profile_analyze {' '.join(words)}: exit status {done.returncode}: {done.stderr.decode()}")
        return done.returncode, done.stdout, done.stderr.decode()

    def answer(self, words):
        key = tuple(words)
        if key not in self.answers:
            self.answers[key] = self.run(words)
        return self.answers[key]

    def is_honoured(self, source, option, value):
        """True or False; None where it is refused by name."""
        words = [f"--{option}"] + (shlex.split(value) if value else [])
        base = [word for word in source if word != words[0]] if option in ("session",) else source
        if option == "session" and "--session" in source:
            base = source[:1]
        answer = self.run([*base, *words])
        if answer[0] == 2:
            if any(word in answer[2] for word in words if word.startswith("--")):
                return None
            if value and value.lstrip("+") in answer[2]:
                return False # a word that this report does not know
            self.complaints.append(f"{' '.join([*base, *words])}: refused without its name: {answer[2]}")
            return None
        return answer != self.answer(source)


def columns_of(text):
    found = {}
    for lines in re.split(r"\n(?=  \w)", text):
        name, columns = re.sub(r"\s+", " ", lines).strip().split(" ", 1)
        found[name] = re.findall(r"(?:^|; )([a-z0-9_]+):", columns)
    return found


def make_sources(folder):
    subprocess.run([BUILD / "tests/support/example_store", folder], check=True)
    for rank, name in enumerate(("train.json", "train1.json")):
        subprocess.run([ROOT / "scripts/make-trace", folder / name, str(rank)], check=True)
    trace = (folder / "train.json").read_text()
    (folder / "other.json").write_text(trace.replace("train.py", "other.py"))
    # One that never ends, so that something is missing.
    trace = "nccl_Broadcast_f32".join((folder / "train1.json").read_text().rsplit("nccl_AllReduce_f32", 1))
    unended = '{"ph": "B", "cat": "cpu_op", "name": "aten::stuck", "pid": 4712, "tid": 100, "ts": 20000}'
    (folder / "train1.json").write_text(trace.replace('"traceEvents": [', f'"traceEvents": [{unended}, '))
    subprocess.run([BUILD / "analyze/profile_analyze", "--import", "train.json", "other.json", "train1.json", "--into",
                    "job.db"], cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with sqlite3.connect(folder / "job.db") as store:
        store.execute("UPDATE run SET warmup = 1 WHERE run IN (SELECT min(run) FROM run GROUP BY session_id)")


def check_pair(walk, report, option, columns, turn):
    """A complaint, or None. What is refused of one source is so of the others, of which few pairs try one in turn."""
    values = [f"+{name}" for name in columns] + columns if option == "order-by" else OPTIONS[option]
    tried = False
    sources = SOURCES.get(report, SOURCES[None])
    for at, source in enumerate(sources):
        if at > 0 and not tried and report not in SOURCES and not turns_take(turn, at, 4 * len(sources)):
            continue
        if f"--{option}" in source and option not in ("session", "format"):
            return None # what it is about already
        if report not in SOURCES:
            source = [*source, "--report", report]
        for value in values or ["time"]:
            is_honoured = walk.is_honoured(source, option, value)
            if is_honoured:
                return f"--{option} on {report} is listed as changing nothing" if (option, report) in SAME else None
            tried |= is_honoured is False
    if tried and option not in SHOWING and (option, report) not in SAME:
        return f"--{option} changes nothing of {report}, and is not refused"
    return None


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        make_sources(folder)
        walk = Walk(folder)
        listed = set(re.findall(r"^ +(?:-\w, )?--(?:\[no-\])?([a-z-]+)", walk.run(["--help", "options"])[1].decode(), re.M))
        listed -= {"help", "version", "help-man", "help-completion"}
        if listed != set(OPTIONS) | ELSEWHERE:
            sys.exit(f"options without a row here, or rows without an option: {listed ^ (set(OPTIONS) | ELSEWHERE)}")
        reports = sorted(path.stem for path in (ROOT / "docs/reports").glob("*.md") if path.stem != "README")
        columns = columns_of(walk.run(["--help", "columns"])[1].decode())
        complaints = walk.complaints
        print(f"OPTRACE_TEST_TURN={turns.THIRD}", flush=True)
        complaints += [complaint for i, report in enumerate(reports) for k, option in enumerate(OPTIONS)
                       if turns_third(i + k) and (complaint := check_pair(walk, report, option, columns.get(report, []), i + k))]
        if complaints:
            sys.exit("\n".join(complaints))
        print(f"{len(reports)} reports, {len(OPTIONS)} options, {walk.count} commands")


if __name__ == "__main__":
    main()
