#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/verify-matrix: what it runs and when it fails, with a stand-in for load_and_run; then the
models of tests/graphs/cases, and the cases of $OPTRACE_SHARED where there are some, in turn."""
import os
import pathlib
import subprocess
import sys
import tempfile

import turns

ROOT = pathlib.Path(os.environ["OPTRACE_SOURCE_ROOT"])
SHARED = pathlib.Path(os.environ.get("OPTRACE_SHARED", ROOT.parent / "shared"))
SCRIPT = ROOT / "scripts" / "verify-matrix"
RUNS = 8 * 3 * 2

# Answers as the case's name says; writes the policy that it is asked for.
STAND_IN = """#!/bin/sh
echo "$DNNL_MAX_CPU_ISA" "$@" >>"$LOG"
case "$1 $*" in
  *unwritten/*) ;;
  *--fast-run-algo-policy*) for word; do case $word in */policy.json) : >"$word" ;; esac; done ;;
esac
case "$DNNL_MAX_CPU_ISA $*" in
  *bad/*--bf16*) echo "FAILED: 0 of 1 data sets agree"; exit 1 ;;
  SSE41*old/*--multithread*) kill -9 $$ ;;
  *silent/*) exit 0 ;;
  *) echo "passed: 1 of 1 data sets agree" ;;
esac
"""


def run(*words):
    return subprocess.run([sys.executable, str(SCRIPT), *map(str, words)], capture_output=True,
                          text=True, check=False)


def expect(condition, what, done):
    if not condition:
        sys.exit(f"{what}\nexit status {done.returncode}\n{done.stdout}{done.stderr}")


def check_script(folder):
    program = folder / "build" / "runtime" / "load_and_run"
    program.parent.mkdir(parents=True)
    program.write_text(STAND_IN)
    program.chmod(0o755)
    log = folder / "log"
    os.environ["LOG"] = str(log)
    for name in ("good", "bad", "old", "silent", "unwritten"):
        (folder / "cases" / name).mkdir(parents=True)
        (folder / "cases" / name / "model.onnx").touch()

    def case(name, *words):
        return run("--build", folder / "build", *words, folder / "cases" / name)

    done = case("good")
    expect(done.returncode == 0 and f"1 cases, {RUNS} runs, 0 bad" in done.stdout, "good", done)
    lines = log.read_text().splitlines()
    expect(len(lines) == RUNS + 6, "a policy is written and read", done)
    for word in ("--fast-run ", "--full-run", "--enable-ioc16", "--bf16", "--reproducible",
                 "--no-optimize-for-inference"):
        expect(sum(word in line for line in lines) >= 6, f"runs with {word}", done)
    for isa in ("AVX2 ", "SSE41 "):
        expect(sum(line.startswith(isa) for line in lines) == (RUNS + 6) // 3, isa, done)
    expect(not any("--rtol" in line or "--atol" in line for line in lines), "its tolerances", done)
    for name, count in (("bad", 6), ("old", 8), ("silent", RUNS), ("unwritten", 6)):
        done = case(name)
        expect(done.returncode == 1 and f"{RUNS} runs, {count} bad" in done.stdout, name, done)
    done = case("bad", "--match", "two-threads")
    expect(done.returncode == 1 and "24 runs, 3 bad" in done.stdout, "--match", done)
    expect("AVX2 " in done.stdout and "FAILED: 0 of 1" in done.stdout, "commands and answers", done)
    done = case(".", "--list", "--match", "bf16")
    expect(done.returncode == 0 and len(done.stdout.splitlines()) == 5 * 6, "--list", done)
    done = case(".", "--list", "--in-turn")
    lines = done.stdout.splitlines()
    expect(done.returncode == 0 and len(lines) == 5 * 8, "--in-turn", done)
    for name in ("good", "bad", "old", "silent", "unwritten"):
        own = [line for line in lines if f"/{name}/" in line]
        for word in ("=AVX2", "=SSE41", "--cpu-default", "--multithread 2"):
            expect(len(own) == 8 and 0 < sum(word in line for line in own) < 8, f"{word} in turn", done)
        expect(sum("=" in line.split()[0] for line in own) < 8, "no limit in turn", done)
    done = case("nowhere")
    expect(done.returncode == 1 and "no case here" in done.stderr, "no case", done)


def main():
    with tempfile.TemporaryDirectory() as folder:
        check_script(pathlib.Path(folder))
    folders = [ROOT / "tests" / "graphs" / "cases"]
    if (SHARED / "cases" / "runtime").is_dir():
        folders.append(SHARED / "cases" / "runtime")
    done = run(*folders, *([] if turns.turns_all() else ["--in-turn"]))
    print(done.stdout[-5000:] + done.stderr)
    return done.returncode


sys.exit(main())
