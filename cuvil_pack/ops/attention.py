"""Scaled dot-product attention."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ir.graph import op
from ..ir.size import Dim, floordiv
from ..ir.types import DType, TensorType, broadcast_shapes
from .elementwise import add, div, eq, exp, le, mul, sub, where
from .indexing import iota
from .matmul import matmul
from .reduce import reduce
from .view import expand, reshape, transpose


def _infer(
    q: TensorType, k: TensorType, v: TensorType, *mask: TensorType, scale: float, causal: bool = False
) -> TensorType:
    if not q.rank == k.rank == v.rank == 4 or not q.dtype == k.dtype == v.dtype:
        raise TypeError(f"{q}, {k}, {v}: three tensors [batch, heads, length, depth] of one element type are wanted")
    if q.shape[-1] != k.shape[-1] or k.shape[:3] != v.shape[:3] or q.shape[0] != k.shape[0]:
        raise TypeError(f"queries {q}, keys {k} and values {v} do not fit")
    if floordiv(q.shape[1], k.shape[1]) * k.shape[1] != q.shape[1]:
        raise TypeError(f"{q.shape[1]} query heads are no multiple of {k.shape[1]} key heads")
    for m in mask:
        if m.dtype not in (q.dtype, DType.BOOL) or m.rank > 4:
            raise TypeError(
                f"a mask is bool or {q.dtype.value} and broadcasts to [batch, heads, queries, keys], not {m}"
            )
        broadcast_shapes(m.shape, (*q.shape[:3], k.shape[2]))
    return q.with_shape((*q.shape[:3], v.shape[-1]))


def _decompose(q: Any, k: Any, v: Any, *mask: Any, scale: float, causal: bool) -> Any:
    k, v = (_repeat_heads(x, q.type.shape[1]) for x in (k, v))
    scores = mul(matmul(q, transpose(k, axes=(0, 1, 3, 2))), scale)
    if causal:
        shape = scores.type.shape[2:]
        allowed = le(iota.node(shape=shape, axis=1), iota.node(shape=shape, axis=0))
        scores = where(allowed, scores, float("-inf"))
    for m in mask:
        scores = where(m, scores, float("-inf")) if m.type.dtype is DType.BOOL else add(scores, m)
    top = reduce(scores, kind="max", axes=(3,))
    e = exp(sub(scores, where(eq(top, float("-inf")), 0.0, top)))
    total = reduce(e, kind="sum", axes=(3,))
    return matmul(div(e, where(eq(total, 0.0), 1.0, total)), v)


def _repeat_heads(x: Any, heads: Dim) -> Any:
    batch, own, length, depth = x.type.shape
    if own == heads:
        return x
    times = floordiv(heads, own)
    wide = expand(reshape(x, shape=(batch, own, 1, length, depth)), shape=(batch, own, times, length, depth))
    return reshape(wide, shape=(batch, heads, length, depth))


def _flops(q: TensorType, k: TensorType, v: TensorType, *mask: TensorType, **attrs: Any) -> Dim:
    return q.shape[0] * q.shape[1] * q.shape[2] * k.shape[2] * (q.shape[3] + v.shape[3]) * 2


@op(
    _infer,
    decompose=_decompose,
    anchor=True,
    flops=_flops,
    examples=(
        "f32[2, 3, 5, 4], f32[2, 3, 6, 4], f32[2, 3, 6, 2], scale=0.5",
        "f32[batch, 4, seq, 8], f32[batch, 2, seq, 8], f32[batch, 2, seq, 8], scale=0.35, causal=True",
        "f32[batch, 2, seq, 4], f32[batch, 2, seq, 4], f32[batch, 2, seq, 4], f32[batch, 1, 1, seq], scale=0.5",
        "f32[1, 2, 3, 4], f32[1, 2, 5, 4], f32[1, 2, 5, 4], bool[3, 5], scale=0.5",
    ),
)
def attention(q: Any, k: Any, v: Any, *mask: Any, scale: float, causal: bool = False) -> Any:
    """`softmax(scale * q @ k.T + mask) @ v` on `[batch, heads, length, depth]` (Vaswani et al. 2017).

    Query head `h` reads key head `h * key_heads // heads`. A bool mask is true where a key may be seen, a float mask is
    added; `causal` lets query `i` see keys `0..i`. A query that may see nothing gives 0.
    """
    times = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, times, 1), np.repeat(v, times, 1)
    scores = scale * (q @ np.swapaxes(k, -1, -2))
    if causal:
        scores = np.where(np.tri(*scores.shape[-2:]) > 0, scores, -np.inf)
    for m in mask:
        scores = np.where(m, scores, -np.inf) if m.dtype == bool else scores + m
    top = scores.max(-1, keepdims=True)
    e = np.exp(scores - np.where(np.isneginf(top), 0, top))
    total = e.sum(-1, keepdims=True)
    return ((e / np.where(total == 0, 1, total)) @ v).astype(q.dtype)
