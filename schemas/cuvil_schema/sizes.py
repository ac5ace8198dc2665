"""Sizes: an int, a name, or a prefix list of them such as ("add", ("mul", 2, "seq"), 1), read as `2*seq + 1`."""

from collections.abc import Callable, Iterator, Mapping, Set
from math import prod

from cuvil_schema.errors import Malformed

Expr = int | str | tuple["Expr", ...]
Range = tuple[int, int | None]

MAX_DEPTH = 24
MAX_TERMS = 20_000
MAX_INT = 2**62

OPERATORS: dict[str, Callable[[list[int]], int]] = {
    "add": sum,
    "mul": prod,
    "floordiv": lambda terms: terms[0] // terms[1],
    "max": max,
    "min": min,
}


def expression(data: object, names: Set[str], what: str) -> Expr:
    """Decoded `data` as an expression over `names`; Malformed when it is none. Divisors are positive ints."""
    budget = [MAX_TERMS]
    return _expression(data, names, what, MAX_DEPTH, budget)


def _expression(data: object, names: Set[str], what: str, depth: int, budget: list[int]) -> Expr:
    budget[0] -= 1
    if depth == 0 or budget[0] < 0:
        raise Malformed(f"{what} is more than {MAX_DEPTH} deep or {MAX_TERMS} terms long")
    if type(data) is int:
        if not -MAX_INT <= data <= MAX_INT:
            raise Malformed(f"{what}: {data} is beyond 2**62")
        return data
    if isinstance(data, str):
        if data not in names:
            raise Malformed(f"{what}: no size is named {data!r}")
        return data
    if not isinstance(data, list | tuple) or len(data) < 3 or data[0] not in OPERATORS:
        raise Malformed(f"{what}: {_short(data)} is neither an integer, a size nor one of {', '.join(OPERATORS)}")
    operator = str(data[0])
    if operator == "floordiv" and not (len(data) == 3 and type(data[2]) is int and data[2] > 0):
        raise Malformed(f"{what}: floordiv divides by one positive integer, not by {_short(data[2:])}")
    return operator, *(_expression(term, names, what, depth - 1, budget) for term in data[1:])


def evaluate(expr: Expr, sizes: Mapping[str, int]) -> int:
    """The value of `expr` where every name has a size."""
    if isinstance(expr, int):
        return expr
    if isinstance(expr, str):
        return sizes[expr]
    return OPERATORS[str(expr[0])]([evaluate(term, sizes) for term in expr[1:]])


def names(expr: Expr) -> Iterator[str]:
    """The names in `expr`, in reading order, repeated where they repeat."""
    if isinstance(expr, str):
        yield expr
    elif isinstance(expr, tuple):
        for term in expr[1:]:
            yield from names(term)


def bounds(expr: Expr, ranges: Mapping[str, Range]) -> tuple[int | None, int | None]:
    """An interval that holds every value of `expr` while its names stay in their ranges; None means no bound."""
    if isinstance(expr, int):
        return expr, expr
    if isinstance(expr, str):
        return ranges[expr]
    inner = [bounds(term, ranges) for term in expr[1:]]
    lows, highs = [low for low, _ in inner], [high for _, high in inner]
    match expr[0]:
        case "add":
            return _sum(lows), _sum(highs)
        case "mul":
            low, high = inner[0]
            for other in inner[1:]:
                low, high = _product((low, high), other)
            return low, high
        case "floordiv":
            (low, high), (divisor, _) = inner
            assert divisor is not None
            return None if low is None else low // divisor, None if high is None else high // divisor
        case "max":
            known = [low for low in lows if low is not None]
            return max(known) if known else None, None if None in highs else max(h for h in highs if h is not None)
        case _:
            known = [high for high in highs if high is not None]
            return None if None in lows else min(low for low in lows if low is not None), min(known) if known else None


def _sum(ends: list[int | None]) -> int | None:
    known = [end for end in ends if end is not None]
    return sum(known) if len(known) == len(ends) else None


def _product(
    left: tuple[int | None, int | None], right: tuple[int | None, int | None]
) -> tuple[int | None, int | None]:
    if None not in left and None not in right:
        corners = [a * b for a in left for b in right if a is not None and b is not None]
        return min(corners), max(corners)
    (low, high), (other_low, other_high) = left, right
    if low is None or other_low is None or low < 0 or other_low < 0:
        return None, None
    return low * other_low, None if high is None or other_high is None else high * other_high


def text(expr: Expr) -> str:
    """`expr` as Python writes it: `2*seq + 1`, `(n - 1)//4`, `max(a, b)`."""
    return _text(expr, 0)


def _text(expr: Expr, strength: int) -> str:
    if isinstance(expr, int | str):
        return f"({expr})" if isinstance(expr, int) and expr < 0 and strength > 1 else str(expr)
    operator, terms = expr[0], expr[1:]
    if operator == "add":
        return _enclosed(_signed_sum(terms), strength > 1)
    if operator == "mul":
        return _enclosed("*".join(_text(term, 3) for term in terms), strength > 2)
    if operator == "floordiv":
        return _enclosed(f"{_text(terms[0], 3)}//{_text(terms[1], 3)}", strength > 2)
    return f"{operator}({', '.join(_text(term, 0) for term in terms)})"


def _signed_sum(terms: tuple[Expr, ...]) -> str:
    written = _text(terms[0], 1)
    for term in terms[1:]:
        sign, size = ("-", _negated(term)) if _is_negative(term) else ("+", term)
        written += f" {sign} {_text(size, 2)}"
    return written


def _is_negative(term: Expr) -> bool:
    if isinstance(term, tuple):
        return term[0] == "mul" and isinstance(term[1], int) and term[1] < 0
    return isinstance(term, int) and term < 0


def _negated(term: Expr) -> Expr:
    if isinstance(term, int):
        return -term
    if not isinstance(term, tuple) or not isinstance(term[1], int):
        return "mul", -1, term
    rest = term[2:] if term[1] == -1 else (-term[1], *term[2:])
    return rest[0] if len(rest) == 1 else ("mul", *rest)


def _enclosed(written: str, needed: bool) -> str:
    return f"({written})" if needed else written


def _short(data: object) -> str:
    written = repr(data)
    return written if len(written) <= 60 else f"{written[:57]}..."
