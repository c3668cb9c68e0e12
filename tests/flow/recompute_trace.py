# SPDX-License-Identifier: Apache-2.0
"""Traces drawn at random as PyTorch writes them, and what is in them by the documents alone: docs/sources.md says what
an event is, docs/reports/ what counts. Nothing here comes from the sources of the program that it is held against."""
import collections
import json
import random
import re
from decimal import Decimal

KERNELS = ["gemm", "relu", "void elementwise<float>(int, float*)", "ncclDevKernel_AllReduce_Sum_f32", "softmax"]
COPIES = ["Memcpy HtoD (Pageable -> Device)", "Memcpy DtoH (Device -> Pinned)", "Memcpy DtoD (Device -> Device)"]
CALLS = ["cudaLaunchKernel", "cudaLaunchKernel", "cudaMemcpyAsync", "cudaMemsetAsync", "cudaMemcpy", "cudaDeviceSynchronize", "cudaMalloc"]
OPS = ["aten::mm", "aten::add", "aten::relu", "aten::foo", "aten::bar", "aten::empty"]
SHAPES = [[[2, 3], [3, 4]], [[8, 16], [16, 4]], []]
COLLECTIVES = ("nccl", "rccl", "hccl", "xccl")
TYPES = {"user_annotation": "label", "gpu_memcpy": "copy", "gpu_memset": "memset"}


class Maker:
    """Draws a trace in ns. Nothing begins when something of no length does, on its lane, so that what lies in what is
    beyond dispute."""

    def __init__(self, seed):
        self.draw = random.Random(seed)
        self.zero = self.draw.choice([0, 10**9, 5_123_456_789_123])
        self.events, self.correlation, self.free = [], 100, collections.Counter()
        self.streams = self.draw.sample([(0, 7), (0, 20), (1, 7), (0, 13)], self.draw.randint(1, 4))
        self.kinds = {"cpu_op": 6, "user_annotation": 1, "cuda_runtime": 3, "python_function": self.draw.choice([0, 2])}
        self.held = {}

    def add(self, category, name, lane, start, end, **args):
        self.events.append({"ph": "X", "cat": category, "name": name, "pid": lane[0], "tid": lane[1], "start": start,
                            "dur": end - start, "args": args})

    def launch(self, call, start, end):
        device, stream = self.draw.choice(self.streams)
        begin = max(start + self.draw.choice([0, end - start, self.draw.randrange(20000)]), self.free[device, stream] + 1)
        length = self.draw.choice([0, 1, self.draw.randrange(1, 90_000)])
        self.free[device, stream] = begin + length
        place = {"device": device, "stream": stream, "correlation": self.correlation}
        if call == "cudaLaunchKernel":
            what = ("kernel", self.draw.choice(KERNELS), {"grid": self.draw.choice([[1, 1, 1], [8, 2, 1]]), "block": [128, 1, 1]})
        elif call == "cudaMemsetAsync":
            what = ("gpu_memset", "Memset (Device)", {"bytes": self.draw.randrange(1 << 20)})
        else:
            what = ("gpu_memcpy", self.draw.choice(COPIES), {"bytes": self.draw.randrange(1 << 22)})
        self.add(what[0], what[1], (device, stream), begin, begin + length, **what[2], **place)

    def call(self, thread, start, end):
        call = self.draw.choice(CALLS)
        self.correlation += 1
        self.add("cuda_runtime", call, (1, thread), start, end, correlation=self.correlation)
        if call.startswith(("cudaLaunch", "cudaMem")) and self.draw.random() < 0.93:
            self.launch(call, start, end)

    def take_memory(self, thread, time):
        if self.held and self.draw.random() < 0.5:
            address = self.draw.choice(list(self.held))
            size, device = self.held.pop(address)
            size = -size
        else:
            address, size, device = 256 * len(self.events), self.draw.randrange(1, 1 << 20), self.draw.choice([(0, -1), (1, 0)])
            self.held[address] = (size, device)
        self.events.append({"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", "pid": 1, "tid": thread, "start": time,
                            "args": {"Device Type": device[0], "Device Id": device[1], "Addr": address, "Bytes": size}})

    def fill(self, thread, now, until, depth):
        """A thread between two times."""
        for _ in range(12):
            now += self.draw.choice([0, 0, 1, self.draw.randrange(5000), self.draw.randrange(60_000)])
            length = self.draw.choice([0, 1, self.draw.randrange(1, 1000), self.draw.randrange(1000, 50_000), self.draw.randrange(300_000)])
            now += not length
            if now >= until:
                break
            end = now + min(length if depth else 6 * length, until - now)
            kind = self.draw.choices(list(self.kinds), list(self.kinds.values()))[0]
            if kind == "cuda_runtime":
                self.call(thread, now, end)
            elif kind == "cpu_op":
                self.add(kind, self.draw.choice(OPS), (1, thread), now, end, **{"Input Dims": self.draw.choice(SHAPES)})
                if end - now > 2 and self.draw.random() < 0.3:
                    self.take_memory(thread, self.draw.randrange(now, end))
            else:
                self.add(kind, self.draw.choice({"user_annotation": ["forward", "backward", "my label"],
                                                 "python_function": ["a.py(1): f", "b.py(2): g"]}[kind]), (1, thread), now, end)
            if depth < 4 and end - now > 10 and kind != "cuda_runtime" and self.draw.random() < 0.6:
                self.fill(thread, now, end, depth + 1)
            now = end + (end == now)

    def make(self):
        end, steps = 4_000_000, self.draw.choice([0, 3, 8])
        if steps:
            end = 0
        for step in range(steps):
            length = self.draw.randrange(100_000, 500_000)
            self.add("user_annotation", f"ProfilerStep#{step}", (1, 11), end, end + length)
            self.fill(11, end, end + length, 1)
            end += length
        if not steps:
            self.fill(11, 0, end, 0)
        for thread in range(12, self.draw.choice([12, 13, 14])):
            self.fill(thread, self.draw.randrange(1000), end, 0)
        edges = {(event["tid"], time) for event in self.events if event["ph"] == "X"
                 for time in (event["start"], event["start"] + event["dur"])}
        self.events = [event for event in self.events if event["ph"] == "X" or (event["tid"], event["start"]) not in edges]
        return sorted(self.events, key=lambda event: (event["start"], -event.get("dur", 0)))

    def write(self, path):
        """With three decimals of a microsecond, which no float has to bear."""
        lines = []
        for event in self.make():
            times = {"ts": event.pop("start") + self.zero}
            if "dur" in event:
                times["dur"] = event.pop("dur")
            texts = [f'"{key}": {ns // 1000}.{ns % 1000:03d}' for key, ns in times.items()]
            lines.append(f"{json.dumps(event)[:-1]}, {', '.join(texts)}}}")
        path.write_text('{"traceEvents": [\n' + ",\n".join(lines) + "\n]}\n")


class Span:
    def __init__(self, event):
        self.name, self.args = event["name"], event["args"]
        self.start, self.dur = int(event["ts"] * 1000), int(event["dur"] * 1000)
        self.end = self.start + self.dur
        self.lane = f"{event['pid']}/{event['tid']}"
        self.type = TYPES.get(event["cat"], event["cat"])
        self.device = f"cuda:{self.args['device']}" if "device" in self.args else None
        self.side = "device" if self.device else "host"
        self.parent, self.children, self.launch, self.run = None, [], None, None
        self.is_op = self.type != "label"
        if self.name.startswith("ProfilerStep#"):
            self.name = "ProfilerStep*"
        self.is_collective = self.type == "kernel" and self.name.startswith(COLLECTIVES)
        self.computes = self.type == "kernel" and not self.is_collective
        self.copies = self.type in ("copy", "memset")

    def around(self):
        """Itself and all that it lies in, from the inside out."""
        span = self
        while span:
            yield span
            span = span.parent

    def ops_inside(self):
        """The next ops inside; labels are none."""
        for child in self.children:
            if child.is_op:
                yield child
            else:
                yield from child.ops_inside()

    def own_ns(self):
        return self.dur if self.device else self.dur - sum(child.dur for child in self.ops_inside())

    def identity(self):
        """Which op it is: spans that differ in this are others."""
        stack = tuple(outer.name for outer in self.around() if outer.type == "python_function") if self.type in ("cpu_op", "label") else ()
        shown = {key: str(self.args.get(key)) for key in ("Input Dims", "grid", "block")}
        return self.name, self.type, self.device, tuple(shown.values()), stack


class Memory:
    def __init__(self, event):
        self.time, self.bytes, self.address = int(event["ts"] * 1000), int(event["args"]["Bytes"]), event["args"]["Addr"]
        self.lane = f"{event['pid']}/{event['tid']}"
        self.device = f"cuda:{event['args']['Device Id']}" if event["args"]["Device Type"] else "host"
        self.span = None


class Trace:
    def __init__(self, path):
        events = json.loads(path.read_text(), parse_float=Decimal)["traceEvents"]
        self.spans = [Span(event) for event in events if event["ph"] == "X"]
        self.memory = [Memory(event) for event in events if event["ph"] == "i"]
        self.lanes = collections.defaultdict(list)
        for span in self.spans:
            self.lanes[span.lane].append(span)
        for lane in self.lanes.values():
            self.nest(lane)
        self.steps = [span for span in self.spans if span.name == "ProfilerStep*"]
        calls = {span.args.get("correlation"): span for span in self.spans if span.type == "cuda_runtime"}
        for span in self.spans:
            span.launch = calls.get(span.args["correlation"]) if span.device else None
            start = (span.launch or span).start
            span.run = next((number for number, step in enumerate(self.steps, 1) if step.start <= start < step.end), None)
        for event in self.memory:
            event.span = max((span for span in reversed(self.lanes[event.lane]) if span.start <= event.time < span.end),
                             key=lambda span: (span.start, -span.end), default=None)
        self.wall = [time for span in self.spans if span.is_op for time in (span.start, span.end)]

    @staticmethod
    def nest(lane):
        opened = []
        for span in lane:  # they stand by start, outer ones first
            opened = [outer for outer in opened if outer.end > span.start]
            span.parent = next((outer for outer in reversed(opened) if outer.end >= span.end), None)
            if span.parent:
                span.parent.children.append(span)
            opened.append(span)

    def wall_ns(self):
        return max(self.wall) - min(self.wall)

    def chosen(self, keep):
        """The same with some spans alone."""
        part = object.__new__(Trace)
        part.__dict__.update(self.__dict__, spans=[span for span in self.spans if keep(span)], lanes=collections.defaultdict(list))
        for span in part.spans:
            part.lanes[span.lane].append(span)
        return part


def in_label(pattern):
    return lambda span: any(outer.type == "label" and re.match(pattern, outer.name)
                            for outer in ((span.launch.around() if span.launch else ()) if span.device else span.around()))
