#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The page of --format html, used as a reader would use it: html_page_probe.js does each thing in
Chromium, at 1440, 800 and 390 columns, light and dark, on a training on a GPU made here. Skipped
where Chromium is not installed or does not start."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(os.environ["OPTRACE_SOURCE_ROOT"])
PROGRAM = pathlib.Path(os.environ["OPTRACE_BUILD_ROOT"]) / "analyze" / "profile_analyze"
WIDTHS, THEMES = (1440, 800, 390), ("light", "dark")
HOSTILE = "</script><img src=x onerror=\"document.title='owned'\">"
STEPS, STEP_US = 8, 1000


def span(category, name, start, duration, lane=10, **args):
    return {"ph": "X", "cat": category, "name": name, "pid": 0 if lane == 7 else 10, "tid": lane,
            "ts": start, "dur": duration, "args": args}


def memory(time, size, address, device=0):
    return {"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 10, "tid": 10,
            "ts": time, "args": {"Bytes": size, "Addr": address, "Device Type": device, "Device Id": -1 + device}}


def step(number):
    """A step: aten::conv2d with a convolution inside that launches a kernel, twice with other shapes;
    the fifth is slow."""
    at, slow = number * STEP_US, 400 if number == 5 else 0
    stack = f"model.py(12): forward;train.py(40): <module>;{HOSTILE}"
    yield span("user_annotation", f"ProfilerStep#{number}", at, 900 + slow)
    for i in range(2):
        begin = at + 20 + i * 300
        yield span("cpu_op", "aten::conv2d", begin, 200,
                   **{"Input Dims": [[1, 3, 8 + i, 8], [4, 3, 3, 3]], "Input type": ["float", "float"],
                      "Call stack": stack, "External id": number * 10 + i})
        yield span("cpu_op", "aten::convolution", begin + 10, 180)
        yield span("cuda_runtime", "cudaLaunchKernel", begin + 50, 10, correlation=number * 10 + i + 1)
        yield span("kernel", "sgemm" if i else HOSTILE, begin + 100, 80 + slow / 2, 7, device=0, stream=7,
                   correlation=number * 10 + i + 1, grid=[8, 1, 1], block=[128, 1, 1])
        yield memory(begin + 15, 4096 * (i + 1), 4096 * (number * 2 + i + 1))
        yield memory(begin + 20, 1 << 20, 1 << 30 | number, device=1) if not i else memory(
            begin + 20, -(1 << 20), 1 << 30 | number, device=1)
        yield memory(begin + 170, -4096 * (i + 1), 4096 * (number * 2 + i + 1))
    yield span("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", at + 700, 10, 7, device=0, stream=7, bytes=2000000)
    yield {"ph": "C", "name": "queue length", "pid": 10, "tid": 10, "ts": at + 100, "args": {"items": number}}


def make_trace(path):
    events = [event for number in range(1, STEPS + 1) for event in step(number)]
    path.write_text(json.dumps({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "test GPU"}],
                                "traceEvents": events}))


def make_page(folder, *options):
    trace, page = folder / "train.json", folder / "page.html"
    make_trace(trace)
    subprocess.run([PROGRAM, trace, "--format", "html", "-o", page, *options], check=True)
    return page


def make_probed(page):
    """The page with the probe at its end, without the policy that would refuse it."""
    text = page.read_text()
    probe = (ROOT / "tests/flow/html_page_probe.js").read_text()
    assert "http-equiv=\"Content-Security-Policy\"" in text
    text = text.replace("http-equiv=\"Content-Security-Policy\"", "name=\"policy\"", 1)
    probed = page.with_name("probed.html")
    probed.write_text(text.replace("</body>", f"<script>{probe}</script></body>"))
    return probed


def make_frames(probed):
    """All widths and themes side by side; what each frame finds stands below them."""
    frames = "".join(f"<iframe name='{width} {theme}' src='{probed.name}#{theme}' "
                     f"style='width:{width}px;height:900px'></iframe>" for width in WIDTHS for theme in THEMES)
    collect = """<script>addEventListener('load', () => {
      for (const frame of document.querySelectorAll('iframe')) {
        const found = frame.contentDocument.getElementById('probe');
        const text = (found ? found.textContent : 'failed: the probe did not run').replace(/^/gm, frame.name + ': ');
        document.body.append(Object.assign(document.createElement('pre'), {textContent: text}));
      }
    });</script>"""
    path = probed.with_name("frames.html")
    path.write_text(f"<!doctype html><meta charset=utf-8><body>{frames}{collect}</body>")
    return path


def browse(folder, url):
    command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-dev-shm-usage",
               "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
               "--allow-file-access-from-files", "--window-size=1500,1000", f"--user-data-dir={folder}/profile",
               "--dump-dom", url]
    done = subprocess.run(command, capture_output=True, text=True, timeout=400, check=False)
    return done.stdout if done.returncode == 0 else ""


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        if not shutil.which("chromium") or "<p>started" not in browse(folder, "data:text/html,<p>started</p>"):
            print("chromium is not installed, or does not start here")
            sys.exit(77)
        document = browse(folder, f"file://{make_frames(make_probed(make_page(folder)))}")
    lines = [line for text in re.findall(r"<pre>(.*?)</pre>", document, re.S) for line in text.splitlines()]
    passed = [line for line in lines if ": passed: " in line]
    for line in lines:
        if line not in passed:
            print(line)
    counts = {f"{width} {theme}": sum(line.startswith(f"{width} {theme}: ") for line in passed)
              for width in WIDTHS for theme in THEMES}
    print(", ".join(f"{frame}: {count} passed" for frame, count in counts.items()))
    if len(lines) != len(passed) or min(counts.values()) < 10 or len(set(counts.values())) != 1:
        sys.exit("the page does not do what it should")


main()
