"""Where one system spends the time of one workload: its own account, part by part, printed by this process."""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.benchmarks.timed import durations, read

Part = dict[str, Any]
CALLS = 15


def cuvil(path: Path, threads: int, inputs: Sequence[Any], calls: int) -> tuple[float, list[Part]]:
    """Steps of the plan with what each computes and moves."""
    import cuvil_runtime
    from cuvil_runtime.shapes import solve
    from cuvil_schema.sizes import evaluate

    session = cuvil_runtime.load(path, threads=threads)
    entry = session.manifest.entries[0]
    feeds = {spec.name: array for spec, array in zip(session.inputs, inputs, strict=True)}
    whole = statistics.median(durations(lambda: session.run(feeds), 0.3, 0.3, calls))
    taken = zip(*(session.times(feeds) for _ in range(calls)), strict=True)
    sizes = solve(entry, session.manifest.ranges(), tuple(array.shape for array in inputs))
    plan = session.plan[entry.name]
    types = {buffer.name: buffer.type for buffer in plan.buffers}
    parts = [
        {
            "name": step.kernel,
            "kind": f"{step.kernel.partition('_')[2]} [{step.algorithm}]",
            "where": step.where,
            "ns": statistics.median(times),
            "flops": evaluate(step.flops, sizes),
            "bytes": evaluate(step.bytes, sizes),
            "schedule": dict(step.schedule),
            "writes": [types[name] for name in step.writes],
        }
        for step, times in zip(plan.steps, taken, strict=True)
    ]
    return whole, parts


def onnxruntime(path: Path, threads: int, inputs: Sequence[Any], calls: int) -> tuple[float, list[Part]]:
    """Nodes of the graph after its optimisations, from the profile that it writes."""
    import onnxruntime as ort

    with tempfile.TemporaryDirectory() as folder:
        whole, _ = _onnxruntime_calls(ort, path, threads, inputs, calls, None)
        _, session = _onnxruntime_calls(ort, path, threads, inputs, calls, f"{folder}/profile")
        events = json.loads(Path(session.end_profiling()).read_text())
    nodes: dict[str, list[dict[str, Any]]] = {}
    for event in events:
        if event.get("cat") == "Node" and event["name"].endswith("_kernel_time"):
            nodes.setdefault(event["name"].removesuffix("_kernel_time"), []).append(event)
    return whole, [
        {
            "name": name,
            "kind": found[0]["args"]["op_name"],
            "ns": 1e3 * statistics.median(event["dur"] for event in found[-calls:]),
            "writes": [f"{next(iter(t))}{list(next(iter(t.values())))}" for t in found[0]["args"]["output_type_shape"]],
        }
        for name, found in nodes.items()
    ]


def _onnxruntime_calls(
    ort: Any, path: Path, threads: int, inputs: Sequence[Any], calls: int, profile: str | None
) -> tuple[float, Any]:
    options = ort.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    if profile:
        options.enable_profiling, options.profile_file_prefix = True, profile
    session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    feeds = {place.name: array for place, array in zip(session.get_inputs(), inputs, strict=True)}
    return statistics.median(durations(lambda: session.run(None, feeds), 0.3, 0.3, calls)), session


def openvino(path: Path, threads: int, inputs: Sequence[Any], calls: int) -> tuple[float, list[Part]]:
    """Layers of the compiled model, those that were executed."""
    import openvino as ov

    hints = {"INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"}
    feeds = dict(enumerate(inputs))
    plain = ov.Core().compile_model(str(path), "CPU", hints).create_infer_request()
    whole = statistics.median(durations(lambda: plain.infer(feeds, share_inputs=True), 0.3, 0.3, calls))
    request = ov.Core().compile_model(str(path), "CPU", {**hints, "PERF_COUNT": True}).create_infer_request()
    layers: dict[str, list[Any]] = {}
    for _ in range(calls):
        request.infer(feeds, share_inputs=True)
        for layer in request.profiling_info:
            layers.setdefault(layer.node_name, []).append(layer)
    return whole, [
        {
            "name": name,
            "kind": f"{found[0].node_type} {found[0].exec_type}",
            "ns": 1e3 * statistics.median(layer.real_time.total_seconds() * 1e6 for layer in found),
        }
        for name, found in layers.items()
        if found[-1].status == found[-1].Status.EXECUTED
    ]


TRACERS: dict[str, Callable[[Path, int, Sequence[Any], int], tuple[float, list[Part]]]] = {
    "cuvil": cuvil,
    "onnxruntime": onnxruntime,
    "openvino": openvino,
}


def by_kind(parts: Sequence[Part]) -> Iterator[tuple[str, int, float, float]]:
    """(kind, how many, nanoseconds, flops), the most expensive first."""
    groups: dict[str, list[Part]] = {}
    for part in parts:
        groups.setdefault(part["kind"], []).append(part)
    totals = [(k, len(g), sum(p["ns"] for p in g), sum(p.get("flops", 0) for p in g)) for k, g in groups.items()]
    return iter(sorted(totals, key=lambda total: -total[2]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("system", choices=TRACERS)
    parser.add_argument("artifact", type=Path)
    parser.add_argument("inputs")
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--calls", type=int, default=CALLS)
    asked = parser.parse_args()
    whole, parts = TRACERS[asked.system](asked.artifact, asked.threads, read(asked.inputs), asked.calls)
    print(json.dumps({"ns": whole, "parts": parts}))


if __name__ == "__main__":
    main()
