#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Models that random graphs (scripts/fuzz-graphs) were shrunk to and that load_and_run once computed
wrongly, refused or broke on. Each folder of tests/graphs/cases has the model, its data for --verify,
and in `flags` the words that showed it, a line each; '!' in front of words that --verify does not take."""
import os
import pathlib
import shlex
import subprocess
import sys

ROOT = pathlib.Path(os.environ["OPTRACE_SOURCE_ROOT"])
PROGRAM = pathlib.Path(os.environ["OPTRACE_BUILD_ROOT"]) / "runtime" / "load_and_run"


def run(folder, line):
    words = shlex.split(line.lstrip("!"))
    if not line.startswith("!"):
        words += ["--verify", str(folder)]
    # Memory that was not written is to look like it.
    environment = dict(os.environ, OPTRACE_SOCKET="/nonexistent/collector.sock", MALLOC_PERTURB_="85")
    command = [str(PROGRAM), str(folder / "model.onnx"), *words]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode != 0:
        print(f"{shlex.join(command)}\nexit status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.returncode == 0


def main():
    folders = sorted(path.parent for path in (ROOT / "tests" / "graphs" / "cases").glob("*/flags"))
    if not folders:
        sys.exit("there are no cases")
    results = [run(folder, line) for folder in folders
               for line in (folder / "flags").read_text().splitlines()]
    print(f"{len(folders)} models, {len(results)} runs, {results.count(False)} failed")
    return 1 if False in results else 0


sys.exit(main())
