"""Tensor types: spelling, broadcasting, the errors they raise."""

from __future__ import annotations

import numpy as np
import pytest

from cuvil_pack.ir.size import named
from cuvil_pack.ir.text import parse_call, parse_types
from cuvil_pack.ir.types import DType, TensorType, broadcast_shapes

batch, seq = named("batch"), named("seq")


@pytest.mark.parametrize("dtype", list(DType))
def test_element_types_are_those_of_numpy(dtype: DType) -> None:
    assert DType.of(dtype.numpy) is dtype
    assert dtype.nbytes == dtype.numpy.itemsize
    assert dtype.is_float == (dtype.numpy.kind == "f")
    assert repr(dtype) == str(dtype) == dtype.value


def test_other_numpy_types_are_refused() -> None:
    with pytest.raises(TypeError, match=r"no element type holds numpy complex64; known: f64, f32"):
        DType.of(np.dtype("complex64"))


@pytest.mark.parametrize(
    "text",
    ["f32[4, 8]", "i64[()]", "bool[1]", "f16[0, 3]", "f32[batch, 2*seq + 1]", "u8[((seq)//(2)), max(batch, seq)]"],
)
def test_text(text: str) -> None:
    (t,) = parse_types(text)
    assert str(t) == text
    assert parse_types(str(t)) == (t,)


def test_one_name_is_one_size_within_a_call() -> None:
    a, b = parse_types("f32[batch, 8], i64[batch]")
    assert a.shape[0] == b.shape[0]
    assert parse_types("f32[batch]", {"batch": 3})[0].shape == (3,)


def test_a_call_has_types_and_attributes() -> None:
    types, attrs = parse_call(
        "f32[batch, 6], shape=(batch*2, 3), value=float('-inf'), dtype=f16, mode='edge', pads=((1, 0),)"
    )
    assert list(map(str, types)) == ["f32[batch, 6]"]
    assert attrs["shape"] == (types[0].shape[0] * 2, 3)
    assert attrs["value"] == -np.inf and attrs["dtype"] is DType.F16
    assert attrs["mode"] == "edge" and attrs["pads"] == ((1, 0),)


def test_counts() -> None:
    t = TensorType(DType.F32, (batch, 3, seq))
    assert (t.rank, t.numel, t.nbytes, t.is_static) == (3, batch * seq * 3, batch * seq * 12, False)
    assert TensorType(DType.F16, ()).nbytes == 2


def test_an_axis_that_is_not_there() -> None:
    with pytest.raises(TypeError, match=r"f32\[4, 8\] has no axis 2"):
        parse_types("f32[4, 8]")[0].with_axis(2, 1)
    with pytest.raises(TypeError, match=r"f32\[4\] has no axis -1"):
        parse_types("f32[4]")[0].with_axis(-1, 1)


def test_broadcasting() -> None:
    assert broadcast_shapes((4, 1), (3,), ()) == (4, 3)
    assert broadcast_shapes((batch, 1, 7), (seq, 1)) == (batch, seq, 7)
    assert broadcast_shapes((0, 1), (1, 5)) == (0, 5)


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        (((4,), (3,)), r"\[4\], \[3\]: sizes 4 and 3 do not broadcast"),
        (((batch,), (seq,)), r"\[batch\], \[seq\]: sizes batch and seq do not broadcast"),
        (((batch,), (3,)), r"sizes batch and 3 do not broadcast"),
    ],
)
def test_shapes_that_do_not_broadcast(shapes: tuple[tuple[int, ...], ...], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        broadcast_shapes(*shapes)
