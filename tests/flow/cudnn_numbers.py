#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Our declarations of cuDNN against its headers; plans of convolutions by NVIDIA's own library, for seven devices
whose properties are stored; and load_and_run with it where there is no GPU: it is opened, its create fails, and
own kernels take over. All where scripts/get-cuda --libraries or scripts/get-programs have fetched it.

The properties (tests/support/cuda/cudnn/devices) are of data sheets, and partly guessed."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import emulated
from emulated import BUILD

ROOT = pathlib.Path(os.environ["OPTRACE_SOURCE_ROOT"])
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache")) / "optrace"
SUPPORT = ROOT / "tests" / "support" / "cuda" / "cudnn"
TRANSPOSED = ROOT / "tests" / "graphs" / "cases" / "strided_dilated_conv_transpose"
SKIPPED = 77
CASES = 19
# What cuDNN 9 has no engine for, whole: an activation without bias, one that is none of its own, what reads its
# own result, and sums behind the way back.
NEVER_WHOLE = {"relu", "leaky", "in_place", "transposed"}
NUMBERS = ("f32", "tf32", "f16", "bf16", "f16_bias", "f16_wide")
# Nor for biases of another type than the rest has, nor for a result of another; and T4s have no bfloat16.
NO_BIAS = {"plain", "relu"}
failures = []


def expect(condition, what):
    if not condition:
        failures.append(what)


def places():
    """(folder of headers, folders that headers of CUDA may be in, folder of the library) of each that is there."""
    if (CACHE / "cuda/include/cudnn_graph.h").exists():
        yield CACHE / "cuda/include", [], CACHE / "cuda/lib"
    if not (CACHE / "cuda/include/crt/host_defines.h").exists():
        return  # programs come without what the compiler has of CUDA's headers
    for nvidia in sorted(CACHE.glob("programs/*/lib/python3*/site-packages/nvidia")):
        folders = [nvidia / "cu13/include", nvidia / "cuda_runtime/include"]
        if (nvidia / "cudnn/include/cudnn_graph.h").exists():
            yield nvidia / "cudnn/include", [path for path in folders if path.exists()], nvidia / "cudnn/lib"


def compile_against(headers, others, source, folder):
    path = folder / "layout.c"
    path.write_text(source)
    words = ["gcc", "-std=gnu11", "-fsyntax-only", "-Werror=incompatible-pointer-types", f"-I{ROOT}"]
    for include in (headers, *others, CACHE / "cuda/include"):
        words += ["-isystem", include]
    return subprocess.run([str(word) for word in (*words, path)], capture_output=True, text=True, check=False)


def check_headers(headers, others, folder):
    source = (SUPPORT / "layout.c").read_text()
    done = compile_against(headers, others, source, folder)
    expect(done.returncode == 0, f"{headers} differs: {done.stderr[:600]}")
    for ours, wrong in (("IS(DNN_APPLY_B,", "IS(DNN_APPLY_Y,"), ("IS(DNN_TYPE_NOTE,", "IS(DNN_TYPE_NOTE + 1,")):
        expect(ours in source and compile_against(headers, others, source.replace(ours, wrong), folder).returncode != 0,
               f"{wrong} is not noticed")


def check_plans(folder, device, *layout):
    """Each convolution has an engine alone, and most have one with what comes behind them. Returns what those of
    float16 have for a workspace, in all."""
    done = emulated.run([BUILD / "tests/support/cuda/cudnn/cudnn_plans", device, *layout],
                        LD_LIBRARY_PATH=f"{emulated.EMULATED}:{folder}")
    lines = re.findall(r"^(\w+) +(alone|with_end) +(\w+) +(.*)$", done.stdout, re.M)
    expect(done.returncode == 0 and len(lines) == 2 * len(NUMBERS) * CASES,
           f"{folder} {device.name}: {done.stdout}{done.stderr[-600:]}")
    for name, whole, numbers, told in lines:
        is_built = re.fullmatch(r"cudnn:\d+ \d+ key", told)
        is_never = (whole == "with_end" and name in NEVER_WHOLE) or numbers == "f16_wide" or (
            whole == "with_end" and numbers == "f16_bias" and name not in NO_BIAS) or (
            numbers == "bf16" and device.stem == "t4")
        expect(is_built or (is_never and told == "none"), f"{folder} {device.name}: {name} {whole} {numbers}: {told}")
        expect(not (is_built and numbers == "f16_wide"), f"{device.name}: cuDNN makes float32 of float16: {name}")
    engines = {numbers: [line[3] for line in lines if line[2] == numbers] for numbers in ("f32", "tf32")}
    expect(device.stem == "t4" or engines["f32"] != engines["tf32"], f"{device.name}: TF32 makes no difference")
    return sum(int(line[3].split()[1]) for line in lines if line[2] == "f16" and line[3] != "none")


def check_layouts(folder, device):
    """Images in either layout, with what an engine has for turning those around that are row-major."""
    row_major, channels_last = check_plans(folder, device), check_plans(folder, device, "nhwc")
    expect(channels_last < row_major, f"{device.name}: workspaces of {row_major} and {channels_last} bytes")


def check_library(folder):
    """A GPU is not there: whatever of the double's driver it asks for, it has to say no, and we go on."""
    done = emulated.run([BUILD / "runtime" / "load_and_run", TRANSPOSED / "model.onnx", "--cuda", "--verify", TRANSPOSED,
                         "--no-trace"], LD_LIBRARY_PATH=f"{emulated.EMULATED}:{folder}")
    told = re.findall(r"cuDNN is not used: cudnnCreate\(\) answers CUDNN_STATUS_\w+; own kernels compute 1 convolution\n",
                      done.stderr)
    expect(done.returncode == 0 and len(told) == 1 and "passed: 1 of 1" in done.stdout,
           f"{folder}: {done.returncode} {done.stdout[-300:]}{done.stderr}")


found = list(places())
if not found:
    print(f"no cudnn_graph.h in {CACHE}: scripts/get-cuda --libraries fetches it")
    sys.exit(SKIPPED)
with tempfile.TemporaryDirectory() as name:
    for headers, others, library in found:
        print(f"{headers}")
        check_headers(headers, others, pathlib.Path(name))
        if not (library / "libcudnn.so.9").exists():
            continue
        check_library(library)
        # Properties of devices are taken from 9.8 on; those of 9.28 are what is stored.
        version = (headers / "cudnn_version.h").read_text()
        if int(re.search(r"CUDNN_MINOR (\d+)", version).group(1)) >= 28:
            for device in sorted((SUPPORT / "devices").glob("*.json")):
                check_layouts(library, device)
for failure in failures:
    print(failure)
sys.exit(1 if failures else 0)
