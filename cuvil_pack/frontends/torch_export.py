"""A torch module, or an exported program, as a model: torch exports it, ATen is translated."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ..errors import PackError
from ..ir.graph import Graph, Model
from ..ir.size import Dim, named
from . import Range
from .aten.names import identifiers, output_names
from .aten.program import translate
from .aten.table import find
from .examples import Axis, Examples, prepared
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
        args, kwargs = source.example_inputs or ((), {})
        graph = _graph(decomposed(source), {}, dims, title)
        trials = answered(graph, source.module(), args, kwargs, any_size=False) if source.example_inputs else ()
    else:
        if example_inputs is None:
            raise PackError(f"{title}: example inputs are needed to trace a module")
        examples = prepared(source, example_inputs, dims, dynamic_shapes)
        graph = _graph(export(source, examples), examples.axes, dims, title)
        with inference(source):
            trials = answered(graph, source, examples.args, examples.kwargs)
    return Model(title, (graph,), assets or {}, f"torch {type(source).__name__}", trials)


def _graph(program: Any, axes: Mapping[tuple[int, int], Axis], dims: Mapping[str, Range], title: str) -> Graph:
    return translate(program, symbol_names(program, axes, dims), output_names(program.call_spec.out_spec), title)


def export(module: Any, examples: Examples) -> Any:
    """The module as a `torch.export.ExportedProgram` whose operators the table knows, where it can be had.

    Raises ModelError, with the user's line, where the module itself raises or torch cannot trace it.
    """
    import torch

    with inference(module), torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            program = torch.export.export(
                module, examples.args, examples.kwargs, dynamic_shapes=examples.dynamic_shapes, strict=False
            )
        except Exception as e:
            raise explained(e, module, examples) from None
        return decomposed(program)


def decomposed(program: Any) -> Any:
    """The program with every operator decomposed that the table does not know."""
    import torch

    table = torch.export.default_decompositions()
    for op in [o for o in table if find(str(o).removeprefix("aten."))]:
        table.pop(op)
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return program.run_decompositions(table)


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


def symbol_names(program: Any, axes: Mapping[tuple[int, int], Axis], dims: Mapping[str, Range]) -> dict[str, Dim]:
    """torch's symbols as named sizes: by the name their axis was given, else by the input and axis they come from."""
    names: dict[str, Dim] = {}
    placeholders = [n for n in program.graph.nodes if n.op == "placeholder"]
    specs = zip(placeholders, program.graph_signature.input_specs, strict=True)
    inputs = [n for n, spec in specs if spec.kind.name == "USER_INPUT"]
    taken = {n.name for n in inputs}
    for leaf, node in enumerate(inputs):
        for axis, n in enumerate(getattr(node.meta.get("val"), "shape", ())):
            if isinstance(n, int) or not n.node.expr.is_Symbol or n.node.expr.name in names:
                continue
            given = axes.get((leaf, axis))
            name = given.name if given and given.name else f"{node.name}_dim{axis}"
            (name,) = identifiers([name], taken)
            taken.add(name)
            names[n.node.expr.name] = _ranged(name, dims.get(name), given, program.range_constraints[n.node.expr])
    return names


def _ranged(name: str, wanted: Range | None, given: Axis | None, found: Any) -> Dim:
    """The size with the tighter of the user's range and torch's. torch's least size of 2 is a convention, no bound."""
    lo, hi = wanted if isinstance(wanted, tuple) else (given.lo, given.hi) if given else (1, None)
    if found.lower > 2:
        lo = max(lo, int(found.lower))
    if found.upper.is_Integer and int(found.upper) < sys.maxsize // 2:
        hi = int(found.upper) if hi is None else min(hi, int(found.upper))
    return named(name, lo, hi)
