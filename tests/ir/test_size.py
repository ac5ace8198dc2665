"""Sizes: what is written simply, what is proved, and that any expression means what its tree means."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from cuvil_schema import sizes as schema
from hypothesis import given, settings
from hypothesis import strategies as st

from cuvil_pack.ir.polynomial import INDEX
from cuvil_pack.ir.size import (
    Dim,
    Expr,
    ceildiv,
    evaluate,
    floordiv,
    index,
    is_nonnegative,
    lower,
    maximum,
    minimum,
    named,
    product,
    substitute,
    symbols,
    to_prefix,
    upper,
)  # fmt: skip

n, m, s = named("n", 1, 6), named("m", 1, 5), named("s", 1, 4)
free = named("free")
i, j, k = index("i", n), index("j", s), index("k", 64)
big = index("big", n * s)

SIMPLE: list[tuple[Dim, Dim]] = [
    (n + 0, n),
    (n - n, 0),
    (n + m, m + n),
    ((n + m) * s, s * n + m * s),
    (n * 2 - n, n),
    (floordiv(i * 64 + k, 64), i),
    (floordiv(s * i + j, s), i),
    (floordiv(s * i + j + s, s), i + 1),
    (s * floordiv(i, s) + i % s, i),
    ((s * i + j) % s, j),
    (floordiv(n * 6, 3), n * 2),
    (floordiv(n * m, m), n),
    (floordiv(n * m + m, m), n + 1),
    (floordiv(i * 2 + 1, 4), floordiv(i, 2)),
    (floordiv(i * 4 + 3, 8), floordiv(i, 2)),
    (floordiv(i * m, m * 2), floordiv(i, 2)),
    (floordiv(floordiv(i, 2), 3), floordiv(i, 6)),
    (floordiv(floordiv(i, m), s), floordiv(i, m * s)),
    (floordiv(k, 64), 0),
    (floordiv(big, n * s), 0),
    (k % 64, k),
    (ceildiv(n * 16, 16), n),
    (maximum(n, 1), n),
    (minimum(n, 6), n),
    (maximum(n, n + 1), n + 1),
    (minimum(i, n), i),
    (maximum(maximum(n, m), 3), maximum(n, 3, m)),
    (minimum(n, minimum(m, s)), minimum(s, m, n)),
    (product((n, 2, m)), m * n * 2),
    (substitute(n * m + 1, {next(iter(symbols(n))): 3}), m * 3 + 1),
]  # fmt: skip


def known(env: Mapping[str, int]) -> dict[str, int]:
    """The values by the names of symbols: those of indices are no names of sizes."""
    return {**env, **{INDEX + name: value for name, value in env.items()}}


@pytest.mark.parametrize(("said", "simple"), SIMPLE)
def test_normal_form(said: Dim, simple: Dim) -> None:
    assert said == simple
    assert hash(said) == hash(simple)
    assert str(said) == str(simple)


def test_indices_with_one_name_and_different_ranges_stay_apart_in_one_order() -> None:
    a, b = index("k0", 3), index("k0", 5)
    assert a + b == b + a
    assert a != b


BOUNDS: list[tuple[Dim, int | None, int | None]] = [
    (n * 2 + 1, 3, 13),
    (n - m, -4, 5),
    (free, 1, None),
    (free * -1, None, -1),
    (i, 0, 5),
    (n - 1 - i, 0, 5),
    (s * n - 1 - big, 0, 23),
    (s * i + j, 0, 23),
    (s * n - 1 - (s * i + j), 0, 23),
    (i % m, 0, 4),
    (floordiv(k - 70, 3), -24, -3),
    (floordiv(free, n), 0, None),
    (maximum(free, 3), 3, None),
    (minimum(free, 3), 1, 3),
    (floordiv(k, 10) * 10 - k, -9, 0),
    (free * n - free, 0, None),
]


@pytest.mark.parametrize(("d", "low", "high"), BOUNDS, ids=lambda x: str(x))
def test_bounds(d: Dim, low: int | None, high: int | None) -> None:
    assert (lower(d), upper(d)) == (low, high)


def test_what_is_nonnegative() -> None:
    assert is_nonnegative(free * n - free)
    assert is_nonnegative(n - 1 - i)
    assert not is_nonnegative(n - 2)


def test_a_named_size_has_no_truth_value() -> None:
    with pytest.raises(TypeError, match="the size n has no truth value before run time"):
        bool(n)


@dataclass(frozen=True)
class Tree:
    """An expression as it was said: what it means in plain integers, and as a size."""

    text: str
    size: Dim
    value: Callable[[dict[str, int]], int]


LEAVES = {"n": n, "m": m, "s": s, "i": i, "j": j, "k": k, "big": big}
OPERATORS: dict[str, tuple[Callable[..., Dim], Callable[..., int]]] = {
    "+": (lambda a, b: a + b, lambda a, b: a + b),
    "-": (lambda a, b: a - b, lambda a, b: a - b),
    "*": (lambda a, b: a * b, lambda a, b: a * b),
    "//": (floordiv, lambda a, b: a // b),
    "%": (lambda a, b: a - b * floordiv(a, b), lambda a, b: a % b),
    "max": (maximum, max),
    "min": (minimum, min),
}


def leaf(x: str | int) -> Tree:
    return Tree(str(x), LEAVES[x] if isinstance(x, str) else x, lambda env: env[x] if isinstance(x, str) else x)


def joined(operator: str, a: Tree, b: Tree) -> Tree:
    size, value = OPERATORS[operator]
    return Tree(f"({a.text} {operator} {b.text})", size(a.size, b.size), lambda env: value(a.value(env), b.value(env)))


leaves = st.sampled_from([*LEAVES, -1, 0, 1, 2, 3, 5, 64]).map(leaf)
positive = st.one_of(
    st.sampled_from(["n", "m", "s", 1, 2, 3, 4, 8, 64]).map(leaf),
    st.sampled_from([("n", "s"), ("n", 2), ("m", 64)]).map(lambda p: joined("*", leaf(p[0]), leaf(p[1]))),
    st.sampled_from([("s", 1), ("n", "m")]).map(lambda p: joined("+", leaf(p[0]), leaf(p[1]))),
)


def grow(inner: Any) -> Any:
    return st.one_of(
        st.builds(joined, st.sampled_from(["+", "-", "*", "max", "min"]), inner, inner),
        st.builds(joined, st.sampled_from(["//", "%"]), inner, positive),
    )


trees = st.recursive(leaves, grow, max_leaves=8)


@st.composite
def values(draw: Any) -> dict[str, int]:
    env = {"n": draw(st.integers(1, 6)), "m": draw(st.integers(1, 5)), "s": draw(st.integers(1, 4))}
    env |= {
        "i": draw(st.integers(0, env["n"] - 1)),
        "j": draw(st.integers(0, env["s"] - 1)),
        "k": draw(st.integers(0, 63)),
    }
    return env | {"big": draw(st.integers(0, env["n"] * env["s"] - 1))}


@settings(max_examples=400, deadline=None)
@given(trees, st.lists(values(), min_size=4, max_size=4))
def test_any_expression_means_what_was_said_and_stays_in_its_bounds(tree: Tree, envs: list[dict[str, int]]) -> None:
    low, high = lower(tree.size), upper(tree.size)
    for env in envs:
        value = evaluate(tree.size, known(env))
        assert value == tree.value(env)
        assert low is None or low <= value
        assert high is None or value <= high


@settings(max_examples=200, deadline=None)
@given(trees, values())
def test_the_form_in_a_manifest_has_the_same_value(tree: Tree, env: dict[str, int]) -> None:
    assert schema.evaluate(frozen(to_prefix(tree.size)), known(env)) == evaluate(tree.size, known(env))


@settings(max_examples=200, deadline=None)
@given(trees, values())
def test_the_text_is_python_with_the_same_value(tree: Tree, env: dict[str, int]) -> None:
    assert eval(str(tree.size).replace(INDEX, ""), {"min": min, "max": max}, dict(env)) == evaluate(
        tree.size, known(env)
    )


@settings(max_examples=200, deadline=None)
@given(trees)
def test_the_normal_form_is_one(tree: Tree) -> None:
    """Rebuilding an expression from its parts changes nothing."""
    again = substitute(tree.size, {}) if isinstance(tree.size, Expr) else tree.size
    assert again == tree.size


def frozen(data: Any) -> Any:
    return tuple(map(frozen, data)) if isinstance(data, list) else data
