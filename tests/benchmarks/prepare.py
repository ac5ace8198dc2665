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

BUNDLE, ONNX, INPUTS, ANSWER, FACTS, AOT = "model.cuvil", "model.onnx", "inputs.npz", "answer.npz", "facts.json", "model.pt2"
WORKLOADS = Path(__file__).with_name("workloads.py")
PACKER = ("cuvil_pack", "schemas/cuvil_schema", "runtime/cuvil_runtime")
KEPT = 2
ADD_ONE = "add_one"


class Prepared(NamedTuple):
    """Folders of one workload: what peers and truth need, and what this tree's packer makes of it."""

    model: Path
    bundle: Path

    @property
    def facts(self) -> dict[str, Any]:
        return dict(json.loads((self.model / FACTS).read_text()))


def prepared(workload: str, accuracy: str = "standard", aot: bool = False) -> Prepared:
    """Both folders of a workload, from the cache where the model, the packer and their versions are the same."""
    folders = Prepared(_model_folder(workload), _bundle_folder(workload, accuracy))
    if (folders.bundle / BUNDLE).is_file() and (folders.model / FACTS).is_file() and (not aot or _has_aot(folders)):
        return folders
    command = [sys.executable, "-m", "tests.benchmarks.prepare", workload, "--accuracy", accuracy, *["--aot"] * aot]
    subprocess.run(command, cwd=ROOT, check=True, stdout=sys.stderr)
    return folders


def _has_aot(folders: Prepared) -> bool:
    return (folders.model / AOT).is_file()


def _model_folder(workload: str) -> Path:
    packages = [f"{name} {version(name)}" for name in ("torch", "transformers", "onnx", "onnxscript")]
    return CACHE / f"{workload}.{_digest([Path(__file__), WORKLOADS], *packages)}"


def _bundle_folder(workload: str, accuracy: str) -> Path:
    sources = [path for folder in PACKER for path in sorted((ROOT / folder).rglob("*.[pch]*")) if path.suffix != ".pyc"]
    facts = [_model_folder(workload).name, version("ziglang"), *(f"{p.relative_to(ROOT)}" for p in sources)]
    return CACHE / f"{workload}.{accuracy}.{_digest(sources, *facts)}"


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

    class AddOne(torch.nn.Module):
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


def write_bundle(workload: str, accuracy: str, folder: Path) -> None:
    """The module as a user packs it, shapes fixed as for the peers."""
    import cuvil_pack

    model, inputs, _ = module(workload)
    cuvil_pack.pack(model, inputs, output=folder / BUNDLE, accuracy=accuracy)


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
    parser.add_argument("--accuracy", default="standard")
    parser.add_argument("--aot", action="store_true")
    asked = parser.parse_args()
    folders = Prepared(_model_folder(asked.workload), _bundle_folder(asked.workload, asked.accuracy))
    if not (folders.model / FACTS).is_file():
        _publish(folders.model, lambda folder: write_model(asked.workload, folder))
    if not (folders.bundle / BUNDLE).is_file():
        _publish(folders.bundle, lambda folder: write_bundle(asked.workload, asked.accuracy, folder))
    if asked.aot and not _has_aot(folders):
        write_aot(asked.workload, folders.model)


if __name__ == "__main__":
    main()
