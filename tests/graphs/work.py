# SPDX-License-Identifier: Apache-2.0
"""A worker of scripts/fuzz-graphs: makes the models of some seeds, runs each under some flags, shrinks
what is found. Tells what it does as JSON, a line each; the seed before anything else, so that it is
known when a reference breaks down."""
import argparse
import json
import os
import pathlib
import sys
import tempfile
import time
import traceback
import warnings

from builder import full_name
from judge import FLAGS, Runner, runtime_outputs, save, turned
from operators_control import ONLY, random_case
from shrink import Shrinker

warnings.filterwarnings("ignore")
OPSET_MAX = 24
FLAGS_PER_GRAPH = 3
SETS_EVERY = 3  # of so many graphs one has two data sets


def own_output():
    """Standard output for what this tells alone: the references print there, too."""
    output = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    return output


OUTPUT = own_output()


def tell(**what):
    print(json.dumps(what), file=OUTPUT, flush=True)


def describe(case):
    """A line for each node."""
    lines = []
    for node in case.model.graph.node:
        inputs = [f"{n}{list(case.inputs[n].shape)}:{case.inputs[n].dtype}" if n in case.inputs else n
                  for n in node.input]
        attributes = [a.name + "=" + str(list(a.ints) or list(a.floats) or a.s.decode(errors="replace") or a.i or a.f)
                      for a in node.attribute]
        lines.append(f"{', '.join(node.output)} = {full_name(node)}({', '.join(inputs)}) {' '.join(attributes)}")
    return lines


def handle(seed, flag, case, verdict, runner, options, known):
    """Shrinks a finding and keeps it, once for each kind of words."""
    shrunk = case
    if options.shrink:
        shrunk = Shrinker(runner, flag, verdict).shrink(case)
    ops = sorted(set(shrunk.ops))
    key = (verdict.kind, verdict.what, " ".join(ops))
    folder = pathlib.Path(options.keep) / f"{verdict.kind}-{seed}-{flag}".replace(" ", "-")
    if key not in known:
        known.add(key)
        save(shrunk, folder)
        runner.prepare(shrunk, flag, folder)
        save(case, folder / "whole")
    tell(finding=verdict.kind, seed=seed, flag=flag, text=verdict.text[-1200:], ops=ops, nodes=describe(shrunk)[:12],
         opset=shrunk.model.opset_import[0].version, command=runner.command(shrunk, flag, folder))


def flags_of(seed, chosen):
    """Each graph without flags, then the next few in turn."""
    rest = [f for f in chosen if f != "default"]
    turn = [rest[(seed * FLAGS_PER_GRAPH + i) % len(rest)] for i in range(min(FLAGS_PER_GRAPH, len(rest)))]
    return (["default"] if "default" in chosen else []) + turn


def work(seed, runner, options, known):
    tell(begin=seed)
    try:
        case = random_case(seed, OPSET_MAX)
    except Exception:  # noqa: a maker that makes nonsense is told, too
        tell(broken=seed, text=traceback.format_exc()[-600:])
        return
    if case is None:
        tell(empty=seed)
        return
    tell(made=seed)
    if seed % SETS_EVERY == 0 and case.inputs:
        case.others = [other for other in [turned(case)] if other]
    chosen = options.flags
    counts = {}
    for flag in flags_of(seed, chosen):
        verdict = runner.verdict(case, flag)
        counts[flag] = verdict.kind
        if verdict.is_finding():
            handle(seed, flag, case, verdict, runner, options, known)
            if flag == "default":
                break
        elif verdict.kind != "pass" and options.tell_all:
            tell(apart=verdict.kind, seed=seed, flag=flag, text=verdict.text[-600:], ops=sorted(set(case.ops)))
            if verdict.kind == options.keep_kind:
                handle(seed, flag, case, verdict, runner, options, known)
    tell(end=seed, ops=case.ops, verdicts=counts, runtime=runtime_outputs(case) is not None)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--first", type=int, required=True)
    parser.add_argument("--step", type=int, default=1)
    parser.add_argument("--count", type=int, required=True)
    parser.add_argument("--until", type=float, default=0, help="seconds of the monotonic clock")
    parser.add_argument("--flags", default="")
    parser.add_argument("--makers", default="")
    parser.add_argument("--keep", required=True)
    parser.add_argument("--no-shrink", dest="shrink", action="store_false")
    parser.add_argument("--tell-all", action="store_true")
    parser.add_argument("--keep-kind", default="")
    options = parser.parse_args()
    options.flags = [f for f in options.flags.split(",") if f] or list(FLAGS)
    ONLY.update(name for name in options.makers.split(",") if name)
    known = set()
    with tempfile.TemporaryDirectory(prefix="fuzz-graphs-") as folder:
        runner = Runner(options.build, folder)
        for i in range(options.count):
            if options.until and time.monotonic() > options.until:
                break
            work(options.first + i * options.step, runner, options, known)
    return 0


if __name__ == "__main__":
    sys.exit(main())
