"""Laws of attention's mask: what the op can say by itself is said there, and what masks nothing goes."""

from __future__ import annotations

import math
from functools import reduce

from ..ir.graph import Node, Value
from ..ir.types import DType, broadcast_shapes
from ..ops.attention import attention
from ..ops.elementwise import and_, not_, where
from ..ops.view import expand
from .positions import Place, distance_below, places
from .settle import law
from .values import literal, made_by, make

QKV = "q: f32[2, 3, s, 8], k: f32[2, 3, s, 8], v: f32[2, 3, s, 8]"


def _with_masks(node: Node, *masks: Value, **attrs: object) -> Value:
    return make(attention, *node.inputs[:3], *masks, **{**node.attrs, **attrs})


@law(attention, given=f"{QKV}, m: bool[2, 1, 1, s] -> attention(q, k, v, expand(m, shape=(2, 1, s, s)), scale=0.5)")
def mask_spreads(node: Node) -> Value | None:
    """A mask is repeated by the op itself."""
    views = [made_by(m, expand) for m in node.inputs[3:]]
    if not any(views):
        return None
    return _with_masks(node, *(m if n is None else n.inputs[0] for m, n in zip(node.inputs[3:], views, strict=True)))


@law(
    attention,
    given=(
        f"{QKV} -> attention(q, k, v, number(True, bool), scale=0.5)",
        f"{QKV} -> attention(q, k, v, number(0.0, f32), scale=0.5)",
    ),
)
def mask_of_nothing(node: Node) -> Value | None:
    """A mask that lets everything be seen."""
    kept = [m for m in node.inputs[3:] if literal(m) != (m.type.dtype is DType.BOOL)]
    return _with_masks(node, *kept) if len(kept) < len(node.inputs) - 3 else None


@law(
    attention,
    given=f"{QKV}, m: bool[2, 1, 1, s] -> attention(q, k, v, "
    "where(or_(m, le(iota(shape=(s,)), 0)), number(0.0, f32), number(float('-inf'), f32)), scale=0.5)",
)
def mask_of_infinities(node: Node) -> Value | None:
    """Adding 0 or minus infinity is choosing."""
    truths = [truth_of(m) for m in node.inputs[3:]]
    if all(a is b for a, b in zip(truths, node.inputs[3:], strict=True)):
        return None
    return _with_masks(node, *truths)


def truth_of(mask: Value) -> Value:
    """The bool mask that a float mask of zeros and minus infinities says; else the mask itself."""
    choice = made_by(mask, where)
    if choice is None or not mask.type.dtype.is_float:
        return mask
    condition, yes, no = choice.inputs
    if condition.type.shape != mask.type.shape:
        return mask
    match literal(yes), literal(no):
        case 0, no_number if no_number == -math.inf:
            return condition
        case yes_number, 0 if yes_number == -math.inf:
            return make(not_, condition)
    return mask


@law(
    attention,
    given=f"{QKV}, m: bool[2, 1, 1, s] -> attention(q, k, v, "
    "and_(le(iota(shape=(s,)), reshape(iota(shape=(s,)), shape=(s, 1))), or_(m, le(iota(shape=(s,)), 0))), scale=0.5)",
)
def mask_of_the_past(node: Node) -> Value | None:
    """What hides the keys after each query is `causal`."""
    q, k, _, *masks = node.inputs
    at = places((*q.type.shape[:3], k.type.shape[2]))
    kept = [without_past(m, at) for m in masks]
    if kept == list(masks):
        return None
    return _with_masks(node, *(m for m in kept if m is not None), causal=True)


def without_past(mask: Value, at: Place) -> Value | None:
    """A bool mask without what hides keys after the query; None where nothing else is left."""
    if mask.type.dtype is not DType.BOOL:
        return mask
    parts = conjuncts(mask)
    kept = [p for p in parts if not hides_the_future(p, at)]
    if len(kept) == len(parts):
        return mask
    return reduce(lambda a, b: make(and_, a, b), kept) if kept else None


def hides_the_future(condition: Value, at: Place) -> bool:
    tail = at[len(at) - condition.type.rank :]
    own = tuple(0 if d == 1 else i for i, d in zip(tail, condition.type.shape, strict=True))
    return distance_below(condition, own) == at[3] - at[2]


def conjuncts(condition: Value) -> list[Value]:
    """The conditions that must all hold."""
    found: list[Value] = []
    stack = [condition]
    while stack:
        value = stack.pop()
        node = made_by(value, and_)
        if node is not None and value.type.dtype is DType.BOOL:
            stack += reversed(node.inputs)
        else:
            found.append(value)
    return found


def is_mask(mask: Value, scores: Value) -> bool:
    """Whether attention takes `mask` beside these scores."""
    if mask.type.dtype not in (DType.BOOL, scores.type.dtype) or mask.type.rank > scores.type.rank:
        return False
    try:
        return broadcast_shapes(mask.type.shape, scores.type.shape) == scores.type.shape
    except TypeError:
        return False
