"""Every op, by each of its examples, through native code: packed, loaded, run, compared with its numpy meaning."""

from __future__ import annotations

import numpy as np
import pytest

import cuvil_pack.ops  # noqa: F401
from cuvil_pack.ir.graph import OPS, Array, Graph, Input, Value
from cuvil_pack.ir.interpret import interpret
from cuvil_pack.ir.size import Dim, evaluate, named
from cuvil_pack.ir.text import parse_call
from cuvil_pack.ir.types import DType, TensorType

from ..packing import answers, packed, relative_error, runnable

SIZES = {"batch": 2, "seq": 5, "h": 3, "w": 4, "n": 3}
INDEXED = frozenset(["gather", "take_along", "one_hot", "bucketize", "shl", "shr"])
CHUNK = 24
CALLS = [(name, k) for name in sorted(OPS) for k in range(len(OPS[name].examples))]
CHUNKS = [CALLS[i : i + CHUNK] for i in range(0, len(CALLS), CHUNK)]


def draw(t: TensorType, indices: bool, rng: np.random.Generator) -> Array:
    shape = tuple(evaluate(d, SIZES) for d in t.shape)
    if t.dtype is DType.BOOL:
        return rng.random(shape) < 0.5
    if t.dtype.is_float:
        return rng.standard_normal(shape).astype(t.dtype.numpy)
    low = 0 if indices or not t.dtype.is_signed else -4
    return rng.integers(low, 3 if indices else 5, shape).astype(t.dtype.numpy)


def calls(chunk: list[tuple[str, int]]) -> tuple[Graph, list[Array], list[str]]:
    """One graph with all the calls of a chunk, arrays for it, and which call each output belongs to."""
    sizes: dict[str, Dim] = {n: named(n) for n in SIZES}
    rng = np.random.default_rng(sum(map(len, (n for n, _ in chunk))))
    inputs: list[Input] = [Input("sizes", TensorType(DType.U8, tuple(sizes.values())))]
    arrays: list[Array] = [np.zeros(tuple(SIZES.values()), np.uint8)]
    outputs: list[Value] = []
    labels: list[str] = []
    for name, k in chunk:
        types, attrs = parse_call(OPS[name].examples[k], sizes)
        own = [Input(f"{name}_{k}_{n}", t) for n, t in enumerate(types)]
        result = OPS[name].node(*own, **attrs)
        results = result if isinstance(result, tuple) else (result,)
        inputs += own
        drawn = [draw(t, name in INDEXED, rng) for t in types]
        arrays += [np.sort(a) if name == "bucketize" and n == 1 else a for n, a in enumerate(drawn)]
        outputs += results
        labels += [f"{name}({OPS[name].examples[k]})"] * len(results)
    names = tuple(f"out{n}" for n in range(len(outputs)))
    return Graph("main", tuple(inputs), tuple(outputs), names), arrays, labels


@pytest.mark.parametrize("chunk", CHUNKS, ids=[f"{c[0][0]}..{c[-1][0]}" for c in CHUNKS])
def test_native_code_agrees_with_numpy(chunk, tmp_path):
    graph, arrays, labels = calls(chunk)
    targets = runnable()
    path = packed(graph, tmp_path, (*targets, "aarch64"))
    want = interpret(graph, *arrays)
    wrong = []
    for variant in targets:
        one, three = (answers(path, variant, threads, arrays) for threads in (1, 3))
        for label, a, b, right in zip(labels, one, three, want, strict=True):
            tolerance = 2e-3 if right.dtype == np.float16 else 2e-6
            if a.tobytes() != b.tobytes():
                wrong.append(f"{label} on {variant}: differs with the number of threads")
            if (error := relative_error(a, right)) > tolerance:
                wrong.append(f"{label} on {variant}: error {error:.1e}")
    assert not wrong, "\n".join(wrong)
