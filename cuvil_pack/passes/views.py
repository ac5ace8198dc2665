"""Laws of views: what moves nothing goes, chains join, and views stand where the least is computed."""

from __future__ import annotations

from itertools import pairwise

from ..ir.graph import Node, Number, Value
from ..ir.size import Dim, is_nonnegative
from ..ir.types import TensorType
from ..ops.elementwise import add
from ..ops.indexing import full, gather, iota, size
from ..ops.join import concat, pad
from ..ops.matmul import matmul
from ..ops.reduce import reduce
from ..ops.view import expand, flip, reshape, slice_, transpose
from .settle import law
from .values import made_by, make, moves_only_ones, shaped, spread, turned, widened


@law(
    reshape,
    expand,
    transpose,
    given=(
        "x: f32[4, 8] -> reshape(x, shape=(4, 8))",
        "x: f32[4, 8] -> expand(x, shape=(4, 8))",
        "x: f32[4, 8] -> transpose(x, axes=(0, 1))",
    ),
)
def nothing_moves(node: Node) -> Value | None:
    """A view that leaves every element where it is."""
    x = node.inputs[0]
    if node.op is transpose:
        return x if node.attrs["axes"] == tuple(range(x.type.rank)) else None
    return x if x.type == node.types[0] else None


@law(
    reshape,
    expand,
    transpose,
    given=(
        "x: f32[4, 8] -> reshape(reshape(x, shape=(32,)), shape=(8, 4))",
        "x: f32[8] -> expand(expand(x, shape=(4, 8)), shape=(2, 4, 8))",
        "x: f32[4, 8, 3] -> transpose(transpose(x, axes=(1, 2, 0)), axes=(1, 2, 0))",
    ),
)
def twice(node: Node) -> Value | None:
    """A view of a view of the same kind is one."""
    inner = made_by(node.inputs[0], node.op)
    if inner is None:
        return None
    x = inner.inputs[0]
    if node.op is transpose:
        return turned(x, tuple(inner.attrs["axes"][a] for a in node.attrs["axes"]))
    return make(node.op, x, shape=node.attrs["shape"])


@law(
    transpose,
    given=(
        "x: f32[4, 1, 8] -> transpose(x, axes=(1, 0, 2))",
        "x: f32[batch, 1, 1, 8] -> transpose(x, axes=(0, 3, 1, 2))",
    ),
)
def only_ones_move(node: Node) -> Value | None:
    """A permutation that moves only axes of size 1 is a reshape."""
    (x,) = node.inputs
    return shaped(x, node.types[0].shape) if moves_only_ones(x.type.shape, node.attrs["axes"]) else None


@law(transpose, given="x: f32[8, 1] -> transpose(expand(x, shape=(4, 8, 5)), axes=(2, 0, 1))")
def transpose_of_expand(node: Node) -> Value | None:
    """What is permuted is small: first the permutation, then the repetition."""
    inner = made_by(node.inputs[0], expand)
    if inner is None:
        return None
    x, rank = inner.inputs[0], inner.types[0].rank
    whole = shaped(x, widened(x.type.shape, rank))
    return spread(turned(whole, node.attrs["axes"]), node.types[0].shape)


@law(
    reshape,
    given=(
        "x: f32[batch, 1, 8] -> reshape(expand(x, shape=(batch, 4, 8)), shape=(batch, 1, 4, 8))",
        "x: f32[8] -> reshape(expand(x, shape=(4, 1, 8)), shape=(4, 8))",
    ),
)
def ones_after_expand(node: Node) -> Value | None:
    """A reshape that only adds or drops axes of size 1 goes before the repetition."""
    inner = made_by(node.inputs[0], expand)
    if inner is None:
        return None
    x, old, new = inner.inputs[0], inner.types[0].shape, node.attrs["shape"]
    if [d for d in old if d != 1] != [d for d in new if d != 1]:
        return None
    kept = iter(have for have, d in zip(widened(x.type.shape, len(old)), old, strict=True) if d != 1)
    return spread(shaped(x, tuple(1 if d == 1 else next(kept) for d in new)), new)


@law(expand, given="x: f32[8] -> expand(reshape(x, shape=(1, 1, 8)), shape=(2, 4, 8))")
def expand_adds_axes(node: Node) -> Value | None:
    """`expand` adds leading axes by itself."""
    inner = made_by(node.inputs[0], reshape)
    if inner is None:
        return None
    x, shape = inner.inputs[0], inner.types[0].shape
    leads = len(shape) - x.type.rank
    return (
        make(expand, x, shape=node.attrs["shape"]) if leads > 0 and shape == widened(x.type.shape, len(shape)) else None
    )


@law(
    slice_,
    given=(
        "x: f32[4, 8] -> slice(x, axis=1, start=0, stop=8)",
        "x: f32[4, 8] -> slice(slice(x, axis=1, start=1, stop=7), axis=1, start=2, stop=6, step=2)",
    ),
)
def slice_of_slice(node: Node) -> Value | None:
    """A slice of everything, and a slice of a slice along one axis."""
    x, axis, start, stop, step = node.inputs[0], *(node.attrs[k] for k in ("axis", "start", "stop", "step"))
    if start == 0 and step == 1 and stop == x.type.shape[axis]:
        return x
    inner = made_by(x, slice_)
    if inner is None or inner.attrs["axis"] != axis:
        return None
    first, stride = inner.attrs["start"], inner.attrs["step"]
    last = node.types[0].shape[axis] - 1
    begin = first + start * stride
    return make(
        slice_, inner.inputs[0], axis=axis, start=begin, stop=begin + last * step * stride + 1, step=step * stride
    )


@law(
    slice_,
    given=(
        "x: f32[4, 1] -> slice(expand(x, shape=(4, 8)), axis=1, start=2, stop=5)",
        "x: f32[4, 1] -> slice(expand(x, shape=(4, 8)), axis=0, start=2, stop=3)",
    ),
)
def slice_of_expand(node: Node) -> Value | None:
    """A slice of what is repeated is repeated less."""
    inner = made_by(node.inputs[0], expand)
    if inner is None:
        return None
    x, axis = inner.inputs[0], node.attrs["axis"]
    own = axis - (inner.types[0].rank - x.type.rank)
    if own >= 0 and x.type.shape[own] != 1:
        x = make(slice_, x, **{**node.attrs, "axis": own})
    return make(expand, x, shape=node.types[0].shape)


@law(
    slice_,
    given=("x: f32[4, 3], y: f32[4, 5] -> slice(concat(x, y, axis=1), axis=1, start=3, stop=8)",),
)
def slice_of_concat(node: Node) -> Value | None:
    """A slice that lies within one of the joined tensors reads that one."""
    inner = made_by(node.inputs[0], concat)
    if inner is None:
        return None
    axis, start, stop = (node.attrs[k] for k in ("axis", "start", "stop"))
    if axis != inner.attrs["axis"]:
        return None
    begin: Dim = 0
    for x in inner.inputs:
        end = begin + x.type.shape[axis]
        if is_nonnegative(start - begin) and is_nonnegative(end - stop):
            return make(slice_, x, axis=axis, start=start - begin, stop=stop - begin, step=node.attrs["step"])
        begin = end
    return None


@law(
    pad,
    given=(
        "x: f32[4, 8] -> pad(x, pads=((0, 0), (0, 0)))",
        "x: f32[4] -> pad(pad(x, pads=((1, 2),)), pads=((0, 1),))",
    ),
)
def pad_of_pad(node: Node) -> Value | None:
    """Padding by nothing, and padding twice with one value."""
    (x,), pads = node.inputs, node.attrs["pads"]
    if all(p == (0, 0) for p in pads):
        return x
    inner = made_by(x, pad)
    if (
        inner is None
        or any(inner.attrs[k] != node.attrs[k] for k in ("value", "mode"))
        or node.attrs["mode"] != "constant"
    ):
        return None
    both = tuple((a + c, b + d) for (a, b), (c, d) in zip(inner.attrs["pads"], pads, strict=True))
    return make(pad, inner.inputs[0], pads=both, value=node.attrs["value"])


@law(
    concat,
    given=(
        "x: f32[4, 8] -> concat(x, axis=0)",
        "x: f32[4], y: f32[2] -> concat(concat(x, y, axis=0), x, axis=0)",
        "x: f32[4, 8] -> concat(slice(x, axis=1, start=0, stop=3), slice(x, axis=1, start=3, stop=8), axis=1)",
    ),
)
def concat_of_parts(node: Node) -> Value | None:
    """Joining one tensor, joining what is joined, and joining neighbouring slices."""
    axis, parts = node.attrs["axis"], node.inputs
    if len(parts) == 1:
        return parts[0]
    nested = [made_by(p, concat) for p in parts]
    if any(n is not None and n.attrs["axis"] == axis for n in nested):
        flat = [
            q
            for p, n in zip(parts, nested, strict=True)
            for q in (n.inputs if n is not None and n.attrs["axis"] == axis else (p,))
        ]
        return make(concat, *flat, axis=axis)
    return _neighbours(axis, parts)


def _neighbours(axis: int, parts: tuple[Value, ...]) -> Value | None:
    for n, (a, b) in enumerate(pairwise(parts)):
        left, right = made_by(a, slice_), made_by(b, slice_)
        if left is None or right is None or left.inputs != right.inputs:
            continue
        meets = left.attrs["stop"] == right.attrs["start"] and left.attrs["step"] == right.attrs["step"] == 1
        if not meets or left.attrs["axis"] != axis or right.attrs["axis"] != axis:
            continue
        joined = make(slice_, left.inputs[0], axis=axis, start=left.attrs["start"], stop=right.attrs["stop"])
        return make(concat, *parts[:n], joined, *parts[n + 2 :], axis=axis)
    return None


@law(flip, given="x: f32[4, 8] -> flip(flip(x, axis=1), axis=1)")
def flip_of_flip(node: Node) -> Value | None:
    inner = made_by(node.inputs[0], flip)
    return inner.inputs[0] if inner is not None and inner.attrs == node.attrs else None


@law(reduce, given="x: f32[4, 1] -> reduce(x, kind='sum', axes=(1,))")
def reduce_of_one(node: Node) -> Value | None:
    """A reduction over axes of size 1 reads one element."""
    x, axes = node.inputs[0], node.attrs["axes"]
    wide = tuple(a for a in axes if x.type.shape[a] != 1)
    if wide == axes:
        return None
    return make(reduce, x, kind=node.attrs["kind"], axes=wide) if wide else x


@law(size, given="x: f32[4] -> add(cast(size(dim=4), dtype=f32), x)")
def known_size(node: Node) -> Value | None:
    """A size that is a number."""
    dim = node.attrs["dim"]
    return Number(dim, node.types[0]) if isinstance(dim, int) else None


@law(full, given="x: f32[4] -> add(x, full(shape=(3, 4), value=2.5, dtype=f32))")
def full_is_expanded(node: Node) -> Value | None:
    """One number everywhere is a literal, repeated."""
    number = Number(node.attrs["value"], TensorType(node.types[0].dtype, ()))
    return spread(number, node.types[0].shape)


@law(iota, given="x: f32[4] -> add(iota(shape=(3, 4), axis=0, dtype=f32), x)")
def iota_is_a_line(node: Node) -> Value | None:
    """Indices are counted along one axis, then repeated."""
    shape, axis = node.attrs["shape"], node.attrs["axis"]
    if len(shape) == 1:
        return None
    line = make(iota, shape=(shape[axis],), axis=0, dtype=node.attrs["dtype"])
    return spread(shaped(line, tuple(d if n == axis else 1 for n, d in enumerate(shape))), shape)


@law(
    gather,
    given=(
        "x: f32[9, 4], i: i64[5] -> gather(x, reshape(i, shape=(1, 5)))",
        "x: f32[9, 4], i: i64[5] -> gather(x, expand(i, shape=(3, 5)), axis=1)",
    ),
)
def gather_at_view(node: Node) -> Value | None:
    """What is read at repeated or reshaped indices is read once."""
    (x, indices), axis = node.inputs, node.attrs["axis"]
    view = made_by(indices, reshape, expand)
    if view is None:
        return None
    inner = view.inputs[0]
    if view.op is expand and inner.type.rank != indices.type.rank:
        inner = shaped(inner, widened(inner.type.shape, indices.type.rank))
    less = make(gather, x, inner, axis=axis)
    return make(view.op, less, shape=node.types[0].shape)


@law(matmul, given="x: f32[4, 3, 8], w: f32[8, 5] -> matmul(reshape(x, shape=(12, 8)), w)")
def matmul_of_rows(node: Node) -> Value | None:
    """A product with one matrix keeps the leading axes of its rows."""
    a, w = node.inputs
    view = made_by(a, reshape)
    if view is None or w.type.rank != 2:
        return None
    x = view.inputs[0]
    if x.type.rank < 2 or x.type.shape[-1] != a.type.shape[-1] or x.type.rank < a.type.rank:
        return None
    return shaped(make(matmul, x, w), node.types[0].shape)


@law(add, given="x: f32[4, 3, 8], w: f32[8, 8], b: f32[8] -> add(reshape(matmul(x, w), shape=(12, 8)), b)")
def bias_of_rows(node: Node) -> Value | None:
    """A vector added to reshaped rows is added before."""
    y, b = node.inputs
    view = made_by(y, reshape)
    if view is None or b.type.rank > 1:
        return None
    x = view.inputs[0]
    if (
        x.type.rank == 0
        or y.type.rank == 0
        or x.type.shape[-1] != y.type.shape[-1]
        or node.types[0] != y.type
        or made_by(x, matmul) is None
    ):
        return None
    return shaped(make(add, x, b), y.type.shape)
