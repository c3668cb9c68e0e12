#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""load_and_run --calibrate --cuda on the emulated device: rates by the times that it scripts, what the roofline
makes of them, and what happens where a call fails."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import emulated
from emulated import BUILD, calls_that_matter, left_of

ROOT = pathlib.Path(os.environ["OPTRACE_SOURCE_ROOT"])
LINEAR = ROOT / "tests" / "graphs" / "cases" / "lowered_linear"
PROCESSORS, MEMORY = 4, 1 << 20  # of the emulated device; what it is said to have
COPIED = (MEMORY - 8) // 4 // 16 * 16  # a word of it tells of indices out of range
PLACE = {"CUDA_DOUBLE_MEMORY": str(MEMORY)}
failures = []


def expect(condition, what):
    if not condition:
        failures.append(what)


def calibrate(*flags, before=(), **environment):
    return emulated.run([*before, BUILD / "runtime" / "load_and_run", "--calibrate", "--cuda", *flags], **PLACE,
                        **environment)


def is_near(value, wanted):
    return 0.6 < value / wanted < 1.001  # a launch comes later than the event before it, much later on a busy machine


def check_rates():
    """Of the copy both sides; of the sums what the rounds come to that take long enough."""
    for copy_ns, sum_ns, rounds in ((40000000, 80000000, 64), (20000000, 60000000, 64)):
        done = calibrate("--json", CUDA_DOUBLE_KERNELS=f"peak_copy={copy_ns},peak_multiply_add={sum_ns}")
        expect(done.returncode == 0, done.stderr)
        found = json.loads(done.stdout)
        expect(found["device"] == "cuda:0" and found["processors"] == PROCESSORS and
               found["description"].startswith("emulated device"), f"{found}")
        expect(found["copied_bytes"] == COPIED, f"{found['copied_bytes']} bytes, not {COPIED}")
        expect(is_near(found["bytes_per_s"], 2 * COPIED * 1e9 / copy_ns), f"copy of {copy_ns} ns: {found}")
        flop = 2 * 8 * 256 * PROCESSORS * 8 * rounds
        expect(is_near(found["flop_per_s"], flop * 1e9 / sum_ns), f"sums of {sum_ns} ns: {found}")
    done = calibrate(CUDA_DOUBLE_KERNELS="peak_copy=40000000,peak_multiply_add=80000000")
    expect("cuda:0: emulated device" in done.stdout and " 4 processors\n" in done.stdout and
           "f32 multiply-adds: 0.1 GFLOP/s\n" in done.stdout, done.stdout)


def check_bounds():
    """A device that is emulated tells less time than passes: what is measured is not made longer for ever."""
    words = [BUILD / "runtime" / "load_and_run", "--calibrate", "--cuda", "--json"]
    done = emulated.run(words, CUDA_DOUBLE_MEMORY=str(1 << 30))
    expect(done.returncode == 0, done.stderr)
    found = json.loads(done.stdout)
    expect(1 << 20 <= found["copied_bytes"] <= 256 << 20 and found["flop_per_s"] > 0, f"{found}")


def check_roofline(folder):
    """A model on the device, and a calibration of it: its products have a bound, and what they reach of it."""
    store = folder / "run.db"
    recorded = (BUILD / "client/cli/optrace", "run", "-f", "-o", store, "--")
    done = emulated.run([*recorded, BUILD / "runtime/load_and_run", LINEAR / "model.onnx", "--cuda", "--trace", "--iter",
                         "2"], CUDA_DOUBLE_KERNELS="gemm_f32=1000000")
    expect(done.returncode == 0 and store.exists(), f"{done.stdout}{done.stderr}")

    def roofline():
        done = subprocess.run([BUILD / "analyze/profile_analyze", store, "--report", "roofline", "--format", "json"],
                              capture_output=True, text=True, check=False)
        expect(done.returncode == 0, done.stderr)
        return json.loads(done.stdout)

    def bounds(answer):
        return {row["bound"] for row in answer["operators"]["rows"] if row["type"] in ("MatMul", "Gemm")}

    before = bounds(roofline())
    other = folder / "calibration.db"
    done = calibrate("--trace", before=(BUILD / "client/cli/optrace", "run", "-f", "-o", other, "--"),
                     CUDA_DOUBLE_KERNELS="peak_copy=2000000,peak_multiply_add=8000000")
    expect(done.returncode == 0 and other.exists(), f"{done.stdout}{done.stderr}")
    both = folder / "both.db"
    done = subprocess.run([BUILD / "analyze/profile_analyze", "--import", store, other, "--into", both],
                          capture_output=True, text=True, check=False)
    expect(done.returncode == 0, done.stderr)
    store = both
    after = roofline()
    expect(before.isdisjoint({"memory", "computation", "compute"}), f"no bound without: {before}")
    known = [row for row in after["operators"]["rows"] if row["type"] in ("MatMul", "Gemm")]
    expect(known and all(row["bound"] in ("memory", "computation", "compute") and row["efficiency"] > 0 for row in known),
           f"bounds of the device: {known[:2]}")
    text = subprocess.run([BUILD / "analyze/profile_analyze", store, "--report", "roofline", "--notes"], capture_output=True,
                          text=True, check=False).stdout
    expect("Operators of the GPU are held against" in " ".join(text.split()), text[-600:])


def check_failures(folder):
    """Each call in turn; a clock that stands still; no memory."""
    path = folder / "left"
    script = {"CUDA_DOUBLE_KERNELS": "peak_copy=100000,peak_multiply_add=6000000", "CUDA_DOUBLE_LEFT": str(path)}
    calibrate(**script, CUDA_DOUBLE_CALLS=str(folder / "calls"))
    calls = left_of(path)["calls"]
    expect(calls > 60, f"{calls} calls")
    told = set()
    for number in calls_that_matter(folder / "calls"):
        path.unlink(missing_ok=True)
        done = calibrate(**script, CUDA_DOUBLE_FAIL=f"#{number}=999")
        left = left_of(path)
        which = next((what.split()[1] for what in left if what.startswith("failed ")), None)
        told.add(which)
        expect(all(count == 0 for what, count in left.items() if what.startswith("left ")), f"{which} leaves {left}")
        if which == "cuDeviceGetName" or number > calls - 2 or \
                (which == "cuDeviceGetAttribute" and done.returncode == 0):
            expect(done.returncode == 0, f"{number} {which}: {done.returncode} {done.stderr}")
        else:
            expect(done.returncode == 4 and len(done.stderr.splitlines()) == 1 and not done.stdout,
                   f"{number} {which}: {done.returncode} {done.stdout}{done.stderr}")
    expect({"cuMemAlloc_v2", "cuLaunchKernel", "cuEventElapsedTime", "cuMemGetInfo_v2"} <= told, f"{told}")
    done = calibrate(CUDA_DOUBLE_DRIVER="none")
    expect(done.returncode == 4 and "the driver finds no GPU" in done.stderr, done.stderr)
    done = calibrate("x.onnx")
    expect(done.returncode == 2 and "takes no model" in done.stderr, done.stderr)


with tempfile.TemporaryDirectory() as name:
    check_rates()
    check_bounds()
    check_roofline(pathlib.Path(name))
    check_failures(pathlib.Path(name))
for failure in failures:
    print(failure)
sys.exit(1 if failures else 0)
