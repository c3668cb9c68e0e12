# SPDX-License-Identifier: Apache-2.0
"""What a page has of the whole table: what is above 1.1, and a line for each group."""
import math

from . import GROUPS

HEADING = ["group", "operator", "case", "ours, ms", "theirs, ms", "ratio"]
LIMIT = 1.1


def group_row(group, ratios):
    mean = math.exp(sum(math.log(max(r, 0.005)) for r in ratios) / len(ratios))
    above = sum(r > LIMIT for r in ratios)
    return [group, "all", f"{len(ratios)} cases, {above} above 1.1, geometric mean", "-", "-", f"{mean:.2f}"]


def kept(old):
    """Rows of a table that was written before."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in old.splitlines() if line.startswith("| ")]
    return [row for row in rows[1:] if len(row) == len(HEADING)]


def rows(old, results, measured):
    """Rows of all groups: those measured now by results, others as they were."""
    table = [row for row in kept(old) if row[0] not in measured]
    for group in (g for g in GROUPS if g in measured):
        here = [r for r in results if r["group"] == group]
        if here:
            table.append(group_row(group, [r["ratio"] for r in here]))
        table += [[group, r["op"], r["name"], f"{r['ours_ns'] / 1e6:.3f}", f"{r['theirs_ns'] / 1e6:.3f}", f"{r['ratio']:.2f}"]
                  for r in here if r["ratio"] > LIMIT]
    return table


def count(row):
    return int(row[2].split()[0])


def total(table):
    return sum(count(row) for row in table if row[1] == "all")


def mean(table):
    """Over all cases, by what the groups' lines say."""
    groups = [row for row in table if row[1] == "all"]
    return math.exp(sum(count(row) * math.log(max(float(row[5]), 0.005)) for row in groups) / sum(map(count, groups)))
