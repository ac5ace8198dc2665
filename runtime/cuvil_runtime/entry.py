"""One entry of a loaded bundle: arrays are checked, sizes solved, the compiled function called."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from cuvil_schema import manifest
from cuvil_schema.plan import EntryPlan
from cuvil_schema.sizes import Range
from numpy import empty, ndarray

from cuvil_runtime.arrays import ArraySpec, accepted, address, described, writable
from cuvil_runtime.code import Call
from cuvil_runtime.errors import InputError, SessionError
from cuvil_runtime.shapes import MAX_BYTES, Shape, output_shapes, solve

if TYPE_CHECKING:
    from cuvil_runtime.arrays import Array, DType
    from cuvil_runtime.workspace import Workspace

REMEMBERED = 256


class Solved(NamedTuple):
    """What one combination of input shapes means. `sizes` is the address of `held`, one i64 per named size."""

    sizes: int
    outputs: tuple[tuple[Shape, DType], ...]
    arena: int
    held: ctypes.Array[ctypes.c_int64]


class Entry:
    """A function of the bundle, run under the lock of its workspace; `inputs` and `outputs` describe its arrays."""

    def __init__(
        self, entry: manifest.Entry, ranges: Mapping[str, Range], plan: EntryPlan, workspace: Workspace
    ) -> None:
        self.name = entry.name
        self.inputs = tuple(described(spec, ranges) for spec in entry.inputs)
        self.outputs = tuple(described(spec, ranges) for spec in entry.outputs)
        self.plan = plan
        self._entry, self._ranges, self._workspace = entry, ranges, workspace
        self._sides = {
            side: (specs, frozenset(spec.name for spec in specs))
            for side, specs in (("input", self.inputs), ("output", self.outputs))
        }
        self._solved: dict[tuple[Shape, ...], Solved] = {}
        self._run, self._arena = workspace.program.run(entry.name), workspace.program.arena(entry.name)
        self._input_addresses = (ctypes.c_void_p * max(1, len(self.inputs)))()
        self._output_addresses = (ctypes.c_void_p * max(1, len(self.outputs)))()
        self._call = Call(
            inputs=ctypes.addressof(self._input_addresses),
            outputs=ctypes.addressof(self._output_addresses),
            weights=workspace.weights,
        )
        self._call_address = ctypes.addressof(self._call)

    def __repr__(self) -> str:
        return f"{self.name}({_listed(self.inputs)}) -> {_listed(self.outputs)}"

    def run(self, arrays: Sequence[object], out: Sequence[object] = (), times: int = 0) -> list[Array]:
        """Outputs for inputs, both in the entry's order; what `out` has that is not None is written and returned.

        `times` is the address of one u64 a step, or 0.
        """
        if len(arrays) != len(self.inputs):
            raise InputError(f"{self.name} takes {len(self.inputs)} inputs, not {len(arrays)}: {_listed(self.inputs)}")
        workspace, call = self._workspace, self._call
        with workspace.lock:
            pool = workspace.pool or workspace.open_pool()
            inputs, shapes = [], []
            for place, array in enumerate(arrays):
                spec = self.inputs[place]
                if type(array) is not ndarray or array.dtype is not spec.dtype or not array.flags.carray:
                    array = accepted(array, spec)
                self._input_addresses[place] = address(array)
                inputs.append(array)
                shapes.append(array.shape)
            solved = self._solved.get(tuple(shapes)) or self._solve(tuple(shapes))
            outputs = self._outputs(solved, out, inputs)
            call.sizes, call.arena, call.times = solved.sizes, workspace.arena(solved.arena), times
            refused = self._run(pool, self._call_address)
        if refused:
            raise self._refusal(refused)
        return outputs

    def ordered(self, arrays: Mapping[str, object], side: str) -> list[object]:
        """The values of `arrays` in the entry's order, None where there is none; InputError for an unknown name."""
        specs, known = self._sides[side]
        if type(arrays) is not dict and not isinstance(arrays, Mapping):
            raise InputError(f"{side}s are a {type(arrays).__name__}, not a mapping {{name: array}}: {_listed(specs)}")
        if unknown := arrays.keys() - known:
            raise InputError(f"{self.name} has no {side} {min(map(repr, unknown))}; it has {_listed(specs)}")
        return [arrays.get(spec.name) for spec in specs]

    def _solve(self, shapes: tuple[Shape, ...]) -> Solved:
        sizes = solve(self._entry, self._ranges, shapes)
        made = zip(output_shapes(self._entry, sizes), (spec.dtype for spec in self.outputs), strict=True)
        given = [sizes.get(name, low) for name, (low, _) in self._ranges.items()]
        array = (ctypes.c_int64 * max(1, len(given)))(*given)
        arena = int(self._arena(ctypes.addressof(array), self._workspace.threads))
        if not 0 <= arena <= MAX_BYTES:
            raise SessionError(f"{self.name} asks for an arena of {arena} bytes with {sizes}")
        if len(self._solved) == REMEMBERED:
            self._solved.clear()
        found = self._solved[shapes] = Solved(ctypes.addressof(array), tuple(made), arena, array)
        return found

    def _outputs(self, solved: Solved, out: Sequence[object], inputs: Sequence[Array]) -> list[Array]:
        """New arrays, or those of `out`, with their addresses where the call finds them."""
        outputs: list[Array] = []
        for place, (shape, dtype) in enumerate(solved.outputs):
            given = out[place] if out else None
            output = empty(shape, dtype) if given is None else writable(given, shape, self.outputs[place])
            self._output_addresses[place] = address(output)
            outputs.append(output)
        if out:
            self._check_apart(inputs, outputs)
        return outputs

    def _check_apart(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        """InputError where an output shares a byte with an input or another output."""
        taken = list(inputs)
        for output, spec in zip(outputs, self.outputs, strict=True):
            begin = address(output)
            for place, other in enumerate(taken):
                start = address(other)
                if begin < start + other.nbytes and start < begin + output.nbytes:
                    side = "input" if place < len(inputs) else "output"
                    name = f"{side} {(self.inputs + self.outputs)[place].name}"
                    raise InputError(f"out {spec.name} overlaps {name}: every output needs memory of its own")
            taken.append(output)

    def _refusal(self, refused: int) -> InputError | SessionError:
        if not 0 < refused <= len(self.plan.steps):
            return SessionError(f"{self.name} returned {refused}, which is no step of its plan")
        step = self.plan.steps[refused - 1]
        done = ", ".join(step.ops) or step.kernel
        place = step.where or f"step {refused - 1}"
        return InputError(f"{done}: a value is out of its range, such as an index past the end\n    at {place}")


def _listed(specs: tuple[ArraySpec, ...]) -> str:
    return ", ".join(f"{spec.name}: {spec.type}" for spec in specs) or "none"
