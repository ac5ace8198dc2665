"""Modules and exported programs as models: names, sizes, weights, places, and the calls that travel along."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.export import Dim

from cuvil_pack import frontends
from cuvil_pack.errors import ExampleMismatch, ModelError, PackError, UnsupportedOps
from cuvil_pack.ir.graph import Graph, Model
from cuvil_pack.ir.interpret import interpret
from cuvil_pack.ir.text import from_text, to_text


def module(forward: Any, **members: Any) -> nn.Module:
    """A module with this forward and these members; tensors become buffers."""
    made = type("Small", (nn.Module,), {"forward": forward})()
    for name, value in members.items():
        if isinstance(value, Tensor) and not isinstance(value, nn.Parameter):
            made.register_buffer(name, value)
        else:
            setattr(made, name, value)
    return made


def graph(forward: Any, *inputs: Any, **how: Any) -> Graph:
    made = forward if isinstance(forward, nn.Module) else module(forward)
    return frontends.read(made, inputs, **how).entries[0]


def agrees(model: Model) -> None:
    """The graph answers as the model did."""
    assert model.examples
    for example in model.examples:
        for got, want in zip(interpret(model.entries[0], *example.inputs), example.outputs, strict=True):
            assert got.shape == want.shape
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


X = torch.randn(2, 3)


def test_importing_the_frontends_imports_no_torch() -> None:
    code = "import sys, cuvil_pack.frontends as f; f.frontends(); print({'torch', 'transformers'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_nested_inputs_and_outputs_have_readable_names() -> None:
    def forward(self: Any, x: Tensor, past: Any, *, mask: Tensor) -> Any:
        return {"hidden": x * mask, "past": [past["key"] + 1, past["value"]], "none": None}

    found = frontends.read(module(forward), {"x": X, "past": {"key": X, "value": X}, "mask": torch.ones(3)}).entries[0]
    assert [i.name for i in found.inputs] == ["x", "past_key", "past_value", "mask"]
    assert found.names == ("hidden", "past_0", "past_1")


@pytest.mark.parametrize(
    ("result", "names"),
    [
        (lambda x: x + 1, ("output",)),
        (lambda x: (x + 1, x), ("output0", "output1")),
        (lambda x: (x, {"a b": x}), ("output0", "output1_a_b")),
        (lambda x: {"v1": x, "lambda": x, "f32": x}, ("v1_", "lambda_", "f32_")),
        (lambda x: {"a": [x], "a_0": x}, ("a_0", "a_0_2")),
    ],
)
def test_output_names_are_identifiers_each_once(result: Any, names: tuple[str, ...]) -> None:
    assert graph(lambda self, x: result(x), X).names == names


def test_a_dataclass_is_flattened_by_its_fields() -> None:
    @dataclass
    class Found:
        hidden: Tensor
        logits: Tensor

    torch.export.register_dataclass(Found)
    assert graph(lambda self, x: Found(x + 1, x * 2), X).names == ("hidden", "logits")


def test_an_input_may_be_an_output_and_a_constant_too() -> None:
    found = graph(lambda self, x: (x, x, torch.tensor([1.0, 2.0]), 3, x.shape[0], None), X)
    array = X.numpy()
    got = interpret(found, array)
    np.testing.assert_array_equal(got[0], array)
    np.testing.assert_array_equal(got[2], [1, 2])
    assert [int(g) for g in got[3:]] == [3, 2]


def test_inputs_nobody_reads_stay() -> None:
    assert [i.name for i in graph(lambda self, x, y: x, X, X).inputs] == ["x", "y"]


def test_the_text_of_a_graph_reads_back() -> None:
    found = graph(nn.Sequential(nn.Linear(3, 4), nn.ReLU()), X, dims={"batch": (1, 32)})
    text = to_text(found)
    assert to_text(from_text(text, {n: w.data for n, w in found.weights().items()})) == text


def test_sizes_have_the_names_and_ranges_of_dims() -> None:
    found = graph(lambda self, x: x + 1, X, dims={"batch": (1, 32)})
    assert [(s.name, s.lo, s.hi) for s in found.sizes()] == [("batch", 1, 32)]
    assert str(found.outputs[0].type) == "f32[batch, 3]"


def test_dims_by_convention() -> None:
    image = torch.randn(1, 3, 8, 8)
    found = graph(lambda self, x: x * 2, image, dims={"batch": (1, 4), "height": (1, 64), "width": (2, None)})
    assert str(found.inputs[0].type) == "f32[batch, 3, height, width]"
    assert {s.name: (s.lo, s.hi) for s in found.sizes()} == {"batch": (1, 4), "height": (1, 64), "width": (2, None)}


def test_a_size_that_no_input_axis_shares_is_solved_from_any() -> None:
    found = graph(lambda self, x, y: (x + 1, y + 1), X, X, dims={"batch": (1, 8)})
    assert [str(i.type) for i in found.inputs] == ["f32[batch, 3]", "f32[batch, 3]"]


def test_an_example_of_size_1_is_made_larger() -> None:
    agrees(frontends.read(nn.Linear(3, 4), (X[:1],), dims={"batch": (1, 8)}))


def test_a_number_fixes_a_size() -> None:
    found = graph(lambda self, x: x + 1, X, dims={"batch": 5})
    assert found.inputs[0].type.shape == (5, 3)


def test_dynamic_shapes_name_axes_and_dims_gives_their_ranges() -> None:
    shapes = {"x": {0: Dim("rows", min=1, max=9)}, "y": {0: Dim("rows", min=1, max=9), 1: "columns"}}
    how = {"dynamic_shapes": shapes, "dims": {"columns": (1, 4)}}
    found = graph(lambda self, x, y: x.sum() + y, X, X, **how)
    assert {s.name: (s.lo, s.hi) for s in found.sizes()} == {"rows": (1, 9), "columns": (1, 4)}


def test_dynamic_shapes_by_position_with_hints_are_named_after_the_input() -> None:
    found = graph(lambda self, x: x + 1, X, dynamic_shapes=({0: Dim.DYNAMIC, 1: Dim.AUTO},))
    assert str(found.inputs[0].type) == "f32[x_dim0, x_dim1]"


def test_a_derived_size_is_an_expression() -> None:
    batch = Dim("batch", min=1, max=8)
    shapes = ({0: batch}, {0: 2 * batch})
    found = graph(lambda self, x, y: torch.cat([x, x]) + y, X, torch.randn(4, 3), dynamic_shapes=shapes)
    assert str(found.inputs[1].type) == "f32[2*batch, 3]"


def test_sizes_follow_convolutions_and_products() -> None:
    body = nn.Sequential(nn.Conv1d(3, 4, 3, 2, 1), nn.Conv1d(4, 4, 3, 2, 1), nn.Flatten())
    shapes = ({0: "batch", 2: "length"},)
    model = frontends.read(body, (torch.randn(2, 3, 16),), dynamic_shapes=shapes, dims={"length": (1, 99)})
    agrees(model)
    assert "batch" in str(model.entries[0].outputs[0].type)
    for length in (1, 2, 3, 7, 8):
        x = torch.randn(3, 3, length)
        (got,) = interpret(model.entries[0], x.numpy())
        with torch.no_grad():
            np.testing.assert_allclose(got, body(x).numpy(), rtol=1e-5, atol=1e-5)


def test_a_table_bounds_a_size_without_end() -> None:
    table = torch.randn(16)
    made = module(lambda self, x: x + self.table[: x.shape[1]], table=table)
    found = frontends.read(made, (X,), dynamic_shapes=({1: "seq"},)).entries[0]
    assert [(s.name, s.hi) for s in found.sizes()] == [("seq", 16)]


def test_a_size_without_a_range_begins_where_the_model_can_take_it() -> None:
    found = graph(nn.Conv1d(3, 4, 5), torch.randn(2, 3, 9), dynamic_shapes=({2: "length"},))
    assert [(s.name, s.lo, s.hi) for s in found.sizes()] == [("length", 5, None)]


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(7, 3)
        self.head = nn.Linear(3, 7, bias=False)
        self.head.weight = self.embed.weight
        self.register_buffer("scale", torch.tensor([0.5, 1.0, 2.0]), persistent=False)

    def forward(self, ids: Tensor) -> Tensor:
        logits: Tensor = self.head(self.embed(ids) * self.scale)
        return logits


def test_tied_weights_are_one_and_not_copied() -> None:
    made = Tied()
    found = frontends.read(made, (torch.tensor([[1, 2]]),)).entries[0]
    weights = found.weights()
    assert sorted(weights) == ["embed.weight", "scale"]
    assert weights["embed.weight"].data.ctypes.data == made.embed.weight.data_ptr()


def test_every_node_knows_the_users_line_and_module_without_a_folder() -> None:
    found = graph(nn.Sequential(nn.Linear(3, 4), module(lambda self, x: x.tanh())), X)
    places = {n.op.name: n.where for n in found.nodes()}
    assert (places["matmul"].module, places["tanh"].module) == ("0", "1")
    assert places["tanh"].file == Path(__file__).name
    assert "x.tanh()" in places["tanh"].code
    assert places["tanh"].line > 0


def test_a_module_in_training_is_packed_for_inference_and_left_as_it_was() -> None:
    made = nn.Sequential(nn.Dropout(), nn.BatchNorm1d(3)).train()
    made[1].eval()
    agrees(frontends.read(made, (X,), dims={"batch": (1, 4)}))
    assert [m.training for m in made.modules()] == [True, True, False]


def test_an_exported_program_is_a_model() -> None:
    program = torch.export.export(nn.Linear(3, 4), (X,), dynamic_shapes=({0: Dim("rows", max=8)},))
    model = frontends.read(program, dims={"input_dim0": (1, 8)})
    agrees(model)
    assert str(model.entries[0].inputs[0].type) == "f32[input_dim0, 3]"


def test_the_model_answers_at_the_example_and_at_the_least_sizes() -> None:
    model = frontends.read(nn.Linear(3, 4), (X,), dims={"batch": (1, 4)})
    assert [e.inputs[0].shape for e in model.examples] == [(2, 3), (1, 3)]
    agrees(model)


def test_a_buffer_that_changes_without_consequence_is_no_obstacle() -> None:
    made = nn.BatchNorm1d(3).eval()
    agrees(frontends.read(made, (X,)))


def counting(self: Any, x: Tensor) -> Tensor:
    self.count += 1
    return x + self.count


def branching(self: Any, x: Tensor) -> Tensor:
    return x.squeeze(0) if x.shape[0] == 1 else x


def choosing(self: Any, x: Tensor) -> Tensor:
    return x * 2 if x.shape[0] <= 5 else x


def raising(self: Any, x: Tensor) -> Tensor:
    raise ValueError("no good")


def refusing(self: Any, x: Tensor) -> Tensor:
    assert x.shape[0] != 1, "too few"
    return x + 1


def halving(self: Any, x: Tensor) -> Tensor:
    return x.reshape(x.shape[0] // 2, 2, 3).sum(1)


REFUSED: dict[str, tuple[Any, tuple[Any, ...], dict[str, Any], type[PackError], tuple[str, ...]]] = {
    "several operators": (
        lambda self, x: (torch.linalg.svd(x)[1], torch.nonzero(x), x[x > 0]),
        (X,),
        {},
        UnsupportedOps,
        ("3 operators cannot be packed", "_linalg_svd", "an index by a mask", f"at {Path(__file__).name}:", "x[x > 0]"),
    ),
    "state": (
        module(counting, count=torch.zeros(3)),
        (X,),
        {},
        UnsupportedOps,
        ("the model changes count as it runs", "self.count += 1"),
    ),
    "bfloat16": (nn.Linear(3, 4).bfloat16(), (X.bfloat16(),), {}, UnsupportedOps, ("bfloat16", "module.float()")),
    "complex": (lambda self, x: torch.fft.rfft(x).real, (X,), {}, UnsupportedOps, ("fft",)),
    "model raises": (raising, (X,), {}, ModelError, ("the model raises ValueError: no good", "test_torch_export.py:")),
    "branch on data": (
        lambda self, x: x if x.sum() > 0 else -x,
        (X,),
        {},
        ModelError,
        ("torch.export cannot trace it", "at test_torch_export.py:", "x.sum() > 0"),
    ),
    "no examples": (nn.ReLU(), (), {}, PackError, ("forward(input",)),
    "too many inputs": (nn.ReLU(), (X, X), {}, ExampleMismatch, ("too many positional arguments", "forward(input")),
    "unknown size": (
        nn.ReLU(),
        (X,),
        {"dims": {"heads": (1, 4)}},
        ExampleMismatch,
        ("no axis is named heads", "batch, seq"),
    ),
    "unknown size beside shapes": (
        nn.ReLU(),
        (X,),
        {"dims": {"b": (1, 4)}, "dynamic_shapes": ({0: "rows"},)},
        ExampleMismatch,
        ("no axis is named b: the names are rows",),
    ),
    "unequal sizes": (
        lambda self, x, y: (x, y),
        (X, torch.randn(3, 3)),
        {"dims": {"batch": (1, 4)}},
        ExampleMismatch,
        ("batch is 2 at x, axis 0 and 3 at y, axis 0",),
    ),
    "example beyond the range": (
        nn.ReLU(),
        (torch.randn(9, 3),),
        {"dims": {"batch": (1, 4)}},
        ExampleMismatch,
        ("batch is 9", "1 to 4"),
    ),
    "empty range": (nn.ReLU(), (X,), {"dims": {"batch": (4, 1)}}, ExampleMismatch, ("batch ranges from 4 to 1",)),
    "a size the model fixes": (
        lambda self, x: x + torch.ones(2, 3),
        (X,),
        {"dims": {"batch": (1, 4)}},
        ExampleMismatch,
        ("batch (x, axis 0) cannot vary: the model's code works for 2 only",),
    ),
    "two names for one size": (
        lambda self, x, y: x @ y,
        (X, torch.randn(3, 4)),
        {"dynamic_shapes": ({1: "a"}, {0: "b"})},
        ExampleMismatch,
        ("a and b are one size",),
    ),
    "another shape at size 1": (
        branching,
        (X,),
        {"dims": {"batch": (1, 4)}},
        ExampleMismatch,
        ("output is [3] where batch is 1", "give dims a larger least size"),
    ),
    "another path for a large size": (
        choosing,
        (X,),
        {"dims": {"batch": (1, 8)}},
        ExampleMismatch,
        ("batch is to reach 8, and the model's code works up to 5",),
    ),
    "a size that must be even": (
        halving,
        (X,),
        {"dims": {"batch": (2, 8)}},
        UnsupportedOps,
        ("has 3*batch elements", "test_torch_export.py:", "x.reshape(x.shape[0] // 2, 2, 3)"),
    ),
    "a size too small for the model": (
        nn.Conv1d(3, 3, 5),
        (torch.randn(2, 3, 9),),
        {"dynamic_shapes": ({2: "length"},), "dims": {"length": (1, 16)}},
        ExampleMismatch,
        ("the model cannot take length=1", "length >= 5"),
    ),
    "sizes that the model refuses": (
        refusing,
        (X,),
        {"dims": {"batch": (1, 16)}},
        ExampleMismatch,
        ("the model raises where batch is 1", "give dims a larger least size", "AssertionError: too few"),
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_refusal_says_what_and_where(case: str) -> None:
    forward, inputs, how, error, parts = REFUSED[case]
    made = forward if isinstance(forward, nn.Module) else module(forward)
    with pytest.raises(error) as caught:
        frontends.read(made, inputs, **how)
    for part in parts:
        assert part in str(caught.value)


def test_what_is_no_model_is_refused_with_what_would_be_one() -> None:
    with pytest.raises(PackError, match="is no model that Cuvil reads"):
        frontends.read(42)
    with pytest.raises(PackError, match="example inputs are needed"):
        frontends.read(nn.ReLU())
