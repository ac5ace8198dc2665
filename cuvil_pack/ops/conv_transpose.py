"""Transposed convolution and the sum of overlapping windows, channels last."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product as cartesian
from typing import Any

import numpy as np

from ..ir import scalar
from ..ir.graph import op
from ..ir.scalar import Scalar, constant, in_range, position, select
from ..ir.size import Dim, ceildiv, floordiv, product
from ..ir.types import TensorType
from .conv import Pairs, Steps


@dataclass(frozen=True, eq=False)
class Axis:
    """One axis of windows that lie `stride` apart, begin at `-before`, and have `taps` elements `dilation` apart."""

    windows: Dim
    taps: Dim
    stride: int
    before: int
    dilation: int

    @property
    def parts(self) -> Dim:
        """How many windows can cover one place."""
        return ceildiv(self.taps, self.stride) if self.dilation == 1 else self.taps

    def part(self, place: Dim, j: Dim) -> tuple[Dim, Dim, list[Scalar]]:
        """Window and tap of part `j` of a place, and what must hold for it to exist."""
        if self.dilation != 1:
            reach = place + self.before - j * self.dilation
            window = floordiv(reach, self.stride)
            whole = [position(reach - window * self.stride) == 0] if self.stride != 1 else []
            return window, j, [*whole, in_range(window, self.windows)]
        latest = floordiv(place + self.before, self.stride)
        tap = place + self.before - latest * self.stride + j * self.stride
        whole = [] if floordiv(self.taps, self.stride) * self.stride == self.taps else [in_range(tap, self.taps)]
        return latest - j, tap, [*whole, in_range(latest - j, self.windows)]


def where_all(conditions: Sequence[Scalar], value: Scalar) -> Scalar:
    """`value` where every condition holds, and only there is it read; else 0."""
    for condition in reversed(conditions):
        value = select(condition, lambda value=value: value, constant(0, value.dtype))  # type: ignore[misc]
    return value


def add_windows(parts: Any, shape: Steps, stride: Steps, pads: Pairs, dilation: Steps) -> Any:
    """Sum `parts [batch, *windows, *taps, channels]` where each window lies in `[batch, *shape, channels]`."""
    rank = len(shape)
    taps = parts.shape[1 + rank : 1 + 2 * rank]
    wide = np.zeros(
        (parts.shape[0], *(lo + n + max(hi, 0) for n, (lo, hi) in zip(shape, pads, strict=True)), parts.shape[-1]),
        parts.dtype,
    )
    for tap in cartesian(*map(range, taps)):
        starts = [t * d for t, d in zip(tap, dilation, strict=True)]
        spots = [slice(b, b + (n - 1) * s + 1, s) for b, n, s in zip(starts, parts.shape[1:], stride, strict=False)]
        wide[(slice(None), *spots)] += parts[(slice(None),) * (1 + rank) + tap]
    return wide[(slice(None), *(slice(lo, lo + n) for n, (lo, _) in zip(shape, pads, strict=True)))]


def _infer(x: TensorType, w: TensorType, *, stride: Steps, pads: Pairs, dilation: Steps, groups: int = 1) -> TensorType:
    if w.rank != x.rank or w.dtype != x.dtype or not len(stride) == len(pads) == len(dilation) == x.rank - 2:
        raise TypeError(f"{x} with filters {w}, stride {stride}, pads {pads}, dilation {dilation}")
    if x.shape[-1] != w.shape[-2] or floordiv(w.shape[-2], groups) * groups != w.shape[-2]:
        raise TypeError(f"{x} has {x.shape[-1]} channels; filters {w} in {groups} groups want {w.shape[-2]}")
    outs = [
        (n - 1) * s + d * (t - 1) + 1 - lo - hi
        for n, t, s, (lo, hi), d in zip(x.shape[1:-1], w.shape[:-2], stride, pads, dilation, strict=True)
    ]
    return x.with_shape((x.shape[0], *outs, w.shape[-1] * groups))


def _element(at: tuple[Dim, ...], x: Any, w: Any, stride: Steps, pads: Pairs, dilation: Steps, groups: int) -> Scalar:
    n, *places, out = at
    depth, width = floordiv(w.type.shape[-2], groups), w.type.shape[-1]
    group = floordiv(out, width)
    axes = [
        Axis(d, t, s, lo, gap)
        for d, t, s, (lo, _), gap in zip(x.type.shape[1:-1], w.type.shape[:-2], stride, pads, dilation, strict=True)
    ]

    def term(*inner: Dim) -> Scalar:
        *js, c = inner
        channel = group * depth + c
        parts = [axis.part(p, j) for axis, p, j in zip(axes, places, js, strict=True)]
        value = x(n, *(p[0] for p in parts), channel) * w(*(p[1] for p in parts), channel, out - group * width)
        return where_all([c for p in parts for c in p[2]], value)

    return scalar.reduce("sum", (*(axis.parts for axis in axes), depth), term)


def _flops(x: TensorType, w: TensorType, **attrs: Any) -> Dim:
    return x.numel * product(w.shape[:-2]) * w.shape[-1] * 2


@op(
    _infer,
    element=_element,
    anchor=True,
    flops=_flops,
    examples=(
        "f32[2, 5, 3], f32[4, 3, 6], stride=(2,), pads=((1, 1),), dilation=(1,)",
        "f32[batch, 3, 4, 4], f32[3, 2, 4, 2], stride=(2, 1), pads=((1, 0), (0, 1)), dilation=(1, 1), groups=2",
        "f32[1, 4, 3, 2], f32[3, 3, 2, 1], stride=(2, 3), pads=((0, 0), (2, 1)), dilation=(2, 1)",
        "f32[1, 3, 2, 2], f32[2, 2, 2, 3], stride=(2, 2), pads=((0, -1), (0, 0)), dilation=(1, 1)",
        "f32[1, 2, 2, 2, 2], f32[2, 1, 3, 2, 1], groups=2, "
        "stride=(1, 2, 2), pads=((0, 0), (0, 0), (1, 1)), dilation=(1, 1, 1)",
    ),
)
def conv_transpose(x: Any, w: Any, *, stride: Steps, pads: Pairs, dilation: Steps, groups: int = 1) -> Any:
    """The gradient of a convolution: `x [batch, *places, channels]` spread by `w [*taps, channels, filters / groups]`.

    `pads` are cut off the result; an output padding is a smaller, maybe negative, pad behind.
    """
    spatial, depth = x.ndim - 2, x.shape[-1] // groups
    wide = np.float64 if x.dtype != np.float16 else np.float32
    grouped = x.astype(wide).reshape(*x.shape[:-1], groups, depth)
    filters = w.astype(wide).reshape(*w.shape[:-2], groups, depth, w.shape[-1])
    parts = np.tensordot(grouped[..., 0, :], filters[..., 0, :, :], (-1, spatial))[..., None, :]
    rest = [
        np.tensordot(grouped[..., g, :], filters[..., g, :, :], (-1, spatial))[..., None, :] for g in range(1, groups)
    ]
    parts = np.concatenate([parts, *rest], -2)
    sizes = zip(x.shape[1:-1], w.shape[:-2], stride, pads, dilation, strict=True)
    shape = tuple((n - 1) * s + d * (t - 1) + 1 - lo - hi for n, t, s, (lo, hi), d in sizes)
    return add_windows(parts.reshape(*parts.shape[:-2], -1), shape, stride, pads, dilation).astype(x.dtype)


def _infer_fold(x: TensorType, *, shape: tuple[Dim, ...], stride: Steps, pads: Pairs, dilation: Steps) -> TensorType:
    rank = len(shape)
    if x.rank != 2 + 2 * rank or not len(stride) == len(pads) == len(dilation) == rank:
        raise TypeError(f"{x} does not hold [batch, *windows, *taps, channels] of {rank} axes")
    for n, t, d, s, (lo, hi), gap in zip(x.shape[1:], x.shape[1 + rank :], shape, stride, pads, dilation, strict=False):
        if floordiv(d + lo + hi - gap * (t - 1) - 1, s) + 1 != n:
            raise TypeError(f"{n} windows of {t} do not come from an axis of {d}")
    return x.with_shape((x.shape[0], *shape, x.shape[-1]))


def _fold_element(
    at: tuple[Dim, ...], x: Any, shape: tuple[Dim, ...], stride: Steps, pads: Pairs, dilation: Steps
) -> Scalar:
    n, *places, c = at
    rank = len(shape)
    axes = [
        Axis(d, t, s, lo, gap)
        for d, t, s, (lo, _), gap in zip(
            x.type.shape[1:], x.type.shape[1 + rank :], stride, pads, dilation, strict=False
        )
    ]

    def term(*js: Dim) -> Scalar:
        parts = [axis.part(p, j) for axis, p, j in zip(axes, places, js, strict=True)]
        value = x(n, *(p[0] for p in parts), *(p[1] for p in parts), c)
        return where_all([c for p in parts for c in p[2]], value)

    return scalar.reduce("sum", tuple(axis.parts for axis in axes), term)


@op(
    _infer_fold,
    element=_fold_element,
    anchor=True,
    flops=lambda x, **_: x.numel,
    examples=(
        "f32[2, 3, 4, 3], shape=(8,), stride=(2,), pads=((0, 0),), dilation=(1,)",
        "f32[batch, 4, 3, 3, 2, 5], shape=(4, 5), stride=(1, 2), pads=((1, 1), (0, 1)), dilation=(1, 1)",
        "f32[1, 3, 3, 2, 2, 2], shape=(5, 7), stride=(1, 2), pads=((0, 0), (0, 0)), dilation=(2, 2)",
    ),
)
def fold(x: Any, *, shape: tuple[Dim, ...], stride: Steps, pads: Pairs, dilation: Steps) -> Any:
    """The sum of overlapping windows `x [batch, *windows, *taps, channels]` in `[batch, *shape, channels]` (col2im)."""
    wide = np.float64 if x.dtype == np.float32 else np.float32 if x.dtype == np.float16 else x.dtype
    return add_windows(x.astype(wide), shape, stride, pads, dilation).astype(x.dtype)  # type: ignore[arg-type]
