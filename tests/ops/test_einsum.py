"""Einstein summation against numpy."""

from __future__ import annotations

import numpy as np
import pytest

from cuvil_pack.ir.graph import Graph, Input
from cuvil_pack.ir.interpret import interpret
from cuvil_pack.ir.size import evaluate
from cuvil_pack.ir.text import parse_types
from cuvil_pack.ops.einsum import einsum

TABLE = [
    ("ij,jk->ik", "f32[3, 4], f32[4, 5]"),
    ("ij,jk", "f32[3, 4], f32[4, 5]"),
    ("bhqd,bhkd->bhqk", "f32[batch, 2, seq, 4], f32[batch, 2, 3, 4]"),
    ("bqhd,bkhd->bhqk", "f32[batch, seq, 2, 4], f32[batch, seq, 2, 4]"),
    ("bhqk,bkhd->bqhd", "f32[batch, 2, 3, seq], f32[batch, seq, 2, 4]"),
    ("i,j->ij", "f32[3], f32[4]"),
    ("i,i->", "f32[3], f32[3]"),
    ("ij->ji", "f32[3, 4]"),
    ("ij->", "f32[3, 4]"),
    ("ij->j", "f32[3, 4]"),
    ("ij,ij->ij", "f32[3, 4], f32[3, 4]"),
    ("ij,ij->i", "f32[3, 4], f32[3, 4]"),
    ("ijk,kl->lij", "f32[2, 3, 4], f32[4, 5]"),
    ("ijkl,klm->mij", "f32[2, 3, 4, 2], f32[4, 2, 3]"),
    ("ij,kl->il", "f32[2, 3], f32[4, 5]"),
    ("...ij,...jk->...ik", "f32[batch, 2, 3, 4], f32[2, 4, 5]"),
    ("...i,i->...", "f32[batch, 3], f32[3]"),
    ("...ij->...ji", "f32[2, 3, 4]"),
    ("b...,b...->b...", "f32[2, 3, 4], f32[2, 1, 4]"),
    ("ij,jk,kl->il", "f32[2, 3], f32[3, 4], f32[4, 5]"),
    ("bi,ij,bj->b", "f32[batch, 3], f32[3, 4], f32[batch, 4]"),
    (" i j , j -> i ", "f32[3, 4], f32[4]"),
]
SIZES = {"batch": 2, "seq": 5}


@pytest.mark.parametrize(("equation", "types"), TABLE)
def test_as_numpy(equation: str, types: str) -> None:
    rng = np.random.default_rng(0)
    inputs = tuple(Input(f"x{n}", t) for n, t in enumerate(parse_types(types)))
    arrays = [rng.standard_normal([evaluate(d, SIZES) for d in i.type.shape]).astype("f4") for i in inputs]
    graph = Graph("g", inputs, (einsum(equation, *inputs),))
    np.testing.assert_allclose(interpret(graph, *arrays)[0], np.einsum(equation, *arrays), rtol=1e-5, atol=1e-5)


WRONG = [
    ("ij,jk->ik", "f32[3, 4]", "has 2 operands, given 1"),
    ("ijk->i", "f32[3, 4]", "operand 0 has 2 axes"),
    ("ii->i", "f32[3, 3]", "operand 0 repeats an index; take its diagonal first"),
    ("ij->k", "f32[3, 3]", "k is no selection of the indices"),
    ("ij,jk->ik", "f32[3, 4], f32[5, 2]", "has 4 columns"),
]


@pytest.mark.parametrize(("equation", "types", "message"), WRONG)
def test_equations_that_do_not_fit(equation: str, types: str, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        einsum(equation, *(Input(f"x{n}", t) for n, t in enumerate(parse_types(types))))
