"""Reading at indices that are data, and tensors made from indices."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ir.graph import op
from ..ir.scalar import Scalar, cast, position
from ..ir.size import Dim
from ..ir.types import DType, TensorType


def _infer_gather(x: TensorType, indices: TensorType, *, axis: int = 0) -> TensorType:
    if indices.dtype not in (DType.I64, DType.I32):
        raise TypeError(f"indices are i64 or i32, not {indices.dtype.value}")
    return x.with_shape((*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]))


def _gather_element(at: tuple[Dim, ...], x: Any, indices: Any, axis: int) -> Scalar:
    rank = indices.type.rank
    chosen = indices(*at[axis : axis + rank])
    result: Scalar = x(*at[:axis], chosen, *at[axis + rank :])
    return result


@op(_infer_gather, element=_gather_element)
def gather(x: Any, indices: Any, *, axis: int = 0) -> Any:
    """Slices of `x` along `axis` at `indices` in `[0, size)`; another index is an error of the call."""
    return np.take(x, indices, axis)


def _infer_take_along(x: TensorType, indices: TensorType, *, axis: int) -> TensorType:
    if indices.rank != x.rank:
        raise TypeError(f"{x} and indices {indices} differ in rank")
    return x.with_shape(indices.shape)


@op(
    _infer_take_along,
    element=lambda at, x, indices, axis: x(*at[:axis], indices(*at), *at[axis + 1 :]),
)
def take_along(x: Any, indices: Any, *, axis: int) -> Any:
    """`result[i, j, k] = x[i, indices[i, j, k], k]` for axis 1: one index an element."""
    inner = tuple(slice(n) if d != axis else slice(None) for d, n in enumerate(indices.shape))
    return np.take_along_axis(x[inner], indices, axis)


def _infer_iota(*, shape: tuple[Dim, ...], axis: int, dtype: DType) -> TensorType:
    return TensorType(dtype, shape)


@op(_infer_iota, element=lambda at, shape, axis, dtype: cast(position(at[axis]), dtype))
def iota(*, shape: tuple[Dim, ...], axis: int = 0, dtype: DType = DType.I64) -> Any:
    """The index along `axis`, as numbers."""
    line = np.arange(shape[axis]).reshape([-1 if n == axis else 1 for n in range(len(shape))])
    return np.broadcast_to(line, shape).astype(dtype.numpy)


@op(lambda dim: TensorType(DType.I64, ()), element=lambda at, dim: position(dim))
def size(*, dim: Dim) -> Any:
    """A size as a number."""
    return np.int64(dim)  # type: ignore[arg-type]
