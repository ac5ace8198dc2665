"""Fashion-MNIST as Debian packages it: 60,000 + 10,000 pictures of clothes, 28 x 28, in ten classes."""

from __future__ import annotations

import gzip
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from tests.packages import cache

PACKAGE = "dataset-fashion-mnist"
INSTALLED = Path("/usr/share/datasets/fashion-mnist")
CLASSES = ("T-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "ankle boot")


class Unavailable(Exception):
    """The package is not installed, and cannot be fetched here."""


def folder() -> Path:
    """Where the files are: where the package puts them, or fetched into the cache. Raises Unavailable."""
    kept = cache() / PACKAGE
    if INSTALLED.is_dir():
        return INSTALLED
    if not kept.is_dir():
        _fetch(kept)
    return kept


def _fetch(kept: Path) -> None:
    if not (shutil.which("apt-get") and shutil.which("dpkg-deb")):
        raise Unavailable(f"{PACKAGE} is a Debian package, and this is no Debian")
    kept.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=kept.parent) as name:
        scratch = Path(name)
        try:
            _run(["apt-get", "download", PACKAGE], scratch)
            (archive,) = scratch.glob("*.deb")
            _run(["dpkg-deb", "-x", str(archive), "."], scratch)
        except (subprocess.CalledProcessError, ValueError):
            raise Unavailable(f"{PACKAGE} cannot be fetched: apt-get install {PACKAGE}") from None
        (scratch / INSTALLED.relative_to("/")).rename(kept)


def _run(words: list[str], folder: Path) -> None:
    subprocess.run(words, cwd=folder, check=True, capture_output=True)


def load(part: str) -> tuple[np.ndarray, np.ndarray]:
    """Pictures as f32[n, 1, 28, 28] in 0..1, labels as i64[n]; `part` is `train` or `t10k`."""
    pictures = gzip.decompress((folder() / f"{part}-images-idx3-ubyte.gz").read_bytes())
    labels = gzip.decompress((folder() / f"{part}-labels-idx1-ubyte.gz").read_bytes())
    x = np.frombuffer(pictures, np.uint8, offset=16).reshape(-1, 1, 28, 28).astype(np.float32) / 255
    return x, np.frombuffer(labels, np.uint8, offset=8).astype(np.int64)
