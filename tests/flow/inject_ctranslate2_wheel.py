# SPDX-License-Identifier: Apache-2.0
"""CTranslate2's wheel, recorded: a run per step, layers and products of the sizes that the model has, and
what it says is the same as without us. scripts/get-programs fetches it."""
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile

BUILD = os.environ['OPTRACE_BUILD_ROOT']
SOURCE = os.environ['OPTRACE_SOURCE_ROOT']
FOLDER = os.path.join(os.environ.get('XDG_CACHE_HOME') or os.path.expanduser('~/.cache'),
                      'optrace/programs/ctranslate2-4.8.5')
WIDTH, INNER, TOKENS, LAYERS = 128, 256, 300, 2
PRODUCTS = LAYERS * 2 * (WIDTH * 3 * WIDTH + WIDTH * WIDTH + 2 * WIDTH * INNER) + 2 * WIDTH * TOKENS
wrong = []


def expect(what, got, wanted):
    if got != wanted:
        wrong.append('%s: %r, not %r' % (what, got, wanted))


def run(directory, *words, options=None):
    """What it printed; with options, recorded into a.db."""
    recorder = [] if options is None else [os.path.join(BUILD, 'client/cli/optrace'), 'run', '--quiet', '--force', *options,
                                           '-o', 'a.db', '--']
    result = subprocess.run(
        [*recorder, os.path.join(FOLDER, 'bin/python'), os.path.join(SOURCE, 'tests/programs/ctranslate2_run.py'),
         os.path.join(FOLDER, 'model'), *words], cwd=directory, capture_output=True, text=True)
    return result.returncode, result.stdout, result.stderr


def check_runs(store, what):
    """Steps of one token, each: four products a layer and the last one, of what their sizes say."""
    rows = store.execute(
        "SELECT e.run, sum(o.name = 'Dense'), sum(o.name = 'TransformerDecoderLayer'), sum(CASE WHEN o.name ="
        " 'Dense' THEN o.computation_flop END), max(CASE WHEN o.name = 'TransformerDecoder' THEN o.input_shapes END),"
        " sum(o.name = 'Gemm' AND o.computation_flop > 0) FROM v_event e JOIN op o USING (op_id) JOIN run r ON r.run ="
        ' e.run WHERE r.end_ns IS NOT NULL AND e.end_ns IS NOT NULL GROUP BY 1').fetchall()
    single = [row[1:] for row in rows if row[4] in ('[[1]]', '[[1, 1]]')]
    expect(what + ': steps of a token', len(single) > 15, True)
    for row in set(single):
        expect(what + ': a step', row[:3] + row[4:], (4 * LAYERS + 1, LAYERS, PRODUCTS, 0))
    return len(rows)


def check(directory):
    for dtype in ('float32', 'int8'):
        alone = run(directory, dtype)
        expect('alone', (alone[0], alone[2]), (0, ''))
        expect('recorded', run(directory, dtype, options=['--nodes', 'all']), alone)
        store = sqlite3.connect(os.path.join(directory, 'a.db'))
        print('%s: %d runs' % (dtype, check_runs(store, dtype)))
        expect('open runs', store.execute('SELECT count(*) FROM run WHERE end_ns IS NULL').fetchone()[0], 0)
        expect('values of eight bits', store.execute(
            "SELECT count(*) > 0 FROM op WHERE output_dtypes LIKE '%i8%' AND name = 'Quantize'").fetchone()[0],
            int(dtype == 'int8'))
        expect('limits', store.execute("SELECT params FROM op WHERE type = 'source' AND name ="
                                       " 'ctranslate2' AND params IS NOT NULL").fetchall(), [])
    expect('one in 20', run(directory, options=[])[0], 0)
    store = sqlite3.connect(os.path.join(directory, 'a.db'))
    runs, with_ops = store.execute('SELECT count(*), sum(without_ops = 0) FROM run').fetchone()
    expect('runs with ops', with_ops, (runs + 19) // 20)
    alone = run(directory, 'kill')
    expect('killed', run(directory, 'kill', options=['--nodes', 'all']), alone)
    expect('its status', alone[0], -signal.SIGKILL)
    check_runs_killed(sqlite3.connect(os.path.join(directory, 'a.db')))


def check_runs_killed(store):
    ended, dense = store.execute(
        "SELECT (SELECT count(*) FROM run WHERE end_ns IS NOT NULL), (SELECT count(*) FROM v_event WHERE op_name ="
        " 'Dense' AND end_ns IS NOT NULL)").fetchone()
    expect('killed: runs and products', (ended >= 10, dense), (True, ended * (4 * LAYERS + 1)))


def main():
    if not os.path.exists(os.path.join(FOLDER, 'list.txt')):
        print('without %s, which scripts/get-programs fetches' % FOLDER)
        return 77
    with tempfile.TemporaryDirectory() as directory:
        check(directory)
    for text in wrong:
        print(text)
    return 1 if wrong else 0


sys.exit(main())
