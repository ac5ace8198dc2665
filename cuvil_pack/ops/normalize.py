"""Normalizations, each with the smaller ops it is made of."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ir.graph import op
from ..ir.types import TensorType
from .elementwise import add, div, exp, log, mul, rsqrt, sub
from .reduce import Axes, mean, reduce


def _floating(x: TensorType, *rest: TensorType, **attrs: Any) -> TensorType:
    if not x.dtype.is_float:
        raise TypeError(f"{x} is not of floats")
    return x


def _softmax(x: Any, axis: int) -> Any:
    e = exp(sub(x, reduce(x, kind="max", axes=(axis,))))
    return div(e, reduce(e, kind="sum", axes=(axis,)))


@op(_floating, decompose=_softmax, examples=())
def softmax(x: Any, *, axis: int) -> Any:
    """`exp(x)` divided by its sum along `axis`, without overflow."""
    e = np.exp(x - np.max(x, axis, keepdims=True))
    return e / np.sum(e, axis, keepdims=True)


def _log_softmax(x: Any, axis: int) -> Any:
    shifted = sub(x, reduce(x, kind="max", axes=(axis,)))
    return sub(shifted, log(reduce(exp(shifted), kind="sum", axes=(axis,))))


@op(_floating, decompose=_log_softmax)
def log_softmax(x: Any, *, axis: int) -> Any:
    """The logarithm of softmax."""
    shifted = x - np.max(x, axis, keepdims=True)
    return shifted - np.log(np.sum(np.exp(shifted), axis, keepdims=True))


def _layer_norm(x: Any, axes: Axes, eps: float) -> Any:
    centred = sub(x, mean(x, axes))
    return mul(centred, rsqrt(add(mean(mul(centred, centred), axes), eps)))


@op(_floating, decompose=_layer_norm)
def layer_norm(x: Any, *, axes: Axes, eps: float = 1e-5) -> Any:
    """Zero mean and unit variance over `axes` (Ba, Kiros, Hinton 2016); scale and shift are ops of their own."""
    wide = x.astype(np.float64)
    centred = wide - wide.mean(axes, keepdims=True)
    return (centred / np.sqrt((centred**2).mean(axes, keepdims=True) + eps)).astype(x.dtype)


def _rms_norm(x: Any, axes: Axes, eps: float) -> Any:
    return mul(x, rsqrt(add(mean(mul(x, x), axes), eps)))


@op(_floating, decompose=_rms_norm)
def rms_norm(x: Any, *, axes: Axes, eps: float = 1e-6) -> Any:
    """Unit mean square over `axes` (Zhang, Sennrich 2019)."""
    wide = x.astype(np.float64)
    return (wide / np.sqrt((wide**2).mean(axes, keepdims=True) + eps)).astype(x.dtype)
