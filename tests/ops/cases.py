"""The examples of every op as calls with arrays, at several values of their named sizes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np

from cuvil_pack import ops
from cuvil_pack.ir.graph import OPS, Array, Op
from cuvil_pack.ir.interpret import known
from cuvil_pack.ir.size import Dim, Expr, Symbol, symbols
from cuvil_pack.ir.text import parse_call
from cuvil_pack.ir.types import DType, TensorType

assert ops
SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 88.0, -104.0, 3e4, 6e-8, -1e-3]


@dataclass(frozen=True, eq=False)
class Case:
    """One example of an op at one value of each named size."""

    op: Op
    text: str
    types: tuple[TensorType, ...]
    attrs: Mapping[str, Any]
    sizes: Mapping[Symbol, int]

    @property
    def results(self) -> tuple[TensorType, ...]:
        return tuple(o.type for o in self.node_results())

    def node_results(self) -> tuple[Any, ...]:
        from cuvil_pack.ir.graph import Input

        out = self.op.node(*(Input(f"x{n}", t) for n, t in enumerate(self.types)), **self.attrs)
        return out if isinstance(out, tuple) else (out,)

    def number(self, d: Dim) -> int:
        return known(d, {s.name: n for s, n in self.sizes.items()})

    def fixed(self) -> Case:
        """The same call with numbers in place of named sizes."""
        types = tuple(self.fixed_type(t) for t in self.types)
        return Case(self.op, self.text, types, {k: self._fixed_attr(a) for k, a in self.attrs.items()}, {})

    def fixed_type(self, t: TensorType) -> TensorType:
        return t.with_shape(tuple(map(self.number, t.shape)))

    def _fixed_attr(self, a: Any) -> Any:
        if isinstance(a, Expr):
            return self.number(a)
        return tuple(map(self._fixed_attr, a)) if isinstance(a, tuple) else a

    def arrays(self, seed: int = 0) -> list[Array]:
        rng = np.random.default_rng(seed)
        fixed = self.fixed()
        arrays = [random_array(rng, t) for t in fixed.types]
        make = ARRAYS.get(self.op.name)
        return make(rng, arrays, fixed.attrs) if make else arrays

    def __str__(self) -> str:
        sizes = ", ".join(f"{s.name}={n}" for s, n in self.sizes.items())
        return f"{self.op.name}({self.text}){' ' + sizes if sizes else ''}"


def random_array(rng: np.random.Generator, t: TensorType) -> Array:
    shape: Any = t.shape
    if t.dtype is DType.BOOL:
        return rng.random(shape) < 0.5
    if t.dtype.is_float:
        return np.asarray(rng.standard_normal(shape)).astype(t.dtype.numpy)
    return np.asarray(rng.integers(-9 if t.dtype.is_signed else 0, 10, shape)).astype(t.dtype.numpy)


def _indices(axis_of: Any) -> Any:
    def make(rng: np.random.Generator, arrays: list[Array], attrs: Mapping[str, Any]) -> list[Array]:
        x, indices, *rest = arrays
        chosen = rng.integers(0, x.shape[axis_of(attrs)], indices.shape)
        return [x, np.asarray(chosen).astype(indices.dtype), *rest]

    return make


ARRAYS: dict[str, Any] = {
    "gather": _indices(lambda attrs: attrs.get("axis", 0)),
    "take_along": _indices(lambda attrs: attrs["axis"]),
    "batch_norm": lambda rng, arrays, attrs: [*arrays[:-1], np.abs(arrays[-1])],
    "bucketize": lambda rng, arrays, attrs: [arrays[0], np.sort(arrays[1])],
    "shl": lambda rng, arrays, attrs: [arrays[0], arrays[1] % 8],
    "shr": lambda rng, arrays, attrs: [arrays[0], arrays[1] % 8],
    "pow": lambda rng, arrays, attrs: [arrays[0], np.abs(arrays[1])] if arrays[0].dtype.kind in "iu" else arrays,
}


def cases_of(op: Op, text: str) -> Iterator[Case]:
    """Static examples once; others with every size 1, with distinct sizes, and with larger ones."""
    types, attrs = parse_call(text)
    found = sorted({s for t in types for d in t.shape for s in symbols(d)}, key=lambda s: s.name)
    if not found:
        yield Case(op, text, types, attrs, {})
        return
    for start, step in ((1, 0), (2, 1), (5, -1)):
        yield Case(op, text, types, attrs, dict(zip(found, count(start, step), strict=False)))


CASES = [c for o in OPS.values() for e in o.examples for c in cases_of(o, e)]
