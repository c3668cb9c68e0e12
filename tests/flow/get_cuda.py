#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/get-cuda over small wheels made here: what becomes of them, and each way in which it fails."""
import hashlib
import os
import pathlib
import subprocess
import sys
import tempfile
import zipfile

ROOT = pathlib.Path(os.environ["OPTRACE_SOURCE_ROOT"])
SKIPPED = 77
failures = []


def make_wheel(folder, name, files):
    path = folder / f"{name}-1.0-py3-none-any.whl"
    info = f"{name}-1.0.dist-info"
    with zipfile.ZipFile(path, "w") as wheel:
        for place, text in files.items():
            wheel.writestr(place, text)
        wheel.writestr(f"{info}/licenses/License.txt", f"terms of {name}")
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
    return f"{name}==1.0 --hash=sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}\n"


def get_cuda(place, *words):
    environment = dict(os.environ, PIP_NO_INDEX="1", PIP_FIND_LINKS=str(place),
                       PIP_BREAK_SYSTEM_PACKAGES="1", HOME=str(place))
    return subprocess.run([sys.executable, str(ROOT / "scripts/get-cuda"), *map(str, words)],
                          capture_output=True, text=True, env=environment, check=False)


def expect(what, done, status, text):
    said = done.stdout + done.stderr
    if done.returncode != status or text not in said or len(said.splitlines()) > 1:
        failures.append(f"{what}: status {done.returncode}, not {status}; said: {said!r}, not {text!r}")


def check(condition, what):
    if not condition:
        failures.append(what)


def tell_apart(place):
    """One list that is right, one with another hash, one with a wheel that there is not."""
    header = "#define CUDA_VERSION 13050\n"
    good = make_wheel(place, "nvidia_small_headers", {"nvidia/cu13/include/cuda.h": header,
                                                      "nvidia/cu13/__init__.py": ""})
    good += make_wheel(place, "nvidia_small_runtime", {"nvidia/cu13/lib/libcudart.so.13": "x",
                                                       "nvidia/cu13/bin/nvcc": "#!/bin/sh\n"})
    good += make_wheel(place, "nvidia_small_dnn", {"nvidia/cudnn/lib/libcudnn.so.9": "x"})
    past = make_wheel(place, "nvidia_small_receiver", {"nvidia/cuda_cupti/lib/libcupti.so.11": "x"})
    lists = {"good": good, "history": past, "bad": good.replace("sha256:", "sha256:0000", 1)[:-1],
             "missing": good + "nvidia_no_such==1.0 --hash=sha256:" + "0" * 64 + "\n"}
    line = lists["bad"].splitlines()[0]
    lists["bad"] = lists["bad"].replace(line, line.split("0000")[0] + "0" * 64)
    for name, text in lists.items():
        (place / f"{name}.txt").write_text(text)
    return {name: place / f"{name}.txt" for name in lists}


def check_toolkit(folder):
    check((folder / "lib64/libcudart.so").resolve().name == "libcudart.so.13", "no libcudart.so")
    check((folder / "lib/libcudnn.so").exists(), "no libcudnn.so")
    check(os.access(folder / "bin/nvcc", os.X_OK), "bin/nvcc cannot be run")
    check("13.5" in (folder / "version.json").read_text(), "no version")
    check((folder / "licences/nvidia_small_dnn").read_text() == "terms of nvidia_small_dnn", "no licence")
    check(not list(folder.rglob("__init__.py")), "a file of Python's is left")
    config = dict(os.environ, PKG_CONFIG_PATH=str(folder / "lib/pkgconfig"))
    flags = subprocess.run(["pkg-config", "--cflags", "cuda-cudart"], capture_output=True, text=True,
                           env=config, check=False).stdout
    check(str(folder) in flags, f"pkg-config says {flags!r} of {folder}")


def main():
    if subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True,
                      check=False).returncode != 0:
        print("skipped: this Python has no pip")
        return SKIPPED
    with tempfile.TemporaryDirectory() as name:
        place = pathlib.Path(name)
        lists, folder = tell_apart(place), place / "cuda"
        expect("not there", get_cuda(place, "--print", folder), 1, "")
        expect("first", get_cuda(place, "--list", lists["good"], folder), 0, "CUDA 13.5")
        check_toolkit(folder)
        expect("again", get_cuda(place, "--list", lists["good"], folder), 0, "there already")
        expect("with a history", get_cuda(place, "--list", lists["good"], "--history-list", lists["history"],
                                          place / "past"), 0, "CUDA 13.5")
        check((place / "past/history/1.0/lib/libcupti.so.11").exists() and
              (place / "past/history/1.0/licences/nvidia_small_receiver").exists() and
              not list((place / "past/history").glob("*.txt")), "no history")
        expect("again with it", get_cuda(place, "--list", lists["good"], "--history-list", lists["history"],
                                         place / "past"), 0, "there already")
        folder.rename(place / "moved")
        check_toolkit(place / "moved")
        expect("moved", get_cuda(place, "--print", place / "moved"), 0, str(place / "moved"))
        expect("hash", get_cuda(place, "--list", lists["bad"], folder), 3,
               "is not what the list has the hash of")
        expect("index", get_cuda(place, "--list", lists["missing"], folder), 3, "cannot be had")
        check(not folder.exists() and not folder.with_name("cuda.part").exists(), "a part is left")
        expect("a failure keeps what is there",
               get_cuda(place, "--list", lists["missing"], place / "moved"), 3, "cannot be had")
        check_toolkit(place / "moved")
        expect("list", get_cuda(place, "--list", place / "none.txt", folder), 3, "no such list")
        (place / "own").mkdir()
        (place / "own/file").write_text("mine")
        expect("somebody's", get_cuda(place, "--list", lists["good"], place / "own"), 3,
               "is not a toolkit of this script")
        check((place / "own/file").exists(), "somebody's file is gone")
    print("\n".join(failures) or "ok")
    return 1 if failures else 0


sys.exit(main())
