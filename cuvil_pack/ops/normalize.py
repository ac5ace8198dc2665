"""Normalizations, each with the smaller ops it is made of."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ir.graph import op
from ..ir.size import floordiv
from ..ir.types import TensorType
from .elementwise import add, div, exp, log, mul, rsqrt, sub
from .reduce import Axes, mean, reduce
from .view import reshape


def _floating(x: TensorType, *rest: TensorType, **attrs: Any) -> TensorType:
    if not x.dtype.is_float:
        raise TypeError(f"{x} is not of floats")
    return x


def _softmax(x: Any, axis: int) -> Any:
    e = exp(sub(x, reduce(x, kind="max", axes=(axis,))))
    return div(e, reduce(e, kind="sum", axes=(axis,)))


@op(
    _floating,
    decompose=_softmax,
    examples=("f32[4, 8], axis=1", "f32[batch, 3, seq], axis=2", "f64[5, 6], axis=0", "f16[3, 7], axis=1"),
)
def softmax(x: Any, *, axis: int) -> Any:
    """`exp(x)` divided by its sum along `axis`, without overflow."""
    e = np.exp(x - np.max(x, axis, keepdims=True))
    return e / np.sum(e, axis, keepdims=True)


def _log_softmax(x: Any, axis: int) -> Any:
    shifted = sub(x, reduce(x, kind="max", axes=(axis,)))
    return sub(shifted, log(reduce(exp(shifted), kind="sum", axes=(axis,))))


@op(_floating, decompose=_log_softmax, examples=("f32[4, 8], axis=1", "f32[batch, 3, 2], axis=0"))
def log_softmax(x: Any, *, axis: int) -> Any:
    """The logarithm of softmax."""
    shifted = x - np.max(x, axis, keepdims=True)
    return shifted - np.log(np.sum(np.exp(shifted), axis, keepdims=True))


def _layer_norm(x: Any, axes: Axes, eps: float) -> Any:
    centred = sub(x, mean(x, axes))
    return mul(centred, rsqrt(add(mean(mul(centred, centred), axes), eps)))


@op(
    _floating,
    decompose=_layer_norm,
    examples=("f32[4, 8], axes=(1,)", "f32[batch, 3, 4, 5], axes=(2, 3), eps=0.01", "f32[n, n, 4], axes=(0, 1)"),
)
def layer_norm(x: Any, *, axes: Axes, eps: float = 1e-5) -> Any:
    """Zero mean and unit variance over `axes` (Ba, Kiros, Hinton 2016); scale and shift are ops of their own."""
    wide = x.astype(np.float64)
    centred = wide - wide.mean(axes, keepdims=True)
    return (centred / np.sqrt((centred**2).mean(axes, keepdims=True) + eps)).astype(x.dtype)


def _rms_norm(x: Any, axes: Axes, eps: float) -> Any:
    return mul(x, rsqrt(add(mean(mul(x, x), axes), eps)))


@op(_floating, decompose=_rms_norm, examples=("f32[4, 8], axes=(1,)", "f32[batch, seq, 6], axes=(2,)"))
def rms_norm(x: Any, *, axes: Axes, eps: float = 1e-6) -> Any:
    """Unit mean square over `axes` (Zhang, Sennrich 2019)."""
    wide = x.astype(np.float64)
    return (wide / np.sqrt((wide**2).mean(axes, keepdims=True) + eps)).astype(x.dtype)


def _infer_group_norm(x: TensorType, *, axis: int, groups: int, eps: float = 1e-5) -> TensorType:
    x.with_axis(axis, 1)
    channels = x.shape[axis]
    if floordiv(channels, groups) * groups != channels:
        raise TypeError(f"{channels} channels of {x} do not split into {groups} groups")
    return _floating(x)


def _group_norm(x: Any, axis: int, groups: int, eps: float) -> Any:
    shape = x.type.shape
    split = (*shape[:axis], groups, floordiv(shape[axis], groups), *shape[axis + 1 :])
    axes = tuple(a for a in range(1, len(split)) if a != axis)
    return reshape(layer_norm(reshape(x, shape=split), axes=axes, eps=eps), shape=shape)


@op(
    _infer_group_norm,
    decompose=_group_norm,
    examples=(
        "f32[2, 5, 3, 8], axis=3, groups=4",
        "f32[batch, 6, 7], axis=1, groups=3",
        "f32[2, 4, 4], axis=2, groups=4, eps=0.1",
    ),
)
def group_norm(x: Any, *, axis: int, groups: int, eps: float = 1e-5) -> Any:
    """Zero mean and unit variance of the groups of channels of each sample (Wu, He 2018).

    Channels lie along `axis`, samples along axis 0. As many groups as channels is instance normalization. Scale and
    shift are ops of their own.
    """
    split = x.reshape(*x.shape[:axis], groups, -1, *x.shape[axis + 1 :])
    axes = tuple(a for a in range(1, split.ndim) if a != axis)
    return layer_norm(split, axes=axes, eps=eps).reshape(x.shape)


def _infer_batch_norm(
    x: TensorType,
    scale: TensorType,
    shift: TensorType,
    mean: TensorType,
    variance: TensorType,
    *,
    axis: int,
    eps: float,
) -> TensorType:
    x.with_axis(axis, 1)
    for t in (scale, shift, mean, variance):
        if t.shape not in ((), (x.shape[axis],)):
            raise TypeError(f"{t} does not hold a number for each of the {x.shape[axis]} channels of {x}")
    return _floating(x)


def _along(channels: Any, axis: int, rank: int) -> Any:
    """`[channels]` as a tensor that broadcasts along `axis` of another."""
    if channels.type.rank == 0 or axis == rank - 1:
        return channels
    return reshape(channels, shape=(channels.type.shape[0], *(1,) * (rank - 1 - axis)))


def _batch_norm(x: Any, scale: Any, shift: Any, mean: Any, variance: Any, axis: int, eps: float) -> Any:
    factor = mul(scale, rsqrt(add(variance, eps)))
    offset = sub(shift, mul(mean, factor))
    rank = x.type.rank
    return add(mul(x, _along(factor, axis, rank)), _along(offset, axis, rank))


@op(
    _infer_batch_norm,
    decompose=_batch_norm,
    examples=(
        "f32[2, 5, 4], f32[4], f32[4], f32[4], f32[4], axis=2, eps=1e-5",
        "f32[batch, 3, 6, 5], f32[3], f32[3], f32[3], f32[3], axis=1, eps=0.001",
        "f32[2, 4], f32[()], f32[()], f32[4], f32[4], axis=1, eps=1e-5",
    ),
)
def batch_norm(x: Any, scale: Any, shift: Any, mean: Any, variance: Any, *, axis: int, eps: float = 1e-5) -> Any:
    """`(x - mean) / sqrt(variance + eps) * scale + shift`, a number each a channel or for all (Ioffe, Szegedy 2015)."""
    wide = [np.asarray(t, np.float64) for t in (scale, shift, mean, variance)]
    rank = (1,) * (x.ndim - 1 - axis)
    scale, shift, mean, variance = (t.reshape(-1, *rank) if t.ndim else t for t in wide)
    return ((x - mean) / np.sqrt(variance + eps) * scale + shift).astype(x.dtype)
