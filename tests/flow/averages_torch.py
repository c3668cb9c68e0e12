#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""--report averages against key_averages() of networks and switches drawn at random, in the wheel of
today. Skipped without it.

    averages_torch.py [FIRST LAST]   the seeds"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from pytorch_tables import compare_tables
from wheels import BUILD, CACHE, program

WHEEL = "torch-2.15.0"
FIRST, LAST = (int(word) for word in sys.argv[1:3] or ("30", "49"))


def report_of(trace):
    def report(*options):
        command = [os.path.join(BUILD, "analyze/profile_analyze"), str(trace), "--report", "averages",
                   "-t", "0", "--format", "json", *options]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"{' '.join(command)}: exit status {done.returncode}\n{done.stderr}")
        return json.loads(done.stdout)
    return report


def main():
    if not os.path.exists(os.path.join(CACHE, WHEEL, "list.txt")):
        print(f"without {WHEEL}, which scripts/get-programs fetches")
        sys.exit(77)
    count = 0
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([*program(WHEEL, "torch_random.py"), str(FIRST), str(LAST), folder],
                              capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"torch_random.py: exit status {done.returncode}\n{done.stderr[-2000:]}")
        for seed in range(FIRST, LAST + 1):
            trace = pathlib.Path(folder) / f"{seed}.json"
            tables = json.loads((trace.parent / f"{seed}.tables.json").read_text())
            count += compare_tables(f"seed {seed}", tables, report_of(trace))
    print(f"{count} cells of {LAST - FIRST + 1} programs agree")


main()
