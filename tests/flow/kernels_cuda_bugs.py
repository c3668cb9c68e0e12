#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A mistake in each family of CUDA kernels, which the harness has to find on the emulated device; and
a result that nobody waited for, which lazy streams have not made yet."""
import os
import pathlib
import re
import subprocess
import sys

BUILD = pathlib.Path(os.environ["OPTRACE_BUILD_ROOT"])
EMULATED = BUILD / "tests" / "support" / "cuda" / "emulated"
# The number that BUG has in the source of the kernel, and the operation that shows it.
BUGS = {1: "softmax_f32",  # a missing barrier between shared memory's writers and readers
        2: "relu_f32", 3: "add_f32", 4: "chain", 5: "copy",
        6: "copy",  # a missing barrier in the transpose's tile
        7: "gather", 8: "along", 9: "normalize", 10: "conv_f32", 11: "average_pool_f32",
        12: "gemm_f32",  # a missing barrier before a tile is filled again
        13: "product", 14: "convolve", 15: "conv_transpose", 16: "pool", 17: "scatter_elements",
        18: "top_k",  # a missing barrier between the steps of a tree
        19: "quantize_exact",
        20: "attention",  # a missing barrier between who weighs keys and who sums up values
        21: "rotary", 22: "cache_write", 23: "quantize_dynamic", 24: "conv_half", 25: "gemm_half",
        26: "chain_half",  # what is too large becomes infinite
        29: "attention_tiles",  # a missing barrier between who loads values and who sums them up
        30: "recurrent_cells",  # a sequence that is read backwards is stored forwards
        31: "resample",
        32: "nms_boxes",  # a missing barrier in the tree that finds the best box
        34: "conv_f32",  # weights of channels-last images as those of others
        33: "nms_boxes",  # of equal scores the last
        41: "attention_half",  # a missing barrier between who loads values and who sums them up
        42: "attention_half_few",  # parts of a row are joined without being scaled to the same score
        28: "chain_half"}  # operands of a single step change places
failures = []


def run(op, order, *words, **environment):
    given = {**os.environ, "LD_LIBRARY_PATH": str(EMULATED), "CUDA_DOUBLE_STREAMS": "eager",
             "CUDA_DOUBLE_ORDER": order, **environment}
    return subprocess.run([BUILD / "tests" / "kernels", "--cuda", "--op", op, "--cases", "60", "--stop", *words],
                          capture_output=True, text=True, check=False, env=given)


def check_mistake(number, op):
    """The case that finds it passes without it; all do where a sanitizer ends the first one that would. The order that
    finds most comes first; the others are tried where it finds nothing."""
    for order in ("forward", "reverse", "random:7"):
        wrong = run(op, order, CUDA_DOUBLE_BUG=str(number))
        if wrong.returncode != 0:
            break
    else:
        failures.append(f"the mistake {number} in {op} is not found in any order")
        return
    case = re.search(r"again: --op \S+ (--seed \d+ --cases 1)\n", wrong.stdout)
    right = run(op, order, *(case[1].split() if case else ()))
    if right.returncode != 0 or not re.search(r"[1-9]\d* cases, 0 failed", right.stdout):
        failures.append(f"{op} fails without the mistake {number}: {right.stdout[-300:]}{right.stderr[-300:]}")


for known in BUGS.items():
    check_mistake(*known)
# Lazy streams have nothing done when a result is looked at too early.
lazy = run("relu_f32", "forward", CUDA_DOUBLE_STREAMS="lazy")
if lazy.returncode == 0 or "again: " not in lazy.stdout:
    failures.append("a result that nobody waited for is there with lazy streams")
for failure in failures:
    print(failure)
sys.exit(1 if failures else 0)
