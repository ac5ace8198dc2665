"""torch's symbolic sizes as dims."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import Any

from ...ir import size
from ...ir.size import Dim
from ...ir.types import DType, TensorType
from .table import Refused

DTYPES = {f"torch.{d.numpy.name}": d for d in DType}


def dtype_of(dtype: Any) -> DType:
    """The element type of a `torch.dtype`. Raises Refused where there is none."""
    if str(dtype) not in DTYPES:
        raise Refused(f"there is no element type {str(dtype).removeprefix('torch.')}")
    return DTYPES[str(dtype)]


def type_of(tensor: Any, names: Mapping[str, Dim]) -> TensorType:
    """The type of a torch tensor, a fake one too."""
    return TensorType(dtype_of(tensor.dtype), tuple(dim_of(n, names) for n in tensor.shape))


def dim_of(n: Any, names: Mapping[str, Dim]) -> Dim:
    """An int or a `torch.SymInt` as a dim; `names` gives torch's symbols."""
    return n if isinstance(n, int) else from_sympy(n.node.expr, names)


def from_sympy(e: Any, names: Mapping[str, Dim]) -> Dim:
    """A sympy expression as a dim. Raises Refused where no dim says it."""
    if e.is_Integer:
        return int(e)
    if e.is_Symbol:
        if e.name not in names:
            raise Refused("a size that depends on the data")
        return names[e.name]
    kind = e.func.__name__
    if kind in ROUNDED:
        return _rounded(e.args[0], names, up=ROUNDED[kind])
    if kind == "Pow" and not e.args[1].is_Integer:
        raise Refused(f"a size {e}")
    if kind not in FUNCTIONS:
        raise Refused(f"a size {e}")
    result: Dim = FUNCTIONS[kind](*(from_sympy(a, names) for a in e.args))
    return result


def _power(base: Dim, exponent: Dim) -> Dim:
    if not isinstance(exponent, int) or exponent < 0:
        raise Refused(f"a size {base} to the power of {exponent}")
    return size.product([base] * exponent)


def modulo(a: Dim, b: Dim) -> Dim:
    """The remainder, with the sign of `b`."""
    return a - b * size.floordiv(a, b)


FUNCTIONS: dict[str, Any] = {
    "Add": lambda *xs: reduce(lambda a, b: a + b, xs),
    "Mul": lambda *xs: size.product(xs),
    "Pow": _power,
    "PowByNatural": _power,
    "FloorDiv": size.floordiv,
    "CleanDiv": size.floordiv,
    "CeilDiv": size.ceildiv,
    "Mod": modulo,
    "PythonMod": modulo,
    "ModularIndexing": lambda x, step, base: modulo(size.floordiv(x, step), base),
    "Max": size.maximum,
    "Min": size.minimum,
    "Identity": lambda x: x,
}
ROUNDED = {"floor": False, "FloorToInt": False, "TruncToInt": False, "ceiling": True, "CeilToInt": True}


def _rounded(e: Any, names: Mapping[str, Dim], up: bool) -> Dim:
    """A fraction of sizes, rounded."""
    above, below = _fraction(e, names)
    return size.ceildiv(above, below) if up else size.floordiv(above, below)


def _fraction(e: Any, names: Mapping[str, Dim]) -> tuple[Dim, Dim]:
    kind = e.func.__name__
    if kind == "ToFloat":
        return _fraction(e.args[0], names)
    if kind in ("IntTrueDiv", "FloatTrueDiv"):
        (a, b), (c, d) = (_fraction(x, names) for x in e.args)
        return a * d, b * c
    if kind in ("Mul", "Add"):
        return reduce(_multiplied if kind == "Mul" else _added, (_fraction(x, names) for x in e.args))
    if e.is_Float or e.is_Rational:
        above, below = float(e).as_integer_ratio()
        if below > 1 << 20:
            raise Refused(f"a size scaled by {e}")
        return above, below
    return from_sympy(e, names), 1


def _multiplied(a: tuple[Dim, Dim], b: tuple[Dim, Dim]) -> tuple[Dim, Dim]:
    return a[0] * b[0], a[1] * b[1]


def _added(a: tuple[Dim, Dim], b: tuple[Dim, Dim]) -> tuple[Dim, Dim]:
    return a[0] * b[1] + b[0] * a[1], a[1] * b[1]
