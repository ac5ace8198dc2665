"""Sampling at places that are data, channels last."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product as cartesian
from typing import Any

import numpy as np

from ..ir import scalar
from ..ir.graph import op
from ..ir.scalar import Scalar, cast, like, position, select
from ..ir.size import Dim
from ..ir.types import DType, TensorType

Read = Callable[[tuple[Any, ...], Any], Any]


def _infer(
    x: TensorType, grid: TensorType, *, mode: str = "linear", padding: str = "zeros", align_corners: bool = False
) -> TensorType:
    if mode not in ("linear", "nearest") or padding not in ("zeros", "border"):
        raise TypeError(f"mode {mode!r} with padding {padding!r}: linear or nearest with zeros or border is wanted")
    if grid.dtype != x.dtype or grid.rank != x.rank or grid.shape[0] != x.shape[0] or grid.shape[-1] != x.rank - 2:
        raise TypeError(f"the grid of {x} is {x.dtype.value}[{x.shape[0]}, *places, {x.rank - 2}], not {grid}")
    return x.with_shape((*grid.shape[:-1], x.shape[-1]))


def sample(read: Read, points: list[Any], sizes: list[Any], mode: str, padding: str, align_corners: bool) -> Any:
    """The value at `points` in `[-1, 1]`, a coordinate an axis; `read(indices, inside)` gives 0 where outside."""
    spots = []
    for point, size in zip(points, sizes, strict=True):
        at = (point + 1) * ((size - 1) * 0.5) if align_corners else ((point + 1) * size - 1) * 0.5
        spots.append(scalar.minimum(scalar.maximum(at, 0), size - 1) if padding == "border" else at)
    if mode == "nearest":
        return corner(read, [scalar.rint(at) for at in spots], sizes)
    low = [scalar.floor(at) for at in spots]
    shares = [at - below for at, below in zip(spots, low, strict=True)]
    total: Any = None
    for above in cartesian((0, 1), repeat=len(spots)):
        value = corner(read, [below + n for below, n in zip(low, above, strict=True)], sizes)
        for share, n in zip(shares, above, strict=True):
            value = value * (share if n else 1 - share)
        total = value if total is None else total + value
    return total


def corner(read: Read, at: list[Any], sizes: list[Any]) -> Any:
    """The element at whole coordinates, 0 outside."""
    inside: Any = None
    for i, size in zip(at, sizes, strict=True):
        here = (i >= 0) & (i < size)
        inside = here if inside is None else inside & here
    indices = [
        scalar.minimum(scalar.maximum(cast(i, DType.I64), 0), cast(size, DType.I64) - 1)
        for i, size in zip(at, sizes, strict=True)
    ]
    return read(tuple(indices), inside)


def _element(at: tuple[Dim, ...], x: Any, grid: Any, mode: str, padding: str, align_corners: bool) -> Scalar:
    n, *places, c = at
    sizes = [position(d, x.type.dtype) for d in x.type.shape[1:-1]]
    points = [grid(n, *places, axis) for axis in reversed(range(len(sizes)))]

    def read(indices: tuple[Any, ...], inside: Any) -> Scalar:
        return select(inside, lambda: x(n, *indices, c), scalar.constant(0, x.type.dtype))

    result: Scalar = sample(read, points, sizes, mode, padding, align_corners)
    return result


@op(
    _infer,
    element=_element,
    examples=(
        "f32[2, 4, 5, 3], f32[2, 3, 6, 2]",
        'f32[batch, 4, 5, 3], f32[batch, 3, 2, 2], padding="border", align_corners=True',
        'f32[1, h, w, 2], f32[1, 3, 3, 2], mode="nearest"',
        'f32[1, 4, 5, 2], f32[1, 3, 3, 2], mode="nearest", padding="border"',
        "f32[1, 3, 4, 5, 2], f32[1, 2, 2, 3, 3]",
    ),
)
def grid_sample(x: Any, grid: Any, *, mode: str = "linear", padding: str = "zeros", align_corners: bool = False) -> Any:
    """`x [batch, *places, channels]` at the points of `grid [batch, *outs, axes]`.

    A point has a coordinate from -1 to 1 for each axis, the last first. Outside lie zeros, or what is at the border.
    """
    sizes = [np.asarray(d, x.dtype) for d in x.shape[1:-1]]
    points = [grid[..., axis] for axis in reversed(range(len(sizes)))]
    batch = np.arange(x.shape[0]).reshape(-1, *(1,) * (grid.ndim - 2))

    def read(indices: tuple[Any, ...], inside: Any) -> Any:
        return np.moveaxis(np.where(inside[..., None], x[(batch, *indices)], like(x, 0)), -1, 0)

    return np.moveaxis(sample(read, points, sizes, mode, padding, align_corners), 0, -1).astype(x.dtype)
