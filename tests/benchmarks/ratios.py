"""Arithmetic of a comparison: samples of timed processes become rows, and ratios that pair what ran in one round."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Sample(NamedTuple):
    """One timed process: its calls in nanoseconds, or why there are none."""

    workload: str
    system: str
    round: int
    ns: tuple[int, ...]
    rel_err: float
    trouble: str = ""

    @property
    def median_ms(self) -> float:
        return statistics.median(self.ns) / 1e6


class Row(NamedTuple):
    """A system on a workload, all rounds: the median of its rounds' medians, percentiles of all its calls."""

    workload: str
    system: str
    median_ms: float
    p10_ms: float
    p90_ms: float
    threads: int
    dtype: str
    rel_err: float
    calls: int
    rounds: int


class Ratio(NamedTuple):
    """Cuvil's time over a peer's, the median over rounds; `low` and `high` are the extreme rounds."""

    workload: str
    peer: str
    ratio: float
    low: float
    high: float


def rows(samples: Sequence[Sample], threads: int, dtype: str) -> list[Row]:
    """A row for each workload and system that has a sample, in the order they were first timed."""
    found = []
    for workload, system in dict.fromkeys((s.workload, s.system) for s in samples if s.ns):
        mine = [s for s in samples if s.ns and (s.workload, s.system) == (workload, system)]
        calls = sorted(ns for s in mine for ns in s.ns)
        found.append(
            Row(
                workload,
                system,
                statistics.median(s.median_ms for s in mine),
                percentile(calls, 0.1) / 1e6,
                percentile(calls, 0.9) / 1e6,
                threads,
                dtype,
                max(s.rel_err for s in mine),
                len(calls),
                len(mine),
            )
        )
    return found


def ratios(samples: Sequence[Sample], subject: str) -> list[Ratio]:
    """The subject over each peer, paired within each round that timed both."""
    medians = {(s.workload, s.system, s.round): s.median_ms for s in samples if s.ns}
    found = []
    for workload, peer in dict.fromkeys((w, p) for w, p, _ in medians if p != subject):
        paired = [
            medians[workload, subject, r] / ms
            for (w, p, r), ms in medians.items()
            if (w, p) == (workload, peer) and (workload, subject, r) in medians
        ]
        if paired:
            found.append(Ratio(workload, peer, statistics.median(paired), min(paired), max(paired)))
    return found


def against_best(samples: Sequence[Sample], subject: str) -> list[Ratio]:
    """The subject over the fastest peer of each round; `peer` is the one that was fastest most often."""
    found = []
    for workload in dict.fromkeys(s.workload for s in samples):
        paired, winners = [], []
        for number in dict.fromkeys(s.round for s in samples):
            here = {s.system: s.median_ms for s in samples if s.ns and (s.workload, s.round) == (workload, number)}
            mine = here.pop(subject, None)
            if mine is None or not here:
                continue
            winners.append(min(here, key=lambda system: here[system]))
            paired.append(mine / here[winners[-1]])
        if paired:
            winner = statistics.mode(winners)
            found.append(Ratio(workload, winner, statistics.median(paired), min(paired), max(paired)))
    return found


def geomean(values: Iterable[float]) -> float:
    """The geometric mean; nan of nothing."""
    logs = [math.log(value) for value in values]
    return math.exp(statistics.fmean(logs)) if logs else math.nan


def percentile(ordered: Sequence[float], share: float) -> float:
    """The value below which `share` of sorted values lie, between neighbours in proportion."""
    place = share * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])
