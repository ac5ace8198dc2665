"""What folding makes: names, sizes, numbers, and weights that took up scales and shifts."""

import numpy as np
import pytest

from cuvil_pack.passes.bake import bake
from cuvil_pack.passes.fold import fold
from tests.passes.graphs import count, distance, example, read

CONV = "stride=(1, 1), dilation=(1, 1), groups=1"


def test_names_say_the_origin_and_are_unique() -> None:
    graph = read("""
        def g(x: f32[3, 4]):
            a = matmul(x, transpose(weight('w', f32[4, 4]), axes=(1, 0)))
            b = matmul(a, mul(transpose(weight('w', f32[4, 4]), axes=(1, 0)), 3.0))
            return matmul(b, mul(weight('w', f32[4, 4]), 3.0))
        """)
    assert list(fold(graph).weights()) == ["w.mul", "w.mul.2", "w.transpose"]


def test_names_are_the_same_every_time() -> None:
    text = "x: f32[3, 4] -> matmul(mul(matmul(x, weight('w', f32[4, 4])), weight('s', f32[4])), weight('w', f32[4, 4]))"
    assert list(fold(example(text)).weights()) == list(fold(example(text)).weights())


@pytest.mark.parametrize(
    "call",
    [
        "add(x, expand(weight('w', f32[1, 64]), shape=(2048, 64)))",
        "add(x, gather(weight('w', f32[4, 64]), expand(weight('i', i64[1]), shape=(2048,))))",
    ],
)
def test_what_would_grow_is_not_stored(call: str) -> None:
    graph = fold(read(f"def g(x: f32[2048, 64]):\n    return {call}", {"i": np.array([2])}))
    assert sum(w.data.nbytes for w in graph.weights().values()) <= 1024


def test_equal_elements_are_a_number() -> None:
    graph = fold(
        read("def g(x: f32[3, 4]):\n    return mul(x, weight('one', f32[4]))", {"one": np.ones(4, np.float32)})
    )
    assert not graph.weights() and not list(graph.nodes())


def test_arithmetic_is_rounded_once() -> None:
    w, s, t = (np.random.default_rng(n).standard_normal(64).astype(np.float32) for n in range(3))
    product = "mul(mul(weight('w', f32[64]), weight('s', f32[64])), weight('t', f32[64]))"
    graph = read(f"def g(x: f32[64]):\n    return add(x, {product})", {"w": w, "s": s, "t": t})
    (weight,) = fold(graph).weights().values()
    exact = w.astype(np.float64) * s.astype(np.float64) * t.astype(np.float64)
    assert np.array_equal(weight.data, exact.astype(np.float32))


@pytest.mark.parametrize(
    "call",
    [
        f"mul(conv(x, weight('w', f32[3, 3, 4, 8]), pads=((1, 1), (1, 1)), {CONV}), weight('s', f32[8]))",
        f"mul(add(conv(x, weight('w', f32[3, 3, 4, 8]), pads=((1, 1), (1, 1)), {CONV}), weight('b', f32[8])), 3.0)",
        f"conv(mul(x, weight('s', f32[4])), weight('w', f32[3, 3, 4, 8]), pads=((1, 1), (1, 1)), {CONV})",
        f"conv(add(x, weight('s', f32[4])), weight('w', f32[3, 3, 4, 8]), pads=((0, 0), (0, 0)), {CONV})",
        "matmul(add(mul(x, weight('s', f32[4])), weight('b', f32[4])), weight('w', f32[4, 8]))",
        "mul(conv(x, weight('w', f32[3, 3, 1, 4]), stride=(1, 1), dilation=(1, 1), groups=4, pads=((1, 1), (1, 1))), "
        "weight('s', f32[1, 1, 1, 4]))",
    ],
)
def test_scales_and_shifts_go_into_weights(call: str) -> None:
    before = read(f"def g(x: f32[2, 5, 5, 4]):\n    return {call}")
    after = fold(before)
    assert count(after, "mul") == 0 and count(after, "conv", "matmul") == 1
    assert distance(before, after) < 1e-6


def test_a_shift_stays_before_padding() -> None:
    call = f"conv(add(x, weight('s', f32[4])), weight('w', f32[3, 3, 4, 8]), pads=((1, 1), (1, 1)), {CONV})"
    before = read(f"def g(x: f32[2, 5, 5, 4]):\n    return {call}")
    assert [n.op.name for n in fold(before).nodes()] == ["add", "conv"]


def test_a_product_that_others_read_stays() -> None:
    before = read("""
        def g(x: f32[2, 4]):
            a = matmul(x, weight('w', f32[4, 4]))
            return add(mul(a, 3.0), relu(a))
        """)
    assert count(fold(before), "matmul") == 1 and count(fold(before), "mul") == 1


def test_queries_give_their_scale_to_attention() -> None:
    kinds = "q: f32[1, 4, 2, 3], k: f32[1, 2, 4, 3], v: f32[1, 2, 4, 3]"
    before = example(f"{kinds} -> attention(transpose(mul(q, 0.25), axes=(0, 2, 1, 3)), k, v, scale=1.0)")
    after = fold(before)
    assert count(after, "mul") == 0 and distance(before, after) < 1e-6


def test_stored_positions_are_counted_and_baked() -> None:
    text = "def g(x: f32[2, 4]):\n    return add(x, gather(weight('t', f32[9, 4]), weight('p', i64[2])))"
    graph = fold(read(text, {"p": np.array([3, 4])}))
    assert count(graph, "gather") == 0
    steps = example("x: f32[4, 8] -> mul(x, sin(cast(iota(shape=(8,), axis=0, dtype=i64), dtype=f32)))")
    assert count(fold(steps), "iota") == 1 and count(bake(steps), "iota") == 0
