"""Where benchmarks keep their things, and the environment that holds the peers."""

from __future__ import annotations

import compileall
import hashlib
import os
import shutil
import subprocess
import sys
import venv
from functools import cache
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / ".cache" / "benchmarks"
PEERS = ROOT / ".venv-peers"
REQUIREMENTS = ("msgpack>=1.0.5,<2", "onnxruntime==1.32.0", "openvino==2026.4.1")
RUNTIME = (ROOT / "runtime" / "cuvil_runtime", ROOT / "schemas" / "cuvil_schema")


def peers_python() -> Path:
    """The interpreter of an environment with the peers and this tree's runtime; made when it is not there."""
    python, stamp = PEERS / "bin" / "python", PEERS / "requirements.txt"
    wanted = "\n".join((*REQUIREMENTS, f"numpy=={version('numpy')}", ""))
    if not stamp.is_file() or stamp.read_text() != wanted:
        print(f"{PEERS.name}: installing {', '.join(wanted.split())}", file=sys.stderr)
        if not python.exists():
            venv.create(PEERS, symlinks=True, with_pip=True)
        subprocess.run((python, "-m", "pip", "install", "-q", *wanted.split()), check=True)
        stamp.write_text(wanted)
    install_runtime()
    return python


@cache
def install_runtime() -> None:
    """The runtime among the peers as pip leaves a package: files with their bytecode, in one folder with the others."""
    stamp, wanted = PEERS / "runtime.txt", _digest(RUNTIME)
    if stamp.is_file() and stamp.read_text() == wanted:
        return
    for package in RUNTIME:
        shutil.rmtree(site_packages() / package.name, ignore_errors=True)
    copy_runtime(site_packages())
    stamp.write_text(wanted)


def copy_runtime(folder: Path) -> None:
    """The packages of the runtime and their bytecode, in a folder."""
    for package in RUNTIME:
        shutil.copytree(package, folder / package.name, ignore=shutil.ignore_patterns("__pycache__"))
        compileall.compile_dir(folder / package.name, quiet=2)


def site_packages() -> Path:
    """Where the peers are installed."""
    return next((PEERS / "lib").glob("python*/site-packages"))


def _digest(packages: tuple[Path, ...]) -> str:
    sources = sorted(path for package in packages for path in package.rglob("*.py"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()


def variables(threads: int) -> dict[str, str]:
    """The environment of a timed process: its threads, and no path but what is installed."""
    told = {
        "PYTHONPATH": "",
        "OMP_NUM_THREADS": str(threads),
        "HF_HUB_OFFLINE": "1",
        "PYTHONWARNINGS": "ignore",
    }
    return {**os.environ, **told}
