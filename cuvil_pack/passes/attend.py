"""Laws that recover attention, and grouped queries, where a model spells them out."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from ..ir.graph import Node, Value
from ..ops.attention import attention
from ..ops.elementwise import add, div, mul, not_, where
from ..ops.matmul import matmul
from ..ops.normalize import softmax
from ..ops.view import expand, reshape
from .masks import is_mask
from .settle import law
from .values import literal, made_by, make, number_like, shaped, turned

SPELLED = "q: f32[2, 3, 5, 8], k: f32[2, 3, 7, 8], v: f32[2, 3, 7, 8]"
PRODUCT = "matmul(q, transpose(k, axes=(0, 1, 3, 2)))"
NEVER = -1e30


@dataclass(frozen=True)
class Scores:
    """`scale * q @ k.T` and the masks over it, innermost first."""

    q: Value
    k: Value
    scale: float = 1.0
    masks: tuple[Value, ...] = ()


@law(
    matmul,
    given=(
        f"{SPELLED} -> matmul(softmax(mul({PRODUCT}, 0.3), axis=3), v)",
        f"{SPELLED}, m: f32[2, 1, 1, 7] -> matmul(softmax(add(div({PRODUCT}, 3.3), m), axis=3), v)",
        f"{SPELLED}, m: bool[5, 7] -> matmul(softmax(where(m, {PRODUCT}, -3e38), axis=3), v)",
        "q: f32[6, 5, 8], k: f32[6, 7, 8], v: f32[6, 7, 4] "
        "-> matmul(softmax(matmul(q, transpose(k, axes=(0, 2, 1))), axis=2), v)",
    ),
)
def attention_spelled(node: Node) -> Value | None:
    """`softmax(q @ k.T * scale + mask) @ v`, with four axes or with batch and heads in one."""
    weights, v = node.inputs
    soft = made_by(weights, softmax)
    if soft is None or v.type.rank not in (3, 4) or soft.attrs["axis"] != v.type.rank - 1:
        return None
    found = scores(soft.inputs[0])
    if found is None or not _fits(found, v):
        return None
    if v.type.rank == 4:
        return make(attention, found.q, found.k, v, *found.masks, scale=found.scale)
    if any(m.type.rank > 2 for m in found.masks):
        return None
    q, k, v = (shaped(x, (x.type.shape[0], 1, *x.type.shape[1:])) for x in (found.q, found.k, v))
    return shaped(make(attention, q, k, v, *found.masks, scale=found.scale), node.types[0].shape)


def _fits(found: Scores, v: Value) -> bool:
    q, k = found.q.type, found.k.type
    same = q.shape[:-2] == k.shape[:-2] == v.type.shape[:-2] and k.shape[-2] == v.type.shape[-2]
    return same and q.rank == k.rank == v.type.rank and q.dtype.is_float


def scores(value: Value) -> Scores | None:
    """What a model does to the scores before the softmax, from the outside in."""
    masks: list[Value] = []
    while (step := _masked(value)) is not None:
        value, mask = step
        masks.append(mask)
    scale = 1.0
    while (node := made_by(value, mul, div)) is not None and (number := literal(node.inputs[1])):
        value, scale = node.inputs[0], scale * number if node.op is mul else scale / number
    product = made_by(value, matmul)
    if product is None or not math.isfinite(scale):
        return None
    q, transposed = product.inputs
    rank = transposed.type.rank
    if rank not in (3, 4) or not all(is_mask(m, value) for m in masks):
        return None
    k = turned(transposed, (*range(rank - 2), rank - 1, rank - 2))
    return replace(Scores(q, k), scale=scale, masks=tuple(reversed(masks)))


def _masked(value: Value) -> tuple[Value, Value] | None:
    """The scores that a mask was laid over, and the mask as attention takes it."""
    node = made_by(value, add, where)
    if node is None:
        return None
    if node.op is add:
        a, b = node.inputs
        inner, mask = (a, b) if _is_scores(a) else (b, a)
        return (inner, mask) if _is_scores(inner) and inner.type == value.type else None
    condition, yes, no = node.inputs
    if _is_scores(yes) and yes.type == value.type and _is_never(no):
        return yes, _hiding(condition, no)
    if _is_scores(no) and no.type == value.type and _is_never(yes):
        return no, _hiding(make(not_, condition), yes)
    return None


def _is_never(value: Value) -> bool:
    number = literal(value)
    return number is not None and number < NEVER


def _hiding(condition: Value, never: Value) -> Value:
    """A bool mask hides like minus infinity; a large number instead is added, as a row may be hidden as a whole."""
    return condition if literal(never) == -math.inf else make(where, condition, number_like(never, 0.0), never)


def _is_scores(value: Value, limit: int = 8) -> bool:
    """Whether a product of queries and keys lies under scales and masks."""
    for _ in range(limit):
        node = made_by(value, add, mul, div, where, matmul)
        if node is None:
            return False
        if node.op is matmul:
            return True
        value = (
            node.inputs[0]
            if node.op is not where
            else next((i for i in node.inputs[1:] if literal(i) is None), node.inputs[1])
        )
    return False


@law(
    attention,
    given="q: f32[2, 6, 5, 8], k: f32[2, 2, 7, 8], v: f32[2, 2, 7, 8] -> attention(q, "
    "reshape(expand(reshape(k, shape=(2, 2, 1, 7, 8)), shape=(2, 2, 3, 7, 8)), shape=(2, 6, 7, 8)), "
    "reshape(expand(reshape(v, shape=(2, 2, 1, 7, 8)), shape=(2, 2, 3, 7, 8)), shape=(2, 6, 7, 8)), scale=0.5)",
)
def grouped_queries(node: Node) -> Value | None:
    """Keys and values repeated for each query head of their group are read by the group."""
    q, k, v, *masks = node.inputs
    fewer = [_unrepeated(x) for x in (k, v)]
    if fewer[0] is None or fewer[1] is None or fewer[0].type.shape[1] != fewer[1].type.shape[1]:
        return None
    return make(attention, q, *fewer, *masks, **node.attrs)


def _unrepeated(value: Value) -> Value | None:
    """`[batch, heads, length, depth]` where each head came `times` times in a row."""
    joined = made_by(value, reshape)
    wide = None if joined is None else made_by(joined.inputs[0], expand)
    if wide is None or value.type.rank != 4 or wide.types[0].rank != 5:
        return None
    x, (batch, heads, _, length, depth) = wide.inputs[0], wide.types[0].shape
    if (
        x.type.shape != (batch, heads, 1, length, depth)
        or value.type.shape[0] != batch
        or value.type.shape[2:] != (length, depth)
    ):
        return None
    return shaped(x, (batch, heads, length, depth))
