# SPDX-License-Identifier: Apache-2.0
"""What the groups of cases share: element types, and arrays of them."""
import dataclasses

import numpy as np

from operators import Case, Const, Maker

__all__ = ["FLOATS", "KINDS", "Const", "Numbers", "One", "fill", "of_kinds", "scalar", "wide"]

KINDS = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "i8": np.int8, "u8": np.uint8, "i32": np.int32,
         "i64": np.int64, "bool": np.bool_}
FLOATS = ("f32", "f64", "f16")


@dataclasses.dataclass
class One(Case):
    """A case of the whole table: what it is of, and whether its content is defined."""
    kind: str = "f32"
    group: str = ""
    exact: bool = True  # integers that are not quanta, equal to the bit
    types: list = None  # of its outputs, where ONNX has no schema
    same: bool = True  # both have to give the same


class Numbers(Maker):
    def of(self, kind, *shape, low=-100, high=100):
        """Normal numbers, or whole ones from low to below high (from 0 where there is no sign)."""
        dtype = KINDS[kind]
        if kind == "bool":
            return self.random.random(shape) < 0.5
        if kind in FLOATS:
            return self.real(*shape, dtype=dtype)
        return self.random.integers(0 if kind == "u8" else low, high, shape).astype(dtype)

    def within(self, kind, low, high, *shape):
        return (self.random.random(shape) * (high - low) + low).astype(KINDS[kind])


def scalar(value, kind="f32"):
    return Const(np.array(value, KINDS[kind]))


def wide(*numbers):
    """Sizes, axes, places: int64."""
    return Const(np.array(numbers, np.int64))


def fill(value, *shape, kind="f32"):
    return Const(np.full(shape, value, KINDS[kind]))


def of_kinds(make, *kinds):
    """All of make(numbers, kind), each kind from the same start."""
    return [dataclasses.replace(case, kind=kind, name=f"{kind}, {case.name}")
            for kind in kinds or KINDS for case in make(Numbers(), kind)]
