"""Buffers of the caller: written in place, or refused with a sentence."""

import re
from collections.abc import Callable

import numpy as np
import pytest
from cuvil_runtime import InputError, Session

from tests.runtime.test_session import expected, feeds

Buffers = dict[str, object]


def empty(batch: int) -> dict[str, np.ndarray]:
    return {
        "sum": np.empty((batch, 3), np.float32),
        "ramp": np.empty(2 * batch + 1, np.float32),
        "pool": np.empty((), np.int64),
    }


def _overlapping(fed: Buffers) -> Buffers:
    memory = np.empty(20, np.float32)
    return {"sum": memory[:6].reshape(2, 3), "ramp": memory[5:10]}


def _frozen(fed: Buffers) -> Buffers:
    array = np.empty((2, 3), np.float32)
    array.flags.writeable = False
    return {"sum": array}


REFUSED: dict[str, tuple[Callable[[Buffers], Buffers], str]] = {
    "unknown name": (lambda fed: {"total": 1}, "main has no output 'total'; it has sum: f32[batch, 3], ramp: "),
    "no array": (lambda fed: {"sum": [0.0]}, "out sum is a list, not a numpy array"),
    "dtype": (
        lambda fed: {"sum": np.empty((2, 3))},
        "out sum is float64[2, 3], this call writes float32[2, 3]",
    ),
    "byte order": (
        lambda fed: {"sum": np.empty((2, 3), ">f4")},
        "out sum is float32[2, 3] with its bytes swapped, this call writes float32[2, 3]",
    ),
    "shape": (
        lambda fed: {"sum": np.empty((3, 3), np.float32)},
        "out sum is float32[3, 3], this call writes float32[2, 3]",
    ),
    "strides": (
        lambda fed: {"sum": np.empty((3, 2), np.float32).T},
        "out sum is read-only, unaligned or not contiguous: pass numpy.empty(shape, dtype)",
    ),
    "read-only": (_frozen, "out sum is read-only, unaligned or not contiguous"),
    "over an input": (
        lambda fed: {"sum": fed["x"]},
        "out sum overlaps input x: every output needs memory of its own",
    ),
    "over another output": (_overlapping, "out ramp overlaps output sum: every output needs memory of its own"),
}


def test_buffers_are_written_and_returned(toy: Session) -> None:
    fed, buffers = feeds(4), empty(4)
    outputs = toy.run(fed, out=buffers)
    assert all(outputs[name] is buffers[name] for name in buffers)
    assert np.array_equal(buffers["sum"], expected(fed)) and buffers["pool"] == 1


def test_some_buffers_are_enough(toy: Session) -> None:
    buffer = np.empty(9, np.float32)
    outputs = toy.run(feeds(4), out={"ramp": buffer})
    assert outputs["ramp"] is buffer and np.array_equal(outputs["sum"], expected(feeds(4)))


def test_nothing_to_write(toy: Session) -> None:
    buffers = empty(0)
    assert toy.run(feeds(0), out=buffers)["sum"].shape == (0, 3)


@pytest.mark.parametrize(("out", "sentence"), REFUSED.values(), ids=REFUSED)
def test_refused(toy: Session, out: Callable[[Buffers], Buffers], sentence: str) -> None:
    fed: Buffers = dict(feeds(2))
    before = fed["x"].copy()
    with pytest.raises(InputError, match=re.escape(sentence)):
        toy.run(fed, out=out(fed))
    assert np.array_equal(fed["x"], before)


def test_a_copied_input_may_be_written_over(toy: Session) -> None:
    memory = np.zeros((2, 3), ">f4")
    fed = feeds(2) | {"x": memory}
    buffer = memory.view(np.float32)
    assert np.array_equal(toy.run(fed, out={"sum": buffer})["sum"], expected(feeds(2) | {"x": np.zeros((2, 3))}))
