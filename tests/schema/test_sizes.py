"""Size expressions: what they are worth, where they lie, how they read, and what is none."""

import itertools
import random
import re

import pytest
from cuvil_schema import Expr, Malformed, bounds, evaluate, expression, names, text

SIZES = {"n": 5, "m": 3}
RANGES = {"n": (1, 8), "m": (0, None)}

EXPRESSIONS: list[tuple[Expr, str, int, tuple[int | None, int | None]]] = [
    (7, "7", 7, (7, 7)),
    ("n", "n", 5, (1, 8)),
    (("add", ("mul", 2, "n"), 1), "2*n + 1", 11, (3, 17)),
    (("add", "n", -1), "n - 1", 4, (0, 7)),
    (("add", "n", ("mul", -4, ("floordiv", "n", 4))), "n - 4*(n//4)", 1, (-7, 8)),
    (("add", "n", ("mul", -1, "m")), "n - m", 2, (None, 8)),
    (("floordiv", ("add", "n", -1), 4), "(n - 1)//4", 1, (0, 1)),
    (("mul", ("add", "n", 1), "m"), "(n + 1)*m", 18, (0, None)),
    (("mul", 2, ("floordiv", "n", 2)), "2*(n//2)", 4, (0, 8)),
    (("max", "n", ("mul", 2, "m")), "max(n, 2*m)", 6, (1, None)),
    (("min", "n", ("mul", 2, "m")), "min(n, 2*m)", 5, (0, 8)),
    (("mul", -1, "n"), "-1*n", -5, (-8, -1)),
]


@pytest.mark.parametrize(("expr", "written", "value", "interval"), EXPRESSIONS)
def test_one_meaning(expr: Expr, written: str, value: int, interval: tuple[int | None, int | None]) -> None:
    assert text(expr) == written
    assert evaluate(expr, SIZES) == value == eval(written, SIZES | {"max": max, "min": min})
    assert bounds(expr, RANGES) == interval
    assert expression(_lists(expr), SIZES.keys(), "dim") == expr


def test_any_expression_means_what_it_reads_and_stays_in_its_bounds() -> None:
    chance = random.Random(7)
    ranges = {"n": (0, 4), "m": (2, 3)}
    for _ in range(300):
        expr = _any(chance, 3)
        low, high = bounds(expr, ranges)
        for n, m in itertools.product(range(5), range(2, 4)):
            value = evaluate(expr, {"n": n, "m": m})
            assert value == eval(text(expr), {"n": n, "m": m, "max": max, "min": min}), text(expr)
            assert low <= value <= high, text(expr)


def test_names_stand_in_reading_order() -> None:
    assert list(names(("add", ("mul", 2, "n"), "m", "n"))) == ["n", "m", "n"]


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ("batch", "dim: no size is named 'batch'"),
        (True, "dim: True is neither an integer, a size nor one of add, mul, floordiv, max, min"),
        (1.5, "dim: 1.5 is neither an integer"),
        (2**62 + 1, "dim: 4611686018427387905 is beyond 2**62"),
        (["sub", 1, 2], "dim: ['sub', 1, 2] is neither an integer"),
        ([["add"], 1, 2], "dim: [['add'], 1, 2] is neither an integer"),
        (["add", 1], "dim: ['add', 1] is neither an integer"),
        ([], "dim: [] is neither an integer"),
        (["floordiv", "n", 0], "dim: floordiv divides by one positive integer, not by [0]"),
        (["floordiv", "n", "m"], "dim: floordiv divides by one positive integer, not by ['m']"),
        (["floordiv", "n", 2, 2], "dim: floordiv divides by one positive integer, not by [2, 2]"),
        (["add", 1, *range(20_001)], "dim is more than 24 deep or 20000 terms long"),
    ],
)
def test_what_is_no_expression(data: object, sentence: str) -> None:
    with pytest.raises(Malformed, match=re.escape(sentence)):
        expression(data, {"n", "m"}, "dim")


def test_numbers_that_no_float_holds() -> None:
    huge = ("mul", *[2**62] * 30)
    assert bounds(huge, {}) == (2**1860, 2**1860)
    assert bounds(("add", ("mul", "m", *[2**62] * 30), -1), RANGES) == (-1, None)


def test_a_deep_expression_is_refused() -> None:
    data: object = 1
    for _ in range(24):
        data = ["add", data, 1]
    with pytest.raises(Malformed, match="dim is more than 24 deep"):
        expression(data, set(), "dim")


def _any(chance: random.Random, depth: int) -> Expr:
    if depth == 0 or chance.random() < 0.2:
        return chance.choice(["n", "m", chance.randint(-3, 5)])
    operator = chance.choice(["add", "mul", "floordiv", "max", "min"])
    if operator == "floordiv":
        return operator, _any(chance, depth - 1), chance.randint(1, 4)
    return operator, *(_any(chance, depth - 1) for _ in range(chance.randint(2, 3)))


def _lists(expr: Expr) -> object:
    return [_lists(term) for term in expr] if isinstance(expr, tuple) else expr
