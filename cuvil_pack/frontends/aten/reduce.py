"""Reductions, softmax and what is made of them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...ir import size
from ...ir.graph import Value
from ...ir.types import DType
from ...ops import elementwise as op
from ...ops import normalize
from ...ops import reduce as ops
from .operand import axes_of, axis_of, call, convert, floating, literal, shaped, tensor
from .table import aten

Axes = int | Sequence[int] | None


def reduced(x: Value, kind: str, axes: Axes, keepdim: bool) -> Value:
    """`kind` over `axes` (all, where there are none), which go unless `keepdim`."""
    along = axes_of(axes, x.type.rank)
    value: Value = ops.reduce(x, kind=kind, axes=along) if along else x
    return value if keepdim else dropped(value, along)


def dropped(x: Value, axes: Sequence[int]) -> Value:
    """`x` without these axes of size 1."""
    return shaped(x, (d for n, d in enumerate(x.type.shape) if n not in axes))


@aten("sum")
def sum_(x: Value, axes: Axes = None, keepdim: bool = False, *, dtype: DType | None = None) -> Value:
    wide = dtype or (x.type.dtype if x.type.dtype.is_float else DType.I64)
    return reduced(convert(x, wide), "sum", axes, keepdim)


@aten("mean")
def mean(x: Value, axes: Axes = None, keepdim: bool = False, *, dtype: DType | None = None) -> Value:
    x = convert(x, dtype or x.type.dtype)
    along = axes_of(axes, x.type.rank)
    if not along:
        return x
    value: Value = ops.mean(x, along)
    return value if keepdim else dropped(value, along)


@aten("prod")
def prod(x: Value, axes: Axes = None, keepdim: bool = False, *, dtype: DType | None = None) -> Value:
    wide = dtype or (x.type.dtype if x.type.dtype.is_float else DType.I64)
    return reduced(convert(x, wide), "prod", axes, keepdim)


@aten("amax")
def amax(x: Value, axes: Axes = None, keepdim: bool = False) -> Value:
    return reduced(x, "max", axes, keepdim)


@aten("amin")
def amin(x: Value, axes: Axes = None, keepdim: bool = False) -> Value:
    return reduced(x, "min", axes, keepdim)


@aten("max")
def max_(x: Value) -> Value:
    return reduced(x, "max", None, False)


@aten("min")
def min_(x: Value) -> Value:
    return reduced(x, "min", None, False)


@aten("max.other")
def max_other(a: Value, b: Value) -> Value:
    from .arithmetic import maximum

    return maximum(a, b)


@aten("min.other")
def min_other(a: Value, b: Value) -> Value:
    from .arithmetic import minimum

    return minimum(a, b)


@aten("any")
def any_(x: Value, axes: Axes = None, keepdim: bool = False) -> Value:
    return reduced(convert(x, DType.BOOL), "any", axes, keepdim)


@aten("all")
def all_(x: Value, axes: Axes = None, keepdim: bool = False) -> Value:
    return reduced(convert(x, DType.BOOL), "all", axes, keepdim)


def variance(x: Value, axes: Axes, correction: float | None) -> tuple[Value, Value]:
    """Variance and mean; the axes stay."""
    along = axes_of(axes, x.type.rank)
    centre: Value = ops.mean(x, along)
    away = op.sub(x, centre)
    total = ops.reduce(op.mul(away, away), kind="sum", axes=along)
    lost = 1 if correction is None else int(correction)
    freedom = size.product(x.type.shape[a] for a in along) - lost
    if isinstance(freedom, int):
        divisor: Value = literal(max(freedom, 0), x.type.dtype)
    else:
        divisor = op.maximum(tensor(freedom, x.type.dtype), literal(0, x.type.dtype))
    return op.div(total, divisor), centre


@aten("var.correction")
def var(x: Value, axes: Axes = None, *, correction: float | None = 1, keepdim: bool = False) -> Value:
    value, _ = variance(x, axes, correction)
    return value if keepdim else dropped(value, axes_of(axes, x.type.rank))


@aten("var")
def var_of_all(x: Value, unbiased: bool = True) -> Value:
    return var(x, correction=int(unbiased))


@aten("var.dim")
def var_dim(x: Value, axes: Axes, unbiased: bool = True, keepdim: bool = False) -> Value:
    return var(x, axes, correction=int(unbiased), keepdim=keepdim)


@aten("std.correction")
def std(x: Value, axes: Axes = None, *, correction: float | None = 1, keepdim: bool = False) -> Value:
    return call(op.sqrt, var(x, axes, correction=correction, keepdim=keepdim))


@aten("std")
def std_of_all(x: Value, unbiased: bool = True) -> Value:
    return std(x, correction=int(unbiased))


@aten("std.dim")
def std_dim(x: Value, axes: Axes, unbiased: bool = True, keepdim: bool = False) -> Value:
    return std(x, axes, correction=int(unbiased), keepdim=keepdim)


@aten("var_mean.correction")
def var_mean(
    x: Value, axes: Axes = None, *, correction: float | None = 1, keepdim: bool = False
) -> tuple[Value, Value]:
    value, centre = variance(x, axes, correction)
    along = axes_of(axes, x.type.rank)
    return (value, centre) if keepdim else (dropped(value, along), dropped(centre, along))


@aten("linalg_vector_norm")
def vector_norm(
    x: Value, order: float = 2, axes: Axes = None, keepdim: bool = False, *, dtype: DType | None = None
) -> Value:
    x = convert(x, dtype or x.type.dtype)
    if order == 2:
        return call(op.sqrt, reduced(op.mul(x, x), "sum", axes, keepdim))
    size_of = op.abs_(x)
    if order == math.inf:
        return reduced(size_of, "max", axes, keepdim)
    if order == -math.inf:
        return reduced(size_of, "min", axes, keepdim)
    if order == 0:
        return reduced(convert(op.ne(x, literal(0, x.type.dtype)), x.type.dtype), "sum", axes, keepdim)
    if order == 1:
        return reduced(size_of, "sum", axes, keepdim)
    powers = op.pow_(size_of, literal(order, x.type.dtype))
    return call(op.pow_, reduced(powers, "sum", axes, keepdim), literal(1 / order, x.type.dtype))


@aten("norm")
def norm(
    x: Value, order: float | None = 2, axes: Axes = None, keepdim: bool = False, *, dtype: DType | None = None
) -> Value:
    return vector_norm(x, 2 if order is None else order, axes, keepdim, dtype=dtype)


@aten("logsumexp")
def logsumexp(x: Value, axes: Axes, keepdim: bool = False) -> Value:
    along = axes_of(axes, x.type.rank)
    x = floating(x)
    top = ops.reduce(x, kind="max", axes=along)
    bounded = op.where(op.isinf(top), literal(0, x.type.dtype), top)
    total = ops.reduce(op.exp(op.sub(x, bounded)), kind="sum", axes=along)
    value: Value = op.add(op.log(total), bounded)
    return value if keepdim else dropped(value, along)


@aten("softmax", "_softmax", "special_softmax", "_safe_softmax")
def softmax(x: Value, axis: int, dtype: DType | bool | None = None) -> Value:
    x = convert(x, dtype) if isinstance(dtype, DType) else floating(x)
    if x.type.rank == 0:
        return literal(1, x.type.dtype)
    return call(normalize.softmax, x, axis=axis_of(axis, x.type.rank))


@aten("log_softmax", "_log_softmax", "special_log_softmax")
def log_softmax(x: Value, axis: int, dtype: DType | bool | None = None) -> Value:
    x = convert(x, dtype) if isinstance(dtype, DType) else floating(x)
    if x.type.rank == 0:
        return literal(0, x.type.dtype)
    return call(normalize.log_softmax, x, axis=axis_of(axis, x.type.rank))
