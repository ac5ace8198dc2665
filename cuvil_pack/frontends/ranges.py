"""Whether a graph holds at all sizes in its ranges: types are inferred again at numbers, torch's guards are asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

from ..errors import ExampleMismatch
from ..ir.graph import Graph, Node, Number, Result, Value, Weight
from ..ir.interpret import single_name
from ..ir.size import Dim, Expr, Symbol, evaluate
from ..ir.types import TensorType

Sizes = Mapping[str, int]
UNBOUNDED = 1000
TYPICAL = 8
WORKING = 12


def check_sizes(graph: Graph, guards: Mapping[Any, str], names: Mapping[str, Dim]) -> None:
    """Raises ExampleMismatch where no input gives a size, or some size in its range is one that the graph cannot take.

    `guards` are the conditions on torch's symbols (and where they come from) under which it traced the model.
    """
    symbols = graph.sizes()
    given = {single_name(d) for i in graph.inputs for d in i.type.shape}
    for s in symbols:
        if s.name not in given:
            raise ExampleMismatch(f"the size {s.name} is not the length of any input axis: name another axis")
    for sizes in points(symbols):
        if why := trouble(graph, sizes) or broken(guards, names, sizes):
            raise ExampleMismatch(f"the model cannot take {_said(sizes)}: {why}{_working(graph, symbols, sizes)}")


def points(symbols: tuple[Symbol, ...]) -> Iterator[dict[str, int]]:
    """Sizes to try: all least, all greatest, and each size near both of its ends while the others are typical."""
    if not symbols:
        return
    yield {s.name: s.lo for s in symbols}
    yield {s.name: _greatest(s) for s in symbols}
    usual = {s.name: max(s.lo, min(TYPICAL, _greatest(s))) for s in symbols}
    for s in symbols:
        for n in sorted({s.lo, s.lo + 1, s.lo + 2, _greatest(s) - 1, _greatest(s)}):
            if s.lo <= n <= _greatest(s):
                yield {**usual, s.name: n}


def _greatest(s: Symbol) -> int:
    return s.hi if isinstance(s.hi, int) else max(UNBOUNDED, s.lo)


def trouble(graph: Graph, sizes: Sizes) -> str:
    """What is wrong with the graph at these sizes: an op that does not fit its inputs, or a shape not as promised."""
    types: dict[Value, TensorType] = {i: _numbers(i.type, sizes) for i in graph.inputs}

    def type_of(v: Value) -> TensorType:
        return v.type if isinstance(v, Number | Weight) else types[v]

    for node in graph.nodes():
        try:
            attrs = {k: _attribute(a, sizes) for k, a in node.attrs.items()}
            found = node.op.infer(*map(type_of, node.inputs), **attrs)
        except (TypeError, ValueError) as e:
            return f"{node.op.name}: {e}\n    at {node.where}"
        for n, (got, want) in enumerate(zip(_all(found), node.types, strict=True)):
            if got != _numbers(want, sizes):
                return _differs(node, got, want)
            types[Result(node, n)] = got
    return ""


def _differs(node: Node, got: TensorType, want: TensorType) -> str:
    return f"{node.op.name} gives {got}, not {want}\n    at {node.where}"


def _all(types: Any) -> tuple[TensorType, ...]:
    return types if isinstance(types, tuple) else (types,)


def _numbers(t: TensorType, sizes: Sizes) -> TensorType:
    return t.with_shape(tuple(evaluate(d, sizes) for d in t.shape))


def _attribute(a: Any, sizes: Sizes) -> Any:
    if isinstance(a, tuple):
        return tuple(_attribute(x, sizes) for x in a)
    return evaluate(a, sizes) if isinstance(a, Expr) else a


def broken(guards: Mapping[Any, str], names: Mapping[str, Dim], sizes: Sizes) -> str:
    """The first of torch's conditions that does not hold at these sizes."""
    for guard, where in guards.items():
        known = {s: evaluate(names[s.name], sizes) for s in guard.free_symbols if s.name in names}
        if guard.subs(known) == False:  # noqa: E712
            return f"it was traced for {_spelled(guard, names)}{where}"
    return ""


def _spelled(guard: Any, names: Mapping[str, Dim]) -> str:
    text = str(guard)
    for symbol in sorted(guard.free_symbols, key=lambda s: -len(s.name)):
        text = text.replace(symbol.name, str(names.get(symbol.name, symbol.name)))
    return text


def _said(sizes: Sizes) -> str:
    return ", ".join(f"{name}={n}" for name, n in sizes.items())


def _working(graph: Graph, symbols: tuple[Symbol, ...], sizes: Sizes) -> str:
    """Advice: which numbers of the size at fault do work."""
    usual = {s.name: max(s.lo, min(TYPICAL, _greatest(s))) for s in symbols}
    for s in symbols:
        if not trouble(graph, {**usual, s.name: sizes[s.name]}):
            continue
        tried = range(s.lo, min(_greatest(s), s.lo + 64) + 1)
        works = [n for n in tried if not trouble(graph, {**usual, s.name: n})]
        shown = ", ".join(map(str, works[:WORKING])) + (", …" if len(works) > WORKING else "")
        return f"\n  {s.name} works as {shown or 'none of the numbers tried'}: give dims such a range, or one number"
    return ""


def guards_of(program: Any) -> dict[Any, str]:
    """The conditions on sizes under which torch traced a program, without those that only tell a size from 0 or 1."""
    values = chain.from_iterable(_tensors(n.meta.get("val")) for n in program.graph.nodes if n.op == "placeholder")
    mode = next((v.fake_mode for v in values if hasattr(v, "fake_mode")), None)
    if mode is None or mode.shape_env is None:
        return {}
    return {g.expr: _place(g) for g in mode.shape_env.guards if _decides(g.expr)}


def _tensors(value: Any) -> list[Any]:
    return list(value) if isinstance(value, tuple | list) else [value]


def _decides(guard: Any) -> bool:
    kind = type(guard).__name__
    if kind not in ("LessThan", "GreaterThan", "StrictLessThan", "StrictGreaterThan"):
        return False
    return not any(a.is_Integer and abs(int(a)) <= 2 for a in guard.args)


def _place(guard: Any) -> str:
    user = getattr(guard.sloc, "user_loc", None)
    return f"\n    at {user}" if user else ""
