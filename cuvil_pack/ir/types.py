"""Tensor types: what a value holds, written `f32[batch, 64]`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from .size import Dim, product


class DType(StrEnum):
    """Element types, named as in Rust."""

    F64 = "f64"
    F32 = "f32"
    F16 = "f16"
    I64 = "i64"
    I32 = "i32"
    I16 = "i16"
    I8 = "i8"
    U64 = "u64"
    U32 = "u32"
    U16 = "u16"
    U8 = "u8"
    BOOL = "bool"

    @property
    def numpy(self) -> np.dtype[Any]:
        return NUMPY[self]

    @property
    def nbytes(self) -> int:
        return self.numpy.itemsize

    @property
    def is_float(self) -> bool:
        return self.value[0] == "f"

    @property
    def is_signed(self) -> bool:
        return self.value[0] in "fi"

    def __repr__(self) -> str:
        return self.value

    @classmethod
    def of(cls, dtype: np.dtype[Any]) -> DType:
        """The element type of a numpy array. Raises TypeError where there is none."""
        for d, n in NUMPY.items():
            if n == dtype:
                return d
        raise TypeError(f"no element type holds numpy {dtype}; known: {', '.join(NUMPY)}")


_SPELLED = [
    "float64",
    "float32",
    "float16",
    "int64",
    "int32",
    "int16",
    "int8",
    "uint64",
    "uint32",
    "uint16",
    "uint8",
    "bool",
]
NUMPY: dict[DType, np.dtype[Any]] = {d: np.dtype(s) for d, s in zip(DType, _SPELLED, strict=True)}


@dataclass(frozen=True, slots=True)
class TensorType:
    """Element type and shape. A dimension is a number or a size known at run time."""

    dtype: DType
    shape: tuple[Dim, ...]

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def numel(self) -> Dim:
        return product(self.shape)

    @property
    def nbytes(self) -> Dim:
        return self.numel * self.dtype.nbytes

    @property
    def is_static(self) -> bool:
        return all(isinstance(d, int) for d in self.shape)

    def with_shape(self, shape: tuple[Dim, ...]) -> TensorType:
        return TensorType(self.dtype, tuple(shape))

    def with_dtype(self, dtype: DType) -> TensorType:
        return TensorType(dtype, self.shape)

    def with_axis(self, axis: int, size: Dim) -> TensorType:
        """The type with another size along `axis`. Raises TypeError where there is no such axis."""
        if not 0 <= axis < self.rank:
            raise TypeError(f"{self} has no axis {axis}")
        return self.with_shape((*self.shape[:axis], size, *self.shape[axis + 1 :]))

    def __str__(self) -> str:
        return f"{self.dtype.value}[{', '.join(map(str, self.shape)) or '()'}]"

    @classmethod
    def of(cls, array: Any) -> TensorType:
        return cls(DType.of(array.dtype), tuple(array.shape))


def broadcast_dims(*dims: Dim) -> Dim:
    """The dimension numpy would broadcast these to. Raises TypeError where they differ and none is 1."""
    result: Dim = 1
    for d in dims:
        if d == 1 or d == result:
            continue
        if result != 1:
            raise TypeError(f"sizes {result} and {d} do not broadcast")
        result = d
    return result


def broadcast_shapes(*shapes: tuple[Dim, ...]) -> tuple[Dim, ...]:
    """As `numpy.broadcast_shapes`, for sizes that may be named."""
    rank = max((len(s) for s in shapes), default=0)
    aligned = [(1,) * (rank - len(s)) + tuple(s) for s in shapes]
    try:
        return tuple(broadcast_dims(*column) for column in zip(*aligned, strict=True))
    except TypeError as e:
        spelled = ", ".join("[" + ", ".join(map(str, s)) + "]" for s in shapes)
        raise TypeError(f"{spelled}: {e}") from None
