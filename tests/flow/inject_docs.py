#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/inject.md has a row for each program that scripts/get-programs lists and for each source that
`optrace run` knows, and for none that there is not."""
import os
import pathlib
import re
import subprocess
import sys

BUILD = pathlib.Path(os.environ["OPTRACE_BUILD_ROOT"])
ROOT = pathlib.Path(os.environ["OPTRACE_SOURCE_ROOT"])
failures = []


def rows(text, heading):
    """Cells of the tables of a section; of the page's beginning where the heading is empty."""
    part = text.split("\n## ")[0] if not heading else \
        next((part for part in text.split("\n## ") if part.startswith(heading + "\n")), "")
    lines = [line for line in part.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines[1:]]


def same(what, got, wanted):
    for name in sorted(set(wanted) - set(got)):
        failures.append(f"{what}: there is no row for {name}")
    for name in sorted(set(got) - set(wanted)):
        failures.append(f"{what}: a row for {name}, which there is not")
    for name in sorted({name for name in got if got.count(name) > 1}):
        failures.append(f"{what}: two rows for {name}")


page = (ROOT / "docs/inject.md").read_text()
listed = subprocess.run([ROOT / "scripts/get-programs", "--list"], capture_output=True, text=True, check=True)
programs = rows(page, "Programs that were tried")
same("programs", [row[0].strip("`") for row in programs], [line.split()[0] for line in listed.stdout.splitlines()])
for row in programs:
    if len(row) != 3 or len(row[2]) < 20:
        failures.append(f"programs: {row[0]} says too little: {row[1:]}")
wrong = subprocess.run([BUILD / "client/cli/optrace", "run", "--sources", "none", "true"], capture_output=True,
                       text=True, check=False)
known = re.search(r"a list of (.*), not 'none'", " ".join(wrong.stderr.split()))
same("sources", [row[0].split(":")[0].strip("`") for row in rows(page, "")],
     re.split(r", | and ", known.group(1)) if known else [])
for row in rows(page, "What cannot be reached"):
    if len(row) != 2 or not row[1]:
        failures.append(f"what cannot be reached: {row}")
if len(rows(page, "What cannot be reached")) < 5:
    failures.append("what cannot be reached: less than five rows")
for failure in failures:
    print(failure)
sys.exit(1 if failures else 0)
