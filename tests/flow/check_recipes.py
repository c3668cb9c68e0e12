#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/check-recipes: what was added by a recipe stands in as many files as it says; one more is found."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(os.environ["OPTRACE_SOURCE_ROOT"])
FOLDERS = ("analyze", "base", "client", "daemon", "kernels", "runtime", "schema")


def check(folder):
    return subprocess.run([sys.executable, str(ROOT / "scripts/check-recipes")], cwd=folder, capture_output=True, text=True,
                          check=False)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for part in FOLDERS:
            shutil.copytree(ROOT / part, folder / part)
        subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
        subprocess.run(["git", "add", "-f", "."], cwd=folder, check=True)
        done = check(folder)
        if done.returncode != 0:
            sys.exit(f"the tree as it is: {done.stderr}")
        path = folder / "analyze/reports/selection.c"
        path.write_text(path.read_text() + "extern const struct report_kind report_threads;\n")
        done = check(folder)
        if done.returncode != 1 or "the report threads stands in 4 files" not in done.stderr:
            sys.exit(f"a fourth file was not found: {done.stdout}{done.stderr}")
        path = folder / "analyze/reports/kinds.c"
        path.write_text("/* none */\n")
        done = check(folder)
        if done.returncode != 1 or "nothing was added as report" not in done.stderr:
            sys.exit(f"no reports at all: {done.stdout}{done.stderr}")


main()
