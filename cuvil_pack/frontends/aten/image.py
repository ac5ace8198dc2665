"""Resizing, sampling and rearranging of images, channels first outside and last inside."""

from __future__ import annotations

from collections.abc import Sequence

from ...ir import size
from ...ir.graph import Op, Value
from ...ir.size import Dim
from ...ir.types import TensorType
from ...ops import conv_transpose as windows
from ...ops import grid_sample as sampling
from ...ops import resize as resizing
from ...ops import shuffle
from .linear import channels_first, channels_last, steps
from .operand import call, shaped
from .table import Refused, aten
from .view import permute

Scales = Sequence[float | None] | float | None


def resized(x: Value, result: TensorType, mode: str, align_corners: bool, scales: Sequence[float | None]) -> Value:
    """`x` at the places of `result`; `scales` are the factors torch computes coordinates with, where it has them."""
    given = tuple(float(s) for s in scales if s is not None)
    shape = result.shape[2:]
    value = call(
        resizing.resize,
        channels_last(x),
        shape=shape,
        mode=mode,
        align_corners=align_corners,
        scales=given if len(given) == len(shape) else (),
    )
    return channels_first(value)


def _nearest(axes: str, prefix: str, mode: str) -> None:
    @aten(f"{prefix}{axes}.vec")
    def by_list(x: Value, out: Sequence[Dim] | None, scales: Scales, result: TensorType) -> Value:
        return resized(x, result, mode, False, scales if isinstance(scales, Sequence) else ())

    @aten(f"{prefix}{axes}")
    def by_numbers(x: Value, out: Sequence[Dim], *scales: float | None, result: TensorType) -> Value:
        return resized(x, result, mode, False, scales)


def _smooth(name: str, mode: str) -> None:
    @aten(f"{name}.vec")
    def by_list(x: Value, out: Sequence[Dim] | None, corners: bool, scales: Scales, result: TensorType) -> Value:
        return resized(x, result, mode, corners, scales if isinstance(scales, Sequence) else ())

    @aten(name)
    def by_numbers(x: Value, out: Sequence[Dim], corners: bool, *scales: float | None, result: TensorType) -> Value:
        return resized(x, result, mode, corners, scales)


for _axes in ("1d", "2d", "3d"):
    _nearest(_axes, "upsample_nearest", "nearest")
    _nearest(_axes, "_upsample_nearest_exact", "nearest_exact")
for _name, _mode in {
    "upsample_linear1d": "linear",
    "upsample_bilinear2d": "linear",
    "upsample_trilinear3d": "linear",
    "upsample_bicubic2d": "cubic",
}.items():
    _smooth(_name, _mode)


@aten("grid_sampler", "grid_sampler_2d", "grid_sampler_3d")
def grid_sample(x: Value, grid: Value, mode: int, padding: int, align_corners: bool) -> Value:
    if mode not in (0, 1) or padding not in (0, 1):
        raise Refused("grid_sample with bicubic values or reflected borders")
    value = call(
        sampling.grid_sample,
        channels_last(x),
        grid,
        mode=("linear", "nearest")[mode],
        padding=("zeros", "border")[padding],
        align_corners=align_corners,
    )
    return channels_first(value)


@aten("pixel_shuffle")
def pixel_shuffle(x: Value, factor: int) -> Value:
    return _shuffled(shuffle.pixel_shuffle, x, factor)


@aten("pixel_unshuffle")
def pixel_unshuffle(x: Value, factor: int) -> Value:
    return _shuffled(shuffle.pixel_unshuffle, x, factor)


def _shuffled(which: Op, x: Value, factor: int) -> Value:
    """One move between channels and places of `[..., channels, rows, columns]`."""
    lead, images = x.type.shape[:-3], shaped(x, (size.product(x.type.shape[:-3]), *x.type.shape[-3:]))
    value = channels_first(call(which, channels_last(images), factor=factor))
    return shaped(value, (*lead, *value.type.shape[1:]))


@aten("im2col")
def im2col(
    x: Value, window: Sequence[int], dilation: Sequence[int], padding: Sequence[int], stride: Sequence[int]
) -> Value:
    parts = call(
        shuffle.unfold,
        channels_last(x),
        window=tuple(window),
        stride=steps(stride, 2),
        pads=tuple((p, p) for p in steps(padding, 2)),
        dilation=steps(dilation, 2),
    )
    batch, rows, columns, *taps, channels = parts.type.shape
    moved = permute(parts, (0, 5, 3, 4, 1, 2))
    return shaped(moved, (batch, channels * size.product(taps), rows * columns))


@aten("col2im")
def col2im(
    x: Value,
    shape: Sequence[Dim],
    window: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[int],
    stride: Sequence[int],
) -> Value:
    gaps, strides, around = steps(dilation, 2), steps(stride, 2), steps(padding, 2)
    rows, columns = (
        size.floordiv(d + 2 * p - g * (n - 1) - 1, s) + 1
        for d, p, g, n, s in zip(shape, around, gaps, window, strides, strict=True)
    )
    batch, channels = x.type.shape[0], size.floordiv(x.type.shape[1], size.product(window))
    parts = permute(shaped(x, (batch, channels, *window, rows, columns)), (0, 4, 5, 2, 3, 1))
    pads = tuple((p, p) for p in around)
    whole = call(windows.fold, parts, shape=tuple(shape), stride=strides, pads=pads, dilation=gaps)
    return channels_first(whole)
