"""What the runtime costs whoever installs and imports it."""

import subprocess
import sys
from pathlib import Path

import cuvil_runtime
import cuvil_schema

ALLOWED = {"msgpack", "hashlib", "mmap", "dataclasses", "fcntl", "stat", "errno", "copy", "threading", "blake2"}


def test_installed_size() -> None:
    folders = [Path(module.__file__).parent for module in (cuvil_runtime, cuvil_schema)]
    size = sum(file.stat().st_size for folder in folders for file in folder.rglob("*.py"))
    assert size < 120_000


def test_imports_beside_numpy() -> None:
    program = (
        "import sys, numpy; before = set(sys.modules); import cuvil_runtime; "
        "print(*sorted({name.split('.')[0].lstrip('_') for name in set(sys.modules) - before}))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    extra = {name for name in done.stdout.split() if not name.startswith(("cuvil_", "cython_"))}
    assert extra <= ALLOWED, extra - ALLOWED
