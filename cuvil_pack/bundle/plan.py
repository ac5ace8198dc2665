"""The plan: the kernels of a graph in order, and the place of every tensor they read and write."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ..ir.graph import Graph, Input, Node, Result, Value, Weight
from ..ir.size import Dim, Symbol, maximum
from ..ir.text import kernel_key
from ..ir.types import TensorType
from ..kernels.template import Schedule, Source, Template
from ..targets import Target
from .arena import Lifetime, place


@dataclass(frozen=True)
class Place:
    """Where a tensor lies: `offset` is bytes in the arena or the weights, or the position of an input or output."""

    name: str
    kind: str
    offset: Dim
    type: TensorType


@dataclass(frozen=True, eq=False)
class Kernel:
    """One C function: a body under a schedule. Steps with equal bodies share it."""

    name: str
    body: Graph
    template: Template
    schedule: Schedule
    source: Source


@dataclass(frozen=True)
class Step:
    """One call of a kernel."""

    kernel: Kernel
    node: Node
    reads: tuple[Place, ...]
    writes: tuple[Place, ...]


@dataclass(frozen=True)
class Plan:
    """What a variant runs for one entry. `activations` and `scratch` (of one thread) are bytes."""

    graph: Graph
    target: Target
    sizes: tuple[Symbol, ...]
    kernels: tuple[Kernel, ...]
    steps: tuple[Step, ...]
    activations: Dim
    scratch: Dim

    @property
    def places(self) -> tuple[Place, ...]:
        return tuple(dict.fromkeys(p for s in self.steps for p in (*s.reads, *s.writes)))


Choose = Callable[[Graph, Target], tuple[Template, Schedule]]


def source_of(value: Value) -> Value:
    """The value whose memory this one is: a reshape only gives it another shape."""
    while isinstance(value, Result) and value.node.op.name == "reshape":
        value = value.node.inputs[0]
    return value


def plan(graph: Graph, target: Target, sizes: tuple[Symbol, ...], weights: Mapping[str, int], choose: Choose) -> Plan:
    """Lay out a graph whose nodes are kernels (and reshapes, which move nothing).

    `weights` gives the offset of each weight; `choose` the template and the schedule of a body. Every output must come
    from a kernel of its own (the fuse pass sees to it).
    """
    nodes = [n for n in graph.nodes() if n.op.name == "kernel"]
    kernels = _kernels(nodes, target, choose)
    outputs = {source_of(o): n for n, o in enumerate(graph.outputs)}
    inputs = {i: n for n, i in enumerate(graph.inputs)}
    temporaries, offsets, activations = _temporaries(nodes, outputs)

    def find(value: Value) -> Place:
        root = source_of(value)
        match root:
            case Input(name=name):
                return Place(name, "input", inputs[root], value.type)
            case Weight(name=name):
                return Place(name, "weight", weights[name], value.type)
        if root in outputs:
            return Place(graph.names[outputs[root]], "output", outputs[root], value.type)
        number = temporaries[root]
        return Place(f"t{number}", "arena", offsets[number], value.type)

    steps = tuple(
        Step(k, n, tuple(map(find, n.inputs)), tuple(find(Result(n, i)) for i in range(len(n.types))))
        for k, n in zip(kernels, nodes, strict=True)
    )
    scratch = maximum(0, *(k.source.scratch for k in kernels))
    return Plan(graph, target, sizes, tuple(dict.fromkeys(kernels)), steps, activations, scratch)


def _temporaries(nodes: list[Node], outputs: Mapping[Value, int]) -> tuple[dict[Value, int], tuple[Dim, ...], Dim]:
    """The results that live in the arena, numbered, with the offset of each, and the bytes of all."""
    first: dict[Value, int] = {}
    last: dict[Value, int] = {}
    for step, node in enumerate(nodes):
        for i in range(len(node.types)):
            first[Result(node, i)] = last[Result(node, i)] = step
        for value in node.inputs:
            last[source_of(value)] = step
    kept = [v for v in first if v not in outputs]
    arena = place([Lifetime(v.type.nbytes, first[v], last[v]) for v in kept])
    return {v: n for n, v in enumerate(kept)}, arena.offsets, arena.size


def _kernels(nodes: list[Node], target: Target, choose: Choose) -> list[Kernel]:
    made: dict[str, Kernel] = {}
    result = []
    for node in nodes:
        key = kernel_key(node)
        if key not in made:
            body: Graph = node.attrs["body"]
            template, schedule = choose(body, target)
            name = f"k{len(made)}_{_label(body)}"
            made[key] = Kernel(name, body, template, schedule, template.write(body, schedule, target, name))
        result.append(made[key])
    return result


def ops_of(body: Graph) -> tuple[str, ...]:
    """The names of the ops of a body, in order."""
    return tuple(n.op.name for n in body.nodes())


def _label(body: Graph) -> str:
    telling = [name for name in ops_of(body) if name not in ("reshape", "unpanel", "transpose", "expand", "cast")]
    return "_".join(dict.fromkeys(telling or ops_of(body) or ("copy",)))[:48].rstrip("_")


def flops(node: Node) -> Dim:
    """The arithmetic of a kernel: what its heavy ops declare, and one for each element of the others."""
    total: Dim = 0
    for n in node.attrs["body"].nodes():
        if n.op.flops is not None:
            total = total + n.op.flops(*(i.type for i in n.inputs), **n.attrs)
        elif n.op.elementwise:
            total = total + n.types[0].numel
    return total


def traffic(step: Step) -> Dim:
    """The bytes that a step must move at least."""
    total: Dim = 0
    for p in (*step.reads, *step.writes):
        total = total + p.type.nbytes
    return total
