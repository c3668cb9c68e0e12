#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/soak for a few seconds at a small budget: every event is accounted for; and a store that
lacks one, or a roll-up that has one too few, is found out."""
import os
import pathlib
import sqlite3
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(os.environ["OPTRACE_SOURCE_ROOT"])
BUILD = pathlib.Path(os.environ["OPTRACE_BUILD_ROOT"])
SOAK = ROOT / "scripts" / "soak"


def soak(status, text, *options):
    """Run it; it must end with this status and say this."""
    done = subprocess.run([sys.executable, SOAK, "--build", BUILD, *options], capture_output=True,
                          text=True, check=False)
    if done.returncode != status or text not in done.stdout:
        sys.exit(f"{options}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def tamper(place, sql):
    """Change the store behind the daemon's back."""
    store = sqlite3.connect(place / "o.db")
    if store.execute(sql).rowcount != 1:
        sys.exit(f"changed nothing: {sql}")
    store.commit()
    store.close()


def main():
    """The run, then its falsified results."""
    with tempfile.TemporaryDirectory(prefix="soak.") as folder:
        place = pathlib.Path(folder) / "kept"
        out = soak(0, "every event is accounted for", "--seconds", "5", "--rate", "60000",
                   "--budget", "4MiB", "--keep", str(place))
        if " dropped 0 " in out:
            sys.exit(f"the store did not reach its budget:\n{out}")
        soak(0, "every event is accounted for", "--check", str(place))
        tamper(place, "DELETE FROM event WHERE rowid=(SELECT max(rowid) FROM event)")
        soak(1, "-1 of", "--check", str(place))
        tamper(place, "INSERT INTO event SELECT * FROM event"
                      " WHERE rowid=(SELECT max(rowid) FROM event)")
        tamper(place, "UPDATE op_stat SET event_count=event_count-1"
                      " WHERE rowid=(SELECT max(rowid) FROM op_stat)")
        soak(1, "the roll-ups have", "--check", str(place))


main()
