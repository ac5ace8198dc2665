"""Reading at indices that are data, and tensors made from indices."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ir import scalar
from ..ir.graph import op
from ..ir.scalar import Scalar, cast, constant, position
from ..ir.size import Dim
from ..ir.types import DType, TensorType

INDEX_TYPES = (DType.I64, DType.I32)


def _infer_gather(x: TensorType, indices: TensorType, *, axis: int = 0) -> TensorType:
    if indices.dtype not in INDEX_TYPES:
        raise TypeError(f"indices are i64 or i32, not {indices.dtype.value}")
    return x.with_shape((*x.with_axis(axis, 1).shape[:axis], *indices.shape, *x.shape[axis + 1 :]))


def _gather_element(at: tuple[Dim, ...], x: Any, indices: Any, axis: int) -> Scalar:
    rank = indices.type.rank
    chosen = indices(*at[axis : axis + rank])
    result: Scalar = x(*at[:axis], chosen, *at[axis + rank :])
    return result


@op(
    _infer_gather,
    element=_gather_element,
    examples=("f32[10, 4], i64[3, 2]", "f32[batch, 5, 3], i32[4], axis=1", "i64[6], i64[()]"),
)
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
    examples=(
        "f32[4, 5], i64[4, 2], axis=1",
        "f32[5, 4, 3], i64[2, 4, 2], axis=0",
        "i64[batch, 3], i32[batch, 3], axis=1",
    ),
)
def take_along(x: Any, indices: Any, *, axis: int) -> Any:
    """`result[i, j, k] = x[i, indices[i, j, k], k]` for axis 1: one index an element."""
    inner = tuple(slice(n) if d != axis else slice(None) for d, n in enumerate(indices.shape))
    return np.take_along_axis(x[inner], indices, axis)


def _infer_iota(*, shape: tuple[Dim, ...], axis: int, dtype: DType) -> TensorType:
    return TensorType(dtype, shape)


@op(
    _infer_iota,
    element=lambda at, shape, axis, dtype: cast(position(at[axis]), dtype),
    examples=("shape=(5,)", "shape=(3, 4), axis=1, dtype=f32", "shape=(2, 3), axis=0, dtype=i32"),
)
def iota(*, shape: tuple[int, ...], axis: int = 0, dtype: DType = DType.I64) -> Any:
    """The index along `axis`, as numbers."""
    line = np.arange(shape[axis]).reshape([-1 if n == axis else 1 for n in range(len(shape))])
    return np.broadcast_to(line, shape).astype(dtype.numpy)


@op(lambda dim: TensorType(DType.I64, ()), element=lambda at, dim: position(dim), examples=("dim=7",))
def size(*, dim: Dim) -> Any:
    """A size as a number."""
    return np.int64(dim)  # type: ignore[arg-type]


@op(
    lambda shape, value, dtype: TensorType(dtype, shape),
    element=lambda at, shape, value, dtype: constant(value, dtype),
    examples=(
        "shape=(3, 5), value=2.5, dtype=f32",
        "shape=(), value=-1, dtype=i64",
        "shape=(2, 0), value=True, dtype=bool",
    ),
)
def full(*, shape: tuple[int, ...], value: float | int | bool, dtype: DType) -> Any:
    """One number everywhere."""
    return np.full(shape, value, dtype.numpy)


def _infer_one_hot(indices: TensorType, *, depth: Dim, dtype: DType) -> TensorType:
    if indices.dtype not in INDEX_TYPES:
        raise TypeError(f"indices are i64 or i32, not {indices.dtype.value}")
    return TensorType(dtype, (*indices.shape, depth))


@op(
    _infer_one_hot,
    element=lambda at, indices, depth, dtype: cast(indices(*at[:-1]) == position(at[-1], indices.type.dtype), dtype),
    examples=("i64[4, 3], depth=6, dtype=f32", "i32[batch], depth=4, dtype=i64", "i64[()], depth=5, dtype=bool"),
)
def one_hot(indices: Any, *, depth: int, dtype: DType = DType.I64) -> Any:
    """1 at each index along a new last axis of size `depth`, else 0; all 0 where the index is outside."""
    return (np.asarray(indices)[..., None] == np.arange(depth)).astype(dtype.numpy)


def _infer_tri(x: TensorType, *, upper: bool, diagonal: int = 0) -> TensorType:
    if x.rank < 2:
        raise TypeError(f"{x} is no matrix")
    return x


def _tri_element(at: tuple[Dim, ...], x: Any, upper: bool, diagonal: int) -> Scalar:
    row, column = position(at[-2]) + diagonal, position(at[-1])
    kept: Scalar = scalar.where(column >= row if upper else column <= row, x(*at), constant(0, x.type.dtype))
    return kept


@op(
    _infer_tri,
    element=_tri_element,
    examples=(
        "f32[4, 6], upper=False",
        "f32[batch, 5, 3], upper=True, diagonal=1",
        "i64[seq, seq], upper=False, diagonal=-1",
        "bool[3, 3], upper=True",
    ),
)
def tri(x: Any, *, upper: bool, diagonal: int = 0) -> Any:
    """The lower (or `upper`) triangle of each matrix up to a diagonal, 0 beyond; diagonal 1 lies above the main one."""
    return (np.triu if upper else np.tril)(x, diagonal)


@op(
    lambda x, boundaries, right=False: x.with_dtype(DType.I64),
    element=lambda at, x, boundaries, right: _count_below(x(*at), boundaries, right),
    examples=("f32[4, 3], f32[6]", "i64[batch], i64[4], right=True"),
)
def bucketize(x: Any, boundaries: Any, *, right: bool = False) -> Any:
    """How many of the sorted `boundaries` lie below each element, or at it where `right`; all of them for nan."""
    return np.searchsorted(boundaries, x, "right" if right else "left")


def _count_below(x: Scalar, boundaries: Any, right: bool) -> Scalar:
    def below(i: Dim) -> Scalar:
        return cast(~(boundaries(i) > x) if right else ~(boundaries(i) >= x), DType.I64)  # type: ignore[no-any-return]

    return scalar.reduce("sum", boundaries.type.shape, below)
