"""Reductions over axes. The reduced axes stay, with size 1."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..ir import scalar
from ..ir.graph import op
from ..ir.scalar import Scalar
from ..ir.size import Dim, floordiv, product
from ..ir.types import DType, TensorType

Axes = tuple[int, ...]
NUMPY_REDUCTIONS = {"sum": np.sum, "prod": np.prod, "max": np.max, "min": np.min, "any": np.any, "all": np.all}


def kept(x: TensorType, axes: Axes) -> tuple[Dim, ...]:
    return tuple(1 if n in axes else d for n, d in enumerate(x.shape))


def _infer_reduce(x: TensorType, *, kind: str, axes: Axes) -> TensorType:
    if kind not in scalar.REDUCTIONS:
        raise TypeError(f"no reduction {kind!r}; there are {', '.join(scalar.REDUCTIONS)}")
    if (x.dtype is DType.BOOL) != (kind in ("any", "all")):
        raise TypeError(f"{kind} of {x}: any and all are of bool, the others of numbers")
    if any(a < 0 or a >= x.rank for a in axes):
        raise TypeError(f"axes {axes} of {x}")
    return x.with_shape(kept(x, axes))


def _reduce_element(at: tuple[Dim, ...], x: Any, kind: str, axes: Axes) -> Scalar:
    def body(*inner: Dim) -> Scalar:
        indices = iter(inner)
        result: Scalar = x(*(next(indices) if n in axes else i for n, i in enumerate(at)))
        return result

    return scalar.reduce(kind, tuple(x.type.shape[a] for a in axes), body)


@op(
    _infer_reduce,
    element=_reduce_element,
    anchor=True,
    flops=lambda x, **_: x.numel,
    examples=(
        'f32[4, 8], kind="sum", axes=(1,)',
        'f32[batch, 3, 5], kind="sum", axes=(0, 2)',
        'f32[4, 3], kind="prod", axes=(0,)',
        'f32[batch, 70], kind="max", axes=(1,)',
        'i32[4, 8], kind="min", axes=(0, 1)',
        'bool[4, 8], kind="any", axes=(1,)',
        'bool[batch, 3], kind="all", axes=(0,)',
        'i64[5], kind="sum", axes=()',
        'f32[3, 0], kind="sum", axes=(1,)',
        'f16[4, 9], kind="sum", axes=(1,)',
    ),
)
def reduce(x: Any, *, kind: str, axes: Axes) -> Any:
    """`kind` is sum, prod, max, min, any or all. Sums of floats are accurate to about `log2(n)` roundings."""
    wide = np.float64 if x.dtype == np.float32 and kind in ("sum", "prod") else x.dtype
    if x.size == 0 and kind in ("max", "min"):
        return np.full([1 if n in axes else d for n, d in enumerate(x.shape)], scalar.REDUCTIONS[kind][1], x.dtype)
    return NUMPY_REDUCTIONS[kind](x.astype(wide), axis=axes, keepdims=True).astype(x.dtype)  # type: ignore[operator]


def _infer_argreduce(x: TensorType, *, kind: str, axis: int) -> TensorType:
    if kind not in ("max", "min"):
        raise TypeError(f"no argreduce {kind!r}: max or min")
    return x.with_axis(axis, 1).with_dtype(DType.I64)


def _argreduce_element(at: tuple[Dim, ...], x: Any, kind: str, axis: int) -> Scalar:
    return scalar.argreduce(kind, x.type.shape[axis], lambda i: x(*at[:axis], i, *at[axis + 1 :]))


@op(
    _infer_argreduce,
    element=_argreduce_element,
    anchor=True,
    flops=lambda x, **_: x.numel,
    examples=('f32[4, 8], kind="max", axis=1', 'f32[batch, 3, 5], kind="min", axis=0', 'i64[7], kind="max", axis=0'),
)
def argreduce(x: Any, *, kind: str, axis: int) -> Any:
    """The index of the greatest ("max") or least ("min") element along `axis`, which stays with size 1.

    The first of equals; the first nan where there is one.
    """
    return (np.argmax if kind == "max" else np.argmin)(x, axis, keepdims=True)


CUMULATIVE: dict[str, Callable[..., Any]] = {
    "sum": np.cumsum,
    "prod": np.cumprod,
    "max": np.maximum.accumulate,
    "min": np.minimum.accumulate,
}


def _infer_cumulative(x: TensorType, *, kind: str, axis: int) -> TensorType:
    if kind not in CUMULATIVE or x.dtype is DType.BOOL:
        raise TypeError(f"no cumulative {kind!r} of {x}; there are {', '.join(CUMULATIVE)}, of numbers")
    return x.with_axis(axis, x.shape[axis])


def _cumulative_element(at: tuple[Dim, ...], x: Any, kind: str, axis: int) -> Scalar:
    return scalar.reduce(kind, (at[axis] + 1,), lambda i: x(*at[:axis], i, *at[axis + 1 :]))


@op(
    _infer_cumulative,
    element=_cumulative_element,
    anchor=True,
    flops=lambda x, axis, **_: floordiv(x.numel * (x.shape[axis] + 1), 2),
    examples=(
        'f32[4, 9], kind="sum", axis=1',
        'f32[batch, 3, 2], kind="prod", axis=0',
        'i64[batch, seq], kind="sum", axis=1',
        'f32[3, 6], kind="max", axis=1',
    ),
)
def cumulative(x: Any, *, kind: str, axis: int) -> Any:
    """The reduction (sum, prod, max, min) of the elements up to each index of `axis`.

    Index notation takes time quadratic in the axis; a kernel that carries the result along takes linear time.
    """
    wide = np.float64 if x.dtype == np.float32 else np.float32 if x.dtype == np.float16 else x.dtype
    return CUMULATIVE[kind](x.astype(wide), axis=axis).astype(x.dtype)


def mean(x: Any, axes: Axes) -> Any:
    """The mean over `axes`, which stay with size 1, said with smaller ops."""
    from .elementwise import cast, mul, reciprocal
    from .indexing import size

    count = product(x.type.shape[a] for a in axes)
    total = reduce(x, kind="sum", axes=axes)
    if isinstance(count, int):
        return mul(total, 1.0 / count if count else float("nan"))
    return mul(total, reciprocal(cast(size.node(dim=count), dtype=x.type.dtype)))
