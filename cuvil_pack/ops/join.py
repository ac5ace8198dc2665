"""Ops that put tensors together or around each other."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ir.graph import op
from ..ir.scalar import Scalar, constant, in_range, select
from ..ir.size import Dim
from ..ir.types import TensorType


def _infer_concat(*xs: TensorType, axis: int) -> TensorType:
    total: Dim = 0
    for x in xs:
        if x.dtype != xs[0].dtype or x.rank != xs[0].rank:
            raise TypeError(f"{xs[0]} and {x} do not join")
        if any(a != b for n, (a, b) in enumerate(zip(x.shape, xs[0].shape, strict=True)) if n != axis):
            raise TypeError(f"{xs[0]} and {x} differ beside axis {axis}")
        total = total + x.shape[axis]
    return xs[0].with_shape((*xs[0].shape[:axis], total, *xs[0].shape[axis + 1 :]))


def _concat_element(at: tuple[Dim, ...], *xs: Any, axis: int) -> Scalar:
    ends: list[Dim] = [0]
    for x in xs:
        ends.append(ends[-1] + x.type.shape[axis])
    result: Scalar = xs[-1](*at[:axis], at[axis] - ends[-2], *at[axis + 1 :])
    for x, start, end in reversed(list(zip(xs[:-1], ends[:-2], ends[1:-1], strict=True))):
        here = x(*at[:axis], at[axis] - start, *at[axis + 1 :])
        result = Scalar("select", (in_range(at[axis], end), here, result), here.dtype)
    return result


@op(_infer_concat, element=_concat_element)
def concat(*xs: Any, axis: int) -> Any:
    """The inputs one after the other along `axis`."""
    return np.concatenate(xs, axis)


Pads = tuple[tuple[Dim, Dim], ...]


def _infer_pad(x: TensorType, *, pads: Pads, value: float = 0) -> TensorType:
    if len(pads) != x.rank:
        raise TypeError(f"{x} has {x.rank} axes, pads has {len(pads)}")
    return x.with_shape(tuple(d + lo + hi for d, (lo, hi) in zip(x.shape, pads, strict=True)))


def _pad_element(at: tuple[Dim, ...], x: Any, pads: Pads, value: float) -> Scalar:
    inner = tuple(i - lo for i, (lo, _) in zip(at, pads, strict=True))
    result: Scalar = x(*inner)
    outside = constant(value, result.dtype)
    for i, d, (lo, hi) in zip(inner, x.type.shape, pads, strict=True):
        if (lo, hi) != (0, 0):
            here = result
            result = select(in_range(i, d), lambda here=here: here, outside)  # type: ignore[misc]
    return result


@op(_infer_pad, element=_pad_element)
def pad(x: Any, *, pads: Pads, value: float = 0) -> Any:
    """`pads[i] = (before, after)` elements of `value` around axis `i`."""
    return np.pad(x, pads, constant_values=value)
