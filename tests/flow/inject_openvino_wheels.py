# SPDX-License-Identifier: Apache-2.0
"""OpenVINO's wheel, recorded: runs and layers are those that the program has, with shapes, also in two
streams at once; its output is the same as without us. scripts/get-programs fetches it."""
import json
import os
import sys

from wheels import check_all, check_killed, expect, optrace, program, run

WHEELS = ['openvino-2026.4.1', 'openvino-2026.2.0']


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


def check_places(wheel, store, directory):
    """Names that are told are the first layer's: as many places as layers that were executed, each in each run. One
    of less than a microsecond is not always said to have been."""
    told = [line.startswith('1') for line in open(os.path.join(directory, 'layers.txt'))]
    rows = store.execute("SELECT op_name, count(*), count(DISTINCT run) FROM v_event WHERE run IS NOT NULL AND op_type"
                         " <> 'label' GROUP BY 1").fetchall()
    expect(wheel + ', places of layers', sorted(rows),
           sorted(('layer %d of Model1' % (place + 1), 15, 15) for place in range(len(rows))))
    expect(wheel + f', {len(rows)} places for layers that ran', sum(told) <= len(rows) <= len(told), True)
    store.close()


def check_streams(wheel, directory):
    """Two streams, two requests under way at once: each run has each layer once, and runs overlap."""
    own = program(wheel, 'openvino_streams.py')
    alone = run(own, directory)
    expect(wheel + ', streams alone', alone[0], 0)
    recorded, store = optrace(own, directory, '--nodes', 'all')
    expect(wheel + ', streams', recorded, alone)
    told = {name for is_run, name in (line.split() for line in open(os.path.join(directory, 'layers.txt')))
            if is_run == '1'}
    runs = store.execute('SELECT run FROM run WHERE end_ns IS NOT NULL').fetchall()
    expect(wheel + ', runs of streams', len(runs), 40)
    names = store.execute("SELECT run, op_name, count(*) FROM v_event WHERE run IS NOT NULL AND op_type <> 'label'"
                          ' GROUP BY 1, 2').fetchall()
    expect(wheel + ', times that a run has a layer', {count for _, _, count in names}, {1})
    for number, in runs:
        expect('%s, layers of run %d' % (wheel, number),
               told - {name for run_number, name, _ in names if run_number == number}, set())
    expect(wheel + ', threads', store.execute("SELECT count(DISTINCT lane_id) FROM v_event WHERE op_name = 'fc'"
                                              ' AND run IS NOT NULL').fetchone()[0], 2)
    expect(wheel + ', layers of another thread in a run', store.execute(
        'SELECT count(*) FROM (SELECT run FROM v_event WHERE run IS NOT NULL GROUP BY run HAVING'
        ' count(DISTINCT lane_id) > 1)').fetchone()[0], 0)
    store.close()


def check(wheel, directory):
    own = program(wheel, 'openvino_net.py')
    alone = run(own, directory)
    expect(wheel + ' alone', alone[0], 0)
    recorded, store = optrace(own, directory, '--nodes', 'all')
    expect(wheel + ', output', recorded, alone)
    if wheel == 'openvino-2026.2.0':
        check_places(wheel, store, directory)
        return
    check_openvino(store, directory)
    store.close()
    check_killed(wheel, own, directory, 10, 'fc')
    check_streams(wheel, directory)


sys.exit(check_all(WHEELS, check))
