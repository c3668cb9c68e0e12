#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Options of profile_analyze thrown together, with values that make sense and values that do not.

Whatever is asked, it ends with one of its statuses, says why when it refuses, prints UTF-8 that steers no
terminal, and JSON that is JSON. The sources are those of option_walk.py; OPTRACE_OPTION_SOURCES=FILE:FILE adds
others, OPTRACE_OPTION_SECONDS=600 goes on for so long, OPTRACE_OPTION_SEED=7 throws differently.
"""
import json
import os
import pathlib
import random
import shlex
import subprocess
import sys
import tempfile
import time

import option_walk

COMMANDS = 400
HANGS_S = 300
ODD = ["0", "-1", "1", "99999999999999999999", "", "x", "nan", "inf", "1e400", "..", "5..2", "(", ".*", "[", "\\Q", "\u2603", "a" * 300]
VALUES = {
    "session": ["all", "1..3", "1,2", "-2"], "since": ["yesterday", "0s"], "runs": ["2..", "all", "1..1000000000"], "time": ["0..0", "1us..", "..10s"],
    "order-by": ["calls", "+name", "p99", "time", "memory", "self_ns"], "width": ["20", "80", "300"], "what-if": [".*=2", "conv=0", ".*=-1"],
    "format": ["json", "csv", "markdown", "html", "table"], "sql": ["'SELECT name, hex(name) FROM op'", "'DROP TABLE op'", "'SELECT 1; SELECT 2'"],
    "export": ["chrome", "folded", "csv", "speedscope", "pprof", "stacks", "sqlite", "megengine"], "sample": ["10ms"], "progress": ["always", "never"],
    "output": ["out.txt", "out.gz", "missing/out.txt"], "print-only": ["device"], "group-by": ["module", "category"], "lenient": [None], "force": [None],
    "input-shape": ["1x*", "1x3x*x*"],
}
SANITIZED = {"ASAN_OPTIONS": "exitcode=99", "UBSAN_OPTIONS": "halt_on_error=1:exitcode=98:print_stacktrace=1"}


def draw_option(dice):
    option = dice.choice(sorted(set(option_walk.OPTIONS) | option_walk.ELSEWHERE))
    values = [*option_walk.OPTIONS.get(option, []), *VALUES.get(option, [])]
    takes_none = values and None in values and option != "progress"
    value = None if takes_none else dice.choice(values * 8 + ODD)
    if value == "{columns}":
        value = "calls"
    words = shlex.split(value) if value and " --" in value else [value.strip("'") if value else value]
    return [f"--{option}", *(word for word in words if word is not None)]


def draw(dice, sources, reports):
    words = [dice.choice(sources)] if dice.random() > 0.05 else []
    if dice.random() < 0.7:
        words += ["--report", dice.choice(reports)]
    elif dice.random() < 0.3:
        words += ["--compare", dice.choice(sources)]
    for _ in range(dice.choice((0, 1, 1, 2, 2, 3, 4, 6))):
        words += draw_option(dice)
    return words


def last_value(words, option):
    found = [words[i + 1] for i, word in enumerate(words[:-1]) if word == option]
    return found[-1] if found else None


def find_fault(words, done):
    out, err = done.stdout, done.stderr.decode(errors="replace")
    if done.returncode not in range(6):
        return "a status that it does not have"
    if "runtime error" in err or "Sanitizer" in err:
        return "a sanitizer speaks"
    if done.returncode >= 2 and not err.strip():
        return "a refusal without a reason"
    if done.returncode == 2 and out:
        return "an answer beside a refusal"
    if "\x1b" in err + out.decode(errors="replace") and "always" not in words:
        return "a character that steers the terminal"
    if "--export" in words or "--output" in words:
        return None
    try:
        text = out.decode()
        shows_json = last_value(words, "--format") == "json" and not {"--explain", "--wiki", "--confluence", "--import"} & set(words)
        if shows_json and (done.returncode == 0 or text):
            json.loads(text)
    except ValueError as error:
        return f"what it prints: {error}"
    return None


def main():
    dice = random.Random(os.environ.get("OPTRACE_OPTION_SEED", "1"))
    seconds = float(os.environ.get("OPTRACE_OPTION_SECONDS", "0"))
    end, count, faults = time.monotonic() + seconds, 0, []
    statuses = {}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        option_walk.make_sources(folder)
        sources = sorted(path.name for path in folder.iterdir() if path.suffix in (".db", ".json"))
        sources += [source for source in os.environ.get("OPTRACE_OPTION_SOURCES", "").split(":") if source]
        reports = sorted(path.stem for path in (option_walk.ROOT / "docs/reports").glob("*.md") if path.stem != "README")
        kept = set(os.listdir(folder))
        environment = dict(os.environ, TZ="UTC", HOME=name, **SANITIZED)
        while count < COMMANDS or time.monotonic() < end:
            words = draw(dice, sources, reports)
            count += 1
            try:
                done = subprocess.run([option_walk.BUILD / "analyze/profile_analyze", *words], cwd=folder, env=environment, timeout=HANGS_S,
                                      stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
                fault = find_fault(words, done)
                statuses[done.returncode] = statuses.get(done.returncode, 0) + 1
            except subprocess.TimeoutExpired:
                fault = f"no end after {HANGS_S} s"
            if fault:
                faults.append(f"{fault}: profile_analyze {shlex.join(words)}")
                print(faults[-1], flush=True)
            for left in set(os.listdir(folder)) - kept:
                (folder / left).unlink()
    print(f"{count} commands, statuses {dict(sorted(statuses.items()))}")
    if faults:
        sys.exit(f"{len(faults)} faults")
    if not statuses.get(0) or not statuses.get(2):
        sys.exit("commands that all succeed or all fail try nothing")


main()
