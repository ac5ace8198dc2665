"""Elementwise arithmetic. One body serves numpy and native code: see `ir.scalar`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..ir import scalar
from ..ir.graph import Op, op
from ..ir.scalar import Scalar, constant
from ..ir.size import Dim
from ..ir.types import DType, TensorType, broadcast_shapes


def elementwise(*examples: str) -> Callable[[Callable[..., Any]], Op]:
    """Declare an op whose body says one element of the result; inputs broadcast as in numpy."""

    def declare(body: Callable[..., Any]) -> Op:
        def infer(*types: TensorType, **attrs: Any) -> TensorType:
            result = body(*(constant(0, t.dtype) for t in types), **attrs)
            return TensorType(result.dtype, broadcast_shapes(*(t.shape for t in types)))

        def element(at: tuple[Dim, ...], *inputs: Any, **attrs: Any) -> Scalar:
            result: Scalar = body(*(x(*aligned(at, x.type)) for x in inputs), **attrs)
            return result

        return op(infer, element=element, elementwise=True, examples=examples)(body)

    return declare


def aligned(at: tuple[Dim, ...], type: TensorType) -> tuple[Dim, ...]:
    """The index that broadcasting reads in an input of this type."""
    tail = at[len(at) - type.rank :]
    return tuple(0 if d == 1 else i for i, d in zip(tail, type.shape, strict=True))


@elementwise(
    "f32[4, 8], f32[8]", "f32[3], f32[3]", "i64[5, 1], i64[1, 4]", "f32[batch, 1, 7], f32[5, 7]", "f16[4, 8], f16[8]"
)
def add(a: Any, b: Any) -> Any:
    return a + b


@elementwise("f32[4, 8], f32[8]", "i32[7], i32[7]")
def sub(a: Any, b: Any) -> Any:
    return a - b


@elementwise("f32[4, 8], f32[4, 1]", "i64[7], i64[7]", "f16[5], f16[5]")
def mul(a: Any, b: Any) -> Any:
    return a * b


@elementwise("f32[4, 8], f32[4, 8]", "f64[5], f64[5]", "f16[4, 8], f16[4, 1]")
def div(a: Any, b: Any) -> Any:
    """The quotient of floats; division by zero gives inf or nan."""
    return a / b


@elementwise("i64[17], i64[17]", "f32[9], f32[9]")
def floordiv(a: Any, b: Any) -> Any:
    """The quotient rounded to minus infinity; 0 where an integer divides by 0."""
    return a // b


@elementwise("i64[17], i64[17]", "f32[9], f32[9]")
def mod(a: Any, b: Any) -> Any:
    """The remainder with the sign of `b`; 0 where an integer divides by 0."""
    return a % b


@elementwise("i64[17], i64[17]", "i32[9], i32[9]")
def truncdiv(a: Any, b: Any) -> Any:
    """The quotient of integers rounded to zero; 0 where `b` is 0."""
    quotient = a // b
    rounded_down = (quotient < 0) & (quotient * b != a) & (b != 0)
    return scalar.where(rounded_down, quotient + 1, quotient)


@elementwise("f32[9], f32[9]", "i64[17], i64[17]")
def fmod(a: Any, b: Any) -> Any:
    """The remainder with the sign of `a`."""
    return scalar.fmod(a, b)


@elementwise("f32[4, 8], f32[8]")
def pow_(a: Any, b: Any) -> Any:
    return a**b


@elementwise("f32[4, 8], f32[8]", "i32[5], i32[5]", "f16[6], f16[6]", "u8[5], u8[5]")
def maximum(a: Any, b: Any) -> Any:
    """The greater; nan where either is nan."""
    return scalar.maximum(a, b)


@elementwise("f32[4, 8], f32[8]", "i32[5], i32[5]")
def minimum(a: Any, b: Any) -> Any:
    """The lesser; nan where either is nan."""
    return scalar.minimum(a, b)


@elementwise("f32[9], f32[9]")
def atan2(a: Any, b: Any) -> Any:
    return scalar.atan2(a, b)


@elementwise("f32[4, 8], f32[8]", "i64[5], i64[5]")
def eq(a: Any, b: Any) -> Any:
    return a == b


@elementwise("f32[4, 8], f32[8]")
def ne(a: Any, b: Any) -> Any:
    return a != b


@elementwise("f32[4, 8], f32[8]", "f16[4], f16[4]", "u8[5], u8[5]")
def lt(a: Any, b: Any) -> Any:
    return a < b


@elementwise("i64[4, 1], i64[8]")
def le(a: Any, b: Any) -> Any:
    return a <= b


@elementwise("f32[4, 8], f32[8]")
def gt(a: Any, b: Any) -> Any:
    return a > b


@elementwise("f32[4, 8], f32[8]")
def ge(a: Any, b: Any) -> Any:
    return a >= b


@elementwise("bool[4, 8], bool[8]", "i32[5], i32[5]")
def and_(a: Any, b: Any) -> Any:
    """Bitwise, and logical for bool."""
    return a & b


@elementwise("bool[4, 8], bool[8]", "i32[5], i32[5]")
def or_(a: Any, b: Any) -> Any:
    return a | b


@elementwise("bool[4, 8], bool[8]", "i32[5], i32[5]")
def xor(a: Any, b: Any) -> Any:
    return a ^ b


@elementwise("i32[5], i32[5]", "u8[7], u8[7]", "i64[5], i64[1]")
def shl(a: Any, b: Any) -> Any:
    """`a` shifted left by `b` bits, `0 <= b <` its width."""
    return a << b


@elementwise("i32[5], i32[5]", "u8[7], u8[7]", "i64[5], i64[1]")
def shr(a: Any, b: Any) -> Any:
    """`a` shifted right by `b` bits, `0 <= b <` its width; the sign is kept."""
    return a >> b


@elementwise("bool[4, 8]", "i32[5]")
def not_(x: Any) -> Any:
    return ~x


@elementwise("bool[4, 8], f32[8], f32[4, 1]", "bool[5], i64[5], i64[()]", "bool[4], f16[4], f16[4]")
def where(condition: Any, yes: Any, no: Any) -> Any:
    return scalar.where(condition, yes, no)


@elementwise("f32[4, 8]", "i32[5]")
def neg(x: Any) -> Any:
    return -x


@elementwise("f32[4, 8]", "i32[5]")
def abs_(x: Any) -> Any:
    return scalar.absolute(x)


@elementwise("f32[4, 8]", "i32[5]")
def sign(x: Any) -> Any:
    """-1, 0 or 1; 0 where `x` is nan."""
    return scalar.where(x > 0, scalar.like(x, 1), scalar.where(x < 0, scalar.like(x, -1), scalar.like(x, 0)))


@elementwise("f32[4, 8]")
def isnan(x: Any) -> Any:
    return scalar.isnan(x)


@elementwise("f32[4, 8]")
def isinf(x: Any) -> Any:
    return scalar.isinf(x)


@elementwise("f32[4, 8]")
def isfinite(x: Any) -> Any:
    return ~(scalar.isnan(x) | scalar.isinf(x))


@elementwise("f32[4, 8], f32[8]")
def copysign(a: Any, b: Any) -> Any:
    """The magnitude of `a` with the sign of `b`."""
    return scalar.copysign(a, b)


def _infer_cast(x: TensorType, *, dtype: DType) -> TensorType:
    return x.with_dtype(dtype)


@op(
    _infer_cast,
    element=lambda at, x, dtype: scalar.cast(x(*at), dtype),
    elementwise=True,
    examples=(
        "f32[4, 8], dtype=i32",
        "i64[batch], dtype=f32",
        "f32[5], dtype=bool",
        "bool[3, 2], dtype=f16",
        "f16[6], dtype=f64",
        "i32[7], dtype=u8",
    ),
)
def cast(x: Any, *, dtype: DType) -> Any:
    """Another element type: towards zero from float to integer, `!= 0` to bool."""
    return scalar.cast(x, dtype)


def _function(name: str) -> Op:
    function = getattr(scalar, name)

    def body(x: Any) -> Any:
        return function(x)

    body.__name__ = name
    return elementwise("f32[4, 8]")(body)


exp, exp2, expm1, log, log2, log10, log1p, sqrt = map(
    _function, ["exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt"]
)
sin, cos, tan, asin, acos, atan = map(_function, ["sin", "cos", "tan", "asin", "acos", "atan"])
sinh, cosh, tanh, asinh, acosh, atanh = map(_function, ["sinh", "cosh", "tanh", "asinh", "acosh", "atanh"])
erf, erfc, floor, ceil, trunc, rint = map(_function, ["erf", "erfc", "floor", "ceil", "trunc", "rint"])


@elementwise("f32[4, 8]")
def rsqrt(x: Any) -> Any:
    return 1.0 / scalar.sqrt(x)


@elementwise("f32[4, 8]")
def reciprocal(x: Any) -> Any:
    return 1.0 / x
