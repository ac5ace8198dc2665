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
WIDE = {DType.F32: np.dtype(np.float64), DType.F16: np.dtype(np.float32)}
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
            out[place] = evaluate(tree, {**sizes, **here})
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


def evaluate(s: Scalar, sizes: Sizes) -> Any:
    """The value of a tree, of the numpy type of its element type."""
    as_type = s.dtype.numpy.type
    match s.op, s.args:
        case "const", (value,):
            return as_type(value)
        case "size", (d,):
            return as_type(number(d, sizes))
        case "in_range", (i, extent):
            return np.bool_(0 <= number(i, sizes) < number(extent, sizes))
        case "read", (reader, at):
            place = tuple(int(evaluate(i, sizes)) if isinstance(i, Scalar) else number(i, sizes) for i in at)
            assert all(0 <= i < n for i, n in zip(place, reader.array.shape, strict=True)), (
                f"read at {place} of {reader.array.shape}"
            )
            return reader.array[place]
        case "cast", (x,):
            return np.asarray(evaluate(x, sizes)).astype(as_type)[()]
        case "where", (condition, yes, no):
            both = evaluate(yes, sizes), evaluate(no, sizes)
            return both[0] if evaluate(condition, sizes) else both[1]
        case "select", (condition, yes, no):
            return evaluate(yes if evaluate(condition, sizes) else no, sizes)
        case "reduce", (kind, loops, body):
            return as_type(_reduce(s.dtype, kind, loops, body, dict(sizes)))
        case "argreduce", (kind, (loop,), body):
            values = [evaluate(body, {**sizes, sole(loop.index): i}) for i in range(number(loop.extent, sizes))]
            return as_type((np.argmax if kind == "max" else np.argmin)(values))
        case (("erf" | "erfc"), (x,)):
            return as_type(getattr(math, s.op)(float(evaluate(x, sizes))))
    ufunc = UFUNCS.get(s.op) or getattr(np, s.op)
    value = ufunc(*(np.asarray([evaluate(a, sizes)]) for a in s.args))[0]
    assert value.dtype == s.dtype.numpy, f"{s.op} gives {value.dtype}, the tree says {s.dtype}"
    return value


def _reduce(dtype: DType, kind: str, loops: tuple[Loop, ...], body: Scalar, sizes: dict[Symbol, int]) -> Any:
    """Sums of floats are taken with more bits, so that the order of the terms does not show."""
    combine, start = REDUCE[kind]
    wide = WIDE.get(dtype, dtype.numpy).type
    if not dtype.is_float and isinstance(start, float):
        limits = np.iinfo(dtype.numpy)
        start = limits.min if start < 0 else limits.max
    total = wide(start)
    for place in np.ndindex(*(number(loop.extent, sizes) for loop in loops)):
        inner = {sole(loop.index): i for loop, i in zip(loops, place, strict=True)}
        total = combine(total, wide(evaluate(body, {**sizes, **inner})))
    return total
