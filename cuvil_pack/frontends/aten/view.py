"""Views and joins: elements that move and stay what they are."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from ...ir import size
from ...ir.graph import Value
from ...ir.size import Dim
from ...ir.types import DType, TensorType
from ...ops import join as joins
from ...ops import view as op
from ...ops.indexing import gather
from .operand import axes_of, axis_of, convert, join, shaped, spread
from .sizes import modulo
from .table import Refused, aten

NO_END = 1 << 62


@aten("view", "reshape", "_unsafe_view", "_reshape_alias", "view_copy", "reshape_copy")
def view(x: Value, shape: Sequence[Dim], result: TensorType) -> Value:
    return shaped(x, _completed(x, shape, result))


def _completed(x: Value, shape: Sequence[Dim], result: TensorType) -> tuple[Dim, ...]:
    """The shape with its -1 filled in."""
    if -1 not in shape:
        return tuple(shape)
    at = list(shape).index(-1)
    rest = size.product(d for d in shape if d != -1)
    if rest == 0:
        return result.shape
    missing = size.floordiv(x.type.numel, rest)
    full = (*shape[:at], missing, *shape[at + 1 :])
    return tuple(full) if size.product(full) == x.type.numel else result.shape


@aten("view.dtype")
def view_dtype(x: Value, dtype: DType) -> Value:
    if dtype is x.type.dtype:
        return x
    raise Refused("a view of the bits as another element type")


@aten("flatten")
def flatten(x: Value, start: int = 0, end: int = -1) -> Value:
    shape = x.type.shape or (1,)
    first, last = axis_of(start, len(shape)), axis_of(end, len(shape))
    return shaped(x, (*shape[:first], size.product(shape[first : last + 1]), *shape[last + 1 :]))


@aten("permute")
def permute(x: Value, axes: Sequence[int]) -> Value:
    order = tuple(axis_of(a, x.type.rank) for a in axes)
    if order == tuple(range(x.type.rank)):
        return x
    value: Value = op.transpose(x, axes=order)
    return value


@aten("transpose")
def transpose(x: Value, first: int, second: int) -> Value:
    order = list(range(x.type.rank))
    if not order:
        return x
    a, b = axis_of(first, x.type.rank), axis_of(second, x.type.rank)
    order[a], order[b] = b, a
    return permute(x, order)


@aten("t", "numpy_T", "mT")
def t(x: Value) -> Value:
    return x if x.type.rank < 2 else transpose(x, -2, -1)


@aten("unsqueeze")
def unsqueeze(x: Value, axis: int) -> Value:
    at = axis_of(axis, x.type.rank + 1)
    return shaped(x, (*x.type.shape[:at], 1, *x.type.shape[at:]))


@aten("squeeze")
def squeeze(x: Value, axes: int | Sequence[int] | None = None) -> Value:
    chosen = axes_of(axes, x.type.rank) if axes is None or isinstance(axes, int) or axes else ()
    return shaped(x, (d for n, d in enumerate(x.type.shape) if n not in chosen or d != 1))


@aten("expand")
def broadcast(x: Value, shape: Sequence[Dim], implicit: bool = False) -> Value:
    have = (1,) * (len(shape) - x.type.rank) + x.type.shape
    return spread(x, (h if d == -1 else d for h, d in zip(have, shape, strict=True)))


@aten("expand_as", "broadcast_to")
def expand_as(x: Value, other: Value | Sequence[Dim]) -> Value:
    return broadcast(x, other.type.shape if isinstance(other, Value) else other)


@aten("slice")
def slice_(x: Value, axis: int = 0, start: Dim | None = None, stop: Dim | None = None, step: int = 1) -> Value:
    axis = axis_of(axis, x.type.rank)
    extent = x.type.shape[axis]
    first = clip(0 if start is None else start, extent)
    last = size.maximum(first, clip(NO_END if stop is None else stop, extent))
    if (first, last, step) == (0, extent, 1):
        return x
    value: Value = op.slice_(x, axis=axis, start=first, stop=last, step=step)
    return value


def clip(bound: Dim, extent: Dim) -> Dim:
    """A bound of a slice within `[0, extent]`; a negative one counts from the end."""
    if isinstance(bound, int) and bound >= NO_END // 2:
        return extent
    if size.is_nonnegative(bound):
        return size.minimum(bound, extent)
    if size.is_nonnegative(-1 - bound):
        return size.maximum(0, bound + extent)
    raise Refused(f"a slice bound {bound} that may be negative or not")


@aten("narrow")
def narrow(x: Value, axis: int, start: Dim, length: Dim) -> Value:
    return slice_(x, axis, start, start + length)


@aten("select")
def select(x: Value, axis: int, index: Dim) -> Value:
    axis = axis_of(axis, x.type.rank)
    at = index if size.is_nonnegative(index) else index + x.type.shape[axis]
    one = slice_(x, axis, at, at + 1)
    return shaped(one, (*x.type.shape[:axis], *x.type.shape[axis + 1 :]))


@aten("split", "split_with_sizes", "split_copy", "split_with_sizes_copy", "unsafe_split", "unsafe_split_with_sizes")
def split(x: Value, sizes: Dim | Sequence[Dim], axis: int = 0) -> tuple[Value, ...]:
    axis = axis_of(axis, x.type.rank)
    if isinstance(sizes, Sequence):
        return _pieces(x, list(sizes), axis)
    count = size.ceildiv(x.type.shape[axis], sizes)
    if not isinstance(count, int):
        raise Refused(f"a split into {count} pieces: the number of pieces must be known")
    last = x.type.shape[axis] - sizes * (count - 1)
    return _pieces(x, [*[sizes] * (count - 1), last], axis)


def _pieces(x: Value, sizes: list[Dim], axis: int) -> tuple[Value, ...]:
    start: Dim = 0
    pieces = []
    for n in sizes:
        pieces.append(slice_(x, axis, start, start + n))
        start = start + n
    return tuple(pieces)


@aten("chunk", "unsafe_chunk")
def chunk(x: Value, count: int, axis: int = 0) -> tuple[Value, ...]:
    return split(x, size.ceildiv(x.type.shape[axis_of(axis, x.type.rank)], count), axis)


@aten("tensor_split")
def tensor_split(x: Value, sections: int | Sequence[Dim], axis: int = 0) -> tuple[Value, ...]:
    extent = x.type.shape[axis_of(axis, x.type.rank)]
    if isinstance(sections, Sequence):
        edges = [0, *sections, extent]
    elif isinstance(extent, int):
        edges = [n * (extent // sections) + min(n, extent % sections) for n in range(sections + 1)]
    else:
        raise Refused(f"an uneven split of {extent} elements")
    return tuple(slice_(x, axis, a, b) for a, b in pairwise(edges))


@aten("unbind")
def unbind(x: Value, axis: int = 0) -> tuple[Value, ...]:
    count = x.type.shape[axis_of(axis, x.type.rank)]
    if not isinstance(count, int):
        raise Refused(f"an unbind of {count} slices: the number of slices must be known")
    return tuple(select(x, axis, n) for n in range(count))


@aten("cat", "concat", "concatenate")
def cat(xs: Sequence[Value], axis: int = 0) -> Value:
    kept = [x for x in xs if x.type.shape != (0,)] or list(xs[:1])
    dtype = kept[0].type.dtype
    for x in xs:
        dtype = join(dtype, x.type.dtype)
    if len(kept) == 1:
        return convert(kept[0], dtype)
    value: Value = joins.concat(*(convert(x, dtype) for x in kept), axis=axis_of(axis, kept[0].type.rank))
    return value


@aten("stack")
def stack(xs: Sequence[Value], axis: int = 0) -> Value:
    at = axis_of(axis, xs[0].type.rank + 1)
    return cat([unsqueeze(x, at) for x in xs], at)


@aten("flip")
def flip(x: Value, axes: Sequence[int]) -> Value:
    for axis in axes:
        x = op.flip(x, axis=axis_of(axis, x.type.rank))
    return x


@aten("roll")
def roll(x: Value, shifts: Dim | Sequence[Dim], axes: int | Sequence[int] = ()) -> Value:
    steps = list(shifts) if isinstance(shifts, Sequence) else [shifts]
    along = list(axes) if isinstance(axes, Sequence) else [axes]
    if not along:
        return shaped(roll(shaped(x, (x.type.numel,)), shifts, 0), x.type.shape)
    for step, axis in zip(steps, along, strict=True):
        x = _rolled(x, step, axis_of(axis, x.type.rank))
    return x


def _rolled(x: Value, step: Dim, axis: int) -> Value:
    extent = x.type.shape[axis]
    cut = extent - step if size.is_nonnegative(step) and size.is_nonnegative(extent - step) else modulo(-step, extent)
    if cut in (0, extent):
        return x
    return cat([slice_(x, axis, cut, extent), slice_(x, axis, 0, cut)], axis)


@aten("repeat", "tile")
def repeat(x: Value, times: Sequence[Dim]) -> Value:
    shape = (1,) * (len(times) - x.type.rank) + x.type.shape
    counts = (1,) * (len(shape) - len(times)) + tuple(times)
    if all(n == 1 for n in counts):
        return shaped(x, shape)
    apart = [d for pair in zip((1,) * len(shape), shape, strict=True) for d in pair]
    wide = [d for pair in zip(counts, shape, strict=True) for d in pair]
    return shaped(spread(shaped(x, apart), wide), (n * d for n, d in zip(counts, shape, strict=True)))


@aten("repeat_interleave.self_int")
def repeat_interleave(x: Value, times: Dim, axis: int | None = None, output_size: Dim | None = None) -> Value:
    if axis is None:
        x, axis = shaped(x, (x.type.numel,)), 0
    axis = axis_of(axis, x.type.rank)
    before, after = x.type.shape[: axis + 1], x.type.shape[axis + 1 :]
    wide = spread(unsqueeze(x, axis + 1), (*before, times, *after))
    return shaped(wide, (*before[:-1], before[-1] * times, *after))


@aten("constant_pad_nd")
def constant_pad(x: Value, pads: Sequence[Dim], value: float = 0) -> Value:
    around = _around(x, pads)
    for axis, (lo, hi) in enumerate(around):
        x = _cropped(x, axis, lo, hi)
    grown = tuple(tuple(0 if isinstance(p, int) and p < 0 else p for p in pair) for pair in around)
    if all(pair == (0, 0) for pair in grown):
        return x
    filler = bool(value) if x.type.dtype is DType.BOOL else value if x.type.dtype.is_float else int(value)
    padded: Value = joins.pad(x, pads=grown, value=filler)
    return padded


def _around(x: Value, pads: Sequence[Dim]) -> list[tuple[Dim, Dim]]:
    """torch's flat list of pads, last axis first, as one pair for each axis."""
    pairs = list(zip(pads[::2], pads[1::2], strict=True))[::-1]
    return [(0, 0)] * (x.type.rank - len(pairs)) + pairs


def _cropped(x: Value, axis: int, lo: Dim, hi: Dim) -> Value:
    start = -lo if isinstance(lo, int) and lo < 0 else 0
    stop = x.type.shape[axis] + hi if isinstance(hi, int) and hi < 0 else x.type.shape[axis]
    return slice_(x, axis, start, stop)


@aten("pad")
def pad(x: Value, pads: Sequence[Dim], mode: str = "constant", value: float | None = None) -> Value:
    if mode == "constant":
        return constant_pad(x, pads, value or 0)
    make = {"reflect": _reflected, "replicate": _replicated, "circular": _wrapped}[mode]
    for axis, (lo, hi) in enumerate(_around(x, pads)):
        if (lo, hi) != (0, 0):
            x = cat([part for part in make(x, axis, lo, hi) if part.type.shape[axis] != 0], axis)
    return x


@aten("reflection_pad1d", "reflection_pad2d", "reflection_pad3d")
def reflection_pad(x: Value, pads: Sequence[Dim]) -> Value:
    return pad(x, pads, "reflect")


@aten("replication_pad1d", "replication_pad2d", "replication_pad3d")
def replication_pad(x: Value, pads: Sequence[Dim]) -> Value:
    return pad(x, pads, "replicate")


def _reflected(x: Value, axis: int, lo: Dim, hi: Dim) -> list[Value]:
    end = x.type.shape[axis]
    before = flip(slice_(x, axis, 1, lo + 1), [axis])
    return [before, x, flip(slice_(x, axis, end - 1 - hi, end - 1), [axis])]


def _replicated(x: Value, axis: int, lo: Dim, hi: Dim) -> list[Value]:
    end = x.type.shape[axis]
    first, last = slice_(x, axis, 0, 1), slice_(x, axis, end - 1, end)
    return [_copies(first, axis, lo), x, _copies(last, axis, hi)]


def _copies(x: Value, axis: int, times: Dim) -> Value:
    return spread(x, (*x.type.shape[:axis], times, *x.type.shape[axis + 1 :]))


def _wrapped(x: Value, axis: int, lo: Dim, hi: Dim) -> list[Value]:
    end = x.type.shape[axis]
    return [slice_(x, axis, end - lo, end), x, slice_(x, axis, 0, hi)]


@aten("unfold")
def unfold(x: Value, axis: int, length: int, step: int) -> Value:
    axis = axis_of(axis, x.type.rank)
    count = size.floordiv(x.type.shape[axis] - length, step) + 1
    starts = [slice_(x, axis, n, (count - 1) * step + n + 1, step) for n in range(length)]
    return stack(starts, x.type.rank)


@aten("channel_shuffle")
def channel_shuffle(x: Value, groups: int) -> Value:
    batch, channels, *rest = x.type.shape
    apart = shaped(x, (batch, groups, size.floordiv(channels, groups), *rest))
    return shaped(transpose(apart, 1, 2), x.type.shape)


@aten("diagonal")
def diagonal(x: Value, offset: int = 0, first: int = 0, second: int = 1) -> Value:
    a, b = axis_of(first, x.type.rank), axis_of(second, x.type.rank)
    rows, columns = x.type.shape[a], x.type.shape[b]
    rest = [n for n in range(x.type.rank) if n not in (a, b)]
    length = size.maximum(0, size.minimum(rows - max(-offset, 0), columns - max(offset, 0)))
    start = columns * max(-offset, 0) + max(offset, 0)
    flat = shaped(permute(x, (*rest, a, b)), (*(x.type.shape[n] for n in rest), rows * columns))
    from .create import arange_of

    places = arange_of(length, start, columns + 1)
    value: Value = gather(flat, places, axis=len(rest))
    return value
