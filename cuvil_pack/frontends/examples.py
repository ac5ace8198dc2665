"""Example inputs and named sizes, made into what torch.export wants.

Without `dynamic_shapes` a name in `dims` stands for axes by convention:

    batch     axis 0 of every tensor
    seq       axis 1 of every tensor of rank 2 or 3
    height    axis 2 of every tensor of rank 4
    width     axis 3 of every tensor of rank 4

With `dynamic_shapes` the names are those of its `torch.export.Dim`s, and `dims` gives their ranges.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..errors import ExampleMismatch
from . import Range

CONVENTION: dict[str, tuple[int, tuple[int, ...]]] = {
    "batch": (0, tuple(range(1, 9))),
    "seq": (1, (2, 3)),
    "height": (2, (4,)),
    "width": (3, (4,)),
}


@dataclass(frozen=True, slots=True)
class Axis:
    """What one axis of an example is: a named size with a range, or (without a name) dynamic by a hint of torch.

    Without `lo` the least size is what the model's code can take.
    """

    name: str = ""
    lo: int | None = None
    hi: int | None = None
    mark: Any = None

    @property
    def least(self) -> int:
        return 1 if self.lo is None else self.lo

    def traced(self, n: int) -> int:
        """The length to trace with, where the example has `n`: within the range, and 2 or more where that can be."""
        greatest = sys.maxsize if self.hi is None else self.hi
        return greatest if greatest == self.least else min(max(n, self.least, 2), greatest)

    @property
    def is_fixed(self) -> bool:
        return self.hi is not None and (self.hi < 2 or self.hi == self.lo)


@dataclass(frozen=True, slots=True)
class Leaf:
    """One tensor (or constant) of the example inputs; `path` says where it stands."""

    path: str
    value: Any
    axes: Mapping[int, Axis] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Examples:
    """What torch.export is called with, and the name of each axis (leaf, axis) that has one."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    dynamic_shapes: Any
    axes: Mapping[tuple[int, int], Axis]


def prepared(module: Any, inputs: Any, dims: Mapping[str, Range], dynamic_shapes: Any) -> Examples:
    """Example inputs that are at least 2 long along each dynamic axis, and the axes' names and ranges.

    Raises ExampleMismatch where the inputs do not fit the module, or the sizes do not fit each other.
    """
    from torch.utils import _pytree as pytree

    args, kwargs, arguments = bound(module, inputs)
    ranges = {name: as_range(name, r) for name, r in dims.items()}
    leaves = list(_leaves(arguments, dynamic_shapes, ranges))
    _check_names(leaves, ranges, dynamic_shapes)
    sizes = _sizes(leaves)
    values = [_resized(leaf, sizes) for leaf in leaves]
    flat, tree = pytree.tree_flatten((args, kwargs))
    if len(flat) != len(values):
        raise ExampleMismatch("example inputs that hold objects other than tensors, lists, tuples and dicts")
    args, kwargs = pytree.tree_unflatten(values, tree)
    marks = iter(_torch_dims(leaves))
    shapes = {name: pytree.tree_map(lambda _: next(marks), value) for name, value in arguments.items()}
    axes = {(n, a): axis for n, leaf in enumerate(leaves) for a, axis in leaf.axes.items() if not axis.is_fixed}
    return Examples(args, kwargs, shapes if axes else None, axes)


def bound(module: Any, inputs: Any) -> tuple[tuple[Any, ...], dict[str, Any], dict[str, Any]]:
    """Positional and keyword arguments, and all of them by the name of the parameter, in the order of `forward`."""
    signature = inspect.signature(module.forward)
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = {}
    if isinstance(inputs, Mapping):
        order = [*signature.parameters]
        kwargs = dict(sorted(inputs.items(), key=lambda i: order.index(i[0]) if i[0] in order else len(order)))
    else:
        args = tuple(inputs) if isinstance(inputs, tuple | list) else (inputs,)
    try:
        arguments = signature.bind(*args, **kwargs).arguments
    except TypeError as e:
        raise ExampleMismatch(f"{type(module).__name__}.forward{signature}: {e}") from None
    return args, kwargs, dict(arguments)


def as_range(name: str, given: Range) -> tuple[int, int | None]:
    lo, hi = (given, given) if isinstance(given, int) else given
    if lo < 0 or (hi is not None and hi < lo):
        raise ExampleMismatch(f"{name} ranges from {lo} to {hi}")
    return lo, hi


Ranges = Mapping[str, tuple[int, int | None]]


def _check_tree(arguments: Mapping[str, Any], dynamic_shapes: Any) -> None:
    """Raises ExampleMismatch where the shapes name what is no argument, or are more than there are arguments."""
    if isinstance(dynamic_shapes, Mapping):
        strange = [str(k) for k in dynamic_shapes if k not in arguments]
        if strange:
            raise ExampleMismatch(f"dynamic_shapes names {', '.join(strange)}; arguments are {', '.join(arguments)}")
    elif dynamic_shapes is not None and len(dynamic_shapes) > len(arguments):
        raise ExampleMismatch(f"dynamic_shapes has {len(dynamic_shapes)} entries for {len(arguments)} arguments")


def _leaves(arguments: Mapping[str, Any], dynamic_shapes: Any, ranges: Ranges) -> Iterator[Leaf]:
    _check_tree(arguments, dynamic_shapes)
    for n, (name, value) in enumerate(arguments.items()):
        if dynamic_shapes is None:
            yield from (Leaf(p, v, _by_convention(v, ranges)) for p, v, _ in _walk(name, value, None))
            continue
        marks = dynamic_shapes.get(name) if isinstance(dynamic_shapes, Mapping) else _nth(dynamic_shapes, n)
        yield from (Leaf(p, v, _by_marks(v, m, ranges)) for p, v, m in _walk(name, value, marks))


def _nth(items: Any, n: int) -> Any:
    return items[n] if n < len(items) else None


def _walk(path: str, value: Any, marks: Any) -> Iterator[tuple[str, Any, Any]]:
    """Each leaf with its path and what the caller's tree of shapes says about it."""
    if isinstance(value, Mapping):
        for k, v in value.items():
            yield from _walk(f"{path}.{k}", v, marks.get(k) if isinstance(marks, Mapping) else None)
    elif isinstance(value, tuple | list):
        for n, v in enumerate(value):
            yield from _walk(f"{path}.{n}", v, _nth(marks, n) if isinstance(marks, tuple | list) else None)
    else:
        yield path, value, marks


def _by_convention(value: Any, ranges: Ranges) -> dict[int, Axis]:
    rank = value.dim() if hasattr(value, "dim") else 0
    places = {name: CONVENTION[name] for name in ranges if name in CONVENTION}
    return {axis: Axis(name, *ranges[name]) for name, (axis, ranks) in places.items() if rank in ranks}


def _by_marks(value: Any, marks: Any, ranges: Ranges) -> dict[int, Axis]:
    if marks is None or not hasattr(value, "dim"):
        return {}
    pairs = marks.items() if isinstance(marks, Mapping) else enumerate(marks)
    axes = {(a + value.dim() if a < 0 else a): _axis(mark, ranges) for a, mark in pairs}
    return {a: axis for a, axis in axes.items() if axis is not None}


def _axis(mark: Any, ranges: Ranges) -> Axis | None:
    """A `torch.export.Dim`, a hint such as `Dim.AUTO`, a string that is a name, or nothing."""
    if mark is None or isinstance(mark, int) or getattr(getattr(mark, "type", None), "name", "") == "STATIC":
        return None
    if isinstance(mark, str):
        return Axis(mark, *ranges.get(mark, (None, None)))
    if not hasattr(mark, "__name__"):
        return Axis(mark=mark)
    if hasattr(mark, "root"):
        return Axis()
    name = mark.__name__
    hi = mark.max if isinstance(mark.max, int) and mark.max < sys.maxsize // 2 else None
    return Axis(name, *ranges.get(name, (int(mark.min) or None, hi)))


def _check_names(leaves: list[Leaf], ranges: Ranges, dynamic_shapes: Any) -> None:
    known = {axis.name for leaf in leaves for axis in leaf.axes.values()} - {""}
    if unknown := sorted(ranges.keys() - known):
        named = f"the names are {', '.join(sorted(known))}" if known else "dynamic_shapes names none"
        if dynamic_shapes is None:
            named = f"without dynamic_shapes the names are {', '.join(CONVENTION)}, where the inputs have such axes"
        raise ExampleMismatch(f"no axis is named {', '.join(unknown)}: {named}")


def _sizes(leaves: list[Leaf]) -> dict[str, int]:
    """The length of each named size in the examples torch will see."""
    seen: dict[str, tuple[str, int]] = {}
    sizes: dict[str, int] = {}
    for leaf in leaves:
        for a, axis in leaf.axes.items():
            if not axis.name:
                continue
            place, n = f"{leaf.path}, axis {a}", int(leaf.value.shape[a])
            other, m = seen.setdefault(axis.name, (place, n))
            if m != n:
                raise ExampleMismatch(f"{axis.name} is {m} at {other} and {n} at {place}")
            if axis.hi is not None and n > axis.hi and not axis.is_fixed:
                raise ExampleMismatch(f"{axis.name} is {n} at {place}; it ranges from {axis.least} to {axis.hi}")
            sizes[axis.name] = axis.traced(n)
    return sizes


def _resized(leaf: Leaf, sizes: Mapping[str, int]) -> Any:
    """The example repeated, or cut, to the sizes wanted."""
    import torch

    value = leaf.value
    for a, axis in leaf.axes.items():
        have = int(value.shape[a])
        want = sizes.get(axis.name, max(have, 2))
        if have == 0:
            raise ExampleMismatch(f"{leaf.path} is empty along axis {a}: an example with elements is wanted")
        if have != want:
            value = torch.cat([value] * -(-want // have), a).narrow(a, 0, want)
    return value


def _torch_dims(leaves: list[Leaf]) -> Iterator[Any]:
    """For each leaf, its axes as torch.export takes them: named ones by hints, so that torch keeps what it finds."""
    from torch.export import Dim

    for leaf in leaves:
        free = {a: axis for a, axis in leaf.axes.items() if not axis.is_fixed}
        yield {a: axis.mark or Dim.AUTO(min=max(axis.least, 1), max=axis.hi) for a, axis in free.items()} or None
