"""`cuvil-pack diff`: what two bundles mean differently, whatever their bytes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from difflib import SequenceMatcher

import click
import cuvil_schema as schema
import numpy as np
from cuvil_runtime.arrays import NUMPY

from .command import declare
from .inspect import schedule_text, type_text
from .reading import plans_of
from .screen import Part, Screen
from .units import nbytes

EXAMPLES = """\
cuvil-pack diff monday.cuvil tuesday.cuvil
cuvil-pack diff monday.cuvil tuesday.cuvil --json && echo the same"""

PLACE = re.compile(r"  @ .*$")
VALUE = re.compile(r"\bv(\d+)\b")


@declare("diff", EXAMPLES)
@click.argument("a", type=click.Path())
@click.argument("b", type=click.Path())
def command(screen: Screen, a: str, b: str) -> int:
    """Show what changed from A to B: inputs and outputs, graph, weights, variants, schedules, versions, assets.

    Exit code 0 where nothing did, 1 where something did.
    """
    with schema.Bundle(a) as old, schema.Bundle(b) as new:
        changes = {area: list(compare(old, new)) for area, compare in AREAS.items()}
    same = not any(changes.values())
    parts: list[Part] = [
        "\n".join([area, *(f"  {line}" for line in lines)]) for area, lines in changes.items() if lines
    ]
    screen.show({"same": same, **changes}, *(parts or ["the same in meaning"]))
    return 0 if same else 1


def _interface(old: schema.Bundle, new: schema.Bundle) -> Iterator[str]:
    """Entries, inputs, outputs, and the ranges of sizes."""
    yield from _changed(_signature(old.manifest), _signature(new.manifest))


def _signature(manifest: schema.Manifest) -> dict[str, str]:
    sizes = {f"size {s.name}": str(s) for s in manifest.sizes}
    sides = (
        (("input", e.name, e.inputs) for e in manifest.entries),
        (("output", e.name, e.outputs) for e in manifest.entries),
    )
    specs = {f"{side} {entry}.{s.name}": str(s) for part in sides for side, entry, found in part for s in found}
    orders = {f"order of {e.name}": ", ".join(s.name for s in (*e.inputs, *e.outputs)) for e in manifest.entries}
    return sizes | specs | orders


def _graph(old: schema.Bundle, new: schema.Bundle) -> Iterator[str]:
    """Lines of the graph that only one has; the names of values and the user's lines do not count."""
    before, after = (bytes(b.section("graph")).decode("utf-8", "replace").splitlines() for b in (old, new))
    matcher = SequenceMatcher(None, _nameless(before), _nameless(after), autojunk=False)
    for kind, a, b, c, d in matcher.get_opcodes():
        if kind != "equal":
            yield from (f"- {PLACE.sub('', line)}" for line in before[a:b])
            yield from (f"+ {PLACE.sub('', line)}" for line in after[c:d])


def _nameless(lines: list[str]) -> list[str]:
    """Each line with the values it uses named by how many values ago they were made."""
    told = []
    for line in lines:
        made = VALUE.match(line.strip())
        here = int(made[1]) if made else 0
        told.append(_relative(PLACE.sub("", line), here))
    return told


def _relative(line: str, here: int) -> str:
    return VALUE.sub(lambda found: f"^{here - int(found[1])}", line)


def _weights(old: schema.Bundle, new: schema.Bundle) -> Iterator[str]:
    before, after = (schema.read_tensors(b.section("weights"), "section weights") for b in (old, new))
    for name in sorted(before.keys() | after.keys()):
        if name not in after:
            yield f"- {name} {type_text(before[name])}"
        elif name not in before:
            yield f"+ {name} {type_text(after[name])}"
        elif type_text(before[name]) != type_text(after[name]):
            yield f"{name}: {type_text(before[name])} -> {type_text(after[name])}"
        elif bytes(memoryview(before[name].data)) != bytes(memoryview(after[name].data)):
            yield f"{name}: {_distance(before[name], after[name])}"


def _distance(before: schema.Tensor, after: schema.Tensor) -> str:
    a, b = (np.frombuffer(memoryview(t.data), NUMPY[t.dtype]).astype(np.float64) for t in (before, after))
    with np.errstate(invalid="ignore", over="ignore"):
        apart, norm = np.linalg.norm(b - a), np.linalg.norm(a)
        return f"relative change {apart / norm if norm else apart:.2e}, at most {np.abs(b - a).max():.2e}"


def _variants(old: schema.Bundle, new: schema.Bundle) -> Iterator[str]:
    before, after = ({v.name: f"{v.arch} {' '.join(v.features)}" for v in b.manifest.variants} for b in (old, new))
    yield from _changed(before, after)
    for name in (n for n in before if n in after):
        sizes = [b.sections[f"code/{name}"] for b in (old, new) if f"code/{name}" in b.sections]
        if len(sizes) == 2 and sizes[0].sha256 != sizes[1].sha256:
            yield f"code of {name}: {nbytes(sizes[0].size)} -> {nbytes(sizes[1].size)}, other bytes"


def _schedules(old: schema.Bundle, new: schema.Bundle) -> Iterator[str]:
    """Kernels that both have and compute in another way."""
    variants = {v.name: v for v in new.manifest.variants}
    for variant in old.manifest.variants:
        if variant.name not in variants:
            continue
        before, after = _ways(old, variant), _ways(new, variants[variant.name])
        for kernel in before:
            if kernel in after and before[kernel] != after[kernel]:
                yield f"{variant.name} {kernel}: {before[kernel]} -> {after[kernel]}"


def _ways(bundle: schema.Bundle, variant: schema.Variant) -> dict[str, str]:
    """`matmul add: f32[batch, 4]` -> `matmul mr=12 nr=32`."""
    ways: dict[str, dict[str, None]] = {}
    for plan in plans_of(bundle, variant).values():
        types = {b.name: b.type for b in plan.buffers}
        for step in plan.steps:
            kernel = f"{' '.join(step.ops)}: {', '.join(types[w] for w in step.writes)}"
            ways.setdefault(kernel, {})[f"{step.algorithm} {schedule_text(step)}"] = None
    return {kernel: " or ".join(found) for kernel, found in ways.items()}


def _versions(old: schema.Bundle, new: schema.Bundle) -> Iterator[str]:
    """The model's name and source, who packed it, and what the build reports."""
    before, after = (
        {
            "model": b.manifest.model,
            "source": b.manifest.source,
            "producer": b.manifest.producer,
            "accuracy": b.manifest.accuracy,
            **{f"report {k}": str(v) for k, v in b.report().items()},
        }
        for b in (old, new)
    )
    yield from _changed(before, after)


def _assets(old: schema.Bundle, new: schema.Bundle) -> Iterator[str]:
    before, after = (
        {n.removeprefix("assets/"): s.sha256.hex()[:12] for n, s in b.sections.items() if n.startswith("assets/")}
        for b in (old, new)
    )
    yield from _changed(before, after)


def _changed(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[str]:
    for name in [*before, *(n for n in after if n not in before)]:
        if name not in after:
            yield f"- {name}: {before[name]}"
        elif name not in before:
            yield f"+ {name}: {after[name]}"
        elif before[name] != after[name]:
            yield f"{name}: {before[name]} -> {after[name]}"


AREAS = {
    "interface": _interface,
    "graph": _graph,
    "weights": _weights,
    "variants": _variants,
    "schedules": _schedules,
    "versions": _versions,
    "assets": _assets,
}
