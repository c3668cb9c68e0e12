# SPDX-License-Identifier: Apache-2.0
"""What the tests of recorded wheels share: how a program of one is run alone and recorded, and what holds of each."""
import os
import signal
import sqlite3
import subprocess
import tempfile

BUILD = os.environ['OPTRACE_BUILD_ROOT']
SOURCE = os.environ['OPTRACE_SOURCE_ROOT']
CACHE = os.path.join(os.environ.get('XDG_CACHE_HOME') or os.path.expanduser('~/.cache'),
                     'optrace/programs')
wrong = []


def expect(what, got, wanted):
    if got != wanted:
        wrong.append('%s: %r, not %r' % (what, got, wanted))


def program(wheel, name):
    return [os.path.join(CACHE, wheel, 'bin/python3'), os.path.join(SOURCE, 'tests/programs', name)]


def run(argv, directory):
    result = subprocess.run(argv, cwd=directory, capture_output=True, text=True)
    # times and process ids of TensorFlow's log differ from run to run
    errors = [line for line in result.stderr.split('\n') if not line.startswith(('I0000', 'W0000', 'WARNING'))]
    return result.returncode, result.stdout, errors


def optrace(own, directory, *options):
    result = run([os.path.join(BUILD, 'client/cli/optrace'), 'run', '--quiet', '--force', '-o', 'a.db', *options, '--', *own],
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


def check_all(wheels, check):
    """The first of the wheels, or all of them where OPTRACE_PROGRAMS says so. Returns the exit status of the test."""
    if os.environ.get('OPTRACE_PROGRAMS') != 'all':
        wheels = wheels[:1]
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
