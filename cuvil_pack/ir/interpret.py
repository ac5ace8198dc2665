"""Run a graph in numpy. This is what a graph means, at every level."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from .graph import NOWHERE, Array, Graph, Input, Node, Number, Result, Value, Weight
from .size import Dim, Expr, Symbol, evaluate, symbols
from .types import DType, TensorType


def solve(
    inputs: tuple[Input, ...], arrays: tuple[Array, ...], given: Mapping[str, int] | None = None
) -> dict[str, int]:
    """The named sizes these arrays give, besides those `given`. Raises TypeError where an array does not fit."""
    sizes = dict(given or {})
    if len(inputs) != len(arrays):
        raise TypeError(f"{len(inputs)} inputs ({', '.join(i.name for i in inputs)}), {len(arrays)} arrays")
    for i, a in zip(inputs, arrays, strict=True):
        if np.ndim(a) != i.type.rank or np.asarray(a).dtype != i.type.dtype.numpy:
            raise TypeError(f"{i.name} is {i.type}, not {TensorType.of(np.asarray(a))}")
        for d, n in zip(i.type.shape, np.shape(a), strict=True):
            name = single_name(d)
            if name is not None and sizes.setdefault(name, n) != n:
                raise TypeError(f"{i.name}: {name} is {sizes[name]} and {n}")
    for i, a in zip(inputs, arrays, strict=True):
        want = tuple(known(d, sizes) for d in i.type.shape)
        if want != np.shape(a):
            raise TypeError(f"{i.name} is {i.type} = {want}, not {np.shape(a)}")
    return sizes


def single_name(d: Dim) -> str | None:
    """The name, where the dimension is a named size by itself."""
    if not isinstance(d, Expr) or len(d.terms) != 1:
        return None
    (monomial, coefficient) = d.terms[0]
    if coefficient != 1 or len(monomial) != 1 or not isinstance(monomial[0], Symbol):
        return None
    return monomial[0].name


def known(d: Dim, sizes: Mapping[str, int]) -> int:
    if isinstance(d, int):
        return d
    missing = {s.name for s in symbols(d)} - sizes.keys()
    if missing:
        raise TypeError(f"the size {d} is not known: no input gives {', '.join(sorted(missing))}")
    return evaluate(d, sizes)


def interpret(graph: Graph, *arrays: Array, sizes: Mapping[str, int] | None = None) -> list[Array]:
    """The outputs of `graph` for these inputs (and then the new values of its states)."""
    numbers = solve(graph.inputs, arrays, sizes)
    env: dict[Value, Array] = dict(zip(graph.inputs, arrays, strict=True))

    def read(v: Value) -> Array:
        match v:
            case Number(number, type):
                return np.asarray(number, type.dtype.numpy)
            case Weight(data=data):
                return data
        if v not in env:
            raise TypeError(f"{graph.name}: {v} is not among the inputs")
        return env[v]

    def attr(a: Any) -> Any:
        if isinstance(a, DType | bool):
            return a
        if isinstance(a, Expr):
            return known(a, numbers)
        if isinstance(a, Graph):
            return Body(a, numbers)
        return tuple(map(attr, a)) if isinstance(a, tuple) else a

    for node in graph.nodes():
        attrs = {k: attr(a) for k, a in node.attrs.items()}
        inputs = [read(i) for i in node.inputs]
        with np.errstate(all="ignore"), placed(node):
            out = node.op.reference(*inputs, **attrs)
        outs = out if isinstance(out, tuple) else (out,)
        env |= {
            Result(node, i): np.asarray(o, t.dtype.numpy) for i, (o, t) in enumerate(zip(outs, node.types, strict=True))
        }
    return [read(o) for o in graph.roots]


@contextmanager
def placed(node: Node) -> Iterator[None]:
    """An error from inside tells the op and the user's line."""
    try:
        yield
    except Exception as e:
        place = f"\n    at {node.where}" if node.where != NOWHERE else ""
        e.add_note(f"in {node.op.name}({', '.join(str(i.type) for i in node.inputs)}){place}")
        raise


@dataclass(frozen=True)
class Body:
    """A graph inside a node, with the sizes of the call it is part of."""

    graph: Graph
    sizes: Mapping[str, int]

    def __call__(self, *arrays: Array) -> list[Array]:
        return interpret(self.graph, *arrays, sizes=self.sizes)
