"""Laws that recover normalizations and activations where a model spells them out."""

from __future__ import annotations

import math
from collections import Counter

from ..ir.graph import OPS, Node, Number, Op, Value
from ..ir.size import product
from ..ops.activation import clamp, gelu, gelu_tanh, hardsigmoid, hardswish, mish, sigmoid, silu, softplus
from ..ops.elementwise import add, cast, div, erf, exp, log, log1p, mul, neg, pow_, reciprocal, rsqrt, sqrt, sub, tanh
from ..ops.indexing import size
from ..ops.normalize import layer_norm, log_softmax, rms_norm, softmax
from ..ops.reduce import reduce
from .settle import law
from .values import literal, made_by, make

Axes = tuple[int, ...]
CLOSE = 1e-4
MEAN = "mul(reduce({0}, kind='sum', axes=(1,)), 0.125)"
CENTRED = f"sub(x, {MEAN.format('x')})"


def mean_of(value: Value) -> tuple[Value, Axes] | None:
    """`x` and `axes`, where the value is the mean of `x` over them, which stay."""
    scaled = made_by(value, mul)
    total = None if scaled is None else made_by(scaled.inputs[0], reduce)
    if scaled is None or total is None or total.attrs["kind"] != "sum":
        return None
    x, axes = total.inputs[0], total.attrs["axes"]
    count = product(x.type.shape[a] for a in axes)
    if isinstance(count, int):
        number = literal(scaled.inputs[1])
        return (x, axes) if number is not None and _close(number * count, 1.0) else None
    inverse = made_by(scaled.inputs[1], reciprocal)
    number_of = None if inverse is None else made_by(inverse.inputs[0], cast)
    counted = None if number_of is None else made_by(number_of.inputs[0], size)
    return (x, axes) if counted is not None and counted.attrs["dim"] == count else None


def _close(a: float, b: float) -> bool:
    return math.isclose(a, b, rel_tol=CLOSE)


def _square_of(value: Value) -> Value | None:
    node = made_by(value, mul)
    return node.inputs[0] if node is not None and node.inputs[0] == node.inputs[1] else None


def _inverse_root(value: Value) -> tuple[Value, float] | None:
    """`variance` and `eps`, where the value is `rsqrt(variance + eps)`."""
    root = made_by(value, rsqrt)
    shifted = None if root is None else made_by(root.inputs[0], add)
    eps = None if shifted is None else literal(shifted.inputs[1])
    return None if shifted is None or eps is None else (shifted.inputs[0], float(eps))


@law(
    mul,
    given=(
        f"x: f32[4, 8] -> mul(x, rsqrt(add({MEAN.format('mul(x, x)')}, 0.01)))",
        f"x: f32[4, 8] -> mul({CENTRED}, rsqrt(add({MEAN.format(f'mul({CENTRED}, {CENTRED})')}, 0.01)))",
        f"x: f32[4, 8] -> mul({CENTRED}, rsqrt(add(variance(x, axes=(1,), correction=0), 0.01)))",
    ),
)
def normalization(node: Node) -> Value | None:
    """`x * rsqrt(mean(x * x) + eps)` is `rms_norm`, and of a centred `x`, `layer_norm`."""
    for x, factor in (node.inputs, node.inputs[::-1]):
        found = _inverse_root(factor)
        if found is None:
            continue
        variance, eps = found
        centred, axes = _centred(x)
        spread = _mean_square(variance)
        if spread == (x, axes) and centred is not None:
            return make(layer_norm, centred, axes=axes, eps=eps)
        if centred is not None and _is_variance(variance, centred, axes):
            return make(layer_norm, centred, axes=axes, eps=eps)
        if spread is not None and spread[0] == x:
            return make(rms_norm, x, axes=spread[1], eps=eps)
    return None


def _mean_square(value: Value) -> tuple[Value, Axes] | None:
    mean = mean_of(value)
    squared = None if mean is None else _square_of(mean[0])
    return None if mean is None or squared is None else (squared, mean[1])


def _centred(value: Value) -> tuple[Value | None, Axes]:
    """`x` and `axes`, where the value is `x - mean(x)`."""
    node = made_by(value, sub)
    mean = None if node is None else mean_of(node.inputs[1])
    if node is None or mean is None or mean[0] != node.inputs[0]:
        return None, ()
    return mean


def _is_variance(value: Value, x: Value, axes: Axes) -> bool:
    node = made_by(value, *(OPS[n] for n in ("variance",) if n in OPS))
    return node is not None and node.inputs[0] == x and dict(node.attrs) == {"axes": axes, "correction": 0}


@law(div, given="x: f32[4], y: f32[4] -> div(x, sqrt(exp(y)))")
def divided_by_root(node: Node) -> Value | None:
    """`x / sqrt(y)` is `x * rsqrt(y)`, as normalizations are recognised by it."""
    root = made_by(node.inputs[1], sqrt)
    return None if root is None else make(mul, node.inputs[0], make(rsqrt, root.inputs[0]))


SHIFTED = "sub(x, reduce(x, kind='max', axes=(1,)))"


@law(
    div,
    mul,
    given=(
        f"x: f32[4, 8] -> div(exp({SHIFTED}), reduce(exp({SHIFTED}), kind='sum', axes=(1,)))",
        f"x: f32[4, 8] -> mul(exp({SHIFTED}), reciprocal(reduce(exp({SHIFTED}), kind='sum', axes=(1,))))",
    ),
)
def softmax_spelled(node: Node) -> Value | None:
    """Exponentials over their sum."""
    e, total = node.inputs
    if node.op is mul:
        inverse = made_by(total, reciprocal)
        if inverse is None:
            return None
        total = inverse.inputs[0]
    summed, power = made_by(total, reduce), made_by(e, exp)
    if summed is None or power is None or summed.inputs[0] != e or summed.attrs["kind"] != "sum":
        return None
    x, axes = _shifted(power.inputs[0])
    if x is None or axes != summed.attrs["axes"] or len(axes) != 1:
        return None
    return make(softmax, x, axis=axes[0])


def _shifted(value: Value) -> tuple[Value | None, Axes]:
    """`x` and `axes`, where the value is `x` less its greatest element along them."""
    node = made_by(value, sub)
    greatest = None if node is None else made_by(node.inputs[1], reduce)
    if node is None or greatest is None or greatest.attrs["kind"] != "max" or greatest.inputs[0] != node.inputs[0]:
        return None, ()
    return node.inputs[0], greatest.attrs["axes"]


@law(
    sub,
    log,
    given=(
        f"x: f32[4, 8] -> sub({SHIFTED}, log(reduce(exp({SHIFTED}), kind='sum', axes=(1,))))",
        "x: f32[4, 8] -> log(softmax(x, axis=1))",
    ),
)
def log_softmax_spelled(node: Node) -> Value | None:
    """The logarithm of a softmax."""
    if node.op is log:
        soft = made_by(node.inputs[0], softmax)
        return None if soft is None else make(log_softmax, soft.inputs[0], axis=soft.attrs["axis"])
    shifted, logarithm = node.inputs[0], made_by(node.inputs[1], log)
    summed = None if logarithm is None else made_by(logarithm.inputs[0], reduce)
    power = None if summed is None else made_by(summed.inputs[0], exp)
    if summed is None or power is None or power.inputs[0] != shifted or summed.attrs["kind"] != "sum":
        return None
    x, axes = _shifted(shifted)
    if x is None or axes != summed.attrs["axes"] or len(axes) != 1:
        return None
    return make(log_softmax, x, axis=axes[0])


@law(
    reciprocal,
    div,
    given=(
        "x: f32[4] -> reciprocal(add(exp(neg(x)), 1.0))",
        "x: f32[4] -> div(x, add(exp(neg(x)), 1.0))",
        "x: f32[4], y: f32[4] -> div(y, add(exp(neg(x)), 1.0))",
    ),
)
def sigmoid_spelled(node: Node) -> Value | None:
    """`1 / (1 + exp(-x))` is `sigmoid`, and `x` times it `silu`."""
    shifted = made_by(node.inputs[-1], add)
    power = None if shifted is None or literal(shifted.inputs[1]) != 1 else made_by(shifted.inputs[0], exp)
    if power is None:
        return None
    negated, scaled = made_by(power.inputs[0], neg), made_by(power.inputs[0], mul)
    if negated is None and scaled is None:
        return None
    x = negated.inputs[0] if negated is not None else make(neg, power.inputs[0])
    gate = make(sigmoid, x)
    return gate if node.op is reciprocal else make(mul, node.inputs[0], gate)


@law(
    log1p,
    log,
    given=("x: f32[4] -> log1p(exp(x))", "x: f32[4] -> log(add(exp(x), 1.0))"),
)
def softplus_spelled(node: Node) -> Value | None:
    """`log(1 + exp(x))`."""
    inner = node.inputs[0]
    if node.op is log:
        shifted = made_by(inner, add)
        if shifted is None or literal(shifted.inputs[1]) != 1:
            return None
        inner = shifted.inputs[0]
    power = made_by(inner, exp)
    return None if power is None else make(softplus, power.inputs[0])


@law(
    mul,
    given=(
        "x: f32[9] -> mul(clamp(add(x, 3.0), lo=0.0, hi=6.0), 0.16666667)",
        "x: f32[9] -> mul(x, sigmoid(x))",
        "x: f32[9] -> mul(x, tanh(softplus(x)))",
        "x: f32[9] -> mul(x, hardsigmoid(x))",
        "x: f32[9] -> mul(mul(x, clamp(add(x, 3.0), lo=0.0, hi=6.0)), 0.16666667)",
        "x: f32[9] -> mul(mul(x, 0.5), add(erf(mul(x, 0.70710678)), 1.0))",
        "x: f32[9] -> mul(mul(x, add(erf(mul(x, 0.70710678)), 1.0)), 0.5)",
        "x: f32[9] -> mul(mul(x, 0.5), add(tanh(mul(add(x, mul(mul(mul(x, x), x), 0.044715)), 0.79788456)), 1.0))",
        "x: f32[9] -> mul(mul(x, 0.5), add(tanh(mul(mul(x, 0.79788456), add(mul(mul(x, 0.044715), x), 1.0))), 1.0))",
    ),
)
def gated(node: Node) -> Value | None:
    """A value times a function of itself: gelu, silu, hardswish, mish, and the hard sigmoid."""
    number, values = factors(node)
    for gate in values:
        rest = values - Counter([gate])
        found = _gate(gate)
        if found is None:
            continue
        x, whole, scale = found
        own_number, own = _factors_of(x)
        if whole is None:
            continue
        if whole is hardsigmoid and not rest and _close(number, scale):
            return make(hardsigmoid, x)
        if rest == own and _close(number, scale * own_number):
            return make(GATED.get(whole, whole), x)
    return None


GATED: dict[Op, Op] = {hardsigmoid: hardswish}


def _gate(value: Value) -> tuple[Value, Op | None, float] | None:
    """`x`, the function that is `x * value * scale`, and that scale."""
    node = made_by(value, sigmoid, hardsigmoid, tanh, clamp, add)
    if node is None:
        return None
    inner = node.inputs[0]
    match node.op.name:
        case "sigmoid":
            return inner, silu, 1.0
        case "hardsigmoid":
            return inner, hardsigmoid, 1.0
        case "tanh":
            soft = made_by(inner, softplus)
            return None if soft is None else (soft.inputs[0], mish, 1.0)
        case "clamp":
            shifted = made_by(inner, add)
            bounds = (node.attrs["lo"], node.attrs["hi"])
            if shifted is None or bounds != (0.0, 6.0) or literal(shifted.inputs[1]) != 3:
                return None
            return shifted.inputs[0], hardsigmoid, 1.0 / 6.0
    return _gauss(node)


def _gauss(node: Node) -> tuple[Value, Op | None, float] | None:
    """`1 + erf(x / sqrt(2))` and `1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x ** 3))`."""
    curve = made_by(node.inputs[0], erf, tanh)
    if curve is None or literal(node.inputs[1]) != 1:
        return None
    for x in _leaves(curve.inputs[0]):
        terms = polynomial(curve.inputs[0], x)
        if terms is None:
            continue
        if curve.op is erf and terms.keys() == {1} and _close(terms[1], math.sqrt(0.5)):
            return x, gelu, 0.5
        slope = math.sqrt(2.0 / math.pi)
        if (
            curve.op is tanh
            and terms.keys() == {1, 3}
            and _close(terms[1], slope)
            and _close(terms[3], slope * 0.044715)
        ):
            return x, gelu_tanh, 0.5
    return None


def _leaves(value: Value, limit: int = 24) -> list[Value]:
    """The values that a polynomial may be one of: those under it, nearest first."""
    found = [value]
    for v in found:
        node = made_by(v, add, sub, mul, neg, pow_)
        if node is not None and len(found) < limit:
            found += [i for i in node.inputs if not isinstance(i, Number) and i not in found]
    return found


def polynomial(value: Value, x: Value, depth: int = 8) -> dict[int, float] | None:
    """The coefficients by power, where the value is a polynomial of `x`; None where it is not, or is too deep."""
    if value == x:
        return {1: 1.0}
    number = literal(value)
    if number is not None:
        return {0: float(number)} if number else {}
    node = made_by(value, add, sub, mul, neg)
    if node is None or depth == 0:
        return None
    parts = [polynomial(i, x, depth - 1) for i in node.inputs]
    if None in parts:
        return None
    known = [p for p in parts if p is not None]
    if node.op is neg:
        return {p: -c for p, c in known[0].items()}
    a, b = known
    return _times(a, b) if node.op is mul else _plus(a, b, 1.0 if node.op is add else -1.0)


def _plus(a: dict[int, float], b: dict[int, float], sign: float) -> dict[int, float]:
    total = {p: a.get(p, 0.0) + sign * b.get(p, 0.0) for p in a.keys() | b.keys()}
    return {p: c for p, c in total.items() if c}


def _times(a: dict[int, float], b: dict[int, float]) -> dict[int, float]:
    total: dict[int, float] = {}
    for p, c in a.items():
        for q, d in b.items():
            total[p + q] = total.get(p + q, 0.0) + c * d
    return total


def factors(node: Node, limit: int = 8) -> tuple[float, Counter[Value]]:
    """The numbers multiplied, and the other factors of a product."""
    number, values = 1.0, Counter[Value]()
    stack = list(node.inputs)
    while stack:
        value = stack.pop()
        inner, known = made_by(value, mul), literal(value)
        if known is not None:
            number *= float(known)
        elif inner is not None and limit:
            limit -= 1
            stack += inner.inputs
        else:
            values[value] += 1
    return number, values


def _factors_of(value: Value) -> tuple[float, Counter[Value]]:
    node = made_by(value, mul)
    return (1.0, Counter([value])) if node is None else factors(node)
