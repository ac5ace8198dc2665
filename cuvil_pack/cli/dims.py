"""Sizes on the command line: `batch=4`, `batch=1..32`, `seq=1..`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TypeVar

import click

NUMBER = re.compile(r"([^\W\d]\w*)=(\d+)")
RANGE = re.compile(r"([^\W\d]\w*)=(\d+)(?:(\.\.)(\d*))?")

Range = tuple[int, int | None]
T = TypeVar("T")


class Size(click.ParamType[tuple[str, int]]):
    """`NAME=N`."""

    name = "size"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, int]:
        found = NUMBER.fullmatch(str(value))
        if found is None:
            self.fail(f"{value!r} is not NAME=N, such as batch=4", param, ctx)
        return found[1], int(found[2])


class SizeRange(click.ParamType[tuple[str, Range]]):
    """`NAME=MIN..MAX`, `NAME=MIN..` or `NAME=N`."""

    name = "range"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, Range]:
        found = RANGE.fullmatch(str(value))
        if found is None:
            self.fail(f"{value!r} is not NAME=MIN..MAX, NAME=MIN.. or NAME=N, such as batch=1..32", param, ctx)
        name, low, dots, high = found.groups()
        if not dots:
            return name, (int(low), int(low))
        if high and int(high) < int(low):
            self.fail(f"{value!r} ends before it begins", param, ctx)
        return name, (int(low), int(high) if high else None)


def by_name(pairs: Iterable[tuple[str, T]]) -> dict[str, T]:
    """The pairs as a dict. UsageError where a name is given twice."""
    sizes: dict[str, T] = {}
    for name, size in pairs:
        if name in sizes:
            raise click.UsageError(f"--dim gives {name} twice")
        sizes[name] = size
    return sizes
