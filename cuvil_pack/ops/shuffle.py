"""Moves between channels and places, channels last."""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np

from ..ir.graph import op
from ..ir.scalar import Scalar
from ..ir.size import Dim, floordiv
from ..ir.types import TensorType
from .conv import Pairs, Steps, padded, window_size, windows
from .view import reshape, transpose


def _infer_pixel_shuffle(x: TensorType, *, factor: int) -> TensorType:
    *rest, channels = x.shape
    cells = factor ** (x.rank - 2)
    if x.rank < 3 or floordiv(channels, cells) * cells != channels:
        raise TypeError(f"{channels} channels of {x} do not fill {factor} places along each of {x.rank - 2} axes")
    return x.with_shape((rest[0], *(d * factor for d in rest[1:]), floordiv(channels, cells)))


def _pixel_shuffle(x: Any, factor: int) -> Any:
    batch, *places, channels = x.type.shape
    rank = len(places)
    split = reshape(x, shape=(batch, *places, floordiv(channels, factor**rank), *(factor,) * rank))
    pairs = chain.from_iterable((1 + n, 2 + rank + n) for n in range(rank))
    moved = transpose(split, axes=(0, *pairs, 1 + rank))
    return reshape(moved, shape=(batch, *(d * factor for d in places), floordiv(channels, factor**rank)))


@op(
    _infer_pixel_shuffle,
    decompose=_pixel_shuffle,
    examples=("f32[2, 3, 4, 8], factor=2", "f32[batch, h, w, 9], factor=3", "f32[1, 3, 4], factor=2"),
)
def pixel_shuffle(x: Any, *, factor: int) -> Any:
    """Channel `c * factor**2 + i * factor + j` becomes channel `c` of cell `(i, j)` of each place (Shi et al. 2016)."""
    batch, *places, channels = x.shape
    rank = len(places)
    split = x.reshape(batch, *places, channels // factor**rank, *(factor,) * rank)
    axes = (0, *chain.from_iterable((1 + n, 2 + rank + n) for n in range(rank)), 1 + rank)
    return split.transpose(axes).reshape(batch, *(d * factor for d in places), -1)


def _pixel_unshuffle(x: Any, factor: int) -> Any:
    batch, *places, channels = x.type.shape
    rank = len(places)
    cells = chain.from_iterable((floordiv(d, factor), factor) for d in places)
    split = reshape(x, shape=(batch, *cells, channels))
    axes = (0, *(1 + 2 * n for n in range(rank)), 1 + 2 * rank, *(2 + 2 * n for n in range(rank)))
    places = [floordiv(d, factor) for d in places]
    return reshape(transpose(split, axes=axes), shape=(batch, *places, channels * factor**rank))


def _infer_pixel_unshuffle(x: TensorType, *, factor: int) -> TensorType:
    if x.rank < 3 or any(floordiv(d, factor) * factor != d for d in x.shape[1:-1]):
        raise TypeError(f"the places of {x} do not split into cells of {factor}")
    places = (floordiv(d, factor) for d in x.shape[1:-1])
    return x.with_shape((x.shape[0], *places, x.shape[-1] * factor ** (x.rank - 2)))


@op(
    _infer_pixel_unshuffle,
    decompose=_pixel_unshuffle,
    examples=("f32[2, 6, 4, 2], factor=2", "f32[batch, 3*h, 3*w, 2], factor=3"),
)
def pixel_unshuffle(x: Any, *, factor: int) -> Any:
    """The inverse of `pixel_shuffle`."""
    batch, *places, channels = x.shape
    rank = len(places)
    split = x.reshape(batch, *chain.from_iterable((d // factor, factor) for d in places), channels)
    axes = (0, *(1 + 2 * n for n in range(rank)), 1 + 2 * rank, *(2 + 2 * n for n in range(rank)))
    return split.transpose(axes).reshape(batch, *(d // factor for d in places), -1)


def _infer_unfold(x: TensorType, *, window: Steps, stride: Steps, pads: Pairs, dilation: Steps) -> TensorType:
    if not len(window) == len(stride) == len(pads) == len(dilation) == x.rank - 2:
        raise TypeError(f"{x} with window {window}, stride {stride}, pads {pads}, dilation {dilation}")
    outs = map(window_size, x.shape[1:-1], window, stride, pads, dilation)
    return x.with_shape((x.shape[0], *outs, *window, x.shape[-1]))


def _unfold_element(at: tuple[Dim, ...], x: Any, window: Steps, stride: Steps, pads: Pairs, dilation: Steps) -> Scalar:
    rank = len(window)
    n, c, places, taps = at[0], at[-1], at[1 : 1 + rank], at[1 + rank : -1]
    spots = [p * s - lo + t * d for p, s, (lo, _), t, d in zip(places, stride, pads, taps, dilation, strict=True)]
    return padded(x(n, *spots, c), spots, x.type.shape[1:-1], pads, 0)


@op(
    _infer_unfold,
    element=_unfold_element,
    examples=(
        "f32[2, 8, 3], window=(4,), stride=(2,), pads=((0, 0),), dilation=(1,)",
        "f32[batch, 4, 5, 2], window=(3, 2), stride=(1, 2), pads=((1, 1), (0, 1)), dilation=(1, 1)",
        "i64[1, seq + 4, 1], window=(3,), stride=(1,), pads=((0, 0),), dilation=(2,)",
    ),
)
def unfold(x: Any, *, window: Steps, stride: Steps, pads: Pairs, dilation: Steps) -> Any:
    """Every window of `x [batch, *places, channels]`, `[batch, *windows, *window, channels]`, zero pads (im2col)."""
    seen = np.stack(windows(x, window, stride, pads, dilation, 0), -2)
    return seen.reshape(*seen.shape[:-2], *window, x.shape[-1])
