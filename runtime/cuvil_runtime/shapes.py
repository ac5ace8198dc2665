"""Named sizes from the shapes of a call's inputs, and the shapes of its outputs from the sizes."""

from collections.abc import Iterator, Mapping
from math import prod

from cuvil_schema.manifest import DTYPES, MAX_SIZE, Entry, Spec
from cuvil_schema.sizes import Expr, Range, evaluate, names, text

from cuvil_runtime.errors import InputError

MAX_BYTES = 2**47

Shape = tuple[int, ...]


def solve(entry: Entry, ranges: Mapping[str, Range], shapes: tuple[Shape, ...]) -> dict[str, int]:
    """The named sizes that inputs of these shapes have; InputError names the dimension that does not fit the model."""
    for spec, shape in zip(entry.inputs, shapes, strict=True):
        if len(shape) != len(spec.shape):
            raise InputError(f"input {spec} has {len(spec.shape)} dimensions, not {len(shape)}: {list(shape)}")
    sizes: dict[str, int] = {}
    givers: dict[str, str] = {}
    for spec, axis, dim, length in _dims(entry, shapes):
        if not isinstance(dim, str):
            continue
        if sizes.setdefault(dim, length) != length:
            raise InputError(f"{dim} is {sizes[dim]} in input {givers[dim]} and {length} in input {spec.name}")
        givers.setdefault(dim, spec.name)
        low, high = ranges[dim]
        if not low <= length <= (MAX_SIZE if high is None else high):
            span = f"{low}..{MAX_SIZE if high is None else high}"
            raise InputError(f"input {spec}: {dim} (dimension {axis}) is {length}, outside {span}")
    for spec, axis, dim, length in _dims(entry, shapes):
        if evaluate(dim, sizes) != length:
            raise InputError(f"input {spec}: dimension {axis} is {length}, not {_shown(dim, sizes)}")
    return sizes


def output_shapes(entry: Entry, sizes: Mapping[str, int]) -> list[Shape]:
    """The shape of every output at these sizes; InputError where one cannot be."""
    shapes = []
    for spec in entry.outputs:
        shape = tuple(evaluate(dim, sizes) for dim in spec.shape)
        if min(shape, default=0) < 0 or prod(shape) * DTYPES[spec.dtype] > MAX_BYTES:
            raise InputError(f"output {spec} would be {list(shape)}{_given(spec, sizes)}")
        shapes.append(shape)
    return shapes


def _dims(entry: Entry, shapes: tuple[Shape, ...]) -> Iterator[tuple[Spec, int, Expr, int]]:
    for spec, shape in zip(entry.inputs, shapes, strict=True):
        for axis, (dim, length) in enumerate(zip(spec.shape, shape, strict=True)):
            yield spec, axis, dim, length


def _shown(dim: Expr, sizes: Mapping[str, int]) -> str:
    value = str(evaluate(dim, sizes))
    if isinstance(dim, int):
        return value
    return f"{value} = {text(dim)} with {', '.join(f'{name} = {sizes[name]}' for name in dict.fromkeys(names(dim)))}"


def _given(spec: Spec, sizes: Mapping[str, int]) -> str:
    used = dict.fromkeys(name for dim in spec.shape for name in names(dim))
    return f" with {', '.join(f'{name} = {sizes[name]}' for name in used)}" if used else ""
