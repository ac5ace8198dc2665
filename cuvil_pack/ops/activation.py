"""Activations: elementwise functions that networks put after a layer."""

from __future__ import annotations

import math
from typing import Any

from ..ir import scalar
from .elementwise import elementwise


@elementwise("f32[4, 8]")
def relu(x: Any) -> Any:
    return scalar.maximum(x, 0)


@elementwise("f32[4, 8]")
def clamp(x: Any, *, lo: float = -math.inf, hi: float = math.inf) -> Any:
    """`x` within `[lo, hi]`; nan stays."""
    if lo != -math.inf:
        x = scalar.maximum(x, lo)
    return scalar.minimum(x, hi) if hi != math.inf else x


@elementwise("f32[4, 8]")
def sigmoid(x: Any) -> Any:
    return 1.0 / (1.0 + scalar.exp(-x))


@elementwise("f32[4, 8]")
def silu(x: Any) -> Any:
    return x / (1.0 + scalar.exp(-x))


@elementwise("f32[4, 8]")
def gelu(x: Any) -> Any:
    """`x * Phi(x)`, exactly (Hendrycks & Gimpel 2016)."""
    return 0.5 * x * (1.0 + scalar.erf(x * math.sqrt(0.5)))


@elementwise("f32[4, 8]")
def gelu_tanh(x: Any) -> Any:
    """The tanh approximation of gelu (Hendrycks & Gimpel 2016)."""
    return 0.5 * x * (1.0 + scalar.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * (x * x * x))))


@elementwise("f32[4, 8]")
def leaky_relu(x: Any, *, slope: float = 0.01) -> Any:
    return scalar.where(x > 0, x, x * slope)


@elementwise("f32[4, 8]")
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
