#!/usr/bin/env python
"""What it costs to have Cuvil instead of onnxruntime in a process, apart from the time of large models.

Peak resident memory and the way from the start of the process to the first result, on ResNet-50; the import; the size
of what is installed; the file and the time of a call of a model that adds one to one number.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

if not __package__:  # this folder on the path would hide Python's own `profile`
    sys.path[0] = str(Path(__file__).resolve().parents[2])

from tests.benchmarks.environment import copy_runtime, peers_python, site_packages, variables
from tests.benchmarks.prepare import ADD_ONE, ANSWER, BUNDLE, INPUTS, ONNX, Packing, Prepared, prepared
from tests.benchmarks.process import result

LARGE = "resnet50"
CALLS = 10

PROCESS = """
import json, sys, time
import numpy
{load}
x = numpy.ones((1, 3, 224, 224), numpy.float32)
call(x)
first = time.monotonic()
for _ in range({calls}):
    call(x)
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
memory = {{key: int(status[key].split()[0]) / 1024 for key in ("VmHWM", "RssAnon", "RssFile")}}
print(json.dumps({{"first": first, **memory}}))
"""
LOADS = {
    "cuvil": "import cuvil_runtime\ncall = cuvil_runtime.load(sys.argv[1], threads=int(sys.argv[2]))",
    "onnxruntime": """import onnxruntime
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = int(sys.argv[2])
session = onnxruntime.InferenceSession(sys.argv[1], options, providers=["CPUExecutionProvider"])
name = session.get_inputs()[0].name
call = lambda x: session.run(None, {name: x})""",
    "numpy alone": "call = lambda x: x + 1",
}
IMPORT = """
import json, time
start = time.perf_counter()
import {name}
print(json.dumps({{"ms": 1e3 * (time.perf_counter() - start)}}))
"""
IMPORTED = ("numpy", "cuvil_runtime", "onnxruntime")


def process_cost(system: str, artifact: Path, threads: int) -> dict[str, float]:
    """One process: ms to its first result, MB of memory at most, and what of its end is anonymous or of files."""
    program = PROCESS.format(load=LOADS[system], calls=CALLS)
    found = result([peers_python(), "-c", program, artifact, str(threads)], variables(threads))
    return {
        "start_ms": 1e3 * (found["first"] - found["started"]),
        "peak_mb": found["VmHWM"],
        "anonymous_mb": found["RssAnon"],
        "files_mb": found["RssFile"],
    }


def import_ms(name: str) -> float:
    """Milliseconds of an import statement in a fresh process; numpy's, which every one of them needs, is in it."""
    return float(result([peers_python(), "-c", IMPORT.format(name=name)], variables(1))["ms"])


def call_us(system: str, folders: Prepared) -> float:
    """Microseconds of a call of the model of one addition, the median of one process."""
    artifact = folders.bundle / BUNDLE if system == "cuvil" else folders.model / ONNX
    command: list[str | Path] = [peers_python(), "-m", "tests.benchmarks.timed", system, artifact]
    command += [folders.model / INPUTS, folders.model / ANSWER, "--threads", "1"]
    taken: list[int] = result(command, variables(1))["ns"]
    return statistics.median(taken) / 1e3


def installed_bytes() -> dict[str, int]:
    """Bytes of the runtime with its bytecode, and of the onnxruntime package."""
    with tempfile.TemporaryDirectory() as name:
        copy_runtime(Path(name))
        mine = folder_bytes(Path(name))
    return {"cuvil": mine, "onnxruntime": folder_bytes(site_packages() / "onnxruntime")}


def folder_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def interleaved(kinds: Sequence[str], rounds: int, measure: Callable[[str], Any]) -> dict[str, list[Any]]:
    """`measure` of every kind, round after round."""
    found: dict[str, list[Any]] = {kind: [] for kind in kinds}
    for number in range(rounds):
        for kind in kinds:
            print(f"round {number + 1}/{rounds} {kind}", file=sys.stderr, flush=True)
            found[kind].append(measure(kind))
    return found


def medians(samples: Sequence[Mapping[str, float]]) -> dict[str, float]:
    return {key: statistics.median(s[key] for s in samples) for key in samples[0]}


def paired(mine: Sequence[float], theirs: Sequence[float]) -> float:
    """The median of the ratios of what ran in one round."""
    return statistics.median(m / t for m, t in zip(mine, theirs, strict=True))


def measured(rounds: int, threads: int) -> dict[str, Any]:
    """Everything, as `--json` holds it."""
    large, small = prepared(LARGE, Packing()), prepared(ADD_ONE, Packing())
    artifacts = {"cuvil": large.bundle / BUNDLE, "onnxruntime": large.model / ONNX, "numpy alone": large.model / ONNX}
    processes = interleaved(tuple(LOADS), rounds, lambda system: process_cost(system, artifacts[system], threads))
    imports = interleaved(IMPORTED, rounds, import_ms)
    calls = interleaved(("cuvil", "onnxruntime"), rounds, lambda system: call_us(system, small))
    mine, theirs = processes["cuvil"], processes["onnxruntime"]
    return {
        "threads": threads,
        "workload": LARGE,
        "processes": {system: medians(samples) for system, samples in processes.items()},
        "imports_ms": {name: statistics.median(samples) for name, samples in imports.items()},
        "add_one_us": {system: statistics.median(samples) for system, samples in calls.items()},
        "ratios": {
            "start": paired([s["start_ms"] for s in mine], [s["start_ms"] for s in theirs]),
            "peak": paired([s["peak_mb"] for s in mine], [s["peak_mb"] for s in theirs]),
            "import_over_numpy": paired(imports["cuvil_runtime"], imports["numpy"]),
            "add_one": paired(calls["cuvil"], calls["onnxruntime"]),
        },
        "bytes": {
            "installed": installed_bytes(),
            "add_one": {"cuvil": size(small.bundle / BUNDLE), "onnxruntime": size(small.model / ONNX)},
            LARGE: {"cuvil": size(large.bundle / BUNDLE), "onnxruntime": size(large.model / ONNX)},
        },
    }


def size(path: Path) -> int:
    return path.stat().st_size


def report(made: Mapping[str, Any]) -> Iterator[str]:
    """The measurements as text."""
    ratio, sizes = made["ratios"], made["bytes"]
    yield f"{made['workload']}, {made['threads']} threads: a process that loads it and runs it"
    yield f"    {'':<12} {'first result':>12} {'peak memory':>12} {'anonymous':>10} {'of files':>9}"
    for system, cost in made["processes"].items():
        yield (
            f"    {system:<12} {cost['start_ms']:>9.0f} ms {cost['peak_mb']:>9.1f} MB "
            f"{cost['anonymous_mb']:>7.1f} MB {cost['files_mb']:>6.1f} MB"
        )
    yield f"    cuvil / onnxruntime: first result {ratio['start']:.2f}, peak memory {ratio['peak']:.2f}"
    imports = ", ".join(f"{name} {ms:.1f} ms" for name, ms in made["imports_ms"].items())
    yield f"import: {imports}; cuvil_runtime / numpy alone {ratio['import_over_numpy']:.2f}"
    calls = ", ".join(f"{system} {us:.2f} us" for system, us in made["add_one_us"].items())
    yield f"a call that adds one to one number: {calls}; cuvil / onnxruntime {ratio['add_one']:.2f}"
    for what, each in sizes.items():
        yield f"bytes, {what}: " + ", ".join(f"{system} {count:,}" for system, count in each.items())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    made = measured(asked.rounds, asked.threads)
    print("\n".join(report(made)))
    if asked.json:
        asked.json.write_text(json.dumps(made, indent=1) + "\n")


if __name__ == "__main__":
    main()
