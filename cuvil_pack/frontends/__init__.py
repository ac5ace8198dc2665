"""Somebody's model as a graph. A frontend is a file with `accepts` and `read`, found by being there."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import Any

from ..errors import PackError
from ..ir.graph import Model

Range = tuple[int, int | None] | int


def frontends() -> list[ModuleType]:
    """Every frontend, in the order of their names."""
    modules = [import_module(f"{__name__}.{m.name}") for m in iter_modules(__path__) if not m.ispkg]
    return [m for m in modules if hasattr(m, "accepts")]


def read(
    source: Any,
    example_inputs: Any = None,
    *,
    dims: Mapping[str, Range] | None = None,
    dynamic_shapes: Any = None,
) -> Model:
    """The model of a torch module, an exported program, a Hugging Face directory or `"file.py:function"`.

    example_inputs  what the model is called with, for a module: a tuple of arguments, or a dict of keyword arguments
    dims            name of a size -> (least, greatest or None), or one number to fix it
    dynamic_shapes  which axes have which name, as `torch.export.export` takes it

    Raises PackError where nothing here reads it, or the model cannot be said with the ops of the IR.
    """
    for frontend in frontends():
        if frontend.accepts(source):
            model: Model = frontend.read(source, example_inputs, dims=dims or {}, dynamic_shapes=dynamic_shapes)
            return model
    raise PackError(
        f"{source!r} is no model that Cuvil reads: a torch module, a torch.export.ExportedProgram, "
        'a Hugging Face directory with a config.json, or "file.py:function"'
    )
