"""Laws of truth: masks are made of comparisons and `and`; what is always true goes."""

from __future__ import annotations

from ..ir.graph import Node, Number, Value
from ..ir.rewrite import rule
from ..ir.size import Dim, lower, upper
from ..ir.types import DType, TensorType
from ..ops.elementwise import add, and_, cast, eq, ge, gt, le, lt, mul, ne, not_, or_, sub, where, xor
from ..ops.indexing import iota, size
from ..ops.view import expand, reshape, slice_, transpose
from .settle import law
from .values import literal, made_by, make, spread

TRUE, FALSE = (Number(b, TensorType(DType.BOOL, ())) for b in (True, False))
OPPOSITE = {eq: ne, ne: eq, lt: ge, ge: lt, gt: le, le: gt}


@law(
    and_,
    or_,
    xor,
    given=tuple(
        f"x: bool[4] -> {call}"
        for call in (
            "and_(x, number(True, bool))",
            "or_(x, number(True, bool))",
            "xor(x, number(True, bool))",
            "and_(x, x)",
        )
    ),
)
def known_operand(node: Node) -> Value | None:
    """`and`, `or`, `xor` with a known truth, or with themselves."""
    x, y = node.inputs
    if x == y and node.op in (and_, or_):
        return x
    if x.type.dtype is not DType.BOOL or not isinstance(y, Number):
        return None
    if node.op is xor:
        return make(not_, x) if y.number else x
    return x if y.number == (node.op is and_) else spread(y, x.type.shape)


@rule(lambda x: not_(not_(x)), "bool[4]")
def not_not(x: Value) -> Value:
    return x


@law(not_, given=("x: i64[4] -> not_(lt(x, 2))", "x: f32[4] -> not_(eq(x, 2.0))"))
def not_compared(node: Node) -> Value | None:
    """The opposite comparison; of floats only where nan agrees."""
    (x,) = node.inputs
    if isinstance(x, Number) and x.type.dtype is DType.BOOL:
        return FALSE if x.number else TRUE
    inner = made_by(x, *OPPOSITE)
    if inner is None or (inner.inputs[0].type.dtype.is_float and inner.op not in (eq, ne)):
        return None
    return make(OPPOSITE[inner.op], *inner.inputs)


@law(
    eq,
    ne,
    gt,
    lt,
    ge,
    le,
    cast,
    given=(
        "x: bool[4] -> ne(cast(x, dtype=i64), 0)",
        "x: bool[4] -> eq(cast(x, dtype=f32), 0.0)",
        "x: bool[4] -> gt(cast(x, dtype=i64), 0)",
        "x: bool[4] -> cast(cast(x, dtype=i64), dtype=bool)",
        "x: bool[4] -> lt(cast(x, dtype=i64), 1)",
    ),
)
def truth_as_number(node: Node) -> Value | None:
    """What asks whether the number made of a truth is 0 or 1 asks the truth."""
    inner = made_by(node.inputs[0], cast)
    if inner is None or inner.inputs[0].type.dtype is not DType.BOOL:
        return None
    truth = inner.inputs[0]
    if node.op is cast:
        return truth if node.attrs["dtype"] is DType.BOOL else None
    limit = literal(node.inputs[1])
    match node.op.name, limit:
        case ("ne", 0) | ("eq", 1) | ("gt", 0) | ("ge", 1):
            return truth
        case ("eq", 0) | ("ne", 1) | ("lt", 1) | ("le", 0):
            return make(not_, truth)
    return None


@law(eq, ne, given=("x: bool[4] -> eq(x, number(True, bool))", "x: bool[4] -> eq(x, number(False, bool))"))
def truth_compared(node: Node) -> Value | None:
    """A truth compared with a known truth."""
    x, y = node.inputs
    if x.type.dtype is not DType.BOOL or not isinstance(y, Number):
        return None
    return x if bool(y.number) == (node.op is eq) else make(not_, x)


@law(
    where,
    given=(
        "x: bool[4] -> where(x, number(True, bool), number(False, bool))",
        "x: bool[4], y: bool[4] -> where(x, y, number(False, bool))",
    ),
)
def choice_of_truths(node: Node) -> Value | None:
    """A choice between truths is `and` or `or`."""
    condition, yes, no = node.inputs
    if yes.type.dtype is not DType.BOOL:
        return None
    match literal(yes), literal(no):
        case True, _:
            return make(or_, condition, no)
        case _, False:
            return make(and_, condition, yes)
        case False, _:
            return make(and_, make(not_, condition), no)
        case _, True:
            return make(or_, make(not_, condition), yes)
    return None


@law(
    le,
    lt,
    ge,
    gt,
    eq,
    ne,
    given=(
        "x: f32[4] -> where(ge(iota(shape=(4,), axis=0, dtype=i64), 0), x, 0.0)",
        "x: f32[batch] -> where(lt(iota(shape=(batch,), axis=0, dtype=i64), size(dim=batch)), x, 0.0)",
    ),
)
def always(node: Node) -> Value | None:
    """A comparison of indices and sizes whose answer their ranges tell."""
    a, b = (extent(x) for x in node.inputs)
    if a is None or b is None:
        return None
    answer = compare(node.op.name, a, b)
    return None if answer is None else spread(TRUE if answer else FALSE, node.types[0].shape)


Extent = tuple[Dim, Dim]


def extent(value: Value) -> Extent | None:
    """The least and greatest integer that an element can be, for sums and products of indices, sizes and numbers."""
    if isinstance(value, Number):
        whole = not value.type.dtype.is_float and value.type.dtype is not DType.BOOL
        return (int(value.number), int(value.number)) if whole else None
    node = made_by(value, iota, size, add, sub, mul, cast, reshape, expand, transpose, slice_)
    if node is None or value.type.dtype.is_float or value.type.dtype is DType.BOOL:
        return None
    if node.op is iota:
        return 0, node.attrs["shape"][node.attrs["axis"]] - 1
    if node.op is size:
        return node.attrs["dim"], node.attrs["dim"]
    parts = [extent(i) for i in node.inputs]
    if None in parts:
        return None
    known = [p for p in parts if p is not None]
    return _combined(node, known)


def _combined(node: Node, parts: list[Extent]) -> Extent | None:
    if len(parts) == 1:
        return parts[0]
    (a, b), (c, d) = parts
    if node.op is add:
        return a + c, b + d
    if node.op is sub:
        return a - d, b - c
    if not isinstance(c, int) or c != d:
        return None
    return (a * c, b * c) if c >= 0 else (b * c, a * c)


def compare(op: str, a: Extent, b: Extent) -> bool | None:
    """What `a op b` is for every element, or None where elements differ or sizes hide it."""
    least, most = lower(a[0] - b[1]), upper(a[1] - b[0])
    below = most is not None and most < 0
    above = least is not None and least > 0
    match op:
        case "lt":
            return True if below else False if least is not None and least >= 0 else None
        case "ge":
            return False if below else True if least is not None and least >= 0 else None
        case "gt":
            return True if above else False if most is not None and most <= 0 else None
        case "le":
            return False if above else True if most is not None and most <= 0 else None
    equal = least == most == 0
    return (op == "eq") if equal else (op == "ne") if below or above else None
