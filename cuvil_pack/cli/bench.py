"""`cuvil-pack bench`: how long a call takes, step by step, beside what the machine could do at most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter_ns

import click
import cuvil_runtime
import cuvil_schema as schema
import numpy as np

from ..targets import TARGETS
from .ceilings import Ceilings, measure
from .command import declare, entry_option, file_argument, size_option, threads_option, variant_option
from .dims import by_name
from .feeds import Feeds, without_files
from .reading import at
from .screen import Facts, Screen, Table
from .units import microseconds, percent, scaled

EXAMPLES = """\
cuvil-pack bench minilm.cuvil
cuvil-pack bench minilm.cuvil --dim batch=1 --dim seq=128 --threads 1
cuvil-pack bench minilm.cuvil --rounds 200 --json"""

WARM_NS = 300_000_000
LEAST_NS = 200_000
HEADERS = ("step", "ops", "kernel", "time", "share", "flops", "floor", "x floor")


@dataclass(frozen=True)
class Timed:
    """Nanoseconds of calls, in order, and the median of each step."""

    calls: Sequence[float]
    steps: Sequence[float]

    def quantile(self, part: float) -> float:
        return float(np.quantile(self.calls, part))


@declare("bench", EXAMPLES)
@file_argument
@size_option
@threads_option
@variant_option
@entry_option
@click.option("--rounds", type=click.IntRange(1), default=50, show_default=True, help="Calls to time.")
def command(
    screen: Screen,
    file: str,
    dims: tuple[tuple[str, int], ...],
    threads: int | None,
    variant: str | None,
    entry: str,
    rounds: int,
) -> int:
    """Time calls of FILE: median and spread, and each step with its share and its floor.

    Inputs are random, of the sizes that --dim gives; without --dim those of the first recorded call. A floor is the
    larger of operations over the machine's peak and bytes over its bandwidth, both measured in this run; a step cannot
    take less.
    """
    feeds = without_files(file, entry, by_name(dims), False)
    with cuvil_runtime.load(file, threads, variant) as session:
        called = session.entries[entry]
        sizes = _sizes(called.inputs, feeds)
        ceilings = _ceilings(session.variant, session.threads)
        timed = _timed(session, feeds, entry, rounds)
        plan = called.plan
        ran = {"variant": session.variant, "threads": session.threads, "entry": entry, "sizes": sizes}
    steps = [
        _step(n, step, ns, sizes, ceilings) for n, (step, ns) in enumerate(zip(plan.steps, timed.steps, strict=True))
    ]
    floor = sum(s["floor_ns"] for s in steps if isinstance(s["floor_ns"], float))
    call = {"median_ns": timed.quantile(0.5), "p10_ns": timed.quantile(0.1), "p90_ns": timed.quantile(0.9)}
    data = {**ran, "rounds": rounds, **call, "floor_ns": floor, "ceilings": _told(ceilings), "steps": steps}
    rows = [_row(s, sum(timed.steps)) for s in steps]
    screen.show(data, Table(HEADERS, rows, HEADERS[3:]), Facts(_facts(ran, call, timed, floor, ceilings)))
    return 0


def _timed(session: cuvil_runtime.Session, feeds: Feeds, entry: str, rounds: int) -> Timed:
    """Warm up, then time calls with no allocation, then the steps."""
    out = session.run(feeds, entry=entry)
    start, warm = perf_counter_ns(), 0
    while perf_counter_ns() - start < WARM_NS:
        session.run(feeds, out, entry)
        warm += 1
    batch = max(1, LEAST_NS * warm // WARM_NS)
    calls = []
    for _ in range(rounds):
        begin = perf_counter_ns()
        for _ in range(batch):
            session.run(feeds, out, entry)
        calls.append((perf_counter_ns() - begin) / batch)
    steps = np.array([session.times(feeds, entry) for _ in range(rounds)], np.float64)
    return Timed(calls, np.median(steps, axis=0).tolist())


def _sizes(inputs: Sequence[cuvil_runtime.ArraySpec], feeds: Feeds) -> dict[str, int]:
    """The named sizes of the feeds."""
    return {
        dim: length
        for spec in inputs
        for dim, length in zip(spec.shape, feeds[spec.name].shape, strict=True)
        if isinstance(dim, str) and dim in spec.sizes
    }


def _ceilings(variant: str, threads: int) -> Ceilings | None:
    """None for a variant that this packer does not know."""
    return measure(TARGETS[variant], threads) if variant in TARGETS else None


def _step(
    number: int, step: schema.Step, ns: float, sizes: Mapping[str, int], ceilings: Ceilings | None
) -> dict[str, object]:
    flops, moved = schema.evaluate(step.flops, sizes), schema.evaluate(step.bytes, sizes)
    return {
        "step": number,
        "ops": list(step.ops),
        "where": step.where,
        "kernel": step.kernel,
        "ns": ns,
        "flops": flops,
        "bytes": moved,
        "floor_ns": None if ceilings is None else ceilings.floor_ns(flops, moved),
    }


def _row(step: Mapping[str, object], whole: float) -> tuple[str, ...]:
    ns, flops, floor, ops = step["ns"], step["flops"], step["floor_ns"], step["ops"]
    assert isinstance(ns, float) and isinstance(flops, int) and isinstance(ops, list)
    shown = ("-", "-")
    if isinstance(floor, float):
        shown = (microseconds(floor), f"{ns / floor:.1f}" if floor else "-")
    return (
        str(step["step"]),
        " ".join(ops),
        str(step["kernel"]),
        microseconds(ns),
        percent(ns, whole),
        scaled(flops, "").rstrip(),
        *shown,
    )


def _facts(
    ran: Mapping[str, object], call: Mapping[str, float], timed: Timed, floor: float, ceilings: Ceilings | None
) -> list[tuple[str, str]]:
    sizes = ran["sizes"]
    assert isinstance(sizes, dict)
    median, steps = call["median_ns"], sum(timed.steps)
    threads = f"{ran['threads']} threads" if ran["threads"] != 1 else "1 thread"
    facts = [
        ("variant", f"{ran['variant']}, {threads}{at(sizes)}"),
        (
            "call",
            f"{microseconds(median)} median, {microseconds(call['p10_ns'])} p10, {microseconds(call['p90_ns'])} p90",
        ),
        ("steps", f"{microseconds(steps)} in all"),
    ]
    if ceilings is None:
        return facts
    speeds = ", ".join(f"{scaled(speed, 'B/s')} from {scaled(size, 'B')}" for size, speed in ceilings.bandwidth)
    ratio = f", the call takes {median / floor:.2f} times that" if floor else ""
    return [
        *facts,
        ("floor", microseconds(floor) + ratio),
        (
            "machine",
            f"{scaled(ceilings.flops, 'FLOP/s')}; bytes read, by what each thread reads again and again: {speeds}",
        ),
    ]


def _told(ceilings: Ceilings | None) -> dict[str, object] | None:
    if ceilings is None:
        return None
    return {
        "flops": ceilings.flops,
        "bandwidth": [{"bytes": size, "speed": speed} for size, speed in ceilings.bandwidth],
    }
