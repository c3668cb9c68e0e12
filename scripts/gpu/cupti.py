#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Questions to CUPTI itself, without the recorder: cupti.py WHAT [--libcuda FILE].

Prints one line of JSON. WHAT is
  late      kernels are asked for after the program has warmed up: what that call and the next step take,
            a step while they are recorded, and one after they are no longer
  primed    the same, where they were asked for and given up again before the first call of CUDA
  window    kernels are asked for in five windows: how many records come, and how many of them lie outside
  external  the number that a program gives to what it launches (`cuptiActivityPushExternalCorrelationId`),
            with the calls that launch asked for one by one, and none else
  clock     the wall clock is set 0.3 s ahead and back: how many kernels have times around their launch.
            The system's clock is changed for two seconds, which takes the rights to do so

The work is done by PyTorch; with --libcuda by launches through that library, for tests.
"""
import argparse
import ctypes
import json
import os
import re
import statistics
import struct
import time

KERNEL, EXTERNAL, CUSTOM2, FORCED = 10, 39, 5, 1
BUFFER_BYTES, STEPS, WINDOWS, STEP_S = 1 << 20, 30, 5, 0.3
LAUNCHES = {"cuptiActivityEnableRuntimeApi": (211, 269, 311, 430), "cuptiActivityEnableDriverApi": (307, 514, 652)}


def answer(figures):
    print(json.dumps(figures), flush=True)
    os._exit(0) # CUPTI may hand over buffers while Python ends


class TorchWork:
    """Small kernels, of several modules."""

    def __init__(self):
        import torch
        self.torch = torch
        self.x = None

    def begin(self):
        self.x = self.torch.randn(64, 64, device="cuda")

    def step(self):
        y = self.x
        for _ in range(10):
            y = self.torch.softmax(y.matmul(self.x).relu().add(1), -1)
        self.torch.cuda.synchronize()
        return 0 # how many kernels that is, PyTorch knows


class DriverWork:
    KERNELS = 40

    def __init__(self, path):
        self.cuda = ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
        self.function = ctypes.c_void_p()

    def begin(self):
        self.cuda.cuInit(0)
        self.cuda.cuModuleGetFunction(ctypes.byref(self.function), None, b"kernel")

    def step(self):
        for _ in range(self.KERNELS):
            self.cuda.cuLaunchKernel(self.function, 1, 1, 1, 32, 1, 1, 0, None, None, None)
        self.cuda.cuCtxSynchronize()
        return self.KERNELS


class Cupti:
    """Buffers and records; the functions are called by their names."""

    def __init__(self, path):
        self.library = ctypes.CDLL(path)
        self.free, self.all, self.records = [], {}, []
        asks = ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_size_t),
                                ctypes.POINTER(ctypes.c_size_t))
        takes = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_size_t,
                                 ctypes.c_size_t)
        self.kept = asks(self.request), takes(self.complete)

    def call(self, name, *arguments):
        status = getattr(self.library, name)(*arguments)
        if status != 0:
            answer({"error": f"{name}: error {status}"})

    def has(self, name):
        return hasattr(self.library, name)

    def register(self):
        self.call("cuptiActivityRegisterCallbacks", *self.kept)

    def request(self, out_buffer, out_bytes, out_limit):
        if not self.free:
            made = (ctypes.c_uint64 * (BUFFER_BYTES // 8 + 16))() # a head of each record is read
            self.all[ctypes.addressof(made)] = made
            self.free.append(ctypes.addressof(made))
        out_buffer[0], out_bytes[0], out_limit[0] = self.free.pop(), BUFFER_BYTES, 0

    def complete(self, _context, _stream, buffer, _bytes, valid):
        record = ctypes.c_void_p()
        while self.library.cuptiActivityGetNextRecord(ctypes.c_void_p(buffer), ctypes.c_size_t(valid),
                                                      ctypes.byref(record)) == 0:
            head = ctypes.string_at(record.value, 96)
            kind = struct.unpack_from("I", head)[0]
            if kind == KERNEL:
                self.records.append((KERNEL, *struct.unpack_from("QQ", head, 16), *struct.unpack_from("I", head, 92)))
            elif kind == EXTERNAL:
                self.records.append((EXTERNAL, *struct.unpack_from("=IQI", head, 4)))
        self.free.append(buffer)

    def take(self):
        self.call("cuptiActivityFlushAll", FORCED)
        taken, self.records = self.records, []
        return taken


def median_ms(work, steps=STEPS):
    times = []
    for _ in range(steps):
        start = time.perf_counter()
        work.step()
        times.append((time.perf_counter() - start) * 1e3)
    return statistics.median(times)


def timed_ms(call):
    start = time.perf_counter()
    call()
    return (time.perf_counter() - start) * 1e3


def late(cupti, work, is_primed):
    if is_primed:
        cupti.register()
        cupti.call("cuptiActivityEnable", KERNEL)
        cupti.call("cuptiActivityDisable", KERNEL)
    work.begin()
    median_ms(work) # warm-up: modules are loaded
    figures = {"before_ms": median_ms(work)}
    if not is_primed:
        cupti.register()
    figures["enable_ms"] = timed_ms(lambda: cupti.call("cuptiActivityEnable", KERNEL))
    figures["first_step_ms"] = timed_ms(work.step)
    figures["recorded_ms"] = median_ms(work)
    figures["records"] = len(cupti.take())
    cupti.call("cuptiActivityDisable", KERNEL)
    figures["after_ms"] = median_ms(work)
    return figures


def around(records, begin_ns, end_ns, slack_ns=2_000_000):
    """How many kernels have times that are some, and lie between these of the wall clock."""
    return sum(begin_ns - slack_ns <= start <= end <= end_ns + slack_ns
               for kind, start, end, _ in records if kind == KERNEL)


def window(cupti, work):
    work.begin()
    median_ms(work)
    cupti.register()
    windows = []
    for _ in range(WINDOWS):
        begin = time.time_ns()
        cupti.call("cuptiActivityEnable", KERNEL)
        launched = sum(work.step() for _ in range(3))
        records = cupti.take()
        windows.append({"launched": launched, "records": len(records), "right": around(records, begin, time.time_ns())})
        cupti.call("cuptiActivityDisable", KERNEL)
        median_ms(work, 10)
    return {"windows": windows, "between": len(cupti.take())}


def external(cupti, work):
    if not all(cupti.has(name) for name in LAUNCHES):
        return {"why_not": "this CUPTI is older than 12.5: calls cannot be asked for one by one"}
    work.begin()
    median_ms(work, 3)
    cupti.register()
    for kind in (KERNEL, EXTERNAL):
        cupti.call("cuptiActivityEnable", kind)
    for name, ids in LAUNCHES.items():
        for number in ids:
            getattr(cupti.library, name)(number, 1) # older ones lack the last
    for number in range(1, STEPS + 1):
        cupti.call("cuptiActivityPushExternalCorrelationId", CUSTOM2, ctypes.c_uint64(number))
        work.step()
        cupti.call("cuptiActivityPopExternalCorrelationId", CUSTOM2, ctypes.byref(ctypes.c_uint64()))
    records = cupti.take()
    numbers = {correlation: number for kind, _, number, correlation in records if kind == EXTERNAL}
    kernels = [record[3] for record in records if record[0] == KERNEL]
    return {"kernels": len(kernels), "numbered": sum(correlation in numbers for correlation in kernels),
            "numbers": len(set(numbers.values()))}


def clock(cupti, work):
    work.begin()
    median_ms(work)
    cupti.register()
    cupti.call("cuptiActivityEnable", KERNEL)
    figures = {}
    for name, step in (("before", 0), ("ahead", STEP_S), ("back", -STEP_S)):
        if step:
            try:
                time.clock_settime(time.CLOCK_REALTIME, time.clock_gettime(time.CLOCK_REALTIME) + step)
            except PermissionError:
                return {"why_not": "this user may not set the clock"}
        counts = []
        for _ in range(2): # at once, and a second later
            begin = time.time_ns()
            work.step()
            records = cupti.take()
            counts.append([around(records, begin, time.time_ns()), len(records)])
            time.sleep(1)
        figures[name] = counts
    return figures


def mapped_cupti():
    """The one that PyTorch brings, else the one that the loader finds."""
    with open("/proc/self/maps", encoding="utf-8") as maps:
        found = re.search(r"(/\S*/libcupti\.so\S*)", maps.read())
    if found:
        return found.group(1)
    import torch
    return f"libcupti.so.{torch.version.cuda.split('.')[0]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", choices=("late", "primed", "window", "external", "clock"))
    parser.add_argument("--libcuda", metavar="FILE")
    arguments = parser.parse_args()
    work = DriverWork(arguments.libcuda) if arguments.libcuda else TorchWork()
    cupti = Cupti(os.environ.get("OPTRACE_CUPTI") or mapped_cupti())
    ask = {"late": lambda: late(cupti, work, False), "primed": lambda: late(cupti, work, True),
           "window": lambda: window(cupti, work), "external": lambda: external(cupti, work),
           "clock": lambda: clock(cupti, work)}[arguments.what]
    answer(ask())


main()
