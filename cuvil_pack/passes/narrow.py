"""Compute only what is read: slices move up, before what makes the elements that nobody asks for."""

from __future__ import annotations

from collections import Counter

from ..ir.graph import OPS, Graph, Node, Value
from ..ir.size import Dim
from ..ops.attention import attention
from ..ops.join import concat
from ..ops.matmul import matmul
from ..ops.view import reshape, slice_, transpose
from . import views
from .settle import Law, Uses, settle
from .simplify import laws_of
from .values import made_by, make, matching, shaped, turned

OVER_AXES = tuple(OPS[n] for n in ("reduce", "layer_norm", "rms_norm") if n in OPS)
ALONG_AXIS = tuple(OPS[n] for n in ("softmax", "log_softmax", "flip", "cumulative") if n in OPS)


def narrow(graph: Graph) -> Graph:
    """Move slices up through ops whose other results nobody reads.

    Given:
        def g(x: f32[2, 9, 8], w: f32[8, 8]):
            v0 = layer_norm(x, axes=(2,), eps=1e-05)
            v1 = matmul(v0, w)
            v2 = add(v1, x)
            v3 = slice(v2, axis=1, start=0, stop=1, step=1)
            return reshape(v3, shape=(2, 8))

    Result:
        def g(x: f32[2, 9, 8], w: f32[8, 8]):
            v0 = slice(x, axis=1, start=0, stop=1, step=1)  # f32[2, 1, 8]
            v1 = layer_norm(v0, axes=(2,), eps=1e-05)  # f32[2, 1, 8]
            v2 = matmul(v1, w)  # f32[2, 1, 8]
            v3 = add(v2, v0)  # f32[2, 1, 8]
            v4 = reshape(v3, shape=(2, 8))  # f32[2, 8]
            return v4
    """
    uses: Uses = Counter()

    def slice_first(node: Node) -> Value | None:
        (x,) = node.inputs
        if uses[x] > 1 or node.attrs["step"] != 1:
            return None
        inner = made_by(x, *OPS.values())
        return None if inner is None else _slice_inputs(inner, Part(node))

    return settle(graph, (*laws_of(views), Law((slice_,), slice_first)), uses)


class Part:
    """What a slice keeps."""

    def __init__(self, node: Node):
        self.axis: int = node.attrs["axis"]
        self.start: Dim = node.attrs["start"]
        self.stop: Dim = node.attrs["stop"]

    def of(self, value: Value, axis: int) -> Value:
        return make(slice_, value, axis=axis, start=self.start, stop=self.stop)

    def aligned(self, value: Value, rank: int) -> Value:
        """The part of an operand that broadcasts to `rank` axes."""
        axis = self.axis - (rank - value.type.rank)
        return value if axis < 0 or value.type.shape[axis] == 1 else self.of(value, axis)


def _slice_inputs(node: Node, part: Part) -> Value | None:
    """The node on parts of its inputs, where that gives the part of its result."""
    rank = node.types[0].rank
    if node.op.elementwise:
        return make(node.op, *(part.aligned(i, rank) for i in node.inputs), **node.attrs)
    if node.op in OVER_AXES and part.axis not in node.attrs["axes"]:
        return make(node.op, part.of(node.inputs[0], part.axis), **node.attrs)
    if node.op in ALONG_AXIS and part.axis != node.attrs["axis"]:
        return make(node.op, part.of(node.inputs[0], part.axis), **node.attrs)
    if node.op is transpose:
        axes = node.attrs["axes"]
        return turned(part.of(node.inputs[0], axes[part.axis]), axes)
    if node.op is reshape:
        return _slice_reshape(node, part)
    if node.op is concat and part.axis != node.attrs["axis"]:
        return make(concat, *(part.of(i, part.axis) for i in node.inputs), axis=node.attrs["axis"])
    if node.op is matmul:
        return _slice_rows(node, part)
    return _slice_queries(node, part) if node.op is attention else None


def _slice_reshape(node: Node, part: Part) -> Value | None:
    """Along an axis that the reshape leaves as it is."""
    (x,), shape = node.inputs, node.attrs["shape"]
    for sources, targets in matching(x.type.shape, shape) or ():
        if part.axis in targets and len(sources) == len(targets) == 1:
            less = part.of(x, sources[0])
            return shaped(less, (*shape[: part.axis], less.type.shape[sources[0]], *shape[part.axis + 1 :]))
    return None


def _slice_rows(node: Node, part: Part) -> Value | None:
    """Rows of a product are rows of its left operand."""
    a, b = node.inputs
    rank = node.types[0].rank
    if part.axis == rank - 1 or a.type.rank != rank or a.type.shape[part.axis] == 1:
        return None
    if part.axis < rank - 2:
        b = part.aligned(b, rank)
    return make(matmul, part.of(a, part.axis), b)


def _slice_queries(node: Node, part: Part) -> Value | None:
    """Queries that are not read need no answer."""
    q, k, v, *masks = node.inputs
    if part.axis != 2 or node.attrs["causal"]:
        return None
    return make(attention, part.of(q, 2), k, v, *(part.aligned(m, 4) for m in masks), **node.attrs)
