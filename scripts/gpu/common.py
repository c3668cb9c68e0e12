# SPDX-License-Identifier: Apache-2.0
"""How a line of gpu-check ends, and what it asks of a store."""
import json
import sqlite3


class LeftOut(Exception):
    """Why a line cannot be run here."""


class Failed(Exception):
    """What was found wrong."""


def said(done):
    try:
        return json.loads(done.stdout.strip().splitlines()[-1])
    except (IndexError, ValueError):
        raise Failed(f"exit status {done.returncode}: {(done.stderr or done.stdout).strip()[-200:]}") from None


def ask_all(store, sql):
    with sqlite3.connect(f"file:{store}?mode=ro", uri=True) as connection:
        return connection.execute(sql).fetchall()


def ask(store, sql):
    return ask_all(store, sql)[0][0] or 0
