"""The graph: immutable nodes, the values they produce, and the ops that give them meaning."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from numpy.typing import NDArray

from .size import Dim, Symbol, symbols
from .types import DType, TensorType

Array = NDArray[Any]
OPS: dict[str, Op] = {}


@dataclass(frozen=True, slots=True)
class Where:
    """The user's line that a node comes from; `module` is the path of the torch module or the name of the ONNX node."""

    file: str = ""
    line: int = 0
    code: str = ""
    module: str = ""

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.file else self.module
        return f"{place}   {self.code}" if self.code else place


NOWHERE = Where()
_HERE: ContextVar[Where] = ContextVar("where", default=NOWHERE)


@contextmanager
def at(where: Where) -> Iterator[None]:
    """Nodes built inside come from `where`."""
    token = _HERE.set(where)
    try:
        yield
    finally:
        _HERE.reset(token)


@dataclass(frozen=True, slots=True)
class Input:
    """A tensor the caller passes."""

    name: str
    type: TensorType


@dataclass(frozen=True, slots=True)
class Weight:
    """A tensor stored with the model. Equal names are equal weights."""

    name: str
    type: TensorType
    data: Array = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Number:
    """A literal."""

    number: float | int | bool
    type: TensorType


@dataclass(frozen=True, slots=True)
class Result:
    """One output of a node."""

    node: Node
    index: int = 0

    @property
    def type(self) -> TensorType:
        return self.node.types[self.index]


Value = Input | Weight | Number | Result


@dataclass(frozen=True, eq=False, slots=True)
class Node:
    """One op applied to values. Types are inferred by the op, so a node cannot be ill-typed."""

    op: Op
    inputs: tuple[Value, ...]
    attrs: Mapping[str, Any]
    types: tuple[TensorType, ...]
    where: Where = NOWHERE


@dataclass(frozen=True, slots=True)
class State:
    """A tensor that lives between calls: read as `input`, and `output` is what the next call reads."""

    input: Input
    output: Value


@dataclass(frozen=True, slots=True)
class Graph:
    """What `outputs` and the states' new values depend on. Nodes nobody needs are not part of it."""

    name: str
    inputs: tuple[Input, ...]
    outputs: tuple[Value, ...]
    output_names: tuple[str, ...] = ()
    states: tuple[State, ...] = ()

    @property
    def roots(self) -> tuple[Value, ...]:
        return (*self.outputs, *(s.output for s in self.states))

    @property
    def names(self) -> tuple[str, ...]:
        return self.output_names or tuple(f"output{i}" for i in range(len(self.outputs)))

    def nodes(self) -> Iterator[Node]:
        """Every node, producers first."""
        done: set[Node] = set()
        stack = [(v.node, False) for v in reversed(self.roots) if isinstance(v, Result)]
        while stack:
            node, ready = stack.pop()
            if node in done:
                continue
            if ready:
                done.add(node)
                yield node
            else:
                stack.append((node, True))
                stack += [(i.node, False) for i in reversed(node.inputs) if isinstance(i, Result)]

    def weights(self) -> dict[str, Weight]:
        """Every weight by name, sorted; those inside bodies are inputs there, so they appear here once."""
        values: Iterable[Value] = (*self.roots, *(i for n in self.nodes() for i in n.inputs))
        return dict(sorted((v.name, v) for v in values if isinstance(v, Weight)))

    def sizes(self) -> tuple[Symbol, ...]:
        """The named sizes of the inputs, in order of first appearance."""
        dims = (d for i in self.inputs for d in i.type.shape)
        return tuple(dict.fromkeys(s for d in dims for s in sorted(symbols(d), key=lambda s: s.name)))

    def with_outputs(self, new: Mapping[Value, Value]) -> Graph:
        """The graph whose outputs and states are what `new` maps the old ones to."""
        states = tuple(State(s.input, new.get(s.output, s.output)) for s in self.states)
        return replace(self, outputs=tuple(new.get(o, o) for o in self.outputs), states=states)


@dataclass(frozen=True, slots=True)
class Example:
    """A call of an entry as the user's model answers it: arrays in the order of the entry's inputs and outputs.

    `outputs` are the answers in double precision where the model can give them; `noise` is then the relative error of
    the model's own single precision.
    """

    entry: str
    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]
    noise: float = 0.0


@dataclass(frozen=True, slots=True)
class Model:
    """What a frontend reads: named entries that share weights, files that travel with them, calls to check against."""

    name: str
    entries: tuple[Graph, ...]
    assets: Mapping[str, bytes] = field(default_factory=dict)
    source: str = ""
    examples: tuple[Example, ...] = ()


@dataclass(frozen=True, eq=False)
class Pattern:
    """A shape to look for. Without an op it matches any value."""

    op: Op | None = None
    inputs: tuple[Any, ...] = ()
    attrs: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Op:
    """One declaration: what the op computes, what types it yields, how else it can be said.

    reference   numpy meaning; positional parameters are tensors, keyword-only parameters are attributes
    infer       types of the inputs -> type(s) of the result
    element     one element of the result in index notation: `element(at, *readers, **attrs)`, which makes native code
    forward     for a view that moves every element once: index of the element in the input -> index in the result
    decompose   the op said with smaller ops
    anchor      whether a kernel is built around it (it reads its inputs many times)
    flops       arithmetic of one call, from the types of its inputs
    """

    name: str
    reference: Callable[..., Any]
    infer: Callable[..., TensorType | tuple[TensorType, ...]]
    element: Callable[..., Any] | None = None
    forward: Callable[..., tuple[Dim, ...]] | None = None
    decompose: Callable[..., Any] | None = None
    elementwise: bool = False
    anchor: bool = False
    flops: Callable[..., Dim] | None = None
    examples: tuple[str, ...] = ()

    @cached_property
    def signature(self) -> inspect.Signature:
        return inspect.signature(self.reference)

    def __call__(self, *inputs: Any, **attrs: Any) -> Any:
        """On arrays: compute. On values: build a node. On patterns: build a pattern."""
        if any(isinstance(i, Pattern) for i in inputs):
            return Pattern(self, inputs, attrs)
        bound = self.signature.bind(*inputs, **attrs)
        bound.apply_defaults()
        if not any(isinstance(i, Value) for i in inputs) and not (
            not inputs and any(_is_symbolic(a) for a in attrs.values())
        ):
            return self.reference(*bound.args, **bound.kwargs)
        return self.node(*bound.args, **bound.kwargs)

    def node(self, *inputs: Any, **attrs: Any) -> Any:
        """Build a node, whatever the inputs are; numbers take the element type of the first value that is not bool."""
        bound = self.signature.bind(*inputs, **attrs)
        bound.apply_defaults()
        given = [i.type.dtype for i in bound.args if isinstance(i, Value)]
        dtype = next((d for d in given if d is not DType.BOOL), given[0] if given else DType.F32)
        values = tuple(i if isinstance(i, Value) else literal(i, dtype) for i in bound.args)
        node = Node(self, values, bound.kwargs, self.types(values, bound.kwargs), _HERE.get())
        results = tuple(Result(node, i) for i in range(len(node.types)))
        return results[0] if len(results) == 1 else results

    def types(self, values: tuple[Value, ...], attrs: Mapping[str, Any]) -> tuple[TensorType, ...]:
        """The types of the results. Raises TypeError, naming the op and the place, where the inputs do not fit."""
        try:
            types = self.infer(*(v.type for v in values), **attrs)
        except (TypeError, ValueError) as e:
            where = _HERE.get()
            place = f"\n    at {where}" if where != NOWHERE else ""
            raise TypeError(f"{self.name}: {e}{place}") from None
        return types if isinstance(types, tuple) else (types,)


def literal(number: float | int | bool, dtype: DType) -> Number:
    """A number as a value. Raises TypeError where the element type cannot hold it."""
    if not dtype.is_float and number != (bool(number) if dtype is DType.BOOL else _whole(number)):
        raise TypeError(f"{number} is no {dtype.value}")
    return Number(number, TensorType(dtype, ()))


def _whole(number: float) -> float | None:
    return int(number) if math.isfinite(number) else None


def _is_symbolic(attr: Any) -> bool:
    if isinstance(attr, tuple):
        return any(map(_is_symbolic, attr))
    return not isinstance(attr, int) and isinstance(attr, Dim)


def op(infer: Callable[..., Any], **how: Any) -> Callable[[Callable[..., Any]], Op]:
    """Declare an op. The decorated function is its reference semantics, in numpy."""

    def declare(reference: Callable[..., Any]) -> Op:
        name = reference.__name__.rstrip("_")
        OPS[name] = new = Op(name, reference, infer, **how)
        return new

    return declare
