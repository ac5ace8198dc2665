"""The plan of a variant as frozen data: which kernel runs each step, and where every buffer lies."""

from collections.abc import Mapping
from typing import NamedTuple

from cuvil_schema import fields
from cuvil_schema.canonical import Data, decode, encode
from cuvil_schema.errors import Malformed
from cuvil_schema.manifest import Entry, Manifest
from cuvil_schema.sizes import Expr, evaluate, expression

MAX_STEPS = 100_000
KINDS = ("input", "output", "weight", "arena")
TOTALS = ("weights", "activations", "scratch", "peak")
UNBOUNDED = 1024


class Step(NamedTuple):
    """One kernel call. `where` is the user's file:line, `reads` and `writes` name buffers, it computes in `dtype`."""

    kernel: str
    ops: tuple[str, ...]
    where: str
    dtype: str
    algorithm: str
    flops: Expr
    bytes: Expr
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    schedule: Mapping[str, Data] = {}


class Buffer(NamedTuple):
    """`offset` is bytes into the arena or the weights' tensor data, or the place of an input or output."""

    name: str
    kind: str
    offset: Expr
    bytes: Expr
    type: str


class EntryPlan(NamedTuple):
    """`arena` is the bytes a call needs; the four totals tell weights, activations, scratch and the peak apart."""

    arena: Expr
    steps: tuple[Step, ...]
    buffers: tuple[Buffer, ...]
    weights: Expr = 0
    activations: Expr = 0
    scratch: Expr = 0
    peak: Expr = 0


Plan = Mapping[str, EntryPlan]


def encode_plan(plan: Plan, manifest: Manifest) -> bytes:
    """Canonical bytes, checked by reading them back; weight offsets are checked when a bundle is read."""
    packed = encode(plan)
    decode_plan(packed, manifest, None, "the plan")
    return packed


def decode_plan(packed: bytes, manifest: Manifest, weights: int | None, what: str) -> dict[str, EntryPlan]:
    """The plan in `packed`: offsets inside the arena and the `weights` bytes of tensor data, indices in range."""
    data = decode(packed, what)
    names = frozenset(manifest.ranges())
    plan = fields.table(data, what, 64, _entry, names)
    expected = {entry.name for entry in manifest.entries}
    if plan.keys() != expected:
        raise Malformed(f"{what} has the entries {', '.join(sorted(plan))}, the manifest {', '.join(sorted(expected))}")
    for name, entry in plan.items():
        _check(entry, manifest, manifest.entry(name), weights, f"{what}[{name!r}]")
    return plan


def _entry(data: object, what: str, names: frozenset[str]) -> EntryPlan:
    arena, steps, buffers, *totals = fields.record(data, what, "arena", "steps", "buffers", *TOTALS)
    return EntryPlan(
        expression(arena, names, f"{what}.arena"),
        fields.each(steps, f"{what}.steps", MAX_STEPS, _step, names),
        fields.each(buffers, f"{what}.buffers", MAX_STEPS, _buffer, names),
        *(expression(total, names, f"{what}.{key}") for key, total in zip(TOTALS, totals, strict=True)),
    )


def _step(data: object, what: str, names: frozenset[str]) -> Step:
    kernel, ops, where, dtype, algorithm, flops, moved, reads, writes, schedule = fields.record(
        data, what, *Step._fields
    )
    return Step(
        fields.name(kernel, f"{what}.kernel"),
        fields.each(ops, f"{what}.ops", MAX_STEPS, fields.name),
        fields.text(where, f"{what}.where"),
        fields.name(dtype, f"{what}.dtype"),
        fields.text(algorithm, f"{what}.algorithm"),
        expression(flops, names, f"{what}.flops"),
        expression(moved, names, f"{what}.bytes"),
        fields.each(reads, f"{what}.reads", MAX_STEPS, fields.name),
        fields.each(writes, f"{what}.writes", MAX_STEPS, fields.name),
        fields.table(schedule, f"{what}.schedule", 256, _setting),
    )


def _setting(data: object, what: str) -> Data:
    if data is None or isinstance(data, bool | int | float | str):
        return data
    if isinstance(data, list):
        return [_setting(item, what) for item in data]
    raise Malformed(f"{what} is {fields.kind(data)}, not a number, a string or a list of them")


def _buffer(data: object, what: str, names: frozenset[str]) -> Buffer:
    name, kind, offset, size, shown = fields.record(data, what, *Buffer._fields)
    return Buffer(
        fields.name(name, f"{what}.name"),
        fields.choice(kind, f"{what}.kind", KINDS),
        expression(offset, names, f"{what}.offset"),
        expression(size, names, f"{what}.bytes"),
        fields.text(shown, f"{what}.type"),
    )


def _check(plan: EntryPlan, manifest: Manifest, entry: Entry, weights: int | None, what: str) -> None:
    known = fields.unique(plan.buffers, f"{what}.buffers")
    for index, step in enumerate(plan.steps):
        for name in step.reads + step.writes:
            if name not in known:
                raise Malformed(f"{what}.steps[{index}] ({step.kernel}) uses {name!r}, which is no buffer of the plan")
    for sizes in _corners(manifest):
        arena = evaluate(plan.arena, sizes)
        ends = {"arena": arena, "weight": weights, "input": len(entry.inputs), "output": len(entry.outputs)}
        for buffer in plan.buffers:
            _check_buffer(buffer, sizes, ends[buffer.kind], what)


def _check_buffer(buffer: Buffer, sizes: Mapping[str, int], end: int | None, what: str) -> None:
    begin, size = evaluate(buffer.offset, sizes), evaluate(buffer.bytes, sizes)
    if begin < 0 or size < 0:
        raise Malformed(f"{what}: buffer {buffer.name!r} is {size} bytes at {begin}")
    if end is None:
        return
    if buffer.kind in ("input", "output"):
        if begin >= end:
            raise Malformed(f"{what}: buffer {buffer.name!r} is {buffer.kind} {begin}, the entry has {end}")
        return
    if begin + size > end:
        raise Malformed(f"{what}: buffer {buffer.name!r} ends at {begin + size}, its {buffer.kind} space at {end}")


def _corners(manifest: Manifest) -> list[dict[str, int]]:
    """The smallest and the largest sizes of a call; a size without a maximum is taken as 1024 or its minimum."""
    least = {size.name: size.min for size in manifest.sizes}
    most = {size.name: max(size.min, UNBOUNDED) if size.max is None else size.max for size in manifest.sizes}
    return [least, most] if most != least else [least]
