"""torch's symbols as named sizes, with the tighter of the user's range and torch's."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from typing import Any

from ..errors import ExampleMismatch
from ..ir.size import Dim, named
from . import Range
from .aten.names import identifiers
from .examples import Axis, as_range


def symbol_names(program: Any, axes: Mapping[tuple[int, int], Axis], dims: Mapping[str, Range]) -> dict[str, Dim]:
    """Each symbol by the name its axis was given, else by the input and axis it comes from.

    Raises ExampleMismatch where a named axis turned out to be a number, or two names to be one size.
    """
    names: dict[str, Dim] = {}
    chosen: dict[str, str] = {}
    inputs = user_inputs(program)
    taken = {node.name for node in inputs}
    for place, node, axis, given, n in _axes(inputs, axes):
        symbol = None if isinstance(n, int) else n.node.expr
        if symbol is None or symbol.is_Integer:
            _check_number(place, given, int(n))
            continue
        if not symbol.is_Symbol:
            continue
        name = given.name if given and given.name else chosen.get(symbol.name, f"{node.name}_dim{axis}")
        if chosen.setdefault(symbol.name, name) != name:
            raise ExampleMismatch(f"{chosen[symbol.name]} and {name} are one size in this model: name them alike")
        if symbol.name not in names:
            (unique,) = identifiers([name], taken)
            names[symbol.name] = _ranged(unique, dims.get(name), given, program.range_constraints.get(symbol))
    return names


def user_inputs(program: Any) -> list[Any]:
    """The placeholders of what the caller passes, constants too."""
    placeholders = (n for n in program.graph.nodes if n.op == "placeholder")
    specs = zip(placeholders, program.graph_signature.input_specs, strict=True)
    return [n for n, spec in specs if spec.kind.name == "USER_INPUT"]


def _axes(inputs: list[Any], axes: Mapping[tuple[int, int], Axis]) -> Iterator[tuple[str, Any, int, Axis | None, Any]]:
    """Every axis of every input; those with a name first, so that a symbol gets the name that somebody gave."""
    found = [
        (f"{node.name}, axis {a}", node, a, axes.get((leaf, a)), n)
        for leaf, node in enumerate(inputs)
        for a, n in enumerate(getattr(node.meta.get("val"), "shape", ()))
    ]
    yield from sorted(found, key=lambda f: not (f[3] and f[3].name))


def _check_number(place: str, given: Axis | None, n: int) -> None:
    if given is not None and given.name:
        raise ExampleMismatch(
            f"{given.name} ({place}) cannot vary: the model's code works for {n} only, as in the example"
        )


def _ranged(name: str, wanted: Range | None, given: Axis | None, found: Any) -> Dim:
    """The size in the user's range; where the user gives no end, what torch found while tracing is the end.

    torch's least size of 2 is a convention of torch.
    """
    least, greatest = _found(found)
    lo, hi = as_range(name, wanted) if wanted is not None else (given.lo, given.hi) if given else (None, None)
    if hi is not None and greatest is not None and hi > greatest:
        raise ExampleMismatch(f"{name} is to reach {hi}, and the model's code works up to {greatest}")
    return named(name, least if lo is None else lo, greatest if hi is None else hi)


def _found(found: Any) -> tuple[int, int | None]:
    if found is None:
        return 1, None
    least = int(found.lower) if found.lower.is_Integer and found.lower > 2 else 1
    greatest = int(found.upper) if found.upper.is_Integer and found.upper < sys.maxsize // 2 else None
    return least, greatest
