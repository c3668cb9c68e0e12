#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files that other tools write today: each is read as what it is, or refused with a sentence that
says what to give in its place. Folded stacks have the unit that they are given, or none. The files
of other tools are skipped where they are not there."""
import gzip
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(os.environ["OPTRACE_SOURCE_ROOT"])
PROGRAM = pathlib.Path(os.environ["OPTRACE_BUILD_ROOT"]) / "analyze" / "profile_analyze"
SHARED = pathlib.Path(os.environ.get("OPTRACE_SHARED", ROOT.parent / "shared"))
TODAY = SHARED / "cases" / "traces-today"

REFUSED = {  # and what the sentence must say
    "go.heap": "stackcollapse-go.pl",
    "go.pprof": "stackcollapse-go.pl",
    "jax.xplane.pb": ".trace.json.gz",
    "memray_stats.json": "statistics of memray",
    "memtl.json": "--report memory",
    "memtl.raw.json": "--report memory",
    "node.cpuprofile": "folded",
    "node.heapprofile": "folded",
    "openvino_bench_pc.txt": "what OpenVINO's benchmark_app prints",
    "openvino_benchmark_average_counters_report.csv": "OpenVINO's benchmark_app",
    "openvino_benchmark_detailed_counters_report.json": "OpenVINO's benchmark_app",
    "openvino_ov_info.json": "OpenVINO's counters",
    "otlp.json": "OpenTelemetry",
    "perf.script": "stackcollapse-perf.pl",
    "perfetto.pftrace": "traceconv json",
    "pyinstrument.json": "pyinstrument",
    "pyinstrument.speedscope.json": "folded stacks",
    "pyspy.speedscope": "py-spy record --format raw",
    "tf2.21.xplane.pb": ".trace.json.gz",
    "torch_execution_trace.json": "export_chrome_trace()",
}
READ = ["jax_0.10.trace.json", "ort1.32_session.json", "pyspy.raw", "gloo_rank0.json",
        "gloo_rank1.json", "torch_memory_hang_width80.json", "torch_with_stack_default.json",
        "torch_verbose_stack.json", "torch_compiled_with_stack.json"]


def run(*arguments, status=0):
    done = subprocess.run([str(PROGRAM), *map(str, arguments)], capture_output=True, text=True,
                          check=False)
    if done.returncode != status:
        sys.exit(f"{arguments}: exit status {done.returncode}\n{done.stderr}")
    return done


def says(text, part, *arguments):
    if part not in text:
        sys.exit(f"{arguments}: '{part}' is not in\n{text}")


def check_refused(folder):
    """Compressed as they are kept, unpacked, and through a pipe."""
    for name, part in REFUSED.items():
        packed = TODAY / f"{name}.gz"
        plain = folder / name
        plain.write_bytes(gzip.decompress(packed.read_bytes()))
        says(run(plain, status=3).stderr, part, plain)
        if not name.startswith("go."):  # these are compressed in themselves
            says(run(packed, status=3).stderr, part, packed)
        with subprocess.Popen(["cat", str(plain)], stdout=subprocess.PIPE) as cat:
            done = subprocess.run([str(PROGRAM), "/dev/stdin"], stdin=cat.stdout,
                                  capture_output=True, text=True, check=False)
        says(done.stderr, part, "through a pipe", name)
    unknown = {path.name[:-3] for path in TODAY.glob("*.gz") if ".tables." not in path.name}
    unknown -= set(REFUSED) | set(READ)
    if unknown:
        sys.exit(f"nobody says what becomes of {unknown}")


def check_read():
    for name in READ:
        report = json.loads(run(TODAY / f"{name}.gz", "--report", "types", "--format",
                                "json").stdout)
        if not report["types"]["rows"]:
            sys.exit(f"{name}: no types")


def check_steps():
    report = json.loads(run(TODAY / "jax_0.10.trace.json.gz", "--report", "runs", "--format",
                            "json", "-t", "0").stdout)
    durations = [row["dur_ns"] for row in report["each_run"]["rows"]]
    with gzip.open(TODAY / "jax_0.10.trace.json.gz") as file:
        events = json.load(file)["traceEvents"]
    steps = [event["dur"] * 1000 for event in events if "step_num" in event.get("args", {})]
    wanted = sorted(steps, reverse=True)
    if len(wanted) != 5 or len(durations) != 5 or any(
            abs(got - want) > 1 for got, want in zip(durations, wanted)):
        sys.exit(f"steps of JAX: {durations}, not {wanted}")


def check_samples(folder):
    stacks = folder / "stacks.txt"
    stacks.write_text("main;work 208\nmain;wait 792\n")
    text = run(stacks, "--report", "types").stdout
    says(text, "1000 samples", "without a unit")
    says(text, "--sample 10ms", "without a unit")
    for unit in (" us ", " ms ", " s "):
        if unit in text.split("\n\n")[0]:
            sys.exit(f"samples are shown as times: {text}")
    stacks.write_text("".join(f"main;work;leaf{i} 1\n" for i in range(5000)))
    text = run(stacks).stdout
    says(text, "5000 samples", "the first answer")
    for unit in (" us", "µs", " ms ", " s "):
        if unit in text.split("Times are counts")[0]:
            sys.exit(f"samples are shown as times: {text}")
    stacks.write_text("main;work 208\nmain;wait 792\n")
    says(run(stacks, "--sample", "10ms", "--report", "types").stdout, "10.000 s", "with a unit")
    store = folder / "store.db"
    run("--import", "--into", store, stacks)
    says(run(store, "--report", "types").stdout, "1000 samples", "from a store")
    run("--import", "--into", store, "--sample", "2ms", stacks)
    says(run(store, "--report", "types").stdout, "2.000 s", "from a store, with a unit")
    says(run(store, "--compare", "1", status=3).stderr, "the other counts of samples", "both")
    trace = folder / "trace.json"
    trace.write_text('{"traceEvents": []}')
    says(run(trace, "--sample", "1ms", status=3).stderr, "for folded stacks", trace)
    says(run("--import", "--into", folder / "new.db", "--sample", "1ms", trace, status=3).stderr,
         "for folded stacks", trace)
    for wrong in ("0", "none", "-1ms", "10", "ms", "1e9s"):
        says(run(stacks, "--sample", wrong, status=2).stderr, "--sample takes a time", wrong)


def check_forward_labels():
    """A scope of the forward pass says how much autograd ran that is not in it; that of the backward
    pass has all of it, and says nothing."""
    for name in ("torch_with_stack_default", "torch_memory_hang_width80"):
        with gzip.open(TODAY / f"{name}.json.gz") as file:
            events = json.load(file)["traceEvents"]
        autograd = sum(round(event["dur"] * 1000) for event in events
                       if event["name"].startswith("autograd::engine::evaluate_function"))
        for label, has_note in (("forward", True), ("^backward$", False)):
            notes = json.loads(run(TODAY / f"{name}.json.gz", "--report", "averages", "--label", label,
                                   "--format", "json").stdout)["notes"]
            found = [note["text"] for note in notes if "Autograd ran for" in note["text"]]
            if bool(found) != has_note:
                sys.exit(f"{name} --label {label}: {found}")
            if has_note:
                says(found[0], f"{autograd / 1e6:.4g} ms", name, label)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        check_samples(folder)
        if not TODAY.exists():
            print(f"no files in {TODAY}")
            sys.exit(77)
        check_refused(folder)
        check_read()
        check_steps()
        check_forward_labels()


main()
