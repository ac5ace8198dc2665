"""What the commands share: how one is declared, its common options, and how it answers."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click

from .dims import Size
from .screen import Screen


class Command(click.Command):
    """A command whose help ends with examples, printed as they are written."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if not self.epilog:
            return
        with formatter.section("Examples"):
            formatter.write("".join(f"  {line}\n" for line in self.epilog.splitlines()))


def declare(name: str, examples: str) -> Callable[[Callable[..., int]], click.Command]:
    """Declare a command: a function of a Screen and of its options that returns an exit code."""

    def declared(function: Callable[..., int]) -> click.Command:
        @functools.wraps(function)
        def called(*, json: bool, verbose: bool, **chosen: Any) -> int:
            return function(Screen(json, verbose), **chosen)

        common = verbose_option(json_option(called))
        return click.command(name, cls=Command, epilog=examples)(common)

    return declared


json_option = click.option("--json", is_flag=True, help="Print one JSON object and nothing else.")
verbose_option = click.option("-v", "--verbose", is_flag=True, help="Say more; show the traceback of a bug.")
file_argument = click.argument("file", type=click.Path())
variant_option = click.option("--variant", metavar="NAME", help="This variant instead of the best that runs here.")
entry_option = click.option("--entry", metavar="NAME", default="main", show_default=True, help="The entry.")
threads_option = click.option("--threads", type=click.IntRange(1), help="Threads; default: what this process may use.")
size_option = click.option("--dim", "dims", type=Size(), multiple=True, metavar="NAME=N", help="The size of a call.")
