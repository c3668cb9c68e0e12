#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/check-calls: circles of files and what nobody uses are found, and let in where the rules say so."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(os.environ["OPTRACE_SOURCE_ROOT"])
SCRIPT = ROOT / "scripts" / "check-calls"

# a.c and b.c of one room, d.c of another one, which has main(); a test that uses two of them.
GOOD = {
    "room/a.c": "int b(void);\nint a(void) { return b(); }\n",
    "room/b.c": "int b(void) { return 1; }\n",
    "room/d.c": "int a(void);\nint main(void) { return a(); }\n",
    "tests/t.c": "int b(void);\nint test(void) { return b(); }\n",
}


def check(files, rules="", skipped=()):
    with tempfile.TemporaryDirectory() as name:
        root = pathlib.Path(name)
        (root / "scripts").mkdir()
        (root / "scripts" / "call-rules").write_text(rules)
        (root / "build" / "objects").mkdir(parents=True)
        commands = []
        for path, text in files.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
            output = "objects/" + path.replace("/", "_") + ".o"
            if path.endswith(".c"):
                commands.append({"directory": str(root / "build"), "file": "../" + path, "output": output})
            if path.endswith(".c") and path not in skipped:
                subprocess.run(["cc", "-c", "-O1", "-w", str(root / path), "-o", str(root / "build" / output)], check=True)
        (root / "build" / "compile_commands.json").write_text(json.dumps(commands))
        return subprocess.run([sys.executable, str(SCRIPT), "--list", "--root", str(root), str(root / "build")],
                              capture_output=True, text=True, check=False)


def expect(condition, what, done):
    if not condition:
        sys.exit(f"{what}\nexit status {done.returncode}\n{done.stdout}{done.stderr}")


def refuse(words, files, rules=""):
    done = check({**GOOD, **files}, rules)
    expect(done.returncode == 1 and words in done.stderr, f"not said: {words}", done)
    return done


def check_circles():
    ring = {"room/b.c": "int c(void);\nint b(void) { return c(); }\n",
            "room/c.c": "int a(void);\nint c(void) { return a(); }\n"}
    done = refuse("a circle of 3 files that use each other:", ring)
    for line in ("room/a.c -> room/b.c: b", "room/b.c -> room/c.c: c", "room/c.c -> room/a.c: a"):
        expect(line in done.stderr, "the circle's symbols are not named", done)
    expect("room/d.c" not in done.stderr, "who only looks on is blamed", done)
    rules = "# why\ncircle room/c.c room/a.c room/b.c  # room/a.h\n"
    done = check({**GOOD, **ring}, rules)
    expect(done.returncode == 0 and "room/c.c -> room/a.c: a" in done.stdout, "a circle of the rules is refused", done)
    refuse("room/a.c room/b.c room/c.c are no circle any more", {}, rules)
    # One more file in a circle that is let in is another circle.
    more = {**ring, "room/c.c": "int e(void);\nint c(void) { return e(); }\n",
            "room/e.c": "int a(void);\nint e(void) { return a(); }\n"}
    refuse("a circle of 4 files", more, rules)
    # Data counts, too: a table that names what looks into it.
    refuse("a circle of 2 files", {"room/b.c": "int a(void);\nint (*table)(void) = a;\nint b(void) { return !table; }\n"})


def check_users():
    refuse("room/e.c: unused is used by nobody: it is to go", {"room/e.c": "int unused(void) { return 1; }\n"})
    refuse("room/b.c: helper is used by its own file alone: it might be static",
           {"room/b.c": "int helper(void) { return 1; }\nint b(void) { return helper(); }\n"})
    refuse("room/b.c: unused is used by nobody",
           {"room/b.c": "/* unused */\nint unused(void) { return 1; }\nint b(void) { return sizeof(\"unused\"); }\n"})
    tested = {"room/e.c": "int e(void) { return 1; }\n", "tests/u.c": "int e(void);\nint u(void) { return e(); }\n"}
    refuse("room/e.c: e is used by tests alone", tested)
    refuse("room/e.c: e is used by tests alone", {**tested, "room/e.h": "/** One. */\nint e(void);\n\n/** For tests. */\n"})
    refuse("room/e.c: e is used by tests alone", {**tested, "tests/e.h": "/** For tests. */\nint e(void);\n"})
    seam = {**tested, "room/e.h": "/** One. For\n *  tests. */\nint e(void);\n"}
    done = check({**GOOD, **seam})
    expect(done.returncode == 0, "what a header keeps for tests is refused", done)
    outside = {"room/e.c": "int hook_one(void) { return 1; }\n"}
    done = check({**GOOD, **outside}, "outside hook_*\n")
    expect(done.returncode == 0, "what is public is refused", done)
    refuse("nothing is called hook_*", {}, "outside hook_*\n")


def main():
    done = check(GOOD)
    expect(done.returncode == 0 and "ok, 0 circles" in done.stdout, "what is sound is refused", done)
    check_circles()
    check_users()
    refuse("is neither circle nor outside", {}, "ring room/a.c\n")
    done = check(GOOD, skipped=("room/b.c",))
    expect(done.returncode == 1 and "is missing: ninja -C" in done.stderr, "a build that is not finished is measured", done)


if __name__ == "__main__":
    main()
