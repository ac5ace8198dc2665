"""Pack a graph in a test: the real way, into a real file, loaded by the real runtime."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import cuvil_runtime
import numpy as np

from cuvil_pack.ir.graph import Array, Example, Graph, Model
from cuvil_pack.ir.interpret import interpret
from cuvil_pack.options import options
from cuvil_pack.pipeline import pack_model

TARGETS = ("x86-64-v2", "x86-64-v3", "x86-64-v4")


def runnable() -> tuple[str, ...]:
    """The targets whose code this machine can run."""
    from cuvil_runtime.cpu import read_cpu

    from cuvil_pack.targets import TARGETS as KNOWN

    have = set(read_cpu().features)
    return tuple(t for t in TARGETS if set(KNOWN[t].features) <= have)


def packed(graph: Graph, folder: Path, targets: Sequence[str], examples: Sequence[Example] = ()) -> Path:
    """The bundle of a graph, through every stage."""
    model = Model(graph.name, (graph,), examples=tuple(examples))
    return pack_model(model, options(folder / f"{graph.name}.cuvil", targets=tuple(targets)))


def answers(path: Path, variant: str, threads: int, arrays: Sequence[Array]) -> list[Array]:
    """The outputs of a bundle, written over poison."""
    with cuvil_runtime.load(path, threads=threads, variant=variant) as session:
        feeds = {spec.name: a for spec, a in zip(session.inputs, arrays, strict=True)}
        shapes = session.run(feeds)
        out = {name: poison(a) for name, a in shapes.items()}
        session.run(feeds, out=out)
        return list(out.values())


def poison(a: Array) -> Array:
    """An array like `a` that holds nothing right."""
    return np.frombuffer(b"\xa5" * a.nbytes, a.dtype).reshape(a.shape).copy()


def relative_error(got: Array, want: Array) -> float:
    """The Frobenius norm of the difference, over that of what is wanted; inf where nan or inf stand at other places."""
    if got.shape != want.shape:
        return np.inf
    got, want = got.astype(np.float64), want.astype(np.float64)
    finite = np.isfinite(want)
    if not np.array_equal(got[~finite], want[~finite], equal_nan=True):
        return np.inf
    norm = float(np.linalg.norm(want[finite]))
    return float(np.linalg.norm(got[finite] - want[finite])) / (norm or 1.0)


def check(graph: Graph, arrays: Sequence[Array], folder: Path, tolerance: float = 1e-6, **how: Any) -> None:
    """Pack the graph and compare every variant, with one thread and with three, with the interpreter."""
    targets = how.get("targets") or runnable()
    path = packed(graph, folder, targets)
    want = interpret(graph, *arrays)
    for variant in targets:
        results = [answers(path, variant, threads, arrays) for threads in (1, 3)]
        for name, one, three, right in zip(graph.names, *results, want, strict=True):
            assert one.tobytes() == three.tobytes(), f"{name} on {variant} differs with the number of threads"
            assert relative_error(one, right) <= tolerance, f"{name} on {variant}: error {relative_error(one, right)}"
