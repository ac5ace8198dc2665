"""A bundle proves itself: its recorded calls, run through every variant that this machine can execute."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from cuvil_schema.bundle import Bundle
from cuvil_schema.errors import Malformed
from cuvil_schema.manifest import Entry, golden_cases, golden_key
from cuvil_schema.tensors import Tensor, read_tensors

from cuvil_runtime.arrays import NUMPY
from cuvil_runtime.cpu import lack, missing, read_cpu
from cuvil_runtime.session import Session, load

if TYPE_CHECKING:
    from os import PathLike

    from cuvil_runtime.arrays import Array


class Compared(NamedTuple):
    """One output of one recorded call: relative error in Frobenius norm, exact equality for integers and bools."""

    variant: str
    entry: str
    case: int
    sizes: dict[str, int]
    output: str
    error: float
    tolerance: float

    @property
    def agrees(self) -> bool:
        return self.error <= self.tolerance


class Verification(NamedTuple):
    """`skipped` says for each variant that did not run what is missing."""

    bundle: str
    compared: tuple[Compared, ...]
    skipped: dict[str, str]

    @property
    def good(self) -> bool:
        """Every output agrees."""
        return all(compared.agrees for compared in self.compared)

    def data(self) -> dict[str, object]:
        """The same for `--json`."""
        compared = [one._asdict() | {"agrees": one.agrees} for one in self.compared]
        return {"bundle": self.bundle, "agrees": self.good, "skipped": self.skipped, "compared": compared}

    def __str__(self) -> str:
        lines = [
            f"{'agrees ' if one.agrees else 'DIFFERS'} {one.variant} {one.entry}[{one.case}] {one.output}: "
            f"error {one.error:.1e}, allowed {one.tolerance:.1e}{_at(one.sizes)}"
            for one in self.compared
        ]
        lines += [f"skipped {reason}" for reason in self.skipped.values()]
        return "\n".join(lines or [f"{self.bundle} records no calls"])


def verify(path: str | PathLike[str], threads: int | None = None) -> Verification:
    """Raises a BundleError for the file; a difference is not an error but a result."""
    cpu = read_cpu()
    compared: list[Compared] = []
    skipped: dict[str, str] = {}
    with Bundle(path) as bundle:
        for variant in bundle.manifest.variants:
            if missing(variant, cpu):
                skipped[variant.name] = lack(variant, cpu)
                continue
            with load(path, threads, variant.name) as session:
                compared += _run(session, bundle)
        if len(skipped) == len(bundle.manifest.variants):
            bundle.check()
        return Verification(bundle.name, tuple(compared), skipped)


def recorded(bundle: Bundle, entry: Entry, case: int, side: str) -> dict[str, Array]:
    """The arrays of a recorded call by name; `side` is `in` or `out`. Malformed where one is missing."""
    tensors = read_tensors(bundle.section("golden"), "section golden")
    specs = entry.inputs if side == "in" else entry.outputs
    arrays = {}
    for spec in specs:
        key = golden_key(side, entry.name, case, spec.name)
        tensor = tensors.get(key)
        if tensor is None or tensor.dtype != spec.dtype:
            raise bundle.blame(Malformed(f"section golden has no {spec.dtype} tensor {key!r}"))
        arrays[spec.name] = _array(tensor)
    return arrays


def _run(session: Session, bundle: Bundle) -> list[Compared]:
    compared = []
    for golden, case in golden_cases(bundle.manifest):
        entry = bundle.manifest.entry(golden.entry)
        found = session.run(recorded(bundle, entry, case, "in"), entry=entry.name)
        for name, expected in recorded(bundle, entry, case, "out").items():
            error = difference(found[name], expected)
            compared.append(Compared(session.variant, entry.name, case, golden.sizes, name, error, golden.tolerance))
    return compared


def difference(found: Array, expected: Array) -> float:
    """Relative error in Frobenius norm, absolute when `expected` is 0; inf where shapes, ints, NaN or inf differ."""
    if found.shape != expected.shape or found.dtype != expected.dtype:
        return float("inf")
    if found.dtype.kind != "f":
        return 0.0 if np.array_equal(found, expected) else float("inf")
    finite = np.isfinite(expected)
    if not np.array_equal(found[~finite], expected[~finite], equal_nan=True) or not np.isfinite(found[finite]).all():
        return float("inf")
    exact = expected[finite].astype(np.float64)
    norm = float(np.linalg.norm(exact))
    return float(np.linalg.norm(found[finite].astype(np.float64) - exact)) / (norm or 1.0)


def _array(tensor: Tensor) -> Array:
    return np.frombuffer(memoryview(tensor.data), NUMPY[tensor.dtype]).reshape(tensor.shape)


def _at(sizes: dict[str, int]) -> str:
    return f" ({', '.join(f'{name}={size}' for name, size in sizes.items())})" if sizes else ""
