#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What of scripts/gpu-check needs no GPU: its list, what it packs, and what it says where there is none.
Its lines themselves are claimed nowhere before they have run; docs/gpu.md says which have."""
import importlib
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from gpu_script import load_script

ROOT = pathlib.Path(os.environ["OPTRACE_SOURCE_ROOT"])
BUILD = pathlib.Path(os.environ["OPTRACE_BUILD_ROOT"])
failures = []


def gpu_check(*words, **environment):
    return subprocess.run([sys.executable, ROOT / "scripts/gpu-check", *map(str, words)], text=True,
                          capture_output=True, env=dict(os.environ, **environment), check=False)


def expect(condition, what):
    if not condition:
        failures.append(what)


def check_questions(folder):
    """What lines f and g ask of a store, of one whose answers are known: ops of the small ONNX Runtime that
    launch over the double of CUDA."""
    script, store = load_script(), folder / "q.db"
    done = subprocess.run([BUILD / "client/cli/optrace", "run", "--quiet", "--force", "--gpu", "graph", "--nodes", "all", "-o", store,
                           "--", BUILD / "tests/flow/inject_op_kernel_program", "5"], capture_output=True, text=True,
                          env=dict(os.environ, ASAN_OPTIONS="detect_leaks=0"), check=False)
    expect(done.returncode == 0, f"the double: {done}")
    expect(script.kernels_under(store, "n.op_type IN ('Conv', 'Relu', 'Mul')") == (20, 20), "kernels under nodes")
    expect(script.kernels_under(store, "n.op_type = 'Relu'") == (20, 5), "kernels under one of them")
    expect(script.kernels_under(store, "n.op_type = 'none'") == (20, 0), "kernels under what there is not")
    expect(script.without_numbers("1 of 0x12ab\nb\n") == script.without_numbers("b\n2 of 0x0\n"), "numbers in warnings")
    sys.path.insert(0, str(ROOT / "scripts/gpu"))
    models = importlib.import_module("models")
    expect(models.gguf_model(64, 1, 64)[:4] == b"GGUF", "no model for llama.cpp")
    expect(models.varint(300) == b"\xac\x02" and b"matmul3" in models.onnx_model(), "no model for ONNX Runtime")


def check_cupti():
    """Lines e and g ask CUPTI itself, by the double here: what they make of its answers."""
    script = load_script()
    place = {"LD_LIBRARY_PATH": str(BUILD / "tests/support"), "OPTRACE_CUPTI": "libcupti.so.13",
             "CUDA_DOUBLE_KERNELS": "kernel=20000", "ASAN_OPTIONS": "detect_leaks=0"}

    class Double:
        sets_clock = True

        @staticmethod
        def work(what, script):
            return subprocess.run([sys.executable, script, what, "--libcuda", BUILD / "tests/support/libcuda.so.1"],
                                  text=True, capture_output=True, env=dict(os.environ, **place), check=False)

    text = script.find_late(Double)
    expect(re.fullmatch(r"late: enabling takes \S+ ms, the next step \S+; a step \S+ before, \S+ recorded, \S+ after;"
                        r" primed: .*", text), f"late: {text}")
    text = script.find_windows(Double)
    expect(text == "windows: " + ", ".join(["120 of 120 kernels in time"] * 5) + ", 0 between", f"windows: {text}")
    place["CUDA_DOUBLE_RECORDS"] = "backwards"
    try:
        expect(False, f"times that are none are taken: {script.find_windows(Double)}")
    except script.Failed as why:
        expect("0 of 120 kernels in time" in str(why), f"times that are none: {why}")
    place["CUDA_DOUBLE_FAIL"] = "cuptiActivityEnable=35"
    try:
        expect(False, f"a refusal is taken: {script.find_late(Double)}")
    except script.Failed as why:
        expect(str(why) == "late: cuptiActivityEnable: error 35", f"a refusal: {why}")
    del place["CUDA_DOUBLE_FAIL"], place["CUDA_DOUBLE_RECORDS"]
    try:
        expect(False, f"calls one by one, which the double lacks: {script.find_external(Double)}")
    except script.LeftOut as why:
        expect("12.5" in str(why), f"external: {why}")
    problems = []
    text = script.clock_found({"before": [[4, 4], [4, 4]], "ahead": [[0, 4], [4, 4]]}, problems)
    expect((text, problems) == ("clock: before 4 of 4 then 4 of 4, ahead 0 of 4 then 4 of 4", []), f"clock: {text}")
    script.clock_found({"before": [[3, 4], [4, 4]]}, problems)
    expect(len(problems) == 1, "times that are wrong without a reason are not")


def check_computing(folder):
    """Line h on the emulated device, where there is one: some of the cases, a device that fails, none at all."""
    if not (BUILD / "tests/support/cuda/emulated/libcuda.so.1").exists():
        return
    script = load_script()
    place = script.Place(BUILD, False, folder, None)
    place.cases = ("--match", "simple/")
    emulated = {"LD_LIBRARY_PATH": str(BUILD / "tests/support/cuda/emulated"), "CUDA_DOUBLE_MEMORY": "8388608",
                "CUDA_DOUBLE_KERNELS": "peak_copy=1000000,peak_multiply_add=8000000",
                "ASAN_OPTIONS": "detect_leaks=0"}
    os.environ.update(emulated)
    try:
        text = script.check_computing(place)
        expect(re.fullmatch(r"\S+ TFLOP/s, copies \S+ GB/s; (\d+) cases: \1 pass, 0 refused, 0 differ, 0 break", text),
               f"computing: {text}")
    except script.LeftOut as why:
        expect("the public cases are not there" in str(why), f"left out: {why}")
    for environment, sentence in (({"CUDA_DOUBLE_FAIL": "cuLaunchKernel=719"}, "--calibrate --cuda: .*LAUNCH_FAILED"),
                                  ({"CUDA_DOUBLE_DRIVER": "none"}, "--calibrate --cuda: .*finds no GPU")):
        os.environ.update(environment)
        try:
            expect(False, f"{environment}: {script.check_computing(place)}")
        except script.Failed as why:
            expect(re.search(sentence, str(why)), f"{environment}: {why}")
        for name in environment:
            del os.environ[name]
    for name in emulated:
        os.environ.pop(name, None)
    place.build = folder / "none"
    for line in (script.check_computing, script.check_kernels):
        try:
            expect(False, f"without a build: {line(place)}")
        except script.LeftOut:
            pass


def check_kernels():
    """Line j likewise, its way of memory included; a mistake in a kernel, and a sanitizer that finds one."""
    if not (BUILD / "tests/support/cuda/emulated/libcuda.so.1").exists():
        return
    script = load_script()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        place = script.Place(BUILD, False, folder, None)
        place.kernel_cases = 6  # kernels/cuda has tests of its own: here it is the line that is looked at
        os.environ.update({"LD_LIBRARY_PATH": str(BUILD / "tests/support/cuda/emulated"), "CUDA_DOUBLE_STREAMS": "eager",
                           "ASAN_OPTIONS": "detect_leaks=0", "PATH": f"{folder}:{os.environ['PATH']}"})
        expect("compute-sanitizer is not there" in script.check_kernels(place), "kernels without a sanitizer")
        (folder / "compute-sanitizer").write_text('#!/bin/sh\n[ "$2" = racecheck ] && exit 9\nshift 4\nexec "$@"\n')
        (folder / "compute-sanitizer").chmod(0o755)
        for more, sentence in (({}, "^racecheck: exit status 9, 0 failed"), ({"CUDA_DOUBLE_BUG": "2"}, "^own: exit status 1")):
            os.environ.update(more)
            try:
                expect(False, f"kernels that are wrong: {script.check_kernels(place)}")
            except script.Failed as why:
                expect(re.search(sentence, str(why)), f"kernels: {why}")
        for variable in ("LD_LIBRARY_PATH", "CUDA_DOUBLE_STREAMS", "CUDA_DOUBLE_BUG"):
            del os.environ[variable]


def main():
    listed = gpu_check("--list")
    lines = re.findall(r"^([a-z])  ", listed.stdout, re.M)
    expect(lines == list("abcdefghij"), f"--list: {listed}")
    page = (ROOT / "docs/gpu.md").read_text()
    for letter in lines:
        expect(re.search(rf"^\| {letter} \|", page, re.M), f"docs/gpu.md has no row for line {letter}")
    expect(gpu_check("--only", "z").returncode == 2, "a letter that there is not is taken")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        # A PyTorch that sees nothing stands for a machine without a GPU.
        (folder / "torch.py").write_text(
            "__version__ = '0'\nclass version: cuda = None\nclass cuda:\n"
            "    is_available = staticmethod(lambda: False)\n")
        done = gpu_check(PYTHONPATH=name)
        expect((done.returncode, done.stderr) == (3, "gpu-check: PyTorch 0 sees no GPU\n"), f"no GPU: {done}")
        packed = gpu_check("--pack", folder / "pack", "--build", BUILD)
        expect(packed.returncode == 0, f"--pack: {packed}")
        done = subprocess.run([sys.executable, folder / "pack/gpu-check"], text=True, capture_output=True, check=False,
                              env=dict(os.environ, PYTHONPATH=name))
        expect((done.returncode, done.stderr) == (3, "gpu-check: PyTorch 0 sees no GPU\n"), f"packed: {done}")
        program = folder / "pack" / "optrace"
        done = subprocess.run([program, "run", "--print-env", "--gpu", "node"], capture_output=True, text=True,
                              check=False)
        expect(f"CUDA_INJECTION64_PATH={folder.resolve()}/pack/liboptrace_inject.so" in done.stdout,
               f"a packed optrace does not find what it needs: {done}")
        for place in ("runtime/load_and_run", "tests/kernels"):
            expect((folder / "pack" / place).exists() == (BUILD / place).exists(), f"{place} is not packed")
        check_questions(folder)
        (folder / "h").mkdir()
        check_computing(folder / "h")
    check_kernels()
    check_cupti()
    print("\n".join(failures) or "ok")
    return 1 if failures else 0


sys.exit(main())
