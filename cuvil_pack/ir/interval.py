"""Intervals of integers, ends included; None is an end that nothing bounds."""

from __future__ import annotations

from collections.abc import Callable, Iterable

End = int | None
Interval = tuple[End, End]


def add(a: Interval, b: Interval) -> Interval:
    return _both(a[0], b[0], int.__add__), _both(a[1], b[1], int.__add__)


def negate(a: Interval) -> Interval:
    low, high = a
    return (None if high is None else -high), (None if low is None else -low)


def multiply(a: Interval, b: Interval) -> Interval:
    if None not in a and None not in b:
        corners = [x * y for x in a for y in b if x is not None and y is not None]
        return min(corners), max(corners)
    if a[1] is not None and a[1] <= 0:
        return negate(multiply(negate(a), b))
    if b[1] is not None and b[1] <= 0:
        return negate(multiply(a, negate(b)))
    if a[0] is None or b[0] is None or a[0] < 0 or b[0] < 0:
        return None, None
    return a[0] * b[0], _both(a[1], b[1], int.__mul__)


def floordiv(a: Interval, b: Interval) -> Interval:
    """The quotients rounded to minus infinity; `b` is positive."""
    (low, high), (small, big) = a, b
    if small is None or small < 1:
        return None, None
    below = None if low is None else low // small if low < 0 else 0 if big is None else low // big
    above = None if high is None else high // small if high >= 0 else -1 if big is None else high // big
    return below, above


def maximum(intervals: Iterable[Interval]) -> Interval:
    lows, highs = zip(*intervals, strict=True)
    return _known(lows, max), None if None in highs else max(highs)


def minimum(intervals: Iterable[Interval]) -> Interval:
    lows, highs = zip(*intervals, strict=True)
    return None if None in lows else min(lows), _known(highs, min)


def _both(a: End, b: End, combine: Callable[[int, int], int]) -> End:
    return None if a is None or b is None else combine(a, b)


def _known(ends: tuple[End, ...], best: Callable[[list[int]], int]) -> End:
    found = [e for e in ends if e is not None]
    return best(found) if found else None
