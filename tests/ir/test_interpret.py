"""The interpreter: what a graph means, and what it says about arrays that do not fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cuvil_pack.ir.graph import Graph, Input, Weight, Where, at
from cuvil_pack.ir.interpret import interpret
from cuvil_pack.ir.text import from_text, parse_types
from cuvil_pack.ops.elementwise import add, exp
from cuvil_pack.ops.indexing import gather, size
from cuvil_pack.ops.reduce import mean

MLP = """\
batch = size(1, 8)

def mlp(x: f32[batch, 8], b: f32[batch], both: f32[2*batch]):
    v0 = matmul(x, weight('w', f32[8, 3]))
    v1 = reshape(b, shape=(batch, 1))
    v2 = add(v0, v1)
    v3 = iota(shape=(batch, 3), axis=1, dtype=f32)
    return add(v2, v3), size(dim=2*batch)
"""
W = np.arange(24, dtype="f4").reshape(8, 3)
GRAPH = from_text(MLP, {"w": W})


def zeros(*shapes: tuple[int, ...]) -> list[Any]:
    return [np.zeros(s, "f4") for s in shapes]


@pytest.mark.parametrize("batch", [1, 2, 5])
def test_named_sizes_come_from_the_arrays(batch: int) -> None:
    x, b = np.ones((batch, 8), "f4"), np.arange(batch, dtype="f4")
    out, twice = interpret(GRAPH, x, b, *zeros((2 * batch,)))
    np.testing.assert_array_equal(out, x @ W + b[:, None] + np.arange(3))
    assert out.dtype == np.float32 and twice == 2 * batch and twice.dtype == np.int64


WRONG = [
    (zeros((2, 8), (2,)), r"3 inputs \(x, b, both\), 2 arrays"),
    (zeros((2, 8, 1), (2,), (4,)), r"x is f32\[batch, 8\], not f32\[2, 8, 1\]"),
    ([np.zeros((2, 8)), *zeros((2,), (4,))], r"x is f32\[batch, 8\], not f64\[2, 8\]"),
    (zeros((2, 7), (2,), (4,)), r"x is f32\[batch, 8\] = \(2, 8\), not \(2, 7\)"),
    (zeros((2, 8), (3,), (4,)), "b: batch is 2 and 3"),
    (zeros((2, 8), (2,), (5,)), r"both is f32\[2\*batch\] = \(4,\), not \(5,\)"),
]


@pytest.mark.parametrize(("arrays", "message"), WRONG, ids=[m for _, m in WRONG])
def test_arrays_that_do_not_fit(arrays: list[Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        interpret(GRAPH, *arrays)


def test_a_size_that_no_input_gives() -> None:
    (t,) = parse_types("f32[2*n]")
    x = Input("x", t)
    with pytest.raises(TypeError, match="the size 2\\*n is not known: no input gives n"):
        interpret(Graph("g", (x,), (exp(x),)), np.zeros(4, "f4"))
    assert interpret(Graph("g", (x,), (size.node(dim=t.shape[0]),)), np.zeros(4, "f4"), sizes={"n": 2})[0] == 4


def test_an_input_that_is_not_among_the_inputs() -> None:
    x, y = (Input(n, parse_types("f32[2]")[0]) for n in "xy")
    with pytest.raises(TypeError, match=r"g: .*'y'.* is not among the inputs"):
        interpret(Graph("g", (x,), (add(x, y),)), np.zeros(2, "f4"))


def test_an_error_inside_an_op_tells_the_users_line() -> None:
    x, i = (Input("x", parse_types("f32[3]")[0]), Input("i", parse_types("i64[1]")[0]))
    with at(Where("model.py", 8, "x[i]")):
        graph = Graph("g", (x, i), (gather(x, i),))
    with pytest.raises(IndexError) as e:
        interpret(graph, np.zeros(3, "f4"), np.array([9]))
    assert e.value.__notes__ == ["in gather(f32[3], i64[1])\n    at model.py:8   x[i]"]


def test_outputs_may_be_inputs_weights_and_empty_means() -> None:
    (t,) = parse_types("f32[2, 0]")
    x, w = Input("x", t), Weight("w", parse_types("f32[8, 3]")[0], W)
    a, b, c = interpret(Graph("g", (x,), (x, w, mean(x, (1,)))), np.zeros((2, 0), "f4"))
    assert a.shape == (2, 0) and b is W
    assert np.isnan(c).all()
