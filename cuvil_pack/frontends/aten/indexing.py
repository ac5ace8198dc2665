"""Reading at indices that are data."""

from __future__ import annotations

from collections.abc import Sequence

from ...ir import size
from ...ir.graph import Number, Result, Value
from ...ir.size import Dim
from ...ir.types import DType, broadcast_shapes
from ...ops import elementwise as op
from ...ops import indexing as ops
from .operand import axis_of, call, convert, literal, shaped, spread, tensor, together
from .table import Refused, aten
from .view import permute

KEEP_SIGN = {"reshape", "transpose", "expand", "slice", "gather", "flip", "concat", "take_along", "cast"}


@aten("embedding")
def embedding(
    weight: Value, indices: Value, padding: int = -1, scale_grad: bool = False, sparse: bool = False
) -> Value:
    return call(ops.gather, weight, indices, axis=0)


@aten("index_select")
def index_select(x: Value, axis: int, indices: Value) -> Value:
    if x.type.rank == 0:
        return shaped(x, indices.type.shape)
    return call(ops.gather, x, indices, axis=axis_of(axis, x.type.rank))


@aten("gather")
def gather(x: Value, axis: int, indices: Value, sparse_grad: bool = False) -> Value:
    if x.type.rank == 0:
        return x
    return call(ops.take_along, x, indices, axis=axis_of(axis, x.type.rank))


@aten("take_along_dim")
def take_along_dim(x: Value, indices: Value, axis: int) -> Value:
    return gather(x, axis, indices)


@aten("bucketize.Tensor")
def bucketize(x: Value, boundaries: Value, *, out_int32: bool = False, right: bool = False) -> Value:
    x, boundaries = together(x, boundaries)
    found = call(ops.bucketize, x, boundaries, right=right)
    return convert(found, DType.I32) if out_int32 else found


@aten("index", "_unsafe_index")
def index(x: Value, indices: Sequence[Value | None]) -> Value:
    """Integer tensors at some axes: these axes are brought together, flattened, and read at one computed index."""
    places = [n for n, i in enumerate(indices) if i is not None]
    given = [i for i in indices if i is not None]
    if any(i.type.dtype is DType.BOOL for i in given):
        raise Refused("an index by a mask: how many elements it keeps depends on the data")
    extents = [x.type.shape[n] for n in places]
    shape = broadcast_shapes(*(i.type.shape for i in given))
    together = places == list(range(places[0], places[0] + len(places)))
    first = places[0] if together else 0
    rest = [n for n in range(x.type.rank) if n not in places]
    x = permute(x, (*rest[:first], *places, *rest[first:]))
    lead, tail = x.type.shape[:first], x.type.shape[first + len(places) :]
    flat = shaped(x, (*lead, size.product(extents), *tail))
    at = [_from_front(tensor(i, DType.I64), d) for i, d in zip(given, extents, strict=True)]
    return call(ops.gather, flat, spread(_flat_index(at, extents), shape), axis=first)


def _flat_index(indices: list[Value], extents: list[Dim]) -> Value:
    total = indices[0]
    for i, d in zip(indices[1:], extents[1:], strict=True):
        total = op.add(op.mul(total, tensor(d, DType.I64)), i)
    return total


def _from_front(i: Value, extent: Dim) -> Value:
    """The index with negative ones counted from the end."""
    if never_negative(i):
        return i
    return call(op.where, op.lt(i, literal(0, DType.I64)), op.add(i, tensor(extent, DType.I64)), i)


def never_negative(x: Value) -> bool:
    """Whether every element is 0 or more, as far as the ops that made it tell."""
    pending = [x]
    while pending:
        match pending.pop():
            case Number(number):
                if number < 0:
                    return False
            case Result(node):
                if node.op.name in ("iota", "size"):
                    continue
                if node.op.name not in KEEP_SIGN | {"add", "mul", "maximum"}:
                    return False
                pending += node.inputs[:1] if node.op.name in ("gather", "take_along") else node.inputs
            case _:
                return False
    return True


@aten("select_scatter")
def select_scatter(x: Value, source: Value, axis: int, index: Dim) -> Value:
    axis = axis_of(axis, x.type.rank)
    at = index if size.is_nonnegative(index) else index + x.type.shape[axis]
    return _replaced(x, shaped(source, (*x.type.shape[:axis], 1, *x.type.shape[axis + 1 :])), axis, at, at + 1)


@aten("slice_scatter")
def slice_scatter(
    x: Value, source: Value, axis: int = 0, start: Dim | None = None, stop: Dim | None = None, step: int = 1
) -> Value:
    from .view import NO_END, clip

    if step != 1:
        raise Refused("a write to every second element")
    axis = axis_of(axis, x.type.rank)
    first = clip(start or 0, x.type.shape[axis])
    return _replaced(x, source, axis, first, clip(NO_END if stop is None else stop, x.type.shape[axis]))


def _replaced(x: Value, part: Value, axis: int, start: Dim, stop: Dim) -> Value:
    from .view import cat, slice_

    whole = [slice_(x, axis, 0, start), part, slice_(x, axis, stop, x.type.shape[axis])]
    return cat([p for p in whole if p.type.shape[axis] != 0], axis)
