"""Pooling, channels last."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..ir import scalar
from ..ir.graph import op
from ..ir.scalar import Scalar, constant, position
from ..ir.size import Dim, ceildiv, floordiv, product
from ..ir.types import TensorType
from .conv import Pairs, Steps, padded, window_size, windows


def _infer(
    x: TensorType, *, kind: str, window: Steps, stride: Steps, pads: Pairs, dilation: Steps, count_pads: bool
) -> TensorType:
    if kind not in ("max", "mean"):
        raise TypeError(f"no pooling {kind!r}: max or mean")
    outs = map(window_size, x.shape[1:-1], window, stride, pads, dilation)
    return x.with_shape((x.shape[0], *outs, x.shape[-1]))


def _element(
    at: tuple[Dim, ...], x: Any, kind: str, window: Steps, stride: Steps, pads: Pairs, dilation: Steps, count_pads: bool
) -> Scalar:
    n, *places, c = at
    outside = -math.inf if kind == "max" else 0.0

    def spots(taps: tuple[Dim, ...]) -> list[Dim]:
        return [p * s - lo + t * d for p, s, (lo, _), t, d in zip(places, stride, pads, taps, dilation, strict=True)]

    def term(*taps: Dim) -> Scalar:
        return padded(x(n, *spots(taps), c), spots(taps), x.type.shape[1:-1], pads, outside)

    if kind == "max":
        return scalar.reduce("max", window, term)
    total = scalar.reduce("sum", window, term)
    if count_pads or all(p == (0, 0) for p in pads):
        return total * (1.0 / math.prod(window))
    one = constant(1.0, total.dtype)
    return total / scalar.reduce(
        "sum", window, lambda *taps: padded(one, spots(taps), x.type.shape[1:-1], pads, 0.0), "c"
    )


@op(
    _infer,
    element=_element,
    anchor=True,
    flops=lambda x, **a: _infer(x, **a).numel * product(a["window"]),
    examples=(
        'f32[2, 6, 7, 3], kind="max", window=(3, 3), stride=(2, 2), pads=((1, 1), (1, 1)), dilation=(1, 1)',
        'f32[batch, 6, 5, 2], kind="mean", window=(2, 2), stride=(2, 1), pads=((0, 0), (0, 0)), dilation=(1, 1)',
        'f32[1, 5, 2], kind="mean", window=(3,), stride=(2,), pads=((1, 1),), dilation=(1,), count_pads=False',
        'f32[1, seq, 2], kind="mean", window=(3,), stride=(1,), pads=((1, 1),), dilation=(1,)',
        'f32[1, 9, 2], kind="max", window=(3,), stride=(2,), pads=((1, 0),), dilation=(2,)',
    ),
)
def pool(
    x: Any, *, kind: str, window: Steps, stride: Steps, pads: Pairs, dilation: Steps, count_pads: bool = True
) -> Any:
    """The max or mean of each window of `x [batch, *places, channels]`; `count_pads` counts padding in the mean."""
    outside = -np.inf if kind == "max" else 0
    seen = np.stack(windows(x, window, stride, pads, dilation, outside))
    if kind == "max":
        return seen.max(0)
    if count_pads:
        return seen.mean(0).astype(x.dtype)
    count = np.stack(windows(np.ones_like(x), window, stride, pads, dilation, 0)).sum(0)
    return (seen.sum(0) / count).astype(x.dtype)


def _adaptive_infer(x: TensorType, *, kind: str, shape: tuple[Dim, ...]) -> TensorType:
    if kind not in ("max", "mean"):
        raise TypeError(f"no pooling {kind!r}: max or mean")
    if len(shape) != x.rank - 2:
        raise TypeError(f"{x} has {x.rank - 2} spatial axes, the result {len(shape)}")
    return x.with_shape((x.shape[0], *shape, x.shape[-1]))


def _spans(places: tuple[Dim, ...], sizes: tuple[Dim, ...], shape: tuple[Dim, ...]) -> list[tuple[Dim, Dim]]:
    """Start and length of the window that each place of the result sees."""
    spans = []
    for p, d, n in zip(places, sizes, shape, strict=True):
        start = floordiv(p * d, n)
        spans.append((start, ceildiv((p + 1) * d, n) - start))
    return spans


def _adaptive_element(at: tuple[Dim, ...], x: Any, kind: str, shape: tuple[Dim, ...]) -> Scalar:
    n, *places, c = at
    spans = _spans(tuple(places), x.type.shape[1:-1], shape)

    def term(*taps: Dim) -> Scalar:
        result: Scalar = x(n, *(start + t for (start, _), t in zip(spans, taps, strict=True)), c)
        return result

    extents = tuple(length for _, length in spans)
    if kind == "max":
        return scalar.reduce("max", extents, term)
    return scalar.reduce("sum", extents, term) / position(product(extents), x.type.dtype)


@op(
    _adaptive_infer,
    element=_adaptive_element,
    anchor=True,
    flops=lambda x, **_: x.numel,
    examples=(
        'f32[2, 8, 6, 3], kind="mean", shape=(1, 1)',
        'f32[batch, 7, 5, 4], kind="mean", shape=(3, 2)',
        'f32[1, 5, 2], kind="max", shape=(8,)',
        'f32[2, 4, 9, 5, 2], kind="max", shape=(2, 4, 5)',
    ),
)
def adaptive_pool(x: Any, *, kind: str, shape: tuple[int, ...]) -> Any:
    """The max or mean of `shape` windows that cover `x [batch, *places, channels]` evenly.

    Window `i` of `n` over an axis of size `d` is `[floor(i*d/n), ceil((i+1)*d/n))`; so they may overlap.
    """
    result = np.empty((x.shape[0], *shape, x.shape[-1]), x.dtype)
    for place in np.ndindex(*shape):
        seen = tuple(slice(s, s + n) for s, n in _spans(place, x.shape[1:-1], shape))
        window = x[(slice(None), *seen)]
        axes = tuple(range(1, x.ndim - 1))
        result[(slice(None), *place)] = window.max(axes) if kind == "max" else window.mean(axes)
    return result
