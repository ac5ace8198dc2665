"""Inputs of a call: from files, random in the declared ranges, or those that the bundle recorded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import cuvil_schema as schema
import numpy as np
from cuvil_runtime.arrays import NUMPY
from cuvil_runtime.errors import InputError
from cuvil_runtime.golden import recorded

from .reading import checked

Array = np.ndarray[Any, np.dtype[Any]]
Feeds = dict[str, Array]


def from_files(pairs: Sequence[str]) -> Feeds:
    """`name=file.npy`, each; InputError where one is not that."""
    feeds: Feeds = {}
    for pair in pairs:
        name, equals, file = pair.partition("=")
        if not equals:
            raise InputError(f"{pair!r} is not NAME=FILE.npy")
        try:
            feeds[name] = np.load(file, allow_pickle=False)
        except (ValueError, EOFError):
            raise InputError(f"{file} is no .npy file that holds one array of numbers") from None
    return feeds


def without_files(file: str, entry: str, sizes: Mapping[str, int], is_random: bool) -> Feeds:
    """Random inputs where sizes are given or randomness is asked for, else those of the first recorded call."""
    with schema.Bundle(file) as bundle:
        return random(bundle, entry, sizes) if is_random or sizes else from_golden(bundle, entry)


def from_golden(bundle: schema.Bundle, entry: str) -> Feeds:
    """The inputs of the first recorded call of an entry."""
    called = entry_of(bundle.manifest, entry)
    if all(golden.entry != entry for golden in bundle.manifest.golden):
        raise InputError(f"{bundle.name} records no call of {entry}: give inputs as NAME=FILE.npy, or --random")
    return recorded(bundle, called, 0, "in")


def random(bundle: schema.Bundle, entry: str, given: Mapping[str, int]) -> Feeds:
    """Inputs of the given sizes: normal floats, integers as far as the recorded call has them, else 0 and 1.

    A size that is not given is that of the recorded call, or its minimum.
    """
    manifest = bundle.manifest
    called = entry_of(manifest, entry)
    golden = next((g for g in manifest.golden if g.entry == entry), None)
    sizes = {s.name: s.min for s in manifest.sizes} | (golden.sizes if golden else {}) | checked(given, manifest)
    example = recorded(bundle, called, 0, "in") if golden else {}
    source = np.random.default_rng(0)
    return {spec.name: _random(spec, sizes, example.get(spec.name), source) for spec in called.inputs}


def _random(spec: schema.Spec, sizes: Mapping[str, int], example: Array | None, source: np.random.Generator) -> Array:
    shape = tuple(schema.evaluate(dim, sizes) for dim in spec.shape)
    dtype = NUMPY[spec.dtype]
    if dtype.kind == "f":
        return source.standard_normal(shape).astype(dtype)
    low, high = (0, 1) if example is None or not example.size else (int(example.min()), int(example.max()))
    return source.integers(low, high, shape, endpoint=True).astype(dtype)


def entry_of(manifest: schema.Manifest, name: str) -> schema.Entry:
    """An entry by name. Raises InputError, naming those there are."""
    found = next((e for e in manifest.entries if e.name == name), None)
    if found is None:
        raise InputError(
            f"{manifest.model} has no entry {name!r}; it has {', '.join(e.name for e in manifest.entries)}"
        )
    return found


def saved(path: Path, arrays: Mapping[str, Array]) -> None:
    """Write arrays as .npz."""
    with path.open("wb") as file:
        np.savez(file, allow_pickle=False, **arrays)
