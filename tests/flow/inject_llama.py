# SPDX-License-Identifier: Apache-2.0
"""llama.cpp as Node and Python have it, recorded: a run for each batch, its tokens and FLOP those of
the model's sizes, its nodes all there, and the same tokens as without us. scripts/get-programs fetches it.

In a larger model, which is made here, nodes cover their run but for what is between them: at least 95 % of
one that nobody interrupted.

    inject_llama.py [large]"""
import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile

BUILD = os.environ['OPTRACE_BUILD_ROOT']
SOURCE = os.environ['OPTRACE_SOURCE_ROOT']
sys.path.insert(0, os.path.join(SOURCE, 'tests/programs'))
import llama_model as model  # noqa: E402

CACHE = os.path.join(os.environ.get('XDG_CACHE_HOME') or os.path.expanduser('~/.cache'),
                     'optrace/programs')
PROMPT, TOKENS = 8, 24
wrong = []


def expect(what, got, wanted):
    if got != wanted:
        wrong.append('%s: %r, not %r' % (what, got, wanted))


def run(argv, directory):
    result = subprocess.run(argv, cwd=directory, capture_output=True, text=True)
    return result.returncode, result.stdout, result.stderr


def record(own, directory, *options):
    status = run([os.path.join(BUILD, 'client/cli/optrace'), 'run', '--quiet', '--force', '-o', 'a.db', *options,
                  '--', *own], directory)
    return status, sqlite3.connect(os.path.join(directory, 'a.db'))


def flop_of(tokens, keys):
    """Of a batch whose last token alone is asked for: what is behind attention in the last layer, and
    the product with the vocabulary, is of that one."""
    width, kv = model.WIDTH, model.WIDTH // model.HEADS * model.KV_HEADS
    attention = 2 * (2 * width * width + 2 * width * kv) + 2 * 2 * keys * width
    behind = 2 * 3 * width * model.INNER
    return (model.LAYERS * tokens * attention + ((model.LAYERS - 1) * tokens + 1) * behind +
            2 * width * len(model.TOKENS))


def check_nodes(what, store, tokens_wanted):
    told = store.execute("SELECT e.run, e.op_name, o.params FROM v_event e JOIN op o USING (op_id)"
                         " WHERE o.type = 'label' ORDER BY e.run").fetchall()
    expect(what + ', labels', [name for _, name, _ in told],
           ['batch of %d tokens' % PROMPT] + ['token'] * (tokens_wanted - 1))
    # with or without the fused operator of attention
    keys = store.execute("SELECT CASE type WHEN 'MUL_MAT' THEN json_extract(input_shapes, '$[0][1]')"
                         " ELSE json_extract(input_shapes, '$[1][1]') END FROM op WHERE"
                         " type = 'FLASH_ATTN_EXT' OR type = 'MUL_MAT' AND name = 'kq-0' LIMIT 1"
                         ).fetchone()[0]
    for index, (number, _, params) in enumerate(told):
        label = json.loads(params)
        tokens = PROMPT if index == 0 else 1
        expect('%s, tokens of run %d' % (what, number), label['tokens'], tokens)
        expect('%s, FLOP of run %d' % (what, number), label['flop'], flop_of(tokens, keys))
    rows = store.execute("SELECT e.run, count(*), sum(o.computation_flop), sum(e.end_ns - e.start_ns)"
                         " FROM v_event e JOIN op o USING (op_id) WHERE o.type <> 'label'"
                         ' GROUP BY 1 ORDER BY 1').fetchall()
    expect(what + ', FLOP of nodes', [row[2] for row in rows],
           [json.loads(params)['flop'] for _, _, params in told])
    expect(what + ', runs with nodes', len(rows), tokens_wanted)
    # each token has the nodes of the others: a graph that is computed again is seen again
    expect(what + ', nodes of tokens', len({row[1] for row in rows[1:]}), 1)
    expect(what + ', enough of them', rows[0][1] >= 20 * model.LAYERS, True)
    times = dict(store.execute('SELECT run, end_ns - start_ns FROM run'))
    shares = sorted(row[3] / times[row[0]] for row in rows)
    print('%s: %d nodes, %.1f %% of the time of runs, %.1f to %.1f %% of one' % (
        what, sum(row[1] for row in rows), 100 * sum(row[3] for row in rows) / sum(times.values()),
        100 * shares[0], 100 * shares[-1]))
    return shares[-1]


def check(what, own, directory):
    alone = run(own, directory)
    expect(what + ', alone', (alone[0], alone[1].split()[:1]), (0, [str(TOKENS)]))
    recorded, store = record(own, directory, '--nodes', 'all')
    expect(what + ', output', recorded, alone)
    check_nodes(what, store, TOKENS)
    store.close()
    recorded, store = record(own, directory, '--nodes', '1/10')
    expect(what + ', output of some', recorded, alone)
    expect(what + ', runs without nodes', store.execute(
        'SELECT without_ops, count(*) FROM run GROUP BY 1').fetchall(), [(0, 3), (1, TOKENS - 3)])
    store.close()
    recorded, store = record(own + ['kill'], directory, '--nodes', 'all')
    expect(what + ', killed', recorded[0], -signal.SIGKILL)
    ended = store.execute('SELECT count(*) FROM run WHERE end_ns IS NOT NULL').fetchone()[0]
    expect(what + ', runs before it was killed', ended >= 8, True)
    expect(what + ', of which nodes are there', store.execute(
        'SELECT count(DISTINCT e.run) FROM v_event e JOIN run r USING (session_id, run) WHERE'
        " e.op_type = 'MUL_MAT' AND r.end_ns IS NOT NULL").fetchone()[0], ended)
    store.close()
    listed = run([os.path.join(BUILD, 'analyze/profile_analyze'), 'a.db', '--list'], directory)
    expect(what + ', listed as dead', (listed[0], 'died' in listed[1]), (0, True))


def check_large(what, own, directory):
    """FOLDER is what comes behind the program; how many tokens there are is the model's to say."""
    folder = os.path.join(directory, 'large')
    os.mkdir(folder)
    if os.path.isdir(os.path.join(own[2], 'node_modules')):
        os.symlink(os.path.join(own[2], 'node_modules'), os.path.join(folder, 'node_modules'))
    made = run([sys.executable, os.path.join(SOURCE, 'tests/programs/llama_large.py'),
                os.path.join(folder, 'model.gguf')], directory)
    expect(what + ', larger model', made, (0, '', ''))
    import llama_large  # noqa: F401, its sizes are those of llama_model from here on
    own = own[:2] + [folder]
    alone = run(own, directory)
    recorded, store = record(own, directory, '--nodes', 'all')
    expect(what + ', larger, output', recorded, alone)
    runs = store.execute('SELECT count(*) FROM run WHERE end_ns IS NOT NULL').fetchone()[0]
    expect(what + ', larger, runs', runs >= TOKENS, True)
    expect(what + ', larger, nodes cover a run', check_nodes(what + ', larger', store, runs) >= 0.95, True)
    store.close()


def main():
    node, python = 'node-llama-cpp-3.21.1', 'llama-cpp-python-0.3.36'
    programs = {node: ['node', os.path.join(SOURCE, 'tests/programs/llama_node.mjs'),
                       os.path.join(CACHE, node)]}
    if os.environ.get('OPTRACE_PROGRAMS') == 'all':
        programs[python] = [os.path.join(CACHE, python, 'bin/python3'),
                            os.path.join(SOURCE, 'tests/programs/llama_python.py'),
                            os.path.join(CACHE, python)]
    missing = [name for name in programs if not os.path.exists(os.path.join(CACHE, name, 'list.txt'))]
    for name, own in programs.items():
        if name not in missing:
            with tempfile.TemporaryDirectory() as directory:
                if sys.argv[1:] != ['large']:
                    check(name, own, directory)
    for name, own in programs.items(): # sizes are another model's from here on
        if name not in missing:
            with tempfile.TemporaryDirectory() as directory:
                check_large(name, own, directory)
    for text in wrong[:20]:
        print(text)
    if missing:
        print('without %s, which scripts/get-programs fetches' % ' '.join(missing))
    return 1 if wrong else 77 if missing else 0


sys.exit(main())
