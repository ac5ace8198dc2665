"""Einstein summation, said with transposes, reductions and matrix products."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ..ir.size import Dim, product
from ..ir.types import broadcast_dims
from .elementwise import mul
from .matmul import matmul
from .reduce import reduce
from .view import reshape, transpose

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True, eq=False)
class Term:
    """A tensor with a letter for each axis."""

    letters: str
    value: Any

    def size(self, letter: str) -> Dim:
        size: Dim = self.value.type.shape[self.letters.index(letter)]
        return size

    def ordered(self, letters: str) -> Any:
        """The tensor with its axes in this order."""
        axes = tuple(self.letters.index(c) for c in letters)
        return self.value if letters == self.letters else transpose(self.value, axes=axes)


def einsum(equation: str, *values: Any) -> Any:
    """`einsum("bij,bjk->bik", a, b)` as numpy has it; `...` stands for axes that broadcast. Raises TypeError.

    Operands are joined from the left, each by one matrix product, or by one multiplication where nothing is summed.
    """
    inputs, output = spelled_out(equation, [v.type.rank for v in values])
    terms = [Term(letters, v) for letters, v in zip(inputs, values, strict=True)]
    for n, term in enumerate(terms):
        if len(set(term.letters)) != len(term.letters):
            raise TypeError(f"einsum {equation!r}: operand {n} repeats an index; take its diagonal first")
    total, *rest = terms
    for n, term in enumerate(rest):
        needed = set(output).union(*(t.letters for t in rest[n + 1 :]))
        total = contract(summed(total, needed | set(term.letters)), summed(term, needed | set(total.letters)), needed)
    return summed(total, set(output)).ordered(output)


def spelled_out(equation: str, ranks: Sequence[int]) -> tuple[list[str], str]:
    """The letters of each operand and of the result, with letters in place of `...`."""
    left, arrow, right = equation.replace(" ", "").partition("->")
    inputs = left.split(",")
    if len(inputs) != len(ranks):
        raise TypeError(f"einsum {equation!r} has {len(inputs)} operands, given {len(ranks)}")
    free = [c for c in LETTERS if c not in equation]
    named = [text.replace("...", "") for text in inputs]
    hidden = [rank - len(n) if n != text else 0 for rank, n, text in zip(ranks, named, inputs, strict=True)]
    dots = "".join(free[: max(hidden, default=0)])
    spelled = [text.replace("...", dots[len(dots) - n :] if n else "") for text, n in zip(inputs, hidden, strict=True)]
    for n, (letters, rank) in enumerate(zip(spelled, ranks, strict=True)):
        if len(letters) != rank or not set(letters) <= set(LETTERS):
            raise TypeError(f"einsum {equation!r}: operand {n} has {rank} axes")
    output = right.replace("...", dots) if arrow else dots + "".join(sorted(_once("".join(spelled), dots)))
    if len(set(output)) != len(output) or not set(output) <= set("".join(spelled)):
        raise TypeError(f"einsum {equation!r}: {output} is no selection of the indices")
    return spelled, output


def _once(letters: str, dots: str) -> Iterator[str]:
    return (c for c in set(letters) if letters.count(c) == 1 and c not in dots)


def summed(term: Term, needed: set[str]) -> Term:
    """The term summed over the letters that nothing needs."""
    axes = tuple(n for n, c in enumerate(term.letters) if c not in needed)
    if not axes:
        return term
    letters = "".join(c for c in term.letters if c in needed)
    total = reduce(term.value, kind="sum", axes=axes)
    return Term(letters, reshape(total, shape=tuple(map(term.size, letters))))


def contract(a: Term, b: Term, needed: set[str]) -> Term:
    """The product of two terms, summed over the letters that they share and nothing needs."""
    shared = [c for c in a.letters if c in b.letters]
    batch = "".join(c for c in shared if c in needed)
    inner = "".join(c for c in shared if c not in needed)
    rows = "".join(c for c in a.letters if c not in shared)
    columns = "".join(c for c in b.letters if c not in shared)
    sizes = [broadcast_dims(a.size(c), b.size(c)) for c in batch]
    result = (*sizes, *map(a.size, rows), *map(b.size, columns))
    if not inner:
        left = reshape(a.ordered(batch + rows), shape=(*map(a.size, batch + rows), *(1,) * len(columns)))
        right = reshape(
            b.ordered(batch + columns), shape=(*map(b.size, batch), *(1,) * len(rows), *map(b.size, columns))
        )
        return Term(batch + rows + columns, mul(left, right))
    left = reshape(a.ordered(batch + rows + inner), shape=(*map(a.size, batch), _numel(a, rows), _numel(a, inner)))
    right = reshape(
        b.ordered(batch + inner + columns), shape=(*map(b.size, batch), _numel(b, inner), _numel(b, columns))
    )
    return Term(batch + rows + columns, reshape(matmul(left, right), shape=result))


def _numel(term: Term, letters: str) -> Dim:
    return product(map(term.size, letters))
