"""Constants made at pack time: nodes that need no input become weights or numbers."""

from __future__ import annotations

import numpy as np

from ..ir.graph import OPS, Array, Graph, Node, Number, Result, Value, Weight
from ..ir.rewrite import rebuild
from ..ir.types import DType, TensorType
from ..ops.elementwise import add
from ..ops.indexing import gather, iota, take_along
from ..ops.view import expand, reshape, slice_, transpose
from .arithmetic import ELEMENTWISE
from .settle import Law
from .values import is_symbolic, made_by, make, number_like, shaped, spread, uniform

SMALL = 1 << 16
GROWTH = 2
EXACT_NAMES = (
    "add", "sub", "mul", "div", "neg", "reciprocal", "sqrt", "rsqrt",
    "reshape", "transpose", "expand", "slice", "flip", "concat", "pad", "reduce", "matmul",
)  # fmt: skip
EXACT = tuple(OPS[name] for name in EXACT_NAMES)


class Constants:
    """Weights made while folding: their numbers in float64, and the weight and the op that they come from."""

    def __init__(self, graph: Graph, counts: bool = False):
        """`counts` makes constants of indices (`iota`) too."""
        self.counts = counts
        self.exact: dict[str, Array] = {}
        self.origin: dict[str, tuple[str, str]] = {}
        self.given = frozenset(graph.weights())
        self.uniform: dict[str, Value] = {}

    def laws(self) -> tuple[Law, ...]:
        return (
            Law(ELEMENTWISE, self.uniform_operands),
            Law((gather, take_along), self.uniform_source),
            *(() if self.counts else (Law((gather, take_along, slice_), counted_indices),)),
            Law(ELEMENTWISE, leading_ones),
            Law(tuple(o for o in OPS.values() if o.name != "kernel"), self.evaluate),
        )

    def evaluate(self, node: Node) -> Value | None:
        """A node whose inputs are all constants, unless its result is much larger than they are."""
        constants = [i for i in node.inputs if isinstance(i, Number | Weight)]
        if len(constants) != len(node.inputs) or any(map(is_symbolic, node.attrs.values())):
            return None
        if not constants and not (self.counts and node.op is iota):
            return None
        if node.op is expand and isinstance(constants[0], Number):
            return None
        size, given = node.types[0].nbytes, sum(numbers_of(c).nbytes for c in constants)
        if not isinstance(size, int) or (size > SMALL and size > GROWTH * given):
            return None
        wide = node.op in EXACT and node.types[0].dtype.is_float and any(map(self._is_learned, constants))
        with np.errstate(all="ignore"):
            result = node.op.reference(*map(self._exact if wide else numbers_of, constants), **node.attrs)
        return self._constant(node, np.asarray(result), wide)

    def _is_learned(self, value: Number | Weight) -> bool:
        """Whether the numbers are the model's own, or made of such; others are rounded where the model rounds them."""
        return isinstance(value, Weight) and (value.name in self.given or value.name in self.exact)

    def _exact(self, value: Number | Weight) -> Array:
        if isinstance(value, Weight) and value.name in self.exact:
            return self.exact[value.name]
        plain = numbers_of(value)
        return plain.astype(np.float64) if value.type.dtype.is_float else plain

    def _constant(self, node: Node, result: Array, wide: bool) -> Value:
        type = node.types[0]
        with np.errstate(all="ignore"):
            data = np.require(result.astype(type.dtype.numpy), requirements="C")
        number = uniform_number(data)
        if number is not None:
            return spread(Number(number, TensorType(type.dtype, ())), type.shape)
        name = f"{len(self.origin)} {node.op.name}"
        self.origin[name] = self._origin(node)
        if wide:
            self.exact[name] = result
        return Weight(name, type, data)

    def _origin(self, node: Node) -> tuple[str, str]:
        """The largest weight a node reads (of equals, one that the model has), and what made the result of it."""
        weights = [i for i in node.inputs if isinstance(i, Weight)]
        if not weights:
            return node.op.name, ""
        source = max(weights, key=lambda w: (w.data.size, w.name in self.given))
        stem, before = self.origin.get(source.name, (source.name, ""))
        return stem, before if before and node.op in (reshape, transpose, expand) else node.op.name

    def named(self, graph: Graph) -> Graph:
        """The graph with lasting names for what was made: `fc.weight.transpose`, or `.2`, `.3` after it."""
        taken = {name for name in graph.weights() if name not in self.origin}
        lasting: dict[Value, Value] = {}
        for value in (*(i for n in graph.nodes() for i in n.inputs), *graph.roots):
            if isinstance(value, Weight) and value.name in self.origin and value not in lasting:
                name = unused(".".join(filter(None, self.origin[value.name])), taken)
                lasting[value] = Weight(name, value.type, value.data)
        renamed = rebuild(graph, lambda node: with_inputs(node, tuple(lasting.get(i, i) for i in node.inputs)))
        return renamed.with_outputs(lasting)

    def uniform_operands(self, node: Node) -> Value | None:
        """Weights whose elements are all equal are numbers where they are operands of arithmetic."""
        small = tuple(self._number_for(i) if isinstance(i, Weight) else i for i in node.inputs)
        return None if small == node.inputs else make(node.op, *small, **node.attrs)

    def uniform_source(self, node: Node) -> Value | None:
        """What is read from a weight whose elements are all equal is that number."""
        x = node.inputs[0]
        view = made_by(x, expand)
        source = x if view is None else view.inputs[0]
        number = uniform(self._number_for(source) if isinstance(source, Weight) else source)
        return None if number is None else spread(number, node.types[0].shape)

    def _number_for(self, weight: Weight) -> Value:
        if weight.name not in self.uniform:
            number = uniform_number(weight.data)
            literal = None if number is None else Number(number, TensorType(weight.type.dtype, ()))
            self.uniform[weight.name] = weight if literal is None else spread(literal, weight.type.shape)
        return self.uniform[weight.name]


def unused(stem: str, taken: set[str]) -> str:
    """`stem`, or the first of `stem.2`, `stem.3`, … that is free; it is taken then."""
    name, n = stem, 2
    while name in taken:
        name, n = f"{stem}.{n}", n + 1
    taken.add(name)
    return name


def with_inputs(node: Node, inputs: tuple[Value, ...]) -> tuple[Value, ...] | None:
    if inputs == node.inputs:
        return None
    new = Node(node.op, inputs, node.attrs, node.types, node.where)
    return tuple(Result(new, n) for n in range(len(node.types)))


def numbers_of(value: Number | Weight) -> Array:
    return value.data if isinstance(value, Weight) else np.asarray(value.number, value.type.dtype.numpy)


def uniform_number(data: Array) -> float | int | bool | None:
    """The number that every element is, if there is one."""
    if data.size == 0 or not np.all(data == data.flat[0]):
        return None
    number: float | int | bool = data.flat[0].item()
    return number


def counted_indices(node: Node) -> Value | None:
    """Indices that count up along one axis are counted, not stored."""
    which = 0 if node.op is slice_ else 1
    weight = node.inputs[which]
    line = counted(weight) if isinstance(weight, Weight) else None
    if line is None:
        return None
    return make(node.op, *(line if n == which else i for n, i in enumerate(node.inputs)), **node.attrs)


def counted(weight: Weight) -> Value | None:
    """A stored `start, start + 1, ...` as an expression of `iota`, where it is that."""
    wide = [n for n, d in enumerate(weight.type.shape) if d != 1]
    if weight.type.dtype not in (DType.I64, DType.I32) or len(wide) != 1:
        return None
    flat = weight.data.reshape(-1)
    start = int(flat[0])
    if not np.array_equal(flat, np.arange(start, start + flat.size)):
        return None
    line = make(iota, shape=(flat.size,), axis=0, dtype=weight.type.dtype)
    return shaped(line if start == 0 else make(add, line, number_like(line, start)), weight.type.shape)


def leading_ones(node: Node) -> Value | None:
    """A constant operand has no leading axes of size 1 that its partners have too."""
    shorter = tuple(_shorter(i) if isinstance(i, Weight) else i for i in node.inputs)
    if shorter == node.inputs:
        return None
    result = make(node.op, *shorter, **node.attrs)
    return result if result.type == node.types[0] else None


def _shorter(weight: Weight) -> Value:
    first = next((n for n, d in enumerate(weight.type.shape) if d != 1), weight.type.rank)
    return shaped(weight, weight.type.shape[first:])
