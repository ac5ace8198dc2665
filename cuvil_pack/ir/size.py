"""Arithmetic of sizes: division, extremes, bounds, values; as simple as the ranges of the sizes allow."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache

from . import interval
from .interval import Interval
from .polynomial import (
    Atom,
    Call,
    Dim,
    Expr,
    Monomial,
    Symbol,
    atom,
    dim_order,
    from_terms,
    index,
    named,
    product,
    symbols,
    terms_of,
    to_prefix,
    to_string,
)  # fmt: skip

__all__ = [
    "Call", "Dim", "Expr", "Symbol", "atom", "ceildiv", "evaluate", "floordiv", "index", "is_nonnegative", "lower",
    "maximum", "minimum", "named", "nominal", "product", "rebuild", "substitute", "symbols", "to_prefix", "to_string",
    "upper",
]  # fmt: skip


def floordiv(a: Dim, b: Dim) -> Dim:
    """`a // b` rounded to minus infinity; `b` must be positive."""
    if isinstance(a, int) and isinstance(b, int):
        return a // b
    return _floordiv(a, b)


@lru_cache(maxsize=1 << 16)
def _floordiv(a: Dim, b: Dim) -> Dim:
    if b == 1:
        return a
    quotient: dict[Monomial, int] = {}
    rest: dict[Monomial, int] = {}
    for m, c in terms_of(a):
        part = _divide_term(m, c, b)
        if part is None:
            rest[m] = c
        else:
            quotient[part[0]] = quotient.get(part[0], 0) + part[1]
    q, r = from_terms(quotient), from_terms(rest)
    if is_nonnegative(r) and is_nonnegative(b - 1 - r):
        return q
    shrunk = _shrink(r, b)
    if shrunk is not None:
        return q + floordiv(*shrunk)
    inner = _only_call(r) if isinstance(r, Expr) else None
    if inner is not None and inner.function == "floordiv":
        return q + floordiv(inner.args[0], inner.args[1] * b)
    return q + atom(Call("floordiv", (r, b)))


def _shrink(a: Dim, b: Dim) -> tuple[Dim, Dim] | None:
    """Smaller numbers with the same quotient: a positive factor of `b` and of all of `a`, save a number, cancels."""
    parts = [(m, c) for m, c in terms_of(a) if m]
    if not parts:
        return None
    number = a - from_terms(dict(parts))
    assert isinstance(number, int)
    common = math.gcd(*(c for _, c in (*parts, *terms_of(b))))
    if common > 1:
        top, bottom = (from_terms({m: c // common for m, c in terms}) for terms in (parts, terms_of(b)))
        return top + number // common, bottom
    shared = [x for x in parts[0][0] if number == 0 and all(x in m for m, _ in (*parts, *terms_of(b)))]
    factor = next((x for x in shared if is_nonnegative(atom(x) - 1)), None)
    return None if factor is None else (_without(a, factor), _without(b, factor))


def _without(d: Dim, factor: Atom) -> Dim:
    """`d // factor`, where every term has the factor."""
    total: dict[Monomial, int] = {}
    for m, c in terms_of(d):
        left = list(m)
        left.remove(factor)
        total[tuple(left)] = c
    return from_terms(total)


def _divide_term(m: Monomial, c: int, b: Dim) -> tuple[Monomial, int] | None:
    """The term divided by `b` where that is exact."""
    if isinstance(b, int):
        return (m, c // b) if c % b == 0 else None
    if len(b.terms) != 1:
        return None
    divisor, d = b.terms[0]
    left = list(m)
    for a in divisor:
        if a not in left:
            return None
        left.remove(a)
    return (tuple(left), c // d) if c % d == 0 else None


def _only_call(e: Expr) -> Call | None:
    if len(e.terms) != 1 or e.terms[0][1] != 1 or len(e.terms[0][0]) != 1:
        return None
    only = e.terms[0][0][0]
    return only if isinstance(only, Call) else None


def ceildiv(a: Dim, b: Dim) -> Dim:
    return floordiv(a + b - 1, b)


def maximum(*dims: Dim) -> Dim:
    return _extreme("max", dims, lambda a, b: is_nonnegative(a - b))


def minimum(*dims: Dim) -> Dim:
    return _extreme("min", dims, lambda a, b: is_nonnegative(b - a))


def _extreme(function: str, dims: Iterable[Dim], wins: Callable[[Dim, Dim], bool]) -> Dim:
    kept: list[Dim] = []
    for new in (part for d in dims for part in _flat(function, d)):
        if any(wins(k, new) for k in kept):
            continue
        kept = [k for k in kept if not wins(new, k)] + [new]
    if len(kept) == 1:
        return kept[0]
    return atom(Call(function, tuple(sorted(kept, key=dim_order))))


def _flat(function: str, d: Dim) -> tuple[Dim, ...]:
    """The arguments of `d`, where it is itself a call of the function."""
    call = _only_call(d) if isinstance(d, Expr) else None
    return call.args if call is not None and call.function == function else (d,)


def substitute(d: Dim, values: Mapping[Symbol, Dim]) -> Dim:
    """`d` with symbols replaced."""
    if isinstance(d, int):
        return d
    return rebuild(d, lambda s: values.get(s, atom(s)))


def rebuild(d: Dim, leaf: Callable[[Symbol], Dim]) -> Dim:
    total: Dim = 0
    for m, c in terms_of(d):
        term: Dim = c
        for a in m:
            term = term * (leaf(a) if isinstance(a, Symbol) else _apply(a.function, [rebuild(x, leaf) for x in a.args]))
        total = total + term
    return total


FUNCTIONS: dict[str, Callable[..., Dim]] = {"floordiv": floordiv, "min": minimum, "max": maximum}


def _apply(function: str, args: list[Dim]) -> Dim:
    return FUNCTIONS[function](*args)


def evaluate(d: Dim, values: Mapping[str, int]) -> int:
    """The number `d` stands for when the named sizes have these values."""
    result = rebuild(d, lambda s: values[s.name])
    assert isinstance(result, int)
    return result


def lower(d: Dim) -> int | None:
    """The least value `d` can take; None where that is not known."""
    return _bounds(d)[0]


def upper(d: Dim) -> int | None:
    """The greatest value `d` can take; None where nothing bounds it."""
    return _bounds(d)[1]


def is_nonnegative(d: Dim) -> bool:
    """Whether `d >= 0` can be proved from the ranges of its symbols."""
    if isinstance(d, int):
        return d >= 0
    low = _bounds(d)[0]
    return low is not None and low >= 0


@lru_cache(maxsize=1 << 16)
def _bounds(d: Dim) -> Interval:
    if isinstance(d, int):
        return d, d
    low = _extreme_value(d, -1)
    high = _extreme_value(d, 1)
    return low, high


def _extreme_value(d: Dim, sign: int) -> int | None:
    """The least (`sign` -1) or greatest (1) value: one symbol after the other goes to an end of its range."""
    while not isinstance(d, int):
        pinned = _pinned(_fold_remainders(d), sign)
        if pinned is None:
            return _interval(d)[0 if sign < 0 else 1]
        d = pinned
    return d


def _pinned(d: Dim, sign: int) -> Dim | None:
    """`d` with one symbol at the end where `d` is extreme; a size that bounds an index waits for it."""
    if isinstance(d, int):
        return d
    direct = _direct(d)
    waiting = {n for s in direct if isinstance(s.hi, Expr) for n in symbols(s.hi)}
    for s in sorted(direct - waiting, key=lambda s: (not isinstance(s.hi, Expr), s.name)):
        coefficient = _coefficient(d, s)
        grows = coefficient is not None and is_nonnegative(coefficient)
        if coefficient is None or not (grows or is_nonnegative(-coefficient)):
            continue
        end = s.hi if grows == (sign > 0) else s.lo
        if end is not None:
            return substitute(d, {s: end})
    return None


def _fold_remainders(d: Expr) -> Dim:
    """Write each `x - b*(x//b)` in `d` as one index over `[0, b)`."""
    for m, c in d.terms:
        for a in m:
            if not isinstance(a, Call) or a.function != "floordiv":
                continue
            x, b = a.args
            cofactor = list(m)
            cofactor.remove(a)
            scale = _divide_term(tuple(cofactor), -c, b)
            if scale is None:
                continue
            factor = from_terms({scale[0]: scale[1]})
            rest = d - factor * (x - b * atom(a))
            if len(terms_of(rest)) < len(d.terms):
                fresh = Expr((((Symbol(f"%{a.function}{a.args}", 0, b - 1),), 1),))
                return rest + factor * fresh
    return d


def _direct(d: Expr) -> set[Symbol]:
    hidden = {s for m, _ in d.terms for a in m if isinstance(a, Call) for x in a.args for s in symbols(x)}
    return {a for m, _ in d.terms for a in m if isinstance(a, Symbol)} - hidden


def _coefficient(d: Expr, s: Symbol) -> Dim | None:
    total: dict[Monomial, int] = {}
    for m, c in d.terms:
        if m.count(s) > 1:
            return None
        if s in m:
            rest = list(m)
            rest.remove(s)
            total[tuple(rest)] = c
    return from_terms(total)


def _interval(d: Dim) -> Interval:
    total: Interval = (0, 0)
    for m, c in terms_of(d):
        term: Interval = (c, c)
        for a in m:
            term = interval.multiply(term, _atom_interval(a))
        total = interval.add(total, term)
    return total


def _atom_interval(a: Atom) -> Interval:
    if isinstance(a, Symbol):
        return a.lo, None if a.hi is None else upper(a.hi)
    parts = map(_bounds, a.args)
    match a.function:
        case "floordiv":
            return interval.floordiv(*parts)
        case "max":
            return interval.maximum(parts)
        case _:
            return interval.minimum(parts)


NOMINAL = 128


def nominal(d: Dim) -> int:
    """A typical number for a size, 1 or more: each name at the largest of its range up to 128, or at its least."""
    values = {}
    for s in symbols(d):
        most = s.hi if isinstance(s.hi, int) else upper(s.hi) if s.hi is not None else None
        values[s.name] = max(s.lo, min(NOMINAL, most) if most is not None else NOMINAL)
    return max(1, evaluate(d, values))
