#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Our declarations of cuBLASLt against its headers, and load_and_run with NVIDIA's own library where there is
no GPU: it is opened, its create fails, and own kernels take over. Both where scripts/get-cuda --libraries or
scripts/get-programs have fetched it."""
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
LINEAR = ROOT / "tests" / "graphs" / "cases" / "lowered_linear"
SKIPPED = 77
failures = []


def expect(condition, what):
    if not condition:
        failures.append(what)


def places():
    """(folder of headers, further ones, folder of the library) of each that is there."""
    if not (CACHE / "cuda/include/crt/host_defines.h").exists():
        return  # programs come without what the compiler has of CUDA's headers
    found = [CACHE / "cuda"]
    for nvidia in sorted(CACHE.glob("programs/*/lib/python3*/site-packages/nvidia")):
        found += [nvidia / "cu13", nvidia / "cublas"]
    for folder in found:
        if (folder / "include/cublasLt.h").exists():
            others = [path for path in (folder.parent / "cuda_runtime/include",) if path.exists()]
            yield folder / "include", others, folder / "lib"


def compile_against(headers, others, source, folder):
    path = folder / "layout.c"
    path.write_text(source)
    words = ["gcc", "-std=gnu11", "-fsyntax-only", "-Werror=incompatible-pointer-types", f"-I{ROOT}"]
    for include in (headers, *others, CACHE / "cuda/include"):
        words += ["-isystem", include]
    return subprocess.run([str(word) for word in (*words, path)], capture_output=True, text=True, check=False)


def check_headers(headers, others, folder):
    source = (ROOT / "tests/support/cuda/layout_cublaslt.c").read_text()
    done = compile_against(headers, others, source, folder)
    expect(done.returncode == 0, f"{headers} differs: {done.stderr[:600]}")
    for ours, wrong in (("IS(LT_PRODUCT_BIAS,", "IS(LT_PRODUCT_EPILOGUE,"),
                        ("SAME(sizeof(struct lt_proposal),", "SAME(sizeof(struct lt_proposal) + 8,")):
        expect(ours in source and compile_against(headers, others, source.replace(ours, wrong), folder).returncode != 0,
               f"{wrong} is not noticed")


def check_library(folder):
    """A GPU is not there: whatever of the double's driver it asks for, it has to say no, and we go on."""
    done = emulated.run([BUILD / "runtime" / "load_and_run", LINEAR / "model.onnx", "--cuda", "--verify", LINEAR,
                         "--no-trace"], LD_LIBRARY_PATH=f"{emulated.EMULATED}:{folder}")
    told = re.findall(r"cuBLASLt is not used: cublasLtCreate\(\) answers CUBLAS_STATUS_\w+; own kernels compute 5 products\n",
                      done.stderr)
    expect(done.returncode == 0 and len(told) == 1 and "passed: 1 of 1" in done.stdout,
           f"{folder}: {done.returncode} {done.stdout[-300:]}{done.stderr}")


found = list(places())
if not found:
    print(f"no cublasLt.h in {CACHE}: scripts/get-cuda --libraries fetches it")
    sys.exit(SKIPPED)
with tempfile.TemporaryDirectory() as name:
    for headers, others, library in found:
        print(f"{headers}")
        check_headers(headers, others, pathlib.Path(name))
        if list(library.glob("libcublasLt.so.1[23]")):
            check_library(library)
for failure in failures:
    print(failure)
sys.exit(1 if failures else 0)
