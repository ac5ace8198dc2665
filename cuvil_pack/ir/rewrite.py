"""Rewrite a graph by rules: find a pattern, put a replacement."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from .graph import Graph, Node, Number, Op, Pattern, Result, Value, at
from .text import attr_text


@dataclass(frozen=True)
class Rule:
    """Replace what `pattern` builds with what `replace` builds; None means 'not here'."""

    pattern: Callable[..., Any]
    replace: Callable[..., Value | None]
    examples: tuple[str, ...]

    @cached_property
    def holes(self) -> dict[str, Pattern]:
        """What stands for each parameter of the pattern."""
        return {name: Pattern() for name in inspect.signature(self.pattern).parameters}

    @cached_property
    def shape(self) -> Pattern:
        """What the rule looks for."""
        shape = self.pattern(**self.holes)
        assert isinstance(shape, Pattern) and shape.op is not None, "a pattern is a call of an op"
        return shape

    def apply(self, value: Value) -> Value | None:
        found: dict[Pattern, Value] = {}
        if not isinstance(value, Result) or not match(self.shape, value, found):
            return None
        with at(value.node.where):
            return self.replace(**{name: found[hole] for name, hole in self.holes.items()})


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


def _value_key(v: Value) -> Hashable:
    """Equal for values that are the same; 0.0 and -0.0 are not, nan is."""
    return (attr_text(v.number), v.type) if isinstance(v, Number) else v


ROUNDS = 100
Step = Callable[[Node], "Value | tuple[Value, ...] | None"]


def rebuild(graph: Graph, step: Step) -> Graph:
    """Rebuild producers first; `step` may return what stands for the results of a node whose inputs are already new.

    Equal nodes become one, dead nodes vanish.
    """
    new: dict[Value, Value] = {}
    made: dict[Hashable, tuple[Value, ...]] = {}
    for node in graph.nodes():
        inputs = tuple(new.get(i, i) for i in node.inputs)
        key = (node.op.name, tuple(map(_value_key, inputs)), attr_key(node.attrs.items()))
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
    by_op: dict[Op | None, list[Rule]] = {}
    for r in rules:
        by_op.setdefault(r.shape.op, []).append(r)
    fired = False

    def step(node: Node) -> Value | None:
        nonlocal fired
        if len(node.types) != 1:
            return None
        better = _better(Result(node), by_op)
        fired = fired or better is not None
        return better

    for _ in range(ROUNDS):
        fired = False
        graph = rebuild(graph, step)
        if not fired:
            return graph
    raise RuntimeError(f"{graph.name}: rules still fire after {ROUNDS} rounds: two of them undo each other")


def _better(value: Value, by_op: Mapping[Op | None, list[Rule]]) -> Value | None:
    """What rules make of a value, as long as one fires; None where none does."""
    first = value
    for _ in range(ROUNDS):
        rules = by_op.get(value.node.op, []) if isinstance(value, Result) else []
        better = next((b for r in rules if (b := r.apply(value)) is not None), None)
        if better is None:
            return None if value is first else value
        value = better
    raise RuntimeError(f"rules still fire on one value after {ROUNDS} rounds: two of them undo each other")


def use_counts(graph: Graph) -> Counter[Value]:
    """How many times each value is read, as an output too."""
    return Counter(i for n in graph.nodes() for i in n.inputs) + Counter(graph.roots)
