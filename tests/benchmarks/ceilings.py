"""What the machine can do at most, measured in the same run as a claim, and the floor that follows for a workload."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from tests.benchmarks.environment import CACHE, variables
from tests.benchmarks.process import result

SOURCE = Path(__file__).with_name("ceilings.c")
FLAGS = ("-O3", "-mcpu=native-prefer_256_bit", "-mprefer-vector-width=512", "-ffp-contract=fast", "-pthread")
CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
DRAM_BYTES = 512 << 20
UNITS = {"K": 1 << 10, "M": 1 << 20}


class Ceilings(NamedTuple):
    """Of all `threads` together: GFLOP/s of fp32 multiply-adds, and GB/s read from each level of memory."""

    threads: int
    fma_gflops: float
    l1_gbs: float
    l2_gbs: float
    dram_gbs: float

    def floor_ms(self, flops: float, read: float = 0) -> float:
        """Milliseconds below which no program gets that computes and reads from DRAM so much."""
        return 1e3 * max(flops / (1e9 * self.fma_gflops), read / (1e9 * self.dram_gbs))

    def best(self, other: Ceilings) -> Ceilings:
        """The higher of each, from two measurements of a machine that has slow phases."""
        return Ceilings(self.threads, *map(max, self[1:], other[1:]))


def measure(threads: int) -> Ceilings:
    """Ceilings of this machine, about two seconds of it."""
    sizes = (cache_bytes(1, 32 << 10) // 2, cache_bytes(2, 1 << 20) // 2, DRAM_BYTES)
    found = result((_program(), str(threads), *map(str, sizes)), variables(threads))
    return Ceilings(threads, **{name: found[name] for name in Ceilings._fields[1:]})


def cache_bytes(level: int, otherwise: int) -> int:
    """The size of the data cache of a level that the kernel reports."""
    for index in sorted(CACHES.glob("index*")):
        if (index / "level").read_text().strip() != str(level) or (index / "type").read_text().strip() == "Instruction":
            continue
        text = (index / "size").read_text().strip()
        return int(text[:-1]) * UNITS[text[-1]] if text[-1] in UNITS else int(text)
    return otherwise


def _program() -> Path:
    digest = hashlib.sha256(SOURCE.read_bytes() + " ".join(FLAGS).encode()).hexdigest()[:16]
    program = CACHE / f"ceilings-{digest}"
    if not program.is_file():
        CACHE.mkdir(parents=True, exist_ok=True)
        fresh = program.with_suffix(".new")
        subprocess.run((sys.executable, "-m", "ziglang", "cc", *FLAGS, SOURCE, "-o", fresh), check=True)
        fresh.rename(program)
    return program
