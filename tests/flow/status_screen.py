#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""optrace status as a person sees it, from the answers of a stand-in for the daemon: 0, 2 and 300
programs, hostile names, a daemon of an older version, a terminal of 80 columns."""
import fcntl
import os
import pathlib
import pty
import re
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import unicodedata

OPTRACE = pathlib.Path(os.environ["OPTRACE_BUILD_ROOT"]) / "client/cli/optrace"
WELCOME, STATUS, SESSION, ANSWER, USAGE, PACE = 2, 20, 21, 23, 28, 29
NOW = 1_800_000_000_000_000_000
MINUTE, GIB = 60_000_000_000, 1 << 30
UNKNOWN = (1 << 64) - 1


def frame(kind, body):
    body += b"\0" * (-len(body) % 8)
    return struct.pack("<IHH", len(body) + 8, kind, 0) + body


def welcome(minor):
    return frame(WELCOME, struct.pack("<HHIQQQII", 1, minor, 0, 8, 0, 0, 1, 0))


def status(store=b"/var/lib/optrace.db", count=0, started=NOW - 134 * MINUTE, store_bytes=GIB * 6 // 5):
    texts = b"0.1", b"box", store
    return frame(STATUS, struct.pack("<QQQQIIIIHHHH", NOW, started, store_bytes, 0, 7, 0, 1, count,
                                     *map(len, texts), 0) + b"".join(texts))


def usage(budget=5 * GIB, room=GIB * 19 // 5, growth=GIB // 24 // 16, growth_ns=60 * MINUTE, cpu=660_000_000):
    return frame(USAGE, struct.pack("<6Q", budget, room, growth, growth_ns, cpu, MINUTE))


def session(number, program, events=0, lost=0, plan=None, level=1, started=NOW - 5 * MINUTE):
    plan = plan or struct.pack("<9Q4I", *[0] * 9, level, 0, 0, 0)
    program = program.encode()
    return frame(SESSION, struct.pack("<5Q4I", number, started, events, lost, 0, 4000 + number, 0,
                                      level, 15) + plan + struct.pack("<HHI", len(program), 3, 0) +
                 program + b"cmd")


def sampled(wait, active):
    """A schedule in runs, without end."""
    return struct.pack("<9Q4I", 1, 0, 0, 0, wait, 0, active, 0, 5, 1, 0, 3, 0)


def pace(number, events, runs, p50_ns, samples=64, window=MINUTE):
    return frame(PACE, struct.pack("<5QII", number, window, events, runs, p50_ns, samples, 0))


ANSWERED = frame(ANSWER, struct.pack("<QQIIII", 0, 0, 0, 0, 0, 0))


def serve(listener, minor, answer):
    peer, _ = listener.accept()
    with peer:
        peer.recv(24, socket.MSG_WAITALL)
        peer.sendall(welcome(minor))
        peer.recv(16, socket.MSG_WAITALL)
        peer.sendall(answer + ANSWERED)
        peer.recv(1)


def ask(answer, minor=3, columns=0, *options):
    """What optrace status prints; columns 0: into a pipe."""
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as listener:
        path = folder + "/s"
        listener.bind(path)
        listener.listen()
        thread = threading.Thread(target=serve, args=(listener, minor, answer))
        thread.start()
        command = [OPTRACE, "status", "--socket", path, *options]
        environment = dict(os.environ, TZ="UTC", LC_ALL="C.UTF-8")
        if columns:
            main, side = pty.openpty()
            fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("4H", 24, columns, 0, 0))
            child = subprocess.Popen(command, stdout=side, stderr=subprocess.PIPE, env=environment)
            os.close(side)
            out = b""
            while True:
                try:
                    part = os.read(main, 65536)
                except OSError:
                    break
                out += part
            os.close(main)
            out = out.replace(b"\r\n", b"\n")
        else:
            child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                     env=environment)
            out = child.stdout.read()
        err = child.stderr.read()
        code = child.wait()
        thread.join()
    if code:
        sys.exit(f"exit status {code}: {err.decode()}")
    return out.decode()


def expect(condition, what, out):
    if not condition:
        sys.exit(f"{what}:\n{out}")


def check_sketch():
    out = ask(status(count=2) + usage() +
              session(1, "serve.py", plan=sampled(19, 1)) + pace(1, 5_904_000, 2460, 24_100_000) +
              session(2, "load_and_run", lost=1234567) + pace(2, 348_000, 900, 64_500_000),
              3, 80)
    expect(out == """\
collector 2 h 14 min · optrace.db 1.20 of 5 GiB (61 days of room) · 1.1 % CPU

program        pid  since  events/s  runs/s  P50 ms       lost  records
serve.py      4001  07:55    98,400    41.0    24.1          0  1 run in 20
load_and_run  4002  07:55     5,800    15.0    64.5  1,234,567  all
""", "not as drawn", out)


def check_older():
    """What an older daemon does not say is shown as such, and not made up."""
    out = ask(status(count=1) + session(1, "old", events=99), 2, 80)
    expect(out == """\
collector 2 h 14 min · optrace.db 1.20 GiB

program   pid  since  events/s  runs/s  P50 ms  lost  records
old      4001  07:55         -       -       -     0  all
""", "an older daemon", out)


def check_little():
    """Nobody; nothing known yet; no budget; a full store; a store that does not grow."""
    out = ask(status() + usage(0, UNKNOWN, 0, 0))
    expect("No program is connected.\n" in out and "optrace.db 1.20 GiB · 1.1 % CPU\n" in out,
           "no programs", out)
    expect("1.20 of 5 GiB (full)" in ask(status() + usage(room=0)), "a full store", "")
    expect("1.20 of 5 GiB · " in ask(status() + usage(growth=0)), "a quiet store", "")
    expect("(years of room)" in ask(status() + usage(growth=1)), "much room", "")
    out = ask(status() + usage(growth=GIB // 4))
    expect("(15 h of room)" in out, "little room", out)
    expect("4 KiB of 5 GiB · " in ask(status(store_bytes=4096) + usage(growth=0)), "a new store", "")
    out = ask(status(started=NOW + MINUTE, count=1) + usage() + session(1, "a") +
              pace(1, 0, 0, 0, 0, 0))
    expect("collector 0 s" in out and re.search(r"a +4001 .* - +- +- ", out), "nothing known", out)
    out = ask(status(count=1) + session(1, "b", started=NOW - 3 * 1440 * MINUTE) +
              pace(1, 15, 0, 999_600, 1))
    expect("12 Jan      0.25       0    1.00" in out, "slow, and older", out)


def check_many():
    answer = status(count=300) + usage()
    for number in range(1, 301):
        answer += session(number, f"worker{number % 7}") + pace(number, number * 6000, 60, 1_000_000)
    out = ask(answer, 3, 80)
    expect(out.count("\nworker") == 300 and max(map(len, out.split("\n"))) <= 80, "300 programs", out)


def columns_of(line):
    return sum(2 if unicodedata.east_asian_width(letter) == "W" else 1 for letter in line)


def check_hostile():
    """No name steers the terminal, none makes a line too long, and the others stay in their columns."""
    names = "\x1b]0;x\x07", "\u202egpj.exe", "a" * 256, "長" * 80, "%s%n", "two\nlines"
    answer = status(store=b"/x/" + b"\xe2\x80\xae\x1b" * 60 + b".db", count=len(names)) + usage()
    for number, name in enumerate(names, 1):
        answer += session(number, name) + pace(number, 1 << 62, 1 << 62, 1 << 62)
    for columns in 80, 20, 0:
        out = ask(answer, 3, columns)
        expect("\x1b" not in out and "\u202e" not in out and "\x07" not in out, "steers", out)
        expect(out.count("\n") == 3 + len(names), "lines", out)
    answer = status(store=b"s" * 1000, count=len(names)) + usage()
    for number, name in enumerate(names, 1):
        answer += session(number, name) + pace(number, 60_000_000, 60_000, 1_234_567_890)
    out = ask(answer, 3, 80)
    expect(max(map(columns_of, out.split("\n"))) <= 80 and "%s%n" in out, "too long", out)


def check_long():
    out = ask(status(count=1) + usage() + session(9, "a") + pace(9, 1, 1, 1), 3, 0, "--long")
    expect("optraced 0.1 on box: pid 7 of user 0" in out and "/var/lib/optrace.db" in out and
           re.search(r"\n +9 +4009 ", out) and "cmd" in out, "--long", out)


if __name__ == "__main__":
    check_sketch()
    check_older()
    check_little()
    check_many()
    check_hostile()
    check_long()
