#!/usr/bin/env python
"""Cuvil beside its peers on seven models.

Interleaved rounds, every system in a fresh process each time, ratios paired within a round.
"""

from __future__ import annotations

import argparse
import json
import math
import platform
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

if not __package__:  # this folder on the path would hide Python's own `profile`
    sys.path[0] = str(Path(__file__).resolve().parents[2])

from tests.benchmarks import ceilings, table
from tests.benchmarks.ceilings import Ceilings
from tests.benchmarks.environment import REQUIREMENTS, ROOT
from tests.benchmarks.plot import write_plot
from tests.benchmarks.prepare import Packing, Prepared, prepared
from tests.benchmarks.ratios import Ratio, Row, Sample, against_best, ratios, rows
from tests.benchmarks.systems import SUBJECT, SYSTEMS, defaults, installed, sample

WORKLOADS = ("resnet18", "resnet50", "mobilenetv2", "vit_s16", "minilm", "bert_base", "whisper_tiny_encoder")
ROUNDS = 5


def timed(
    folders: Mapping[str, Prepared], systems: Sequence[str], rounds: int, threads: int, dtype: str
) -> Iterator[Sample]:
    """Every system on every workload, once a round, the systems of a workload after one another."""
    for number in range(rounds):
        for workload, prepared_folders in folders.items():
            for system in rotated(systems, number):
                yield sample(system, workload, number, prepared_folders, threads, dtype)


def rotated(systems: Sequence[str], number: int) -> list[str]:
    """Another one first in each round, so that none always runs on a machine that another has warmed."""
    first = number % len(systems)
    return [*systems[first:], *systems[:first]]


def cpu_name() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor()


def versions() -> dict[str, str]:
    """Of what was compared, and the commit of this tree."""
    pinned = dict(line.split("==") for line in REQUIREMENTS if "==" in line)
    commit = subprocess.run(("git", "describe", "--always", "--dirty"), cwd=ROOT, capture_output=True, text=True)
    return {"cuvil": commit.stdout.strip() or "unknown", **pinned, "torch": version("torch")}


def document(
    machine: Ceilings, facts: Mapping[str, dict[str, Any]], found: Sequence[Sample], options: Mapping[str, Any]
) -> dict[str, Any]:
    """What `--json` holds: the machine, the options, each workload's floor, rows, ratios, and every round's median."""
    return {
        "machine": {"cpu": cpu_name(), **machine._asdict()},
        "versions": versions(),
        "options": dict(options),
        "workloads": {name: {**f, "floor_ms": machine.floor_ms(f["flops"])} for name, f in facts.items()},
        "rows": [row._asdict() for row in rows(found, options["threads"], options["dtype"])],
        "ratios": [ratio._asdict() for ratio in ratios(found, SUBJECT)],
        "against_best": [ratio._asdict() for ratio in against_best(found, SUBJECT)],
        "rounds": [{**placed(s), "round": s.round, "median_ms": s.median_ms} for s in found if s.ns],
        "troubles": [{**placed(s), "trouble": s.trouble} for s in found if not s.ns],
    }


def placed(s: Sample) -> dict[str, str]:
    return {"workload": s.workload, "system": s.system}


def names(text: str) -> list[str]:
    return [name for name in text.split(",") if name]


def arguments(words: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--dtype", choices=SYSTEMS, default="fp32")
    parser.add_argument("--accuracy", choices=("standard", "strict"), default="standard")
    parser.add_argument("--workloads", type=names, default=list(WORKLOADS))
    parser.add_argument("--systems", type=names, default=[], help="default: all but aotinductor")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--targets", type=names, default=[], help="pack for these only")
    parser.add_argument("--dynamic", action="store_true", help="pack with each workload's dynamic sizes")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--plot", type=Path, help="an .html or .svg file")
    asked = parser.parse_args(words)
    asked.systems = asked.systems or list(defaults(asked.dtype))
    known = SYSTEMS[asked.dtype]
    if unknown := set(asked.systems) - known.keys():
        parser.error(f"no system {', '.join(sorted(unknown))} in {asked.dtype}; there are {', '.join(known)}")
    if unknown := set(asked.workloads) - set(WORKLOADS):
        parser.error(f"no workload {', '.join(sorted(unknown))}; there are {', '.join(WORKLOADS)}")
    if missing := [name for name in asked.systems if not installed(name)]:
        parser.error(f"{', '.join(missing)} needs torch in this environment")
    if asked.rounds < 1 or asked.threads < 1:
        parser.error("--rounds and --threads begin at 1")
    return asked


def main() -> int:
    asked = arguments()
    how = Packing(asked.accuracy, tuple(asked.targets), asked.dynamic)
    folders: dict[str, Prepared] = {}
    for workload in asked.workloads:
        say(f"preparing {workload}")
        try:
            folders[workload] = prepared(workload, how, aot="aotinductor" in asked.systems)
        except subprocess.CalledProcessError:
            say(f"{workload} is left out: it could not be prepared")
    machine = ceilings.measure(asked.threads)
    found: list[Sample] = []
    for s in timed(folders, asked.systems, asked.rounds, asked.threads, asked.dtype):
        found.append(s)
        outcome = f"{s.median_ms:.3f} ms" if s.ns else s.trouble
        say(f"round {s.round + 1}/{asked.rounds} {s.workload} {s.system} {outcome}")
    machine = machine.best(ceilings.measure(asked.threads))
    facts = {workload: f.facts for workload, f in folders.items()}
    options = {key: value for key, value in vars(asked).items() if key not in ("json", "plot")}
    made = document(machine, facts, found, options)
    print("\n".join(report(made, machine)))
    if asked.json:
        asked.json.write_text(json.dumps(made, indent=1) + "\n")
    if asked.plot:
        write_plot(made, asked.plot)
    return 0 if len(folders) == len(asked.workloads) and not made["troubles"] else 1


def report(made: Mapping[str, Any], machine: Ceilings) -> Iterator[str]:
    """The document as text."""
    yield from table.heading(machine, made["machine"]["cpu"], made["versions"])
    yield ""
    floors = {name: workload["floor_ms"] for name, workload in made["workloads"].items()}
    yield from table.times([Row(**row) for row in made["rows"]], floors)
    yield ""
    yield from table.comparison([Ratio(**r) for r in made["ratios"]], [Ratio(**r) for r in made["against_best"]])
    for row in made["rows"]:
        allowed = limit(made, row["workload"])
        if row["system"] == SUBJECT and not row["rel_err"] <= allowed:
            yield f"{row['workload']}: error {row['rel_err']:.1e} is above {allowed:.1e}"


def limit(made: Mapping[str, Any], workload: str) -> float:
    """The largest relative error of an accuracy class, against float64.

    `strict` allows twice torch's own error in float32; `standard` 1e-5, or that where float32 itself is no better.
    """
    if made["options"]["dtype"] != "fp32":
        return math.inf
    own = 2 * float(made["workloads"][workload]["torch_rel_err"])
    return own if made["options"]["accuracy"] == "strict" else max(1e-5, own)


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
