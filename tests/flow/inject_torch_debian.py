# SPDX-License-Identifier: Apache-2.0
"""Debian's PyTorch, recorded: exactly the convolutions and products that the model has, by oneDNN and
BLAS, each inside of the op that asks for it, and the same output as without us.
scripts/get-programs fetches it."""
import os
import sqlite3
import subprocess
import sys
import tempfile

BUILD = os.environ['OPTRACE_BUILD_ROOT']
SOURCE = os.environ['OPTRACE_SOURCE_ROOT']
FOLDER = os.path.join(os.environ.get('XDG_CACHE_HOME') or os.path.expanduser('~/.cache'),
                      'optrace/programs/debian-torch-1.13.1')
RUNS, CONVOLUTIONS, PRODUCTS = 55, 4, 2
wrong = []


def expect(what, got, wanted):
    if got != wanted:
        wrong.append('%s: %r, not %r' % (what, got, wanted))


def run(argv, directory):
    result = subprocess.run(argv, cwd=directory, capture_output=True, text=True)
    return result.returncode, result.stdout, result.stderr


def check(store):
    def count(condition):
        return store.execute('SELECT count(*) FROM v_event e JOIN op o USING (op_id) WHERE ' +
                             condition).fetchone()[0]
    expect('convolutions', count("o.type = 'Conv' AND o.computation_flop > 0"), RUNS * CONVOLUTIONS)
    expect('products', count("o.type = 'MatMul' AND o.computation_flop > 0"), RUNS * PRODUCTS)
    expect('ops of convolutions', count("o.name = 'aten::conv2d'"), RUNS * CONVOLUTIONS)
    # how many it takes depends on the processor
    reorders = count("o.type = 'reorder'")
    expect('reorders', (reorders > 0, reorders % RUNS), (True, 0))
    for inner, outer in (('Conv', 'aten::conv2d'), ('MatMul', 'aten::addmm')):
        expect('%s outside of %s' % (inner, outer), count(
            "o.type = '%s' AND NOT EXISTS (SELECT 1 FROM v_event a WHERE a.op_name = '%s' AND a.lane_id ="
            ' e.lane_id AND a.start_ns <= e.start_ns AND a.end_ns >= e.end_ns)' % (inner, outer)), 0)
    print('%d convolutions, %d reorders, %d products' % (RUNS * CONVOLUTIONS, reorders, RUNS * PRODUCTS))


def main():
    if not os.path.exists(os.path.join(FOLDER, 'list.txt')):
        print('without %s, which scripts/get-programs fetches' % FOLDER)
        return 77
    own = [os.path.join(FOLDER, 'bin/python3'), os.path.join(SOURCE, 'tests/programs/torch_convolutions.py')]
    with tempfile.TemporaryDirectory() as directory:
        alone = run(own, directory)
        expect('alone', alone[0], 0)
        expect('recorded', run([os.path.join(BUILD, 'client/cli/optrace'), 'run', '--quiet', '--force', '-o', 'a.db',
                                '--', *own], directory), alone)
        store = sqlite3.connect(os.path.join(directory, 'a.db'))
        check(store)
        store.close()
    for text in wrong:
        print(text)
    return 1 if wrong else 0


sys.exit(main())
