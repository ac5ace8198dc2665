"""Views: each element of the result is one element of the input, at another index."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ir.graph import op
from ..ir.scalar import Scalar
from ..ir.size import Dim, ceildiv, floordiv, product
from ..ir.types import TensorType, broadcast_dims


def flatten_index(at: tuple[Dim, ...], shape: tuple[Dim, ...]) -> Dim:
    """The row-major position of an index."""
    flat: Dim = 0
    for i, d in zip(at, shape, strict=True):
        flat = flat * d + i
    return flat


def unflatten_index(flat: Dim, shape: tuple[Dim, ...]) -> tuple[Dim, ...]:
    """The index at a row-major position."""
    at: list[Dim] = []
    for n, d in enumerate(shape):
        inner = product(shape[n + 1 :])
        i = floordiv(flat, inner) if inner != 0 else 0
        at.append(0 if d == 1 else i)
        flat = flat - inner * i
    return tuple(at)


def reindex(at: tuple[Dim, ...], old: tuple[Dim, ...], new: tuple[Dim, ...]) -> tuple[Dim, ...]:
    """The index in shape `new` of the element at `at` in shape `old`; equal groups of dimensions stay apart."""
    result: list[Dim] = []
    i = j = 0
    while i < len(old) or j < len(new):
        a, b = [i], [j]
        i, j = i + 1, j + 1
        left: Dim = old[a[0]] if a[0] < len(old) else 1
        right: Dim = new[b[0]] if b[0] < len(new) else 1
        while left != right and (i < len(old) or j < len(new)):
            if j >= len(new) or (i < len(old) and _grows_left(left, right)):
                left, i = left * old[i], i + 1
            else:
                right, j = right * new[j], j + 1
        flat = flatten_index(at[a[0] : i], old[a[0] : i])
        result += unflatten_index(flat, new[b[0] : j])
    return tuple(result)


def _grows_left(left: Dim, right: Dim) -> bool:
    """Whether the left product must take one more dimension before the right one."""
    if isinstance(left, int) and isinstance(right, int):
        return left < right
    difference = right - left
    if isinstance(difference, int):
        return difference > 0
    divides = floordiv(right, left) * left == right if left != 0 else False
    return divides


def _infer_reshape(x: TensorType, *, shape: tuple[Dim, ...]) -> TensorType:
    if x.numel != product(shape):
        raise TypeError(f"{x} has {x.numel} elements, [{', '.join(map(str, shape))}] has {product(shape)}")
    return x.with_shape(shape)


@op(
    _infer_reshape,
    element=lambda at, x, shape: x(*reindex(at, shape, x.type.shape)),
    forward=lambda at, x, shape: reindex(at, x.shape, shape),
    examples=(
        "f32[4, 6], shape=(2, 12)",
        "f32[batch, 4, 6], shape=(batch, 24)",
        "f32[batch, seq, 6], shape=(batch, seq, 2, 3)",
        "f32[batch, 5], shape=(batch*5,)",
        "i64[1], shape=()",
        "f32[2, 0, 3], shape=(0, 7)",
        "f32[2, 3, 4], shape=(4, 3, 2)",
    ),
)
def reshape(x: Any, *, shape: tuple[int, ...]) -> Any:
    """The same elements in row-major order under another shape."""
    return np.reshape(x, shape)


def _infer_transpose(x: TensorType, *, axes: tuple[int, ...]) -> TensorType:
    if sorted(axes) != list(range(x.rank)):
        raise TypeError(f"{axes} is no permutation of the {x.rank} axes of {x}")
    return x.with_shape(tuple(x.shape[a] for a in axes))


def invert(axes: tuple[int, ...]) -> tuple[int, ...]:
    """The permutation that undoes `axes`."""
    return tuple(axes.index(i) for i in range(len(axes)))


@op(
    _infer_transpose,
    element=lambda at, x, axes: x(*(at[i] for i in invert(axes))),
    forward=lambda at, x, axes: tuple(at[a] for a in axes),
    examples=("f32[4, 8], axes=(1, 0)", "f32[batch, 3, 4, 5], axes=(0, 2, 3, 1)", "i64[2, 3, 4], axes=(2, 0, 1)"),
)
def transpose(x: Any, *, axes: tuple[int, ...]) -> Any:
    """Axis `i` of the result is axis `axes[i]` of `x`."""
    return np.transpose(x, axes)


def _infer_expand(x: TensorType, *, shape: tuple[Dim, ...]) -> TensorType:
    padded = (1,) * (len(shape) - x.rank) + x.shape
    for have, want in zip(padded, shape, strict=True):
        if have not in (1, want):
            raise TypeError(f"{x} does not expand to [{', '.join(map(str, shape))}]")
        broadcast_dims(have, want)
    return x.with_shape(shape)


def _expand_element(at: tuple[Dim, ...], x: Any, shape: tuple[Dim, ...]) -> Scalar:
    tail = at[len(at) - x.type.rank :]
    result: Scalar = x(*(0 if d == 1 else i for i, d in zip(tail, x.type.shape, strict=True)))
    return result


@op(
    _infer_expand,
    element=_expand_element,
    examples=("f32[4, 1], shape=(4, 8)", "f32[batch, 1, 3], shape=(2, batch, 5, 3)", "i64[()], shape=(3, 2)"),
)
def expand(x: Any, *, shape: tuple[int, ...]) -> Any:
    """Repeat axes of size 1 (and new leading axes) up to `shape`."""
    return np.broadcast_to(x, shape)


def _infer_slice(x: TensorType, *, axis: int, start: Dim, stop: Dim, step: int = 1) -> TensorType:
    if step < 1:
        raise TypeError(f"a step of {step}: flip first")
    return x.with_axis(axis, ceildiv(stop - start, step))


@op(
    _infer_slice,
    element=lambda at, x, axis, start, stop, step: x(*at[:axis], at[axis] * step + start, *at[axis + 1 :]),
    examples=(
        "f32[4, 8], axis=1, start=2, stop=7",
        "f32[9, 4], axis=0, start=1, stop=9, step=3",
        "f32[batch, seq + 2], axis=1, start=1, stop=seq + 1",
        "i64[5], axis=0, start=3, stop=3",
    ),
)
def slice_(x: Any, *, axis: int, start: Dim, stop: Dim, step: int = 1) -> Any:
    """Elements `start, start + step, ...` below `stop` of one axis; bounds lie within the axis."""
    return x[(slice(None),) * axis + (slice(start, stop, step),)]


@op(
    lambda x, axis: x.with_axis(axis, x.shape[axis]),
    element=lambda at, x, axis: x(*at[:axis], x.type.shape[axis] - 1 - at[axis], *at[axis + 1 :]),
    forward=lambda at, x, axis: (*at[:axis], x.shape[axis] - 1 - at[axis], *at[axis + 1 :]),
    examples=("f32[4, 8], axis=1", "i64[batch, 3], axis=0"),
)
def flip(x: Any, *, axis: int) -> Any:
    """The elements of one axis in reverse order."""
    return np.flip(x, axis)
