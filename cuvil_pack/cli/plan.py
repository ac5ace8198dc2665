"""`cuvil-pack plan`: every step of a call, and the memory it works in."""

from __future__ import annotations

from collections.abc import Mapping

import cuvil_schema as schema

from .command import declare, entry_option, file_argument, size_option, variant_option
from .dims import by_name
from .inspect import schedule_text
from .reading import at, checked, greatest, plan_of, settled, variant_of
from .screen import Facts, Screen, Table
from .units import nbytes, scaled

EXAMPLES = """\
cuvil-pack plan minilm.cuvil
cuvil-pack plan minilm.cuvil --dim batch=1 --dim seq=128
cuvil-pack plan minilm.cuvil --variant x86-64-v2 --json"""

TOTALS = ("weights", "activations", "scratch", "peak")
HEADERS = ("step", "ops", "line", "kernel", "algorithm", "schedule", "dtype", "bytes", "flops", "slot")


@declare("plan", EXAMPLES)
@file_argument
@variant_option
@entry_option
@size_option
def command(screen: Screen, file: str, variant: str | None, entry: str, dims: tuple[tuple[str, int], ...]) -> int:
    """Show each step of a call: ops, the user's line, kernel, schedule, bytes, flops, where the result lies.

    Sizes that --dim does not give are taken at their maximum; one without a maximum stays a name.
    """
    with schema.Bundle(file) as bundle:
        chosen = variant_of(bundle.manifest, variant)
        sizes = greatest(bundle.manifest) | checked(by_name(dims), bundle.manifest)
        plan = plan_of(bundle, chosen, entry)
    buffers = {b.name: b for b in plan.buffers}
    steps = [_step(n, step, buffers, sizes) for n, step in enumerate(plan.steps)]
    totals = {name: _number(getattr(plan, name), sizes) for name in TOTALS}
    data = {"variant": chosen.name, "entry": entry, "sizes": sizes, "steps": steps, "totals": totals}
    rows = [_row(step) for step in steps]
    unknown = [s.name for s in bundle.manifest.sizes if s.name not in sizes]
    facts = [("variant", chosen.name + at(sizes)), ("steps", str(len(steps)))]
    facts += [(name, nbytes(t) if isinstance(t, int) else f"{t} bytes") for name, t in totals.items()]
    if not isinstance(totals["peak"], int):
        facts.append(("", f"the peak depends on {', '.join(unknown)} of the call: fix it with --dim"))
    screen.show(data, Table(HEADERS, rows, ("step", "bytes", "flops")), Facts(facts))
    return 0


def _step(
    number: int, step: schema.Step, buffers: Mapping[str, schema.Buffer], sizes: Mapping[str, int]
) -> dict[str, object]:
    return {
        "step": number,
        "ops": list(step.ops),
        "where": step.where,
        "kernel": step.kernel,
        "algorithm": step.algorithm,
        "schedule": dict(step.schedule),
        "schedule_text": schedule_text(step),
        "dtype": step.dtype,
        "bytes": _number(step.bytes, sizes),
        "flops": _number(step.flops, sizes),
        "writes": [_slot(buffers[name], sizes) for name in step.writes],
    }


def _slot(buffer: schema.Buffer, sizes: Mapping[str, int]) -> dict[str, object]:
    return {
        "kind": buffer.kind,
        "offset": _number(buffer.offset, sizes),
        "bytes": _number(buffer.bytes, sizes),
        "type": buffer.type,
    }


def _number(expr: schema.Expr, sizes: Mapping[str, int]) -> int | str:
    value = settled(expr, sizes)
    return value if isinstance(value, int) else schema.text(value)


def _row(step: Mapping[str, object]) -> tuple[str, ...]:
    ops, writes = step["ops"], step["writes"]
    assert isinstance(ops, list) and isinstance(writes, list)
    slots = ", ".join(
        f"{w['kind']} {w['offset']:,}" if isinstance(w["offset"], int) else f"{w['kind']} {w['offset']}" for w in writes
    )
    return (
        str(step["step"]),
        " ".join(ops),
        place_text(str(step["where"])),
        str(step["kernel"]),
        str(step["algorithm"]),
        str(step["schedule_text"]),
        str(step["dtype"]),
        _shown(step["bytes"], "B"),
        _shown(step["flops"], ""),
        slots,
    )


def place_text(where: str) -> str:
    """The user's line without the folders of its file, and without runs of blanks."""
    file, colon, rest = " ".join(where.split()).partition(":")
    return f"{file.rpartition('/')[2]}{colon}{rest}"


def _shown(value: object, unit: str) -> str:
    return scaled(value, unit).rstrip() if isinstance(value, int) else str(value)
