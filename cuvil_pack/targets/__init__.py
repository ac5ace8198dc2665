"""Facts about machines, and the way from C to machine code."""

from . import aarch64, x86_64
from .target import Target as Target

TARGETS: dict[str, Target] = {target.name: target for target in (*x86_64.TARGETS, *aarch64.TARGETS)}
DEFAULT_TARGETS = ("x86-64-v2", "x86-64-v3", "x86-64-v4")
