"""Ops that put tensors together or around each other."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ir.graph import op
from ..ir.scalar import Scalar, constant, in_range, select
from ..ir.size import Dim, floordiv, maximum, minimum
from ..ir.types import TensorType
from .view import slice_


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


@op(
    _infer_concat,
    element=_concat_element,
    examples=(
        "f32[4, 3], f32[4, 5], axis=1",
        "f32[batch, 2], f32[1, 2], f32[seq, 2], axis=0",
        "i64[3, 0], i64[3, 2], axis=1",
        "bool[4], axis=0",
    ),
)
def concat(*xs: Any, axis: int) -> Any:
    """The inputs one after the other along `axis`."""
    return np.concatenate(xs, axis)


Pads = tuple[tuple[Dim, Dim], ...]
PAD_MODES = ("constant", "reflect", "edge", "wrap")


def _infer_pad(x: TensorType, *, pads: Pads, value: float = 0, mode: str = "constant") -> TensorType:
    if mode not in PAD_MODES:
        raise TypeError(f"no mode {mode!r}; there are {', '.join(PAD_MODES)}")
    if len(pads) != x.rank:
        raise TypeError(f"{x} has {x.rank} axes, pads has {len(pads)}")
    for d, around in zip(x.shape, pads, strict=True):
        if any(isinstance(n, int) and n < 0 for n in around):
            raise TypeError(f"pads {around} of {x}: slice to make it smaller")
        if mode != "constant" and d == 0 and around != (0, 0):
            raise TypeError(f"{x} has no elements to {mode}")
        if mode == "reflect" and any(isinstance(n, int) and isinstance(d, int) and n >= d for n in around):
            raise TypeError(f"pads {around} reflect more than the {d} elements of an axis of {x}")
    return x.with_shape(tuple(d + lo + hi for d, (lo, hi) in zip(x.shape, pads, strict=True)))


def _inside(i: Dim, d: Dim, mode: str) -> Dim:
    """The index within `[0, d)` that an index outside repeats."""
    if mode == "edge":
        return minimum(maximum(i, 0), d - 1)
    if mode == "wrap":
        return i - d * floordiv(i, d)
    mirrored = maximum(i, i * -1)
    return minimum(mirrored, (d - 1) * 2 - mirrored)


def _pad_element(at: tuple[Dim, ...], x: Any, pads: Pads, value: float, mode: str) -> Scalar:
    inner = tuple(i - lo for i, (lo, _) in zip(at, pads, strict=True))
    if mode != "constant":
        padded = zip(inner, x.type.shape, pads, strict=True)
        repeated: Scalar = x(*(i if around == (0, 0) else _inside(i, d, mode) for i, d, around in padded))
        return repeated
    result: Scalar = x(*inner)
    outside = constant(value, result.dtype)
    for i, d, (lo, hi) in zip(inner, x.type.shape, pads, strict=True):
        if (lo, hi) != (0, 0):
            here = result
            result = select(in_range(i, d), lambda here=here: here, outside)  # type: ignore[misc]
    return result


@op(
    _infer_pad,
    element=_pad_element,
    examples=(
        "f32[4, 3], pads=((1, 2), (0, 0))",
        "f32[batch, seq], pads=((0, 0), (3, 1)), value=-1.5",
        "i64[2, 3], pads=((0, 0), (1, 1)), value=7",
        "f32[0, 2], pads=((1, 1), (0, 0))",
        'f32[4, 5], pads=((3, 2), (0, 4)), mode="reflect"',
        'f32[batch, 3], pads=((2, 1), (1, 1)), mode="edge"',
        'f32[seq + 2, 2], pads=((2, 1), (0, 0)), mode="wrap"',
    ),
)
def pad(x: Any, *, pads: tuple[tuple[int, int], ...], value: float = 0, mode: str = "constant") -> Any:
    """`pads[i] = (before, after)` elements around axis `i`: `value`, or with another mode those of `x` once more.

    reflect mirrors at the first and last element, edge repeats them, wrap goes round.
    """
    if mode == "constant":
        return np.pad(x, pads, constant_values=value)
    return np.pad(x, pads, mode=mode)  # type: ignore[call-overload]


def _roll(x: Any, axis: int, shift: Dim) -> Any:
    size = x.type.shape[axis]
    if size == 0:
        return x
    moved = shift - size * floordiv(shift, size)
    if moved == 0:
        return x
    head = slice_(x, axis=axis, start=0, stop=size - moved)
    return concat(slice_(x, axis=axis, start=size - moved, stop=size), head, axis=axis)


@op(
    lambda x, axis, shift: x.with_axis(axis, x.shape[axis]),
    decompose=_roll,
    examples=(
        "f32[4, 8], axis=1, shift=3",
        "f32[5, 2], axis=0, shift=-7",
        "f32[batch, seq, 3], axis=1, shift=1",
        "i64[3], axis=0, shift=6",
    ),
)
def roll(x: Any, *, axis: int, shift: int) -> Any:
    """The elements of one axis moved forward by `shift`; those that fall off the end come first."""
    return np.roll(x, shift, axis)
