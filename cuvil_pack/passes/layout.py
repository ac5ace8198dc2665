"""Keep tensors in the order that kernels want: transposes sink through what does not mind them until they cancel."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from ..ir.graph import OPS, Graph, Input, Node, Result, Value
from ..ir.size import Dim
from ..ops.join import concat, pad
from ..ops.matmul import matmul
from ..ops.normalize import group_norm, layer_norm, rms_norm
from ..ops.reduce import reduce
from ..ops.view import expand, invert, reshape, transpose
from . import lower, views
from .arithmetic import ELEMENTWISE, broadcast_itself
from .settle import Law, Uses, law, settle
from .simplify import laws_of
from .values import is_constant, made_by, make, matching, moves_only_ones, permuted, shaped, turned, unturned, widened

Axes = tuple[int, ...]
Shape = tuple[Dim, ...]
Ready = Callable[[Value, Axes], bool]


def layout(graph: Graph) -> Graph:
    """Sink transposes; a 1x1 convolution is a product, and one with few channels reads a padded image.

    Given:
        def g(x: f32[1, 64, 8, 8], w: f32[3, 3, 64, 64], b: f32[64, 1, 1]):
            v0 = transpose(x, axes=(0, 2, 3, 1))
            v1 = conv(v0, w, stride=(1, 1), pads=((1, 1), (1, 1)), dilation=(1, 1), groups=1)
            v2 = transpose(v1, axes=(0, 3, 1, 2))
            v3 = relu(v2)
            v4 = transpose(v3, axes=(0, 2, 3, 1))
            v5 = conv(v4, w, stride=(1, 1), pads=((1, 1), (1, 1)), dilation=(1, 1), groups=1)
            v6 = transpose(v5, axes=(0, 3, 1, 2))
            v7 = add(v6, v3)
            v8 = reduce(v7, kind='max', axes=(2, 3))
            return reshape(v8, shape=(1, 64))

    Result:
        def g(x: f32[1, 64, 8, 8], w: f32[3, 3, 64, 64], b: f32[64, 1, 1]):
            v0 = transpose(x, axes=(0, 2, 3, 1))  # f32[1, 8, 8, 64]
            v1 = conv(v0, w, stride=(1, 1), pads=((1, 1), (1, 1)), dilation=(1, 1), groups=1)  # f32[1, 8, 8, 64]
            v2 = relu(v1)  # f32[1, 8, 8, 64]
            v3 = conv(v2, w, stride=(1, 1), pads=((1, 1), (1, 1)), dilation=(1, 1), groups=1)  # f32[1, 8, 8, 64]
            v4 = add(v3, v2)  # f32[1, 8, 8, 64]
            v5 = reduce(v4, kind='max', axes=(1, 2))  # f32[1, 1, 1, 64]
            v6 = reshape(v5, shape=(1, 64))  # f32[1, 64]
            return v6
    """
    uses: Uses = Counter()
    turns: set[tuple[Value, Axes]] = set()

    def ready(value: Value, axes: Axes) -> bool:
        return (value, axes) in turns

    def remember(node: Node) -> Value | None:
        """Inputs are transposed for good: no law takes such a transpose away."""
        if isinstance(node.inputs[0], Input):
            turns.add((node.inputs[0], node.attrs["axes"]))
        return None

    def sink_beside(node: Node) -> Value | None:
        """As `sink_elementwise` and `sink_concat`, beside inputs that were transposed for another reader."""
        return in_one_order(node, ready)

    def sink_matmul(node: Node) -> Value | None:
        """A product of rows with one matrix, in any order of the rows, where nothing else reads the rows."""
        return rows_in_any_order.apply(node) if uses[node.inputs[0]] <= 1 else None

    def rise(node: Node) -> Value | None:
        """As `undone_above`, where nothing else reads the sum and what is undone."""
        x = node.inputs[0]
        terms = x.node.inputs if isinstance(x, Result) else ()
        alone = uses[x] == 1 and all(uses[i] == 1 for i in terms if _undoes(i, node.attrs["axes"]))
        return undone_above.apply(node) if alone else None

    chances = (
        Law((transpose,), remember),
        Law((*ELEMENTWISE, concat), sink_beside),
        Law((matmul,), sink_matmul),
        Law((transpose,), rise),
    )
    return settle(graph, (*VIEWS, broadcast_itself, *SINKS, *chances, *laws_of(lower)), uses)


def _never(value: Value, axes: Axes) -> bool:
    return False


def in_one_order(node: Node, ready: Ready = _never) -> Value | None:
    """The node on operands that one permutation was taken from, and that permutation of its result."""
    axes = _common_axes(node.inputs, node.types[0].rank)
    if axes is None:
        return None
    operands = [_in_order(i, axes, ready) for i in node.inputs]
    if any(o is None for o in operands):
        return None
    attrs = {**node.attrs, "axis": axes[node.attrs["axis"]]} if node.op is concat else node.attrs
    return turned(make(node.op, *operands, **attrs), axes)


@law(
    *ELEMENTWISE,
    given=(
        "x: f32[2, 3, 4] -> exp(transpose(x, axes=(0, 2, 1)))",
        "x: f32[2, 3, 4], y: f32[2, 3, 4] -> add(transpose(x, axes=(0, 2, 1)), transpose(y, axes=(0, 2, 1)))",
        "x: f32[2, 3, 4], s: f32[2, 4, 1] -> mul(transpose(x, axes=(0, 2, 1)), s)",
    ),
)
def sink_elementwise(node: Node) -> Value | None:
    """Operands in one order, among which constants and axes of size 1 take any order."""
    return in_one_order(node)


def _common_axes(inputs: tuple[Value, ...], rank: int) -> Axes | None:
    """The permutation of the first transposed input that has every axis."""
    nodes = (made_by(i, transpose) for i in inputs)
    return next((n.attrs["axes"] for n in nodes if n is not None and n.types[0].rank == rank), None)


def _in_order(value: Value, axes: Axes, ready: Ready) -> Value | None:
    """What `axes` permutes to `value`, where that costs nothing, or is ready."""
    node = made_by(value, transpose)
    if node is not None and node.attrs["axes"] == axes:
        return node.inputs[0]
    if value.type.rank == 0:
        return value
    shape = widened(value.type.shape, len(axes))
    back = invert(axes)
    if moves_only_ones(shape, back):
        return shaped(value, permuted(shape, back))
    return turned(shaped(value, shape), back) if is_constant(value) or ready(value, back) else None


@law(
    reduce,
    layer_norm,
    rms_norm,
    given=(
        "x: f32[2, 3, 4] -> reduce(transpose(x, axes=(2, 0, 1)), kind='sum', axes=(0, 1))",
        "x: f32[2, 3, 4] -> layer_norm(transpose(x, axes=(2, 0, 1)), axes=(1,))",
    ),
)
def sink_over_axes(node: Node) -> Value | None:
    """Reductions and normalizations over the same axes, named anew."""
    inner = made_by(node.inputs[0], transpose)
    if inner is None:
        return None
    axes = inner.attrs["axes"]
    moved = make(node.op, inner.inputs[0], **{**node.attrs, "axes": tuple(sorted(axes[a] for a in node.attrs["axes"]))})
    return turned(moved, axes)


ALONG = tuple(OPS[n] for n in ("softmax", "log_softmax", "slice", "flip", "cumulative", "argreduce"))


@law(
    *ALONG,
    given=(
        "x: f32[2, 3, 4] -> softmax(transpose(x, axes=(2, 0, 1)), axis=1)",
        "x: f32[2, 3, 4] -> slice(transpose(x, axes=(2, 0, 1)), axis=1, start=0, stop=1)",
        "x: f32[2, 3, 4] -> flip(transpose(x, axes=(2, 0, 1)), axis=0)",
    ),
)
def sink_along_axis(node: Node) -> Value | None:
    """What happens along one axis, named anew."""
    inner = made_by(node.inputs[0], transpose)
    if inner is None:
        return None
    axes = inner.attrs["axes"]
    return turned(make(node.op, inner.inputs[0], **{**node.attrs, "axis": axes[node.attrs["axis"]]}), axes)


@law(group_norm, given="x: f32[2, 3, 8] -> group_norm(transpose(x, axes=(0, 2, 1)), axis=1, groups=4)")
def sink_group_norm(node: Node) -> Value | None:
    """Groups of channels, wherever the channels lie, as long as samples stay first."""
    inner = made_by(node.inputs[0], transpose)
    if inner is None or inner.attrs["axes"][0] != 0:
        return None
    axes = inner.attrs["axes"]
    return turned(make(group_norm, inner.inputs[0], **{**node.attrs, "axis": axes[node.attrs["axis"]]}), axes)


@law(
    *ELEMENTWISE,
    given=("x: f32[4, 8] -> exp(reshape(x, shape=(2, 16)))", "x: f32[4, 8] -> mul(reshape(x, shape=(32,)), 2.0)"),
)
def sink_plain_reshape(node: Node) -> Value | None:
    """A reshape goes after what is computed of one tensor and numbers."""
    wide = [i for i in node.inputs if i.type.rank]
    inner = made_by(wide[0], reshape) if len(wide) == 1 else None
    if inner is None:
        return None
    operands = (inner.inputs[0] if i is wide[0] else i for i in node.inputs)
    return shaped(make(node.op, *operands, **node.attrs), node.types[0].shape)


@law(
    transpose,
    given="x: f32[2, 3, 4], y: f32[2, 4, 3] -> transpose(add(transpose(x, axes=(0, 2, 1)), y), axes=(0, 2, 1))",
)
def undone_above(node: Node) -> Value | None:
    """A permutation that undoes as many above an elementwise op as it needs anew for the other operands."""
    x, axes = node.inputs[0], node.attrs["axes"]
    if not isinstance(x, Result) or not x.node.op.elementwise:
        return None
    inner, rank = x.node, x.type.rank
    undone = [i for i in inner.inputs if _undoes(i, axes)]
    free = [i for i in inner.inputs if i.type.rank == 0 or is_constant(i) or _costs_nothing(i, axes)]
    if not undone or len(inner.inputs) - len(undone) - len(free) > len(undone):
        return None
    operands = (turned(shaped(i, widened(i.type.shape, rank)), axes) if i.type.rank else i for i in inner.inputs)
    return make(inner.op, *operands, **inner.attrs)


def _undoes(value: Value, axes: Axes) -> bool:
    node = made_by(value, transpose)
    return node is not None and permuted(node.attrs["axes"], axes) == tuple(range(len(axes)))


def _costs_nothing(value: Value, axes: Axes) -> bool:
    return moves_only_ones(widened(value.type.shape, len(axes)), axes) and not _undoes(value, axes)


@law(pad, given="x: f32[2, 3, 4] -> pad(transpose(x, axes=(2, 0, 1)), pads=((0, 0), (1, 2), (0, 0)))")
def sink_pad(node: Node) -> Value | None:
    """Padding, its pairs in the other order."""
    inner = made_by(node.inputs[0], transpose)
    if inner is None:
        return None
    axes = inner.attrs["axes"]
    pads = tuple(node.attrs["pads"][a] for a in invert(axes))
    return turned(make(pad, inner.inputs[0], **{**node.attrs, "pads": pads}), axes)


@law(expand, given="x: f32[2, 1, 4] -> expand(transpose(x, axes=(2, 0, 1)), shape=(3, 4, 2, 5))")
def sink_expand(node: Node) -> Value | None:
    """Repetition after which the axes are permuted."""
    inner = made_by(node.inputs[0], transpose)
    if inner is None:
        return None
    shape, axes = node.attrs["shape"], inner.attrs["axes"]
    leads = len(shape) - len(axes)
    whole = (*range(leads), *(a + leads for a in axes))
    return turned(make(expand, inner.inputs[0], shape=unturned(shape, whole)), whole)


@law(
    concat,
    given=("x: f32[2, 3], y: f32[2, 3] -> concat(transpose(x, axes=(1, 0)), transpose(y, axes=(1, 0)), axis=1)",),
)
def sink_concat(node: Node) -> Value | None:
    """Tensors that are joined in one order."""
    return in_one_order(node)


@law(matmul, given="x: f32[2, 3, 4], w: f32[4, 5] -> matmul(transpose(x, axes=(1, 0, 2)), w)")
def rows_in_any_order(node: Node) -> Value | None:
    """A product of rows with one matrix."""
    inner = made_by(node.inputs[0], transpose)
    if inner is None or node.inputs[1].type.rank != 2:
        return None
    axes = inner.attrs["axes"]
    if axes[-1] != len(axes) - 1:
        return None
    return turned(make(matmul, inner.inputs[0], node.inputs[1]), axes)


@law(
    reshape,
    given=(
        "x: f32[2, 3, 4, 5] -> reshape(transpose(x, axes=(0, 3, 1, 2)), shape=(2, 5, 12))",
        "x: f32[2, 12, 5] -> reshape(transpose(x, axes=(0, 2, 1)), shape=(2, 5, 3, 4))",
    ),
)
def sink_reshape(node: Node) -> Value | None:
    """A reshape that splits axes, or joins axes that are neighbours before the permutation too."""
    inner = made_by(node.inputs[0], transpose)
    if inner is None:
        return None
    x, axes = inner.inputs[0], inner.attrs["axes"]
    runs = _runs(x.type.shape, axes, node.attrs["shape"])
    if runs is None:
        return None
    ordered = [j for _, targets in sorted(runs) for j in targets]
    shape = permuted(node.attrs["shape"], tuple(ordered))
    return turned(shaped(x, shape), invert(tuple(ordered)))


def _runs(shape: Shape, axes: Axes, target: Shape) -> list[tuple[int, list[int]]] | None:
    """For each run of axes that stays together: its place in the source, and the axes of the target it becomes."""
    groups = matching(permuted(shape, axes), target)
    if groups is None:
        return None
    place = {a: n for n, a in enumerate(a for a, d in enumerate(shape) if d != 1)}
    runs: list[tuple[int, list[int]]] = []
    waiting: list[int] = []
    for sources, targets in groups:
        places = [place[axes[i]] for i in sources if shape[axes[i]] != 1]
        if not places and runs:
            runs[-1][1].extend(targets)
        elif not places:
            waiting += targets
        elif places != list(range(places[0], places[0] + len(places))):
            return None
        else:
            runs.append((places[0], [*waiting, *targets]))
            waiting = []
    return runs or None


def _sinks() -> Iterator[Law]:
    yield from (v for v in globals().values() if isinstance(v, Law) and v.name.startswith("sink_"))


SINKS = tuple(_sinks())
VIEWS = tuple(each for each in laws_of(views) if each is not views.transpose_of_expand)
