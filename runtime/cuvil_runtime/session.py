"""A loaded bundle that runs: the chosen program, its threads, its arena and the mapped weights."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from typing import TYPE_CHECKING

from cuvil_schema.bundle import Bundle
from cuvil_schema.errors import BundleError
from cuvil_schema.plan import decode_plan

from cuvil_runtime.arrays import ArraySpec
from cuvil_runtime.code import Program
from cuvil_runtime.cpu import choose, read_cpu
from cuvil_runtime.entry import Entry
from cuvil_runtime.errors import InputError
from cuvil_runtime.threads import allowed, resolve
from cuvil_runtime.workspace import Workspace

if TYPE_CHECKING:
    from os import PathLike

    from cuvil_schema.manifest import Manifest, Variant

    from cuvil_runtime.arrays import Array


def load(path: str | PathLike[str], threads: int | None = None, variant: str | None = None) -> Session:
    """Open a bundle for running.

    `threads` includes the caller's; None takes CUVIL_THREADS, else what affinity and cgroups allow. `variant` None
    takes the best that this CPU has. Raises a BundleError for the file, a SessionError for the machine.
    """
    count = resolve(threads)
    bundle = Bundle(path)
    bundle.check(min(count, allowed()), but="weights")
    try:
        return Session(bundle, choose(bundle.manifest, read_cpu(), variant), count)
    except BundleError as error:
        raise bundle.blame(error) from None


class Session:
    """A model that runs. Calls from several threads wait for each other; after a fork the child has its own threads.

    `inputs` and `outputs` describe the entry `main`, or the first one; `entries` has all by name.
    """

    def __init__(self, bundle: Bundle, variant: Variant, threads: int) -> None:
        self.manifest: Manifest = bundle.manifest
        self.variant, self.threads = variant.name, threads
        self._bundle = bundle
        program = Program(bundle.section(variant.code), bundle.sections[variant.code], variant.arch)
        self._workspace = Workspace(program, bundle, threads)
        packed = bytes(bundle.section(variant.plan))
        self.plan = decode_plan(packed, bundle.manifest, self._workspace.size, f"section {variant.plan}")
        self.entries = {
            entry.name: Entry(entry, bundle.manifest.ranges(), self.plan[entry.name], self._workspace)
            for entry in bundle.manifest.entries
        }
        self._main = self.entries.get("main") or next(iter(self.entries.values()))

    @property
    def inputs(self) -> tuple[ArraySpec, ...]:
        return self._main.inputs

    @property
    def outputs(self) -> tuple[ArraySpec, ...]:
        return self._main.outputs

    @property
    def assets(self) -> dict[str, bytes]:
        """Files that travel with the model, such as a tokenizer; read whenever this is asked for."""
        names = [name for name in self._bundle.sections if name.startswith("assets/")]
        return {name.removeprefix("assets/"): bytes(self._bundle.section(name)) for name in names}

    @property
    def report(self) -> dict[str, object]:
        """What the packer recorded about the build."""
        return self._bundle.report()

    def __call__(self, *arrays: object) -> Array | tuple[Array, ...]:
        """Inputs in the model's order -> the output, or a tuple of them when the model has not exactly one."""
        outputs = self._main.run(arrays)
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def run(
        self, feeds: Mapping[str, object], out: Mapping[str, object] | None = None, entry: str | None = None
    ) -> dict[str, Array]:
        """Every output by name. Arrays in `out` are written in place and returned; nothing is allocated for them.

        Raises InputError for arrays that are not what `inputs` and `outputs` say, SessionError once closed.
        """
        called = self._entry(entry)
        arrays = called.ordered(feeds, "input")
        buffers = called.ordered(out, "output") if out else ()
        outputs = called.run(arrays, buffers)
        return {spec.name: output for spec, output in zip(called.outputs, outputs, strict=True)}

    def times(self, feeds: Mapping[str, object], entry: str | None = None) -> list[int]:
        """Nanoseconds that each step of the plan takes in one call."""
        called = self._entry(entry)
        times = (ctypes.c_uint64 * max(1, len(called.plan.steps)))()
        called.run(called.ordered(feeds, "input"), times=ctypes.addressof(times))
        return list(times)[: len(called.plan.steps)]

    def close(self) -> None:
        """Stop the threads, free the arena, unmap code and weights; a call after this is a SessionError."""
        self._workspace.close()
        self._bundle.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self._workspace.closed else f"{self.variant}, {self.threads} threads"
        return f"<cuvil session {self.manifest.model}: {self._main!r} ({state})>"

    def _entry(self, name: str | None) -> Entry:
        if name is None:
            return self._main
        if name not in self.entries:
            raise InputError(f"{self.manifest.model} has no entry {name!r}; it has {', '.join(self.entries)}")
        return self.entries[name]
