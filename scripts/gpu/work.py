#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Work for a GPU, by PyTorch alone and with random weights: work.py WHAT [STEPS].

Prints one line of JSON: `wall_ms` of a step in the median, and `device_ms`, what CUDA's own events
say all steps took on the device. WHAT is cnn (50 convolutions, batch 32: the device is the limit),
decode (a token at a time: the host is), graph (the same, captured once and replayed), many (a graph
of 1000 small kernels), products (of known sizes; `flop` of a step), profiler (cnn, with torch.profiler in the program), or a way to end: exit,
signal, exception, workers.
"""
import json
import os
import signal
import statistics
import sys
import time

import torch

WARM_UPS = 5


def convolutions():
    torch.manual_seed(1)
    layers, channels = [torch.nn.Conv2d(3, 64, 7, 2, 3), torch.nn.ReLU()], 64
    for stage, depth in enumerate((12, 14, 14, 9)):
        wide = 64 << stage
        for i in range(depth):
            layers += [torch.nn.Conv2d(channels, wide, 3, 2 if i == 0 and stage else 1, 1), torch.nn.ReLU()]
            channels = wide
    net = torch.nn.Sequential(*layers).cuda().eval()
    x = torch.randn(32, 3, 224, 224, device="cuda")
    return lambda: net(x)


def decoder():
    torch.manual_seed(1)
    width, layers = 1024, 16
    weights = [[torch.randn(width, size, device="cuda", dtype=torch.float16) / 64
                for size in (3 * width, width, 4 * width)] for _ in range(layers)]
    back = [torch.randn(4 * width, width, device="cuda", dtype=torch.float16) / 64 for _ in range(layers)]
    x = torch.randn(1, width, device="cuda", dtype=torch.float16)

    def step():
        y = x
        for (attention, out, up), down in zip(weights, back):
            q, k, v = torch.layer_norm(y, (width,)).matmul(attention).chunk(3, -1)
            y = y + (torch.softmax(q * k, -1) * v).matmul(out)
            y = y + torch.nn.functional.gelu(torch.layer_norm(y, (width,)).matmul(up)).matmul(down)
        return y
    return step


def captured(step):
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            step()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay


def many():
    x = torch.zeros(256, device="cuda")

    def step():
        for _ in range(1000):
            x.add_(1)
    return captured(step)


SIZES = ((1024, 1024, 1024), (4096, 512, 2048), (128, 8192, 256))


def products():
    pairs = [(torch.randn(m, k, device="cuda", dtype=torch.float16), torch.randn(k, n, device="cuda", dtype=torch.float16))
             for m, k, n in SIZES]

    def step():
        for a, b in pairs:
            a.matmul(b)
    return step


def measure(step, steps):
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    walls = []
    with torch.no_grad():
        for _ in range(WARM_UPS):
            step()
        torch.cuda.synchronize()
        begin.record()
        for _ in range(steps):
            start = time.perf_counter()
            step()
            torch.cuda.current_stream().synchronize()
            walls.append((time.perf_counter() - start) * 1e3)
        end.record()
        torch.cuda.synchronize()
    return {"wall_ms": statistics.median(walls), "device_ms": begin.elapsed_time(end), "steps": steps,
            "kernels_of_warm_ups": WARM_UPS}


def profiled(step, steps):
    from torch.profiler import ProfilerActivity, profile
    with torch.no_grad(), profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as recorded:
        for _ in range(steps):
            step()
        torch.cuda.synchronize()
    events = recorded.key_averages()
    return {"profiler_kernels": sum(event.count for event in events
                                    if str(event.device_type).endswith("CUDA"))}


class Numbers(torch.utils.data.Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, index):
        return torch.full((16,), float(index))


def end_by(what, step):
    with torch.no_grad():
        for _ in range(20):
            step()
    torch.cuda.synchronize()
    time.sleep(2.5)  # what a flush a second brings
    if what == "workers":
        total = sum(float(batch.cuda().sum()) for batch in
                    torch.utils.data.DataLoader(Numbers(), batch_size=8, num_workers=2))
        return {"total": total}
    print(json.dumps({"ended": what}), flush=True)
    if what == "exit":
        os._exit(7)
    if what == "signal":
        os.kill(os.getpid(), signal.SIGTERM)
    raise RuntimeError("on purpose")


def main():
    what, steps = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 50
    if what in ("exit", "signal", "exception", "workers"):
        print(json.dumps(end_by(what, decoder())))
        return
    step = {"cnn": convolutions, "profiler": convolutions, "decode": decoder, "many": many, "products": products,
            "graph": lambda: captured(decoder())}[what]()
    figures = profiled(step, steps) if what == "profiler" else measure(step, steps)
    if what == "products":
        figures["flop"] = sum(2 * m * k * n for m, k, n in SIZES)
    print(json.dumps(figures))


main()
