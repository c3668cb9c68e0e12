#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/conformance: what it counts and when it fails, with a stand-in for load_and_run; then the
public ONNX cases themselves, which are skipped where they are absent."""
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(os.environ["OPTRACE_SOURCE_ROOT"])
RUNNER = ROOT / "scripts" / "conformance"

# Answers as the case's name says.
STAND_IN = """#!/bin/sh
case $1 in
  */good/*) exit 0 ;;
  */bad/*) echo "output 'y': DIFFERS"; exit 1 ;;
  */killed/*) kill -9 $$ ;;
  */flags/*) test "$4 $5 $6" = "--bf16 --rtol 0.1" ;;
  *) echo 'load_and_run: operator Foo (opset 7) of node "a" is not supported' >&2; exit 3 ;;
esac
"""


def run(*args, shared=None):
    environment = dict(os.environ)
    if shared:
        environment["OPTRACE_SHARED"] = str(shared)
    return subprocess.run([sys.executable, str(RUNNER), *args], env=environment,
                          capture_output=True, text=True, check=False)


def expect(condition, what, done):
    if not condition:
        sys.exit(f"{what}\nexit status {done.returncode}\n{done.stdout}{done.stderr}")


def check_runner(folder):
    program = folder / "build" / "runtime" / "load_and_run"
    program.parent.mkdir(parents=True)
    program.write_text(STAND_IN)
    program.chmod(0o755)
    cases = folder / "onnx-cases"
    cases.mkdir()
    golden = folder / "golden.txt"
    base = ["--build", str(folder / "build"), "--golden", str(golden)]

    def write(*names):
        (cases / "cases.tsv").write_text(
            "category\tcase\n" + "".join(f"node\t{name}\n" for name in names))

    write("good", "strange", "other")
    golden.write_text("node/good\n")
    done = run(*base, "--list", shared=folder)
    expect(done.returncode == 0, "a refused case must not fail the run", done)
    expect("3 cases: 1 pass, 2 refused, 0 differ, 0 break" in done.stdout, "counts", done)
    expect("refused     2  operator Foo is not supported" in done.stdout, "reasons", done)
    expect("node/strange" in done.stdout, "--list names cases", done)

    golden.write_text("node/good\nnode/strange\n")
    done = run(*base, shared=folder)
    expect(done.returncode == 1 and "no longer passes: node/strange" in done.stdout,
           "a lost case must fail the run", done)
    done = run(*base, "--match", "good", shared=folder)
    expect(done.returncode == 0, "cases that were not run are not lost", done)

    write("good", "flags")
    golden.write_text("node/flags\n")
    done = run(*base, "--", "--bf16", "--rtol", "0.1", shared=folder)
    expect(done.returncode == 0 and "2 pass" in done.stdout, "flags for load_and_run", done)
    done = run(*base, shared=folder)
    expect(done.returncode == 1 and "no longer passes: node/flags" in done.stdout, "no flags", done)

    golden.write_text("")
    for name, words in (("bad", "1 differ"), ("killed", "1 break")):
        write("good", name)
        done = run(*base, shared=folder)
        expect(done.returncode == 1 and words in done.stdout, f"{name} must fail the run", done)
    done = run(*base, "--rewrite", shared=folder)
    expect(golden.read_text() == "node/good\n", "--rewrite", done)


def main():
    with tempfile.TemporaryDirectory() as folder:
        check_runner(pathlib.Path(folder))
        done = run(shared=pathlib.Path(folder) / "nowhere")
        expect(done.returncode == 77, "absent cases are skipped", done)
    done = run()
    print(done.stdout)
    if done.returncode == 77:
        sys.exit(77)
    expect(done.returncode == 0, "the public cases", done)


main()
