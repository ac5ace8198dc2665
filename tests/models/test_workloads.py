"""The seven benchmark models, packed and run in every variant, against torch in float64 on fresh inputs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import cuvil_runtime
import numpy as np
import pytest
import torch

from cuvil_pack import pack

from ..benchmarks.workloads import WORKLOADS, get
from ..packing import poison, relative_error, runnable

STANDARD = 1e-5
BATCHES = {"bert_base": (1, 2), "whisper_tiny_encoder": (1,)}


@pytest.fixture(scope="module", params=sorted(WORKLOADS))
def packed(request: Any, tmp_path_factory: Any) -> tuple[str, Path]:
    name = request.param
    module, args, shapes = get(name)
    path = tmp_path_factory.mktemp(name) / f"{name}.cuvil"
    return name, pack(module, args, output=path, dynamic_shapes=shapes)


def fresh(args: tuple[torch.Tensor, ...], batch: int) -> list[torch.Tensor]:
    """Inputs of the kind the example has, at another batch size."""
    generator = torch.Generator().manual_seed(batch)
    drawn = []
    for n, a in enumerate(args):
        shape = (batch, *a.shape[1:])
        if a.is_floating_point():
            drawn.append(torch.randn(shape, generator=generator))
        else:
            drawn.append(torch.randint(0, 2 if n else 1000, shape, generator=generator).clamp(min=1 if n else 0))
    return drawn


def answer(module: torch.nn.Module, inputs: list[torch.Tensor]) -> Any:
    with torch.no_grad():
        return module(*inputs).numpy()


def test_right_in_every_variant(packed: tuple[str, Path]) -> None:
    name, path = packed
    module, args, _ = get(name)
    for batch in BATCHES.get(name, (1, 3)):
        inputs = fresh(args, batch)
        single = answer(module, inputs)
        exact = answer(module.double(), [x.double() if x.is_floating_point() else x for x in inputs])
        module.float()
        allowed = max(STANDARD, 2 * relative_error(single, exact))
        arrays = [x.numpy() for x in inputs]
        for variant in runnable():
            results = [run(path, variant, threads, arrays) for threads in (1, 2)]
            assert results[0].tobytes() == results[1].tobytes(), f"{variant} differs with the number of threads"
            error = relative_error(results[0], exact)
            assert error <= allowed, f"{variant}, batch {batch}: error {error:.1e}, allowed {allowed:.1e}"


def run(path: Path, variant: str, threads: int, arrays: list[np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
    with cuvil_runtime.load(path, threads=threads, variant=variant) as session:
        feeds = {spec.name: a for spec, a in zip(session.inputs, arrays, strict=True)}
        out = {name: poison(a) for name, a in session.run(feeds).items()}
        session.run(feeds, out=out)
        (result,) = out.values()
        return result
