"""The passes: each makes of a graph an equal one that runs better. `PASSES` is the one list of their order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from ..ir.graph import Array, Graph
from ..ir.text import to_text
from .bake import bake
from .check import check_equal
from .fold import fold
from .fuse import fuse
from .layout import layout
from .merge import merge
from .narrow import narrow
from .pack_weights import pack_weights
from .recover import recover
from .separate import separate
from .simplify import simplify

Pass = Callable[[Graph], Graph]
Progress = Callable[[str, Graph], None]

PASSES: tuple[Pass, ...] = (simplify, fold, recover, layout, fold, narrow, merge, bake, fuse, pack_weights, separate)


def run(
    graph: Graph,
    *,
    passes: Sequence[Pass] = PASSES,
    check: bool = False,
    feeds: Mapping[str, Array] | None = None,
    dump: Path | None = None,
    progress: Progress | None = None,
) -> Graph:
    """Run passes in order.

    check     interpret the graph before and after each pass; raises MeaningChanged where outputs differ
    feeds     inputs by name to interpret with; those not given are drawn from the inputs' types
    dump      a folder for the text of the graph after each pass, numbered
    progress  called with the name of each pass and the graph it made
    """
    if dump is not None:
        dump.mkdir(parents=True, exist_ok=True)
        _dump(dump, 0, graph, "read")
    for n, each in enumerate(passes, 1):
        better = each(graph)
        if check:
            check_equal(graph, better, each.__name__, feeds or {})
        graph = better
        if dump is not None:
            _dump(dump, n, graph, each.__name__)
        if progress is not None:
            progress(each.__name__, graph)
    return graph


def _dump(folder: Path, number: int, graph: Graph, name: str) -> None:
    (folder / f"{graph.name}.{number:02}_{name}.txt").write_text(to_text(graph), encoding="utf-8")


__all__ = ["PASSES", "Pass", "Progress", "run"]
