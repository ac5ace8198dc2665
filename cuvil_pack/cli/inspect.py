"""`cuvil-pack inspect`: what a bundle holds, the first thing that a person wants to know."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from math import prod
from pathlib import Path

import click
import cuvil_schema as schema

from .command import declare, file_argument, variant_option
from .reading import at, greatest, plans_of, settled, variant_of
from .screen import Facts, Part, Screen, Table
from .units import nbytes, percent

EXAMPLES = """\
cuvil-pack inspect minilm.cuvil
cuvil-pack inspect minilm.cuvil --weights
cuvil-pack inspect minilm.cuvil --graph | less
cuvil-pack inspect minilm.cuvil --kernels --variant x86-64-v3"""

LONGEST = 120


@declare("inspect", EXAMPLES)
@file_argument
@click.option("--graph", is_flag=True, help="The graph as text.")
@click.option("--kernels", is_flag=True, help="The kernels of a variant: ops, algorithm, schedule, uses.")
@click.option("--weights", is_flag=True, help="The weights, the largest first.")
@variant_option
def command(screen: Screen, file: str, graph: bool, kernels: bool, weights: bool, variant: str | None) -> int:
    """Show what FILE holds: model, inputs, outputs, sizes, variants, weights, peak memory."""
    with schema.Bundle(file) as bundle:
        chosen = variant_of(bundle.manifest, variant)
        wanted = [
            show(bundle, chosen) for show, asked in ((_graph, graph), (_kernels, kernels), (_weights, weights)) if asked
        ]
        told = wanted or [_summary(bundle, chosen, screen.verbose)]
    data: dict[str, object] = {}
    parts: list[Part] = []
    for facts, part in told:
        data |= facts
        parts.append(part)
    screen.show(data, *parts)
    return 0


Told = tuple[Mapping[str, object], Part]


def _summary(bundle: schema.Bundle, variant: schema.Variant, verbose: bool) -> Told:
    manifest = bundle.manifest
    plans = plans_of(bundle, variant)
    report = bundle.report()
    size = Path(bundle.path).stat().st_size
    sizes = {s.name: (s.min, s.max) for s in manifest.sizes}
    weights = max((p.weights for p in plans.values() if isinstance(p.weights, int)), default=0)
    assets = {n.removeprefix("assets/"): s.size for n, s in bundle.sections.items() if n.startswith("assets/")}
    data: dict[str, object] = {
        "model": manifest.model,
        "source": manifest.source,
        "sizes": sizes,
        "entries": {
            e.name: {"inputs": list(map(_spec, e.inputs)), "outputs": list(map(_spec, e.outputs))}
            for e in manifest.entries
        },
        "variants": [{"name": v.name, "arch": v.arch, "needs": list(v.features)} for v in manifest.variants],
        "weights": weights,
        "memory": {name: _memory(plan, manifest) for name, plan in plans.items()},
        "assets": assets,
        "accuracy": manifest.accuracy,
        "tolerance": max((g.tolerance for g in manifest.golden), default=None),
        "golden": len(manifest.golden),
        "producer": manifest.producer,
        "report": report,
        "bytes": size,
    }
    rows = [("model", f"{manifest.model} ({manifest.source})")]
    for e in manifest.entries:
        of = "" if len(manifest.entries) == 1 else f" of {e.name}"
        rows += [(f"input{of}", str(spec)) for spec in e.inputs]
        rows += [(f"output{of}", str(spec)) for spec in e.outputs]
    rows += [("size", str(s)) for s in manifest.sizes]
    rows += [("variant", f"{v.name}: {_needs(v, manifest, verbose)}") for v in manifest.variants]
    rows.append(("weights", nbytes(weights)))
    for name, plan in plans.items():
        of = "" if len(plans) == 1 else f" of {name}"
        rows.append((f"peak{of}", _peak(plan, manifest, verbose)))
    rows += [("asset", f"{name}, {nbytes(count)}") for name, count in assets.items()]
    rows += [
        ("accuracy", manifest.accuracy + _tolerance(manifest)),
        ("producer", f"{manifest.producer}, {report.get('compiler', 'compiler unknown')}"),
        ("file", f"{nbytes(size)} ({size:,} bytes)"),
    ]
    return data, Facts(rows)


def _tolerance(manifest: schema.Manifest) -> str:
    if not manifest.golden:
        return ""
    calls = "one recorded call" if len(manifest.golden) == 1 else f"{len(manifest.golden)} recorded calls"
    return f", relative error at most {max(g.tolerance for g in manifest.golden):.1e} in {calls}"


def _spec(spec: schema.Spec) -> dict[str, object]:
    shape = [dim if isinstance(dim, int) else schema.text(dim) for dim in spec.shape]
    return {"name": spec.name, "dtype": spec.dtype, "shape": shape}


def _needs(variant: schema.Variant, manifest: schema.Manifest, verbose: bool) -> str:
    """What a variant needs; without `verbose`, beyond what the next smaller one of its kind needs."""
    smaller = [v for v in manifest.variants if v.arch == variant.arch and set(v.features) < set(variant.features)]
    if verbose or not smaller:
        return f"{variant.arch} with {' '.join(variant.features) or 'nothing more'}"
    below = max(smaller, key=lambda v: len(v.features))
    more = [f for f in variant.features if f not in below.features]
    return f"as {below.name}, and {' '.join(more)}"


def _memory(plan: schema.EntryPlan, manifest: schema.Manifest) -> dict[str, object]:
    totals = {
        name: settled(getattr(plan, name), greatest(manifest)) for name in ("weights", "activations", "scratch", "peak")
    }
    return {name: total if isinstance(total, int) else schema.text(total) for name, total in totals.items()}


def _peak(plan: schema.EntryPlan, manifest: schema.Manifest, verbose: bool) -> str:
    most = greatest(manifest)
    used = [n for n in dict.fromkeys(schema.names(plan.peak)) if n in most]
    peak = settled(plan.peak, most)
    if isinstance(peak, int):
        return f"{nbytes(peak)}{at({n: most[n] for n in used})}"
    text = schema.text(peak)
    shown = text if verbose or len(text) <= LONGEST else f"{text[:LONGEST]}… (-v shows all)"
    return f"depends on the call: {shown} bytes"


def _graph(bundle: schema.Bundle, variant: schema.Variant) -> Told:
    text = bytes(bundle.section("graph")).decode("utf-8", "replace").rstrip()
    return {"graph": text}, text


def _kernels(bundle: schema.Bundle, variant: schema.Variant) -> Told:
    steps = [step for plan in plans_of(bundle, variant).values() for step in plan.steps]
    uses = Counter(step.kernel for step in steps)
    first = {step.kernel: step for step in reversed(steps)}
    kernels = [first[name] for name in uses]
    data = [
        {
            "kernel": k.kernel, "ops": list(k.ops), "algorithm": k.algorithm, "schedule": dict(k.schedule),
            "dtype": k.dtype, "uses": uses[k.kernel],
        }
        for k in kernels
    ]  # fmt: skip
    rows = [(k.kernel, str(uses[k.kernel]), k.dtype, k.algorithm, schedule_text(k), " ".join(k.ops)) for k in kernels]
    table = Table(("kernel", "uses", "dtype", "algorithm", "schedule", "ops"), rows, ("uses",))
    return {"variant": variant.name, "kernels": data}, table


def schedule_text(step: schema.Step) -> str:
    """`mr=12 nr=32`; the settings of a schedule."""
    settings = ((name, v if isinstance(v, str) else repr(v)) for name, v in step.schedule.items())
    return " ".join(f"{name}={value}" for name, value in settings) or "-"


def _weights(bundle: schema.Bundle, variant: schema.Variant) -> Told:
    tensors = schema.read_tensors(bundle.section("weights"), "section weights")
    counted = {n: prod(t.shape) * schema.DTYPES[t.dtype] for n, t in tensors.items()}
    whole = sum(counted.values())
    order = sorted(tensors, key=lambda n: (-counted[n], n))
    data = [{"name": n, "dtype": tensors[n].dtype, "shape": list(tensors[n].shape), "bytes": counted[n]} for n in order]
    rows = [(n, type_text(tensors[n]), f"{counted[n]:,}", percent(counted[n], whole)) for n in order]
    rows.append(("all", f"{len(order)} tensors", f"{whole:,}", percent(whole, whole)))
    return {"weights": data}, Table(("weight", "type", "bytes", "share"), rows, ("bytes", "share"))


def type_text(tensor: schema.Tensor) -> str:
    """`f32[384, 384]`."""
    return f"{tensor.dtype}[{', '.join(map(str, tensor.shape))}]"
