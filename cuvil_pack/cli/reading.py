"""What the commands read of a bundle: its plans, its weights, its sizes at a call."""

from __future__ import annotations

from collections.abc import Mapping

import cuvil_schema as schema
from cuvil_runtime.cpu import choose, read_cpu
from cuvil_runtime.errors import InputError
from cuvil_schema.sizes import OPERATORS


def variant_of(manifest: schema.Manifest, name: str | None) -> schema.Variant:
    """The variant called `name`; without a name the best that runs here, or the best of all where none runs."""
    if name is None:
        try:
            return choose(manifest, read_cpu(), None)
        except schema.Incompatible:
            return manifest.variants[0]
    found = next((v for v in manifest.variants if v.name == name), None)
    if found is None:
        raise schema.Incompatible(
            f"there is no variant {name!r}; there are {', '.join(v.name for v in manifest.variants)}"
        )
    return found


def plans_of(bundle: schema.Bundle, variant: schema.Variant) -> dict[str, schema.EntryPlan]:
    """The plan of every entry."""
    weights = bundle.section("weights")
    data = len(weights) - schema.data_start(weights, "section weights")
    try:
        return schema.decode_plan(bytes(bundle.section(variant.plan)), bundle.manifest, data, f"section {variant.plan}")
    except schema.BundleError as error:
        raise bundle.blame(error) from None


def plan_of(bundle: schema.Bundle, variant: schema.Variant, entry: str) -> schema.EntryPlan:
    """The plan of one entry. Raises InputError, naming those there are."""
    plans = plans_of(bundle, variant)
    if entry not in plans:
        raise InputError(f"{bundle.name} has no entry {entry!r}; it has {', '.join(plans)}")
    return plans[entry]


def checked(sizes: Mapping[str, int], manifest: schema.Manifest) -> dict[str, int]:
    """Sizes as a user gave them. Raises InputError for a name or a number that the model does not take."""
    ranges = manifest.ranges()
    for name, size in sizes.items():
        if name not in ranges:
            known = ", ".join(map(str, manifest.sizes)) or "none"
            raise InputError(f"{manifest.model} has no size {name!r}; it has {known}")
        low, high = ranges[name]
        if size < low or (high is not None and size > high):
            raise InputError(f"{name} is {size}, outside {low}..{'' if high is None else high}")
    return dict(sizes)


def greatest(manifest: schema.Manifest) -> dict[str, int]:
    """The sizes that have a maximum, at their maximum."""
    return {s.name: s.max for s in manifest.sizes if s.max is not None}


def settled(expr: schema.Expr, sizes: Mapping[str, int]) -> schema.Expr:
    """`expr` with the known sizes put in; an int when it holds no other."""
    if isinstance(expr, int):
        return expr
    if isinstance(expr, str):
        return sizes.get(expr, expr)
    terms = [settled(term, sizes) for term in expr[1:]]
    numbers = [term for term in terms if isinstance(term, int)]
    operator = str(expr[0])
    if len(numbers) == len(terms):
        return OPERATORS[operator](numbers)
    if operator == "floordiv" or not numbers:
        return (operator, *terms)
    known, rest = OPERATORS[operator](numbers), [term for term in terms if not isinstance(term, int)]
    if (operator, known) in (("add", 0), ("mul", 1)):
        return rest[0] if len(rest) == 1 else (operator, *rest)
    return (operator, known, *rest)


def at(sizes: Mapping[str, int]) -> str:
    """` at batch=32, seq=512`, or nothing."""
    return f" at {', '.join(f'{name}={size}' for name, size in sizes.items())}" if sizes else ""
