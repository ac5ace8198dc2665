"""Rebuilding and rewriting: equal nodes become one, rules fire wherever they fit and keep the meaning."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cuvil_pack.ir.graph import Graph, Input, Node, Number, Result, State, Value, Where, at
from cuvil_pack.ir.interpret import interpret
from cuvil_pack.ir.rewrite import Rule, rebuild, rewrite, rule, use_counts
from cuvil_pack.ir.text import from_text, parse_types, to_text
from cuvil_pack.ops.elementwise import add, exp, mul, neg, sub, where
from cuvil_pack.ops.kernel import kernel
from cuvil_pack.ops.matmul import matmul
from cuvil_pack.ops.view import transpose

X = Input("x", parse_types("f32[4, 8]")[0])


def ops_of(graph: Graph) -> list[str]:
    return [n.op.name for n in graph.nodes()]


@rule(lambda x: add(x, 0.0), "f32[4, 8]")
def add_zero(x: Value) -> Value:
    return x


@rule(lambda x: neg(neg(x)), "f32[4, 8]")
def twice_negated(x: Value) -> Value:
    return x


@rule(lambda x: mul(x, 2.0), "f32[4, 8]")
def double(x: Value) -> Value:
    return add(x, x)


@rule(lambda x: sub(x, x), "f32[4, 8]")
def from_itself(x: Value) -> Value:
    return mul(x, 0.0)


@rule(lambda x: transpose(transpose(x, axes=(1, 0)), axes=(1, 0)), "f32[4, 8]")
def twice_transposed(x: Value) -> Value:
    return x


@rule(lambda a, b: add(a, b), "f32[4, 8], f32[4, 8]")
def never(a: Value, b: Value) -> None:
    return None


RULES = [add_zero, twice_negated, double, from_itself, twice_transposed]


@pytest.mark.parametrize("rule", RULES, ids=lambda r: str(r.replace.__name__))
def test_a_rule_fires_and_keeps_the_meaning(rule: Rule) -> None:
    inputs = tuple(Input(f"x{n}", t) for e in rule.examples for n, t in enumerate(parse_types(e)))
    before = Graph("g", inputs, (rule.pattern(*inputs),))
    after = rewrite(before, (rule,))
    assert to_text(after) != to_text(before)
    arrays = [np.random.default_rng(0).standard_normal((4, 8), "f4") for _ in inputs]
    np.testing.assert_array_equal(interpret(after, *arrays)[0], interpret(before, *arrays)[0])


@pytest.mark.parametrize(
    "value",
    [add(X, 1.0), neg(X), mul(X, X), sub(X, exp(X)), transpose(X, axes=(1, 0)), exp(X)],
    ids=lambda v: str(v.node.op.name),
)
def test_rules_leave_alone_what_does_not_fit(value: Value) -> None:
    before = Graph("g", (X,), (value,))
    assert to_text(rewrite(before, tuple(RULES))) == to_text(before)


def test_rules_fire_on_what_rules_made() -> None:
    graph = Graph("g", (X,), (add(neg(neg(add(X, 0.0))), 0.0),))
    assert rewrite(graph, tuple(RULES)).outputs == (X,)


def test_a_rule_may_say_not_here() -> None:
    graph = Graph("g", (X,), (add(X, X),))
    assert to_text(rewrite(graph, (never,))) == to_text(graph)


def test_a_replacement_comes_from_the_same_line() -> None:
    with at(Where("model.py", 5, "y = x * 2")):
        graph = Graph("g", (X,), (mul(X, 2.0),))
    (node,) = rewrite(graph, (double,)).nodes()
    assert (node.op.name, node.where.line) == ("add", 5)


def test_rules_that_undo_each_other_are_an_error() -> None:
    there = rule(lambda a, b: add(a, b))(lambda a, b: sub(a, neg(b)))
    back = rule(lambda a, b: sub(a, neg(b)))(lambda a, b: add(a, b))
    with pytest.raises(RuntimeError, match="two of them undo each other"):
        rewrite(Graph("g", (X,), (add(X, X),)), (there, back))


def test_equal_nodes_become_one() -> None:
    graph = Graph("g", (X,), (add(exp(X), exp(X)), mul(exp(X), 2.0), mul(exp(X), 2.0)))
    assert len(ops_of(graph)) == 7
    assert sorted(ops_of(rewrite(graph))) == ["add", "exp", "mul"]


DIFFERENT = [
    (mul(X, 0.0), mul(X, -0.0)),
    (transpose(X, axes=(0, 1)), transpose(X, axes=(1, 0))),
    (sub(X, exp(X)), sub(exp(X), X)),
]


@pytest.mark.parametrize("pair", DIFFERENT, ids=lambda p: str(p[0].node.op.name))
def test_nodes_that_differ_in_little_stay_two(pair: tuple[Value, Value]) -> None:
    graph = rewrite(Graph("g", (X,), pair))
    assert graph.outputs[0] != graph.outputs[1]


def test_nan_is_equal_to_itself_as_a_literal() -> None:
    graph = Graph("g", (X,), (add(X, float("nan")), add(X, float("nan"))))
    assert len(ops_of(rewrite(graph))) == 1


def test_a_step_may_change_types_downstream() -> None:
    def halves(node: Node) -> Value | None:
        return exp(Input("y", parse_types("f32[2, 8]")[0])) if node.op is exp else None

    graph = rebuild(Graph("g", (X,), (neg(exp(X)),)), halves)
    assert str(graph.outputs[0].type) == "f32[2, 8]"


def test_a_step_that_breaks_types_tells_the_line() -> None:
    def wrong(node: Node) -> Value | None:
        return Input("y", parse_types("f32[3, 5]")[0]) if node.op is exp else None

    with at(Where("model.py", 9, "a @ b")):
        graph = Graph("g", (X,), (matmul(exp(X), Input("w", parse_types("f32[8, 2]")[0])),))
    with pytest.raises(
        TypeError, match=r"matmul: f32\[3, 5\] has 5 columns, f32\[8, 2\] has 8 rows\n    at model.py:9"
    ):
        rebuild(graph, wrong)


def test_nodes_with_several_results_and_states_are_rebuilt() -> None:
    p = Input("p", X.type)
    a, b = kernel(X, body=Graph("pair", (p,), (exp(p), neg(p))))
    graph = Graph("g", (X,), (add(a, 0.0),), ("y",), (State(X, add(b, 0.0)),))
    after = rewrite(graph, (add_zero,))
    assert ops_of(after) == ["kernel"]
    assert after.output_names == ("y",)
    assert [v.index for v in after.roots if isinstance(v, Result)] == [0, 1]


def test_uses_are_counted() -> None:
    a = exp(X)
    counts = use_counts(Graph("g", (X,), (add(a, a), a)))
    assert counts[a] == 3 and counts[X] == 1


def test_patterns_match_literals_of_any_type() -> None:
    read: Any = from_text("def f(x: i64[3]):\n    return add(x, number(0, i64))")
    assert rewrite(read, (add_zero,)).outputs == read.inputs
    keep = Input("keep", parse_types("bool[4, 8]")[0])
    chosen = where(keep, X, Number(0.0, parse_types("f32[()]")[0]))
    assert rewrite(Graph("g", (keep, X), (chosen,)), tuple(RULES)).outputs[0].type == X.type
