"""`cuvil-pack run`: one call, its outputs described or written to a file."""

from __future__ import annotations

from pathlib import Path

import click
import cuvil_runtime
import numpy as np

from .command import declare, entry_option, file_argument, size_option, threads_option, variant_option
from .dims import by_name
from .feeds import Array, from_files, saved, without_files
from .screen import Screen, Table

EXAMPLES = """\
cuvil-pack run minilm.cuvil
cuvil-pack run minilm.cuvil input_ids=ids.npy attention_mask=mask.npy --out answer.npz
cuvil-pack run minilm.cuvil --random --dim batch=4 --dim seq=128 --threads 1"""


@declare("run", EXAMPLES)
@file_argument
@click.argument("feeds", nargs=-1, metavar="[NAME=FILE.npy]...")
@click.option("--random", "is_random", is_flag=True, help="Random inputs, of the sizes that --dim gives.")
@size_option
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE.npz", help="Write the outputs here.")
@threads_option
@variant_option
@entry_option
def command(
    screen: Screen,
    file: str,
    feeds: tuple[str, ...],
    is_random: bool,
    dims: tuple[tuple[str, int], ...],
    out: Path | None,
    threads: int | None,
    variant: str | None,
    entry: str,
) -> int:
    """Run FILE once: with the given inputs, with random ones, or with those of its first recorded call."""
    if feeds and (is_random or dims):
        raise click.UsageError("inputs come from files or are random, not both")
    with cuvil_runtime.load(file, threads, variant) as session:
        arrays = from_files(feeds) or without_files(file, entry, by_name(dims), is_random)
        outputs = session.run(arrays, entry=entry)
        ran = {"variant": session.variant, "threads": session.threads}
    if out is not None:
        saved(out, outputs)
    data = {**ran, "outputs": {name: _described(array) for name, array in outputs.items()}, "out": out and str(out)}
    rows = [(name, *map(str, _described(array).values())) for name, array in outputs.items()]
    table = Table(("output", "dtype", "shape", "least", "mean", "greatest", "first"), rows)
    written = [f"written to {out}"] if out is not None else []
    screen.show(data, table, *written)
    return 0


def _described(array: Array) -> dict[str, object]:
    shown: dict[str, object] = {"dtype": array.dtype.name, "shape": list(array.shape)}
    if not array.size:
        return shown | {"least": None, "mean": None, "greatest": None, "first": []}
    with np.errstate(invalid="ignore", over="ignore"):
        least, mean, greatest = array.min(), array.mean(dtype=np.float64), array.max()
    first = [float(f"{x:.5g}") if array.dtype.kind == "f" else x.item() for x in array.ravel()[:4]]
    return shown | {"least": _short(least), "mean": _short(mean), "greatest": _short(greatest), "first": first}


def _short(number: np.generic) -> object:
    value = number.item()
    return float(f"{value:.5g}") if isinstance(value, float) else value
