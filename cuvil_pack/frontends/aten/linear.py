"""Matrix products, attention and convolution, each kept whole."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...ir import size
from ...ir.graph import Value
from ...ir.size import Dim
from ...ir.types import broadcast_shapes
from ...ops import attention as attentions
from ...ops import conv as convs
from ...ops import conv_transpose as transposed_convs
from ...ops import einsum as sums
from ...ops import matmul as products
from .arithmetic import add, mul
from .operand import shaped, spread, together
from .table import Refused, aten
from .view import permute, t, unsqueeze


@aten("matmul")
def matmul(a: Value, b: Value) -> Value:
    """As `numpy.matmul`: a vector at the left is a row, at the right a column, and the axis it lent goes again."""
    left = unsqueeze(a, 0) if a.type.rank == 1 else a
    right = unsqueeze(b, 1) if b.type.rank == 1 else b
    value: Value = products.matmul(left, right)
    shape = list(value.type.shape)
    if b.type.rank == 1:
        shape.pop(-1)
    if a.type.rank == 1:
        shape.pop(-1 if b.type.rank == 1 else -2)
    return shaped(value, shape)


@aten("mm", "bmm", "mv", "dot", "vdot", "linalg_matmul")
def mm(a: Value, b: Value) -> Value:
    return matmul(a, b)


@aten("outer", "ger")
def outer(a: Value, b: Value) -> Value:
    return mul(unsqueeze(a, 1), unsqueeze(b, 0))


@aten("linear")
def linear(x: Value, weight: Value, bias: Value | None = None) -> Value:
    value = matmul(x, t(weight))
    return value if bias is None else add(value, bias)


@aten("addmm", "baddbmm", "addmv")
def addmm(x: Value, a: Value, b: Value, *, beta: float = 1, alpha: float = 1) -> Value:
    value = matmul(a, b)
    value = value if alpha == 1 else mul(value, alpha)
    if beta == 0:
        return value
    return add(value, x if beta == 1 else mul(x, beta))


@aten("addbmm")
def addbmm(x: Value, a: Value, b: Value, *, beta: float = 1, alpha: float = 1) -> Value:
    from .reduce import sum_

    return add(mul(x, beta), mul(sum_(matmul(a, b), 0), alpha))


@aten("scaled_dot_product_attention")
def attention(
    q: Value,
    k: Value,
    v: Value,
    mask: Value | None = None,
    dropout: float = 0.0,
    causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Value:
    depth = q.type.shape[-1]
    if scale is None:
        if not isinstance(depth, int):
            raise Refused(f"attention over {depth} channels: the depth must be known")
        scale = 1 / math.sqrt(depth)
    q, k, v = together(q, k, v)
    batch = broadcast_shapes(*(x.type.shape[:-3] for x in (q, k, v)))
    if not enable_gqa:
        heads = broadcast_shapes(*(x.type.shape[-3:-2] for x in (q, k, v)))
        q, k, v = (spread(x, (*batch, *heads, *x.type.shape[-2:])) for x in (q, k, v))
    masks = () if mask is None else (_mask4(mask, q),)
    value: Value = attentions.attention(*map(_rank4, (q, k, v)), *masks, scale=float(scale), causal=bool(causal))
    return shaped(value, (*q.type.shape[:-1], v.type.shape[-1]))


def _rank4(x: Value) -> Value:
    """`[..., heads, length, depth]` with one batch axis."""
    lead = x.type.shape[:-2]
    heads: Dim = lead[-1] if lead else 1
    return shaped(x, (size.product(lead[:-1]), heads, *x.type.shape[-2:]))


def _mask4(mask: Value, q: Value) -> Value:
    if mask.type.dtype.value != "bool":
        mask, _ = together(mask, q) if mask.type.dtype != q.type.dtype else (mask, q)
    if q.type.rank <= 4:
        return mask
    return _rank4(spread(mask, (*q.type.shape[:-2], *mask.type.shape[-2:])))


def channels_last(x: Value) -> Value:
    """`[batch, channels, *places]` as `[batch, *places, channels]`."""
    return permute(x, (0, *range(2, x.type.rank), 1))


def channels_first(x: Value) -> Value:
    """`[batch, *places, channels]` as `[batch, channels, *places]`."""
    return permute(x, (0, x.type.rank - 1, *range(1, x.type.rank - 1)))


def steps(given: int | Sequence[int], places: int, default: int = 1) -> tuple[int, ...]:
    """One number for each axis of places."""
    many = [given] if isinstance(given, int) else list(given)
    if not many:
        return (default,) * places
    return tuple(many * places if len(many) == 1 else many)


@aten("conv1d", "conv2d", "conv3d")
def conv(
    x: Value,
    weight: Value,
    bias: Value | None = None,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] | str = 0,
    dilation: int | Sequence[int] = 1,
    groups: int = 1,
) -> Value:
    places = weight.type.rank - 2
    if x.type.rank == places + 1:
        return shaped_one(conv(unsqueeze(x, 0), weight, bias, stride, padding, dilation, groups))
    x, weight = together(x, weight)
    spacing = steps(dilation, places)
    value: Value = convs.conv(
        channels_last(x),
        permute(weight, (*range(2, weight.type.rank), 1, 0)),
        stride=steps(stride, places),
        pads=_pads(padding, weight.type.shape[2:], spacing),
        dilation=spacing,
        groups=groups,
    )
    return channels_first(value if bias is None else add(value, bias))


def shaped_one(x: Value) -> Value:
    """`x` without its batch axis of one."""
    return shaped(x, x.type.shape[1:])


def _pads(
    padding: int | Sequence[int] | str, taps: Sequence[Dim], spacing: tuple[int, ...]
) -> tuple[tuple[int, int], ...]:
    if padding == "valid":
        return ((0, 0),) * len(taps)
    if isinstance(padding, str):
        total = [d * (n - 1) for d, n in zip(spacing, taps, strict=True) if isinstance(n, int)]
        return tuple((n // 2, n - n // 2) for n in total)
    return tuple((p, p) for p in steps(padding, len(taps)))


@aten("convolution")
def convolution(
    x: Value,
    weight: Value,
    bias: Value | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
) -> Value:
    if transposed:
        return conv_transpose(x, weight, bias, stride, padding, output_padding, groups, dilation)
    return conv(x, weight, bias, stride, padding, dilation, groups)


@aten("conv_transpose1d", "conv_transpose2d", "conv_transpose3d")
def conv_transpose(
    x: Value,
    weight: Value,
    bias: Value | None = None,
    stride: int | Sequence[int] = 1,
    padding: int | Sequence[int] = 0,
    output_padding: int | Sequence[int] = 0,
    groups: int = 1,
    dilation: int | Sequence[int] = 1,
) -> Value:
    places = weight.type.rank - 2
    if x.type.rank == places + 1:
        one = conv_transpose(unsqueeze(x, 0), weight, bias, stride, padding, output_padding, groups, dilation)
        return shaped_one(one)
    x, weight = together(x, weight)
    cut = zip(steps(padding, places), steps(output_padding, places, 0), strict=True)
    value: Value = transposed_convs.conv_transpose(
        channels_last(x),
        permute(weight, (*range(2, weight.type.rank), 0, 1)),
        stride=steps(stride, places),
        pads=tuple((p, p - extra) for p, extra in cut),
        dilation=steps(dilation, places),
        groups=groups,
    )
    return channels_first(value if bias is None else add(value, bias))


@aten("einsum")
def einsum(equation: str, operands: Sequence[Value], *, path: object = None) -> Value:
    value: Value = sums.einsum(equation, *together(*operands))
    return value
