"""Write the bundle: sections, manifest, and a file that appears whole or not at all."""

from __future__ import annotations

import contextlib
import math
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import cuvil_schema as schema
import numpy as np

from ..errors import OutputError
from ..ir.graph import Array, Example, Graph, Model, Weight
from ..ir.size import Dim, Symbol, to_prefix
from ..ir.text import to_text
from ..ir.types import DType, TensorType
from ..targets import Target
from .assemble import assemble
from .plan import Place, Plan, Step, flops, ops_of, traffic

PRODUCER = "cuvil 0.1.0"


@dataclass(frozen=True)
class Variant:
    """The code for one kind of machine, and the plan of each entry it was made from."""

    target: Target
    plans: Mapping[str, Plan]
    code: bytes


def expression(d: Dim) -> schema.Expr:
    """A size in the form of the schema."""

    def frozen(p: object) -> schema.Expr:
        return tuple(map(frozen, p)) if isinstance(p, list) else p  # type: ignore[return-value]

    return frozen(to_prefix(d))


def weight_offsets(entries: Iterable[Graph]) -> dict[str, int]:
    """Where each weight begins in the weights section's tensor data."""
    return schema.tensor_offsets({n: w.data.nbytes for g in entries for n, w in g.weights().items()})


def bundle(
    model: Model, sizes: tuple[Symbol, ...], variants: Iterable[Variant], accuracy: str, tolerance: float, report: bytes
) -> Iterator[object]:
    """The bytes of a bundle, in pieces. `model` has the entries whose nodes are kernels; variants stand best first."""
    variants = tuple(variants)
    weights: dict[str, Weight] = {n: w for g in model.entries for n, w in g.weights().items()}
    manifest = schema.Manifest(
        producer=PRODUCER,
        model=model.name,
        source=model.source,
        accuracy=accuracy,
        sizes=tuple(schema.Size(s.name, s.lo, _most(s)) for s in sizes),
        entries=tuple(_entry(g) for g in model.entries),
        variants=tuple(_variant(v.target) for v in variants),
        golden=tuple(schema.Golden(e.entry, _call_sizes(model, e), allowed(e, tolerance)) for e in model.examples),
    )
    sections: dict[str, object] = {
        "graph": "\n\n".join(to_text(g) for g in model.entries).encode(),
        "weights": schema.pack_tensors({n: _tensor(w.type, w.data) for n, w in weights.items()}),
        "golden": schema.pack_tensors(_golden(model)),
        "report": report,
    }
    sections |= {f"assets/{name}": data for name, data in model.assets.items()}
    for v in variants:
        sections[f"code/{v.target.name}"] = v.code
        plans = {name: entry_plan(p) for name, p in v.plans.items()}
        sections[f"plan/{v.target.name}"] = schema.encode_plan(plans, manifest)
    return iter(assemble(manifest, sections))  # type: ignore[arg-type]


def allowed(e: Example, tolerance: float) -> float:
    """The error a golden call may have: that of the accuracy class, or twice that of the model's own precision.

    The latter is rounded up to a power of two, so that it does not differ from run to run; half precision has at least
    four of its steps.
    """
    half = max((4.0 * float(np.finfo(a.dtype).eps) for a in e.outputs if a.dtype == np.float16), default=0.0)
    least = max(tolerance, half)
    return least if 2 * e.noise <= least else 2.0 ** math.ceil(math.log2(2 * e.noise))


def _most(s: Symbol) -> int | None:
    assert s.hi is None or isinstance(s.hi, int), f"{s.name} is bounded by {s.hi}"
    return s.hi


def _entry(g: Graph) -> schema.Entry:
    ins = tuple(_spec(i.name, i.type) for i in g.inputs)
    return schema.Entry(g.name, ins, tuple(_spec(n, o.type) for n, o in zip(g.names, g.outputs, strict=True)))


def _spec(name: str, t: TensorType) -> schema.Spec:
    return schema.Spec(name, t.dtype.value, tuple(map(expression, t.shape)))


def _variant(t: Target) -> schema.Variant:
    return schema.Variant(t.name, t.arch, t.features, f"code/{t.name}", f"plan/{t.name}")


def _tensor(t: TensorType, data: Array) -> schema.Tensor:
    return schema.Tensor(t.dtype.value, tuple(data.shape), np.ascontiguousarray(data).reshape(-1).data)


def _golden(model: Model) -> dict[str, schema.Tensor]:
    tensors: dict[str, schema.Tensor] = {}
    case: dict[str, int] = {}
    graphs = {g.name: g for g in model.entries}
    for e in model.examples:
        k = case.setdefault(e.entry, 0)
        case[e.entry] += 1
        names = {"in": [i.name for i in graphs[e.entry].inputs], "out": list(graphs[e.entry].names)}
        for side, arrays in (("in", e.inputs), ("out", e.outputs)):
            for name, a in zip(names[side], arrays, strict=True):
                tensors[schema.golden_key(side, e.entry, k, name)] = _tensor(TensorType(DType.of(a.dtype), a.shape), a)
    return tensors


def _call_sizes(model: Model, e: Example) -> dict[str, int]:
    from ..ir.interpret import solve

    graph = next(g for g in model.entries if g.name == e.entry)
    return solve(graph.inputs, e.inputs)


def entry_plan(p: Plan) -> schema.EntryPlan:
    """The plan in the form of the schema."""
    weights = sum(w.data.nbytes for w in p.graph.weights().values())
    buffers = tuple(
        schema.Buffer(name, b.kind, expression(b.offset), expression(b.type.nbytes), str(b.type))
        for name, b in {_key(b): b for b in p.places}.items()
    )
    return schema.EntryPlan(
        arena=expression(p.activations),
        steps=tuple(map(_step, p.steps)),
        buffers=buffers,
        weights=weights,
        activations=expression(p.activations),
        scratch=expression(p.scratch),
        peak=expression(p.activations + p.scratch + weights),
    )


def _key(p: Place) -> str:
    return f"{p.kind}:{p.name}"


def _step(s: Step) -> schema.Step:
    return schema.Step(
        kernel=s.kernel.name,
        ops=ops_of(s.kernel.body),
        where=str(s.node.where),
        dtype=s.writes[0].type.dtype.value,
        algorithm=s.kernel.template.name,
        flops=expression(flops(s.node)),
        bytes=expression(traffic(s)),
        reads=tuple(dict.fromkeys(map(_key, s.reads))),
        writes=tuple(map(_key, s.writes)),
        schedule=dict(sorted(s.kernel.schedule.items())),
    )


def probe(output: Path) -> None:
    """Raises OutputError where no file can be made beside `output`."""
    _temporary(output).unlink()


def _temporary(output: Path) -> Path:
    try:
        handle, name = tempfile.mkstemp(prefix=f".{output.name}.", suffix=".tmp", dir=output.parent)
    except OSError as e:
        raise OutputError(f"{output}: cannot be written: {e.strerror}") from None
    os.close(handle)
    return Path(name)


@contextlib.contextmanager
def published(output: Path) -> Iterator[Path]:
    """A temporary file beside `output`; it takes its name when the block ends well, and is gone when it does not.

    Raises OutputError where the folder cannot be written.
    """
    temporary = _temporary(output)
    try:
        yield temporary
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(output)
        _sync_folder(output.parent)
    finally:
        temporary.unlink(missing_ok=True)


def fill(path: Path, pieces: Iterable[object], progress: Callable[[int], None] = lambda written: None) -> None:
    """Write the pieces and sync them to disk. Raises OutputError where the disk is full or refuses."""
    try:
        with path.open("wb") as f:
            for piece in pieces:
                f.write(piece)  # type: ignore[arg-type]
                progress(f.tell())
            f.flush()
            os.fsync(f.fileno())
    except OSError as e:
        raise OutputError(f"{path.parent}: the bundle could not be written: {e.strerror}") from None


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
