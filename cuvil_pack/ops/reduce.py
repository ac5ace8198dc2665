"""Reductions over axes. The reduced axes stay, with size 1."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ir import scalar
from ..ir.graph import op
from ..ir.scalar import Scalar
from ..ir.size import Dim, product
from ..ir.types import TensorType

Axes = tuple[int, ...]
NUMPY_REDUCTIONS = {"sum": np.sum, "prod": np.prod, "max": np.max, "min": np.min, "any": np.any, "all": np.all}


def kept(x: TensorType, axes: Axes) -> tuple[Dim, ...]:
    return tuple(1 if n in axes else d for n, d in enumerate(x.shape))


def _infer_reduce(x: TensorType, *, kind: str, axes: Axes) -> TensorType:
    if kind not in scalar.REDUCTIONS:
        raise TypeError(f"no reduction {kind!r}; there are {', '.join(scalar.REDUCTIONS)}")
    if any(a < 0 or a >= x.rank for a in axes):
        raise TypeError(f"axes {axes} of {x}")
    return x.with_shape(kept(x, axes))


def _reduce_element(at: tuple[Dim, ...], x: Any, kind: str, axes: Axes) -> Scalar:
    def body(*inner: Dim) -> Scalar:
        indices = iter(inner)
        result: Scalar = x(*(next(indices) if n in axes else i for n, i in enumerate(at)))
        return result

    return scalar.reduce(kind, tuple(x.type.shape[a] for a in axes), body)


@op(_infer_reduce, element=_reduce_element, anchor=True, flops=lambda x, **_: x.numel)
def reduce(x: Any, *, kind: str, axes: Axes) -> Any:
    """`kind` is sum, prod, max, min, any or all. Sums of floats are accurate to about `log2(n)` roundings."""
    wide = np.float64 if x.dtype == np.float32 and kind in ("sum", "prod") else x.dtype
    if x.size == 0 and kind in ("max", "min"):
        return np.full([1 if n in axes else d for n, d in enumerate(x.shape)], scalar.REDUCTIONS[kind][1], x.dtype)
    return NUMPY_REDUCTIONS[kind](x.astype(wide), axis=axes, keepdims=True).astype(x.dtype)  # type: ignore[operator]


def mean(x: Any, axes: Axes) -> Any:
    """The mean over `axes`, which stay with size 1, said with smaller ops."""
    from .elementwise import cast, mul, reciprocal
    from .indexing import size

    count = product(x.type.shape[a] for a in axes)
    total = reduce(x, kind="sum", axes=axes)
    if isinstance(count, int):
        return mul(total, 1.0 / count if count else float("nan"))
    return mul(total, reciprocal(cast(size.node(dim=count), dtype=x.type.dtype)))
