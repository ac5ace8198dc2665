"""Small torch functions as one model: each row is a function and the types of its inputs, run at several sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils import _pytree as pytree

from cuvil_pack import frontends
from cuvil_pack.ir.graph import Array, Graph
from cuvil_pack.ir.interpret import interpret
from cuvil_pack.ir.size import Dim, evaluate, symbols
from cuvil_pack.ir.text import parse_types
from cuvil_pack.ir.types import DType, TensorType

Row = tuple[Callable[..., Any], str]
SIZES: tuple[Mapping[str, int], ...] = (
    {"b": 2, "s": 3, "t": 6},
    {"b": 1, "s": 1, "t": 4},
    {"b": 3, "s": 5, "t": 7},
)
TOLERANCE = {torch.float64: 1e-6, torch.float32: 2e-6, torch.float16: 3e-3}


class Rows(nn.Module):
    """Calls each row's function on its own inputs."""

    def __init__(self, rows: Mapping[str, Row]) -> None:
        super().__init__()
        self.rows = rows
        self.layers = nn.ModuleList(f for f, _ in rows.values() if isinstance(f, nn.Module))

    def forward(self, inputs: list[list[Tensor]]) -> dict[str, Any]:
        return {name: f(*own) for (name, (f, _)), own in zip(self.rows.items(), inputs, strict=True)}


@dataclass(frozen=True)
class Table:
    """Rows that are exported together, once."""

    rows: Mapping[str, Row]

    @cached_property
    def module(self) -> Rows:
        torch.manual_seed(0)
        return Rows(self.rows).eval()

    @cached_property
    def types(self) -> list[tuple[TensorType, ...]]:
        return [parse_types(text) for _, text in self.rows.values()]

    @cached_property
    def graph(self) -> Graph:
        inputs = self.inputs(SIZES[0])
        shapes = [[_axes(t.shape) for t in row] for row in self.types]
        names = {s.name for row in self.types for t in row for d in t.shape for s in symbols(d)}
        ranges = {n: (min(sizes[n] for sizes in SIZES), 64) for n in sorted(names)}
        model = frontends.read(self.module, (inputs,), dims=ranges, dynamic_shapes={"inputs": shapes})
        return model.entries[0]

    def inputs(self, sizes: Mapping[str, int]) -> list[list[Tensor]]:
        rng = np.random.default_rng(7)
        return [[torch.from_numpy(sample(t, sizes, rng)) for t in row] for row in self.types]

    @cached_property
    def answers(self) -> dict[str, list[tuple[Any, Array]]]:
        """For each row, what torch says and what the graph says, at every size."""
        found: dict[str, list[tuple[Any, Array]]] = {name: [] for name in self.rows}
        for sizes in SIZES:
            inputs = self.inputs(sizes)
            got = interpret(self.graph, *(x.numpy().copy() for row in inputs for x in row))
            with torch.no_grad():
                want, _ = pytree.tree_flatten_with_path(self.module(inputs))
            kept = [(path, x) for path, x in want if x is not None]
            for (path, x), array in zip(kept, got, strict=True):
                found[path[0].key].append((x, array))
        return found

    def check(self, name: str) -> None:
        """The row's results have torch's element type, shape and values."""
        answers = self.answers[name]
        assert answers
        for want, got in answers:
            same(want, got)


def _axes(shape: tuple[Dim, ...]) -> dict[int, str]:
    return {n: str(d) for n, d in enumerate(shape) if not isinstance(d, int)}


def sample(type: TensorType, sizes: Mapping[str, int], rng: np.random.Generator) -> Array:
    """Random values: floats around 0, integers from 0 to 3, of both kinds of bool."""
    shape = tuple(evaluate(d, sizes) for d in type.shape)
    if type.dtype is DType.BOOL:
        return rng.integers(0, 2, shape).astype(bool)
    if type.dtype.is_float:
        return np.asarray(rng.standard_normal(shape)).astype(type.dtype.numpy)
    return rng.integers(0, 4, shape).astype(type.dtype.numpy)


def same(want: Any, got: Array) -> None:
    """Equal, or for floats equal but for rounding."""
    wanted = torch.as_tensor(want)
    assert got.dtype == wanted.numpy().dtype
    assert got.shape == tuple(wanted.shape)
    bound = TOLERANCE.get(wanted.dtype, 0.0)
    np.testing.assert_allclose(got, wanted.numpy(), rtol=bound * 4, atol=bound * 2)


def cases(tables: Mapping[str, Table]) -> Sequence[tuple[str, str]]:
    return [(family, name) for family, table in tables.items() for name in table.rows]
