"""What passes ask about values, and how they build new ones."""

from __future__ import annotations

import math
from typing import Any, TypeGuard

from ..ir.graph import Node, Number, Op, Result, Value, Weight
from ..ir.size import Dim, Expr
from ..ir.types import TensorType
from ..ops.indexing import full
from ..ops.view import expand, invert, reshape, transpose

Constant = Number | Weight


def made_by(value: Value, *ops: Op) -> Node | None:
    """The node that `value` is the result of, where that is of one of these ops."""
    return value.node if isinstance(value, Result) and value.node.op in ops else None


def is_constant(value: Value) -> TypeGuard[Constant]:
    return isinstance(value, Number | Weight)


def literal(value: Value) -> float | int | bool | None:
    """The number, where `value` is one."""
    return value.number if isinstance(value, Number) else None


def uniform(value: Value) -> Number | None:
    """The number that every element is, where a literal says so."""
    while (view := made_by(value, expand, reshape)) is not None:
        value = view.inputs[0]
    node = made_by(value, full)
    if node is not None:
        return Number(node.attrs["value"], TensorType(value.type.dtype, ()))
    return value if isinstance(value, Number) else None


def make(op: Op, *inputs: Any, **attrs: Any) -> Value:
    """A node of one result; plain numbers take the element type of the first value."""
    value: Value = op.node(*inputs, **attrs)
    return value


def number_like(value: Value, number: float | int | bool) -> Number:
    """A number of the element type of `value`."""
    return Number(number, TensorType(value.type.dtype, ()))


def shaped(value: Value, shape: tuple[Dim, ...]) -> Value:
    """`value` under another shape of as many elements."""
    return value if value.type.shape == shape else make(reshape, value, shape=shape)


def spread(value: Value, shape: tuple[Dim, ...]) -> Value:
    """`value` repeated up to `shape`."""
    return value if value.type.shape == shape else make(expand, value, shape=shape)


def turned(value: Value, axes: tuple[int, ...]) -> Value:
    """`value` with permuted axes."""
    return value if axes == tuple(range(len(axes))) else make(transpose, value, axes=axes)


def widened(shape: tuple[Dim, ...], rank: int) -> tuple[Dim, ...]:
    """A shape with leading ones up to `rank`."""
    return (1,) * (rank - len(shape)) + shape


def moves_only_ones(shape: tuple[Dim, ...], axes: tuple[int, ...]) -> bool:
    """Whether a permutation leaves the elements of a tensor of this shape where they are."""
    kept = [a for a in axes if shape[a] != 1]
    return kept == sorted(kept)


def permuted(shape: tuple[Dim, ...], axes: tuple[int, ...]) -> tuple[Dim, ...]:
    return tuple(shape[a] for a in axes)


def unturned(shape: tuple[Dim, ...], axes: tuple[int, ...]) -> tuple[Dim, ...]:
    """The shape that `axes` permutes to `shape`."""
    return permuted(shape, invert(axes))


def is_symbolic(attr: object) -> bool:
    """Whether a named size stands in an attribute."""
    if isinstance(attr, tuple):
        return any(map(is_symbolic, attr))
    return isinstance(attr, Expr)


def is_finite(number: float) -> bool:
    return math.isfinite(number)


def matching(old: tuple[Dim, ...], new: tuple[Dim, ...]) -> list[tuple[range, range]] | None:
    """The finest split of two shapes into runs of axes with equal products; None where named sizes hide it."""
    groups: list[tuple[range, range]] = []
    i = j = 0
    while i < len(old) or j < len(new):
        a, b = i, j
        left: Dim = old[i] if i < len(old) else 1
        right: Dim = new[j] if j < len(new) else 1
        i, j = min(i + 1, len(old)), min(j + 1, len(new))
        while left != right:
            grows = _grows(left, right)
            if grows is None or (grows and i == len(old)) or (not grows and j == len(new)):
                return None
            if grows:
                left, i = left * old[i], i + 1
            else:
                right, j = right * new[j], j + 1
        groups.append((range(a, i), range(b, j)))
    return groups


def _grows(left: Dim, right: Dim) -> bool | None:
    """Whether the left product must take one more axis (or the right one: False); None where that is not known."""
    if isinstance(left, int) and isinstance(right, int):
        return left < right
    if left != 0 and right // left * left == right:
        return True
    if right != 0 and left // right * right == left:
        return False
    return None
