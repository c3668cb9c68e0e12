#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`critical` and `--what-if` against the truth: random programs that launch kernels on streams,
let streams wait for events and wait themselves are run by a model of a device; what the report
predicts of kernels that take another time is what the model takes then. Once as a trace of
PyTorch, once as an export of Nsight Systems with a second process beside."""
import json
import os
import pathlib
import random
import sqlite3
import subprocess
import sys
import tempfile

PROGRAM = pathlib.Path(os.environ["OPTRACE_BUILD_ROOT"]) / "analyze" / "profile_analyze"
STREAMS = (7, 13, 20)
CALL_US = 2  # of every call; one that waits returns so long after what it waits for


def make_program(source, prefix):
    """A list of steps; events are named by their number."""
    steps, events, kernels = [], 0, 0
    for _ in range(source.randint(10, 30)):
        kind = source.choice(["op", "launch", "launch", "launch", "record", "wait", "stream_sync",
                              "event_sync", "device_sync"])
        if kind in ("wait", "event_sync") and not events:
            kind = "record"
        if kind == "op":
            steps.append((kind, source.randint(1, 40)))
        elif kind == "launch":
            steps.append((kind, source.choice(STREAMS), f"{prefix}kernel_{kernels}", source.randint(5, 200)))
            kernels += 1
        elif kind == "record":
            # Now and then one that was recorded before, on any stream.
            event = source.randrange(events + 1)
            steps.append((kind, source.choice(STREAMS), event))
            events = max(events, event + 1)
        elif kind == "wait":
            steps.append((kind, source.choice(STREAMS), source.randrange(events)))
        elif kind == "event_sync":
            steps.append((kind, source.randrange(events)))
        else:
            steps.append((kind, source.choice(STREAMS)))
    return steps + [("device_sync", None), ("op", 10)]


class Trace:
    """What Kineto would write."""

    def __init__(self):
        self.events = []
        self.records = []
        self.correlation = 0

    def add(self, category, name, lane, start, end, **args):
        process, thread = lane
        self.events.append({"ph": "X", "cat": category, "name": name, "pid": process,
                            "tid": thread, "ts": start, "dur": end - start, "args": args})

    def call(self, name, start, end):
        self.correlation += 1
        self.add("cuda_runtime", name, (100, 100), start, end, correlation=self.correlation)
        return self.correlation

    def write_kineto(self, path):
        path.write_text(json.dumps({"traceEvents": self.events}))

    def sync(self, kind, stream, start, end, correlation, **args):
        self.add("cuda_sync", kind, (0, stream), start, end, cuda_sync_kind=kind, stream=stream,
                 correlation=correlation, device=0, context=1, **args)


SYNC_TYPES = {"Event Sync": 1, "Stream Wait Event": 2, "Stream Sync": 3, "Context Sync": 4}


def write_nsys(path, traces):
    """What Nsight Systems would export of processes that run at once on one device."""
    path.unlink(missing_ok=True)
    database = sqlite3.connect(path)
    database.executescript("""
        CREATE TABLE META_DATA_EXPORT(name, value);
        CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value);
        CREATE TABLE NVTX_EVENTS(start, end, eventType, text, globalTid);
        CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start, end, globalTid, correlationId, nameId);
        CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start, end, deviceId, contextId, streamId,
                                                correlationId, globalPid, demangledName);
        CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION(start, end, deviceId, contextId, streamId,
            correlationId, globalPid, syncType, eventId, eventSyncId);
        CREATE TABLE CUPTI_ACTIVITY_KIND_CUDA_EVENT(timestamp, deviceId, contextId, streamId,
            correlationId, globalPid, eventId, eventSyncId);""")
    names = {}
    for process, trace in enumerate(traces, 100):
        for event in trace.events:
            args, name = event["args"], event["name"]
            times = (event["ts"] * 1000, (event["ts"] + event["dur"]) * 1000)
            number = names.setdefault(name, len(names) + 1)
            if event["cat"] == "cuda_runtime":
                database.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(?,?,?,?,?)",
                                 (*times, (process << 24) + 1, args["correlation"], number))
            elif event["cat"] == "cpu_op":
                database.execute("INSERT INTO NVTX_EVENTS VALUES(?,?,59,?,?)",
                                 (*times, f"{name}, seq = 1", (process << 24) + 1))
            elif event["cat"] == "kernel":
                database.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(?,?,0,1,?,?,?,?)",
                                 (*times, event["tid"], args["correlation"], process << 24, number))
            else:
                database.execute(
                    "INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES(?,?,0,1,?,?,?,?,?,?)",
                    (*times, event["tid"], args["correlation"], process << 24, SYNC_TYPES[name],
                     args.get("wait_on_cuda_event_id", -1), args.get("record", 0)))
        for event, record in trace.records:
            database.execute("INSERT INTO CUPTI_ACTIVITY_KIND_CUDA_EVENT VALUES(NULL,0,1,?,?,?,?,?)",
                             (record[2], record[1], process << 24, event, record[3]))
    database.executemany("INSERT INTO StringIds VALUES(?,?)",
                         ((number, name) for name, number in names.items()))
    database.commit()
    database.close()


def execute(steps, factors):
    """Runs the steps; factors multiply the time of kernels. Returns the trace and its end."""
    trace, now = Trace(), 0
    busy_until = dict.fromkeys(STREAMS, 0)
    records = {}  # event: until when, by which call, on which stream, as the which of all
    for kind, *what in steps:
        start, now = now, now + CALL_US
        if kind == "op":
            now = start + what[0]
            trace.add("cpu_op", f"op_{len(trace.events)}", (100, 100), start, now)
        elif kind == "launch":
            stream, name, length = what
            begin = max(now, busy_until[stream])
            busy_until[stream] = begin + length * factors.get(name, 1)
            trace.add("kernel", name, (0, stream), begin, busy_until[stream], device=0,
                      stream=stream, correlation=trace.call("cudaLaunchKernel", start, now))
        elif kind == "record":
            stream, event = what
            records[event] = (busy_until[stream], trace.call("cudaEventRecord", start, now), stream,
                              len(trace.records) + 1)
            trace.records.append((event, records[event]))
        elif kind == "wait":
            stream, event = what
            until, recorded, source, nth = records[event]
            busy_until[stream] = max(busy_until[stream], until)
            trace.sync("Stream Wait Event", stream, start, now,
                       trace.call("cudaStreamWaitEvent", start, now), wait_on_stream=source,
                       wait_on_cuda_event_record_corr_id=recorded, wait_on_cuda_event_id=event,
                       record=nth)
        elif kind == "event_sync":
            until, recorded, source, nth = records[what[0]]
            now = max(now, until + CALL_US)
            trace.sync("Event Sync", -1, start, now, trace.call("cudaEventSynchronize", start, now),
                       wait_on_stream=source, wait_on_cuda_event_record_corr_id=recorded,
                       wait_on_cuda_event_id=what[0], record=nth)
        elif kind == "stream_sync":
            now = max(now, busy_until[what[0]] + CALL_US)
            trace.sync("Stream Sync", what[0], start, now,
                       trace.call("cudaStreamSynchronize", start, now))
        else:
            now = max(now, max(busy_until.values()) + CALL_US)
            trace.sync("Context Sync", -1, start, now,
                       trace.call("cudaDeviceSynchronize", start, now))
    return trace, now


def predict(path, kernel, speed):
    done = subprocess.run([str(PROGRAM), str(path), "--report", "critical", "--what-if",
                           f"^{kernel}$={speed}", "--format", "json"], capture_output=True,
                          text=True, check=True)
    return json.loads(done.stdout)["what_if"]["predicted_ns"]


def check(path, program, kernels, truth):
    """Says how many predictions are wrong, and of how many."""
    wrong = count = 0
    for kernel in kernels:
        for speed, factor in (("inf", 0), ("0.5", 2), ("2", 0.5)):
            expected = round(truth({kernel: factor}) * 1000)
            predicted = predict(path, kernel, speed)
            count += 1
            if abs(predicted - expected) > 1:
                wrong += 1
                print(f"{program}, {kernel} {speed} times as fast: predicted {predicted} ns, it "
                      f"takes {expected} ns")
    return wrong, count


def main():
    results = []
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "trace.json"
        export = pathlib.Path(folder) / "export.sqlite"
        for seed in range(int(sys.argv[1]) if len(sys.argv) > 1 else 15):
            source = random.Random(seed)
            programs = [make_program(source, ""), make_program(source, "other_")]
            traces = [execute(steps, {})[0] for steps in programs]
            kernels = [event["name"] for event in traces[0].events if event["cat"] == "kernel"]
            chosen = source.sample(kernels, min(3, len(kernels)))
            traces[0].write_kineto(path)
            write_nsys(export, traces)
            results += [check(path, f"program {seed} as a trace", chosen,
                              lambda factors: execute(programs[0], factors)[1]),
                        check(export, f"program {seed} beside another", chosen,
                              lambda factors: max(execute(steps, factors)[1]
                                                  for steps in programs))]
    wrong, count = map(sum, zip(*results))
    if wrong or count < 100:
        sys.exit(f"{wrong} of {count} predictions are wrong")
    print(f"{count} predictions are right")


main()
