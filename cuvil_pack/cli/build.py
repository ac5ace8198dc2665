"""`cuvil-pack build`: a model in, a bundle out."""

from __future__ import annotations

import logging
import warnings
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter

import click
import cuvil_schema as schema

from ..errors import ModelError, PackError
from ..options import ACCURACY
from ..pipeline import pack
from ..targets import DEFAULT_TARGETS, TARGETS
from ..targets.toolchain import compiler_version
from ..trace import Stage, Watch
from .command import declare
from .dims import Range, SizeRange, by_name
from .progress import watched
from .screen import Screen
from .units import nbytes

EXAMPLES = """\
cuvil-pack build ./all-MiniLM-L6-v2 -o minilm.cuvil --dim batch=1..32 --dim seq=1..512
cuvil-pack build model.py:make_model -o model.cuvil --dim batch=1..8
cuvil-pack build model.py:make_model -o model.cuvil --target x86-64-v3 --target aarch64 --json"""


@declare("build", EXAMPLES)
@click.argument("source")
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="The bundle to write.")
@click.option(
    "--dim",
    "dims",
    type=SizeRange(),
    multiple=True,
    metavar="NAME=MIN..MAX",
    help="The range of a named size; MIN.. has no end, N is fixed.",
)
@click.option(
    "--target",
    "targets",
    type=click.Choice(tuple(TARGETS)),
    multiple=True,
    help=f"A machine to compile for, several times for several. [default: {', '.join(DEFAULT_TARGETS)}]",
)
@click.option(
    "--accuracy",
    type=click.Choice(tuple(ACCURACY)),
    default="standard",
    show_default=True,
    help="How far an answer may be from the model's.",
)
def command(
    screen: Screen,
    source: str,
    output: Path,
    dims: tuple[tuple[str, Range], ...],
    targets: tuple[str, ...],
    accuracy: str,
) -> int:
    """Pack SOURCE into one file.

    SOURCE is a Hugging Face directory, the name of a repository on the hub, or file.py:function where the function
    returns (module, example inputs) or (module, example inputs, dynamic shapes).
    """
    start = perf_counter()
    ranges = by_name(dims)
    _check_installed()
    if not screen.verbose:
        _hush()
    with watched(screen.verbose) as watch:
        seen = Proof(watch)
        try:
            pack(source, output=output, dims=ranges, targets=targets or DEFAULT_TARGETS, accuracy=accuracy, watch=seen)
        except SystemExit as stopped:
            raise ModelError(
                f"{source} ends the program (SystemExit {stopped.code}) instead of making a model"
            ) from None
    seconds = perf_counter() - start
    with schema.Bundle(output) as bundle:
        variants = [v.name for v in bundle.manifest.variants]
    size = output.stat().st_size
    data = {
        "path": str(output),
        "bytes": size,
        "variants": variants,
        "proof": seen.detail,
        "seconds": round(seconds, 3),
    }
    proof = f", {seen.detail}" if seen.detail else ""
    screen.show(data, f"{output}: {nbytes(size)}, {', '.join(variants)}{proof}, {seconds:.1f} s")
    return 0


def _check_installed() -> None:
    """Say what is missing before any work is done."""
    if find_spec("torch") is None:
        raise PackError("torch is not installed: pip install 'cuvil[pack]'")
    compiler_version()


def _hush() -> None:
    """What torch logs and warns of while it traces is not what went wrong: the error says that."""
    logging.disable()
    warnings.simplefilter("ignore")


class Proof:
    """A watch that remembers what the proof found and passes everything on."""

    def __init__(self, watch: Watch) -> None:
        self._watch, self.detail = watch, ""

    def __call__(self, stage: Stage) -> None:
        if stage.name == "prove":
            self.detail = stage.detail
        self._watch(stage)
