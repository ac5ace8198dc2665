"""Interpret a graph before and after a pass: a pass must not change what the graph means."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..errors import PackError
from ..ir.graph import Array, Graph, Input
from ..ir.interpret import interpret, known, single_name
from ..ir.types import DType

NOMINAL = 4
TOLERANCE = 1e-4


class MeaningChanged(PackError):
    """A pass made a graph that computes something else: a bug of the pass."""


def check_equal(before: Graph, after: Graph, name: str, feeds: Mapping[str, Array]) -> None:
    """Compare the outputs of two graphs on `feeds`, and on drawn inputs for what they lack. Raises MeaningChanged."""
    arrays = draw(before, feeds)
    for output, want, got in zip(before.names, interpret(before, *arrays), interpret(after, *arrays), strict=False):
        distance = relative_distance(want, got)
        if not distance <= TOLERANCE:
            raise MeaningChanged(
                f"{name}: {output} of {before.name} changes by {distance:.1e} of its size; {TOLERANCE:.0e} is allowed"
            )


def relative_distance(want: Array, got: Array) -> float:
    """The Frobenius norm of the difference over that of `want`; infinite where not both are finite, or equal."""
    if want.shape != got.shape or want.dtype != got.dtype:
        return float("inf")
    if not np.issubdtype(want.dtype, np.floating):
        return 0.0 if np.array_equal(want, got) else float("inf")
    a, b = want.astype(np.float64), got.astype(np.float64)
    finite = np.isfinite(a)
    if not np.array_equal(finite, np.isfinite(b)) or not np.array_equal(a[~finite], b[~finite], equal_nan=True):
        return float("inf")
    size = float(np.linalg.norm(a[finite]))
    return float(np.linalg.norm(a[finite] - b[finite])) / (size or 1.0)


def draw(graph: Graph, feeds: Mapping[str, Array] | None = None, seed: int = 0) -> list[Array]:
    """Inputs for a graph: those of `feeds`, else normal floats, small integers, and truths; named sizes are small."""
    given = feeds or {}
    sizes = {name: n for i in graph.inputs if i.name in given for name, n in _sizes(i, given[i.name])}
    for s in graph.sizes():
        sizes.setdefault(s.name, min(max(s.lo, NOMINAL), s.hi if isinstance(s.hi, int) else NOMINAL))
    random = np.random.default_rng(seed)
    return [np.asarray(given[i.name]) if i.name in given else _array(i, sizes, random) for i in graph.inputs]


def _sizes(i: Input, array: Array) -> list[tuple[str, int]]:
    named = [(single_name(d), n) for d, n in zip(i.type.shape, np.shape(array), strict=True)]
    return [(name, n) for name, n in named if name is not None]


def _array(i: Input, sizes: Mapping[str, int], random: np.random.Generator) -> Array:
    shape = [known(d, sizes) for d in i.type.shape]
    dtype = i.type.dtype
    if dtype.is_float:
        return random.standard_normal(shape).astype(dtype.numpy)
    return random.integers(0, 2, shape).astype(dtype.numpy) if dtype is not DType.BOOL else random.random(shape) < 0.7


__all__ = ["MeaningChanged", "check_equal", "draw", "relative_distance"]
