#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""load_and_run --cuda on the emulated device: what times of the device are by, CUPTI's records or events."""
import pathlib
import re
import sqlite3
import sys
import tempfile

import emulated
import turns
from emulated import BUILD, EMULATED, calls_that_matter, is_clean, left_of

CASES = pathlib.Path(emulated.os.environ["OPTRACE_SOURCE_ROOT"]) / "tests" / "graphs" / "cases"
LINEAR = CASES / "lowered_linear"        # the device does all of it
TREES = CASES / "lowered_trees"          # the CPU does some, between copies
CUPTI = BUILD / "tests" / "support" / "libcupti.so.13"
RUNS = ("--iter", "2", "--warmup-iter", "1")
PRODUCT_NS = 3000000
TOOLKITS = ("11.7", "11.8", "12.0", "12.4", "12.8", "12.9", "13.0", "13.1", "13.2", "13.3", "13.4", "13.5")
failures = []


def expect(condition, what):
    if not condition:
        failures.append(what)


def record(folder, model, *flags, **environment):
    """Three runs: what it printed, spans of steps on streams, and marks of the session."""
    store, left = folder / "times.db", folder / "left"
    for path in (*folder.glob("times.db*"), left):
        path.unlink(missing_ok=True)
    words = (BUILD / "client" / "cli" / "optrace", "run", "-q", "-f", "-o", store, "--",
             BUILD / "runtime" / "load_and_run", model / "model.onnx", "--cuda", "--trace", *RUNS, *flags)
    done = emulated.run(words, **{"OPTRACE_CUPTI": str(CUPTI), "CUDA_DOUBLE_KERNELS": f"gemm_f32={PRODUCT_NS}",
                                  "CUDA_DOUBLE_LEFT": str(left), **environment})
    expect(done.returncode == 0, f"{model.name} {flags} {environment}: {done.returncode} {done.stdout}{done.stderr}")
    expect(left.exists() and is_clean(left_of(left)), f"{model.name} {flags} {environment}: something is left")
    spans, marks = [], []
    if store.exists():
        with sqlite3.connect(store) as connection:
            spans = connection.execute("SELECT op_type, dur_ns, run, start_ns, correlation FROM v_event "
                                       "WHERE lane_kind = 'stream' AND correlation IS NOT NULL AND op_type <> 'phase' "
                                       "ORDER BY start_ns").fetchall()
            marks = [row[0] for row in connection.execute("SELECT op_name FROM v_event WHERE op_name LIKE 'CUDA: %'")]
    told = re.findall(r"load_and_run: --cuda: (times of the device: .*)", done.stderr)
    expect(len(told) == 1 and marks.count("CUDA: " + told[0]) == 1, f"{flags} {environment}: {told} and {marks}")
    return told[0] if told else "", spans


def products_of(spans):
    return [span[1] for span in spans if span[0] in ("MatMul", "Gemm")]


def are_exact(spans):
    """As long as the kernel, whatever the device waited for before: an event cannot say that."""
    products = products_of(spans)
    return len(products) > 4 and all(abs(time - PRODUCT_NS) <= 100 for time in products)


def check_records(folder):
    told, spans = record(folder, LINEAR)
    expect(told == "times of the device: 3 runs by records of CUPTI 13.5" and are_exact(spans),
           f"{told} {products_of(spans)}")
    alone, by_events = record(folder, LINEAR, OPTRACE_CUPTI="/nowhere")
    expect(alone == "times of the device: 3 runs by events: there is no libcupti that fits the driver; "
           "OPTRACE_CUPTI may name one", alone)
    expect(len(spans) == len(by_events) and not are_exact(by_events) and
           all(time >= PRODUCT_NS - 1500 for time in products_of(by_events)), f"{products_of(by_events)}")
    for flags in (("--streams", "3"), ("--enable-offload-copy",), ("--copy-to-host",)):
        told, others = record(folder, LINEAR, *flags)
        expect("3 runs by records" in told and are_exact(others) and len(products_of(others)) == len(products_of(spans)),
               f"{flags}: {told} {products_of(others)}")
    told, spans = record(folder, TREES)
    copies = [span[1] for span in spans if span[0] == "CopyToDevice"]
    expect("3 runs by records" in told and copies and all(time <= 100 for time in copies), f"{told}, copies: {copies}")
    told, _ = record(folder, LINEAR, OPTRACE_CUPTI="",
                     LD_LIBRARY_PATH=f"{EMULATED}:{BUILD / 'tests' / 'support'}")
    expect("3 runs by records of CUPTI 13.5" in told, f"found by its name: {told}")


def check_libraries(folder):
    """Products of cuBLASLt, whose kernels it launches itself."""
    told, spans = record(folder, LINEAR, CUDA_DOUBLE_KERNELS=",".join(f"cublasLt_algo_{i}=3000000" for i in range(9)),
                         LD_LIBRARY_PATH=f"{EMULATED}:{BUILD / 'tests/support/cuda/cublaslt'}")
    expect("3 runs by records" in told and len(products_of(spans)) > 4, f"cuBLASLt: {told} {products_of(spans)}")


def check_toolkits(folder):
    for toolkit in TOOLKITS:
        told, spans = record(folder, LINEAR, CUDA_DOUBLE_TOOLKIT=toolkit)
        name = f"CUPTI {toolkit}" if toolkit >= "13" else r"CUPTI \(version \d+\)"
        expect(re.fullmatch(f"times of the device: 3 runs by records of {name}", told) and are_exact(spans),
               f"{toolkit}: {told} {products_of(spans)}")
    told, _ = record(folder, LINEAR, CUDA_DOUBLE_TOOLKIT="ancient")
    expect(told.endswith("3 runs by events: its libcupti is older than 11.0"), told)


def check_errors(folder):
    """Each function fails with one of some errors, in turn: events, and which it was."""
    answers = {1: "CUPTI refused", 15: "the driver is older than its libcupti", 35: "this user may not trace the device",
               39: "another tool holds CUPTI", 999: "CUPTI refused"}
    steps = len(record(folder, LINEAR, OPTRACE_CUPTI="/nowhere")[1])
    functions = ("cuptiSubscribe", "cuptiActivityRegisterCallbacks", "cuptiEnableCallback", "cuptiActivityEnable",
                 "cuptiActivityEnable/1", "cuptiActivityEnable/2", "cuptiActivityEnable/10", "cuptiActivityFlushAll")
    for turn, function in enumerate(functions):
        for way, (answer, meaning) in enumerate(answers.items()):
            if not turns.turns_take(turn, way, len(answers)):
                continue
            told, spans = record(folder, LINEAR, CUDA_DOUBLE_FAIL=f"{function}={answer}")
            name = function.split("/")[0]
            expect(told == f"times of the device: 3 runs by events: {meaning} (error {answer} of {name})" and
                   len(spans) == steps, f"{function}={answer}: {told} {len(spans)}")
    for function, why in (("cuptiGetVersion", "its libcupti does not answer"),
                          ("cuptiActivityGetNextRecord", "its libcupti does not say how long its records are"),
                          ("cuptiActivityGetNumDroppedRecords", "CUPTI dropped records for want of room")):
        told, spans = record(folder, LINEAR, CUDA_DOUBLE_FAIL=f"{function}=999")
        expect(told == f"times of the device: 3 runs by events: {why}" and len(spans) == steps, f"{function}: {told}")
    for function in ("cuptiUnsubscribe", "cuptiEnableDomain", "cuptiActivityDisable", "cuptiActivitySetAttribute"):
        told, spans = record(folder, LINEAR, CUDA_DOUBLE_FAIL=f"{function}=999")
        expect("3 runs by records" in told and are_exact(spans), f"{function} is not asked: {told}")


def check_bad_records(folder):
    """Such as CUPTI gets wrong; late ones are waited for."""
    steps = len(record(folder, LINEAR, OPTRACE_CUPTI="/nowhere")[1])
    for mode, why in (("zero", "have no times, or end"), ("backwards", "have no times, or end"), ("drop", "dropped"),
                      ("none", "did not come"), ("garbage", "could not be read"), ("cut", "could not be read")):
        told, spans = record(folder, LINEAR, "--iter", "20", CUDA_DOUBLE_RECORDS=mode, CUDA_DOUBLE_KERNELS="gemm_f32=1000")
        expect(re.search(f"runs? by events: .*{why}", told) and len(spans) == 7 * steps, f"{mode}: {told} {len(spans)}")
    for mode in ("late", "reverse", "unknown", "overhead"):
        told, spans = record(folder, LINEAR, CUDA_DOUBLE_RECORDS=mode)
        expect("3 runs by records" in told and are_exact(spans), f"{mode}: {told} {products_of(spans)}")


def check_clock(folder):
    """Somebody sets the wall clock, which CUPTI's times are by: at the latest after so many readings."""
    kinds, some = set(), range(20, 400, 60)
    for readings in [*some, *(number for number in range(20, 400, 10) if number not in some)]:
        if readings not in some and len(kinds) == 2 and not turns.turns_all():
            break  # how often the clock is read by when is not always the same: others may be between two kinds
        told, spans = record(folder, LINEAR, "--iter", "6", CUDA_DOUBLE_KERNELS="gemm_f32=100000",
                             LD_PRELOAD=str(BUILD / "tests/support/libstep_clock.so"), STEP_CLOCK_AFTER=str(readings))
        kinds.update(re.findall("the wall clock, which CUPTI's times are by, was set|by records", told))
        expect(all(0 <= span[1] < 500000000 for span in spans), f"{readings}: {told} {spans}")
    expect(len(kinds) == 2, f"{kinds}")


def check_others(folder):
    """CUPTI has one subscriber; nobody is asked where nobody looks."""
    told, _ = record(folder, LINEAR, CUDA_INJECTION64_PATH="/opt/tool.so")
    expect(told.endswith("3 runs by events: CUPTI is left to the tool that CUDA_INJECTION64_PATH names"), told)
    done = emulated.run((BUILD / "runtime" / "load_and_run", LINEAR / "model.onnx", "--cuda", "--no-trace", *RUNS),
                        OPTRACE_CUPTI=str(CUPTI))
    expect(done.returncode == 0 and "times of the device" not in done.stderr, done.stderr)
    done = emulated.run((BUILD / "runtime" / "load_and_run", LINEAR / "model.onnx", "--cuda", "--no-trace", *RUNS,
                         "--profile", folder / "profile.json"), OPTRACE_CUPTI=str(CUPTI))
    expect(done.returncode == 0 and "3 runs by records" in done.stderr, done.stderr)


def launches_of(folder):
    """Of each run what the host did, and the correlation ids of both sides."""
    with sqlite3.connect(folder / "times.db") as connection:
        host = connection.execute("SELECT run, op_name, correlation, start_ns FROM v_event WHERE lane_kind = 'thread' "
                                  "AND correlation IS NOT NULL AND run IS NOT NULL ORDER BY run").fetchall()
        device = connection.execute("SELECT DISTINCT run, correlation FROM v_event WHERE lane_kind = 'stream' "
                                    "AND op_type <> 'phase' ORDER BY run").fetchall()
    return host, device


def check_graphs(folder):
    """A run is launched as one: its steps have their times of the device all the same, by events within."""
    alone, spans = record(folder, LINEAR, OPTRACE_CUPTI="/nowhere")
    for flags in ((), ("--streams", "3"), ("--fast-run",)):
        told, timed = record(folder, LINEAR, "--record-comp-seq", *flags)
        left = left_of(folder / "left")
        expect(told == "times of the device: 3 runs by events within the graph" and left["graphs"] == 3,
               f"{flags}: {told}, {left}")
        products = products_of(timed)
        expect(len(timed) == len(spans) and len(products) == len(products_of(spans)) and
               all(abs(time - PRODUCT_NS) <= 1500 for time in products), f"{flags}: {len(timed)} of {len(spans)}, {products}")
        host, device = launches_of(folder)
        expect([launch[1] for launch in host] == 3 * ["cuGraphLaunch"] and [launch[::2] for launch in host] == device,
               f"{flags}: one launch for each run, with what it launched: {host} {device}")
        first = {launch[0]: launch[3] for launch in host}
        expect(all(span[3] >= first[span[2]] for span in timed), f"{flags}: nothing comes before its launch")
    told, others = record(folder, TREES, "--record-comp-seq")
    host, _ = launches_of(folder)
    expect("3 runs by records" in told and not any(launch[1] == "cuGraphLaunch" for launch in host) and others,
           f"what the CPU has a part in is no graph: {told}")
    words = (BUILD / "runtime" / "load_and_run", LINEAR / "model.onnx", "--cuda", "--record-comp-seq", *RUNS)
    quiet = emulated.run(words, CUDA_DOUBLE_LEFT=str(folder / "left"))
    expect(quiet.returncode == 0 and "times of" not in quiet.stderr and left_of(folder / "left")["calls"] + 2 * len(spans) // 3 < left["calls"],
           f"nobody looks, no event is recorded: {quiet.stderr}")
    for more in (("--profile", folder / "p.json", "--trace"), ("--trace-detail", "op"), ("--trace", "--trace-detail", "op"),
                 ("--profile", folder / "p.json")):
        refused = emulated.run((*words, *more))
        expect(refused.returncode == 2 and "--record-comp-seq runs all operators as one" in refused.stderr, f"{more}: {refused.stderr}")
    for instead in (("--record-comp-seq2", "--cuda", "--no-sanity-check"), ("--record-comp-seq",)):
        refused = emulated.run((*words[:2], *instead, "--trace"))
        expect(refused.returncode == 2 and "as one" in refused.stderr, f"{instead}: {refused.returncode} {refused.stderr}")


def check_each_failure(folder, *flags):
    """Calls of the driver fail in turn, with CUPTI there: as without, and nothing is left."""
    left = folder / "left"
    words = (BUILD / "runtime" / "load_and_run", LINEAR / "model.onnx", "--cuda", "--iter", "1",
             "--warmup-iter", "0", *(flags or ("--no-trace", "--profile", folder / "profile.json")))
    if flags:
        words = (BUILD / "client" / "cli" / "optrace", "run", "-q", "-f", "-o", folder / "failed.db", "--", *words)
    emulated.run(words, OPTRACE_CUPTI=str(CUPTI), CUDA_DOUBLE_LEFT=str(left), CUDA_DOUBLE_CALLS=str(folder / "calls"))
    calls = left_of(left)["calls"]
    expect(calls > 80, f"{calls} calls")
    statuses = set()
    for number in calls_that_matter(folder / "calls"):
        left.unlink(missing_ok=True)
        done = emulated.run(words, OPTRACE_CUPTI=str(CUPTI), CUDA_DOUBLE_LEFT=str(left), CUDA_DOUBLE_FAIL=f"#{number}=999")
        statuses.add(done.returncode)
        expect(left.exists() and is_clean(left_of(left)), f"call {number} leaves {left_of(left)}")
    expect(statuses == {0, 4}, f"{flags}: {statuses}")


def check_each_graph_failure(folder):
    check_each_failure(folder, "--trace", "--record-comp-seq", "--streams", "2")


with tempfile.TemporaryDirectory() as name:
    for check in (check_records, check_libraries, check_toolkits, check_errors, check_bad_records, check_clock,
                  check_others, check_graphs, check_each_failure, check_each_graph_failure):
        check(pathlib.Path(name))
for failure in failures:
    print(failure)
sys.exit(1 if failures else 0)
