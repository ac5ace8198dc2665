"""Graphs: iteration, values, the three readings of a call, errors with the user's line."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from cuvil_pack.ir.graph import OPS, Graph, Input, Number, Pattern, Result, State, Value, Weight, Where, at
from cuvil_pack.ir.interpret import interpret
from cuvil_pack.ir.rewrite import rewrite
from cuvil_pack.ir.size import named
from cuvil_pack.ir.text import from_text, parse_types, to_text
from cuvil_pack.ops.elementwise import add, exp, mul
from cuvil_pack.ops.indexing import iota
from cuvil_pack.ops.matmul import matmul
from cuvil_pack.ops.view import slice_

X = Input("x", parse_types("f32[4, 8]")[0])
W = Weight("w", parse_types("f32[8, 3]")[0], np.ones((8, 3), "f4"))


def chain(length: int) -> Graph:
    value: Value = X
    for _ in range(length):
        value = add(value, 1.0)
    return Graph("chain", (X,), (value,))


def test_a_chain_of_5000_nodes_needs_no_recursion() -> None:
    graph = chain(5000)
    assert sys.getrecursionlimit() < 5000
    assert len(list(graph.nodes())) == 5000
    np.testing.assert_array_equal(interpret(graph, np.zeros((4, 8), "f4"))[0], np.full((4, 8), 5000, "f4"))
    text = to_text(graph)
    assert to_text(from_text(text)) == text
    assert to_text(rewrite(graph)) == text


def test_producers_come_first_and_once() -> None:
    a = exp(X)
    b = mul(a, a)
    graph = Graph("g", (X,), (add(b, a), a))
    nodes = list(graph.nodes())
    assert [n.op.name for n in nodes] == ["exp", "mul", "add"]
    for n, node in enumerate(nodes):
        assert all(not isinstance(i, Result) or i.node in nodes[:n] for i in node.inputs)


def test_what_nobody_needs_is_not_in_the_graph() -> None:
    exp(X)
    assert [n.op.name for n in Graph("g", (X,), (add(X, 1.0),)).nodes()] == ["add"]


def test_states_are_needed_too() -> None:
    cache = Input("cache", X.type)
    graph = Graph("g", (X, cache), (X,), (), (State(cache, add(cache, X)),))
    assert [n.op.name for n in graph.nodes()] == ["add"]
    out, new = interpret(graph, np.ones((4, 8), "f4"), np.ones((4, 8), "f4"))
    assert out.sum() == 32 and new.sum() == 64


def test_weights_and_sizes_are_listed() -> None:
    n = named("n")
    y = Input("y", X.type.with_shape((n, 8)))
    graph = Graph("g", (y,), (matmul(y, W), W))
    assert graph.weights() == {"w": W}
    assert [s.name for s in graph.sizes()] == ["n"]
    assert graph.names == ("output0", "output1")


def test_a_call_computes_builds_or_matches() -> None:
    assert add(np.float32(1), np.float32(2)) == 3
    assert isinstance(add(X, 1.0), Result)
    assert isinstance(add(Pattern(), 1.0), Pattern)
    assert isinstance(iota(shape=(named("n"),)), Result)
    np.testing.assert_array_equal(iota(shape=(3,)), [0, 1, 2])


def test_numbers_take_the_type_of_the_other_operand() -> None:
    total = add(X, 1)
    assert isinstance(total, Result) and total.node.inputs[1] == Number(1, parse_types("f32[()]")[0])


def test_a_node_remembers_the_users_line() -> None:
    with at(Where("model.py", 42, "return self.fc(x)")):
        value = exp(X)
    assert str(value.node.where) == "model.py:42   return self.fc(x)"
    assert str(Where(module="layers.0.fc")) == "layers.0.fc"


def test_an_ill_typed_call_tells_the_op_both_sides_and_the_line() -> None:
    with at(Where("model.py", 42, "return self.fc(x)")), pytest.raises(TypeError) as e:
        matmul(X, Input("b", parse_types("f32[9, 3]")[0]))
    assert str(e.value) == (
        "matmul: f32[4, 8] has 8 columns, f32[9, 3] has 9 rows\n    at model.py:42   return self.fc(x)"
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: add(X, Input("i", parse_types("i64[4, 8]")[0])), "add: operands are f32 and i64: cast one of them"),
        (lambda: add(X, Input("y", parse_types("f32[5]")[0])), r"add: \[4, 8\], \[5\]: sizes 8 and 5 do not broadcast"),
        (lambda: slice_(X, axis=2, start=0, stop=1), r"slice: f32\[4, 8\] has no axis 2"),
        (lambda: OPS["reduce"](X, kind="any", axes=(0,)), "reduce: any of f32"),
        (lambda: OPS["reduce"](X, kind="mean", axes=(0,)), "reduce: no reduction 'mean'; there are sum, prod"),
        (lambda: OPS["and"](X, X), "and: and needs bool or an integer, not f32"),
        (lambda: OPS["exp"](Input("i", parse_types("i64[4]")[0])), "exp: exp needs a float, not i64: cast it"),
        (lambda: OPS["gather"](X, X), "gather: indices are i64 or i32, not f32"),
        (lambda: OPS["pad"](X, pads=((0, 0), (-1, 0))), "pad: pads .* slice to make it smaller"),
    ],
)
def test_calls_that_are_refused(call, message) -> None:
    with pytest.raises(TypeError, match=message):
        call()
