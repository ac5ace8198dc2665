"""The packed form of a matrix that kernels read: panels of 16 columns, the same on every CPU."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ir.graph import op
from ..ir.scalar import Scalar, constant, in_range, select
from ..ir.size import Dim, ceildiv, floordiv
from ..ir.types import TensorType

WIDTH = 16


def _infer_panels(w: TensorType) -> TensorType:
    *batch, rows, columns = w.shape
    return w.with_shape((*batch, ceildiv(columns, WIDTH), rows, WIDTH))


def _panels_element(at: tuple[Dim, ...], w: Any) -> Scalar:
    *batch, panel, row, lane = at
    column = panel * WIDTH + lane
    return select(in_range(column, w.type.shape[-1]), lambda: w(*batch, row, column), constant(0, w.type.dtype))


@op(_infer_panels, element=_panels_element, examples=("f32[5, 16]", "f32[3, 20]", "f32[2, 4, 7]"))
def panels(w: Any) -> Any:
    """`[..., rows, columns]` as `[..., ceil(columns / 16), rows, 16]`, zeros beyond the last column."""
    *batch, rows, columns = w.shape
    count = -(-columns // WIDTH)
    wide = np.zeros((*batch, rows, count * WIDTH), w.dtype)
    wide[..., :columns] = w
    return np.ascontiguousarray(np.moveaxis(wide.reshape(*batch, rows, count, WIDTH), -2, -3))


def _infer_unpanel(p: TensorType, *, columns: int) -> TensorType:
    *batch, count, rows, width = p.shape
    if width != WIDTH or count != ceildiv(columns, WIDTH):
        raise TypeError(f"{p} does not hold {columns} columns in panels of {WIDTH}")
    return p.with_shape((*batch, rows, columns))


def _unpanel_element(at: tuple[Dim, ...], p: Any, columns: int) -> Any:
    *batch, row, column = at
    panel = floordiv(column, WIDTH)
    return p(*batch, panel, row, column - panel * WIDTH)


@op(
    _infer_unpanel,
    element=_unpanel_element,
    examples=("f32[1, 5, 16], columns=16", "f32[2, 3, 16], columns=20", "f32[2, 1, 4, 16], columns=7"),
)
def unpanel(p: Any, *, columns: int) -> Any:
    """The matrix that `panels` packed."""
    *batch, count, rows, width = p.shape
    return np.moveaxis(p, -3, -2).reshape(*batch, rows, count * width)[..., :columns]
