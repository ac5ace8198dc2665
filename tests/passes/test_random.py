"""Random graphs keep their meaning through every pass."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cuvil_pack.ir.graph import OPS, Graph, Input, Value
from cuvil_pack.ir.size import named
from cuvil_pack.ir.types import DType, TensorType
from cuvil_pack.passes import PASSES
from tests.passes.graphs import distance

BATCH = named("batch", 1, 8)
UNARY = ("relu", "neg", "abs", "sigmoid", "tanh")
BINARY = ("add", "sub", "mul", "maximum", "minimum")
NUMBERS = (0.0, 1.0, -1.0, 2.0, 0.3)
X = Input("x", TensorType(DType.F32, (BATCH, 3, 4)))
Y = Input("y", TensorType(DType.F32, (BATCH, 4, 3)))


def build(op: str, *inputs: object, **attrs: object) -> Value:
    value: Value = OPS[op].node(*inputs, **attrs)
    return value


def unary(draw: st.DrawFn, x: Value) -> Value:
    return build(draw(st.sampled_from(UNARY)), x)


def with_number(draw: st.DrawFn, x: Value) -> Value:
    return build(draw(st.sampled_from(BINARY)), x, draw(st.sampled_from(NUMBERS)))


def transposed(draw: st.DrawFn, x: Value) -> Value:
    return build("transpose", x, axes=tuple(draw(st.permutations(range(x.type.rank)))))


def reduced(draw: st.DrawFn, x: Value) -> Value:
    return build("reduce", x, kind=draw(st.sampled_from(("sum", "max"))), axes=(draw(axis_of(x)),))


def normalized(draw: st.DrawFn, x: Value) -> Value:
    return build("softmax", x, axis=draw(axis_of(x)))


def axis_of(x: Value) -> st.SearchStrategy[int]:
    return st.integers(0, x.type.rank - 1)


def sliced(draw: st.DrawFn, x: Value) -> Value:
    axis = draw(axis_of(x))
    stop = x.type.shape[axis]
    start = draw(st.integers(0, stop - 1)) if isinstance(stop, int) else 0
    return build("slice", x, axis=axis, start=start, stop=stop, step=draw(st.integers(1, 2)))


def padded(draw: st.DrawFn, x: Value) -> Value:
    return build("pad", x, pads=tuple(draw(st.tuples(st.integers(0, 1), st.integers(0, 1))) for _ in x.type.shape))


def joined(draw: st.DrawFn, x: Value) -> Value:
    return build("concat", x, unary(draw, x), axis=draw(axis_of(x)))


def flattened(draw: st.DrawFn, x: Value) -> Value:
    axis = draw(st.integers(0, x.type.rank - 1))
    shape = list(x.type.shape)
    if axis + 1 < len(shape) and len(shape) > 2:
        shape[axis : axis + 2] = [shape[axis] * shape[axis + 1]]
    else:
        shape.insert(axis, 1)
    return build("reshape", x, shape=tuple(shape))


def spread(draw: st.DrawFn, x: Value) -> Value:
    return build("expand", x, shape=tuple(2 if d == 1 else d for d in x.type.shape))


STEPS = (unary, with_number, transposed, reduced, normalized, sliced, padded, joined, flattened, spread)


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    values: list[Value] = [X, Y]
    for _ in range(draw(st.integers(2, 12))):
        x = draw(st.sampled_from(values[-4:]))
        pairs = [v for v in values if v is not x and v.type == x.type]
        if pairs and draw(st.booleans()):
            values.append(build(draw(st.sampled_from(BINARY)), x, draw(st.sampled_from(pairs))))
        elif x.type.rank < 6 and isinstance(x.type.numel // BATCH, int):
            values.append(draw(st.sampled_from(STEPS))(draw, x))
    return Graph("random", (X, Y), tuple(values[-2:]))


@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(graphs())
def test_passes_keep_the_meaning_of_random_graphs(graph: Graph) -> None:
    after = graph
    for each in PASSES:
        after = each(after)
        assert distance(graph, after) < 1e-5, each.__name__
