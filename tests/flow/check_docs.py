#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/check-docs: an example that prints something else is found, durations aside, and rewritten."""
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(os.environ["OPTRACE_SOURCE_ROOT"])
BUILD = os.environ["OPTRACE_BUILD_ROOT"]
SCRIPT = ROOT / "scripts" / "check-docs"


def check(page, text, *words):
    page.write_text(text)
    return subprocess.run([sys.executable, str(SCRIPT), *words, "--page", str(page), BUILD], capture_output=True, text=True,
                          check=False)


def block(body, mark="<!-- run -->"):
    return f"Words.\n\n{mark}\n```\n{body}```\n\nMore.\n"


def expect(condition, what, done):
    if not condition:
        sys.exit(f"{what}\nexit status {done.returncode}\n{done.stdout}{done.stderr}")


def main():
    with tempfile.TemporaryDirectory() as name:
        page = pathlib.Path(name) / "page.md"
        for body in ("$ echo hello\nhello\n", "$ echo took 5.25 ms, 12.5 %\ntook 7 ms, 3 %\n", "$ true\n",
                     "$ echo a\na\n$ echo b >&2\nb\n", "$ echo 'x   1 us |'\nx 22.5 us   |\n"):
            done = check(page, block(body))
            expect(done.returncode == 0, f"refused: {body}", done)
        for body in ("$ echo hello\ngoodbye\n", "$ echo 5 runs\n6 runs\n", "$ echo a\n", "$ true\nwords\n", "no command\n",
                     "$ echo a\na\n$ echo b\nc\n", "$ no-such-program\nwords\n"):
            done = check(page, block(body))
            expect(done.returncode == 1 and "page.md:3: " in done.stderr, f"not found: {body}", done)
            expect("hello" not in body or "the example prints now:\n$ echo hello\nhello" in done.stderr, "what it prints", done)
        done = check(page, block("$ echo 5 runs\n6 runs\n", "<!-- run: numbers aside -->"))
        expect(done.returncode == 0, "numbers aside", done)
        done = check(page, block("$ tput cols; test -t 1 && echo terminal\n80\nterminal\n", "<!-- run: terminal -->"))
        expect(done.returncode == 0, "on a terminal", done)
        done = check(page, block("$ test -t 1 && echo terminal\nterminal\n"))
        expect(done.returncode == 1, "not on a terminal", done)
        done = check(page, block("$ echo a\nb\n", ""))
        expect(done.returncode == 1 and "no example" in done.stderr, "an unmarked block was run", done)
        done = check(page, "<!-- run -->\n\n```\n$ true\n```\n" + block("$ true\n"))
        expect(done.returncode == 1 and "without a block behind it" in done.stderr, "a mark far from its block", done)
        done = check(page, block("$ echo 5 runs of 3 ms\n6 runs of 4 ms\n"), "--rewrite")
        expect(done.returncode == 0 and "$ echo 5 runs of 3 ms\n5 runs of 3 ms\n```\n\nMore" in page.read_text(), "--rewrite", done)
        done = check(page, block("$ profile_analyze store.db --session 1 --export folded | head -1\nphase one 6000000\n"))
        expect(done.returncode == 0, "programs and the store are there", done)
        done = check(page, block("$ profile_analyze store.db --session 1 --export folded | head -1\nphase two 6000000\n"))
        expect(done.returncode == 1, "a report that says something else", done)
        check_tables(page)


def check_tables(page):
    """Promises, each with the tests that show it."""
    head = "| what happens | tests |\n|---|---|\n"
    done = check(page, head + "| it fails | `check_docs.py`, the fuzz targets |\n| so too | `daemon_basic` |\n")
    expect(done.returncode == 0, "tests that are there", done)
    for row, words in (("| it fails | `no_such_test`, `daemon_basic` |", "page.md:3: no_such_test is no test"),
                       ("| it fails | nobody tries |", "page.md:3: no test shows it"),
                       ("| a \\| b | `no_such_test` |", "page.md:3: no_such_test is no test")):
        done = check(page, head + row + "\n")
        expect(done.returncode == 1 and words in done.stderr, f"not found: {row}", done)
    done = check(page, "| what happens | how |\n|---|---|\n| it fails | `no_such_test` |\n")
    expect(done.returncode == 0, "a table of something else", done)


main()
