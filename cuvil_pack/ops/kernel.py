"""The kernel op: a group of ops that runs as one kernel. It marks the kernel level."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..ir.graph import Graph, op
from ..ir.types import TensorType


def _infer(*inputs: TensorType, body: Graph) -> tuple[TensorType, ...]:
    for given, wanted in zip(inputs, body.inputs, strict=True):
        if given != wanted.type:
            raise TypeError(f"{wanted.name} is {wanted.type}, given {given}")
    return tuple(o.type for o in body.outputs)


@op(_infer)
def kernel(*inputs: Any, body: Callable[..., list[Any]]) -> Any:
    """The outputs of `body`, a graph, on these inputs."""
    outputs = tuple(body(*inputs))
    return outputs[0] if len(outputs) == 1 else outputs
