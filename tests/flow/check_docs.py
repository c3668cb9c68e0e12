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


def block(body, mark="<!-- run -->"):
    return f"Words.\n\n{mark}\n```\n{body}```\n\nMore.\n"


def table(*rows, last="tests"):
    return "\n".join((f"| what happens | {last} |", "|---|---|", *rows)) + "\n"


RIGHT = [
    *map(block, ("$ echo hello\nhello\n", "$ echo took 5.25 ms, 12.5 %\ntook 7 ms, 3 %\n", "$ true\n",
                 "$ echo a\na\n$ echo b >&2\nb\n", "$ echo 'x   1 us |'\nx 22.5 us   |\n",
                 "$ profile_analyze store.db --session 1 --export folded | head -1\nphase one 6000000\n")),
    block("$ echo 5 runs\n6 runs\n", "<!-- run: numbers aside -->"),
    block("$ tput cols; test -t 1 && echo terminal\n80\nterminal\n", "<!-- run: terminal -->"),
    table("| it fails | `check_docs.py`, the fuzz targets |", "| so too | `daemon_basic` |"),
    table("| it fails | `no_such_test` |", last="how"),
]
# Each with what is said of it.
WRONG = [
    *((block(body), ":3: ") for body in (
        "$ echo 5 runs\n6 runs\n", "$ echo a\n", "$ true\nwords\n", "no command\n", "$ echo a\na\n$ echo b\nc\n",
        "$ no-such-program\nwords\n", "$ test -t 1 && echo terminal\nterminal\n",
        "$ profile_analyze store.db --session 1 --export folded | head -1\nphase two 6000000\n")),
    (block("$ echo hello\ngoodbye\n"), ":3: the example prints now:\n$ echo hello\nhello"),
    (block("$ echo a\nb\n", ""), ": no example"),
    ("<!-- run -->\n\n```\n$ true\n```\n" + block("$ true\n"), ": a line <!-- run --> without a block behind it"),
    (table("| it fails | `no_such_test`, `daemon_basic` |"), ":3: no_such_test is no test"),
    (table("| it fails | nobody tries |"), ":3: no test shows it"),
    (table("| a \\| b | `no_such_test` |"), ":3: no_such_test is no test"),
]


def check(folder, texts, *words):
    """The pages, and what is said of them."""
    pages = [folder / f"{number}.md" for number in range(len(texts))]
    for page, text in zip(pages, texts):
        page.write_text(text)
    options = [word for page in pages for word in ("--page", str(page))]
    return pages, subprocess.run([sys.executable, str(SCRIPT), *words, *options, BUILD], capture_output=True, text=True,
                                 check=False)


def expect(condition, what, done):
    if not condition:
        sys.exit(f"{what}\nexit status {done.returncode}\n{done.stdout}{done.stderr}")


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        _, done = check(folder, RIGHT)
        expect(done.returncode == 0, "what is right is refused", done)
        pages, done = check(folder, [text for text, _ in WRONG])
        expect(done.returncode == 1, "what is wrong is not found", done)
        for page, (text, words) in zip(pages, WRONG):
            expect(f"check-docs: {page}{words}" in done.stderr, f"not found: {text}", done)
        _, done = check(folder, WRONG[0][:1])
        expect(done.returncode == 1, "a page alone", done)
        (page,), done = check(folder, [block("$ echo 5 runs of 3 ms\n6 runs of 4 ms\n")], "--rewrite")
        expect(done.returncode == 0 and "$ echo 5 runs of 3 ms\n5 runs of 3 ms\n```\n\nMore" in page.read_text(), "--rewrite", done)


main()
