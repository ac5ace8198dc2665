"""What turns a kernel body into C: a template says which bodies it accepts, its schedules, and writes the source."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..ir.graph import Graph, Node
from ..ir.size import Dim, symbols
from ..targets import Target

Schedule = Mapping[str, int | str]


@dataclass(frozen=True)
class Source:
    """A kernel in C, and what a step that calls it must know.

    The function is `static void name(inputs..., output, const int64_t *sizes, int64_t begin, int64_t end,
    uint8_t *scratch, int32_t *fault)`: it computes units `begin` to `end` of `units`; `scratch` holds `scratch` bytes
    for each thread. `shared` are lines that kernels have in common: functions that a program needs once.
    """

    text: str
    units: Dim
    scratch: Dim = 0
    includes: tuple[str, ...] = ()
    shared: tuple[str, ...] = ()


@dataclass(frozen=True)
class Packing:
    """How a weight is stored for a kernel: `pack` makes the stored array, `unpack` says the weight in ops."""

    label: str
    pack: Callable[[Any], Any]
    unpack: Callable[[Any], Any]


@dataclass(frozen=True)
class Template:
    """A way to write kernels.

    accepts    why a body is not for this template, or None where it is
    schedules  the schedules worth considering, and for each the time in seconds that the cost model expects on one core
    write      the C of a body under a schedule; the function gets the given name
    reads      whether the kernel built around a node can read an operand as a view, where it lies; None: not its node
    packing    how the kernel built around a node wants an operand stored that is a weight; None: as it is
    """

    name: str
    priority: int
    accepts: Callable[[Graph], str | None]
    schedules: Callable[[Graph, Target], Iterable[tuple[Schedule, float]]]
    write: Callable[[Graph, Schedule, Target, str], Source]
    reads: Callable[[Node, int], bool | None] = lambda node, operand: None
    packing: Callable[[Node, int], Packing | None] = lambda node, operand: None


TEMPLATES: dict[str, Template] = {}


def template(t: Template) -> Template:
    TEMPLATES[t.name] = t
    return t


def choose(body: Graph) -> Template:
    """The template for a body: the first by priority that accepts it. Raises TypeError with every reason."""
    reasons = []
    for t in sorted(TEMPLATES.values(), key=lambda t: (-t.priority, t.name)):
        reason = t.accepts(body)
        if reason is None:
            return t
        reasons.append(f"{t.name}: {reason}")
    raise TypeError("no kernel for this body\n    " + "\n    ".join(reasons))


def reads_through(node: Node, operand: int) -> bool:
    """Whether the kernel built around `node` can read its operand as a view; bodies in index notation can read any."""
    answers = (t.reads(node, operand) for t in TEMPLATES.values())
    return next((a for a in answers if a is not None), True)


def packing(node: Node, operand: int) -> Packing | None:
    """How the kernel around `node` wants an operand stored that is a weight."""
    wishes = (t.packing(node, operand) for t in TEMPLATES.values())
    return next((w for w in wishes if w is not None), None)


def size_names(body: Graph) -> list[str]:
    """The named sizes a body speaks of, sorted."""
    types = (*(i.type for i in body.inputs), *(t for n in body.nodes() for t in n.types))
    attrs = (a for n in body.nodes() for v in n.attrs.values() for a in _dims(v))
    found = {s.name for d in (*(d for t in types for d in t.shape), *attrs) for s in symbols(d)}
    return sorted(found)


def _dims(value: object) -> Iterable[Dim]:
    if isinstance(value, tuple):
        for v in value:
            yield from _dims(v)
    elif isinstance(value, Dim) and not isinstance(value, bool):
        yield value
