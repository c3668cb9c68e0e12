#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Under the race detector each thread of a block is one of its own: a missing barrier is a race in whatever
order the threads run, also where the result comes out right. Blocks of 256 threads are too many for it
to remember all: the results of those have to tell."""
import os
import pathlib
import subprocess
import sys

BUILD = pathlib.Path(os.environ["OPTRACE_BUILD_ROOT"])
EMULATED = BUILD / "tests" / "support" / "cuda" / "emulated"
RACES = {1: "softmax_f32", 18: "top_k", 20: "attention", 41: "attention_half"}  # see kernels_cuda_bugs.py
failures = []


def run(op, order, bug):
    options = os.environ.get("TSAN_OPTIONS", "") + ":halt_on_error=1:abort_on_error=0:exitcode=66"
    given = {**os.environ, "LD_LIBRARY_PATH": str(EMULATED), "CUDA_DOUBLE_STREAMS": "eager",
             "CUDA_DOUBLE_ORDER": order, "CUDA_DOUBLE_BUG": str(bug), "TSAN_OPTIONS": options}
    return subprocess.run([BUILD / "tests" / "kernels", "--cuda", "--op", op, "--cases", "30"],
                          capture_output=True, text=True, check=False, env=given)


for number, op in RACES.items():
    for order in ("forward", "reverse", "random:7"):
        done = run(op, order, number)
        if done.returncode != 66 or "data race" not in done.stderr:
            failures.append(f"the mistake {number} in {op}, {order}: no race is seen: {done.returncode} "
                            f"{done.stdout[-200:]}{done.stderr[-300:]}")
    done = run(op, "forward", 0)
    if done.returncode != 0 or "30 cases, 0 failed" not in done.stdout:
        failures.append(f"{op} fails without a mistake: {done.stdout[-300:]}{done.stderr[-600:]}")
for failure in failures:
    print(failure)
sys.exit(1 if failures else 0)
