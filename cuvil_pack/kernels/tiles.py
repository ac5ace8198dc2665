"""Register tiles: which ones a target has, what they cost, and the functions that sum them."""

from __future__ import annotations

from ..ops.panel import WIDTH
from ..targets import Target
from .template import Schedule


def tiles(target: Target) -> tuple[tuple[int, int], ...]:
    """Register tiles (rows, columns) that fit the vector registers."""
    if target.lanes >= 16:
        return ((12, 32), (14, 32), (8, 48), (6, 64))
    if target.lanes == 8:
        return ((6, 16),)
    return ((4, 16),) if target.vector_registers >= 32 else ((2, 16),)


def tile_seconds(m: int, n: int, k: int, mr: int, nr: int, target: Target) -> float:
    """What tiles of mr x nr need for a product on one core: arithmetic on whole and half tiles, loads not hidden."""
    left = m % mr
    rows = m - left + (0 if left == 0 else mr // 2 if left <= mr // 2 else mr)
    columns = -(-n // WIDTH) * WIDTH if n % nr else n
    vectors = nr / target.lanes
    loads = 0.5 / vectors**2 + 0.6 / mr
    return 2.0 * rows * columns * k * (1 + loads) / target.peak_flops


def widths(nr: int) -> tuple[int, int, int]:
    """The widths of the tiles of a schedule: all, most and the least of its columns."""
    return nr, min(nr, 32), WIDTH


def _families(schedule: Schedule, few: tuple[int, ...], lanes: int) -> tuple[tuple[int, int], ...]:
    """Rows and greatest width of the four families of tiles; 0 rows where a family is not needed."""
    mr, nr = int(schedule["mr"]), int(schedule["nr"])
    four = 64 if lanes >= 16 else WIDTH
    return (mr, nr), (max(mr // 2, 1), nr), (1 if 1 in few else 0, 64), (4 if 4 in few else 0, four)


def shared_sums(kind: str, schedule: Schedule, lanes: int, few: tuple[int, ...] = ()) -> tuple[str, ...]:
    """The definitions of the functions that sum the tiles of a schedule; `kind` is gemm or conv.

    `few` are the products of few rows to be ready for: 1, and 4 for two to four.
    """
    shapes = {(m, n) for m, nr in _families(schedule, few, lanes) if m for n in widths(nr)}
    return tuple(f"CV_{kind.upper()}_SUM({m}, {n})" for m, n in sorted(shapes))


def sums_table(kind: str, schedule: Schedule, lanes: int, few: tuple[int, ...] = ()) -> str:
    """The table of those functions as a C expression."""
    families = [
        "{" + ", ".join(f"cv_{kind}_sum_{m}x{n}" if m else "0" for n in widths(nr)) + "}"
        for m, nr in _families(schedule, few, lanes)
    ]
    return f"(cv_{kind}_sums){{{', '.join(families if kind == 'gemm' else families[:2])}}}"
