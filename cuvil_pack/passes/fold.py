"""Compute at pack time what needs no input, and let scales and shifts by constants become part of weights."""

from __future__ import annotations

from collections import Counter

from ..ir.graph import Graph
from . import absorb
from .constants import Constants
from .settle import Uses, settle
from .simplify import SIMPLE


def fold(graph: Graph) -> Graph:
    """Nodes of constants become weights, scales and shifts go into the weights of the product before them.

    Arithmetic is done in float64 and rounded once. Results much larger than what they are made of stay computed. What
    constants make plain is simplified on the way.

    Given:
        def g(x: f32[8, 3]):
            v0 = matmul(x, weight('w', f32[3, 4]))
            v1 = sub(v0, weight('mean', f32[4]))
            v2 = add(weight('variance', f32[4]), 0.001)
            v3 = mul(v1, rsqrt(v2))
            v4 = mul(v3, weight('scale', f32[4]))
            return add(v4, weight('shift', f32[4]))

    Result:
        def g(x: f32[8, 3]):
            v0 = matmul(x, weight('w.mul', f32[3, 4]))  # f32[8, 4]
            v1 = add(v0, weight('shift.add', f32[4]))  # f32[8, 4]
            return v1
    """
    uses: Uses = Counter()
    constants = Constants(graph)
    return constants.named(settle(graph, (*constants.laws(), *absorb.laws(uses), *SIMPLE), uses))
