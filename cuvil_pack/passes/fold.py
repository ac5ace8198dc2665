"""Compute at pack time what needs no input, and let scales and shifts by constants become part of weights."""

from __future__ import annotations

from collections import Counter

import numpy as np

from ..ir.graph import OPS, Array, Graph, Node, Number, Value, Weight
from ..ir.types import TensorType
from . import absorb
from .arithmetic import ELEMENTWISE
from .settle import Law, Uses, settle
from .simplify import SIMPLE
from .values import is_symbolic, spread

SMALL = 1 << 16
GROWTH = 2
_EXACT = "add sub mul div neg reciprocal sqrt rsqrt exp expm1 log pow reshape transpose expand slice flip concat pad reduce matmul"
EXACT = frozenset(OPS[name] for name in _EXACT.split())


def fold(graph: Graph) -> Graph:
    """Nodes of constants become weights, scales and shifts go into the weights of the product before them.

    Arithmetic is done in float64 and rounded once. Results much larger than what they are made of stay computed. What
    constants make plain is simplified on the way.

    Given:
        def g(x: f32[8, 1, 3]):
            v0 = conv(x, weight('w', f32[1, 3, 4]), stride=(1,), pads=((0, 0),), dilation=(1,), groups=1)
            v1 = sub(v0, weight('mean', f32[4]))
            v2 = add(weight('variance', f32[4]), 0.001)
            v3 = mul(v1, rsqrt(v2))
            v4 = mul(v3, weight('scale', f32[4]))
            return add(v4, weight('shift', f32[4]))

    Result:
        def g(x: f32[8, 1, 3]):
            v0 = conv(x, weight('w.mul', f32[1, 3, 4]), stride=(1,), pads=((0, 0),), dilation=(1,), groups=1)  # f32[8, 1, 4]
            v1 = add(v0, weight('mean.neg.mul.add', f32[4]))  # f32[8, 1, 4]
            return v1
    """
    uses: Uses = Counter()
    constants = Constants(graph)
    laws = (constants.uniform_operands, constants.evaluate, *absorb.laws(uses), *SIMPLE)
    return settle(graph, laws, uses)


class Constants:
    """Weights made while folding: their names, and their numbers in float64."""

    def __init__(self, graph: Graph):
        self.exact: dict[str, Array] = {}
        self.taken = set(graph.weights())
        self.uniform: dict[str, Value] = {}
        self.evaluate = Law(tuple(o for o in OPS.values() if o.name != "kernel"), self._evaluate)
        self.uniform_operands = Law(ELEMENTWISE, self._uniform_operands)

    def _evaluate(self, node: Node) -> Value | None:
        constants = [i for i in node.inputs if isinstance(i, Number | Weight)]
        if not node.inputs or len(constants) != len(node.inputs) or any(map(is_symbolic, node.attrs.values())):
            return None
        size, given = node.types[0].nbytes, sum(_data(c).nbytes for c in constants)
        if not isinstance(size, int) or (size > SMALL and size > GROWTH * given):
            return None
        if all(isinstance(c, Number) for c in constants) and node.op.name == "expand":
            return None
        return self._constant(node, self._compute(node, constants))

    def _compute(self, node: Node, constants: list[Number | Weight]) -> Array:
        read = self._exact if node.op in EXACT and node.types[0].dtype.is_float else _data
        with np.errstate(all="ignore"):
            return np.asarray(node.op.reference(*map(read, constants), **node.attrs))

    def _exact(self, value: Number | Weight) -> Array:
        if isinstance(value, Weight) and value.name in self.exact:
            return self.exact[value.name]
        plain = _data(value)
        return plain.astype(np.float64) if value.type.dtype.is_float else plain

    def _constant(self, node: Node, wide: Array) -> Value:
        type = node.types[0]
        with np.errstate(all="ignore"):
            data = np.require(wide.astype(type.dtype.numpy), requirements="C")
        number = uniform_number(data)
        if number is not None:
            return spread(Number(number, TensorType(type.dtype, ())), type.shape)
        name = self._name(node)
        self.exact[name] = wide if type.dtype.is_float else data
        return Weight(name, type, data)

    def _name(self, node: Node) -> str:
        """After the largest weight it is made of, and the op; then `.2`, `.3` where that is taken."""
        origin = max((i for i in node.inputs if isinstance(i, Weight)), key=lambda w: w.data.size, default=None)
        stem = f"{origin.name}.{node.op.name}" if origin is not None else node.op.name
        name, n = stem, 2
        while name in self.taken:
            name, n = f"{stem}.{n}", n + 1
        self.taken.add(name)
        return name

    def _uniform_operands(self, node: Node) -> Value | None:
        """Weights whose elements are all equal are numbers where they are operands of arithmetic."""
        small = tuple(self._number_for(i) if isinstance(i, Weight) else i for i in node.inputs)
        if small == node.inputs:
            return None
        value: Value = node.op.node(*small, **node.attrs)
        return value

    def _number_for(self, weight: Weight) -> Value:
        if weight.name not in self.uniform:
            number = uniform_number(weight.data)
            literal = None if number is None else Number(number, TensorType(weight.type.dtype, ()))
            self.uniform[weight.name] = weight if literal is None else spread(literal, weight.type.shape)
        return self.uniform[weight.name]


def uniform_number(data: Array) -> float | int | bool | None:
    """The number that every element is, if there is one."""
    if data.size == 0 or not np.all(data == data.flat[0]):
        return None
    number: float | int | bool = data.flat[0].item()
    return number


def _data(value: Number | Weight) -> Array:
    return value.data if isinstance(value, Weight) else np.asarray(value.number, value.type.dtype.numpy)
