"""Products of one tensor with several weights become one product, where attention reads the parts as views."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from ..ir.graph import Graph, Node, Number, Result, Value, Weight, at
from ..ir.types import DType, TensorType
from ..ops.attention import attention
from ..ops.elementwise import add
from ..ops.join import concat
from ..ops.matmul import matmul
from ..ops.view import flip, reshape, slice_, transpose
from .values import made_by, make, spread

Readers = Mapping[Value, list[Node]]
THROUGH = (reshape, transpose, flip, slice_, concat)


@dataclass(frozen=True)
class Linear:
    """`matmul(x, weight)`, or with a bias added; `result` is what its readers read."""

    result: Value
    x: Value
    weight: Weight
    bias: Weight | None


def merge(graph: Graph) -> Graph:
    """Merge the projections to queries, keys and values.

    Given:
        def g(x: f32[2, 5, 8]):
            v0 = matmul(x, weight('q', f32[8, 8]))
            v1 = add(v0, weight('q.bias', f32[8]))
            v2 = transpose(reshape(v1, shape=(2, 5, 2, 4)), axes=(0, 2, 1, 3))
            v3 = matmul(x, weight('k', f32[8, 8]))
            v4 = transpose(reshape(v3, shape=(2, 5, 2, 4)), axes=(0, 2, 1, 3))
            return attention(v2, v4, v4, scale=0.5, causal=False)

    Result:
        def g(x: f32[2, 5, 8]):
            v0 = concat(weight('q', f32[8, 8]), weight('k', f32[8, 8]), axis=1)  # f32[8, 16]
            v1 = matmul(x, v0)  # f32[2, 5, 16]
            v2 = expand(number(0.0, f32), shape=(8,))  # f32[8]
            v3 = concat(weight('q.bias', f32[8]), v2, axis=0)  # f32[16]
            v4 = add(v1, v3)  # f32[2, 5, 16]
            v5 = slice(v4, axis=2, start=0, stop=8, step=1)  # f32[2, 5, 8]
            v6 = reshape(v5, shape=(2, 5, 2, 4))  # f32[2, 5, 2, 4]
            v7 = transpose(v6, axes=(0, 2, 1, 3))  # f32[2, 2, 5, 4]
            v8 = slice(v4, axis=2, start=8, stop=16, step=1)  # f32[2, 5, 8]
            v9 = reshape(v8, shape=(2, 5, 2, 4))  # f32[2, 5, 2, 4]
            v10 = transpose(v9, axes=(0, 2, 1, 3))  # f32[2, 2, 5, 4]
            v11 = attention(v7, v10, v10, scale=0.5, causal=False)  # f32[2, 2, 5, 4]
            return v11
    """
    families = _families(graph)
    if not families:
        return graph
    family_of = {one.result: family for family in families for one in family}
    new: dict[Value, Value] = {}
    parts: dict[Value, Value] = {}
    for node in graph.nodes():
        with at(node.where):
            family = family_of.get(Result(node))
            if family is not None and Result(node) not in parts:
                parts |= _parts(family, new.get(family[0].x, family[0].x))
            same = Node(node.op, tuple(new.get(i, i) for i in node.inputs), node.attrs, node.types, node.where)
            new |= {r: parts.get(Result(node), Result(same, n)) for n, r in enumerate(_results(node))}
    return graph.with_outputs(new)


def _results(node: Node) -> list[Value]:
    return [Result(node, n) for n in range(len(node.types))]


def _parts(family: list[Linear], x: Value) -> dict[Value, Value]:
    """The one product of a family, and which part of it stands for each result."""
    whole = make(matmul, x, make(concat, *(one.weight for one in family), axis=1))
    if any(one.bias is not None for one in family):
        whole = make(add, whole, make(concat, *map(_bias, family), axis=0))
    parts: dict[Value, Value] = {}
    start, axis = 0, whole.type.rank - 1
    for one in family:
        stop = start + one.weight.data.shape[1]
        parts[one.result] = make(slice_, whole, axis=axis, start=start, stop=stop)
        start = stop
    return parts


def _bias(one: Linear) -> Value:
    zero = Number(0.0, TensorType(one.weight.type.dtype, ()))
    return spread(zero, one.weight.type.shape[1:]) if one.bias is None else one.bias


def _families(graph: Graph) -> list[list[Linear]]:
    """Products of one tensor whose results only attention reads."""
    readers: dict[Value, list[Node]] = defaultdict(list)
    for node in graph.nodes():
        for i in node.inputs:
            readers[i].append(node)
    by_source: dict[Value, list[Linear]] = defaultdict(list)
    for node in graph.nodes():
        one = _linear(node, readers)
        if one is not None and _feeds_attention(one.result, readers, set(graph.roots)):
            by_source[one.x].append(one)
    return [family for family in by_source.values() if len(family) > 1]


def _linear(node: Node, readers: Readers) -> Linear | None:
    if node.op is not matmul or not isinstance(node.inputs[1], Weight):
        return None
    x, weight = node.inputs[0], node.inputs[1]
    if weight.type.rank != 2 or weight.type.dtype is not DType.F32:
        return None
    product = Result(node)
    following = readers[product]
    shifted = made_by(Result(following[0]), add) if len(following) == 1 else None
    bias = None if shifted is None else shifted.inputs[1]
    if shifted is None or not isinstance(bias, Weight) or bias.type.shape != weight.type.shape[1:]:
        return Linear(product, x, weight, None)
    return Linear(Result(shifted), x, weight, bias)


def _feeds_attention(value: Value, readers: Readers, roots: set[Value]) -> bool:
    """Whether everything that reads the value, through views and elementwise ops, is attention."""
    stack, seen, found = [value], {value}, False
    while stack:
        v = stack.pop()
        if v in roots:
            return False
        for node in readers.get(v, ()):
            if node.op is attention:
                found = True
            elif (node.op in THROUGH or node.op.elementwise) and len(seen) < 64:
                stack += {Result(node)} - seen
                seen.add(Result(node))
            else:
                return False
    return found
