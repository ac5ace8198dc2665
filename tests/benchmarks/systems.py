"""What can be compared: how each system's process is started, and what it reads."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from tests.benchmarks.environment import peers_python, variables
from tests.benchmarks.prepare import ANSWER, AOT, BUNDLE, INPUTS, ONNX, Prepared
from tests.benchmarks.process import Died, result
from tests.benchmarks.ratios import Sample

SUBJECT = "cuvil"


class System(NamedTuple):
    """A loader of `timed.py`, the artifact it reads, the variant it is told, and the packages it was timed with."""

    loader: str
    artifact: str
    variant: str | None = None
    with_torch: bool = False

    def path(self, folders: Prepared) -> Path:
        return (folders.bundle if self.artifact == BUNDLE else folders.model) / self.artifact

    def python(self) -> Path:
        return Path(sys.executable) if self.with_torch else peers_python()


SYSTEMS: dict[str, dict[str, System]] = {
    "fp32": {
        SUBJECT: System("cuvil", BUNDLE),
        "onnxruntime": System("onnxruntime", ONNX),
        "openvino": System("openvino", ONNX, "f32"),
        "aotinductor": System("aotinductor", AOT, with_torch=True),
    },
    "bf16": {
        "openvino": System("openvino", ONNX, "bf16"),
    },
}
OPTIONAL = frozenset({"aotinductor"})


def defaults(dtype: str) -> tuple[str, ...]:
    """The systems of a dtype that are timed when none is named."""
    return tuple(name for name in SYSTEMS[dtype] if name not in OPTIONAL)


def sample(name: str, workload: str, number: int, folders: Prepared, threads: int, dtype: str) -> Sample:
    """Time a system on a workload in a fresh process of its own."""
    system = SYSTEMS[dtype][name]
    artifact, model = system.path(folders), folders.model
    command: list[str | Path] = [system.python(), "-m", "tests.benchmarks.timed", system.loader]
    command += [artifact, model / INPUTS, model / ANSWER]
    options = ["--threads", str(threads), *(["--variant", system.variant] if system.variant else [])]
    try:
        found = result([*command, *options], variables(threads))
    except Died as death:
        return Sample(workload, name, number, (), float("nan"), str(death))
    return Sample(workload, name, number, tuple(found["ns"]), found["rel_err"])


def installed(name: str) -> bool:
    """Whether an optional system can be timed here."""
    return name not in OPTIONAL or find_spec("torch") is not None
