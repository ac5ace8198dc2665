"""Matrix products."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ir import scalar
from ..ir.graph import op
from ..ir.scalar import Scalar
from ..ir.size import Dim
from ..ir.types import TensorType, broadcast_shapes
from .elementwise import aligned


def _infer(a: TensorType, b: TensorType) -> TensorType:
    if a.rank < 2 or b.rank < 2 or a.dtype != b.dtype:
        raise TypeError(f"{a} times {b}: two matrices of one element type are wanted")
    if a.shape[-1] != b.shape[-2]:
        raise TypeError(f"{a} has {a.shape[-1]} columns, {b} has {b.shape[-2]} rows")
    return a.with_shape((*broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-1]))


def _element(at: tuple[Dim, ...], a: Any, b: Any) -> Scalar:
    *batch, i, j = at
    left = aligned(tuple(batch), a.type.with_shape(a.type.shape[:-2]))
    right = aligned(tuple(batch), b.type.with_shape(b.type.shape[:-2]))
    return scalar.reduce("sum", (a.type.shape[-1],), lambda k: a(*left, i, k) * b(*right, k, j))


def _flops(a: TensorType, b: TensorType) -> Dim:
    return _infer(a, b).numel * a.shape[-1] * 2


@op(
    _infer,
    element=_element,
    anchor=True,
    flops=_flops,
    examples=(
        "f32[4, 8], f32[8, 5]",
        "f32[batch, 3, 4, 6], f32[3, 6, 2]",
        "f32[2, 1, 4, 3], f32[5, 3, seq]",
        "i64[3, 4], i64[4, 2]",
        "f32[3, 0], f32[0, 2]",
    ),
)
def matmul(a: Any, b: Any) -> Any:
    """Product over the last axis of `a` and the second last of `b`; leading axes broadcast."""
    return np.matmul(a, b)
