# SPDX-License-Identifier: Apache-2.0
"""TensorFlow's wheels, recorded: runs and kernels are those that the program has, with shapes, and those
that its own profiler has; its output is the same as without us. scripts/get-programs fetches them."""
import json
import sys

from wheels import check_all, check_killed, expect, optrace, program, run

WHEELS = ['tensorflow-2.21.0', 'tensorflow-2.16.2']
IDLE = ('_Arg', '_Retval', 'Reshape', 'Squeeze')  # kernels that move no data


def check_tensorflow(store, directory):
    expect('runs', store.execute('SELECT count(*) FROM run WHERE end_ns IS NOT NULL').fetchone()[0], 29)
    rows = store.execute(
        'SELECT e.op_name, o.type, o.input_shapes, o.computation_flop, count(*), count(e.run) FROM v_event e'
        " JOIN op o USING (op_id) WHERE o.type NOT IN ('label', '_Arg', '_Retval') AND o.input_shapes"
        " IS NOT NULL AND o.type NOT LIKE '%Const' GROUP BY 1, 2, 3, 4, e.run IS NULL").fetchall()
    # whether oneDNN's kernel is taken depends on the machine
    got = [(name, shapes, flop, count, in_runs) for name, _, shapes, flop, count, in_runs in rows]
    expect('kernels', sorted(got, key=str), sorted([
        ('Conv2D', '[[1, 6, 6, 3], [3, 3, 3, 4]]', 7776, 20, 20),
        ('Conv2D', '[[1, 6, 6, 3], [3, 3, 3, 4]]', 864, 4, 4),
        ('Relu', '[[1, 6, 6, 3], [3, 3, 3, 4], [4]]', 3456, 4, 4),
        ('conv2d_transpose', '[[4], [3, 3, 2, 3], [1, 6, 6, 3]]', 3888, 4, 4),
        ('Conv2D', '[[1, 6, 6, 3], [3, 3, 3, 4]]', 1944, 2, 0),
        ('MatMul', '[[2, 8], [8, 4]]', 128, 20, 20),
        ('MatMul', '[[2, 8], [8, 4]]', 128, 3, 0),
        ('Relu', '[[2, 4]]', None, 20, 20),
        ('Softmax', '[[6, 2]]', None, 5, 5),
        ('mm', '[[6, 5], [5, 2]]', 120, 5, 5)], key=str))


def check_own_profiler(wheel, directory):
    """Kernels of runs, and how often each ran: those that TensorFlow's profiler has of the same program. From
    some release on it leaves out what moves no data."""
    own = program(wheel, 'tensorflow_profile.py')
    profiled = run(own + ['profile'], directory)
    expect(wheel + ', its own profiler', profiled[0], 0)
    recorded, store = optrace(own, directory, '--nodes', 'all')
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
    own = program(wheel, 'tensorflow_nets.py')
    alone = run(own, directory)
    expect(wheel + ' alone', alone[0], 0)
    recorded, store = optrace(own, directory, '--nodes', 'all')
    expect(wheel + ', output', recorded, alone)
    check_tensorflow(store, directory)
    store.close()
    check_killed(wheel, own, directory, 20, 'MatMul')
    check_own_profiler(wheel, directory)


sys.exit(check_all(WHEELS, check))
