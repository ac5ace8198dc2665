"""Integers that are known functions of the index: what a gather reads at them is a view."""

from __future__ import annotations

from collections.abc import Iterable

from ..ir.graph import Node, Number, Value
from ..ir.size import Dim, Expr, Symbol, index, is_nonnegative, symbols
from ..ir.types import DType
from ..ops.elementwise import add, and_, cast, ge, gt, le, lt, mul, neg, sub, where
from ..ops.indexing import gather, iota, size, tri
from ..ops.view import expand, reindex, reshape, slice_, transpose, unflatten_index
from .settle import law
from .values import made_by, make, number_like, shaped, spread, uniform

Place = tuple[Dim, ...]
KNOWN = (iota, size, add, sub, mul, neg, cast, reshape, expand, transpose, slice_)


def places(shape: Iterable[Dim], name: str = "at") -> Place:
    """A fresh index into a shape; 0 along axes of size 1."""
    return tuple(0 if d == 1 else index(f"{name}{n}", d) for n, d in enumerate(shape))


def number_at(value: Value, at: Place) -> Dim | None:
    """The integer at an index, where it follows from the index and the sizes alone."""
    if isinstance(value, Number):
        return int(value.number) if not value.type.dtype.is_float else None
    node = made_by(value, *KNOWN)
    if node is None or value.type.dtype.is_float:
        return None
    match node.op.name:
        case "iota":
            axis: int = node.attrs["axis"]
            return at[axis]
        case "size":
            dim: Dim = node.attrs["dim"]
            return dim
        case "add" | "sub" | "mul":
            a, b = (number_at(i, _aligned(at, i)) for i in node.inputs)
            return None if a is None or b is None else a + b if node.op is add else a - b if node.op is sub else a * b
        case "neg":
            inner = number_at(node.inputs[0], at)
            return None if inner is None else -inner
    return number_at(node.inputs[0], _under(node, at))


def _aligned(at: Place, value: Value) -> Place:
    return tuple(0 if d == 1 else i for i, d in zip(at[len(at) - value.type.rank :], value.type.shape, strict=True))


def _under(node: Node, at: Place) -> Place:
    """Where a view reads its input."""
    match node.op.name:
        case "reshape":
            return reindex(at, node.types[0].shape, node.inputs[0].type.shape)
        case "transpose":
            axes = node.attrs["axes"]
            return tuple(at[axes.index(n)] for n in range(len(axes)))
        case "slice":
            axis = node.attrs["axis"]
            return tuple(i * node.attrs["step"] + node.attrs["start"] if n == axis else i for n, i in enumerate(at))
    return _aligned(at, node.inputs[0])


def distance_below(condition: Value, at: Place) -> Dim | None:
    """`d`, where the condition holds at an index exactly if `d <= 0`."""
    node = made_by(condition, le, lt, ge, gt)
    if node is None:
        return None
    a, b = (number_at(i, _aligned(at, i)) for i in node.inputs)
    if a is None or b is None:
        return None
    match node.op.name:
        case "le":
            return a - b
        case "lt":
            return a - b + 1
        case "ge":
            return b - a
    return b - a + 1


@law(
    tri,
    given=(
        "x: f32[5, 5] -> add(x, tri(full(shape=(5, 5), value=float('-inf'), dtype=f32), upper=True, diagonal=1))",
        "x: f32[5, 4] -> where(tri(expand(number(True, bool), shape=(5, 4)), upper=False, diagonal=-1), x, 0.0)",
    ),
)
def triangle_of_number(node: Node) -> Value | None:
    """The triangle of a matrix of one number is a choice by position."""
    number = uniform(node.inputs[0])
    if number is None:
        return None
    *_, rows, columns = node.types[0].shape
    row = make(add, shaped(make(iota, shape=(rows,), axis=0), (rows, 1)), node.attrs["diagonal"])
    inside = make(ge if node.attrs["upper"] else le, make(iota, shape=(columns,), axis=0), row)
    if number.type.dtype is DType.BOOL:
        return spread(make(and_, inside, number), node.types[0].shape)
    return spread(make(where, inside, number, number_like(number, 0)), node.types[0].shape)


@law(
    gather,
    given=(
        "x: bool[b, s] -> gather(reshape(x, shape=(b*s,)), add(mul("
        "reshape(iota(shape=(b,)), shape=(b, 1, 1)), size(dim=s)), iota(shape=(s,))))",
    ),
)
def gather_of_grid(node: Node) -> Value | None:
    """Reading a flattened tensor at the flat position of every element is reading the tensor."""
    flat, indices = node.inputs
    view = made_by(flat, reshape)
    if view is None or flat.type.rank != 1:
        return None
    x, at = view.inputs[0], places(indices.type.shape)
    position = number_at(indices, at)
    if position is None:
        return None
    axes = _axes_read(unflatten_index(position, x.type.shape), x.type.shape, at)
    if axes is None:
        return None
    wide = shaped(x, tuple(d if n in axes else 1 for n, d in enumerate(indices.type.shape)))
    return spread(wide, indices.type.shape)


def _axes_read(place: Place, shape: tuple[Dim, ...], at: Place) -> list[int] | None:
    """The axes of the result that the axes of `x` are read along, where each is read as a whole and in order."""
    axes = []
    for i, d in zip(place, shape, strict=True):
        if d == 1:
            continue
        if not isinstance(i, Expr) or i not in at:
            return None
        axes.append(at.index(i))
        if extent_of(i) != d:
            return None
    return axes if axes == sorted(set(axes)) else None


def extent_of(place: Expr) -> Dim | None:
    """How many values a plain index takes."""
    (atom, *_), _ = place.terms[0]
    return atom.hi + 1 if isinstance(atom, Symbol) and atom.hi is not None else None


@law(
    gather,
    given=(
        "x: f32[9, 4] -> gather(x, iota(shape=(5,), axis=0, dtype=i64))",
        "x: f32[9, 4] -> gather(x, add(reshape(iota(shape=(5,), axis=0, dtype=i64), shape=(1, 5)), 2))",
        "x: f32[9, 4] -> gather(x, number(2, i64))",
    ),
)
def gather_of_line(node: Node) -> Value | None:
    """Reading at consecutive indices is a slice, at one known index too."""
    (x, indices), axis = node.inputs, node.attrs["axis"]
    at = places(indices.type.shape)
    position = number_at(indices, at)
    if position is None:
        return None
    along = [n for n, i in enumerate(at) if isinstance(i, Expr) and _stands_in(i, position)]
    if len(along) > 1:
        return None
    start = position - at[along[0]] if along else position
    count = indices.type.shape[along[0]] if along else 1
    stop = start + count
    if _varies(start, at) or not _inside(start, stop, x.type.shape[axis]):
        return None
    part = make(slice_, x, axis=axis, start=start, stop=stop)
    kept = tuple(d if n in along else 1 for n, d in enumerate(indices.type.shape))
    shape = (*x.type.shape[:axis], *kept, *x.type.shape[axis + 1 :])
    return spread(shaped(part, shape), node.types[0].shape)


def _stands_in(place: Expr, position: Dim) -> bool:
    return bool(symbols(place) & symbols(position))


def _varies(start: Dim, at: Place) -> bool:
    return any(isinstance(i, Expr) and _stands_in(i, start) for i in at)


def _inside(start: Dim, stop: Dim, extent: Dim) -> bool:
    return is_nonnegative(start) and is_nonnegative(extent - stop)
