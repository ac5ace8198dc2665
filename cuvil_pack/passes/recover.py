"""Find what kernels are made for where a model spells it out: attention, normalizations, activations, rotations."""

from __future__ import annotations

from ..ir.graph import Graph
from ..ops.attention import attention
from . import attend, masks, rotate, spelled
from .absorb import scaled_queries
from .settle import Law, settle
from .simplify import SIMPLE, laws_of

RECOVER = (*SIMPLE, *laws_of(spelled, attend, masks, rotate), Law((attention,), scaled_queries))


def recover(graph: Graph) -> Graph:
    """Say with one op what a model says with several.

    Given:
        def g(q: f32[2, 3, 5, 8], k: f32[2, 3, 5, 8], v: f32[2, 3, 5, 8]):
            v0 = transpose(k, axes=(0, 1, 3, 2))
            v1 = matmul(q, v0)
            v2 = div(v1, 2.0)
            v3 = iota(shape=(5, 5), axis=1)
            v4 = iota(shape=(5, 5), axis=0)
            v5 = where(le(v3, v4), number(0.0, f32), number(float('-inf'), f32))
            v6 = softmax(add(v2, v5), axis=3)
            v7 = matmul(v6, v)
            return mul(v7, sigmoid(v7))

    Result:
        def g(q: f32[2, 3, 5, 8], k: f32[2, 3, 5, 8], v: f32[2, 3, 5, 8]):
            v0 = attention(q, k, v, scale=0.5, causal=True)  # f32[2, 3, 5, 8]
            v1 = silu(v0)  # f32[2, 3, 5, 8]
            return v1
    """
    return settle(graph, RECOVER)
