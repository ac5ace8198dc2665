"""Reductions, softmax and what is made of them."""

from __future__ import annotations

from collections.abc import Sequence

from ...ir import size
from ...ir.graph import Op, Value
from ...ir.types import DType
from ...ops import normalize, statistics
from ...ops import reduce as ops
from .operand import axes_of, axis_of, call, convert, floating, literal, shaped
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


def spread_of(which: Op, x: Value, axes: Axes, correction: float | None, keepdim: bool) -> Value:
    """Variance or standard deviation over `axes`."""
    along = axes_of(axes, x.type.rank)
    value = call(which, x, axes=along, correction=float(1 if correction is None else correction))
    return value if keepdim else dropped(value, along)


@aten("var.correction")
def var(x: Value, axes: Axes = None, *, correction: float | None = 1, keepdim: bool = False) -> Value:
    return spread_of(statistics.variance, x, axes, correction, keepdim)


@aten("var")
def var_of_all(x: Value, unbiased: bool = True) -> Value:
    return var(x, correction=int(unbiased))


@aten("var.dim")
def var_dim(x: Value, axes: Axes, unbiased: bool = True, keepdim: bool = False) -> Value:
    return var(x, axes, correction=int(unbiased), keepdim=keepdim)


@aten("std.correction")
def std(x: Value, axes: Axes = None, *, correction: float | None = 1, keepdim: bool = False) -> Value:
    return spread_of(statistics.standard_deviation, x, axes, correction, keepdim)


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
    return var(x, axes, correction=correction, keepdim=keepdim), mean(x, axes, keepdim)


@aten("linalg_vector_norm")
def vector_norm(
    x: Value, order: float = 2, axes: Axes = None, keepdim: bool = False, *, dtype: DType | None = None
) -> Value:
    along = axes_of(axes, x.type.rank)
    value = call(statistics.norm, convert(x, dtype or x.type.dtype), axes=along, order=float(order))
    return value if keepdim else dropped(value, along)


@aten("norm")
def norm(
    x: Value, order: float | None = 2, axes: Axes = None, keepdim: bool = False, *, dtype: DType | None = None
) -> Value:
    return vector_norm(x, 2 if order is None else order, axes, keepdim, dtype=dtype)


@aten("logsumexp")
def logsumexp(x: Value, axes: Axes, keepdim: bool = False) -> Value:
    along = axes_of(axes, x.type.rank)
    value = call(statistics.logsumexp, floating(x), axes=along)
    return value if keepdim else dropped(value, along)


@aten("argmax")
def argmax(x: Value, axis: int | None = None, keepdim: bool = False) -> Value:
    return _position(x, "max", axis, keepdim)


@aten("argmin")
def argmin(x: Value, axis: int | None = None, keepdim: bool = False) -> Value:
    return _position(x, "min", axis, keepdim)


def _position(x: Value, kind: str, axis: int | None, keepdim: bool) -> Value:
    if axis is None:
        place = call(ops.argreduce, shaped(x, (size.product(x.type.shape),)), kind=kind, axis=0)
        return shaped(place, (1,) * x.type.rank if keepdim else ())
    if x.type.rank == 0:
        return literal(0, DType.I64)
    at = axis_of(axis, x.type.rank)
    place = call(ops.argreduce, x, kind=kind, axis=at)
    return place if keepdim else dropped(place, (at,))


@aten("max.dim")
def max_dim(x: Value, axis: int, keepdim: bool = False) -> tuple[Value, Value]:
    return reduced(x, "max", axis, keepdim), _position(x, "max", axis, keepdim)


@aten("min.dim")
def min_dim(x: Value, axis: int, keepdim: bool = False) -> tuple[Value, Value]:
    return reduced(x, "min", axis, keepdim), _position(x, "min", axis, keepdim)


@aten("aminmax")
def aminmax(x: Value, *, dim: int | None = None, keepdim: bool = False) -> tuple[Value, Value]:
    return reduced(x, "min", dim, keepdim), reduced(x, "max", dim, keepdim)


@aten("cumsum")
def cumsum(x: Value, axis: int, *, dtype: DType | None = None) -> Value:
    return _cumulative(x, "sum", axis, dtype)


@aten("cumprod")
def cumprod(x: Value, axis: int, *, dtype: DType | None = None) -> Value:
    return _cumulative(x, "prod", axis, dtype)


@aten("cummax")
def cummax(x: Value, axis: int) -> tuple[Value]:
    return (_cumulative(x, "max", axis, x.type.dtype),)


@aten("cummin")
def cummin(x: Value, axis: int) -> tuple[Value]:
    return (_cumulative(x, "min", axis, x.type.dtype),)


def _cumulative(x: Value, kind: str, axis: int, dtype: DType | None) -> Value:
    x = convert(x, dtype or (x.type.dtype if x.type.dtype.is_float else DType.I64))
    return x if x.type.rank == 0 else call(ops.cumulative, x, kind=kind, axis=axis_of(axis, x.type.rank))


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
