"""Operands as torch takes them: tensors, sizes and Python numbers, brought to one element type by torch's rules."""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from typing import Any

import numpy as np

from ...ir.graph import Number, Op, Value
from ...ir.size import Dim, Expr
from ...ir.types import DType, TensorType
from ...ops.elementwise import cast
from ...ops.indexing import size
from ...ops.view import expand, reshape

Operand = Value | Dim | float | bool
DEFAULT_FLOAT = DType.F32


def number_type(x: float | int | bool | Expr) -> DType:
    """The element type that torch gives a Python number, or a size."""
    if isinstance(x, bool):
        return DType.BOOL
    return DType.I64 if isinstance(x, int | Expr) else DEFAULT_FLOAT


def promote(*operands: Operand) -> DType:
    """The element type torch computes in: tensors decide before 0-d tensors, and these before Python numbers."""
    ranks: list[list[DType]] = [[], [], []]
    for x in operands:
        if not isinstance(x, Value):
            ranks[2].append(number_type(x))
        else:
            ranks[0 if x.type.rank else 1].append(x.type.dtype)
    joined = [reduce(join, r) for r in ranks if r]
    return reduce(_prefer, joined)


def _prefer(higher: DType, lower: DType) -> DType:
    if higher.is_float or (higher is not DType.BOOL and not lower.is_float):
        return higher
    return join(higher, lower)


def join(a: DType, b: DType) -> DType:
    """The least element type that holds both, as torch has it: any float above any integer."""
    if a.is_float != b.is_float:
        return a if a.is_float else b
    return DType.of(np.promote_types(a.numpy, b.numpy))


def tensor(x: Operand, dtype: DType) -> Value:
    """`x` as a value of this element type."""
    if isinstance(x, Number):
        return literal(x.number, dtype)
    if isinstance(x, Value):
        return convert(x, dtype)
    return convert(dimension(x), dtype) if isinstance(x, Expr) else literal(x, dtype)


def literal(number: float | int | bool, dtype: DType) -> Number:
    """A number of this element type."""
    kind = bool if dtype is DType.BOOL else float if dtype.is_float else int
    return Number(kind(number), TensorType(dtype, ()))


def convert(x: Value, dtype: DType) -> Value:
    """`x` cast where it has another element type."""
    if x.type.dtype is dtype:
        return x
    if isinstance(x, Number):
        return literal(x.number, dtype)
    value: Value = cast(x, dtype=dtype)
    return value


def call(op: Op, *xs: Value, **attrs: Any) -> Value:
    """The one result of an op."""
    value: Value = op(*xs, **attrs)
    return value


def dimension(d: Dim) -> Value:
    """A size as a 0-d i64."""
    if isinstance(d, int):
        return literal(d, DType.I64)
    value: Value = size.node(dim=d)
    return value


def together(*operands: Operand) -> tuple[Value, ...]:
    """The operands in the one element type that torch computes in."""
    dtype = promote(*operands)
    return tuple(tensor(x, dtype) for x in operands)


def floating(x: Operand) -> Value:
    """`x` as a float: what torch makes of integers before a function such as exp."""
    dtype = promote(x)
    return tensor(x, dtype if dtype.is_float else DEFAULT_FLOAT)


def axis_of(axis: int, rank: int) -> int:
    """An axis counted from the front."""
    return axis + max(rank, 1) if axis < 0 else axis


def axes_of(axes: int | Iterable[int] | None, rank: int) -> tuple[int, ...]:
    """Axes counted from the front, in order; none, or an empty list, means all."""
    if axes is None:
        return tuple(range(rank))
    chosen = [axes] if isinstance(axes, int) else list(axes)
    return tuple(sorted(axis_of(a, rank) for a in chosen if rank)) or tuple(range(rank))


def shaped(x: Value, shape: Iterable[Dim]) -> Value:
    """`x` under another shape of as many elements."""
    want = tuple(shape)
    if x.type.shape == want:
        return x
    value: Value = reshape(x, shape=want)
    return value


def spread(x: Value, shape: Iterable[Dim]) -> Value:
    """`x` broadcast to `shape`."""
    want = tuple(shape)
    if x.type.shape == want:
        return x
    value: Value = expand(x, shape=want)
    return value
