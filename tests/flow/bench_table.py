#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What scripts/bench-operators --all keeps of an older table, and which operators it says have no case."""
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "bench"))

import every  # noqa: E402
from every import report  # noqa: E402


def expect(found, wanted):
    if found != wanted:
        sys.exit(f"bench_table: {found!r} in place of {wanted!r}")


def result(group, op, ratio):
    return {"group": group, "op": op, "name": "f32, 256x1024", "ours_ns": ratio * 1e6, "theirs_ns": 1e6, "ratio": ratio}


def written(rows):
    return "\n".join("| " + " | ".join(row) + " |" for row in [report.HEADING, *rows])


def main():
    first = report.rows("", [result("elements", "Add", 0.5), result("elements", "Sub", 2.0), result("moves", "Tile", 4.0)], {"elements", "moves"})
    expect([row[:2] for row in first], [["elements", "all"], ["elements", "Sub"], ["moves", "all"], ["moves", "Tile"]])
    expect(first[0][2], "2 cases, 1 above 1.1, geometric mean")
    expect((report.total(first), f"{report.mean(first):.2f}"), (3, "1.59"))
    again = report.rows(written(first), [result("moves", "Tile", 1.0)], {"moves"})
    expect([row[:2] for row in again], [["elements", "all"], ["elements", "Sub"], ["moves", "all"]])
    expect(report.total(again), 3)
    names = every.operators_of((ROOT / "docs" / "operators.md").read_text(encoding="utf-8"))
    expect("com.microsoft.Attention" in names and "Add" in names and "Operator" not in names, True)
    expect(every.without_case(["If", "Add"], []), ["Add"])
    unknown = {op for ops in every.WITHOUT.values() for op in ops.split()} - set(names)
    expect(unknown, set())


if __name__ == "__main__":
    main()
