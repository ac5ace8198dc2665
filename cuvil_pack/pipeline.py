"""The journey on one screen: model -> graph -> kernels -> plan -> program -> bundle."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from . import frontends, passes
from .bundle.plan import plan
from .bundle.program import program
from .bundle.write import Variant, bundle, fill, probe, published, weight_offsets
from .errors import OutputError, ProofError
from .ir.graph import Graph, Model
from .ir.size import Symbol
from .kernels import HEADERS
from .options import Options, Range, options
from .targets import DEFAULT_TARGETS, Target
from .targets.toolchain import compile_program, compiler_version
from .trace import Stage, Watch, checking, dump_folder, silent
from .tune.choose import choose

COMPILERS = 2


def pack(
    source: Any,
    example_inputs: Any = None,
    *,
    output: str | Path,
    dims: Mapping[str, int | Range] | None = None,
    dynamic_shapes: Any = None,
    targets: str | Sequence[str] = DEFAULT_TARGETS,
    accuracy: str = "standard",
    watch: Watch = silent,
) -> Path:
    """Pack a module, an ExportedProgram, a Hugging Face directory or `"file.py:function"` into the file `output`.

    `dims` gives the range of each named size, `dynamic_shapes` which axes have them, as torch.export takes it. Returns
    the path of the bundle. Raises a PackError that says what is wrong with the model, the options or the machine.
    """
    chosen = options(output, dims, dynamic_shapes, targets, accuracy)
    _check_output(chosen.output)
    watch(Stage("read", 0, 1))
    model = frontends.read(source, example_inputs, dims=chosen.dims, dynamic_shapes=chosen.dynamic_shapes)
    return pack_model(model, chosen, watch)


def pack_model(model: Model, chosen: Options, watch: Watch = silent) -> Path:
    """The rest of the journey, from the graphs that a frontend read."""
    kernels = replace(model, entries=tuple(_optimise(g, model, watch) for g in model.entries))
    sizes = tuple(dict.fromkeys(s for g in kernels.entries for s in g.sizes()))
    variants = _variants(kernels, sizes, chosen.targets, watch)
    with published(chosen.output) as temporary:
        watch(Stage("write", 0, 1))
        report = _report(model, chosen)
        fill(temporary, bundle(kernels, sizes, variants, chosen.accuracy, chosen.tolerance, report))
        watch(Stage("prove", 0, 1))
        error = max((c["error"] for c in prove(temporary)["compared"]), default=None)
        watch(Stage("prove", 1, 1, "" if error is None else f"largest error {error:.1e}"))
    watch(Stage("done", 1, 1, str(chosen.output)))
    return chosen.output


def _optimise(graph: Graph, model: Model, watch: Watch) -> Graph:
    example = next((e.inputs for e in model.examples if e.entry == graph.name), ())
    feeds = {i.name: a for i, a in zip(graph.inputs, example, strict=False)}
    count = len(passes.PASSES)
    done = iter(range(1, count + 1))
    return passes.run(
        graph,
        check=checking(),
        feeds=feeds,
        dump=dump_folder(),
        progress=lambda name, _: watch(Stage("optimise", next(done), count, name)),
    )


def _variants(model: Model, sizes: tuple[Symbol, ...], targets: Iterable[Target], watch: Watch) -> list[Variant]:
    """Plan and compile for each target, side by side; the best first."""
    ranked = sorted(targets, key=lambda t: (-len(t.features), t.name))
    offsets = weight_offsets(model.entries)
    plans = []
    for n, target in enumerate(ranked):
        watch(Stage("plan", n, len(ranked), target.name))
        plans.append({g.name: plan(g, target, sizes, offsets, choose) for g in model.entries})
    sources = [program(p) for p in plans]
    _dump(ranked, sources)
    codes: list[bytes] = []
    with ThreadPoolExecutor(COMPILERS) as pool:
        for code in pool.map(lambda t, s: compile_program(s, t, (HEADERS,)), ranked, sources):
            codes.append(code)
            watch(Stage("compile", len(codes), len(ranked), ranked[len(codes) - 1].name))
    return [Variant(t, p, c) for t, p, c in zip(ranked, plans, codes, strict=True)]


def _dump(targets: list[Target], sources: list[str]) -> None:
    folder = dump_folder()
    if folder is None:
        return
    for t, s in zip(targets, sources, strict=True):
        (folder / f"program.{t.name}.c").write_text(s)


def _report(model: Model, chosen: Options) -> bytes:
    """What was asked for and what it was built with; nothing that differs from run to run."""
    facts = {
        "accuracy": chosen.accuracy,
        "compiler": f"ziglang {compiler_version()}",
        "dims": {n: list(r) for n, r in chosen.dims.items()},
        "model": model.name,
        "targets": [t.name for t in chosen.targets],
    }
    return json.dumps(facts, sort_keys=True, indent=1).encode()


def prove(path: Path) -> Mapping[str, Any]:
    """Run the golden calls of a bundle in a fresh process that has only the runtime, in every variant this machine has.

    Raises ProofError where an answer differs from the model's, or the process dies.
    """
    command = [sys.executable, "-m", "cuvil_runtime", "verify", "--json", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode < 0:
        raise ProofError(f"the bundle kills the process that runs it (signal {-done.returncode})")
    try:
        result: Mapping[str, Any] = json.loads(done.stdout or done.stderr)
    except ValueError:
        raise ProofError(f"the bundle does not run: {done.stderr.strip()[-500:]}") from None
    if "error" in result:
        raise ProofError(f"the bundle does not run: {result['error']}")
    wrong = [c for c in result["compared"] if not c["agrees"]]
    if wrong:
        told = "{variant} {entry} {output}: error {error:.2e}, allowed {tolerance:.2e}"
        lines = [told.format(**c) for c in wrong]
        raise ProofError("the bundle differs from the model\n    " + "\n    ".join(lines))
    return result


def _check_output(output: Path) -> None:
    if not output.parent.is_dir():
        raise OutputError(f"{output}: there is no folder {output.parent}")
    if output.is_dir():
        raise OutputError(f"{output}: is a folder")
    probe(output)
