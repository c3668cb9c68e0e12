# SPDX-License-Identifier: Apache-2.0
"""Programs on the emulated device (tests/support/cuda/emulated)."""
import os
import pathlib
import subprocess

import turns

BUILD = pathlib.Path(os.environ["OPTRACE_BUILD_ROOT"])
EMULATED = BUILD / "tests" / "support" / "cuda" / "emulated"


def run(words, **environment):
    """What is left the device counts itself; the leak sanitizer does not survive the stacks of its fibers."""
    sanitizer = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
    given = {**os.environ, "LD_LIBRARY_PATH": str(EMULATED), "ASAN_OPTIONS": sanitizer, **environment}
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False,
                          env=given)


def left_of(path):
    """What the device counted, as it writes that to CUDA_DOUBLE_LEFT."""
    lines = pathlib.Path(path).read_text().splitlines()
    return {line.rsplit(" ", 1)[0]: int(line.rsplit(" ", 1)[1]) for line in lines}


def is_clean(left):
    """Whether all was given back to the device."""
    return all(count == 0 for what, count in left.items() if what.startswith("left "))


def calls_that_matter(path):
    """Numbers of the calls that are to fail, each in a run of its own, of a run that wrote CUDA_DOUBLE_CALLS to this
    path: of each function behind each other one the first and the last; with OPTRACE_TEST_ALL=1 all."""
    names = pathlib.Path(path).read_text().splitlines()
    places = {}
    for number, pair in enumerate(zip(["", *names], names), 1):
        places.setdefault(pair, []).append(number)
    if turns.turns_all():
        return range(1, len(names) + 1)
    return sorted({number for found in places.values() for number in (found[0], found[-1])})


def infer(library, model, *flags, before=(), **environment):
    """load_and_run --cuda on the model of a folder, beside a double of tests/support/cuda."""
    words = [*before, BUILD / "runtime" / "load_and_run", model / "model.onnx", "--cuda", *flags]
    return run(words, **{"LD_LIBRARY_PATH": f"{EMULATED}:{BUILD / 'tests/support/cuda' / library}", **environment})
