"""Numbers as people read them."""

from __future__ import annotations

STEPS = ((1e9, "G"), (1e6, "M"), (1e3, "k"))


def scaled(number: float, unit: str) -> str:
    """Three digits and a decimal prefix: `9.4 GFLOP`, `512 B`."""
    for size, prefix in STEPS:
        if abs(number) >= size:
            return f"{number / size:.{_digits(number / size)}f} {prefix}{unit}"
    return f"{number:,.0f} {unit}"


def nbytes(number: float) -> str:
    """Bytes, in powers of ten."""
    return scaled(number, "B")


def microseconds(nanoseconds: float) -> str:
    """`12.3 us`, `4.56 ms`, `1.20 s`."""
    if nanoseconds >= 1e9:
        return f"{nanoseconds / 1e9:.2f} s"
    if nanoseconds >= 1e6:
        return f"{nanoseconds / 1e6:.2f} ms"
    return f"{nanoseconds / 1e3:.1f} us"


def percent(part: float, whole: float) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "-"


def _digits(number: float) -> int:
    return 2 if abs(number) < 10 else 1 if abs(number) < 100 else 0
