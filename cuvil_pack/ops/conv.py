"""Convolution, channels last."""

from __future__ import annotations

from itertools import product as cartesian
from typing import Any

import numpy as np

from ..ir import scalar
from ..ir.graph import op
from ..ir.scalar import Scalar, constant, in_range, select
from ..ir.size import Dim, floordiv, product
from ..ir.types import TensorType

Pairs = tuple[tuple[int, int], ...]
Steps = tuple[int, ...]


def window_size(d: Dim, taps: int, stride: int, pads: tuple[int, int], dilation: int) -> Dim:
    """How many windows of `taps` fit into an axis."""
    return floordiv(d + pads[0] + pads[1] - dilation * (taps - 1) - 1, stride) + 1


def _infer(x: TensorType, w: TensorType, *, stride: Steps, pads: Pairs, dilation: Steps, groups: int = 1) -> TensorType:
    spatial = x.rank - 2
    if w.rank != x.rank or not len(stride) == len(pads) == len(dilation) == spatial:
        raise TypeError(f"{x} with filters {w}, stride {stride}, pads {pads}, dilation {dilation}")
    if x.shape[-1] != w.shape[-2] * groups or floordiv(w.shape[-1], groups) * groups != w.shape[-1]:
        raise TypeError(f"{x} has {x.shape[-1]} channels; filters {w} in {groups} groups want {w.shape[-2] * groups}")
    taps = [d for d in w.shape[:-2] if isinstance(d, int)]
    outs = map(window_size, x.shape[1:-1], taps, stride, pads, dilation)
    return x.with_shape((x.shape[0], *outs, w.shape[-1]))


def _element(at: tuple[Dim, ...], x: Any, w: Any, stride: Steps, pads: Pairs, dilation: Steps, groups: int) -> Scalar:
    n, *places, out = at
    depth, width = w.type.shape[-2], floordiv(w.type.shape[-1], groups)

    def term(*inner: Dim) -> Scalar:
        *taps, c = inner
        spots = [p * s - lo + t * d for p, s, (lo, _), t, d in zip(places, stride, pads, taps, dilation, strict=True)]
        value = x(n, *spots, floordiv(out, width) * depth + c if groups > 1 else c)
        product: Scalar = padded(value, spots, x.type.shape[1:-1], pads, 0) * w(*taps, c, out)
        return product

    return scalar.reduce("sum", w.type.shape[:-1], term)


def padded(value: Scalar, spots: list[Dim], shape: tuple[Dim, ...], pads: Pairs, outside: float) -> Scalar:
    """`value` where every spot lies in the tensor, `outside` in its padding."""
    for spot, d, around in zip(spots, shape, pads, strict=True):
        if around != (0, 0):
            value = select(in_range(spot, d), lambda value=value: value, constant(outside, value.dtype))  # type: ignore[misc]
    return value


def windows(x: Any, taps: Steps, stride: Steps, pads: Pairs, dilation: Steps, outside: float) -> list[Any]:
    """For each tap in row-major order, the elements it meets, `[batch, *places, channels]`."""
    x = np.pad(x, ((0, 0), *pads, (0, 0)), constant_values=outside)
    places = [(n - d * (t - 1) - 1) // s + 1 for n, t, s, d in zip(x.shape[1:-1], taps, stride, dilation, strict=True)]
    return [
        x[
            (
                slice(None),
                *(
                    slice(t * d, t * d + (n - 1) * s + 1, s)
                    for t, d, n, s in zip(tap, dilation, places, stride, strict=True)
                ),
            )
        ]
        for tap in cartesian(*map(range, taps))
    ]


def _flops(x: TensorType, w: TensorType, **attrs: Any) -> Dim:
    return _infer(x, w, **attrs).numel * product(w.shape[:-1]) * 2


@op(
    _infer,
    element=_element,
    anchor=True,
    flops=_flops,
    examples=(
        "f32[2, 5, 6, 3], f32[3, 3, 3, 4], stride=(1, 1), pads=((1, 1), (1, 1)), dilation=(1, 1)",
        "f32[batch, 7, 6, 4], f32[3, 2, 2, 6], stride=(2, 1), pads=((1, 0), (0, 2)), dilation=(1, 2), groups=2",
        "f32[1, 6, 5, 3], f32[3, 3, 1, 3], stride=(1, 2), pads=((1, 1), (1, 1)), dilation=(1, 1), groups=3",
        "f32[batch, seq, 4], f32[3, 4, 2], stride=(1,), pads=((1, 1),), dilation=(1,)",
        "f32[1, 3, 4, 3, 2], f32[2, 2, 2, 2, 3], stride=(1, 2, 1), pads=((0, 0), (1, 0), (0, 0)), dilation=(1, 1, 1)",
    ),
)
def conv(x: Any, w: Any, *, stride: Steps, pads: Pairs, dilation: Steps, groups: int = 1) -> Any:
    """Cross-correlation of `x [batch, *places, channels]` with `w [*taps, channels / groups, filters]`, zero pads."""
    depth, filters = w.shape[-2], w.shape[-1]
    flat = w.reshape(-1, depth, groups, filters // groups)
    total: Any = 0
    for tap, seen in enumerate(windows(x, w.shape[:-2], stride, pads, dilation, 0)):
        grouped = seen.reshape(*seen.shape[:-1], groups, 1, depth)
        total = total + (grouped @ flat[tap].transpose(1, 0, 2))[..., 0, :]
    return total.reshape(*total.shape[:-2], filters)
