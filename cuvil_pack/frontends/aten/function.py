"""Functions of one tensor, element by element: mathematics and activations."""

from __future__ import annotations

import math

from ...ir.graph import Op, Value
from ...ir.types import DType
from ...ops import activation
from ...ops import elementwise as op
from .operand import call, convert, floating, literal, shaped
from .table import Refused, aten

FLOATING: dict[str, Op] = {
    **{f.name: f for f in (
        op.exp, op.exp2, op.expm1, op.log, op.log2, op.log10, op.log1p, op.sqrt, op.sin, op.cos, op.tan, op.asin,
        op.acos, op.atan, op.sinh, op.cosh, op.tanh, op.asinh, op.acosh, op.atanh, op.erf, op.erfc, op.rsqrt,
        op.reciprocal, activation.sigmoid, activation.silu, activation.mish, activation.hardsigmoid,
        activation.hardswish,
    )},
    "special_erf": op.erf, "special_erfc": op.erfc, "special_expm1": op.expm1, "special_log1p": op.log1p,
    "special_exp2": op.exp2, "arctan": op.atan, "arcsin": op.asin, "arccos": op.acos, "arcsinh": op.asinh,
    "arccosh": op.acosh, "arctanh": op.atanh, "special_expit": activation.sigmoid,
}  # fmt: skip


def _function(name: str, which: Op) -> None:
    @aten(name)
    def apply(x: Value) -> Value:
        return call(which, floating(x))


for _name, _which in FLOATING.items():
    _function(_name, _which)


@aten("neg", "negative")
def neg(x: Value) -> Value:
    return call(op.neg, x)


@aten("abs", "absolute")
def absolute(x: Value) -> Value:
    return x if x.type.dtype in (DType.BOOL, DType.U8) else call(op.abs_, x)


@aten("sign", "sgn")
def sign(x: Value) -> Value:
    return x if x.type.dtype is DType.BOOL else call(op.sign, x)


def _rounding(name: str, which: Op) -> None:
    @aten(name)
    def apply(x: Value) -> Value:
        return call(which, x) if x.type.dtype.is_float else x


for _name, _which in {"floor": op.floor, "ceil": op.ceil, "trunc": op.trunc, "fix": op.trunc}.items():
    _rounding(_name, _which)


@aten("round")
def rounded(x: Value, decimals: int = 0) -> Value:
    if not x.type.dtype.is_float:
        return x
    if decimals == 0:
        return call(op.rint, x)
    scale = literal(10.0**decimals, x.type.dtype)
    return call(op.div, call(op.rint, call(op.mul, x, scale)), scale)


@aten("frac")
def frac(x: Value) -> Value:
    return call(op.sub, x, call(op.trunc, x))


@aten("square")
def square(x: Value) -> Value:
    return call(op.mul, x, x)


@aten("isnan")
def isnan(x: Value) -> Value:
    return call(op.isnan, x) if x.type.dtype.is_float else call(op.ne, x, x)


@aten("isinf")
def isinf(x: Value) -> Value:
    return call(op.isinf, x) if x.type.dtype.is_float else call(op.ne, x, x)


@aten("isfinite")
def isfinite(x: Value) -> Value:
    return call(op.not_, call(op.or_, isnan(x), isinf(x)))


@aten("nan_to_num")
def nan_to_num(x: Value, nan: float | None = None, posinf: float | None = None, neginf: float | None = None) -> Value:
    if not x.type.dtype.is_float:
        return x
    dtype = x.type.dtype
    largest = {DType.F64: 1.7976931348623157e308, DType.F32: 3.4028234663852886e38, DType.F16: 65504.0}[dtype]
    high = literal(largest if posinf is None else posinf, dtype)
    low = literal(-largest if neginf is None else neginf, dtype)
    x = call(op.where, call(op.isnan, x), literal(nan or 0.0, dtype), x)
    x = call(op.where, call(op.eq, x, literal(math.inf, dtype)), high, x)
    return call(op.where, call(op.eq, x, literal(-math.inf, dtype)), low, x)


@aten("relu")
def relu(x: Value) -> Value:
    return call(activation.relu, x)


@aten("relu6")
def relu6(x: Value) -> Value:
    return hardtanh(x, 0.0, 6.0)


@aten("hardtanh")
def hardtanh(x: Value, lo: float = -1.0, hi: float = 1.0) -> Value:
    return call(activation.clamp, x, lo=float(lo), hi=float(hi))


@aten("gelu")
def gelu(x: Value, approximate: str = "none") -> Value:
    return call(activation.gelu_tanh if approximate == "tanh" else activation.gelu, x)


@aten("leaky_relu")
def leaky_relu(x: Value, slope: float = 0.01) -> Value:
    return call(activation.leaky_relu, x, slope=float(slope))


@aten("elu")
def elu(x: Value, alpha: float = 1.0, scale: float = 1.0, input_scale: float = 1.0) -> Value:
    if input_scale != 1:
        raise Refused("an elu whose input is scaled")
    value: Value = activation.elu(x, alpha=float(alpha))
    return value if scale == 1 else call(op.mul, value, literal(scale, x.type.dtype))


@aten("celu")
def celu(x: Value, alpha: float = 1.0) -> Value:
    scaled = call(op.expm1, call(op.mul, x, literal(1.0 / alpha, x.type.dtype)))
    below = call(op.mul, scaled, literal(alpha, x.type.dtype))
    return call(op.where, call(op.gt, x, literal(0, x.type.dtype)), x, below)


@aten("selu")
def selu(x: Value) -> Value:
    return elu(x, 1.6732632423543772, 1.0507009873554805)


@aten("prelu")
def prelu(x: Value, weight: Value) -> Value:
    if weight.type.numel != 1 and x.type.rank > 1:
        weight = shaped(weight, (weight.type.numel, *[1] * (x.type.rank - 2)))
    return call(op.where, call(op.gt, x, literal(0, x.type.dtype)), x, call(op.mul, x, weight))


@aten("softplus")
def softplus(x: Value, beta: float = 1, threshold: float = 20) -> Value:
    if beta == 1:
        return call(activation.softplus, x)
    scaled = call(op.mul, x, literal(beta, x.type.dtype))
    return call(op.div, call(activation.softplus, scaled), literal(beta, x.type.dtype))


@aten("softsign")
def softsign(x: Value) -> Value:
    return call(op.div, x, call(op.add, call(op.abs_, x), literal(1, x.type.dtype)))


@aten("tanhshrink")
def tanhshrink(x: Value) -> Value:
    return call(op.sub, x, call(op.tanh, x))


@aten("hardshrink")
def hardshrink(x: Value, lambd: float = 0.5) -> Value:
    near = call(op.le, call(op.abs_, x), literal(lambd, x.type.dtype))
    return call(op.where, near, literal(0, x.type.dtype), x)


@aten("softshrink")
def softshrink(x: Value, lambd: float = 0.5) -> Value:
    edge = literal(lambd, x.type.dtype)
    inside = call(op.minimum, call(op.maximum, x, literal(-lambd, x.type.dtype)), edge)
    return call(op.sub, x, inside)


@aten("threshold")
def threshold(x: Value, limit: float, value: float) -> Value:
    dtype = x.type.dtype
    return call(op.where, call(op.gt, x, literal(limit, dtype)), x, literal(value, dtype))


@aten("logit")
def logit(x: Value, eps: float | None = None) -> Value:
    if eps is not None:
        x = hardtanh(x, eps, 1 - eps)
    return call(op.log, call(op.div, x, call(op.sub, literal(1, x.type.dtype), x)))


@aten("log_sigmoid", "log_sigmoid_forward")
def log_sigmoid(x: Value) -> Value:
    return call(op.neg, call(activation.softplus, call(op.neg, x)))


@aten("deg2rad")
def deg2rad(x: Value) -> Value:
    x = floating(x)
    return call(op.mul, x, literal(math.pi / 180, x.type.dtype))


@aten("_to_copy", "to")
def to(x: Value, dtype: DType | None = None) -> Value:
    return x if dtype is None else convert(x, dtype)


@aten("clone", "alias", "detach", "lift_fresh", "lift_fresh_copy", "contiguous", "dropout")
def same(x: Value, *_: object) -> Value:
    return x
