"""Laws of arithmetic: what changes nothing goes, constants stand on the right and join, the cheapest op says it."""

from __future__ import annotations

import math

from ..ir.graph import OPS, Node, Number, Value
from ..ir.rewrite import rule
from ..ir.types import TensorType, broadcast_shapes
from ..ops.activation import clamp, relu
from ..ops.elementwise import (
    abs_,
    add,
    cast,
    div,
    eq,
    ge,
    gt,
    le,
    lt,
    maximum,
    minimum,
    mul,
    ne,
    neg,
    pow_,
    reciprocal,
    rsqrt,
    sqrt,
    sub,
    where,
)
from ..ops.view import expand, reshape
from .settle import law
from .values import is_constant, literal, made_by, make, number_like, spread, widened

ELEMENTWISE = tuple(o for o in OPS.values() if o.elementwise)
MIRRORED = {add: add, mul: mul, maximum: maximum, minimum: minimum, eq: eq, ne: ne, lt: gt, gt: lt, le: ge, ge: le}
MIRRORED |= {OPS[n]: OPS[n] for n in ("and", "or", "xor")}


@law(*MIRRORED, given=("x: f32[4] -> add(2.0, x)", "x: f32[4] -> lt(2.0, x)"))
def constant_right(node: Node) -> Value | None:
    """A constant is the second operand."""
    a, b = node.inputs
    return make(MIRRORED[node.op], b, a) if is_constant(a) and not is_constant(b) else None


@law(
    add,
    sub,
    mul,
    div,
    pow_,
    given=tuple(
        f"x: f32[4] -> {call}" for call in ("add(x, 0.0)", "sub(x, 0.0)", "mul(x, 1.0)", "div(x, 1.0)", "pow(x, 1.0)")
    ),
)
def neutral(node: Node) -> Value | None:
    """`x + 0`, `x * 1` and the like are `x`."""
    x, number = node.inputs[0], literal(node.inputs[1])
    if isinstance(number, bool) or number is None:
        return None
    return x if number == (0 if node.op in (add, sub) else 1) else None


@law(sub, given=("x: f32[4] -> sub(x, 3.0)", "x: f32[4], y: f32[4] -> sub(x, neg(y))"))
def subtract_constant(node: Node) -> Value | None:
    """`x - c` is `x + -c`; `x - -y` is `x + y`."""
    x, y = node.inputs
    negated = made_by(y, neg)
    if negated is not None:
        return make(add, x, negated.inputs[0])
    if not is_constant(y) or not y.type.dtype.is_signed:
        return None
    return make(add, x, _negative(y))


def _negative(value: Value) -> Value:
    return number_like(value, -value.number) if isinstance(value, Number) else make(neg, value)


@law(div, given=("x: f32[4] -> div(x, 4.0)", "x: f32[4] -> div(1.0, x)"))
def divide(node: Node) -> Value | None:
    """Division by a power of two is multiplication; of 1, the reciprocal."""
    x, y = node.inputs
    number = literal(y)
    if number is not None and is_power_of_two(number):
        return make(mul, x, number_like(y, 1.0 / number))
    return make(reciprocal, y) if literal(x) == 1 else None


def is_power_of_two(number: float) -> bool:
    """Whether multiplying by it rounds nothing."""
    return math.isfinite(number) and abs(math.frexp(number)[0]) == 0.5


SMALLER = tuple(OPS[n] for n in ("batch_norm", "glu", "roll"))


@law(
    *SMALLER,
    given=(
        "x: f32[2, 3, 4], s: f32[3] -> batch_norm(x, s, s, s, add(mul(s, s), 1.0), axis=1, eps=0.01)",
        "x: f32[4, 8] -> glu(x, axis=1)",
        "x: f32[4, 8] -> roll(x, axis=1, shift=3)",
    ),
)
def said_with_smaller_ops(node: Node) -> Value | None:
    """What is arithmetic and views is said so: scales fold, slices are seen through."""
    assert node.op.decompose is not None
    value: Value = node.op.decompose(*node.inputs, **node.attrs)
    return value


@rule(lambda x: reciprocal(sqrt(x)), "f32[4]")
def reciprocal_root(x: Value) -> Value:
    return make(rsqrt, x)


@rule(lambda x: neg(neg(x)), "f32[4]")
def double_negative(x: Value) -> Value:
    return x


@rule(lambda x, y: add(x, neg(y)), "f32[4], f32[4]")
def add_negative(x: Value, y: Value) -> Value | None:
    return None if is_constant(y) else make(sub, x, y)


@rule(lambda x, y: add(neg(x), y), "f32[4], f32[4]")
def add_to_negative(x: Value, y: Value) -> Value:
    return make(sub, y, x)


@law(mul, neg, given=("x: f32[4] -> mul(neg(x), 3.0)", "x: f32[4] -> neg(mul(x, 3.0))", "x: f32[4] -> mul(x, -1.0)"))
def negative_factor(node: Node) -> Value | None:
    """A sign goes into the constant factor; a factor of -1 is a sign."""
    if node.op is neg:
        product = made_by(node.inputs[0], mul)
        if product is None or not isinstance(product.inputs[1], Number):
            return None
        return make(mul, product.inputs[0], _negative(product.inputs[1]))
    x, c = node.inputs
    if literal(c) == -1:
        return make(neg, x)
    negated = made_by(x, neg)
    return make(mul, negated.inputs[0], _negative(c)) if negated is not None and is_constant(c) else None


@law(pow_, given=tuple(f"x: f32[4] -> pow(x, {p})" for p in ("2.0", "3.0", "0.5", "-0.5", "-1.0")))
def small_power(node: Node) -> Value | None:
    """Small powers are products and roots."""
    x = node.inputs[0]
    match literal(node.inputs[1]):
        case 2:
            return make(mul, x, x)
        case 3:
            return make(mul, make(mul, x, x), x)
        case 0.5:
            return make(sqrt, x)
        case -0.5:
            return make(rsqrt, x)
        case -1 if x.type.dtype.is_float:
            return make(reciprocal, x)
    return None


@law(add, mul, given=("x: i64[4] -> add(add(x, 1), 2)", "x: f32[4] -> mul(mul(x, 2.0), 3.0)"))
def join_constants(node: Node) -> Value | None:
    """`(x + a) + b` is `x + (a + b)`, and so for products, where numbers round alike and weights do not grow."""
    inner, b = made_by(node.inputs[0], node.op), node.inputs[1]
    if inner is None or not is_constant(b) or not is_constant(inner.inputs[1]) or is_constant(inner.inputs[0]):
        return None
    x, a = inner.inputs
    joined = broadcast_shapes(a.type.shape, b.type.shape)
    if joined not in (a.type.shape, b.type.shape) or not _round_alike(node, a, b):
        return None
    if node.types[0].shape != broadcast_shapes(x.type.shape, joined):
        return None
    return make(node.op, x, _joined(node, a, b))


def _round_alike(node: Node, a: Value, b: Value) -> bool:
    """Integers, weights, and factors that are powers of two; elsewhere a model may count on what is rounded where."""
    if not isinstance(a, Number) or not isinstance(b, Number) or not a.type.dtype.is_float:
        return True
    return node.op is mul and (is_power_of_two(a.number) or is_power_of_two(b.number))


def _joined(node: Node, a: Value, b: Value) -> Value:
    if isinstance(a, Number) and isinstance(b, Number):
        return number_like(a, a.number + b.number if node.op is add else a.number * b.number)
    return make(node.op, a, b)


@law(maximum, minimum, relu, given=("x: f32[4] -> maximum(x, 0.5)", "x: f32[4] -> minimum(x, 0.5)"))
def bound(node: Node) -> Value | None:
    """The extremes with a number are `clamp`; `clamp` from 0 is `relu`."""
    x, limit = node.inputs[0], literal(node.inputs[-1])
    if node.op is relu or limit is None or not x.type.dtype.is_float or math.isnan(limit):
        return None
    return make(clamp, x, lo=float(limit)) if node.op is maximum else make(clamp, x, hi=float(limit))


@law(
    clamp,
    relu,
    given=(
        "x: f32[4] -> clamp(clamp(x, lo=0.0), hi=0.5)",
        "x: f32[4] -> relu(relu(x))",
        "x: f32[4] -> clamp(relu(x), hi=0.5)",
        "x: f32[4] -> clamp(x, lo=0.0)",
    ),
)
def join_bounds(node: Node) -> Value | None:
    """`clamp` of `clamp` is one, and `clamp` from 0 to infinity is `relu`."""
    x, (lo, hi) = node.inputs[0], _bounds(node)
    inner = made_by(x, clamp, relu)
    if inner is not None:
        under, over = _bounds(inner)
        return make(clamp, inner.inputs[0], lo=min(max(under, lo), hi), hi=min(max(over, lo), hi))
    if node.op is clamp and (lo, hi) == (-math.inf, math.inf):
        return x
    return make(relu, x) if node.op is clamp and (lo, hi) == (0, math.inf) else None


def _bounds(node: Node) -> tuple[float, float]:
    return (0.0, math.inf) if node.op is relu else (node.attrs["lo"], node.attrs["hi"])


@law(
    cast,
    given=(
        "x: f32[4] -> cast(x, dtype=f32)",
        "x: i32[4] -> cast(cast(x, dtype=i64), dtype=f32)",
        "x: f32[4] -> cast(cast(x, dtype=f64), dtype=f32)",
    ),
)
def needless_cast(node: Node) -> Value | None:
    """A cast to the same element type goes; one through a type that holds every value of the first, too."""
    x, dtype = node.inputs[0], node.attrs["dtype"]
    if x.type.dtype is dtype:
        return x
    if isinstance(x, Number):
        return Number(dtype.numpy.type(x.number).item(), TensorType(dtype, ()))
    inner = made_by(x, cast)
    if inner is None:
        return None
    source, between = inner.inputs[0].type.dtype, x.type.dtype
    holds = between.numpy.kind != "b" and (source.numpy.kind == "b" or _holds(source.numpy, between.numpy))
    return make(cast, inner.inputs[0], dtype=dtype) if holds else None


def _holds(source: object, target: object) -> bool:
    import numpy as np

    return bool(np.can_cast(source, target, "safe"))  # type: ignore[arg-type]


@law(
    *ELEMENTWISE,
    given=(
        "x: f32[4, 8], y: f32[8] -> add(x, expand(y, shape=(4, 8)))",
        "x: f32[8] -> exp(expand(x, shape=(4, 8)))",
    ),
)
def broadcast_itself(node: Node) -> Value | None:
    """An elementwise op repeats its operands by itself, and what is equal along an axis is computed once."""
    nodes = [made_by(i, expand) for i in node.inputs]
    if not any(nodes):
        return None
    small = [i if n is None else n.inputs[0] for i, n in zip(node.inputs, nodes, strict=True)]
    return spread(make(node.op, *small, **node.attrs), node.types[0].shape)


@law(*ELEMENTWISE, given="x: f32[2, 4, 8], y: f32[4, 8] -> add(x, reshape(y, shape=(1, 4, 8)))")
def align_itself(node: Node) -> Value | None:
    """An elementwise op adds leading axes of size 1 by itself."""
    small = [_unled(i) for i in node.inputs]
    if all(a is b for a, b in zip(small, node.inputs, strict=True)):
        return None
    result = make(node.op, *small, **node.attrs)
    return result if result.type == node.types[0] else None


def _unled(value: Value) -> Value:
    node = made_by(value, reshape)
    if node is None:
        return value
    x = node.inputs[0]
    return x if value.type.shape == widened(x.type.shape, value.type.rank) else value


@law(
    where,
    given=(
        "x: f32[4], y: f32[4] -> where(number(True, bool), x, y)",
        "c: bool[4], x: f32[4] -> where(c, x, x)",
        "c: bool[4], x: f32[4], y: f32[4] -> where(not_(c), x, y)",
        "c: bool[4], x: f32[4], y: f32[4] -> where(c, where(c, x, y), y)",
    ),
)
def decided(node: Node) -> Value | None:
    """A choice whose condition is known, or whose sides are equal."""
    condition, yes, no = node.inputs
    known = literal(condition)
    if known is not None:
        return spread(yes if known else no, node.types[0].shape)
    if yes == no:
        return spread(yes, node.types[0].shape)
    inverted = made_by(condition, OPS["not"])
    if inverted is not None:
        return make(where, inverted.inputs[0], no, yes)
    first, second = made_by(yes, where), made_by(no, where)
    if first is not None and first.inputs[0] == condition:
        return spread(make(where, condition, first.inputs[1], no), node.types[0].shape)
    if second is not None and second.inputs[0] == condition:
        return spread(make(where, condition, yes, second.inputs[2]), node.types[0].shape)
    return None


@law(maximum, minimum, given="x: f32[4] -> maximum(x, x)")
def extreme_of_equals(node: Node) -> Value | None:
    return node.inputs[0] if node.inputs[0] == node.inputs[1] else None


@law(abs_, given=("x: f32[4] -> abs(neg(x))", "x: f32[4] -> abs(abs(x))"))
def magnitude(node: Node) -> Value | None:
    """The sign of what `abs` reads says nothing."""
    inner = made_by(node.inputs[0], abs_, neg)
    return None if inner is None else make(abs_, inner.inputs[0])
