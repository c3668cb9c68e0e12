#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""From op to kernel: a program that nobody changed, with ONNX Runtime's nodes, a product of cuBLAS and
launches over the double of CUDA, whose kernels last as long as is said here. Each report that has to do
with both is held against that. Times of the host are the machine's: only bounds are known of them."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

BUILD = pathlib.Path(os.environ["OPTRACE_BUILD_ROOT"])
RUNS = 8
NS = {"product": 20_000_000, "sum_of_parts": 2_000_000, "relu": 4_000_000, "scale": 1_000_000}
FLOP = 2 * 128 * 256 * 512
MEMSET_NS = 64 // 16  # of the product's workspace
RUN_NS = sum(NS.values()) + MEMSET_NS
OF_NODE = {"conv": ("product", "sum_of_parts"), "relu": ("relu",), "scale": ("scale",)}
failures = []


def expect(what, got, want):
    if got != want:
        failures.append(f"{what}: {got}, not {want}")


def near(what, got, want, share):
    if not want * (1 - share) <= got <= want * (1 + share):
        failures.append(f"{what}: {got}, not {want} within {share:.0%}")


def run(*words, **environment):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False,
                          env=dict(os.environ, **environment))
    if done.returncode:
        sys.exit(f"{' '.join(map(str, words))}: exit status {done.returncode}\n{done.stderr}")
    return done.stdout


def report(store, name, *options):
    return json.loads(run(BUILD / "analyze/profile_analyze", store, "--report", name, "--format", "json",
                          "-t", "0", *options))


def check_kernels(store):
    rows = {row["name"]: row for row in report(store, "kernels")["kernels"]["rows"]}
    expect("kernels", set(rows), set(NS))
    for name, ns in NS.items():
        expect(f"{name}: calls, total, mean, deviation",
               [rows[name][field] for field in ("calls", "total_ns", "mean_ns", "stddev_ns")],
               [RUNS, RUNS * ns, ns, 0])


def check_launch(store):
    rows = {row["name"]: row for row in report(store, "launch")["launches"]["rows"]}
    expect("launched", set(rows), {*NS, "Memset"})
    for name, row in rows.items():
        expect(f"{name}: calls, without a launch", [row["calls"], row["unlaunched"]], [RUNS, 0])


def check_idle(store):
    answer = report(store, "idle")
    row = next(row for row in answer["gaps"]["rows"] if row["lane"] == "stream 7")
    gaps = sum(row["total_ns"] for row in answer["gaps"]["rows"] if row["lane"] == "stream 7")
    expect("busy and idle", row["active_ns"], RUNS * RUN_NS + gaps)
    if not any(row["during"] for row in answer["gaps"]["rows"] if row["lane"] == "stream 7"):
        failures.append("idle: no gap of the device has what the host did")


def check_op_and_kernel(store):
    """averages: what was launched within a node is its time on the device, whatever was between them."""
    rows = report(store, "averages")["averages"]["rows"]
    for node, kernels in OF_NODE.items():
        row = next(row for row in rows if row["name"] == node and row["side"] == "host")
        extra = MEMSET_NS if node == "conv" else 0
        expect(f"{node}: time on the device", row["device_ns"],
               RUNS * (sum(NS[kernel] for kernel in kernels) + extra))


def check_critical(store):
    """A run is as long as what it waits for: the kernels, one after the other."""
    answer = report(store, "critical", "--what-if", "product=2")
    rows = {row["name"]: row for row in answer["critical"]["rows"] if row["kind"] == "device"}
    for name, ns in NS.items():
        near(f"{name} on the path", rows[name]["time_ns"] if name in rows else 0, ns, 0.1)
    expect("call on the path", any(row["type"] == "cuda_runtime" for row in answer["critical"]["rows"]), True)
    what_if = answer["what_if"]
    near("a product of half the time", what_if["gain_ns"], NS["product"] / 2, 0.1)
    expect("predicted", what_if["wall_ns"] - what_if["gain_ns"], what_if["predicted_ns"])


def check_roofline(store):
    rows = report(store, "roofline", "--peak-flops", "1e12", "--peak-bandwidth", "1e11")["operators"]["rows"]
    row = next(row for row in rows if row["name"] == "product")
    near("FLOP/s of the product", row["flop_per_s"], FLOP / (NS["product"] / 1e9), 1e-6)
    # What the nodes compute is what their kernels do: it is not told twice, by the time of their launches.
    expect("lines with FLOP/s", [row["name"] for row in rows if row["flop_per_s"]], ["product"])
    rows = report(store, "ops", "--type", "Conv")["host"]["rows"]
    expect("computation and FLOP/s of the node", [(row["computation_flop"] > 0, row["flop_per_s"]) for row in rows],
           [(True, None)])


def check_small():
    """100 of 250 us and 100 of 40 us are 0.025 s and 0.004 s."""
    with tempfile.TemporaryDirectory() as folder:
        store = pathlib.Path(folder) / "s.db"
        run(BUILD / "client/cli/optrace", "run", "--quiet", "--force", "--gpu", "graph", "-o", store, "--",
            BUILD / "tests/flow/inject_cupti_program", "kernels", CUDA_DOUBLE_KERNELS="gemm=250000,relu=40000")
        rows = {row["name"]: row for row in report(store, "kernels")["kernels"]["rows"]}
        expect("gemm and relu", [rows[name]["total_ns"] / 1e9 for name in ("gemm", "relu")], [0.025, 0.004])
        text = run(BUILD / "analyze/profile_analyze", store, "--report", "ops")
        for number in ("0.025", "0.004"):
            if number not in text:
                failures.append(f"{number} is not in the table of operators")
        expect("without a launch", sum(row["unlaunched"] for row in report(store, "launch")["launches"]["rows"]), 0)


def main():
    os.environ["ASAN_OPTIONS"] = "detect_leaks=0"
    with tempfile.TemporaryDirectory() as folder:
        store, program = pathlib.Path(folder) / "o.db", BUILD / "tests/flow/inject_op_kernel_program"
        kernels = ",".join(f"{name}={ns}" for name, ns in NS.items())
        alone = run(program, RUNS, CUDA_DOUBLE_KERNELS=kernels)
        recorded = run(BUILD / "client/cli/optrace", "run", "--quiet", "--force", "--gpu", "graph", "--nodes", "all", "-o", store,
                       "--", program, RUNS, CUDA_DOUBLE_KERNELS=kernels,
                       ORT_NODES_PROVIDER="CUDAExecutionProvider")
        expect("what it prints", recorded, alone)
        for check in (check_kernels, check_launch, check_idle, check_op_and_kernel, check_critical, check_roofline):
            check(store)
    check_small()
    print("\n".join(failures) or "ok")
    return 1 if failures else 0


sys.exit(main())
