"""A comparison as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tests.benchmarks.ceilings import Ceilings
from tests.benchmarks.ratios import Ratio, Row, geomean

TIE = 1.25


def heading(machine: Ceilings, cpu: str, versions: Mapping[str, str]) -> Iterator[str]:
    yield f"{cpu}, {machine.threads} threads"
    yield (
        f"ceilings: {machine.fma_gflops:.0f} GFLOP/s fp32 FMA; read L1 {machine.l1_gbs:.0f}, L2 {machine.l2_gbs:.0f}, "
        f"DRAM {machine.dram_gbs:.1f} GB/s"
    )
    yield ", ".join(f"{name} {version}" for name, version in versions.items())


def times(rows: Sequence[Row], floors: Mapping[str, float]) -> Iterator[str]:
    """A line a workload and system: milliseconds, error against float64, how much of the time the floor is."""
    yield f"{'workload':<22} {'system':<12} {'median':>9} {'p10':>9} {'p90':>9} {'floor':>6} {'rel. error':>10}"
    for row in rows:
        floor = floors.get(row.workload, 0) / row.median_ms
        yield (
            f"{row.workload:<22} {row.system:<12} {row.median_ms:>9.3f} {row.p10_ms:>9.3f} {row.p90_ms:>9.3f} "
            f"{floor:>6.0%} {row.rel_err:>10.1e}"
        )


def comparison(ratios: Sequence[Ratio], best: Sequence[Ratio]) -> Iterator[str]:
    """Cuvil's time over each peer's, a line a workload, and geometric means; [lowest, highest round]."""
    peers = list(dict.fromkeys(r.peer for r in ratios))
    cells = {(r.workload, r.peer): r for r in ratios}
    yield f"{'cuvil / peer':<22} " + " ".join(f"{peer:>19}" for peer in peers) + f" {'best peer':>32}"
    for ratio in best:
        line = " ".join(f"{shown(cells.get((ratio.workload, peer))):>19}" for peer in peers)
        yield f"{ratio.workload:<22} {line} {shown(ratio):>19} {ratio.peer:>12}"
    means = [geomean(r.ratio for r in ratios if r.peer == peer) for peer in peers]
    yield (
        f"{'geometric mean':<22} "
        + " ".join(f"{f'{mean:.2f}':<19}" for mean in means)
        + f" {f'{geomean(r.ratio for r in best):.2f}':<19}"
    )


def shown(ratio: Ratio | None) -> str:
    return "-" if ratio is None else f"{ratio.ratio:.2f} [{ratio.low:.2f}, {ratio.high:.2f}]"
