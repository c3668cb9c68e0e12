#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/get-programs over small wheels made here: what is fetched once, and what is left out."""
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


def make_wheel(folder, name):
    path = folder / f"{name}-1.0-py3-none-any.whl"
    info = f"{name}-1.0.dist-info"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr(f"{name}.py", "print('it runs')\n")
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
    return hashlib.sha256(path.read_bytes()).hexdigest()


def get(place, *words):
    environment = dict(os.environ, PIP_NO_INDEX="1", PIP_FIND_LINKS=str(place), HOME=str(place),
                       PIP_BREAK_SYSTEM_PACKAGES="1", XDG_CACHE_HOME=str(place / "cache"),
                       npm_config_registry="http://127.0.0.1:9/", npm_config_fetch_retries="0")
    return subprocess.run([sys.executable, str(ROOT / "scripts/get-programs"), "--lists",
                           str(place / "lists"), *words],
                          capture_output=True, text=True, env=environment, check=False)


def expect(what, done, status, *texts):
    said = done.stdout + done.stderr
    if done.returncode != status or any(text not in said for text in texts) or "Traceback" in said:
        failures.append(f"{what}: status {done.returncode}, not {status}; said {said!r}")


def check(place):
    lists = place / "lists"
    programs = place / "cache" / "optrace" / "programs"
    lists.mkdir()
    digest = make_wheel(place, "good")
    make_wheel(place, "bad")
    make_wheel(place, "more")
    (lists / "good-1.0.txt").write_text(f"good==1.0 --hash=sha256:{digest}\n")
    (lists / "bad-1.0.txt").write_text(f"bad==1.0 --hash=sha256:{'0' * 64}\n")
    (lists / "gone-1.0.txt").write_text(f"gone==1.0 --hash=sha256:{'0' * 64}\n")
    (lists / "made-1.0.txt").write_text("# Makes: model.gguf by tests/programs/llama_model.py\n"
                                        f"good==1.0 --hash=sha256:{digest}\n")
    (lists / "unmade-1.0.txt").write_text("# Makes: model by tests/programs/ctranslate2_model.py\n"
                                          f"good==1.0 --hash=sha256:{digest}\n")
    (lists / "node-1.0.txt").write_text("package@1.0.0 sha512-AAAA\npackage/node_modules/inner@2.0.0 sha512-BBBB\n")
    (lists / "debian-1.0.txt").write_text("optrace-no-such-package=1.0-1 sha256:00\n")
    (lists / "empty-1.0.txt").write_text("# nothing\n")
    (lists / "more-1.0.txt").write_text(f"# Only with --all: it is large\nmore==1.0 --hash=sha256:{'0' * 64}\n")
    expect("list before", get(place, "--list"), 0, "good-1.0", "missing")
    expect("unknown", get(place, "nothing-2"), 2, "there is no nothing-2")
    done = get(place)
    if "less than 12 GB" in done.stderr:
        sys.exit(SKIPPED)
    expect("all", done, 1, "good-1.0: ", "bad-1.0 left out: what was fetched is not what",
           "gone-1.0 left out: the package index does not answer",
           "node-1.0 left out: ", "debian-1.0 left out: ", "empty-1.0 left out: its list is empty",
           "unmade-1.0 left out: ctranslate2_model.py: ", "made-1.0: ")
    model = programs / "made-1.0/model.gguf"
    if model.read_bytes()[:4] != b"GGUF":
        failures.append("the model is not what was to be made")
    (programs / "made-1.0/model.gguf.py").write_text("another\n")
    expect("another script", get(place, "--list"), 0, f"{'made-1.0':<24}missing")
    if "more" in done.stdout + done.stderr:
        failures.append("what is for --all was fetched without")
    expect("again", get(place, "good-1.0"), 0, "good-1.0: there already")
    expect("by name", get(place, "more-1.0"), 1, "more-1.0 left out")
    expect("list after", get(place, "--list"), 0, f"{'good-1.0':<24}there")
    ran = subprocess.run([programs / "good-1.0/bin/python3", "-c", "import good"], capture_output=True,
                         text=True, check=False)
    if ran.stdout != "it runs\n":
        failures.append(f"the program does not run: {ran.stderr}")
    if sorted(path.name for path in programs.iterdir()) != ["good-1.0", "made-1.0"]:
        failures.append(f"more than one folder: {sorted(programs.iterdir())}")
    (lists / "good-1.0.txt").write_text(f"# newer\ngood==1.0 --hash=sha256:{digest}\n")
    expect("another list", get(place, "--list"), 0, f"{'good-1.0':<24}missing")


with tempfile.TemporaryDirectory() as folder:
    probe = subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True, check=False)
    if probe.returncode != 0:
        print("this Python has no pip")
        sys.exit(SKIPPED)
    check(pathlib.Path(folder))
for failure in failures:
    print(failure)
sys.exit(1 if failures else 0)
