"""What a model can be refused for, below the root that the whole of Cuvil shares.

CuvilError
└── PackError
    ├── ModelError        the model cannot be had: its code raises, a file is missing, or torch cannot trace it
    ├── ExampleMismatch   the example inputs and the named sizes do not fit the model, or each other
    ├── UnsupportedOps    the model holds operators that cannot be said; all of them are listed
    ├── ToolchainError    the generated program does not compile, or is not what a bundle may carry
    ├── OutputError       the bundle cannot be written where it should go
    └── ProofError        the finished bundle does not answer as the model does
"""

from __future__ import annotations

from collections.abc import Sequence

from cuvil_schema.errors import CuvilError


class PackError(CuvilError):
    """A model cannot be packed."""


class ModelError(PackError):
    """The model cannot be had."""


class ExampleMismatch(PackError):
    """The example inputs and the named sizes do not fit the model, or each other."""


class UnsupportedOps(PackError):
    """A model holds operators that cannot be said. `found` has each as (operator, why, the user's line)."""

    def __init__(self, model: str, found: Sequence[tuple[str, str, object]]) -> None:
        self.found = tuple(found)
        rows: dict[tuple[str, str], list[object]] = {}
        for name, why, where in found:
            rows.setdefault((name, why), []).append(where)
        super().__init__("\n".join([f"{model}: {_count(len(rows))}", *map(_row, rows, rows.values()), ADVICE]))


ADVICE = "write these lines with other operators, or leave that part of the model out of what is packed"


def _count(rows: int) -> str:
    return "one operator cannot be packed" if rows == 1 else f"{rows} operators cannot be packed"


def _row(row: tuple[str, str], places: Sequence[object]) -> str:
    name, why = row
    head = f"  {name}" + (f" ({len(places)} times)" if len(places) > 1 else "") + (f": {why}" if why else "")
    seen = [p for p in dict.fromkeys(map(str, places)) if p]
    more = [f"      and {len(seen) - 3} other lines"] if len(seen) > 3 else []
    return "\n".join([head, *(f"      at {p}" for p in seen[:3]), *more])


class ToolchainError(PackError):
    """The compiler is missing, refuses the program, or made an object that needs what a process may not have."""


class OutputError(PackError):
    """The bundle cannot be written."""


class ProofError(PackError):
    """The bundle, run in a process of its own, differs from the model or does not run."""
