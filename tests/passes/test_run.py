"""Running the passes: checks, dumps, progress."""

from pathlib import Path

import numpy as np
import pytest

from cuvil_pack.ir.graph import Graph
from cuvil_pack.ir.text import from_text
from cuvil_pack.passes import run
from cuvil_pack.passes.check import MeaningChanged, draw, relative_distance
from cuvil_pack.passes.fold import fold
from cuvil_pack.passes.simplify import simplify
from tests.passes.graphs import read

TEXT = """
batch = size(1, 8)

def twice(x: f32[batch, 4], ids: i64[batch]):
    return add(add(x, 0.0), x)
"""


def spoil(graph: Graph) -> Graph:
    """A pass that is wrong."""
    return read(TEXT.replace("0.0", "0.5"))


def test_check_names_the_pass_and_the_output() -> None:
    with pytest.raises(MeaningChanged, match=r"spoil: output0 of twice changes by .* of its size; 1e-04 is allowed"):
        run(read(TEXT), passes=(simplify, spoil), check=True)


def test_check_accepts_what_is_equal() -> None:
    feeds = {"x": np.ones((3, 4), np.float32)}
    assert len(list(run(read(TEXT), passes=(simplify, fold), check=True, feeds=feeds).nodes())) == 1


def test_dump_is_numbered_text(tmp_path: Path) -> None:
    run(read(TEXT), passes=(simplify, fold), dump=tmp_path / "dump")
    files = sorted(f.name for f in (tmp_path / "dump").iterdir())
    assert files == ["twice.00_read.txt", "twice.01_simplify.txt", "twice.02_fold.txt"]
    assert len(list(from_text((tmp_path / "dump" / files[1]).read_text()).nodes())) == 1


def test_progress_names_each_pass() -> None:
    seen: list[tuple[str, str]] = []
    run(read(TEXT), passes=(simplify, fold), progress=lambda name, graph: seen.append((name, graph.name)))
    assert seen == [("simplify", "twice"), ("fold", "twice")]


def test_drawn_inputs_agree_about_sizes() -> None:
    graph = read(TEXT)
    assert [a.shape for a in draw(graph)] == [(4, 4), (4,)]
    assert [a.shape for a in draw(graph, {"ids": np.zeros(3, np.int64)})] == [(3, 4), (3,)]
    assert draw(graph)[1].min() >= 0


@pytest.mark.parametrize(
    "want, got, distance",
    [
        ([3.0, 4.0], [3.0, 4.5], 0.1),
        ([np.nan, 1.0], [np.nan, 1.0], 0.0),
        ([np.inf, 1.0], [-np.inf, 1.0], np.inf),
        ([np.nan, 1.0], [0.0, 1.0], np.inf),
    ],
)
def test_distance(want: list[float], got: list[float], distance: float) -> None:
    assert relative_distance(np.array(want, np.float32), np.array(got, np.float32)) == pytest.approx(distance)
