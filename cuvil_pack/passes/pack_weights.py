"""Store the weights of matrix products and convolutions in the order in which kernels read them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ..ir.graph import Graph, Input, Node, Result, Value, Weight, at
from ..ir.rewrite import rebuild
from ..ir.types import TensorType
from ..kernels.template import Packing, packing
from ..ops.kernel import kernel


def pack_weights(graph: Graph) -> Graph:
    """Replace each weight that a kernel multiplies by with its panels of 16 columns, unpacked in the body.

    Given:
        def f(x: f32[4, 8]):
            def body(p0: f32[4, 8], p1: f32[8, 20]):
                v0 = matmul(p0, p1)  # f32[4, 20]
                return v0
            v0 = kernel(x, weight("w", f32[8, 20]), body=body)  # f32[4, 20]
            return v0
    Result:
        def f(x: f32[4, 8]):
            def body_0(p0: f32[4, 8], p1: f32[2, 8, 16]):
                v0 = unpanel(p1, columns=20)  # f32[8, 20]
                v1 = matmul(p0, v0)  # f32[4, 20]
                return v1
            v0 = kernel(x, weight('w.panels', f32[2, 8, 16]), body=body_0)  # f32[4, 20]
            return v0
    """
    made: dict[str, Weight] = {}

    def pack(node: Node) -> Value | None:
        if node.op is not kernel:
            return None
        body: Graph = node.attrs["body"]
        for p, given in zip(body.inputs, node.inputs, strict=True):
            if not isinstance(given, Weight) or (wish := _wish(body, p)) is None:
                continue
            name = f"{given.name}.{wish.label}"
            if name not in made:
                made[name] = _packed(name, given, wish)
            return _replaced(node, p, made[name], wish)
        return None

    return rebuild(graph, lambda node: _until_done(pack, node))


def _until_done(pack: Callable[[Node], Value | None], node: Node) -> Value | None:
    done: Value | None = None
    while isinstance(better := pack(node), Result):
        done, node = better, better.node
    return done


def _wish(body: Graph, p: Input) -> Packing | None:
    """How the only reader of a parameter wants it stored."""
    readers = [(n, k) for n in body.nodes() for k, v in enumerate(n.inputs) if v == p]
    return packing(*readers[0]) if len(readers) == 1 else None


def _packed(name: str, w: Weight, wish: Packing) -> Weight:
    data = np.ascontiguousarray(wish.pack(np.asarray(w.data)))
    return Weight(name, TensorType.of(data), data)


def _replaced(node: Node, p: Input, weight: Weight, wish: Packing) -> Value:
    body: Graph = node.attrs["body"]
    q = replace(p, type=weight.type)
    new: dict[Value, Value] = {p: wish.unpack(q)}
    for n in body.nodes():
        with at(n.where):
            made = n.op.node(*(new.get(v, v) for v in n.inputs), **n.attrs)
        results = made if isinstance(made, tuple) else (made,)
        new |= {Result(n, i): r for i, r in enumerate(results)}
    inputs = tuple(q if i == p else i for i in body.inputs)
    changed = Graph(body.name, inputs, tuple(new.get(o, o) for o in body.outputs))
    arguments = [weight if i == p else given for i, given in zip(body.inputs, node.inputs, strict=True)]
    result: Value = kernel.node(*arguments, body=changed)
    return result
