"""Timed processes: one at a time on this machine, ahead of whatever else runs on it."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tests.benchmarks.environment import CACHE, ROOT

TIMEOUT = 600.0
LAST_LINES = 3


class Died(Exception):
    """A timed process ended without a result; says how and with which last words."""


def lock_path() -> Path:
    """The file whose lock means that something is being timed; CUVIL_BENCH_LOCK names another one."""
    return Path(os.environ.get("CUVIL_BENCH_LOCK") or CACHE / "lock")


@contextmanager
def alone() -> Iterator[None]:
    """Nothing else that asks for the lock is timed meanwhile."""
    path = lock_path()
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def outrank() -> None:
    """Give this process a session of its own and, where it may, the highest priority.

    Linux schedules sessions as groups: nice ranks a process inside its own session only, so that a busy neighbour
    in another one would take half the machine.
    """
    os.setsid()
    if os.getuid() != 0:
        return
    os.nice(-20)
    with suppress(OSError):
        Path("/proc/self/autogroup").write_text("-20")


def result(command: Sequence[str | Path], environment: Mapping[str, str], timeout: float = TIMEOUT) -> dict[str, Any]:
    """What a command run alone prints as its last line, a JSON object, with the time of its start as `started`.

    `started` is of the clock of `time.monotonic`, which all processes share. Raises Died where nothing is printed.
    """
    with alone():
        return _result([str(part) for part in command], environment, timeout)


def _result(command: Sequence[str], environment: Mapping[str, str], timeout: float) -> dict[str, Any]:
    started = time.monotonic()
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=outrank,
    )
    try:
        printed, complained = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise Died(f"no result after {timeout:.0f} s") from None
    if process.returncode != 0:
        raise Died(last_words(process.returncode, complained))
    return {**json.loads(printed.splitlines()[-1]), "started": started}


def last_words(code: int, complained: str) -> str:
    lines = [line.strip() for line in complained.splitlines() if line.strip()]
    end = f"signal {-code}" if code < 0 else f"exit code {code}"
    return f"{end}: {' | '.join(lines[-LAST_LINES:])[-500:]}"
