# SPDX-License-Identifier: Apache-2.0
"""Line i of gpu-check: networks by `load_and_run --cuda`, beside what others take for the same."""
import json
import pathlib
import statistics
import sys

import networks
from common import Failed, LeftOut, ask, ask_all, said

PEERS = pathlib.Path(__file__).resolve().parent / "peers.py"
ROUNDS, WARM_UPS = 3, 10
RECORDING_MOST, SUMS_MOST, BANDWIDTH_LEAST = 0.01, 0.01, 0.8


class Sizes:
    """Of the networks; tests have small ones."""

    networks = (("resnet50", 1, {}), ("resnet50", 8, {}), ("resnet50", 32, {}), ("encoder", 1, {}), ("encoder", 8, {}),
                ("attention", 8, {}))
    # Of a type: batch, queries, keys.
    attentions = (("float16", 8, 1024, 1024), ("bfloat16", 8, 1024, 1024), ("float16", 8, 1, 4096),
                  ("bfloat16", 8, 1, 4096))
    moved = (8192, 4096)
    steps = 100
    judged_from = 32 # of a smaller batch kernels are so short that events take a share of them


def program_of(place, name="runtime/load_and_run"):
    program = place.build / name
    if not program.exists():
        raise LeftOut(f"this build has no {name}")
    return program


def calibrate(place):
    """What the GPU can do at best, as load_and_run measures it."""
    done = place.run([program_of(place), "--calibrate", "--cuda", "--json"])
    if done.returncode != 0:
        raise Failed(f"--calibrate --cuda: {done.stderr.strip()[-200:]}")
    return json.loads(done.stdout)


def infer(place, model, steps, store=None, level=None, options=("--fast-run",), extra=()):
    """The median of a run in ms; recorded into a store: its own times, by CUPTI's records or events, or with a level
    those that optrace takes from CUPTI."""
    command = [program_of(place), model, "--cuda", *options, "--iter", steps, "--warmup-iter", WARM_UPS, "--json",
               "--no-trace" if level or not store else "--trace"]
    if store:
        command = [place.paths["optrace"], "run", "--quiet", "--force", *(("--gpu", level) if level else ()), "-o", store, "--",
                   *command]
    done = place.run(command, 600, {**place.computing(), **dict(extra)})
    if done.returncode != 0:
        raise Failed(f"{model.name}: exit status {done.returncode}: {done.stderr.strip()[-200:]}")
    summary = json.loads(done.stdout)["threads"][0]["summary"]
    return summary["median_ns"] / 1e6


def peer_text(place, way, net, batch, model, steps):
    done = place.run([sys.executable, PEERS, way, net, batch, model, steps], 300)
    found = said(done)
    return f"{way} {found['median_ms']:.3g}" if "median_ms" in found else f"{way}: {found['why_not']}"


def own_sum(place, model, name, steps, extra=()):
    """ns of a run's operators on the device as load_and_run has them, and whether records of CUPTI say so."""
    store = place.store(name)
    infer(place, model, steps, store, options=(), extra=extra)
    sum_ns, runs = ask_all(store, "SELECT coalesce(sum(dur_ns), 0), count(DISTINCT run) FROM v_event"
                                  " WHERE lane_kind = 'stream' AND run IS NOT NULL")[0]
    if sum_ns == 0:
        raise Failed(f"{name}: no operator has times of the device")
    said_so = ask(store, "SELECT count(*) FROM v_event WHERE op_name LIKE 'CUDA: times of the device: % by records of %'"
                         " AND op_name NOT LIKE '% by events%'")
    return sum_ns / runs, bool(said_so)


def sums_off(place, model, name, steps):
    """How far CUPTI's sum of a run's kernels is from that of its operators' events, as optrace records it and as
    load_and_run does itself; None: CUPTI is not there, or its records are not whole."""
    events_ns, _ = own_sum(place, model, f"{name}-events", steps, {"OPTRACE_CUPTI": "none"})
    own_ns, is_recorded = own_sum(place, model, f"{name}-own", steps)
    store = place.store(f"{name}-cupti")
    infer(place, model, steps, store, "graph", options=())
    kernels_ns = ask(store, "SELECT sum(dur_ns) FROM v_event WHERE op_type = 'kernel'")
    return (kernels_ns / (steps + WARM_UPS) / events_ns - 1 if kernels_ns else None,
            own_ns / events_ns - 1 if is_recorded else None)


def judge(name, is_large, recording, offs):
    """What of a network is not as it has to be."""
    problems = []
    if recording > RECORDING_MOST:
        problems.append(f"{name}: recording costs {recording:.1%}, more than {RECORDING_MOST:.0%}")
    for whose, off in zip(("CUPTI's sums", "sums of its own records"), offs):
        if is_large and off is not None and abs(off) > SUMS_MOST:
            problems.append(f"{name}: {whose} are {off:+.1%} off those of events, not within {SUMS_MOST:.0%}")
    return problems


def try_network(place, sizes, net, batch, options):
    name = f"{net} x{batch}"
    model, store = place.scratch / f"{net}-{batch}.onnx", place.store(f"{net}-{batch}")
    model.write_bytes(networks.NETWORKS[net](batch, **options))
    plain, recorded = [], []
    for _ in range(ROUNDS):
        plain.append(infer(place, model, sizes.steps))
        recorded.append(infer(place, model, sizes.steps, store))
        store.unlink()
    ms, recording = statistics.median(plain), statistics.median(recorded) / statistics.median(plain) - 1
    offs = sums_off(place, model, f"{net}-{batch}", sizes.steps)
    half = infer(place, model, sizes.steps, options=("--fast-run", "--fp16"))
    ways = ("eager16", "compiled16") + (("cudnn",) if net == "attention" else ())
    others, beside_half = (", ".join(peer_text(place, way, net, batch, model, sizes.steps) for way in names)
                           for names in (("eager", "compiled", "onnxruntime"), ways))
    sums = "CUPTI absent" if offs[0] is None else f"CUPTI's sums {offs[0]:+.1%}"
    sums += ", its own by events" if offs[1] is None else f", own records' {offs[1]:+.1%}"
    return (f"{name}: {ms:.3g} ms ({others}), in float16 {half:.3g} ms ({beside_half}), recorded {recording:+.1%}, {sums}",
            judge(name, batch >= sizes.judged_from, recording, offs))


def try_attention(place, sizes, dtype, batch, queries, keys):
    """In the type that it is stored in, beside cuDNN's and what PyTorch chooses itself."""
    net = f"attention-{queries}x{keys}"
    model = place.scratch / f"{net}-{dtype}.onnx"
    model.write_bytes(networks.stored_attention(batch, queries, keys, dtype))
    ways = {"float16": ("cudnn", "eager16"), "bfloat16": ("cudnn_bf16", "eager_bf16")}[dtype]
    ms = infer(place, model, sizes.steps)
    others = ", ".join(peer_text(place, way, net, batch, model, sizes.steps) for way in ways)
    return f"attention of {dtype} x{batch}, {queries} queries of {keys} keys: {ms:.3g} ms ({others})"


def judge_bandwidth(rates, peak):
    """Rates in bytes/s by operator, and what is too slow of them."""
    text = "of copies' bytes/s: " + ", ".join(f"{name} {rate / peak:.0%}" for name, rate in rates.items())
    return text, [f"{name} reaches {rate / peak:.0%} of what copies do, not {BANDWIDTH_LEAST:.0%}"
                  for name, rate in rates.items() if rate < BANDWIDTH_LEAST * peak]


def try_bandwidth(place, sizes, peak):
    model, store = place.scratch / "moved.onnx", place.store("moved")
    model.write_bytes(networks.bound_by_memory(*sizes.moved))
    infer(place, model, sizes.steps, store)
    rates = {name: rate for name, rate in ask_all(
        store, "SELECT e.op_type, max(o.memory_bytes * 1e9 / e.dur_ns) FROM v_event e JOIN op o USING (op_id)"
               " WHERE e.lane_kind = 'stream' AND e.run IS NOT NULL AND o.memory_bytes > 0 AND e.dur_ns > 0"
               " GROUP BY e.op_type ORDER BY e.op_type")}
    if not rates:
        raise Failed("no operator that moves memory has times of the device")
    return judge_bandwidth(rates, peak)


def check_networks(place, sizes=Sizes):
    """i: networks by load_and_run --cuda."""
    peak = calibrate(place)["bytes_per_s"]
    found, problems = [], []
    text, wrong = try_bandwidth(place, sizes, peak)
    found.append(text)
    problems += wrong
    for net, batch, options in sizes.networks:
        text, wrong = try_network(place, sizes, net, batch, options)
        found.append(text)
        problems += wrong
    found += [try_attention(place, sizes, *one) for one in sizes.attentions]
    if problems:
        raise Failed("; ".join(problems + found))
    return "; ".join(found)
