"""The user's frames while torch traces: torch by itself keeps only those of functions named `forward`."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .aten.places import OURS, short

EXPORTER = "torch/export/_trace.py"
HOOK = "_filter_traceback_frames"


@contextmanager
def every_frame() -> Iterator[None]:
    """Inside, a node's `stack_trace` has all of the user's frames below torch's exporter, where torch has the hook."""
    from torch.fx.proxy import TracerBase

    original = getattr(TracerBase, HOOK, None)
    if original is None:
        yield
        return
    setattr(TracerBase, HOOK, _below_the_exporter)
    try:
        yield
    finally:
        setattr(TracerBase, HOOK, original)


def _below_the_exporter(tracer: Any, frames: traceback.StackSummary) -> traceback.StackSummary:
    last = max((n for n, f in enumerate(frames) if f.filename.endswith(EXPORTER)), default=-1)
    return traceback.StackSummary.from_list([f for f in frames[last + 1 :] if not short(f.filename).startswith(OURS)])
