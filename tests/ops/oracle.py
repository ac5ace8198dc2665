"""What torch computes for each op: an oracle that shares nothing with the declarations."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F

TORCH = {
    "f64": torch.float64, "f32": torch.float32, "f16": torch.float16, "i64": torch.int64, "i32": torch.int32,
    "i16": torch.int16, "i8": torch.int8, "u8": torch.uint8, "bool": torch.bool,
}  # fmt: skip
ORACLES: dict[str, Callable[..., Any]] = {}
SAME_NAME = [
    "add", "sub", "mul", "div", "fmod", "pow", "maximum", "minimum", "atan2", "eq", "ne", "lt", "le", "gt", "ge",
    "where", "neg", "abs", "sign", "isnan", "isinf", "isfinite", "copysign", "exp", "exp2", "expm1", "log", "log2",
    "log10", "log1p", "sqrt", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh",
    "atanh", "erf", "erfc", "floor", "ceil", "trunc", "rsqrt", "reciprocal", "relu", "sigmoid", "matmul",
]  # fmt: skip
RENAMED = {
    "mod": torch.remainder, "and": torch.bitwise_and, "or": torch.bitwise_or, "xor": torch.bitwise_xor,
    "not": torch.bitwise_not, "shl": torch.bitwise_left_shift, "shr": torch.bitwise_right_shift, "rint": torch.round,
    "floordiv": torch.floor_divide, "silu": F.silu, "gelu": F.gelu, "hardsigmoid": F.hardsigmoid,
    "hardswish": F.hardswish, "softplus": F.softplus, "mish": F.mish, "selu": F.selu, "log_sigmoid": F.logsigmoid,
    "softsign": F.softsign,
}  # fmt: skip
ORACLES |= {name: getattr(torch, name) for name in SAME_NAME} | RENAMED


def oracle(function: Callable[..., Any]) -> Callable[..., Any]:
    ORACLES[function.__name__.rstrip("_")] = function
    return function


def channels_first(x: Any) -> Any:
    return x.movedim(-1, 1)


def channels_last(x: Any) -> Any:
    return x.movedim(1, -1)


def by_rank(name: str, x: Any) -> Any:
    """`name` is `conv{n}d`, `max_pool{n}d`, ...: the one for the spatial rank of `x`."""
    return getattr(F, name.format(n=x.ndim - 2))


def kept_dims(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of one axis, applied to several; all of them stay with size 1."""

    def call(x: Any, axes: tuple[int, ...]) -> Any:
        for a in axes:
            x = function(x, dim=a, keepdim=True)
        return x

    return call


@oracle
def truncdiv(a: Any, b: Any) -> Any:
    return torch.div(a, b, rounding_mode="trunc")


@oracle
def cast(x: Any, dtype: Any) -> Any:
    return x.to(TORCH[dtype.value])


@oracle
def clamp(x: Any, lo: float, hi: float) -> Any:
    return torch.clamp(x, lo, hi)


@oracle
def gelu_tanh(x: Any) -> Any:
    return F.gelu(x, approximate="tanh")


@oracle
def leaky_relu(x: Any, slope: float) -> Any:
    return F.leaky_relu(x, slope)


@oracle
def elu(x: Any, alpha: float) -> Any:
    return F.elu(x, alpha)


@oracle
def prelu(x: Any, slope: Any) -> Any:
    return torch.where(x > 0, x, x * slope)


@oracle
def glu(x: Any, axis: int) -> Any:
    return F.glu(x, axis)


@oracle
def attention(q: Any, k: Any, v: Any, *mask: Any, scale: float, causal: bool) -> Any:
    return F.scaled_dot_product_attention(
        q, k, v, attn_mask=mask[0] if mask else None, is_causal=causal, scale=scale, enable_gqa=True
    )


@oracle
def conv(x: Any, w: Any, stride: Any, pads: Any, dilation: Any, groups: int) -> Any:
    around = [n for pair in reversed(pads) for n in pair]
    filters = w.movedim(-1, 0).movedim(-1, 1)
    padded = F.pad(channels_first(x), around)
    return channels_last(by_rank("conv{n}d", x)(padded, filters, None, stride, 0, dilation, groups))


@oracle
def conv_transpose(x: Any, w: Any, stride: Any, pads: Any, dilation: Any, groups: int) -> Any:
    filters = w.movedim(-2, 0).movedim(-1, 1)
    before = tuple(lo for lo, _ in pads)
    whole = by_rank("conv_transpose{n}d", x)(channels_first(x), filters, None, stride, 0, 0, groups, dilation)
    whole = F.pad(whole, [n for pair in reversed(pads) for n in (0, max(0, -pair[1]))])
    for axis, (lo, (_, hi)) in enumerate(zip(before, pads, strict=True), 2):
        whole = whole.narrow(axis, lo, whole.shape[axis] - lo - max(hi, 0))
    return channels_last(whole)


@oracle
def unfold(x: Any, window: Any, stride: Any, pads: Any, dilation: Any) -> Any:
    x = F.pad(channels_first(x), [n for pair in reversed(pads) for n in pair])
    for axis, (taps, step, gap) in enumerate(zip(window, stride, dilation, strict=True), 2):
        x = x.unfold(axis, gap * (taps - 1) + 1, step)[..., ::gap]
    return channels_last(x)


@oracle
def fold(x: Any, shape: Any, stride: Any, pads: Any, dilation: Any) -> Any:
    rank = len(shape)
    wide = [n + lo + hi for n, (lo, hi) in zip(shape, pads, strict=True)] + [1] * (2 - rank)
    taps = [*x.shape[1 + rank : 1 + 2 * rank], *(1,) * (2 - rank)]
    one = (1,) * (2 - rank)
    columns = channels_first(x).flatten(2, 1 + rank).movedim(2, -1).flatten(1, -2)
    out = F.fold(columns, wide, taps, dilation=(*dilation, *one), stride=(*stride, *one))
    for axis, (n, (lo, _)) in enumerate(zip(shape, pads, strict=True), 2):
        out = out.narrow(axis, lo, n)
    return channels_last(out if rank == 2 else out[..., 0])


@oracle
def pool(x: Any, kind: str, window: Any, stride: Any, pads: Any, dilation: Any, count_pads: bool) -> Any:
    around = [n for pair in reversed(pads) for n in pair]
    x = channels_first(x)
    if kind == "max":
        return channels_last(by_rank("max_pool{n}d", x)(F.pad(x, around, value=-math.inf), window, stride, 0, dilation))
    mean = by_rank("avg_pool{n}d", x)
    whole = mean(F.pad(x, around), window, stride)
    if not count_pads:
        whole = whole / mean(F.pad(torch.ones_like(x), around), window, stride)
    return channels_last(whole)


@oracle
def adaptive_pool(x: Any, kind: str, shape: Any) -> Any:
    name = "adaptive_max_pool{n}d" if kind == "max" else "adaptive_avg_pool{n}d"
    return channels_last(by_rank(name, x)(channels_first(x), shape))


@oracle
def resize(x: Any, shape: Any, mode: str, align_corners: bool, scales: Any) -> Any:
    linear = {1: "linear", 2: "bilinear", 3: "trilinear"}[x.ndim - 2]
    mode = {"nearest": "nearest", "nearest_exact": "nearest-exact", "linear": linear, "cubic": "bicubic"}[mode]
    corners = None if mode.startswith("nearest") else align_corners
    how: dict[str, Any] = {"scale_factor": scales} if scales else {"size": shape}
    return channels_last(F.interpolate(channels_first(x), mode=mode, align_corners=corners, **how))


@oracle
def grid_sample(x: Any, grid: Any, mode: str, padding: str, align_corners: bool) -> Any:
    mode = "bilinear" if mode == "linear" else mode
    return channels_last(F.grid_sample(channels_first(x), grid, mode, padding, align_corners))


@oracle
def softmax(x: Any, axis: int) -> Any:
    return torch.softmax(x, axis)


@oracle
def log_softmax(x: Any, axis: int) -> Any:
    return torch.log_softmax(x, axis)


@oracle
def layer_norm(x: Any, axes: Any, eps: float) -> Any:
    return (x - x.mean(axes, True)) / torch.sqrt(x.var(axes, correction=0, keepdim=True) + eps)


@oracle
def rms_norm(x: Any, axes: Any, eps: float) -> Any:
    return F.rms_norm(x, [x.shape[a] for a in axes], eps=eps)


@oracle
def group_norm(x: Any, axis: int, groups: int, eps: float) -> Any:
    return F.group_norm(x.movedim(axis, 1), groups, eps=eps).movedim(1, axis)


@oracle
def batch_norm(x: Any, scale: Any, shift: Any, mean: Any, variance: Any, axis: int, eps: float) -> Any:
    channels = x.shape[axis]
    scale, shift = (t.expand(channels) for t in (scale, shift))
    return F.batch_norm(x.movedim(axis, 1), mean, variance, scale, shift, False, 0.1, eps).movedim(1, axis)


@oracle
def reduce(x: Any, kind: str, axes: Any) -> Any:
    if not axes:
        return x
    if kind in ("sum", "any", "all"):
        return getattr(torch, kind)(x, dim=axes, keepdim=True).to(x.dtype)
    return kept_dims(torch.prod)(x, axes) if kind == "prod" else getattr(torch, f"a{kind}")(x, axes, True)


@oracle
def argreduce(x: Any, kind: str, axis: int) -> Any:
    return (torch.argmax if kind == "max" else torch.argmin)(x, axis, keepdim=True)


@oracle
def cumulative(x: Any, kind: str, axis: int) -> Any:
    out = getattr(torch, f"cum{kind}")(x, axis)
    return out if kind in ("sum", "prod") else out.values


@oracle
def variance(x: Any, axes: Any, correction: float) -> Any:
    return torch.var(x, axes, correction=correction, keepdim=True)


@oracle
def standard_deviation(x: Any, axes: Any, correction: float) -> Any:
    return torch.std(x, axes, correction=correction, keepdim=True)


@oracle
def logsumexp(x: Any, axes: Any) -> Any:
    return torch.logsumexp(x, axes, keepdim=True)


@oracle
def norm(x: Any, axes: Any, order: float) -> Any:
    return torch.linalg.vector_norm(x, order, axes, keepdim=True)


@oracle
def gather(x: Any, indices: Any, axis: int) -> Any:
    return x[(slice(None),) * axis + (indices.long(),)]


@oracle
def take_along(x: Any, indices: Any, axis: int) -> Any:
    return torch.gather(x, axis, indices.long())


@oracle
def iota(shape: Any, axis: int, dtype: Any) -> Any:
    line = torch.arange(shape[axis]).reshape([-1 if n == axis else 1 for n in range(len(shape))])
    return line.expand(shape).to(TORCH[dtype.value])


@oracle
def size(dim: int) -> Any:
    return torch.tensor(dim)


@oracle
def full(shape: Any, value: Any, dtype: Any) -> Any:
    return torch.full(shape, value, dtype=TORCH[dtype.value])


@oracle
def one_hot(indices: Any, depth: int, dtype: Any) -> Any:
    inside = (indices >= 0) & (indices < depth)
    return (F.one_hot(indices.long() * inside, depth) * inside[..., None]).to(TORCH[dtype.value])


@oracle
def tri(x: Any, upper: bool, diagonal: int) -> Any:
    return (torch.triu if upper else torch.tril)(x, diagonal)


@oracle
def bucketize(x: Any, boundaries: Any, right: bool) -> Any:
    return torch.bucketize(x, boundaries, right=right)


@oracle
def reshape(x: Any, shape: Any) -> Any:
    return x.reshape(shape)


@oracle
def transpose(x: Any, axes: Any) -> Any:
    return x.permute(axes)


@oracle
def expand(x: Any, shape: Any) -> Any:
    return x.expand(shape)


@oracle
def slice_(x: Any, axis: int, start: int, stop: int, step: int) -> Any:
    return x[(slice(None),) * axis + (slice(start, stop, step),)]


@oracle
def flip(x: Any, axis: int) -> Any:
    return x.flip(axis)


@oracle
def roll(x: Any, axis: int, shift: int) -> Any:
    return x.roll(shift, axis)


@oracle
def concat(*xs: Any, axis: int) -> Any:
    return torch.cat(xs, axis)


@oracle
def pad(x: Any, pads: Any, value: float, mode: str) -> Any:
    if mode == "constant":
        return F.pad(x, [n for pair in reversed(pads) for n in pair], value=value)
    for axis, (lo, hi) in enumerate(pads):
        name = {"reflect": "reflect", "edge": "replicate", "wrap": "circular"}[mode]
        x = (
            F.pad(x.movedim(axis, -1).reshape(1, -1, x.shape[axis]), (lo, hi), name)
            .reshape(*x.movedim(axis, -1).shape[:-1], -1)
            .movedim(-1, axis)
        )
    return x


@oracle
def pixel_shuffle(x: Any, factor: int) -> Any:
    if x.ndim == 4:
        return channels_last(F.pixel_shuffle(channels_first(x), factor))
    return x.unflatten(-1, (-1, factor)).movedim(-1, 2).flatten(1, 2)


@oracle
def pixel_unshuffle(x: Any, factor: int) -> Any:
    return channels_last(F.pixel_unshuffle(channels_first(x), factor))


@oracle
def panels(w: Any) -> Any:
    return torch.stack(F.pad(w, (0, -w.shape[-1] % 16)).split(16, -1), -3)


@oracle
def unpanel(p: Any, columns: int) -> Any:
    return torch.cat(p.unbind(-3), -1)[..., :columns]
