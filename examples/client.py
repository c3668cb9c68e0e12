#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records an op by Python's standard library alone, as schema/wire/wire.md says. Start optraced first."""
import os, socket, struct, sys, time, uuid

HELLO, WELCOME, STRING, OP, LANE, EVENTS, FLUSH, FLUSHED, BYE = 1, 2, 4, 6, 7, 10, 12, 13, 15
SPAN, THREAD, F64 = 1, 1, 11


def send(kind, body):
    """A header (length, type, flags), the body, and zeros up to a multiple of 8 bytes."""
    body += bytes(-len(body) % 8)
    stream.write(struct.pack("<IHH", 8 + len(body), kind, 0) + body)


def receive(wanted):
    """The body of the next frame of that type; others are skipped by their length."""
    stream.flush()
    while header := stream.read(8):
        length, kind, _ = struct.unpack("<IHH", header)
        body = stream.read(length - 8)
        if kind == wanted:
            return body
        if kind == BYE:
            sys.exit("client.py: the daemon says: " + body[8:].rstrip(b"\0").decode())
    sys.exit("client.py: the daemon closed the connection")


# Say who we are. Clock kind 0 is CLOCK_MONOTONIC: ticks are nanoseconds.
path = os.environ.get("OPTRACE_SOCKET") or os.environ.get("XDG_RUNTIME_DIR", "") + "/optrace/collector.sock"
if not os.path.exists(path):
    path = "/run/optrace/collector.sock"
daemon = socket.socket(socket.AF_UNIX)
daemon.connect(path)
stream = daemon.makefile("rwb")
texts = [b"client.py", " ".join(sys.argv).encode(errors="replace"), b"client.py 1", b"localhost"]
now = time.monotonic_ns()
send(HELLO, struct.pack("<4sHHQ16sIIQQQQI4HI", b"OPTR", 1, 0, 0, uuid.uuid4().bytes, os.getpid(), 0,
                        10**9, now, now, time.time_ns(), 0, *map(len, texts), 0) + b"".join(texts))
welcome = receive(WELCOME)
if struct.unpack_from("<I", welcome, 4) != (0,):
    sys.exit("client.py: refused: " + welcome[40:].rstrip(b"\0").decode())

# Describe once what is constant: texts get numbers; a lane and an op, by the numbers of texts.
for number, text in enumerate([b"sum", b"ReduceSum", b"main"], start=1):
    send(STRING, struct.pack("<II", number, len(text)) + text)
send(LANE, struct.pack("<IIIIQ", 1, THREAD, 3, 0, os.getpid()))
send(OP, struct.pack("<8I3q4H", 1, 1, 2, 0, 0, 0, 0, 0, 1000, 8000, -1, 1, 0, 0, 0)
     + struct.pack("<HHIq", F64, 1, 0, 1000))  # its one input: 1000 doubles
spans = []
for _ in range(100):  # run it and record each time: op 1 on lane 1
    start = time.monotonic_ns()
    sum(range(1000))
    spans.append(struct.pack("<HHIIIQQ32x", SPAN, 0, 1, 1, 0, start, time.monotonic_ns()))
send(EVENTS, struct.pack("<QII", 0, len(spans), 0) + b"".join(spans))
send(FLUSH, struct.pack("<Q", 7))  # its answer comes when they are in the store
token, status = struct.unpack_from("<Qi", receive(FLUSHED))
send(BYE, struct.pack("<II", 0, 0))
stream.flush()
if status != 0:
    sys.exit("client.py: not stored: " + os.strerror(-status))
print("stored", len(spans), "spans")
