"""Laws of scales and shifts by constants: they become part of the weights of the product beside them."""

from __future__ import annotations

from ..ir.graph import Node, Number, Value, Weight
from ..ir.size import product
from ..ops.attention import attention
from ..ops.conv import conv
from ..ops.elementwise import add, mul
from ..ops.matmul import matmul
from ..ops.reduce import reduce
from ..ops.view import reshape, transpose
from .settle import Law, Uses
from .values import is_constant, literal, made_by, make, shaped


def laws(uses: Uses) -> tuple[Law, ...]:
    """The laws, for a graph whose values are read `uses` times: a product that others read too stays as it is."""

    def alone(value: Value) -> bool:
        return uses[value] <= 1

    def scale_after(node: Node) -> Value | None:
        """`mul(conv(x, w), s)` is `conv(x, w * s)`."""
        x, s = node.inputs
        heavy = _heavy(x)
        if heavy is None or not alone(x):
            return None
        factor = _vector(s, x)
        if factor is None:
            return None
        return make(heavy.op, heavy.inputs[0], make(mul, heavy.inputs[1], factor), **heavy.attrs)

    def scale_after_bias(node: Node) -> Value | None:
        """`mul(add(conv(x, w), b), s)` is `add(conv(x, w) * s, b * s)`."""
        x, s = node.inputs
        inner = made_by(x, add)
        if inner is None or not is_constant(s) or not is_constant(inner.inputs[1]) or not alone(x):
            return None
        heavy = inner.inputs[0]
        if _heavy(heavy) is None or not alone(heavy) or _vector(s, heavy) is None:
            return None
        return make(add, make(mul, heavy, s), make(mul, inner.inputs[1], s))

    def scale_before(node: Node) -> Value | None:
        """`conv(mul(x, s), w)` is `conv(x, s * w)`."""
        x, w = node.inputs
        inner = made_by(x, mul)
        if inner is None or not alone(x) or _heavy_node(node) is None or node.attrs.get("groups", 1) != 1:
            return None
        factor = _vector(inner.inputs[1], x)
        if factor is None or inner.inputs[0].type != x.type:
            return None
        rows = factor if isinstance(factor, Number) else shaped(factor, (*factor.type.shape, 1))
        return make(node.op, inner.inputs[0], make(mul, w, rows), **node.attrs)

    def shift_before(node: Node) -> Value | None:
        """`conv(add(x, c), w)` without padding is `conv(x, w)` and a constant for each filter."""
        x, w = node.inputs
        inner = made_by(x, add)
        if inner is None or not alone(x) or _heavy_node(node) is None or node.attrs.get("groups", 1) != 1:
            return None
        shift = _vector(inner.inputs[1], x)
        padded = any(p != (0, 0) for p in node.attrs.get("pads", ()))
        if shift is None or padded or inner.inputs[0].type != x.type:
            return None
        rows = shift if isinstance(shift, Number) else shaped(shift, (*shift.type.shape, 1))
        total = make(reduce, make(mul, w, rows), kind="sum", axes=tuple(range(w.type.rank - 1)))
        return make(add, make(node.op, inner.inputs[0], w, **node.attrs), shaped(total, w.type.shape[-1:]))

    return (
        Law((mul,), scale_after),
        Law((mul,), scale_after_bias),
        Law((conv, matmul), scale_before),
        Law((conv, matmul), shift_before),
        Law((attention,), scaled_queries),
    )


def _heavy_node(node: Node) -> Node | None:
    """A convolution, or a product with one matrix, whose filters are constants."""
    if node.op not in (conv, matmul) or not isinstance(node.inputs[1], Weight):
        return None
    return node if node.op is conv or node.inputs[1].type.rank == 2 else None


def _heavy(value: Value) -> Node | None:
    node = made_by(value, conv, matmul)
    return None if node is None else _heavy_node(node)


def _vector(constant: Value, x: Value) -> Value | None:
    """A constant that differs only along the last axis of `x`, as one number or as a vector of that length."""
    if not is_constant(constant) or constant.type.rank > x.type.rank:
        return None
    if isinstance(constant, Number):
        return constant
    *leading, last = constant.type.shape or (1,)
    if product(leading) != 1 or last != x.type.shape[-1]:
        return None
    return shaped(constant, (last,))


def scaled_queries(node: Node) -> Value | None:
    """A number that multiplies queries or keys multiplies the scale of their product."""
    for n in (0, 1):
        found = _number_factor(node.inputs[n])
        if found is not None:
            value, number = found
            inputs = (*node.inputs[:n], value, *node.inputs[n + 1 :])
            return make(attention, *inputs, **{**node.attrs, "scale": node.attrs["scale"] * number})
    return None


def _number_factor(value: Value) -> tuple[Value, float] | None:
    """The value without the number that it is multiplied with, under views."""
    views: list[Node] = []
    while (view := made_by(value, reshape, transpose)) is not None:
        views.append(view)
        value = view.inputs[0]
    node = made_by(value, mul)
    number = None if node is None else literal(node.inputs[1])
    if node is None or number is None:
        return None
    bare = node.inputs[0]
    for view in reversed(views):
        bare = make(view.op, bare, **view.attrs)
    return bare, float(number)
