"""Every op on every example: what is inferred, said in index notation and with smaller ops is what numpy computes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from cuvil_pack.ir.graph import OPS, Array, Graph, Input, Op, Value
from cuvil_pack.ir.interpret import interpret
from cuvil_pack.ir.text import from_text, parse_types, to_text
from cuvil_pack.ir.types import DType, TensorType

from .cases import CASES, SPECIAL, Case
from .evaluate import evaluate_element

TOLERANCE = {np.dtype("f2"): 4e-3, np.dtype("f4"): 2e-6, np.dtype("f8"): 1e-12}
EXEMPT = {"kernel"}


def over(chosen: Callable[[Op], object]) -> Any:
    return pytest.mark.parametrize("case", [pytest.param(c, id=str(c)) for c in CASES if chosen(c.op)])


def close(got: Array, want: Array) -> None:
    assert got.dtype == want.dtype and got.shape == want.shape
    tolerance = TOLERANCE.get(want.dtype)
    if tolerance is None:
        np.testing.assert_array_equal(got, want)
        return
    finite = np.abs(want[np.isfinite(want)])
    np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance * (finite.max() if finite.size else 1))


def reference(case: Case) -> list[Array]:
    fixed = case.fixed()
    bound = case.op.signature.bind(*case.arrays(), **fixed.attrs)
    bound.apply_defaults()
    with np.errstate(all="ignore"):
        out = case.op.reference(*bound.args, **bound.kwargs)
    return [np.asarray(o) for o in (out if isinstance(out, tuple) else (out,))]


def graph_of(case: Case, build: Callable[..., Any]) -> Graph:
    inputs = tuple(Input(f"x{n}", t) for n, t in enumerate(case.types))
    out = build(*inputs, **case.attrs)
    return Graph("example", inputs, out if isinstance(out, tuple) else (out,))


def run(case: Case, graph: Graph) -> list[Array]:
    return interpret(graph, *case.arrays(), sizes={s.name: n for s, n in case.sizes.items()})


def full_attrs(case: Case) -> dict[str, Any]:
    bound = case.op.signature.bind(*case.types, **case.attrs)
    bound.apply_defaults()
    return dict(bound.kwargs)


def test_every_op_has_examples() -> None:
    assert [o.name for o in OPS.values() if not o.examples and o.name not in EXEMPT] == []


def test_every_op_can_become_native_code() -> None:
    assert [o.name for o in OPS.values() if not (o.element or o.decompose) and o.name not in EXEMPT] == []


@over(lambda op: True)
def test_types_agree_with_the_reference(case: Case) -> None:
    assert [TensorType.of(a) for a in reference(case)] == [case.fixed_type(t) for t in case.results]
    assert case.fixed().results == tuple(case.fixed_type(t) for t in case.results)


@over(lambda op: op.element)
def test_index_notation(case: Case) -> None:
    want = reference(case)[0]
    for c in (case, case.fixed()):
        close(evaluate_element(c.op, c.types, full_attrs(c), c.results[0], case.arrays(), c.sizes), want)


@over(lambda op: op.decompose)
def test_decomposition(case: Case) -> None:
    assert case.op.decompose is not None
    attrs = full_attrs(case)
    graph = graph_of(case, lambda *inputs, **_: case.op.decompose(*inputs, **attrs))
    assert tuple(o.type for o in graph.outputs) == case.results
    for got, want in zip(run(case, graph), reference(case), strict=True):
        close(got, want)


@over(lambda op: op.forward)
def test_forward_is_where_an_element_goes(case: Case) -> None:
    assert case.op.forward is not None
    fixed, (want,) = case.fixed(), reference(case)
    (x,), out = case.arrays(), np.empty_like(want)
    for place in np.ndindex(*x.shape):
        out[case.op.forward(place, fixed.types[0], **full_attrs(fixed))] = x[place]
    np.testing.assert_array_equal(out, want)


@over(lambda op: True)
def test_text_round_trip(case: Case) -> None:
    graph = graph_of(case, case.op.node)
    again = from_text(to_text(graph))
    assert to_text(again) == to_text(graph)
    for got, want in zip(run(case, again), reference(case), strict=True):
        np.testing.assert_array_equal(got, want)


@over(lambda op: op.flops)
def test_flops_are_counted(case: Case) -> None:
    assert case.op.flops is not None
    assert case.number(case.op.flops(*case.types, **full_attrs(case))) >= 0


ELEMENTWISE = [
    pytest.param(o, d, id=f"{o.name} {d.value}")
    for o in OPS.values()
    if o.elementwise
    for d in (DType.F16, DType.F32, DType.F64)
]


@pytest.mark.parametrize(("op", "dtype"), ELEMENTWISE)
def test_special_values(op: Op, dtype: DType) -> None:
    """Nan, infinities, signed zeros, large and tiny numbers in every float type, in every pair."""
    example = next((e for e in op.examples if e.startswith("f32")), None)
    if example is None:
        pytest.skip("takes no floats")
    types = parse_types(example.partition(", dtype")[0])
    if not all(t.dtype is DType.F32 for t in types):
        pytest.skip("takes other types too")
    with np.errstate(all="ignore"):
        values = np.array(SPECIAL).astype(dtype.numpy)
    arrays = [values.reshape(-1, *(1,) * (len(types) - 1 - n)) for n in range(len(types))]
    attrs = {"dtype": DType.F32} if op is OPS["cast"] else {}
    shapes = tuple(TensorType.of(a) for a in arrays)
    case = Case(op, "", shapes, attrs, {})
    with np.errstate(all="ignore"):
        want = np.asarray(op.reference(*arrays, **full_attrs(case)))
    assert TensorType.of(want) == case.results[0]
    np.testing.assert_array_equal(evaluate_element(op, shapes, full_attrs(case), case.results[0], arrays, {}), want)


def test_a_literal_takes_the_type_of_what_it_meets() -> None:
    x, keep = Input("x", parse_types("f32[3]")[0]), Input("keep", parse_types("bool[3]")[0])
    chosen: Value = OPS["where"](keep, x, float("-inf"))
    assert str(chosen.type) == "f32[3]"
    with pytest.raises(TypeError, match=r"0\.5 is no i64"):
        OPS["add"](Input("n", parse_types("i64[3]")[0]), 0.5)
