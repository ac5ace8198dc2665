"""Views as strides: where each element of a view lies in what it is a view of."""

from __future__ import annotations

from dataclasses import dataclass

from ..ir.graph import Node, Result, Value
from ..ir.scalar import Scalar
from ..ir.size import Call, Dim, Expr, Symbol, atom, index, substitute, symbols
from ..ops.view import flatten_index
from .blocks import sole_symbol
from .lower import element


@dataclass(frozen=True)
class Strided:
    """Element `at` of a view lies at `offset + sum(at * strides)` of `root`, counted in elements."""

    root: Value
    offset: Dim
    strides: tuple[Dim, ...]


def is_view(node: Node) -> bool:
    """Whether each element of the result is one element of the only input, at an index that is not data."""
    if len(node.inputs) != 1 or len(node.types) != 1 or node.op.element is None or node.op.elementwise:
        return False
    at = tuple(index(f"i{n}", d) for n, d in enumerate(node.types[0].shape))
    tree = element(node, at)
    return tree.op == "read" and not any(isinstance(i, Scalar) for i in tree.args[1])


def view_source(value: Value) -> Value:
    """The value that `value` is a view of; itself where it is none."""
    while isinstance(value, Result) and is_view(value.node):
        value = value.node.inputs[0]
    return value


def address(value: Value, at: tuple[Dim, ...]) -> tuple[Value, Dim]:
    """The value that `value` is a view of, and the position in it of the element at an index."""
    while isinstance(value, Result) and is_view(value.node):
        value, at = element(value.node, at).args
    return value, flatten_index(at, value.type.shape)


def coefficient(d: Dim, symbol: Symbol) -> Dim | None:
    """By how much `d` grows when the index grows by one; None where that is not the same everywhere."""
    if symbol not in symbols(d):
        return 0
    step = substitute(d, {symbol: atom(symbol) + 1}) - d
    return None if symbol in symbols(step) else step


def divides(d: Dim, symbol: Symbol) -> bool:
    """Whether the index stands inside a division."""
    if not isinstance(d, Expr):
        return False
    return any(isinstance(a, Call) and symbol in symbols(atom(a)) for m, _ in d.terms for a in m)


def strided(value: Value, shape: tuple[Dim, ...] | None = None) -> Strided | None:
    """`value`, under another shape where one is given, as strides; None where strides cannot say it."""
    from ..ops.view import reindex

    shape = value.type.shape if shape is None else shape
    at = tuple(index(f"i{n}", d) if d != 1 else 0 for n, d in enumerate(shape))
    root, place = address(value, reindex(at, shape, value.type.shape) if shape != value.type.shape else at)
    offset = place
    strides: list[Dim] = []
    for i in at:
        if i == 0:
            strides.append(0)
            continue
        step = coefficient(place, sole_symbol(i))
        if step is None or any(sole_symbol(j) in symbols(step) for j in at if j != 0):
            return None
        strides.append(step)
        offset = offset - i * step
    if any(sole_symbol(j) in symbols(offset) for j in at if j != 0):
        return None
    return Strided(root, offset, tuple(strides))
