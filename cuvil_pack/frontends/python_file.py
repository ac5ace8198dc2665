"""`"file.py:function"` as a model: the function returns (module, example inputs[, dynamic shapes])."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from ..errors import ModelError
from ..ir.graph import Model
from . import Range, torch_export
from .trouble import place

SOURCE = re.compile(r"(?P<file>.+\.py)(:(?P<function>\w+))?")
SHAPE = "a function that returns (module, example inputs) or (module, example inputs, dynamic shapes)"


def accepts(source: Any) -> bool:
    return isinstance(source, str | Path) and SOURCE.fullmatch(str(source)) is not None


def read(
    source: str | Path, example_inputs: Any = None, *, dims: Mapping[str, Range], dynamic_shapes: Any = None
) -> Model:
    """The model the function makes; examples and shapes given here win over the function's.

    Raises ModelError where file or function is missing, raises, or returns something else.
    """
    found = SOURCE.fullmatch(str(source))
    assert found is not None
    file = Path(found["file"])
    if not file.is_file():
        raise ModelError(f"there is no file {file}")
    if found["function"] is None:
        raise ModelError(f"{file} needs the name of {SHAPE}, such as {file}:make_model")
    module, inputs, shapes = _made(file, found["function"])
    name = file.stem if found["function"] == "main" else found["function"]
    return torch_export.read(
        module,
        inputs if example_inputs is None else example_inputs,
        dims=dims,
        dynamic_shapes=shapes if dynamic_shapes is None else dynamic_shapes,
        name=name,
    )


def _made(file: Path, function: str) -> tuple[Any, Any, Any]:
    with _importable(file.parent):
        made = _guarded(file, _function(file, function))
    parts = made if isinstance(made, tuple) else (made,)
    if len(parts) not in (2, 3) or not torch_export.accepts(parts[0]):
        shown = ", ".join(type(p).__name__ for p in parts)
        raise ModelError(f"{file}:{function} returned ({shown}): wanted is {SHAPE}")
    return parts[0], parts[1], parts[2] if len(parts) == 3 else None


def _function(file: Path, function: str) -> Callable[[], Any]:
    spec = spec_from_file_location(file.stem, file)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    loader = spec.loader
    sys.modules.setdefault(file.stem, module)
    _guarded(file, lambda: loader.exec_module(module))
    made = getattr(module, function, None)
    if not callable(made):
        known = [n for n, f in vars(module).items() if callable(f) and getattr(f, "__module__", "") == file.stem]
        raise ModelError(f"{file} has no function {function}; it has {', '.join(known) or 'none'}")
    return made  # type: ignore[no-any-return]


def _guarded(file: Path, run: Callable[[], Any]) -> Any:
    """What `run` returns; an exception of the user's code becomes a ModelError with the user's line."""
    try:
        return run()
    except Exception as e:
        line = f"\n    at {file.name}:{e.lineno}   {(e.text or '').strip()}" if isinstance(e, SyntaxError) else place(e)
        raise ModelError(f"{file.name} raises {type(e).__name__}: {str(e).partition(chr(10))[0]}{line}") from None


@contextmanager
def _importable(folder: Path) -> Iterator[None]:
    """The file may import its neighbours."""
    sys.path.insert(0, str(folder.resolve()))
    try:
        yield
    finally:
        sys.path.remove(str(folder.resolve()))
