"""Sizes: integers, named sizes with a range, and polynomials of them. Loop indices are sizes too.

A `Dim` is an `int` or an `Expr`. An `Expr` is kept in normal form (a sum of integer multiples of products of atoms), so
equal sizes compare equal and `s*(i//s) + i%s` is `i` without any rule saying so: `a % b` is written `a - b*(a//b)`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any


@dataclass(frozen=True, slots=True)
class Symbol:
    """A size known at run time, or a loop index: an integer in `[lo, hi]`; `hi` is None where nothing bounds it."""

    name: str
    lo: int = 0
    hi: int | Expr | None = None


@dataclass(frozen=True, slots=True)
class Call:
    """`floordiv(a, b)`, `min(a, b, ...)` or `max(a, b, ...)`, where it could not be simplified."""

    function: str
    args: tuple[int | Expr, ...]


Atom = Symbol | Call
Monomial = tuple[Atom, ...]


@dataclass(frozen=True)
class Expr:
    """A sum of `coefficient * atom * atom ...`, sorted; never a plain constant (that is an `int`)."""

    terms: tuple[tuple[Monomial, int], ...]

    @cached_property
    def _hash(self) -> int:
        return hash(self.terms)

    def __hash__(self) -> int:
        return self._hash

    def __add__(self, other: Dim) -> Dim:
        total = dict(self.terms)
        for m, c in _terms(other):
            total[m] = total.get(m, 0) + c
        return _dim(total)

    def __mul__(self, other: Dim) -> Dim:
        total: dict[Monomial, int] = {}
        for m, c in self.terms:
            for n, d in _terms(other):
                key = tuple(sorted((*m, *n), key=_order))
                total[key] = total.get(key, 0) + c * d
        return _dim(total)

    def __neg__(self) -> Dim:
        return self * -1

    def __sub__(self, other: Dim) -> Dim:
        return self + other * -1

    def __rsub__(self, other: int) -> Dim:
        return self * -1 + other

    __radd__ = __add__
    __rmul__ = __mul__

    def __floordiv__(self, other: Dim) -> Dim:
        return floordiv(self, other)

    def __rfloordiv__(self, other: int) -> Dim:
        return floordiv(other, self)

    def __mod__(self, other: Dim) -> Dim:
        return self - other * floordiv(self, other)

    def __str__(self) -> str:
        return to_string(self)

    __repr__ = __str__

    def __bool__(self) -> bool:
        raise TypeError(f"the size {self} has no truth value before run time")


Dim = int | Expr


def named(name: str, lo: int = 1, hi: int | None = None) -> Expr:
    """A size that a caller chooses at run time, within `[lo, hi]`."""
    return Expr((((Symbol(name, lo, hi),), 1),))


def index(name: str, extent: Dim) -> Expr:
    """A loop index that runs over `[0, extent)`."""
    return Expr((((Symbol(name, 0, extent - 1),), 1),))


def _terms(d: Dim) -> tuple[tuple[Monomial, int], ...]:
    if isinstance(d, Expr):
        return d.terms
    return (((), int(d)),) if d else ()


def _dim(terms: Mapping[Monomial, int]) -> Dim:
    kept = {m: c for m, c in terms.items() if c}
    if not kept:
        return 0
    if kept.keys() == {()}:
        return kept[()]
    return Expr(tuple(sorted(kept.items(), key=lambda t: (-len(t[0]), tuple(map(_order, t[0]))))))


@lru_cache(maxsize=1 << 16)
def _order(atom: Atom) -> str:
    return atom.name if isinstance(atom, Symbol) else f"~{atom.function}{atom.args}"


def atom(a: Atom) -> Expr:
    return Expr((((a,), 1),))


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
    for m, c in _terms(a):
        part = _divide_term(m, c, b)
        if part is None:
            rest[m] = c
        else:
            quotient[part[0]] = quotient.get(part[0], 0) + part[1]
    q, r = _dim(quotient), _dim(rest)
    if is_nonnegative(r) and is_nonnegative(b - 1 - r):
        return q
    if isinstance(b, int) and isinstance(r, Expr):
        if (common := math.gcd(b, *(c for _, c in r.terms))) > 1:
            shrunk = _dim({m: c // common for m, c in r.terms})
            return q + floordiv(shrunk, b // common)
        inner = _only_call(r)
        if inner is not None and inner.function == "floordiv" and isinstance(inner.args[1], int):
            return q + floordiv(inner.args[0], inner.args[1] * b)
    return q + atom(Call("floordiv", (r, b)))


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
    for d in dims:
        if any(wins(k, d) for k in kept):
            continue
        kept = [k for k in kept if not wins(d, k)] + [d]
    if len(kept) == 1:
        return kept[0]
    return atom(Call(function, tuple(sorted(kept, key=str))))


def product(dims: Iterable[Dim]) -> Dim:
    total: Dim = 1
    for d in dims:
        total = total * d
    return total


def symbols(d: Dim) -> set[Symbol]:
    """Every symbol in `d`, those inside calls included; not those of the symbols' own ranges."""
    found: set[Symbol] = set()
    stack: list[Dim] = [d]
    while stack:
        for m, _ in _terms(stack.pop()):
            for a in m:
                if isinstance(a, Symbol):
                    found.add(a)
                else:
                    stack += a.args
    return found


def substitute(d: Dim, values: Mapping[Symbol, Dim]) -> Dim:
    """`d` with symbols replaced."""
    if isinstance(d, int):
        return d
    return rebuild(d, lambda s: values.get(s, atom(s)))


def rebuild(d: Dim, leaf: Callable[[Symbol], Dim]) -> Dim:
    total: Dim = 0
    for m, c in _terms(d):
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


Bounds = tuple[int | None, int | None]


@lru_cache(maxsize=1 << 16)
def _bounds(d: Dim) -> Bounds:
    if isinstance(d, int):
        return d, d
    low = _extreme_value(d, -1)
    high = _extreme_value(d, 1)
    return low, high


def _extreme_value(d: Dim, sign: int) -> int | None:
    """Replace what varies innermost by its extreme, until only numbers and sizes with numeric ranges are left."""
    for _ in range(32):
        if isinstance(d, int):
            return d
        d = _fold_remainders(d)
        if isinstance(d, int):
            return d
        inner = _innermost(d)
        if inner is None:
            break
        coefficient = _coefficient(d, inner)
        if coefficient is None:
            break
        grows = is_nonnegative(coefficient)
        if not grows and not is_nonnegative(-coefficient):
            break
        hi = inner.hi
        assert hi is not None
        d = substitute(d, {inner: hi if grows == (sign > 0) else inner.lo})
    return _interval(d)[0 if sign < 0 else 1]


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
            factor = _dim({scale[0]: scale[1]})
            rest = d - factor * (x - b * atom(a))
            if len(_terms(rest)) < len(d.terms):
                fresh = Expr((((Symbol(f"%{a.function}{a.args}", 0, b - 1),), 1),))
                return rest + factor * fresh
    return d


def _innermost(d: Expr) -> Symbol | None:
    """A symbol whose bound is an expression: a loop index, whose range goes in before that of the sizes it names."""
    inner = [s for s in _direct(d) if isinstance(s.hi, Expr) or s.name.startswith("%")]
    if not inner:
        inner = [s for s in _direct(d) if s.hi is not None and s.lo == 0]
    names = {n for s in inner if isinstance(s.hi, Expr) for n in symbols(s.hi)}
    free = [s for s in inner if s not in names and s.hi is not None]
    return min(free, key=lambda s: s.name) if free else None


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
    return _dim(total)


def _interval(d: Dim) -> Bounds:
    low: int | None = 0
    high: int | None = 0
    for m, c in _terms(d):
        t: Bounds = (c, c)
        for a in m:
            t = _times(t, _atom_bounds(a))
        low = None if low is None or t[0] is None else low + t[0]
        high = None if high is None or t[1] is None else high + t[1]
    return low, high


def _atom_bounds(a: Atom) -> Bounds:
    if isinstance(a, Symbol):
        return a.lo, a.hi if isinstance(a.hi, int) else None if a.hi is None else _bounds(a.hi)[1]
    parts = [_bounds(x) for x in a.args]
    if a.function == "floordiv":
        (low, high), (small, big) = parts
        if low is None or low < 0 or small is None or small < 1:
            return None, None
        return (0 if big is None else low // big), (None if high is None else high // small)
    lows, highs = [p[0] for p in parts], [p[1] for p in parts]
    if a.function == "max":
        known = [x for x in lows if x is not None]
        return (max(known) if known else None), (None if None in highs else max(h for h in highs if h is not None))
    known = [x for x in highs if x is not None]
    return (None if None in lows else min(x for x in lows if x is not None)), (min(known) if known else None)


def _times(a: Bounds, b: Bounds) -> Bounds:
    if None not in a and None not in b:
        corners = [x * y for x in a for y in b if x is not None and y is not None]
        return min(corners), max(corners)
    nonnegative = (a[0] or 0) >= 0 and (b[0] or 0) >= 0 and a[0] is not None and b[0] is not None
    if nonnegative:
        assert a[0] is not None and b[0] is not None
        return a[0] * b[0], None if a[1] is None or b[1] is None else a[1] * b[1]
    if a[0] == a[1] and a[0] is not None and a[0] < 0:
        low, high = _times((-a[0], -a[0]), b)
        return (None if high is None else -high), (None if low is None else -low)
    return None, None


def to_string(d: Dim, call: Callable[[Call, Callable[[Dim], str]], str] | None = None) -> str:
    """Python text of a size; `call` writes the calls for another language."""

    def write(x: Dim) -> str:
        if isinstance(x, int):
            return str(x)
        text = ""
        for m, c in x.terms:
            factors = [_write_atom(a, call or _python_call, write) for a in m]
            if abs(c) != 1 or not factors:
                factors.insert(0, str(abs(c)))
            sign = ("-" if c < 0 else "") if not text else (" - " if c < 0 else " + ")
            text += sign + "*".join(factors)
        return text

    return write(d)


def _write_atom(a: Atom, call: Callable[[Call, Callable[[Dim], str]], str], write: Callable[[Dim], str]) -> str:
    return a.name if isinstance(a, Symbol) else call(a, write)


def _python_call(c: Call, write: Callable[[Dim], str]) -> str:
    if c.function == "floordiv":
        return f"(({write(c.args[0])})//({write(c.args[1])}))"
    return f"{c.function}({', '.join(map(write, c.args))})"


def to_prefix(d: Dim) -> Any:
    """The form a manifest holds: an int, a name, or `[function, argument, ...]`."""
    if isinstance(d, int):
        return d
    sums: list[Any] = []
    for m, c in d.terms:
        factors: list[Any] = [_prefix_atom(a) for a in m]
        if c != 1 or not factors:
            factors.insert(0, c)
        sums.append(factors[0] if len(factors) == 1 else ["mul", *factors])
    return sums[0] if len(sums) == 1 else ["add", *sums]


def _prefix_atom(a: Atom) -> Any:
    return a.name if isinstance(a, Symbol) else [a.function, *map(to_prefix, a.args)]
