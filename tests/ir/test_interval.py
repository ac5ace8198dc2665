"""Intervals hold every result of the operation on numbers from them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from cuvil_pack.ir import interval
from cuvil_pack.ir.interval import Interval

numbers = st.integers(-9, 9)


@st.composite
def held(draw: Any, least: int = -9) -> tuple[Interval, int]:
    """An interval and a number in it."""
    low, value, high = sorted(draw(st.tuples(*[st.integers(least, 9)] * 3)))
    ends = (draw(st.sampled_from([low, None])) if least < 1 else low, draw(st.sampled_from([high, None])))
    return ends, value


def contains(a: Interval, value: int) -> bool:
    return (a[0] is None or a[0] <= value) and (a[1] is None or value <= a[1])


def check(operation: Callable[..., Interval], on_numbers: Callable[..., int], *parts: tuple[Interval, int]) -> None:
    ends, values = zip(*parts, strict=True)
    assert contains(operation(*ends), on_numbers(*values))


@given(held(), held())
def test_sums_and_products(a: tuple[Interval, int], b: tuple[Interval, int]) -> None:
    check(interval.add, int.__add__, a, b)
    check(interval.multiply, int.__mul__, a, b)
    check(interval.negate, int.__neg__, a)


@given(held(), held(least=1))
def test_quotients(a: tuple[Interval, int], b: tuple[Interval, int]) -> None:
    check(interval.floordiv, int.__floordiv__, a, b)


@given(st.lists(held(), min_size=1, max_size=4))
def test_extremes(parts: list[tuple[Interval, int]]) -> None:
    check(lambda *p: interval.maximum(p), lambda *v: max(v), *parts)
    check(lambda *p: interval.minimum(p), lambda *v: min(v), *parts)
