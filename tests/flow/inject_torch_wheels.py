# SPDX-License-Identifier: Apache-2.0
"""PyTorch's own wheels, recorded: the same ops, nested the same, of the same shapes and FLOP as
torch.profiler tells of the same execution, and the same results as without us. OPTRACE_PROGRAMS=all
takes all wheels that are there, not the newest one alone."""
import collections
import glob
import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile

BUILD = os.environ['OPTRACE_BUILD_ROOT']
SOURCE = os.environ['OPTRACE_SOURCE_ROOT']
OPTRACE = os.path.join(BUILD, 'client/cli/optrace')
CACHE = os.path.join(os.environ.get('XDG_CACHE_HOME') or os.path.expanduser('~/.cache'),
                     'optrace/programs')
PARTS = 7


def in_order(events):
    return sorted(events, key=lambda e: (e['start'], -e['end']))


def with_depths(events):
    """What lies within another is its child."""
    stack = []
    for event in events:
        while stack and (stack[-1]['end'] <= event['start'] or stack[-1]['end'] < event['end']):
            stack.pop()
        event['depth'] = len(stack)
        stack.append(event)
    return events


def recorded(store):
    rows = sqlite3.connect(store).execute(
        'SELECT e.lane_id, e.op_name, e.op_type, e.start_ns, e.end_ns, o.input_shapes, o.computation_flop'
        ' FROM v_event e JOIN op o USING (op_id) WHERE e.end_ns IS NOT NULL')
    events = [dict(zip(('lane', 'name', 'type', 'start', 'end', 'shapes', 'flops'), row)) for row in rows]
    # oneDNN's, inside of static libraries, by ITT
    return in_order(e for e in events if e['name'].startswith('part ') or e['type'] != 'label')


def part_of(events, name):
    label = next(e for e in events if e['name'] == 'part ' + name)
    return with_depths([e for e in events if e['lane'] == label['lane'] and
                        e['start'] >= label['start'] and e['end'] <= label['end']])


def shapes_of(event, ours):
    shapes = event['shapes']
    if ours:
        shapes = json.loads(shapes) if shapes else []
    return [s for s in shapes if s and not isinstance(s[0], list)][:8]


def summary(events, ours):
    return collections.Counter((e['name'], str(shapes_of(e, ours)), e['flops'] if e['flops'] else 0)
                               for e in events)


def compare(name, ours, theirs):
    """What differs; `ours` have a label around them."""
    theirs = with_depths(in_order(theirs))
    told = summary(theirs, False)
    if all(e['start'] % 1000 == 0 for e in theirs):  # to the microsecond, which orders nothing
        for event in ours:  # operations that with_flops does not count
            if (event['name'], str(shapes_of(event, True)), 0) in told:
                event['flops'] = 0
        mine = summary(ours, True)
        return ['%s: %s, not %s times but %s' % (name, key, told[key], mine[key])
                for key in set(told) | set(mine) if told[key] != mine[key]]
    if [(e['name'], e['depth']) for e in ours] != [(e['name'], e['depth']) for e in theirs]:
        for mine, other in zip(ours, theirs):
            if (mine['name'], mine['depth']) != (other['name'], other['depth']):
                return ['%s: %s at depth %d, not %s at %d' % (name, mine['name'], mine['depth'],
                                                              other['name'], other['depth'])]
        return ['%s: %d ops, not %d' % (name, len(ours), len(theirs))]
    wrong = []
    for mine, other in zip(ours, theirs):
        if shapes_of(mine, True) != shapes_of(other, False):
            wrong.append('%s: %s of %s, not %s' % (name, mine['name'], mine['shapes'], other['shapes']))
        if other['flops'] and mine['flops'] != other['flops']:
            wrong.append('%s: %s has %s FLOP, not %s' % (name, mine['name'], mine['flops'], other['flops']))
    return wrong


def output(argv, directory):
    result = subprocess.run(argv, cwd=directory, capture_output=True, text=True)
    return result.returncode, result.stdout, result.stderr


def check_killed(python, program, run, directory):
    """All that had ended is there, and what had not."""
    status = output(run + [python, program, 'kill'], directory)[0]
    events = recorded(os.path.join(directory, 'a.db'))
    open_labels = sqlite3.connect(os.path.join(directory, 'a.db')).execute(
        "SELECT op_name FROM v_event WHERE end_ns IS NULL").fetchall()
    wrong = [] if status == -signal.SIGKILL else ['killed: status %d' % status]
    if open_labels != [('part gpt',)]:
        wrong.append('killed: %s had not ended' % open_labels)
    for name in ('cnn', 'encoder'):
        if len(part_of(events, name)) < 30:
            wrong.append('killed: %d ops of %s' % (len(part_of(events, name)), name))
    if sum(e['name'] == 'aten::gelu' for e in events) != 2:
        wrong.append('killed: the ops before it are not there')
    return wrong


def check(python):
    program = os.path.join(SOURCE, 'tests/programs/torch_nets.py')
    wrong = []
    with tempfile.TemporaryDirectory() as directory:
        run = [OPTRACE, 'run', '--quiet', '--force', '-o', 'a.db', '--']
        alone = output([python, program], directory)
        if alone[0] != 0:
            return ['it does not run: ' + alone[2]]
        if output(run + [python, program], directory) != alone:
            wrong.append('another output, or status, when it is recorded')
        wrong += check_killed(python, program, run, directory)
        result = output(run + [python, program, 'events.json'], directory)
        if result[:2] != alone[:2]:
            wrong.append('another output within torch.profiler: ' + result[2])
            return wrong
        with open(os.path.join(directory, 'events.json')) as file:
            theirs = json.load(file)
        events = recorded(os.path.join(directory, 'a.db'))
        count = 0
        for name in theirs:
            ours = part_of(events, name)
            count += len(ours)
            wrong += compare(name, ours, theirs[name])
        print('%s: %d ops of %d parts' % (python, count, len(theirs)))
        if len(theirs) != PARTS or count < 500:
            wrong.append('there is less than the program does')
    return wrong


def main():
    wheels = 'torch-*' if os.environ.get('OPTRACE_PROGRAMS') == 'all' else 'torch-2.15.0'
    pythons = sys.argv[1:] or sorted(glob.glob(os.path.join(CACHE, wheels, 'bin/python')))
    if not pythons:
        print('skipped: no wheel of PyTorch in ' + CACHE)
        return 77
    failed = False
    for python in pythons:
        for text in check(python)[:20]:
            print('%s: %s' % (python, text))
            failed = True
    return 1 if failed else 0


sys.exit(main())
