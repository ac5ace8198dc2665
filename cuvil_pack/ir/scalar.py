"""Scalar expressions: an op's body, run on these instead of arrays, says what one element is.

The functions here do both: on arrays they compute with numpy, on scalars they build a tree.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .size import Dim, index
from .types import DType

BITWISE = frozenset({"and", "or", "xor", "not", "shl", "shr"})
COMPARISONS = frozenset({"eq", "ne", "lt", "le", "gt", "ge", "isnan", "isinf"})


@dataclass(frozen=True, eq=False, slots=True)
class Scalar:
    """A tree of operations on one element; `dtype` is the element type of its value."""

    op: str
    args: tuple[Any, ...]
    dtype: DType

    def __add__(self, o: Any) -> Scalar:
        return combine("add", self, o)

    def __radd__(self, o: Any) -> Scalar:
        return combine("add", o, self)

    def __sub__(self, o: Any) -> Scalar:
        return combine("sub", self, o)

    def __rsub__(self, o: Any) -> Scalar:
        return combine("sub", o, self)

    def __mul__(self, o: Any) -> Scalar:
        return combine("mul", self, o)

    def __rmul__(self, o: Any) -> Scalar:
        return combine("mul", o, self)

    def __truediv__(self, o: Any) -> Scalar:
        return combine("div", self, o)

    def __rtruediv__(self, o: Any) -> Scalar:
        return combine("div", o, self)

    def __floordiv__(self, o: Any) -> Scalar:
        return combine("floordiv", self, o)

    def __mod__(self, o: Any) -> Scalar:
        return combine("mod", self, o)

    def __pow__(self, o: Any) -> Scalar:
        return combine("pow", self, o)

    def __neg__(self) -> Scalar:
        return combine("neg", self)

    def __eq__(self, o: Any) -> Any:
        return combine("eq", self, o)

    def __ne__(self, o: Any) -> Any:
        return combine("ne", self, o)

    def __lt__(self, o: Any) -> Scalar:
        return combine("lt", self, o)

    def __le__(self, o: Any) -> Scalar:
        return combine("le", self, o)

    def __gt__(self, o: Any) -> Scalar:
        return combine("gt", self, o)

    def __ge__(self, o: Any) -> Scalar:
        return combine("ge", self, o)

    def __and__(self, o: Any) -> Scalar:
        return combine("and", self, o)

    def __or__(self, o: Any) -> Scalar:
        return combine("or", self, o)

    def __xor__(self, o: Any) -> Scalar:
        return combine("xor", self, o)

    def __lshift__(self, o: Any) -> Scalar:
        return combine("shl", self, o)

    def __rshift__(self, o: Any) -> Scalar:
        return combine("shr", self, o)

    def __invert__(self) -> Scalar:
        return combine("not", self)

    def __bool__(self) -> bool:
        raise TypeError("the body of an elementwise op may not branch on an element: use where()")


@dataclass(frozen=True, eq=False, slots=True)
class Loop:
    """One loop of a reduction: an index over `[0, extent)`."""

    index: Dim
    extent: Dim


def constant(number: float | int | bool, dtype: DType) -> Scalar:
    return Scalar("const", (number,), dtype)


def position(d: Dim, dtype: DType = DType.I64) -> Scalar:
    """A size or an index as a number."""
    return Scalar("size", (d,), dtype)


def combine(name: str, *args: Any) -> Scalar:
    """An operation on scalars of one element type; Python numbers take that type, as in numpy."""
    dtypes = [a.dtype for a in args if isinstance(a, Scalar)]
    operands = dtypes[1:] if name == "where" and isinstance(args[0], Scalar) else dtypes
    dtype = operands[0] if operands else DType.F32
    if any(d != dtype for d in operands):
        raise TypeError(f"operands are {' and '.join(d.value for d in operands)}: cast one of them")
    if dtype is DType.BOOL and name in ("add", "sub", "mul", "div", "neg"):
        raise TypeError(f"bool has no {name}: cast it")
    if dtype.is_float and name in BITWISE:
        raise TypeError(f"{name} needs bool or an integer, not {dtype.value}")
    if not dtype.is_float and name in ("div", *FLOAT_FUNCTIONS):
        raise TypeError(f"{name} needs a float, not {dtype.value}: cast it")
    first = DType.BOOL if name == "where" else dtype
    kinds = [first, *[dtype] * (len(args) - 1)]
    scalars = tuple(a if isinstance(a, Scalar) else constant(a, k) for a, k in zip(args, kinds, strict=True))
    return Scalar(name, scalars, DType.BOOL if name in COMPARISONS else dtype)


def lift(name: str, on_arrays: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any) -> Any:
        return combine(name, *args) if any(isinstance(a, Scalar) for a in args) else on_arrays(*args)

    call.__name__ = name
    return call


def _by_element(f: Callable[[float], float]) -> Callable[[Any], Any]:
    whole = np.vectorize(f, otypes=[np.float64])

    def on_arrays(x: Any) -> Any:
        return whole(x).astype(np.asarray(x).dtype)

    return on_arrays


def _quiet(f: Callable[..., Any]) -> Callable[..., Any]:
    def on_arrays(*args: Any) -> Any:
        with np.errstate(all="ignore"):
            return f(*args)

    return on_arrays


_UNARY = [
    "exp",
    "exp2",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "sqrt",
    "sin",
    "cos",
    "tan",
    "arcsin",
    "arccos",
    "arctan",
    "sinh",
    "cosh",
    "tanh",
    "arcsinh",
    "arccosh",
    "arctanh",
    "floor",
    "ceil",
    "rint",
    "trunc",
]
(
    exp,
    exp2,
    expm1,
    log,
    log2,
    log10,
    log1p,
    sqrt,
    sin,
    cos,
    tan,
    asin,
    acos,
    atan,
    sinh,
    cosh,
    tanh,
    asinh,
    acosh,
    atanh,
    floor,
    ceil,
    rint,
    trunc,
) = (lift(n.replace("arc", "a"), _quiet(getattr(np, n))) for n in _UNARY)
erf = lift("erf", _by_element(math.erf))
erfc = lift("erfc", _by_element(math.erfc))
atan2 = lift("atan2", np.arctan2)
fmod = lift("fmod", _quiet(np.fmod))
absolute = lift("abs", np.abs)
isnan = lift("isnan", np.isnan)
isinf = lift("isinf", np.isinf)
maximum = lift("max", np.maximum)
minimum = lift("min", np.minimum)
copysign = lift("copysign", np.copysign)
where = lift("where", np.where)
FLOAT_FUNCTIONS = frozenset(n.replace("arc", "a") for n in _UNARY[:-4]) | {"erf", "erfc", "atan2", "copysign"}


def cast(x: Any, dtype: DType) -> Any:
    """Convert to another element type: truncation towards zero from float to integer, `!= 0` to bool."""
    if not isinstance(x, Scalar):
        with np.errstate(all="ignore"):
            return np.asarray(x).astype(dtype.numpy)
    return x if x.dtype is dtype else Scalar("cast", (x,), dtype)


def dtype_of(x: Any) -> DType:
    """The element type of a scalar or an array."""
    return x.dtype if isinstance(x, Scalar) else DType.of(np.asarray(x).dtype)


def like(x: Any, number: float | int | bool) -> Any:
    """A number of the element type of `x`."""
    return constant(number, x.dtype) if isinstance(x, Scalar) else np.asarray(number, np.asarray(x).dtype)


REDUCTIONS: dict[str, tuple[str, float | int | bool]] = {
    "sum": ("add", 0), "prod": ("mul", 1), "max": ("max", -math.inf), "min": ("min", math.inf),
    "any": ("or", False), "all": ("and", True),
}  # fmt: skip


def reduce(kind: str, extents: tuple[Dim, ...], body: Callable[..., Scalar], name: str = "k") -> Scalar:
    """`kind` (a key of REDUCTIONS) of `body(i0, i1, ...)` over every index below `extents`."""
    loops = tuple(Loop(index(f"{name}{n}", e), e) for n, e in enumerate(extents))
    value = body(*(loop.index for loop in loops))
    return Scalar("reduce", (kind, loops, value), value.dtype)


def argreduce(kind: str, extent: Dim, body: Callable[[Dim], Scalar], name: str = "k") -> Scalar:
    """The first index below `extent` where `body(i)` is greatest ("max") or least ("min"); the first nan wins."""
    loop = Loop(index(f"{name}0", extent), extent)
    return Scalar("argreduce", (kind, (loop,), body(loop.index)), DType.I64)


def select(condition: Scalar, yes: Callable[[], Scalar], no: Scalar) -> Scalar:
    """`yes()` where the condition holds, and only there is it read; else `no`."""
    value = yes()
    return Scalar("select", (condition, value, no), value.dtype)


def in_range(i: Dim, extent: Dim) -> Scalar:
    """Whether `0 <= i < extent`."""
    return Scalar("in_range", (i, extent), DType.BOOL)
