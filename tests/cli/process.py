"""The command line as a real process."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

MODELS = Path(__file__).with_name("models.py")
STRANGERS = ("CUVIL_CPU_DISABLE", "CUVIL_DUMP", "CUVIL_CHECK", "CUVIL_THREADS")
SCRIPT = "import sys; from cuvil_pack.cli import main; sys.exit(main())"


@dataclass(frozen=True)
class Done:
    """How a process ended."""

    code: int
    out: str
    err: str

    @property
    def has_traceback(self) -> bool:
        return "Traceback" in self.out + self.err


def variables(more: Mapping[str, str] = {}) -> dict[str, str]:
    """This environment without what would change a test, and with `more`."""
    kept = {k: v for k, v in os.environ.items() if k not in STRANGERS}
    return kept | {"HF_HUB_OFFLINE": "1", "COLUMNS": "120"} | dict(more)


def command(arguments: Sequence[str], prelude: str = "") -> list[str]:
    """What starts `cuvil-pack`; `prelude` is Python that runs before it."""
    return [sys.executable, "-c", f"{prelude}\n{SCRIPT}", *arguments]


def cuvil_pack(*arguments: str | Path, prelude: str = "", env: Mapping[str, str] = {}, cwd: Path | None = None) -> Done:
    """Run it to its end."""
    words = command(list(map(str, arguments)), prelude)
    done = subprocess.run(words, capture_output=True, text=True, env=variables(env), cwd=cwd, timeout=300)
    return Done(done.returncode, done.stdout, done.stderr)
