# SPDX-License-Identifier: Apache-2.0
"""What the tests share that hold --report averages against key_averages(): the rows of both as cells."""
import json
import re
import sys

TABLES = {"name": (), "group_by_input_shape": ("--group-by", "shape"),
          "group_by_stack_n": ("--group-by", "stack:5")}


def time_text(ns):
    us = ns / 1000
    if us >= 1e6:
        return f"{us / 1e6:.3f}s"
    return f"{us / 1e3:.3f}ms" if us >= 1e3 else f"{us:.3f}us"


def their_cells(row, table, has_stacks, has_flop):
    """What tells rows apart, and the cells."""
    shapes = json.dumps(row["shapes"] or []) if table == "group_by_input_shape" else ""
    stack = tuple(row["stack"]) if table == "group_by_stack_n" and has_stacks else ()
    return (row["key"], row["is_user"], shapes, stack), [
        row["count"], round(row["cpu"] * 1000), round(row["self_cpu"] * 1000), row["mem"],
        row["self_mem"], row["flops"] if has_flop else 0]


def our_cells(row, table, has_stacks, has_flop):
    # PyTorch's events have nothing of a list of tensors, the trace has the shape of each.
    known = [[] if any(isinstance(item, list) for item in shape) else shape
             for shape in row.get("input_shapes") or []]
    shapes = json.dumps(known) if table == "group_by_input_shape" else ""
    stack = tuple(row["source"] or []) if table == "group_by_stack_n" and has_stacks else ()
    return (row["name"], bool(row["is_label"]), shapes, stack), [
        row["calls"], row["cpu_ns"], row["self_cpu_ns"], row["cpu_memory_bytes"] or 0,
        row["self_cpu_memory_bytes"] or 0, (row["computation_flop"] or 0) if has_flop else 0]


def add_cells(sums, key, cells):
    sums[key] = [a + b for a, b in zip(sums.get(key, [0] * len(cells)), cells)]


def compare_tables(what, theirs, report):
    """All cells of all groupings; report(OPTION...) is ours. A file without call stacks is not held
    against PyTorch's table by stack, which then has none: ours come from Python's functions.
    Returns how many cells agree."""
    has_stacks = any(row["stack"] for row in theirs["group_by_stack_n"]["rows"])
    has_flop = any(row["flops"] for row in theirs["name"]["rows"])
    count = 0
    for table, options in TABLES.items():
        ours = report(*options)
        there, here = {}, {}
        for row in theirs[table]["rows"]:
            add_cells(there, *their_cells(row, table, has_stacks, has_flop))
        for row in ours["averages"]["rows"]:
            add_cells(here, *our_cells(row, table, has_stacks, has_flop))
        # PyTorch's own microseconds are rounded.
        differ = [(key, there.get(key), here.get(key)) for key in there.keys() | here.keys()
                  if key not in there or key not in here or
                  any(abs(a - b) > (there[key][0] if place in (1, 2) else 0)
                      for place, (a, b) in enumerate(zip(there[key], here[key])))]
        if differ:
            sys.exit(f"{what} {table}: {len(differ)} of {len(there)} lines differ: {differ[:5]}")
        own = re.search("Self CPU time total: (.*)", theirs[table]["table"]).group(1)
        if time_text(ours["totals"]["self_cpu_ns"]) != own:
            sys.exit(f"{what} {table}: total {own} there, {ours['totals']} here")
        count += 6 * len(there)
    return count
