"""Graphs for tests, written as text: random weights, named sizes, examples of laws."""

import ast
import re
import textwrap

import numpy as np

from cuvil_pack.ir.graph import Array, Graph, Input
from cuvil_pack.ir.interpret import interpret
from cuvil_pack.ir.text import from_text, parse_types
from cuvil_pack.passes.check import draw, relative_distance

WEIGHT = re.compile(r"weight\([\'\"]([^\'\"]+)[\'\"], (\w+\[[^\]]*\])\)")


def read(text: str, weights: dict[str, Array] | None = None) -> Graph:
    """A graph; weights that are not given are drawn, positive where the name says variance."""
    text = textwrap.dedent(text).strip() + "\n"
    found = dict(weights or {})
    random = np.random.default_rng(7)
    for name, type_text in WEIGHT.findall(text):
        (t,) = parse_types(type_text)
        data = random.standard_normal(t.shape).astype(t.dtype.numpy)
        found.setdefault(name, np.abs(data) + t.dtype.numpy.type(0.5) if "variance" in name else data)
    return from_text(text, found)


def example(text: str) -> Graph:
    """`"x: f32[batch, 4] -> neg(neg(x))"` as a graph; names in types are sizes."""
    head, _, call = text.rpartition(" -> ")
    declared = {n.id for n in ast.walk(ast.parse(f"def g({head}): pass")) if isinstance(n, ast.Name)}
    sizes = sorted(n for n in declared if not re.fullmatch(r"[fiu]\d+|bool", n))
    return read("\n".join([*(f"{s} = size(1, 8)" for s in sizes), f"def g({head}):", f"    return {call}"]))


def of_pattern(pattern: object, types: str) -> Graph:
    """What a rule's pattern builds on inputs of these types."""
    inputs = tuple(Input(f"x{n}", t) for n, t in enumerate(parse_types(types)))
    return Graph("g", inputs, (pattern(*inputs),))  # type: ignore[operator]


def distance(before: Graph, after: Graph, feeds: dict[str, Array] | None = None, seed: int = 0) -> float:
    """How far the outputs of two graphs lie apart on drawn inputs."""
    arrays = draw(before, feeds, seed)
    pairs = zip(interpret(before, *arrays), interpret(after, *arrays), strict=True)
    return max(relative_distance(a, b) for a, b in pairs)


def count(graph: Graph, *names: str) -> int:
    """How many nodes are of these ops."""
    return sum(n.op.name in names for n in graph.nodes())
