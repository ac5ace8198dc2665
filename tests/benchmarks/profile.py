#!/usr/bin/env python
"""Where the time of a workload goes: Cuvil's steps beside the machine's ceiling, and the peers' own accounts."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

if not __package__:  # this folder on the path would hide Python's own `profile`
    sys.path[0] = str(Path(__file__).resolve().parents[2])

from tests.benchmarks import ceilings
from tests.benchmarks.ceilings import Ceilings
from tests.benchmarks.environment import peers_python, variables
from tests.benchmarks.prepare import BUNDLE, INPUTS, ONNX, Packing, Prepared, prepared
from tests.benchmarks.process import Died, result
from tests.benchmarks.traced import TRACERS, Part, by_kind


def traced(system: str, folders: Prepared, threads: int) -> dict[str, Any]:
    """What a system says about itself: nanoseconds of a whole call and of its parts."""
    artifact = folders.bundle / BUNDLE if system == "cuvil" else folders.model / ONNX
    command: list[str | Path] = [peers_python(), "-m", "tests.benchmarks.traced", system]
    command += [artifact, folders.model / INPUTS]
    return result([*command, "--threads", str(threads)], variables(threads))


def step_lines(parts: Sequence[Part], machine: Ceilings, by_time: bool) -> Iterator[str]:
    """A line a step: time, share, what it computes a second, how much of the ceiling that is, what and where it is."""
    total = sum(part["ns"] for part in parts) or 1
    order = sorted(range(len(parts)), key=lambda place: -parts[place]["ns"]) if by_time else range(len(parts))
    heading = f"{'step':>4} {'us':>9} {'share':>6} {'GFLOP/s':>8} {'peak':>5} {'GB/s':>6}"
    yield f"{heading}  kernel [algorithm] what it writes, schedule"
    for place in order:
        part = parts[place]
        ns = max(1, part["ns"])
        rate = part["flops"] / ns
        yield (
            f"{place:>4} {ns / 1e3:>9.1f} {ns / total:>6.1%} {rate:>8.1f} {rate / machine.fma_gflops:>5.0%} "
            f"{part['bytes'] / ns:>6.1f}  {part['name']} "
            f"{part['kind'].rpartition(' ')[2]} {', '.join(part['writes'])} {settings(part)}"
        )


def settings(part: Part) -> str:
    return " ".join(f"{name}={value}" for name, value in part["schedule"].items())


def kind_lines(account: dict[str, Any]) -> Iterator[str]:
    """A line a kind of part, then how much of the whole call the parts are."""
    parts, whole = account["parts"], account["ns"]
    for kind, count, ns, flops in by_kind(parts):
        rate = f"{flops / max(1, ns):8.1f} GFLOP/s" if flops else ""
        yield f"{ns / 1e6:>9.3f} ms {ns / whole:>6.1%} {count:>4} x {kind} {rate}"
    known = sum(part["ns"] for part in parts)
    yield f"{whole / 1e6:>9.3f} ms a call without profiling, {known / 1e6:.3f} ms in its parts with it"


def part_lines(parts: Sequence[Part]) -> Iterator[str]:
    for part in parts:
        yield f"{part['ns'] / 1e3:>9.1f} us  {part['name']} [{part['kind']}] {', '.join(part.get('writes', ()))}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("workload")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--accuracy", default="standard", choices=("standard", "strict"))
    parser.add_argument("--targets", type=lambda text: text.split(","), default=[], help="pack for these only")
    parser.add_argument("--dynamic", action="store_true", help="pack with the workload's dynamic sizes")
    parser.add_argument("--systems", default="cuvil,onnxruntime")
    parser.add_argument("--by-time", action="store_true", help="the most expensive steps first")
    parser.add_argument("--nodes", action="store_true", help="every part of the peers too")
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    systems = asked.systems.split(",")
    if unknown := set(systems) - TRACERS.keys():
        parser.error(f"no system {', '.join(sorted(unknown))}; there are {', '.join(TRACERS)}")
    folders = prepared(asked.workload, Packing(asked.accuracy, tuple(asked.targets), asked.dynamic))
    machine = ceilings.measure(asked.threads)
    accounts: dict[str, Any] = {}
    for system in systems:
        try:
            accounts[system] = traced(system, folders, asked.threads)
        except Died as death:
            print(f"{system}: {death}", file=sys.stderr)
    machine = machine.best(ceilings.measure(asked.threads))
    flops = folders.facts["flops"]
    floor = machine.floor_ms(flops)
    print(f"{asked.workload}: {flops / 1e9:.2f} GFLOP; floor {floor:.2f} ms at {machine.fma_gflops:.0f} GFLOP/s")
    for system, account in accounts.items():
        print(f"\n{system}, {asked.threads} threads")
        if system == "cuvil":
            print("\n".join(step_lines(account["parts"], machine, asked.by_time)))
        elif asked.nodes:
            print("\n".join(part_lines(account["parts"])))
        print("\n".join(kind_lines(account)))
    if asked.json:
        asked.json.write_text(json.dumps({"ceilings": machine._asdict(), "floor_ms": floor, "accounts": accounts}))


if __name__ == "__main__":
    main()
