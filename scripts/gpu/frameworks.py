#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Work of other frameworks for a GPU, with models made here: frameworks.py ort|llama|jax COUNT [WHERE].

WHERE is the provider of ONNX Runtime (CUDAExecutionProvider), the layers of llama.cpp on the device (-1:
all) or the platform of JAX (cuda). Prints one line of JSON with what was computed, which is the same each
time, and how many runs there were.
"""
import json
import os
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import models  # noqa: E402


def ort(count, where):
    import numpy
    import onnxruntime
    session = onnxruntime.InferenceSession(models.onnx_model(), providers=[where or "CUDAExecutionProvider"])
    x = numpy.linspace(-1, 1, models.ROWS * models.WIDTH, dtype=numpy.float32).reshape(models.ROWS, models.WIDTH)
    for _ in range(count):
        y = session.run(None, {"x": x})[0]
    return {"sum": round(float(numpy.abs(y).sum()), 1), "runs": count, "provider": session.get_providers()[0]}


def llama(count, where):
    import llama_cpp
    with tempfile.NamedTemporaryFile(suffix=".gguf") as file:
        file.write(models.gguf_model())
        file.flush()
        model = llama_cpp.Llama(model_path=file.name, n_gpu_layers=int(where or -1), n_ctx=256, seed=1, verbose=False)
        text = model.create_completion("a", max_tokens=count, temperature=0.0)["choices"][0]["text"]
    return {"text": text, "runs": count, "on_device": bool(llama_cpp.llama_supports_gpu_offload())}


def jax(count, where):
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false") # else it takes most of the memory at once
    import jax as framework
    import jax.numpy as numpy

    @framework.jit
    def products(x, w):
        for _ in range(models.LAYERS):
            x = numpy.maximum(x @ w, 0)
        return x
    device = framework.devices(where or "cuda")[0]
    x, w = (framework.device_put(numpy.linspace(-1, 1, rows * models.WIDTH).reshape(rows, models.WIDTH) / 32, device)
            for rows in (models.ROWS, models.WIDTH))
    for _ in range(count):
        y = products(x, w).block_until_ready()
    return {"sum": round(float(abs(y).sum()), 3), "runs": count, "platform": device.platform}


def main():
    what, count = sys.argv[1], int(sys.argv[2])
    work = {"ort": ort, "llama": llama, "jax": jax}[what]
    print(json.dumps(work(count, sys.argv[3] if len(sys.argv) > 3 else None)))


if __name__ == "__main__":
    main()
