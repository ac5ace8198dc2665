"""Rewrite a graph by rules: find a pattern, put a replacement."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Any

from .graph import Graph, Node, Number, Pattern, Result, Value, at
from .text import attr_text


@dataclass(frozen=True)
class Rule:
    """Replace what `pattern` builds with what `replace` builds; None means 'not here'."""

    pattern: Callable[..., Any]
    replace: Callable[..., Value | None]
    examples: tuple[str, ...]

    def apply(self, value: Value) -> Value | None:
        if not isinstance(value, Result):
            return None
        holes = {name: Pattern() for name in inspect.signature(self.pattern).parameters}
        found: dict[Pattern, Value] = {}
        if not match(self.pattern(**holes), value, found):
            return None
        with at(value.node.where):
            return self.replace(**{name: found[hole] for name, hole in holes.items()})


def rule(pattern: Callable[..., Any], *examples: str) -> Callable[[Callable[..., Any]], Rule]:
    """Declare a rule; each example gives the types of the pattern's parameters, for its test."""
    return lambda replace: Rule(pattern, replace, examples)


def match(want: Any, value: Value, found: dict[Pattern, Value]) -> bool:
    if not isinstance(want, Pattern):
        return isinstance(value, Number) and value.number == want
    if want.op is None:
        return found.setdefault(want, value) == value
    if not isinstance(value, Result) or want.op is not value.node.op or len(want.inputs) != len(value.node.inputs):
        return False
    attrs = value.node.attrs
    if any(k not in attrs or attrs[k] != a for k, a in want.attrs.items()):
        return False
    return all(match(w, v, found) for w, v in zip(want.inputs, value.node.inputs, strict=True))


def attr_key(attrs: Iterable[tuple[str, Any]]) -> Hashable:
    return tuple((k, a if isinstance(a, Graph) else attr_text(a)) for k, a in attrs)


Step = Callable[[Node], "Value | tuple[Value, ...] | None"]


def rebuild(graph: Graph, step: Step) -> Graph:
    """Rebuild producers first; `step` may return what stands for the results of a node whose inputs are already new.

    Equal nodes become one, dead nodes vanish.
    """
    new: dict[Value, Value] = {}
    made: dict[Hashable, tuple[Value, ...]] = {}
    for node in graph.nodes():
        inputs = tuple(new.get(i, i) for i in node.inputs)
        key = (node.op.name, inputs, attr_key(node.attrs.items()))
        if key not in made:
            made[key] = _step(step, node, inputs)
        new |= {Result(node, i): v for i, v in enumerate(made[key])}
    return graph.with_outputs(new)


def _step(step: Step, node: Node, inputs: tuple[Value, ...]) -> tuple[Value, ...]:
    with at(node.where):
        same = Node(node.op, inputs, node.attrs, _types(node, inputs), node.where)
        better = step(same)
    if better is None:
        return tuple(Result(same, i) for i in range(len(same.types)))
    return better if isinstance(better, tuple) else (better,)


def _types(node: Node, inputs: tuple[Value, ...]) -> Any:
    if all(a.type == b.type for a, b in zip(inputs, node.inputs, strict=True)):
        return node.types
    return node.op.types(inputs, node.attrs)


def rewrite(graph: Graph, rules: tuple[Rule, ...] = ()) -> Graph:
    """Apply rules until none fires. Equal nodes become one, dead nodes vanish."""
    by_op: dict[Any, list[Rule]] = {}
    for r in rules:
        holes = {name: Pattern() for name in inspect.signature(r.pattern).parameters}
        by_op.setdefault(r.pattern(**holes).op, []).append(r)
    fired = True

    def step(node: Node) -> Value | None:
        nonlocal fired
        if len(node.types) != 1:
            return None
        value: Value = Result(node)
        for _ in range(100):
            better = (
                next((b for r in by_op.get(value.node.op, ()) if (b := r.apply(value)) is not None), None)
                if isinstance(value, Result)
                else None
            )
            if better is None:
                break
            value, fired = better, True
        return value

    while fired:
        fired = False
        graph = rebuild(graph, step)
    return graph


def use_counts(graph: Graph) -> Counter[Value]:
    """How many times each value is read, as an output too."""
    return Counter(i for n in graph.nodes() for i in n.inputs) + Counter(graph.roots)
