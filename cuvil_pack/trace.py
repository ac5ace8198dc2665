"""What packing tells whoever watches: its stages, how far each is, and what it dumps where CUVIL_DUMP says."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Stage:
    """`done` of `total` parts of a stage are finished; `detail` names the one at work."""

    name: str
    done: int
    total: int
    detail: str = ""


Watch = Callable[[Stage], None]


def silent(stage: Stage) -> None:
    """Watch nothing."""


def dump_folder() -> Path | None:
    """The folder of CUVIL_DUMP, made where it is not there."""
    name = os.environ.get("CUVIL_DUMP")
    if not name:
        return None
    folder = Path(name)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def checking() -> bool:
    """Whether CUVIL_CHECK asks for each pass to be interpreted before and after."""
    return os.environ.get("CUVIL_CHECK", "") not in ("", "0")
