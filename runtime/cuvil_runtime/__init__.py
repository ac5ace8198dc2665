"""Runs `.cuvil` bundles: numpy and msgpack, nothing else.

    session = cuvil_runtime.load("model.cuvil")
    session.inputs, session.outputs            names, dtypes, shapes with named sizes and their ranges
    session.run({"x": x})                      {output name: array}
    session(x)                                 one array, or a tuple in the model's order

A bundle holds machine code: load only files that you would also run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cuvil_schema.errors import (
    BundleError,
    CuvilError,
    Damaged,
    Incompatible,
    Malformed,
    NewerFormat,
    NotABundle,
    Unreadable,
)

from cuvil_runtime.arrays import ArraySpec
from cuvil_runtime.errors import InputError, SessionError
from cuvil_runtime.session import Session, load

if TYPE_CHECKING:
    from os import PathLike

    from cuvil_runtime.explanation import Explanation
    from cuvil_runtime.golden import Verification

__version__ = "0.1.0"

__all__ = [
    "ArraySpec",
    "BundleError",
    "CuvilError",
    "Damaged",
    "Incompatible",
    "InputError",
    "Malformed",
    "NewerFormat",
    "NotABundle",
    "Session",
    "SessionError",
    "Unreadable",
    "explain",
    "load",
    "verify",
]


def explain(path: str | PathLike[str]) -> Explanation:
    """This machine, the variants of the bundle, what each needs and lacks, and which one runs; printable."""
    from cuvil_runtime.explanation import explain

    return explain(path)


def verify(path: str | PathLike[str], threads: int | None = None) -> Verification:
    """Run the golden calls through every variant that this machine can execute and compare with what was recorded."""
    from cuvil_runtime.golden import verify

    return verify(path, threads)
