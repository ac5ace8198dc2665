"""The user's line of a node, read from what torch keeps beside it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...ir.graph import Where

FRAME = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+), in [^\n]*\n?(?P<code>[^\n]*)')
PACKAGES = re.compile(r"^.*/(?:site|dist)-packages/")
OWN = str(Path(__file__).parents[2]) + "/"
OURS = ("torch/", "cuvil_pack/")


def where_of(meta: Mapping[str, Any]) -> Where:
    """The deepest frame outside torch, and the path of the module."""
    module = module_path(meta.get("nn_module_stack") or {})
    for file, line, code in reversed(frames(meta.get("stack_trace") or "")):
        if not file.startswith(OURS):
            return Where(file, line, code, module)
    return Where(module=module)


def frames(trace: str) -> list[tuple[str, int, str]]:
    """File, line and code of each frame, outermost first."""
    return [(short(f["file"]), int(f["line"]), f["code"].strip()) for f in FRAME.finditer(trace)]


def short(file: str) -> str:
    """A file inside a package as the import sees it; any other by its name alone, wherever the checkout lies."""
    if file.startswith(OWN):
        return "cuvil_pack/" + file.removeprefix(OWN)
    inside = PACKAGES.sub("", file)
    if inside != file or inside.startswith(OURS):
        return inside
    return file.rpartition("/")[2]


def module_path(stack: Mapping[str, Any]) -> str:
    """`encoder.layer.0.attention`, from the innermost entry of torch's module stack."""
    if not stack:
        return ""
    path = str(list(stack.values())[-1][0])
    path = re.sub(r"^L\['self'\]\.?", "", path)
    return re.sub(r"\.?_modules\['([^']+)'\]", r".\1", path).removeprefix(".")
