#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/ab: the order of its rounds, what it refuses, what it leaves behind, with stand-ins for the
daemon and profile_analyze; then A against A with the real ones. No times are checked."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(os.environ["OPTRACE_SOURCE_ROOT"])
BUILD = pathlib.Path(os.environ["OPTRACE_BUILD_ROOT"])
AB = ROOT / "scripts" / "ab"

# Makes a store with as many sessions as there are lines beside it when it is told to end.
DAEMON = """#!/usr/bin/env python3
import pathlib, signal, sqlite3, sys
options = dict(zip(sys.argv[2::2], sys.argv[3::2]))
socket = pathlib.Path(options["--socket"])
def end(number, frame):
    runs = pathlib.Path(str(socket) + ".runs")
    store = sqlite3.connect(options["--store"])
    store.execute("CREATE TABLE session(session_id INTEGER PRIMARY KEY)")
    for line in runs.read_text().splitlines() if runs.exists() else []:
        store.execute("INSERT INTO session VALUES (NULL)")
    store.commit()
    sys.exit(0)
signal.signal(signal.SIGTERM, end)
pathlib.Path(options["--pid-file"]).write_text("1")
while True:
    signal.pause()
"""

# Says what it was asked, and ends as it is told.
ANALYZE = """#!/usr/bin/env python3
import json, os, sqlite3, sys
stores = [word.rsplit(":", 1)[0] for word in sys.argv[2:4]]
counts = [sqlite3.connect(store).execute("SELECT count(*) FROM session").fetchone()[0]
          for store in stores]
print(json.dumps({"arguments": sys.argv[1:], "counts": counts}))
sys.exit(int(os.environ.get("ANALYZE_STATUS", "0")))
"""

# "Records" a run: a line beside the socket, and its name in the order of all.
COMMAND = """#!/bin/sh
echo "$1" >> "$ORDER"
echo run >> "$OPTRACE_SOCKET.runs"
"""


def expect(condition, what, done=None):
    if not condition:
        sys.exit(what + (f"\nexit status {done.returncode}\n{done.stdout}{done.stderr}" if done else ""))


def write_program(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


class Scene:
    """A build folder of stand-ins and a place for temporary folders that must be empty afterwards."""

    def __init__(self, folder):
        self.folder = folder
        self.build = folder / "build"
        self.temporary = folder / "tmp"
        self.order = folder / "order"
        self.temporary.mkdir()
        write_program(self.build / "daemon" / "optraced", DAEMON)
        write_program(self.build / "analyze" / "profile_analyze", ANALYZE)
        self.command = write_program(folder / "command", COMMAND)

    def environment(self, **more):
        return dict(os.environ, TMPDIR=str(self.temporary), ORDER=str(self.order), **more)

    def run(self, *words, **more):
        self.order.unlink(missing_ok=True)
        done = subprocess.run([sys.executable, str(AB), "--build", str(self.build), *words],
                              env=self.environment(**more), capture_output=True, text=True,
                              check=False)
        expect(not list(self.temporary.iterdir()), f"{words} left something behind", done)
        return done

    def pairs(self):
        names = self.order.read_text().split()
        return [names[i:i + 2] for i in range(0, len(names), 2)]


def check_rounds(scene):
    command = ["--", scene.command, "A", "--", scene.command, "B"]
    done = scene.run("-n", "12", "--seed", "7", "--threshold", "5", *command)
    expect(done.returncode == 0, "12 rounds", done)
    first = scene.pairs()
    expect(len(first) == 13 and all(sorted(pair) == ["A", "B"] for pair in first),
           f"pairs are {first}", done)
    expect(["A", "B"] in first[1:] and ["B", "A"] in first[1:], "the order never changes", done)
    answer = json.loads(done.stdout)
    expect(answer["counts"] == [12, 12], "rounds that are not recorded must not count", done)
    expect(answer["arguments"][0] == "--compare" and answer["arguments"][3:] == ["--threshold", "5"],
           "options are handed on", done)
    expect(answer["arguments"][1].endswith("/A.db:all"), "A is the base", done)
    scene.run("-n", "12", "--seed", "7", *command)
    expect(scene.pairs() == first, "the same seed must give the same order")
    scene.run("-n", "12", "--seed", "8", *command)
    expect(scene.pairs() != first, "another seed must give another order")


def check_statuses(scene):
    command = ["--", scene.command, "A", "--", scene.command, "B"]
    done = scene.run("-n", "1", *command, ANALYZE_STATUS="1")
    expect(done.returncode == 1, "a regression", done)
    for words, status, sentence in [
            (["--", "true"], 2, "two commands are needed"),
            (["--", "true", "--"], 2, "two commands are needed"),
            (["-n", "0", *command], 2, "at least one round"),
            (["-n", "1", "--", scene.command, "A", "--", "true"], 3, "B recorded nothing"),
            (["-n", "1", "--", "sh", "-c", "echo oh no; exit 5", "--", "true"], 3, "status 5"),
            (["-n", "1", "--", "/nowhere/x", "--", "true"], 3, "cannot run A, /nowhere/x"),
            (["--build", "/nowhere", *command], 4, "cannot run /nowhere/daemon/optraced"),
    ]:
        done = scene.run(*words)
        expect(done.returncode == status and sentence in done.stderr and not done.stdout,
               f"{words} must give {status} and say {sentence}", done)


def check_keep(scene):
    kept = scene.folder / "kept"
    command = ["--keep", str(kept), "-n", "1", "--", scene.command, "A", "--", scene.command, "B"]
    done = scene.run(*command)
    expect(done.returncode == 0 and (kept / "A.db").exists() and (kept / "B.db").exists(),
           "--keep keeps the stores", done)
    done = scene.run(*command)
    expect(done.returncode == 2 and "there already" in done.stderr, "old stores stay", done)


def check_interrupt(scene):
    """Ended in the middle of a round it takes its daemons with it."""
    marker = scene.folder / "marker"
    os.mkfifo(marker)
    script = f"echo $PPID > {marker}; exec sleep 600"
    process = subprocess.Popen([sys.executable, str(AB), "--build", str(scene.build), "--", "sh", "-c",
                                script, "--", "true"], env=scene.environment(),
                               stderr=subprocess.PIPE, text=True)
    marker.read_text()
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=60)
    expect(process.returncode == 130 and "interrupted" in said, f"interrupted: {said}")
    expect(not list(scene.temporary.iterdir()), "an interrupt left something behind")


def check_real(folder):
    """hello against itself; the threshold keeps real times out of the test."""
    hello = str(BUILD / "examples" / "hello")
    temporary = folder / "real"
    temporary.mkdir()
    done = subprocess.run([sys.executable, str(AB), "-n", "3", "--threshold", "1000000", "--format",
                           "json", "--", hello, "--", hello],
                          env=dict(os.environ, TMPDIR=str(temporary)), capture_output=True, text=True,
                          check=False)
    expect(done.returncode == 0, "hello against itself", done)
    answer = json.loads(done.stdout)
    expect(answer["base"]["sample_count"] == 3 and answer["new"]["unit"] == "session", "3 sessions", done)
    expect(answer["answer"]["slower_count"] == 0, "nothing can be slower", done)
    expect(not list(temporary.iterdir()), "hello left something behind", done)


def main():
    with tempfile.TemporaryDirectory(prefix="ab-") as folder:
        scene = Scene(pathlib.Path(folder))
        check_rounds(scene)
        check_statuses(scene)
        check_keep(scene)
        check_interrupt(scene)
        check_real(pathlib.Path(folder))


if __name__ == "__main__":
    main()
