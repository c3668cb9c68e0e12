#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ResNet-50 with images of 32x32, recorded on the emulated device: each operator on both sides, times that
the device scripts, bytes that were copied, and the report."""
import os
import pathlib
import re
import sqlite3
import sys
import tempfile

from emulated import BUILD, left_of, run

ROOT = pathlib.Path(os.environ["OPTRACE_SOURCE_ROOT"])
OPERATORS = 57        # behind fusion: 53 Conv, MaxPool, GlobalAveragePool, Gemm, Softmax
SCRIPTED_NS = 2000000  # much more than a launch takes, so that the device is always busy
STEP_NS = 1500        # events count in steps of about 500
KERNELS = ("conv_f32", "pool_f32", "gemm_f32", "along_block", "along_thread", "reduce_block", "reduce_thread",
           *(f"{name}_{team}_f32" for name in ("softmax", "reduce") for team in ("warp", "block")))
failures = []


def expect(condition, what):
    if not condition:
        failures.append(what)


def infer(model, *flags, left, before=()):
    script = ",".join(f"{kernel}={SCRIPTED_NS}" for kernel in KERNELS)
    done = run((*before, BUILD / "runtime" / "load_and_run", model, "--cuda", "--warmup-iter", "0", *flags),
               CUDA_DOUBLE_LEFT=str(left), CUDA_DOUBLE_KERNELS=script)
    return done, left_of(left) if left.exists() else {}


def check_events(store, launches):
    with sqlite3.connect(store) as connection:
        rows = connection.execute(
            "SELECT lane_kind, lane_device, run, correlation, op_name, start_ns, end_ns FROM v_event "
            "WHERE correlation IS NOT NULL AND run IS NOT NULL ORDER BY start_ns").fetchall()
    host = {row[2:4]: row for row in rows if row[0] == "thread"}
    device = {row[2:4]: row for row in rows if row[0] == "stream"}
    expect(len(rows) == 4 * OPERATORS and len(host) == 2 * OPERATORS and set(host) == set(device),
           f"{OPERATORS} operators of 2 runs on both sides: {len(rows)} events, {len(host)}, {len(device)}")
    for key, row in device.items():
        expect(row[1] == "cuda:0" and row[4] == host[key][4] and row[5] >= host[key][5],
               f"{row} is not what {host.get(key)} began")
    spans = list(device.values())
    numbers = [row[2] for row in spans]
    expect(numbers == sorted(numbers) and all(a[6] <= b[5] + STEP_NS for a, b in zip(spans, spans[1:])),
           "a run's events stand among those of another, or overlap")
    times = [row[6] - row[5] for row in spans]
    exact = [time for time in times if abs(time - SCRIPTED_NS) <= STEP_NS]
    expect(min(times) >= SCRIPTED_NS - STEP_NS and len(exact) >= len(times) - 8,
           f"kernels take what the device says: {times}")
    # Where the host was late a span has its lateness, too: of all others the sum is what was scripted.
    expect(launches == len(times) and abs(sum(exact) - len(exact) * SCRIPTED_NS) <= 500 * len(exact),
           f"{launches} launches of {SCRIPTED_NS} ns: {sum(exact)} in {len(exact)}")


def check_report(store):
    done = run((BUILD / "analyze" / "profile_analyze", store, "-t", "3", "--order-by", "memory"))
    rows = re.findall(r"^│ #\d+ .*", done.stdout, re.M)
    expect(done.returncode == 0 and len(rows) == 3 and
           "device table shows 3 of 57 lines" in done.stdout.replace("\n", " "),
           f"-t 3 --order-by memory: {done.returncode} {done.stdout}{done.stderr}")
    # Of the 3x3 windows over 512 channels one tap meets an image of 1x1, the others are left out.
    for row, name in zip(rows, ("conv5_1_down", "fc", r"conv5_[123]_conv[123]")):
        expect(re.search(rf"│ {name} ", row), f"not among those with most memory: {row}")


def main(folder):
    model, store = folder / "resnet50.onnx", folder / "run.db"
    made = run((ROOT / "scripts" / "make-model", "resnet50", model, "--image", "32"))
    if made.returncode != 0:
        print(made.stderr.strip())
        return 77
    done, left = infer(model, "--trace", "--iter", "2", "--enable-offload-copy", left=folder / "left",
                       before=(BUILD / "client" / "cli" / "optrace", "run", "-f", "-o", store, "--"))
    expect(done.returncode == 0 and store.exists(), f"recorded: {done.stdout}{done.stderr}")
    if failures:
        return 0
    expect(f"{OPERATORS} operators on it, 0 on the CPU; 0 copies" in done.stderr, done.stderr)
    check_events(store, left["launches"])
    check_report(store)
    _, more = infer(model, "--no-trace", "--iter", "5", "--enable-offload-copy", left=folder / "more")
    expect(more["copied in"] - left["copied in"] == 3 * 3 * 32 * 32 * 4,
           f"each run copies its image: {left} {more}")
    # The result, and the word that tells of an index out of range.
    expect(more["copied out"] - left["copied out"] == 3 * (1000 * 4 + 4) and
           left["copied out"] == 2 * (1000 * 4 + 4), f"each run copies its result: {left} {more}")
    expect(all(count == 0 for what, count in {**left, **more}.items() if what.startswith("left ")),
           f"left: {left} {more}")
    return 0


with tempfile.TemporaryDirectory() as name:
    status = main(pathlib.Path(name))
for failure in failures:
    print(failure)
sys.exit(1 if failures else status)
