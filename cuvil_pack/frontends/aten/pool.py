"""Pooling, channels first outside and last inside."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...ir.graph import Value
from ...ir.size import Dim
from ...ops import pool as pools
from ...ops import reduce as reductions
from .arithmetic import mul
from .linear import channels_first, channels_last, shaped_one, steps
from .operand import call
from .table import Refused, aten
from .view import unsqueeze

Steps = int | Sequence[int]
Pads = tuple[tuple[int, int], ...]


def _rim(x: Value, window: Sequence[int], stride: Sequence[int], pads: Pads, dilation: Sequence[int]) -> Pads:
    """The pads that ceil_mode stands for: as many more at the end as one more window needs."""
    grown = []
    for d, n, s, (lo, hi), gap in zip(x.type.shape[2:], window, stride, pads, dilation, strict=True):
        if not isinstance(d, int):
            raise Refused(f"ceil_mode over a size {d}: the size must be known")
        reach = gap * (n - 1) + 1
        count = -(-(d + lo + hi - reach) // s) + 1
        if (count - 1) * s >= d + lo:
            count -= 1
        grown.append((lo, max(hi, (count - 1) * s + reach - d - lo)))
    return tuple(grown)


@aten("max_pool1d", "max_pool2d", "max_pool3d")
def max_pool(
    x: Value, window: Steps, stride: Steps = (), padding: Steps = 0, dilation: Steps = 1, ceil_mode: bool = False
) -> Value:
    places = _places(x, window)
    if x.type.rank == places + 1:
        return shaped_one(max_pool(unsqueeze(x, 0), window, stride, padding, dilation, ceil_mode))
    taps, gap = steps(window, places), steps(dilation, places)
    stride_ = steps(stride, places, 0) if stride else taps
    pads: Pads = tuple((p, p) for p in steps(padding, places))
    if ceil_mode:
        pads = _rim(x, taps, stride_, pads, gap)
    value: Value = pools.pool(
        channels_last(x), kind="max", window=taps, stride=stride_, pads=pads, dilation=gap, count_pads=True
    )
    return channels_first(value)


def _places(x: Value, window: Steps) -> int:
    if isinstance(window, int):
        return x.type.rank - 2
    return x.type.rank - 2 if len(window) == 1 and x.type.rank > 3 else len(window)


@aten("max_pool1d_with_indices", "max_pool2d_with_indices", "max_pool3d_with_indices")
def max_pool_with_indices(
    x: Value, window: Steps, stride: Steps = (), padding: Steps = 0, dilation: Steps = 1, ceil_mode: bool = False
) -> tuple[Value]:
    return (max_pool(x, window, stride, padding, dilation, ceil_mode),)


@aten("avg_pool1d", "avg_pool2d", "avg_pool3d")
def avg_pool(
    x: Value,
    window: Steps,
    stride: Steps = (),
    padding: Steps = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Value:
    places = _places(x, window)
    if x.type.rank == places + 1:
        return shaped_one(
            avg_pool(unsqueeze(x, 0), window, stride, padding, ceil_mode, count_include_pad, divisor_override)
        )
    taps = steps(window, places)
    stride_ = steps(stride, places, 0) if stride else taps
    pads: Pads = tuple((p, p) for p in steps(padding, places))
    rim = _rim(x, taps, stride_, pads, (1,) * places) if ceil_mode else pads
    if rim != pads and count_include_pad and any(p != (0, 0) for p in pads):
        raise Refused("avg_pool with ceil_mode, padding and count_include_pad together")
    value = _mean(channels_last(x), taps, stride_, rim, count_include_pad and rim == pads)
    if divisor_override is not None:
        value = _rescaled(value, taps, divisor_override)
    return channels_first(value)


def _mean(x: Value, taps: tuple[int, ...], stride: tuple[int, ...], pads: Pads, count_pads: bool) -> Value:
    value: Value = pools.pool(
        x, kind="mean", window=taps, stride=stride, pads=pads, dilation=(1,) * len(taps), count_pads=count_pads
    )
    return value


def _rescaled(x: Value, taps: Sequence[int], divisor: int) -> Value:
    return mul(x, math.prod(taps) / divisor)


@aten(
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "_adaptive_avg_pool2d",
    "_adaptive_avg_pool3d",
)
def adaptive_avg_pool(x: Value, out: Sequence[Dim | None]) -> Value:
    return _adaptive(x, "mean", out)


@aten("adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d")
def adaptive_max_pool(x: Value, out: Sequence[Dim | None]) -> tuple[Value]:
    return (_adaptive(x, "max", out),)


def _adaptive(x: Value, kind: str, out: Sequence[Dim | None]) -> Value:
    """Pooling to a given shape: a reduction, windows of one size, or windows that overlap where they must."""
    spatial = x.type.shape[x.type.rank - len(out) :]
    wanted = [d if n is None else n for n, d in zip(out, spatial, strict=True)]
    if tuple(wanted) == spatial:
        return x
    if all(n == 1 for n in wanted):
        return _over(x, kind, tuple(range(x.type.rank - len(out), x.type.rank)))
    if x.type.rank == len(out) + 1:
        return shaped_one(_adaptive(unsqueeze(x, 0), kind, out))
    taps = _even(spatial, wanted)
    if taps is None:
        return channels_first(call(pools.adaptive_pool, channels_last(x), kind=kind, shape=tuple(wanted)))
    return max_pool(x, taps, taps) if kind == "max" else avg_pool(x, taps, taps)


def _over(x: Value, kind: str, axes: tuple[int, ...]) -> Value:
    value: Value = reductions.mean(x, axes) if kind == "mean" else reductions.reduce(x, kind="max", axes=axes)
    return value


def _even(shape: Sequence[Dim], wanted: Sequence[Dim]) -> list[int] | None:
    """The window of each axis, where all windows are of one known size."""
    taps = []
    for d, n in zip(shape, wanted, strict=True):
        if not isinstance(d, int) or not isinstance(n, int) or d % n:
            return None
        taps.append(d // n)
    return taps
