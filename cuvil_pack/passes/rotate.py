"""The law of rotary positions: rotating halves is reading them in the other order, with signs (Su et al. 2021)."""

from __future__ import annotations

from ..ir.graph import Node, Result, Value
from ..ir.size import Dim, floordiv
from ..ops.elementwise import add, mul, neg
from ..ops.indexing import iota
from ..ops.join import concat
from ..ops.view import flip, reshape, slice_
from .settle import law
from .values import made_by, make, number_like, shaped

ROTATED = "concat(neg(slice(x, axis=2, start=4, stop=8)), slice(x, axis=2, start=0, stop=4), axis=2)"


@law(
    add,
    given=(
        f"x: f32[2, 5, 8], c: f32[5, 8], s: f32[5, 8] -> add(mul(x, c), mul({ROTATED}, s))",
        f"x: f32[2, 5, 8], f: f32[5, 4] "
        f"-> add(mul(x, cos(concat(f, f, axis=1))), mul({ROTATED}, sin(concat(f, f, axis=1))))",
    ),
)
def rotary(node: Node) -> Value | None:
    """`x * cos + rotate_half(x) * sin`, said on `[..., 2, half]`, where every row is read as it lies."""
    for plain, crossed in (node.inputs, node.inputs[::-1]):
        products = made_by(plain, mul), made_by(crossed, mul)
        if products[0] is None or products[1] is None:
            continue
        for x, cosine in (products[0].inputs, products[0].inputs[::-1]):
            for rotated, sine in (products[1].inputs, products[1].inputs[::-1]):
                if x.type == node.types[0] and half_rotated(rotated) == x:
                    return shaped(_rotate(x, cosine, sine), x.type.shape)
    return None


def half_rotated(value: Value) -> Value | None:
    """`x`, where the value is its second half negated, then its first half, along the last axis."""
    joined = made_by(value, concat)
    if joined is None or len(joined.inputs) != 2 or joined.attrs["axis"] != value.type.rank - 1:
        return None
    negated, first = made_by(joined.inputs[0], neg), made_by(joined.inputs[1], slice_)
    second = None if negated is None else made_by(negated.inputs[0], slice_)
    if first is None or second is None or first.inputs != second.inputs:
        return None
    half = floordiv(value.type.shape[-1], 2)
    wanted = [_part(value, 0, half), _part(value, half, half * 2)]
    return first.inputs[0] if [dict(first.attrs), dict(second.attrs)] == wanted else None


def _part(value: Value, start: Dim, stop: Dim) -> dict[str, Dim]:
    return {"axis": value.type.rank - 1, "start": start, "stop": stop, "step": 1}


def _rotate(x: Value, cosine: Value, sine: Value) -> Value:
    pair = halves(x)
    axis = pair.type.rank - 2
    line = make(iota, shape=(2,), axis=0, dtype=x.type.dtype)
    signs = shaped(make(add, make(mul, line, number_like(x, 2.0)), number_like(x, -1.0)), (2, 1))
    crossed = make(mul, make(flip, pair, axis=axis), make(mul, halves(sine), signs))
    return make(add, make(mul, pair, halves(cosine)), crossed)


def halves(value: Value) -> Value:
    """`[..., 2, half]` of `[..., 2 * half]`, or `[..., 1, half]` where both halves are equal."""
    *lead, width = value.type.shape
    if width == 1:
        return shaped(value, (*lead, 1, 1))
    if isinstance(value, Result) and value.node.op.elementwise and len(value.node.inputs) == 1:
        return make(value.node.op, halves(value.node.inputs[0]), **value.node.attrs)
    node = made_by(value, concat, reshape)
    if node is None:
        return shaped(value, (*lead, 2, floordiv(width, 2)))
    x = node.inputs[0]
    if node.op is reshape and x.type.rank > 0 and x.type.shape[-1] == width:
        pair = halves(x)
        return shaped(pair, (*lead, *pair.type.shape[-2:]))
    equal = node.op is concat and node.attrs["axis"] == len(lead) and len(node.inputs) == 2 and x == node.inputs[1]
    return shaped(x, (*lead, 1, floordiv(width, 2))) if equal else shaped(value, (*lead, 2, floordiv(width, 2)))
