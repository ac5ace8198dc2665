"""Reductions that are said with smaller ones: variance, norms, logsumexp. The reduced axes stay, with size 1."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..ir.graph import op
from ..ir.size import product
from ..ir.types import TensorType
from .elementwise import abs_, add, cast, eq, exp, log, maximum, mul, ne, pow_, reciprocal, sqrt, sub, where
from .indexing import size
from .reduce import Axes, kept, mean, reduce


def _infer(x: TensorType, *, axes: Axes, **attrs: Any) -> TensorType:
    if not x.dtype.is_float:
        raise TypeError(f"{x} is not of floats")
    if any(a < 0 or a >= x.rank for a in axes):
        raise TypeError(f"axes {axes} of {x}")
    return x.with_shape(kept(x, axes))


def _variance(x: Any, axes: Axes, correction: float) -> Any:
    centred = sub(x, mean(x, axes))
    total = reduce(mul(centred, centred), kind="sum", axes=axes)
    count = product(x.type.shape[a] for a in axes)
    if isinstance(count, int):
        return mul(total, 1.0 / (count - correction) if count > correction else math.inf)
    freedom = sub(cast(size.node(dim=count), dtype=x.type.dtype), float(correction))
    return mul(total, reciprocal(maximum(freedom, 0.0)))


@op(
    _infer,
    decompose=_variance,
    examples=("f32[4, 8], axes=(1,)", "f32[batch, 3, seq], axes=(0, 2), correction=0", "f32[3, 1], axes=(1,)"),
)
def variance(x: Any, *, axes: Axes, correction: float = 1) -> Any:
    """The sum of squared distances from the mean over `count - correction`; nan where that is not positive."""
    wide = x.astype(np.float64)
    count = math.prod(x.shape[a] for a in axes)
    total = ((wide - wide.mean(axes, keepdims=True)) ** 2).sum(axes, keepdims=True)
    return (total * np.divide(1.0, max(count - correction, 0.0))).astype(x.dtype)


@op(
    _infer,
    decompose=lambda x, axes, correction: sqrt(variance(x, axes=axes, correction=correction)),
    examples=("f32[4, 8], axes=(0, 1)", "f32[batch, 5], axes=(1,), correction=0"),
)
def standard_deviation(x: Any, *, axes: Axes, correction: float = 1) -> Any:
    """The standard deviation: the square root of the variance."""
    return np.sqrt(variance(x, axes=axes, correction=correction))


def _logsumexp(x: Any, axes: Axes) -> Any:
    greatest = reduce(x, kind="max", axes=axes)
    shift = where(eq(abs_(greatest), math.inf), 0.0, greatest)
    return add(log(reduce(exp(sub(x, shift)), kind="sum", axes=axes)), shift)


@op(_infer, decompose=_logsumexp, examples=("f32[4, 8], axes=(1,)", "f32[batch, seq, 3], axes=(1, 2)"))
def logsumexp(x: Any, *, axes: Axes) -> Any:
    """`log(sum(exp(x)))` over `axes`, without overflow."""
    wide = x.astype(np.float64)
    greatest = wide.max(axes, keepdims=True)
    shift = np.where(np.isinf(greatest), 0.0, greatest)
    return (np.log(np.exp(wide - shift).sum(axes, keepdims=True)) + shift).astype(x.dtype)


def _norm(x: Any, axes: Axes, order: float) -> Any:
    size_of = abs_(x)
    if order in (math.inf, -math.inf):
        return reduce(size_of, kind="max" if order > 0 else "min", axes=axes)
    if order == 0:
        return reduce(cast(ne(x, 0.0), dtype=x.type.dtype), kind="sum", axes=axes)
    if order == 1:
        return reduce(size_of, kind="sum", axes=axes)
    if order == 2:
        return sqrt(reduce(mul(x, x), kind="sum", axes=axes))
    return pow_(reduce(pow_(size_of, float(order)), kind="sum", axes=axes), 1.0 / order)


@op(
    _infer,
    decompose=_norm,
    examples=(
        "f32[4, 8], axes=(1,)",
        "f32[batch, 3, seq], axes=(1, 2), order=1",
        "f32[4, 5], axes=(0,), order=3",
        "f32[4, 5], axes=(0, 1), order=float('inf')",
        "f32[4, 5], axes=(1,), order=float('-inf')",
        "f32[4, 5], axes=(1,), order=0",
    ),
)
def norm(x: Any, *, axes: Axes, order: float = 2) -> Any:
    """`sum(|x|**order) ** (1/order)`; inf and -inf give the greatest and the least `|x|`, 0 counts what is not 0."""
    wide = np.abs(x.astype(np.float64))
    if order in (math.inf, -math.inf):
        return (wide.max if order > 0 else wide.min)(axes, keepdims=True).astype(x.dtype)
    if order == 0:
        return (wide != 0).sum(axes, keepdims=True).astype(x.dtype)
    return ((wide**order).sum(axes, keepdims=True) ** (1.0 / order)).astype(x.dtype)
