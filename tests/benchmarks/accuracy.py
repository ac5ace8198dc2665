"""How far an answer is from the true one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def relative_error(answers: Sequence[Any], true: Sequence[Any]) -> float:
    """Frobenius norm of the difference over that of the truth, all outputs together; inf where shapes differ."""
    if [np.shape(a) for a in answers] != [np.shape(t) for t in true]:
        return float("inf")
    pairs = [(np.asarray(a, np.float64), np.asarray(t, np.float64)) for a, t in zip(answers, true, strict=True)]
    wrong = sum(float(np.sum((a - t) ** 2)) for a, t in pairs)
    scale = sum(float(np.sum(t**2)) for _, t in pairs)
    return float(np.sqrt(wrong / scale)) if scale else float(np.sqrt(wrong))
