#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/fuzz-graphs: that it refuses what makes no sense, finds what a stand-in for load_and_run does
wrong and shrinks it, ends in time where a reference does not, and finds nothing in some graphs of the real one. All but the first needs the
references from PyPI, which it does not install: they are there once the script ran."""
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(os.environ["OPTRACE_SOURCE_ROOT"])
BUILD = pathlib.Path(os.environ["OPTRACE_BUILD_ROOT"])
SCRIPT = ROOT / "scripts" / "fuzz-graphs"
SECONDS = float(os.environ.get("FUZZ_SECONDS", "20")) / 4

# Differs where there is a Tanh, breaks on a Softmax, and is content with all else.
STAND_IN = """#!/bin/sh
if grep -q Tanh "$1"; then echo "output 'y': DIFFERS"; exit 1; fi
if grep -q Softmax "$1"; then kill -SEGV $$; fi
exit 0
"""


# For the workers' Python: a reference that never ends.
SLOW_REFERENCE = """import sys, time
if sys.prefix != sys.base_prefix:
    import onnx.reference
    onnx.reference.ReferenceEvaluator.run = lambda *words, **named: time.sleep(3600)
"""


def run(*words, **environment):
    return subprocess.run([sys.executable, str(SCRIPT), *map(str, words)], capture_output=True, text=True, check=False,
                          env={**os.environ, **environment})


def expect(condition, what, done):
    if not condition:
        sys.exit(f"{what}\nexit status {done.returncode}\n{done.stdout}{done.stderr}")


def check_words(folder):
    for words in ["0"], ["--seconds", "0"], ["--seed", "-1"], ["x"], ["--flags", "nonsense"], ["--jobs", "0"]:
        done = run(*words)
        expect(done.returncode == 2, f"{words} is taken", done)
    done = run("1", "--no-install", "--folder", folder / "nowhere")
    expect(done.returncode == 3 and "the references are not in" in done.stderr, "absent references", done)


def check_makers(folder):
    done = run("--list", "--no-install")
    expect(done.returncode == 0, "operators have neither a maker nor a reason", done)
    expect("com.microsoft.MatMulNBits\n" in done.stdout and "RandomNormal has no maker: " in done.stdout, "not all are listed", done)
    done = run("1", "--no-install", "--makers", "Relu,nonsense", "--build", BUILD, "--keep", folder / "kept")
    expect(done.returncode == 2 and "no maker is called nonsense" in done.stderr, "a maker that is none is taken", done)
    done = run("4", "--no-install", "--makers", "com.microsoft.MoE", "--build", BUILD, "--keep", folder / "kept", "--flags", "default")
    expect(done.returncode == 0 and "ONNX Runtime ran 4 of them" in done.stdout, "graphs of one maker", done)


def check_finds(folder):
    program = folder / "build" / "runtime" / "load_and_run"
    program.parent.mkdir(parents=True)
    program.write_text(STAND_IN)
    program.chmod(0o755)
    done = run("60", "--no-install", "--seed", "1", "--jobs", "2", "--build", folder / "build", "--keep",
               folder / "found", "--flags", "default")
    expect(done.returncode == 1, "faults are not found", done)
    for words in "difference: seed", "crash: seed", " = Tanh(", " = Softmax(", "--verify":
        expect(words in done.stdout, f"no '{words}'", done)
    models = list((folder / "found").glob("difference-*/model.onnx"))
    expect(models and min(model.stat().st_size for model in models) < 300, f"{models} are not small", done)
    expect((models[0].parent / "test_data_set_0" / "output_0.pb").exists(), "no data is kept", done)


def check_slow_reference(folder):
    (folder / "slow").mkdir()
    (folder / "slow" / "sitecustomize.py").write_text(SLOW_REFERENCE)
    start = time.monotonic()
    done = run("--seconds", "4", "--seed", "1", "--no-install", "--jobs", "2", "--build", folder / "build", "--keep",
               folder / "found", PYTHONPATH=str(folder / "slow"))
    expect(done.returncode == 0 and "\n0 graphs of 0 nodes" in done.stdout, "a slow reference is no loss", done)
    expect(time.monotonic() - start < 120, "a slow reference is waited for", done)


def check_program(folder):
    done = run("--seconds", SECONDS, "--seed", "1", "--no-install", "--jobs", "2", "--build", BUILD, "--keep", folder / "kept")
    print(done.stdout)
    expect(done.returncode == 0, "graphs that are computed otherwise than by both references", done)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        check_words(folder)
        if run("1", "--no-install", "--build", "/nonexistent").stderr.startswith("fuzz-graphs: the references"):
            print("the references are not installed: scripts/fuzz-graphs does that; skipping")
            sys.exit(77)
        check_makers(folder)
        check_finds(folder)
        check_slow_reference(folder)
        check_program(folder)


main()
