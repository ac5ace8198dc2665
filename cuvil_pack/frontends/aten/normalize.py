"""Normalizations."""

from __future__ import annotations

from collections.abc import Sequence

from ...ir.graph import Value
from ...ir.size import Dim
from ...ops import elementwise as op
from ...ops import normalize as norms
from ...ops import reduce as reductions
from .arithmetic import add, mul, sub
from .operand import call, literal, shaped
from .table import aten


@aten("layer_norm")
def layer_norm(
    x: Value,
    shape: Sequence[Dim],
    weight: Value | None = None,
    bias: Value | None = None,
    eps: float = 1e-5,
    cudnn: bool = True,
) -> Value:
    value: Value = norms.layer_norm(x, axes=_last(x, len(shape)), eps=float(eps))
    return affine(value, weight, bias)


@aten("native_layer_norm")
def native_layer_norm(
    x: Value, shape: Sequence[Dim], weight: Value | None, bias: Value | None, eps: float
) -> tuple[Value]:
    return (layer_norm(x, shape, weight, bias, eps),)


@aten("rms_norm", "_fused_rms_norm")
def rms_norm(x: Value, shape: Sequence[Dim], weight: Value | None = None, eps: float | None = None) -> Value:
    tiny = {"f64": 2.220446049250313e-16, "f32": 1.1920928955078125e-07, "f16": 0.0009765625}[x.type.dtype.value]
    value: Value = norms.rms_norm(x, axes=_last(x, len(shape)), eps=tiny if eps is None else float(eps))
    return affine(value, weight, None)


def _last(x: Value, count: int) -> tuple[int, ...]:
    return tuple(range(x.type.rank - count, x.type.rank))


def affine(x: Value, weight: Value | None, bias: Value | None) -> Value:
    x = x if weight is None else mul(x, weight)
    return x if bias is None else add(x, bias)


def _along_channels(x: Value, rank: int) -> Value:
    """`[channels]` as it broadcasts to `[batch, channels, *places]`."""
    return shaped(x, (x.type.shape[0], *[1] * (rank - 2)))


@aten("batch_norm", "cudnn_batch_norm", "miopen_batch_norm")
def batch_norm(
    x: Value,
    weight: Value | None,
    bias: Value | None,
    mean: Value | None,
    var: Value | None,
    training: bool,
    momentum: float,
    eps: float,
    cudnn: bool = True,
) -> Value:
    if training or mean is None or var is None:
        return _batch_statistics(x, weight, bias, eps)
    scale: Value = op.rsqrt(add(var, eps))
    scale = scale if weight is None else mul(scale, weight)
    shift = op.neg(mul(mean, scale))
    shift = shift if bias is None else add(shift, bias)
    rank = x.type.rank
    return add(mul(x, _along_channels(scale, rank)), _along_channels(shift, rank))


@aten("_native_batch_norm_legit_no_training")
def native_batch_norm(
    x: Value, weight: Value | None, bias: Value | None, mean: Value, var: Value, momentum: float, eps: float
) -> tuple[Value]:
    return (batch_norm(x, weight, bias, mean, var, False, momentum, eps),)


@aten("_native_batch_norm_legit.no_stats")
def native_batch_statistics(
    x: Value, weight: Value | None, bias: Value | None, training: bool, momentum: float, eps: float
) -> tuple[Value]:
    return (_batch_statistics(x, weight, bias, eps),)


def _batch_statistics(x: Value, weight: Value | None, bias: Value | None, eps: float) -> Value:
    axes = (0, *range(2, x.type.rank))
    away = sub(x, reductions.mean(x, axes))
    spread = reductions.mean(mul(away, away), axes)
    value = mul(away, op.rsqrt(add(spread, eps)))
    rank = x.type.rank
    return affine(
        value,
        None if weight is None else _along_channels(weight, rank),
        None if bias is None else _along_channels(bias, rank),
    )


@aten("group_norm")
def group_norm(
    x: Value, groups: int, weight: Value | None = None, bias: Value | None = None, eps: float = 1e-5, cudnn: bool = True
) -> Value:
    value = call(norms.group_norm, x, axis=1, groups=groups, eps=float(eps))
    rank = x.type.rank
    return affine(
        value,
        None if weight is None else _along_channels(weight, rank),
        None if bias is None else _along_channels(bias, rank),
    )


@aten("native_group_norm")
def native_group_norm(
    x: Value,
    weight: Value | None,
    bias: Value | None,
    batch: Dim,
    channels: Dim,
    places: Dim,
    groups: int,
    eps: float,
) -> tuple[Value]:
    return (group_norm(x, groups, weight, bias, eps),)


@aten("instance_norm")
def instance_norm(
    x: Value,
    weight: Value | None,
    bias: Value | None,
    mean: Value | None,
    var: Value | None,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn: bool = True,
) -> Value:
    if not use_input_stats:
        return batch_norm(x, weight, bias, mean, var, False, momentum, eps)
    channels = x.type.shape[1]
    if not isinstance(channels, int):
        raise TypeError(f"{x.type}: the number of channels must be known")
    return group_norm(x, channels, weight, bias, eps)


@aten("local_response_norm")
def local_response_norm(x: Value, length: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Value:
    from .view import constant_pad, slice_

    pads = [0, 0] * (x.type.rank - 2) + [length // 2, (length - 1) // 2]
    squares = constant_pad(mul(x, x), pads)
    channels = x.type.shape[1]
    total = slice_(squares, 1, 0, channels)
    for n in range(1, length):
        total = add(total, slice_(squares, 1, n, channels + n))
    base = add(mul(total, alpha / length), k)
    return call(op.div, x, op.pow_(base, literal(beta, x.type.dtype)))
