"""Activations: elementwise functions that networks put after a layer."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..ir import scalar
from ..ir.graph import op
from ..ir.size import floordiv
from ..ir.types import TensorType
from .elementwise import elementwise, mul
from .view import slice_


@elementwise("f32[4, 8]", "f16[4, 8]", "i32[7]")
def relu(x: Any) -> Any:
    return scalar.maximum(x, 0)


@elementwise("f32[4, 8]", "f32[4, 8], lo=-0.5, hi=0.25", "i64[6], lo=-1, hi=2", "f16[4], hi=0.5")
def clamp(x: Any, *, lo: float = -math.inf, hi: float = math.inf) -> Any:
    """`x` within `[lo, hi]`; nan stays."""
    if lo != -math.inf:
        x = scalar.maximum(x, lo)
    return scalar.minimum(x, hi) if hi != math.inf else x


@elementwise("f32[4, 8]", "f16[4, 8]")
def sigmoid(x: Any) -> Any:
    return 1.0 / (1.0 + scalar.exp(-x))


@elementwise("f32[4, 8]", "f16[4, 8]")
def silu(x: Any) -> Any:
    return x / (1.0 + scalar.exp(-x))


@elementwise("f32[4, 8]", "f16[4, 8]", "f64[batch, 3]")
def gelu(x: Any) -> Any:
    """`x * Phi(x)`, exactly (Hendrycks & Gimpel 2016)."""
    return 0.5 * x * (1.0 + scalar.erf(x * math.sqrt(0.5)))


@elementwise("f32[4, 8]")
def gelu_tanh(x: Any) -> Any:
    """The tanh approximation of gelu (Hendrycks & Gimpel 2016)."""
    return 0.5 * x * (1.0 + scalar.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * (x * x * x))))


@elementwise("f32[4, 8]", "f32[4, 8], slope=0.2")
def leaky_relu(x: Any, *, slope: float = 0.01) -> Any:
    return scalar.where(x > 0, x, x * slope)


@elementwise("f32[4, 8]", "f32[4, 8], alpha=0.5")
def elu(x: Any, *, alpha: float = 1.0) -> Any:
    return scalar.where(x > 0, x, alpha * scalar.expm1(x))


@elementwise("f32[4, 8]")
def hardsigmoid(x: Any) -> Any:
    return scalar.minimum(scalar.maximum(x + 3.0, 0.0), 6.0) * (1.0 / 6.0)


@elementwise("f32[4, 8]")
def hardswish(x: Any) -> Any:
    return x * scalar.minimum(scalar.maximum(x + 3.0, 0.0), 6.0) * (1.0 / 6.0)


@elementwise("f32[4, 8]")
def softplus(x: Any) -> Any:
    """`log(1 + exp(x))`, without overflow."""
    return scalar.maximum(x, 0.0) + scalar.log1p(scalar.exp(-scalar.absolute(x)))


@elementwise("f32[4, 8]")
def mish(x: Any) -> Any:
    return x * scalar.tanh(scalar.maximum(x, 0.0) + scalar.log1p(scalar.exp(-scalar.absolute(x))))


@elementwise("f32[4, 8]")
def selu(x: Any) -> Any:
    """Scaled elu with the two constants of Klambauer et al. 2017."""
    return 1.0507009873554805 * scalar.where(x > 0, x, 1.6732632423543772 * scalar.expm1(x))


@elementwise("f32[4, 8]")
def log_sigmoid(x: Any) -> Any:
    """`log(sigmoid(x))`, without overflow."""
    return scalar.minimum(x, 0.0) - scalar.log1p(scalar.exp(-scalar.absolute(x)))


@elementwise("f32[4, 8]")
def softsign(x: Any) -> Any:
    return x / (1.0 + scalar.absolute(x))


@elementwise("f32[4, 8], f32[8]", "f32[batch, 3, 5], f32[3, 1]")
def prelu(x: Any, slope: Any) -> Any:
    """`x` where positive, else `x * slope` (He et al. 2015)."""
    return scalar.where(x > 0, x, x * slope)


def _infer_glu(x: TensorType, *, axis: int) -> TensorType:
    x.with_axis(axis, 1)
    half = floordiv(x.shape[axis], 2)
    if half * 2 != x.shape[axis]:
        raise TypeError(f"axis {axis} of {x} has no two halves")
    return x.with_axis(axis, half)


def _glu(x: Any, axis: int) -> Any:
    size = x.type.shape[axis]
    half = floordiv(size, 2)
    gate = slice_(x, axis=axis, start=half, stop=size)
    return mul(slice_(x, axis=axis, start=0, stop=half), sigmoid(gate))


@op(_infer_glu, decompose=_glu, examples=("f32[4, 8], axis=1", "f32[batch, 6, 3], axis=1", "f32[4*seq, 3], axis=0"))
def glu(x: Any, *, axis: int) -> Any:
    """The first half of an axis times the sigmoid of the second (Dauphin et al. 2017)."""
    value, gate = np.split(x, 2, axis)
    return (value * sigmoid(gate)).astype(x.dtype)
