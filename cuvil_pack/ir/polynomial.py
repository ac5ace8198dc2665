"""What a size is: integers, named sizes, loop indices, and sums of their products in normal form.

A `Dim` is an `int` or an `Expr`. An `Expr` is a sum of integer multiples of products of atoms, sorted, so equal sizes
compare equal; `a % b` is written `a - b*(a//b)`, so `s*(i//s) + i%s` is `i` without any rule saying so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

INDEX = "$"


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
        for m, c in terms_of(other):
            total[m] = total.get(m, 0) + c
        return from_terms(total)

    def __mul__(self, other: Dim) -> Dim:
        total: dict[Monomial, int] = {}
        for m, c in self.terms:
            for n, d in terms_of(other):
                key = tuple(sorted((*m, *n), key=_order))
                total[key] = total.get(key, 0) + c * d
        return from_terms(total)

    def __neg__(self) -> Dim:
        return self * -1

    def __sub__(self, other: Dim) -> Dim:
        return self + other * -1

    def __rsub__(self, other: int) -> Dim:
        return self * -1 + other

    __radd__ = __add__
    __rmul__ = __mul__

    def __floordiv__(self, other: Dim) -> Dim:
        from .size import floordiv

        return floordiv(self, other)

    def __rfloordiv__(self, other: int) -> Dim:
        from .size import floordiv

        return floordiv(other, self)

    def __mod__(self, other: Dim) -> Dim:
        return self - other * (self // other)

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
    """A loop index that runs over `[0, extent)`; its symbol has a name that no size can have."""
    return Expr((((Symbol(INDEX + name, 0, extent - 1),), 1),))


def terms_of(d: Dim) -> tuple[tuple[Monomial, int], ...]:
    if isinstance(d, Expr):
        return d.terms
    return (((), int(d)),) if d else ()


def from_terms(terms: Mapping[Monomial, int]) -> Dim:
    kept = {m: c for m, c in terms.items() if c}
    if not kept:
        return 0
    if kept.keys() == {()}:
        return kept[()]
    return Expr(tuple(sorted(kept.items(), key=lambda t: (-len(t[0]), tuple(map(_order, t[0]))))))


@lru_cache(maxsize=1 << 16)
def _order(a: Atom) -> tuple[Any, ...]:
    """What atoms are sorted by: unequal atoms differ in it, so that equal sizes are equal text."""
    if isinstance(a, Symbol):
        return 0, a.name, a.lo, dim_order(-1 if a.hi is None else a.hi)
    return 1, a.function, *map(dim_order, a.args)


def dim_order(d: Dim) -> tuple[Any, ...]:
    return tuple((len(m), *map(_order, m), c) for m, c in terms_of(d))


def atom(a: Atom) -> Expr:
    return Expr((((a,), 1),))


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
        for m, _ in terms_of(stack.pop()):
            for a in m:
                if isinstance(a, Symbol):
                    found.add(a)
                else:
                    stack += a.args
    return found


def to_string(
    d: Dim,
    call: Callable[[Call, Callable[[Dim], str]], str] | None = None,
    symbol: Callable[[Symbol], str] = lambda s: s.name,
) -> str:
    """Python text of a size; `call` and `symbol` write calls and names for another language."""

    def write(x: Dim) -> str:
        if isinstance(x, int):
            return str(x)
        text = ""
        for m, c in x.terms:
            factors = [symbol(a) if isinstance(a, Symbol) else (call or _python_call)(a, write) for a in m]
            if abs(c) != 1 or not factors:
                factors.insert(0, str(abs(c)))
            sign = ("-" if c < 0 else "") if not text else (" - " if c < 0 else " + ")
            text += sign + "*".join(factors)
        return text

    return write(d)


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
