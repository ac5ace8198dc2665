"""One system runs one workload in this process, which prints what it took; it loads numpy and the system only."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tests.benchmarks.accuracy import relative_error

Inputs = Sequence[Any]
Call = Callable[[], Sequence[Any]]
MOST_CALLS = 5000


def cuvil(path: Path, threads: int, inputs: Inputs, variant: str | None) -> Call:
    import cuvil_runtime

    session = cuvil_runtime.load(path, threads=threads, variant=variant)

    def call() -> Sequence[Any]:
        answer = session(*inputs)
        return answer if isinstance(answer, tuple) else (answer,)

    return call


def onnxruntime(path: Path, threads: int, inputs: Inputs, variant: str | None) -> Call:
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    feeds = {place.name: array for place, array in zip(session.get_inputs(), inputs, strict=True)}
    return lambda: session.run(None, feeds)


def openvino(path: Path, threads: int, inputs: Inputs, variant: str | None) -> Call:
    """`variant` is the inference precision, f32 where it is None."""
    import openvino as ov

    hints = {
        "INFERENCE_NUM_THREADS": threads,
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_PRECISION_HINT": variant or "f32",
    }
    request = ov.Core().compile_model(str(path), "CPU", hints).create_infer_request()
    feeds = dict(enumerate(inputs))

    def call() -> Sequence[Any]:
        answer = request.infer(feeds, share_inputs=True, share_outputs=True)
        return [answer[place] for place in range(len(answer))]

    return call


def aotinductor(path: Path, threads: int, inputs: Inputs, variant: str | None) -> Call:
    import torch

    torch.set_num_threads(threads)
    package: Any = torch._inductor.aoti_load_package(str(path))
    tensors = [torch.from_numpy(array) for array in inputs]

    def call() -> Sequence[Any]:
        answer = package(*tensors)
        leaves = answer if isinstance(answer, list | tuple) else (answer,)
        return [leaf.numpy() for leaf in leaves]

    return call


LOADERS: dict[str, Callable[[Path, int, Inputs, str | None], Call]] = {
    "cuvil": cuvil,
    "onnxruntime": onnxruntime,
    "openvino": openvino,
    "aotinductor": aotinductor,
}


def durations(call: Callable[[], object], warm_seconds: float, seconds: float, least: int) -> list[int]:
    """Nanoseconds of each call, after a warm-up."""
    start, warm = time.perf_counter(), 0
    while time.perf_counter() - start < warm_seconds or warm < 3:
        call()
        warm += 1
    taken: list[int] = []
    start = time.perf_counter()
    while len(taken) < least or (time.perf_counter() - start < seconds and len(taken) < MOST_CALLS):
        before = time.perf_counter_ns()
        call()
        taken.append(time.perf_counter_ns() - before)
    return taken


def read(path: str) -> list[Any]:
    """The arrays that `numpy.savez` wrote without names, in order."""
    with np.load(path) as stored:
        return [stored[f"arr_{place}"] for place in range(len(stored.files))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("loader", choices=LOADERS)
    parser.add_argument("artifact", type=Path)
    parser.add_argument("inputs")
    parser.add_argument("answer")
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--variant")
    parser.add_argument("--warm", type=float, default=0.3)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--least", type=int, default=10)
    asked = parser.parse_args()
    call = LOADERS[asked.loader](asked.artifact, asked.threads, read(asked.inputs), asked.variant)
    error = relative_error([np.array(a) for a in call()], read(asked.answer))
    taken = durations(call, asked.warm, asked.seconds, asked.least)
    print(json.dumps({"rel_err": error, "ns": taken}))


if __name__ == "__main__":
    main()
