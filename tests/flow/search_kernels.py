#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/search-kernels: what it finds in kernels that are broken on purpose, that a crash does not end it,
that its lines bring the case back, and its exit statuses."""
import os
import pathlib
import subprocess
import tempfile

ROOT = pathlib.Path(os.environ["OPTRACE_SOURCE_ROOT"])
BUILD = pathlib.Path(os.environ["OPTRACE_BUILD_ROOT"])
HARNESS = BUILD / "tests" / "kernels"


def run(*command):
    done = subprocess.run([str(word) for word in command], text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    return done.returncode, done.stdout


def search(*words):
    return run(ROOT / "scripts" / "search-kernels", "--build", BUILD, *words)


def expect(what, is_so, seen):
    if not is_so:
        raise SystemExit(f"{what}: {seen}")


def found_lines(text):
    lines = text.splitlines()
    return [lines[i + 1].strip() for i, line in enumerate(lines) if line.startswith("FOUND ")]


def check_finding(op, said, smallest, again_status):
    status, text = search("--seconds", "200", "--findings", "4", "--seed", "1", "--op", op,
                          "--isa", "default")
    expect(f"{op}: status", status == 1, (status, text))
    expect(f"{op}: how", said in text, text)
    lines = found_lines(text)
    # A crash does not end it: others follow. Of one kernel three are shown.
    expect(f"{op}: findings", len(lines) == 3 and "4 findings" in text, text)
    expect(f"{op}: smallest", all(line.endswith(f"| {smallest}") for line in lines), text)
    status, text = search("--again", lines[0])
    expect(f"{op}: again", status == again_status and (status < 0 or said in text), (status, text))
    return lines[0]


def check_replay(line):
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "found.txt"
        file.write_text(f"# a comment\n\n{line}\n")
        status, text = run(HARNESS, "--replay", file)
        expect("a case that fails", status == 1 and "1 cases" in text and "1 failed" in text, (status, text))
        good = line.replace("1,17,4 |", "1,16,4 |")
        file.write_text(f"{good.replace('| 17x4', '| 16x4')}\n")
        status, text = run(HARNESS, "--replay", file)
        expect("a case that passes", status == 0 and "0 failed" in text, (status, text))
        file.write_text(f"{good}\n")
        status, text = run(HARNESS, "--replay", file)
        expect("a case that is another now", status == 1 and "the case is now '16x4'" in text, (status, text))
        file.write_text("nonsense\n")
        expect("no case", run(HARNESS, "--replay", file)[0] == 1, "status")
        file.write_text("")
        expect("no line", run(HARNESS, "--replay", file)[0] == 3, "status")
        expect("no file", run(HARNESS, "--replay", file / "none")[0] == 3, "status")


def check_itself():
    status, text = run(HARNESS, "--op", "broken_itself", "--cases", "1")
    expect("a kernel against itself", status == 1 and "determinant_ref is compared with itself" in text, (status, text))


def check_statuses():
    status, text = search("--seconds", "0.5", "--op", "fill")
    expect("nothing found", status == 0 and "0 findings" in text and "seed" in text, (status, text))
    expect("no such operation", search("--op", "nothing")[0] == 2, "status")
    expect("no such instruction set", search("--isa", "MMX")[0] == 2, "status")
    expect("no findings", search("--findings", "0")[0] == 2, "status")
    expect("no time", search("--seconds", "0")[0] == 2, "status")
    expect("no line", search("--again", "nonsense")[0] == 2, "status")
    with tempfile.TemporaryDirectory() as folder:
        expect("not built", search("--build", folder)[0] == 3, "status")


def main():
    line = check_finding("broken_wrong", "element 67 of 68", "17x4", 1)
    check_finding("broken_crash", "ended by signal 9", "9 columns", -9)
    check_replay(line)
    check_itself()
    check_statuses()


if __name__ == "__main__":
    main()
