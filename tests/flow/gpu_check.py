#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What of scripts/gpu-check needs no GPU: its list, what it packs, and what it says where there is none.
Its lines themselves are claimed nowhere before they have run; docs/gpu.md says which have."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(os.environ["OPTRACE_SOURCE_ROOT"])
BUILD = pathlib.Path(os.environ["OPTRACE_BUILD_ROOT"])
failures = []


def gpu_check(*words, **environment):
    return subprocess.run([sys.executable, ROOT / "scripts/gpu-check", *map(str, words)], text=True,
                          capture_output=True, env=dict(os.environ, **environment), check=False)


def expect(condition, what):
    if not condition:
        failures.append(what)


def main():
    listed = gpu_check("--list")
    lines = re.findall(r"^([a-z])  ", listed.stdout, re.M)
    expect(lines == list("abcdefg"), f"--list: {listed}")
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
        program = folder / "pack" / "optrace"
        done = subprocess.run([program, "run", "--print-env", "--gpu", "node"], capture_output=True, text=True,
                              check=False)
        expect(f"CUDA_INJECTION64_PATH={folder.resolve()}/pack/liboptrace_inject.so" in done.stdout,
               f"a packed optrace does not find what it needs: {done}")
    print("\n".join(failures) or "ok")
    return 1 if failures else 0


sys.exit(main())
