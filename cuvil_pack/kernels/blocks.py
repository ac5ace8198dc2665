"""Sizes, loops and blocks as lines of C."""

from __future__ import annotations

from collections.abc import Callable

from ..ir.polynomial import INDEX
from ..ir.scalar import Loop
from ..ir.size import Call, Dim, Expr, Symbol, is_nonnegative, to_string

LANES = 64


def c_dim(d: Dim) -> str:
    """A size or index as C; every divided number in generated code is non-negative or goes through cv_floordiv."""

    def write(c: Call, inner: Callable[[Dim], str]) -> str:
        if c.function != "floordiv":
            first, *rest = c.args
            text = inner(first)
            for other in rest:
                text = f"cv_{c.function}_i64({text}, {inner(other)})"
            return text
        a, b = c.args
        if is_nonnegative(a):
            return f"(({inner(a)}) / ({inner(b)}))"
        return f"cv_floordiv_i64({inner(a)}, {inner(b)})"

    return to_string(d, write, c_name)


def c_name(s: Symbol) -> str:
    """The C variable of a loop index or a size: whatever users call their sizes, no other name is the same."""
    return s.name.removeprefix(INDEX) if s.name.startswith(INDEX) else f"size_{s.name}"


def sole_symbol(d: Dim) -> Symbol:
    """The symbol that a plain index is."""
    assert isinstance(d, Expr)
    symbol = d.terms[0][0][0]
    assert isinstance(symbol, Symbol)
    return symbol


def sole_name(symbol: Symbol | None) -> str | None:
    return None if symbol is None else c_name(symbol)


def indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def for_loop(loop: Loop, body: list[str]) -> list[str]:
    name = c_name(sole_symbol(loop.index))
    return [f"for (int64_t {name} = 0; {name} < {c_dim(loop.extent)}; {name}++) {{", *indented(body), "}"]


def lane_loop(body: list[str], name: str | None) -> list[str]:
    """The lanes of one block of the innermost loop; `lanes` of them are there."""
    position = [f"const int64_t {name} = first + lane;"] if name else []
    return ["for (int64_t lane = 0; lane < lanes; lane++) {", *indented([*position, *body]), "}"]


def strip_loop(loop: Loop, body: list[str]) -> list[str]:
    """A loop in strips of LANES elements, and what is left."""
    name, extent = c_name(sole_symbol(loop.index)), c_dim(loop.extent)
    strip = [f"const int64_t {name} = first + lane;", *body]
    return [
        "{",
        "    int64_t first = 0;",
        f"    for (; first + {LANES} <= {extent}; first += {LANES})",
        f"        for (int64_t lane = 0; lane < {LANES}; lane++) {{",
        *indented(indented(indented(strip))),
        "        }",
        f"    for (int64_t lane = 0; lane < {extent} - first; lane++) {{",
        *indented(indented(strip)),
        "    }",
        "}",
    ]
