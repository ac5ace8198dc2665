"""Whole passes on small models: the meaning stays, and what is left is what was hoped for."""

import numpy as np
import pytest

from cuvil_pack.ir.graph import Array, Graph
from cuvil_pack.passes import PASSES, Pass
from cuvil_pack.passes.fuse import fuse
from tests.passes import models
from tests.passes.graphs import count, distance, read

BEFORE_KERNELS = PASSES[: PASSES.index(fuse)]
NAMES = ("RESIDUAL", "SQUEEZE", "UNET", "SHARPEN", "PATCHES", "MIXED", "LINE", "ENCODER", "DECODER")
LINES = {"positions.ids": np.arange(16).reshape(1, 16)}


def model(name: str) -> Graph:
    return read(getattr(models, name), LINES)


def after(graph: Graph, passes: tuple[Pass, ...] = BEFORE_KERNELS) -> Graph:
    for each in passes:
        graph = each(graph)
    return graph


def feeds(graph: Graph) -> dict[str, Array]:
    """Ids below 2, and a mask that hides some keys but never all."""
    return (
        {"mask": np.array([[1, 1, 1, 0], [1, 1, 0, 0], [1, 0, 0, 0], [1, 1, 1, 1]])} if graph.name == "encoder" else {}
    )


@pytest.mark.parametrize("name", NAMES)
def test_every_pass_keeps_meaning(name: str) -> None:
    first = graph = model(name)
    for each in PASSES:
        graph = each(graph)
        assert distance(first, graph, feeds(first)) < 2e-6, each.__name__


@pytest.mark.parametrize("name", NAMES)
def test_passes_come_to_an_end(name: str) -> None:
    """What the passes made, they leave as it is."""
    graph = after(model(name))
    again = after(graph)
    assert [n.op.name for n in again.nodes()] == [n.op.name for n in graph.nodes()]


@pytest.mark.parametrize(
    "name, transposes",
    [
        ("RESIDUAL", 1),
        ("SQUEEZE", 1),
        ("UNET", 2),
        ("SHARPEN", 2),
        ("PATCHES", 1),
        ("MIXED", 0),
        ("LINE", 1),
        ("ENCODER", 4),
        ("DECODER", 4),
    ],
)
def test_few_transposes_are_left(name: str, transposes: int) -> None:
    """One brings an image in order; one brings it back where the output is an image; heads are split and joined."""
    assert count(after(model(name)), "transpose") == transposes


def test_scales_are_gone() -> None:
    graph = after(model("RESIDUAL"))
    assert count(graph, "rsqrt", "sub", "mul") == 0
    assert count(graph, "add") == 5


def test_pointwise_convolutions_are_products() -> None:
    graph = after(model("SQUEEZE"))
    assert (count(graph, "conv"), count(graph, "matmul")) == (2, 3)


def test_stem_is_padded_with_the_transpose() -> None:
    assert count(after(model("RESIDUAL")), "pad") == 1


def test_projections_are_merged() -> None:
    assert count(after(model("ENCODER")), "matmul") == 2
    assert count(after(model("DECODER")), "matmul") == 5


def test_mask_is_one_view() -> None:
    """Of all that computes the mask, one cast and one reshape are left."""
    graph = after(model("ENCODER"))
    assert count(graph, "iota", "and", "ge", "expand", "size") == 0
    assert count(graph, "cast") == 1
    assert count(graph, "gather") == 1


def test_decoder_is_recovered() -> None:
    graph = after(model("DECODER"))
    (node,) = (n for n in graph.nodes() if n.op.name == "attention")
    assert node.attrs["causal"] and len(node.inputs) == 3 and node.attrs["scale"] == pytest.approx(1 / 1.7)
    assert [count(graph, n) for n in ("rms_norm", "silu", "gelu_tanh", "softmax", "concat", "flip")] == [
        1,
        1,
        1,
        0,
        0,
        2,
    ]


def test_only_the_class_row_is_computed() -> None:
    graph = after(model("PATCHES"))
    rows = [n.types[0].shape[1] for n in graph.nodes() if n.op.name == "matmul" and n.types[0].rank == 3]
    assert set(rows) == {1}
