"""Every op against torch, in f32 and f64, and elementwise ops on special values."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from cuvil_pack.ir.graph import OPS, Array, Op
from cuvil_pack.ir.text import parse_types
from cuvil_pack.ir.types import DType

from .cases import CASES, SPECIAL, Case
from .test_ops import EXEMPT, full_attrs

torch = pytest.importorskip("torch")
from .oracle import ORACLES  # noqa: E402

TOLERANCE = {np.dtype("f2"): 5e-3, np.dtype("f4"): 1e-5, np.dtype("f8"): 1e-11}
DIVIDES = {"floordiv", "mod", "fmod", "truncdiv"}
TORCH_GIVES_NAN = {"gelu": np.inf}


def test_every_op_has_an_oracle() -> None:
    assert sorted(OPS.keys() - ORACLES.keys() - EXEMPT) == []


def reference(case: Case, arrays: list[Array]) -> Array:
    with np.errstate(all="ignore"):
        return np.asarray(case.op.reference(*arrays, **full_attrs(case)))


def by_torch(case: Case, arrays: list[Array]) -> Array:
    result = ORACLES[case.op.name](*map(torch.from_numpy, arrays), **full_attrs(case))
    return np.asarray(result.numpy())


def close(got: Array, want: Array) -> None:
    assert got.dtype == want.dtype and got.shape == want.shape
    tolerance = TOLERANCE.get(want.dtype, 0)
    finite = np.abs(want[np.isfinite(want)]) if want.dtype.kind == "f" else np.ones(0)
    np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance * (finite.max() if finite.size else 1))


@pytest.mark.parametrize("case", [pytest.param(c, id=str(c)) for c in CASES])
def test_as_torch(case: Case) -> None:
    fixed = case.fixed()
    arrays = [np.ascontiguousarray(a) for a in case.arrays()]
    if case.op.name in DIVIDES and arrays[1].dtype.kind == "i":
        arrays[1] += arrays[1] == 0
    close(reference(fixed, arrays), by_torch(fixed, arrays))


@pytest.mark.parametrize(
    "case", [pytest.param(c, id=str(c)) for c in CASES if "f32" in c.text and "dtype=" not in c.text]
)
def test_as_torch_in_f64(case: Case) -> None:
    fixed = case.fixed()
    arrays = [np.ascontiguousarray(a.astype("f8") if a.dtype == np.float32 else a) for a in case.arrays()]
    close(reference(fixed, arrays), by_torch(fixed, arrays))


def floats_only(op: Op) -> int:
    """How many f32 inputs an elementwise op takes; 0 where it takes others."""
    example = next((e for e in op.examples if e.startswith("f32") and "dtype" not in e), None)
    types = parse_types(example) if example else ()
    return len(types) if all(t.dtype is DType.F32 for t in types) else 0


@pytest.mark.parametrize("op", [pytest.param(o, id=o.name) for o in OPS.values() if o.elementwise and floats_only(o)])
def test_special_values_as_torch(op: Op) -> None:
    pairs = np.array(list(itertools.product(SPECIAL, repeat=floats_only(op))), "f4").T
    arrays: Any = [np.ascontiguousarray(row) for row in pairs]
    bound = op.signature.bind(*arrays)
    bound.apply_defaults()
    with np.errstate(all="ignore"):
        got = np.asarray(op.reference(*bound.args, **bound.kwargs))
    want = np.asarray(ORACLES[op.name](*map(torch.from_numpy, arrays), **bound.kwargs).numpy())
    assert got.dtype == want.dtype
    if op.name in TORCH_GIVES_NAN:
        got, want = (a[arrays[0] != TORCH_GIVES_NAN[op.name]] for a in (got, want))
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-7)
