# SPDX-License-Identifier: Apache-2.0
"""Wheels of TensorFlow and OpenVINO, recorded: runs, kernels and layers are those that the program has,
with shapes, and its output is the same as without us. scripts/get-programs fetches them.

    inject_wheels.py [tensorflow|openvino]"""
import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile

BUILD = os.environ['OPTRACE_BUILD_ROOT']
SOURCE = os.environ['OPTRACE_SOURCE_ROOT']
CACHE = os.path.join(os.environ.get('XDG_CACHE_HOME') or os.path.expanduser('~/.cache'),
                     'optrace/programs')
WHEELS = {'tensorflow': ('tensorflow-2.21.0', 'tensorflow_nets.py'),
          'openvino': ('openvino-2026.4.1', 'openvino_net.py')}
wrong = []


def expect(what, got, wanted):
    if got != wanted:
        wrong.append('%s: %r, not %r' % (what, got, wanted))


def check_tensorflow(store, directory):
    expect('runs', store.execute('SELECT count(*) FROM run WHERE end_ns IS NOT NULL').fetchone()[0], 25)
    rows = store.execute(
        'SELECT e.op_name, o.type, o.input_shapes, o.computation_flop, count(*), count(e.run) FROM v_event e'
        " JOIN op o USING (op_id) WHERE o.type NOT IN ('label', '_Arg', '_Retval') AND o.input_shapes"
        " IS NOT NULL AND o.type NOT LIKE '%Const' GROUP BY 1, 2, 3, 4, e.run IS NULL").fetchall()
    # whether oneDNN's kernel is taken depends on the machine
    got = [(name, shapes, flop, count, in_runs) for name, _, shapes, flop, count, in_runs in rows]
    expect('kernels', sorted(got, key=str), sorted([
        ('Conv2D', '[[1, 6, 6, 3], [3, 3, 3, 4]]', None, 20, 20),
        ('Conv2D', '[[1, 6, 6, 3], [3, 3, 3, 4]]', 1944, 2, 0),
        ('MatMul', '[[2, 8], [8, 4]]', 128, 20, 20),
        ('MatMul', '[[2, 8], [8, 4]]', 128, 3, 0),
        ('Relu', '[[2, 4]]', None, 20, 20),
        ('Softmax', '[[6, 2]]', None, 5, 5),
        ('mm', '[[6, 5], [5, 2]]', 120, 5, 5)], key=str))


def check_openvino(store, directory):
    expect('runs', store.execute('SELECT count(*) FROM run WHERE end_ns IS NOT NULL').fetchone()[0], 15)
    rows = store.execute("SELECT op_name, count(*) FROM v_event WHERE run IS NOT NULL AND op_type <> 'label'"
                         ' GROUP BY 1').fetchall()
    # a layer of less than a microsecond is not always said to have been executed
    told = [line.split() for line in open(os.path.join(directory, 'layers.txt'))]
    names = {name for name, _ in rows}
    expect('layers that were executed', {name for is_run, name in told if is_run == '1'} - names, set())
    expect('layers that there are none of', names - {name for _, name in told}, set())
    expect('executions of layers', {count for _, count in rows}, {15})
    expect('class', store.execute("SELECT DISTINCT op_type FROM v_event WHERE op_name = 'conv0'").fetchall(),
           [('Convolution',)])
    shapes = json.load(open(os.path.join(directory, 'shapes.json')))
    ops = {name: row for name, *row in store.execute(
        'SELECT name, input_shapes, output_shapes, computation_flop FROM op WHERE name IN (%s)' %
        ', '.join("'%s'" % name for name in names))}
    for name in names:
        inputs, output = shapes[name]
        expect('shapes of ' + name, [json.loads(text or 'null') for text in ops[name][:2]],
               [inputs[:4], [output]])
    # 8 filters of 3x3 over 3 channels, 4 of 8; 1024 by 10
    expect('FLOP', [ops[name][2] for name in ('conv0', 'conv1', 'fc')],
           [2 * 8 * 256 * 27, 2 * 4 * 256 * 72, 2 * 1024 * 10])


def run(argv, directory):
    result = subprocess.run(argv, cwd=directory, capture_output=True, text=True)
    # times and process ids of TensorFlow's log differ from run to run
    errors = [line for line in result.stderr.split('\n') if not line.startswith(('I0000', 'W0000', 'WARNING'))]
    return result.returncode, result.stdout, errors


def main():
    missing = []
    for name in sys.argv[1:] or WHEELS:
        wheel, program = WHEELS[name]
        python = os.path.join(CACHE, wheel, 'bin/python3')
        if not os.path.exists(os.path.join(CACHE, wheel, 'list.txt')):
            missing.append(wheel)
            continue
        own = [python, os.path.join(SOURCE, 'tests/programs', program)]
        with tempfile.TemporaryDirectory() as directory:
            alone = run(own, directory)
            expect(name + ' alone', alone[0], 0)
            recorded = run([os.path.join(BUILD, 'client/cli/optrace'), 'run', '--quiet', '--nodes', 'all',
                            '-o', 'a.db', '--', *own], directory)
            expect(name + ', output', recorded, alone)
            store = sqlite3.connect(os.path.join(directory, 'a.db'))
            {'tensorflow': check_tensorflow, 'openvino': check_openvino}[name](store, directory)
            store.close()
            killed = run([os.path.join(BUILD, 'client/cli/optrace'), 'run', '--quiet', '--nodes', 'all',
                          '-o', 'a.db', '--', *own, 'kill'], directory)
            expect(name + ', killed', killed[0], -signal.SIGKILL)
            store = sqlite3.connect(os.path.join(directory, 'a.db'))
            runs = {'tensorflow': 20, 'openvino': 10}[name]
            expect(name + ', runs before it was killed', store.execute(
                'SELECT count(*) FROM run WHERE end_ns IS NOT NULL').fetchone()[0], runs)
            expect(name + ', products of these', store.execute(
                "SELECT count(*) FROM v_event WHERE run IS NOT NULL AND op_name IN ('MatMul', 'fc')"
            ).fetchone()[0], runs)
            store.close()
            listed = run([os.path.join(BUILD, 'analyze/profile_analyze'), 'a.db', '--list'], directory)
            expect(name + ', listed as dead', (listed[0], 'died' in listed[1]), (0, True))
    for text in wrong:
        print(text)
    if missing:
        print('without the wheels %s, which scripts/get-programs fetches' % ' '.join(missing))
    return 1 if wrong else 77 if missing else 0


sys.exit(main())
