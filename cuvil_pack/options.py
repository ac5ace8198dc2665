"""What a user can choose when packing, checked."""

from __future__ import annotations

from collections.abc import Mapping
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
    targets: tuple[str, ...] = DEFAULT_TARGETS,
    accuracy: str = "standard",
) -> Options:
    """Options from what a caller wrote."""
    if accuracy not in ACCURACY:
        raise PackError(f"accuracy {accuracy!r}: choose {' or '.join(ACCURACY)}")
    unknown = [t for t in targets if t not in TARGETS]
    if unknown or not targets:
        raise PackError(f"no target {', '.join(unknown) or 'is named'}; there are {', '.join(TARGETS)}")
    ranges = {name: _range(name, r) for name, r in (dims or {}).items()}
    return Options(Path(output), ranges, dynamic_shapes, tuple(TARGETS[t] for t in dict.fromkeys(targets)), accuracy)


def _range(name: str, given: int | Range) -> Range:
    lo, hi = (given, given) if isinstance(given, int) else given
    if lo < 0 or (hi is not None and hi < lo):
        raise PackError(f"dim {name}: {lo}..{hi} is no range of sizes")
    return lo, hi
