#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/check-includes: a folder includes what its line allows, and no circle of folders is let in."""
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(os.environ["OPTRACE_SOURCE_ROOT"])
SCRIPT = ROOT / "scripts" / "check-includes"

RULES = """# FOLDER what it may include
base
low       base/
low/deep  base/ low/ <sqlite3.h>
high      base/ low/ low/contract.h high/deep/
high/deep low/deep/
"""


def check(files, rules=RULES):
    with tempfile.TemporaryDirectory() as name:
        root = pathlib.Path(name)
        (root / "scripts").mkdir()
        (root / "scripts" / "include-rules").write_text(rules)
        for path, includes in files.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text("".join(f"#include {include}\n" for include in includes))
        return subprocess.run([sys.executable, str(SCRIPT), "--root", str(root)], capture_output=True, text=True,
                              check=False)


def expect(condition, what, done):
    if not condition:
        sys.exit(f"{what}\nexit status {done.returncode}\n{done.stdout}{done.stderr}")


def main():
    good = {
        "base/a.c": ['"base/a.h"', "<stdio.h>", "<sys/stat.h>"], "base/a.h": [],
        "low/b.c": ['"base/a.h"', '"low/b.h"'], "low/b.h": [],
        "low/deep/c.c": ['"low/b.h"', "<sqlite3.h>"], "low/deep/c.h": [],
        "high/d.c": ['"low/b.h"', '"high/deep/e.h"'], "high/deep/e.h": ['"low/deep/c.h"'],
        "free/f.c": ['"high/d.h"', "<uv.h>"],
    }
    done = check(good)
    expect(done.returncode == 0 and "ok" in done.stdout, "what is allowed is refused", done)

    for path, include, words in (
            ("base/x.c", '"low/b.h"', 'base/x.c includes "low/b.h"'),
            ("low/x.h", "<sqlite3.h>", "low/x.h includes <sqlite3.h>: low may include its own files, base/"),
            ("low/x.c", '"low/deep/c.h"', 'low/x.c includes "low/deep/c.h"'),
            ("high/x.c", '"low/deep/c.h"', 'high/x.c includes "low/deep/c.h"'),
            ("high/x.c", "<uv.h>", "high/x.c includes <uv.h>"),
            ("low/deep/x.cu", '"x.h"', 'low/deep/x.cu includes "x.h"')):
        done = check({**good, path: [include]})
        expect(done.returncode == 1 and words in done.stderr, f"not found: {include} of {path}", done)
        expect(done.stderr.count(" may include ") == 1, "more is said than one thing", done)

    # The folder may be included, what is private in it may not, but by itself.
    for private in ("low/private.h", "low/b_private.h"):
        done = check({**good, private: [], "low/x.c": [f'"{private}"']})
        expect(done.returncode == 0, f"{private} is kept from its folder", done)
        done = check({**good, private: [], "high/x.c": [f'"{private}"']})
        expect(done.returncode == 1 and f'high/x.c includes "{private}": what is private' in done.stderr,
               f"{private} is let out", done)

    # Each include is allowed; all of them together are a circle.
    rules = "a b/\nb c/\nc a/\nd a/\n"
    ring = {"a/1.c": ['"b/1.h"'], "b/2.h": ['"c/1.h"'], "c/3.c": ['"a/1.h"'], "d/4.c": ['"a/1.h"']}
    done = check(ring, rules)
    expect(done.returncode == 1 and "a circle of folders: a, b, c\n" in done.stderr, "the circle is not found", done)
    for line in ("a -> b: a/1.c includes b/1.h", "b -> c: b/2.h includes c/1.h", "c -> a: c/3.c includes a/1.h"):
        expect(line in done.stderr, "the circle's files are not named", done)
    expect("d" not in done.stderr.split("circle of folders:")[1].split("\n")[0], "who only looks on is blamed", done)
    ring["c/3.c"] = []
    done = check(ring, rules)
    expect(done.returncode == 0, "a chain is taken for a circle", done)

    done = check({"base/meson.build": [], "base/errno.h": []})
    expect(done.returncode == 1 and "base/errno.h hides <errno.h>" in done.stderr, "a hidden header", done)


if __name__ == "__main__":
    main()
