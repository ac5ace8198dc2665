"""Pooling, channels last."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..ir import scalar
from ..ir.graph import op
from ..ir.scalar import Scalar, constant
from ..ir.size import Dim, product
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


@op(_infer, element=_element, anchor=True, flops=lambda x, **a: _infer(x, **a).numel * product(a["window"]))
def pool(
    x: Any, *, kind: str, window: Steps, stride: Steps, pads: Pairs, dilation: Steps, count_pads: bool = True
) -> Any:
    """The max or mean of each window of `x [batch, *places, channels]`; `count_pads` divides by the whole window at the rim."""
    outside = -np.inf if kind == "max" else 0
    seen = np.stack(windows(x, window, stride, pads, dilation, outside))
    if kind == "max":
        return seen.max(0)
    if count_pads:
        return seen.mean(0).astype(x.dtype)
    count = np.stack(windows(np.ones_like(x), window, stride, pads, dilation, 0)).sum(0)
    return (seen.sum(0) / count).astype(x.dtype)
