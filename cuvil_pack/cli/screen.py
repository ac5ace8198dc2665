"""What a command shows: tables and lines for people, or one JSON object for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

PIPE_WIDTH = 10_000


@dataclass(frozen=True)
class Table:
    """Rows of text under headers; the columns named in `right` are numbers."""

    headers: Sequence[str]
    rows: Sequence[Sequence[str]]
    right: Sequence[str] = ()


@dataclass(frozen=True)
class Facts:
    """Names and what they stand for, one below the other."""

    rows: Sequence[tuple[str, str]] = field(default_factory=tuple)


Part = str | Table | Facts


@dataclass(frozen=True)
class Screen:
    """Where a command answers: standard output, as JSON where that is asked for."""

    json: bool
    verbose: bool

    def show(self, data: Mapping[str, object], *parts: Part) -> None:
        """Print the parts with an empty line between them, or `data` as JSON."""
        if self.json:
            print(json.dumps(data, default=str))
            return
        console = _console()
        for n, part in enumerate(parts):
            if n:
                console.print()
            _print(console, part, self.verbose)


def _console() -> Console:
    width = None if sys.stdout.isatty() else PIPE_WIDTH
    return Console(file=sys.stdout, width=width, markup=False, highlight=False, emoji=False)


def _print(console: Console, part: Part, whole: bool) -> None:
    """Print one part; a terminal too narrow for a row gets its beginning, or all of it folded where `whole`."""
    if isinstance(part, str):
        console.print(Text(part), soft_wrap=True)
        return
    table = _facts(part) if isinstance(part, Facts) else _rows(part, whole)
    if console.is_terminal:
        console.print(table)
        return
    with console.capture() as captured:
        console.print(table)
    console.file.write("".join(f"{line.rstrip()}\n" for line in captured.get().splitlines()))


def _facts(part: Facts) -> RichTable:
    table = RichTable(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for row in part.rows:
        table.add_row(*map(Text, row))
    return table


def _rows(part: Table, whole: bool) -> RichTable:
    table = RichTable(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for header in part.headers:
        right = header in part.right
        table.add_column(header, justify="right" if right else "left", no_wrap=right)
    overflow: Literal["fold", "ellipsis"] = "fold" if whole else "ellipsis"
    for row in part.rows:
        table.add_row(*(Text(cell, no_wrap=not whole, overflow=overflow) for cell in row))
    return table
