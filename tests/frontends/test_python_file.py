"""`"file.py:function"` as a model, and the sentence for each way it can go wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from cuvil_pack import frontends
from cuvil_pack.errors import ModelError

SOURCE = """
import torch
from neighbour import SCALE

class Net(torch.nn.Module):
    def forward(self, x):
        return x * SCALE

def make_model():
    return Net(), (torch.ones(2, 3),)

def with_shapes():
    return Net(), (torch.ones(2, 3),), ({0: "rows"},)

def broken():
    return torch.ones(2) @ torch.ones(3)

def incomplete():
    return Net()
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "neighbour.py").write_text("SCALE = 2.0\n")
    (tmp_path / "net.py").write_text(SOURCE)
    (tmp_path / "typo.py").write_text("import torch\ndef make(:\n")
    (tmp_path / "raises.py").write_text("x = 1\nx.nothing\n")
    return tmp_path / "net.py"


def test_the_function_gives_module_and_examples(file: Path) -> None:
    model = frontends.read(f"{file}:make_model")
    assert model.name == "make_model"
    (node,) = model.entries[0].nodes()
    assert (node.where.file, node.where.code) == ("net.py", "return x * SCALE")


def test_the_function_may_give_shapes(file: Path) -> None:
    model = frontends.read(f"{file}:with_shapes", dims={"rows": (1, 5)})
    assert str(model.entries[0].inputs[0].type) == "f32[rows, 3]"


@pytest.mark.parametrize(
    ("source", "parts"),
    [
        ("net.py", ("needs the name of a function", "net.py:make_model")),
        ("net.py:nothing", ("has no function nothing", "make_model, with_shapes")),
        ("net.py:broken", ("net.py raises RuntimeError", "at net.py:16", "torch.ones(2) @ torch.ones(3)")),
        ("net.py:incomplete", ("returned (Net)", "a function that returns (module, example inputs)")),
        ("typo.py:make", ("typo.py raises SyntaxError", "at typo.py:2   def make(:")),
        ("raises.py:make", ("raises.py raises AttributeError", "at raises.py:2   x.nothing")),
        ("missing.py:make", ("there is no file",)),
    ],
)
def test_a_mistake_is_told_with_the_users_line(file: Path, source: str, parts: tuple[str, ...]) -> None:
    with pytest.raises(ModelError) as caught:
        frontends.read(f"{file.parent}/{source}")
    for part in parts:
        assert part in str(caught.value)
