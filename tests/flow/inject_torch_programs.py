# SPDX-License-Identifier: Apache-2.0
"""PyTorch's wheels in programs that are delicate: tensors that are odd, sizes that a compiler keeps open,
profilers of the program's own, networks that are compiled. Each prints the same as without us.
OPTRACE_PROGRAMS=all takes all wheels that are there, not the newest one alone.

    inject_torch_programs.py [odd|dynamic|profiled|compiled]..."""
import glob
import json
import os
import re
import sqlite3
import subprocess
import sys
import tempfile

BUILD = os.environ['OPTRACE_BUILD_ROOT']
SOURCE = os.environ['OPTRACE_SOURCE_ROOT']
OPTRACE = os.path.join(BUILD, 'client/cli/optrace')
CACHE = os.path.join(os.environ.get('XDG_CACHE_HOME') or os.path.expanduser('~/.cache'),
                     'optrace/programs')
parts = sys.argv[1:] or ['odd', 'dynamic', 'profiled', 'compiled']
wrong = []


def expect(what, got, wanted):
    if got != wanted:
        wrong.append('%s: %r, not %r' % (what, got, wanted))


def without_numbers(status, text, errors):
    """Lines of Kineto's log have times and process ids."""
    return status, text, re.sub('[0-9]+', 'N', errors)


class Place:
    """Programs of one wheel, and where they run."""

    def __init__(self, python, directory):
        self.python, self.directory = python, directory
        # processes that compile outlive a program, and with them the daemon that writes its file
        self.environment = dict(os.environ, TORCHINDUCTOR_CACHE_DIR=os.path.join(directory, 'cache'),
                                TORCHINDUCTOR_COMPILE_THREADS='1')

    def alone(self, name, *words):
        return self.output([], name, words)

    def recorded(self, options, name, *words):
        """What it printed, and its store."""
        run = [OPTRACE, 'run', '--quiet', '--force', *options, '-o', 'a.db', '--']
        return self.output(run, name, words), sqlite3.connect(os.path.join(self.directory, 'a.db'))

    def output(self, run, name, words):
        result = subprocess.run(
            [*run, self.python, os.path.join(SOURCE, 'tests/programs', name), *words],
            cwd=self.directory, capture_output=True, text=True, env=self.environment)
        return result.returncode, result.stdout, result.stderr

    def same(self, name, *words):
        alone = self.alone(name, *words)
        recorded, store = self.recorded([], name, *words)
        expect('%s alone: %s' % (name, alone[2][-300:]), alone[0], 0)
        expect(name, without_numbers(*recorded), without_numbers(*alone))
        return alone[1], store


def count(store, what):
    return store.execute("SELECT count(*) FROM v_event e JOIN op o USING (op_id) WHERE " + what).fetchone()[0]


def check_odd(place):
    text, store = place.same('torch_odd.py')
    expect('parts', len(text.splitlines()) >= 15, True)
    expect('marks', count(store, "o.type = 'mark'"), 0)
    expect('labels', count(store, "o.name LIKE 'part %' AND e.end_ns IS NOT NULL"), 15)
    # the sizes of an odd tensor are not read, those of its neighbours are
    expect('ops with shapes', count(store, "o.input_shapes IS NOT NULL AND o.name LIKE 'aten::%'") > 500, True)
    expect('products of threads', count(store, "o.name = 'aten::mm' AND o.input_shapes = '[[2, 8], [8, 8]]' AND"
                                               ' o.computation_flop = 256'), 1200)


def check_dynamic(place):
    text, _ = place.same('torch_dynamic.py')
    expect('graphs', "'unique_graphs': 1}" in text, True)


def check_profiled(place):
    _, store = place.same('torch_profiled.py')
    expect('products', count(store, "o.name = 'aten::addmm' AND o.input_shapes IS NOT NULL"),
           2 * (3 + 10 + 10 + 10 + 3))


def ops_of_part(store):
    part = store.execute("SELECT lane_id, start_ns, end_ns FROM v_event WHERE op_name = 'part compiled'").fetchone()
    return store.execute(
        'SELECT o.name, o.input_shapes, o.computation_flop FROM v_event e JOIN op o USING (op_id) WHERE e.lane_id = ?'
        ' AND e.start_ns >= ? AND e.end_ns <= ? ORDER BY e.start_ns, e.end_ns DESC', part).fetchall()


PRODUCTS = [('[[64], [2, 288], [288, 64]', 2 * 2 * 288 * 64), ('[[5], [2, 64], [64, 5]', 2 * 2 * 64 * 5)]


def check_products(what, ops):
    products = [(shapes, flop) for name, shapes, flop in ops if name == 'aten::addmm']
    expect(what + ': products', len(products), 2)
    for (shapes, flop), (wanted, wanted_flop) in zip(products, PRODUCTS):
        # what is added may be what comes out
        expect(what + ': shapes', json.loads(shapes)[1:3], json.loads(wanted + ']')[1:3])
        expect(what + ': FLOP', flop, wanted_flop)
    expect(what + ': FLOP of all', sum(flop or 0 for _, _, flop in ops), 2 * 2 * 8 * 36 * 27 + 73728 + 1280)


def check_compiled(place):
    if place.alone('torch_compiled.py', 'compile')[:2] != (0, 'True\n'):
        print('%s: no compiler for torch.compile' % place.python)
        return
    plain, store = place.recorded([], 'torch_compiled.py', 'compile')
    ops = ops_of_part(store)
    expect('compiled', plain[:2], (0, 'True\n'))
    expect('kernels unasked', [name for name, _, _ in ops if 'cpp_fused' in name], [])
    named, store = place.recorded(['--inductor-kernels'], 'torch_compiled.py', 'compile')
    ops = ops_of_part(store)
    kernels = [name for name, _, _ in ops if 'cpp_fused' in name]
    expect('compiled, with kernels', named[:2], (0, 'True\n'))
    expect('kernels', (len(kernels) >= 3, any('gelu' in name for name in kernels)), (True, True))
    check_products('compiled', ops)
    print('kernels: ' + ', '.join(kernels))
    package = place.recorded([], 'torch_compiled.py', 'package', 'net.pt2')
    expect('package made', package[0][:2], (0, 'True\n'))
    again, store = place.recorded([], 'torch_compiled.py', 'package', 'net.pt2')
    expect('package', again, place.alone('torch_compiled.py', 'package', 'net.pt2'))
    check_products('package', ops_of_part(store))


def check(python):
    with tempfile.TemporaryDirectory() as directory:
        place = Place(python, directory)
        for part in (check_odd, check_dynamic, check_profiled, check_compiled):
            # packages and kernels came later than 2.2
            if part.__name__[6:] in parts and (part != check_compiled or 'torch-2.2.' not in python):
                part(place)
                print('%s: %s' % (python, part.__name__), flush=True)


def main():
    wheels = 'torch-*' if os.environ.get('OPTRACE_PROGRAMS') == 'all' else 'torch-2.15.0'
    pythons = sorted(glob.glob(os.path.join(CACHE, wheels, 'bin/python')))
    if not pythons:
        print('skipped: no wheel of PyTorch in ' + CACHE)
        return 77
    failed = False
    for python in pythons:
        wrong.clear()
        check(python)
        for text in wrong:
            print('%s: %s' % (python, text[:600]))
            failed = True
    return 1 if failed else 0


sys.exit(main())
