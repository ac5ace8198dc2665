"""Tensors made from nothing: constants, ranges, triangles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...ir.graph import Value
from ...ir.size import Dim
from ...ir.types import DType, TensorType
from ...ops import elementwise as op
from ...ops import indexing as ops
from .operand import Operand, call, convert, literal, shaped, spread, tensor
from .table import Refused, aten


def filled(shape: Sequence[Dim], number: Operand, dtype: DType) -> Value:
    return spread(tensor(number, dtype), shape)


@aten("full", "new_full", "full_like", "fill")
def full(*args: Any, result: TensorType, **_: object) -> Value:
    return filled(result.shape, args[-1], result.dtype)


@aten(
    "zeros", "new_zeros", "zeros_like", "zero", "empty", "empty_like", "new_empty", "empty_strided", "new_empty_strided"
)
def zeros(*_: object, result: TensorType, **__: object) -> Value:
    return filled(result.shape, 0, result.dtype)


@aten("ones", "new_ones", "ones_like")
def ones(*_: object, result: TensorType, **__: object) -> Value:
    return filled(result.shape, 1, result.dtype)


@aten("copy")
def copy(x: Value, source: Value, non_blocking: bool = False) -> Value:
    return spread(convert(source, x.type.dtype), x.type.shape)


@aten("scalar_tensor")
def scalar_tensor(number: Operand, result: TensorType, **_: object) -> Value:
    return tensor(number, result.dtype)


def arange_of(length: Dim, start: Operand = 0, step: Operand = 1, dtype: DType = DType.I64) -> Value:
    """`start, start + step, ...`, `length` of them."""
    value: Value = ops.iota.node(shape=(length,), axis=0, dtype=dtype)
    if step != 1:
        value = op.mul(value, tensor(step, dtype))
    return value if start == 0 else op.add(value, tensor(start, dtype))


@aten("arange", "arange.start", "arange.start_step")
def arange(*bounds: Operand, result: TensorType, **_: object) -> Value:
    start = 0 if len(bounds) == 1 else bounds[0]
    step = bounds[2] if len(bounds) > 2 else 1
    (length,) = result.shape
    wide = any(isinstance(b, float) for b in bounds) or result.dtype.is_float
    computed = arange_of(length, start, step, DType.F64 if wide else DType.I64)
    return convert(computed, result.dtype)


@aten("linspace")
def linspace(start: float, stop: float, steps: int, result: TensorType, **_: object) -> Value:
    if isinstance(start, Value) or isinstance(stop, Value):
        raise Refused("a linspace between tensors")
    step = (stop - start) / (steps - 1) if steps > 1 else 0.0
    return convert(arange_of(steps, float(start), float(step), DType.F64), result.dtype)


@aten("eye")
def eye(*_: object, result: TensorType, **__: object) -> Value:
    return convert(op.eq(*_places(result.shape)), result.dtype)


@aten("tril")
def tril(x: Value, diagonal: Dim = 0) -> Value:
    if isinstance(diagonal, int):
        return call(ops.tri, x, upper=False, diagonal=diagonal)
    row, column = _places(x.type.shape[-2:])
    return call(op.where, op.le(column, _shifted(row, diagonal)), x, literal(0, x.type.dtype))


@aten("triu")
def triu(x: Value, diagonal: Dim = 0) -> Value:
    if isinstance(diagonal, int):
        return call(ops.tri, x, upper=True, diagonal=diagonal)
    row, column = _places(x.type.shape[-2:])
    return call(op.where, op.ge(column, _shifted(row, diagonal)), x, literal(0, x.type.dtype))


def _shifted(x: Value, by: Dim) -> Value:
    return call(op.add, x, tensor(by, DType.I64))


def _places(shape: Sequence[Dim]) -> tuple[Value, Value]:
    """The row `[rows, 1]` and the column `[1, columns]` of each place."""
    rows, columns = shape
    return shaped(arange_of(rows), (rows, 1)), shaped(arange_of(columns), (1, columns))


@aten("one_hot")
def one_hot(x: Value, classes: int = -1) -> Value:
    if classes < 0:
        raise Refused("a one_hot whose number of classes depends on the data")
    return call(ops.one_hot, x, depth=classes, dtype=DType.I64)
