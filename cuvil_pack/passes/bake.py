"""The last of folding: what is still counted while the model runs, and is small, is counted now."""

from __future__ import annotations

from collections import Counter

from ..ir.graph import Graph
from . import absorb
from .constants import Constants
from .settle import Uses, settle
from .simplify import SIMPLE


def bake(graph: Graph) -> Graph:
    """Fold, with indices as constants: after this no law sees what they counted.

    Given:
        def g(x: f32[4, 8]):
            v0 = cast(iota(shape=(8,), axis=0, dtype=i64), dtype=f32)
            return mul(x, cos(mul(v0, 0.5)))

    Result:
        def g(x: f32[4, 8]):
            v0 = mul(x, weight('iota.cos', f32[8]))  # f32[4, 8]
            return v0
    """
    uses: Uses = Counter()
    constants = Constants(graph, counts=True)
    return constants.named(settle(graph, (*constants.laws(), *absorb.laws(uses), *SIMPLE), uses))
