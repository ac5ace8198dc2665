"""How many threads a session gets: what it is told, else CUVIL_THREADS, else what affinity and cgroups allow."""

import os

from cuvil_runtime.errors import SessionError

MOST = 1024


def resolve(threads: int | None) -> int:
    """`threads` when it is a number, else what the environment says, else `allowed()`."""
    if threads is not None:
        return _checked(threads, "threads")
    told = os.environ.get("CUVIL_THREADS")
    if not told:
        return min(MOST, allowed())
    if not told.isdecimal():
        raise SessionError(f"CUVIL_THREADS is {told!r}, not a number of threads")
    return _checked(int(told), "CUVIL_THREADS")


def _checked(threads: int, what: str) -> int:
    if not isinstance(threads, int) or not 1 <= threads <= MOST:
        raise SessionError(f"{what} is {threads!r}: a session has 1..{MOST} threads")
    return threads


def allowed() -> int:
    """Processors that this process may run on, not more than its cgroups pay for; at least 1."""
    processors = len(os.sched_getaffinity(0))
    paid = quota()
    return processors if paid is None else max(1, min(processors, int(paid)))


def quota(cgroups: str = "/proc/self/cgroup", mounted: str = "/sys/fs/cgroup") -> float | None:
    """Processors that the cgroups of this process pay for, the smallest of the whole chain; None without a limit."""
    limits: list[float] = []
    for line in _read(cgroups).splitlines():
        _, controllers, path = line.split(":", 2)
        if not controllers or "cpu" in controllers.split(","):
            mounts = (
                {mounted, f"{mounted}/unified"} if not controllers else {f"{mounted}/{controllers}", f"{mounted}/cpu"}
            )
            limits += [limit for mount in mounts for folder in _chain(mount, path) for limit in _limits(folder)]
    return min(limits, default=None)


def _chain(mount: str, path: str) -> list[str]:
    """The folder of a cgroup and of all above it: in a container the path may be the host's, the mount is its own."""
    parts = [part for part in path.split("/") if part]
    return ["/".join([mount, *parts[:depth]]) for depth in range(len(parts) + 1)]


def _limits(folder: str) -> list[float]:
    words = _read(f"{folder}/cpu.max").split()
    if not words:
        words = (_read(f"{folder}/cpu.cfs_quota_us") + " " + _read(f"{folder}/cpu.cfs_period_us")).split()
    if len(words) != 2 or not all(word.isdecimal() and int(word) for word in words):
        return []
    return [int(words[0]) / int(words[1])]


def _read(path: str) -> str:
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return ""
    with os.fdopen(file, encoding="utf-8", errors="replace") as opened:
        return opened.read()
