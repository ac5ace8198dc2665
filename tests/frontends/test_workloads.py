"""The benchmarks' models become graphs that answer as torch does, at sizes other than those traced."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from cuvil_pack import frontends
from cuvil_pack.ir.interpret import interpret

from ..benchmarks.workloads import WORKLOADS, get


@pytest.mark.slow
@pytest.mark.parametrize("name", WORKLOADS)
def test_a_workload_agrees_with_torch(name: str) -> None:
    module, args, shapes = get(name)
    graph = frontends.read(module, args, dynamic_shapes=shapes).entries[0]
    args = tuple(x[:, :17] for x in args) if name in ("minilm", "bert_base") else args
    with torch.no_grad():
        want = module(*args).numpy()
    (got,) = interpret(graph, *(x.numpy() for x in args))
    assert np.linalg.norm(got - want) <= 1e-5 * np.linalg.norm(want)
