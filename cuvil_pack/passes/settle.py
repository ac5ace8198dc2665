"""Laws say where an equal, better value stands for a node; a graph settles when none of them applies any more."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

from ..ir.graph import Graph, Node, Op, Pattern, Result, Value, at
from ..ir.rewrite import Rule, attr_key, match, use_counts

Uses = Counter[Value]
SWEEPS = 100


@dataclass(frozen=True)
class Law:
    """`apply` gives what stands for a node of one of `ops`, or None; each example is `parameters -> call`."""

    ops: tuple[Op, ...]
    apply: Callable[[Node], Value | None]
    examples: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.apply.__name__


def law(*ops: Op, given: str | tuple[str, ...] = ()) -> Callable[[Callable[[Node], Value | None]], Law]:
    """Declare a law for nodes of these ops; `given` are calls where it applies: `"x: f32[4] -> neg(neg(x))"`."""
    examples = (given,) if isinstance(given, str) else given
    return lambda apply: Law(ops, apply, examples)


@cache
def law_of(rule: Rule) -> Law:
    """A rule as a law: its pattern is built once."""
    holes = {name: Pattern() for name in inspect.signature(rule.pattern).parameters}
    pattern = rule.pattern(**holes)

    def apply(node: Node) -> Value | None:
        found: dict[Pattern, Value] = {}
        if not match(pattern, Result(node), found):
            return None
        return rule.replace(**{name: found[hole] for name, hole in holes.items()})

    apply.__name__ = rule.replace.__name__
    return Law((pattern.op,), apply)


def settle(graph: Graph, laws: Iterable[Law | Rule], uses: Uses | None = None) -> Graph:
    """Apply laws, producers first, until none applies. Equal nodes become one, dead nodes vanish.

    `uses` is kept filled with how often each value is read, for laws that ask. Raises TypeError where a law changes
    a type.
    """
    by_op: dict[str, list[Law]] = {}
    for each in laws:
        one = law_of(each) if isinstance(each, Rule) else each
        for o in one.ops:
            by_op.setdefault(o.name, []).append(one)
    for _ in range(SWEEPS):
        graph, fired = _sweep(graph, by_op, Counter() if uses is None else uses)
        if not fired:
            return graph
    raise TypeError(f"{graph.name}: the laws do not come to an end")


def _sweep(graph: Graph, by_op: dict[str, list[Law]], uses: Uses) -> tuple[Graph, bool]:
    old_uses = use_counts(graph)
    uses.clear()
    uses.update({v: n for v, n in old_uses.items() if not isinstance(v, Result)})
    new: dict[Value, Value] = {}
    made: dict[Hashable, tuple[Value, ...]] = {}
    fired = False
    for node in graph.nodes():
        inputs = tuple(new.get(i, i) for i in node.inputs)
        key: Any = (node.op.name, inputs, attr_key(node.attrs.items()))
        if key in made:
            fired = True
        else:
            with at(node.where):
                made[key], changed = _improve(node, inputs, by_op)
            fired = fired or changed
        for i, v in enumerate(made[key]):
            new[Result(node, i)] = v
            uses[v] += old_uses[Result(node, i)]
    return graph.with_outputs(new), fired


def _improve(node: Node, inputs: tuple[Value, ...], by_op: dict[str, list[Law]]) -> tuple[tuple[Value, ...], bool]:
    same_types = all(a.type == b.type for a, b in zip(inputs, node.inputs, strict=True))
    types = node.types if same_types else node.op.types(inputs, node.attrs)
    same = Node(node.op, inputs, node.attrs, types, node.where)
    if len(types) != 1:
        return tuple(Result(same, i) for i in range(len(types))), False
    value: Value = Result(same)
    fired = False
    for _ in range(SWEEPS):
        better = _better(value.node, by_op) if isinstance(value, Result) and len(value.node.types) == 1 else None
        if better is None:
            return (value,), fired
        value, fired = better, True
    raise TypeError(f"{node.op.name}: the laws do not come to an end\n    at {node.where}")


def _better(node: Node, by_op: dict[str, list[Law]]) -> Value | None:
    for one in by_op.get(node.op.name, ()):
        value = one.apply(node)
        if value is None:
            continue
        if value.type != node.types[0]:
            raise TypeError(f"{one.name}: {node.op.name} is {node.types[0]}, its replacement {value.type}")
        return value
    return None
