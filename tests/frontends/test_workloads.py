"""The benchmarks' models become graphs that answer as torch does in double precision, at sizes other than those traced.

Single precision is no oracle for random weights: torch's own ResNet-50 is 1.6e-5 away from its double.
"""

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
    (got,) = interpret(graph, *(x.numpy() for x in args))
    with torch.no_grad():
        want = module.double()(*(x.double() if x.is_floating_point() else x for x in args)).numpy()
    assert np.linalg.norm(got - want) <= 1e-5 * np.linalg.norm(want)
