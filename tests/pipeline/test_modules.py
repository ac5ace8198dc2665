"""Small modules that went wrong once, or are likely to: packed, and compared with torch in double precision."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import cuvil_runtime
import numpy as np
import pytest
import torch
from torch import nn

from cuvil_pack import pack

from ..packing import relative_error, runnable


class Call(nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: torch.Tensor) -> Any:
        return self.function(*inputs)


def r(*shape: int) -> torch.Tensor:
    return torch.randn(*shape)


MODULES: dict[str, tuple[nn.Module, tuple[torch.Tensor, ...]]] = {
    "one column and a bias": (nn.Linear(10, 1), (r(6, 10),)),
    "one filter and a bias": (nn.Conv2d(10, 1, 3), (r(2, 10, 6, 5),)),
    "one channel, one filter": (nn.Conv2d(1, 1, 3), (r(2, 1, 6, 5),)),
    "one pointwise filter, then a sigmoid": (nn.Sequential(nn.Conv2d(10, 1, 1), nn.Sigmoid()), (r(2, 10, 6, 5),)),
    "one filter along a line": (nn.Conv1d(4, 1, 3), (r(2, 4, 9),)),
    "a product of vectors and a number": (Call(lambda x, y: x @ y + 1), (r(10), r(10))),
    "an input twice": (Call(lambda x: (x, x)), (r(2, 2),)),
    "an input, a view of it, and a constant": (Call(lambda x: (x, x.view(4), torch.ones(3))), (r(2, 2),)),
    "one result twice": (Call(lambda x: [x + 1] * 2), (r(2, 2),)),
    "half precision": (
        nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU()).half().eval(),
        (r(2, 3, 6, 6).half(),),
    ),
    "double precision": (nn.Sequential(nn.Linear(5, 7), nn.GELU()).double(), (r(3, 5).double(),)),
    "volumes": (nn.Conv3d(2, 3, 3, padding=1), (r(1, 2, 4, 5, 3),)),
}


def leaves(result: Any) -> list[Any]:
    return [x.double().numpy() for x in (result if isinstance(result, tuple | list) else (result,))]


@pytest.mark.parametrize("name", MODULES)
def test_as_torch_has_it(name: str, tmp_path: Path) -> None:
    torch.manual_seed(0)
    module, inputs = MODULES[name]
    path = pack(module.eval(), inputs, output=tmp_path / "m.cuvil", targets=runnable()[-1])
    with torch.no_grad():
        want = leaves(module(*inputs))
    tolerance = 5e-3 if inputs[0].dtype == torch.float16 else 1e-5
    with cuvil_runtime.load(path, threads=2) as session:
        got = session(*(x.numpy() for x in inputs))
        results = got if isinstance(got, tuple) else (got,)
        assert len(results) == len(want)
        assert all(relative_error(np.asarray(a), b) <= tolerance for a, b in zip(results, want, strict=True))


@pytest.mark.parametrize("size", ["n", "m", "int", "unit", "first", "sizes", "k0", "batch"])
def test_sizes_may_have_any_name(size: str, tmp_path: Path) -> None:
    module = nn.Sequential(nn.Linear(6, 5), nn.LayerNorm(5), nn.Softmax(-1))
    shapes = ({0: torch.export.Dim(size, max=9)},)
    path = pack(module.eval(), (r(3, 6),), output=tmp_path / "m.cuvil", targets=runnable()[-1], dynamic_shapes=shapes)
    x = r(1, 6)
    with torch.no_grad(), cuvil_runtime.load(path) as session:
        assert relative_error(session(x.numpy()), module(x).numpy()) <= 1e-5
