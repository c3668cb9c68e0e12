# SPDX-License-Identifier: Apache-2.0
"""Products of choices, of which a test walks a part: tests/support/turns.h for scripts, and says why."""
import os
import time

THIRD = int(os.environ.get('OPTRACE_TEST_TURN', time.time_ns() // 1000)) % 3


def turns_all():
    return bool(os.environ.get('OPTRACE_TEST_ALL'))


def turns_take(turn, way, ways):
    return turns_all() or turn % ways == way


def turns_third(place):
    """Whether a place of a product is walked: under sanitizers it is every third, another one in each run."""
    return turns_all() or not os.environ.get('OPTRACE_TEST_SLOW') or place % 3 == THIRD
