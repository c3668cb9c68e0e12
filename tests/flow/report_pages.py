#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/reports: what a report's example gives as JSON has the members and fields that its page lists."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(os.environ["OPTRACE_SOURCE_ROOT"])
BUILD = pathlib.Path(os.environ["OPTRACE_BUILD_ROOT"])
# What all reports have: docs/reports/README.md lists it.
COMMON = {"format_version", "report", "selection", "runs", "coverage", "counted", "losses", "unfinished", "dropped",
          "notes"}
# Reports whose example is not asked for by name, so that --format json would choose another one.
NAMED = {"brief", "ops"}


def listed(page):
    """Members and their fields, as the page has them."""
    section = page.split("\n## JSON\n")[1]
    found = {}
    for row in re.findall(r"^\| (`.*) \| (.*) \|$", section, re.M):
        for member in re.findall(r"`([^`]+)`", row[0]):
            found[member] = re.findall(r"`([^`]+)`", row[1])
    return found


def given(commands, report, folder, environment):
    for command in commands[:-1]:
        subprocess.run(command, shell=True, check=True, cwd=folder, env=environment)
    command = commands[-1].replace(" 2>/dev/null", "") + (f" --report {report}" if report in NAMED else "")
    done = subprocess.run(command + " --format json", shell=True, cwd=folder, env=environment, capture_output=True,
                          text=True, check=False)
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        sys.exit(f"{command} --format json: {done.stderr}")
    return {name: list(value["rows"][0]) if value.get("rows") else [] if "rows" in value else list(value)
            for name, value in answer.items() if name not in COMMON}


def main():
    environment = dict(os.environ, PATH=f"{BUILD / 'analyze'}{os.pathsep}{os.environ['PATH']}", TZ="UTC")
    count = 0
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([BUILD / "tests/support/example_store", folder], check=True)
        for rank, name in enumerate(("train.json", "train1.json")):
            subprocess.run([ROOT / "scripts/make-trace", f"{folder}/{name}", str(rank)], check=True)
        for path in sorted((ROOT / "docs/reports").glob("*.md")):
            page = path.read_text()
            if path.stem in ("README", "export", "sql"): # an index; no JSON; the query's own fields
                continue
            commands = re.findall(r"^\$ (.*)$", page.split("```")[1], re.M)
            want, got = listed(page), given(commands, path.stem, folder, environment)
            if want != got:
                sys.exit(f"docs/reports/{path.name} lists {want}\nthe report gives {got}")
            count += 1
    if count < 20:
        sys.exit(f"only {count} pages were looked at")


main()
