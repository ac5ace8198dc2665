"""What a user can choose when packing, checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .errors import PackError
from .targets import DEFAULT_TARGETS, TARGETS, Target

ACCURACY = {"standard": 1e-5, "strict": 1e-6}
"""Largest relative error (Frobenius norm of the difference over that of the model's answer) of a golden call."""

Range = tuple[int, int | None]


@dataclass(frozen=True)
class Options:
    """How to pack. Raises PackError, naming the alternatives, where a choice does not exist."""

    output: Path
    dims: Mapping[str, Range] = field(default_factory=dict)
    dynamic_shapes: Any = None
    targets: tuple[Target, ...] = ()
    accuracy: str = "standard"

    @property
    def tolerance(self) -> float:
        return ACCURACY[self.accuracy]


def options(
    output: str | Path,
    dims: Mapping[str, int | Range] | None = None,
    dynamic_shapes: Any = None,
    targets: str | Sequence[str] = DEFAULT_TARGETS,
    accuracy: str = "standard",
) -> Options:
    """Options from what a caller wrote."""
    if not isinstance(output, str | Path):
        raise PackError(f"output is a path, not {output!r}")
    if dims is not None and not isinstance(dims, Mapping):
        raise PackError(f"dims maps names to ranges, such as {{'batch': (1, 32)}}; it is {dims!r}")
    targets = (targets,) if isinstance(targets, str) else tuple(targets)
    if accuracy not in ACCURACY:
        raise PackError(f"accuracy {accuracy!r}: choose {' or '.join(ACCURACY)}")
    unknown = [t for t in targets if t not in TARGETS]
    if unknown or not targets:
        raise PackError(f"no target {', '.join(unknown) or 'is named'}; there are {', '.join(TARGETS)}")
    ranges = {name: _range(name, r) for name, r in (dims or {}).items()}
    return Options(Path(output), ranges, dynamic_shapes, tuple(TARGETS[t] for t in dict.fromkeys(targets)), accuracy)


def _range(name: str, given: int | Range) -> Range:
    match given:
        case int():
            lo, hi = given, given
        case (int() as lo, int() | None as hi):
            pass
        case _:
            raise PackError(f"dim {name}: a number or a range (least, most) is wanted, not {given!r}")
    if lo < 0 or (hi is not None and hi < lo):
        raise PackError(f"dim {name}: {lo}..{hi} is no range of sizes")
    return lo, hi
