# SPDX-License-Identifier: Apache-2.0
"""TensorFlow's wheels, recorded: runs and kernels are those that the program has, with shapes, and those
that its own profiler has; its output is the same as without us. scripts/get-programs fetches them."""
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
WHEELS = ['tensorflow-2.21.0', 'tensorflow-2.16.2']
IDLE = ('_Arg', '_Retval', 'Reshape', 'Squeeze')  # kernels that move no data
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


def run(argv, directory):
    result = subprocess.run(argv, cwd=directory, capture_output=True, text=True)
    # times and process ids of TensorFlow's log differ from run to run
    errors = [line for line in result.stderr.split('\n') if not line.startswith(('I0000', 'W0000', 'WARNING'))]
    return result.returncode, result.stdout, errors


def optrace(own, directory, *options):
    result = run([os.path.join(BUILD, 'client/cli/optrace'), 'run', '--quiet', '-o', 'a.db', *options, '--', *own],
                 directory)
    return result, sqlite3.connect(os.path.join(directory, 'a.db'))


def check_killed(wheel, own, directory, runs, product):
    killed, store = optrace(own + ['kill'], directory, '--nodes', 'all')
    expect(wheel + ', killed', killed[0], -signal.SIGKILL)
    expect(wheel + ', runs before it was killed', store.execute(
        'SELECT count(*) FROM run WHERE end_ns IS NOT NULL').fetchone()[0], runs)
    expect(wheel + ', products of these', store.execute(
        'SELECT count(*) FROM v_event WHERE run IS NOT NULL AND op_name = ?', (product,)).fetchone()[0], runs)
    store.close()
    listed = run([os.path.join(BUILD, 'analyze/profile_analyze'), 'a.db', '--list'], directory)
    expect(wheel + ', listed as dead', (listed[0], 'died' in listed[1]), (0, True))


def check_own_profiler(wheel, directory):
    """Kernels of runs, and how often each ran: those that TensorFlow's profiler has of the same program. From
    some release on it leaves out what moves no data."""
    program = [os.path.join(CACHE, wheel, 'bin/python3'), os.path.join(SOURCE, 'tests/programs/tensorflow_profile.py')]
    profiled = run(program + ['profile'], directory)
    expect(wheel + ', its own profiler', profiled[0], 0)
    recorded, store = optrace(program, directory, '--nodes', 'all')
    expect(wheel + ', recorded beside it', recorded[0], 0)
    rows = store.execute("SELECT op_name || ':' || op_type, count(*) FROM v_event WHERE run IS NOT NULL AND op_type"
                         " NOT IN ('label', %s) GROUP BY 1" % ', '.join("'%s'" % name for name in IDLE)).fetchall()
    store.close()
    theirs = {name: count for name, count in json.loads(profiled[1] or '{}').items()
              if name.split(':')[1] not in IDLE}
    expect(wheel + ', kernels of its own profiler', sorted(theirs.items()), sorted(rows))
    expect(wheel + ', enough of them', len(rows) > 12, True)
    print('%s: %d executions of %d kernels, as its own profiler has them' % (
        wheel, sum(count for _, count in rows), len(rows)))


def check(wheel, directory):
    own = [os.path.join(CACHE, wheel, 'bin/python3'), os.path.join(SOURCE, 'tests/programs/tensorflow_nets.py')]
    alone = run(own, directory)
    expect(wheel + ' alone', alone[0], 0)
    recorded, store = optrace(own, directory, '--nodes', 'all')
    expect(wheel + ', output', recorded, alone)
    check_tensorflow(store, directory)
    store.close()
    check_killed(wheel, own, directory, 20, 'MatMul')
    check_own_profiler(wheel, directory)


def main():
    wheels = WHEELS if os.environ.get('OPTRACE_PROGRAMS') == 'all' else WHEELS[:1]
    missing = [wheel for wheel in wheels if not os.path.exists(os.path.join(CACHE, wheel, 'list.txt'))]
    for wheel in wheels:
        if wheel not in missing:
            with tempfile.TemporaryDirectory() as directory:
                check(wheel, directory)
    for text in wrong:
        print(text)
    if missing:
        print('without the wheels %s, which scripts/get-programs fetches' % ' '.join(missing))
    return 1 if wrong else 77 if missing else 0


sys.exit(main())
