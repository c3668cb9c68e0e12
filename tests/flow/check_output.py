#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/check-output: nothing prints text from outside but through base/text.h, and what would is
found, call by call."""
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(os.environ["OPTRACE_SOURCE_ROOT"])
SCRIPT = ROOT / "scripts" / "check-output"

BAD = [
    'printf("%s\\n", name);', 'printf(name);', 'fprintf(stderr, "%d of %-*s\\n", 1, 5, name);',
    'fprintf(out, "%.*s", 3, name);', 'fprintf(out, flag ? "%s" : "no", name);', 'fprintf(out, format, name);',
    'fprintf(out, "a"\n        "%s", name);', 'fputs(name, out);', 'fputs(flag ? name : "none", out);', 'puts(name);',
    'fputc(*name, out);', 'putchar(name[0]);', 'putc(flag ? *name : \'?\', out);', 'printf("%c", name[0]);',
    'fwrite(name, 1, 5, stdout);', 'perror(name);', 'vfprintf(out, format, args);', 'dprintf(2, "%s", name);',
    'write(STDOUT_FILENO, name, 5);', 'write(1, name, 5);', 'syslog(3, "%s", name);',
    'return fputs(name, out);', 'if (flag)\n        puts(name);\n    else puts(name);',
    'fputs("\\"", out); fputs(name, out);', 'fputc(\'"\', out); fputs(name, out);', 'warn("%s", name);',
]
GOOD = [
    'text_print(stdout, "%s\\n", name);', 'text_put(name, out);', 'printf("%d %5.2f%% %016" PRIx64 "\\n", 1, 2.0, x);',
    'fputs("words", out);', 'fputs(flag ? "yes" : "no", out);', 'fprintf(out, flag ? "%d" : "%x", 1);',
    'putchar(\'\\n\');', 'fputc(flag ? \',\' : \'[\', out);', 'fputc(*name == \'?\' ? \':\' : \' \', out);', 'fputs(HEADER_LINE, out);',
    '/* printf("%s", name) would be wrong */', 'run("SELECT printf(\'%s\', name)");', 'write(fd, name, 5);',
    'snprintf(text, 5, "%s", name);', 'writer->write(writer, name);', 'asprintf(&text, "%s", name);',
    'fputs("say \\"printf(name)\\"", out);', 'fprintf(out, "%%s\\n");',
]


def check(files, rules=""):
    with tempfile.TemporaryDirectory() as name:
        root = pathlib.Path(name)
        (root / "scripts").mkdir()
        (root / "scripts" / "output-rules").write_text("# rules\n" + rules)
        for path, body in files.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(f"void f(void)\n{{\n    {body}\n}}\n")
        return subprocess.run([sys.executable, str(SCRIPT), "--root", str(root)], capture_output=True, text=True,
                              check=False)


def expect(condition, what, done):
    if not condition:
        sys.exit(f"{what}\nexit status {done.returncode}\n{done.stdout}{done.stderr}")


def main():
    for body in GOOD:
        done = check({"runtime/a.c": body})
        expect(done.returncode == 0, f"refused: {body}", done)
    for body in BAD:
        for place in ("runtime/a.c", "client/cli/deep/b.c", "base/c.h"):
            done = check({place: body})
            expect(done.returncode == 1 and f"{place}:" in done.stderr, f"not found: {body}", done)
    files = {"analyze/a.c": "fputs(name, out);", "daemon/b.c": 'fputs("ours", out);'}
    done = check(files, "analyze/a.c fputs cells were made fit\n")
    expect(done.returncode == 0, "a rule allows it", done)
    for rules, words in (("analyze/a.c fwrite cells were made fit\n", "analyze/a.c:3"), ("analyze/a.c fputs\n", "no reason"),
                         ("analyze/a.c fputs reason\ndaemon/b.c fputs reason\n", "daemon/b.c fputs: it needs no"),
                         ("analyze/a.c fputs reason\ndaemon/gone.c fputs reason\n", "daemon/gone.c fputs: it needs no")):
        done = check(files, rules)
        expect(done.returncode == 1 and words in done.stderr, rules, done)
    done = check({"tests/a.c": 'fputs("nothing of ours", out);'})
    expect(done.returncode == 1 and "no file was read" in done.stderr, "an empty tree passes", done)
    done = subprocess.run([sys.executable, str(SCRIPT)], capture_output=True, text=True, check=False)
    expect(done.returncode == 0, "the tree", done)


main()
