"""Sizes: an int, a name, or a prefix list of them such as ("add", ("mul", 2, "seq"), 1), read as `2*seq + 1`."""

from collections.abc import Callable, Iterator, Mapping, Set
from functools import reduce
from math import inf, prod

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
    if not isinstance(data, list | tuple) or len(data) < 3 or str(data[0]) not in OPERATORS:
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
    low, high = _interval(expr, ranges)
    return int(low) if low > -inf else None, int(high) if high < inf else None


def _interval(expr: Expr, ranges: Mapping[str, Range]) -> tuple[float, float]:
    if isinstance(expr, int):
        return expr, expr
    if isinstance(expr, str):
        low, high = ranges[expr]
        return low, inf if high is None else high
    inner = [_interval(term, ranges) for term in expr[1:]]
    lows, highs = zip(*inner, strict=True)
    match expr[0]:
        case "add":
            return -inf if -inf in lows else sum(lows), inf if inf in highs else sum(highs)
        case "mul":
            return reduce(_product, inner)
        case "floordiv":
            return _quotient(lows[0], lows[1]), _quotient(highs[0], lows[1])
        case "max":
            return max(lows), max(highs)
        case _:
            return min(lows), min(highs)


def _product(left: tuple[float, float], right: tuple[float, float]) -> tuple[float, float]:
    corners = [_times(a, b) for a in left for b in right]
    return min(corners), max(corners)


def _times(a: float, b: float) -> float:
    if a == 0 or b == 0:
        return 0
    if inf in (abs(a), abs(b)):
        return inf if (a > 0) == (b > 0) else -inf
    return a * b


def _quotient(end: float, divisor: float) -> float:
    return end if abs(end) == inf else end // divisor


def text(expr: Expr) -> str:
    """`expr` as Python writes it: `2*seq + 1`, `(n - 1)//4`, `max(a, b)`."""
    return _text(expr, False)


def _text(expr: Expr, inside: bool) -> str:
    """`inside` a product a sum or a quotient needs its own parentheses."""
    if isinstance(expr, int | str):
        return str(expr)
    operator, terms = str(expr[0]), expr[1:]
    if operator in ("max", "min"):
        return f"{operator}({', '.join(_text(term, False) for term in terms)})"
    if operator == "mul":
        return "*".join(_text(term, True) for term in terms)
    if operator == "floordiv":
        written = f"{_text(terms[0], True)}//{_text(terms[1], True)}"
    else:
        written = _text(terms[0], False) + "".join(map(_signed, terms[1:]))
    return f"({written})" if inside else written


def _signed(term: Expr) -> str:
    written = _text(term, False)
    negative = written.startswith("-") and (isinstance(term, int) or (isinstance(term, tuple) and term[0] == "mul"))
    return f" - {written[1:].removeprefix('1*')}" if negative else f" + {written}"


def _short(data: object) -> str:
    written = repr(data)
    return written if len(written) <= 60 else f"{written[:57]}..."
