# SPDX-License-Identifier: Apache-2.0
"""What load_and_run makes of a model under some flags, held against both references."""
import os
import pathlib
import re
import shlex
import subprocess

import numpy
from onnx import numpy_helper

from builder import F16, compute, evaluate_by_runtime, is_close

TIMEOUT_S = 120

# name: (words, environment, kind). verify: outputs must agree; half: roughly, and no NaN; runs: it
# must run; check: its own comparison with its reference kernels. POLICY is a file for the case.
FLAGS = {
    "default": ([], {}, "verify"),
    "fast-run": (["--fast-run"], {}, "verify"),
    "full-run": (["--full-run"], {}, "verify"),
    "stored-policy": (["--fast-run-algo-policy", "POLICY"], {}, "verify"),
    "reproducible": (["--reproducible"], {}, "verify"),
    "batch-equal": (["--binary-equal-between-batch"], {}, "verify"),
    "reproducible-fast-run": (["--fast-run", "--reproducible"], {}, "verify"),
    "no-optimize": (["--no-optimize-for-inference"], {}, "verify"),
    "no-fusion": (["--no-enable-fuse-conv-bias-nonlinearity", "--no-enable-fuse-conv-bias-with-z", "--no-enable-jit",
                   "--no-enable-fuse-preprocess"], {}, "verify"),
    "no-jit": (["--no-enable-jit"], {}, "verify"),
    "no-nonlinearity": (["--no-enable-fuse-conv-bias-nonlinearity"], {}, "verify"),
    "nothing": (["--no-optimize-for-inference", "--no-enable-fuse-conv-bias-nonlinearity",
                 "--no-enable-fuse-conv-bias-with-z", "--no-enable-jit", "--no-enable-fuse-preprocess"], {}, "verify"),
    "disable-mem-opt": (["--disable-mem-opt"], {}, "verify"),
    "layout-transform": (["--layout-transform", "cpu"], {}, "verify"),
    "workspace-limit-0": (["--workspace-limit", "0"], {}, "verify"),
    "workspace-limit-64Ki": (["--workspace-limit", "64Ki"], {}, "verify"),
    "two-threads": (["--multithread", "2"], {}, "verify"),
    "two-threads-fast-run": (["--multithread-default", "2", "--fast-run"], {}, "verify"),
    "cpu-default": (["--cpu-default"], {}, "verify"),
    "sse41": ([], {"DNNL_MAX_CPU_ISA": "SSE41"}, "verify"),
    "avx2": ([], {"DNNL_MAX_CPU_ISA": "AVX2"}, "verify"),
    "ioc16": (["--enable-ioc16"], {}, "half"),
    "fp16": (["--fp16"], {}, "half"),
    "bf16": (["--bf16"], {}, "half"),
    "verify-against-ref": (["--verify-against", "ref"], {}, "check"),
    "record-comp-seq": (["--record-comp-seq"], {}, "verify"),
    "record-comp-seq2": (["--record-comp-seq2", "--no-sanity-check"], {}, "verify"),
    "sanity-check": (["--sanity-check"], {}, "verify"),
    "share-param-mem": (["--share-param-mem"], {}, "verify"),
    "two-at-once": (["--thread", "2"], {}, "verify"),
    "weight-preprocess": (["--weight-preprocess", "--const-shape", "--optimize-for-inference"], {}, "runs"),
    "fuse": (["--enable-fuse-conv-bias-nonlinearity", "--enable-fuse-conv-bias-with-z", "--enable-jit",
              "--enable-fuse-preprocess"], {}, "runs"),
    "fake-first": (["--fake-first", "--disable-mem-opt"], {}, "runs"),
}

# Refusals that docs/operators.md or --help announces.
DOCUMENTED = [
    r"--workspace-limit: node .* needs ",
    r"tensors? of (more than|too many)", r"more than \d+ dimensions", r"spatial dimensions",
    r"differs in shape from turn to turn",
    r"its shape depends on the data", r"policy does not exist",
]


class Verdict:
    """kind: pass; difference, refusal, crash, hang, sanitizer are findings; all others are set
    apart. what: the words that tell it from others of its kind."""

    FINDINGS = ("difference", "refusal", "crash", "hang", "sanitizer")

    def __init__(self, kind, text="", what=""):
        self.kind, self.text, self.what = kind, text, what or kind

    def is_finding(self):
        return self.kind in self.FINDINGS


def save(case, folder):
    """The model, and its data as --verify reads it."""
    for old in folder.glob("test_data_set_*/*.pb"):
        old.unlink()
    for old in folder.glob("test_data_set_*"):
        old.rmdir()
    for i, one in enumerate([case, *case.others]):
        save_data(one, folder / f"test_data_set_{i}")
    (folder / "model.onnx").write_bytes(case.model.SerializeToString())


def save_data(case, data):
    data.mkdir(parents=True, exist_ok=True)
    for i, value in enumerate(case.model.graph.input):
        tensor = numpy_helper.from_array(case.inputs[value.name], value.name)
        (data / f"input_{i}.pb").write_bytes(tensor.SerializeToString())
    for i, value in enumerate(case.model.graph.output):
        tensor = numpy_helper.from_array(case.expected[value.name], value.name)
        (data / f"output_{i}.pb").write_bytes(tensor.SerializeToString())


def scale_of(case):
    """The largest of the numbers that come up, as far as they are known."""
    most = 1.0
    for array in [*case.inputs.values(), *case.expected.values()]:
        if array.dtype.kind == "f" and array.size:
            finite = numpy.abs(array[numpy.isfinite(array)])
            most = max(most, float(finite.max()) if finite.size else 0)
    return most


def has_half(case):
    """Whether something is computed in float16."""
    arrays = [*case.inputs.values(), *case.expected.values()]
    return any(a.dtype == F16 for a in arrays) or any(
        a.name in ("to", "dtype") and a.i == 10 for n in case.model.graph.node for a in n.attribute)


def tolerance(case, kind):
    scale = min(scale_of(case), 1e30)  # tolerances are numbers of f32
    if kind == "half":
        return 0.3, 0.1 * scale
    if has_half(case):
        return 2e-2, 5e-3 * scale
    return 1e-3, 1e-5 + 1e-5 * scale


class Runner:
    """Runs the program of a build; folder: for files of one case at a time."""

    def __init__(self, build, folder):
        self.program = pathlib.Path(build) / "runtime" / "load_and_run"
        self.folder = pathlib.Path(folder)

    def words(self, case, flag, folder):
        words, environment, kind = FLAGS[flag]
        words = [str(folder / "policy") if w == "POLICY" else w for w in words]
        command = [str(self.program), str(folder / "model.onnx"), *words, "--no-trace"]
        rtol, atol = tolerance(case, kind)
        if kind in ("verify", "half"):
            command += ["--verify", str(folder), "--rtol", f"{rtol:g}", "--atol", f"{atol:g}"]
        elif case.inputs:
            command += [f"--input={name}:{folder}/{i}.npy" for i, name in enumerate(case.inputs)]
        if kind == "runs":
            command += ["--iter", "2"]
        elif kind == "check":
            command.remove("--no-trace")
            command += ["--atol", f"{atol:g}"]  # what underflows in one kernel and not in the other is no matter
        return command, environment

    def prepare(self, case, flag, folder):
        save(case, folder)
        if FLAGS[flag][2] in ("runs", "check"):
            for i, array in enumerate(case.inputs.values()):
                numpy.save(folder / f"{i}.npy", array)
        if flag == "stored-policy":
            # One run that times and stores, then the one that is held against the references.
            (folder / "policy").unlink(missing_ok=True)
            command, _ = self.words(case, flag, folder)
            subprocess.run([*command, "--fast-run"], capture_output=True, check=False, timeout=TIMEOUT_S)

    def run(self, case, flag, folder=None):
        """(exit status or None after the time limit, what it said)."""
        folder = folder or self.folder
        self.prepare(case, flag, folder)
        command, environment = self.words(case, flag, folder)
        try:
            done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=TIMEOUT_S,
                                  env={**os.environ, **environment}, check=False)
        except subprocess.TimeoutExpired:
            return None, f"no end after {TIMEOUT_S} s"
        return done.returncode, done.stdout + done.stderr

    def command(self, case, flag, folder):
        """For people."""
        command, environment = self.words(case, flag, folder)
        return " ".join([f"{k}={v}" for k, v in environment.items()] + [shlex.quote(w) for w in command])

    def verdict(self, case, flag):
        status, text = self.run(case, flag)
        if status is None:
            return Verdict("hang", text)
        report = re.search(r"(runtime error: .*|ERROR: (Address|Leak)Sanitizer.*)", text)
        if report:
            return Verdict("sanitizer", text[-3000:], re.sub(r"0x[0-9a-f]+|\d+", "N", report[1]))
        if status == 0:
            return Verdict("pass")
        if status == 3:
            return self.refused(case, text)
        if status == 1:
            return self.differs(case, flag, text)
        return Verdict("crash", f"exit status {status}\n{text[-2000:]}", f"exit {status}")

    def refused(self, case, text):
        line = ([line for line in text.splitlines() if line.startswith("load_and_run:")] or [text])[-1]
        if any(re.search(pattern, line) for pattern in DOCUMENTED):
            return Verdict("refused as documented", line)
        if runtime_outputs(case) is None:
            return Verdict("refused, and by ONNX Runtime", line)
        what = re.sub(r'"[^"]*"|\'[^\']*\'|\{[^}]*\}|\d+', "...", line)
        return Verdict("refusal", line, what)

    def differs(self, case, flag, text):
        """One data set about which there is doubt puts it apart."""
        for one in case.others:
            verdict = self.differs_in(one, flag, text)
            if not verdict.is_finding():
                return verdict
        return self.differs_in(case, flag, text)

    def differs_in(self, case, flag, text):
        # How many numbers are not 0, or different, may hang on the last bit of one of them.
        if "is declared with shape" in text and not is_stable(case, 1e-6, 1e-4):
            return Verdict("ill-conditioned", text[-1500:])
        if FLAGS[flag][2] == "check":
            stable = is_stable(case, 1e-6, 1e-3)
            return Verdict("difference" if stable else "ill-conditioned", text[-1500:], "check")
        other = runtime_outputs(case)
        if other is None:
            return Verdict("unconfirmed", "ONNX Runtime does not run it\n" + text[-1500:])
        rtol, atol = tolerance(case, "verify")
        if not all(is_close(case.expected[n], other[n], rtol, atol) for n in case.expected):
            return Verdict("references differ", text[-1500:])
        if overflows(case):
            return Verdict("unconfirmed", "squares overflow in the references\n" + text[-1500:])
        half = FLAGS[flag][2] == "half"
        if not is_stable(case, 3e-3 if half else 1e-6, 0.02 if half else 1e-4):
            return Verdict("ill-conditioned", text[-1500:])
        return Verdict("difference", text[-1500:])


def runtime_outputs(case):
    """By name; None where ONNX Runtime does not run it."""
    try:
        made = evaluate_by_runtime(case.model, case.inputs)
    except Exception:  # noqa: it raises anything
        return None
    return dict(zip([o.name for o in case.model.graph.output], made))


def all_values(model, inputs, constants=None, change=lambda array: array):
    """Every value of the graph by name, node by node; `change` is what becomes of each that is made."""
    values = dict(inputs)
    values.update(constants if constants is not None else
                  {t.name: numpy_helper.to_array(t) for t in model.graph.initializer})
    opset = model.opset_import[0].version
    for node in model.graph.node:
        values.update({name: change(array) for name, array in compute(node, values, opset).items()})
    return values


def disturbed(array, amount, seed):
    if array.dtype.kind != "f" or not array.size:
        return array
    noise = seed.standard_normal(array.shape)
    with numpy.errstate(all="ignore"):
        return numpy.asarray(array * (1 + amount * noise) + amount * 0.1 * noise).astype(array.dtype)


def overflows(case):
    """Whether an output is infinite where numbers are so large that their squares are: kernels that add in
    float64 have what both references, in float32, do not."""
    def floats(values):
        return [a for a in values if isinstance(a, (numpy.ndarray, numpy.generic)) and a.dtype.kind == "f" and a.size]

    if not any(numpy.isinf(array).any() for array in floats(case.expected.values())):
        return False
    return any(numpy.abs(numpy.nan_to_num(array, posinf=0, neginf=0)).max() > 1e18
               for array in floats(all_values(case.model, case.inputs).values()))


def turned(case):
    """The case with all reals of its inputs in reverse order, which decide otherwise how much is found; None where
    the references do not agree about it."""
    inputs = {n: numpy.flip(a).copy() if a.dtype.kind == "f" else a for n, a in case.inputs.items()}
    try:
        values = all_values(case.model, inputs)
        other = evaluate_by_runtime(case.model, inputs)
    except Exception:  # noqa: it raises anything
        return None
    expected = {o.name: values[o.name] for o in case.model.graph.output}
    rtol, atol = tolerance(case, "verify")
    if not all(is_close(expected[n], y, rtol, atol) for n, y in zip(expected, other)):
        return None
    return type(case)(case.model, inputs, expected, case.ops)


def is_stable(case, amount, allowed):
    """Whether numbers that are a little different give outputs that are: inputs, and what is computed on
    the way, since a clip hides what its input was, and the next node may ask how far two of its results
    are from each other."""
    seed = numpy.random.default_rng(1)
    constants = {t.name: numpy_helper.to_array(t) for t in case.model.graph.initializer}
    for _ in range(6):
        try:
            values = all_values(case.model, {n: disturbed(a, amount, seed) for n, a in case.inputs.items()},
                                {n: disturbed(a, amount, seed) for n, a in constants.items()},
                                lambda array: disturbed(array, amount, seed))
        except Exception:  # noqa: it raises anything
            return False
        scale = scale_of(case)
        for name, array in case.expected.items():
            if not is_close(array, values[name], allowed, allowed * scale):
                return False
    return True

