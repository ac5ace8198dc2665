"""The arithmetic of comparisons, on samples made up."""

import math

import pytest

from tests.benchmarks.accuracy import relative_error
from tests.benchmarks.ceilings import Ceilings
from tests.benchmarks.ratios import Sample, against_best, geomean, percentile, ratios, rows


def sample(system: str, number: int, *ms: float, workload: str = "net", error: float = 1e-7) -> Sample:
    return Sample(workload, system, number, tuple(int(m * 1e6) for m in ms), error)


ROUNDS = [
    sample("cuvil", 0, 1, 2, 9),
    sample("ort", 0, 4, 4, 4),
    sample("vino", 0, 2, 2, 2),
    sample("cuvil", 1, 20, 20, 20, error=3e-7),
    sample("ort", 1, 10, 10, 10),
    sample("vino", 1, 40, 40, 40),
    sample("cuvil", 2, 3, 3, 3),
    sample("ort", 2, 3, 3, 3),
    Sample("net", "vino", 2, (), math.nan, "exit code 1: no memory"),
]


def test_rows() -> None:
    cuvil, ort, _ = rows(ROUNDS, 2, "fp32")
    assert (cuvil.workload, cuvil.system, cuvil.threads, cuvil.dtype) == ("net", "cuvil", 2, "fp32")
    assert (cuvil.median_ms, cuvil.calls, cuvil.rounds) == (3, 9, 3)
    assert cuvil.p10_ms == pytest.approx(1.8)
    assert cuvil.p90_ms == pytest.approx(20)
    assert cuvil.rel_err == 3e-7
    assert ort.median_ms == 4


def test_ratios_pair_within_a_round() -> None:
    over_ort, over_vino = ratios(ROUNDS, "cuvil")
    assert (over_ort.peer, over_ort.ratio, over_ort.low, over_ort.high) == ("ort", 1, 0.5, 2)
    assert (over_vino.peer, over_vino.ratio, over_vino.low, over_vino.high) == ("vino", 0.75, 0.5, 1)


def test_the_best_peer_is_that_of_each_round() -> None:
    (best,) = against_best(ROUNDS, "cuvil")
    assert (best.peer, best.ratio, best.low, best.high) == ("ort", 1, 1, 2)


def test_a_peer_that_was_never_timed_beside_the_subject_has_no_ratio() -> None:
    assert ratios([sample("ort", 0, 1), sample("cuvil", 1, 1)], "cuvil") == []
    assert against_best([sample("cuvil", 0, 1)], "cuvil") == []


def test_geomean() -> None:
    assert geomean([0.5, 2, 8]) == pytest.approx(2)
    assert math.isnan(geomean([]))


@pytest.mark.parametrize(("share", "value"), [(0, 1), (0.5, 3), (0.9, 4.6), (1, 5)])
def test_percentile(share: float, value: float) -> None:
    assert percentile([1, 2, 3, 4, 5], share) == pytest.approx(value)


def test_relative_error() -> None:
    assert relative_error([[3.0, 4.0], [0.0]], [[3.0, 4.0], [0.0]]) == 0
    assert relative_error([[3.0, 4.0], [1.0]], [[3.0, 4.0], [0.0]]) == pytest.approx(0.2)
    assert relative_error([[3.0]], [[3.0, 4.0]]) == math.inf
    assert math.isnan(relative_error([[math.nan]], [[1.0]]))


def test_floor_is_the_later_of_arithmetic_and_memory() -> None:
    machine = Ceilings(2, fma_gflops=100, l1_gbs=400, l2_gbs=200, dram_gbs=10)
    assert machine.floor_ms(1e9) == pytest.approx(10)
    assert machine.floor_ms(1e9, 1e9) == pytest.approx(100)
    assert machine.best(Ceilings(2, 120, 300, 100, 20)) == Ceilings(2, 120, 400, 200, 20)
