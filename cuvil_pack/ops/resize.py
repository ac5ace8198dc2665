"""Resizing of images and lines, channels last, with the coordinate rules of torch's `interpolate`."""

from __future__ import annotations

from itertools import product as cartesian
from typing import Any

import numpy as np

from ..ir import scalar
from ..ir.graph import op
from ..ir.scalar import Scalar, cast, like, position
from ..ir.size import Dim, floordiv
from ..ir.types import DType, TensorType

Scales = tuple[float, ...]
Tap = tuple[Any, Any]
MODES = ("nearest", "nearest_exact", "linear", "cubic")
CUBIC = -0.75


def _infer(
    x: TensorType, *, shape: tuple[Dim, ...], mode: str, align_corners: bool = False, scales: Scales = ()
) -> TensorType:
    if mode not in MODES:
        raise TypeError(f"no mode {mode!r}; there are {', '.join(MODES)}")
    if len(shape) != x.rank - 2 or len(scales) not in (0, len(shape)):
        raise TypeError(f"{x} has {x.rank - 2} spatial axes, shape {shape}, scales {scales}")
    if not x.dtype.is_float and not mode.startswith("nearest"):
        raise TypeError(f"{mode} needs floats, not {x.dtype.value}")
    return x.with_shape((x.shape[0], *shape, x.shape[-1]))


def whole_step(place: Dim, old: Dim, new: Dim, mode: str) -> Dim | None:
    """The index that `nearest` reads where one size is a multiple of the other; None elsewhere."""
    grows, shrinks = floordiv(new, old), floordiv(old, new)
    if old * grows == new:
        return floordiv(place, grows)
    if new * shrinks == old:
        return place * shrinks + (floordiv(shrinks, 2) if mode == "nearest_exact" else 0)
    return None


def source(place: Any, old: Any, new: Any, scale: float, mode: str, align_corners: bool) -> Any:
    """The coordinate in the old axis of a place in the new one; all are floats of one type, arrays or scalars."""
    if align_corners and mode in ("linear", "cubic"):
        return place * scalar.where(new > 1, (old - 1) / scalar.maximum(new - 1, 1), like(place, 0))
    step = old / new if not scale else like(place, 1.0 / scale)
    if mode == "nearest":
        return place * step
    at = (place + 0.5) * step
    if mode == "nearest_exact":
        return at
    return scalar.maximum(at - 0.5, 0) if mode == "linear" else at - 0.5


def taps(at: Any, old: Any, mode: str) -> list[Tap]:
    """The indices in the old axis that a coordinate reads, with the weight of each."""
    low = scalar.floor(at)

    def clipped(offset: int) -> Any:
        return cast(scalar.minimum(scalar.maximum(low + offset, 0), old - 1), DType.I64)

    if mode.startswith("nearest"):
        return [(clipped(0), like(at, 1))]
    t = at - low
    if mode == "linear":
        return [(clipped(0), 1 - t), (clipped(1), t)]
    return [(clipped(n - 1), w) for n, w in enumerate((_far(t + 1), _near(t), _near(1 - t), _far(2 - t)))]


def _near(t: Any) -> Any:
    """The cubic convolution kernel within distance 1 (Keys 1981)."""
    return ((CUBIC + 2) * t - (CUBIC + 3)) * t * t + 1


def _far(t: Any) -> Any:
    """The cubic convolution kernel between distance 1 and 2."""
    return ((CUBIC * t - 5 * CUBIC) * t + 8 * CUBIC) * t - 4 * CUBIC


def precision(dtype: DType) -> DType:
    """The element type in which coordinates and weights are computed."""
    return DType.F64 if dtype is DType.F64 else DType.F32


def _element(
    at: tuple[Dim, ...], x: Any, shape: tuple[Dim, ...], mode: str, align_corners: bool, scales: Scales
) -> Scalar:
    n, *places, c = at
    wide = precision(x.type.dtype)
    axes: list[list[Tap]] = []
    for p, old, new, scale in zip(places, x.type.shape[1:-1], shape, scales or (0.0,) * len(shape), strict=True):
        step = whole_step(p, old, new, mode) if mode.startswith("nearest") and _is_ratio(scale, old, new) else None
        if step is not None:
            axes.append([(step, None)])
            continue
        place, size = position(p, wide), position(old, wide)
        axes.append(taps(source(place, size, position(new, wide), scale, mode, align_corners), size, mode))
    if mode.startswith("nearest"):
        result: Scalar = x(n, *(axis[0][0] for axis in axes), c)
        return result
    total: Any = 0
    for corner in cartesian(*axes):
        value = cast(x(n, *(index for index, _ in corner), c), wide)
        for _, weight in corner:
            value = value * weight
        total = value + total if isinstance(total, Scalar) else value
    return cast(total, x.type.dtype)  # type: ignore[no-any-return]


def _is_ratio(scale: float, old: Dim, new: Dim) -> bool:
    """Whether a given scale says no more than the two sizes do."""
    return not scale or (scale == int(scale) and old * int(scale) == new)


@op(
    _infer,
    element=_element,
    examples=(
        'f32[2, 3, 4, 5], shape=(6, 8), mode="nearest"',
        'f32[1, 6, 7, 2], shape=(3, 5), mode="nearest"',
        'f32[1, 6, 7, 2], shape=(2, 10), mode="nearest_exact"',
        'u8[1, 3, 2], shape=(7,), mode="nearest"',
        'f32[batch, h, w, 3], shape=(h*2, w*2), mode="nearest"',
        'f32[batch, h, w, 3], shape=(h*2, w*2), mode="linear"',
        'f32[2, 5, 4, 3], shape=(8, 2), mode="linear"',
        'f32[2, 5, 4, 3], shape=(9, 1), mode="linear", align_corners=True',
        'f32[1, 5, 4, 2], shape=(7, 3), mode="cubic"',
        'f32[1, 4, 3, 2], shape=(3, 7), mode="cubic", align_corners=True',
        'f32[1, 4, 3, 2], shape=(7, 5), mode="linear", scales=(1.8, 1.7)',
        'f32[1, 2, 3, 4, 2], shape=(4, 4, 6), mode="linear"',
    ),
)
def resize(x: Any, *, shape: tuple[int, ...], mode: str, align_corners: bool = False, scales: Scales = ()) -> Any:
    """`x [batch, *places, channels]` at `shape` places: nearest, nearest_exact, linear or cubic (a = -0.75).

    `align_corners` maps the first and last places on each other; else a place is the centre of a cell. `scales` are the
    factors that coordinates are computed with where the caller gave factors, not sizes.
    """
    wide = precision(DType.of(x.dtype)).numpy
    result = x if mode.startswith("nearest") else x.astype(wide)
    for axis, new in enumerate(shape, 1):
        old = np.asarray(x.shape[axis], wide)
        place = np.arange(new).astype(wide)
        scale = scales[axis - 1] if scales else 0.0
        parts = taps(source(place, old, np.asarray(new, wide), scale, mode, align_corners), old, mode)
        if mode.startswith("nearest"):
            result = np.take(result, parts[0][0], axis)
            continue
        trailing = (1,) * (x.ndim - 1 - axis)
        result = sum(np.take(result, index, axis) * weight.reshape(-1, *trailing) for index, weight in parts)
    return result.astype(x.dtype)
