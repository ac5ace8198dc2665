"""What went wrong while torch traced a module, said with the user's line and nobody else's."""

from __future__ import annotations

import re
import traceback
import warnings
from typing import Any

from ..errors import ModelError, PackError
from .aten.places import OURS, short
from .examples import Examples

NOISE = (
    "The error above",
    "For more information",
    "Suggested fixes",
    "To fix the error",
    "If you would like",
    "Set TORCH",
)


def explained(e: BaseException, module: Any, examples: Examples) -> PackError:
    """The error to raise for `e`: the module's own, where calling it without torch.export raises too."""
    import torch

    name = type(module).__name__
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        try:
            module(*examples.args, **examples.kwargs)
        except Exception as own:
            return ModelError(f"{name}: the model raises {type(own).__name__}: {_first_line(own)}{place(own)}")
    return ModelError(f"{name}: torch.export cannot trace it: {condensed(str(e))}{place(e)}")


def place(e: BaseException) -> str:
    """The deepest frame of a traceback outside torch and Cuvil, as a line of the message."""
    frames = [(short(f.filename), f.lineno, f.line) for f in traceback.extract_tb(e.__traceback__)]
    users = [f for f in frames if not f[0].startswith((*OURS, "<", "importlib"))]
    if not users:
        return ""
    file, line, code = users[-1]
    return f"\n    at {file}:{line}   {code or ''}".rstrip()


def _first_line(e: BaseException) -> str:
    return str(e).strip().partition("\n")[0]


def condensed(text: str) -> str:
    """torch's message without its advice on logging, and not longer than a screen."""
    kept: list[str] = []
    for line in text.strip().splitlines():
        line = re.sub(r" ?For more information, run with TORCH_LOGS\S*", "", line)
        if line.strip().startswith("File ") or (kept and not line.strip()):
            break
        if line.strip() and not line.strip().startswith(NOISE):
            kept.append(line.rstrip())
    fixes = re.findall(r"^Suggested fixes:\n((?:.+\n?)+)", text, re.MULTILINE)
    advice = ["  torch suggests: " + "; ".join(f.strip() for f in fixes[0].splitlines())] if fixes else []
    return "\n".join([*kept[:12], *advice])
