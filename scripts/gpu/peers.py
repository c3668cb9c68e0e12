#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What others take for the networks of networks.py: peers.py eager|compiled|onnxruntime NET BATCH MODEL STEPS
[PROVIDER], in float16 eager16|compiled16, or peers.py cudnn|cudnn_bf16 attention BATCH - STEPS, also eager16 or eager_bf16,
of attention-QUERIESxKEYS, too. Prints one line of JSON: `median_ms` of a step, waited for, or `why_not`."""
import json
import statistics
import sys
import time

EXPANSION = 4


def median_ms(step, wait, steps):
    for _ in range(10):
        step()
    wait()
    times = []
    for _ in range(steps):
        start = time.perf_counter()
        step()
        wait()
        times.append((time.perf_counter() - start) * 1e3)
    return {"median_ms": statistics.median(times)}


def make_resnet(torch):
    nn = torch.nn

    class Bottleneck(nn.Module):
        def __init__(self, c_in, width, stride):
            super().__init__()
            c_out = width * EXPANSION
            self.body = nn.Sequential(nn.Conv2d(c_in, width, 1), nn.ReLU(), nn.Conv2d(width, width, 3, stride, 1),
                                      nn.ReLU(), nn.Conv2d(width, c_out, 1))
            self.down = nn.Conv2d(c_in, c_out, 1, stride) if stride != 1 or c_in != c_out else nn.Identity()

        def forward(self, x):
            return torch.relu(self.body(x) + self.down(x))

    layers, channels = [nn.Conv2d(3, 64, 7, 2, 3), nn.ReLU(), nn.MaxPool2d(3, 2, 1)], 64
    for blocks, width, stride in ((3, 64, 1), (4, 128, 2), (6, 256, 2), (3, 512, 2)):
        for block in range(blocks):
            layers.append(Bottleneck(channels, width, stride if block == 0 else 1))
            channels = width * EXPANSION
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 1000))


def make_encoder(torch):
    layer = torch.nn.TransformerEncoderLayer(768, 12, 3072, 0.0, "gelu", batch_first=True, norm_first=True)
    return torch.nn.TransformerEncoder(layer, 12, enable_nested_tensor=False)


def make_attention(torch):
    class Attention(torch.nn.Module):
        def forward(self, q, k, v):
            return torch.nn.functional.scaled_dot_product_attention(q, k, v)
    return Attention()


def inputs_of(torch, net, batch, device, dtype):
    if net.startswith("attention"):
        queries, keys = map(int, (net.partition("-")[2] or "1024x1024").split("x"))
        shapes = [(batch, 16, rows, 64) for rows in (queries, keys, keys)]
    else:
        shapes = {"resnet50": [(batch, 3, 224, 224)], "encoder": [(batch, 128, 768)]}[net]
    return [torch.randn(shape, device=device, dtype=dtype) for shape in shapes]


def by_torch(way, net, batch, steps):
    import torch
    torch.manual_seed(1)
    dtype = {"cudnn": torch.float16, "eager16": torch.float16, "compiled16": torch.float16,
             "cudnn_bf16": torch.bfloat16, "eager_bf16": torch.bfloat16}.get(way, torch.float32)
    module = {"resnet50": make_resnet, "encoder": make_encoder,
              "attention": make_attention}[net.partition("-")[0]](torch)
    module = module.eval().to("cuda", dtype)
    inputs = inputs_of(torch, net, batch, "cuda", dtype)
    step = torch.compile(module) if way.startswith("compiled") else module
    with torch.no_grad():
        if not way.startswith("cudnn"):
            return median_ms(lambda: step(*inputs), torch.cuda.synchronize, steps)
        from torch.nn.attention import SDPBackend, sdpa_kernel
        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
            return median_ms(lambda: step(*inputs), torch.cuda.synchronize, steps)


def by_onnxruntime(model, steps, provider="CUDAExecutionProvider"):
    import numpy
    import onnxruntime
    if provider not in onnxruntime.get_available_providers():
        return {"why_not": f"ONNX Runtime {onnxruntime.__version__} has no {provider}"}
    session = onnxruntime.InferenceSession(model, providers=[provider])
    device = "cuda" if provider == "CUDAExecutionProvider" else "cpu"
    binding = session.io_binding()
    for one in session.get_inputs():
        value = numpy.random.default_rng(1).standard_normal(one.shape, dtype=numpy.float32)
        binding.bind_ortvalue_input(one.name, onnxruntime.OrtValue.ortvalue_from_numpy(value, device, 0))
    for one in session.get_outputs():
        binding.bind_output(one.name, device)
    return median_ms(lambda: session.run_with_iobinding(binding), binding.synchronize_outputs, steps)


def main():
    way, net, batch, model, steps, *provider = sys.argv[1:]
    try:
        found = by_onnxruntime(model, int(steps), *provider) if way == "onnxruntime" else \
            by_torch(way, net, int(batch), int(steps))
    except ImportError as why:
        found = {"why_not": str(why)}
    except RuntimeError as why:  # no kernel for it there, or torch.compile lacks a compiler
        found = {"why_not": str(why).strip().splitlines()[0][:120]}
    print(json.dumps(found))


main()
