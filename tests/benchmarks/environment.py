"""Where benchmarks keep their things, and the environment that holds the peers."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / ".cache" / "benchmarks"
PEERS = ROOT / ".venv-peers"
REQUIREMENTS = ("msgpack>=1.0.5,<2", "onnxruntime==1.32.0", "openvino==2026.4.1")


def peers_python() -> Path:
    """The interpreter of an environment with the peers and what Cuvil's runtime needs; made when it is not there."""
    python, stamp = PEERS / "bin" / "python", PEERS / "requirements.txt"
    wanted = "\n".join((*REQUIREMENTS, f"numpy=={version('numpy')}", ""))
    if stamp.is_file() and stamp.read_text() == wanted:
        return python
    print(f"{PEERS.name}: installing {', '.join(wanted.split())}", file=sys.stderr)
    if not python.exists():
        venv.create(PEERS, symlinks=True, with_pip=True)
    subprocess.run((python, "-m", "pip", "install", "-q", *wanted.split()), check=True)
    stamp.write_text(wanted)
    return python


def variables(threads: int) -> dict[str, str]:
    """The environment of a timed process: this tree's runtime, as many threads as asked for, no proxy of a package."""
    paths = (ROOT, ROOT / "runtime", ROOT / "schemas")
    told = {
        "PYTHONPATH": os.pathsep.join(map(str, paths)),
        "OMP_NUM_THREADS": str(threads),
        "HF_HUB_OFFLINE": "1",
        "PYTHONWARNINGS": "ignore",
    }
    return {**os.environ, **told}
