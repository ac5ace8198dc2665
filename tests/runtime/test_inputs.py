"""What a call may be given, and the sentence for everything else."""

import re
from collections.abc import Callable

import numpy as np
import pytest
from cuvil_runtime import InputError, Session

from tests.runtime.test_session import expected, feeds

Feeds = dict[str, object]


def change(**changes: object) -> Callable[[Feeds], Feeds]:
    return lambda fed: fed | changes


def without(name: str) -> Callable[[Feeds], Feeds]:
    return lambda fed: {key: value for key, value in fed.items() if key != name}


TAKEN = {
    "fortran order": lambda fed: fed | {"x": np.asfortranarray(fed["x"])},
    "a strided view": lambda fed: fed | {"x": np.repeat(fed["x"], 2, axis=0)[::2]},
    "a reversed view": lambda fed: fed | {"x": fed["x"][::-1][::-1], "ids": fed["ids"][::-1].copy()[::-1]},
    "swapped bytes": lambda fed: fed | {"x": fed["x"].astype(">f4"), "ids": fed["ids"].astype(">i8")},
    "read-only": lambda fed: fed | {"x": _read_only(fed["x"])},
    "unaligned": lambda fed: fed | {"x": _unaligned(fed["x"])},
    "a broadcast": lambda fed: fed | {"x": np.broadcast_to(fed["x"][:1], fed["x"].shape)},
    "lists of integers": lambda fed: fed | {"ids": list(map(int, fed["ids"]))},
    "a memoryview": lambda fed: fed | {"tail": memoryview(fed["tail"])},
    "a subclass": lambda fed: fed | {"x": fed["x"].view(np.recarray)},
}

REFUSED = {
    "unknown name": (
        change(y=1),
        "main has no input 'y'; it has x: f32[batch, 3], ids: i64[batch], tail: u8[2*batch + 1]",
    ),
    "missing name": (without("ids"), "input ids is missing: the model takes ids: i64[batch]"),
    "wrong dtype": (
        change(x=np.zeros((2, 3))),
        "input x is float64[2, 3], the model takes f32[batch, 3]: convert it with "
        "numpy.asarray(x, dtype=numpy.float32)",
    ),
    "wrong dtype, swapped": (
        change(x=np.zeros((2, 3), ">f8")),
        "input x is float64[2, 3], the model takes f32[batch, 3]",
    ),
    "signedness": (change(ids=np.zeros(2, np.uint64)), "input ids is uint64[2], the model takes i64[batch]"),
    "bool for u8": (change(tail=np.zeros(5, bool)), "input tail is bool[5], the model takes u8[2*batch + 1]"),
    "dates": (change(ids=np.zeros(2, "M8[s]")), "input ids is datetime64[s][2], the model takes i64[batch]"),
    "objects": (change(x=np.array([[None]])), "input x is object[1, 1], the model takes f32[batch, 3]"),
    "strings": (change(x="pixels"), "input x is str192[], the model takes f32[batch, 3]"),
    "ragged": (change(x=[[1.0], [2.0, 3.0]]), "input x is a list, which is no array"),
    "masked": (
        change(x=np.ma.masked_array(np.zeros((2, 3), np.float32))),
        "input x is a masked array: fill it with x.filled(value) first",
    ),
    "rank": (change(ids=np.zeros((2, 1), np.int64)), "input ids: i64[batch] has 1 dimensions, not 2: [2, 1]"),
    "rank 0": (change(x=np.float32(1)), "input x: f32[batch, 3] has 2 dimensions, not 0: []"),
    "fixed dimension": (change(x=np.zeros((2, 4), np.float32)), "input x: f32[batch, 3]: dimension 1 is 4, not 3"),
    "out of range": (
        change(x=np.zeros((65, 3), np.float32)),
        "input x: f32[batch, 3]: batch (dimension 0) is 65, outside 0..64",
    ),
    "unequal sizes": (change(ids=np.zeros(3, np.int64)), "batch is 2 in input x and 3 in input ids"),
    "expression": (
        change(tail=np.zeros(6, np.uint8)),
        "input tail: u8[2*batch + 1]: dimension 0 is 6, not 5 = 2*batch + 1 with batch = 2",
    ),
}


@pytest.mark.parametrize("given", TAKEN.values(), ids=TAKEN)
def test_taken(toy: Session, given: Callable[[Feeds], Feeds]) -> None:
    fed = given(feeds(4))
    plain = {"x": np.array(fed["x"], np.float32), "ids": np.array(fed["ids"], np.int64)}
    outputs = toy.run(fed)
    assert np.array_equal(outputs["sum"], expected(plain))
    assert np.array_equal(outputs["ramp"], np.asarray(fed["tail"], np.float32))


@pytest.mark.parametrize(("given", "sentence"), REFUSED.values(), ids=REFUSED)
def test_refused(toy: Session, given: Callable[[Feeds], Feeds], sentence: str) -> None:
    with pytest.raises(InputError, match=re.escape(sentence)):
        toy.run(given(feeds(2)))
    assert np.array_equal(toy.run(feeds(2))["sum"], expected(feeds(2)))


def test_arguments_are_counted(toy: Session) -> None:
    with pytest.raises(InputError, match=r"main takes 3 inputs, not 1: x: f32\[batch, 3\], ids: "):
        toy(np.zeros((1, 3), np.float32))


def test_feeds_are_a_mapping(toy: Session) -> None:
    with pytest.raises(InputError, match=r"inputs are a list, not a mapping \{name: array\}: x: f32\[batch, 3\], ids"):
        toy.run([1])


def test_entries_have_names(toy: Session) -> None:
    with pytest.raises(InputError, match="toy has no entry 'decode'; it has main, add"):
        toy.run({}, entry="decode")


def test_a_size_without_maximum_has_one(add: Session) -> None:
    huge = np.broadcast_to(np.float32(0), (2**31,))
    with pytest.raises(
        InputError, match=r"input x: f32\[n\]: n \(dimension 0\) is 2147483648, outside 0\.\.2147483647"
    ):
        add._main._solve((huge.shape,))


def _read_only(array: np.ndarray) -> np.ndarray:
    array = array.copy()
    array.flags.writeable = False
    return array


def _unaligned(array: np.ndarray) -> np.ndarray:
    moved = np.frombuffer(b"x" + array.tobytes(), np.uint8)[1:].view(array.dtype).reshape(array.shape)
    assert not moved.flags.aligned
    return moved
