"""Calls of the user's model, to check against: at the sizes of the example, and at the least sizes."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ..errors import ExampleMismatch, PackError
from ..ir.graph import Array, Example, Graph
from ..ir.interpret import solve
from ..ir.size import evaluate
from .trouble import place

MOST_BYTES = 2 << 30


def answered(
    graph: Graph, call: Callable[..., Any], args: Any, kwargs: Any, any_size: bool = True
) -> tuple[Example, ...]:
    """What the model answers to the example, and (where `any_size`) to the example cut to the least sizes.

    Raises ExampleMismatch where it raises at the least sizes, or its results have other shapes than the graph's.
    """
    trials = [called(graph, call, args, kwargs)]
    least = {s.name: max(s.lo, 1) for s in graph.sizes()}
    if any_size and least:
        smaller = cut(graph, args, kwargs, least)
        try:
            trials.append(called(graph, call, *smaller))
        except PackError:
            raise
        except Exception as e:
            why = f"{type(e).__name__}: {str(e).partition(chr(10))[0]}{place(e)}"
            raise ExampleMismatch(
                f"the model raises where {_sizes(least)}; give dims a larger least size\n    {why}"
            ) from e
    return tuple(trials)


def called(graph: Graph, call: Callable[..., Any], args: Any, kwargs: Any) -> Example:
    """One call as arrays. Raises ExampleMismatch where its results have other shapes than the graph's."""
    import torch
    from torch.utils import _pytree as pytree

    inputs = tuple(map(array, _tensors(pytree.tree_leaves((args, kwargs)))))
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        outputs = _arrays(call(*args, **kwargs))
        exact = precise(call, args, kwargs)
    example = Example(graph.name, inputs, outputs)
    _check_shapes(graph, example)
    if exact is None or [a.shape for a in exact] != [a.shape for a in outputs]:
        return example
    noise = max((_distance(a, e) for a, e in zip(outputs, exact, strict=True) if a.dtype.kind == "f"), default=0.0)
    with np.errstate(over="ignore"):
        rounded = tuple(e.astype(a.dtype) for a, e in zip(outputs, exact, strict=True))
    return Example(graph.name, inputs, rounded, noise)


def _arrays(results: Any) -> tuple[Array, ...]:
    import torch
    from torch.utils import _pytree as pytree

    return tuple(array(x) for x in pytree.tree_leaves(results) if isinstance(x, bool | int | float | torch.Tensor))


def precise(call: Any, args: Any, kwargs: Any) -> tuple[Array, ...] | None:
    """What the model answers in double precision; None where it cannot, or is too large to be held twice."""
    import torch
    from torch.utils import _pytree as pytree

    if sum(p.nbytes for p in call.parameters()) > MOST_BYTES:
        return None
    flat, tree = pytree.tree_flatten((args, kwargs))
    wide = [x.double() if isinstance(x, torch.Tensor) and x.is_floating_point() else x for x in flat]
    args, kwargs = pytree.tree_unflatten(wide, tree)
    try:
        return _arrays(copy.deepcopy(call).double()(*args, **kwargs))
    except Exception:
        return None


def _distance(a: Array, exact: Array) -> float:
    """The relative error of `a` in Frobenius norm; 0 where either is not finite."""
    with np.errstate(all="ignore"):
        norm, gap = np.linalg.norm(exact.ravel()), np.linalg.norm((a - exact).ravel())
        return float(gap / norm) if norm > 0 and np.isfinite(gap / norm) else 0.0


def array(x: Any) -> Array:
    """A tensor or a Python number as an array of its own memory: the model may write to its inputs."""
    return np.array(x.detach().cpu().numpy() if hasattr(x, "detach") else x)


def _tensors(leaves: Iterable[Any]) -> list[Any]:
    return [x for x in leaves if hasattr(x, "detach")]


def cut(graph: Graph, args: Any, kwargs: Any, sizes: dict[str, int]) -> tuple[Any, Any]:
    """The arguments with each tensor cut to the shape that its input has at these sizes."""
    from torch.utils import _pytree as pytree

    flat, tree = pytree.tree_flatten((args, kwargs))
    types = iter(i.type for i in graph.inputs)
    small = []
    for x in flat:
        if hasattr(x, "detach"):
            for axis, d in enumerate(next(types).shape):
                x = x.narrow(axis, 0, evaluate(d, sizes))
        small.append(x)
    args, kwargs = pytree.tree_unflatten(small, tree)
    return args, kwargs


def _check_shapes(graph: Graph, example: Example) -> None:
    sizes = solve(graph.inputs, example.inputs)
    for name, value, got in zip(graph.names, graph.outputs, example.outputs, strict=True):
        want = tuple(evaluate(d, sizes) for d in value.type.shape)
        if got.shape != want:
            raise ExampleMismatch(
                f"{name} is {list(got.shape)} where {_sizes(sizes)}, and by the traced program {list(want)}: the model "
                "decides by a size, and only the path of the example is packed; give dims a larger least size"
            )


def _sizes(sizes: dict[str, int]) -> str:
    return ", ".join(f"{name} is {n}" for name, n in sizes.items())
