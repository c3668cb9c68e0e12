# SPDX-License-Identifier: Apache-2.0
"""Products of choices, of which a test walks a part: tests/support/turns.h for scripts, and says why."""
import os


def turns_all():
    return bool(os.environ.get('OPTRACE_TEST_ALL'))


def turns_take(turn, way, ways):
    return turns_all() or turn % ways == way
