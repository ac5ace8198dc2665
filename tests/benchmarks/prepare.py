"""What a comparison needs of a workload, made once: its ONNX file, its bundle, its inputs and the true answer.

Run as a program for one workload, so that torch leaves memory with the process.
"""

from __future__ import annotations

import argparse
import copy
import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from tests.benchmarks.environment import CACHE, ROOT

BUNDLE, ONNX, AOT = "model.cuvil", "model.onnx", "model.pt2"
INPUTS, ANSWER, FACTS = "inputs.npz", "answer.npz", "facts.json"
PACKER = ("cuvil_pack", "schemas/cuvil_schema", "runtime/cuvil_runtime")
KEPT = 3
WORKLOADS = Path(__file__).with_name("workloads.py")
ADD_ONE = "add_one"


class Packing(NamedTuple):
    """How Cuvil packs a workload: accuracy class, targets (none named: the default ones), fixed or dynamic shapes."""

    accuracy: str = "standard"
    targets: tuple[str, ...] = ()
    dynamic: bool = False


class Prepared(NamedTuple):
    """Folders of one workload: what peers and truth need, and what this tree's packer makes of it."""

    model: Path
    bundle: Path

    @property
    def facts(self) -> dict[str, Any]:
        return dict(json.loads((self.model / FACTS).read_text()))

    def missing(self, aot: bool) -> list[str]:
        needed = [self.model / FACTS, self.bundle / BUNDLE, *[self.model / AOT] * aot]
        return [path.name for path in needed if not path.is_file()]


def prepared(workload: str, how: Packing, aot: bool = False) -> Prepared:
    """Both folders of a workload, from the cache where the model, the packer and their versions are the same."""
    folders = Prepared(_model_folder(workload), _bundle_folder(workload, how))
    if not folders.missing(aot):
        return folders
    command = [sys.executable, "-m", "tests.benchmarks.prepare", workload, *map(str, folders)]
    subprocess.run([*command, json.dumps(how._asdict()), *["--aot"] * aot], cwd=ROOT, check=True, stdout=sys.stderr)
    return folders


def _model_folder(workload: str) -> Path:
    packages = [f"{name} {version(name)}" for name in ("torch", "transformers", "onnx", "onnxscript")]
    return CACHE / f"{workload}.{_digest([Path(__file__), WORKLOADS], *packages)}"


def _bundle_folder(workload: str, how: Packing) -> Path:
    sources = [path for folder in PACKER for path in sorted((ROOT / folder).rglob("*.[pch]*")) if path.suffix != ".pyc"]
    names = (str(path.relative_to(ROOT)) for path in sources)
    facts = (_model_folder(workload).name, version("ziglang"), json.dumps(how._asdict()))
    return CACHE / f"{workload}.{how.accuracy}.{_digest(sources, *names, *facts)}"


def _digest(files: Iterable[Path], *facts: str) -> str:
    parts = (*(hashlib.sha256(file.read_bytes()).digest() for file in files), *(fact.encode() for fact in facts))
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:12]


def _publish(folder: Path, fill: Callable[[Path], None]) -> None:
    """Let `fill` write into a folder that appears whole or not at all; older ones of the same kind go."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE, prefix="new-") as name:
        made = Path(name) / folder.name
        made.mkdir()
        fill(made)
        if not folder.exists():
            made.rename(folder)
    kind = folder.name.rpartition(".")[0]
    alike = [path for path in CACHE.glob(f"{kind}.*") if path.name.rpartition(".")[0] == kind]
    for old in sorted(alike, key=lambda path: -path.stat().st_mtime)[KEPT:]:
        shutil.rmtree(old, ignore_errors=True)


def module(workload: str) -> tuple[Any, tuple[Any, ...], Any]:
    """An eval-mode module, its example inputs and its dynamic shapes."""
    import torch

    from tests.benchmarks import workloads

    class AddOne(torch.nn.Module):  # type: ignore[misc]
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + 1.0

    if workload == ADD_ONE:
        return AddOne().eval(), (torch.zeros(1),), None
    made: tuple[Any, tuple[Any, ...], Any] = workloads.get(workload)
    return made


def write_model(workload: str, folder: Path) -> None:
    """ONNX of fixed shapes, inputs, the answer in float64, and facts: flops, weights, torch's own error in float32."""
    import numpy as np
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    from tests.benchmarks.accuracy import relative_error

    model, inputs, _ = module(workload)
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        single = arrays(model(*inputs))
    with torch.no_grad():
        true = arrays(copy.deepcopy(model).double()(*(x.double() if x.is_floating_point() else x for x in inputs)))
    np.savez(folder / INPUTS, *(x.numpy() for x in inputs))
    np.savez(folder / ANSWER, *true)
    torch.onnx.export(model, inputs, str(folder / ONNX), dynamo=True, external_data=False, verbose=False)
    weights = sum(p.numel() * p.element_size() for p in model.parameters())
    facts = {
        "flops": counter.get_total_flops(),
        "weights": weights,
        "torch_rel_err": relative_error(single, true),
    }
    (folder / FACTS).write_text(json.dumps(facts))


def write_bundle(workload: str, how: Packing, folder: Path) -> None:
    """The module as a user packs it; shapes are fixed, as they are for the peers, unless asked otherwise."""
    import cuvil_pack
    from cuvil_pack.targets import DEFAULT_TARGETS

    model, inputs, shapes = module(workload)
    cuvil_pack.pack(
        model,
        inputs,
        output=folder / BUNDLE,
        dynamic_shapes=shapes if how.dynamic else None,
        targets=how.targets or DEFAULT_TARGETS,
        accuracy=how.accuracy,
    )


def write_aot(workload: str, folder: Path) -> None:
    """AOTInductor's package, weights frozen; it needs a C++ compiler."""
    import torch

    model, inputs, _ = module(workload)
    with torch.no_grad():
        exported = torch.export.export(model, inputs)
        compile_package: Any = torch._inductor.aoti_compile_and_package
        compile_package(exported, package_path=str(folder / "new.pt2"), inductor_configs={"freezing": True})
    (folder / "new.pt2").rename(folder / AOT)


def arrays(answer: Any) -> list[Any]:
    """The tensors of an answer in pytree order, as arrays."""
    import torch
    from torch.utils import _pytree

    return [leaf.numpy() for leaf in _pytree.tree_leaves(answer) if isinstance(leaf, torch.Tensor)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("workload")
    parser.add_argument("model", type=Path)
    parser.add_argument("bundle", type=Path)
    parser.add_argument("packing", type=json.loads)
    parser.add_argument("--aot", action="store_true")
    asked = parser.parse_args()
    how, folders = Packing(**asked.packing), Prepared(asked.model, asked.bundle)
    missing = folders.missing(asked.aot)
    if FACTS in missing:
        _publish(folders.model, lambda folder: write_model(asked.workload, folder))
    if BUNDLE in missing:
        _publish(folders.bundle, lambda folder: write_bundle(asked.workload, how, folder))
    if AOT in missing:
        write_aot(asked.workload, folders.model)


if __name__ == "__main__":
    main()
