"""The text of a graph reads back as the same graph: values, attributes, names, places, bodies, states."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from cuvil_pack.ir.graph import OPS, Graph, Input, Node, Number, Result, State, Value, Weight, Where, at
from cuvil_pack.ir.interpret import interpret
from cuvil_pack.ir.size import named
from cuvil_pack.ir.text import attr_text, from_text, kernel_key, parse_call, parse_types, to_text
from cuvil_pack.ir.types import DType
from cuvil_pack.ops.elementwise import add, and_, cast, exp, mul, not_, where
from cuvil_pack.ops.indexing import full
from cuvil_pack.ops.kernel import kernel
from cuvil_pack.ops.matmul import matmul
from cuvil_pack.ops.view import reshape, slice_

X = Input("x", parse_types("f32[4, 8]")[0])

MLP = """\
batch = size(1, 32)
seq = size(1, None)

def mlp(x: f32[batch, seq, 8], keep: bool[()]):
    v0 = matmul(x, weight('fc.weight', f32[8, 16]))  # f32[batch, seq, 16]  @ model.py:42   [fc]   return self.fc(x)
    v1 = add(v0, number(1.5, f32))  # f32[batch, seq, 16]
    v2 = reshape(v1, shape=(batch*seq, 16))  # f32[batch*seq, 16]
    v3 = slice(v2, axis=0, start=0, stop=((batch*seq)//(2)), step=1)  # f32[((batch*seq)//(2)), 16]
    v4 = where(keep, v3, number(float('-inf'), f32))  # f32[((batch*seq)//(2)), 16]  @ :0   [where]
    return v4, v1  # -> logits, hidden
"""


def again(graph: Graph, **weights: Any) -> Graph:
    """What reading the text gives; it must print the same."""
    text = to_text(graph)
    read = from_text(text, weights)
    assert to_text(read) == text
    return read


def only(graph: Graph) -> Node:
    (node,) = graph.nodes()
    return node


def test_a_graph_prints_as_it_was_written() -> None:
    graph = from_text(MLP.replace("  @ :0   [where]", ""), {"fc.weight": np.zeros((8, 16), "f4")})
    assert to_text(graph) == MLP.replace("  @ :0   [where]", "")
    assert graph.output_names == ("logits", "hidden")
    assert [(s.name, s.lo, s.hi) for s in graph.sizes()] == [("batch", 1, 32), ("seq", 1, None)]


def test_python_operators_are_ops() -> None:
    graph = from_text("def f(x: f32[4, 8], w: f32[8, 2]):\n    h = x @ w\n    return h * 2.0 - 1.0 / h")
    assert [n.op.name for n in graph.nodes()] == ["matmul", "mul", "div", "sub"]


ATTRS: list[object] = [
    True, False, 3, -3, 2**62, 1.5, -0.0, 1e-45, 1e300, math.inf, -math.inf, None, "text", "it's \"quoted\"\n", "f32",
    "float('inf')", DType.F16, (), (1,), (1, (2.5, "a"), ()), ((DType.I8, None), -1), named("batch") * 2 + 1,
    (named("batch"), 4, named("seq") // 3),
]  # fmt: skip


@pytest.mark.parametrize("attr", ATTRS, ids=str)
def test_any_attribute_reads_back(attr: object) -> None:
    sizes = {"batch": named("batch"), "seq": named("seq")}
    read = parse_call(f"a={attr_text(attr)}", sizes)[1]["a"]
    assert read == attr and type(read) is type(attr)
    assert attr_text(read) == attr_text(attr)


def test_numpy_numbers_are_spelled_as_python_numbers() -> None:
    assert attr_text(np.float64(0.5)) == "0.5"
    assert math.isnan(parse_call(f"a={attr_text(math.nan)}")[1]["a"])
    with pytest.raises(TypeError, match="cannot be an attribute"):
        attr_text(np.zeros(3))


PLACES = [
    Where("model.py", 42, "return self.fc(x)"),
    Where("model.py", 42),
    Where("dir with space/model.py", 7, "x = a  @ b   # comment", "layers.0"),
    Where(module="/encoder/MatMul_3"),
    Where(code="x[0]: 3"),
    Where(code="[y for y in z]"),
    Where("model.py", 1, "[x] = y"),
    Where("C:\\model.py", 1, "y = x", "m"),
]


@pytest.mark.parametrize("place", PLACES, ids=str)
def test_places_read_back(place: Where) -> None:
    with at(place):
        graph = Graph("g", (X,), (exp(X),))
    assert only(again(graph)).where == place
    assert " @ " not in to_text(graph, places=False)


def test_a_place_stays_on_its_line() -> None:
    with at(Where("model.py", 1, "y = (x +\n     z)")):
        graph = Graph("g", (X,), (exp(X),))
    assert only(again(graph)).where.code == "y = (x +      z)"


@pytest.mark.parametrize(
    "name", ["input.1", "class", "a b", "v0", "v1_2", "f32", "batch", "naïve", "input0", "0", "x'y\"", "def f():"]
)
def test_any_input_name_reads_back(name: str) -> None:
    batch = named("batch")
    a, b = Input(name, X.type.with_shape((batch, 8))), Input("other", X.type.with_shape((batch, 8)))
    graph = Graph("g", (a, b), (reshape(cast(add(a, b), dtype=DType.F32), shape=(batch * 8,)), a))
    read = again(graph)
    assert [i.name for i in read.inputs] == [name, "other"]
    assert read.outputs[1] == read.inputs[0]


@pytest.mark.parametrize("names", [("logits", "h.1"), ("a, b", "c"), ("it's", 'say "x"'), ("  ", "'")])
def test_any_output_name_reads_back(names: tuple[str, ...]) -> None:
    graph = Graph("g", (X,), (exp(X), X), names)
    assert again(graph).output_names == names


def test_words_of_python_are_ops_too() -> None:
    a, b = (Input(n, parse_types("bool[3]")[0]) for n in "ab")
    graph = Graph("g", (a, b), (not_(and_(a, b)),))
    assert "not_(v0)" in to_text(graph)
    assert [n.op.name for n in again(graph).nodes()] == ["and", "not"]


def test_a_string_may_look_like_a_comment() -> None:
    weight = Weight("w  # -> x  @ y:3", X.type, np.ones((4, 8), "f4"))
    graph = Graph("g", (X,), (add(X, weight),), ("sum",))
    read = again(graph, **{weight.name: weight.data})
    assert read.output_names == ("sum",)
    np.testing.assert_array_equal(interpret(read, np.ones((4, 8), "f4"))[0], 2)


@pytest.mark.parametrize("number", [0.5, -0.0, math.inf, -math.inf, 3, True])
def test_numbers_keep_value_and_type(number: float) -> None:
    dtype = DType.BOOL if number is True else DType.I64 if number == 3 else DType.F32
    value = Number(number, parse_types(f"{dtype.value}[()]")[0])
    read = again(Graph("g", (), (value,))).outputs[0]
    assert read == value and isinstance(read, Number) and math.copysign(1, read.number) == math.copysign(1, number)


def body(name: str, scale: float) -> Graph:
    p = Input("p0", X.type)
    inner = Graph("inner", (p,), (exp(p), mul(p, scale)))
    a, b = kernel(p, body=inner)
    return Graph(name, (p,), (add(a, b),))


def test_bodies_read_back_with_their_places() -> None:
    with at(Where("model.py", 3, "y")):
        first, second = body("k", 2.0), body("k", 3.0)
    graph = Graph("g", (X,), (add(kernel(X, body=first), kernel(X, body=second)),))
    read = again(graph)
    inner = next(n for n in read.nodes() if n.op.name == "kernel").attrs["body"]
    assert inner.name == "k"
    assert next(iter(inner.nodes())).where.line == 3
    x = np.linspace(-1, 1, 32, dtype="f4").reshape(4, 8)
    np.testing.assert_array_equal(interpret(read, x)[0], interpret(graph, x)[0])


def test_equal_bodies_have_one_key() -> None:
    with at(Where("model.py", 3, "y")):
        a = kernel(X, body=body("first", 2.0))
    b, c = kernel(X, body=body("second", 2.0)), kernel(X, body=body("second", 3.0))
    keys = [kernel_key(v.node) for v in (a, b, c) if isinstance(v, Result)]
    assert keys[0] == keys[1] != keys[2]


def test_states_read_back() -> None:
    cache = Input("kv.0", X.type)
    graph = Graph("decode", (X, cache), (exp(X),), ("y",), (State(cache, add(cache, X)),))
    read = again(graph)
    assert "state(input0, v1)" in to_text(graph)
    assert read.states[0].input == cache
    assert isinstance(read.states[0].output, Result)


def test_a_graph_may_return_nothing_but_states() -> None:
    graph = Graph("g", (X,), (), (), (State(X, exp(X)),))
    assert again(graph).outputs == ()


def test_sizes_that_only_attributes_name() -> None:
    n = named("n", 1, 9)
    graph = Graph("g", (X,), (slice_(X, axis=0, start=n - n, stop=2), full(shape=(n,), value=0, dtype=DType.I8)))
    assert to_text(graph).startswith("n = size(1, 9)\n")
    again(graph)


def test_several_results() -> None:
    pair = Graph("pair", (Input("p0", X.type),), (exp(Input("p0", X.type)), Input("p0", X.type)))
    values: tuple[Value, ...] = kernel(X, body=pair)
    again(
        Graph(
            "g", (X,), (where(OPS["gt"](values[0], 0.0), *values), matmul(values[0], OPS["transpose"](X, axes=(1, 0))))
        )
    )


WRONG = [
    ("x = 3", "line 1: neither a size nor a graph"),
    ("", "no graph in this text"),
    ("def f(x: f32[4]):\n    v0 = exp(y)\n    return v0", "line 2: there is no y before it"),
    ("def f(x: f32[4]):\n    v0 = no_such_op(x)\n    return v0", r"line 2: no_such_op\(x\) has no meaning in a graph"),
    ("def f(x: f32[4]):\n    v0 = exp(x)", "line 1: f returns nothing"),
    ("def f(x: f32[4]):\n    return 3", "line 2: 3 is no tensor"),
    ("def f(x):\n    return x", "line 1: x has no type"),
    ("def f(x: f33[4]):\n    return x", "line 1: f33.4. is no tensor type"),
    ("def f(x: f32):\n    return x", "line 1: f32 is no tensor type"),
    ("def f(x: f32[4]):\n    if x: pass\n    return x", "line 2: if x: has no meaning in a graph"),
    ("def f(x: f32[4]):\n    return add(x, weight('w', f32[4]))", "line 2: weight 'w' is not among the 1 given"),
    ("def f(x: f32[4]):\n    return add(x, weight('u', f32[4]))", r"'u' is f32\[4\] here, f32\[2\] where it is given"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message"), WRONG)
def test_what_is_no_graph(text: str, message: str) -> None:
    with pytest.raises(SyntaxError, match=message):
        from_text(text, {"u": np.zeros(2, "f4")})
