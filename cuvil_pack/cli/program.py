"""The group of commands, and what becomes of their errors."""

from __future__ import annotations

import importlib
import signal
import sys
import traceback
from importlib.metadata import version
from types import FrameType

import click
from cuvil_schema.errors import CuvilError

from . import EXTRA, INTERRUPTED, refuse

COMMANDS = ("build", "inspect", "plan", "explain", "verify", "run", "bench", "diff", "completion")
"""In the order of a bundle's life; each is a file with `command`."""

BUG = "this is a bug in Cuvil, not a mistake of yours; -v shows the traceback to report"


class Commands(click.Group):
    """Each command is imported when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(f".{cmd_name}", __package__).command
        return command

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Exit codes"):
            formatter.write_dl(
                [
                    ("0", "done"),
                    ("1", "what was asked is refused, or answers differ"),
                    ("2", "the command line is wrong"),
                    (str(INTERRUPTED), "interrupted"),
                ]
            )


@click.command(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]}, no_args_is_help=True)
@click.version_option(version("cuvil"), message="cuvil %(version)s")
def program() -> None:
    """Pack a trained model into one file that runs without torch, compiler or Python model code."""


def run(arguments: list[str]) -> int:
    """Run a command; every error becomes one sentence and an exit code."""
    as_json = "--json" in arguments
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        return int(program.main(arguments, prog_name="cuvil-pack", standalone_mode=False) or 0)
    except (click.Abort, KeyboardInterrupt):
        print("interrupted: nothing was written", file=sys.stderr)
        return INTERRUPTED
    except click.ClickException as error:
        return _usage(error, as_json)
    except CuvilError as error:
        return refuse(str(error), as_json)
    except OSError as error:
        return refuse(_system(error), as_json)
    except MemoryError:
        return refuse("this machine has not enough memory for that", as_json)
    except Exception as error:
        if isinstance(error, ModuleNotFoundError) and (error.name or "").partition(".")[0] in EXTRA:
            raise
        if _verbose(arguments):
            traceback.print_exc()
        return refuse(f"{type(error).__name__}: {error}\n{BUG}", as_json)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _usage(error: click.ClickException, as_json: bool) -> int:
    if as_json:
        refuse(error.format_message(), as_json)
    else:
        error.show(sys.stderr)
    return error.exit_code


def _system(error: OSError) -> str:
    """`file: what the system says`."""
    reason = error.strerror or str(error)
    return f"{error.filename}: {reason.lower()}" if error.filename else reason


def _verbose(arguments: list[str]) -> bool:
    return any(a in ("-v", "--verbose") for a in arguments)
