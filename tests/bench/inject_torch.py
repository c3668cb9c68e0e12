# SPDX-License-Identifier: Apache-2.0
"""What an op of PyTorch costs more: with nobody listening, recorded, and by torch.profiler.

    inject_torch.py [PYTHON]    a wheel's; the newest of those that are there

Processes alternate; in each, CPU time of the thread for many calls, the least of all that were
measured. What torch.profiler takes is counted twice: while the program runs, and with what it does
at its end with each op that it kept, which a program pays too; we have nothing left to do then.
It calls itself with --measure."""
import glob
import json
import os
import subprocess
import sys
import tempfile
import time

ROUNDS, REPEATS = int(os.environ.get('OPTRACE_BENCH_ROUNDS', '4')), 15


def measure(profilers):
    os.sched_setaffinity(0, {os.cpu_count() - 1})  # the daemon is on the first one
    import torch
    from torch import nn
    from torch.profiler import ProfilerActivity, profile
    torch.manual_seed(0)
    torch.set_num_threads(1)
    numbers = torch.ones(4)
    net = nn.Sequential(nn.Conv2d(3, 8, 3, 2), nn.BatchNorm2d(8), nn.ReLU(), nn.Conv2d(8, 16, 3), nn.ReLU(),
                        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 32), nn.GELU(),
                        nn.Linear(32, 10)).eval()
    image = torch.rand(1, 3, 16, 16)
    programs = {'neg_': (numbers.neg_, 1000), 'network': (lambda: net(image), 25)}
    cpu = [ProfilerActivity.CPU]
    modes = {'': None}
    if profilers:
        modes['torch.profiler'] = lambda: profile(activities=cpu)
        modes['torch.profiler, shapes, FLOP'] = lambda: profile(activities=cpu, record_shapes=True,
                                                               with_flops=True)
    result = {}
    with torch.no_grad():
        for name, (call, count) in programs.items():
            if profilers:
                with profile(activities=cpu) as profiler:
                    call()
                result['ops of ' + name] = len(profiler.profiler.kineto_results.events())
            for repeat in range(REPEATS):
                for mode, begin in modes.items():
                    if begin and repeat % 3:
                        continue
                    if begin:
                        with begin():
                            ns = time_of(call, count)
                    else:
                        ns = time_of(call, count)
                    key = (name + ' ' + mode).strip()
                    result[key] = min(ns, result.get(key, ns))
            for mode, begin in modes.items():
                if begin:
                    result[f'{name} {mode}, whole'] = whole_time_of(begin, call, count)
    json.dump(result, sys.stdout)


def time_of(call, count):
    call()
    begin = time.thread_time_ns()
    for _ in range(count):
        call()
    return (time.thread_time_ns() - begin) / count


def whole_time_of(begin, call, count):
    """With the end of a profiler, without what starting and ending one costs by itself."""
    few, many = [], []
    for _ in range(5):
        for calls, times in ((1, few), (10 * count, many)):
            start = time.thread_time_ns()
            with begin():
                for _ in range(calls):
                    call()
            times.append(time.thread_time_ns() - start)
    return (min(many) - min(few)) / (10 * count - 1)


def least_of(python):
    build = os.environ['OPTRACE_BUILD_ROOT']
    optrace, library = build + '/client/cli/optrace', build + '/client/inject/liboptrace_inject.so'
    own = [python, os.path.abspath(__file__), '--measure']
    with tempfile.TemporaryDirectory() as directory:
        store = directory + '/a.db'
        sources = ['--sources', 'torch']
        ways = {
            'alone': (own + ['profilers'], {}),
            'nobody listens': (own, {'LD_PRELOAD': library, 'OPTRACE_SOCKET': '/nowhere/socket'}),
            'recorded, names': (['taskset', '-c', '0', optrace, 'run', '-q', '-f', '-o', store, *sources, '--', *own],
                                {'OPTRACE_NODES': 'off'}),
            'recorded, shapes, FLOP': (['taskset', '-c', '0', optrace, 'run', '-q', '-f', '-o', store, *sources, '--', *own], {}),
        }
        least = {}
        for _ in range(ROUNDS):
            for way, (argv, more) in ways.items():
                output = subprocess.run(argv, env={**os.environ, **more}, check=True, capture_output=True)
                for key, ns in json.loads(output.stdout).items():
                    least[way, key] = min(ns, least.get((way, key), ns))
    return least


def table(python):
    """(what, ns or ratio, goal) of each row."""
    least = least_of(python)
    out = []
    for name in ('neg_', 'network'):
        ops, base = least['alone', 'ops of ' + name], least['alone', name]
        out.append((name + ', alone', base, None))
        more = {way: (least[way, name] - base) / ops
                for way in ('nobody listens', 'recorded, names', 'recorded, shapes, FLOP')}
        for mode in ('torch.profiler', 'torch.profiler, shapes, FLOP'):
            for part in (mode, mode + ', whole'):
                more[part] = (least['alone', name + ' ' + part] - base) / ops
        for way, ns in more.items():
            out.append((f'{name}, an op, {way}, more', ns, 5 if way == 'nobody listens' else None))
        for ours, theirs in (('recorded, names', 'torch.profiler'),
                             ('recorded, shapes, FLOP', 'torch.profiler, shapes, FLOP')):
            out.append((f'{name}, an op, {ours}, to {theirs} while it runs', more[ours] / more[theirs], 0.6))
            out.append((f'{name}, an op, {ours}, to {theirs}', more[ours] / more[theirs + ', whole'], 0.6))
    return out


def main():
    cache = os.path.join(os.environ.get('XDG_CACHE_HOME') or os.path.expanduser('~/.cache'),
                         'optrace/programs/torch-*/bin/python3')
    pythons = sys.argv[1:] or sorted(glob.glob(cache))[:1]
    if not pythons:
        print('skipped: no wheel of PyTorch')
        return 77
    for name, ns, goal in table(pythons[0]):
        print('%-64s %9.2f%s' % (name, ns, '' if goal is None else '  goal %g' % goal))
    return 0


if __name__ == '__main__':
    if sys.argv[1:2] == ['--measure']:
        measure(len(sys.argv) > 2)
    else:
        sys.exit(main())
