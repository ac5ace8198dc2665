"""A torch module, or an exported program, as a model: torch exports it, ATen is translated."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any

from ..errors import PackError
from ..ir.graph import Graph, Model
from . import Range
from .aten.names import output_names
from .aten.program import translate
from .aten.table import find
from .examples import Axis, Examples, prepared
from .frames import every_frame
from .ranges import check_sizes, guards_of
from .symbols import symbol_names
from .trial import answered
from .trouble import explained


def accepts(source: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(source, torch.nn.Module | torch.export.ExportedProgram)


def read(
    source: Any,
    example_inputs: Any = None,
    *,
    dims: Mapping[str, Range],
    dynamic_shapes: Any = None,
    name: str = "",
    assets: Mapping[str, bytes] | None = None,
) -> Model:
    """The model of a module (in inference mode, whatever mode it is in) or of an exported program.

    A name in `dims` that no `dynamic_shapes` places stands for axes by convention: see `examples`.
    """
    import torch

    title = name or type(source).__name__
    if isinstance(source, torch.export.ExportedProgram):
        graph = _graph(source, {}, dims, title)
        args, kwargs = source.example_inputs or ((), {})
        trials = answered(graph, source.module(), args, kwargs, any_size=False) if source.example_inputs else ()
    else:
        if example_inputs is None:
            raise PackError(f"{title}: example inputs are needed to trace a module")
        examples = prepared(source, example_inputs, dims, dynamic_shapes)
        with inference(source):
            graph = _graph(export(source, examples), examples.axes, dims, title)
            trials = answered(graph, source, examples.args, examples.kwargs)
    return Model(title, (graph,), assets or {}, f"torch {type(source).__name__}", trials)


def _graph(program: Any, axes: Mapping[tuple[int, int], Axis], dims: Mapping[str, Range], title: str) -> Graph:
    names = symbol_names(program, axes, dims)
    graph = translate(decomposed(program), names, output_names(program.call_spec.out_spec), title)
    check_sizes(graph, guards_of(program), names)
    return graph


def export(module: Any, examples: Examples) -> Any:
    """The module as a `torch.export.ExportedProgram`.

    Raises ModelError, with the user's line, where the module itself raises or torch cannot trace it.
    """
    import torch

    shapes = examples.dynamic_shapes
    with torch.no_grad(), every_frame(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return torch.export.export(module, examples.args, examples.kwargs, dynamic_shapes=shapes, strict=False)
        except Exception as e:
            raise explained(e, module, examples) from None


def decomposed(program: Any) -> Any:
    """The program with every operator decomposed that the table does not know."""
    import torch

    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return program.run_decompositions(dict(_decompositions()))


@cache
def _decompositions() -> dict[Any, Any]:
    import torch

    table = torch.export.default_decompositions()
    return {op: f for op, f in table.items() if find(str(op).removeprefix("aten.").removesuffix(".default")) is None}


@contextmanager
def inference(module: Any) -> Iterator[None]:
    """The module in inference mode, and afterwards in the mode it was in."""
    modes = {m: m.training for m in module.modules()}
    module.eval()
    try:
        yield
    finally:
        for m, training in modes.items():
            m.training = training
