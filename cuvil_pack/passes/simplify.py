"""Say the same with less: arithmetic that changes nothing, views that move nothing, truths that are known."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType

from ..ir.graph import Graph
from ..ir.rewrite import Rule
from . import arithmetic, logic, positions, views
from .settle import Law, settle


def laws_of(*modules: ModuleType) -> Iterator[Law | Rule]:
    """The laws that modules declare."""
    for module in modules:
        yield from (v for v in vars(module).values() if isinstance(v, Law | Rule))


SIMPLE = tuple(laws_of(arithmetic, views, positions, logic))


def simplify(graph: Graph) -> Graph:
    """Apply the laws of arithmetic, views and logic until none applies.

    Given:
        def g(x: f32[4, 8], y: f32[4, 8]):
            v0 = transpose(x, axes=(1, 0))
            v1 = transpose(v0, axes=(1, 0))
            v2 = add(v1, 0.0)
            v3 = sub(1.0, v2)
            v4 = mul(2.0, v3)
            v5 = mul(v4, 3.0)
            v6 = expand(y, shape=(4, 8))
            v7 = maximum(v5, 0.0)
            return add(v7, v6)

    Result:
        def g(x: f32[4, 8], y: f32[4, 8]):
            v0 = sub(number(1.0, f32), x)  # f32[4, 8]
            v1 = mul(v0, number(6.0, f32))  # f32[4, 8]
            v2 = relu(v1)  # f32[4, 8]
            v3 = add(v2, y)  # f32[4, 8]
            return v3
    """
    return settle(graph, SIMPLE)
