"""A plain evaluator of index notation, element by element, independent of the C that is written from it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from cuvil_pack.ir.graph import Array, Op
from cuvil_pack.ir.scalar import Loop, Scalar
from cuvil_pack.ir.size import Dim, Expr, Symbol, atom, index, rebuild
from cuvil_pack.ir.types import DType, TensorType

Sizes = Mapping[Symbol, int]
WIDE: dict[DType, np.dtype[Any]] = {DType.F32: np.dtype(np.float64), DType.F16: np.dtype(np.float32)}
UFUNCS: dict[str, Any] = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.true_divide, "floordiv": np.floor_divide,
    "mod": np.mod, "pow": np.power, "neg": np.negative, "max": np.maximum, "min": np.minimum, "abs": np.absolute,
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
    "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "not": np.invert, "shl": np.left_shift,
    "shr": np.right_shift, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "atan2": np.arctan2,
    "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh,
}  # fmt: skip
REDUCE: dict[str, tuple[Any, float]] = {
    "sum": (np.add, 0), "prod": (np.multiply, 1), "max": (np.maximum, -np.inf), "min": (np.minimum, np.inf),
    "any": (np.logical_or, False), "all": (np.logical_and, True),
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Reader:
    """An input of an op: what `element` reads elements from."""

    type: TensorType
    array: Array

    def __call__(self, *at: Any) -> Scalar:
        assert len(at) == self.type.rank, f"{len(at)} indices of {self.type}"
        return Scalar("read", (self, at), self.type.dtype)


def evaluate_element(
    op: Op, types: tuple[TensorType, ...], attrs: dict[str, Any], result: TensorType, arrays: list[Array], sizes: Sizes
) -> Array:
    """What an op's index notation gives for every index of the result."""
    assert op.element is not None
    loops = [Loop(index(f"i{n}", d), d) for n, d in enumerate(result.shape)]
    readers = [Reader(t, a) for t, a in zip(types, arrays, strict=True)]
    tree = op.element(tuple(loop.index for loop in loops), *readers, **attrs)
    assert tree.dtype is result.dtype, f"element is {tree.dtype}, infer says {result.dtype}"
    out = np.empty([number(d, sizes) for d in result.shape], result.dtype.numpy)
    with np.errstate(all="ignore"):
        for place in np.ndindex(*out.shape):
            here = {sole(loop.index): i for loop, i in zip(loops, place, strict=True)}
            out[place] = Evaluation({**sizes, **here}).of(tree)
    return out


def sole(d: Dim) -> Symbol:
    """The symbol that an index is."""
    assert isinstance(d, Expr)
    ((symbol,), _) = d.terms[0]
    assert isinstance(symbol, Symbol)
    return symbol


def number(d: Dim, sizes: Sizes) -> int:
    result = rebuild(d, lambda s: sizes[s] if s in sizes else atom(s))
    assert isinstance(result, int), f"{d} is not known"
    return result


class Evaluation:
    """The values of trees where every size and index has a value; parts that occur twice are computed once."""

    def __init__(self, sizes: Sizes):
        self.sizes = sizes
        self.known: dict[int, Any] = {}

    def of(self, s: Scalar) -> Any:
        """The value of a tree, of the numpy type of its element type."""
        if id(s) not in self.known:
            self.known[id(s)] = self.compute(s)
        return self.known[id(s)]

    def number(self, d: Dim) -> int:
        return number(d, self.sizes)

    def inside(self, loops: tuple[Loop, ...], place: tuple[int, ...]) -> Evaluation:
        inner = {sole(loop.index): i for loop, i in zip(loops, place, strict=True)}
        return Evaluation({**self.sizes, **inner})

    def compute(self, s: Scalar) -> Any:
        as_type = s.dtype.numpy.type
        match s.op, s.args:
            case "const", (value,):
                return as_type(value)
            case "size", (d,):
                return as_type(self.number(d))
            case "in_range", (i, extent):
                return np.bool_(0 <= self.number(i) < self.number(extent))
            case "read", (reader, at):
                return self.read(
                    reader, tuple(int(self.of(i)) if isinstance(i, Scalar) else self.number(i) for i in at)
                )
            case "cast", (x,):
                return np.asarray(self.of(x)).astype(as_type)[()]
            case "where", (condition, yes, no):
                both = self.of(yes), self.of(no)
                return both[0] if self.of(condition) else both[1]
            case "select", (condition, yes, no):
                return self.of(yes if self.of(condition) else no)
            case "reduce", (kind, loops, body):
                return as_type(self.reduce(s.dtype, kind, loops, body))
            case "argreduce", (kind, (loop,), body):
                values = [self.inside((loop,), (i,)).of(body) for i in range(self.number(loop.extent))]
                return as_type((np.argmax if kind == "max" else np.argmin)(values))
            case (("erf" | "erfc"), (x,)):
                return as_type(getattr(math, s.op)(float(self.of(x))))
        ufunc = UFUNCS.get(s.op) or getattr(np, s.op)
        value = ufunc(*(np.asarray([self.of(a)]) for a in s.args))[0]
        assert value.dtype == s.dtype.numpy, f"{s.op} gives {value.dtype}, the tree says {s.dtype}"
        return value

    def read(self, reader: Reader, place: tuple[int, ...]) -> Any:
        shape = reader.array.shape
        assert all(0 <= i < n for i, n in zip(place, shape, strict=True)), f"read at {place} of {shape}"
        return reader.array[place]

    def reduce(self, dtype: DType, kind: str, loops: tuple[Loop, ...], body: Scalar) -> Any:
        """Sums of floats are taken with more bits, so that the order of the terms does not show."""
        combine, start = REDUCE[kind]
        wide: Any = WIDE[dtype].type if dtype in WIDE else dtype.numpy.type
        if not dtype.is_float and isinstance(start, float):
            limits = np.iinfo(dtype.numpy)
            start = limits.min if start < 0 else limits.max
        total = wide(start)
        for place in np.ndindex(*(self.number(loop.extent) for loop in loops)):
            total = combine(total, wide(self.inside(loops, place).of(body)))
        return total
