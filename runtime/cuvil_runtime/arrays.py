"""What a call takes and gives: described for people, checked for every array."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from cuvil_schema.manifest import DTYPES, Spec
from cuvil_schema.sizes import Range, names, text

from cuvil_runtime.errors import InputError

if TYPE_CHECKING:
    from typing import Any

    DType = np.dtype[Any]
    Array = np.ndarray[Any, DType]

NUMPY = {name: np.dtype(f"{name[0]}{size}") for name, size in DTYPES.items()}

_byte_at: Any = ctypes.c_char.from_buffer
_address = ctypes.addressof


class ArraySpec(NamedTuple):
    """One input or output: `shape` has ints, names and sums such as `2*seq + 1`, `sizes` the range of each name."""

    name: str
    dtype: DType
    shape: tuple[int | str, ...]
    sizes: dict[str, Range]
    type: str

    def __str__(self) -> str:
        ranges = ", ".join(
            f"{name} in {low}..{'' if high is None else high}" for name, (low, high) in self.sizes.items()
        )
        return f"{self.name}: {self.type}" + (f" with {ranges}" if ranges else "")

    def __repr__(self) -> str:
        return str(self)


def described(spec: Spec, ranges: Mapping[str, Range]) -> ArraySpec:
    shape = tuple(dim if isinstance(dim, int) else text(dim) for dim in spec.shape)
    sizes = {name: ranges[name] for dim in spec.shape for name in names(dim)}
    return ArraySpec(spec.name, NUMPY[spec.dtype], shape, sizes, str(spec).removeprefix(f"{spec.name}: "))


def address(array: Array) -> int:
    """Where the elements of a contiguous array begin."""
    try:
        return _address(_byte_at(array))
    except (TypeError, ValueError):
        return int(array.__array_interface__["data"][0])


def accepted(value: object, spec: ArraySpec) -> Array:
    """`value` as a native, contiguous, aligned array of the spec's dtype: itself or a copy, never a cast."""
    if value is None:
        raise InputError(f"input {spec.name} is missing: the model takes {spec.name}: {spec.type}")
    masked = sys.modules.get("numpy.ma")
    if masked is not None and isinstance(value, masked.MaskedArray):
        raise InputError(f"input {spec.name} is a masked array: fill it with x.filled(value) first")
    try:
        array = np.asarray(value)
    except (TypeError, ValueError, RuntimeError) as error:
        raise InputError(f"input {spec.name} is a {type(value).__name__}, which is no array: {error}") from None
    if array.dtype != spec.dtype and array.dtype.newbyteorder("=") != spec.dtype:
        raise InputError(
            f"input {spec.name} is {array.dtype.name}{list(array.shape)}, the model takes {spec.type}: "
            f"convert it with numpy.asarray(x, dtype=numpy.{spec.dtype.name})"
        )
    if array.dtype == spec.dtype and array.flags.c_contiguous and array.flags.aligned:
        return array
    return np.array(array, dtype=spec.dtype, order="C", subok=False)


def writable(value: object, shape: tuple[int, ...], spec: ArraySpec) -> Array:
    """`value` as the buffer of an output of this shape; InputError unless it can be written as it is."""
    if not isinstance(value, np.ndarray):
        raise InputError(f"out {spec.name} is a {type(value).__name__}, not a numpy array")
    if value.dtype != spec.dtype or value.shape != shape:
        order = "" if value.dtype.isnative else " with its bytes swapped"
        raise InputError(
            f"out {spec.name} is {value.dtype.name}{list(value.shape)}{order}, "
            f"this call writes {spec.dtype.name}{list(shape)}"
        )
    if not value.flags.carray:
        raise InputError(f"out {spec.name} is read-only, unaligned or not contiguous: pass numpy.empty(shape, dtype)")
    return value
