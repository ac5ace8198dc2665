"""Arithmetic, comparisons and bits: two operands, brought to one element type."""

from __future__ import annotations

import math

from ...ir.graph import Number, Op, Value
from ...ir.types import DType
from ...ops import elementwise as op
from ...ops.activation import clamp as bounded
from .operand import DEFAULT_FLOAT, Operand, call, convert, literal, promote, spread, tensor, together
from .table import Refused, aten


@aten("add")
def add(a: Operand, b: Operand, alpha: float = 1) -> Value:
    x, y = together(a, _scaled(b, alpha))
    return _or(x, y) if x.type.dtype is DType.BOOL else call(op.add, x, y)


@aten("sub", "subtract")
def sub(a: Operand, b: Operand, alpha: float = 1) -> Value:
    return call(op.sub, *together(a, _scaled(b, alpha)))


@aten("rsub")
def rsub(a: Operand, b: Operand, alpha: float = 1) -> Value:
    return sub(b, a, alpha)


def _scaled(x: Operand, alpha: float) -> Operand:
    if alpha == 1:
        return x
    return x * alpha if isinstance(x, int | float) else mul(x, alpha)


@aten("mul", "multiply")
def mul(a: Operand, b: Operand) -> Value:
    x, y = together(a, b)
    return _and(x, y) if x.type.dtype is DType.BOOL else call(op.mul, x, y)


@aten("div", "divide", "true_divide")
def div(a: Operand, b: Operand, rounding_mode: str | None = None) -> Value:
    if rounding_mode == "floor":
        return floor_divide(a, b)
    dtype = promote(a, b)
    wide = dtype if dtype.is_float else DEFAULT_FLOAT
    if rounding_mode is None:
        return call(op.div, tensor(a, wide), tensor(b, wide))
    if dtype.is_float:
        return call(op.trunc, div(a, b))
    return _truncated(tensor(a, dtype), tensor(b, dtype))


def _truncated(a: Value, b: Value) -> Value:
    """The quotient of integers rounded towards zero."""
    down = call(op.floordiv, a, b)
    inexact = call(op.ne, call(op.mul, down, b), a)
    negative = call(op.lt, down, literal(0, a.type.dtype))
    up = call(op.add, down, literal(1, a.type.dtype))
    return call(op.where, _and(inexact, negative), up, down)


@aten("floor_divide")
def floor_divide(a: Operand, b: Operand) -> Value:
    return call(op.floordiv, *together(a, b))


@aten("remainder")
def remainder(a: Operand, b: Operand) -> Value:
    return call(op.mod, *together(a, b))


@aten("fmod")
def fmod(a: Operand, b: Operand) -> Value:
    x, y = together(a, b)
    if x.type.dtype.is_float:
        return call(op.fmod, x, y)
    return call(op.sub, x, call(op.mul, _truncated(x, y), y))


@aten("pow")
def power(a: Operand, b: Operand) -> Value:
    exponent = b.number if isinstance(b, Number) else b
    if isinstance(a, Value) and isinstance(exponent, int | float) and (simple := _simple_power(a, exponent)):
        return simple
    return call(op.pow_, *together(a, b))


def _simple_power(x: Value, exponent: float) -> Value | None:
    """A power that needs no logarithm."""
    x = convert(x, promote(x, exponent))
    if exponent == 1:
        return x
    if exponent == 2:
        return call(op.mul, x, x)
    if exponent == 3:
        return call(op.mul, call(op.mul, x, x), x)
    if not x.type.dtype.is_float:
        return None
    roots = {0.5: op.sqrt, -0.5: op.rsqrt, -1: op.reciprocal}
    return call(roots[exponent], x) if exponent in roots else None


@aten("maximum")
def maximum(a: Operand, b: Operand) -> Value:
    x, y = together(a, b)
    return _or(x, y) if x.type.dtype is DType.BOOL else call(op.maximum, x, y)


@aten("minimum")
def minimum(a: Operand, b: Operand) -> Value:
    x, y = together(a, b)
    return _and(x, y) if x.type.dtype is DType.BOOL else call(op.minimum, x, y)


@aten("fmax")
def fmax(a: Operand, b: Operand) -> Value:
    x, y = together(a, b)
    return _ignoring_nan(x, y, maximum(x, y))


@aten("fmin")
def fmin(a: Operand, b: Operand) -> Value:
    x, y = together(a, b)
    return _ignoring_nan(x, y, minimum(x, y))


def _ignoring_nan(x: Value, y: Value, chosen: Value) -> Value:
    if not x.type.dtype.is_float:
        return chosen
    return call(op.where, call(op.isnan, x), y, call(op.where, call(op.isnan, y), x, chosen))


@aten("atan2", "arctan2")
def atan2(a: Operand, b: Operand) -> Value:
    dtype = promote(a, b)
    wide = dtype if dtype.is_float else DEFAULT_FLOAT
    return call(op.atan2, tensor(a, wide), tensor(b, wide))


@aten("hypot")
def hypot(a: Operand, b: Operand) -> Value:
    x, y = together(a, b)
    return call(op.sqrt, call(op.add, call(op.mul, x, x), call(op.mul, y, y)))


@aten("lerp")
def lerp(start: Value, end: Value, weight: Operand) -> Value:
    return add(start, mul(sub(end, start), weight))


@aten("addcmul")
def addcmul(x: Value, a: Value, b: Value, value: float = 1) -> Value:
    return add(x, _weighed(mul(a, b), value))


@aten("addcdiv")
def addcdiv(x: Value, a: Value, b: Value, value: float = 1) -> Value:
    return add(x, _weighed(div(a, b), value))


def _weighed(x: Value, factor: float) -> Value:
    return x if factor == 1 else mul(x, factor)


def _comparison(which: Op) -> None:
    @aten(which.name)
    def compare(a: Operand, b: Operand) -> Value:
        x, y = together(a, b)
        if x.type.dtype is DType.BOOL:
            x, y = convert(x, DType.U8), convert(y, DType.U8)
        return call(which, x, y)


for _which in (op.eq, op.ne, op.lt, op.le, op.gt, op.ge):
    _comparison(_which)


@aten("bitwise_and", "__and__")
def bitwise_and(a: Operand, b: Operand) -> Value:
    return _and(*together(a, b))


@aten("bitwise_or", "__or__")
def bitwise_or(a: Operand, b: Operand) -> Value:
    return _or(*together(a, b))


@aten("bitwise_xor", "__xor__")
def bitwise_xor(a: Operand, b: Operand) -> Value:
    return call(op.xor, *together(a, b))


@aten("bitwise_left_shift", "__lshift__")
def left_shift(a: Operand, b: Operand) -> Value:
    x, y = together(a, b)
    return call(op.mul, x, _power_of_two(y))


@aten("bitwise_right_shift", "__rshift__")
def right_shift(a: Operand, b: Operand) -> Value:
    x, y = together(a, b)
    return call(op.floordiv, x, _power_of_two(y))


def _power_of_two(exponent: Value) -> Value:
    if not isinstance(exponent, Number):
        raise Refused("a shift by a tensor")
    return literal(1 << int(exponent.number), exponent.type.dtype)


@aten("bitwise_not")
def bitwise_not(x: Value) -> Value:
    return call(op.not_, x)


@aten("logical_not")
def logical_not(x: Value) -> Value:
    return call(op.not_, convert(x, DType.BOOL))


@aten("logical_and")
def logical_and(a: Value, b: Value) -> Value:
    return _and(convert(a, DType.BOOL), convert(b, DType.BOOL))


@aten("logical_or")
def logical_or(a: Value, b: Value) -> Value:
    return _or(convert(a, DType.BOOL), convert(b, DType.BOOL))


@aten("logical_xor")
def logical_xor(a: Value, b: Value) -> Value:
    return call(op.xor, convert(a, DType.BOOL), convert(b, DType.BOOL))


@aten("where")
def where(condition: Value, yes: Operand, no: Operand) -> Value:
    return call(op.where, convert(condition, DType.BOOL), *together(yes, no))


@aten("masked_fill")
def masked_fill(x: Value, mask: Value, value: Operand) -> Value:
    filled = call(op.where, mask, tensor(value, x.type.dtype), x)
    return filled if filled.type.shape == x.type.shape else spread(filled, x.type.shape)


@aten("clamp", "clip")
def clamp(x: Value, lo: Operand | None = None, hi: Operand | None = None) -> Value:
    given = [v for v in (lo, hi) if v is not None]
    dtype = promote(x, *given)
    x = convert(x, dtype)
    low, high = (-math.inf if lo is None else lo), (math.inf if hi is None else hi)
    if dtype.is_float and isinstance(low, int | float) and isinstance(high, int | float):
        return call(bounded, x, lo=float(low), hi=float(high))
    if lo is not None:
        x = call(op.maximum, x, tensor(lo, dtype))
    return x if hi is None else call(op.minimum, x, tensor(hi, dtype))


@aten("clamp_min")
def clamp_min(x: Value, lo: Operand) -> Value:
    return clamp(x, lo=lo)


@aten("clamp_max")
def clamp_max(x: Value, hi: Operand) -> Value:
    return clamp(x, hi=hi)


def _and(x: Value, y: Value) -> Value:
    return call(op.and_, x, y)


def _or(x: Value, y: Value) -> Value:
    return call(op.or_, x, y)
