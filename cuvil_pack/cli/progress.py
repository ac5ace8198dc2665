"""How far packing is: a bar per stage on a terminal, a line per stage in a pipe; both on stderr."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

from ..trace import Stage, Watch


@contextmanager
def watched(verbose: bool) -> Iterator[Watch]:
    """A watch for `pack` while the block runs."""
    if not sys.stderr.isatty():
        yield Lines(verbose).watch
        return
    with _bars() as progress:
        yield Bars(progress).watch


class Lines:
    """One line for each stage that begins; for each of its parts when `verbose`."""

    def __init__(self, verbose: bool) -> None:
        self._verbose, self._name, self._start = verbose, "", perf_counter()

    def watch(self, stage: Stage) -> None:
        if stage.name == self._name and not self._verbose:
            return
        self._name = stage.name
        if stage.name == "done":
            return
        part = f" {stage.done}/{stage.total} {stage.detail}".rstrip() if self._verbose else ""
        print(f"{perf_counter() - self._start:6.1f} s  {stage.name}{part}", file=sys.stderr, flush=True)


class Bars:
    """One bar for each stage; a stage is over when the next begins."""

    def __init__(self, progress: Progress) -> None:
        self._progress, self._name = progress, ""
        self._task = TaskID(0)

    def watch(self, stage: Stage) -> None:
        if stage.name != self._name:
            self._end()
            self._name = stage.name
            self._task = self._progress.add_task(stage.name, total=stage.total, detail="")
        self._progress.update(self._task, completed=stage.done, total=stage.total, detail=stage.detail)
        if stage.name == "done":
            self._progress.remove_task(self._task)

    def _end(self) -> None:
        if not self._name:
            return
        total = self._progress.tasks[-1].total
        self._progress.update(self._task, completed=total, detail="")
        self._progress.stop_task(self._task)


def _bars() -> Progress:
    return Progress(
        SpinnerColumn(finished_text="✓"),
        TextColumn("{task.description:<9}"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[detail]}"),
        console=Console(stderr=True),
    )
