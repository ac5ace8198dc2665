"""The smallest model, `x + 1` on one number: what a file and a call cost before any arithmetic is done.

python -m samples.one_add.main
"""

from __future__ import annotations

import importlib.util
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

import cuvil_runtime
import numpy as np
import torch

import cuvil_pack

CALLS = 2_000
TRIES = 15


class AddOne(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + 1


def microseconds(call: Callable[[], object]) -> float:
    """A call's time: the median of several averages."""
    spans = []
    for _ in range(TRIES):
        start = perf_counter()
        for _ in range(CALLS):
            call()
        spans.append((perf_counter() - start) / CALLS)
    return 1e6 * float(np.median(spans))


def onnxruntime_call(folder: Path, x: np.ndarray) -> Callable[[], object]:
    """The same model in onnxruntime, one thread, as its documentation calls it."""
    import onnxruntime

    path = folder / "add.onnx"
    torch.onnx.export(AddOne().eval(), (torch.from_numpy(x),), str(path), dynamo=True, verbose=False)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    return lambda: session.run(None, {name: x})


def main() -> int:
    x = np.array([41.0], np.float32)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        bundle = cuvil_pack.pack(AddOne(), (torch.from_numpy(x),), output=folder / "add.cuvil")
        with cuvil_runtime.load(bundle) as session:
            print(f"the answer is {session(x)}, the file has {bundle.stat().st_size:,} bytes for three levels of CPU")
            print(f"cuvil        {microseconds(lambda: session(x)):6.2f} us a call")
        if all(importlib.util.find_spec(name) for name in ("onnxruntime", "onnxscript")):
            print(f"onnxruntime  {microseconds(onnxruntime_call(folder, x)):6.2f} us a call")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
